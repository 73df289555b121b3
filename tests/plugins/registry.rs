//! What programs register: the ids, the same again, and many threads at once.

use crate::{again, succeeds};
use core::ffi::{CStr, c_char, c_int, c_void};
use oxiblosc_testing::abi::*;
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::library::{Lib, both, ours};
use std::ptr::{null, null_mut};

fn register_codec(lib: &Lib, id: u8, name: *const c_char) -> c_int {
    let mut codec = Codec {
        compcode: id,
        compname: name.cast_mut(),
        complib: id,
        version: 3,
        encoder: Some(encode),
        decoder: Some(decode),
    };
    // SAFETY: the struct lives across the call, the name for ever.
    unsafe { (lib.f.blosc2_register_codec)(&mut codec) }
}

fn register_filter(lib: &Lib, id: u8, name: *const c_char) -> c_int {
    let mut filter = Filter {
        id,
        name: name.cast_mut(),
        version: 1,
        forward: Some(turn),
        backward: Some(turn_back),
    };
    // SAFETY: as above.
    unsafe { (lib.f.blosc2_register_filter)(&mut filter) }
}

fn register_tuner(lib: &Lib, id: c_int, name: *const c_char) -> c_int {
    let mut tuner = Tuner {
        init: None,
        next_blocksize: None,
        next_cparams: None,
        update: None,
        free: None,
        id,
        name: name.cast_mut(),
    };
    // SAFETY: as above.
    unsafe { (lib.f.blosc2_register_tuner)(&mut tuner) }
}

fn name_of(lib: &Lib, id: c_int) -> (c_int, Option<&'static CStr>) {
    let mut name = null();
    // SAFETY: a place for the name, which the library keeps.
    unsafe {
        let code = (lib.f.blosc2_compcode_to_compname)(id, &raw mut name);
        (code, (!name.is_null()).then(|| CStr::from_ptr(name)))
    }
}

/// Halves what is pairs of the same bytes.
extern "C" fn encode(
    src: *const u8,
    len: i32,
    dst: *mut u8,
    capacity: i32,
    _: u8,
    _: *mut CParams,
    _: *const c_void,
) -> c_int {
    // SAFETY: by the contract of the callback.
    let src = unsafe { std::slice::from_raw_parts(src, len as usize) };
    let (pairs, rest) = src.as_chunks::<2>();
    let packed = len / 2;
    if !rest.is_empty() || packed > capacity || pairs.iter().any(|[a, b]| a != b) {
        return 0;
    }
    for (n, pair) in pairs.iter().enumerate() {
        // SAFETY: there is this much room.
        unsafe { *dst.add(n) = pair[0] };
    }
    packed
}

extern "C" fn decode(
    src: *const u8,
    len: i32,
    dst: *mut u8,
    capacity: i32,
    _: u8,
    _: *mut DParams,
    _: *const c_void,
) -> c_int {
    if capacity < 2 * len {
        return -1;
    }
    for n in 0..2 * len as usize {
        // SAFETY: there is this much room, and half as much to read.
        unsafe { *dst.add(n) = *src.add(n / 2) };
    }
    2 * len
}

extern "C" fn turn(
    src: *const u8,
    dst: *mut u8,
    len: i32,
    by: u8,
    _: *mut CParams,
    _: u8,
) -> c_int {
    for n in 0..len as usize {
        // SAFETY: both are this long.
        unsafe { *dst.add(n) = (*src.add(n)).wrapping_add(by) };
    }
    0
}

extern "C" fn turn_back(
    src: *const u8,
    dst: *mut u8,
    len: i32,
    by: u8,
    _: *mut DParams,
    _: u8,
) -> c_int {
    for n in 0..len as usize {
        // SAFETY: both are this long.
        unsafe { *dst.add(n) = (*src.add(n)).wrapping_sub(by) };
    }
    0
}

