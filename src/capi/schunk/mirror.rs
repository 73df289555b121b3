//! The public structure of a super-chunk: a window in which programs see its state, and set some
//! parameters.

use crate::capi::mmap;
use crate::capi::prelude::*;
use oxiblosc::decoding::DecodeContext;
use oxiblosc::encoding::EncodeContext;
use oxiblosc::format::frame::meta::{Metalayer, NAME_MAXLEN};
use oxiblosc::schunk::host::{Changed, Host, ProgramSettings, WindowCounts};
use oxiblosc::schunk::windows::{ChunkWindows, LayerWindows};
use oxiblosc::schunk::{Parameters, State};
use oxiblosc_base::memory::{Buffer, boxed, lock};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

/// A metalayer as C sees it.
pub struct Layer {
    c: blosc2_metalayer,
    /// With the 0 that ends it in C.
    name: [u8; NAME_MAXLEN + 1],
}

impl Default for Layer {
    fn default() -> Self {
        Self {
            c: blosc2_metalayer::none(),
            name: [0; NAME_MAXLEN + 1],
        }
    }
}

impl Layer {
    /// Shows a metalayer, which outlives this; from now on this stays where it is.
    pub fn show(&mut self, layer: &Metalayer) -> *mut blosc2_metalayer {
        let len = layer.name.len().min(NAME_MAXLEN);
        self.name[..len].copy_from_slice(&layer.name[..len]);
        self.name[len] = 0;
        self.c = blosc2_metalayer {
            name: self.name.as_mut_ptr().cast(),
            content: layer.content.as_ptr().cast_mut(),
            content_len: layer.content.len() as i32,
        };
        &raw mut self.c
    }
}

/// What the structure points to.
#[derive(Default)]
struct Shown {
    /// The addresses of the chunks that each have a buffer of their own.
    chunks: ChunkWindows<*mut u8>,
    layers: LayerWindows<Layer>,
}

/// The window of one super-chunk.
pub struct Mirror {
    c: *mut blosc2_schunk,
    shown: Mutex<Shown>,
}

// SAFETY: `of` requires that the structure outlives this. The lock of the super-chunk orders
// accesses to it: `show` is called by a thread that has the state exclusively, `settings` by those
// that share it. The one field that several threads write at once is atomic. What the structure
// points to is behind a mutex.
unsafe impl Send for Mirror {}
// SAFETY: as above.
unsafe impl Sync for Mirror {}

impl Mirror {
    /// The window of the super-chunk to which this structure belongs.
    ///
    /// # Safety
    /// The structure is used as long as this is, and its contexts are null or valid.
    pub unsafe fn of(c: *mut blosc2_schunk) -> Result<Box<dyn Host>> {
        Ok(boxed(Self {
            c,
            shown: Mutex::new(Shown::default()),
        })?)
    }
}

/// Writes a field that the program may read meanwhile.
fn publish(field: *mut i64, value: i64) {
    // SAFETY: the callers pass fields of the structure, which `Mirror::of` requires to be valid.
    // The library writes these fields only here.
    unsafe { AtomicI64::from_ptr(field) }.store(value, Ordering::Relaxed);
}

impl Shown {
    /// Says where the pointers to chunks are.
    fn point_to_chunks(&mut self, c: &mut blosc2_schunk) {
        c.data = self.chunks.windows().as_mut_ptr();
        c.data_len = self.chunks.capacity() * size_of::<*mut u8>();
    }
}

impl Host for Mirror {
    fn encoder(&self) -> Result<&dyn EncodeContext> {
        // SAFETY: `of` requires that the structure is valid, and its contexts null or valid.
        Ok(unsafe { Context::from_c((*self.c).cctx)? })
    }

    fn decoder(&self) -> Result<&dyn DecodeContext> {
        // SAFETY: as in `encoder`.
        Ok(unsafe { Context::from_c((*self.c).dctx)? })
    }

    fn nthreads(&self) -> (i16, i16) {
        let number = |ctx: *mut blosc2_context| {
            // SAFETY: `of` requires that the contexts are null or valid.
            unsafe { Context::from_c(ctx) }.map_or(1, |ctx| ctx.nthreads.get())
        };
        // SAFETY: `of` requires that the structure is valid.
        unsafe { (number((*self.c).cctx), number((*self.c).dctx)) }
    }

    fn settings(&self) -> Option<ProgramSettings> {
        // SAFETY: `of` requires that the structure is valid; the lock keeps it from being written
        // now (see `Send`).
        unsafe {
            Some(ProgramSettings {
                parameters: parameters(self.c),
                chunksize: (*self.c).chunksize,
            })
        }
    }

    fn has_set(&self, expected: &Parameters, chunksize: i32) -> bool {
        // SAFETY: as in `settings`.
        unsafe { parameters(self.c) == *expected && (*self.c).chunksize == chunksize }
    }

    fn prepare(&self, state: &mut State, count: WindowCounts) -> Result<()> {
        let mut shown = lock(&self.shown);
        shown.chunks.prepare(&count)?;
        if !state.is_frame() {
            // They may have moved, whatever becomes of the change.
            // SAFETY: see `Send`.
            shown.point_to_chunks(unsafe { &mut *self.c });
        }
        shown.layers.prepare(&count)
    }

    fn show(&self, state: &mut State, changed: Changed) {
        let mut shown = lock(&self.shown);
        // SAFETY: see `Send`.
        let c = unsafe { &mut *self.c };
        let counts = state.counts();
        publish(&mut c.nchunks, counts.nchunks as i64);
        publish(&mut c.nbytes, counts.nbytes);
        publish(&mut c.cbytes, counts.cbytes);
        c.chunksize = counts.chunksize;
        c.flags2 = counts.flags2;
        c.blocksize = state.parameters().blocksize;
        c.change_tick = state.tick();
        if !state.is_frame() {
            let address = |chunk: Option<&mut Buffer>| chunk.map_or(null_mut(), Buffer::as_mut_ptr);
            shown.chunks.update(state, &changed, address);
            shown.point_to_chunks(c);
            c.frame = null_mut();
        } else {
            // C sees the frame by its address alone.
            c.frame = self.c.cast();
        }
        if matches!(changed, Changed::Metalayers | Changed::Everything) {
            let mut lists = [&mut c.metalayers[..], &mut c.vlmetalayers];
            let most = [lists[0].len(), lists[1].len()];
            shown.layers.update(state, |kind, at, layer| {
                if let Some(place) = lists[kind as usize].get_mut(at) {
                    *place = layer.map_or(null_mut(), |(window, layer)| window.show(layer));
                }
            });
            c.nmetalayers = state.metalayers().len().min(most[0]) as u16;
            c.nvlmetalayers = state.vlmetalayers().len().min(most[1]) as i16;
        }
        // SAFETY: the storage is null, or that of the handle, whose parameters the program keeps
        // valid; this thread alone changes the file.
        unsafe { mmap::follow(c.storage) };
    }

    fn at_chunk(&self, nchunk: usize) {
        // SAFETY: `of` requires that the structure is valid.
        publish(unsafe { &raw mut (*self.c).current_nchunk }, nchunk as i64);
    }
}

/// The parameters that the public fields stand for.
///
/// # Safety
/// The structure is there, and its parameters are not written meanwhile. (Other fields may be, so
/// there is no reference to it.)
pub unsafe fn parameters(c: *const blosc2_schunk) -> Parameters {
    unsafe_granted!(
        gather!(Parameters { use_dict: (*c).use_dict != 0 } from (*c);
        typesize, blocksize, compcode, compcode_meta, clevel, splitmode, filters, filters_meta)
    )
}
