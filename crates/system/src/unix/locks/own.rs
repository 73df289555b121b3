//! Files whose locks belong to one process.
//!
//! A lock belongs to the open file, which the child of a `fork` shares with its parent: what the parent locked would stay locked after
//! its end, as long as the child lives. So the child opens each such file anew, under the same number, before `fork` returns there. That
//! can be done on Linux, by the paths that it gives to open files.

use crate::process::on_fork;
use std::fs::File;
use std::ops::Deref;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};

/// An open file that may be locked.
#[derive(Debug)]
pub struct OwnFile(File);

impl OwnFile {
    /// Takes an open file, of which the caller has no other handle.
    pub fn new(file: File) -> Self {
        note(file.as_raw_fd());
        Self(file)
    }
}

impl Deref for OwnFile {
    type Target = File;
    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        // Before it is closed, and its number is another file's.
        forget(self.0.as_raw_fd());
    }
}

/// The number of forks between the process that first had an [`OwnFile`] and this one.
pub fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

static FORKS: AtomicU32 = AtomicU32::new(0);

const FREE: RawFd = -1;
const PLACES: usize = 128;

/// Places for descriptors, and the next block of them. Blocks are never freed, since a `fork` may happen while another thread changes a place.
struct DescriptorBlock {
    places: [AtomicI32; PLACES],
    next: AtomicPtr<DescriptorBlock>,
}

impl DescriptorBlock {
    const fn new() -> Self {
        Self {
            places: [const { AtomicI32::new(FREE) }; PLACES],
            next: AtomicPtr::new(null_mut()),
        }
    }

    fn next(&self) -> Option<&'static Self> {
        // SAFETY: null, or a block that was made by `append` and is never freed.
        unsafe { self.next.load(Ordering::Acquire).as_ref() }
    }

    /// The block behind this one, which is created if there is none. None if there is no memory.
    fn append(&self) -> Option<&'static Self> {
        // SAFETY: the size of a block is not zero. The block is filled in before others see it.
        let new = unsafe {
            let new = libc::malloc(size_of::<Self>()).cast::<Self>();
            if new.is_null() {
                return None;
            }
            new.write(Self::new());
            new
        };
        let (order, failed) = (Ordering::AcqRel, Ordering::Acquire);
        let there = match self.next.compare_exchange(null_mut(), new, order, failed) {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: it is from `malloc`, and no other thread has its address, as it was not linked.
                unsafe { libc::free(new.cast()) };
                other
            }
        };
        // SAFETY: a block that is never freed.
        unsafe { there.as_ref() }
    }
}

static OPEN: DescriptorBlock = DescriptorBlock::new();

fn blocks() -> impl Iterator<Item = &'static DescriptorBlock> {
    std::iter::successors(Some(&OPEN), |block| block.next())
}

/// Replaces the first `old` by `new`. Returns false if there is none.
fn replace(old: RawFd, new: RawFd) -> bool {
    let (order, failed) = (Ordering::AcqRel, Ordering::Relaxed);
    blocks().flat_map(|block| &block.places).any(|place| {
        place.load(Ordering::Relaxed) == old
            && place.compare_exchange(old, new, order, failed).is_ok()
    })
}

/// Keeps a descriptor in mind. Without memory for that it is as the system has it: a child shares it.
fn note(descriptor: RawFd) {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.load(Ordering::Relaxed) && !WATCHED.swap(true, Ordering::Relaxed) {
        on_fork(in_child);
    }
    while !replace(FREE, descriptor) {
        if blocks().last().and_then(DescriptorBlock::append).is_none() {
            return;
        }
    }
}

fn forget(descriptor: RawFd) {
    replace(descriptor, FREE);
}

/// Runs in the child before `fork` returns there, where only calls are safe that a signal handler may make.
extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    for place in blocks().flat_map(|block| &block.places) {
        let descriptor = place.load(Ordering::Relaxed);
        if descriptor != FREE {
            open_anew(descriptor);
        }
    }
}

/// Gives a descriptor an open file of its own. Where that cannot be done, it stays as it is.
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
    // SAFETY: a C string, descriptors that this function owns or that are open in this process, and room for what is told.
    unsafe {
        let mut about: libc::stat64 = std::mem::zeroed();
        let known = libc::fstat64(descriptor, &mut about) == 0;
        if !known || about.st_mode & libc::S_IFMT != libc::S_IFREG {
            return;
        }
        let access = libc::fcntl(descriptor, libc::F_GETFL) & libc::O_ACCMODE;
        let new = libc::open64(path.as_ptr().cast(), access | libc::O_CLOEXEC);
        if new >= 0 {
            libc::dup3(new, descriptor, libc::O_CLOEXEC);
            libc::close(new);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn open_anew(_descriptor: RawFd) {}
