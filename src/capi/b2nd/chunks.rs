//! The chunks of an array as the core wants them, and as it gives them back.

use super::array::Array;
use crate::capi::compress::Input;
use crate::capi::context::Context;
use crate::capi::generated::{self, Filling};
use crate::capi::hooks::ContextHooks;
use crate::capi::schunk::handle::{Handle, Inner, Plan};
use oxiblosc_chunk::encode::{EncodeParams, Source, compress};
use oxiblosc_chunk::header::{ChunkHeader, MAX_OVERHEAD};
use oxiblosc_chunk::hooks::Hooks;
use oxiblosc_chunk::scratch;
use oxiblosc_core::b2nd::chunks::{Chunks, Found};
use oxiblosc_core::b2nd::geometry::Geometry;
use oxiblosc_core::b2nd::meta::{NAME, OLD_NAME};
use oxiblosc_core::b2nd::read::Workers;
use oxiblosc_core::b2nd::write::{Fill, Maker};
use oxiblosc_core::schunk::rules::Chunk;
use oxiblosc_core::schunk::{Made, New, Where};
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::change::{Change, Slot};
use oxiblosc_frame::offsets::Place;
use oxiblosc_memory::{Buffer, Collect, List, ToList, boxed};

/// A super-chunk's chunks.
pub struct Access<'a> {
    handle: &'a Handle,
    dctx: &'a Context,
}

// SAFETY: workers only read fields of the context, which nobody writes meanwhile; the rest is locked.
unsafe impl Sync for Access<'_> {}

impl<'a> Access<'a> {
    /// Within an operation on the super-chunk.
    pub fn new(handle: &'a Handle) -> Result<Self> {
        Ok(Self {
            handle,
            dctx: handle.dctx()?,
        })
    }

    fn found(inner: &mut Inner, nchunk: usize) -> Result<Found<'a>> {
        Ok(match inner.store.find(nchunk)? {
            Where::Stored(stored) => Found::Stored(stored),
            Where::Bytes(bytes) => {
                let (ptr, len) = (bytes.as_ptr(), bytes.len());
                // SAFETY: chunks in memory stay where they are until the super-chunk changes, which the operation that this is
                // made in lets nobody do.
                Found::Bytes(unsafe { std::slice::from_raw_parts(ptr, len) })
            }
            Where::Special(Place::Special(kind)) => Found::Special(kind),
            Where::Special(Place::At(_)) => return Err(Error::Failure),
        })
    }
}

impl Chunks for Access<'_> {
    fn find(&self, nchunk: usize) -> Result<Found<'_>> {
        if self.dctx.postfilter.get().is_some() {
            self.handle.set_current(nchunk as i64);
        }
        Self::found(&mut self.handle.inner(), nchunk)
    }

    fn hooks<'h>(&'h self, _nchunk: usize, front: &'h [u8]) -> Result<Box<dyn Hooks + 'h>> {
        Ok(boxed(ContextHooks::for_decompression(self.dctx, front))?)
    }

    fn is_shared(&self) -> bool {
        // A postfilter learns from the super-chunk which chunk it is about.
        self.dctx.postfilter.get().is_none()
    }
}

/// Makes chunks with a super-chunk's context.
pub struct Compressor<'a> {
    handle: &'a Handle,
    cctx: &'a Context,
    nbytes: usize,
    block: usize,
    /// None where the context wants to see every chunk itself.
    params: Option<EncodeParams>,
    hooks: ContextHooks<'a>,
}

// SAFETY: workers read what was copied out of the context. Where chunks go through the context itself, there is one worker:
// see `Maker::parts`.
unsafe impl Sync for Compressor<'_> {}

impl<'a> Compressor<'a> {
    /// For chunks of an array.
    pub fn new(array: &Array<'a>) -> Result<Self> {
        let sizes = array.sizes()?;
        let cctx = array.handle.cctx()?;
        let nbytes = sizes.chunk;
        if sizes.block > 0 {
            cctx.blocksize.set(sizes.block as i32);
        }
        let params = generated::params(cctx, nbytes)?;
        Ok(Self {
            handle: array.handle,
            cctx,
            nbytes,
            block: sizes.block,
            params,
            hooks: ContextHooks::for_compression(cctx, std::ptr::null()),
        })
    }

