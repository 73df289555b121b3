//! The paths of the files of a frame.

use crate::header::FrameKind;
use oxiblosc_base::memory::{CStrBuf, TryVec};
use oxiblosc_base::{Error, Result};
use std::ffi::CStr;

pub(super) fn with_suffix(path: &CStr, suffix: &[u8]) -> Result<CStrBuf> {
    CStrBuf::concat(&[path.to_bytes(), suffix])
}

/// The paths of the chunk files in a directory. Only [`Self::in_directory`] allocates memory, so
/// that created files can be removed even if there is none.
pub(super) struct ChunkPaths(TryVec<u8>);

impl ChunkPaths {
    /// The paths in the directory at `path`.
    pub(super) fn in_directory(path: &CStr) -> Result<Self> {
        let (path, name) = (path.to_bytes(), b"/00000000.chunk\0");
        let mut paths = TryVec::with_capacity(path.len() + name.len())?;
        paths.extend_from_slice(path)?;
        paths.extend_from_slice(name)?;
        Ok(Self(paths))
    }

    /// The path of the file with this number.
    pub(super) fn of(&mut self, number: u64) -> Result<&CStr> {
        const BEHIND: usize = b".chunk\0".len();
        let number = u32::try_from(number).map_err(|_| Error::FILE_OPEN)?;
        let end = self.0.len() - BEHIND;
        // `format_args` would take half as long as opening the file takes outside the kernel.
        for (i, digit) in self.0[end - 8..end].iter_mut().rev().enumerate() {
            *digit = b"0123456789ABCDEF"[(number >> (4 * i)) as usize % 16];
        }
        CStr::from_bytes_with_nul(&self.0).map_err(|_| Error::INVALID_PARAM)
    }
}

/// The file that holds the frame of this kind at `path`.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`].
pub fn frame_file(path: &CStr, kind: FrameKind) -> Result<CStrBuf> {
    match kind {
        FrameKind::Contiguous => CStrBuf::copy_of(path),
        FrameKind::Sparse => with_suffix(path, b"/chunks.b2frame"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbers_in_base_16() {
        let mut paths = ChunkPaths::in_directory(c"dir").expect("memory");
        assert_eq!(paths.of(0), Ok(c"dir/00000000.chunk"));
        assert_eq!(paths.of(0x12_ABCD), Ok(c"dir/0012ABCD.chunk"));
        assert_eq!(paths.of(u32::MAX.into()), Ok(c"dir/FFFFFFFF.chunk"));
        assert_eq!(paths.of(1 << 32), Err(Error::FILE_OPEN));
        let file = |kind| frame_file(c"dir", kind).expect("memory");
        assert_eq!(&*file(FrameKind::Contiguous), c"dir");
        assert_eq!(&*file(FrameKind::Sparse), c"dir/chunks.b2frame");
    }
}
