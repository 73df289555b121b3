//! The results of functions without data, and of all functions with wrong parameters, beside
//! c-blosc's.

use super::common::{COMPRESSORS, Lib, OVERHEAD, Settings, both, text};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::random::Rng;
use std::ffi::{CStr, c_char, c_int};
use std::ptr::{null, null_mut};

const LZ4: Settings = Settings {
    clevel: 5,
    shuffle: 1,
    typesize: 4,
    compressor: c"lz4",
    blocksize: 0,
    nthreads: 1,
};

/// What a library returns about the compressors.
fn compressors(lib: &Lib) -> Vec<String> {
    // SAFETY: takes nothing.
    let all = unsafe { (lib.f.blosc_list_compressors)() };
    let mut said = vec![format!("{:?}", text(all))];
    for code in -2..8 {
        let mut name = null();
        // SAFETY: a place for the name.
        let found = unsafe { (lib.f.blosc_compcode_to_compname)(code, &mut name) };
        said.push(format!("{code}: {found} {:?}", text(name)));
    }
    for name in COMPRESSORS.iter().chain(&[c"LZ4", c"", c"openzl"]) {
        let (mut library, mut version) = (null_mut::<c_char>(), null_mut::<c_char>());
        // SAFETY: places for two texts, which belong to the caller.
        let (code, info, quiet) = unsafe {
            (
                (lib.f.blosc_compname_to_compcode)(name.as_ptr()),
                (lib.f.blosc_get_complib_info)(name.as_ptr(), &mut library, &mut version),
                (lib.f.blosc_get_complib_info)(name.as_ptr(), null_mut(), null_mut()),
            )
        };
        let has_version = text(version).is_some_and(|version| !version.is_empty());
        said.push(format!(
            "{name:?}: {code} {info} {quiet} {:?} {has_version}",
            text(library)
        ));
        for taken in [library, version] {
            // SAFETY: made with malloc, or null.
            unsafe { libc::free(taken.cast()) };
        }
    }
    said
}

#[test]
fn the_compressors_are_those_of_c_blosc() {
    let Some((ours, reference, _alone)) = both() else {
        return;
    };
    assert_eq!(compressors(ours), compressors(reference));
    // SAFETY: takes nothing.
    let version = unsafe { (ours.f.blosc_get_version_string)() };
    assert_eq!(text(version).as_deref(), Some("1.21.6"));
}

/// What a library returns while its settings are changed step by step.
fn changed_settings(lib: &Lib) -> Vec<String> {
    let mut said = Vec::new();
    // SAFETY: plain settings.
    unsafe {
        let f = &lib.f;
        for n in [1, 4, 4, 0, -3, 300, 2] {
            said.push(format!(
                "{} {}",
                (f.blosc_set_nthreads)(n),
                (f.blosc_get_nthreads)()
            ));
        }
        for size in [
            0,
            1,
            4096,
            i32::MAX as usize,
            1 << 31,
            (1 << 32) + 5,
            usize::MAX,
        ] {
            (f.blosc_set_blocksize)(size);
            said.push((f.blosc_get_blocksize)().to_string());
        }
        for name in COMPRESSORS.iter().chain(&[c"Zstd", c""]) {
            let code = lib.set_compressor(name);
            said.push(format!("{code} {:?}", text((f.blosc_get_compressor)())));
        }
        (f.blosc_set_blocksize)(0);
        // No compressor is set, so nothing can be compressed, but limits are checked first.
        let data = [7; 1000];
        said.push(format!("{:?}", lib.compress_global((5, 1, 4), &data, 2000)));
        said.push(format!("{:?}", lib.compress_global((5, 1, 4), &data, 15)));
        said.push(format!(
            "{:?}",
            lib.compress_global((50, 1, 4), &data, 2000)
        ));
        (f.blosc_set_nthreads)(1);
        said.push((f.blosc_free_resources)().to_string());
        (f.blosc_destroy)();
        said.push((f.blosc_free_resources)().to_string());
        (f.blosc_destroy)();
        (f.blosc_init)();
        said.push((f.blosc_free_resources)().to_string());
    }
    said
}

#[test]
fn settings_are_kept_as_c_blosc_keeps_them() {
    let Some((ours, reference, _alone)) = both() else {
        return;
    };
    assert_eq!(changed_settings(ours), changed_settings(reference));
}

