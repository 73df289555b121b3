//! Extended attributes of open files: names with values, of which one is the access control list
//! (ACL) of the file. Only Linux is asked for them.

use std::ffi::CStr;
use std::fs::File;
use std::io;

/// The access control list: a version of four bytes, and entries of a tag, rights (two bytes each,
/// little-endian) and an id of four bytes.
pub const ACL: &CStr = c"system.posix_acl_access";

/// The tag of the entry that limits the rights of all but owner and others. It is what the mode
/// says of the group.
const MASK: u16 = 0x10;

/// Limits the rights that an access control list gives to all but owner and others to these bits.
pub fn limit(acl: &mut [u8], rights: u8) {
    let entries = acl.get_mut(4..).unwrap_or_default();
    for entry in entries.chunks_exact_mut(8) {
        if u16::from_le_bytes([entry[0], entry[1]]) == MASK {
            entry[2] &= rights;
            entry[3] = 0;
        }
    }
}

#[cfg(target_os = "linux")]
pub use linux::*;

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use std::os::fd::AsRawFd;

    fn len_or_none(len: libc::ssize_t) -> io::Result<Option<usize>> {
        match usize::try_from(len) {
            Ok(len) => Ok(Some(len)),
            Err(_) => {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    Some(libc::ENODATA | libc::EOPNOTSUPP | libc::ENOSYS) => Ok(None),
                    _ => Err(error),
                }
            }
        }
    }

    /// Fills in the names of all attributes, each with a 0 behind it. Gives how many bytes they
    /// are; without any room, how many there are to be.
    pub fn names(file: &File, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let at = buffer.as_mut_ptr().cast();
        // SAFETY: an open descriptor, and as much room as is said.
        len_or_none(unsafe { libc::flistxattr(file.as_raw_fd(), at, buffer.len()) })
    }

    /// As [`names`], for the value of an attribute. None where it has no such attribute.
    pub fn value(file: &File, name: &CStr, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let at = buffer.as_mut_ptr().cast();
        // SAFETY: an open descriptor, a C string, and as much room as is said.
        len_or_none(unsafe { libc::fgetxattr(file.as_raw_fd(), name.as_ptr(), at, buffer.len()) })
    }

    /// Whether room was too small, as the attribute has grown.
    pub fn is_too_long(error: &io::Error) -> bool {
        error.raw_os_error() == Some(libc::ERANGE)
    }

    /// Gives an attribute a value.
    pub fn set(file: &File, name: &CStr, value: &[u8]) -> io::Result<()> {
        let from = value.as_ptr().cast();
        // SAFETY: an open descriptor, a C string, and as many bytes as is said.
        match unsafe { libc::fsetxattr(file.as_raw_fd(), name.as_ptr(), from, value.len(), 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Removes an attribute, if the file has it.
    pub fn remove(file: &File, name: &CStr) -> io::Result<()> {
        // SAFETY: an open descriptor and a C string.
        let rc = unsafe { libc::fremovexattr(file.as_raw_fd(), name.as_ptr()) };
        len_or_none(rc as libc::ssize_t).map(drop)
    }
}

#[cfg(not(target_os = "linux"))]
pub use others::*;

#[cfg(not(target_os = "linux"))]
mod others {
    use super::*;

    /// None.
    pub fn names(_file: &File, _buffer: &mut [u8]) -> io::Result<Option<usize>> {
        Ok(None)
    }

    /// None.
    pub fn value(_file: &File, _name: &CStr, _buffer: &mut [u8]) -> io::Result<Option<usize>> {
        Ok(None)
    }

    /// Never.
    pub fn is_too_long(_error: &io::Error) -> bool {
        false
    }

    /// Does nothing.
    pub fn set(_file: &File, _name: &CStr, _value: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Does nothing.
    pub fn remove(_file: &File, _name: &CStr) -> io::Result<()> {
        Ok(())
    }
}
