//! The filter pipeline of a chunk: up to six filters over a block, forward and backward.

use super::header::rules::Rules;
use super::header::{MAX_FILTERS, filter_id, version};
use super::hooks::{BlockPos, Hooks};
use super::registered;
use oxiblosc_base::memory::AlignedBuffer;
use oxiblosc_base::{Error, Result};
use oxiblosc_filters::{bitshuffle, delta, filter, shuffle, trunc_prec};

/// A filter with its parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Byte shuffle over so many byte streams.
    Shuffle(u8),
    /// Bit shuffle over items of the typesize.
    BitShuffle,
    /// XOR with the first block.
    Delta,
    /// Truncated precision; the meta byte is a signed number of bits.
    TruncPrec(i8),
    /// A registered filter, the library's or the program's.
    Registered {
        /// Its id.
        id: u8,
        /// Its parameter.
        meta: u8,
    },
}

/// The filters that have an effect, in the order of compression.
#[derive(Clone, Copy, Debug)]
pub struct Pipeline {
    /// The first `len` are used.
    slots: [Stage; MAX_FILTERS],
    len: u8,
    /// Bytes of an item.
    typesize: u8,
    /// Format version of the chunk; bitshuffle depends on it.
    version: u8,
    /// Bitshuffle depends on these, too.
    rules: Rules,
}

/// The reference of a delta stage.
#[derive(Clone, Copy)]
pub enum DeltaReference<'a> {
    /// The preceding item of the same block: for the first block.
    Own,
    /// The data of the first block.
    First(&'a [u8]),
}

impl Pipeline {
    /// A pipeline without stages.
    pub const EMPTY: Self = Self {
        slots: [Stage::Delta; MAX_FILTERS],
        len: 0,
        typesize: 1,
        version: 0,
        rules: Rules::Blosc2,
    };

    /// Sets the typesize, and the format version and the rules of the chunk.
    pub fn set_typesize(&mut self, typesize: u8, version: u8, rules: Rules) {
        (self.typesize, self.version, self.rules) = (typesize, version, rules);
    }

    /// Sets the stages from the filter slots of a header. In place, for the reason that
    /// [`super::header::ChunkHeader::read`] gives.
    pub fn resolve(
        &mut self,
        filters: &[u8; MAX_FILTERS],
        metas: &[u8; MAX_FILTERS],
        decoding: bool,
    ) -> Result<()> {
        // Most slots are empty. With all ids in one integer, empty slots cost nothing.
        let [a, b, c, d, e, f] = *filters;
        let mut left = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
        while left != 0 {
            let slot = left.trailing_zeros() as usize / 8;
            left &= !(0xff << (8 * slot));
            self.resolve_slot(filters[slot], metas[slot], decoding)?;
        }
        Ok(())
    }

    /// Appends the stage that a filter that is not [`filter_id::NONE`] stands for.
    #[inline(always)]
    fn resolve_slot(&mut self, id: u8, meta: u8, decoding: bool) -> Result<()> {
        self.push(match id {
            filter_id::SHUFFLE => {
                let streams = if meta == 0 { self.typesize } else { meta };
                if streams == 1 {
                    return Ok(());
                }
                Stage::Shuffle(streams)
            }
            filter_id::BITSHUFFLE => Stage::BitShuffle,
            filter_id::DELTA => Stage::Delta,
            // Truncation, for example.
            id if decoding && filter(id).is_some_and(|filter| !filter.is_undone()) => {
                return Ok(());
            }
            filter_id::TRUNC_PREC => {
                // Reports a parameter that the filter refuses, even if no block reaches it.
                trunc_prec::truncate(meta as i8, self.typesize.into(), &[], &mut [])
                    .map_err(|_| Error::FILTER_PIPELINE)?;
                Stage::TruncPrec(meta as i8)
            }
            id if id > filter_id::LAST_DEFINED => Stage::Registered { id, meta },
            _ if decoding => return Err(Error::FAILURE),
            _ => return Err(Error::FILTER_PIPELINE),
        });
        Ok(())
    }

    fn push(&mut self, stage: Stage) {
        self.slots[usize::from(self.len)] = stage;
        self.len += 1;
    }

    /// The stages for which `wanted` holds.
    fn only(&self, wanted: impl Fn(&Stage) -> bool) -> Self {
        let mut some = Self { len: 0, ..*self };
        for stage in self.stages().iter().filter(|stage| wanted(stage)) {
            some.push(*stage);
        }
        some
    }

    /// The stages, in the order of compression.
    pub fn stages(&self) -> &[Stage] {
        &self.slots[..usize::from(self.len)]
    }

    /// Whether a stage compares blocks with the first one.
    pub fn has_delta(&self) -> bool {
        self.stages().contains(&Stage::Delta)
    }

    /// Whether the filters map a block of zeros to itself.
    pub fn keeps_zeros(&self) -> bool {
        !self
            .stages()
            .iter()
            .any(|stage| matches!(stage, Stage::Delta | Stage::Registered { .. }))
    }

    /// Whether the filters map a block of one repeated byte to itself.
    pub fn keeps_runs(&self) -> bool {
        self.stages()
            .iter()
            .all(|stage| matches!(stage, Stage::Shuffle(_)))
    }

