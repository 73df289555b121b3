//! Back ends that a program registers, seen from the library: in memory, with `read` filling a
//! buffer or handing out an address, and failing at every call in turn.

use blosc2::capi::io::{backend, blosc2_get_io_cb, blosc2_register_io_cb, destroy};
use blosc2::capi::mmap::blosc2_stdio_mmap_destroy;
use blosc2::capi::types::{blosc2_io, blosc2_io_cb, blosc2_stdio_mmap};
use oxiblosc_base::Error;
use oxiblosc_base::memory::Shared;
use oxiblosc_io::{Backend, Mode, Storage};
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard};

/// The back end's files and what was asked of it.
#[derive(Default)]
struct Disk {
    files: Mutex<HashMap<CString, Vec<u8>>>,
    log: Mutex<Vec<String>>,
    calls: AtomicUsize,
    /// The call that fails; none if it is 0.
    failing: AtomicUsize,
    open: AtomicUsize,
    destroyed: AtomicBool,
}

impl Disk {
    fn files(&self) -> MutexGuard<'_, HashMap<CString, Vec<u8>>> {
        self.files.lock().expect("no call panics")
    }

    /// One more call. False if it is the one to fail.
    fn call(&self, what: String) -> bool {
        self.log.lock().expect("no call panics").push(what);
        self.calls.fetch_add(1, SeqCst) + 1 != self.failing.load(SeqCst)
    }

    fn log(&self) -> String {
        std::mem::take(&mut *self.log.lock().expect("no call panics")).join(" ")
    }

    fn io(&self, id: u8) -> blosc2_io {
        blosc2_io {
            id,
            params: std::ptr::from_ref(self).cast_mut().cast(),
            ..blosc2_io::defaults()
        }
    }
}

struct Stream {
    disk: *const Disk,
    name: CString,
    mode: CString,
    /// What `read` hands out lies here until the next call.
    window: Vec<u8>,
    busy: AtomicBool,
}

impl Stream {
    /// Runs one call on the stream, which no other thread may use meanwhile.
    unsafe fn enter<'a, T>(
        stream: *mut c_void,
        work: impl FnOnce(&'a Disk, &'a mut Stream) -> T,
    ) -> T {
        let stream: *mut Stream = stream.cast();
        // SAFETY: the library hands back what `open` returned, and the disk outlives it.
        unsafe {
            assert!(!(*stream).busy.swap(true, SeqCst), "two calls at once");
            let result = work(&*(*stream).disk, &mut *stream);
            (*stream).busy.store(false, SeqCst);
            result
        }
    }
}

unsafe extern "C-unwind" fn open(
    name: *const c_char,
    mode: *const c_char,
    params: *mut c_void,
) -> *mut c_void {
    // SAFETY: the library passes strings and the parameters it was given.
    let (disk, name, mode) = unsafe {
        (
            &*params.cast::<Disk>(),
            CStr::from_ptr(name),
            CStr::from_ptr(mode),
        )
    };
    if !disk.call(format!("open({})", mode.to_string_lossy())) {
        return null_mut();
    }
    let mut files = disk.files();
    if mode == c"wb" {
        files.insert(name.into(), Vec::new());
    } else if !files.contains_key(name) {
        return null_mut();
    }
    disk.open.fetch_add(1, SeqCst);
    let stream = Stream {
        disk,
        name: name.into(),
        mode: mode.into(),
        window: Vec::new(),
        busy: AtomicBool::new(false),
    };
    Box::into_raw(Box::new(stream)).cast()
}

unsafe extern "C-unwind" fn close(stream: *mut c_void) -> c_int {
    // SAFETY: the library closes what `open` returned, once.
    let stream = unsafe { Box::from_raw(stream.cast::<Stream>()) };
    // SAFETY: the disk outlives the stream.
    let disk = unsafe { &*stream.disk };
    disk.open.fetch_sub(1, SeqCst);
    if disk.call("close".into()) { 0 } else { -1 }
}

unsafe extern "C-unwind" fn size(stream: *mut c_void) -> i64 {
    // SAFETY: as `enter` wants it.
    unsafe {
        Stream::enter(stream, |disk, stream| {
            let size = disk.files()[&stream.name].len() as i64;
            if disk.call("size".into()) { size } else { -20 }
        })
    }
}

