//! Metalayers as they are stored in header and trailer: a map from names to offsets, then the
//! contents.
//!
//! See the contiguous frame format document, "Header" and "Trailer".

use super::msgpack;
use oxiblosc_base::memory::{Collect, ToTryVec, TryVec};
use oxiblosc_base::{Error, Result};

/// The longest name of a metalayer, in bytes.
pub const NAME_MAXLEN: usize = 31;
/// The most metalayers that a header or a trailer may have.
pub const MAX_READ: usize = 8 * 1024;

/// Bytes with a name. The content of a variable-length metalayer is a chunk.
#[cfg_attr(test, derive(Clone))]
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Metalayer {
    /// The name, without a terminating 0.
    pub name: TryVec<u8>,
    /// The content.
    pub content: TryVec<u8>,
}

/// A borrowed metalayer: name and content.
pub type MetalayerRef<'a> = (&'a [u8], &'a [u8]);

/// Bytes before the name of the first metalayer: the marker of an array, the size of the map with
/// its marker, the marker of the map, and the number of its keys.
const MAP_START: usize = 1 + 3 + 1 + 2;

/// Appends metalayers to `out`. Offsets of contents count from the start of `out`. The size of the
/// map does not include its first `base` bytes, which are 0 in a header and 1 in a trailer.
///
/// # Errors
/// [`Error::FAILURE`] if a name is too long, or there are too many metalayers or bytes for the
/// format; [`Error::MEMORY_ALLOC`].
pub fn write(metalayers: &[MetalayerRef], base: usize, out: &mut TryVec<u8>) -> Result<()> {
    let count = u16::try_from(metalayers.len()).map_err(|_| Error::FAILURE)?;
    let start = out.len();
    out.extend_from_slice(&[
        (msgpack::FIXARRAY + 3),
        msgpack::UINT16,
        0,
        0,
        msgpack::MAP16,
    ])?;
    out.extend_from_slice(&count.to_be_bytes())?;
    let mut slots = TryVec::with_capacity(metalayers.len())?;
    for (name, _) in metalayers {
        if name.len() > NAME_MAXLEN {
            return Err(Error::FAILURE);
        }
        out.push(msgpack::FIXSTR + name.len() as u8)?;
        out.extend_from_slice(name)?;
        out.push(msgpack::INT32)?;
        slots.push(out.len())?;
        out.extend_from_slice(&[0; 4])?;
    }
    let size = u16::try_from(out.len() - start - base).map_err(|_| Error::FAILURE)?;
    out[start + 2..start + 4].copy_from_slice(&size.to_be_bytes());
    out.push(msgpack::ARRAY16)?;
    out.extend_from_slice(&count.to_be_bytes())?;
    for ((_, content), slot) in metalayers.iter().zip(slots) {
        let offset = i32::try_from(out.len()).map_err(|_| Error::FAILURE)?;
        let len = i32::try_from(content.len()).map_err(|_| Error::FAILURE)?;
        out[slot..slot + 4].copy_from_slice(&offset.to_be_bytes());
        out.push(msgpack::BIN32)?;
        out.extend_from_slice(&len.to_be_bytes())?;
        out.extend_from_slice(content)?;
    }
    Ok(())
}

fn take<'a>(bytes: &'a [u8], at: &mut usize, len: usize) -> Result<&'a [u8]> {
    let end = at.checked_add(len).ok_or(Error::READ_BUFFER)?;
    let part = bytes.get(*at..end).ok_or(Error::READ_BUFFER)?;
    *at = end;
    Ok(part)
}

