//! Writers and readers, processes of ours and of the reference mixed, on one locked frame: nothing
//! is lost, and no reader sees a half state.
//!
//! A file that is changed through a map, without the lock, is not harmed by its readers.
//!
//! `OXIBLOSC_LOCKING` is how many seconds each test takes (3 by default).

use blosc2::capi::types::{blosc2_cparams, blosc2_io, blosc2_stdio_params};
use oxiblosc_io::file::Filesystem;
use oxiblosc_io::{Backend, Mode};
use oxiblosc_testing::data::{Rng, mix};
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::isolated::{Child, isolated, start};
use oxiblosc_testing::maps::Opened;
use oxiblosc_testing::schunk::{SchunkLib, our_schunks, reference_schunks};
use oxiblosc_testing::schunk_calls::Schunk;
use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// Items of a chunk.
const ITEMS: usize = 300;
const WRITERS: u32 = 4;
const READERS: u32 = 8;
/// The writer whose number stands in the first chunk, which everyone updates.
const SHARED: u32 = 0xff;

/// The data of a chunk: who wrote it and which one of his it is, then what follows from that.
fn data(writer: u32, count: u32) -> Vec<u8> {
    let mut items = vec![writer, count];
    let step = (mix(u64::from(count)) % 7) as u32;
    let noisy = count.is_multiple_of(3);
    let mut rng = Rng(u64::from(count));
    items.extend((2..ITEMS as u32).map(|i| match noisy {
        true => rng.next() as u32,
        false => count.wrapping_add(i * step),
    }));
    items.iter().flat_map(|item| item.to_le_bytes()).collect()
}

/// Who wrote a chunk and which one it is; an error when it is none that anyone wrote.
fn parse(chunk: &[u8]) -> Result<(u32, u32), String> {
    let item =
        |at: usize| u32::from_le_bytes([chunk[at], chunk[at + 1], chunk[at + 2], chunk[at + 3]]);
    let (writer, count) = (item(0), item(4));
    match chunk == data(writer, count) {
        true => Ok((writer, count)),
        false => Err(format!(
            "a chunk that was not written, of writer {writer} and number {count}"
        )),
    }
}

/// What a metalayer says after it was updated for the n-th time.
fn content(count: u32) -> Vec<u8> {
    count.to_le_bytes().repeat(10 + count as usize % 50)
}

struct Locked {
    io: blosc2_io,
    _params: Box<blosc2_stdio_params>,
}

impl Locked {
    fn new() -> Locked {
        let mut params = Box::new(blosc2_stdio_params { locking: true });
        let at: *mut blosc2_stdio_params = &mut *params;
        Locked {
            io: blosc2_io {
                params: at.cast(),
                ..blosc2_io::defaults()
            },
            _params: params,
        }
    }

    fn open(&self, lib: &'static SchunkLib, path: &Path) -> Result<Schunk, String> {
        lib.open_io(path, &self.io)
            .ok_or(format!("{}: the frame does not open", lib.lib.name))
    }
}

fn read(s: &Schunk, at: i64) -> Result<(u32, u32), String> {
    let mut chunk = vec![0; 4 * ITEMS];
    match s.decompress_chunk(at, &mut chunk) {
        rc if rc == chunk.len() as i64 => parse(&chunk).map_err(|e| format!("chunk {at}: {e}")),
        rc => Err(format!("chunk {at} of {}: {rc}", s.get().nchunks)),
    }
}