    /// All data of a chunk.
    fn data(&self, fill: &Fill) -> Result<Buffer> {
        let mut data = Buffer::zeroed(self.nbytes)?;
        for (nblock, block) in data.chunks_mut(self.block.max(1)).enumerate() {
            fill(nblock, block)?;
        }
        Ok(data)
    }

    /// Through the context, chunk by chunk.
    fn make_whole(&self, nchunk: usize, fill: &Fill) -> Result<Buffer> {
        let data = self.data(fill)?;
        let mut chunk = Buffer::zeroed(self.nbytes + MAX_OVERHEAD)?;
        let room = i32::try_from(chunk.len()).map_err(|_| Error::MaxBufsizeExceeded)?;
        self.handle.set_current(nchunk as i64);
        let input = Input::Buffer(data.as_ptr());
        // SAFETY: the buffers are as long as they are.
        let cbytes = unsafe {
            self.cctx
                .compress(&input, self.nbytes as i32, chunk.as_mut_ptr(), room, true)?
        };
        finished(&chunk, cbytes)
    }
}

/// A chunk of `cbytes` bytes, in memory that it fills.
fn finished(chunk: &[u8], cbytes: usize) -> Result<Buffer> {
    match chunk.get(..cbytes) {
        Some(chunk) if !chunk.is_empty() => Buffer::copy_of(chunk),
        _ => Err(Error::Failure),
    }
}

impl Maker for Compressor<'_> {
    fn make(&self, nchunk: usize, fill: &Fill, workers: Workers) -> Result<Buffer> {
        let Some(params) = &self.params else {
            return self.make_whole(nchunk, fill);
        };
        let params = EncodeParams {
            nthreads: workers.nthreads,
            ..params.clone()
        };
        // Room for the largest chunk is kept from one chunk to the next: to get it from the system costs more than the copy.
        let mut scratch = scratch::borrow()?;
        let chunk = scratch.out.ensure(self.nbytes + MAX_OVERHEAD)?;
        if params.blocksize != self.block {
            // Blocks of a few bytes are not worth having to the tuner.
            let data = self.data(fill)?;
            let source = Source::Buffer(&data);
            let cbytes = compress(&params, source, chunk, &self.hooks, workers.exec)?;
            return finished(chunk, cbytes);
        }
        let hooks = Filling {
            fill,
            hooks: &self.hooks,
        };
        let source = Source::Generated(self.nbytes);
        let cbytes = compress(&params, source, chunk, &hooks, workers.exec)?;
        finished(chunk, cbytes)
    }

    fn parts(&self) -> Option<(&EncodeParams, &dyn Hooks)> {
        self.params
            .as_ref()
            .map(|params| (params, &self.hooks as &dyn Hooks))
    }
}

