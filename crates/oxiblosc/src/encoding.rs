//! How contexts compress data. The contexts of the C library have, besides what those of Rust
//! programs have, callbacks and tuners of the program.

use crate::exec::Pool;
use oxiblosc_base::memory::TryVec;
use oxiblosc_base::memory::env::info;
use oxiblosc_base::{Context, Doing, Error, Result};
use oxiblosc_chunk::encode::{self, ChunkInput, EncodeParams};
use oxiblosc_chunk::header::{
    ChunkHeader, EXTENDED_HEADER_LENGTH, MAX_BUFFERSIZE, MAX_OVERHEAD, Special,
};
use oxiblosc_chunk::hooks::Hooks;
use oxiblosc_chunk::parameters::Parameters;
use oxiblosc_chunk::special::SpecialChunk;
use oxiblosc_chunk::workers::Workers;
use std::time::Instant;

/// The format of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A header of 16 bytes.
    Blosc1,
    /// A header of 32 bytes.
    Blosc2,
    /// A header of 32 bytes, and checksums if they fit into the destination.
    WithChecksums,
}

/// A chunk that is about to be compressed.
pub struct EncodeRequest<'s, 'd> {
    /// Bytes of its data.
    pub nbytes: i32,
    /// The data, if they are in one buffer.
    pub source: Option<&'s [u8]>,
    /// Bytes of the largest block, if blocks have their own sizes.
    pub largest_block: Option<i32>,
    /// Where the chunk goes; none if that is not known yet.
    pub dest: Option<&'d mut [u8]>,
    /// Bytes of the destination.
    pub capacity: usize,
}

impl<'s, 'd> EncodeRequest<'s, 'd> {
    fn new(nbytes: usize, dest: Option<&'d mut [u8]>, capacity: usize) -> Result<Self> {
        Ok(Self {
            nbytes: i32::try_from(nbytes).map_err(|_| Error::MAX_BUFSIZE_EXCEEDED)?,
            source: None,
            largest_block: None,
            dest,
            capacity,
        })
    }

    /// The parameters of the chunk, for one thread, once the size of a block has been chosen.
    ///
    /// # Errors
    /// Those of [`Parameters::check`].
    pub fn check(&self, parameters: &Parameters) -> Result<EncodeParams> {
        parameters.check(self.nbytes, self.capacity, self.source.is_some())
    }

    /// Has the built-in tuner choose the size of a block, unless the parameters have one.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for items without bytes.
    pub fn choose_blocksize(&self, parameters: &mut Parameters) -> Result<()> {
        if parameters.typesize <= 0 {
            return Err(Error::INVALID_PARAM);
        }
        if let Some(largest) = self.largest_block {
            parameters.blocksize = largest;
        }
        parameters.blocksize = parameters.tuned_blocksize(self.nbytes);
        let chosen = *parameters;
        info(std::fmt::from_fn(|f| {
            let split = i32::from(chosen.split(self.nbytes));
            write!(
                f,
                "compcode: {}, clevel: {}, blocksize: {}, splitmode: {split}, typesize: {}",
                chosen.compcode, chosen.clevel, chosen.blocksize, chosen.typesize
            )
        }));
        Ok(())
    }
}

/// How a chunk is compressed.
pub struct EncodePlan<'h> {
    /// The checked parameters.
    pub params: EncodeParams,
    /// The program's functions.
    pub hooks: Box<dyn Hooks + 'h>,
    /// When it was begun, if the program's tuner is to be told how long it took.
    pub started: Option<Instant>,
}

/// A context that compresses.
pub trait EncodeContext: Sync {
    /// The parameters of new chunks.
    fn parameters(&self) -> Parameters;