/// Appends numbered chunks, and now and then updates the first chunk and the metalayer.
fn write(lib: &'static SchunkLib, path: &Path, writer: u32, until: Instant) -> Result<(), String> {
    let locked = Locked::new();
    let s = locked.open(lib, path)?;
    let who = |what: &str, rc: i64| format!("{} writer {writer}: {what}: {rc}", lib.lib.name);
    let mut rng = Rng(u64::from(writer));
    let mut count = 0;
    while Instant::now() < until {
        let bytes = data(writer, count);
        let rc = s.append_buffer(&bytes, bytes.len() as i32);
        if rc < 1 {
            return Err(who("append", rc));
        }
        count += 1;
        match rng.below(6) {
            0 => {
                // Read and written again in one bracket: no count is lost.
                let rc = s.lock();
                if rc < 0 {
                    return Err(who("lock", rc));
                }
                s.refresh();
                let (_, old) = read(&s, 0)?;
                let bytes = data(SHARED, old + 1);
                let rc = s.set_slice(0, ITEMS as i64, &bytes);
                if rc < 0 {
                    return Err(who("update", rc));
                }
                s.unlock();
            }
            1 => {
                let rc = s.lock();
                if rc < 0 {
                    return Err(who("lock", rc));
                }
                let (rc, old) = s.vlmeta_get(c"count");
                if rc < 0 || old.len() < 4 {
                    return Err(who("metalayer", rc));
                }
                let old = u32::from_le_bytes([old[0], old[1], old[2], old[3]]);
                let rc = s.vlmeta_update(c"count", &content(old + 1));
                if rc < 0 {
                    return Err(who("update of a metalayer", rc));
                }
                s.unlock();
            }
            _ => {}
        }
    }
    match count {
        0 => Err(who("never had the lock", 0)),
        _ => std::fs::write(
            path.with_extension(format!("written{writer}")),
            count.to_string(),
        )
        .map_err(|e| e.to_string()),
    }
}

/// Looks at everything, again and again.
fn follow(lib: &'static SchunkLib, path: &Path, reader: u32, until: Instant) -> Result<(), String> {
    let locked = Locked::new();
    let mut s = locked.open(lib, path)?;
    let mut rng = Rng(u64::from(reader) << 32);
    let (mut most, mut looks, mut last) = (0, 0, [0; 256]);
    while Instant::now() < until {
        looks += 1;
        if looks % 20 == 0 {
            s = locked.open(lib, path)?;
        }
        // Readers without a pause would keep the writers out.
        std::thread::sleep(Duration::from_millis(10));
        let mut look = || {
            let rc = s.refresh();
            if rc < 0 {
                return Err(format!("refresh: {rc}"));
            }
            let n = s.get().nchunks;
            if n < most {
                return Err(format!("{n} chunks after {most}"));
            }
            most = n;
            let (_, count) = read(&s, 0)?;
            if count < last[SHARED as usize] {
                return Err(format!(
                    "the first chunk is number {count} after {}",
                    last[SHARED as usize]
                ));
            }
            last[SHARED as usize] = count;
            if n > 1 {
                read(&s, n - 1)?;
                read(&s, 1 + rng.below(n as usize - 1) as i64)?;
            }
            let (rc, said) = s.vlmeta_get(c"count");
            if rc < 0 || said.len() < 4 {
                return Err(format!("metalayer: {rc}"));
            }
            let count = u32::from_le_bytes([said[0], said[1], said[2], said[3]]);
            match said == content(count) {
                true => Ok(()),
                false => Err(format!("a metalayer that was not written, number {count}")),
            }
        };
        look().map_err(|e| format!("{} reader {reader}, look {looks}: {e}", lib.lib.name))?;
    }
    Ok(())
}

/// Everything that was written is there, once and in order.
fn check(lib: &'static SchunkLib, path: &Path) -> Result<String, String> {
    let s = lib
        .open_path(path)
        .ok_or("the frame does not open in the end")?;
    let mut next = [0; WRITERS as usize];
    for at in 1..s.get().nchunks {
        let (writer, count) = read(&s, at)?;
        let expected = next
            .get_mut(writer as usize)
            .ok_or(format!("chunk {at} of writer {writer}"))?;
        if count != *expected {
            return Err(format!(
                "chunk {at} is number {count} of writer {writer}, not {expected}"
            ));
        }
        *expected += 1;
    }
    for (writer, count) in next.iter().enumerate() {
        let written = std::fs::read_to_string(path.with_extension(format!("written{writer}")));
        let written: u32 = written
            .map_err(|e| e.to_string())?
            .parse()
            .map_err(|_| "a number")?;
        if written != *count {
            return Err(format!(
                "{count} chunks of the {written} of writer {writer}"
            ));
        }
    }
    Ok(format!("{next:?} chunks, {} updates", read(&s, 0)?.1))
}

