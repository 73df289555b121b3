//! Lazy chunks: what `blosc2_schunk_get_lazychunk` gives for a chunk on disk. A lazy chunk is its header and block starts,
//! and a trailer that says where in the frame the rest is; the blocks are fetched through the super-chunk of the
//! context that reads it.

use super::context::Context;
use super::schunk::handle::Handle;
use oxiblosc_chunk::decode::Chunk;
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_chunk::source::BlockSource;
use oxiblosc_core::schunk::lazy::{is_lazy, place, table_len};
use oxiblosc_error::{Error, Result};

/// Where the blocks of a lazy chunk come from; none if its super-chunk cannot tell.
///
/// # Errors
/// [`Error::ReadBuffer`] when `lazy` is cut short, [`Error::InvalidParam`] when the context has no super-chunk.
fn source(
    ctx: &Context,
    header: &ChunkHeader,
    lazy: &[u8],
) -> Result<Option<Box<dyn BlockSource>>> {
    if lazy.len() < header.overhead() + table_len(header) {
        return Err(Error::ReadBuffer);
    }
    // SAFETY: a super-chunk outlives the contexts that were made for it.
    let schunk = unsafe { Handle::from_c(ctx.schunk.get()) };
    let schunk = schunk.map_err(|_| Error::InvalidParam)?.core();
    schunk.lazy_source(place(header, lazy)?)
}

/// The source of a chunk that is lazy.
pub type Kept<'s> = Option<Box<dyn BlockSource + 's>>;

/// Checks a chunk that may be lazy; it goes to `place`, the source of one that is to `kept`.
#[inline(always)]
pub fn parse<'a, 'c, 's>(
    ctx: &'s Context,
    (header, src): (&'a ChunkHeader, &'a [u8]),
    kept: &'a mut Kept<'s>,
    place: &'c mut Option<Chunk<'a>>,
) -> Result<&'c Chunk<'a>> {
    if is_lazy(header) {
        Ok(place.insert(parse_lazy(ctx, header, src, kept)?))
    } else {
        Chunk::parse_into(place, header, src)
    }
}

/// Checks a chunk that is lazy.
#[cold]
fn parse_lazy<'a, 's>(
    ctx: &'s Context,
    header: &'a ChunkHeader,
    src: &'a [u8],
    kept: &'a mut Kept<'s>,
) -> Result<Chunk<'a>> {
    *kept = source(ctx, header, src)?;
    let source = kept.as_deref().ok_or(Error::InvalidParam)?;
    let front = src.get(..Chunk::front_len(header));
    Chunk::lazy_copy(header, front.ok_or(Error::ReadBuffer)?, source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxiblosc_core::schunk::lazy::{LazyTrailer, size};

    #[test]
    fn the_trailer_follows_the_block_starts() {
        let mut lazy = vec![0u8; 32];
        lazy[..4].copy_from_slice(&[5, 1, 5, 8]);
        for (at, size) in [(4, 4000i32), (8, 1600), (12, 500)] {
            lazy[at..at + 4].copy_from_slice(&size.to_le_bytes());
        }
        lazy[31] = 8;
        lazy.extend([44, 100, 200i32].map(i32::to_le_bytes).concat());
        lazy.extend(7i32.to_le_bytes());
        lazy.extend((5i64 << 32 | 0xffff_fff0).to_le_bytes());
        lazy.extend([56, 100, 300i32].map(i32::to_le_bytes).concat());
        let header = ChunkHeader::parse(&lazy).unwrap();
        assert_eq!((is_lazy(&header), size(&header)), (true, lazy.len()));
        assert_eq!(
            place(&header, &lazy),
            Ok(LazyTrailer {
                nchunk: 7,
                offset: 5 << 32 | 0xffff_fff0
            })
        );
        let short = &lazy[..lazy.len() - 1];
        assert_eq!(place(&header, short), Err(Error::ReadBuffer));
        let ctx = Context::zeroed();
        let (mut kept, mut place) = (None, None);
        let parsed = parse(&ctx, (&header, &lazy), &mut kept, &mut place).map(|_| ());
        assert_eq!(parsed, Err(Error::InvalidParam));
    }
}