unsafe extern "C-unwind" fn write(
    from: *const c_void,
    size: i64,
    n: i64,
    pos: i64,
    stream: *mut c_void,
) -> i64 {
    // SAFETY: as `enter` wants it; the library passes so many bytes.
    unsafe {
        Stream::enter(stream, |disk, stream| {
            let (len, pos) = ((size * n) as usize, pos as usize);
            let bytes = std::slice::from_raw_parts(from.cast::<u8>(), len);
            let whole = disk.call(format!("write({pos},{len})")) && stream.mode != c"rb";
            let len = if whole { len } else { len / 2 };
            let mut files = disk.files();
            let file = files.get_mut(&stream.name).expect("is open");
            file.resize(file.len().max(pos + len), 0);
            file[pos..pos + len].copy_from_slice(&bytes[..len]);
            if whole { n } else { len as i64 }
        })
    }
}

/// Reads to `*to` where there is a buffer; hands out an address where there is none.
unsafe extern "C-unwind" fn read(
    to: *mut *mut c_void,
    size: i64,
    n: i64,
    pos: i64,
    stream: *mut c_void,
) -> i64 {
    // SAFETY: as `enter` wants it; the library passes so many bytes, or null.
    unsafe {
        Stream::enter(stream, |disk, stream| {
            let (len, pos) = ((size * n) as usize, pos as usize);
            let files = disk.files();
            let there = files[&stream.name].get(pos..pos + len);
            let fine = disk.call(format!("read({pos},{len})")) && stream.mode != c"wb";
            let Some(bytes) = there.filter(|_| fine) else {
                return 0;
            };
            if (*to).is_null() {
                stream.window = bytes.to_vec();
                *to = stream.window.as_mut_ptr().cast();
            } else {
                (*to).cast::<u8>().copy_from(bytes.as_ptr(), len);
            }
            n
        })
    }
}

unsafe extern "C-unwind" fn truncate(stream: *mut c_void, size: i64) -> c_int {
    // SAFETY: as `enter` wants it.
    unsafe {
        Stream::enter(stream, |disk, stream| {
            if !disk.call(format!("truncate({size})")) {
                return -1;
            }
            let mut files = disk.files();
            files
                .get_mut(&stream.name)
                .expect("is open")
                .resize(size as usize, 0);
            0
        })
    }
}

unsafe extern "C-unwind" fn forget(params: *mut c_void) -> c_int {
    // SAFETY: the library passes the parameters it was given.
    unsafe { &*params.cast::<Disk>() }
        .destroyed
        .store(true, SeqCst);
    -7
}

/// Registers the back end under two ids, and gives them: one whose `read` fills a buffer, one whose
/// `read` does not.
fn ids() -> [u8; 2] {
    [(201, true), (202, false)].map(|(id, is_allocation_necessary)| {
        let entry = blosc2_io_cb {
            id,
            name: c"memory".as_ptr().cast_mut(),
            is_allocation_necessary,
            open: Some(open),
            close: Some(close),
            size: Some(size),
            write: Some(write),
            read: Some(read),
            truncate: Some(truncate),
            destroy: Some(forget),
        };
        // SAFETY: a back end as it should be.
        assert_eq!(unsafe { blosc2_register_io_cb(&entry) }, 0);
        id
    })
}

fn get(io: &blosc2_io) -> Shared<dyn Backend> {
    // SAFETY: the parameters are the back end's, and outlive what is opened.
    unsafe { backend(io) }.expect("is registered")
}

