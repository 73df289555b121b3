//! Ranges of items and single items, read and written.

use super::chunks::{Bytes, bytes_of, compressed};
use super::handle::Handle;
use super::replace::replace;
use super::{lazychunk, storage};
use crate::capi::border::{bytes, bytes_mut, code};
use crate::capi::exec::Threads;
use crate::capi::generated::{self, Filling};
use crate::capi::hooks::ContextHooks;
use crate::capi::types::*;
use oxiblosc_chunk::decode::{Chunk, decompress};
use oxiblosc_chunk::encode::{self, lock};
use oxiblosc_chunk::getitem::{self, ItemRange};
use oxiblosc_chunk::header::{ChunkHeader, MAX_OVERHEAD, filter_id};
use oxiblosc_chunk::hooks::{Executor, NoHooks, Serial};
use oxiblosc_chunk::patch::{Patched, Patcher, Touched, Wish};
use oxiblosc_chunk::shares::Shares;
use oxiblosc_core::schunk::parsed::{Wanted, patch_stored, with_bytes, with_stored};
use oxiblosc_core::schunk::rules::Counts;
use oxiblosc_core::schunk::slices::{Piece, Pieces, Sizes};
use oxiblosc_core::schunk::{Made, Where};
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::disk::Stored;
use oxiblosc_memory::{Buffer, List};
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};

/// A chunk of which something is to be read.
enum Source {
    /// All of it is in memory.
    Whole(Bytes),
    /// It is in a file.
    Stored(Stored),
}

fn locate(handle: &Handle, nchunk: usize) -> Result<Source> {
    Ok(match handle.inner().store.find(nchunk)? {
        Where::Stored(stored) => Source::Stored(stored),
        Where::Bytes(bytes) => Source::Whole(Bytes::Inside(bytes.as_ptr(), bytes.len())),
        Where::Special(place) => {
            let nbytes = handle
                .counts()
                .nbytes_of(nchunk as i64)
                .ok_or(Error::Data)?;
            let chunk = storage::special_chunk(handle, place, nbytes)?;
            Source::Whole(Bytes::Apart(Buffer::copy_of(&chunk)?))
        }
    })
}

/// Whether only the library's own codecs and filters are needed.
pub fn is_plain(header: &ChunkHeader) -> bool {
    let own = |id: &u8| *id <= filter_id::TRUNC_PREC;
    header.filters.iter().all(own) && (header.udcompcode == 0 || header.flags >> 5 != 6)
}

/// Runs `body` on a parsed chunk.
fn with_chunk<T>(
    source: &Source,
    whole: bool,
    body: impl FnOnce(&Chunk) -> Result<T>,
) -> Result<T> {
    match source {
        Source::Whole(bytes) => {
            // SAFETY: the operation keeps changes out.
            with_bytes(unsafe { bytes.get() }, |chunk, _| body(chunk))
        }
        Source::Stored(stored) => {
            let wanted = if whole { Wanted::All } else { Wanted::Some };
            with_stored(stored, wanted, |chunk, _| body(chunk))
        }
    }
}

/// Reads a piece of a chunk, unless that needs the program's functions.
fn read_piece(source: &Source, piece: &Piece, dest: &mut [u8], nthreads: usize) -> Result<bool> {
    with_chunk(source, piece.is_whole(), |chunk| {
        let header = chunk.header();
        if !is_plain(header) {
            return Ok(false);
        }
        if header.nbytes != piece.nbytes {
            return Err(Error::Data);
        }
        if piece.is_whole() {
            let exec: &dyn Executor = if nthreads > 1 { &Threads } else { &Serial };
            decompress(chunk, dest, None, nthreads, &NoHooks, exec)?;
        } else {
            let range = ItemRange {
                start: piece.from,
                len: piece.len(),
            };
            getitem::read(chunk, range, dest, &NoHooks)?;
        }
        Ok(true)
    })
}

