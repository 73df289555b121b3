//! Tests of what all codecs promise.

mod cut;
mod noise;
mod reference;

use super::{Codec, Decoder, Dict, Encoder};

/// A small generator of pseudo-random numbers (xorshift), the same in every run.
pub(super) struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// `n` numbers below `of`.
    pub fn bytes(&mut self, n: usize, of: usize) -> Vec<u8> {
        (0..n).map(|_| self.below(of) as u8).collect()
    }
}

/// Shuffles `width`-byte items like the shuffle filter.
fn shuffled(data: &[u8], width: usize) -> Vec<u8> {
    (0..width)
        .flat_map(|b| data.iter().skip(b).step_by(width).copied())
        .collect()
}

/// Streams of many kinds and lengths, each with a name.
fn streams() -> Vec<(String, Vec<u8>)> {
    let mut numbers = Numbers(88172645463325252);
    let mut all = Vec::new();
    for len in [
        0, 1, 7, 15, 16, 17, 31, 33, 65, 66, 67, 100, 255, 1000, 4096, 5000, 20_000, 65_535,
        65_536, 200_000,
    ] {
        let words = len / 8 + 1;
        let mut walk = 0i64;
        let walk: Vec<u8> = (0..words)
            .flat_map(|_| {
                walk += numbers.below(2001) as i64 - 1000;
                walk.to_le_bytes()
            })
            .collect();
        let noise: Vec<u8> = (0..len).map(|_| numbers.next() as u8).collect();
        let few: Vec<u8> = (0..len)
            .map(|_| (numbers.below(16) & numbers.below(16)) as u8)
            .collect();
        let mut runs = Vec::new();
        while runs.len() < len {
            let n = 1 + numbers.below(200);
            runs.extend(std::iter::repeat_n(numbers.next() as u8, n));
            let back = 1 + numbers.below(runs.len());
            let n = numbers.below(100).min(back);
            runs.extend_from_within(runs.len() - back..runs.len() - back + n);
        }
        // Stretches of noise, of bytes that Huffman codes shorten but that do not repeat, of few
        // values, and of repeats.
        let mut numbers = Numbers(len as u64 + 1);
        let mut stretches = Vec::new();
        while stretches.len() < len {
            let n = 1000 + numbers.below(30_000);
            match numbers.below(4) {
                0 => stretches.extend((0..n).map(|_| numbers.next() as u8)),
                1 => stretches.extend((0..n).map(|_| (numbers.next() % 150) as u8)),
                2 => stretches.extend((0..n).map(|_| (numbers.next() % 3) as u8)),
                _ => stretches.extend_from_within(stretches.len() - n.min(stretches.len())..),
            }
        }
        let mut far = noise.clone();
        for i in 70_000.min(len)..len {
            if i % 97 > 12 {
                far[i] = far[i - 70_000];
            }
        }
        all.push((format!("zeros {len}"), vec![0; len]));
        all.push((format!("walk {len}"), walk[..len].to_vec()));
        all.push((
            format!("shuffled walk {len}"),
            shuffled(&walk, 8)[..len].to_vec(),
        ));
        all.push((format!("noise {len}"), noise));
        all.push((format!("few values {len}"), few));
        all.push((format!("runs {len}"), runs[..len].to_vec()));
        all.push((format!("stretches {len}"), stretches[..len].to_vec()));
        all.push((format!("far repeats {len}"), far));
    }
    all
}

/// A destination size that is enough for the worst case of every codec.
fn roomy(len: usize) -> usize {
    len + len / 8 + 1024
}

#[test]
fn every_stream_comes_back_and_fits_where_it_says() {
    let mut encoder = Encoder::new();
    let mut decoder = Decoder::new();
    for codec in Codec::ALL {
        for clevel in [1, 2, 5, 6, 8, 9] {
            for (name, data) in streams() {
                if clevel > 5 && codec != Codec::BloscLz && data.len() > 70_000 {
                    continue;
                }
                let mut packed = vec![0; roomy(data.len())];
                let n = encoder
                    .compress(codec, clevel, None, &data, &mut packed)
                    .unwrap();
                assert!(
                    n > 0 || codec == Codec::BloscLz,
                    "{codec:?} {clevel} {name}"
                );
                if n == 0 {
                    continue;
                }
                let mut back = vec![0xAA; data.len()];
                let got = decoder.decompress(codec, None, &packed[..n], &mut back);
                assert_eq!(got, Ok(data.len()), "{codec:?} {clevel} {name}");
                assert!(back == data, "{codec:?} {clevel} {name}");
                if n > 66 {
                    // With one byte less it does not fit, and nothing is written behind the
                    // destination.
                    let mut tight = vec![0x55; n - 1 + 64];
                    let (dst, guard) = tight.split_at_mut(n - 1);
                    let less = encoder.compress(codec, clevel, None, &data, dst).unwrap();
                    assert!(less < n, "{codec:?} {clevel} {name}");
                    assert!(
                        guard.iter().all(|&b| b == 0x55),
                        "{codec:?} {clevel} {name}"
                    );
                }
            }
        }
    }
}