/// Calls with impossible settings or too little room: a name, the settings, the size of the data,
/// and the room.
fn impossible() -> Vec<(&'static str, Settings, usize, usize)> {
    let stored = Settings { clevel: 0, ..LZ4 };
    vec![
        ("level -1", Settings { clevel: -1, ..LZ4 }, 1000, 2000),
        ("level 10", Settings { clevel: 10, ..LZ4 }, 1000, 2000),
        ("shuffle -1", Settings { shuffle: -1, ..LZ4 }, 1000, 2000),
        ("shuffle 3", Settings { shuffle: 3, ..LZ4 }, 1000, 2000),
        (
            "no compressor",
            Settings {
                compressor: c"none",
                ..LZ4
            },
            1000,
            2000,
        ),
        (
            "no compressor, no room",
            Settings {
                compressor: c"none",
                ..LZ4
            },
            1000,
            15,
        ),
        (
            "no compressor, level 10",
            Settings {
                compressor: c"none",
                clevel: 10,
                ..LZ4
            },
            1000,
            2000,
        ),
        ("room 0", LZ4, 1000, 0),
        ("room 15", LZ4, 1000, 15),
        ("room 16", LZ4, 1000, 16),
        ("nothing in 16", LZ4, 0, 16),
        ("nothing in 15", LZ4, 0, 15),
        ("stored, a byte short", stored, 1000, 1015),
        ("stored", stored, 1000, 1016),
        ("small, a byte short", LZ4, 100, 115),
        ("small", LZ4, 100, 116),
        (
            "no threads",
            Settings { nthreads: 0, ..LZ4 },
            600_000,
            700_000,
        ),
        (
            "no threads, one block",
            Settings { nthreads: 0, ..LZ4 },
            6000,
            7000,
        ),
        (
            "-1 threads",
            Settings {
                nthreads: -1,
                ..LZ4
            },
            600_000,
            700_000,
        ),
        (
            "257 threads",
            Settings {
                nthreads: 257,
                blocksize: 4096,
                compressor: c"zstd",
                ..LZ4
            },
            600_000,
            700_000,
        ),
        (
            "257 threads, stored",
            Settings {
                nthreads: 257,
                ..stored
            },
            600_000,
            700_000,
        ),
        (
            "257 threads, stored, no room",
            Settings {
                nthreads: 257,
                ..stored
            },
            600_000,
            600_000,
        ),
    ]
}

#[test]
fn what_cannot_be_done_is_refused_with_the_same_code() {
    let Some((ours, reference, _alone)) = both() else {
        return;
    };
    let data = Kind::WalkInt32.bytes(600_000, 1);
    for (about, settings, nbytes, capacity) in impossible() {
        let [(code, chunk), (expected, theirs)] =
            [ours, reference].map(|lib| lib.compress(&settings, &data[..nbytes], capacity));
        assert_eq!(code, expected, "{about}");
        assert!(chunk == theirs, "{about}");
    }
}

/// The results of reading a chunk, with every wrong destination and range of items.
fn read(lib: &Lib, chunk: &[u8], nbytes: usize, damaged: bool) -> Vec<(c_int, Vec<u8>)> {
    let mut said = Vec::new();
    for (capacity, nthreads) in [
        (nbytes, 1),
        (nbytes + 100, 1),
        (nbytes.saturating_sub(1), 1),
        (nbytes / 2, 1),
        (0, 1),
        (nbytes, 2),
        (nbytes, 0),
        (nbytes, 257),
    ] {
        let (code, data) = lib.decompress(chunk, capacity, nthreads);
        said.push((code, if code > 0 { data } else { Vec::new() }));
    }
    if damaged {
        return said;
    }
    let items = (nbytes / 4) as c_int;
    for (start, nitems) in [
        (0, items),
        (0, 0),
        (items, 0),
        (items, 1),
        (items + 1, 0),
        (-1, 2),
        (1, -2),
        (3, items - 3),
        (1, items),
    ] {
        let (code, data) = lib.getitem(chunk, start, nitems, nbytes);
        said.push((code, if code > 0 { data } else { Vec::new() }));
    }
    said
}

#[test]
fn what_cannot_be_read_is_refused_with_the_same_code() {
    let Some((ours, reference, _alone)) = both() else {
        return;
    };
    for (nbytes, clevel, compressor) in [
        (1000, 5, c"lz4"),
        (400_000, 5, c"zstd"),
        (400_000, 0, c"lz4"),
        (0, 5, c"lz4"),
        (100, 9, c"blosclz"),
    ] {
        let data = Kind::WalkInt32.bytes(nbytes, 2);
        let settings = Settings {
            clevel,
            compressor,
            ..LZ4
        };
        let (_, chunk) = reference.compress(&settings, &data, nbytes + OVERHEAD);
        assert!(
            read(ours, &chunk, nbytes, nbytes == 0) == read(reference, &chunk, nbytes, nbytes == 0),
            "{nbytes} {compressor:?}"
        );
        // One field of the header at a time is changed, except for the sizes, on which the
        // functions rely.
        for (at, value) in [(0, 1), (0, 3), (0, 5), (1, 0), (1, 2), (3, 0), (3, 3)]
            .into_iter()
            .chain((0..8).map(|bit| (2, chunk[2] ^ (1 << bit))))
            .chain((0..8).map(|format| (2, chunk[2] & 0x1f | (format << 5))))
        {
            let mut other = chunk.clone();
            other[at] = value;
            let [ours, theirs] = [ours, reference].map(|lib| {
                let codes = read(lib, &other, nbytes, true)
                    .into_iter()
                    .map(|(code, _)| code);
                let (getitem, _) = lib.getitem(&other, 0, 1, 4);
                (codes.collect::<Vec<_>>(), getitem)
            });
            assert_eq!(
                ours.0, theirs.0,
                "byte {at} of {nbytes} {compressor:?} is {value}"
            );
            let both_fail = ours.1 < 0 && theirs.1 < 0;
            assert!(
                ours.1 == theirs.1 || both_fail,
                "{} for {}: byte {at} is {value}",
                ours.1,
                theirs.1
            );
        }
    }
}

