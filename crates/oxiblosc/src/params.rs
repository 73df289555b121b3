//! How chunks are compressed and decompressed.

use crate::codec;
use oxiblosc_base::memory::env::info;
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::encode::EncodeParams;
use oxiblosc_chunk::header::{
    MAX_BLOCKSIZE, MAX_BUFFERSIZE, MAX_FILTERS, MAX_OVERHEAD, MAX_TYPESIZE, filter_id,
};
use oxiblosc_chunk::rules::Rules;
use oxiblosc_chunk::tune::BlocksizeRequest;
use oxiblosc_codecs::{Codec, has_codec};
use oxiblosc_filters::filter;
use oxiblosc_frame::parameters::Parameters;

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
        self.request(0).recorded()
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

    /// These parameters, for a chunk of `nbytes` bytes of data.
    pub(crate) fn request(&self, nbytes: i32) -> EncodeRequest {
        EncodeRequest {
            nbytes,
            typesize: self.typesize,
            blocksize: self.blocksize,
            compcode: self.codec.into(),
            compcode_meta: self.codec_meta,
            clevel: self.level.into(),
            splitmode: self.split as i32,
            use_dict: self.use_dict,
            filters: self.filters,
            filters_meta: self.filters_meta,
        }
    }
}

/// The parameters of a chunk as a context gives them. [`Self::check`] checks them, and
/// [`Self::encode_params`] converts them.
#[derive(Clone, Copy, Debug)]
pub struct EncodeRequest {
    /// Bytes of the data.
    pub nbytes: i32,
    /// Bytes of an item, at least 1.
    pub typesize: i32,
    /// Bytes of a block; 0 or less lets the built-in tuner choose.
    pub blocksize: i32,
    /// The codec's id.
    pub compcode: i32,
    /// A parameter of the codec.
    pub compcode_meta: u8,
    /// The level.
    pub clevel: i32,
    /// The number of the split mode.
    pub splitmode: i32,
    /// Whether a dictionary is wanted.
    pub use_dict: bool,
    /// The filters.
    pub filters: [u8; MAX_FILTERS],
    /// A parameter of each filter.
    pub filters_meta: [u8; MAX_FILTERS],
}

impl EncodeRequest {
    /// The parameters as a frame's header records them.
    pub fn recorded(&self) -> Parameters {
        Parameters {
            typesize: self.typesize,
            blocksize: self.blocksize,
            compcode: self.compcode as u8,
            compcode_meta: self.compcode_meta,
            clevel: self.clevel as u8,
            splitmode: self.splitmode as u8,
            use_dict: self.use_dict,
            filters: self.filters,
            filters_meta: self.filters_meta,
        }
    }

    fn blocksize_request(&self) -> BlocksizeRequest {
        BlocksizeRequest {
            compcode: self.compcode,
            clevel: self.clevel,
            typesize: self.typesize,
            nbytes: self.nbytes,
            shuffle: self.filters.contains(&filter_id::SHUFFLE),
            splitmode: self.splitmode,
        }
    }

    /// The size of a block that the built-in tuner chooses.
    pub fn tuned_blocksize(&self) -> i32 {
        let request = self.blocksize_request();
        let blocksize = request.blocksize(self.blocksize.max(0));
        info(std::fmt::from_fn(|f| {
            let Self {
                compcode,
                clevel,
                typesize,
                ..
            } = self;
            let split = i32::from(request.split(self.nbytes));
            write!(
                f,
                "compcode: {compcode}, clevel: {clevel}, blocksize: {blocksize}, splitmode: {split}, typesize: {typesize}"
            )
        }));
        blocksize
    }

    /// Checks all but the block size, for a chunk whose destination has `capacity` bytes.
    /// `in_buffer` says whether the data are in a buffer.
    ///
    /// # Errors
    /// [`Error::MAX_BUFSIZE_EXCEEDED`] for too much data, and for a destination that is too small
    /// for a header; [`Error::CODEC_PARAM`] for a level that is not 0 to 9, and for a dictionary
    /// with a codec that takes none; [`Error::INVALID_PARAM`] for an item that is too large.
    pub fn check(&mut self, capacity: usize, in_buffer: bool) -> Result<()> {
        if self.nbytes > MAX_BUFFERSIZE || capacity < MAX_OVERHEAD {
            return Err(Error::MAX_BUFSIZE_EXCEEDED);
        }
        let takes_dict = Codec::from_code(self.compcode).is_some_and(Codec::supports_dict);
        if !(0..=9).contains(&self.clevel) || (self.use_dict && in_buffer && !takes_dict) {
            return Err(Error::CODEC_PARAM);
        }
        if self.typesize > MAX_BLOCKSIZE {
            return Err(Error::INVALID_PARAM);
        }
        if self.typesize as usize > MAX_TYPESIZE {
            // Larger items are compressed as bytes.
            self.typesize = 1;
        }
        // Data that are only stored have no use for a dictionary.
        self.use_dict &= self.clevel > 0;
        Ok(())
    }

    /// All that the bytes of the chunk depend on besides its data. To be called after
    /// [`Self::check`]. The number of threads is 1.
    #[inline]
    pub fn encode_params(&self) -> EncodeParams {
        EncodeParams {
            compcode: self.compcode as u8,
            compcode_meta: self.compcode_meta,
            versionlz: 1,
            clevel: self.clevel as u8,
            typesize: self.typesize as usize,
            blocksize: self.blocksize as usize,
            filters: self.filters,
            filters_meta: self.filters_meta,
            split: self.blocksize_request().split(self.blocksize),
            use_dict: self.use_dict,
            instrumented: false,
            extended: true,
            rules: Rules::Blosc2,
            checksums: false,
            nthreads: 1,
        }
    }
}
