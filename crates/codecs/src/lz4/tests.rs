use core::ffi::{c_char, c_int};

use super::*;

/// A stream of literals and a match of distance 0, both twice, and last literals. Also returns the
/// size of its data.
fn repeating_nothing(literals: usize, matched: usize, tail: usize) -> (Vec<u8>, usize) {
    let length = |n: usize, out: &mut Vec<u8>| {
        if n >= 15 {
            out.extend(std::iter::repeat_n(255, (n - 15) / 255));
            out.push(((n - 15) % 255) as u8);
        }
    };
    let mut stream = Vec::new();
    for _ in 0..2 {
        stream.push((literals.min(15) << 4 | (matched - 4).min(15)) as u8);
        length(literals, &mut stream);
        stream.extend((0..literals).map(|i| b'a' + (i % 26) as u8));
        stream.extend([0, 0]);
        length(matched - 4, &mut stream);
    }
    stream.push((tail.min(15) << 4) as u8);
    length(tail, &mut stream);
    stream.extend(std::iter::repeat_n(b'Z', tail));
    (stream, 2 * (literals + matched) + tail)
}

unsafe extern "C" {
    fn LZ4_decompress_safe_usingDict(
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_capacity: c_int,
        dict: *const c_char,
        dict_size: c_int,
    ) -> c_int;
    fn LZ4_compress_fast(
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_capacity: c_int,
        acceleration: c_int,
    ) -> c_int;
    fn LZ4_compress_HC(
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_capacity: c_int,
        level: c_int,
    ) -> c_int;
    fn LZ4_createStreamHC() -> *mut c_void;
    fn LZ4_freeStreamHC(stream: *mut c_void) -> c_int;
    fn LZ4_resetStreamHC_fast(stream: *mut c_void, level: c_int);
    fn LZ4_loadDictHC(stream: *mut c_void, dict: *const c_char, size: c_int) -> c_int;
    fn LZ4_compress_HC_continue(
        stream: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        src_size: c_int,
        dst_capacity: c_int,
    ) -> c_int;
}

/// A compressor of the library: the last number is its acceleration or its level.
type LibraryCompressor =
    unsafe extern "C" fn(*const c_char, *mut c_char, c_int, c_int, c_int) -> c_int;

/// Compresses with the library. Returns the bytes written, or 0 if they do not fit.
fn written_by(compressor: LibraryCompressor, src: &[u8], dst: &mut [u8], effort: usize) -> usize {
    // SAFETY: the library reads only `src` and writes only `dst`; the lengths fit a `c_int`.
    let n = unsafe {
        compressor(
            src.as_ptr().cast(),
            dst.as_mut_ptr().cast(),
            src.len() as c_int,
            dst.len() as c_int,
            effort as c_int,
        )
    };
    n.try_into().unwrap()
}

/// Decompresses with the library.
fn by_library(dict: &[u8], src: &[u8], dst: &mut [u8]) -> Result<usize> {
    // SAFETY: the library reads only `src` and `dict` and writes only `dst`, whatever the bytes;
    // the lengths fit a `c_int`.
    let n = unsafe {
        LZ4_decompress_safe_usingDict(
            src.as_ptr().cast(),
            dst.as_mut_ptr().cast(),
            src.len() as c_int,
            dst.len() as c_int,
            dict.as_ptr().cast(),
            dict.len() as c_int,
        )
    };
    usize::try_from(n).map_err(|_| Error::DATA)
}

/// A generator of pseudorandom numbers below its argument, the same in each run.
fn numbers() -> impl FnMut(usize) -> usize {
    let mut seed = 1_u64;
    move |below| {
        seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (seed >> 33) as usize % below
    }
}