fn share(contiguous: bool, libs: [&'static SchunkLib; 2], name: &str) {
    let seconds =
        std::env::var("OXIBLOSC_LOCKING").map_or(3, |value| value.parse().expect("seconds"));
    let folder =
        std::env::temp_dir().join(format!("oxiblosc-locking-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let path = folder.join("frame.b2frame");
    let cparams = blosc2_cparams {
        typesize: 4,
        ..blosc2_cparams::defaults()
    };
    let mut locked = Locked::new();
    let s = libs[0]
        .create(contiguous, Some(&path), &cparams, 1, Some(&mut locked.io))
        .expect("a new frame");
    let first = data(SHARED, 0);
    assert_eq!(s.append_buffer(&first, first.len() as i32), 1);
    assert_eq!(s.vlmeta_add(c"count", &content(0)), 0);
    drop(s);
    let until = Instant::now() + Duration::from_secs(seconds);
    let patience = seconds as u32 + 60;
    let mut children: Vec<Child> = Vec::new();
    for n in 0..WRITERS {
        children.push(start(patience, || {
            write(libs[n as usize % 2], &path, n, until)
        }));
    }
    for n in 0..READERS {
        children.push(start(patience, || {
            follow(libs[n as usize % 2], &path, n, until)
        }));
    }
    let wrong: Vec<String> = children
        .into_iter()
        .filter_map(|child| child.join().err())
        .collect();
    assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    for lib in libs {
        match check(lib, &path) {
            Ok(said) => println!("{name}, seen by {}: {said}", lib.lib.name),
            Err(wrong) => panic!("{name}, seen by {}: {wrong}", lib.lib.name),
        }
    }
    std::fs::remove_dir_all(&folder).expect("the test's own folder");
}

#[test]
fn file_shared_by_both_libraries() {
    oxiblosc_testing::own_process!();
    if let Some(reference) = reference_schunks() {
        share(true, [our_schunks(), reference], "a file");
    }
}

#[test]
fn directory_shared_by_both_libraries() {
    oxiblosc_testing::own_process!();
    if let Some(reference) = reference_schunks() {
        share(false, [our_schunks(), reference], "a directory");
    }
}

#[test]
fn file_shared_by_processes_of_ours() {
    oxiblosc_testing::own_process!();
    share(true, [our_schunks(); 2], "a file of ours");
}

/// Appends chunks through a map, `count` of them.
fn write_through_map(lib: &'static SchunkLib, path: &Path, count: u32) -> Result<(), String> {
    let s = Opened::map(lib, path, c"r+").ok_or("the writer cannot open it")?;
    for n in 1..=count {
        let chunk = data(0, n);
        let rc = s.append_buffer(&chunk, chunk.len() as i32);
        if rc != i64::from(n) + 1 {
            return Err(format!("append {n} returns {rc}"));
        }
    }
    Ok(())
}

/// A reader that opens the file in the middle of a change must not take the change back.
#[test]
fn readers_of_a_file_that_is_changed_through_a_map() {
    oxiblosc_testing::own_process!();
    const APPENDS: u32 = 20_000;
    let lib = our_schunks();
    let folder = Folder::new("locking-map");
    let path = folder.join("frame.b2frame");
    let cparams = blosc2_cparams {
        typesize: 4,
        ..blosc2_cparams::defaults()
    };
    let s = lib.create(true, Some(&path), &cparams, 1, None);
    let s = s.expect("a new frame");
    let first = data(0, 0);
    assert_eq!(s.append_buffer(&first, first.len() as i32), 1);
    drop(s);
    let writer = start(120, || write_through_map(lib, &path, APPENDS));
    let until = Instant::now() + Duration::from_secs(60);
    let follow = || {
        while Instant::now() < until {
            let s = lib.open_path(&path).ok_or("the reader cannot open it")?;
            if s.get().nchunks > i64::from(APPENDS) {
                return Ok(());
            }
        }
        Err("the reader sees no end".to_owned())
    };
    let readers = [start(120, follow), start(120, follow)];
    assert_eq!(writer.join(), Ok(()));
    for reader in readers {
        assert_eq!(reader.join(), Ok(()));
    }
    let s = lib.open_path(&path).expect("it opens");
    for n in 0..=APPENDS {
        assert_eq!(read(&s, i64::from(n)), Ok((0, n)));
    }
}

/// A frame of ours with one chunk.
fn small(path: &Path) {
    let cparams = blosc2_cparams {
        typesize: 4,
        ..blosc2_cparams::defaults()
    };
    let s = our_schunks().create(true, Some(path), &cparams, 1, None);
    let first = data(0, 0);
    let rc = s
        .expect("a new frame")
        .append_buffer(&first, first.len() as i32);
    assert_eq!(rc, 1);
}

fn append(s: &Schunk, n: u32) -> i64 {
    let chunk = data(0, n);
    s.append_buffer(&chunk, chunk.len() as i32)
}

/// Whether the file is not being changed.
fn is_free(path: &Path) -> bool {
    let name = CString::new(path.to_str().expect("is text")).expect("no zero inside");
    let file = Filesystem.open(&name, Mode::ReadWrite).expect("opens");
    file.try_lock_exclusive().is_some()
}

/// A child that ends what its parent began, or goes on with it, takes nothing from the parent.
#[test]
fn a_child_does_not_unlock_what_its_parent_locked() {
    oxiblosc_testing::own_process!();
    let folder = Folder::new("locking-child");
    let path = folder.join("frame.b2frame");
    small(&path);
    let locked = Locked::new();
    let s = locked.open(our_schunks(), &path).expect("it opens");
    assert_eq!((append(&s, 1), s.lock(), is_free(&path)), (2, 0, false));
    let reported = isolated(10, || match s.unlock() {
        0 => Ok(()),
        rc => Err(format!("unlock: {rc}")),
    });
    assert_eq!((reported, is_free(&path)), (Ok(()), false));
    let child = start(10, || match append(&s, 2) {
        3 => Ok(()),
        rc => Err(format!("append: {rc}")),
    });
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!((s.get().nchunks, s.unlock(), child.join()), (2, 0, Ok(())));
    assert_eq!((is_free(&path), append(&s, 3)), (true, 4));
    for n in 0..4 {
        assert_eq!(read(&s, n), Ok((0, n as u32)));
    }
}

/// Asks for a lock of `len` bytes from `start` on (0: all that follow), or gives it back.
fn fcntl(file: &File, command: i32, kind: i32, (start, len): (i64, i64)) {
    // SAFETY: every field of the struct is a number, for which zero is a value. The descriptor is
    // open.
    unsafe {
        let mut lock: libc::flock = std::mem::zeroed();
        (lock.l_type, lock.l_start, lock.l_len) = (kind as libc::c_short, start, len);
        assert_eq!(libc::fcntl(file.as_raw_fd(), command, &raw const lock), 0);
    }
}

/// Who locks a file with `flock` does not keep its changes waiting. Who shares a lock of its bytes
/// does so once, for two seconds: to read the file is enough for that. So does the program itself.
/// Beside these, too, changes of two handles are one after the other.
#[test]
fn strangers_that_lock_a_file_keep_nobody_for_ever() {
    oxiblosc_testing::own_process!();
    let folder = Folder::new("locking-strangers");
    let path = folder.join("frame.b2frame");
    small(&path);
    let s = our_schunks().open_path(&path).expect("it opens");
    let stranger = File::options().read(true).write(true).open(&path);
    let stranger = stranger.expect("opens");
    stranger.lock().expect("locks");
    let since = Instant::now();
    assert_eq!(append(&s, 0), 2);
    assert!(since.elapsed() < Duration::from_secs(1));
    stranger.unlock().expect("unlocks");

    let locks = [
        (libc::F_OFD_SETLK, libc::F_RDLCK, (0, 0)),
        (libc::F_OFD_SETLK, libc::F_RDLCK, (1 << 62, 1)),
        (libc::F_SETLK, libc::F_WRLCK, (0, 0)),
    ];
    for (round, (command, kind, bytes)) in locks.into_iter().enumerate() {
        let before = s.get().nchunks;
        fcntl(&stranger, command, kind, bytes);
        let since = Instant::now();
        assert_eq!(append(&s, 2), before + 1, "{round}");
        let waited = since.elapsed();
        assert!(
            waited > Duration::from_secs(1) && waited < Duration::from_secs(4),
            "{round}: {waited:?}"
        );
        let since = Instant::now();
        assert_eq!(append(&s, 3), before + 2, "{round}");
        assert!(since.elapsed() < Duration::from_secs(1), "{round}");
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let other = our_schunks().open_path(&path).expect("it opens");
                    for _ in 0..50 {
                        assert!(append(&other, 4) > 0);
                    }
                });
            }
        });
        fcntl(&stranger, command, libc::F_UNLCK, (0, 0));
        assert_eq!(append(&s, 5), before + 103, "{round}");
        let again = our_schunks().open_path(&path).expect("it opens");
        let last = before + 102;
        assert_eq!(
            (again.get().nchunks, read(&again, last)),
            (last + 1, Ok((0, 5)))
        );
    }
}

