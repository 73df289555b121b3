//! C strings, and formatted texts of limited length.

use super::Buffer;
use super::try_vec::TryVec;
use crate::error::{Error, Result};
use crate::system::thread::without_signals;
use std::ffi::{CStr, c_char, c_int};
use std::fmt;
use std::io::ErrorKind;
use std::ops::Deref;

/// An owned C string: like `CString`, but creating it can fail.
#[derive(PartialEq, Eq)]
pub struct CStrBuf {
    /// The bytes, with the only 0 at the end.
    bytes: TryVec<u8>,
}

impl CStrBuf {
    /// Concatenates the pieces.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if one contains a 0, [`Error::MEMORY_ALLOC`].
    pub fn concat(pieces: &[&[u8]]) -> Result<Self> {
        if pieces.iter().any(|piece| piece.contains(&0)) {
            return Err(Error::INVALID_PARAM);
        }
        let len = pieces.iter().map(|piece| piece.len()).sum::<usize>();
        let mut bytes = TryVec::with_capacity(len + 1)?;
        for piece in pieces {
            bytes.extend_from_slice(piece)?;
        }
        bytes.push(0)?;
        Ok(Self { bytes })
    }

    /// A copy of a C string.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn copy_of(string: &CStr) -> Result<Self> {
        let bytes = TryVec::copy_of(string.to_bytes_with_nul())?;
        Ok(Self { bytes })
    }

    /// A C string of these bytes, which have no 0 at the end.
    ///
    /// # Errors
    /// As for [`Self::concat`].
    pub fn new(bytes: &[u8]) -> Result<Self> {
        Self::concat(&[bytes])
    }

    /// A copy of a string in memory from `malloc`, with a 0 behind it; the caller frees it with
    /// `free`.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn to_malloc(string: &[u8]) -> Result<*mut c_char> {
        Ok(Self::to_buffer(string)?.into_raw().cast())
    }

    /// As [`Self::to_malloc`], but the copy is freed unless [`Buffer::into_raw`] gives it away.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn to_buffer(string: &[u8]) -> Result<Buffer> {
        let mut copy = Buffer::copy_of(string)?;
        copy.extend(&[0])?;
        Ok(copy)
    }
}

impl Deref for CStrBuf {
    type Target = CStr;
    fn deref(&self) -> &CStr {
        // SAFETY: all constructors put a 0 at the end and refuse others.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.bytes) }
    }
}

impl fmt::Debug for CStrBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A text of at most `N` bytes, on the stack. What does not fit is cut off.
pub struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    /// No text.
    pub const fn new() -> Self {
        Self {
            bytes: [0; N],
            len: 0,
        }
    }

    /// `Text::of(format_args!(...))`.
    pub fn of(arguments: fmt::Arguments<'_>) -> Self {
        let mut text = Self::new();
        // A text that does not fit is cut off, which is not an error, and there are no other
        // errors.
        let _ = fmt::Write::write_fmt(&mut text, arguments);
        text
    }

    /// Adds bytes, as many as fit.
    pub fn push(&mut self, bytes: &[u8]) {
        let fit = bytes.len().min(N - self.len);
        self.bytes[self.len..self.len + fit].copy_from_slice(&bytes[..fit]);
        self.len += fit;
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The text with a 0 behind it. If it has `N` bytes, the 0 replaces the last one.
    pub fn with_nul(mut self) -> [u8; N] {
        let end = self.len.min(N - 1);
        self.bytes[end..].fill(0);
        self.bytes
    }
}

/// Displays a C string. Bytes that are not UTF-8 become replacement characters.
pub struct Lossy<'a>(pub &'a CStr);

impl fmt::Display for Lossy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.to_bytes().utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                fmt::Write::write_char(f, char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(())
    }
}

/// Its descriptor, the same on all platforms.
const STDERR: c_int = 2;

/// Standard error, for lines of any length. Lines of up to 512 bytes are written by one call.
pub struct Stderr(Text<512>);

impl Stderr {
    /// Writes a line. What cannot be written is lost.
    #[cold]
    #[inline(never)]
    pub fn line(arguments: fmt::Arguments<'_>) {
        let mut line = Self(Text::new());
        // Neither `Stderr` nor its buffer returns errors.
        let _ = fmt::Write::write_fmt(&mut line, arguments);
        let _ = fmt::Write::write_char(&mut line, '\n');
        line.flush();
    }

    fn flush(&mut self) {
        let mut left = self.0.as_bytes();
        while !left.is_empty() {
            // SAFETY: pointer and length are those of a slice.
            let written = without_signals(|| unsafe {
                match libc::write(STDERR, left.as_ptr().cast(), left.len() as _) {
                    ..0 => Err(std::io::Error::last_os_error()),
                    written => Ok(written as usize),
                }
            });
            match written {
                Ok(written) if written > 0 => left = &left[written.min(left.len())..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        self.0.len = 0;
    }
}

impl fmt::Write for Stderr {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for piece in text.as_bytes().chunks(256) {
            if piece.len() > self.0.bytes.len() - self.0.len {
                self.flush();
            }
            self.0.push(piece);
        }
        Ok(())
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> fmt::Write for Text<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_put_together() {
        assert_eq!(&*CStrBuf::concat(&[b"a", b"", b"bc"]).unwrap(), c"abc");
        assert_eq!(&*CStrBuf::new(b"").unwrap(), c"");
        assert_eq!(CStrBuf::new(b"a\0b").err(), Some(Error::INVALID_PARAM));
        assert_eq!(&*CStrBuf::copy_of(c"text").unwrap(), c"text");
        assert_eq!(Lossy(c"a\xFFb").to_string(), "a\u{FFFD}b");
    }

    #[test]
    fn texts_are_cut() {
        assert_eq!(
            Text::<20>::of(format_args!("{}-{}", 1, "b")).as_bytes(),
            b"1-b"
        );
        assert_eq!(
            Text::<4>::of(format_args!("{}", "longer")).as_bytes(),
            b"long"
        );
        assert_eq!(Text::<4>::of(format_args!("longer")).with_nul(), *b"lon\0");
        assert_eq!(Text::<4>::of(format_args!("a")).with_nul(), *b"a\0\0\0");
    }
}
