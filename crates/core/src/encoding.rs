//! What is done with data by contexts that compress: those of Rust programs, and those of the C library, which has callbacks and tuners of
//! the program's besides.

use crate::coder::SchunkEncoder;
use crate::exec::Pool;
use crate::params::EncodeRequest;
use oxiblosc_chunk::encode::{self, ChunkInput, EncodeParams};
use oxiblosc_chunk::header::{EXTENDED_HEADER_LENGTH, MAX_BUFFERSIZE, MAX_OVERHEAD, Special};
use oxiblosc_chunk::hooks::{Executor, Hooks};
use oxiblosc_chunk::patch::RecompressParams;
use oxiblosc_chunk::special::SpecialChunk;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::List;
use std::time::Instant;

/// Of what kind a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A header of 16 bytes.
    Blosc1,
    /// A header of 32 bytes.
    Blosc2,
    /// The same, and checksums if they fit.
    WithChecksums,
}

/// A context that compresses.
pub trait EncodeContext: Sync {
    /// The program's functions, for one chunk.
    type Hooks<'h>: Hooks
    where
        Self: 'h;

    /// The parameters for a chunk of `nbytes` bytes of data.
    fn request(&self, nbytes: i32) -> EncodeRequest;

    /// The functions for data that are in a buffer, or made block by block.
    fn functions<'h>(&'h self, source: Option<&'h [u8]>) -> Self::Hooks<'h>;

    /// Tells functions that look into the context how many bytes of data come next, the buffer that they are in, and where the chunk goes:
    /// to a place of `room` bytes.
    ///
    /// # Errors
    /// Those of parameters that no chunk can have.
    fn describe(
        &self,
        _source: Option<&[u8]>,
        _nbytes: i32,
        _dest: Option<&mut [u8]>,
        _room: usize,
    ) -> Result<()> {
        Ok(())
    }

    /// Lets the program's tuner set parameters of the context. Gives whether it has one; else the built-in tuner chooses the size of a
    /// block.
    ///
    /// # Errors
    /// Those of the tuner.
    fn tune(&self) -> Result<bool> {
        Ok(false)
    }

    /// Takes the size of a block that the built-in tuner chose, or that variable-length blocks have at the most; chunks to come may have it,
    /// too.
    fn set_tuned_blocksize(&self, _blocksize: i32) {}

    /// Takes the parameters of the chunk that comes next, which were checked.
    fn set_checked(&self, _request: &EncodeRequest) {}

    /// Whether the program's tuner is told how long a chunk took.
    fn is_timed(&self) -> bool {
        false
    }

    /// Takes the size of the chunk that was made and, if [`Self::is_timed`], how many seconds it took.
    ///
    /// # Errors
    /// Those of the tuner.
    fn finished(&self, _cbytes: usize, _seconds: Option<f64>) -> Result<()> {
        Ok(())
    }

    /// Whether the program's functions must be called for every chunk.
    fn sees_chunks(&self) -> bool {
        false
    }

    /// The version of the codec's format, and whether measurements are made in place of chunks.
    fn codec(&self) -> (u8, bool) {
        (1, false)
    }

    /// Sets the block size of chunks that are compressed from now on.
    fn set_blocksize(&self, blocksize: usize);

    /// How many threads work on a chunk.
    fn nthreads(&self) -> usize;
}

/// The parameters for a chunk of `nbytes` bytes of data, for [`prepare`].
///
/// # Errors
/// [`Error::MaxBufsizeExceeded`].
fn request_for(ctx: &impl EncodeContext, nbytes: usize) -> Result<EncodeRequest> {
    let nbytes = i32::try_from(nbytes).map_err(|_| Error::MaxBufsizeExceeded)?;
    Ok(ctx.request(nbytes))
}