/// Gives an array another shape and other chunks, all at once. `origin` says which of the old chunks a chunk of the new
/// shape is; those in `new` are others, and what is neither is zeros.
pub fn arrange(
    array: &mut Array,
    inner: &mut Inner,
    geometry: Geometry,
    origin: &dyn Fn(i64) -> Option<i64>,
    new: List<New>,
) -> Result<()> {
    let handle = array.handle;
    let counts = handle.counts();
    let keeping = inner.keeping();
    let count = inner.store.nchunks();
    let zeros = zeros(array)?;
    let zeros_info = Chunk::new(&ChunkHeader::parse(&zeros)?);
    let nchunks = geometry.nchunks()?;
    let mut gone = List::filled(true, count)?;
    let mut slots = List::new();
    slots.reserve_exact(usize::try_from(nchunks).map_err(|_| Error::InvalidParam)?)?;
    // Chunk sizes are equal, or unknown and stay so.
    let size = array.sizes()?.chunk as i32;
    let mut after = counts;
    let mut coming = List::new();
    let mut new: List<(usize, Buffer)> = new
        .into_iter()
        .map(|(nchunk, made)| match made {
            Made::Whole(chunk) => Ok((nchunk, chunk)),
            Made::Edits(_) => Err(Error::Failure),
        })
        .try_list()?;
    // Where chunks are each on their own, they are given away, and the slots say only where.
    let separate = !inner.store.is_frame();
    let mut owned = List::new();
    let mut next = new.iter_mut().peekable();
    for nchunk in 0..nchunks {
        let made = next.next_if(|(other, _)| *other as i64 == nchunk);
        let old = origin(nchunk).and_then(|old| usize::try_from(old).ok());
        let slot = match (made, old) {
            (Some((_, bytes)), _) => {
                let info = Chunk::new(&ChunkHeader::parse(bytes)?);
                coming.push(info)?;
                if separate {
                    owned.push(std::mem::take(bytes))?;
                }
                Slot::New(inner.item(size, &info, bytes))
            }
            (None, Some(old)) => {
                *gone.get_mut(old).ok_or(Error::Failure)? = false;
                Slot::Old(old)
            }
            (None, None) => {
                coming.push(zeros_info)?;
                if separate {
                    owned.push(Buffer::copy_of(&zeros)?)?;
                }
                Slot::New(inner.item(size, &zeros_info, &zeros))
            }
        };
        slots.push(slot)?;
    }
    let left: List<usize> = (0..count).filter(|old| gone[*old]).list()?;
    for old in &left {
        let info = inner.chunk(&counts, *old)?;
        after = after.deleted(&info, keeping);
    }
    if after.nchunks == 0 && after.chunksize < size {
        after.chunksize = size;
    }
    for info in &coming {
        after = after.appended(info, keeping)?;
    }
    let layer = shaped(array, &geometry)?;
    let mut metalayers = handle.metalayers()?;
    metalayers[layer.0].1 = &layer.1;
    let change = Change::Arrange {
        slots: &slots,
        left: &left,
    };
    let plan = Plan {
        counts: after,
        change,
        owned: separate.then_some(&mut owned),
    };
    inner.apply_with(handle, &counts, plan, &metalayers)?;
    // SAFETY: the metalayer is the library's, and as long as before.
    unsafe {
        let sc = handle.fields();
        let content = (*sc.metalayers[layer.0]).content;
        std::ptr::copy_nonoverlapping(layer.1.as_ptr(), content, layer.1.len());
        sc.change_tick += 1;
    }
    array.reshaped(geometry);
    Ok(())
}

/// Which of the metalayers has the shape, and its content with another shape.
fn shaped(array: &Array, geometry: &Geometry) -> Result<(usize, List<u8>)> {
    /// In front of the first number of the shape: array, version, dimensions, list, number.
    const FIRST: usize = 5;
    /// From one number to the next.
    const STEP: usize = 9;
    let layers = array.handle.metalayers()?;
    let find = |name: &[u8]| layers.iter().position(|(other, _)| *other == name);
    let at = find(NAME).or_else(|| find(OLD_NAME));
    let at = at.ok_or(Error::MetalayerNotFound)?;
    let mut content = layers[at].1.to_list()?;
    for (d, len) in geometry.shape[..geometry.ndim].iter().enumerate() {
        let from = FIRST + STEP * d;
        let number = content.get_mut(from..from + 8).ok_or(Error::Failure)?;
        number.copy_from_slice(&len.to_be_bytes());
    }
    Ok((at, content))
}

/// A chunk of zeros.
fn zeros(array: &Array) -> Result<List<u8>> {
    use crate::capi::schunk::storage::special_of;
    let sizes = array.sizes()?;
    let kind = Place::Special(oxiblosc_chunk::header::Special::Zero);
    special_of(kind, sizes.chunk as i32, array.typesize, sizes.block as i32)
}
