//! The address space of a map: how it is laid out, grown and cut. Everything unsafe about maps is
//! here and in `region`.

use crate::error::{Error, Result};
pub use crate::system::map_mode::MapMode;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

impl MapMode {
    /// What the map is protected for, as the system takes it.
    pub fn protection(self) -> i32 {
        match self {
            Self::Read => libc::PROT_READ,
            _ => libc::PROT_READ | libc::PROT_WRITE,
        }
    }

    /// How the map is made, as the system takes it.
    pub fn flags(self) -> i32 {
        match self {
            Self::Copy => libc::MAP_PRIVATE,
            _ => libc::MAP_SHARED,
        }
    }
}

/// The address space of a map. Bytes from `size` on are zero.
pub struct Region {
    pub(crate) base: NonNull<u8>,
    /// Bytes of address space.
    pub mapped: usize,
    /// Bytes of the file, or of what it looks like from here.
    pub size: usize,
    /// Only for [`MapMode::Copy`]: the bytes before this one come from the file, those behind it
    /// never did. A multiple of the page size.
    split: usize,
    /// Only for [`MapMode::Copy`]: as many bytes at the front must be in the file when they are
    /// touched.
    backed: usize,
}

// SAFETY: a region owns the address space that it points to, which belongs to no thread; what is
// done to it through a shared reference only reads.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Drop for Region {
    fn drop(&mut self) {
        if self.mapped > 0 {
            // SAFETY: the region is mapped with this length and owned by this value alone, which
            // ends here.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.mapped) };
        }
    }
}

/// Bytes of a page.
pub fn page() -> usize {
    // SAFETY: asks for a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096).max(1)
}

/// The whole pages that hold `size` bytes, in bytes.
pub fn whole_pages(size: usize) -> Result<usize> {
    size.checked_next_multiple_of(page())
        .ok_or(Error::MEMORY_ALLOC)
}

/// Maps `len` bytes at an address of the system's choice: of the file, or of zeros where there is
/// none.
fn map(len: usize, protection: i32, flags: i32, file: Option<&File>) -> Result<NonNull<u8>> {
    let fd = file.map_or(-1, AsRawFd::as_raw_fd);
    // SAFETY: without MAP_FIXED the call touches no mapping that exists.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, fd, 0) };
    if address == libc::MAP_FAILED {
        return Err(Error::MEMORY_ALLOC);
    }
    NonNull::new(address.cast()).ok_or(Error::MEMORY_ALLOC)
}

/// Flags for address space that is zero until it is written to, and only then takes memory.
const ZEROS: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

impl Region {
    /// A map that shares `mapped` bytes of address space with a file of `size` bytes.
    pub fn shared(file: &File, kind: MapMode, mapped: usize, size: usize) -> Result<Self> {
        Ok(Self {
            base: map(mapped, kind.protection(), kind.flags(), Some(file))?,
            mapped,
            size,
            split: 0,
            backed: 0,
        })
    }

    /// A copy in memory, made page by page as it is written to, of a file of `size` bytes, with
    /// `mapped` bytes of address space.
    pub fn copy(file: &File, mapped: usize, size: usize) -> Result<Self> {
        let mapped = whole_pages(mapped)?;
        let mut region = Self {
            base: map(mapped, MapMode::Copy.protection(), ZEROS, None)?,
            mapped,
            size,
            split: 0,
            backed: 0,
        };
        region.lay_over(file)?;
        Ok(region)
    }

    /// Where in the region `len` bytes at `pos` begin. (The file may be longer than what is mapped
    /// of it.)
    pub fn find(&self, pos: u64, len: usize) -> Result<usize> {
        let pos = usize::try_from(pos).map_err(|_| Error::FILE_READ)?;
        match pos.checked_add(len) {
            Some(end) if end <= self.size.min(self.mapped) => Ok(pos),
            _ => Err(Error::FILE_READ),
        }
    }

    /// Only for [`MapMode::Copy`]: how many bytes the file must have for those from `from` to `end`
    /// to be touched. The last page that comes from the file needs all of it, wherever in that page
    /// they lie.
    pub fn needed(&self, from: usize, end: usize) -> usize {
        if from < self.split && from < end {
            self.backed.min(end)
        } else {
            0
        }
    }