/// Describes a chunk to a context, lets its tuner work, and checks all parameters. The request is changed in place, as a copy of what was just
/// written field by field would wait for the stores.
fn prepare(
    ctx: &impl EncodeContext,
    request: &mut EncodeRequest,
    source: Option<&[u8]>,
    dest: Option<&mut [u8]>,
    room: usize,
) -> Result<()> {
    let nbytes = request.nbytes;
    if request.typesize <= 0 {
        return Err(Error::InvalidParam);
    }
    ctx.describe(source, nbytes, dest, room)?;
    let tuned = ctx.tune()?;
    if tuned {
        *request = ctx.request(nbytes);
    }
    // Without a size there are no blocks.
    if !tuned || request.blocksize <= 0 {
        request.blocksize = request.tuned_blocksize();
        ctx.set_tuned_blocksize(request.blocksize);
    }
    request.check(room, source.is_some())?;
    ctx.set_checked(request);
    Ok(())
}

/// All that decides the bytes of the chunk that was prepared.
fn encode_params(
    ctx: &impl EncodeContext,
    request: &EncodeRequest,
    format: Format,
) -> EncodeParams {
    let mut params = request.encode_params();
    (params.versionlz, params.instrumented) = ctx.codec();
    params.extended = format != Format::Blosc1;
    params.checksums = format == Format::WithChecksums;
    params.nthreads = ctx.nthreads();
    params
}

/// Compresses data into the front of `dest`, which has `room` bytes; what is wrong with it is said after what is wrong with the parameters.
/// Gives the size of the chunk, or 0 if it does not fit.
///
/// # Errors
/// Those of impossible parameters, of `dest`, and of the program's functions.
pub fn compress(
    ctx: &impl EncodeContext,
    source: ChunkInput,
    mut dest: Result<&mut [u8]>,
    room: usize,
    format: Format,
) -> Result<usize> {
    let buffer = match source {
        ChunkInput::Buffer(data) => Some(data),
        _ => None,
    };
    let place = dest.as_deref_mut().ok();
    let mut request = request_for(ctx, source.nbytes())?;
    prepare(ctx, &mut request, buffer, place, room)?;
    let started = ctx.is_timed().then(Instant::now);
    let params = encode_params(ctx, &request, format);
    let cbytes = encode::compress(&params, source, dest?, &ctx.functions(buffer), &Pool)?;
    ctx.finished(cbytes, started.map(|start| start.elapsed().as_secs_f64()))?;
    Ok(cbytes)
}

/// Compresses buffers into one chunk, in which each is a block; `dest` comes after them. Gives the size of the chunk, or 0 if it does not
/// fit.
///
/// # Errors
/// Those of `blocks`; [`Error::MaxBufsizeExceeded`] where they are too many bytes; [`Error::MemoryAlloc`]; as for [`compress`].
pub fn compress_vlblocks<'b, 'd>(
    ctx: &impl EncodeContext,
    blocks: impl Iterator<Item = Result<&'b [u8]>>,
    dest: impl FnOnce() -> Result<&'d mut [u8]>,
    room: usize,
) -> Result<usize> {
    let (mut all, mut total, mut largest) = (List::new(), 0, 0);
    all.reserve_exact(blocks.size_hint().0)?;
    for block in blocks {
        let block = block?;
        total += block.len();
        if total > MAX_BUFFERSIZE as usize {
            return Err(Error::MaxBufsizeExceeded);
        }
        largest = largest.max(block.len());
        all.push(block)?;
    }
    let blocksize = ctx.request(0).blocksize;
    ctx.set_tuned_blocksize(largest as i32);
    let source = ChunkInput::Variable(&all);
    let compressed = compress(ctx, source, dest(), room, Format::Blosc2);
    ctx.set_tuned_blocksize(blocksize);
    compressed
}

/// Whether a chunk of special values can be made: `nbytes` bytes of items of `typesize`, with a stored item of `value` bytes, in a place of
/// `room` bytes.
///
/// # Errors
/// [`Error::Data`] for too small a place, and for no whole number of items; [`Error::InvalidParam`] for impossible sizes.
pub fn check_special(typesize: i32, nbytes: i32, value: usize, room: usize) -> Result<()> {
    if room < EXTENDED_HEADER_LENGTH + value {
        return Err(Error::Data);
    }
    if typesize <= 0 || nbytes < 0 {
        return Err(Error::InvalidParam);
    }
    match nbytes % typesize {
        0 => Ok(()),
        _ => Err(Error::Data),
    }
}

