//! Ways to damage a frame. The places are those of the format: see the document on contiguous
//! frames.

use super::seeds::Seed;
use oxiblosc_testing::data::Rng;
use oxiblosc_testing::fuzz::restamp::{self, be, index};
use oxiblosc_testing::schunk::SchunkLib;

/// Where numbers lie in the header, and how many bytes they take.
const FIELDS: [(usize, usize); 14] = [
    (0x0b, 4),  // header length
    (0x10, 8),  // frame length
    (0x19, 1),  // flags and version
    (0x1a, 1),  // frame type
    (0x1b, 1),  // codec and level
    (0x1c, 1),  // other flags
    (0x1e, 8),  // bytes of data
    (0x27, 8),  // bytes of chunks
    (0x30, 4),  // typesize
    (0x35, 4),  // blocksize
    (0x3a, 4),  // chunksize
    (0x3f, 2),  // threads
    (0x44, 1),  // whether there are variable metalayers
    (0x46, 18), // filters
];
const HEADER_MIN: usize = 0x57;

fn put_be(frame: &mut [u8], at: usize, len: usize, value: u64) {
    if let Some(place) = frame.get_mut(at..at + len) {
        let bytes = value.to_be_bytes();
        for (n, byte) in place.iter_mut().rev().enumerate() {
            *byte = bytes[7 - n.min(7)];
        }
    }
}

/// Numbers that sizes and places are set to.
fn awkward(rng: &mut Rng, near: u64) -> u64 {
    let around = rng.pick(&[
        0,
        near,
        near,
        near / 2,
        2 * near,
        32,
        1 << 31,
        i32::MAX as u64,
        1 << 60,
        i64::MAX as u64,
        u64::MAX,
        1 << 63,
    ]);
    match rng.below(4) {
        0 => rng.next(),
        1 => rng.below(2000) as u64,
        _ => around.wrapping_add(rng.below(9) as u64).wrapping_sub(4),
    }
}

/// Rewrites the index with other offsets, all else being right.
fn offsets(frame: &mut Vec<u8>, contiguous: bool, lib: &SchunkLib, rng: &mut Rng) -> Option<()> {
    let range = index(frame, contiguous)?;
    let chunk = frame[range.clone()].to_vec();
    let nbytes = u32::from_le_bytes(chunk.get(4..8)?.try_into().ok()?) as usize;
    if nbytes > 1 << 16 {
        return None;
    }
    let mut bytes = vec![0; nbytes];
    let f = &lib.lib.f;
    // SAFETY: both pointers are good for the lengths that go with them.
    let rc = unsafe {
        (f.blosc2_decompress)(
            chunk.as_ptr().cast(),
            chunk.len() as i32,
            bytes.as_mut_ptr().cast(),
            nbytes as i32,
        )
    };
    if rc != nbytes as i32 {
        return None;
    }
    let n = nbytes / 8;
    for _ in 0..1 + rng.below(3) {
        let at = 8 * rng.below(n.max(1));
        let value = match rng.below(5) {
            0 => 1 << 63 | (rng.next() & 0xff) << 56,
            1 => awkward(rng, frame.len() as u64),
            2 => (rng.next() as i64 >> rng.below(60)) as u64,
            _ => rng.below(frame.len()) as u64,
        };
        bytes
            .get_mut(at..at + 8)?
            .copy_from_slice(&value.to_le_bytes());
    }
    match rng.below(6) {
        0 => bytes.truncate(8 * rng.below(n + 1)),
        1 => bytes.extend_from_slice(&[0; 16]),
        _ => {}
    }
    let mut to = vec![0; bytes.len() + 64];
    // SAFETY: both pointers are good for the lengths that go with them.
    let rc = unsafe {
        (f.blosc2_compress)(
            5,
            1,
            8,
            bytes.as_ptr().cast(),
            bytes.len() as i32,
            to.as_mut_ptr().cast(),
            to.len() as i32,
        )
    };
    to.truncate(usize::try_from(rc).ok()?);
    frame.splice(range, to);
    Some(())
}