    /// Lays a private map of the file over the front of a region of zeros.
    fn lay_over(&mut self, file: &File) -> Result<()> {
        let split = whole_pages(self.size)?;
        if split > 0 {
            // SAFETY: the range is the front of this region, which has at least `split` bytes,
            // being whole pages that hold `size`; it is not in use yet.
            let laid = unsafe {
                libc::mmap(
                    self.base.as_ptr().cast(),
                    split,
                    MapMode::Copy.protection(),
                    MapMode::Copy.flags() | libc::MAP_FIXED | libc::MAP_NORESERVE,
                    file.as_raw_fd(),
                    0,
                )
            };
            if laid == libc::MAP_FAILED {
                return Err(Error::MEMORY_ALLOC);
            }
        }
        (self.split, self.backed) = (split, self.size);
        Ok(())
    }

    /// Maps the file anew, with room for more bytes than it has.
    pub fn grow_shared(&mut self, mapped: usize, kind: MapMode, file: &File) -> Result<()> {
        // The old region goes with what is assigned over.
        *self = Self::shared(file, kind, mapped, self.size)?;
        Ok(())
    }

    /// To be called before the file is cut: some systems cut no file that is mapped.
    pub fn release(&mut self) {}

    /// To be called when the file has another size than before. Here, a map may be longer than its
    /// file.
    pub fn follow(&mut self, _kind: MapMode, _file: &File) {}

    /// Moves what is in memory alone to a larger region; on failure all stays as it is.
    pub fn grow_copy(&mut self, mapped: usize) -> Result<()> {
        let base = map(mapped, MapMode::Copy.protection(), ZEROS, None)?;
        let mut fresh = Self {
            base,
            mapped,
            ..*self
        };
        let own = self.size.saturating_sub(self.split);
        // SAFETY: both regions have `size` bytes and do not overlap, and behind `split` no byte
        // depends on the file.
        unsafe {
            fresh
                .at(self.split)
                .copy_from_nonoverlapping(self.at(self.split), own);
        }
        if self.split > 0 {
            fresh.take_front(self)?;
        }
        *self = fresh;
        Ok(())
    }

    /// Takes over the part of `old` that came from the file, with what was changed in it.
    #[cfg(target_os = "linux")]
    fn take_front(&mut self, old: &mut Self) -> Result<()> {
        // SAFETY: the source is the front of `old`, mapped in one piece by `lay_over` or what
        // `cut_copy` left of it; the target is the front of this region, which is longer; both are
        // ours alone.
        let moved = unsafe {
            libc::mremap(
                old.base.as_ptr().cast(),
                old.split,
                old.split,
                libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
                self.base.as_ptr(),
            )
        };
        if moved == libc::MAP_FAILED {
            return Err(Error::MEMORY_ALLOC);
        }
        // Those addresses may be mapped by something else now.
        // SAFETY: `split` is at most `mapped`.
        old.base = unsafe { old.base.add(old.split) };
        old.mapped -= old.split;
        Ok(())
    }

    /// Takes over the part of `old` that came from the file, with what was changed in it.
    #[cfg(not(target_os = "linux"))]
    fn take_front(&mut self, old: &mut Self) -> Result<()> {
        // SAFETY: both regions have `split` bytes and do not overlap; the caller knows the file to
        // be there.
        unsafe {
            self.base
                .as_ptr()
                .copy_from_nonoverlapping(old.base.as_ptr(), old.split.min(old.size));
        }
        (self.split, self.backed) = (0, 0);
        Ok(())
    }

    /// Shortens what is in memory alone to `size` bytes; those behind are zeros from then on.
    pub fn cut_copy(&mut self, size: usize) -> Result<()> {
        let keep = whole_pages(size)?.min(self.mapped);
        if keep < self.mapped {
            // SAFETY: the range is the end of this region, from a page's start on, and not in use.
            let cleared = unsafe {
                libc::mmap(
                    self.base.as_ptr().add(keep).cast(),
                    self.mapped - keep,
                    MapMode::Copy.protection(),
                    ZEROS | libc::MAP_FIXED,
                    -1,
                    0,
                )
            };
            if cleared == libc::MAP_FAILED {
                return Err(Error::MEMORY_ALLOC);
            }
        }
        self.split = self.split.min(keep);
        self.backed = self.backed.min(size);
        // SAFETY: the range lies inside the region, in a page that the caller knows to be there.
        unsafe { self.base.as_ptr().add(size).write_bytes(0, keep - size) };
        self.size = size;
        Ok(())
    }
}
