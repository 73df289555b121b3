//! The system's calls on paths and open files. Files are opened so that others can read, write,
//! rename and remove them.

use super::wide::{WideString, to_utf8};
use crate::error::{Error, Result};
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::mem::{MaybeUninit, offset_of};
use std::os::windows::fs::FileExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle};
use std::ptr::null;
use windows_sys::Win32::Foundation::{
    ERROR_HANDLE_EOF, ERROR_NO_MORE_FILES, GENERIC_READ, GENERIC_WRITE, HANDLE,
    INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::Storage::FileSystem::*;
use windows_sys::Win32::System::IO::OVERLAPPED;

/// The most bytes of a path.
pub const MAX_PATH: usize = 4096;

/// One call reads and writes no more.
const MAX_MOVED: usize = 1 << 30;

/// The bytes of a name in a directory: of 255 units, each of which takes three at most.
const NAME: usize = 255 * 3 + 1;

/// What a file is opened for.
#[derive(Clone, Copy)]
pub struct OpenFlags {
    access: u32,
    make: u32,
    flags: u32,
    empty: bool,
}

impl OpenFlags {
    const fn new(access: u32, make: u32, flags: u32) -> Self {
        Self {
            access,
            make,
            flags,
            empty: false,
        }
    }

    /// Reading what is there, also a directory.
    pub const READ: Self = Self::new(GENERIC_READ, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS);
    /// Reading and writing a file that is there.
    pub const READ_WRITE: Self = Self::new(GENERIC_READ | GENERIC_WRITE, OPEN_EXISTING, 0);
    /// Changing a file that is there.
    pub const CHANGE: Self = Self::READ_WRITE;
    /// Reading and writing a new file; one that is there is emptied.
    pub const CREATE_EMPTY: Self = Self {
        empty: true,
        ..Self::OPEN_OR_CREATE
    };
    /// Reading and writing a file that is not there yet.
    pub const NEW: Self = Self::new(GENERIC_READ | GENERIC_WRITE, CREATE_NEW, 0);
    /// Reading a file that is there.
    pub const EXISTING: Self = Self::READ;
    /// Reading and writing a file, which is made where there is none.
    pub const OPEN_OR_CREATE: Self = Self::new(GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS, 0);
    /// Writing what is there, whatever it is.
    pub const WRITE: Self = Self::new(GENERIC_WRITE, OPEN_EXISTING, 0);
    /// Writing a file that is there; links are refused.
    pub const WRITE_FILE: Self =
        Self::new(GENERIC_WRITE, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT);
    /// Writing a file; neither a file nor a link may be there yet.
    pub const TEMPORARY: Self = Self::new(GENERIC_WRITE, CREATE_NEW, FILE_FLAG_OPEN_REPARSE_POINT);
    /// Having what was written to it brought to the disk.
    pub const SYNC: Self = Self::READ_WRITE;
    /// Asking what a file is, without reading it.
    pub const STAT: Self = Self::new(
        FILE_READ_ATTRIBUTES,
        OPEN_EXISTING,
        FILE_FLAG_BACKUP_SEMANTICS,
    );

    /// The same, of a link itself.
    pub(super) fn without_links(self) -> Self {
        Self {
            flags: self.flags | FILE_FLAG_OPEN_REPARSE_POINT,
            ..self
        }
    }
}

/// Who may do what with a file that is made: here what its directory says.
#[derive(Clone, Copy)]
pub enum NewFileAccess {
    /// Its owner alone, where that can be said.
    Owner,
    /// Everyone.
    All,
}

/// What the system knows of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// None of a device.
    attributes: Option<u32>,
    /// The volume and the number of the file on it.
    pub identity: (u64, u64),
}

impl Stat {
    fn has(self, attribute: u32) -> bool {
        self.attributes
            .is_some_and(|attributes| attributes & attribute != 0)
    }

    /// Whether it is a directory.
    pub fn is_dir(self) -> bool {
        self.has(FILE_ATTRIBUTE_DIRECTORY) && !self.has(FILE_ATTRIBUTE_REPARSE_POINT)
    }

    /// Whether it is a regular file.
    pub fn is_file(self) -> bool {
        let other = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT;
        self.attributes.is_some() && !self.has(other)
    }

