//! Reads the header of a chunk, and checks it before anything is decompressed.

use super::border::FAILED;
use super::compressors::library_of;
use oxiblosc_chunk::blosc1::read_header;
use oxiblosc_chunk::header::{ChunkHeader, MIN_HEADER_LENGTH, flags, version};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null;

/// The code for a chunk or a codec of an unknown version.
const OTHER_VERSION: c_int = -9;
/// The code for an unknown codec.
const NO_CODEC: c_int = -5;
/// The only version of the format of each codec.
const CODEC_VERSION: u8 = 1;

/// The 16 bytes at the front of a chunk.
#[derive(Clone, Copy)]
pub struct RawHeader([u8; MIN_HEADER_LENGTH]);

impl RawHeader {
    /// Reads the header at `chunk`. None for null.
    ///
    /// # Safety
    /// `chunk` is null, or 16 bytes are readable there.
    pub unsafe fn read(chunk: *const c_void) -> Option<Self> {
        // SAFETY: the pointer is not null, so 16 bytes are readable there (# Safety). An array of
        // bytes needs no alignment.
        (!chunk.is_null()).then(|| Self(unsafe { *chunk.cast() }))
    }

    fn int(&self, at: usize) -> c_int {
        oxiblosc_chunk::header::i32_at(&self.0, at)
    }

    /// Whether the version of the format is known.
    pub fn is_known(&self) -> bool {
        self.0[0] == version::BLOSC1
    }

    /// The size of the data in the header, which is not checked.
    pub fn nbytes(&self) -> c_int {
        self.int(4)
    }

    fn blocksize(&self) -> c_int {
        self.int(8)
    }

    fn cbytes(&self) -> c_int {
        self.int(12)
    }

    fn format(&self) -> u8 {
        self.0[2] >> 5
    }

    fn is_stored(&self) -> bool {
        self.0[2] & flags::MEMCPYED != 0
    }

    /// Whether a flag is set that Blosc 1 does not define.
    pub fn has_unknown_flags(&self) -> bool {
        self.0[2] & flags::DELTA != 0
    }

    /// Whether the size of a block is more than `most`, or the size of a block or an item is 0.
    pub fn has_blocks_over(&self, most: usize) -> bool {
        usize::try_from(self.blocksize()).map_or(true, |size| size == 0 || size > most)
            || self.0[3] == 0
    }

    /// The header, if its sizes and codec are possible. `starts` gets the number of blocks and
    /// returns how many block starts must fit behind the header.
    ///
    /// # Errors
    /// A negative code.
    pub fn check(&self, starts: impl FnOnce(usize) -> usize) -> Result<ChunkHeader, c_int> {
        if self.is_stored() {
            if self.nbytes().checked_add(MIN_HEADER_LENGTH as c_int) != Some(self.cbytes()) {
                return Err(FAILED);
            }
        } else if library_of(self.format()).is_none() {
            return Err(NO_CODEC);
        } else if self.0[1] != CODEC_VERSION {
            return Err(OTHER_VERSION);
        }
        let header = read_header(&self.0).map_err(|_| FAILED)?;
        if !self.is_stored() && starts(header.nblocks) > (header.cbytes - MIN_HEADER_LENGTH) / 4 {
            return Err(FAILED);
        }
        Ok(header)
    }
}

/// Writes `value` to `place`, unless that is null.
///
/// # Safety
/// The pointer is null or can be written.
unsafe fn write_unless_null<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the pointer is not null, so it can be written (# Safety).
        unsafe { *place = value };
    }
}

/// Reads the size of the data, of the chunk and of a block from the header. If the format is
/// unknown, they are 0.
///
/// # Safety
/// `cbuffer` has 16 bytes; the others can be written, or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc_cbuffer_sizes(
    cbuffer: *const c_void,
    nbytes: *mut usize,
    cbytes: *mut usize,
    blocksize: *mut usize,
) {
    // SAFETY: `cbuffer` has a header, and the others can be written or are null, by `# Safety`.
    unsafe {
        let header = RawHeader::read(cbuffer).filter(RawHeader::is_known);
        // A negative size becomes a very large one.
        let size = |field: fn(&RawHeader) -> c_int| {
            header.as_ref().map_or(0, |header| field(header) as usize)
        };
        write_unless_null(nbytes, size(RawHeader::nbytes));
        write_unless_null(cbytes, size(RawHeader::cbytes));
        write_unless_null(blocksize, size(RawHeader::blocksize));
    }
}

/// Checks whether the `cbytes` bytes at `cbuffer` can be a chunk, and sets `nbytes` to the size of
/// its data. It is then safe to decompress the chunk, though this may fail. Returns 0, or -1 if the
/// bytes are no chunk.
///
/// # Safety
/// `cbuffer` has `cbytes` bytes; `nbytes` can be written, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc_cbuffer_validate(
    cbuffer: *const c_void,
    cbytes: usize,
    nbytes: *mut usize,
) -> c_int {
    if cbytes < MIN_HEADER_LENGTH {
        return FAILED;
    }
    // SAFETY: `cbuffer` has `cbytes` bytes, by `# Safety`, which were found to be enough for a
    // header.
    let header = unsafe { RawHeader::read(cbuffer) }.filter(RawHeader::is_known);
    let (size, all) = header.map_or((0, 0), |header| {
        (header.nbytes() as usize, header.cbytes() as usize)
    });
    // SAFETY: `nbytes` can be written or is null, by `# Safety`.
    unsafe { write_unless_null(nbytes, size) };
    if all == cbytes && size <= i32::MAX as usize - MIN_HEADER_LENGTH {
        0
    } else {
        FAILED
    }
}

/// Reads the size of an item, and the bits `BLOSC_DOSHUFFLE`, `BLOSC_MEMCPYED` and
/// `BLOSC_DOBITSHUFFLE` from the header. If the format is unknown, both are 0.
///
/// # Safety
/// `cbuffer` has 16 bytes; the others can be written, or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc_cbuffer_metainfo(
    cbuffer: *const c_void,
    typesize: *mut usize,
    flags: *mut c_int,
) {
    // SAFETY: `cbuffer` has a header, and the others can be written or are null, by `# Safety`.
    unsafe {
        let header = RawHeader::read(cbuffer).filter(RawHeader::is_known);
        write_unless_null(typesize, header.map_or(0, |header| header.0[3].into()));
        write_unless_null(flags, header.map_or(0, |header| (header.0[2] & 7).into()));
    }
}

/// Reads the version of the chunk format, and that of the codec's format, from the header.
///
/// # Safety
/// `cbuffer` has 16 bytes; the others can be written, or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc_cbuffer_versions(
    cbuffer: *const c_void,
    version: *mut c_int,
    compversion: *mut c_int,
) {
    // SAFETY: `cbuffer` has a header, and the others can be written or are null, by `# Safety`.
    unsafe {
        let header = RawHeader::read(cbuffer);
        write_unless_null(version, header.map_or(0, |header| header.0[0].into()));
        write_unless_null(compversion, header.map_or(0, |header| header.0[1].into()));
    }
}

/// Returns the name of the library that compressed a chunk, or NULL if it is unknown. This library
/// owns the name.
///
/// # Safety
/// `cbuffer` has 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc_cbuffer_complib(cbuffer: *const c_void) -> *const c_char {
    // SAFETY: `cbuffer` has a header, by `# Safety`.
    let header = unsafe { RawHeader::read(cbuffer) };
    let library = header.and_then(|header| library_of(header.format()));
    library.map_or(null(), CStr::as_ptr)
}
