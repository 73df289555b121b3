//! How contexts compress data. The contexts of the C library have, besides what those of Rust
//! programs have, callbacks and tuners of the program.

use crate::exec::Pool;
use crate::params::EncodeRequest;
use oxiblosc_base::memory::TryVec;
use oxiblosc_base::{Context, Doing, Error, Result};
use oxiblosc_chunk::encode::{self, ChunkInput, EncodeParams};
use oxiblosc_chunk::header::{
    ChunkHeader, EXTENDED_HEADER_LENGTH, MAX_BUFFERSIZE, MAX_OVERHEAD, Special,
};
use oxiblosc_chunk::hooks::{Executor, Hooks};
use oxiblosc_chunk::patch::RecompressParams;
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

/// A context that compresses.
///
/// The provided methods compress the chunks of a super-chunk.
pub trait EncodeContext: Sync {
    /// The parameters for a chunk of `nbytes` bytes of data.
    fn request(&self, nbytes: i32) -> EncodeRequest;

    /// The program's functions, for a chunk whose data are in the buffer `source`, or made block by
    /// block if that is none.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    fn hooks<'h>(&'h self, source: Option<&'h [u8]>) -> Result<Box<dyn Hooks + 'h>>;

    /// Records the data and the destination of the next chunk in the context, where functions of
    /// the program look for them: `nbytes` bytes of data, which are in `source` if they are in a
    /// buffer, and a destination of `capacity` bytes.
    ///
    /// # Errors
    /// Those of invalid parameters.
    fn describe(
        &self,
        _source: Option<&[u8]>,
        _nbytes: i32,
        _dest: Option<&mut [u8]>,
        _capacity: usize,
    ) -> Result<()> {
        Ok(())
    }

    /// Lets the program's tuner set parameters of the context. Gives whether there is such a tuner;
    /// otherwise the built-in one chooses the size of a block.
    ///
    /// # Errors
    /// Those of the tuner.
    fn tune(&self) -> Result<bool> {
        Ok(false)
    }

    /// Records the size of a block in bytes: what the built-in tuner chose, or the size of the
    /// largest variable-length block. Later chunks may use it, too.
    fn set_tuned_blocksize(&self, _blocksize: i32) {}

    /// Records the parameters of the next chunk, which have been checked.
    fn set_checked(&self, _request: &EncodeRequest) {}

    /// Whether [`Self::finished`] needs to know how long a chunk took.
    fn is_timed(&self) -> bool {
        false
    }

    /// Tells the program's tuner the size of the chunk in bytes and, if [`Self::is_timed`], how
    /// many seconds it took.
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

    /// The version of the codec's format, and whether chunks are instrumented: they have
    /// measurements in place of the data.
    fn codec(&self) -> (u8, bool) {
        (1, false)
    }

    /// Sets the size of a block in bytes, for chunks that are compressed from now on.
    fn set_blocksize(&self, blocksize: usize);

    /// How many threads work on a chunk.
    fn nthreads(&self) -> usize;

    /// Runs them.
    fn executor(&self) -> &dyn Executor {
        &Pool
    }

    /// The threads that work on a chunk.
    fn workers(&self) -> Workers<'_> {
        Workers {
            nthreads: self.nthreads(),
            exec: self.executor(),
        }
    }

    /// Compresses data into the front of `dest`. Gives the header of the chunk, or none if it does
    /// not fit. With `checksums`, the chunk gets checksums if `dest` has
    /// [room](oxiblosc_chunk::checksum::extra_len) for them.
    ///
    /// # Errors
    /// Those of invalid parameters, and of functions that the program registered.
    fn compress(
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

    /// The checked parameters for a chunk of `nbytes` bytes of data. `in_buffer` says whether the
    /// data are in a buffer. None if every chunk has to go through [`Self::compress`]; see
    /// [`Self::sees_chunks`].
    ///
    /// # Errors
    /// Those of invalid parameters.
    fn params(&self, nbytes: usize, in_buffer: bool) -> Result<Option<EncodeParams>> {
        if self.sees_chunks() {
            return Ok(None);
        }
        let capacity = nbytes + MAX_OVERHEAD;
        // `prepare` asks only whether there is a buffer; nothing reads it.
        let source = in_buffer.then_some(&[][..]);
        let mut request = request_for(self, nbytes)?;
        prepare(self, &mut request, source, None, capacity)?;
        Ok(Some(encode_params(self, &request, Format::Blosc2)))
    }

    /// The parameters that apply when blocks of an existing chunk are compressed again.
    fn recompress_params(&self) -> RecompressParams {
        let request = self.request(0);
        RecompressParams {
            compcode: request.compcode as u8,
            clevel: request.clevel as u8,
            nthreads: self.nthreads(),
        }
    }
}