/// Reads the metalayers of a header or trailer; `bytes` are all of it, and the metalayers begin at
/// `start`.
///
/// # Errors
/// [`Error::READ_BUFFER`] if a part lies outside of `bytes`; [`Error::DATA`] if the format is
/// wrong, there are more than `max` metalayers, or the contents together are longer than `bytes`;
/// [`Error::MEMORY_ALLOC`].
pub fn read(bytes: &[u8], start: usize, max: usize) -> Result<TryVec<Metalayer>> {
    let mut at = start + MAP_START - 3;
    if take(bytes, &mut at, 1)?[0] != msgpack::MAP16 {
        return Err(Error::DATA);
    }
    let count = take(bytes, &mut at, 2)?;
    let count = usize::from(u16::from_be_bytes([count[0], count[1]]));
    if count > max {
        return Err(Error::DATA);
    }
    let mut metalayers = TryVec::new();
    // Contents must not share bytes. Otherwise a short trailer could have thousands of long
    // metalayers.
    let mut left = bytes.len();
    for _ in 0..count {
        let mark = take(bytes, &mut at, 1)?[0];
        if mark & 0xe0 != msgpack::FIXSTR {
            return Err(Error::DATA);
        }
        let name = take(bytes, &mut at, usize::from(mark & 0x1f))?;
        if take(bytes, &mut at, 1)?[0] != msgpack::INT32 {
            return Err(Error::DATA);
        }
        let offset = be_i32(take(bytes, &mut at, 4)?);
        let mut position = usize::try_from(offset).map_err(|_| Error::DATA)?;
        if position >= bytes.len() {
            return Err(Error::DATA);
        }
        let mark = take(bytes, &mut position, 5)?;
        if mark[0] != msgpack::BIN32 {
            return Err(Error::DATA);
        }
        let len = usize::try_from(be_i32(&mark[1..])).map_err(|_| Error::DATA)?;
        let content = take(bytes, &mut position, len)?;
        left = left.checked_sub(mark.len() + len).ok_or(Error::DATA)?;
        // C programs see a name only up to its first 0.
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        metalayers.push(Metalayer {
            name: name.to_try_vec()?,
            content: content.to_try_vec()?,
        })?;
    }
    Ok(metalayers)
}

fn be_i32(bytes: &[u8]) -> i32 {
    i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// The metalayers as [`write()`] takes them.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`].
pub fn borrow(metalayers: &[Metalayer]) -> Result<TryVec<MetalayerRef<'_>>> {
    metalayers
        .iter()
        .map(|layer| (&layer.name[..], &layer.content[..]))
        .collect_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let layers: Vec<Metalayer> = (0..16)
            .map(|i| Metalayer {
                name: format!("layer-{i}").into_bytes().into(),
                content: vec![i as u8; i * 100].into(),
            })
            .collect();
        for count in [0, 1, 16] {
            let mut out = TryVec::from(vec![0; 87]);
            write(&borrow(&layers[..count]).unwrap(), 0, &mut out).unwrap();
            assert_eq!(read(&out, 87, 16).unwrap(), layers[..count]);
            assert_eq!(read(&out, 87, 0).is_err(), count > 0);
            for cut in (0..out.len()).step_by(if cfg!(miri) { 211 } else { 1 }) {
                // Every content is reached by an offset, so a shorter buffer cannot give all of
                // them.
                let cut_short = read(&out[..cut], 87, 16);
                assert!(cut_short.is_err() || count == 0, "{cut}");
            }
        }
    }

    #[test]
    fn contents_do_not_share_bytes() {
        let mut out = TryVec::from(vec![0; 87]);
        write(
            &[(&b"a"[..], &[7; 200][..]), (&b"b"[..], &[8; 10][..])],
            0,
            &mut out,
        )
        .unwrap();
        let offset = |nth: usize| 87 + MAP_START + nth * 7 + 3;
        let (first, second) = (offset(0), offset(1));
        let position = out[first..first + 4].to_vec();
        out[second..second + 4].copy_from_slice(&position);
        assert_eq!(read(&out, 87, 16), Err(Error::DATA));
    }

    #[test]
    fn long_names_are_refused() {
        let mut out = TryVec::new();
        assert_eq!(write(&[(&[b'x'; 31], b"")], 1, &mut out), Ok(()));
        assert_eq!(
            write(&[(&[b'x'; 32], b"")], 1, &mut out),
            Err(Error::FAILURE)
        );
    }
}