/// Reads a piece through the super-chunk's context, which knows the program's functions.
fn read_through_context(handle: &Handle, piece: &Piece, dest: &mut [u8]) -> Result<()> {
    handle.set_current(piece.nchunk as i64);
    let bytes = lazychunk::of(handle, piece.nchunk)?;
    let dctx = handle.dctx()?;
    // SAFETY: as in `with_chunk`; `dest` is as long as the piece.
    unsafe {
        let src = bytes.get();
        let (src, size) = (src.as_ptr().cast(), src.len() as i32);
        let len = dest.len() as i32;
        let done = if piece.is_whole() {
            dctx.decompress(src, size, dest.as_mut_ptr().cast(), len)?
        } else {
            let range = ItemRange {
                start: piece.from,
                len: piece.len(),
            };
            dctx.getitem(src, size, |_| Ok(range), dest.as_mut_ptr().cast(), len)?
        };
        if done == dest.len() {
            Ok(())
        } else {
            Err(Error::Failure)
        }
    }
}

/// Pieces that are still to be read, with where they go.
struct Queue<'a> {
    pieces: Pieces<'a>,
    dest: &'a mut [u8],
}

impl<'a> Iterator for Queue<'a> {
    type Item = (Piece, &'a mut [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let piece = self.pieces.next()?;
        let (part, rest) = std::mem::take(&mut self.dest).split_at_mut(piece.len());
        self.dest = rest;
        Some((piece, part))
    }
}

/// Reads the bytes from `start` on into `dest`, by several threads where there are several chunks.
pub fn read_bytes(handle: &Handle, sizes: &Sizes, start: u64, dest: &mut [u8]) -> Result<()> {
    let stop = start + dest.len() as u64;
    let mut queue = Queue {
        pieces: sizes.pieces(start, stop)?,
        dest,
    };
    let nthreads = handle.dctx()?.update_nthreads();
    let postfilter = handle.dctx()?.postfilter.get().is_some();
    if postfilter {
        return queue.try_for_each(|(piece, dest)| read_through_context(handle, &piece, dest));
    }
    let read = |piece: Piece, dest: &mut [u8], nthreads: usize| {
        let source = locate(handle, piece.nchunk)?;
        read_piece(&source, &piece, dest, nthreads)
    };
    let several = start < stop && sizes.chunk_of(start) != sizes.chunk_of(stop - 1);
    if !several || nthreads == 1 {
        return queue.try_for_each(|(piece, dest)| {
            if read(piece, dest, nthreads)? {
                return Ok(());
            }
            read_through_context(handle, &piece, dest)
        });
    }
    let len = sizes.chunk_of(stop - 1) - sizes.chunk_of(start) + 1;
    let nworkers = nthreads.min(len);
    let shares = Shares::new(queue, len, nworkers)?;
    // What needs the program's functions is left for this thread.
    let left = Mutex::new(List::new());
    shares.work(nthreads, &Threads, |tid| {
        while let Some((piece, dest)) = shares.next(tid) {
            if !read(piece, dest, 1)? {
                lock(&left).push((piece, dest))?;
            }
        }
        Ok(())
    })?;
    (left.into_inner().unwrap_or_else(PoisonError::into_inner))
        .into_iter()
        .try_for_each(|(piece, dest)| read_through_context(handle, &piece, dest))
}

/// The bytes that a range of items is: from where, and how many. None if it is empty.
fn range_of(handle: &Handle, start: i64, stop: i64) -> Result<Option<(u64, usize)>> {
    if stop <= start {
        return Ok(None);
    }
    // SAFETY: one field.
    let typesize = i64::from(unsafe { handle.fields().typesize });
    let bytes = |items: i64| {
        items
            .checked_mul(typesize)
            .and_then(|bytes| u64::try_from(bytes).ok())
            .ok_or(Error::Failure)
    };
    let (start, stop) = (bytes(start)?, bytes(stop)?);
    let len = usize::try_from(stop - start).map_err(|_| Error::Failure)?;
    Ok(Some((start, len)))
}

