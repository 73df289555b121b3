//! Tests of what all codecs promise.

use super::{Codec, Decoder, Dict, Encoder, StreamContent};

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
        // Stretches of noise, of bytes that Huffman codes shorten but that do not repeat, of few values, and of repeats.
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
                    // With one byte less it does not fit, and nothing is written behind the destination.
                    let mut tight = vec![0x55; n - 1 + 64];
                    let (room, guard) = tight.split_at_mut(n - 1);
                    let less = encoder.compress(codec, clevel, None, &data, room).unwrap();
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
                let room = roomy(data.len()) / (1 + numbers.below(3));
                let mut fresh_out = vec![0; room];
                let mut used_out = vec![1; room];
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

/// A sine: some stretches are noise, and others repeat what is before those.
#[test]
fn what_is_deflated_between_noise_does_not_depend_on_earlier_streams() {
    for clevel in 1..=9 {
        let mut used = Encoder::new();
        for part in 0..16 {
            let sine: Vec<u8> = (0..32_768)
                .flat_map(|i| {
                    let x = f64::from(i + 32_768 * part) * 0.0005;
                    (x.sin() * 100.0 + x).to_le_bytes()
                })
                .collect();
            let packed = [&mut Encoder::new(), &mut used].map(|encoder| {
                let mut packed = vec![0; roomy(sine.len())];
                let n = encoder
                    .compress(Codec::Zlib, clevel, None, &sine, &mut packed)
                    .unwrap();
                assert!(n > 0, "level {clevel}, part {part}");
                packed.truncate(n);
                packed
            });
            assert!(packed[0] == packed[1], "level {clevel}, part {part}");
        }
    }
}

/// Noise that is repeated after other data.
#[test]
fn what_is_deflated_later_is_known_though_what_is_between_repeats_none_of_it() {
    let mut numbers = Numbers(3);
    let noise = numbers.bytes(8192, 256);
    let between = [numbers.bytes(4096, 64), numbers.bytes(8192, 256)].concat();
    let (first, whole) = (
        [&noise[..], &between].concat(),
        [&noise[..], &between, &noise].concat(),
    );
    let mut encoder = Encoder::new();
    for clevel in 1..=9 {
        let mut packed = vec![0; roomy(whole.len())];
        let mut size = |data: &[u8]| {
            encoder
                .compress(Codec::Zlib, clevel, None, data, &mut packed)
                .unwrap()
        };
        let (first, whole) = (size(&first), size(&whole));
        assert!(
            0 < first && whole < first + 500,
            "level {clevel}: {first}, {whole}"
        );
    }
}

/// Noise between runs of one byte, as in bit planes.
#[test]
fn runs_between_noise_cost_nearly_nothing() {
    let mut numbers = Numbers(3);
    let mut data = Vec::new();
    for _ in 0..16 {
        data.extend(numbers.bytes(3500, 256));
        data.extend([0; 596]);
    }
    let mut encoder = Encoder::new();
    // Level 1 uses the fixed codes.
    for clevel in 2..=9 {
        let mut packed = vec![0; roomy(data.len())];
        let n = encoder
            .compress(Codec::Zlib, clevel, None, &data, &mut packed)
            .unwrap();
        assert!(0 < n && n < 16 * 3600, "level {clevel}: {n}");
    }
}