/// In a process of its own: what is registered stays.
#[test]
fn ids_and_names_are_taken_as_in_the_reference() {
    const CHILD: &str = "OXIBLOSC_TEST_IDS";
    if std::env::var_os(CHILD).is_none() {
        let test = "registry::ids_and_names_are_taken_as_in_the_reference";
        succeeds(again(test, CHILD, "1"));
        return;
    }
    let Some((ours, reference)) = both() else {
        return;
    };
    let same = |what: &str, call: &dyn Fn(&Lib) -> Vec<c_int>| {
        let (mine, theirs) = (call(ours), call(reference));
        assert_eq!(mine, theirs, "{what}");
        mine
    };
    // The first of a name, the same again, and others with its id.
    let names = [c"first", c"first", c"second", c"first", c"", c"First"].map(CStr::as_ptr);
    let mut accepted = [0; 3];
    for id in 0..=u8::MAX {
        let codecs = same(&format!("codec {id}"), &|lib| {
            names.map(|name| register_codec(lib, id, name)).to_vec()
        });
        let filters = same(&format!("filter {id}"), &|lib| {
            names.map(|name| register_filter(lib, id, name)).to_vec()
        });
        assert_eq!(
            name_of(ours, id.into()),
            name_of(reference, id.into()),
            "{id}"
        );
        for (accepted, codes) in accepted.iter_mut().zip([codecs, filters]) {
            *accepted += usize::from(codes[0] == 0);
        }
    }
    for id in -3..300 {
        // The reference goes on behind its table's last id.
        if id > 255 {
            assert_eq!(register_tuner(ours, id, names[0]), -1);
            continue;
        }
        let tuners = same(&format!("tuner {id}"), &|lib| {
            names.map(|name| register_tuner(lib, id, name)).to_vec()
        });
        accepted[2] += usize::from(tuners[0] == 0);
    }
    assert_eq!(accepted, [96; 3], "from 160 to 255");
    // The reference follows null pointers.
    let null_codec = register_codec(ours, 170, null());
    let null_filter = register_filter(ours, 170, null());
    let null_tuner = register_tuner(ours, 170, null());
    assert_eq!([null_codec, null_filter, null_tuner], [-12; 3]);
    // SAFETY: null pointers, which are looked at.
    let nothing = unsafe {
        [
            (ours.f.blosc2_register_codec)(null_mut()),
            (ours.f.blosc2_register_filter)(null_mut()),
            (ours.f.blosc2_register_tuner)(null_mut()),
        ]
    };
    assert_eq!(nothing, [-12; 3]);
}

/// In a process of its own, since no other test may have registered these ids.
#[test]
fn threads_register_and_use_at_once() {
    const CHILD: &str = "OXIBLOSC_TEST_REGISTER_AND_USE";
    if std::env::var_os(CHILD).is_none() {
        succeeds(again(
            "registry::threads_register_and_use_at_once",
            CHILD,
            "1",
        ));
        return;
    }
    let ours = ours();
    let data = Kind::Text.bytes(20_000, 3);
    let pairs: Vec<u8> = data.iter().flat_map(|byte| [*byte; 2]).collect();
    let names = [c"even".as_ptr() as usize, c"odd".as_ptr() as usize];
    let owners = std::thread::scope(|scope| {
        let threads = [0, 1, 0, 1, 0, 1].map(|n| {
            let pairs = &pairs;
            scope.spawn(move || {
                let name = names[n] as *const c_char;
                let mut owned = 0usize;
                for id in 160..=u8::MAX {
                    let codes = [
                        register_codec(ours, id, name),
                        register_filter(ours, id, name),
                        register_tuner(ours, id.into(), name),
                    ];
                    // Of two names one has it, for all that ask; whoever it is, it can be used.
                    assert!(
                        codes.iter().all(|code| matches!(code, 0 | -1 | -8)),
                        "{codes:?}"
                    );
                    owned += usize::from(codes[0] == 0);
                    let cparams = CParams {
                        compcode: id,
                        typesize: 1,
                        nthreads: 1 + i16::from(id % 2),
                        splitmode: NEVER_SPLIT,
                        filters: [0, 0, 0, 0, 0, id],
                        filters_meta: [0, 0, 0, 0, 0, id],
                        ..CParams::default()
                    };
                    let (rc, chunk) = ours.compress(&cparams, pairs);
                    assert!(rc > 0 && (rc as usize) < pairs.len() * 2 / 3, "{id}: {rc}");
                    let (rc, back) = ours.decompress(&chunk, pairs.len(), 1);
                    assert!(rc as usize == pairs.len() && back == *pairs, "{id}: {rc}");
                    assert!(name_of(ours, id.into()).1.is_some());
                }
                owned
            })
        });
        threads.map(|thread| thread.join().expect("no thread fails"))
    });
    // Threads of the same name were told the same.
    assert_eq!(owners[0] + owners[1], 96);
    assert!(
        owners
            .as_chunks()
            .0
            .iter()
            .all(|pair| *pair == [owners[0], owners[1]])
    );
}
