//! Chunks that are damaged in every way: nothing is read or written outside of the buffers, and
//! every call ends.
//!
//! Each buffer ends at a page that cannot be accessed. As the documentation demands, a chunk is
//! only read after `blosc_cbuffer_validate` has confirmed its size.

use super::common::{COMPRESSORS, Lib, OVERHEAD, Settings, alone, ours};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::random::Rng;
use std::ffi::c_int;
use std::ptr::null_mut;

/// The number of chunks for each compressor; twenty times as many with `OXIBLOSC_DAMAGE=full`.
fn rounds() -> usize {
    match std::env::var("OXIBLOSC_DAMAGE").as_deref() {
        Ok("full") => 80_000,
        _ => 4000,
    }
}

/// Memory that ends at a page that cannot be accessed.
struct Guarded {
    base: *mut u8,
    len: usize,
}

const PAGE: usize = 4096;

impl Guarded {
    fn new(most: usize) -> Self {
        let len = most.next_multiple_of(PAGE);
        // SAFETY: new memory, whose last page is then protected.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let base = libc::mmap(
                null_mut(),
                len + PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            );
            assert_ne!(base, libc::MAP_FAILED);
            let base: *mut u8 = base.cast();
            assert_eq!(
                libc::mprotect(base.add(len).cast(), PAGE, libc::PROT_NONE),
                0
            );
            Self { base, len }
        }
    }

    /// The last `len` bytes before that page.
    fn last(&mut self, len: usize) -> &mut [u8] {
        assert!(len <= self.len);
        // SAFETY: within the memory, which is borrowed with `self`.
        unsafe { std::slice::from_raw_parts_mut(self.base.add(self.len - len), len) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: as it was mapped.
        unsafe { libc::munmap(self.base.cast(), self.len + PAGE) };
    }
}

fn damage(chunk: &mut [u8], rng: &mut Rng) {
    for _ in 0..=rng.below(3) {
        let at = match rng.below(3) {
            0 => rng.below(OVERHEAD.min(chunk.len())),
            1 => rng.below(chunk.len().min(120)),
            _ => rng.below(chunk.len()),
        };
        match rng.below(4) {
            0 => chunk[at] ^= 1 << rng.below(8),
            1 => chunk[at] = rng.next() as u8,
            2 => {
                let len = chunk.len();
                let value = rng.pick(&[
                    0,
                    1,
                    -1,
                    16,
                    127,
                    128,
                    len as i32,
                    len as i32 - 4,
                    i32::MAX,
                    i32::MIN,
                ]);
                let value = value.wrapping_add(rng.below(3) as i32 - 1).to_le_bytes();
                let at = at / 4 * 4;
                chunk[at..(at + 4).min(len)].copy_from_slice(&value[..4.min(len - at)]);
            }
            _ => {
                let from = rng.below(chunk.len());
                let len = rng.below(chunk.len() - at.max(from));
                chunk.copy_within(from..from + len, at);
            }
        }
    }
}

/// How many chunks got how far.
#[derive(Debug, Default)]
struct Fates {
    validated: usize,
    decoded: usize,
    refused: usize,
    /// Items that were read one range at a time, from chunks that could also be decompressed as a
    /// whole.
    items: usize,
}

/// Calls every function that reads chunks.
fn read_all(
    lib: &Lib,
    chunk: &[u8],
    nbytes: usize,
    dest: &mut Guarded,
    rng: &mut Rng,
    fates: &mut Fates,
) {
    let f = &lib.f;
    let from = chunk.as_ptr().cast();
    let mut size = 0;
    // SAFETY: the buffers have these sizes.
    if unsafe { (f.blosc_cbuffer_validate)(from, chunk.len(), &mut size) } != 0 {
        return;
    }
    fates.validated += 1;
    let any = rng.below(nbytes + 1);
    let capacity = rng.pick(&[nbytes, nbytes, size.min(dest.len), any]);
    // SAFETY: the chunk's size is what its header says, which was asked first; `out` has its own.
    let mut decompress = |nthreads, fill| unsafe {
        let out = dest.last(capacity);
        out.fill(fill);
        let code = (f.blosc_decompress_ctx)(from, out.as_mut_ptr().cast(), capacity, nthreads);
        (code, out.to_vec())
    };
    let (code, whole) = decompress(1, 0);
    assert!(code <= capacity as c_int);
    if code < 0 {
        fates.refused += 1;
    } else {
        fates.decoded += 1;
        let len = code as usize;
        let (other_code, other) = decompress(rng.pick(&[1, 2, 3]), 0xff);
        assert_eq!(other_code, code, "another number of threads");
        assert!(other[..len] == whole[..len], "another number of threads");
    }
    let typesize = usize::from(chunk[3]).max(1);
    let nitems = rng.below(dest.len.min(nbytes) / typesize + 1);
    let start = rng.below(nbytes / typesize + 2) as c_int - 1;
    let items = dest.last(nitems * typesize);
    let to = items.as_mut_ptr().cast();
    // SAFETY: as above.
    let got = unsafe { (f.blosc_getitem)(from, start, nitems as c_int, to) };
    assert!(got < 0 || got == (nitems * typesize) as c_int);
    if got > 0 && code > 0 {
        let at = start as usize * typesize;
        let len = items.len();
        assert!(
            whole[..code as usize].get(at..at + len) == Some(items),
            "items"
        );
        fates.items += nitems;
    }
}

#[test]
fn no_chunk_leads_outside_of_the_buffers() {
    let (lib, _alone) = (ours(), alone());
    let mut rng = Rng(41);
    let (mut source, mut dest) = (Guarded::new(1 << 20), Guarded::new(1 << 20));
    for compressor in COMPRESSORS {
        let mut chunk = Vec::new();
        let (mut nbytes, mut fates) = (0, Fates::default());
        for round in 0..rounds() {
            if round % 50 == 0 {
                nbytes = rng.pick(&[0, 100, 1000, 4096, 30_001, 150_000]);
                let settings = Settings {
                    clevel: rng.below(10) as c_int,
                    shuffle: rng.below(3) as c_int,
                    typesize: rng.pick(&[1, 2, 4, 8, 17]),
                    compressor,
                    blocksize: rng.pick(&[0, 0, 512, 4096]),
                    nthreads: 1,
                };
                let data = rng.pick(&Kind::ALL).bytes(nbytes, round as u64);
                chunk = lib.compress(&settings, &data, nbytes + OVERHEAD).1;
            }
            let cut = if rng.below(8) == 0 {
                rng.below(chunk.len() + 1)
            } else {
                chunk.len()
            };
            let damaged = source.last(cut);
            damaged.copy_from_slice(&chunk[..cut]);
            if cut > 0 {
                damage(damaged, &mut rng);
            }
            if cut >= OVERHEAD && rng.below(2) == 0 {
                // With the right length in the header, the parts behind it are read, too.
                damaged[12..16].copy_from_slice(&(cut as i32).to_le_bytes());
            }
            let damaged: &[u8] = damaged;
            read_all(lib, damaged, nbytes, &mut dest, &mut rng, &mut fates);
        }
        println!("{compressor:?}: {fates:?}");
        // Every result occurs often enough: the damage is neither harmless nor found by the first
        // check.
        let least = rounds() / 20;
        let few = [fates.validated, fates.decoded, fates.refused, fates.items];
        assert!(
            few.iter().all(|many| *many > least),
            "{compressor:?}: {fates:?}"
        );
    }
}