/// `start`, followed by `len` bytes with repeats of any length at any distance.
fn repetitive(start: &[u8], len: usize, random: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
    let mut data = start.to_vec();
    let noise = random(4);
    while data.len() < start.len() + len {
        let period = 1 + random(40).min(random(300));
        let word: Vec<u8> = match random(4) {
            // A repeat from far back,
            0 if data.len() > period => {
                let from = random(data.len() - period);
                data[from..from + period].to_vec()
            }
            // noise,
            1 => (0..period * noise).map(|_| random(256) as u8).collect(),
            // or a word that will be repeated.
            _ => (0..period).map(|_| random(3) as u8).collect(),
        };
        let most = random(900) / (1 + word.len());
        let times = 1 + random(1 + most);
        for _ in 0..times {
            data.extend(&word);
        }
    }
    data.truncate(start.len() + len);
    data
}

/// Also with too small a destination, and with tables that were used before.
#[test]
fn streams_are_the_bytes_that_the_library_writes() {
    let mut random = numbers();
    let mut tables = compress::Tables::default();
    let (mut fitted, mut long) = (0, 0);
    for round in 0..30_000 {
        let len = match random(1000) {
            0 => 65_530 + random(40),
            1 => 65_546 + random(200_000),
            2..30 => random(20_000),
            30..100 => 2000 + random(100),
            100..300 => random(40),
            _ => random(600),
        };
        let mut data = repetitive(&[], len, &mut random);
        if random(5) == 0 {
            // Like bit planes: noise, then runs.
            let noise = random(1 + len);
            data[..noise].fill_with(|| random(256) as u8);
        }
        let acceleration = [1, 1, 5, 9, 1 + random(9)][random(5)];
        let bound = len + len / 255 + 16;
        let (mut ours, mut theirs) = (vec![0; bound], vec![0; bound]);
        let n = written_by(LZ4_compress_fast, &data, &mut theirs, acceleration);
        let capacity = [bound, len, n, n.saturating_sub(1), random(1 + n)][random(5)];
        let (ours, theirs) = (&mut ours[..capacity], &mut theirs[..capacity]);
        let expected = written_by(LZ4_compress_fast, &data, theirs, acceleration);
        let got = tables.compress(acceleration, &data, ours);
        assert_eq!(
            got,
            Ok(expected),
            "round {round}: {len} bytes in {capacity}"
        );
        assert!(ours[..expected] == theirs[..expected], "round {round}");
        fitted += usize::from(expected > 0);
        long += usize::from(expected > 0 && len > 65_546);
    }
    assert!(fitted > 10_000 && long > 10, "{fitted} {long}");
}

/// Compresses with the library's LZ4HC and a dictionary. Returns the bytes written, or 0 if they do
/// not fit.
fn written_with_dict(dict: &[u8], src: &[u8], dst: &mut [u8], level: u8) -> usize {
    // SAFETY: the stream is made, used and freed here; the library reads only `dict` and `src` and
    // writes only `dst`; the lengths fit a `c_int`.
    let n = unsafe {
        let stream = LZ4_createStreamHC();
        assert!(!stream.is_null());
        LZ4_resetStreamHC_fast(stream, level.into());
        LZ4_loadDictHC(stream, dict.as_ptr().cast(), dict.len() as c_int);
        let n = LZ4_compress_HC_continue(
            stream,
            src.as_ptr().cast(),
            dst.as_mut_ptr().cast(),
            src.len() as c_int,
            dst.len() as c_int,
        );
        LZ4_freeStreamHC(stream);
        n
    };
    n.try_into().unwrap()
}

/// `start`, followed by `len` bytes of one of several kinds.
fn mixed(start: &[u8], len: usize, random: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
    let mut data = repetitive(start, len, random);
    let tail = &mut data[start.len()..];
    match random(5) {
        // Runs, which level 9 passes over: some just as long as others, some cut by a byte.
        0 => {
            let period = 1 + random(300);
            for (i, byte) in tail.iter_mut().enumerate() {
                if i % period > period / 8 {
                    *byte = (i / (period * 3)) as u8 & 1;
                }
            }
        }
        // Numbers near each other.
        1 => {
            let spread = 2 + random(40);
            let mut last = 0;
            tail.fill_with(|| {
                last += random(spread);
                last as u8
            });
        }
        _ => {}
    }
    data
}