/// One way to damage a contiguous frame, or the index file of a directory.
fn frame(frame: &mut Vec<u8>, contiguous: bool, lib: &SchunkLib, rng: &mut Rng) {
    let len = frame.len();
    if len < HEADER_MIN {
        frame.extend_from_slice(&[0; 40]);
        return;
    }
    let header = (be(frame, 0x0b, 4) as usize).clamp(HEADER_MIN, len);
    let trailer = (be(frame, len - 22, 4) as usize).clamp(1, len);
    let near = frame.len() as u64;
    match rng.below(14) {
        0 => frame[rng.below(len)] ^= 1 << rng.below(8),
        1 => frame[rng.below(header)] = rng.next() as u8,
        2 | 3 => {
            let (at, bytes) = rng.pick(&FIELDS);
            let value = if bytes > 8 || bytes == 1 {
                rng.next()
            } else {
                awkward(rng, near)
            };
            if bytes > 8 {
                let at = at + rng.below(bytes);
                frame[at.min(len - 1)] = value as u8;
            } else {
                put_be(frame, at, bytes, value);
            }
        }
        // The metalayers, behind the fixed part.
        4 if header > HEADER_MIN => {
            let at = HEADER_MIN + rng.below(header - HEADER_MIN);
            match rng.below(3) {
                0 => frame[at] = rng.next() as u8,
                1 => put_be(frame, at, 4, awkward(rng, header as u64)),
                _ => put_be(frame, at, 2, awkward(rng, 16)),
            }
        }
        // The trailer.
        5 | 6 => {
            let at = len - trailer + rng.below(trailer);
            match rng.below(3) {
                0 => frame[at] = rng.next() as u8,
                1 => put_be(frame, at, 4, awkward(rng, trailer as u64)),
                _ => put_be(frame, at, 2, awkward(rng, 16)),
            }
        }
        7 => frame.truncate(rng.below(len + 1)),
        8 => {
            let at = rng.below(len);
            let n = rng.below((len - at).min(100) + 1);
            frame.drain(at..at + n);
        }
        9 => {
            let (from, at) = (rng.below(len), rng.below(len));
            let n = rng.below((len - from).min(len - at).min(64) + 1);
            frame.copy_within(from..from + n, at);
        }
        // A chunk's header.
        10 if header + 40 < len => {
            let at = header + rng.below(32);
            match rng.below(2) {
                0 => frame[at] = rng.next() as u8,
                _ => {
                    let place = header + rng.pick(&[4, 8, 12, 32, 36]);
                    let value = awkward(rng, near) as u32;
                    frame[place..place + 4].copy_from_slice(&value.to_le_bytes());
                }
            }
        }
        // The index chunk's bytes, or what it says.
        11 => {
            if let Some(range) = index(frame, contiguous) {
                let at = range.start + rng.below(range.len());
                frame[at] = rng.next() as u8;
            }
        }
        _ => {
            // Where the index cannot be found it is damaged enough.
            let _ = offsets(frame, contiguous, lib, rng);
        }
    }
}

/// Damages a seed. Most often lengths and checksums are put right again, so that what is behind
/// them is looked at.
pub fn damage(seed: &mut Seed, lib: &SchunkLib, rng: &mut Rng) {
    let times = rng.pick(&[1, 1, 1, 2, 3, 6]);
    match seed {
        Seed::Contiguous(bytes) => {
            (0..times).for_each(|_| frame(bytes, true, lib, rng));
            if rng.below(4) != 0 {
                let len = bytes.len() as u64;
                put_be(bytes, 0x10, 8, len);
            }
            if rng.below(4) != 0 {
                restamp::chunks(bytes, rng.below(2) != 0);
                // Where their places cannot be found it is damaged enough.
                let _ = restamp::frame(bytes, true);
            }
        }
        Seed::Directory(files) => {
            for _ in 0..times {
                let n = files.len();
                if rng.below(3) > 0 {
                    frame(&mut files[0].1, false, lib, rng);
                    continue;
                }
                let at = rng.below(n);
                match rng.below(6) {
                    0 if n > 1 => drop(files.remove(at.max(1))),
                    1 => files[at].1.clear(),
                    2 => files[at].1 = files[rng.below(n)].1.clone(),
                    3 => {
                        let len = files[at].1.len();
                        files[at].1.truncate(rng.below(len + 1));
                    }
                    4 => files.push((
                        rng.pick(&["FFFFFFFF.chunk", "zz.chunk", "00000001.chunk"])
                            .to_owned(),
                        vec![1; 50],
                    )),
                    _ => {
                        let len = files[at].1.len();
                        if len > 0 {
                            files[at].1[rng.below(len.min(48))] = rng.next() as u8;
                        }
                    }
                }
            }
            if rng.below(4) != 0 {
                let len = files[0].1.len() as u64;
                put_be(&mut files[0].1, 0x10, 8, len);
            }
            if rng.below(4) != 0 {
                let _ = restamp::frame(&mut files[0].1, false);
                for (_, chunk) in &mut files[1..] {
                    let _ = restamp::chunk(chunk, rng.below(2) != 0);
                }
            }
        }
    }
}
