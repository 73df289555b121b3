//! Files, paths and positions in arrays.

use super::*;
use std::fs;
use std::os::unix::fs::symlink;
use std::ptr::{null, null_mut};

const MODES: [&str; 13] = [
    "rb",
    "rb+",
    "wb",
    "wb+",
    "ab",
    "ab+",
    "r",
    "w",
    "r+b",
    "wbx",
    "",
    "q",
    "rb,ccs=UTF-8",
];

/// Sizes, counts and positions, most of them in order.
const NUMBERS: [i64; 12] = [0, 1, 2, 3, 7, 8, 30, 100, 200, -1, i64::MIN, 5];

#[test]
fn files() {
    compare("stdio", 600, |at, case| {
        let mut random = Random(case);
        let name = at.c("file");
        if case % 4 != 0 {
            fs::write(at.path("file"), vec![7u8; random.below(3000) as usize]).expect("writes");
        }
        let mode = CString::new(MODES[case as usize % MODES.len()]).expect("no zero inside");
        let mut reported = String::new();
        // SAFETY: the strings end, the buffers have the sizes that go with them, the stream is
        // open.
        unsafe {
            let stream = (at.io.blosc2_stdio_open)(name.as_ptr(), mode.as_ptr(), null_mut());
            if stream.is_null() {
                return format!("{mode:?} not opened");
            }
            for step in 0..30u8 {
                let (size, nitems) = (random.of(&NUMBERS), random.of(&NUMBERS));
                let position = match random.below(8) {
                    0 => random.of(&[-1, i64::MIN, i64::MAX - 3]),
                    _ => random.below(4000) as i64,
                };
                let result = match random.below(7) {
                    0..=2 => {
                        let bytes = vec![step; 40_000];
                        let from = bytes.as_ptr().cast();
                        (at.io.blosc2_stdio_write)(from, size, nitems, position, stream)
                    }
                    3..=4 => {
                        let mut bytes = vec![0xEEu8; 40_000];
                        let mut to = bytes.as_mut_ptr().cast();
                        let read =
                            (at.io.blosc2_stdio_read)(&mut to, size, nitems, position, stream);
                        reported += &format!("{} ", to == bytes.as_mut_ptr().cast());
                        reported += &format!("{:x} ", digest(&bytes));
                        read
                    }
                    5 => (at.io.blosc2_stdio_size)(stream),
                    _ => i64::from((at.io.blosc2_stdio_truncate)(stream, position)),
                };
                reported += &format!("{mode:?} {step}: {size} {nitems} {position} -> {result}\n");
            }
            reported + &format!("{}", (at.io.blosc2_stdio_close)(stream))
        }
    });
}

