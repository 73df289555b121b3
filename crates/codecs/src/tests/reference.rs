//! The reference library, through those of its functions that need no structs.

use super::*;
use core::ffi::{c_char, c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The reference library. Its compressor is a setting of the process, so one test at a time uses
/// it.
struct Reference(
    libloading::Library,
    #[expect(dead_code, reason = "held")] MutexGuard<'static, ()>,
);

static TURN: Mutex<()> = Mutex::new(());

/// Length of the header of a chunk of Blosc 2.
const HEADER: usize = 32;

impl Reference {
    /// Opens the reference, if it is there.
    fn open() -> Option<Self> {
        let path = oxiblosc_testing::needs::reference_path()?;
        // SAFETY: the reference runs no code on loading that would matter here.
        let library = unsafe { libloading::Library::new(path) }.expect("the reference opens");
        let library = Reference(library, TURN.lock().unwrap_or_else(PoisonError::into_inner));
        // SAFETY: the function takes nothing and returns nothing.
        unsafe {
            library
                .0
                .get::<unsafe extern "C" fn()>(b"blosc2_init")
                .unwrap()()
        };
        Some(library)
    }

    /// A chunk of one block and one stream, and where the stream lies in it; `None` if it holds
    /// none.
    fn compress(&self, codec: Codec, clevel: u8, data: &[u8]) -> Option<(Vec<u8>, usize)> {
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
        // SAFETY: the types are those of the reference's headers; the buffers are as long as is
        // said.
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
        let number =
            |at: usize| Some(u32::from_le_bytes(chunk.get(at..at + 4)?.try_into().ok()?) as usize);
        let at = number(HEADER)?;
        let len = number(at)?;
        // Not copied as a whole, one block, and a stream that is neither a run nor stored.
        let plain = chunk[2] & 2 == 0 && number(8)? == data.len() && at == HEADER + 4;
        (plain && len > 1 && len < data.len() && at + 4 + len == chunk.len())
            .then_some((chunk, at + 4))
    }

    /// Decodes a chunk in which `stream` stands in for the one at `at`.
    fn decompress(&self, chunk: &[u8], at: usize, stream: &[u8], len: usize) -> Vec<u8> {
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

#[test]
fn the_reference_reads_ours_and_we_read_its() {
    let Some(reference) = Reference::open() else {
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
                    // Another compressor than the reference's: the bytes are free, their number
                    // nearly not. Where a short stream is cut into many parts, each has a code of
                    // its own; and levels 2 to 5 do not enter all that a long match has, and look
                    // at fewer places where there are many.
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

/// On both sides of the lengths from which on BloscLZ clears its table, with a table that was used
/// before.
#[test]
fn short_streams_of_blosclz_are_the_bytes_of_the_reference() {
    let Some(reference) = Reference::open() else {
        return;
    };
    let mut encoder = Encoder::new();
    let mut compared = 0;
    for clevel in 1..=9 {
        for (name, data) in streams() {
            for len in [1000, 1023, 1024, 1025, 1100, 2047, 2048, 2049, 2100] {
                let Some(data) = data.get(..len) else {
                    continue;
                };
                let Some((chunk, at)) = reference.compress(Codec::BloscLz, clevel, data) else {
                    continue;
                };
                let mut packed = vec![0; len];
                let n = encoder
                    .compress(Codec::BloscLz, clevel, None, data, &mut packed)
                    .unwrap();
                assert!(packed[..n] == chunk[at..], "{clevel} {name}, {len} bytes");
                compared += 1;
            }
        }
    }
    assert!(compared > 900, "only {compared} streams compared");
}

/// Numbers of the kinds that Blosc is for, shuffled as it does it: planes for the levels that split
/// blocks, whole blocks for others.
#[test]
fn zstd_finds_as_much_in_shuffled_numbers_as_the_reference() {
    let Some(reference) = Reference::open() else {
        return;
    };
    let mut numbers = Numbers(5);
    let mut walk = 0;
    let mut kind = |next: &mut dyn FnMut(i64, &mut Numbers) -> i64| -> Vec<u8> {
        (0..65_536)
            .flat_map(|i| next(i, &mut numbers).to_le_bytes())
            .collect()
    };
    // Categories that come several times in a row, and codes each of which is followed by one of
    // three.
    let mut in_runs = |values, longest| {
        let (mut left, mut value) = (0, 0);
        kind(&mut |_, numbers| {
            if left == 0 {
                left = 1 + numbers.below(longest);
                value = numbers.below(values) as i64;
            }
            left -= 1;
            value
        })
    };
    let runs = [(200, 8), (40, 8), (10, 29), (3, 8)]
        .map(|(values, longest)| ("categories", in_runs(values, longest)));
    let (one, other) = (in_runs(20, 11), in_runs(20, 11));
    let pairs = one.chunks(8).zip(other.chunks(8)).take(32_768);
    let turns = pairs
        .flat_map(|(one, other)| [one, other].concat())
        .collect();
    let mut code = 0;
    let codes = kind(&mut |_, numbers| {
        code = (7 * code + 1 + 13 * numbers.below(3) as i64) % 100;
        code
    });
    let kinds = [
        ("codes", codes),
        ("two categories that take turns", turns),
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
        for (name, data) in kinds.iter().chain(&runs) {
            let (mut kind_ours, mut kind_theirs) = (0, 0);
            let block = shuffled(data, 8);
            let len = if clevel < 6 {
                block.len() / 8
            } else {
                block.len()
            };
            encoder.shuffled = true;
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
                kind_ours <= kind_theirs * 1010 / 1000,
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