    /// Whether anybody may write to it, which is not asked here.
    pub fn is_writable(self) -> bool {
        true
    }
}

fn done(rc: i32) -> io::Result<()> {
    match rc {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn open_wide(path: &WideString, access: u32, make: u32, flags: u32) -> io::Result<File> {
    let share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    let none: HANDLE = std::ptr::null_mut();
    // SAFETY: a text that ends.
    let handle = unsafe { CreateFileW(path.as_ptr(), access, share, null(), make, flags, none) };
    if handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and owned by nothing else.
    Ok(unsafe { File::from_raw_handle(handle) })
}

/// Whether a file was not opened since it is a link, which no error tells here.
pub fn is_link(_error: &io::Error) -> bool {
    false
}

/// Opens a file, which child processes do not inherit.
pub fn open(path: &CStr, how: OpenFlags, _access: NewFileAccess) -> io::Result<File> {
    let file = open_wide(&WideString::path(path)?, how.access, how.make, how.flags)?;
    if how.empty {
        file.set_len(0)?;
    }
    Ok(file)
}

fn information(file: &File) -> io::Result<Stat> {
    // SAFETY: an open handle.
    if unsafe { GetFileType(file.as_raw_handle()) } != FILE_TYPE_DISK {
        return Ok(Stat {
            attributes: None,
            identity: (0, 0),
        });
    }
    let mut info = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: an open handle, and room for what the call fills in.
    done(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &mut info) })?;
    let number = u64::from(info.nFileIndexHigh) << 32 | u64::from(info.nFileIndexLow);
    Ok(Stat {
        attributes: Some(info.dwFileAttributes),
        identity: (u64::from(info.dwVolumeSerialNumber), number),
    })
}

/// What lies at a path: at its end if it is a link and `follow`.
pub fn stat(path: &CStr, follow: bool) -> io::Result<Stat> {
    let link = if follow {
        0
    } else {
        FILE_FLAG_OPEN_REPARSE_POINT
    };
    let flags = FILE_FLAG_BACKUP_SEMANTICS | link;
    let path = WideString::path(path)?;
    information(&open_wide(
        &path,
        FILE_READ_ATTRIBUTES,
        OPEN_EXISTING,
        flags,
    )?)
}

/// The volume of the file that a path names, and the number that the file has there.
pub fn identity_of(path: &CStr) -> Option<(u64, u64)> {
    stat(path, true).ok().map(|info| info.identity)
}

/// The volume of an open file, and its number there.
pub fn identity(file: &File) -> io::Result<(u64, u64)> {
    information(file).map(|info| info.identity)
}

/// When a file was last written to. It is not asked for here: the system notes it when a file is
/// closed, and not with each write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Written;

/// Device and inode of a file, and how many bytes it has, if that is known.
pub type FileVersion = ((u64, u64), Option<u64>);

/// The volume of the file that a path names, and the number that the file has there; no more is
/// known.
pub fn version_of(path: &CStr) -> Option<FileVersion> {
    identity_of(path).map(|identity| (identity, None))
}

/// Whether a handle still leads to its file: handles are not closed by others than their owner.
pub fn is_open(_file: &File, _known: (u64, u64)) -> bool {
    true
}

/// The volume of an open file, its number there, and its size.
pub fn version(file: &File) -> io::Result<FileVersion> {
    Ok((identity(file)?, Some(file.metadata()?.len())))
}

/// When an open file was last written to: not known here.
pub fn written(_file: &File) -> Option<Written> {
    None
}

/// The volume of an open file that has a name still, and its number there: else it is gone once it
/// is closed.
pub fn identity_if_named(file: &File) -> Option<(u64, u64)> {
    let mut info = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: an open handle, and room for what the call fills in.
    let known = unsafe { GetFileInformationByHandle(file.as_raw_handle(), &mut info) };
    let has_name = known != 0 && info.nNumberOfLinks > 0;
    has_name.then(|| identity(file).ok()).flatten()
}

/// As [`identity_of`], for a path of the standard library.
pub fn identity_at(path: &std::path::Path) -> io::Result<(u64, u64)> {
    let mut options = File::options();
    std::os::windows::fs::OpenOptionsExt::custom_flags(&mut options, FILE_FLAG_BACKUP_SEMANTICS);
    identity(&options.read(true).open(path)?)
}

