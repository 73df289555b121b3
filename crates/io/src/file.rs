//! Files of the file system. Reads and writes are positioned system calls on the descriptor. There
//! is no cursor, so many threads can read through one handle, and no buffer, so all handles of a
//! file see what was written.

use super::change_lock::ChangeLock;
use super::{Backend, Exclusion, Mode, Storage, Version, Written};
use oxiblosc_base::memory::{Buffer, Shared, TryVec, shared_dyn};
use oxiblosc_base::system::files::{self, FileSizeLimit, NewFileAccess, OpenFlags};
use oxiblosc_base::system::locks::OwnFile;
use oxiblosc_base::{Context, Doing, Error, OrError, Result};
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Seek, SeekFrom};
use std::sync::OnceLock;
use std::time::Duration;

/// Up to this many parts are written without an allocation.
const FEW_PARTS: usize = 8;

/// The path that a C string names.
#[cfg(test)]
pub fn path(path: &CStr) -> &std::path::Path {
    std::path::Path::new(path.to_str().expect("the paths of tests are UTF-8"))
}

/// The back end for files.
#[derive(Clone, Copy, Debug)]
pub struct Filesystem;

impl Backend for Filesystem {
    fn open(&self, path: &CStr, mode: Mode) -> Result<Shared<dyn Storage>> {
        let file = PlainFile::open(path, mode)?;
        shared_dyn!(file => dyn Storage).inspect_err(|_| {
            if mode == Mode::New {
                // The file was created by this call.
                let _ = files::unlink(path);
            }
        })
    }

    fn identity(&self, path: &CStr) -> Option<(u64, u64)> {
        files::identity_of(path)
    }

    fn version(&self, path: &CStr) -> Option<Version> {
        let (identity, size) = files::version_of(path)?;
        Some(Version { identity, size })
    }

    fn is_filesystem(&self) -> bool {
        true
    }
}

/// An open file.
#[derive(Debug)]
pub struct PlainFile {
    file: OwnFile,
    lock: ChangeLock,
    /// See [`identity_once`].
    identity: OnceLock<(u64, u64)>,
    /// As it was when [`Storage::is_open`] was last asked, which each change does.
    limit: FileSizeLimit,
}

impl PlainFile {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// `Error::FILE_OPEN` if that fails.
    pub fn open(path: &CStr, mode: Mode) -> Result<Self> {
        let file = match mode {
            Mode::ReadWrite => files::open(path, OpenFlags::CHANGE, NewFileAccess::All),
            other => other.open(path),
        };
        let doing = match mode {
            Mode::Create | Mode::New => Doing::CreateFile,
            Mode::Read | Mode::ReadWrite => Doing::OpenFile,
        };
        let file = file.or_error(Error::FILE_OPEN).doing(doing);
        file.map(Self::of)
    }

    /// An open file.
    pub(super) fn of(file: File) -> Self {
        Self {
            file: OwnFile::new(file),
            lock: ChangeLock::new(),
            identity: OnceLock::new(),
            limit: FileSizeLimit::default(),
        }
    }
}

impl Storage for PlainFile {
    fn size(&self) -> Result<u64> {
        if self.file.is_kept() {
            let version = files::version(&self.file).or_error(Error::FILE_READ);
            let (_, size) = version.doing(Doing::SizeOfFile)?;
            return size.ok_or(Error::FILE_READ);
        }
        // Seeking to the end is faster than `fstat`; `files::identity_of` explains why. Nothing
        // else uses the position of a file that is not kept open.
        (&*self.file)
            .seek(SeekFrom::End(0))
            .or_error(Error::FILE_READ)
            .doing(Doing::SizeOfFile)
    }

    fn read_at(&self, pos: u64, buf: &mut [u8]) -> Result<()> {
        let all = buf.len();
        all_of(read_some(&self.file, pos, buf, all), all, Error::FILE_READ)
    }