#[test]
fn bytes_do_not_depend_on_what_the_state_did_before() {
    let streams = streams();
    let mut numbers = Numbers(1234567);
    for codec in Codec::ALL {
        for clevel in [1, 5, 9] {
            let mut used = Encoder::new();
            for _ in 0..150 {
                let (name, data) = &streams[numbers.below(streams.len())];
                if data.len() > 30_000 && clevel == 9 && codec == Codec::Zstd {
                    continue;
                }
                let level = if numbers.below(4) == 0 {
                    1 + numbers.below(8) as u8
                } else {
                    clevel
                };
                let capacity = roomy(data.len()) / (1 + numbers.below(3));
                let mut fresh_out = vec![0; capacity];
                let mut used_out = vec![1; capacity];
                let a = Encoder::new()
                    .compress(codec, level, None, data, &mut fresh_out)
                    .unwrap();
                let b = used
                    .compress(codec, level, None, data, &mut used_out)
                    .unwrap();
                assert_eq!(a, b, "{codec:?} {level} {name}");
                assert!(fresh_out[..a] == used_out[..b], "{codec:?} {level} {name}");
            }
        }
    }
}

/// Short streams one after another, whose hash tables are not cleared between them and overflow
/// several times.
#[test]
fn bytes_of_short_streams_do_not_depend_on_those_before() {
    let streams = streams();
    let mut numbers = Numbers(7654321);
    for codec in Codec::ALL {
        let mut used = Encoder::new();
        for _ in 0..1000 {
            let (name, data) = &streams[numbers.below(streams.len())];
            let data = &data[..data.len().min(numbers.below(2500))];
            let level = 1 + numbers.below(9) as u8;
            let mut outs = [vec![0; roomy(data.len())], vec![1; roomy(data.len())]];
            let [fresh_out, used_out] = &mut outs;
            let n = Encoder::new()
                .compress(codec, level, None, data, fresh_out)
                .unwrap();
            let again = used.compress(codec, level, None, data, used_out);
            let len = data.len();
            assert_eq!(again, Ok(n), "{codec:?} {level} {name}, {len} bytes");
            assert!(
                fresh_out[..n] == used_out[..n],
                "{codec:?} {level} {name}, {len} bytes"
            );
        }
    }
}

#[test]
fn dictionaries_help_and_come_back() {
    let data: Vec<u8> = streams()
        .into_iter()
        .find(|(n, _)| n == "runs 200000")
        .unwrap()
        .1;
    let mut encoder = Encoder::new();
    let mut decoder = Decoder::new();
    for codec in [Codec::Lz4, Codec::Lz4hc, Codec::Zstd] {
        for clevel in [1, 5, 9] {
            let bytes = Dict::train(codec, &data, &[2000; 90], 10_000)
                .unwrap()
                .unwrap();
            assert!(!bytes.is_empty() && bytes.len() <= 10_000);
            let to = Dict::for_compression(codec, clevel, &bytes).unwrap();
            let from = Dict::for_decompression(codec, &bytes).unwrap();
            assert_eq!(to.bytes(), from.bytes());
            let block = &data[1000..5000];
            let mut first = Vec::new();
            for round in 0..3 {
                let mut packed = vec![0; 8000];
                let n = encoder
                    .compress(codec, clevel, Some(&to), block, &mut packed)
                    .unwrap();
                let plain = encoder
                    .compress(codec, clevel, None, block, &mut [0; 8000])
                    .unwrap();
                let gain = plain as i64 - n as i64;
                assert!(
                    n > 0 && gain >= i64::from(clevel == 1),
                    "{codec:?}: {n} with, {plain} without"
                );
                let mut back = vec![0; block.len()];
                assert_eq!(
                    decoder.decompress(codec, Some(&from), &packed[..n], &mut back),
                    Ok(block.len())
                );
                assert_eq!(back, block);
                if round == 0 {
                    first = packed[..n].to_vec();
                }
                assert_eq!(first, &packed[..n]);
            }
            // A dictionary for one direction or level is rejected in another.
            assert!(
                encoder
                    .compress(codec, clevel, Some(&from), block, &mut [0; 8000])
                    .is_err()
            );
            assert!(
                decoder
                    .decompress(codec, Some(&to), &first, &mut [0; 4000])
                    .is_err()
            );
        }
    }
    assert!(Dict::train(Codec::Zlib, &data, &[1; 8], 1000).is_err());
    assert!(Dict::for_decompression(Codec::Zstd, &vec![0; 40_000]).is_err());
    assert!(Dict::for_decompression(Codec::Lz4, &[]).is_err());
    assert_eq!(Dict::train(Codec::Zstd, &data, &[2000; 90], 100), Ok(None));
    assert!(Dict::train(Codec::Zstd, &data, &[2000; 1000], 1000).is_err());
}

