//! Round trips: what is deflated here is inflated by libdeflate.

use libdeflate_sys as sys;

use super::*;
use crate::tests::Numbers;

fn inflated(packed: &[u8], len: usize) -> Vec<u8> {
    let mut back = vec![0; len + 1];
    let (mut taken, mut written) = (0, 0);
    // SAFETY: the decompressor is new, freed at the end, and used here alone; it reads and writes
    // the buffers within their lengths.
    let result = unsafe {
        let inflater = sys::libdeflate_alloc_decompressor();
        let result = sys::libdeflate_deflate_decompress_ex(
            inflater,
            packed.as_ptr().cast(),
            packed.len(),
            back.as_mut_ptr().cast(),
            back.len(),
            &mut taken,
            &mut written,
        );
        sys::libdeflate_free_decompressor(inflater);
        result
    };
    assert_eq!(result, sys::libdeflate_result_LIBDEFLATE_SUCCESS);
    assert_eq!(taken, packed.len());
    back.truncate(written);
    back
}

/// How a stretch is written.
#[derive(Clone, Copy, Debug)]
enum WrittenAs {
    Stored,
    HuffmanOnly,
    Search,
}

/// Deflates stretches into a destination of `capacity` bytes.
fn deflated(
    deflater: &mut Deflater,
    clevel: u8,
    src: &[u8],
    parts: &[(usize, WrittenAs)],
    capacity: usize,
) -> Option<Vec<u8>> {
    let mut dst = vec![0; capacity];
    let mut stream = deflater.stream(clevel, src, &mut dst);
    for &(len, part) in parts {
        match part {
            WrittenAs::Stored => stream.store(len),
            WrittenAs::HuffmanOnly => stream.huffman_only(len),
            WrittenAs::Search => stream.search(len),
        }?;
    }
    let n = stream.finish()?;
    dst.truncate(n);
    Some(dst)
}

/// Deflates stretches and inflates them again. Returns the compressed size.
fn check(deflater: &mut Deflater, clevel: u8, src: &[u8], parts: &[(usize, WrittenAs)]) -> usize {
    let roomy = src.len() + src.len() / 8 + 100;
    let packed = deflated(deflater, clevel, src, parts, roomy).expect("there is room");
    assert!(inflated(&packed, src.len()) == src, "{clevel} {parts:?}");
    let n = packed.len();
    for less in [1, 2, 9, n / 2, n] {
        let none = deflated(deflater, clevel, src, parts, n.saturating_sub(less));
        assert_eq!(none, None, "{clevel} {parts:?}: {less} bytes less");
    }
    // Earlier streams do not influence the bytes.
    let exactly = deflated(deflater, clevel, src, parts, n);
    let fresh = deflated(&mut Deflater::new().unwrap(), clevel, src, parts, roomy);
    for again in [exactly, fresh] {
        assert!(again.as_ref() == Some(&packed), "{clevel} {parts:?}");
    }
    n
}

#[test]
fn stretches_come_back() {
    let mut numbers = Numbers(7);
    let mut deflater = Deflater::new().unwrap();
    for clevel in 1..=9 {
        for round in 0..40 {
            let mut src = Vec::new();
            let mut parts = Vec::new();
            for _ in 0..1 + numbers.below(5) {
                let at = src.len();
                let len = 1 + numbers.below([20, 300, 5000, 60_000][round % 4]);
                let of = [2, 5, 100, 256][numbers.below(4)];
                match numbers.below(3) {
                    0 => src.extend(numbers.bytes(len, of)),
                    1 if at > 0 => {
                        let from = numbers.below(at);
                        for i in 0..len {
                            let byte = src[from + i % (at - from)];
                            src.push(if i % 50 == 49 { 7 } else { byte });
                        }
                    }
                    _ => src.resize(at + len, of as u8),
                }
                let part = match numbers.below(5) {
                    0 => WrittenAs::Stored,
                    1 => WrittenAs::HuffmanOnly,
                    _ => WrittenAs::Search,
                };
                parts.push((len, part));
            }
            check(&mut deflater, clevel, &src, &parts);
        }
    }
}

#[test]
fn nothing_and_little_come_back() {
    let mut deflater = Deflater::new().unwrap();
    for clevel in 1..=9 {
        for len in 0..20 {
            for part in [WrittenAs::Stored, WrittenAs::HuffmanOnly, WrittenAs::Search] {
                check(&mut deflater, clevel, &vec![3; len], &[(len, part)]);
            }
        }
    }
}

/// The hash tables slide several times, and what is skipped may be longer than the window.
#[test]
fn long_streams_come_back_and_refer_across_what_is_passed_over() {
    let mut numbers = Numbers(11);
    let mut deflater = Deflater::new().unwrap();
    let noise = numbers.bytes(400_000, 256);
    for clevel in 1..=9 {
        for gap in [0, 20_000, 70_000, 200_000, 300_000] {
            // Words, noise, and the words again and again.
            let mut src = numbers.bytes(1000, 256);
            src.extend_from_slice(&noise[..gap]);
            let begin = src.len();
            while src.len() < begin + 150_000 {
                let from = src.len() - 1000 - if src.len() == begin { gap } else { 0 };
                src.extend_from_within(from..from + 1000);
            }
            let rest = src.len() - begin;
            let n = check(
                &mut deflater,
                clevel,
                &src,
                &[
                    (1000, WrittenAs::Search),
                    (gap, WrittenAs::Stored),
                    (rest, WrittenAs::Search),
                ],
            );
            let within_the_window = gap < 30_000;
            let most = gap + gap / 10_000 + rest / 50 + if within_the_window { 1100 } else { 2200 };
            assert!(n < most, "{clevel} {gap}: {n} {most}");
        }
    }
}
