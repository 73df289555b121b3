//! Frames that are opened as memory maps.

use super::schunk::SchunkLib;
use super::schunk_calls::Schunk;
use blosc2::capi::types::{blosc2_cparams, blosc2_io, blosc2_stdio_mmap};
use std::ffi::CStr;
use std::ops::Deref;
use std::path::Path;

/// The id of the back end for memory maps.
const MMAP: u8 = 1;

/// Parameters of a map.
pub fn map_params(mode: &'static CStr) -> Box<blosc2_stdio_mmap> {
    Box::new(blosc2_stdio_mmap {
        mode: mode.as_ptr(),
        initial_mapping_size: 1 << 20,
        ..blosc2_stdio_mmap::defaults()
    })
}

/// The back end for a map.
pub fn map_io(params: &mut blosc2_stdio_mmap) -> blosc2_io {
    blosc2_io {
        id: MMAP,
        name: c"mmap".as_ptr(),
        params: std::ptr::from_mut(params).cast(),
    }
}

/// A super-chunk, and the parameters of its map if it has one, which it uses until it is freed.
pub struct Opened {
    schunk: Schunk,
    _params: Option<Box<blosc2_stdio_mmap>>,
}

impl Deref for Opened {
    type Target = Schunk;
    fn deref(&self) -> &Schunk {
        &self.schunk
    }
}

impl From<Schunk> for Opened {
    fn from(schunk: Schunk) -> Self {
        Opened {
            schunk,
            _params: None,
        }
    }
}

impl Opened {
    /// Opens a frame as a map in this mode.
    pub fn map(lib: &'static SchunkLib, path: &Path, mode: &'static CStr) -> Option<Self> {
        let mut params = map_params(mode);
        let schunk = lib.open_io(path, &map_io(&mut params))?;
        Some(Opened {
            schunk,
            _params: Some(params),
        })
    }

    /// A new frame in a map.
    pub fn new_map(lib: &'static SchunkLib, path: &Path, cparams: &blosc2_cparams) -> Option<Self> {
        let mut params = map_params(c"w+");
        let io = &mut map_io(&mut params);
        let schunk = lib.create(true, Some(path), cparams, 1, Some(io))?;
        Some(Opened {
            schunk,
            _params: Some(params),
        })
    }
}