    fn append_to(&self, buf: &mut Buffer, pos: u64, len: usize) -> Result<()> {
        let buffer = buf.spare_capacity_mut(len)?;
        let mut done = 0;
        while done < len {
            let left = &mut buffer[done..];
            let at = pos.saturating_add(done as u64);
            match files::read_new_at(&self.file, left, at) {
                Ok(0) => return Err(Error::FILE_READ),
                Ok(n) => done += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::FILE_READ.because(&error)),
            }
        }
        // SAFETY: the loop has filled all `len` bytes.
        unsafe { buf.advance(len) };
        Ok(())
    }

    fn write_at(&self, pos: u64, buf: &[u8]) -> Result<()> {
        write_all(&self.file, pos, buf, &self.limit)
    }

    fn write_all_at(&self, pos: u64, parts: &[&[u8]]) -> Result<()> {
        write_parts(&self.file, pos, parts, &self.limit)
    }

    fn truncate(&self, size: u64) -> Result<()> {
        files::set_len(&self.file, size, &self.limit).or_error(Error::FILE_TRUNCATE)
    }

    fn sync(&self) -> Result<()> {
        let synced = self.file.sync_data().or_error(Error::FILE_WRITE);
        synced.doing(Doing::SyncFile)
    }

    fn lock_exclusive(&self) -> Result<Exclusion> {
        self.lock.take(&*self.file, self.identity())
    }

    fn try_lock_exclusive(&self) -> Option<Exclusion> {
        self.lock.try_take(&*self.file, self.identity())
    }

    fn complete_lock(&self) -> bool {
        self.lock.complete(&*self.file)
    }

    fn lock_shared(&self, timeout: Duration) -> bool {
        self.lock.share(&*self.file, timeout)
    }

    fn unlock(&self) {
        self.lock.release(&*self.file);
    }

    fn keep(&self) -> bool {
        self.file.keep()
    }

    fn is_open(&self) -> bool {
        self.limit.forget();
        self.file.is_open()
    }

    fn identity(&self) -> Option<(u64, u64)> {
        identity_once(&self.file, &self.identity)
    }

    fn written(&self) -> Option<Written> {
        files::written(&self.file)
    }
}

/// Device and inode of a file, kept in `known` once they were read: they do not change while the
/// file is open.
pub(crate) fn identity_once(file: &File, known: &OnceLock<(u64, u64)>) -> Option<(u64, u64)> {
    if let Some(known) = known.get() {
        return Some(*known);
    }
    let identity = files::identity(file).ok()?;
    Some(*known.get_or_init(|| identity))
}

/// Reads from `pos` on until `buf` is full, the file ends or an error occurs. Returns the number of
/// bytes read.
pub fn read_up_to(file: &File, pos: u64, buf: &mut [u8]) -> usize {
    let all = buf.len();
    read_at_least(file, pos, buf, all)
}

/// [`read_up_to`], but once `enough` bytes are read it does not ask for more.
pub fn read_at_least(file: &File, pos: u64, buf: &mut [u8], enough: usize) -> usize {
    read_some(file, pos, buf, enough).0
}

/// How many bytes were read or written, and the error that ended it, if one did.
type Moved = (usize, Option<io::Error>);

/// The error if fewer than all bytes were read or written.
fn all_of((done, cause): Moved, all: usize, error: Error) -> Result<()> {
    match done < all {
        true => Err(cause.map_or(error, |cause| error.because(&cause))),
        false => Ok(()),
    }
}

fn read_some(file: &File, pos: u64, buf: &mut [u8], enough: usize) -> Moved {
    let mut done = 0;
    while done < enough {
        match files::read_at(file, &mut buf[done..], pos.saturating_add(done as u64)) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (done, Some(error)),
        }
    }
    (done, None)
}

/// Writes `buf` from `pos` on until all is written or an error occurs. Returns the number of bytes
/// written.
pub fn write_up_to(file: &File, pos: u64, buf: &[u8], limit: &FileSizeLimit) -> usize {
    write_some(file, pos, buf, limit).0
}

/// Writes all of `buf` from `pos` on.
///
/// # Errors
/// [`Error::FILE_WRITE`]; some of it may be written then.
pub fn write_all(file: &File, pos: u64, buf: &[u8], limit: &FileSizeLimit) -> Result<()> {
    let written = write_some(file, pos, buf, limit);
    all_of(written, buf.len(), Error::FILE_WRITE)
}

fn write_some(file: &File, pos: u64, buf: &[u8], limit: &FileSizeLimit) -> Moved {
    let mut done = 0;
    while done < buf.len() {
        let at = pos.saturating_add(done as u64);
        match files::write_at(file, &buf[done..], at, limit) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (done, Some(error)),
        }
    }
    (done, None)
}

