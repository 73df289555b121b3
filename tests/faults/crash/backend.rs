//! The same changes through a program's own back end, in memory, that fails at every n-th call: the
//! error comes through, the frame stays as it was, the handle stays usable. In both kinds: one that
//! fills buffers, one that hands out addresses.

use crate::changes::{CHANGES, Change, Start, make, prepare};
use blosc2::capi::types::{blosc2_io, blosc2_io_cb};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;
use oxiblosc_testing::isolated::isolated;
use oxiblosc_testing::report::Report;
use oxiblosc_testing::schunk::{SchunkLib, our_schunks};
use oxiblosc_testing::schunk_state::{State, read};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

/// Ids of the two kinds.
const FILLING: u8 = 201;
const LENDING: u8 = 202;
/// Bytes of a file, which never moves: addresses into it were handed out.
const ROOM: usize = 1 << 20;

struct Stored {
    bytes: Box<[u8]>,
    len: usize,
}

/// The files, the calls so far and the one that fails.
struct Disk {
    files: HashMap<Vec<u8>, Stored>,
    calls: usize,
    fails: usize,
}

static DISK: Mutex<Option<Disk>> = Mutex::new(None);

fn on_disk<T>(what: impl FnOnce(&mut Disk) -> T) -> T {
    let mut disk = DISK.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    what(disk.get_or_insert_with(|| Disk {
        files: HashMap::new(),
        calls: 0,
        fails: 0,
    }))
}

impl Disk {
    /// Counts a call; whether it fails.
    fn fails(&mut self) -> bool {
        self.calls += 1;
        self.calls == self.fails
    }
}

/// A stream is the name of its file.
fn file_of(stream: *mut c_void) -> Vec<u8> {
    // SAFETY: made by `open` below, and not closed yet.
    unsafe { (*stream.cast::<Vec<u8>>()).clone() }
}

unsafe extern "C-unwind" fn open(
    path: *const c_char,
    mode: *const c_char,
    _: *mut c_void,
) -> *mut c_void {
    // SAFETY: C strings, by the contract of the back end.
    let (path, mode) = unsafe { (CStr::from_ptr(path), CStr::from_ptr(mode)) };
    on_disk(|disk| {
        if disk.fails() {
            return null_mut();
        }
        let (name, mode) = (path.to_bytes().to_vec(), mode.to_bytes());
        if mode.starts_with(b"r") && !disk.files.contains_key(&name) {
            return null_mut();
        }
        let fresh = || Stored {
            bytes: vec![0; ROOM].into_boxed_slice(),
            len: 0,
        };
        let file = disk.files.entry(name.clone()).or_insert_with(fresh);
        if mode.starts_with(b"w") {
            file.len = 0;
        }
        Box::into_raw(Box::new(name)).cast()
    })
}

unsafe extern "C-unwind" fn close(stream: *mut c_void) -> c_int {
    // SAFETY: made by `open`, closed once.
    drop(unsafe { Box::from_raw(stream.cast::<Vec<u8>>()) });
    0
}

unsafe extern "C-unwind" fn size(stream: *mut c_void) -> i64 {
    on_disk(|disk| match disk.fails() {
        true => -1,
        false => disk
            .files
            .get(&file_of(stream))
            .map_or(-1, |file| file.len as i64),
    })
}

unsafe extern "C-unwind" fn write(
    from: *const c_void,
    size: i64,
    nitems: i64,
    at: i64,
    stream: *mut c_void,
) -> i64 {
    let (len, at) = ((size * nitems) as usize, at as usize);
    on_disk(|disk| {
        let fails = disk.fails();
        let Some(file) = disk.files.get_mut(&file_of(stream)) else {
            return 0;
        };
        // One that fails has written half of it.
        let len = if fails { len / 2 } else { len };
        if at + len > ROOM {
            return 0;
        }
        if len == 0 {
            return if fails { 0 } else { nitems };
        }
        if at > file.len {
            file.bytes[file.len..at].fill(0);
        }
        // SAFETY: the library says that so many bytes are there.
        let bytes = unsafe { core::slice::from_raw_parts(from.cast::<u8>(), len) };
        file.bytes[at..at + len].copy_from_slice(bytes);
        file.len = file.len.max(at + len);
        if fails { 0 } else { nitems }
    })
}