/// Uneven bytes of which few are repeated: numbers of four bytes, noise but for the highest, with repeats between them.
#[test]
fn what_is_not_searched_for_repeats_has_next_to_none() {
    let mut numbers = Numbers(5);
    let mut encoder = Encoder::new();
    let (mut searched, mut given_up) = (0, 0);
    for len in [4096, 5000, 30_000, 131_072, 400_000] {
        for one_in in [50, 100, 200, 500, 2000, 10_000, usize::MAX] {
            for (repeat, far) in [(4, 100), (4, 60_000), (5, 2000), (8, 60_000), (40, 30_000)] {
                let mut data: Vec<u8> = Vec::new();
                while data.len() < len {
                    if data.len() > repeat && numbers.below(one_in / repeat) == 0 {
                        let back = repeat + numbers.below(far.min(data.len() - repeat));
                        data.extend_from_within(data.len() - back..data.len() - back + repeat);
                    }
                    let number = numbers.next() as u32 >> 2;
                    data.extend(((number % 3) << 30 | number).to_le_bytes());
                }
                let mut roomy = vec![0; roomy(data.len())];
                let mut size =
                    |dst: &mut [u8]| encoder.compress(Codec::Lz4hc, 5, None, &data, dst).unwrap();
                let quick = size(&mut roomy[..data.len()]);
                let whole = size(&mut roomy);
                if quick > 0 {
                    assert_eq!(quick, whole, "{len} {one_in} {repeat}");
                    searched += 1;
                } else {
                    assert!(
                        1000 * whole > 995 * data.len(),
                        "{whole} of {len}, one in {one_in}, {repeat} each"
                    );
                    given_up += 1;
                }
            }
        }
    }
    assert!(searched > 20 && given_up > 50, "{searched} and {given_up}");
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
            let room = if round % 3 == 0 {
                numbers.below(len + 1)
            } else {
                *len
            };
            let mut back = vec![0x33; room + 32];
            let (dst, guard) = back.split_at_mut(room);
            match decoder.decompress(codec, None, &bad, dst) {
                Ok(n) => assert!(n <= room),
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

/// The reference library, through those of its functions that need no structs.
mod reference {
    use super::Codec;
    use core::ffi::{c_char, c_int, c_void};

    pub(super) struct Reference(libloading::Library);

    /// Length of the header of a chunk of Blosc 2.
    const HEADER: usize = 32;

    impl Reference {
        /// Opens the reference, if it is there.
        pub(super) fn open() -> Option<Self> {
            let path = oxiblosc_testing::needs::reference_path()?;
            // SAFETY: the reference runs no code on loading that would matter here.
            let library =
                Reference(unsafe { libloading::Library::new(path) }.expect("the reference opens"));
            // SAFETY: the function takes nothing and returns nothing.
            unsafe {
                library
                    .0
                    .get::<unsafe extern "C" fn()>(b"blosc2_init")
                    .unwrap()()
            };
            Some(library)
        }

        /// A chunk of one block and one stream, and where the stream lies in it; `None` if it holds none.
        pub(super) fn compress(
            &self,
            codec: Codec,
            clevel: u8,
            data: &[u8],
        ) -> Option<(Vec<u8>, usize)> {
            type SetCompressor = unsafe extern "C" fn(*const c_char) -> c_int;
            type SetBlocksize = unsafe extern "C" fn(usize);
            type SetSplitmode = unsafe extern "C" fn(c_int);
            type Compress = unsafe extern "C" fn(
                c_int,
                c_int,
                usize,
                usize,
                *const c_void,
                *mut c_void,
                usize,
            ) -> c_int;
            const NEVER_SPLIT: c_int = 2;
            let mut chunk = vec![0u8; data.len() + 4096];
            let name = std::ffi::CString::new(codec.name()).unwrap();
            // SAFETY: the types are those of the reference's headers; the buffers are as long as is said.
            let n = unsafe {
                self.0
                    .get::<SetCompressor>(b"blosc1_set_compressor")
                    .unwrap()(name.as_ptr());
                self.0.get::<SetBlocksize>(b"blosc1_set_blocksize").unwrap()(data.len());
                self.0.get::<SetSplitmode>(b"blosc1_set_splitmode").unwrap()(NEVER_SPLIT);
                self.0.get::<Compress>(b"blosc1_compress").unwrap()(
                    c_int::from(clevel),
                    0,
                    1,
                    data.len(),
                    data.as_ptr().cast(),
                    chunk.as_mut_ptr().cast(),
                    chunk.len(),
                )
            };
            chunk.truncate(usize::try_from(n).expect("the reference compresses"));
            let number = |at: usize| {
                Some(u32::from_le_bytes(chunk.get(at..at + 4)?.try_into().ok()?) as usize)
            };
            let at = number(HEADER)?;
            let len = number(at)?;
            // Not copied as a whole, one block, and a stream that is neither a run nor stored.
            let plain = chunk[2] & 2 == 0 && number(8)? == data.len() && at == HEADER + 4;
            (plain && len > 1 && len < data.len() && at + 4 + len == chunk.len())
                .then_some((chunk, at + 4))
        }

        /// Decodes a chunk in which `stream` stands in for the one at `at`.
        pub(super) fn decompress(
            &self,
            chunk: &[u8],
            at: usize,
            stream: &[u8],
            len: usize,
        ) -> Vec<u8> {
            type Decompress = unsafe extern "C" fn(*const c_void, *mut c_void, usize) -> c_int;
            let mut chunk = chunk[..at].to_vec();
            chunk.extend_from_slice(stream);
            let size = (chunk.len() as u32).to_le_bytes();
            chunk[12..16].copy_from_slice(&size);
            chunk[at - 4..at].copy_from_slice(&(stream.len() as u32).to_le_bytes());
            let mut out = vec![0u8; len];
            // SAFETY: as above; the chunk's header gives its true length.
            let n = unsafe {
                self.0.get::<Decompress>(b"blosc1_decompress").unwrap()(
                    chunk.as_ptr().cast(),
                    out.as_mut_ptr().cast(),
                    out.len(),
                )
            };
            assert_eq!(n as usize, len, "the reference decodes our stream");
            out
        }
    }
}

#[test]
fn the_reference_reads_ours_and_we_read_its() {
    let Some(reference) = reference::Reference::open() else {
        return;
    };
    let mut encoder = Encoder::new();
    let mut decoder = Decoder::new();
    let mut compared = 0;
    for codec in Codec::ALL {
        for clevel in 1..=9 {
            for (name, data) in streams() {
                if data.len() < 100 || clevel == 9 && data.len() > 20_000 && codec != Codec::BloscLz
                {
                    continue;
                }
                let Some((chunk, at)) = reference.compress(codec, clevel, &data) else {
                    continue;
                };
                let stream = &chunk[at..];
                let mut back = vec![0; data.len()];
                assert_eq!(
                    decoder.decompress(codec, None, stream, &mut back),
                    Ok(data.len())
                );
                assert!(back == data, "{codec:?} {clevel} {name}");

                let mut packed = vec![0; data.len()];
                let n = encoder
                    .compress(codec, clevel, None, &data, &mut packed)
                    .unwrap();
                if codec == Codec::Zlib {
                    // Another compressor than the reference's: the bytes are free, their number nearly not. Where a
                    // short stream is cut into many parts, each has a code of its own; and levels 2 to 5 do
                    // not enter all that a long match has, and look at fewer places where there are many.
                    let most = match (clevel, name.starts_with("stretches")) {
                        (2..=5, _) => 1045,
                        (_, true) => 1020,
                        _ => 1005,
                    };
                    // A byte or two are a percent of little.
                    let most = stream.len() * most / 1000 + 12;
                    assert!(
                        n > 0 && n <= most,
                        "{codec:?} {clevel} {name}: {n} bytes, the reference {}",
                        stream.len()
                    );
                } else if codec == Codec::Zstd && clevel == 5 {
                    // Another search of the same library.
                    assert!(
                        n > 0 && n <= stream.len() * 1005 / 1000 + 4,
                        "{clevel} {name}: {n} bytes, the reference {}",
                        stream.len()
                    );
                } else {
                    assert!(
                        packed[..n] == *stream,
                        "{codec:?} {clevel} {name}: other bytes than the reference's"
                    );
                }
                if n > 0 {
                    let back = reference.decompress(&chunk, at, &packed[..n], data.len());
                    assert!(back == data, "{codec:?} {clevel} {name}");
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 1000, "only {compared} streams compared");
}

/// Numbers of the kinds that Blosc is for, shuffled as it does it: planes for the levels that split blocks, whole blocks for others.
#[test]
fn zstd_finds_as_much_in_shuffled_numbers_as_the_reference() {
    let Some(reference) = reference::Reference::open() else {
        return;
    };
    let mut numbers = Numbers(5);
    let mut walk = 0;
    let mut kind = |next: &mut dyn FnMut(i64, &mut Numbers) -> i64| -> Vec<u8> {
        (0..65_536)
            .flat_map(|i| next(i, &mut numbers).to_le_bytes())
            .collect()
    };
    let kinds = [
        (
            "sine",
            kind(&mut |i, _| (i as f64 * 0.0005).sin().to_bits() as i64),
        ),
        (
            "walk",
            kind(&mut |_, numbers| {
                walk += numbers.below(2001) as i64 - 1000;
                walk
            }),
        ),
        (
            "times",
            kind(&mut |i, numbers| 1_000_000 * i + numbers.below(300) as i64),
        ),
        ("labels", kind(&mut |_, numbers| numbers.below(20) as i64)),
        (
            "noise",
            kind(&mut |i, numbers| i << 50 | (numbers.next() >> 14) as i64),
        ),
    ];
    let mut encoder = Encoder::new();
    let mut decoder = Decoder::new();
    for clevel in [1, 2, 3, 4, 5, 7, 8] {
        let (mut ours, mut theirs) = (0, 0);
        for (name, data) in &kinds {
            let (mut kind_ours, mut kind_theirs) = (0, 0);
            let block = shuffled(data, 8);
            let (content, len) = if clevel < 6 {
                (StreamContent::Plane, block.len() / 8)
            } else {
                (StreamContent::Planes, block.len())
            };
            encoder.content = content;
            for stream in block.chunks(len) {
                // An odd length, too.
                for stream in [stream, &stream[..len - 5]] {
                    let Some((chunk, at)) = reference.compress(Codec::Zstd, clevel, stream) else {
                        continue;
                    };
                    let mut packed = vec![0; stream.len()];
                    let n = encoder
                        .compress(Codec::Zstd, clevel, None, stream, &mut packed)
                        .unwrap();
                    kind_theirs += chunk.len() - at;
                    if n == 0 {
                        kind_ours += stream.len();
                        continue;
                    }
                    kind_ours += n;
                    let mut back = vec![0; stream.len()];
                    let got = decoder.decompress(Codec::Zstd, None, &packed[..n], &mut back);
                    assert_eq!(got, Ok(stream.len()), "{clevel} {name}");
                    assert!(back == stream, "{clevel} {name}");
                    let back = reference.decompress(&chunk, at, &packed[..n], stream.len());
                    assert!(back == stream, "{clevel} {name}");
                }
            }
            assert!(
                kind_ours <= kind_theirs * 1020 / 1000,
                "{clevel} {name}: {kind_ours} bytes, the reference {kind_theirs}"
            );
            ours += kind_ours;
            theirs += kind_theirs;
        }
        assert!(
            ours <= theirs * 1005 / 1000,
            "level {clevel}: {ours} bytes, the reference {theirs}"
        );
    }
}