/// The length of a stream to test with.
fn stream_len(random: &mut impl FnMut(usize) -> usize) -> usize {
    match random(1000) {
        0..4 => 65_500 + random(200_000),
        4..40 => random(20_000),
        40..200 => 2000 + random(100),
        200..400 => random(40),
        _ => random(600),
    }
}

/// Compresses with `library` and with `ours`, also with too small a destination. Returns whether it
/// fitted.
fn same_bytes(
    len: usize,
    random: &mut impl FnMut(usize) -> usize,
    mut library: impl FnMut(&mut [u8]) -> usize,
    ours: impl FnOnce(&mut [u8]) -> Result<usize>,
) -> bool {
    let bound = len + len / 255 + 16;
    let (mut got, mut expected) = (vec![0; bound], vec![0; bound]);
    let n = library(&mut expected);
    let capacity = [bound, len, n, n + random(12), random(1 + n)][random(5)].min(bound);
    let n = library(&mut expected[..capacity]);
    assert_eq!(
        ours(&mut got[..capacity]),
        Ok(n),
        "{len} bytes in {capacity}"
    );
    assert!(got[..n] == expected[..n], "{len} bytes in {capacity}");
    n > 0
}

/// With tables that were used before.
#[test]
fn high_streams_are_the_bytes_that_the_library_writes() {
    let mut random = numbers();
    let mut high = HcCompressor::default();
    let mut fitted = 0;
    for _ in 0..8_000 {
        let len = stream_len(&mut random);
        let data = mixed(&[], len, &mut random);
        let clevel = 1 + random(9) as u8;
        fitted += usize::from(same_bytes(
            len,
            &mut random,
            |dst| written_by(LZ4_compress_HC, &data, dst, clevel.into()),
            |dst| high.compress(clevel, &data, dst),
        ));
    }
    assert!(fitted > 3_000, "{fitted}");
}

/// Noise in which few words come again, from near and far, and runs between: the search passes over
/// words that are new.
#[test]
fn high_streams_of_noise_are_the_bytes_that_the_library_writes() {
    let mut random = numbers();
    let mut high = HcCompressor::default();
    for len in [5000, 20_000, 65_536, 150_000, 400_000] {
        for values in [256, 100, 40] {
            for clevel in [3, 5, 9] {
                let mut data: Vec<u8> = (0..len).map(|_| random(values) as u8).collect();
                for _ in 0..len / 500 {
                    let (from, n) = (random(len - 40), 4 + random(30));
                    data.copy_within(from..from + n, random(len - 40));
                }
                // Behind each of these the words of the window are noted anew.
                for at in (10_000..len - 1000).step_by(40_000) {
                    data[at..at + 1000].fill(1);
                }
                same_bytes(
                    len,
                    &mut random,
                    |dst| written_by(LZ4_compress_HC, &data, dst, clevel),
                    |dst| high.compress(clevel as u8, &data, dst),
                );
            }
        }
    }
}

/// With tables that were used before, with other dictionaries and without.
#[test]
fn high_streams_with_a_dictionary_are_the_bytes_that_the_library_writes() {
    let mut random = numbers();
    let mut high = HcCompressor::default();
    let mut fitted = 0;
    for _ in 0..6_000 {
        let dict_len = [1 + random(12), 1 + random(300), 1 + random(5000), 32 * 1024][random(4)];
        let dict = mixed(&[], dict_len, &mut random);
        let clevel = 1 + random(9) as u8;
        let prepared = HcEncodeDict::new(&dict, clevel).unwrap();
        for _ in 0..2 {
            let len = stream_len(&mut random);
            // Data that go on as the dictionary does, or repeat parts of it.
            let data = mixed(&dict, len, &mut random);
            let data = &data[dict.len()..];
            fitted += usize::from(same_bytes(
                len,
                &mut random,
                |dst| written_with_dict(&dict, data, dst, clevel),
                |dst| high.compress_with((&dict, &prepared), clevel, data, dst),
            ));
        }
    }
    assert!(fitted > 5_000, "{fitted}");
}