unsafe extern "C-unwind" fn fill(
    to: *mut *mut c_void,
    size: i64,
    nitems: i64,
    at: i64,
    stream: *mut c_void,
) -> i64 {
    let (len, at) = ((size * nitems) as usize, at as usize);
    on_disk(|disk| {
        let fails = disk.fails();
        match disk.files.get(&file_of(stream)) {
            Some(file) if !fails && at + len <= file.len => {
                // SAFETY: the library's buffer has room for what it asks for.
                unsafe {
                    (*to)
                        .cast::<u8>()
                        .copy_from_nonoverlapping(file.bytes[at..].as_ptr(), len)
                };
                nitems
            }
            _ => 0,
        }
    })
}

unsafe extern "C-unwind" fn lend(
    to: *mut *mut c_void,
    size: i64,
    nitems: i64,
    at: i64,
    stream: *mut c_void,
) -> i64 {
    let (len, at) = ((size * nitems) as usize, at as usize);
    on_disk(|disk| {
        let fails = disk.fails();
        match disk.files.get_mut(&file_of(stream)) {
            Some(file) if !fails && at + len <= file.len => {
                // SAFETY: the address is good as long as the file is, which never moves.
                unsafe { *to = file.bytes[at..].as_mut_ptr().cast() };
                nitems
            }
            _ => 0,
        }
    })
}

unsafe extern "C-unwind" fn truncate(stream: *mut c_void, size: i64) -> c_int {
    on_disk(|disk| {
        let fails = disk.fails();
        match disk.files.get_mut(&file_of(stream)) {
            Some(file) if !fails && size as usize <= ROOM => {
                if size as usize > file.len {
                    file.bytes[file.len..size as usize].fill(0);
                }
                file.len = size as usize;
                0
            }
            _ => -1,
        }
    })
}

unsafe extern "C-unwind" fn destroy(_: *mut c_void) -> c_int {
    0
}

fn register(lib: &SchunkLib) {
    for (id, lends) in [(FILLING, false), (LENDING, true)] {
        let io = blosc2_io_cb {
            id,
            name: c"in memory".as_ptr().cast_mut(),
            is_allocation_necessary: !lends,
            open: Some(open),
            close: Some(close),
            size: Some(size),
            write: Some(write),
            read: Some(if lends { lend } else { fill }),
            truncate: Some(truncate),
            destroy: Some(destroy),
        };
        // SAFETY: the struct is copied, and its name static.
        assert_eq!(unsafe { (lib.s.blosc2_register_io_cb)(&io) }, 0, "a new id");
    }
}

/// One change with its n-th call failing; the number of calls, and what the frame is in the end. A
/// file of the system's stands at `path` too: libraries look there for what kind it is and how
/// long.
fn one(
    lib: &'static SchunkLib,
    change: &Change,
    id: u8,
    fails: usize,
    path: &Path,
) -> Result<(usize, State), String> {
    // Not there the first time.
    let _ = std::fs::remove_file(path);
    let mut io = blosc2_io {
        id,
        ..blosc2_io::defaults()
    };
    on_disk(|disk| (disk.files.clear(), disk.fails = 0));
    make(lib, true, path, change.start, Some(&mut io));
    let placeholder = std::fs::File::create(path).and_then(|file| file.set_len(ROOM as u64));
    placeholder.map_err(|e| e.to_string())?;
    let open = || lib.open_io(path, &io).ok_or("it does not open");
    let s = open()?;
    prepare(&s, change.start);
    let (before, fields) = (read(&s), s.fields());
    on_disk(|disk| (disk.calls = 0, disk.fails = fails));
    let rc = (change.run)(&s);
    let calls = on_disk(|disk| {
        disk.fails = 0;
        disk.calls
    });
    if rc < 0 {
        let mut after = s.fields();
        after.current_nchunk = fields.current_nchunk;
        if change.name.starts_with("transaction") {
            // To abandon it is told, too.
            after.change_tick = fields.change_tick;
        }
        if after != fields {
            return Err(format!(
                "fields after the error {rc}: {after:?}, before: {fields:?}"
            ));
        }
        if read(&s) != before {
            return Err(format!(
                "after the error {rc} the handle shows something else"
            ));
        }
        if read(&open()?) != before {
            return Err(format!("after the error {rc} the frame is something else"));
        }
        let rc = (change.run)(&s);
        if rc < 0 {
            return Err(format!(
                "the change made again on the same handle returns {rc}"
            ));
        }
    }
    let after = read(&s);
    if after == before && change.start != Start::Many {
        return Err("the change changes nothing".into());
    }
    drop(s);
    match read(&open()?) == after {
        true => Ok((calls, after)),
        false => Err("what was written is not what the handle shows".into()),
    }
}