#[test]
fn damaged_streams_are_survived() {
    let sources: Vec<_> = streams()
        .into_iter()
        .filter(|(_, d)| (200..=5000).contains(&d.len()))
        .map(|(_, d)| d)
        .collect();
    let mut encoder = Encoder::new();
    let mut decoder = Decoder::new();
    let mut numbers = Numbers(99);
    for codec in [Codec::BloscLz, Codec::Lz4, Codec::Zlib, Codec::Zstd] {
        let packed: Vec<(Vec<u8>, usize)> = sources
            .iter()
            .filter_map(|d| {
                let mut out = vec![0; roomy(d.len())];
                let n = encoder.compress(codec, 5, None, d, &mut out).unwrap();
                out.truncate(n);
                (n > 0).then_some((out, d.len()))
            })
            .collect();
        assert!(!packed.is_empty());
        let mut failed = 0;
        for round in 0..100_000 {
            let (stream, len) = &packed[numbers.below(packed.len())];
            let mut bad = stream.clone();
            match round % 4 {
                0 => bad.truncate(numbers.below(bad.len())),
                1 => {
                    bad = (0..numbers.below(64))
                        .map(|_| numbers.next() as u8)
                        .collect()
                }
                _ => {
                    for _ in 0..1 + numbers.below(4) {
                        let at = numbers.below(bad.len());
                        bad[at] = numbers.next() as u8;
                    }
                }
            }
            let capacity = if round % 3 == 0 {
                numbers.below(len + 1)
            } else {
                *len
            };
            let mut back = vec![0x33; capacity + 32];
            let (dst, guard) = back.split_at_mut(capacity);
            match decoder.decompress(codec, None, &bad, dst) {
                Ok(n) => assert!(n <= capacity),
                Err(_) => failed += 1,
            }
            assert!(
                guard.iter().all(|&b| b == 0x33),
                "{codec:?} wrote past the end"
            );
        }
        assert!(failed > 1000, "{codec:?} took nearly everything: {failed}");
    }
}

#[test]
fn names_and_numbers_agree() {
    for codec in Codec::ALL {
        assert_eq!(Codec::from_code(codec.code()), Some(codec));
        assert_eq!(Codec::from_name(codec.name()), Some(codec));
        assert_eq!(
            Codec::from_format(codec.format()).unwrap().format(),
            codec.format()
        );
        assert_eq!(codec.format_version(), 1);
        assert!(codec.library_version().contains('.'), "{codec:?}");
        assert!(!codec.library_name().is_empty());
    }
    assert_eq!(Codec::from_code(3), None);
    assert_eq!(Codec::from_name("LZ4"), None);
    assert_eq!(Codec::from_format(2), None);
    assert!(Codec::Lz4hc.supports_dict() && !Codec::Zlib.supports_dict());
}

#[test]
fn impossible_requests_are_refused() {
    let mut encoder = Encoder::new();
    let mut out = [0; 100];
    for codec in Codec::ALL {
        assert!(
            encoder
                .compress(codec, 0, None, &[0; 100], &mut out)
                .is_err()
        );
        assert!(
            encoder
                .compress(codec, 10, None, &[0; 100], &mut out)
                .is_err()
        );
        assert_eq!(encoder.compress(codec, 5, None, &[0; 100], &mut []), Ok(0));
        assert!(!matches!(
            Decoder::new().decompress(codec, None, &[255; 40], &mut []),
            Ok(1..)
        ));
    }
}