/// Reads the items from `start` to before `stop` into `buffer`, which has room for them. Returns 0, or a negative error
/// code.
///
/// # Safety
/// `schunk` is valid; `buffer` has room for the items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_get_slice_buffer(
    schunk: *mut blosc2_schunk,
    start: i64,
    stop: i64,
    buffer: *mut c_void,
) -> c_int {
    code("blosc2_schunk_get_slice_buffer", || {
        // SAFETY: by the caller's word.
        let handle = unsafe { Handle::from_c(schunk)? };
        let Some((start, len)) = range_of(handle, start, stop)? else {
            return Ok(0);
        };
        let (sizes, _reading) = handle.reading(|inner| inner.sizes(&handle.counts()))?;
        if start + len as u64 > sizes.nbytes() {
            return Err(Error::Failure);
        }
        // SAFETY: by the caller's word, and the items are there.
        let dest = unsafe { bytes_mut(buffer.cast(), len)? };
        read_bytes(handle, &sizes, start, dest).map_err(Error::or_failure)?;
        handle.set_current(sizes.chunk_of(start + len as u64 - 1) as i64);
        Ok(0)
    })
}

/// A chunk of special values with other bytes in a piece of it, made block by block: a few bytes can tell of two gigabytes.
/// None where that needs the program's functions.
fn from_special(
    handle: &Handle,
    chunk: &Chunk,
    piece: &Piece,
    new: &[u8],
) -> Result<Option<Buffer>> {
    let (cctx, nbytes) = (handle.cctx()?, chunk.header().nbytes);
    if handle.dctx()?.postfilter.get().is_some() {
        return Ok(None);
    }
    let Some(params) = generated::params(cctx, nbytes)? else {
        return Ok(None);
    };
    let fill = |nblock: usize, block: &mut [u8]| {
        let at = nblock * params.blocksize;
        chunk.fill_special(at, block)?;
        let (from, to) = (piece.from.max(at), piece.to.min(at + block.len()));
        if from < to {
            block[from - at..to - at].copy_from_slice(&new[from - piece.from..to - piece.from]);
        }
        Ok(())
    };
    let hooks = Filling {
        fill: &fill,
        hooks: &ContextHooks::for_compression(cctx, std::ptr::null()),
    };
    let mut made = Buffer::zeroed(nbytes + MAX_OVERHEAD)?;
    let source = encode::Source::Generated(nbytes);
    let cbytes = encode::compress(&params, source, &mut made, &hooks, &Threads)?;
    if cbytes == 0 {
        return Err(Error::Failure);
    }
    made.resize(cbytes)?;
    made.shrink();
    Ok(Some(made))
}

/// A chunk with other bytes in a piece of it.
fn rewritten(handle: &Handle, piece: &Piece, new: &[u8]) -> Result<Made> {
    if piece.is_whole() {
        // SAFETY: the slice is as long as it is.
        return unsafe { compressed(handle, new.as_ptr(), new.len() as i32).map(Made::Whole) };
    }
    let (cctx, dctx) = (handle.cctx()?, handle.dctx()?);
    let patch = |chunk: &Chunk, src: &[u8], wish: Wish| {
        Patcher {
            chunk,
            effort: cctx.encode_params(true).effort(),
            decoding: &ContextHooks::for_decompression(dctx, src),
            encoding: &ContextHooks::for_compression(cctx, src.as_ptr()),
            exec: &Threads,
        }
        .range(piece.from, new, wish)
    };
    let stored = match handle.inner().store.find(piece.nchunk)? {
        Where::Stored(stored) => Some(stored),
        _ => None,
    };
    let bytes = match stored {
        Some(stored) => {
            let touched = |header: &ChunkHeader| Touched::by(header, piece.from, new.len());
            match patch_stored(&stored, touched, patch)? {
                Some(Patched::Whole(chunk)) => return Ok(Made::Whole(chunk)),
                Some(Patched::Edits(edits)) => return Ok(Made::Edits(edits)),
                None => Bytes::Apart(stored.whole()?),
            }
        }
        None => bytes_of(handle, piece.nchunk)?,
    };
    // SAFETY: the operation keeps other changes out.
    let src = unsafe { bytes.get() };
    let header = ChunkHeader::parse(src)?;
    let chunk = Chunk::parse(&header, src)?;
    if chunk.is_special()
        && let Some(made) = from_special(handle, &chunk, piece, new)?
    {
        return Ok(Made::Whole(made));
    }
    // What had to be read whole is written anew.
    let wish = match bytes {
        Bytes::Apart(_) => Wish::Whole,
        _ => Wish::Edits,
    };
    match patch(&chunk, src, wish)? {
        Some(Patched::Whole(chunk)) => return Ok(Made::Whole(chunk)),
        Some(Patched::Edits(edits)) => return Ok(Made::Edits(edits)),
        None => {}
    }
    let mut data = Buffer::zeroed(header.nbytes)?;
    // SAFETY: the buffers are as long as they are.
    unsafe {
        let len = header.nbytes as i32;
        dctx.decompress(
            src.as_ptr().cast(),
            src.len() as i32,
            data.as_mut_ptr().cast(),
            len,
        )?;
        data[piece.from..piece.to].copy_from_slice(new);
        compressed(handle, data.as_ptr(), len).map(Made::Whole)
    }
}

