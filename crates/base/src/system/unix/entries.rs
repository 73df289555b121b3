//! What is in a directory.

pub use system::each_entry;
pub(super) use system::each_entry_of;

#[cfg(target_os = "linux")]
mod system {
    use crate::error::{Error, OrError, Result};
    use crate::system::unix::files::{NewFileAccess, OpenFlags, open};
    use std::ffi::CStr;
    use std::fs::File;
    use std::io::{self, ErrorKind, Seek};
    use std::os::fd::AsRawFd;

    /// Room for entries of a directory, aligned as the system writes them.
    #[repr(align(8))]
    struct Entries([u8; 4096]);

    /// Calls `each` with the name of each entry of a directory. Nothing is allocated: what a failed
    /// operation leaves must be found when there is no memory, too. An entry that `each` removes is
    /// not given again.
    ///
    /// # Errors
    /// [`Error::NOT_FOUND`] if it cannot be opened, [`Error::FAILURE`] if it cannot be read,
    /// [`Error::MEMORY_ALLOC`], and those of `each`, which end it.
    pub fn each_entry(path: &CStr, each: impl FnMut(&CStr) -> Result<()>) -> Result<()> {
        let directory = open(path, OpenFlags::DIRECTORY, NewFileAccess::All).map_err(|error| {
            match error.kind() {
                ErrorKind::OutOfMemory => Error::MEMORY_ALLOC,
                _ => Error::NOT_FOUND,
            }
        })?;
        each_entry_of(&directory, each)
    }

    /// The same, of an open directory, from its beginning.
    pub fn each_entry_of(
        mut directory: &File,
        mut each: impl FnMut(&CStr) -> Result<()>,
    ) -> Result<()> {
        /// Where the length of an entry stands, and its name: `struct linux_dirent64`, as
        /// getdents64(2) describes it.
        const LENGTH: usize = 16;
        const NAME: usize = 19;
        directory.rewind().or_error(Error::FAILURE)?;
        let mut buffer = Entries([0; 4096]);
        loop {
            // SAFETY: an open descriptor, and as much room as is said, aligned as entries are.
            let len = unsafe {
                libc::syscall(
                    libc::SYS_getdents64,
                    directory.as_raw_fd(),
                    buffer.0.as_mut_ptr(),
                    buffer.0.len(),
                )
            };
            let refused = |_| Error::FAILURE.because(&io::Error::last_os_error());
            let len = usize::try_from(len).map_err(refused)?;
            let mut entries = buffer.0.get(..len).ok_or(Error::FAILURE)?;
            if entries.is_empty() {
                return Ok(());
            }
            while let Some(length) = entries.get(LENGTH..LENGTH + 2) {
                let length = usize::from(u16::from_ne_bytes([length[0], length[1]]));
                let entry = entries.get(NAME..length).ok_or(Error::FAILURE)?;
                let name = CStr::from_bytes_until_nul(entry).map_err(|_| Error::FAILURE)?;
                if name != c"." && name != c".." {
                    each(name)?;
                }
                entries = &entries[length..];
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use crate::error::{Error, OrError, Result};
    use std::ffi::CStr;
    use std::fs::File;
    use std::io::{self, ErrorKind};
    use std::os::fd::{AsRawFd, IntoRawFd};
    use std::ptr::NonNull;

    /// Calls `each` with the name of each entry of a directory.
    ///
    /// # Errors
    /// [`Error::NOT_FOUND`] if it cannot be opened, [`Error::FAILURE`] if it cannot be read,
    /// [`Error::MEMORY_ALLOC`], and those of `each`, which end it.
    pub fn each_entry(path: &CStr, each: impl FnMut(&CStr) -> Result<()>) -> Result<()> {
        // SAFETY: a C string.
        entries_of(unsafe { libc::opendir(path.as_ptr()) }, each)
    }

    /// The same, of an open directory, from its beginning.
    pub fn each_entry_of(directory: &File, each: impl FnMut(&CStr) -> Result<()>) -> Result<()> {
        let own = directory.try_clone().or_error(Error::FAILURE)?;
        // SAFETY: a descriptor that is open, and whose owner the stream becomes.
        let stream = unsafe { libc::fdopendir(own.as_raw_fd()) };
        if !stream.is_null() {
            let _ = own.into_raw_fd();
            // SAFETY: just opened.
            unsafe { libc::rewinddir(stream) };
        }
        entries_of(stream, each)
    }

    fn entries_of(stream: *mut libc::DIR, mut each: impl FnMut(&CStr) -> Result<()>) -> Result<()> {
        struct Open(NonNull<libc::DIR>);
        impl Drop for Open {
            fn drop(&mut self) {
                // SAFETY: opened by the caller, and closed once.
                unsafe { libc::closedir(self.0.as_ptr()) };
            }
        }
        let Some(directory) = NonNull::new(stream).map(Open) else {
            let error = io::Error::last_os_error();
            return Err(match error.kind() {
                ErrorKind::OutOfMemory => Error::MEMORY_ALLOC,
                _ => Error::NOT_FOUND,
            });
        };
        loop {
            clear_errno();
            // SAFETY: it is open.
            let entry = unsafe { libc::readdir(directory.0.as_ptr()) };
            if entry.is_null() {
                let error = io::Error::last_os_error();
                return match error.raw_os_error() {
                    Some(0) => Ok(()),
                    _ => Err(Error::FAILURE.because(&error)),
                };
            }
            // SAFETY: an entry, whose name is a C string, until the next call.
            let name = unsafe { CStr::from_ptr((*entry).d_name.as_ptr()) };
            if name != c"." && name != c".." {
                each(name)?;
            }
        }
    }

    /// Only this distinguishes the end of a directory from an error.
    fn clear_errno() {
        #[cfg(any(target_os = "macos", target_os = "ios"))]
        // SAFETY: the address of this thread's number.
        unsafe {
            *libc::__error() = 0;
        }
        #[cfg(not(any(target_os = "macos", target_os = "ios")))]
        // SAFETY: as above.
        unsafe {
            *libc::__errno_location() = 0;
        }
    }
}