/// Removes a file or a link.
pub fn unlink(path: &CStr) -> io::Result<()> {
    let path = WideString::path(path)?;
    // SAFETY: a text that ends.
    done(unsafe { DeleteFileW(path.as_ptr()) }).or_else(|error| {
        // A link to a directory is removed as one.
        // SAFETY: as above.
        let attributes = unsafe { GetFileAttributesW(path.as_ptr()) };
        let link = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT;
        if attributes == INVALID_FILE_ATTRIBUTES || attributes & link != link {
            return Err(error);
        }
        // SAFETY: as above.
        done(unsafe { RemoveDirectoryW(path.as_ptr()) })
    })
}

/// Removes an empty directory.
pub fn remove_dir(path: &CStr) -> io::Result<()> {
    // SAFETY: a text that ends.
    done(unsafe { RemoveDirectoryW(WideString::path(path)?.as_ptr()) })
}

/// Makes a directory.
pub fn make_dir(path: &CStr) -> io::Result<()> {
    // SAFETY: a text that ends.
    done(unsafe { CreateDirectoryW(WideString::path(path)?.as_ptr(), null()) })
}

/// Renames a file or a directory, and returns once that would survive a loss of power. A file that
/// has the new name is replaced, also while others have it open, where the file system can do that.
pub fn rename(from: &CStr, to: &CStr) -> io::Result<()> {
    let (from, to) = (WideString::path(from)?, WideString::path(to)?);
    if replace(&from, &to).is_ok() {
        return Ok(());
    }
    let flags = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
    // SAFETY: two texts that end.
    done(unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), flags) })
}

/// Renames a file or directory to a name that nothing has.
pub fn rename_new(from: &CStr, to: &CStr) -> io::Result<()> {
    let (from, to) = (WideString::path(from)?, WideString::path(to)?);
    // SAFETY: two texts that end.
    done(unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), MOVEFILE_WRITE_THROUGH) })
}

/// Renames with POSIX semantics: handles of the replaced file stay valid.
fn replace(from: &WideString, to: &WideString) -> io::Result<()> {
    /// Room for the longest name.
    const UNITS: usize = 1024;
    // Two flags of `FILE_RENAME_INFO`.
    const REPLACE_IF_EXISTS: u32 = 1;
    const POSIX_SEMANTICS: u32 = 2;
    #[repr(C)]
    struct Renaming {
        head: FILE_RENAME_INFO,
        more: [u16; UNITS],
    }
    let units = to.units();
    if units.len() >= UNITS {
        return Err(ErrorKind::InvalidInput.into());
    }
    let flags = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_WRITE_THROUGH;
    let file = open_wide(from, DELETE | SYNCHRONIZE, OPEN_EXISTING, flags)?;
    // SAFETY: numbers and a handle, for which zero is a value.
    let mut renaming: Renaming = unsafe { std::mem::zeroed() };
    renaming.head.Anonymous.Flags = REPLACE_IF_EXISTS | POSIX_SEMANTICS;
    renaming.head.FileNameLength = size_of_val(units) as u32;
    let name = (&raw mut renaming).cast::<u8>();
    // SAFETY: the name begins in the head and goes on behind it, where there is room for all of it,
    // as was just checked; the handle is open.
    done(unsafe {
        let name = name
            .add(offset_of!(FILE_RENAME_INFO, FileName))
            .cast::<u16>();
        name.copy_from_nonoverlapping(units.as_ptr(), units.len());
        SetFileInformationByHandle(
            file.as_raw_handle(),
            FileRenameInfoEx,
            (&raw const renaming).cast(),
            size_of::<Renaming>() as u32,
        )
    })
}

/// Exchanges what lies at two paths, which this system cannot.
///
/// # Errors
/// Always.
pub fn exchange(_a: &CStr, _b: &CStr) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Gives a file a second name.
pub fn link(from: &CStr, to: &CStr) -> io::Result<()> {
    let (from, to) = (WideString::path(from)?, WideString::path(to)?);
    // SAFETY: two texts that end.
    done(unsafe { CreateHardLinkW(to.as_ptr(), from.as_ptr(), null()) })
}