/// Whole and damaged streams.
#[test]
fn streams_are_decoded_and_refused_as_the_library_does() {
    let mut random = numbers();
    let (mut taken, mut refused) = (0, 0);
    for round in 0..60_000 {
        let len = [0, 1, 12, 13, 40, 110, 300, 5000][random(8)];
        let dict: Vec<u8> = (0..[0, 0, 1, 40, 3000][random(5)])
            .map(|_| random(3) as u8)
            .collect();
        let data = repetitive(&dict, len, &mut random);
        let data = &data[dict.len()..];
        let mut stream = vec![0; len + len / 255 + 16];
        let n = if dict.is_empty() {
            Compressor::default().compress(9, data, &mut stream)
        } else {
            // SAFETY: the bytes outlive the value.
            let prepared = unsafe { EncodeDict::new(&dict) }.unwrap();
            Compressor::default().compress_with(&prepared, 9, data, &mut stream)
        };
        stream.truncate(n.unwrap());
        for _ in 0..round % 4 {
            let at = random(stream.len());
            match random(5) {
                0 => stream[at] = random(256) as u8,
                1 => stream[at] ^= 1 << random(8),
                2 => stream.truncate(at + 1),
                3 => stream.insert(at, 255),
                _ => stream[at] = [0, 0xf0, 0x0f, 0xff][random(4)],
            }
        }
        let capacity = [len, len, len + 100, len / 2, len.saturating_sub(1)][random(5)];
        let (mut ours, mut theirs) = (vec![0xaa; capacity], vec![0xaa; capacity]);
        let expected = by_library(&dict, &stream, &mut theirs);
        let got = decompress_with(&dict, &stream, &mut ours);
        assert_eq!(got, expected, "round {round}: {stream:?} in {capacity}");
        if dict.is_empty() {
            // With padding the result is the same.
            let (behind, capacity_behind) = (random(80), random(80));
            let packed: Vec<u8> = (stream.iter().copied())
                .chain((0..behind).map(|_| random(256) as u8))
                .collect();
            let mut among = vec![0xaa; capacity + capacity_behind];
            let src = PaddedSrc::new(&packed, stream.len()).unwrap();
            let dst = PaddedDst::new(&mut among, capacity).unwrap();
            assert_eq!(decompress(src, dst), expected, "round {round}: {stream:?}");
            let n = expected.unwrap_or(0);
            assert!(among[..n] == theirs[..n], "round {round}");
        }
        match expected {
            Ok(n) => {
                assert!(ours[..n] == theirs[..n], "round {round}");
                taken += 1;
                if dict.is_empty() && n > 0 {
                    let wanted = 1 + random(n);
                    ours.fill(0xaa);
                    let got = decompress_prefix(&stream, &mut ours, wanted);
                    assert!(got.is_ok_and(|n| n >= wanted), "round {round}: {got:?}");
                    assert!(ours[..wanted] == theirs[..wanted], "round {round}");
                }
            }
            Err(_) => refused += 1,
        }
    }
    assert!(taken > 15_000 && refused > 15_000, "{taken} {refused}");
}

/// A length in a token and its extra bytes.
fn push_extra(stream: &mut Vec<u8>, len: usize) {
    if len >= 15 {
        stream.extend(vec![255; (len - 15) / 255]);
        stream.push(((len - 15) % 255) as u8);
    }
}

