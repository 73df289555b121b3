//! Compression with any parameters: the bytes do not depend on the number of threads, and the data
//! come back.

use super::super::calls::{Decompression, Getitem, c_len, compress, decompress, getitem};
use super::super::numbers::Input;
use super::super::recipe;
use super::super::user;
use super::LARGEST;
use blosc2::capi::types::blosc2_cparams;
use oxiblosc_chunk::header::{ChunkHeader, filter_id};

/// The filter for planes of bytes, in its correct form.
const BYTEDELTA: u8 = 35;

/// How to compress.
pub struct Parameters {
    /// For the C functions; without pointers.
    pub cparams: blosc2_cparams,
    /// Whether all data come back as they were.
    pub lossless: bool,
    /// A byte for what is not a parameter of compression.
    pub choice: u8,
}

/// Reads parameters: mostly such as make sense, sometimes any.
pub fn parameters(input: &mut Input) -> Parameters {
    user::register();
    let choice = input.byte();
    let wild = choice & 0xc0 == 0xc0;
    let mut cparams = blosc2_cparams::defaults();
    let codec = input.byte();
    cparams.compcode = match wild {
        true => codec,
        false => [0, 1, 2, 4, 5, user::CODEC][usize::from(codec % 6)],
    };
    cparams.compcode_meta = input.byte();
    let clevel = input.byte();
    cparams.clevel = if wild { clevel } else { clevel % 10 };
    let typesize = input.int();
    cparams.typesize = match choice & 0x30 {
        0x30 if wild => typesize,
        0x30 => typesize & 0x3ff,
        0x20 => [1, 2, 4, 8][typesize as usize % 4],
        _ => 1 + (typesize & 0x1f),
    };
    let blocksize = input.int();
    cparams.blocksize = match choice & 0xc {
        0xc if wild => blocksize,
        0xc => blocksize & 0xf_ffff,
        0x8 => blocksize & 0xfff,
        _ => 0,
    };
    let bits = input.byte();
    cparams.splitmode = if wild {
        bits.into()
    } else {
        1 + i32::from(bits & 3)
    };
    cparams.use_dict = (bits >> 2 & 3 == 3).into();
    cparams.instr_codec = bits >> 4 == 0xf;
    for slot in 0..cparams.filters.len() {
        let (filter, meta) = (input.byte(), input.byte());
        cparams.filters[slot] = match filter {
            id if wild => id,
            id if id < 0x80 => 0,
            id => [1, 2, 3, 1, 2, user::FILTER, BYTEDELTA, 4][usize::from(id % 8)],
        };
        cparams.filters_meta[slot] = match cparams.filters[slot] {
            filter_id::SHUFFLE if !wild && meta < 0xc0 => 0,
            _ => meta,
        };
    }
    Parameters {
        lossless: !cparams.filters.contains(&filter_id::TRUNC_PREC) && !cparams.instr_codec,
        cparams,
        choice,
    }
}

/// Parameters, then data: the first bytes say how much room there is, and whether the rest is the
/// data, is repeated, or is a recipe.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let parameters = parameters(&mut input);
    let (tight, repeat) = (input.byte(), input.byte());
    let mut source = match repeat {
        0x80..0xe0 => recipe::make(&mut input),
        _ => input.rest(),
    };
    if repeat >= 0xe0 && !source.is_empty() {
        // Enough for several threads.
        let times = ((96 << 10) / source.len() + 1).min(64);
        source = source.repeat(times).into();
    }
    let bound = source.len() + 32;
    let capacity = match tight % 4 {
        0 => bound * usize::from(tight) / 256,
        1 => bound - 1 - usize::from(tight) / 4 % bound,
        2 => bound + usize::from(tight),
        _ => bound,
    };
    let mut first = vec![0x00; capacity].into_boxed_slice();
    let mut second = vec![0xff; capacity].into_boxed_slice();
    let run = |nthreads: i16, dest: &mut [u8]| {
        let mut cparams = parameters.cparams;
        cparams.nthreads = nthreads;
        compress(cparams, &source, dest)
    };
    let (one, two) = (run(1, &mut first), run(2, &mut second));
    assert_eq!(one.is_some(), two.is_some());
    let (one, two) = (one.unwrap_or(-1), two.unwrap_or(-1));
    assert_eq!(one < 0, two < 0, "1 thread: {one}, 2 threads: {two}");
    let Ok(cbytes) = usize::try_from(one) else {
        return;
    };
    assert!(cbytes <= capacity);
    let sensible = parameters.choice & 0xc0 != 0xc0 && !parameters.cparams.instr_codec;
    assert!(
        cbytes > 0 || capacity < bound || !sensible,
        "a bound that is none"
    );
    if !parameters.cparams.instr_codec {
        // What is measured differs from run to run; everything else must not.
        assert_eq!(one, two);
        assert!(first[..cbytes] == second[..cbytes], "1 thread, 2 threads");
    }
    if cbytes > 0 {
        decode(&parameters, &source, &first[..cbytes]);
    }
}

fn decode(parameters: &Parameters, source: &[u8], created: &[u8]) {
    let chunk: Box<[u8]> = created.into();
    let header = ChunkHeader::parse(&chunk).expect("our own header");
    assert_eq!(header.cbytes, chunk.len());
    assert!(header.nbytes == source.len() || parameters.cparams.instr_codec);
    if header.nbytes > LARGEST {
        return;
    }
    let mut data = vec![0x55; header.nbytes].into_boxed_slice();
    let code = decompress(Decompression::on(2), None, &chunk, &mut data);
    assert_eq!(code, c_len(header.nbytes), "our own chunk");
    if !parameters.lossless {
        return;
    }
    assert!(*data == *source, "the data did not come back");
    let typesize = usize::from(header.typesize);
    let nitems = source.len() / typesize;
    let start = nitems / 3;
    let n = (nitems - start).min(5);
    let mut items = vec![0x55; n * typesize].into_boxed_slice();
    let code = getitem(Getitem::Plain, &chunk, c_len(start), c_len(n), &mut items);
    assert_eq!(code, c_len(items.len()), "items of our own chunk");
    assert!(source[start * typesize..].starts_with(&items));
}
