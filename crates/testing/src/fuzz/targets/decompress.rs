//! Whole chunks. One thread and two threads agree, and no byte of the result comes from the memory
//! it was put in.

use super::super::calls::{Decompression, c_len, decompress};
use super::{Case, LARGEST, MANY_BLOCKS};
use blosc2::capi::global::{blosc1_decompress, blosc2_decompress};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::add_checksums;
use oxiblosc_chunk::decode;
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_chunk::hooks::NoHooks;
use oxiblosc_chunk::source::BlockSource;
use oxiblosc_chunk::workers::Workers;

/// Options, then a chunk.
pub fn run(data: &[u8]) {
    let case = Case::read(data);
    let (chunk, nbytes) = (&*case.chunk, case.nbytes());
    let [choice, size, ..] = case.numbers;
    let destsize = match choice % 4 {
        0 => nbytes + usize::from(size),
        1 => usize::from(size) << (choice >> 5),
        _ => nbytes,
    };
    let destsize = destsize.min(LARGEST);
    let mut one = vec![0x00; destsize].into_boxed_slice();
    let mut two = vec![0xff; destsize].into_boxed_slice();
    let code = decompress(Decompression::on(1), None, chunk, &mut one);
    let again = decompress(Decompression::on(2), None, chunk, &mut two);
    assert_eq!(code < 0, again < 0, "1 thread: {code}, 2 threads: {again}");
    if code >= 0 {
        assert_eq!((code, again), (c_len(nbytes), c_len(nbytes)));
        assert!(two[nbytes..].iter().all(|byte| *byte == 0xff), "too much");
        if case.writes_all() {
            assert!(one[..nbytes] == two[..nbytes], "bytes from elsewhere");
        }
    }
    without_context(&case, code, &one);
    if case.postfilter() {
        let how = Decompression {
            nthreads: 2,
            postfilter: true,
        };
        two.fill(0x00);
        let filtered = decompress(how, None, chunk, &mut two);
        assert_eq!(
            code < 0,
            filtered < 0,
            "{code}, with a postfilter {filtered}"
        );
        assert!(code < 0 || !case.writes_all() || one == two);
    }
    masked(&case, code, &one);
    fetched(&case);
}

/// Bytes that the library fetches.
struct Fetched<'a>(&'a [u8]);

impl BlockSource for Fetched<'_> {
    fn read_at(&self, pos: usize, buf: &mut [u8]) -> Result<()> {
        let bytes = self.0.get(pos..pos + buf.len()).ok_or(Error::FILE_READ)?;
        buf.copy_from_slice(bytes);
        Ok(())
    }
}

/// A chunk whose blocks are fetched gives what the same chunk gives in memory, or an error where
/// that does.
fn fetched(case: &Case) {
    let whole = |header: &ChunkHeader| header.cbytes <= case.chunk.len();
    let Some(header) = case.header.filter(whole) else {
        return;
    };
    if header.nbytes > LARGEST || header.nblocks > MANY_BLOCKS {
        return;
    }
    let bytes = &case.chunk[..header.cbytes];
    let run = |chunk: Result<Chunk>| -> Result<Box<[u8]>> {
        let mut dest = vec![0x33; header.nbytes].into_boxed_slice();
        decode::decompress(&chunk?, &mut dest, None, &NoHooks, Workers::ALONE)?;
        Ok(dest)
    };
    let in_memory = run(Chunk::loaded(&header, bytes));
    with_checksums(bytes, &in_memory);
    let source = Fetched(bytes);
    let prefix = &bytes[..Chunk::prefix_wanted(&header)];
    let elsewhere = run(Chunk::lazy(&header, prefix, &source));
    assert_eq!(in_memory.is_ok(), elsewhere.is_ok(), "blocks elsewhere");
    assert!(in_memory.is_err() || in_memory == elsewhere);
    let Ok(chunk) = Chunk::lazy(&header, prefix, &source) else {
        return;
    };
    let [a, b, ..] = case.numbers;
    let nblock = usize::from(u16::from_le_bytes([a, b])) % (header.nblocks + 1);
    let Ok(size) = chunk.block_nbytes(nblock) else {
        return;
    };
    let mut block = vec![0x33; size].into_boxed_slice();
    let result = decode::decompress_block(&chunk, nblock, &mut block, &NoHooks);
    if let (Ok(data), Ok(()), Some(blocksize)) = (in_memory, result, case.blocksize()) {
        assert!(data[nblock * blocksize..][..size] == *block, "one block");
    }
}

/// A chunk that gets checksums gives what it gave without, and one that has some loses nothing by
/// being looked at.
fn with_checksums(bytes: &[u8], data: &Result<Box<[u8]>>) {
    let Ok(Some(checked)) = add_checksums::add(bytes) else {
        return;
    };
    let header = ChunkHeader::parse(&checked).expect("a chunk of our own");
    let chunk = Chunk::parse(&header, &checked);
    let Ok(chunk) = chunk else {
        assert!(data.is_err(), "{header:?}");
        return;
    };
    assert_eq!(chunk.check_checksums(), Ok(true), "{header:?}");
    let mut dest = vec![0x33; header.nbytes].into_boxed_slice();
    let again = decode::decompress(&chunk, &mut dest, None, &NoHooks, Workers::ALONE);
    assert!(data.is_err() || again.is_ok(), "{data:?} {again:?}");
    assert!(data.is_err() || *data == Ok(dest));
}

/// `blosc2_decompress`, and `blosc1_decompress` where the chunk is whole, as its caller promises.
fn without_context(case: &Case, code: i32, data: &[u8]) {
    let chunk = &*case.chunk;
    let mut dest = vec![0x00; data.len()].into_boxed_slice();
    let (src, to) = (chunk.as_ptr().cast(), dest.as_mut_ptr().cast());
    // SAFETY: the buffers have the sizes given.
    let global = unsafe { blosc2_decompress(src, c_len(chunk.len()), to, c_len(dest.len())) };
    assert_eq!(code < 0, global < 0, "{code}, without context {global}");
    assert!(code < 0 || *dest == *data);
    if case
        .header
        .is_some_and(|header| header.cbytes <= chunk.len())
    {
        dest.fill(0x00);
        // SAFETY: the chunk is as long as its header says, the destination has the size given.
        let blosc1 = unsafe { blosc1_decompress(src, dest.as_mut_ptr().cast(), dest.len()) };
        assert_eq!(code < 0, blosc1 < 0, "{code}, as Blosc 1 {blosc1}");
        assert!(code < 0 || *dest == *data);
    }
}

/// Blocks that are left out keep what was there; the others are what they are without a mask.
fn masked(case: &Case, code: i32, data: &[u8]) {
    let Some(mask) = case.mask(case.header.map_or(0, |header| header.nblocks)) else {
        return;
    };
    let mut dest = vec![0x55; data.len()].into_boxed_slice();
    let rc = decompress(Decompression::on(2), Some(&mask), &case.chunk, &mut dest);
    if code < 0 {
        return;
    }
    assert_eq!(rc, code, "with a mask");
    if let Some(blocksize) = case.blocksize().filter(|_| case.writes_all()) {
        let nbytes = case.nbytes();
        let blocks = dest[..nbytes].chunks(blocksize);
        for ((got, want), masked) in blocks.zip(data[..nbytes].chunks(blocksize)).zip(&mask) {
            match masked {
                true => assert!(got.iter().all(|byte| *byte == 0x55), "a masked block"),
                false => assert!(got == want, "a block that was not masked"),
            }
        }
    }
}
