//! Writing 1,000 float64 items into a chunk of 1 MB: changing the blocks they are in, against
//! decompressing the chunk, changing the data and compressing them again, by this library and by
//! the reference library.
//!
//! `OXIBLOSC_REFERENCE=.../libblosc2.so.9 cargo bench --bench patch`

use libloading::Symbol;
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::decode::decompress;
use oxiblosc_chunk::encode::{ChunkInput, EncodeParams, compress};
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_chunk::hooks::{NoHooks, Serial};
use oxiblosc_chunk::parameters::Parameters;
use oxiblosc_chunk::patch::{PatchMode, Patcher};
use oxiblosc_chunk::workers::Workers;
use std::ffi::{CString, c_char};
use std::time::Instant;

/// The size of the chunk's data.
const NBYTES: usize = 1 << 20;
/// The number of bytes that are written.
const SLICE: usize = 8000;
/// The number of rounds of each side. The fastest counts.
const ROUNDS: usize = 15;

/// The functions of the reference library without a context, if the library is available.
struct Reference(libloading::Library);

impl Reference {
    fn open() -> Option<Self> {
        let path = std::env::var_os("OXIBLOSC_REFERENCE")?;
        // SAFETY: loading the reference library runs its initialisers, which have no preconditions.
        let library = unsafe { libloading::Library::new(path) };
        Some(Self(library.expect("the reference library loads")))
    }

    /// Sets the codec and the size of a block.
    fn set(&self, name: &str, blocksize: usize) {
        let name = CString::new(name).expect("a name");
        // SAFETY: the signatures are those of the C header.
        unsafe {
            let compressor: Symbol<unsafe extern "C" fn(*const c_char) -> i32> =
                self.0.get(b"blosc1_set_compressor").expect("function");
            let size: Symbol<unsafe extern "C" fn(usize)> =
                self.0.get(b"blosc1_set_blocksize").expect("function");
            assert!(compressor(name.as_ptr()) >= 0);
            size(blocksize);
        }
    }

    /// Decompresses into `all`, changes it, and compresses into `out`.
    fn rewrite(
        &self,
        clevel: i32,
        chunk: &[u8],
        all: &mut [u8],
        start: usize,
        new: &[u8],
        out: &mut [u8],
    ) {
        type Compress = unsafe extern "C" fn(i32, i32, i32, *const u8, i32, *mut u8, i32) -> i32;
        type Decompress = unsafe extern "C" fn(*const u8, i32, *mut u8, i32) -> i32;
        // SAFETY: the signatures are those of the C header, the sizes those of the buffers.
        let (decompressed, compressed) = unsafe {
            let decompress: Symbol<Decompress> =
                self.0.get(b"blosc2_decompress").expect("function");
            let compress: Symbol<Compress> = self.0.get(b"blosc2_compress").expect("function");
            let nbytes = all.len() as i32;
            let decompressed =
                decompress(chunk.as_ptr(), chunk.len() as i32, all.as_mut_ptr(), nbytes);
            all[start..start + new.len()].copy_from_slice(new);
            let compressed = compress(
                clevel,
                1,
                8,
                all.as_ptr(),
                nbytes,
                out.as_mut_ptr(),
                out.len() as i32,
            );
            (decompressed, compressed)
        };
        assert!(decompressed == all.len() as i32 && compressed > 0);
    }
}

