//! The header of a frame, contiguous or sparse: sizes, parameters and fixed-length metalayers.
//!
//! See the contiguous frame format document, "Header". Positions below count from the start of the
//! frame.

mod fields;

use super::meta::{self, Metalayer};
use super::msgpack;
use fields::{Field, filter, flag};
use oxiblosc_base::memory::TryVec;
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::header::{MAX_FILTERS, filter_id};
use oxiblosc_chunk::parameters::Parameters;
use oxiblosc_chunk::rules::UDCODEC_FORMAT;

/// Bytes of a header without metalayers.
pub const MIN_LEN: usize = 87;
/// Bytes that are allocated for a header at first. Most headers fit.
const USUAL_LEN: usize = 256;
/// The most fixed-length metalayers.
pub const MAX_METALAYERS: usize = 16;
/// The highest version of the format that is known.
const MAX_VERSION: u8 = 3;
/// The version of frames that need nothing newer: their chunks have one size, and no blocks of
/// variable length.
const VERSION_REGULAR: u8 = 2;
/// Position of a byte that the format does not use. [`fingerprint`](crate::fingerprint) marks
/// headers with it.
pub const MARK: usize = fields::filter::UNUSED;
/// Position of the magic.
pub const MAGIC_POS: usize = fields::MAGIC.at;
const MAGIC: &[u8; 8] = b"b2frame\0";
/// The magic of a frame while it is appended to others.
const UNCOMMITTED_MAGIC: &[u8; 8] = b"b2framE\0";
/// Position of the byte in which the two magics differ, and its value in an uncommitted frame.
pub const UNCOMMITTED: (usize, u8) = (MAGIC_POS + 6, UNCOMMITTED_MAGIC[6]);

const OFFSETS_64BIT: u8 = 1 << 4;
const VARIABLE_CHUNKS: u8 = 1 << 6;
const VL_BLOCKS: u8 = 1 << 7;
const USE_DICT: u8 = 1;

/// Where the chunks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Behind the header.
    Contiguous,
    /// In files beside it.
    Sparse,
}

/// The fields of a header, except the sizes that depend on the layout of the frame: see [`Extent`].
#[cfg_attr(test, derive(Clone))]
#[derive(Debug, PartialEq, Eq)]
pub struct Header {
    /// Where the chunks are.
    pub kind: FrameKind,
    /// Uncompressed bytes of all chunks.
    pub nbytes: i64,
    /// Uncompressed bytes of each chunk but the last, which may be shorter; -1 if there is no chunk
    /// yet, 0 if they differ.
    pub chunksize: i32,
    /// How chunks are compressed.
    pub parameters: Parameters,
    /// Threads of the compression context.
    pub nthreads_c: i16,
    /// Threads of the decompression context.
    pub nthreads_d: i16,
    /// Whether the trailer holds metalayers.
    pub has_vlmetalayers: bool,
    /// Whether chunks consist of blocks of variable length.
    pub vlblocks: bool,
    /// The fixed-length metalayers.
    pub metalayers: TryVec<Metalayer>,
}

/// The sizes in a header that depend on the layout of the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Bytes of the header.
    pub header_len: u32,
    /// Bytes of the frame, from its header to the end of its trailer.
    pub frame_len: u64,
    /// In a contiguous frame, the bytes between header and index; in a sparse one, the bytes of all
    /// chunks.
    pub cbytes: u64,
}