/// The parameters for a chunk of `nbytes` bytes of data, for [`prepare`].
///
/// # Errors
/// [`Error::MAX_BUFSIZE_EXCEEDED`].
fn request_for(ctx: &(impl EncodeContext + ?Sized), nbytes: usize) -> Result<EncodeRequest> {
    let nbytes = i32::try_from(nbytes).map_err(|_| Error::MAX_BUFSIZE_EXCEEDED)?;
    Ok(ctx.request(nbytes))
}

/// Describes a chunk to a context, runs its tuner, and checks all parameters. The request is
/// changed in place, because copying a struct whose fields were just written one by one stalls
/// until the stores are done.
fn prepare(
    ctx: &(impl EncodeContext + ?Sized),
    request: &mut EncodeRequest,
    source: Option<&[u8]>,
    dest: Option<&mut [u8]>,
    capacity: usize,
) -> Result<()> {
    let nbytes = request.nbytes;
    if request.typesize <= 0 {
        return Err(Error::INVALID_PARAM);
    }
    ctx.describe(source, nbytes, dest, capacity)?;
    let tuned = ctx.tune()?;
    if tuned {
        *request = ctx.request(nbytes);
    }
    // The program's tuner may have left the choice of the size to the built-in one.
    if !tuned || request.blocksize <= 0 {
        request.blocksize = request.tuned_blocksize();
        ctx.set_tuned_blocksize(request.blocksize);
    }
    request.check(capacity, source.is_some())?;
    ctx.set_checked(request);
    Ok(())
}

