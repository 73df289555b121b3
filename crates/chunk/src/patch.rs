//! Changes some blocks of a chunk. Only these are decompressed and compressed again; the others are
//! copied or stay where they are.

mod recompress;
mod stored;

use super::Chunk;
use super::assemble::assemble;
use super::encode_block::BlockEncoder;
use super::header::rules::{Rules, UDCODEC_FORMAT};
use super::header::{Blocks, Special, flags, flags2, version};
use super::hooks::Hooks;
use super::in_place::PatchTarget;
use super::input::EncodeParams;
use super::pipeline::Pipeline;
pub use super::touched::Touched;
use super::workers::Workers;
use oxiblosc_base::memory::{Buffer, Edit, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_codecs::Codec;

/// Decodes some blocks of a chunk, changes them and encodes them again.
#[derive(Clone, Copy)]
pub struct Patcher<'a> {
    /// The chunk.
    pub chunk: &'a Chunk<'a>,
    /// The codec for the changed blocks, if it writes the format of the chunk. All else but the
    /// level is as in the chunk's header.
    pub compcode: u8,
    /// Its level.
    pub clevel: u8,
    /// Callbacks for decompression.
    pub decoding: &'a dyn Hooks,
    /// Callbacks for compression.
    pub encoding: &'a dyn Hooks,
    /// The threads.
    pub workers: Workers<'a>,
}

/// The form in which a changed chunk is returned.
#[derive(Clone, Copy)]
pub enum PatchMode<'a> {
    /// The whole chunk.
    Whole,
    /// Edits of a chunk in memory, or the whole chunk if that is better.
    Edits,
    /// Edits of a chunk in a file, of which only the touched blocks were read, or the whole chunk
    /// if that is better.
    InPlace(&'a PatchTarget<'a>),
}

/// The result of changing a chunk.
pub enum Patched {
    /// The whole new chunk.
    Whole(Buffer),
    /// Edits of the old chunk.
    Edits(TryVec<Edit>),
}

impl Patched {
    /// The whole new chunk; `old` is the one that was changed.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`]; [`Error::INVALID_PARAM`] if the edits do not fit into `old`.
    pub fn whole(self, old: &Chunk) -> Result<Buffer> {
        match self {
            Self::Whole(bytes) => Ok(bytes),
            Self::Edits(edits) => {
                let mut bytes = Buffer::copy_of(old.bytes())?;
                bytes.edit(&edits)?;
                Ok(bytes)
            }
        }
    }
}

/// A change of a chunk's data.
pub(super) enum DataChange<'a> {
    /// Overwrites the data from `start` on with these bytes.
    Bytes { start: usize, new: &'a [u8] },
    /// Calls this for each block; see [`Patcher::blocks`].
    Blocks(&'a (dyn Fn(usize, &mut [u8]) + Sync)),
}

impl DataChange<'_> {
    /// Changes the data of a block, which begin at `offset` in the chunk's data.
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

/// The part of `new`, which goes to `start` in a chunk's data, that belongs to the block of `bsize`
/// bytes at `offset`, and where in the block it begins.
pub(super) fn part_of(start: usize, new: &[u8], offset: usize, bsize: usize) -> (usize, &[u8]) {
    let (first, last) = (start.max(offset), (start + new.len()).min(offset + bsize));
    (first - offset, &new[first - start..last - start])
}

impl Patcher<'_> {
    /// Overwrites the data from byte `start` on with `new`. None if the chunk must be compressed
    /// from all its data (see [`Self::blocks`]).
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] when the range is not within the data; those of a damaged chunk.
    pub fn range(&self, start: usize, new: &[u8], mode: PatchMode) -> Result<Option<Patched>> {
        let Some(touched) = Touched::of_range(self.chunk.header(), start, new.len())? else {
            return Ok(None);
        };
        self.apply(&touched, &DataChange::Bytes { start, new }, mode)
    }

    /// Changes the blocks in `touched`, which must ascend, and returns the new chunk. `change` gets
    /// the index and the data of each block, from any worker and in any order. If
    /// [`Touched::whole`] is set, the data are undefined, and `change` must overwrite all of them.
    ///
    /// None if the chunk must be compressed from all its data: with special values, a Blosc 1
    /// header, variable-length blocks, a dictionary, delta, a prefilter or postfilter, if all data
    /// are new, and if the result would be larger than a stored chunk. The bytes of the new chunk
    /// do not depend on the number of workers.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if `touched` does not ascend or contains blocks that do not exist,
    /// and for a lazy chunk; those of a damaged chunk.
    pub fn blocks(
        &self,
        touched: &[Touched],
        change: &(dyn Fn(usize, &mut [u8]) + Sync),
    ) -> Result<Option<Buffer>> {
        self.apply(touched, &DataChange::Blocks(change), PatchMode::Whole)?
            .map(|patched| patched.whole(self.chunk))
            .transpose()
    }

    /// Like [`Self::blocks`], but the result has the form of `mode`. With [`PatchMode::InPlace`]
    /// blocks that are not touched need not be read. If edits change the length of the chunk, they
    /// include those of the header and the block starts.
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

    /// An error for blocks that do not ascend or do not exist, and for a lazy chunk that is not
    /// changed in place.
    fn check(&self, touched: &[Touched], mode: PatchMode) -> Result<()> {
        let nblocks = self.chunk.header().nblocks;
        let ascend = touched.is_sorted_by(|a, b| a.nblock < b.nblock);
        let inside = touched.last().is_none_or(|t| t.nblock < nblocks);
        let in_place = matches!(mode, PatchMode::InPlace(_));
        if !ascend || !inside || (self.chunk.is_lazy() && !in_place) {
            return Err(Error::INVALID_PARAM);
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

    /// Compresses the touched blocks again, and writes them in place or, where they do not fit,
    /// rewrites the chunk.
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
            None => assemble_with_slack(target, &encoder, touched, &changed),
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

    /// The parameters for compressing blocks of this chunk. None if a block cannot be compressed
    /// without the others.
    fn params_of_chunk(&self, blocksize: usize) -> Option<EncodeParams> {
        let header = self.chunk.header();
        let format = header.flags >> 5;
        let compcode = if format == UDCODEC_FORMAT {
            header.udcompcode
        } else {
            let wanted = Codec::from_code(self.compcode.into());
            let same = wanted.filter(|codec| codec.format() == format);
            same.or_else(|| Codec::from_format(format))?.code() as u8
        };
        let typesize = usize::from(header.typesize);
        let split = header.flags & flags::DONT_SPLIT == 0;
        if self.clevel == 0 || (split && !blocksize.is_multiple_of(typesize)) {
            return None;
        }
        Some(EncodeParams {
            compcode,
            compcode_meta: header.compcode_meta,
            versionlz: header.versionlz,
            clevel: self.clevel,
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
            nthreads: self.workers.nthreads,
        })
    }
}

/// The rewritten chunk with the changed blocks, with slack between blocks unless that makes it too
/// large.
fn assemble_with_slack(
    target: &PatchTarget,
    encoder: &BlockEncoder,
    touched: &[Touched],
    changed: &[Option<Buffer>],
) -> Result<Option<Patched>> {
    let bytes = target.whole()?;
    let chunk = match &bytes {
        Some(bytes) => Chunk::loaded(target.header(), bytes)?,
        None => target.chunk()?,
    };
    let with_slack = assemble(&chunk, encoder, touched, changed, |len| target.slack(len))?;
    let whole = match with_slack {
        Some(bytes) => Some(bytes),
        None => assemble(&chunk, encoder, touched, changed, |_| 0)?,
    };
    Ok(whole.map(Patched::Whole))
}