/// Where a link leads to in the end, as much as there is room for; how many bytes that is.
///
/// # Errors
/// Where no link is, or nothing at its end.
pub fn read_link(path: &CStr, buffer: &mut [u8]) -> io::Result<usize> {
    let path = WideString::path(path)?;
    // SAFETY: a text that ends.
    let attributes = unsafe { GetFileAttributesW(path.as_ptr()) };
    if attributes == INVALID_FILE_ATTRIBUTES || attributes & FILE_ATTRIBUTE_REPARSE_POINT == 0 {
        return Err(ErrorKind::InvalidInput.into());
    }
    let flags = FILE_FLAG_BACKUP_SEMANTICS;
    let end = open_wide(&path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, flags)?;
    let mut units = [0u16; MAX_PATH];
    // SAFETY: an open handle, and as much room as is said.
    let len = unsafe {
        let (units, len) = (units.as_mut_ptr(), units.len() as u32);
        GetFinalPathNameByHandleW(end.as_raw_handle(), units, len, 0)
    };
    match units.get(..len as usize) {
        Some(path) if !path.is_empty() => to_utf8(path, buffer),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Calls `each` with the name of each entry of a directory.
///
/// # Errors
/// [`Error::NOT_FOUND`] if it cannot be opened, [`Error::FAILURE`] if it cannot be read,
/// [`Error::MEMORY_ALLOC`], and those of `each`, which end it.
pub fn each_entry(path: &CStr, mut each: impl FnMut(&CStr) -> Result<()>) -> Result<()> {
    struct FindHandle(HANDLE);
    impl Drop for FindHandle {
        fn drop(&mut self) {
            // SAFETY: begun below, and ended once.
            unsafe { FindClose(self.0) };
        }
    }
    let all = WideString::path(path).and_then(|path| path.join("*"));
    let all = all.map_err(|error| match error.kind() {
        ErrorKind::OutOfMemory => Error::MEMORY_ALLOC,
        _ => Error::NOT_FOUND,
    })?;
    let mut entry = WIN32_FIND_DATAW::default();
    // SAFETY: a text that ends, and room for what the call fills in.
    let search = unsafe { FindFirstFileW(all.as_ptr(), &mut entry) };
    if search == INVALID_HANDLE_VALUE {
        return Err(Error::NOT_FOUND);
    }
    let search = FindHandle(search);
    loop {
        let units = &entry.cFileName;
        let end = units
            .iter()
            .position(|unit| *unit == 0)
            .unwrap_or(units.len());
        let mut name = [0; NAME];
        to_utf8(&units[..end], &mut name[..NAME - 1]).map_err(|_| Error::FAILURE)?;
        let name = CStr::from_bytes_until_nul(&name).map_err(|_| Error::FAILURE)?;
        if name != c"." && name != c".." {
            each(name)?;
        }
        // SAFETY: the search goes on, and room for what the call fills in.
        if unsafe { FindNextFileW(search.0, &mut entry) } == 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error().map(|code| code as u32) {
                Some(ERROR_NO_MORE_FILES) => Ok(()),
                _ => Err(Error::FAILURE.because(&error)),
            };
        }
    }
}

/// A place in a file, as calls take it. All ones stand for the end of the file, and are refused.
fn overlapped(pos: u64) -> io::Result<OVERLAPPED> {
    i64::try_from(pos).map_err(|_| ErrorKind::InvalidInput)?;
    let mut overlapped = OVERLAPPED::default();
    overlapped.Anonymous.Anonymous.Offset = pos as u32;
    overlapped.Anonymous.Anonymous.OffsetHigh = (pos >> 32) as u32;
    Ok(overlapped)
}

/// Reads from `pos` on, once; how many bytes that were, none at the end of the file. Moves the
/// position of `file`, as all calls here that read or write at a place.
pub fn read_at(file: &File, buf: &mut [u8], pos: u64) -> io::Result<usize> {
    i64::try_from(pos).map_err(|_| ErrorKind::InvalidInput)?;
    file.seek_read(buf, pos)
}

/// As [`read_at`], into memory that nothing was written to.
pub fn read_new_at(file: &File, buffer: &mut [MaybeUninit<u8>], pos: u64) -> io::Result<usize> {
    let mut at = overlapped(pos)?;
    let (mut read, len) = (0, buffer.len().min(MAX_MOVED) as u32);
    // SAFETY: an open handle that waits in its calls, and as much room as is said.
    let rc = unsafe {
        let buffer = buffer.as_mut_ptr().cast();
        ReadFile(file.as_raw_handle(), buffer, len, &mut read, &mut at)
    };
    match done(rc) {
        Err(error) if error.raw_os_error() == Some(ERROR_HANDLE_EOF as i32) => Ok(0),
        Err(error) => Err(error),
        Ok(()) => Ok(read as usize),
    }
}

/// Writes from `pos` on, once; how many bytes that were.
pub fn write_at(file: &File, buf: &[u8], pos: u64, _limit: &FileSizeLimit) -> io::Result<usize> {
    i64::try_from(pos).map_err(|_| ErrorKind::InvalidInput)?;
    file.seek_write(buf, pos)
}

/// Makes a file `len` bytes long.
pub fn set_len(file: &File, len: u64, _limit: &FileSizeLimit) -> io::Result<()> {
    file.set_len(len)
}

/// How long a file the process may write: this system has no such limit.
#[derive(Debug, Default)]
pub struct FileSizeLimit;

impl FileSizeLimit {
    /// Does nothing.
    pub fn forget(&self) {}
}

/// Writes all of `buf` to what has no positions, such as a pipe.
pub fn write_all(mut file: &File, buf: &[u8]) -> io::Result<()> {
    file.write_all(buf)
}

/// As [`write_at`], the first part that is not empty.
pub fn write_parts_at(
    file: &File,
    parts: &[IoSlice<'_>],
    pos: u64,
    limit: &FileSizeLimit,
) -> io::Result<usize> {
    let part = parts.iter().find(|part| !part.is_empty());
    part.map_or(Ok(0), |part| write_at(file, part, pos, limit))
}

/// Fills `buf` with the bytes from `pos` on.
///
/// # Errors
/// Also where the file ends before.
pub fn read_exact_at(file: &File, mut buf: &mut [u8], mut pos: u64) -> io::Result<()> {
    while !buf.is_empty() {
        match read_at(file, buf, pos)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            len => (buf, pos) = (&mut buf[len..], pos + len as u64),
        }
    }
    Ok(())
}

/// Writes all of `buf` from `pos` on.
pub fn write_all_at(file: &File, mut buf: &[u8], mut pos: u64) -> io::Result<()> {
    while !buf.is_empty() {
        match write_at(file, buf, pos, &FileSizeLimit)? {
            0 => return Err(ErrorKind::WriteZero.into()),
            len => (buf, pos) = (&buf[len..], pos + len as u64),
        }
    }
    Ok(())
}

/// Closes a file.
pub fn close(file: File) -> io::Result<()> {
    drop(file);
    Ok(())
}

/// Nothing: a new file has the rights that its directory gives.
pub struct Rights;

/// Those of an open file.
pub fn rights(_file: &File) -> io::Result<Rights> {
    Ok(Rights)
}

/// Does nothing.
pub fn give_rights(_file: &File, _old: &Rights, _acl: Option<&mut [u8]>) -> io::Result<()> {
    Ok(())
}

/// Does nothing but see that the directory is there: its names are written before a file in it is
/// synced, or [`rename`] returns.
pub fn sync_names(directory: &CStr) -> io::Result<()> {
    match stat(directory, true)?.is_dir() {
        true => Ok(()),
        false => Err(ErrorKind::NotADirectory.into()),
    }
}

/// None are to be kept open longer than they are used: programs replace and remove files by calls
/// that fail while they are open.
pub fn most_open() -> Option<u64> {
    Some(0)
}

/// Whether this stands between the names of a path.
pub fn is_separator(byte: u8) -> bool {
    matches!(byte, b'/' | b'\\')
}

/// How many bytes at the front of a path name a drive.
pub fn drive(path: &[u8]) -> usize {
    match path {
        [letter, b':', ..] if letter.is_ascii_alphabetic() => 2,
        _ => 0,
    }
}

/// The bytes of a path of the standard library, as this crate takes them; none where it cannot be
/// told so.
pub fn path_bytes(path: &std::path::Path) -> Option<&[u8]> {
    path.to_str().map(str::as_bytes)
}
