//! Reading items at arbitrary indices.

use super::parsed::ReadExtent;
use super::ranges::RangeReader;
use super::slices::ChunkPart;
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::fast_path;
use oxiblosc_chunk::getitem::{self, ItemRange};
use oxiblosc_chunk::header::Special;
use oxiblosc_chunk::hooks::NoHooks;
use oxiblosc_chunk::scratch;

/// The index of an item, and its destination.
pub(super) type SparseItem<'a> = (u64, &'a mut [u8]);

/// The items of one chunk, sorted by index.
struct Group<'g, 'a> {
    nchunk: usize,
    /// The first item of the chunk.
    first: u64,
    entries: &'g mut [SparseItem<'a>],
}

/// Splits entries off the front of `rest`, which is not empty: the first, and those after it up to
/// the first that is not `inside`.
fn take_front<'g, 'a>(
    rest: &mut &'g mut [SparseItem<'a>],
    inside: impl Fn(&SparseItem) -> bool,
) -> &'g mut [SparseItem<'a>] {
    let count = rest.iter().take_while(|entry| inside(entry)).count();
    let entries = std::mem::take(rest);
    let (prefix, behind) = entries.split_at_mut(count.max(1));
    *rest = behind;
    prefix
}

/// How many chunks have items in `entries`, which are sorted by index. Not more than `most` are
/// counted.
fn count_chunks(mut entries: &[SparseItem], chunkitems: u64, most: usize) -> usize {
    let mut count = 0;
    while count < most
        && let Some(first) = entries.first()
    {
        let nchunk = first.0 / chunkitems;
        let inside = entries.partition_point(|entry| entry.0 / chunkitems == nchunk);
        entries = &entries[inside..];
        count += 1;
    }
    count
}

