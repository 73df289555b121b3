//! Which chunks a range of items is in.

use super::handle::Handle;
use crate::capi::b2nd::slices::dims;
use crate::capi::prelude::*;
use oxiblosc_core::b2nd::array::find_metalayer;
use oxiblosc_core::b2nd::meta::Meta;
use oxiblosc_core::b2nd::select::Selection;
use oxiblosc_memory::{Buffer, Collect, List};

/// Says which chunks have items of the range from `*start` to before `*stop`; of an array, of the slice between the
/// positions `start` and `stop`. The program frees `*chunks_idx` with `free`; it is NULL if there are none. Returns how many
/// there are, or a negative error code.
///
/// # Safety
/// `schunk` is NULL or valid; `start` and `stop` have a number for each dimension.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_get_slice_nchunks(
    schunk: *mut blosc2_schunk,
    start: *mut i64,
    stop: *mut i64,
    chunks_idx: *mut *mut i64,
) -> i64 {
    code64("blosc2_get_slice_nchunks", || {
        let handle = unsafe_granted!(Handle::from_c(schunk)?);
        not_null!(start, stop, chunks_idx)?;
        unsafe_granted!(*chunks_idx = null_mut());
        let schunk = handle.core();
        let state = schunk.read_known()?;
        let layers = state.metalayers();
        let chunks = match find_metalayer(layers) {
            Some(at) => {
                let (meta, _) = Meta::parse(&layers[at].content, true)?;
                let (start, stop) =
                    unsafe_granted!((dims(start, meta.ndim)?, dims(stop, meta.ndim)?));
                Selection::chunks_of_box(&meta.geometry()?, start, stop)?
            }
            None => {
                let typesize = i64::from(state.parameters().typesize);
                let (start, stop) = unsafe_granted!((*start, *stop));
                let byte = |item: i64| {
                    let byte = item.checked_mul(typesize).ok_or(Error::InvalidParam)?;
                    u64::try_from(byte).map_err(|_| Error::InvalidParam)
                };
                schunk.chunks_of(byte(start)?..byte(stop)?)?
            }
        };
        if !chunks.is_empty() {
            let bytes: List<u8> = chunks
                .iter()
                .flat_map(|nchunk| nchunk.to_ne_bytes())
                .list()?;
            unsafe_granted!(*chunks_idx = Buffer::copy_of(&bytes)?.into_raw().cast());
        }
        Ok(chunks.len() as i64)
    })
}