    /// The lossy stages before the first delta. Decoders do not undo them, so the reference for
    /// delta is the first block after these stages.
    pub fn before_delta(&self) -> Self {
        let delta = self
            .stages()
            .iter()
            .position(|stage| *stage == Stage::Delta);
        let before = Self {
            len: delta.unwrap_or(0) as u8,
            ..*self
        };
        before.only(|stage| matches!(stage, Stage::TruncPrec(_)))
    }

    /// Whether bitshuffle only copies a block of `bsize` bytes. That of Blosc 1 does so if the
    /// number of items is no multiple of eight.
    fn copies_bits(&self, bsize: usize) -> bool {
        self.rules.is_blosc1() && !(bsize / usize::from(self.typesize)).is_multiple_of(8)
    }

    /// The format version for bitshuffle. c-blosc2 reads chunks of version 2 as older releases of
    /// Blosc 1 wrote them.
    fn bitshuffle_version(&self) -> u8 {
        if self.rules.is_blosc1() {
            version::STABLE
        } else {
            self.version
        }
    }

    /// Runs all stages over a block. `input` is the block's data, or `None` if they are in `ping`
    /// already.
    pub fn forward<'a>(
        &self,
        input: Option<&'a [u8]>,
        bsize: usize,
        reference: DeltaReference,
        (ping, pong): (&'a mut AlignedBuffer, &'a mut AlignedBuffer),
        hooks: &dyn Hooks,
    ) -> Result<&'a [u8]> {
        let typesize = usize::from(self.typesize);
        let mut place = if input.is_some() {
            StageBuffer::Input
        } else {
            StageBuffer::Ping
        };
        for stage in self.stages() {
            let (src, dst) = match (place, input) {
                (StageBuffer::Input, Some(input)) => (input, ping.ensure(bsize)?),
                (StageBuffer::Pong, _) => (&pong[..bsize], ping.ensure(bsize)?),
                _ => (&ping[..bsize], pong.ensure(bsize)?),
            };
            match *stage {
                Stage::Shuffle(streams) => shuffle::shuffle(streams.into(), src, dst),
                Stage::BitShuffle if self.copies_bits(src.len()) => {
                    oxiblosc_filters::copy(src, dst);
                }
                Stage::BitShuffle => bitshuffle::bitshuffle(typesize, src, dst),
                Stage::Delta => match reference {
                    DeltaReference::Own => delta::encode_first(typesize, src, dst),
                    DeltaReference::First(first) => delta::encode(typesize, first, src, dst),
                },
                Stage::TruncPrec(bits) => {
                    trunc_prec::truncate(bits, typesize, src, dst)
                        .map_err(|_| Error::FILTER_PIPELINE)?;
                }
                Stage::Registered { id, meta } => {
                    registered::forward((id, meta), typesize, src, dst, hooks.registered())?;
                }
            }
            place = if place == StageBuffer::Ping {
                StageBuffer::Pong
            } else {
                StageBuffer::Ping
            };
        }
        Ok(match (place, input) {
            (StageBuffer::Input, Some(input)) => input,
            (StageBuffer::Pong, _) => &pong[..bsize],
            _ => &ping[..bsize],
        })
    }

    /// Undoes all stages. The filtered data are in `ping`; the block's data go to `dst`, through
    /// the postfilter if there is one. There must be at least one stage or a postfilter.
    pub fn backward(
        &self,
        pos: BlockPos,
        dst: &mut [u8],
        reference: DeltaReference,
        (ping, pong, ttmp): (&mut AlignedBuffer, &mut AlignedBuffer, &mut [u8]),
        hooks: &dyn Hooks,
    ) -> Result<()> {
        let (bsize, typesize) = (dst.len(), usize::from(self.typesize));
        let mut place = StageBuffer::Ping;
        for (left, stage) in self.stages().iter().enumerate().rev() {
            let last = left == 0 && !hooks.has_postfilter();
            let (src, out): (&[u8], &mut [u8]) = match (place, last) {
                (StageBuffer::Pong, true) => (&pong[..bsize], &mut *dst),
                (_, true) => (&ping[..bsize], &mut *dst),
                (StageBuffer::Pong, false) => (&pong[..bsize], ping.ensure(bsize)?),
                (_, false) => (&ping[..bsize], pong.ensure(bsize)?),
            };
            match *stage {
                Stage::Shuffle(streams) => shuffle::unshuffle(streams.into(), src, out),
                Stage::BitShuffle if self.copies_bits(src.len()) => {
                    oxiblosc_filters::copy(src, out);
                }
                Stage::BitShuffle => {
                    bitshuffle::bitunshuffle(typesize, src, out, self.bitshuffle_version());
                }
                Stage::Delta => match reference {
                    DeltaReference::Own => {
                        out.copy_from_slice(src);
                        delta::decode_first(typesize, out);
                    }
                    DeltaReference::First(first) => delta::encode(typesize, first, src, out),
                },
                Stage::TruncPrec(_) => out.copy_from_slice(src),
                Stage::Registered { id, meta } => {
                    registered::backward((id, meta), typesize, src, out, hooks.registered())?;
                }
            }
            place = if place == StageBuffer::Ping {
                StageBuffer::Pong
            } else {
                StageBuffer::Ping
            };
        }
        if hooks.has_postfilter() {
            let input = if place == StageBuffer::Ping {
                &ping[..bsize]
            } else {
                &pong[..bsize]
            };
            hooks.postfilter(pos, typesize, input, dst, ttmp)?;
        }
        Ok(())
    }
}

/// Where the data of a block are between two stages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StageBuffer {
    Input,
    Ping,
    Pong,
}