impl RangeReader<'_> {
    /// Reads items of one chunk. False, and nothing is read, if that needs functions of the
    /// program.
    fn read_items(&self, group: &mut Group, typesize: usize) -> Result<bool> {
        let nbytes = self.state.counts.nbytes_of(group.nchunk);
        let nbytes = nbytes.ok_or(Error::DATA)? as usize;
        let (nchunk, first) = (group.nchunk, group.first);
        self.state
            .with_chunk(nchunk, ReadExtent::FewBlocks, |chunk, prefix| {
                let header = chunk.header();
                if header.nbytes != nbytes {
                    return Err(Error::DATA);
                }
                if !header.is_plain() {
                    return Ok(false);
                }
                if header.special() == Special::Uninit {
                    // Decompression writes nothing, so that the scratch memory would still have
                    // items of another chunk.
                    return Ok(true);
                }
                let blocksize = header.blocksize_field().max(1);
                let at = |entry: &SparseItem| (entry.0 - first) as usize * typesize;
                let read = |start: usize, dest: &mut [u8]| {
                    // Only `getitem` verifies checksums, and remembers which blocks passed.
                    if !header.has_checksums()
                        && fast_path::read(header, prefix, start, dest).is_some()
                    {
                        return Ok(());
                    }
                    let len = dest.len();
                    getitem::read(chunk, ItemRange { start, len }, dest, &NoHooks)
                };
                let mut rest = &mut *group.entries;
                while let Some(entry) = rest.first() {
                    let start = at(entry);
                    // All items in one block are read together, since all of the block is
                    // decompressed anyway.
                    let block_end = start - start % blocksize + blocksize;
                    let run = take_front(&mut rest, |entry| at(entry) + typesize <= block_end);
                    if let [entry] = run {
                        read(start, entry.1)?;
                        continue;
                    }
                    let len = at(&run[run.len() - 1]) + typesize - start;
                    let mut scratch = scratch::borrow()?;
                    let data = scratch.data.ensure(len)?;
                    read(start, data)?;
                    for entry in run {
                        entry
                            .1
                            .copy_from_slice(&data[at(entry) - start..][..typesize]);
                    }
                }
                Ok(true)
            })
    }

    /// Reads items one by one through the decoder, which calls functions of the program.
    fn read_items_with_functions(&self, group: &mut Group, typesize: usize) -> Result<()> {
        let nbytes = self.state.counts.nbytes_of(group.nchunk);
        let nbytes = nbytes.ok_or(Error::DATA)? as usize;
        for (coord, dest) in &mut *group.entries {
            let from = (*coord - group.first) as usize * typesize;
            let part = ChunkPart {
                nchunk: group.nchunk,
                from,
                to: from + typesize,
                nbytes,
            };
            self.read_with_functions(&part, dest)?;
        }
        Ok(())
    }

    /// Reads items of `typesize` bytes, in chunks of `chunkitems`, which are sorted by index.
    pub fn read_sparse(
        &self,
        entries: &mut [SparseItem],
        chunkitems: u64,
        typesize: usize,
    ) -> Result<()> {
        // A thread reads all items of a chunk.
        let nthreads = self.decoder.nthreads();
        let nchunks = count_chunks(entries, chunkitems, nthreads);
        let most = entries.len().min(self.state.counts.nchunks);
        let mut rest = entries;
        let groups = std::iter::from_fn(|| {
            let nchunk = rest.first()?.0 / chunkitems;
            let first = nchunk * chunkitems;
            Some(Group {
                nchunk: nchunk as usize,
                first,
                entries: take_front(&mut rest, |entry| entry.0 - first < chunkitems),
            })
        });
        let nworkers = self.decoder.executor().workers(nthreads, nchunks);
        self.read_each(
            groups,
            (most, nworkers),
            |group| self.read_items(group, typesize),
            |group| {
                let read = self.read_items_with_functions(group, typesize);
                match self.decoder.has_postfilter() {
                    true => read.map_err(Error::or_failure),
                    false => read,
                }
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::decoding::DecodeContext;
    use crate::schunk::chunks::Position;
    use crate::schunk::host::Coders;
    use crate::schunk::open::next_id;
    use crate::schunk::store::ChunkStore;
    use crate::{CParams, Compressor, DParams, Decompressor, Special, StorageParams, SuperChunk};
    use oxiblosc_base::Result;
    use oxiblosc_chunk::header::ChunkHeader;
    use oxiblosc_chunk::hooks::{Executor, Hooks};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const NBYTES: usize = 4000;

    /// A super-chunk of a chunk with data and one of special values, with items of 4 bytes.
    fn make(special: Special) -> SuperChunk {
        let cparams = CParams {
            typesize: 4,
            ..CParams::default()
        };
        let schunk = SuperChunk::create(StorageParams {
            cparams,
            ..StorageParams::default()
        });
        let schunk = schunk.expect("a super-chunk");
        let data: Vec<u8> = (0..NBYTES).map(|i| ((i * i) >> 3) as u8 | 1).collect();
        schunk.append_data(&data).expect("appends");
        let chunk = schunk.special_sample(special, NBYTES as i32);
        let chunk = chunk.expect("a chunk");
        schunk.put_chunk(Position::End, &chunk).expect("appends");
        schunk
    }

    /// Reading an uninitialized chunk writes nothing, so that the items of another chunk must not
    /// come out for those of it.
    #[test]
    fn sparse_items_are_those_of_a_range() {
        for special in [Special::Zero, Special::Nan, Special::Uninit] {
            let schunk = make(special);
            let mut all = vec![0xab; 2 * NBYTES];
            schunk
                .read_bytes(0..2 * NBYTES as u64, &mut all)
                .expect("reads");
            for coords in [
                &[1001][..],
                &[1999, 1000],
                &[0, 1, 2, 1000, 1001, 1002],
                &[999, 1000, 998, 1001, 5, 1500, 1501],
            ] {
                let mut items = vec![0xab; 4 * coords.len()];
                schunk.read_sparse(coords, &mut items).expect("reads");
                for (item, coord) in items.chunks(4).zip(coords) {
                    let expected = &all[4 * *coord as usize..][..4];
                    assert_eq!(item, expected, "{special:?}, item {coord} of {coords:?}");
                }
            }
        }
    }

    /// A decoder that counts the workers that it is asked for.
    struct CountingDecoder {
        decoder: Decompressor,
        nthreads: usize,
        workers: Arc<AtomicUsize>,
    }

    impl Executor for CountingDecoder {
        fn run(&self, _: usize, nworkers: usize, job: &(dyn Fn(usize) + Sync)) -> Result<()> {
            self.workers.fetch_add(nworkers, Ordering::Relaxed);
            job(0);
            Ok(())
        }
    }

    impl DecodeContext for CountingDecoder {
        fn hooks<'h>(
            &'h self,
            header: &ChunkHeader,
            prefix: &'h [u8],
        ) -> Result<Box<dyn Hooks + 'h>> {
            self.decoder.hooks(header, prefix)
        }

        fn nthreads(&self) -> usize {
            self.nthreads
        }

        fn executor(&self) -> &dyn Executor {
            self
        }
    }

    /// However many threads the parameters allow, no thread is woken that would find nothing to
    /// read.
    #[test]
    fn no_more_threads_than_chunks_with_items() {
        for nthreads in [1, 2, 8] {
            let workers = Arc::new(AtomicUsize::new(0));
            let cparams = CParams {
                typesize: 4,
                ..CParams::default()
            };
            let host = Coders {
                encoder: Box::new(Compressor::new(cparams.clone())),
                decoder: Box::new(CountingDecoder {
                    decoder: Decompressor::new(DParams::default()),
                    nthreads,
                    workers: workers.clone(),
                }),
                nthreads: (1, 1),
            };
            let store = ChunkStore::EMPTY;
            let schunk = SuperChunk::new(store, cparams.recorded(), Box::new(host), next_id());
            for value in 0..6 {
                schunk.append_data(&[value; NBYTES]).expect("appends");
            }
            for (coords, nchunks) in [
                (&[1001][..], 1),
                (&[1001, 1999, 1000], 1),
                (&[5999, 0], 2),
                (&[0, 999, 1000, 3000, 2999, 2000], 4),
                (&[0, 1000, 2000, 3000, 4000, 5000, 5001, 1], 6),
            ] {
                let mut items = vec![0xab; 4 * coords.len()];
                schunk.read_sparse(coords, &mut items).expect("reads");
                let values = items.chunks(4).zip(coords);
                assert!(
                    values
                        .into_iter()
                        .all(|(item, coord)| item == [(coord / 1000) as u8; 4])
                );
                let asked = workers.swap(0, Ordering::Relaxed);
                let wanted = nchunks.min(nthreads);
                assert_eq!(
                    asked,
                    if wanted > 1 { wanted } else { 0 },
                    "{coords:?}, {nthreads} threads"
                );
            }
        }
    }
}
