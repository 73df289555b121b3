//! The address space of a map. A file cannot be mapped longer than it is, nor be cut while it is
//! mapped.

use crate::error::{Error, Result};
pub use crate::system::map_mode::MapMode;
use std::fs::File;
use std::os::windows::io::AsRawHandle;
use std::ptr::{NonNull, null};
use windows_sys::Win32::Foundation::CloseHandle;
pub use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::Memory::{
    CreateFileMappingW, FILE_MAP_COPY, FILE_MAP_READ, FILE_MAP_WRITE, MEM_COMMIT, MEM_RELEASE,
    MEM_RESERVE, MEMORY_MAPPED_VIEW_ADDRESS, MapViewOfFile, PAGE_NOACCESS, PAGE_READONLY,
    PAGE_READWRITE, PAGE_WRITECOPY, UnmapViewOfFile, VirtualAlloc, VirtualFree,
};
use windows_sys::Win32::System::SystemInformation::GetSystemInfo;

impl MapMode {
    /// What the map is protected for, as the system takes it.
    pub fn protection(self) -> i32 {
        let protection = match self {
            Self::Read => PAGE_READONLY,
            Self::Write => PAGE_READWRITE,
            Self::Copy => PAGE_WRITECOPY,
        };
        protection as i32
    }

    /// How the map is made, as the system takes it.
    pub fn flags(self) -> i32 {
        let flags = match self {
            Self::Read => FILE_MAP_READ,
            Self::Write => FILE_MAP_WRITE,
            Self::Copy => FILE_MAP_COPY,
        };
        flags as i32
    }
}

/// What lies in the address space.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// A view of the file.
    View,
    /// Memory of its own, or none at all where a file is empty.
    Memory,
}

/// The address space of a map. Bytes from `size` on are zero.
pub struct Region {
    pub(crate) base: NonNull<u8>,
    holds: Holds,
    /// Bytes of address space.
    pub mapped: usize,
    /// Bytes of the file, or of what it looks like from here.
    pub size: usize,
}

// SAFETY: a region owns the address space that it points to, which belongs to no thread; what is
// done to it through a shared reference only reads.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Drop for Region {
    fn drop(&mut self) {
        let at = self.base.as_ptr().cast();
        // SAFETY: the region is what was mapped or taken here and is owned by this value alone,
        // which ends here.
        unsafe {
            match self.holds {
                Holds::View => UnmapViewOfFile(MEMORY_MAPPED_VIEW_ADDRESS { Value: at }),
                Holds::Memory => VirtualFree(at, 0, MEM_RELEASE),
            }
        };
    }
}

/// Bytes of a page.
fn page() -> usize {
    // SAFETY: numbers, for which zero is a value, and room for them.
    let info = unsafe {
        let mut info = std::mem::zeroed();
        GetSystemInfo(&mut info);
        info
    };
    (info.dwPageSize as usize).max(1)
}

/// The whole pages that hold `size` bytes, in bytes.
pub fn whole_pages(size: usize) -> Result<usize> {
    let whole = size.checked_next_multiple_of(page());
    whole
        .filter(|whole| isize::try_from(*whole).is_ok())
        .ok_or(Error::MEMORY_ALLOC)
}

/// Zeros, or addresses that nothing lies at.
fn memory(len: usize, usable: bool) -> Result<NonNull<u8>> {
    let (kind, protection) = match usable {
        true => (MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE),
        false => (MEM_RESERVE, PAGE_NOACCESS),
    };
    // SAFETY: the system chooses where.
    let at = unsafe { VirtualAlloc(null(), len, kind, protection) };
    NonNull::new(at.cast()).ok_or(Error::MEMORY_ALLOC)
}

