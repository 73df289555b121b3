//! Memory maps.

use super::*;
use blosc2::capi::types::blosc2_io;
use std::fs;
use std::ptr::{null, null_mut};

/// `blosc2_stdio_mmap`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Map {
    mode: *const c_char,
    initial_mapping_size: usize,
    needs_free: bool,
    addr: *mut u8,
    urlpath: *mut c_char,
    file_size: usize,
    mapping_size: usize,
    is_memory_only: bool,
    file: *mut c_void,
    fd: c_int,
    access_flags: i64,
    map_flags: i64,
}

impl Map {
    fn new(mode: &std::ffi::CStr, initial_mapping_size: usize) -> Self {
        Self {
            mode: mode.as_ptr(),
            initial_mapping_size,
            needs_free: false,
            addr: null_mut(),
            urlpath: null_mut(),
            file_size: 0,
            mapping_size: 0,
            is_memory_only: false,
            file: null_mut(),
            fd: -1,
            access_flags: -1,
            map_flags: -1,
        }
    }

    fn raw(&mut self) -> *mut c_void {
        (&raw mut *self).cast()
    }

    /// What the fields say, but for addresses. A copy's address space is whole pages with us.
    fn reported(&self) -> String {
        let mapping_size = if self.is_memory_only {
            0
        } else {
            self.mapping_size
        };
        format!(
            "{} {} {} {} {mapping_size} {} {} {} {} {}",
            self.mode.is_null(),
            self.addr.is_null(),
            self.urlpath.is_null(),
            self.file_size,
            self.is_memory_only,
            self.file.is_null(),
            self.fd >= 0,
            self.access_flags,
            self.map_flags,
        )
    }
}

/// A read, with what lies at the address.
unsafe fn read(at: &At, map: &mut Map, size: i64, nitems: i64, position: i64) -> String {
    let mut found = core::ptr::dangling_mut::<c_void>();
    // SAFETY: the map is open; what it gives is there.
    unsafe {
        let n = (at.io.blosc2_stdio_mmap_read)(&mut found, size, nitems, position, map.raw());
        let bytes = if n > 0 && size > 0 {
            digest(core::slice::from_raw_parts(
                found.cast(),
                (size * n) as usize,
            ))
        } else {
            0
        };
        format!("{n} {} {bytes:x}", found.is_null())
    }
}

