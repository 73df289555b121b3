//! Changing some blocks of a chunk: only these are decompressed and compressed again, the others are copied as they are.

use super::Chunk;
use super::assemble::assemble;
use super::decode_block::BlockDecoder;
use super::encode::{EncodeParams, lock, workers};
use super::encode_block::{BlockEncoder, BlockInput, difference};
use super::header::{Blocks, ChunkHeader, Special, flags, flags2, version};
use super::hooks::{BlockPos, Executor, Hooks};
use super::in_place::PatchTarget;
use super::pipeline::{Pipeline, Stage};
use super::rules::{Rules, UDCODEC_FORMAT};
use super::scratch::{self, Scratch};
use oxiblosc_codecs::Codec;
use oxiblosc_error::{Error, Result};
use oxiblosc_filters::shuffle::shuffle;
use oxiblosc_memory::{Buffer, Collect, Edit, List};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A block to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// Its index.
    pub nblock: usize,
    /// Every byte of it will be overwritten, so what it held is of no interest.
    pub whole: bool,
}

impl Touched {
    /// The blocks that `len` bytes from `start` on are in; none where they are of different sizes.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] when the range is not within the data.
    pub fn by(header: &ChunkHeader, start: usize, len: usize) -> Result<Option<List<Self>>> {
        let stop = start.checked_add(len).ok_or(Error::InvalidParam)?;
        if stop > header.nbytes {
            return Err(Error::InvalidParam);
        }
        let Blocks::Regular { blocksize } = header.blocks else {
            return Ok(None);
        };
        let touched = (start / blocksize..stop.div_ceil(blocksize)).map(|nblock| {
            let from = nblock * blocksize;
            let to = header.nbytes.min(from + blocksize);
            let whole = start <= from && to <= stop;
            Self { nblock, whole }
        });
        Ok(Some(touched.list()?))
    }
}

/// Those of a program's compression parameters that apply to blocks of an existing chunk; its header has the others.
#[derive(Clone, Copy, Debug)]
pub struct RecompressParams {
    /// Which of the codecs of the chunk's format.
    pub compcode: u8,
    /// The level.
    pub clevel: u8,
    /// The number of threads.
    pub nthreads: usize,
}

impl EncodeParams {
    /// Those that apply to blocks of an existing chunk.
    pub fn recompress_params(&self) -> RecompressParams {
        RecompressParams {
            compcode: self.compcode,
            clevel: self.clevel,
            nthreads: self.nthreads,
        }
    }
}

/// Decodes some blocks of a chunk, changes them and encodes them again.
#[derive(Clone, Copy)]
pub struct Patcher<'a> {
    /// The chunk, in memory.
    pub chunk: &'a Chunk<'a>,
    /// How it is written.
    pub params: RecompressParams,
    /// The caller's functions for decompression.
    pub decoding: &'a dyn Hooks,
    /// The caller's functions for compression.
    pub encoding: &'a dyn Hooks,
    /// Where workers come from.
    pub exec: &'a dyn Executor,
}

/// In which form the changed chunk is returned.
#[derive(Clone, Copy)]
pub enum PatchMode<'a> {
    /// All its bytes.
    Whole,
    /// Edits that leave all other bytes where they are, if that is less: the chunk is in memory.
    Edits,
    /// The same for a chunk in a file, of which only a part was read.
    InPlace(&'a PatchTarget<'a>),
}

/// The result of changing a chunk.
pub enum Patched {
    /// The chunk, all of it.
    Whole(Buffer),
    /// Edits to be made in the old chunk.
    Edits(List<Edit>),
}

impl Patched {
    /// The whole chunk, made from the old one if there are edits.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`]; [`Error::InvalidParam`] for another chunk than it was made for.
    pub fn whole(self, was: &Chunk) -> Result<Buffer> {
        match self {
            Self::Whole(bytes) => Ok(bytes),
            Self::Edits(edits) => {
                let mut bytes = Buffer::copy_of(was.bytes())?;
                bytes.edit(&edits)?;
                Ok(bytes)
            }
        }
    }
}