    /// Begins a chunk: records it in the context, where functions of the program look for it, lets
    /// the program's tuner set parameters, and checks them.
    ///
    /// # Errors
    /// Those of invalid parameters, and of the tuner; [`Error::MEMORY_ALLOC`].
    fn begin<'h>(&'h self, request: EncodeRequest<'h, '_>) -> Result<EncodePlan<'h>>;

    /// Records the size of the chunk in bytes, and tells the program's tuner how many seconds it
    /// took, if it [wants](EncodePlan::started) to know.
    ///
    /// # Errors
    /// Those of the tuner.
    fn finish(&self, _cbytes: usize, _seconds: Option<f64>) -> Result<()> {
        Ok(())
    }

    /// Whether the program's functions must be called for every chunk.
    fn sees_chunks(&self) -> bool {
        false
    }

    /// The program's functions for blocks of `chunk`, which are changed. Its codec and filters,
    /// those in its header, may be others than those of new chunks.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    fn hooks<'h>(&'h self, header: &ChunkHeader, chunk: &'h [u8]) -> Result<Box<dyn Hooks + 'h>>;

    /// Sets the size of a block in bytes, for chunks that are compressed from now on.
    fn set_blocksize(&self, blocksize: usize);

    /// How many threads work on a chunk.
    fn nthreads(&self) -> usize;
}

impl dyn EncodeContext + '_ {
    /// [`compress`] for the chunk of a super-chunk.
    ///
    /// # Errors
    /// As for that.
    pub fn compress(
        &self,
        source: ChunkInput,
        dest: &mut [u8],
        checksums: bool,
    ) -> Result<Option<ChunkHeader>> {
        let capacity = dest.len();
        let format = match checksums {
            true => Format::WithChecksums,
            false => Format::Blosc2,
        };
        compress(self, source, Ok(dest), capacity, format)
    }

    /// The threads that work on a chunk.
    pub fn workers(&self) -> Workers<'static> {
        Workers {
            nthreads: self.nthreads(),
            exec: &Pool,
        }
    }

    /// How chunks of `nbytes` bytes of data are compressed. `in_buffer` says whether the data are
    /// in a buffer. None if every chunk has to be [begun](EncodeContext::begin) itself, as a
    /// function of the program sees each.
    ///
    /// # Errors
    /// As for [`EncodeContext::begin`].
    pub fn plan(&self, nbytes: usize, in_buffer: bool) -> Result<Option<EncodePlan<'_>>> {
        if self.sees_chunks() {
            return Ok(None);
        }
        self.begin(EncodeRequest {
            // What begins chunks asks only whether there is a buffer; nothing reads it.
            source: in_buffer.then_some(&[][..]),
            ..EncodeRequest::new(nbytes, None, nbytes + MAX_OVERHEAD)?
        })
        .map(Some)
    }
}

/// Compresses data into the front of `dest`, which has `capacity` bytes. Gives the header of the
/// chunk, or none if it does not fit. The chunk gets checksums, if they are wanted, where `dest`
/// has [room](oxiblosc_chunk::checksum::extra_len) for them.
///
/// # Errors
/// Those of invalid parameters, of the program's functions, and the error in `dest`, which is given
/// only if the parameters are valid: so the reference does it.
pub fn compress(
    ctx: &(impl EncodeContext + ?Sized),
    source: ChunkInput,
    mut dest: Result<&mut [u8]>,
    capacity: usize,
    format: Format,
) -> Result<Option<ChunkHeader>> {
    let wanted = dest.as_deref_mut().ok();
    let mut request =
        EncodeRequest::new(source.nbytes(), wanted, capacity).doing(Doing::CheckParameters)?;
    match source {
        ChunkInput::Buffer(data) => request.source = Some(data),
        ChunkInput::Generated(_) => {}
        ChunkInput::Variable(blocks) => {
            let largest = blocks.iter().map(|block| block.len()).max();
            request.largest_block = largest.map(|largest| largest as i32);
        }
    }
    let mut plan = ctx.begin(request).doing(Doing::CheckParameters)?;
    plan.params.extended = format != Format::Blosc1;
    plan.params.checksums = format == Format::WithChecksums;
    let header = encode::compress(&plan.params, source, dest?, &*plan.hooks, &Pool);
    let header = header.doing(Doing::Compress)?;
    let cbytes = header.map_or(0, |header| header.cbytes);
    let seconds = plan.started.map(|started| started.elapsed().as_secs_f64());
    ctx.finish(cbytes, seconds)?;
    Ok(header)
}