#[test]
fn maps() {
    compare("mmap", 400, |at, case| {
        let mut random = Random(case);
        let mode = [c"r", c"r+", c"w+", c"c"][case as usize % 4];
        let begin: Vec<u8> = (0..random.below(20_000)).map(|i| (i % 251) as u8).collect();
        fs::write(at.path("file"), &begin).expect("writes");
        let name = at.c("file");
        let mut map = Map::new(mode, random.of(&[0, 1, 5000, 100_000, 1 << 30]));
        let io = &at.io;
        let mut reported = String::new();
        // SAFETY: the strings end; `map` is open until it is destroyed; the buffers are long
        // enough.
        unsafe {
            let stream = (io.blosc2_stdio_mmap_open)(name.as_ptr(), c"rb".as_ptr(), map.raw());
            reported += &format!("{}\n{}\n", stream == map.raw(), map.reported());
            let again = (io.blosc2_stdio_mmap_open)(name.as_ptr(), null(), map.raw());
            let other = (io.blosc2_stdio_mmap_open)(at.c("other").as_ptr(), null(), map.raw());
            reported += &format!("{} {}\n", again == stream, other.is_null());
            for step in 0..40u8 {
                let (size, nitems) = (
                    random.of(&[1, 1, 3, 100, 0, -1]),
                    random.of(&[1, 50, 300, 0, -1]),
                );
                let here = map.file_size as u64;
                let position = match random.below(9) {
                    0 => random.of(&[-1, i64::MIN, i64::MAX, i64::MAX - 3]),
                    _ => random.below(here + 3000) as i64,
                };
                reported += &format!("{step}: {size} {nitems} {position}: ");
                reported += &match random.below(6) {
                    // The reference writes through a map that it cannot write through, and past the
                    // end of what the file of a copy can hold.
                    0..=2 if mode == c"w+" || mode == c"r+" => {
                        let bytes = vec![step; 100_000];
                        let from = bytes.as_ptr().cast();
                        // A file that cannot grow so long is so long for the reference afterwards.
                        let position = position.min(200_000);
                        let n = (io.blosc2_stdio_mmap_write)(from, size, nitems, position, stream);
                        format!("write {n}")
                    }
                    0..=2 if mode == c"c" && here > 0 => {
                        let bytes = [step; 30];
                        let position = position.clamp(-1, here as i64 - 1);
                        let len = 30.min(here as i64 - position);
                        let from = bytes.as_ptr().cast();
                        let n = (io.blosc2_stdio_mmap_write)(from, 1, len, position, stream);
                        format!("write {n}")
                    }
                    // A file longer than its map is nothing that the reference can read.
                    5 if mode == c"w+" || mode == c"r+" => {
                        let size = position.min(200_000).min(map.mapping_size as i64);
                        format!("truncate {}", (io.blosc2_stdio_mmap_truncate)(stream, size))
                    }
                    3 => format!("size {}", (io.blosc2_stdio_mmap_size)(stream)),
                    _ => format!("read {}", read(at, &mut map, size, nitems, position)),
                };
                reported += &format!(" {}\n", map.reported());
            }
            if mode == c"c" {
                let half = (map.file_size / 2) as i64;
                reported += &format!("{} ", (io.blosc2_stdio_mmap_truncate)(stream, half));
                reported += &read(at, &mut map, 1, half, 0);
                reported += &read(at, &mut map, 1, half + 1, 0);
            }
            reported += &format!(
                "{} {} {}",
                (io.blosc2_stdio_mmap_close)(stream),
                (io.blosc2_stdio_mmap_destroy)(stream),
                map.reported()
            );
        }
        reported
    });
}