/// A change of a chunk's data.
pub(super) enum DataChange<'a> {
    /// These bytes go to `start` in the chunk's data.
    Bytes { start: usize, new: &'a [u8] },
    /// See [`Patcher::blocks`].
    Blocks(&'a (dyn Fn(usize, &mut [u8]) + Sync)),
}

impl DataChange<'_> {
    /// Changes the data of a block, which begin at `offset` in the chunk's.
    pub(super) fn run(&self, nblock: usize, offset: usize, data: &mut [u8]) {
        match *self {
            Self::Blocks(change) => change(nblock, data),
            Self::Bytes { start, new } => {
                let (from, new) = part_of(start, new, offset, data.len());
                data[from..from + new.len()].copy_from_slice(new);
            }
        }
    }
}

/// What of `new`, that goes to `start` in a chunk's data, is for the block of `bsize` bytes at `offset`; and where in that.
pub(super) fn part_of(start: usize, new: &[u8], offset: usize, bsize: usize) -> (usize, &[u8]) {
    let (first, last) = (start.max(offset), (start + new.len()).min(offset + bsize));
    (first - offset, &new[first - start..last - start])
}

impl Patcher<'_> {
    /// Overwrites the data from byte `start` on with `new`. Gives the new chunk or, as [`Self::changed`], what is to be changed
    /// in it, or none where it has to be made from all its data (see [`Self::blocks`]).
    ///
    /// # Errors
    /// [`Error::InvalidParam`] when the range is not within the data; those of a damaged chunk.
    pub fn range(&self, start: usize, new: &[u8], mode: PatchMode) -> Result<Option<Patched>> {
        let Some(touched) = Touched::by(self.chunk.header(), start, new.len())? else {
            return Ok(None);
        };
        self.apply(&touched, &DataChange::Bytes { start, new }, mode)
    }

    /// Changes the blocks in `touched`, which ascend: `change` gets the index and the data of each, from any worker and in
    /// any order. Of a block that is wholly touched the data may be anything, and `change` overwrites all.
    ///
    /// Gives the new chunk, or none where it has to be made from all its data: with special values, a Blosc 1 header,
    /// blocks of variable length, a dictionary, a delta, a prefilter or postfilter, when the data are all new, and when the
    /// result would be larger than the data as they are. The bytes do not depend on the number of workers.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] when `touched` does not ascend or names blocks that are not there, and for a
    /// lazy chunk; those of a damaged chunk.
    pub fn blocks(
        &self,
        touched: &[Touched],
        change: &(dyn Fn(usize, &mut [u8]) + Sync),
    ) -> Result<Option<Buffer>> {
        self.apply(touched, &DataChange::Blocks(change), PatchMode::Whole)?
            .map(|patched| patched.whole(self.chunk))
            .transpose()
    }

    /// As [`Self::blocks`], but may say what is to be changed in the chunk, where the blocks that are not touched need not
    /// even be read for that. Edits with other lengths than what they replace include the header and the block starts.
    ///
    /// # Errors
    /// As for [`Self::blocks`].
    pub fn changed(
        &self,
        touched: &[Touched],
        change: &(dyn Fn(usize, &mut [u8]) + Sync),
        mode: PatchMode,
    ) -> Result<Option<Patched>> {
        self.apply(touched, &DataChange::Blocks(change), mode)
    }

    /// Refuses blocks that do not ascend or are not there, and a lazy chunk that is not to be changed where it is.
    fn check(&self, touched: &[Touched], mode: PatchMode) -> Result<()> {
        let nblocks = self.chunk.header().nblocks;
        let ascend = touched.is_sorted_by(|a, b| a.nblock < b.nblock);
        let inside = touched.last().is_none_or(|t| t.nblock < nblocks);
        let in_place = matches!(mode, PatchMode::InPlace(_));
        if !ascend || !inside || (self.chunk.is_lazy() && !in_place) {
            return Err(Error::InvalidParam);
        }
        Ok(())
    }

    fn apply(
        &self,
        touched: &[Touched],
        change: &DataChange,
        mode: PatchMode,
    ) -> Result<Option<Patched>> {
        self.check(touched, mode)?;
        let header = self.chunk.header();
        let all_new = touched.len() == header.nblocks && touched.iter().all(|t| t.whole);
        let Blocks::Regular { blocksize } = header.blocks else {
            return Ok(None);
        };
        if all_new || !self.has_independent_blocks() {
            return Ok(None);
        }
        if header.is_memcpyed() {
            return self.patch_stored(touched, change, mode).map(Some);
        }
        if let DataChange::Bytes { start, new } = *change
            && let Some(patched) = self.patch_pages(touched, (start, new), mode)?
        {
            return Ok(Some(patched));
        }
        if let PatchMode::InPlace(target) = mode {
            target.check(touched)?;
        }
        match self.params_of_chunk(blocksize) {
            Some(params) => self.patch_blocks(touched, change, mode, &params),
            None => Ok(None),
        }
    }

    /// Compresses the touched blocks again, and puts them where they were or, if they do not fit, makes the chunk anew.
    fn patch_blocks(
        &self,
        touched: &[Touched],
        change: &DataChange,
        mode: PatchMode,
        params: &EncodeParams,
    ) -> Result<Option<Patched>> {
        let header = self.chunk.header();
        let mut backward = Pipeline::EMPTY;
        let decoder = self.chunk.decoder(&mut backward, self.decoding)?;
        let mut forward = Pipeline::EMPTY;
        forward.set_typesize(header.typesize, version::STABLE, Rules::Blosc2);
        forward.resolve(&params.filters, &params.filters_meta, false)?;
        if forward.has_delta() {
            return Ok(None);
        }
        let encoder = BlockEncoder {
            params,
            hooks: self.encoding,
            pipeline: &forward,
            reference: None,
            split: params.split,
            variable: false,
            dict: None,
        };
        let here;
        let target = match mode {
            PatchMode::InPlace(target) if !target.blocks_fit(self.chunk, touched) => {
                return Ok(None);
            }
            PatchMode::InPlace(target) => Some(target),
            PatchMode::Edits => {
                here = PatchTarget::of(self.chunk, touched)?;
                here.as_ref()
                    .filter(|target| target.blocks_fit(self.chunk, touched))
            }
            PatchMode::Whole => None,
        };
        let changed = self.recompress(&decoder, &encoder, touched, change)?;
        let Some(target) = target else {
            let whole = assemble(self.chunk, &encoder, touched, &changed, |_| 0)?;
            return Ok(whole.map(Patched::Whole));
        };
        match target.edits(self.chunk, touched, &changed)? {
            Some(edits) => Ok(Some(Patched::Edits(edits))),
            None => spaced(target, &encoder, touched, &changed),
        }
    }

    /// Whether each block of the chunk can be decoded and encoded without the others.
    fn has_independent_blocks(&self) -> bool {
        let header = self.chunk.header();
        let bits = flags2::USE_DICT | flags2::INSTRUMENTED | flags2::LAZY;
        header.special() == Special::None
            && header.nbytes > 0
            && header.is_extended()
            && header.version == version::STABLE
            && header.blosc2_flags & bits == 0
            && !self.decoding.has_postfilter()
            && !self.encoding.has_prefilter()
            && !self.encoding.output_is_disposable()
    }

    /// What blocks of this chunk are compressed with; none where they cannot be.
    fn params_of_chunk(&self, blocksize: usize) -> Option<EncodeParams> {
        let header = self.chunk.header();
        let format = header.flags >> 5;
        let compcode = if format == UDCODEC_FORMAT {
            header.udcompcode
        } else {
            let wanted = Codec::from_code(self.params.compcode.into());
            let same = wanted.filter(|codec| codec.format() == format);
            same.or_else(|| Codec::from_format(format))?.code() as u8
        };
        let typesize = usize::from(header.typesize);
        let split = header.flags & flags::DONT_SPLIT == 0;
        if self.params.clevel == 0 || (split && !blocksize.is_multiple_of(typesize)) {
            return None;
        }
        Some(EncodeParams {
            compcode,
            compcode_meta: header.compcode_meta,
            versionlz: header.versionlz,
            clevel: self.params.clevel,
            typesize,
            blocksize,
            filters: header.filters,
            filters_meta: header.filters_meta,
            split,
            use_dict: false,
            instrumented: false,
            extended: true,
            rules: Rules::Blosc2,
            checksums: false,
            nthreads: self.params.nthreads,
        })
    }

    /// The compressed bytes of each touched block.
    fn recompress(
        &self,
        decoder: &BlockDecoder,
        encoder: &BlockEncoder,
        touched: &[Touched],
        change: &DataChange,
    ) -> Result<List<List<u8>>> {
        let one = |t: Touched, tid: usize, scratch: &mut Scratch| {
            let bsize = self.chunk.block_nbytes(t.nblock)?;
            let pos = BlockPos {
                nblock: t.nblock,
                offset: decoder.offset(t.nblock),
                tid,
            };
            scratch.out.ensure(encoder.bound(bsize))?;
            let size = match self.change_streams(decoder, encoder, t, change, scratch)? {
                Some(size) => size,
                None => self.change_data(decoder, encoder, (t, pos), change, scratch)?,
            };
            let mut bytes = with_room(size)?;
            bytes.extend_from_slice(&scratch.out[..size])?;
            Ok(bytes)
        };
        let nbytes = touched.len() * encoder.params.blocksize;
        let nworkers = workers(
            self.exec,
            self.params.nthreads,
            touched.len(),
            nbytes,
            false,
        );
        if nworkers <= 1 {
            let mut scratch = scratch::borrow()?;
            return touched.iter().map(|t| one(*t, 0, &mut scratch)).try_list();
        }
        let mut results = List::new();
        // A block is left unclaimed only if no worker had the memory for it.
        results.resize_with(touched.len(), || Err(Error::MemoryAlloc))?;
        let results = Mutex::new(results);
        let next = AtomicUsize::new(0);
        self.exec.run(self.params.nthreads, nworkers, &|tid| {
            let Ok(mut scratch) = scratch::borrow() else {
                return;
            };
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(t) = touched.get(i) else {
                    return;
                };
                let result = one(*t, tid, &mut scratch);
                lock(&results)[i] = result;
            }
        })?;
        let results = std::mem::take(&mut *lock(&results));
        results.into_iter().try_list()
    }

    /// The streams of a block as they lie in the chunk.
    fn streams(&self, nblock: usize) -> Result<List<&[u8]>> {
        let mut streams = List::new();
        let mut kept = Ok(());
        self.chunk.compressed(nblock, |stream| {
            kept = kept.and_then(|()| streams.push(stream));
        })?;
        kept.map(|()| streams)
    }

    /// Changes the data of a block and encodes it into `scratch.out`; gives its size.
    fn change_data(
        &self,
        decoder: &BlockDecoder,
        encoder: &BlockEncoder,
        (t, pos): (Touched, BlockPos),
        change: &DataChange,
        scratch: &mut Scratch,
    ) -> Result<usize> {
        let bsize = self.chunk.block_nbytes(t.nblock)?;
        let Scratch {
            bufs,
            out,
            data,
            old,
            codec,
        } = scratch;
        let data = data.ensure(bsize)?;
        if !t.whole {
            decoder.decode(pos, None, data, (bufs, codec))?;
            // With one filter, what the streams held is still where it took that from.
            std::mem::swap(&mut bufs.ping, old);
        }
        change.run(t.nblock, pos.offset, data);
        let block = BlockInput {
            data: Some(data),
            bsize,
            offset: pos.offset,
        };
        if t.whole || decoder.pipeline.stages().len() != 1 {
            return encoder.encode(pos, block, (bufs, codec), out);
        }
        let before = self.streams(t.nblock)?;
        let new = encoder.filtered(pos, block, bufs, None)?;
        let neblock = bsize / before.len();
        let changed = |i: usize| {
            let stream = i * neblock..(i + 1) * neblock;
            difference(&new[stream.clone()], &old[stream])
        };
        encoder.encode_again(new, &before, changed, codec, out)
    }

    /// The same, where it can be done without undoing the filters: bytes are written where a shuffle has put them. None
    /// where it cannot.
    fn change_streams(
        &self,
        decoder: &BlockDecoder,
        encoder: &BlockEncoder,
        t: Touched,
        change: &DataChange,
        scratch: &mut Scratch,
    ) -> Result<Option<usize>> {
        let DataChange::Bytes { start, new } = *change else {
            return Ok(None);
        };
        let stages = decoder.pipeline.stages();
        let planes = match stages {
            [] => 1,
            [Stage::Shuffle(streams)] => usize::from(*streams),
            _ => return Ok(None),
        };
        let bsize = self.chunk.block_nbytes(t.nblock)?;
        let (from, new) = part_of(start, new, decoder.offset(t.nblock), bsize);
        let row = bsize / planes;
        // What is left over at the end is not shuffled.
        if t.whole || encoder.pipeline.stages() != stages || from + new.len() > row * planes {
            return Ok(None);
        }
        let Scratch {
            bufs,
            out,
            data,
            codec,
            ..
        } = scratch;
        let data = data.ensure(bsize)?;
        decoder.decode_streams(t.nblock, data, &mut bufs.input, codec)?;
        let before = self.streams(t.nblock)?;
        let neblock = bsize / before.len();
        let mut changed = List::filled(0..0, before.len())?;
        let shuffled = bufs.ping.ensure(new.len())?;
        put_shuffled(
            &mut data[..row * planes],
            planes,
            from,
            new,
            shuffled,
            |at| {
                for (i, range) in changed.iter_mut().enumerate() {
                    let stream = i * neblock..(i + 1) * neblock;
                    let (lo, hi) = (at.start.max(stream.start), at.end.min(stream.end));
                    if lo < hi {
                        let part = lo - stream.start..hi - stream.start;
                        *range = match range.start == range.end {
                            true => part,
                            false => range.start.min(part.start)..range.end.max(part.end),
                        };
                    }
                }
            },
        );
        let size = encoder.encode_again(data, &before, |i| changed[i].clone(), codec, out)?;
        Ok(Some(size))
    }
}

