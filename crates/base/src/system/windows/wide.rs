//! Texts in UTF-16, as the system takes them.
#![expect(
    clippy::disallowed_types,
    reason = "these lists are never longer than what was reserved for them, which is an error where there is no memory"
)]

use std::ffi::CStr;
use std::io::{self, ErrorKind};
use windows_sys::Win32::Globalization::{
    CP_ACP, CP_UTF8, MultiByteToWideChar, WideCharToMultiByte,
};
use windows_sys::Win32::Storage::FileSystem::GetFullPathNameW;

/// From so many units on, the system takes a path only with a prefix, and only whole.
const LONG: usize = 248;

/// A text that ends in 0.
pub struct WideString(Vec<u16>);

impl WideString {
    /// A path, as C has it.
    pub fn path(path: &CStr) -> io::Result<Self> {
        let text = Self::text(path)?;
        if text.0.len() < LONG {
            return Ok(text);
        }
        text.whole()
    }

    /// UTF-8, or what is no UTF-8 in the code page of the process.
    pub fn text(text: &CStr) -> io::Result<Self> {
        let bytes = text.to_bytes_with_nul();
        let page = match std::str::from_utf8(bytes) {
            Ok(_) => CP_UTF8,
            Err(_) => CP_ACP,
        };
        let len = i32::try_from(bytes.len()).map_err(|_| ErrorKind::InvalidInput)?;
        // No page takes more units than bytes.
        let mut units = units_for(bytes.len())?;
        // SAFETY: as many bytes and as much room as is said.
        let written =
            unsafe { MultiByteToWideChar(page, 0, bytes.as_ptr(), len, units.as_mut_ptr(), len) };
        match usize::try_from(written) {
            Ok(written) if written > 0 => {
                units.truncate(written);
                Ok(Self(units))
            }
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The whole path from the root on, with the prefix by which it may be longer than others.
    fn whole(self) -> io::Result<Self> {
        let at = self.as_ptr();
        // SAFETY: the text ends, and without room for it the call tells how much there has to be.
        let needed = unsafe { GetFullPathNameW(at, 0, std::ptr::null_mut(), std::ptr::null_mut()) };
        let mut full = units_for(needed as usize)?;
        // SAFETY: as much room as is said.
        let len = unsafe { GetFullPathNameW(at, needed, full.as_mut_ptr(), std::ptr::null_mut()) };
        if len == 0 || len >= needed {
            return Err(io::Error::last_os_error());
        }
        full.truncate(len as usize + 1);
        let is = |start: &str| {
            start
                .encode_utf16()
                .eq(full.iter().copied().take(start.len()))
        };
        let (prefix, rest) = if is(r"\\?\") || is(r"\\.\") {
            ("", 0)
        } else if is(r"\\") {
            (r"\\?\UNC\", 2)
        } else {
            (r"\\?\", 0)
        };
        let mut units = units_for(prefix.len() + full.len() - rest)?;
        units.clear();
        units.extend(prefix.encode_utf16());
        units.extend_from_slice(&full[rest..]);
        Ok(Self(units))
    }

    /// This path and a name in it.
    pub fn join(mut self, name: &str) -> io::Result<Self> {
        let more = name.len() + 1;
        self.0
            .try_reserve(more)
            .map_err(|_| ErrorKind::OutOfMemory)?;
        self.0.pop();
        self.0
            .extend(r"\".encode_utf16().chain(name.encode_utf16()).chain([0]));
        Ok(self)
    }

    /// Where it begins.
    pub fn as_ptr(&self) -> *const u16 {
        self.0.as_ptr()
    }

    /// Its units without the 0.
    pub fn units(&self) -> &[u16] {
        &self.0[..self.0.len() - 1]
    }
}

/// So many zeros.
fn units_for(len: usize) -> io::Result<Vec<u16>> {
    let mut units = Vec::new();
    units
        .try_reserve_exact(len)
        .map_err(|_| ErrorKind::OutOfMemory)?;
    units.resize(len, 0);
    Ok(units)
}

/// Puts a text into a buffer as UTF-8; how many bytes that were.
pub fn to_utf8(units: &[u16], buffer: &mut [u8]) -> io::Result<usize> {
    if units.is_empty() {
        return Ok(0);
    }
    let size = |len: usize| i32::try_from(len).unwrap_or(i32::MAX);
    // SAFETY: as many units and as much room as is said.
    let written = unsafe {
        WideCharToMultiByte(
            CP_UTF8,
            0,
            units.as_ptr(),
            size(units.len()),
            buffer.as_mut_ptr(),
            size(buffer.len()),
            std::ptr::null(),
            std::ptr::null_mut(),
        )
    };
    match usize::try_from(written) {
        Ok(written) if written > 0 => Ok(written),
        _ => Err(io::Error::last_os_error()),
    }
}