#[test]
fn maps_that_are_none() {
    compare("mmap-edges", 1, |at, _| {
        let io = &at.io;
        let mut reported = Vec::new();
        let file = at.c("file");
        fs::write(at.path("file"), b"0123456789").expect("writes");
        // SAFETY: the strings end; every struct is as it was made, or as the library left it.
        unsafe {
            let open = |name: *const c_char, map: &mut Map| {
                let stream = (io.blosc2_stdio_mmap_open)(name, c"rb".as_ptr(), map.raw());
                format!(
                    "{} {} {}",
                    stream.is_null(),
                    map.addr.is_null(),
                    map.urlpath.is_null()
                )
            };
            reported.push(open(null(), &mut Map::new(c"r", 1)));
            reported.push(open(at.c("missing").as_ptr(), &mut Map::new(c"r", 1)));
            reported.push(open(at.c("missing").as_ptr(), &mut Map::new(c"r+", 1)));
            reported.push(open(at.c("missing").as_ptr(), &mut Map::new(c"c", 1)));
            reported.push(open(at.c("none/file").as_ptr(), &mut Map::new(c"w+", 1)));
            reported.push(open(at.c("").as_ptr(), &mut Map::new(c"r", 1)));
            for mode in [c"", c"rb", c"w", c"a", c"R", c"r+ "] {
                reported.push(open(file.as_ptr(), &mut Map::new(mode, 1)));
            }
            reported.push(open(
                file.as_ptr(),
                &mut Map {
                    mode: null(),
                    ..Map::new(c"r", 1)
                },
            ));
            reported.push(open(file.as_ptr(), &mut Map::new(c"r+", usize::MAX)));
            let nothing = (io.blosc2_stdio_mmap_open)(file.as_ptr(), null(), null_mut());
            reported.push(nothing.is_null().to_string());
            let mut never = Map::new(c"r", 1);
            reported.push(format!(
                "{} {} {} {} {}",
                (io.blosc2_stdio_mmap_destroy)(null_mut()),
                (io.blosc2_stdio_mmap_size)(never.raw()),
                (io.blosc2_stdio_mmap_truncate)(never.raw(), 0),
                (io.blosc2_stdio_mmap_close)(null_mut()),
                (io.blosc2_stdio_mmap_destroy)(never.raw()),
            ));
            // A struct that tells of memory, with no file.
            let mut bytes = [5u8; 32];
            let mut memory = Map {
                addr: bytes.as_mut_ptr(),
                file_size: 32,
                mapping_size: 32,
                ..Map::new(c"r", 1)
            };
            for (size, nitems, position) in [
                (1, 4, 8),
                (4, 8, 0),
                (1, 0, 32),
                (1, 1, i64::MAX),
                (-1, 1, 0),
                (i64::MAX, 2, 0),
            ] {
                let from = [9u8; 32];
                let n = (io.blosc2_stdio_mmap_write)(
                    from.as_ptr().cast(),
                    size,
                    nitems,
                    position,
                    memory.raw(),
                );
                reported.push(format!(
                    "{n} {}",
                    read(at, &mut memory, size, nitems, position)
                ));
            }
            reported.push(read(at, &mut memory, 1, 8, 28));
            reported.push(format!(
                "{} {} {}",
                (io.blosc2_stdio_mmap_read)(null_mut(), 1, 1, 0, memory.raw()),
                (io.blosc2_stdio_mmap_truncate)(memory.raw(), 32),
                digest(&bytes)
            ));
            // A struct that the library frees.
            let heap: *mut Map = libc::malloc(size_of::<Map>()).cast();
            heap.write(Map {
                needs_free: true,
                ..Map::new(c"r", 1)
            });
            let stream = (io.blosc2_stdio_mmap_open)(file.as_ptr(), null(), heap.cast());
            reported.push(format!(
                "{} {}",
                stream == heap.cast(),
                (io.blosc2_stdio_mmap_destroy)(heap.cast())
            ));
        }
        reported.join("\n")
    });
}

/// The fields follow the file of a super-chunk, which grows and shrinks.
#[test]
fn fields_follow_a_super_chunk() {
    let Some((ours, reference)) = oxiblosc_testing::library::both() else {
        return;
    };
    for lib in [ours, reference] {
        let at = At {
            // SAFETY: `Io` is declared after the headers.
            io: unsafe { Io::load(lib.library) }.expect("all are exported"),
            lib,
            folder: std::env::temp_dir().join(format!("oxiblosc-follow-{}", std::process::id())),
        };
        fs::create_dir_all(at.path("")).expect("made");
        let (name, io) = (at.c("frame"), &at.io);
        let mut map = Map::new(c"w+", 100_000);
        let mut choice = blosc2_io {
            id: 1,
            params: map.raw(),
            ..blosc2_io::defaults()
        };
        let mut cparams = blosc2_cparams::defaults();
        let mut storage = blosc2_storage {
            contiguous: true,
            urlpath: name.as_ptr().cast_mut(),
            cparams: &mut cparams,
            io: &mut choice,
            ..blosc2_storage::defaults()
        };
        let mut random = Random(3);
        let data: Vec<u8> = (0..40_000).map(|_| random.below(256) as u8).collect();
        // SAFETY: the parameters outlive the super-chunk; the buffer is as long as is said.
        unsafe {
            let schunk = (io.blosc2_schunk_new)(&mut storage);
            assert!(!schunk.is_null());
            for step in 0..9 {
                let done = match step {
                    0..6 => (io.blosc2_schunk_append_buffer)(schunk, data.as_ptr().cast(), 40_000),
                    6 => (io.blosc2_schunk_delete_chunk)(schunk, 2),
                    _ => {
                        let name = [c"a", c"b"][step - 7].as_ptr();
                        let content = data.as_ptr();
                        (io.blosc2_vlmeta_add)(schunk, name, content, 9000, null_mut()).into()
                    }
                };
                assert!(done >= 0, "{}, {step}", lib.name);
                let map = std::ptr::read_volatile(&map);
                let len = fs::metadata(at.path("frame")).expect("there").len();
                assert_eq!(map.file_size as u64, len, "{}, {step}", lib.name);
                assert!(map.mapping_size >= map.file_size, "{}, {step}", lib.name);
                let start = std::slice::from_raw_parts(map.addr, map.file_size);
                assert!(start == fs::read(at.path("frame")).expect("there"));
            }
            assert_eq!((io.blosc2_schunk_free)(schunk), 0);
        }
        let _ = fs::remove_dir_all(at.path(""));
    }
}