/// Compresses buffers into one chunk, in which each is a block. `dest` is called once the blocks
/// have been checked. Gives the header of the chunk, or none if it does not fit.
///
/// # Errors
/// Those in `blocks`; [`Error::MAX_BUFSIZE_EXCEEDED`] if they have too many bytes in all;
/// [`Error::MEMORY_ALLOC`]; as for [`compress`].
pub fn compress_vlblocks<'b, 'd>(
    ctx: &(impl EncodeContext + ?Sized),
    blocks: impl Iterator<Item = Result<&'b [u8]>>,
    dest: impl FnOnce() -> Result<&'d mut [u8]>,
    capacity: usize,
) -> Result<Option<ChunkHeader>> {
    let (mut all, mut total) = (TryVec::new(), 0);
    all.reserve_exact(blocks.size_hint().0)?;
    for block in blocks {
        let block = block?;
        total += block.len();
        if total > MAX_BUFFERSIZE as usize {
            return Err(Error::MAX_BUFSIZE_EXCEEDED);
        }
        all.push(block)?;
    }
    let source = ChunkInput::Variable(&all);
    compress(ctx, source, dest(), capacity, Format::Blosc2)
}

/// Checks the sizes of a chunk of special values, all in bytes: an item, the data, the stored item
/// (0 for none), and the destination.
///
/// # Errors
/// [`Error::DATA`] if the destination is too small or `nbytes` is no multiple of `typesize`;
/// [`Error::INVALID_PARAM`] if the typesize is not positive or `nbytes` is negative.
pub fn check_special(typesize: i32, nbytes: i32, value: usize, capacity: usize) -> Result<()> {
    if capacity < EXTENDED_HEADER_LENGTH + value {
        return Err(Error::DATA);
    }
    if typesize <= 0 || nbytes < 0 {
        return Err(Error::INVALID_PARAM);
    }
    match nbytes % typesize {
        0 => Ok(()),
        _ => Err(Error::DATA),
    }
}

/// Makes a chunk of special values, with the block size that other chunks of so many bytes would
/// get. `value` is the stored item, empty for none. Sizes must have been [checked](check_special).
/// Gives the size of the chunk in bytes.
///
/// # Errors
/// As for [`compress`].
pub fn make_special(
    ctx: &(impl EncodeContext + ?Sized),
    (kind, value): (Special, &[u8]),
    nbytes: usize,
    mut dest: Result<&mut [u8]>,
    capacity: usize,
) -> Result<usize> {
    let request = EncodeRequest::new(nbytes, dest.as_deref_mut().ok(), capacity)?;
    let params = ctx.begin(request)?.params;
    let chunk = SpecialChunk {
        special: kind,
        nbytes,
        blocksize: params.blocksize,
        typesize: params.typesize,
        value,
    };
    let dest = dest?.get_mut(..EXTENDED_HEADER_LENGTH + value.len());
    Ok(chunk.write(dest.ok_or(Error::DATA)?))
}