/// Writes the items from `start` to before `stop` out of `buffer`, all of them or, if that fails, none. Of a chunk that is
/// not written whole, only the blocks that change are compressed again. Returns 0, or a negative error code.
///
/// # Safety
/// `schunk` is valid; `buffer` holds the items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_set_slice_buffer(
    schunk: *mut blosc2_schunk,
    start: i64,
    stop: i64,
    buffer: *mut c_void,
) -> c_int {
    code("blosc2_schunk_set_slice_buffer", || {
        // SAFETY: by the caller's word.
        let handle = unsafe { Handle::from_c(schunk)? };
        let Some((start, len)) = range_of(handle, start, stop)? else {
            return Ok(0);
        };
        let changing = handle.reserve()?;
        let sizes = handle.inner().sizes(&handle.counts())?;
        let pieces = sizes.pieces(start, start + len as u64)?;
        // SAFETY: by the caller's word, and the items have places.
        let mut new = unsafe { bytes(buffer.cast(), len)? };
        let mut chunks = List::new();
        for piece in pieces {
            let (part, rest) = new.split_at(piece.len());
            new = rest;
            handle.set_current(piece.nchunk as i64);
            chunks.push((piece.nchunk, rewritten(handle, &piece, part)?))?;
        }
        changing.commit(|inner| replace(handle, inner, chunks))?;
        changing.finish()?;
        Ok(0)
    })
}

/// A coordinate, and where its item goes.
type Entry = (i64, usize);

/// Where items go: each worker writes other ones.
struct Destination {
    ptr: *mut u8,
    typesize: usize,
}

// SAFETY: every index is written by the one worker that has its entry.
unsafe impl Sync for Destination {}

impl Destination {
    /// The place of an item.
    ///
    /// # Safety
    /// `index` is that of an entry which only the caller has.
    #[allow(clippy::mut_from_ref, reason = "see `Sync`")]
    unsafe fn item(&self, index: usize) -> &mut [u8] {
        // SAFETY: the program's buffer has room for every index; see above for who writes it.
        unsafe {
            std::slice::from_raw_parts_mut(self.ptr.add(index * self.typesize), self.typesize)
        }
    }
}

/// Reads the items of one chunk. `entries` are sorted.
fn read_items(
    handle: &Handle,
    nchunk: usize,
    nbytes: usize,
    first: i64,
    entries: &[Entry],
    dest: &Destination,
) -> Result<bool> {
    let source = locate(handle, nchunk)?;
    with_chunk(&source, false, |chunk| {
        let header = chunk.header();
        if header.nbytes != nbytes {
            return Err(Error::Data);
        }
        if !is_plain(header) {
            return Ok(false);
        }
        let typesize = dest.typesize;
        let blocksize = header.blocksize_field().max(1);
        let at = |entry: &Entry| (entry.0 - first) as usize * typesize;
        // Items that are in one block alone are read together, since it is decompressed anyway.
        let block = |entry: &Entry| {
            let (from, to) = (
                at(entry) / blocksize,
                (at(entry) + typesize - 1) / blocksize,
            );
            (from == to).then_some(from)
        };
        let mut data = List::new();
        for run in entries.chunk_by(|a, b| block(a).is_some() && block(a) == block(b)) {
            let (start, stop) = (at(&run[0]), at(&run[run.len() - 1]) + typesize);
            data.resize(stop - start, 0)?;
            let range = ItemRange {
                start,
                len: stop - start,
            };
            getitem::read(chunk, range, &mut data, &NoHooks)?;
            for entry in run {
                let from = at(entry) - start;
                // SAFETY: this worker has the entry.
                unsafe { dest.item(entry.1) }.copy_from_slice(&data[from..from + typesize]);
            }
        }
        Ok(true)
    })
}

