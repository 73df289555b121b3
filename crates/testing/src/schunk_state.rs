//! Everything that is in a super-chunk, read through the library.

use super::schunk_calls::Schunk;
use std::ffi::CString;

/// A named piece of metadata.
pub type Layer = (Vec<u8>, Vec<u8>);

/// A variable-length metalayer: its name, and its content or the code for one that cannot be read.
pub type VlLayer = (Vec<u8>, Result<Vec<u8>, i64>);

/// Everything that can be read from a super-chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Each chunk's data, or the code for one that cannot be read.
    pub chunks: Vec<Result<Vec<u8>, i64>>,
    pub meta: Vec<Layer>,
    pub vlmeta: Vec<VlLayer>,
}

/// Reads everything.
pub fn read(s: &Schunk) -> State {
    let chunk = |at: i64| {
        let given = s.get_lazychunk(at);
        if given.rc < 0 {
            return Err(given.rc);
        }
        let fields = s.get();
        if fields.frame.is_null() {
            // SAFETY: without a frame the structure has a pointer for each chunk; this one is as
            // long as was given.
            let shown = unsafe {
                std::slice::from_raw_parts(*fields.data.add(at as usize), given.bytes.len())
            };
            assert!(shown == given.bytes, "chunk {at} is not where it is shown");
        }
        let (_, [nbytes, _, _]) = s.lib.lib.sizes(&given.bytes);
        let mut bytes = vec![0; nbytes.max(0) as usize];
        match s.decompress_chunk(at, &mut bytes) {
            rc if rc == i64::from(nbytes) => Ok(bytes),
            rc => Err(rc.min(0)),
        }
    };
    let (_, names) = s.vlmeta_names();
    let vlmeta = names.into_iter().map(|name| {
        let (rc, content) = s.vlmeta_get(&CString::new(name.clone()).expect("no NUL"));
        (name, if rc < 0 { Err(rc) } else { Ok(content) })
    });
    State {
        chunks: (0..s.get().nchunks).map(chunk).collect(),
        meta: if usize::from(s.get().nmetalayers) > 16 {
            Vec::new()
        } else {
            s.metalayers()
        },
        vlmeta: vlmeta.collect(),
    }
}