/// The whole chunk with the changed blocks, and room for them to grow if the chunk does not get too large by that.
fn spaced(
    target: &PatchTarget,
    encoder: &BlockEncoder,
    touched: &[Touched],
    changed: &[List<u8>],
) -> Result<Option<Patched>> {
    let bytes = target.whole()?;
    let chunk = match &bytes {
        Some(bytes) => Chunk::loaded(target.header(), bytes)?,
        None => target.chunk()?,
    };
    let spaced = assemble(&chunk, encoder, touched, changed, |len| target.slack(len))?;
    let whole = match spaced {
        Some(bytes) => Some(bytes),
        None => assemble(&chunk, encoder, touched, changed, |_| 0)?,
    };
    Ok(whole.map(Patched::Whole))
}

/// Puts bytes into `data`, whose `planes` have been shuffled apart, so that they are there from `from` on in the data before that.
/// Tells which ranges of `data` that changed. `shuffled` has room for as many bytes.
fn put_shuffled(
    data: &mut [u8],
    planes: usize,
    from: usize,
    new: &[u8],
    shuffled: &mut [u8],
    mut changed: impl FnMut(Range<usize>),
) {
    let row = data.len() / planes;
    let mut put = |plane: usize, at: usize, bytes: &[u8]| {
        let at = plane * row + at;
        let place = &mut data[at..at + bytes.len()];
        if *place != *bytes {
            place.copy_from_slice(bytes);
            changed(at..at + bytes.len());
        }
    };
    // Whole items are shuffled; before and behind them there may be parts of one.
    let head = (from.next_multiple_of(planes) - from).min(new.len());
    let (head, rest) = new.split_at(head);
    let (items, tail) = rest.split_at(rest.len() / planes * planes);
    let first = from + head.len();
    for (bytes, start) in [(head, from), (tail, first + items.len())] {
        for (at, byte) in (start..).zip(bytes) {
            put(at % planes, at / planes, std::slice::from_ref(byte));
        }
    }
    let n = items.len() / planes;
    let shuffled = &mut shuffled[..items.len()];
    shuffle(planes, items, shuffled);
    for plane in 0..planes {
        put(plane, first / planes, &shuffled[plane * n..][..n]);
    }
}

/// An empty vector with room for `len` bytes.
fn with_room(len: usize) -> Result<List<u8>> {
    let mut bytes = List::new();
    bytes.reserve_exact(len)?;
    Ok(bytes)
}