impl Extent {
    /// Reads the sizes from the first bytes of a frame, and checks them against each other.
    ///
    /// # Errors
    /// [`Error::READ_BUFFER`] if `prefix` has fewer than [`MIN_LEN`] bytes;
    /// [`Error::INVALID_HEADER`].
    pub fn parse(prefix: &[u8]) -> Result<Self> {
        if prefix.len() < MIN_LEN {
            return Err(Error::READ_BUFFER);
        }
        let header_len = i32::from_be_bytes(fields::HEADER_LEN.get(prefix));
        let frame_len = i64::from_be_bytes(fields::FRAME_LEN.get(prefix));
        let cbytes = i64::from_be_bytes(fields::CBYTES.get(prefix));
        let header_len = u32::try_from(header_len).map_err(|_| Error::INVALID_HEADER)?;
        let extent = Self {
            header_len,
            frame_len: u64::try_from(frame_len).map_err(|_| Error::INVALID_HEADER)?,
            cbytes: u64::try_from(cbytes).map_err(|_| Error::INVALID_HEADER)?,
        };
        if (header_len as usize) < MIN_LEN || u64::from(header_len) > extent.frame_len {
            return Err(Error::INVALID_HEADER);
        }
        Ok(extent)
    }
}

impl Header {
    /// Whether bytes begin like a frame.
    pub fn has_magic(prefix: &[u8]) -> bool {
        Self::begins_with(prefix, MAGIC)
    }

    /// Whether bytes begin like a frame whose append to others was not committed.
    pub fn is_uncommitted(prefix: &[u8]) -> bool {
        Self::begins_with(prefix, UNCOMMITTED_MAGIC)
    }

    fn begins_with(prefix: &[u8], magic: &[u8; 8]) -> bool {
        prefix.get(MAGIC_POS..MAGIC_POS + magic.len()) == Some(magic)
    }

