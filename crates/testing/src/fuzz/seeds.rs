//! Chunks to begin with: every codec, filter, kind of special value, header and way to cut the
//! data.

use super::calls::{compress, vlcompress};
use super::numbers::Random;
use super::user;
use blosc2::capi::special::*;
use blosc2::capi::types::blosc2_cparams;
use oxiblosc_chunk::add_checksums;
use oxiblosc_chunk::encode::{ChunkInput, EncodeParams, compress as compress_chunk};
use oxiblosc_chunk::header::{MAX_OVERHEAD, flags2};
use oxiblosc_chunk::hooks::{NoHooks, Serial};
use oxiblosc_chunk::rules::Rules;

/// The codecs that there are.
const CODECS: [u8; 6] = [0, 1, 2, 4, 5, user::CODEC];

/// A chunk that decompresses.
pub struct Seed {
    /// What kind it is of, fit for a file's name.
    pub name: String,
    /// The chunk.
    pub chunk: Vec<u8>,
}

/// Data that compress well but not too well: integers that climb, with noise in some, and a few
/// runs.
pub fn data(len: usize, salt: u64) -> Box<[u8]> {
    let mut random = Random(salt);
    let mut value = random.bits() as u32;
    let mut data = Vec::with_capacity(len + 64);
    while data.len() < len {
        match random.below(8) {
            0 => data.extend([value as u8; 40]),
            1 => data.extend(random.bits().to_le_bytes()),
            _ => {
                value = value.wrapping_add(random.below(7) as u32);
                data.extend(value.to_le_bytes());
            }
        }
    }
    data.truncate(len);
    data.into()
}

fn params(compcode: u8, typesize: i32, blocksize: i32, filters: &[u8]) -> blosc2_cparams {
    let mut cparams = blosc2_cparams::defaults();
    (cparams.compcode, cparams.typesize, cparams.blocksize) = (compcode, typesize, blocksize);
    cparams.filters = [0; 6];
    cparams.filters[6 - filters.len()..].copy_from_slice(filters);
    cparams
}

fn finish(code: i32, mut dest: Vec<u8>) -> Vec<u8> {
    assert!(code > 0, "a seed that does not compress: {code}");
    dest.truncate(code as usize);
    dest
}

fn chunk(cparams: blosc2_cparams, data: &[u8]) -> Vec<u8> {
    let mut dest = vec![0; data.len() + MAX_OVERHEAD + if cparams.instr_codec { 4096 } else { 0 }];
    finish(
        compress(cparams, data, &mut dest).expect("good parameters"),
        dest,
    )
}

/// All seeds, the same at every call.
pub fn all() -> Vec<Seed> {
    user::register();
    let mut seeds = Vec::new();
    let mut add = |name: String, chunk: Vec<u8>| seeds.push(Seed { name, chunk });
    for (i, codec) in CODECS.into_iter().enumerate() {
        let salt = i as u64;
        let pipelines: [(&str, &[u8]); 8] = [
            ("plain", &[]),
            ("shuffle", &[1]),
            ("bitshuffle", &[2]),
            ("delta", &[3]),
            ("delta-shuffle", &[3, 1]),
            ("trunc", &[4, 1]),
            ("user", &[user::FILTER, 2]),
            ("six", &[3, 2, 1, user::FILTER, 1, 2]),
        ];
        for (name, filters) in pipelines {
            let data = data(5003, salt);
            // Precision can be taken from floats only.
            let lossy = name == "trunc";
            let typesize = if lossy { 4 } else { [4, 8, 3, 16][i % 4] };
            let mut cparams = params(codec, typesize, 1024, filters);
            cparams.splitmode = 1 + (i as i32 & 1);
            cparams.filters_meta[4] = if lossy { 10 } else { 0 };
            add(format!("{codec}-{name}"), chunk(cparams, &data));
        }
        let small = params(codec, 8, 0, &[1]);
        add(format!("{codec}-small"), chunk(small, &data(100, salt)));
        let large = params(codec, 4, 16 << 10, &[1]);
        add(
            format!("{codec}-threads"),
            chunk(large, &data(512, salt).repeat(140)),
        );
        let runs = params(codec, 4, 2048, &[1]);
        let mut run = vec![7; 3000];
        run.extend([0; 3000]);
        run.extend(data(500, salt));
        add(format!("{codec}-runs"), chunk(runs, &run));
        let mut instrumented = params(codec, 4, 2048, &[1]);
        instrumented.instr_codec = true;
        add(
            format!("{codec}-instrumented"),
            chunk(instrumented, &data(5000, salt)),
        );
        let mut dict = params(codec, 4, 1024, &[1]);
        dict.use_dict = 1;
        if [1, 2, 5].contains(&codec) {
            add(format!("{codec}-dict"), chunk(dict, &data(20_000, salt)));
        }
        for (name, dict) in [("vl", 0), ("vl-dict", 1)] {
            if dict == 0 || [1, 2, 5].contains(&codec) {
                let mut cparams = params(codec, 4, 0, &[2]);
                cparams.use_dict = dict;
                add(format!("{codec}-{name}"), variable(cparams, salt));
            }
        }
        let mut delta = params(codec, 4, 0, &[3, 1]);
        delta.clevel = 9;
        add(format!("{codec}-vl-delta"), variable(delta, salt));
        if codec != user::CODEC {
            for (name, filters) in [("plain", [0, 0]), ("shuffle", [0, 1]), ("bits", [3, 2])] {
                add(
                    format!("{codec}-blosc1-{name}"),
                    blosc1(codec, filters, salt),
                );
            }
        }
    }
    let mut streams = params(1, 4, 1024, &[1]);
    streams.filters_meta[5] = 7;
    add("shuffle-in-7".into(), chunk(streams, &data(5003, 1)));
    add(
        "large-items".into(),
        chunk(params(1, 300, 3000, &[1]), &data(9000, 2)),
    );
    let mut stored = params(0, 4, 512, &[1]);
    stored.clevel = 0;
    add("stored".into(), chunk(stored, &data(3001, 3)));
    add("empty".into(), chunk(params(5, 4, 0, &[1]), &[]));
    add(
        "zeros-found".into(),
        chunk(params(5, 4, 1024, &[1]), &[0; 9000]),
    );
    special(&mut add);
    let mut lazy = chunk(params(5, 4, 1024, &[1]), &data(3000, 4));
    lazy[31] |= flags2::LAZY;
    add("lazy".into(), lazy);
    // One of three with checksums, which has some of every kind.
    for i in (0..seeds.len()).step_by(3) {
        if let Ok(Some(chunk)) = add_checksums::add(&seeds[i].chunk) {
            let name = format!("{}-checksums", seeds[i].name);
            let chunk = chunk.to_vec();
            seeds.push(Seed { name, chunk });
        }
    }
    seeds
}