#[test]
fn files_that_are_none() {
    compare("stdio-edges", 1, |at, _| {
        let mut reported = Vec::new();
        let (missing, folder) = (at.c("missing"), at.c(""));
        let mut bytes = [0xEEu8; 8];
        let from: *const c_void = bytes.as_ptr().cast();
        let (nothing, huge) = (null_mut(), i64::MAX);
        // SAFETY: the strings end; nothing is read or written without a stream.
        unsafe {
            let io = &at.io;
            let open = io.blosc2_stdio_open;
            reported.push(i64::from(open(null(), c"rb".as_ptr(), nothing).is_null()));
            reported.push(i64::from(open(missing.as_ptr(), null(), nothing).is_null()));
            reported.push(i64::from(
                open(missing.as_ptr(), c"rb".as_ptr(), nothing).is_null(),
            ));
            reported.push(i64::from(
                open(folder.as_ptr(), c"rb+".as_ptr(), nothing).is_null(),
            ));
            let mut empty: *mut c_void = nothing;
            for stream in [nothing, (&raw mut empty).cast()] {
                let mut to: *mut c_void = bytes.as_mut_ptr().cast();
                reported.push(i64::from((io.blosc2_stdio_close)(stream)));
                reported.push((io.blosc2_stdio_size)(stream));
                reported.push(i64::from((io.blosc2_stdio_truncate)(stream, 0)));
                reported.push((io.blosc2_stdio_write)(from, 1, 1, 0, stream));
                reported.push((io.blosc2_stdio_read)(&mut to, 1, 1, 0, stream));
            }
            reported.push(i64::from((io.blosc2_stdio_destroy)(nothing)));
            let directory = open(folder.as_ptr(), c"rb".as_ptr(), nothing);
            if !directory.is_null() {
                let mut to: *mut c_void = bytes.as_mut_ptr().cast();
                reported.push((io.blosc2_stdio_read)(&mut to, 1, 8, 0, directory));
                reported.push((io.blosc2_stdio_write)(from, 1, 8, 0, directory));
                reported.push((io.blosc2_stdio_size)(directory));
                reported.push(i64::from((io.blosc2_stdio_truncate)(directory, 1)));
                reported.push(i64::from((io.blosc2_stdio_close)(directory)));
            }
            let name = at.c("file");
            let stream = open(name.as_ptr(), c"wb+".as_ptr(), nothing);
            reported.push((io.blosc2_stdio_write)(from, 1, 8, 0, stream));
            reported.push((io.blosc2_stdio_write)(from, 3, 2, 7, stream));
            for (size, nitems, position) in [
                (1, 8, 0),
                (1, 100, 3),
                (3, 100, 0),
                (0, 5, 0),
                (5, 0, 0),
                (huge, 2, 0),
                (1, 1, huge),
                (-1, 1, 0),
                (1, -1, 0),
                (1, 1, -1),
            ] {
                let mut buffer = [0u8; 400];
                let mut to: *mut c_void = buffer.as_mut_ptr().cast();
                reported.push((io.blosc2_stdio_read)(
                    &mut to, size, nitems, position, stream,
                ));
                let mut null: *mut c_void = nothing;
                reported.push((io.blosc2_stdio_read)(
                    &mut null, size, nitems, position, stream,
                ));
                reported.push(i64::from(null.is_null()));
                reported.push((io.blosc2_stdio_read)(
                    null_mut(),
                    size,
                    nitems,
                    position,
                    stream,
                ));
                reported.push((io.blosc2_stdio_write)(
                    core::ptr::null(),
                    size,
                    nitems,
                    position,
                    stream,
                ));
                reported.push(digest(&buffer) as i64);
            }
            reported.push((io.blosc2_stdio_write)(from, huge, 2, 0, stream));
            reported.push(i64::from((io.blosc2_stdio_truncate)(stream, -1)));
            reported.push(i64::from((io.blosc2_stdio_truncate)(stream, huge)));
            reported.push(i64::from((io.blosc2_stdio_close)(stream)));
        }
        format!("{reported:?}")
    });
}

#[test]
fn paths() {
    compare("paths", 1, |at, _| {
        let mut reported = Vec::new();
        // SAFETY: the strings end.
        let remove = |name: &str| unsafe { (at.io.blosc2_remove_urlpath)(at.c(name).as_ptr()) };
        // SAFETY: as above.
        let remove_dir = |name: &str| unsafe { (at.io.blosc2_remove_dir)(at.c(name).as_ptr()) };
        // SAFETY: as above; the strings are not written to.
        let rename = |from: &str, to: &str| unsafe {
            let (from, to) = (at.c(from), at.c(to));
            (at.io.blosc2_rename_urlpath)(from.as_ptr().cast_mut(), to.as_ptr().cast_mut())
        };
        // SAFETY: null pointers are allowed, and an empty string ends.
        unsafe {
            reported.push((at.io.blosc2_remove_urlpath)(null()));
            reported.push((at.io.blosc2_remove_urlpath)(c"".as_ptr()));
            reported.push((at.io.blosc2_remove_dir)(null()));
            reported.push((at.io.blosc2_remove_dir)(c"".as_ptr()));
            reported.push((at.io.blosc2_rename_urlpath)(null_mut(), null_mut()));
            let a = at.c("a");
            reported.push((at.io.blosc2_rename_urlpath)(
                a.as_ptr().cast_mut(),
                null_mut(),
            ));
        }
        let touch = |name: &str| fs::write(at.path(name), name).expect("writes");
        reported.extend([
            remove("missing"),
            remove_dir("missing"),
            rename("missing", "a"),
        ]);
        touch("a");
        touch("a.b2lock");
        touch("b");
        reported.extend([remove("a/b"), remove_dir("a"), rename("a", "none/b")]);
        reported.extend([rename("a", "b"), remove("b"), remove("b")]);
        fs::create_dir(at.path("full")).expect("made");
        fs::create_dir(at.path("elsewhere")).expect("made");
        touch("full/1");
        touch("full/.2");
        touch("elsewhere/kept");
        symlink(at.path("elsewhere"), at.path("full/link")).expect("linked");
        symlink(at.path("elsewhere/kept"), at.path("full/file")).expect("linked");
        reported.extend([rename("full", "moved"), remove("moved")]);
        reported.extend([rename("elsewhere", "a"), rename("a", "elsewhere")]);
        fs::create_dir_all(at.path("deep/inside")).expect("made");
        reported.extend([
            remove("deep"),
            remove_dir("deep"),
            remove_dir("deep/inside/"),
        ]);
        symlink("nowhere", at.path("dangling")).expect("linked");
        reported.push(remove("dangling"));
        symlink(at.path("elsewhere/kept"), at.path("link")).expect("linked");
        reported.push(remove("link"));
        symlink(at.path("elsewhere"), at.path("directory")).expect("linked");
        reported.push(remove("directory"));
        format!("{reported:?}")
    });
}