    /// Parses a header. `bytes` may be longer than the header.
    ///
    /// # Errors
    /// [`Error::READ_BUFFER`] if `bytes` are shorter than the header; [`Error::VERSION_SUPPORT`];
    /// [`Error::FRAME_TYPE`]; [`Error::INVALID_HEADER`]; those of [`meta::read`].
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let extent = Extent::parse(bytes)?;
        let bytes = bytes
            .get(..extent.header_len as usize)
            .ok_or(Error::READ_BUFFER)?;
        let flags = bytes[flag::GENERAL];
        if flags & 0x0f > MAX_VERSION {
            return Err(Error::VERSION_SUPPORT);
        }
        let kind = match bytes[flag::KIND] {
            0 => FrameKind::Contiguous,
            1 => FrameKind::Sparse,
            _ => return Err(Error::FRAME_TYPE),
        };
        let int32 = |field: Field| i32::from_be_bytes(field.get(bytes));
        let nfilters = usize::from(bytes[filter::COUNT]);
        if nfilters > MAX_FILTERS {
            return Err(Error::INVALID_HEADER);
        }
        let (mut filters, mut filters_meta) = ([filter_id::NONE; MAX_FILTERS], [0; MAX_FILTERS]);
        filters[..nfilters].copy_from_slice(&bytes[filter::IDS..][..nfilters]);
        filters_meta[..nfilters].copy_from_slice(&bytes[filter::METAS..][..nfilters]);
        let mut compcode = bytes[flag::CODECS] & 0x0f;
        if compcode == UDCODEC_FORMAT {
            compcode = bytes[filter::CODEC];
        }
        let header = Self {
            kind,
            nbytes: i64::from_be_bytes(fields::NBYTES.get(bytes)),
            chunksize: int32(fields::CHUNKSIZE),
            parameters: Parameters {
                typesize: int32(fields::TYPESIZE),
                blocksize: int32(fields::BLOCKSIZE),
                compcode,
                compcode_meta: bytes[filter::CODEC_META],
                clevel: bytes[flag::CODECS] >> 4,
                splitmode: (bytes[flag::SPLIT] & 3) + 1,
                use_dict: bytes[filter::FLAGS] & USE_DICT != 0,
                filters,
                filters_meta,
            },
            nthreads_c: i16::from_be_bytes(fields::NTHREADS_C.get(bytes)),
            nthreads_d: i16::from_be_bytes(fields::NTHREADS_D.get(bytes)),
            has_vlmetalayers: bytes[fields::HAS_VLMETALAYERS] == msgpack::TRUE,
            vlblocks: flags & VL_BLOCKS != 0,
            metalayers: meta::read(bytes, MIN_LEN, MAX_METALAYERS)?,
        };
        if header.parameters.typesize <= 0 || (header.nbytes > 0 && header.chunksize < 0) {
            return Err(Error::INVALID_HEADER);
        }
        Ok(header)
    }

    /// The number of chunks according to the sizes. None if only the index has it.
    pub fn nchunks(&self) -> Option<u64> {
        match (self.nbytes, self.chunksize) {
            (nbytes, _) if nbytes <= 0 => Some(0),
            (nbytes, size) if size > 0 => Some((nbytes as u64).div_ceil(size as u64)),
            _ => None,
        }
    }

    /// Whether an index or trailer with this error is passed over: in a frame without data the
    /// reference may leave either wrong. A lack of memory says nothing about them.
    pub fn tolerates(&self, error: Error) -> bool {
        self.nbytes <= 0 && error != Error::MEMORY_ALLOC
    }

    /// The header as bytes; [`set_extent`] fills in the sizes. `metalayers` are written instead of
    /// those in `self`, so that the caller need not copy them into it.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for more than [`MAX_METALAYERS`] or a header of 2 GiB; those of
    /// [`meta::write`].
    pub fn encode(&self, metalayers: &[meta::MetalayerRef]) -> Result<TryVec<u8>> {
        if metalayers.len() > MAX_METALAYERS {
            return Err(Error::INVALID_PARAM);
        }
        let parameters = &self.parameters;
        let mut h = TryVec::with_capacity(USUAL_LEN)?;
        h.resize(MIN_LEN, 0)?;
        h[0] = fields::ARRAY;
        fields::MAGIC.put(&mut h, MAGIC);
        let variable = self.chunksize == 0;
        let version = match variable || self.vlblocks {
            true => MAX_VERSION,
            false => VERSION_REGULAR,
        };
        let general = OFFSETS_64BIT
            | version
            | if variable { VARIABLE_CHUNKS } else { 0 }
            | if self.vlblocks { VL_BLOCKS } else { 0 };
        let kind = match self.kind {
            FrameKind::Contiguous => 0,
            FrameKind::Sparse => 1,
        };
        let format = if parameters.compcode > 5 {
            UDCODEC_FORMAT
        } else {
            parameters.compcode
        };
        let codecs = format.wrapping_add(parameters.clevel << 4);
        let split = parameters.splitmode.wrapping_sub(1);
        fields::FLAGS.put(&mut h, &[general, kind, codecs, split]);
        fields::NBYTES.put(&mut h, &self.nbytes.to_be_bytes());
        fields::TYPESIZE.put(&mut h, &parameters.typesize.to_be_bytes());
        fields::BLOCKSIZE.put(&mut h, &parameters.blocksize.to_be_bytes());
        fields::CHUNKSIZE.put(&mut h, &self.chunksize.to_be_bytes());
        fields::NTHREADS_C.put(&mut h, &self.nthreads_c.to_be_bytes());
        fields::NTHREADS_D.put(&mut h, &self.nthreads_d.to_be_bytes());
        h[fields::HAS_VLMETALAYERS] = match self.has_vlmetalayers {
            true => msgpack::TRUE,
            false => msgpack::FALSE,
        };
        fields::FILTERS.put(&mut h, &[0; fields::FILTERS.len]);
        h[filter::COUNT] = MAX_FILTERS as u8;
        h[filter::IDS..][..MAX_FILTERS].copy_from_slice(&parameters.filters);
        h[filter::METAS..][..MAX_FILTERS].copy_from_slice(&parameters.filters_meta);
        h[filter::CODEC] = parameters.compcode;
        h[filter::CODEC_META] = parameters.compcode_meta;
        h[filter::FLAGS] = if parameters.use_dict { USE_DICT } else { 0 };
        set_extent(&mut h, 0, 0);
        meta::write(metalayers, 0, &mut h)?;
        let len = i32::try_from(h.len()).map_err(|_| Error::INVALID_PARAM)?;
        fields::HEADER_LEN.put(&mut h, &len.to_be_bytes());
        Ok(h)
    }
}