/// A chunk of special values of `typesize` bytes, which has room for itself alone; otherwise as
/// [`make_special`], after [`check_special`].
///
/// # Errors
/// As for these; [`Error::MEMORY_ALLOC`].
pub fn special_chunk(
    ctx: &(impl EncodeContext + ?Sized),
    typesize: i32,
    (kind, value): (Special, &[u8]),
    nbytes: i32,
) -> Result<TryVec<u8>> {
    let capacity = EXTENDED_HEADER_LENGTH + value.len();
    check_special(typesize, nbytes, value.len(), capacity)?;
    let mut chunk = TryVec::filled(0, capacity)?;
    make_special(
        ctx,
        (kind, value),
        nbytes as usize,
        Ok(&mut chunk),
        capacity,
    )?;
    Ok(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Compressor;
    use crate::params::CParams;

    fn context(typesize: i32) -> Compressor {
        Compressor::new(CParams {
            typesize,
            ..CParams::default()
        })
    }

    #[test]
    fn the_size_of_blocks_is_chosen_where_the_parameters_have_none() {
        let request = |largest_block| EncodeRequest {
            largest_block,
            ..EncodeRequest::new(4000, None, 5000).expect("no more than an `i32`")
        };
        for (blocksize, largest, chosen) in [
            (800, None, 800),
            (803, None, 800),
            (0, None, 4000),
            (-1, None, 4000),
            (800, Some(600), 600),
        ] {
            let parameters = Parameters {
                blocksize,
                ..Parameters::DEFAULT
            };
            let mut parameters = parameters;
            assert_eq!(request(largest).choose_blocksize(&mut parameters), Ok(()));
            assert_eq!(parameters.blocksize, chosen);
        }
        let mut without_bytes = Parameters {
            typesize: 0,
            ..Parameters::DEFAULT
        };
        let refused = request(None).choose_blocksize(&mut without_bytes);
        assert_eq!(refused, Err(Error::INVALID_PARAM));
    }

    #[test]
    fn what_is_wrong_with_the_place_is_said_last() {
        let ctx = context(8);
        let source = ChunkInput::Generated(100);
        let nowhere = || Err(Error::NULL_POINTER);
        let format = Format::Blosc2;
        assert_eq!(
            compress(&ctx, source, nowhere(), 31, format),
            Err(Error::MAX_BUFSIZE_EXCEEDED)
        );
        assert_eq!(
            compress(&ctx, source, nowhere(), 200, format),
            Err(Error::NULL_POINTER)
        );
        assert_eq!(
            compress(&context(0), source, nowhere(), 200, format),
            Err(Error::INVALID_PARAM)
        );
    }

    #[test]
    fn blocks_of_their_own_lengths_are_counted() {
        let ctx = context(1);
        let mut dest = [0; 300];
        let blocks = [&b"one"[..], b"three", b"eleven"];
        let header = compress_vlblocks(&ctx, blocks.into_iter().map(Ok), || Ok(&mut dest), 300);
        let header = header.expect("compresses").expect("a chunk");
        assert_eq!((header.nblocks, header.nbytes), (3, 14));
        let broken = [Ok(blocks[0]), Err(Error::NULL_POINTER)];
        let nowhere = || Err(Error::FAILURE);
        let failed = compress_vlblocks(&ctx, broken.into_iter(), nowhere, 300);
        assert_eq!(failed, Err(Error::NULL_POINTER));
    }

    #[test]
    fn special_chunks_are_whole_items_in_enough_room() {
        assert_eq!(check_special(4, 400, 4, 36), Ok(()));
        assert_eq!(check_special(4, 400, 4, 35), Err(Error::DATA));
        assert_eq!(check_special(4, 402, 0, 36), Err(Error::DATA));
        assert_eq!(check_special(0, 400, 0, 36), Err(Error::INVALID_PARAM));
        assert_eq!(check_special(4, -4, 0, 36), Err(Error::INVALID_PARAM));
        let mut dest = [0; 40];
        let special = (Special::Value, &[1, 2, 3, 4, 5, 6, 7, 8][..]);
        let cbytes = make_special(&context(8), special, 800, Ok(&mut dest), 40);
        assert_eq!(cbytes, Ok(40));
        let header = ChunkHeader::parse(&dest).expect("a chunk");
        assert_eq!((header.special(), header.nbytes), (Special::Value, 800));
        assert_eq!(dest[32..], [1, 2, 3, 4, 5, 6, 7, 8]);
        let ctx = context(8);
        assert_eq!(
            special_chunk(&ctx, 8, special, 800).as_deref(),
            Ok(&dest[..])
        );
        assert_eq!(
            special_chunk(&ctx, 7, special, 800).err(),
            Some(Error::DATA)
        );
    }
}
