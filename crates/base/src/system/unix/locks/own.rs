//! Files whose locks belong to one process, and which stay open between the calls of the library.
//!
//! A lock belongs to the open file, which the child of a `fork` shares with its parent: what the
//! parent locked would stay locked after its end, as long as the child lives. So the child opens
//! each such file anew, under the same number, before `fork` returns there. That can be done on
//! Linux, by the paths that it gives to open files.
//!
//! A program may close descriptors that are not its own: one that becomes a daemon closes all. Then
//! their numbers are given to other files. Two things tell: this library notes for each number
//! which of its files had it last, and the position of a kept file, which belongs to the open file
//! and which nothing else uses, is a number that no other open file has.

use crate::system::process::on_fork;
use std::fs::File;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// An open file that may be locked.
#[derive(Debug)]
pub struct OwnFile {
    file: ManuallyDrop<File>,
    /// What is noted for its descriptor: [`OPEN`], or the mark that [`Self::keep`] has set.
    mark: AtomicU32,
}

impl OwnFile {
    /// Takes an open file, of which the caller has no other handle.
    pub fn new(file: File) -> Self {
        note(file.as_raw_fd());
        Self {
            file: ManuallyDrop::new(file),
            mark: AtomicU32::new(OPEN),
        }
    }

    /// Prepares the file to be kept open while the program may close descriptors: [`Self::is_open`]
    /// tells whether it has. From now on the position of the file must not be changed. False if it
    /// has none.
    pub fn keep(&self) -> bool {
        let (descriptor, mark) = (self.as_raw_fd(), new_mark());
        // SAFETY: a call with numbers, on an open descriptor.
        if unsafe { libc::lseek(descriptor, mark as libc::off_t, libc::SEEK_SET) } < 0 {
            return false;
        }
        if let Some(entry) = entry(descriptor) {
            entry.store(mark, Ordering::Relaxed);
        }
        self.mark.store(mark, Ordering::Relaxed);
        true
    }

    fn mark(&self) -> u32 {
        self.mark.load(Ordering::Relaxed)
    }

    /// Whether [`Self::keep`] was called.
    pub fn is_kept(&self) -> bool {
        self.mark() != OPEN
    }

    /// Whether no later file of this library has got the number of the descriptor. This asks the
    /// system for nothing.
    pub fn has_number(&self) -> bool {
        let noted = entry(self.as_raw_fd()).map(|entry| entry.load(Ordering::Relaxed));
        noted.is_none_or(|noted| noted == self.mark())
    }

    /// Whether the descriptor is this file's still. It is not, if the program has closed it; then
    /// nothing must be done with it. Without [`Self::keep`] this is not known, and true.
    pub fn is_open(&self) -> bool {
        !self.is_kept() || self.has_number() && has_mark(self.as_raw_fd(), self.mark())
    }
}

