//! Reading items by their indices in the array, counted in C order.

use super::access::StoredChunks;
use super::chunks::{PartSizes, with_chunk};
use super::geometry::Geometry;
use oxiblosc_base::memory::{Collect, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::block_reader::BlockReader;
use oxiblosc_chunk::getitem::{ItemRange, getitem};
use oxiblosc_chunk::scratch::{self, Scratch};
use oxiblosc_chunk::workers::Workers;

/// The location of an item, and its destination.
struct SparseItem<'a> {
    nchunk: usize,
    /// Its position in the data of the chunk, in items.
    inside: i64,
    dest: &'a mut [u8],
}

fn locate<'a>(geometry: &Geometry, mut coord: i64, dest: &'a mut [u8]) -> SparseItem<'a> {
    let (mut coords, mut nblock, mut inside) = (super::Dims::default(), 0, 0);
    for d in (0..geometry.ndim).rev() {
        let (chunk, block) = (
            i64::from(geometry.chunkshape[d]),
            i64::from(geometry.blockshape[d]),
        );
        let index = coord % geometry.shape[d];
        coord /= geometry.shape[d];
        coords[d] = index / chunk;
        let item = index % chunk;
        nblock += item / block * geometry.strides.block_chunk[d];
        inside += item % block * geometry.strides.item_block[d];
    }
    SparseItem {
        nchunk: geometry.nchunk(&coords),
        inside: nblock * i64::from(geometry.blocknitems) + inside,
        dest,
    }
}

/// Reads the items with the indices `coords` into `buffer`, one after the other in that order.
///
/// # Errors
/// [`Error::INVALID_PARAM`] for an index out of range, and for a buffer that is too small; those of
/// damaged chunks, and of input.
pub fn read(
    geometry: &Geometry,
    coords: &[i64],
    (chunks, sizes): (&StoredChunks, PartSizes),
    buffer: &mut [u8],
    workers: Workers,
) -> Result<()> {
    let item = sizes.item;
    let needed = coords.len().checked_mul(item);
    if item == 0 || needed.is_none_or(|needed| needed > buffer.len()) {
        return Err(Error::INVALID_PARAM);
    }
    let mut entries: TryVec<SparseItem> = TryVec::new();
    entries.reserve_exact(coords.len())?;
    for (coord, dest) in coords.iter().zip(buffer.chunks_exact_mut(item)) {
        if !(0..geometry.nitems).contains(coord) {
            return Err(Error::INVALID_PARAM);
        }
        entries.push(locate(geometry, *coord, dest))?;
    }
    entries.sort_unstable_by_key(|entry| (entry.nchunk, entry.inside));
    let nbytes = entries.len().saturating_mul(sizes.block);
    let groups = entries.chunk_by_mut(|a, b| a.nchunk == b.nchunk);
    let groups: TryVec<&mut [SparseItem]> = groups.collect_vec()?;
    let nthreads = if chunks.is_shared() {
        workers.nthreads
    } else {
        1
    };
    let workers = Workers {
        nthreads,
        ..workers
    };
    workers.run(groups.into_iter(), nbytes, &|entries, tid| {
        let nchunk = entries[0].nchunk;
        with_chunk(&chunks.find(nchunk)?, sizes, false, |chunk, prefix| {
            let hooks = chunks.hooks(chunk.header(), prefix)?;
            if chunk.is_special() && !hooks.has_postfilter() {
                return entries.iter_mut().try_for_each(|entry| {
                    chunk.fill_special(entry.inside as usize * item, entry.dest)
                });
            }
            if chunk.header().blocksize_field() != sizes.block {
                return entries.iter_mut().try_for_each(|entry| {
                    let range = ItemRange {
                        start: entry.inside as usize * item,
                        len: item,
                    };
                    getitem(chunk, range, entry.dest, &*hooks)
                });
            }
            chunk.with_reader(&*hooks, |reader| read_chunk(reader, tid, entries, sizes))
        })
    })
}

/// Reads the entries of one chunk.
fn read_chunk(
    reader: &BlockReader,
    tid: usize,
    entries: &mut [SparseItem],
    sizes: PartSizes,
) -> Result<()> {
    let PartSizes {
        item, block: size, ..
    } = sizes;
    let position = |entry: &SparseItem| {
        let at = entry.inside as usize * item;
        (at / size, at % size)
    };
    let mut scratch = scratch::borrow()?;
    let Scratch {
        bufs, data, codec, ..
    } = &mut *scratch;
    for run in entries.chunk_by_mut(|a, b| position(a).0 == position(b).0) {
        let (nblock, from) = position(&run[0]);
        let to = position(&run[run.len() - 1]).1 + item;
        let parts = (&mut *bufs, &mut *codec);
        let done = reader.items(nblock, (from, to, item), parts, |items| {
            run.iter_mut()
                .try_for_each(|entry| items.get(position(entry).1, entry.dest))
        })?;
        if done {
            continue;
        }
        let data = data.ensure(size)?;
        reader.block(nblock, tid, data, (&mut *bufs, &mut *codec))?;
        for entry in run {
            let from = position(entry).1;
            entry.dest.copy_from_slice(&data[from..from + item]);
        }
    }
    Ok(())
}