/// A stream of up to `sequences` sequences, and the length of its data. Lengths and distances are
/// those at which the loops of the decompressor take another way, and others; hundreds of sequences
/// in turn have short matches, or longer ones, too.
fn assembled(sequences: usize, random: &mut impl FnMut(usize) -> usize) -> (Vec<u8>, usize) {
    let (mut stream, mut out) = (Vec::new(), 0);
    let (mut longer, mut unusual, mut few) = (0, 1000, 1);
    for i in 0..sequences {
        if i % 300 == 0 {
            (longer, unusual) = ([0, 2, 6][random(3)], [20, 200, 1000][random(3)]);
            few = [1, 4, 8][random(3)];
        }
        let literals = match random(unusual) {
            _ if out == 0 => 20,
            0 => [13, 14, 15, 16, 31, 32, 33, 47, 70, 300][random(10)],
            1 => random(60),
            _ => random(few),
        };
        let len = match random(unusual) {
            0 => [16, 17, 18, 19, 32, 33, 48, 49, 50, 273, 274, 800][random(12)],
            1 => 4 + random(120),
            _ if random(10) < longer => 17 + random(32),
            _ => 4 + random(13),
        };
        out += literals;
        let distance = match random(unusual) {
            0 => [1, 7, 8, 9, 15, 16, 17, 31, 32, 33][random(10)],
            _ => 8 + random(out.min(65_000)),
        };
        stream.push((literals.min(15) << 4 | (len - 4).min(15)) as u8);
        push_extra(&mut stream, literals);
        stream.extend((0..literals).map(|_| random(256) as u8));
        stream.extend((distance.min(out) as u16).to_le_bytes());
        push_extra(&mut stream, len - 4);
        out += len;
    }
    let literals = random(35);
    stream.push((literals.min(15) << 4) as u8);
    push_extra(&mut stream, literals);
    stream.extend((0..literals).map(|_| random(256) as u8));
    (stream, out + literals)
}

/// Streams long enough for all loops, whole, damaged, and with too small a destination.
#[test]
fn assembled_streams_are_decoded_and_refused_as_the_library_does() {
    let mut random = numbers();
    let (mut taken, mut refused) = (0, 0);
    for round in 0..6_000 {
        let sequences = [5, 40, 400, 2500][random(4)];
        let (mut stream, len) = assembled(sequences, &mut random);
        for _ in 0..(round % 3) * random(3) {
            let at = stream.len().saturating_sub(1 + random(200));
            stream[at] = [0, 0x0f, 0xf0, 0xff, 0x1f, random(256)][random(6)] as u8;
        }
        let capacity = [len, len, len + random(100), len - random(20)][random(4)];
        let (mut ours, mut theirs) = (vec![0xaa; capacity], vec![0xaa; capacity]);
        let expected = by_library(&[], &stream, &mut theirs);
        let got = decompress(stream.as_slice().into(), ours.as_mut_slice().into());
        assert_eq!(got, expected, "round {round}");
        match expected {
            Ok(n) => {
                assert!(ours[..n] == theirs[..n], "round {round}");
                taken += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(taken > 2_000 && refused > 500, "{taken} {refused}");
}

#[test]
fn a_match_of_distance_0_shows_nothing_of_the_memory() {
    let mut decoded = 0;
    for literals in [0, 1, 5, 14, 15, 16, 40, 300] {
        for matched in (4..40).chain([64, 100, 273, 300, 1000]) {
            for tail in [5, 8, 12, 13, 16, 40, 200] {
                let (stream, len) = repeating_nothing(literals, matched, tail);
                let (mut first, mut second) = (vec![0u8; len], vec![0xffu8; len]);
                let result = decompress(stream[..].into(), first[..].as_mut().into());
                assert_eq!(
                    decompress(stream[..].into(), second[..].as_mut().into()),
                    result
                );
                if result != Ok(len) {
                    continue;
                }
                decoded += 1;
                assert!(first == second, "{literals} {matched} {tail}");
                let dict = [0xee; 500];
                second.fill(0xff);
                assert_eq!(decompress_with(&dict, &stream, &mut second), Ok(len));
                assert!(
                    first == second,
                    "{literals} {matched} {tail} with a dictionary"
                );
                for wanted in (1..len).step_by(1 + len / 50) {
                    second.fill(0xff);
                    let n = decompress_prefix(&stream, &mut second, wanted);
                    assert!(n.is_ok_and(|n| n >= wanted));
                    assert!(
                        first[..wanted] == second[..wanted],
                        "{literals} {matched} {tail} {wanted}"
                    );
                }
            }
        }
    }
    assert!(decoded > 1000, "only {decoded} streams were taken");
}