impl Deref for OwnFile {
    type Target = File;
    fn deref(&self) -> &File {
        &self.file
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        let is_open = self.is_open();
        if let Some(entry) = entry(self.as_raw_fd()) {
            // Before it is closed, and its number is another file's.
            let (order, other) = (Ordering::Relaxed, Ordering::Relaxed);
            let _ = entry.compare_exchange(self.mark(), FREE, order, other);
        }
        if is_open {
            // SAFETY: the file is not used after this.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}

/// The number of forks between the process that first had an [`OwnFile`] and this one.
pub fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

static FORKS: AtomicU32 = AtomicU32::new(0);

/// Noted for numbers that no file of this library has.
const FREE: u32 = 0;
/// Noted for an open file without a mark.
const OPEN: u32 = 1;
/// Marks are positions from here on, and less than twice this, which every file system allows. Few
/// files are that long.
const FIRST_MARK: u32 = 1 << 30;

/// A mark that no other file of this process has, as long as there are less than [`FIRST_MARK`].
/// Those of another copy of this library are others, as they depend on where it lies in memory.
fn new_mark() -> u32 {
    static MARKS: AtomicU32 = AtomicU32::new(0);
    let mixed = |number: u32| number.wrapping_mul(0x9e37_79b1);
    let address = (&raw const MARKS).addr();
    let own = mixed((address >> 4) as u32 ^ (address >> 32) as u32);
    let number = MARKS.fetch_add(1, Ordering::Relaxed);
    FIRST_MARK + own.wrapping_add(mixed(number)) % FIRST_MARK
}

/// Whether the file with this descriptor has the mark. Where the file system does not answer it is
/// taken for ours, so that its locks are given back and it is closed.
fn has_mark(descriptor: RawFd, mark: u32) -> bool {
    // SAFETY: a call with numbers; a descriptor that is not open is an error.
    let position = unsafe { libc::lseek(descriptor, 0, libc::SEEK_CUR) };
    match position {
        0.. => position == mark as libc::off_t,
        _ => {
            let error = std::io::Error::last_os_error().raw_os_error();
            !matches!(error, Some(libc::EBADF | libc::ESPIPE))
        }
    }
}

const PLACES: usize = 1 << 10;
const BLOCKS: usize = 1 << 10;

/// What is noted for as many descriptors.
type Block = [AtomicU32; PLACES];

/// Notes for all descriptors that Linux gives to a process unless its administrator allows more;
/// for others nothing is noted. A block is made for the first of its descriptors, but for that of
/// the lowest, and never freed, since a `fork` may happen while another thread changes a place.
static NOTED: [AtomicPtr<Block>; BLOCKS] = {
    let mut blocks = [const { AtomicPtr::new(null_mut()) }; BLOCKS];
    blocks[0] = AtomicPtr::new((&raw const FIRST).cast_mut());
    blocks
};

/// The block that most processes need alone. It takes no memory that would be left when the library
/// is unloaded.
static FIRST: Block = [const { AtomicU32::new(FREE) }; PLACES];

/// Where it is noted which file has a descriptor; none if nothing ever was.
fn entry(descriptor: RawFd) -> Option<&'static AtomicU32> {
    let number = usize::try_from(descriptor).ok()?;
    let block = NOTED.get(number / PLACES)?.load(Ordering::Acquire);
    // SAFETY: null, or a block that was made by `add_block` and is never freed.
    let block = unsafe { block.as_ref() }?;
    Some(&block[number % PLACES])
}

/// Adds the block for a descriptor, if there is memory for it.
fn add_block(descriptor: RawFd) {
    let number = usize::try_from(descriptor).unwrap_or(usize::MAX);
    let Some(block) = NOTED.get(number / PLACES) else {
        return;
    };
    // SAFETY: the size of a block is not zero, and zeros are a block.
    let new = unsafe { libc::calloc(1, size_of::<Block>()) }.cast::<Block>();
    let (order, other) = (Ordering::AcqRel, Ordering::Acquire);
    if block
        .compare_exchange(null_mut(), new, order, other)
        .is_err()
    {
        // SAFETY: it is from `calloc`, and no other thread has its address.
        unsafe { libc::free(new.cast()) };
    }
}

/// Notes a descriptor. Without memory for that it is as the system has it: a child shares it.
fn note(descriptor: RawFd) {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.load(Ordering::Relaxed) && !WATCHED.swap(true, Ordering::Relaxed) {
        on_fork(in_child);
    }
    if entry(descriptor).is_none() {
        add_block(descriptor);
    }
    if let Some(entry) = entry(descriptor) {
        entry.store(OPEN, Ordering::Relaxed);
    }
}

/// Runs in the child before `fork` returns there, where only calls are safe that a signal handler
/// may make.
extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    for (index, block) in NOTED.iter().enumerate() {
        // SAFETY: as in `entry`.
        let Some(block) = (unsafe { block.load(Ordering::Acquire).as_ref() }) else {
            continue;
        };
        for (at, entry) in block.iter().enumerate() {
            let descriptor = (index * PLACES + at) as RawFd;
            match entry.load(Ordering::Relaxed) {
                FREE => {}
                OPEN => open_anew(descriptor),
                // The number may be a file of the program, which must stay as it is.
                mark if has_mark(descriptor, mark) => open_anew(descriptor),
                _ => {}
            }
        }
    }
}

/// Gives a descriptor an open file of its own, at the same position. Where that cannot be done, it
/// stays as it is.
#[cfg(target_os = "linux")]
pub(super) fn open_anew(descriptor: RawFd) {
    const FRONT: &[u8] = b"/proc/self/fd/";
    let mut path = [0; FRONT.len() + 11];
    path[..FRONT.len()].copy_from_slice(FRONT);
    let (mut left, mut digits) = (descriptor, 1);
    while left >= 10 {
        left /= 10;
        digits += 1;
    }
    left = descriptor;
    for digit in path[FRONT.len()..][..digits].iter_mut().rev() {
        *digit = b'0' + (left % 10) as u8;
        left /= 10;
    }
    // SAFETY: a C string, descriptors that this function owns or that are open in this process, and
    // room for what is told.
    unsafe {
        let mut about: libc::stat64 = std::mem::zeroed();
        let known = libc::fstat64(descriptor, &mut about) == 0;
        if !known || about.st_mode & libc::S_IFMT != libc::S_IFREG {
            return;
        }
        let access = libc::fcntl(descriptor, libc::F_GETFL) & libc::O_ACCMODE;
        // Where it is one of the standard streams' descriptors, no other thread of this process can
        // use it meanwhile: there is none yet.
        let new = libc::open64(path.as_ptr().cast(), access | libc::O_CLOEXEC);
        if new >= 0 {
            let position = libc::lseek64(descriptor, 0, libc::SEEK_CUR);
            libc::lseek64(new, position, libc::SEEK_SET);
            libc::dup3(new, descriptor, libc::O_CLOEXEC);
            libc::close(new);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn open_anew(_descriptor: RawFd) {}
