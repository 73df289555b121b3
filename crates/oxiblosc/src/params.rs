//! How chunks are compressed and decompressed.

use crate::codec;
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::header::{MAX_FILTERS, filter_id};
use oxiblosc_chunk::parameters::Parameters;
use oxiblosc_codecs::has_codec;
use oxiblosc_filters::filter;

/// Whether blocks are cut into as many streams as an item has bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// Always.
    Always = 1,
    /// Never.
    Never,
    /// Where the built-in tuner expects a gain.
    Auto,
    /// As releases before Blosc 2 did.
    #[default]
    ForwardCompatible,
}

impl Split {
    /// The mode of this number.
    pub fn from_code(code: i32) -> Option<Self> {
        [
            Self::Always,
            Self::Never,
            Self::Auto,
            Self::ForwardCompatible,
        ]
        .into_iter()
        .find(|split| *split as i32 == code)
    }
}

/// A shuffle of Blosc 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shuffle {
    /// No shuffle.
    None,
    /// A shuffle of bytes.
    Bytes,
    /// A shuffle of bits.
    Bits,
}

impl Shuffle {
    /// The shuffle of this number.
    pub fn from_code(code: i32) -> Option<Self> {
        [Self::None, Self::Bytes, Self::Bits]
            .into_iter()
            .find(|shuffle| *shuffle as i32 == code)
    }
}

/// A number of [`Parameters`], such as a level, that C has as an `int`. One that does not fit
/// becomes 255: no level, and no codec unless the program has registered that id.
pub fn narrow(number: i32) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

/// Puts the filters for a shuffle and, if `delta`, for delta into the last two slots of a pipeline,
/// as Blosc 1 does.
pub fn set_shuffle(
    filters: &mut [u8; MAX_FILTERS],
    shuffle: Option<Shuffle>,
    delta: bool,
    typesize: i32,
) {
    match shuffle {
        Some(Shuffle::Bytes) if typesize > 1 => filters[MAX_FILTERS - 1] = filter_id::SHUFFLE,
        Some(Shuffle::Bits) => filters[MAX_FILTERS - 1] = filter_id::BITSHUFFLE,
        Some(Shuffle::None) => filters[MAX_FILTERS - 1] = filter_id::NONE,
        _ => {}
    }
    if delta {
        filters[MAX_FILTERS - 2] = filter_id::DELTA;
    }
}

/// Whether a filter may have this id. Ids between those of the format and the first registered one,
/// and between the last registered one and the first that programs may use, are not assigned.
pub fn filter_is_defined(id: u8) -> bool {
    const FIRST_OF_PROGRAMS: u8 = 160;
    let reserved = (filter_id::TRUNC_PREC + 1..=filter_id::LAST_DEFINED).contains(&id);
    let unassigned = (filter_id::LAST_DEFINED + 1..FIRST_OF_PROGRAMS).contains(&id);
    let unassigned = unassigned && filter(id).is_none();
    !reserved && !unassigned
}

/// How data are compressed.
///
/// ```
/// use oxiblosc::{CParams, codec, filter};
///
/// let mut params = CParams { codec: codec::LZ4, typesize: 4, ..CParams::default() };
/// params.filters[5] = filter::BITSHUFFLE;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CParams {
    /// One of [`codec`].
    pub codec: u8,
    /// A parameter of the codec.
    pub codec_meta: u8,
    /// 0 (store) to 9.
    pub level: u8,
    /// Whether chunks get a dictionary, which LZ4, LZ4HC and Zstd can use.
    pub use_dict: bool,
    /// Bytes of an item.
    pub typesize: i32,
    /// Bytes of a block; 0 lets the built-in tuner choose.
    pub blocksize: i32,
    /// Whether blocks are cut into streams.
    pub split: Split,
    /// The filters ([`crate::filter`]), in the order in which they are applied when compressing. By
    /// default five empty slots and a byte shuffle.
    pub filters: [u8; MAX_FILTERS],
    /// A parameter of each filter.
    pub filters_meta: [u8; MAX_FILTERS],
    /// How many threads work on a chunk, at least 1.
    pub nthreads: i16,
}

impl Default for CParams {
    /// BloscLZ at level 5, shuffled items of 8 bytes, one thread.
    fn default() -> Self {
        let mut filters = [filter_id::NONE; MAX_FILTERS];
        filters[MAX_FILTERS - 1] = filter_id::SHUFFLE;
        Self {
            codec: codec::BLOSCLZ,
            codec_meta: 0,
            level: 5,
            use_dict: false,
            typesize: 8,
            blocksize: 0,
            split: Split::default(),
            filters,
            filters_meta: [0; MAX_FILTERS],
            nthreads: 1,
        }
    }
}

/// How data are decompressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DParams {
    /// How many threads work on a chunk, at least 1.
    pub nthreads: i16,
}

impl Default for DParams {
    /// One thread.
    fn default() -> Self {
        Self { nthreads: 1 }
    }
}

impl CParams {
    /// The parameters as a frame's header records them.
    pub fn recorded(&self) -> Parameters {
        Parameters {
            typesize: self.typesize,
            blocksize: self.blocksize,
            compcode: self.codec,
            compcode_meta: self.codec_meta,
            clevel: self.level,
            splitmode: self.split as u8,
            use_dict: self.use_dict,
            filters: self.filters,
            filters_meta: self.filters_meta,
        }
    }

    /// The parameters that a frame's header records.
    pub fn from_recorded(recorded: &Parameters, nthreads: i16) -> Self {
        Self {
            codec: recorded.compcode,
            codec_meta: recorded.compcode_meta,
            level: recorded.clevel,
            use_dict: recorded.use_dict,
            typesize: recorded.typesize,
            blocksize: recorded.blocksize,
            split: Split::from_code(recorded.splitmode.into()).unwrap_or_default(),
            filters: recorded.filters,
            filters_meta: recorded.filters_meta,
            nthreads,
        }
    }

    /// Refuses codecs that are not the library's.
    pub(crate) fn check_codec(&self) -> Result<()> {
        match has_codec(self.codec) {
            true => Ok(()),
            false => Err(Error::CODEC_SUPPORT),
        }
    }
}
