use core::ffi::{c_char, c_int};

use super::*;

/// A stream: literals, a match of distance 0, the same again, and literals to end with. Gives its data's size too.
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
}

/// What the library makes of a stream.
fn by_library(dict: &[u8], src: &[u8], dst: &mut [u8]) -> Result<usize> {
    // SAFETY: the library reads only `src` and `dict` and writes only `dst`, whatever the bytes; the lengths fit a `c_int`.
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
    usize::try_from(n).map_err(|_| Error::Data)
}

/// Whole and damaged streams of data that repeat at any distance, near and far, in pieces of any length.
#[test]
fn streams_are_decoded_and_refused_as_the_library_does() {
    let mut seed = 1_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    let (mut taken, mut refused) = (0, 0);
    for round in 0..60_000 {
        let len = [0, 1, 12, 13, 40, 110, 300, 5000][random(8)];
        let dict: Vec<u8> = (0..[0, 0, 1, 40, 3000][random(5)])
            .map(|_| random(3) as u8)
            .collect();
        let mut data = dict.clone();
        let noise = random(4);
        while data.len() < dict.len() + len {
            let period = 1 + random(40).min(random(300));
            let word: Vec<u8> = match random(4) {
                // Of long ago,
                0 if data.len() > period => {
                    let from = random(data.len() - period);
                    data[from..from + period].to_vec()
                }
                // nothing that repeats,
                1 => (0..period * noise).map(|_| random(256) as u8).collect(),
                // or runs of few words, of any period.
                _ => (0..period).map(|_| random(3) as u8).collect(),
            };
            let most = random(900) / (1 + word.len());
            let times = 1 + random(1 + most);
            for _ in 0..times {
                data.extend(&word);
            }
        }
        let data = &data[dict.len()..dict.len() + len];
        let mut stream = vec![0; len + len / 255 + 16];
        let n = if dict.is_empty() {
            Fast::default().compress(9, data, &mut stream)
        } else {
            // SAFETY: the bytes outlive the value.
            let prepared = unsafe { FastDict::new(&dict) }.unwrap();
            Fast::default().compress_with(&prepared, 9, data, &mut stream)
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
        let room = [len, len, len + 100, len / 2, len.saturating_sub(1)][random(5)];
        let (mut ours, mut theirs) = (vec![0xaa; room], vec![0xaa; room]);
        let expected = by_library(&dict, &stream, &mut theirs);
        let got = decompress_with(&dict, &stream, &mut ours);
        assert_eq!(got, expected, "round {round}: {stream:?} in {room}");
        match expected {
            Ok(n) => {
                assert!(ours[..n] == theirs[..n], "round {round}");
                taken += 1;
                if dict.is_empty() && n > 0 {
                    let wanted = 1 + random(n);
                    ours.fill(0xaa);
                    let got = decompress_front(&stream, &mut ours, wanted);
                    assert!(got.is_ok_and(|n| n >= wanted), "round {round}: {got:?}");
                    assert!(ours[..wanted] == theirs[..wanted], "round {round}");
                }
            }
            Err(_) => refused += 1,
        }
    }
    assert!(taken > 15_000 && refused > 15_000, "{taken} {refused}");
}

#[test]
fn a_match_of_distance_0_shows_nothing_of_the_memory() {
    let mut decoded = 0;
    for literals in [0, 1, 5, 14, 15, 16, 40, 300] {
        for matched in (4..40).chain([64, 100, 273, 300, 1000]) {
            for tail in [5, 8, 12, 13, 16, 40, 200] {
                let (stream, len) = repeating_nothing(literals, matched, tail);
                let (mut first, mut second) = (vec![0u8; len], vec![0xffu8; len]);
                let result = decompress(&stream, &mut first);
                assert_eq!(decompress(&stream, &mut second), result);
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
                    let n = decompress_front(&stream, &mut second, wanted);
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
