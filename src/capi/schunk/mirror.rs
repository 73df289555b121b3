//! The public structure of a super-chunk: a window in which programs see its state, and set some parameters.

use crate::capi::context::Context;
use crate::capi::prelude::*;
use oxiblosc_core::coder::{Changed, Count, Decoder, Encoder, Host, Settings};
use oxiblosc_core::schunk::{Parameters, State};
use oxiblosc_frame::meta::{Metalayer, NAME_MAXLEN};
use oxiblosc_memory::{Buffer, List, boxed};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A metalayer as C sees it. It stays where it is, and goes by the same name, as long as there is the metalayer.
pub struct Layer {
    c: blosc2_metalayer,
    /// With the 0 that ends it in C.
    name: [u8; NAME_MAXLEN + 1],
    /// Where the super-chunk has the name: what tells one metalayer from another.
    key: *const u8,
}

impl Layer {
    const EMPTY: Self = Self {
        c: blosc2_metalayer {
            name: null_mut(),
            content: null_mut(),
            content_len: 0,
        },
        name: [0; NAME_MAXLEN + 1],
        key: null(),
    };

    /// One with nothing in it.
    pub fn new() -> Result<Box<Self>> {
        boxed(Self::EMPTY)
    }

    /// Shows a metalayer, which outlives this.
    pub fn show(&mut self, layer: &Metalayer) -> *mut blosc2_metalayer {
        let len = layer.name.len().min(NAME_MAXLEN);
        self.name[..len].copy_from_slice(&layer.name[..len]);
        self.name[len] = 0;
        self.key = layer.name.as_ptr();
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
    /// Where those chunks are that each are on their own.
    chunks: List<*mut u8>,
    metalayers: List<Box<Layer>>,
    vlmetalayers: List<Box<Layer>>,
    /// For metalayers to come.
    spare: List<Box<Layer>>,
}

/// The window of one super-chunk.
pub struct Mirror {
    c: *mut blosc2_schunk,
    shown: Mutex<Shown>,
}

// SAFETY: the structure outlives the super-chunk, whose locks say when it is written: `show` is called by the thread that has the
// state alone, `settings` by those that share it, and the one field that several write at once is atomic. What it points to is
// behind a mutex.
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

impl Shown {
    /// Makes one list show these metalayers.
    fn update(shown: &mut List<Box<Layer>>, spare: &mut List<Box<Layer>>, layers: &[Metalayer]) {
        for (at, layer) in layers.iter().enumerate() {
            let key = layer.name.as_ptr();
            let shows = |at: usize| shown.get(at).is_some_and(|shown| shown.key == key);
            if shows(at) {
                continue;
            }
            if shows(at + 1) {
                // The one before it was deleted.
                spare.push_within_capacity(shown.remove(at));
            } else if let Some(new) = spare.pop().or_else(|| shown.pop()) {
                // Where there is none to spare, all are other ones than before. There is room: see `prepare`.
                let _ = shown.insert(at.min(shown.len()), new);
            }
        }
        while shown.len() > layers.len()
            && let Some(gone) = shown.pop()
        {
            spare.push_within_capacity(gone);
        }
    }
}

/// Points to metalayers, as many as there is room for. Gives how many.
fn point(
    to: &mut [*mut blosc2_metalayer],
    shown: &mut [Box<Layer>],
    layers: &[Metalayer],
) -> usize {
    let count = shown.len().min(to.len());
    for (to, (shown, layer)) in to.iter_mut().zip(shown.iter_mut().zip(layers)) {
        *to = shown.show(layer);
    }
    count
}

/// Writes a field that the program may read meanwhile.
fn publish(field: *mut i64, value: i64) {
    // SAFETY: the callers give fields of a structure that is there; all that write them write them so.
    unsafe { AtomicI64::from_ptr(field) }.store(value, Ordering::Relaxed);
}

impl Host for Mirror {
    fn encoder(&self) -> Result<&dyn Encoder> {
        // SAFETY: the structure is there, and the field holds a context of this library, or null.
        Ok(unsafe { Context::from_c((*self.c).cctx)? })
    }

    fn decoder(&self) -> Result<&dyn Decoder> {
        // SAFETY: as in `encoder`.
        Ok(unsafe { Context::from_c((*self.c).dctx)? })
    }

    fn nthreads(&self) -> (i16, i16) {
        let number = |ctx: *mut blosc2_context| {
            // SAFETY: a context of this library, or null.
            unsafe { Context::from_c(ctx) }.map_or(1, |ctx| ctx.nthreads.get())
        };
        // SAFETY: the structure is there.
        unsafe { (number((*self.c).cctx), number((*self.c).dctx)) }
    }