#[test]
fn files_of_a_registered_back_end() {
    for id in ids() {
        let disk = Disk::default();
        let io = disk.io(id);
        let backend = get(&io);
        assert!(!backend.is_filesystem() && !backend.is_mmap());
        assert_eq!(backend.identity(c"a"), None);
        assert_eq!(backend.open(c"a", Mode::Read).err(), Some(Error::FILE_OPEN));
        assert_eq!(disk.log(), "open(rb)");

        // A file that is only made is made as the reference does it.
        let file = backend.open(c"a", Mode::Create).expect("opens");
        file.write_all_at(0, &[b"abc", b"def"]).expect("writes");
        assert_eq!((file.size(), file.sync()), (Ok(6), Ok(())));
        drop(file);
        assert_eq!(disk.log(), "open(wb) write(0,6) size close");

        let file = backend.open(c"a", Mode::Create).expect("opens");
        file.write_at(2, b"xyz").expect("writes");
        let mut back = [9; 5];
        file.read_at(0, &mut back).expect("reads what it wrote");
        assert_eq!(&back, b"\0\0xyz");
        file.truncate(4).expect("truncates");
        assert_eq!(file.read_at(0, &mut back), Err(Error::FILE_READ));
        assert_eq!(file.read_at(u64::MAX, &mut back), Err(Error::FILE_READ));
        assert_eq!(
            file.read_at(i64::MAX as u64, &mut back),
            Err(Error::FILE_READ)
        );
        assert_eq!(file.write_at(u64::MAX, b"a"), Err(Error::FILE_WRITE));
        assert_eq!(file.truncate(u64::MAX), Err(Error::FILE_TRUNCATE));
        assert_eq!(
            (file.read_at(99, &mut []), file.write_at(99, &[])),
            (Ok(()), Ok(()))
        );
        assert_eq!(file.identity(), None);
        drop(file);
        assert_eq!(
            disk.log(),
            "open(wb) write(2,3) close open(rb+) read(0,5) truncate(4) read(0,5) close"
        );

        let file = backend.open(c"a", Mode::Read).expect("opens");
        assert_eq!(file.write_at(0, b"abc"), Err(Error::FILE_WRITE));
        let file: Shared<dyn Storage> = file;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let mut back = [9; 2];
                        file.read_at(2, &mut back).expect("reads");
                        assert_eq!(&back, b"xy");
                    }
                });
            }
        });
        drop(file);
        assert_eq!(disk.open.load(SeqCst), 0);
        // SAFETY: the parameters are the back end's.
        assert_eq!(unsafe { destroy(&io) }, -7);
        assert!(disk.destroyed.load(SeqCst));
    }
}

#[test]
fn every_call_may_fail() {
    for id in ids() {
        let mut failing = 0;
        loop {
            failing += 1;
            let disk = Disk::default();
            disk.failing.store(failing, SeqCst);
            let io = disk.io(id);
            let work = || -> Result<(), Error> {
                let file = get(&io).open(c"a", Mode::Create)?;
                file.write_at(0, &[5; 100])?;
                let mut back = [0; 100];
                file.read_at(0, &mut back)?;
                assert_eq!(back, [5; 100]);
                file.size()?;
                file.truncate(50)?;
                file.write_at(40, &[6; 20])?;
                drop(file);
                let file = get(&io).open(c"a", Mode::ReadWrite)?;
                file.read_at(0, &mut back[..60])?;
                assert_eq!((back[39], back[59]), (5, 6));
                Ok(())
            };
            let result = work();
            let calls = disk.calls.load(SeqCst);
            assert_eq!(
                disk.open.load(SeqCst),
                0,
                "call {failing}: a stream stays open"
            );
            if calls < failing {
                assert_eq!(result, Ok(()));
                break;
            }
            let log = disk.log();
            let failed = log.split(' ').nth(failing - 1).expect("was made");
            let expected = match failed.split('(').next() {
                Some("open") => Err(Error::FILE_OPEN),
                Some("read" | "size") => Err(Error::FILE_READ),
                Some("write") => Err(Error::FILE_WRITE),
                Some("truncate") => Err(Error::FILE_TRUNCATE),
                // In the middle, a file is closed to be read. At the end, an error of closing it is
                // not reported.
                _ if failing == 3 => Err(Error::FILE_WRITE),
                _ => Ok(()),
            };
            assert_eq!(result, expected, "call {failing}: {log}");
        }
        assert_eq!(failing, 13);
    }
}

#[test]
fn a_file_is_tried_again_after_it_could_not_be_opened_anew() {
    let [id, _] = ids();
    let disk = Disk::default();
    let io = disk.io(id);
    let file = get(&io).open(c"a", Mode::Create).expect("opens");
    file.write_at(0, b"abc").expect("writes");
    disk.failing.store(4, SeqCst);
    let mut back = [0; 3];
    assert_eq!(file.read_at(0, &mut back), Err(Error::FILE_OPEN));
    assert_eq!(file.read_at(0, &mut back), Ok(()));
    assert_eq!(&back, b"abc");
    drop(file);
    assert_eq!(
        disk.log(),
        "open(wb) write(0,3) close open(rb+) open(rb+) read(0,3) close"
    );
}