fn variable(cparams: blosc2_cparams, salt: u64) -> Vec<u8> {
    let sizes = [700, 1, 64, 1500, 33, 900, 8];
    let blocks = sizes.map(|size| data(size, salt + 5));
    let mut dest = vec![0; 40_000];
    let code = vlcompress(cparams, &blocks, &mut dest).expect("good parameters");
    finish(code, dest)
}

/// With a header of 16 bytes.
fn blosc1(compcode: u8, filters: [u8; 2], salt: u64) -> Vec<u8> {
    let params = EncodeParams {
        compcode,
        compcode_meta: 0,
        versionlz: 1,
        clevel: 5,
        typesize: 4,
        blocksize: 1024,
        filters: [0, 0, 0, 0, filters[0], filters[1]],
        filters_meta: [0; 6],
        split: compcode < 2,
        use_dict: false,
        instrumented: false,
        extended: false,
        rules: Rules::Blosc2,
        checksums: false,
        nthreads: 1,
    };
    let data = data(3003, salt);
    let mut dest = vec![0; data.len() + MAX_OVERHEAD];
    let header = compress_chunk(
        &params,
        ChunkInput::Buffer(&data),
        &mut dest,
        &NoHooks,
        &Serial,
    );
    let header = header.expect("good parameters").expect("it fits");
    let mut chunk = finish(header.cbytes as i32, dest);
    chunk[0] = 2;
    chunk
}

/// Chunks that are little more than a header.
fn special(add: &mut impl FnMut(String, Vec<u8>)) {
    let cparams = params(1, 8, 1024, &[1]);
    let value = 1.5f64.to_le_bytes();
    for name in ["zeros", "nans", "uninit", "value"] {
        let mut dest = vec![0u8; MAX_OVERHEAD + value.len()];
        let (to, capacity) = (dest.as_mut_ptr().cast(), dest.len() as i32);
        // SAFETY: the destination has the size given, the value that of an item; the parameters
        // hold no pointers.
        let code = unsafe {
            match name {
                "zeros" => blosc2_chunk_zeros(cparams, 4000, to, capacity),
                "nans" => blosc2_chunk_nans(cparams, 4000, to, capacity),
                "uninit" => blosc2_chunk_uninit(cparams, 4000, to, capacity),
                _ => blosc2_chunk_repeatval(cparams, 4000, to, capacity, value.as_ptr().cast()),
            }
        };
        let chunk = finish(code, dest);
        if name == "zeros" {
            let mut unknown = chunk.clone();
            unknown[31] = 7 << 4;
            add("special-unknown".into(), unknown);
        }
        add(name.into(), chunk);
    }
}
