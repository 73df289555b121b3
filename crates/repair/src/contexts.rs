//! Contexts that compress and decompress the chunks of a frame.

use oxiblosc::codec;
use oxiblosc::{CParams, DParams, Place, Protection, Split, StorageParams, SuperChunk};
use oxiblosc_base::Error;
use oxiblosc_base::memory::Buffer;
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::encode::ChunkInput;
use oxiblosc_chunk::getitem::ItemRange;
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_chunk::parameters::Parameters;
use oxiblosc_chunk::rules::UDCODEC_FORMAT;
use oxiblosc_codecs::has_codec;
use oxiblosc_filters::filter;
use oxiblosc_frame::header::Header;
use std::ops::Range;

/// The result of most functions here.
type Done<T> = Result<T, Error>;

/// The error of a chunk that needs a codec or a filter which the tool does not have; none if it has
/// all.
fn missing(header: &ChunkHeader) -> Option<Error> {
    let is_other = header.flags >> 5 == UDCODEC_FORMAT;
    if is_other && !header.is_memcpyed() && !has_codec(header.udcompcode) {
        return Some(Error::CODEC_SUPPORT);
    }
    let is_known = |id: &u8| filter(*id).is_some();
    (!header.filters.iter().all(is_known)).then_some(Error::FILTER_PIPELINE)
}

/// The same of the parameters of a frame, with which its chunks are made.
pub fn missing_of(parameters: &Parameters) -> Option<Error> {
    if !has_codec(parameters.compcode) {
        return Some(Error::CODEC_SUPPORT);
    }
    let is_known = |id: &u8| filter(*id).is_some();
    (!parameters.filters.iter().all(is_known)).then_some(Error::FILTER_PIPELINE)
}

/// Contexts that know the metalayers of a frame, which some codecs and filters need.
pub struct Contexts(SuperChunk);

impl Contexts {
    /// Those of a super-chunk.
    pub fn of(schunk: SuperChunk) -> Self {
        Self(schunk)
    }

    /// Contexts for chunks that are compressed as `cparams` say.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`], and those of parameters that do not go together.
    pub fn new(cparams: CParams, checksums: bool) -> Done<Self> {
        let nthreads = cparams.nthreads;
        let storage = StorageParams {
            place: Place::Memory,
            cparams,
            dparams: DParams { nthreads },
            protection: Protection {
                checksums,
                ..Protection::default()
            },
        };
        SuperChunk::create(storage).map(Self)
    }

    /// Contexts for the chunks of a frame with this header, with its metalayers. They decompress
    /// with so many threads.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn of_frame(header: &Header, threads: i16) -> Done<Self> {
        let cparams = CParams {
            // Decompression takes these from the chunks.
            blocksize: 0,
            use_dict: false,
            ..cparams_of(&header.parameters, threads)
        };
        let contexts = Self::new(cparams, false)?;
        for layer in &header.metalayers {
            contexts.0.add_metalayer(&layer.name, &layer.content)?;
        }
        Ok(contexts)
    }

    /// Contexts for chunks that belong to no frame, or to one whose header is lost.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn plain(threads: i16) -> Done<Self> {
        let cparams = CParams {
            codec: codec::BLOSCLZ,
            filters: [0; 6],
            typesize: 1,
            nthreads: threads,
            ..CParams::default()
        };
        Self::new(cparams, false)
    }

    /// The super-chunk behind them.
    pub fn super_chunk(&self) -> &SuperChunk {
        &self.0
    }

    /// Compresses data into a chunk.
    ///
    /// # Errors
    /// Those of compression.
    pub fn compress(&self, data: ChunkInput) -> Done<Buffer> {
        self.0.compress(data, self.0.has_checksums()?)
    }

    /// Decompresses a chunk, which need not be in the super-chunk, into the front of `data`.
    /// Returns the bytes of data.
    ///
    /// # Errors
    /// Those of a damaged chunk; for a codec or a filter that is not there, that it is missing.
    pub fn decompress(&self, chunk: &[u8], data: &mut [u8]) -> Done<usize> {
        let header = ChunkHeader::parse(chunk)?;
        let done = self.0.decoder()?.decompress(&header, chunk, data);
        done.map_err(|error| missing(&header).unwrap_or(error))
    }

    /// Decompresses `count` items of a chunk, from item `start` on, into `data`. Returns their size
    /// in bytes.
    ///
    /// # Errors
    /// As for [`Self::decompress`]; those of a range that the chunk does not have.
    pub fn items(&self, chunk: &[u8], start: usize, count: usize, data: &mut [u8]) -> Done<usize> {
        let decoder = self.0.decoder()?;
        oxiblosc::context::decompress_items(decoder, chunk, start, count, data).map_err(|error| {
            let header = ChunkHeader::parse(chunk).ok();
            header.as_ref().and_then(missing).unwrap_or(error)
        })
    }

    /// Decompresses the whole items in a range of the data of a chunk, in bytes, into `data`, which
    /// is as long. `bytes` are those of the chunk.
    ///
    /// # Errors
    /// As for [`Self::items`].
    pub fn block(
        &self,
        chunk: &Chunk,
        bytes: &[u8],
        range: Range<usize>,
        data: &mut [u8],
    ) -> Done<()> {
        let (header, typesize) = (chunk.header(), usize::from(chunk.header().typesize));
        let number = |bytes: usize| i32::try_from(bytes / typesize).map_err(|_| Error::DATA);
        let (start, count) = (number(range.start)?, number(range.len())?);
        let items = ItemRange::new(header, start, count, i32::MAX)?;
        if items.len != data.len() {
            return Err(Error::DATA);
        }
        let decoder = self.0.decoder()?;
        let done = decoder.decompress_items(chunk, bytes, items, data);
        done.map_err(|error| missing(header).unwrap_or(error))
    }
}

/// The parameters of compression in the header of a frame.
pub fn cparams_of(parameters: &Parameters, threads: i16) -> CParams {
    CParams {
        codec: parameters.compcode,
        codec_meta: parameters.compcode_meta,
        level: parameters.clevel.min(9),
        use_dict: parameters.use_dict,
        typesize: parameters.typesize,
        blocksize: parameters.blocksize,
        split: Split::from_code(parameters.splitmode.into()).unwrap_or_default(),
        filters: parameters.filters,
        filters_meta: parameters.filters_meta,
        nthreads: threads,
    }
}