#[test]
fn functions_that_are_missing() {
    let entry = blosc2_io_cb {
        id: 203,
        name: null_mut(),
        is_allocation_necessary: true,
        open: None,
        close: None,
        size: None,
        write: None,
        read: None,
        truncate: None,
        destroy: None,
    };
    let io = blosc2_io {
        id: 203,
        ..blosc2_io::defaults()
    };
    // SAFETY: the struct is as it should be; missing functions are not called.
    unsafe {
        assert_eq!(backend(&io).err(), Some(Error::PLUGIN_IO));
        assert_eq!(blosc2_register_io_cb(&entry), 0);
        assert_eq!(destroy(&io), 0);
    }
    assert_eq!(
        get(&io).open(c"a", Mode::Read).err(),
        Some(Error::PLUGIN_IO)
    );

    let [id, _] = ids();
    blosc2::capi::global::blosc2_init();
    // SAFETY: an entry stays where it is.
    let whole = unsafe { *blosc2_get_io_cb(id) };
    let entry = blosc2_io_cb {
        id: 204,
        open: whole.open,
        close: whole.close,
        ..entry
    };
    // SAFETY: as above.
    assert_eq!(unsafe { blosc2_register_io_cb(&entry) }, 0);
    let disk = Disk::default();
    let io = disk.io(204);
    let file = get(&io).open(c"a", Mode::Create).expect("opens");
    assert_eq!(file.size(), Err(Error::PLUGIN_IO));
    assert_eq!(file.read_at(0, &mut [0]), Err(Error::PLUGIN_IO));
    assert_eq!(file.write_at(0, &[0]), Err(Error::PLUGIN_IO));
    assert_eq!(file.truncate(0), Err(Error::PLUGIN_IO));
}

#[test]
fn the_built_in_back_ends() {
    let folder = std::env::temp_dir().join(format!("oxiblosc-backends-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let name = CString::new(folder.join("a").to_str().expect("is text")).expect("no zero inside");
    // SAFETY: null means files, and so do the defaults.
    let files = unsafe { [backend(std::ptr::null()), backend(&blosc2_io::defaults())] };
    for files in files {
        let files = files.expect("is there");
        assert!(files.is_filesystem() && !files.is_mmap());
        let file = files.open(&name, Mode::Create).expect("opens");
        file.write_at(0, b"0123456789").expect("writes");
        assert_eq!(files.identity(&name), file.identity());
    }

    let mut map = blosc2_stdio_mmap {
        mode: c"r+".as_ptr(),
        ..blosc2_stdio_mmap::defaults()
    };
    let io = blosc2_io {
        id: 1,
        params: (&raw mut map).cast(),
        ..blosc2_io::defaults()
    };
    let maps = get(&io);
    assert!(maps.is_mmap() && !maps.is_filesystem());
    let file = maps.open(&name, Mode::Read).expect("opens");
    let same = maps.open(&name, Mode::Create).expect("is open");
    same.write_at(8, b"abcd").expect("writes");
    let mut back = [0; 12];
    file.read_at(0, &mut back).expect("reads");
    assert_eq!(&back, b"01234567abcd");
    assert_eq!(
        maps.open(c"another", Mode::Read).err(),
        Some(Error::FILE_OPEN)
    );
    // What is open outlives the parameters.
    // SAFETY: the parameters are the back end's.
    unsafe {
        assert_eq!(destroy(&io), 0);
        assert_eq!(blosc2_stdio_mmap_destroy(io.params), -1);
    }
    file.read_at(0, &mut back).expect("reads");
    // There is no mode any more to open them in.
    assert_eq!(maps.open(&name, Mode::Read).err(), Some(Error::FILE_OPEN));
    let none = blosc2_io {
        params: null_mut(),
        ..io
    };
    assert_eq!(
        get(&none).open(&name, Mode::Read).err(),
        Some(Error::NULL_POINTER)
    );
    let _ = std::fs::remove_dir_all(folder);
}
