//! The trailer of a frame: variable-length metalayers and a fingerprint.
//!
//! See the contiguous frame format document, "Trailer".

use super::fingerprint;
use super::meta::{self, Metalayer};
use super::msgpack;
use oxiblosc_base::memory::TryVec;
use oxiblosc_base::{Error, Result};

/// Bytes at the end of a frame from which [`len`] gets the length of its trailer.
pub const MIN_LEN: usize = 25;
/// The most variable-length metalayers.
pub const MAX_METALAYERS: usize = meta::MAX_READ;

/// Bytes of a trailer without metalayers.
pub const EMPTY_LEN: usize = 35;
const VERSION: u8 = 1;
/// Bytes from the length field to the end of the trailer: the length, the fingerprint's marker and
/// type, and the fingerprint.
const LEN_TO_END: usize = 4 + 2 + 16;
/// Where the metalayers begin.
const METALAYERS: usize = 2;

/// A trailer without a fingerprint, as bytes.
///
/// # Errors
/// [`Error::INVALID_PARAM`] for more than [`MAX_METALAYERS`] or a trailer of 2 GiB; those of
/// [`meta::write`].
pub fn encode(metalayers: &[meta::MetalayerRef]) -> Result<TryVec<u8>> {
    if metalayers.len() > MAX_METALAYERS {
        return Err(Error::INVALID_PARAM);
    }
    let mut out = TryVec::of([msgpack::FIXARRAY + 4, VERSION])?;
    meta::write(metalayers, 1, &mut out)?;
    let len = out.len() + 1 + LEN_TO_END;
    if len > i32::MAX as usize {
        return Err(Error::INVALID_PARAM);
    }
    out.push(msgpack::UINT32)?;
    out.extend_from_slice(&(len as u32).to_be_bytes())?;
    // No fingerprint.
    out.extend_from_slice(&[msgpack::FIXEXT16, 0])?;
    out.extend_from_slice(&[0; 16])?;
    Ok(out)
}

/// The length of a trailer in bytes, from its last [`MIN_LEN`] bytes. The frame has `frame_len`
/// bytes, and its header `header_len`.
///
/// # Errors
/// [`Error::DATA`] if it cannot be the length of a trailer of this frame.
pub fn len(end: &[u8], frame_len: u64, header_len: u64) -> Result<usize> {
    let at = MIN_LEN - LEN_TO_END;
    if end.len() != MIN_LEN || end[at - 1] != msgpack::UINT32 {
        return Err(Error::DATA);
    }
    let len = u32::from_be_bytes([end[at], end[at + 1], end[at + 2], end[at + 3]]);
    let most = frame_len.saturating_sub(header_len).min(i32::MAX as u64);
    if (len as usize) < MIN_LEN || u64::from(len) > most {
        return Err(Error::DATA);
    }
    Ok(len as usize)
}

/// Corrects the length field of a whole trailer.
///
/// # Errors
/// [`Error::DATA`] for a trailer with checksums, in which a wrong length is damage, and for one
/// that is too short or too long.
pub fn correct_len(bytes: &mut [u8]) -> Result<()> {
    if fingerprint::is_in(bytes) {
        return Err(Error::DATA);
    }
    let len = u32::try_from(bytes.len()).map_err(|_| Error::DATA)?;
    let at = bytes.len().checked_sub(LEN_TO_END).ok_or(Error::DATA)?;
    bytes[at..at + 4].copy_from_slice(&len.to_be_bytes());
    Ok(())
}

/// Reads the metalayers of a whole trailer.
///
/// # Errors
/// Those of [`meta::read`].
pub fn parse(bytes: &[u8]) -> Result<TryVec<Metalayer>> {
    meta::read(bytes, METALAYERS, MAX_METALAYERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let layers = vec![
            Metalayer {
                name: b"a".to_vec().into(),
                content: vec![7; 1000].into(),
            },
            Metalayer {
                name: b"b".to_vec().into(),
                content: TryVec::new(),
            },
        ];
        let bytes = encode(&meta::borrow(&layers).unwrap()).unwrap();
        let end = &bytes[bytes.len() - MIN_LEN..];
        assert_eq!(len(end, 5000, 87), Ok(bytes.len()));
        assert_eq!(len(end, bytes.len() as u64 + 86, 87), Err(Error::DATA));
        assert_eq!(parse(&bytes), Ok(layers.into()));
        assert_eq!(encode(&[]).unwrap().len(), EMPTY_LEN);
        let mut wrong = bytes.clone();
        let at = wrong.len() - LEN_TO_END;
        wrong[at..at + 4].fill(7);
        assert_eq!(correct_len(&mut wrong), Ok(()));
        assert_eq!(wrong, bytes);
    }
}