#[test]
fn every_failing_call_of_a_back_end() {
    let lib = our_schunks();
    register(lib);
    let whole = std::env::var_os("OXIBLOSC_CRASH").is_some();
    let mut report = Report::default();
    let path = std::env::temp_dir().join(format!("oxiblosc-backend-{}", std::process::id()));
    // How an array lies in a frame makes no difference to where its bytes go, and large frames have
    // no room here.
    let small = [
        Start::Full,
        Start::Short,
        Start::Empty,
        Start::Many,
        Start::Wide,
        Start::Nested,
    ];
    let fits = |change: &&Change| small.contains(&change.start);
    for change in CHANGES.iter().filter(fits) {
        for id in [FILLING, LENDING] {
            let (calls, expected) = match one(lib, change, id, 0, &path) {
                Ok(done) => done,
                Err(wrong) => {
                    report.fail(
                        "through a back end",
                        format!("{} {id}: {wrong}", change.name),
                    );
                    continue;
                }
            };
            report.check(calls > 0, "no call", || change.name.to_owned());
            for at in 1..=calls {
                // By turns through one of the two; large frames have very many calls.
                let turns = match change.start {
                    _ if whole => 1,
                    Start::Many => 8,
                    _ => 2,
                };
                if !(at + usize::from(id)).is_multiple_of(turns) {
                    continue;
                }
                report.case();
                let work = || match one(lib, change, id, at, &path)?.1 == expected {
                    true => Ok(()),
                    false => Err("success, and another change was made".into()),
                };
                if let Err(wrong) = isolated(60, work) {
                    report.fail(
                        "a failing call",
                        format!("{} {id}, call {at}: {wrong}", change.name),
                    );
                }
            }
        }
    }
    follow_each(lib, &mut report, &path);
    std::fs::remove_file(&path).expect("the file that stands for the frame");
    report.finish("calls of a back end");
}

/// Another handle deletes the first chunk, so that all others lie elsewhere. This handle reads
/// while a call fails: it gets the chunk that is there now, or an error, but not what lies where
/// the chunk was.
fn follow(lib: &'static SchunkLib, id: u8, fails: usize, path: &Path) -> Result<usize, String> {
    let mut io = blosc2_io {
        id,
        ..blosc2_io::defaults()
    };
    let _ = std::fs::remove_file(path);
    on_disk(|disk| (disk.files.clear(), disk.fails = 0));
    make(lib, true, path, Start::Short, Some(&mut io));
    let placeholder = std::fs::File::create(path).and_then(|file| file.set_len(ROOM as u64));
    placeholder.map_err(|e| e.to_string())?;
    let open = || lib.open_io(path, &io).ok_or("it does not open");
    let s = open()?;
    let _ = read(&s);
    let other = open()?;
    if other.delete_chunk(0) != 2 {
        return Err("another handle deletes nothing".into());
    }
    let expected = read(&other);
    drop(other);
    let Some(Ok(first)) = expected.chunks.first() else {
        return Err("another handle finds no chunk".into());
    };
    let mut chunk = vec![0; first.len()];
    on_disk(|disk| (disk.calls = 0, disk.fails = fails));
    let rc = s.decompress_chunk(0, &mut chunk);
    let calls = on_disk(|disk| {
        disk.fails = 0;
        disk.calls
    });
    if rc >= 0 && chunk != *first {
        return Err(format!("{rc}, and another chunk"));
    }
    if rc < 0 && fails == 0 {
        return Err(format!("{rc} without a failing call"));
    }
    // The number of chunks that a program sees is that of the last call which has read the frame.
    if s.refresh() < 0 {
        return Err(format!("after {rc} the frame cannot be read again"));
    }
    match read(&s) == expected {
        true => Ok(calls),
        false => Err(format!("after {rc} the handle shows something else")),
    }
}

fn follow_each(lib: &'static SchunkLib, report: &mut Report, path: &Path) {
    for id in [FILLING, LENDING] {
        let mut at = 0;
        let mut calls = usize::MAX;
        while at <= calls {
            report.case();
            match follow(lib, id, at, path) {
                Ok(created) if at == 0 => calls = created,
                Ok(_) => {}
                Err(wrong) => {
                    report.fail(
                        "following another handle",
                        format!("{id}, call {at}: {wrong}"),
                    );
                    calls = calls.min(100);
                }
            }
            at += 1;
        }
    }
}