/// Who may write a file may keep all others from changing it, until the time that the environment
/// gives is over.
#[test]
fn a_stranger_that_locks_a_file_exclusively_is_waited_for_up_to_a_limit() {
    oxiblosc_testing::own_process!();
    let folder = Folder::new("locking-limit");
    let path = folder.join("frame.b2frame");
    small(&path);
    let stranger = File::options().read(true).write(true).open(&path);
    let stranger = stranger.expect("opens");
    fcntl(&stranger, libc::F_OFD_SETLK, libc::F_WRLCK, (0, 0));
    let reported = isolated(20, || {
        // SAFETY: the process has one thread.
        unsafe { std::env::set_var("BLOSC_LOCK_TIMEOUT", "1") };
        let s = our_schunks().open_path(&path).ok_or("does not open")?;
        let since = Instant::now();
        let rc = append(&s, 1);
        match (rc, since.elapsed().as_secs()) {
            (-37, 1..3) if read(&s, 0) == Ok((0, 0)) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    assert_eq!(reported, Ok(()));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let s = our_schunks().open_path(&path).expect("it opens");
            append(&s, 1)
        });
        std::thread::sleep(Duration::from_millis(2500));
        fcntl(&stranger, libc::F_OFD_SETLK, libc::F_UNLCK, (0, 0));
        assert_eq!(waits.join().expect("a result"), 2);
    });
}

/// Without locking, the locks that a program takes itself have no effect, as in the reference: a
/// program with two handles does not wait.
#[test]
fn a_bracket_without_locking_keeps_nobody_out() {
    oxiblosc_testing::own_process!();
    let folder = Folder::new("locking-brackets");
    let path = folder.join("frame.b2frame");
    small(&path);
    let lib = our_schunks();
    let (one, two) = (lib.open_path(&path), lib.open_path(&path));
    let (one, two) = (one.expect("it opens"), two.expect("it opens"));
    assert_eq!((one.lock(), append(&two, 1), append(&one, 2)), (0, 2, 3));
    assert_eq!((one.unlock(), one.unlock(), append(&two, 3)), (0, 0, 4));
}