/// Writes the parts one after another from `pos` on, in as few system calls as possible, usually
/// one.
fn write_parts(file: &File, pos: u64, parts: &[&[u8]], limit: &FileSizeLimit) -> Result<()> {
    let slices = parts
        .iter()
        .filter(|part| !part.is_empty())
        .map(|part| IoSlice::new(part));
    // Most writes have few parts, and need no allocation.
    let mut few = [IoSlice::new(&[]); FEW_PARTS];
    let mut many = TryVec::new();
    let mut left = if parts.len() <= few.len() {
        let mut count = 0;
        for slice in slices {
            few[count] = slice;
            count += 1;
        }
        &mut few[..count]
    } else {
        many.extend(slices)?;
        &mut many[..]
    };
    let mut at = pos;
    while !left.is_empty() {
        match files::write_parts_at(file, left, at, limit) {
            Ok(0) => return Err(Error::FILE_WRITE),
            Ok(n) => {
                IoSlice::advance_slices(&mut left, n);
                at = at.checked_add(n as u64).ok_or(Error::FILE_WRITE)?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::FILE_WRITE.because(&error)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::Folder;
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn reading_for_a_change_does_not_set_the_time_of_the_last_access() {
        let folder = Folder::new("accessed");
        let name = folder.path("a");
        std::fs::write(path(&name), b"abc").expect("writes");
        let then = std::time::UNIX_EPOCH + Duration::from_secs(1 << 30);
        let times = std::fs::FileTimes::new().set_accessed(then);
        let owned = File::options().write(true).open(path(&name));
        owned
            .and_then(|file| file.set_times(times))
            .expect("sets it");
        let file = Filesystem.open(&name, Mode::ReadWrite).expect("opens");
        file.read_at(0, &mut [0; 3]).expect("reads");
        let accessed = path(&name).metadata().and_then(|there| there.accessed());
        assert_eq!(accessed.expect("the file has one"), then);
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = Folder::new("file");
        let name = folder.path("a");
        assert_eq!(
            PlainFile::open(&name, Mode::Read).err(),
            Some(Error::FILE_OPEN)
        );
        assert_eq!(
            PlainFile::open(&name, Mode::ReadWrite).err(),
            Some(Error::FILE_OPEN)
        );
        let file = Filesystem.open(&name, Mode::Create).expect("creates");
        assert_eq!(file.size(), Ok(0));
        file.write_at(3, b"abc").expect("writes past the end");
        assert_eq!(file.size(), Ok(6));
        let mut six = [9; 6];
        file.read_at(0, &mut six).expect("reads");
        assert_eq!(&six, b"\0\0\0abc");
        assert_eq!(file.read_at(1, &mut six), Err(Error::FILE_READ));
        let mut bytes = Buffer::copy_of(b"x").expect("one byte");
        assert_eq!(
            file.append_to(&mut bytes, 3, 4),
            Err(Error::FILE_READ),
            "one byte more than there is"
        );
        assert_eq!(file.append_to(&mut bytes, 3, 3), Ok(()));
        assert_eq!(file.append_to(&mut bytes, 100, 0), Ok(()));
        assert_eq!(&bytes[..], b"xabc");
        assert_eq!(file.read_at(u64::MAX, &mut six), Err(Error::FILE_READ));
        assert_eq!(file.read_at(100, &mut []), Ok(()));
        assert_eq!(file.write_at(u64::MAX, b"a"), Err(Error::FILE_WRITE));
        file.truncate(4).expect("truncates");
        assert_eq!(file.size(), Ok(4));
        assert_eq!(file.truncate(u64::MAX), Err(Error::FILE_TRUNCATE));
        assert_eq!(file.sync(), Ok(()));
        assert_eq!(file.identity(), Filesystem.identity(&name));
        assert!(file.identity().is_some());
        assert_eq!(Filesystem.identity(&folder.path("b")), None);

        let reader = Filesystem.open(&name, Mode::Read).expect("opens");
        assert_eq!(reader.write_at(0, b"a"), Err(Error::FILE_WRITE));
        assert_eq!(
            reader.write_all_at(0, &[b"a", b"b"]),
            Err(Error::FILE_WRITE)
        );
        assert_eq!(reader.truncate(0), Err(Error::FILE_TRUNCATE));
        let again = Filesystem.open(&name, Mode::Create).expect("creates");
        assert_eq!(again.size(), Ok(0));
    }

    #[test]
    fn parts_follow_one_another() {
        let folder = Folder::new("parts");
        let file = PlainFile::open(&folder.path("a"), Mode::Create).expect("creates");
        assert_eq!(file.write_all_at(5, &[]), Ok(()));
        assert_eq!(file.write_all_at(5, &[b"", b""]), Ok(()));
        assert_eq!(file.size(), Ok(0));
        // More parts than one call takes, some of them empty.
        let whole: Vec<u8> = (0..10_000u32).map(|i| (i % 251) as u8).collect();
        let parts: Vec<&[u8]> = whole.chunks(3).flat_map(|part| [part, &[][..]]).collect();
        file.write_all_at(7, &parts).expect("writes");
        let mut back = vec![0; whole.len()];
        file.read_at(7, &mut back).expect("reads");
        assert!(back == whole);
        assert_eq!(file.write_all_at(u64::MAX, &[b"a"]), Err(Error::FILE_WRITE));
    }

    #[test]
    fn a_directory_is_no_file() {
        let folder = Folder::new("directory");
        let name = folder.path("");
        let opened = Filesystem.open(&name, Mode::Read).expect("opens");
        assert_eq!(opened.read_at(0, &mut [0]), Err(Error::FILE_READ));
        assert!(Filesystem.open(&name, Mode::ReadWrite).is_err());
    }
}