/// What ends the process in the reference: writing where only reading is allowed, copies that
/// outgrow their file, files that are cut short.
#[test]
fn maps_beyond_the_reference() {
    let lib = oxiblosc_testing::library::ours();
    let at = At {
        // SAFETY: `Io` is declared after the headers.
        io: unsafe { Io::load(lib.library) }.expect("all are exported"),
        lib,
        folder: std::env::temp_dir().join(format!("oxiblosc-maps-{}", std::process::id())),
    };
    fs::create_dir_all(at.path("")).expect("made");
    fs::write(at.path("file"), [1u8; 10_000]).expect("writes");
    let name = at.c("file");
    let io = &at.io;
    let bytes = [3u8; 50_000];
    let from: *const c_void = bytes.as_ptr().cast();
    // SAFETY: the strings end; the maps are open until they are destroyed; the buffer is long
    // enough.
    unsafe {
        for mode in [c"r", c"r+", c"c"] {
            let mut map = Map::new(mode, 1);
            let stream = (io.blosc2_stdio_mmap_open)(name.as_ptr(), null(), map.raw());
            assert!(!stream.is_null());
            let written = (io.blosc2_stdio_mmap_write)(from, 1, 10, 5, stream);
            assert_eq!(written, if mode == c"r" { 0 } else { 10 });
            if mode == c"c" {
                assert_eq!(
                    (io.blosc2_stdio_mmap_write)(from, 1, 50_000, 9000, stream),
                    50_000
                );
                assert_eq!((io.blosc2_stdio_mmap_size)(stream), 59_000);
                assert_eq!(
                    (
                        map.file_size,
                        fs::metadata(at.path("file")).expect("there").len()
                    ),
                    (59_000, 10_000)
                );
                let all = core::slice::from_raw_parts(map.addr, map.file_size);
                assert!(all[9000..] == bytes[..] && all[15..9000] == [1u8; 8985][..]);
                assert_eq!((io.blosc2_stdio_mmap_truncate)(stream, 70_000), 0);
                assert_eq!((io.blosc2_stdio_mmap_truncate)(stream, 10_000), 0);
            }
            let file = fs::OpenOptions::new().write(true).open(at.path("file"));
            file.expect("opens").set_len(100).expect("truncates");
            let mut found = null_mut();
            assert_eq!(
                (io.blosc2_stdio_mmap_read)(&mut found, 1, 10, 9000, stream),
                0
            );
            assert!(found.is_null());
            assert_eq!(
                (io.blosc2_stdio_mmap_read)(&mut found, 1, 10, 90, stream),
                10
            );
            assert_eq!((io.blosc2_stdio_mmap_destroy)(stream), 0);
            fs::write(at.path("file"), [1u8; 10_000]).expect("writes");
        }
        let mut found = null_mut();
        assert_eq!((io.blosc2_stdio_mmap_size)(null_mut()), -1);
        assert_eq!((io.blosc2_stdio_mmap_write)(from, 1, 1, 0, null_mut()), 0);
        assert_eq!(
            (io.blosc2_stdio_mmap_read)(&mut found, 1, 1, 0, null_mut()),
            0
        );
        assert_eq!((io.blosc2_stdio_mmap_truncate)(null_mut(), 1), -1);
    }
    let _ = fs::remove_dir_all(at.path(""));
}
