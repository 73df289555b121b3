//! The layers below the chunk by themselves: each codec's streams, and the shuffles.

use super::super::calls::c_len;
use super::super::numbers::Input;
use super::super::recipe;
use blosc2::capi::filters::*;
use oxiblosc_codecs::{Codec, Decoder, Dict, Encoder};

/// A byte that says what to do, numbers for it, then a stream or data.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let what = input.byte();
    let codec = Codec::ALL[usize::from(what >> 2) % Codec::ALL.len()];
    match what & 3 {
        0 | 1 => decode(codec, what & 1 != 0, input),
        2 => encode(codec, input),
        _ => shuffles(input),
    }
}

/// A stream that cannot be trusted, perhaps with such a dictionary.
fn decode(codec: Codec, with_dict: bool, mut input: Input) {
    let (capacity, wanted, dict_size) = (input.short(), input.short(), input.short());
    let raw = if with_dict {
        input.take(dict_size)
    } else {
        Box::default()
    };
    let dict = match with_dict.then(|| Dict::for_decompression(codec, &raw)) {
        Some(Err(_)) => return,
        Some(Ok(dict)) => Some(dict),
        None => None,
    };
    let stream = input.rest();
    let wanted = wanted.min(capacity);
    let mut decoder = Decoder::new();
    let mut whole = vec![0x00; capacity].into_boxed_slice();
    let result = decoder.decompress(codec, dict.as_ref(), &stream, &mut whole);
    let mut prefix = vec![0xff; capacity].into_boxed_slice();
    let part = decoder.decompress_prefix(codec, dict.as_ref(), &stream, &mut prefix, wanted);
    if let Ok(n) = result {
        assert!(n <= capacity);
        let m = part.expect("the front of a good stream");
        assert!(m >= wanted.min(n) && m <= capacity);
        assert!(prefix[..wanted.min(n)] == whole[..wanted.min(n)]);
    }
    prefix.fill(0xff);
    let again = decoder.decompress(codec, dict.as_ref(), &stream, &mut prefix);
    assert_eq!(again, result, "a decoder that was used before");
    let n = result.unwrap_or(0);
    assert!(prefix[..n] == whole[..n], "bytes from elsewhere");
}

/// Data, compressed into more or less room by a fresh encoder and by one that was used before.
fn encode(codec: Codec, mut input: Input) {
    let clevel = 1 + input.byte() % 9;
    let how = input.byte();
    let with_dict = how & 3 == 3;
    let by_recipe = how & 4 != 0;
    let mut capacity = input.short();
    let data = match by_recipe {
        true => recipe::make(&mut input),
        false => input.rest(),
    };
    if by_recipe {
        // There is more data than a short number can tell. A quarter of all inputs have room for
        // more than them.
        capacity = data.len() * (capacity & 0x3ff) / 0x300;
    }
    let make = |samples: &[u8]| Dict::for_compression(codec, clevel, samples).ok();
    let dict = if with_dict {
        make(&data[..data.len() / 3])
    } else {
        None
    };
    let mut encoder = Encoder::new();
    encoder.shuffled = how >> 4 & 1 == 1;
    let mut first = vec![0x00; capacity].into_boxed_slice();
    let mut second = vec![0xff; capacity].into_boxed_slice();
    let n = encoder.compress(codec, clevel, dict.as_ref(), &data, &mut first);
    let m = encoder.compress(codec, clevel, dict.as_ref(), &data, &mut second);
    assert_eq!(n, m);
    let n = n.expect("a good level, and the codec's own dictionary");
    assert!(
        n <= capacity && first[..n] == second[..n],
        "an encoder that was used before"
    );
    if n > 0 {
        let stream: Box<[u8]> = first[..n].into();
        let dict =
            dict.map(|dict| Dict::for_decompression(codec, dict.bytes()).expect("its bytes"));
        let mut out = vec![0x55; data.len()].into_boxed_slice();
        let got = Decoder::new().decompress(codec, dict.as_ref(), &stream, &mut out);
        assert_eq!(got, Ok(data.len()));
        assert!(out == data);
    }
}

/// Data, shuffled and back.
fn shuffles(mut input: Input) {
    let typesize = input.short() as i32 % 300;
    let data = input.rest();
    let size = c_len(data.len());
    let mut there = vec![0x00; data.len()].into_boxed_slice();
    let mut back = vec![0xff; data.len()].into_boxed_slice();
    let pairs = [
        (
            blosc2_shuffle as unsafe extern "C" fn(_, _, _, _) -> _,
            blosc2_unshuffle as unsafe extern "C" fn(_, _, _, _) -> _,
            256,
        ),
        (blosc2_bitshuffle, blosc2_bitunshuffle, i32::MAX),
    ];
    for (forward, backward, largest_undone) in pairs {
        // SAFETY: both buffers have the size given.
        let codes = unsafe {
            [
                forward(
                    typesize,
                    size,
                    data.as_ptr().cast(),
                    there.as_mut_ptr().cast(),
                ),
                backward(
                    typesize,
                    size,
                    there.as_ptr().cast(),
                    back.as_mut_ptr().cast(),
                ),
            ]
        };
        let valid = (1..=256).contains(&typesize);
        let accepted = [valid, (1..=largest_undone).contains(&typesize)];
        assert_eq!(codes.map(|code| code == size), accepted, "{codes:?}");
        assert!(
            codes.iter().all(|code| *code == size || *code < 0),
            "{codes:?}"
        );
        assert!(!valid || back == data, "typesize {typesize}");
    }
}