/// Writes the length of the frame and the size that [`Extent::cbytes`] describes into a header from
/// [`Header::encode`].
pub fn set_extent(header: &mut [u8], frame_len: u64, cbytes: u64) {
    fields::FRAME_LEN.put(header, &frame_len.to_be_bytes());
    fields::CBYTES.put(header, &cbytes.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Header {
        Header {
            kind: FrameKind::Contiguous,
            nbytes: 1 << 40,
            chunksize: 1 << 20,
            parameters: Parameters {
                typesize: 300,
                blocksize: 0,
                compcode: 33,
                compcode_meta: 7,
                clevel: 9,
                splitmode: 4,
                use_dict: true,
                filters: [0, 1, 2, 3, 4, 35],
                filters_meta: [9, 8, 7, 6, 5, 4],
            },
            nthreads_c: 2,
            nthreads_d: 300,
            has_vlmetalayers: true,
            vlblocks: false,
            metalayers: vec![Metalayer {
                name: b"b2nd".to_vec().into(),
                content: vec![1, 2, 3].into(),
            }]
            .into(),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let header = example();
        let mut bytes = header
            .encode(&meta::borrow(&header.metalayers).unwrap())
            .unwrap();
        set_extent(&mut bytes, 12345, 678);
        assert_eq!(Header::parse(&bytes), Ok(header));
        assert_eq!(
            Extent::parse(&bytes),
            Ok(Extent {
                header_len: bytes.len() as u32,
                frame_len: 12345,
                cbytes: 678
            })
        );
        assert!(Header::has_magic(&bytes) && !Header::is_uncommitted(&bytes));
        bytes[UNCOMMITTED.0] = UNCOMMITTED.1;
        assert!(!Header::has_magic(&bytes) && Header::is_uncommitted(&bytes));
    }

    #[test]
    fn lying_sizes_are_refused() {
        let header = example();
        let mut good = header.encode(&[]).unwrap();
        set_extent(&mut good, 12345, 678);
        let with = |at: usize, field: &[u8]| {
            let mut bytes = good.clone();
            bytes[at..at + field.len()].copy_from_slice(field);
            Header::parse(&bytes).map(|_| ())
        };
        assert_eq!(
            with(fields::HEADER_LEN.at, &[0xff; 4]),
            Err(Error::INVALID_HEADER)
        );
        assert_eq!(
            with(fields::HEADER_LEN.at, &[0; 4]),
            Err(Error::INVALID_HEADER)
        );
        assert_eq!(
            with(fields::HEADER_LEN.at, &[0, 0, 1, 0]),
            Err(Error::READ_BUFFER)
        );
        assert_eq!(
            with(fields::FRAME_LEN.at, &[0xff; 8]),
            Err(Error::INVALID_HEADER)
        );
        assert_eq!(
            with(fields::FRAME_LEN.at, &[0; 8]),
            Err(Error::INVALID_HEADER)
        );
        assert_eq!(
            with(fields::CBYTES.at, &[0xff; 8]),
            Err(Error::INVALID_HEADER)
        );
        assert_eq!(
            with(fields::TYPESIZE.at, &[0; 4]),
            Err(Error::INVALID_HEADER)
        );
        assert_eq!(
            with(fields::CHUNKSIZE.at, &[0xff; 4]),
            Err(Error::INVALID_HEADER)
        );
        assert_eq!(with(filter::COUNT, &[7]), Err(Error::INVALID_HEADER));
        assert_eq!(with(flag::GENERAL, &[0x14]), Err(Error::VERSION_SUPPORT));
        assert_eq!(with(flag::KIND, &[2]), Err(Error::FRAME_TYPE));
    }
}