/// The results of the functions for headers.
fn described(lib: &Lib, header: &[u8; 16]) -> String {
    let [
        mut nbytes,
        mut cbytes,
        mut blocksize,
        mut typesize,
        mut valid,
    ] = [77usize; 5];
    let [mut flags, mut version, mut versionlz] = [77; 3];
    let at = header.as_ptr().cast();
    // SAFETY: a header, and variables for all results.
    unsafe {
        (lib.f.blosc_cbuffer_sizes)(at, &mut nbytes, &mut cbytes, &mut blocksize);
        (lib.f.blosc_cbuffer_metainfo)(at, &mut typesize, &mut flags);
        (lib.f.blosc_cbuffer_versions)(at, &mut version, &mut versionlz);
        let library = text((lib.f.blosc_cbuffer_complib)(at));
        let codes = [0, 15, 16, 17, cbytes]
            .map(|size| ((lib.f.blosc_cbuffer_validate)(at, size, &mut valid), valid));
        format!(
            "{nbytes} {cbytes} {blocksize} {typesize} {flags} {version} {versionlz} {library:?} {codes:?}"
        )
    }
}

#[test]
fn headers_are_described_alike() {
    let Some((ours, reference, _alone)) = both() else {
        return;
    };
    let mut rng = Rng(7);
    for _ in 0..20_000 {
        let mut header = [0; 16];
        header.iter_mut().for_each(|byte| *byte = rng.next() as u8);
        header[0] = rng.pick(&[2, 2, 2, 1, 3, 5]);
        for field in [4, 8, 12] {
            let value: i32 = rng.pick(&[
                0,
                1,
                16,
                17,
                1000,
                i32::MAX,
                i32::MAX - 16,
                i32::MAX - 15,
                -1,
                i32::MIN,
            ]);
            header[field..][..4].copy_from_slice(&value.to_le_bytes());
        }
        assert_eq!(
            described(ours, &header),
            described(reference, &header),
            "{header:?}"
        );
    }
}

#[test]
fn pointers_that_are_null_are_refused() {
    let (ours, _alone) = (super::common::ours(), super::common::alone());
    let f = &ours.f;
    let mut buffer = [0u8; 100];
    let to = buffer.as_mut_ptr().cast();
    // SAFETY: null is what the functions have to refuse.
    unsafe {
        assert_eq!((f.blosc_compress)(5, 1, 4, 50, null(), to, 100), -1);
        assert_eq!((f.blosc_compress)(5, 1, 4, 50, to, null_mut(), 100), -1);
        assert_eq!((f.blosc_compress)(5, 1, 4, 50, to, to, 100), -1, "in place");
        assert_eq!(
            (f.blosc_compress_ctx)(5, 1, 4, 0, null(), to, 100, null(), 0, 1),
            -5
        );
        assert_eq!((f.blosc_decompress)(null(), to, 100), -1);
        assert_eq!((f.blosc_getitem)(null(), 0, 1, to), -1);
        assert_eq!((f.blosc_set_compressor)(null()), -1);
        assert_eq!((f.blosc_compname_to_compcode)(null()), -1);
        assert_eq!((f.blosc_compcode_to_compname)(1, null_mut()), 1);
        assert_eq!((f.blosc_cbuffer_validate)(null(), 100, null_mut()), -1);
        (f.blosc_cbuffer_sizes)(null(), null_mut(), null_mut(), null_mut());
        assert_eq!((f.blosc_cbuffer_complib)(null()), null());
    }
    let name: &CStr = c"lz4";
    ours.set_compressor(name);
}

#[test]
fn items_without_a_size_are_bytes() {
    // c-blosc divides by the size of an item.
    let (ours, _alone) = (super::common::ours(), super::common::alone());
    let data = Kind::WalkInt32.bytes(50_000, 3);
    let [none, one] = [0, 1].map(|typesize| {
        ours.compress(&Settings { typesize, ..LZ4 }, &data, 60_000)
            .1
    });
    assert!(none == one && !one.is_empty());
}
