//! Single items, by their place in the array counted in C order.

use super::chunks::{Chunks, Sizes, with_chunk};
use super::geometry::Geometry;
use super::read::Workers;
use super::target::Target;
use oxiblosc_chunk::getitem::{ItemRange, getitem};
use oxiblosc_chunk::scratch::{self, Scratch};
use oxiblosc_chunk::visit::BlockReader;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::{Collect, List};

/// An item: where it is, and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    nchunk: i64,
    /// Its place in the chunk's data, counted in items.
    inside: i64,
    at: usize,
}

fn locate(geometry: &Geometry, mut coord: i64, at: usize) -> Entry {
    let (mut place, mut nblock, mut inside) = (super::Dims::default(), 0, 0);
    for d in (0..geometry.ndim).rev() {
        let (chunk, block) = (
            i64::from(geometry.chunkshape[d]),
            i64::from(geometry.blockshape[d]),
        );
        let index = coord % geometry.shape[d];
        coord /= geometry.shape[d];
        place[d] = index / chunk;
        let item = index % chunk;
        nblock += item / block * geometry.strides.block_chunk[d];
        inside += item % block * geometry.strides.item_block[d];
    }
    Entry {
        nchunk: geometry.nchunk(&place),
        inside: nblock * i64::from(geometry.blocknitems) + inside,
        at,
    }
}

/// Reads the items at `coords` into `buffer`, one after the other in that order.
///
/// # Errors
/// [`Error::InvalidParam`] for an item that is not there and for a buffer that is too small; those of damaged chunks.
pub fn read(
    geometry: &Geometry,
    coords: &[i64],
    (chunks, sizes): (&dyn Chunks, Sizes),
    buffer: &mut [u8],
    workers: Workers,
) -> Result<()> {
    let item = sizes.item;
    let needed = coords.len().checked_mul(item);
    if needed.is_none_or(|needed| needed > buffer.len()) {
        return Err(Error::InvalidParam);
    }
    let mut entries: List<Entry> = List::new();
    entries.reserve_exact(coords.len())?;
    for (at, coord) in coords.iter().enumerate() {
        if !(0..geometry.nitems).contains(coord) {
            return Err(Error::InvalidParam);
        }
        entries.push(locate(geometry, *coord, at))?;
    }
    entries.sort_unstable();
    let groups: List<&[Entry]> = entries.chunk_by(|a, b| a.nchunk == b.nchunk).list()?;
    let target = Target::new(buffer);
    let nthreads = if chunks.is_shared() {
        workers.nthreads
    } else {
        1
    };
    let workers = Workers {
        nthreads,
        ..workers
    };
    let nbytes = entries.len().saturating_mul(sizes.block);
    workers.run(groups.len(), nbytes, &|i, tid| {
        let nchunk = groups[i][0].nchunk as usize;
        with_chunk(&chunks.find(nchunk)?, sizes, false, |chunk, front| {
            let hooks = chunks.hooks(nchunk, front)?;
            let group = Group {
                entries: groups[i],
                sizes,
                target: &target,
            };
            if chunk.is_special() && !hooks.has_postfilter() {
                return group.entries.iter().try_for_each(|entry| {
                    chunk.fill_special(entry.inside as usize * item, group.dest(entry)?)
                });
            }
            if chunk.header().blocksize_field() != sizes.block {
                return group.entries.iter().try_for_each(|entry| {
                    let range = ItemRange {
                        start: entry.inside as usize * item,
                        len: item,
                    };
                    getitem(chunk, range, group.dest(entry)?, &*hooks)
                });
            }
            chunk.with_reader(&*hooks, |reader| group.read(reader, tid))
        })
    })
}

/// The entries of one chunk.
struct Group<'a> {
    entries: &'a [Entry],
    sizes: Sizes,
    target: &'a Target<'a>,
}

impl Group<'_> {
    /// Where an entry goes.
    #[allow(clippy::mut_from_ref, reason = "every entry has a place of its own")]
    fn dest(&self, entry: &Entry) -> Result<&mut [u8]> {
        let item = self.sizes.item;
        // SAFETY: every entry has a place of its own, and gets it once.
        unsafe { self.target.part(entry.at * item, item) }
    }

    fn read(&self, reader: &BlockReader, tid: usize) -> Result<()> {
        let Sizes {
            item, block: size, ..
        } = self.sizes;
        let place = |entry: &Entry| {
            let at = entry.inside as usize * item;
            (at / size, at % size)
        };
        let mut scratch = scratch::borrow()?;
        let Scratch {
            bufs, data, codec, ..
        } = &mut *scratch;
        for run in self.entries.chunk_by(|a, b| place(a).0 == place(b).0) {
            let (nblock, from) = place(&run[0]);
            let to = place(&run[run.len() - 1]).1 + item;
            let parts = (&mut *bufs, &mut *codec);
            let done = reader.items(nblock, (from, to, item), parts, |items| {
                run.iter()
                    .try_for_each(|entry| items.get(place(entry).1, self.dest(entry)?))
            })?;
            if done {
                continue;
            }
            let data = data.ensure(size)?;
            reader.block(nblock, tid, data, (&mut *bufs, &mut *codec))?;
            for entry in run {
                let from = place(entry).1;
                self.dest(entry)?.copy_from_slice(&data[from..from + item]);
            }
        }
        Ok(())
    }
}