/// A view of the first `len` bytes of a file, which is at least as long. `len` is not 0.
fn view(file: &File, kind: MapMode, len: usize) -> Result<NonNull<u8>> {
    let (file, protection) = (file.as_raw_handle(), kind.protection() as u32);
    // SAFETY: an open handle; a mapping of all that the file has. It lives on in its view.
    let at = unsafe {
        let mapping = CreateFileMappingW(file, null(), protection, 0, 0, null());
        if mapping.is_null() {
            return Err(Error::MEMORY_ALLOC);
        }
        let view = MapViewOfFile(mapping, kind.flags() as u32, 0, 0, len);
        CloseHandle(mapping);
        view.Value
    };
    NonNull::new(at.cast()).ok_or(Error::MEMORY_ALLOC)
}

impl Region {
    /// A map that shares its bytes with a file of `size` bytes. There is never more room than that.
    pub fn shared(file: &File, kind: MapMode, mapped: usize, size: usize) -> Result<Self> {
        whole_pages(mapped)?;
        let (base, holds) = match size {
            0 => (memory(page(), false)?, Holds::Memory),
            _ => (view(file, kind, size)?, Holds::View),
        };
        Ok(Self {
            base,
            holds,
            mapped: size,
            size,
        })
    }

    /// A copy in memory, made page by page as it is written to, of a file of `size` bytes. There is
    /// no more room at first.
    pub fn copy(file: &File, mapped: usize, size: usize) -> Result<Self> {
        whole_pages(mapped)?;
        let mapped = whole_pages(size.max(1))?;
        let (base, holds) = match size {
            0 => (memory(mapped, true)?, Holds::Memory),
            _ => (view(file, MapMode::Copy, size)?, Holds::View),
        };
        Ok(Self {
            base,
            holds,
            mapped,
            size,
        })
    }

    /// Where in the region `len` bytes at `pos` begin.
    pub fn find(&self, pos: u64, len: usize) -> Result<usize> {
        let pos = usize::try_from(pos).map_err(|_| Error::FILE_READ)?;
        match pos.checked_add(len) {
            Some(end) if end <= self.size && end <= self.mapped => Ok(pos),
            _ => Err(Error::FILE_READ),
        }
    }

    /// How many bytes the file must have for those from `from` to `end` to be touched: a file that
    /// is mapped is never cut.
    pub fn needed(&self, _from: usize, _end: usize) -> usize {
        0
    }

    /// Does nothing: the file has to grow first. See [`Self::follow`].
    pub fn grow_shared(&mut self, _mapped: usize, _kind: MapMode, _file: &File) -> Result<()> {
        Ok(())
    }

    /// Unmaps a shared map, so that its file can be cut. Its bytes are found again after
    /// [`Self::follow`].
    pub fn release(&mut self) {
        if self.holds == Holds::View
            && let Ok(nothing) = memory(page(), false)
        {
            // The old region goes with what is assigned over.
            *self = Self {
                base: nothing,
                holds: Holds::Memory,
                mapped: 0,
                ..*self
            };
        }
    }

    /// Maps a shared file anew, as long as it is now. Where the system refuses, the map stays as it
    /// is.
    pub fn follow(&mut self, kind: MapMode, file: &File) {
        if self.mapped != self.size
            && let Ok(new) = Self::shared(file, kind, self.size, self.size)
        {
            *self = new;
        }
    }

    /// Moves what is in memory alone to a larger region; on failure all stays as it is.
    pub fn grow_copy(&mut self, mapped: usize) -> Result<()> {
        let mut fresh = Self {
            base: memory(mapped, true)?,
            holds: Holds::Memory,
            mapped,
            size: self.size,
        };
        // SAFETY: this region has that many bytes, and no reference leads into it.
        let bytes = unsafe { std::slice::from_raw_parts(self.at(0), self.size) };
        fresh.put(0, bytes);
        *self = fresh;
        Ok(())
    }

    /// Shortens what is in memory alone to `size` bytes; those behind are zeros from then on.
    pub fn cut_copy(&mut self, size: usize) -> Result<()> {
        let end = self.size;
        // SAFETY: the range lies inside the region.
        unsafe { self.at(size).write_bytes(0, end.saturating_sub(size)) };
        self.size = size;
        Ok(())
    }
}