/// Where ours goes its own way: a directory with a directory in it loses nothing, a dangling link
/// goes with the rest, and a socket is a file.
#[test]
fn paths_beyond_the_reference() {
    let at = At {
        // SAFETY: `Io` is declared after the headers.
        io: unsafe { Io::load(oxiblosc_testing::library::ours().library) }
            .expect("all are exported"),
        lib: oxiblosc_testing::library::ours(),
        folder: std::env::temp_dir().join(format!("oxiblosc-beyond-{}", std::process::id())),
    };
    fs::create_dir_all(at.path("deep/inside")).expect("made");
    fs::write(at.path("deep/file"), "x").expect("writes");
    fs::create_dir(at.path("links")).expect("made");
    symlink("nowhere", at.path("links/dangling")).expect("linked");
    drop(std::os::unix::net::UnixListener::bind(at.path("socket")).expect("binds"));
    let remove = |name: &str| {
        // SAFETY: the string ends.
        unsafe { (at.io.blosc2_remove_urlpath)(at.c(name).as_ptr()) }
    };
    assert_eq!(remove("deep"), -1);
    assert!(at.path("deep/file").exists());
    assert_eq!((remove("links"), at.path("links").exists()), (0, false));
    assert_eq!((remove("socket"), at.path("socket").exists()), (0, false));
    let _ = fs::remove_dir_all(at.path(""));
}

#[test]
fn positions_in_arrays() {
    compare("indices", 3000, |at, case| {
        let mut random = Random(case);
        let ndim = random.below(17) as usize;
        let mut shape: Vec<i64> = (0..ndim).map(|_| random.below(9) as i64 + 1).collect();
        let strides: Vec<i64> = (0..ndim).map(|_| random.below(99) as i64 - 9).collect();
        let at_item = random.below(1 << 20) as i64 - random.below(3) as i64;
        let mut index = vec![-7; ndim];
        let mut sum = -7;
        // SAFETY: the arrays have `ndim` numbers each.
        unsafe {
            (at.io.blosc2_unidim_to_multidim)(
                ndim as u8,
                shape.as_mut_ptr(),
                at_item,
                index.as_mut_ptr(),
            );
            (at.io.blosc2_multidim_to_unidim)(
                index.as_ptr(),
                ndim as i8,
                strides.as_ptr(),
                &mut sum,
            );
            let mut none = -7;
            (at.io.blosc2_multidim_to_unidim)(null(), 0, null(), &mut none);
            (at.io.blosc2_unidim_to_multidim)(0, null_mut(), 5, null_mut());
            format!("{shape:?} {at_item} -> {index:?} {sum} {none}")
        }
    });
}

/// Arguments that the reference divides by, or runs past.
#[test]
fn positions_beyond_the_reference() {
    // SAFETY: `Io` is declared after the headers.
    let io =
        unsafe { Io::load(oxiblosc_testing::library::ours().library) }.expect("all are exported");
    let mut shape = [3, 0, 2];
    let mut index = [-7; 3];
    let mut long = [2i64; 255];
    let mut far = [-7i64; 255];
    let mut sum = -7;
    // SAFETY: the arrays have so many numbers; null pointers are answered.
    unsafe {
        (io.blosc2_unidim_to_multidim)(3, shape.as_mut_ptr(), 5, index.as_mut_ptr());
        assert_eq!(index, [0, 0, 1]);
        (io.blosc2_unidim_to_multidim)(255, long.as_mut_ptr(), 5, far.as_mut_ptr());
        assert_eq!(far[250..], [0, 0, 1, 0, 1]);
        (io.blosc2_unidim_to_multidim)(3, null_mut(), 5, index.as_mut_ptr());
        (io.blosc2_multidim_to_unidim)(null(), 3, null(), &mut sum);
        (io.blosc2_multidim_to_unidim)(null(), 0, null(), null_mut());
        (io.blosc2_multidim_to_unidim)([i64::MAX; 2].as_ptr(), 2, [2; 2].as_ptr(), &mut sum);
    }
    assert_eq!(sum, -4);
}