/// The checked parameters of the chunk that was prepared, and the number of threads.
fn encode_params(
    ctx: &(impl EncodeContext + ?Sized),
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

/// Compresses data into the front of `dest`, which has `capacity` bytes. Gives the header of the
/// chunk, or none if it does not fit.
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
    let buffer = match source {
        ChunkInput::Buffer(data) => Some(data),
        _ => None,
    };
    let place = dest.as_deref_mut().ok();
    let mut request = request_for(ctx, source.nbytes()).doing(Doing::CheckParameters)?;
    prepare(ctx, &mut request, buffer, place, capacity).doing(Doing::CheckParameters)?;
    let started = ctx.is_timed().then(Instant::now);
    let params = encode_params(ctx, &request, format);
    let hooks = ctx.hooks(buffer)?;
    let header = encode::compress(&params, source, dest?, &*hooks, ctx.executor());
    let header = header.doing(Doing::Compress)?;
    let cbytes = header.map_or(0, |header| header.cbytes);
    ctx.finished(cbytes, started.map(|start| start.elapsed().as_secs_f64()))?;
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
    let (mut all, mut total, mut largest) = (TryVec::new(), 0, 0);
    all.reserve_exact(blocks.size_hint().0)?;
    for block in blocks {
        let block = block?;
        total += block.len();
        if total > MAX_BUFFERSIZE as usize {
            return Err(Error::MAX_BUFSIZE_EXCEEDED);
        }
        largest = largest.max(block.len());
        all.push(block)?;
    }
    let blocksize = ctx.request(0).blocksize;
    ctx.set_tuned_blocksize(largest as i32);
    let source = ChunkInput::Variable(&all);
    let compressed = compress(ctx, source, dest(), capacity, Format::Blosc2);
    ctx.set_tuned_blocksize(blocksize);
    compressed
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
    let mut request = request_for(ctx, nbytes)?;
    prepare(ctx, &mut request, None, dest.as_deref_mut().ok(), capacity)?;
    let chunk = SpecialChunk {
        special: kind,
        nbytes,
        blocksize: request.blocksize as usize,
        typesize: request.typesize as usize,
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
    use crate::context::SchunkInfo;
    use crate::params::CParams;
    use oxiblosc_base::memory::boxed;
    use std::sync::Mutex;

    /// A context whose tuner chooses a size of blocks, and which records what it is told.
    struct Tuned {
        params: CParams,
        /// The size that the tuner chooses; none without a tuner.
        blocksize: Option<i32>,
        reported: Mutex<Vec<String>>,
    }

    impl Tuned {
        fn new(blocksize: Option<i32>) -> Self {
            Self {
                params: CParams::default(),
                blocksize,
                reported: Mutex::default(),
            }
        }

        fn tell(&self, what: String) {
            self.reported
                .lock()
                .expect("no test panics in it")
                .push(what);
        }
    }

    impl EncodeContext for Tuned {
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

        fn hooks<'h>(&'h self, _source: Option<&'h [u8]>) -> Result<Box<dyn Hooks + 'h>> {
            Ok(boxed(SchunkInfo::default())?)
        }

        fn describe(
            &self,
            source: Option<&[u8]>,
            nbytes: i32,
            dest: Option<&mut [u8]>,
            capacity: usize,
        ) -> Result<()> {
            let (source, dest) = (source.is_some(), dest.is_some());
            self.tell(format!("{nbytes} {source} to {capacity} {dest}"));
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

    fn reported(ctx: &Tuned) -> Vec<String> {
        std::mem::take(&mut *ctx.reported.lock().expect("no test panics in it"))
    }

    #[test]
    fn the_tuner_of_the_program_comes_before_the_built_in_one() {
        let (data, mut dest) = ([7; 4000], [0; 5000]);
        let source = ChunkInput::Buffer(&data);
        for (own, chosen) in [(Some(800), 800), (None, 4000), (Some(0), 4000)] {
            let ctx = Tuned::new(own);
            let header = compress(&ctx, source, Ok(&mut dest), 5000, Format::Blosc2);
            let header = header.expect("compresses").expect("a chunk");
            assert_eq!((header.nbytes, header.blocksize_field()), (4000, chosen));
            let mut all = vec!["4000 true to 5000 true".to_owned()];
            if chosen == 4000 {
                all.push("blocks of 4000".into());
            }
            all.push(format!("true {}", own.is_some()));
            assert_eq!(reported(&ctx), all);
        }
    }

    #[test]
    fn what_is_wrong_with_the_place_is_said_last() {
        let mut ctx = Tuned::new(None);
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
        ctx.params.typesize = 0;
        assert_eq!(
            compress(&ctx, source, nowhere(), 200, format),
            Err(Error::INVALID_PARAM)
        );
    }

    #[test]
    fn blocks_of_their_own_lengths_are_counted() {
        let ctx = Tuned::new(None);
        let mut dest = [0; 300];
        let blocks = [&b"one"[..], b"three", b"eleven"];
        let header = compress_vlblocks(&ctx, blocks.into_iter().map(Ok), || Ok(&mut dest), 300);
        let header = header.expect("compresses").expect("a chunk");
        assert_eq!((header.nblocks, header.nbytes), (3, 14));
        assert_eq!(
            reported(&ctx).first().map(|reported| &**reported),
            Some("blocks of 6")
        );
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
        let cbytes = make_special(&Tuned::new(None), special, 800, Ok(&mut dest), 40);
        assert_eq!(cbytes, Ok(40));
        let header = ChunkHeader::parse(&dest).expect("a chunk");
        assert_eq!((header.special(), header.nbytes), (Special::Value, 800));
        assert_eq!(dest[32..], [1, 2, 3, 4, 5, 6, 7, 8]);
        let ctx = Tuned::new(None);
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