/// Makes a chunk of special values with the block size that the parameters lead to; `value` is the stored item, if there is one. Sizes were
/// [checked](check_special). Gives the size of the chunk.
///
/// # Errors
/// As for [`compress`].
pub fn make_special(
    ctx: &impl EncodeContext,
    (kind, value): (Special, &[u8]),
    nbytes: usize,
    mut dest: Result<&mut [u8]>,
    room: usize,
) -> Result<usize> {
    let mut request = request_for(ctx, nbytes)?;
    prepare(ctx, &mut request, None, dest.as_deref_mut().ok(), room)?;
    let chunk = SpecialChunk {
        special: kind,
        nbytes,
        blocksize: request.blocksize as usize,
        typesize: request.typesize as usize,
        value,
    };
    let dest = dest?.get_mut(..EXTENDED_HEADER_LENGTH + value.len());
    Ok(chunk.write(dest.ok_or(Error::Data)?))
}

impl<C: EncodeContext> SchunkEncoder for C {
    fn compress(&self, source: ChunkInput, dest: &mut [u8], checksums: bool) -> Result<usize> {
        let room = dest.len();
        let format = match checksums {
            true => Format::WithChecksums,
            false => Format::Blosc2,
        };
        compress(self, source, Ok(dest), room, format)
    }

    fn sees_chunks(&self) -> bool {
        EncodeContext::sees_chunks(self)
    }

    fn params(&self, nbytes: usize, in_buffer: bool) -> Result<Option<EncodeParams>> {
        if EncodeContext::sees_chunks(self) {
            return Ok(None);
        }
        let room = nbytes + MAX_OVERHEAD;
        // Nothing looks at what is there, but only whether something is.
        let source = in_buffer.then_some(&[][..]);
        let mut request = request_for(self, nbytes)?;
        prepare(self, &mut request, source, None, room)?;
        Ok(Some(encode_params(self, &request, Format::Blosc2)))
    }

    fn recompress_params(&self) -> RecompressParams {
        let request = self.request(0);
        RecompressParams {
            compcode: request.compcode as u8,
            clevel: request.clevel as u8,
            nthreads: EncodeContext::nthreads(self),
        }
    }

    fn hooks<'h>(&'h self, source: Option<&'h [u8]>) -> Result<Box<dyn Hooks + 'h>> {
        Ok(oxiblosc_memory::boxed(self.functions(source))?)
    }

    fn set_blocksize(&self, blocksize: usize) {
        EncodeContext::set_blocksize(self, blocksize);
    }

    fn nthreads(&self) -> usize {
        EncodeContext::nthreads(self)
    }