    fn settings(&self) -> Option<Settings> {
        // SAFETY: the structure is there, and not written meanwhile (see `Send`).
        unsafe {
            Some(Settings {
                parameters: parameters(self.c),
                chunksize: (*self.c).chunksize,
            })
        }
    }

    fn prepare(&self, state: &mut State, count: Count) -> Result<()> {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let Shown {
            chunks,
            metalayers,
            vlmetalayers,
            spare,
        } = &mut *shown;
        if count.separate > 0 {
            chunks.reserve(count.separate.saturating_sub(chunks.len()))?;
        }
        if !state.is_frame() {
            // They may have moved, whatever becomes of the change.
            // SAFETY: see `Send`.
            let c = unsafe { &mut *self.c };
            c.data = chunks.as_mut_ptr();
            c.data_len = chunks.capacity() * size_of::<*mut u8>();
        }
        let all = count.metalayers + count.vlmetalayers;
        metalayers.reserve((count.metalayers + 1).saturating_sub(metalayers.len()))?;
        vlmetalayers.reserve((count.vlmetalayers + 1).saturating_sub(vlmetalayers.len()))?;
        let there = metalayers.len() + vlmetalayers.len();
        spare.reserve((all + there).saturating_sub(spare.len()))?;
        while spare.len() + there < all {
            spare.push(Layer::new()?)?;
        }
        Ok(())
    }

    fn show(&self, state: &mut State, changed: Changed) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: see `Send`.
        let c = unsafe { &mut *self.c };
        let counts = state.counts();
        publish(&mut c.nchunks, counts.nchunks);
        publish(&mut c.nbytes, counts.nbytes);
        publish(&mut c.cbytes, counts.cbytes);
        c.chunksize = counts.chunksize;
        c.flags2 = counts.flags2;
        c.blocksize = state.parameters().blocksize;
        c.change_tick = state.tick();
        if !state.is_frame() {
            let pointers = &mut shown.chunks;
            let (before, nchunks) = (pointers.len(), state.nchunks());
            let chunks = match &changed {
                Changed::ChunksFrom(at) if *at <= before => *at..nchunks,
                Changed::Updated(chunks) if before == nchunks => chunks.clone(),
                Changed::Metalayers if before == nchunks => 0..0,
                _ => 0..nchunks,
            };
            pointers.truncate(nchunks);
            for nchunk in chunks {
                let chunk = state.separate_chunk(nchunk);
                let pointer = chunk.map_or(null_mut(), Buffer::as_mut_ptr);
                match pointers.get_mut(nchunk) {
                    Some(place) => *place = pointer,
                    None => pointers.push_within_capacity(pointer),
                }
            }
            c.data = pointers.as_mut_ptr();
            c.data_len = pointers.capacity() * size_of::<*mut u8>();
            c.frame = null_mut();
        } else {
            // C sees the frame by its address alone.
            c.frame = self.c.cast();
        }
        if matches!(changed, Changed::Metalayers | Changed::Everything) {
            let Shown {
                metalayers,
                vlmetalayers,
                spare,
                ..
            } = &mut *shown;
            let before = vlmetalayers.len();
            Shown::update(metalayers, spare, state.metalayers());
            Shown::update(vlmetalayers, spare, state.vlmetalayers());
            let count = point(&mut c.metalayers, metalayers, state.metalayers());
            c.metalayers[count..].fill(null_mut());
            c.nmetalayers = count as u16;
            let count = point(&mut c.vlmetalayers, vlmetalayers, state.vlmetalayers());
            let before = before.clamp(count, c.vlmetalayers.len());
            c.vlmetalayers[count..before].fill(null_mut());
            c.nvlmetalayers = count as i16;
        }
    }

    fn at_chunk(&self, nchunk: i64) {
        // SAFETY: the structure is there.
        publish(unsafe { &raw mut (*self.c).current_nchunk }, nchunk);
    }
}

/// The parameters that a frame records, from fields of these names.
macro_rules! recorded {
    ($from:expr) => {
        Parameters {
            typesize: $from.typesize,
            blocksize: $from.blocksize,
            compcode: $from.compcode,
            compcode_meta: $from.compcode_meta,
            clevel: $from.clevel,
            splitmode: $from.splitmode as u8,
            use_dict: $from.use_dict as u8 != 0,
            filters: $from.filters,
            filters_meta: $from.filters_meta,
        }
    };
}

/// The parameters of compression that a frame records.
pub fn recorded(cparams: &blosc2_cparams) -> Parameters {
    recorded!(cparams)
}

/// The parameters that the public fields stand for.
///
/// # Safety
/// The structure is there, and its parameters are not written meanwhile. (Other fields may be, so there is no reference to it.)
pub unsafe fn parameters(c: *const blosc2_schunk) -> Parameters {
    unsafe_granted!(recorded!((*c)))
}
