#![no_main]
//! The library of Blosc 1. The first byte says whether the input is a chunk, or data to compress
//! and to get back, or a recipe for them.

use blosc::compress::blosc_compress_ctx;
use blosc::decompress::{blosc_decompress_ctx, blosc_getitem};
use blosc::header::blosc_cbuffer_validate;
use oxiblosc_testing::fuzz::numbers::Input;
use oxiblosc_testing::fuzz::recipe;
use std::ffi::{CStr, c_int};

/// Bytes in front of the chunk or the data.
const OPTIONS: usize = 8;
/// The largest data that a chunk may claim to hold; more would make runs slow.
const LARGEST: usize = 1 << 20;
const COMPRESSORS: [&CStr; 6] = [c"blosclz", c"lz4", c"lz4hc", c"snappy", c"zlib", c"zstd"];

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Some((options, rest)) = input.split_first_chunk() {
        match options[0] & 1 {
            0 => read(options, rest.into()),
            _ if options[0] & 4 != 0 => write(options, &recipe::make(&mut Input(rest))),
            _ => write(options, rest),
        }
    }
});

/// Reads a chunk that cannot be trusted, as programs are told to: its size is asked for first.
fn read(options: &[u8; OPTIONS], mut chunk: Box<[u8]>) {
    if options[0] & 2 != 0 && chunk.len() >= 16 {
        // Its sizes are small, and its own is right.
        (chunk[6], chunk[7]) = (chunk[6] & 0xf, 0);
        let cbytes = (chunk.len() as i32).to_le_bytes();
        chunk[12..16].copy_from_slice(&cbytes);
    }
    let (from, mut nbytes) = (chunk.as_ptr().cast(), 0);
    // SAFETY: the chunk has as many bytes as its header says, which is asked first; the buffers
    // have their sizes.
    unsafe {
        if blosc_cbuffer_validate(from, chunk.len(), &mut nbytes) != 0 {
            return;
        }
        let mut data = vec![0u8; nbytes.min(LARGEST)].into_boxed_slice();
        let mut other = vec![0xffu8; data.len()].into_boxed_slice();
        let whole = blosc_decompress_ctx(from, data.as_mut_ptr().cast(), data.len(), 1);
        assert!(whole <= data.len() as c_int);
        let nthreads = c_int::from(options[1] % 3);
        let code = blosc_decompress_ctx(from, other.as_mut_ptr().cast(), other.len(), nthreads);
        let decoded = usize::try_from(whole).unwrap_or(0);
        // No threads are an error.
        if nthreads > 0 {
            assert!(code.max(-1) == whole.max(-1) && other[..decoded] == data[..decoded]);
        }
        let [start, nitems] =
            [2, 4].map(|at| c_int::from(i16::from_le_bytes([options[at], options[at + 1]])));
        let capacity = usize::try_from(nitems).unwrap_or(0) * usize::from(chunk[3]);
        let mut items = vec![0u8; capacity].into_boxed_slice();
        let code = blosc_getitem(from, start, nitems, items.as_mut_ptr().cast());
        assert!(code < 0 || code as usize == capacity);
        if code > 0 && decoded > 0 {
            let at = start as usize * usize::from(chunk[3]);
            assert!(data[..decoded].get(at..at + capacity) == Some(&*items));
        }
    }
}

/// Compresses data into as little room as there may be; what comes out has to be them again.
fn write(options: &[u8; OPTIONS], data: &[u8]) {
    let compressor = COMPRESSORS[usize::from(options[1]) % COMPRESSORS.len()];
    let capacity = data.len() * usize::from(options[2]) / 100 + usize::from(options[3]);
    let blocksize = usize::from(u16::from_le_bytes([options[6], options[7]]));
    let (clevel, shuffle) = (
        c_int::from(options[5] % 10),
        c_int::from(options[5] / 10 % 3),
    );
    let mut chunk = vec![0u8; capacity].into_boxed_slice();
    let mut back = vec![0u8; data.len()].into_boxed_slice();
    // SAFETY: the buffers have these sizes.
    unsafe {
        let cbytes = blosc_compress_ctx(
            clevel,
            shuffle,
            options[4].into(),
            data.len(),
            data.as_ptr().cast(),
            chunk.as_mut_ptr().cast(),
            capacity,
            compressor.as_ptr(),
            blocksize,
            1,
        );
        assert!(cbytes >= 0 && cbytes as usize <= capacity);
        if cbytes > 0 {
            let nbytes = blosc_decompress_ctx(
                chunk.as_ptr().cast(),
                back.as_mut_ptr().cast(),
                back.len(),
                1,
            );
            assert!(nbytes as usize == data.len() && *back == *data);
        }
    }
}