/// What is written into chunks: each kind of data, by name.
fn kinds() -> [(&'static str, Vec<u8>); 3] {
    let of = |value: fn(f64) -> f64| -> Vec<u8> {
        let items = (0..NBYTES / 8).map(|i| value(i as f64));
        items.flat_map(f64::to_le_bytes).collect()
    };
    [
        ("sine", of(|i| (i / 1000.0).sin())),
        ("count", of(|i| i)),
        (
            "prices",
            of(|i| (1e6 + (i / 100.0).sin() * 1e3).round() / 100.0),
        ),
    ]
}

/// The parameters of a codec whose blocks have `wanted` bytes, or as many as the tuner chooses if
/// that is 0.
fn params(compcode: i32, clevel: i32, wanted: i32) -> EncodeParams {
    let parameters = Parameters {
        compcode: compcode as u8,
        clevel: clevel as u8,
        blocksize: wanted,
        ..Parameters::DEFAULT
    };
    Parameters {
        blocksize: parameters.tuned_blocksize(NBYTES as i32),
        ..parameters
    }
    .check(NBYTES as i32, NBYTES + 32, true)
    .expect("valid parameters")
}

/// The seconds of `work`, if they are fewer than `least`.
fn faster(least: &mut f64, work: impl FnOnce()) {
    let begun = Instant::now();
    work();
    *least = least.min(begun.elapsed().as_secs_f64());
}

/// The seconds that writing a slice takes: with all of the chunk compressed again, by this library
/// and by `reference`, and with a patch.
fn measure(
    params: &EncodeParams,
    data: &[u8],
    reference: Option<impl Fn(&[u8], &mut [u8], usize, &[u8], &mut [u8])>,
) -> [f64; 3] {
    let encode = |data: &[u8], chunk: &mut [u8]| {
        let source = ChunkInput::Buffer(data);
        let header = compress(params, source, chunk, &NoHooks, &Serial);
        header.expect("good parameters").expect("it fits").cbytes
    };
    let mut chunk = vec![0; NBYTES + 32];
    let cbytes = encode(data, &mut chunk);
    chunk.truncate(cbytes);
    let header = ChunkHeader::parse(&chunk).expect("a chunk");
    let (mut whole, mut patch, mut theirs) = (f64::MAX, f64::MAX, f64::NAN);
    let mut all = vec![0; NBYTES];
    let mut out = vec![0; NBYTES + 32];
    for round in 0..ROUNDS {
        let start = (round * 77_777) % (NBYTES - SLICE) / 8 * 8;
        let new = &data[NBYTES - SLICE - start..][..SLICE];
        let mut parsed = None;
        faster(&mut whole, || {
            let parsed = parsed.insert(Chunk::parse(&header, &chunk).expect("a chunk"));
            decompress(parsed, &mut all, None, &NoHooks, Workers::ALONE).expect("a chunk");
            all[start..start + SLICE].copy_from_slice(new);
            encode(&all, &mut out);
        });
        if let Some(rewrite) = &reference {
            faster(&mut theirs, || {
                rewrite(&chunk, &mut all, start, new, &mut out)
            });
        }
        let parsed = parsed.expect("just made");
        faster(&mut patch, || {
            let patcher = Patcher {
                chunk: &parsed,
                compcode: params.compcode,
                clevel: params.clevel,
                decoding: &NoHooks,
                encoding: &NoHooks,
                workers: Workers::ALONE,
            };
            let patched = patcher
                .range(start, new, PatchMode::Edits)
                .expect("a chunk")
                .expect("one that can be patched");
            assert!(!patched.whole(&parsed).expect("memory").is_empty());
        });
    }
    [whole, theirs, patch]
}

fn main() {
    let kinds = kinds();
    let reference = Reference::open();
    println!(
        "{:<8} {:<8} {:>8} {:>10} {:>13} {:>10} {:>7} {:>12}",
        "codec", "data", "block", "whole us", "reference us", "patch us", "whole", "reference"
    );
    for (compcode, name, clevel) in [
        (0, "blosclz", 5),
        (1, "lz4", 5),
        (2, "lz4hc", 5),
        (4, "zlib", 5),
        (5, "zstd", 5),
    ] {
        for wanted in [0, 64 << 10] {
            let params = params(compcode, clevel, wanted);
            if let Some(reference) = &reference {
                reference.set(name, wanted as usize);
            }
            for (kind, data) in &kinds {
                let rewrite = reference.as_ref().map(|reference| {
                    |chunk: &[u8], all: &mut [u8], start, new: &[u8], out: &mut [u8]| {
                        reference.rewrite(clevel, chunk, all, start, new, out);
                    }
                });
                let [whole, theirs, patch] = measure(&params, data, rewrite);
                println!(
                    "{name:<8} {kind:<8} {:>8} {:>10.1} {:>13.1} {:>10.1} {:>7.2} {:>12.2}",
                    params.blocksize,
                    whole * 1e6,
                    theirs * 1e6,
                    patch * 1e6,
                    whole / patch,
                    theirs / patch
                );
            }
        }
    }
}