    fn executor(&self) -> &dyn Executor {
        &Pool
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::SchunkInfo;
    use crate::params::CParams;
    use oxiblosc_chunk::header::ChunkHeader;
    use std::sync::Mutex;

    /// A context whose tuner chooses a size of blocks, and which writes down what it is told.
    struct Tuned {
        params: CParams,
        /// What the tuner chooses; none for no tuner.
        blocksize: Option<i32>,
        told: Mutex<Vec<String>>,
    }

    impl Tuned {
        fn new(blocksize: Option<i32>) -> Self {
            Self {
                params: CParams::default(),
                blocksize,
                told: Mutex::default(),
            }
        }

        fn tell(&self, what: String) {
            self.told.lock().expect("no test panics in it").push(what);
        }
    }

    impl EncodeContext for Tuned {
        type Hooks<'h> = SchunkInfo;

        fn request(&self, nbytes: i32) -> EncodeRequest {
            let request = self.params.request(nbytes);
            match self.blocksize {
                Some(blocksize) => EncodeRequest {
                    blocksize,
                    ..request
                },
                None => request,
            }
        }

        fn functions(&self, _source: Option<&[u8]>) -> SchunkInfo {
            SchunkInfo::default()
        }

        fn describe(
            &self,
            source: Option<&[u8]>,
            nbytes: i32,
            dest: Option<&mut [u8]>,
            room: usize,
        ) -> Result<()> {
            let (source, dest) = (source.is_some(), dest.is_some());
            self.tell(format!("{nbytes} {source} to {room} {dest}"));
            Ok(())
        }

        fn tune(&self) -> Result<bool> {
            Ok(self.blocksize.is_some())
        }

        fn set_tuned_blocksize(&self, blocksize: i32) {
            self.tell(format!("blocks of {blocksize}"));
        }

        fn is_timed(&self) -> bool {
            self.blocksize.is_some()
        }

        fn finished(&self, cbytes: usize, seconds: Option<f64>) -> Result<()> {
            self.tell(format!("{} {}", cbytes > 0, seconds.is_some()));
            Ok(())
        }

        fn set_blocksize(&self, _blocksize: usize) {}

        fn nthreads(&self) -> usize {
            1
        }
    }

    fn told(ctx: &Tuned) -> Vec<String> {
        std::mem::take(&mut *ctx.told.lock().expect("no test panics in it"))
    }

    #[test]
    fn the_tuner_of_the_program_comes_before_the_built_in_one() {
        let (data, mut dest) = ([7; 4000], [0; 5000]);
        let source = ChunkInput::Buffer(&data);
        for (own, chosen) in [(Some(800), 800), (None, 4000), (Some(0), 4000)] {
            let ctx = Tuned::new(own);
            let cbytes = compress(&ctx, source, Ok(&mut dest), 5000, Format::Blosc2);
            let header = ChunkHeader::parse(&dest[..cbytes.expect("compresses")]).expect("a chunk");
            assert_eq!((header.nbytes, header.blocksize_field()), (4000, chosen));
            let mut all = vec!["4000 true to 5000 true".to_owned()];
            if chosen == 4000 {
                all.push("blocks of 4000".into());
            }
            all.push(format!("true {}", own.is_some()));
            assert_eq!(told(&ctx), all);
        }
    }

    #[test]
    fn what_is_wrong_with_the_place_is_said_last() {
        let mut ctx = Tuned::new(None);
        let source = ChunkInput::Generated(100);
        let nowhere = || Err(Error::NullPointer);
        let format = Format::Blosc2;
        assert_eq!(
            compress(&ctx, source, nowhere(), 31, format),
            Err(Error::MaxBufsizeExceeded)
        );
        assert_eq!(
            compress(&ctx, source, nowhere(), 200, format),
            Err(Error::NullPointer)
        );
        ctx.params.typesize = 0;
        assert_eq!(
            compress(&ctx, source, nowhere(), 200, format),
            Err(Error::InvalidParam)
        );
    }

    #[test]
    fn blocks_of_their_own_lengths_are_counted() {
        let ctx = Tuned::new(None);
        let mut dest = [0; 300];
        let blocks = [&b"one"[..], b"three", b"eleven"];
        let cbytes = compress_vlblocks(&ctx, blocks.into_iter().map(Ok), || Ok(&mut dest), 300);
        let header = ChunkHeader::parse(&dest[..cbytes.expect("compresses")]).expect("a chunk");
        assert_eq!((header.nblocks, header.nbytes), (3, 14));
        assert_eq!(told(&ctx).first().map(|told| &**told), Some("blocks of 6"));
        let broken = [Ok(blocks[0]), Err(Error::NullPointer)];
        let nowhere = || Err(Error::Failure);
        let failed = compress_vlblocks(&ctx, broken.into_iter(), nowhere, 300);
        assert_eq!(failed, Err(Error::NullPointer));
    }

    #[test]
    fn special_chunks_are_whole_items_in_enough_room() {
        assert_eq!(check_special(4, 400, 4, 36), Ok(()));
        assert_eq!(check_special(4, 400, 4, 35), Err(Error::Data));
        assert_eq!(check_special(4, 402, 0, 36), Err(Error::Data));
        assert_eq!(check_special(0, 400, 0, 36), Err(Error::InvalidParam));
        assert_eq!(check_special(4, -4, 0, 36), Err(Error::InvalidParam));
        let mut dest = [0; 40];
        let special = (Special::Value, &[1, 2, 3, 4, 5, 6, 7, 8][..]);
        let cbytes = make_special(&Tuned::new(None), special, 800, Ok(&mut dest), 40);
        assert_eq!(cbytes, Ok(40));
        let header = ChunkHeader::parse(&dest).expect("a chunk");
        assert_eq!((header.special(), header.nbytes), (Special::Value, 800));
        assert_eq!(dest[32..], [1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