/// Reads the items at `coords`, `ncoords` of them in any order, into `buffer`. Returns 0, or a negative error code.
///
/// # Safety
/// `schunk` is NULL or valid; `coords` has `ncoords` elements and `buffer` room for as many items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_get_sparse_buffer(
    schunk: *mut blosc2_schunk,
    ncoords: i64,
    coords: *const i64,
    buffer: *mut c_void,
) -> c_int {
    code("blosc2_schunk_get_sparse_buffer", || {
        // SAFETY: by the caller's word.
        let handle = unsafe { Handle::from_c(schunk) }.map_err(|_| Error::InvalidParam)?;
        let ncoords = usize::try_from(ncoords).map_err(|_| Error::InvalidParam)?;
        if ncoords == 0 {
            return Ok(0);
        }
        if coords.is_null() || buffer.is_null() {
            return Err(Error::InvalidParam);
        }
        let (counts, _reading) = handle.reading(|_| Ok(handle.counts()))?;
        // SAFETY: one field.
        let typesize = unsafe { handle.fields().typesize };
        let whole = typesize > 0 && counts.chunksize > 0 && counts.chunksize % typesize == 0;
        if !whole || counts.flags2 & crate::capi::constants::BLOSC2_VL_BLOCKS as u8 != 0 {
            return Err(Error::InvalidParam);
        }
        // SAFETY: by the caller's word.
        let coords = unsafe { std::slice::from_raw_parts(coords, ncoords) };
        let nitems = counts.nbytes / i64::from(typesize);
        let mut entries: List<Entry> = List::new();
        entries.reserve_exact(ncoords)?;
        for (index, coord) in coords.iter().enumerate() {
            if !(0..nitems).contains(coord) {
                return Err(Error::InvalidParam);
            }
            entries.push((*coord, index))?;
        }
        entries.sort_unstable();
        let chunkitems = i64::from(counts.chunksize / typesize);
        let dest = Destination {
            ptr: buffer.cast(),
            typesize: typesize as usize,
        };
        read_sparse(handle, &counts, &entries, chunkitems, &dest)?;
        handle.set_current(entries[ncoords - 1].0 / chunkitems);
        Ok(0)
    })
}

fn read_sparse(
    handle: &Handle,
    counts: &Counts,
    entries: &[Entry],
    chunkitems: i64,
    dest: &Destination,
) -> Result<()> {
    let typesize = dest.typesize;
    let through_context = |entries: &[Entry]| {
        entries.iter().try_for_each(|(coord, index)| {
            let nchunk = coord / chunkitems;
            let from = (coord % chunkitems) as usize * typesize;
            let piece = Piece {
                nchunk: nchunk as usize,
                from,
                to: from + typesize,
                nbytes: counts.nbytes_of(nchunk).ok_or(Error::Data)? as usize,
            };
            // SAFETY: only this thread works on these entries.
            read_through_context(handle, &piece, unsafe { dest.item(*index) })
        })
    };
    let dctx = handle.dctx()?;
    if dctx.postfilter.get().is_some() {
        return through_context(entries).map_err(Error::or_failure);
    }
    let groups = Mutex::new(entries.chunk_by(|a, b| a.0 / chunkitems == b.0 / chunkitems));
    let state = Mutex::new((None, List::new()));
    let nthreads = dctx.update_nthreads();
    Threads.run(nthreads, nthreads, &|_| {
        loop {
            let next = groups.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(group) = next else { return };
            let nchunk = group[0].0 / chunkitems;
            let done = counts
                .nbytes_of(nchunk)
                .ok_or(Error::Data)
                .and_then(|nbytes| {
                    let first = nchunk * chunkitems;
                    read_items(handle, nchunk as usize, nbytes as usize, first, group, dest)
                });
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            match done {
                Ok(true) => {}
                Ok(false) => match state.1.push(group) {
                    Ok(()) => {}
                    Err(error) => state.0 = Some(error),
                },
                Err(error) => state.0 = Some(error),
            }
            if state.0.is_some() {
                return;
            }
        }
    })?;
    let (error, left) = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = error {
        return Err(error);
    }
    left.into_iter().try_for_each(through_context)
}
