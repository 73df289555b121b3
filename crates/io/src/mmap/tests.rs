//! Maps against a list of bytes, and files that change under them.

use super::*;
use crate::Backend;
use crate::file::{Filesystem, path};
use crate::tests::Folder;
use std::ffi::CString;
#[cfg(unix)]
use std::fs::OpenOptions;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn write(name: &CString, bytes: &[u8]) {
    std::fs::write(path(name), bytes).expect("writes");
}

fn read(name: &CString) -> Vec<u8> {
    std::fs::read(path(name)).expect("reads")
}

fn whole(map: &Map) -> Vec<u8> {
    let mut all = vec![0xEE; map.size().expect("has a size") as usize];
    map.read_at(0, &mut all).expect("reads");
    let seen = map.address(0, all.len()).expect("lies somewhere");
    // SAFETY: the map lies there until the next write, and has so many bytes.
    assert_eq!(all, unsafe { std::slice::from_raw_parts(seen, all.len()) });
    all
}

#[test]
fn modes_do_what_they_say() {
    let folder = Folder::new("map");
    let name = folder.path("a");
    for access in [OpenMode::Read, OpenMode::ReadWrite, OpenMode::Copy] {
        assert_eq!(Map::open(&name, access, 10).err(), Some(Error::FILE_OPEN));
    }
    write(&name, b"0123456789");
    let map = Map::open(&name, OpenMode::Read, 1 << 20).expect("opens");
    assert_eq!(
        (whole(&map), map.extent().mapped),
        (b"0123456789".to_vec(), 10)
    );
    assert_eq!(map.write_at(0, b"a"), Err(Error::FILE_WRITE));
    assert_eq!(map.truncate(5), Err(Error::FILE_TRUNCATE));
    assert_eq!(map.read_at(5, &mut [0; 6]), Err(Error::FILE_READ));
    assert_eq!(map.read_at(u64::MAX, &mut [0; 6]), Err(Error::FILE_READ));
    assert_eq!(map.address(11, 0), Err(Error::FILE_READ));
    assert_eq!(map.sync(), Ok(()));
    drop(map);

    let map = Map::open(&name, OpenMode::Copy, 1).expect("opens");
    map.write_at(8, b"abcd").expect("writes");
    map.write_at(50_000, b"e").expect("writes and grows");
    assert_eq!(map.extent().size, 50_001);
    assert_eq!(&whole(&map)[..14], b"01234567abcd\0\0");
    assert_eq!(read(&name), b"0123456789");
    drop(map);

    let map = Map::open(&name, OpenMode::ReadWrite, 1).expect("opens");
    map.write_at(8, b"abcd").expect("writes");
    assert_eq!(read(&name), b"01234567abcd");
    map.truncate(3).expect("truncates");
    map.truncate(100_000).expect("truncates");
    assert!(map.extent().mapped >= 100_000);
    assert_eq!(&whole(&map)[..5], b"012\0\0");
    assert_eq!(map.sync(), Ok(()));
    drop(map);
    assert_eq!(read(&name).len(), 100_000);

    let map = Map::open(&name, OpenMode::Create, 1 << 20).expect("opens");
    // Windows maps no file longer than it is.
    let capacity = if cfg!(windows) { 0 } else { 1 << 20 };
    assert_eq!((map.size(), map.extent().mapped), (Ok(0), capacity));
    assert_eq!(map.address(0, 1), Err(Error::FILE_READ));
    assert_eq!(map.write_at(u64::MAX, b"a"), Err(Error::FILE_WRITE));
    assert_eq!(map.truncate(u64::MAX), Err(Error::FILE_TRUNCATE));
    assert!(map.identity().is_some());
    assert!(Map::open(&name, OpenMode::Create, usize::MAX).is_err());
    assert!(Map::open(&name, OpenMode::Copy, usize::MAX).is_err());
}

#[test]
fn maps_are_as_a_list_of_bytes() {
    let folder = Folder::new("model");
    let name = folder.path("a");
    let mut seed = 7u64;
    let mut random = move |below: u64| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) % below
    };
    for round in 0..60 {
        let access = [OpenMode::ReadWrite, OpenMode::Copy, OpenMode::Create][round % 3];
        let begin: Vec<u8> = (0..random(20_000)).map(|i| (i % 250) as u8 + 1).collect();
        write(&name, &begin);
        let map = Map::open(&name, access, random(30_000) as usize).expect("opens");
        let mut model = if access == OpenMode::Create {
            Vec::new()
        } else {
            begin.clone()
        };
        for step in 0..60 {
            let pos = random(50_000) as usize;
            match random(4) {
                0 => {
                    map.truncate(pos as u64).expect("truncates");
                    model.resize(pos, 0);
                }
                1 => {
                    let pos = pos.min(model.len());
                    let mut back = vec![0; (random(9000) as usize).min(model.len() - pos)];
                    map.read_at(pos as u64, &mut back).expect("reads");
                    assert_eq!(back, model[pos..][..back.len()]);
                }
                _ => {
                    let bytes = vec![step as u8 + 1; random(9000) as usize];
                    map.write_at(pos as u64, &bytes).expect("writes");
                    let end = pos + bytes.len();
                    if !bytes.is_empty() {
                        model.resize(model.len().max(end), 0);
                        model[pos..end].copy_from_slice(&bytes);
                    }
                }
            }
            assert!(whole(&map) == model, "round {round} step {step}");
        }
        drop(map);
        let expected = if access == OpenMode::Copy {
            &begin
        } else {
            &model
        };
        assert!(read(&name) == *expected, "round {round}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_cut_short_is_an_error() {
    let folder = Folder::new("cut");
    let name = folder.path("a");
    for access in [OpenMode::Read, OpenMode::ReadWrite, OpenMode::Copy] {
        write(&name, &[1; 100_100]);
        let map = Map::open(&name, access, 200_000).expect("opens");
        let file = OpenOptions::new()
            .write(true)
            .open(path(&name))
            .expect("opens");
        file.set_len(5000).expect("truncates");
        let mut back = [0; 100];
        assert_eq!(map.read_at(60_000, &mut back), Err(Error::FILE_READ));
        assert_eq!(map.read_at(4950, &mut back), Err(Error::FILE_READ));
        assert_eq!(map.address(60_000, 100), Err(Error::FILE_READ));
        assert_eq!(map.read_at(4900, &mut back), Ok(()));
        if access == OpenMode::Copy {
            assert_eq!(map.write_at(60_000, &back), Err(Error::FILE_WRITE));
            // In the page of the file's old end, behind that end.
            assert_eq!(map.write_at(100_200, &back), Err(Error::FILE_WRITE));
            assert_eq!(map.truncate(60_000), Err(Error::FILE_TRUNCATE));
            map.write_at(120_000, &back)
                .expect("that never came from the file");
            map.read_at(120_000, &mut back)
                .expect("nor is it read from there");
            map.truncate(4096).expect("what is left is there");
        }
    }
}

/// The system does not truncate a file that is mapped twice. The error leaves map and file as they
/// were.
#[cfg(windows)]
#[test]
fn a_file_that_is_mapped_twice_is_not_cut() {
    let folder = Folder::new("twice");
    let name = folder.path("a");
    write(&name, &[1; 100_000]);
    let map = Map::open(&name, OpenMode::ReadWrite, 0).expect("opens");
    let other = Map::open(&name, OpenMode::Read, 0).expect("opens");
    assert_eq!(map.truncate(10), Err(Error::FILE_TRUNCATE));
    assert_eq!(whole(&map), [1; 100_000]);
    map.write_at(99_999, &[2; 2]).expect("it may grow");
    assert_eq!(whole(&map).len(), 100_001);
    drop(other);
    map.truncate(10).expect("cuts");
    assert_eq!(whole(&map), [1; 10]);
}

#[cfg(unix)]
#[test]
fn a_file_that_another_handle_made_longer() {
    let folder = Folder::new("longer");
    let name = folder.path("a");
    write(&name, &[1; 100]);
    let map = Map::open(&name, OpenMode::ReadWrite, 1000).expect("opens");
    write(&name, &[2; 300]);
    map.truncate(100).expect("cuts what the other added");
    assert_eq!(read(&name), [2; 100]);
    write(&name, &[3; 300]);
    map.write_at(150, &[4; 20]).expect("writes");
    assert_eq!((map.size(), map.extent().size), (Ok(300), 300));
}

/// Addresses are returned only for what is mapped, even if another handle has made the file longer.
#[cfg(unix)]
#[test]
fn a_file_that_outgrew_the_map() {
    let folder = Folder::new("outgrown");
    let name = folder.path("a");
    write(&name, &[1; 100]);
    let map = Map::open(&name, OpenMode::ReadWrite, 0).expect("opens");
    write(&name, &vec![2; 1 << 20]);
    assert_eq!(map.address(60_000, 1000), Err(Error::FILE_READ));
    map.write_at(98, &[4; 8]).expect("writes");
    for (pos, len) in [(60_000, 1000), (0, 1 << 20)] {
        // All bytes at an address that was returned can be read.
        let address = map.address(pos, len).expect("it is in the file");
        // SAFETY: `address` returns the address of `len` mapped bytes.
        let bytes = unsafe { std::slice::from_raw_parts(address, len) };
        assert_eq!(bytes[len - 1], 2);
    }
    let behind = map.address(60_000, 1 << 20);
    assert_eq!(behind, Err(Error::FILE_READ));
}

/// All handles of a program's map lock its file through one descriptor.
#[test]
fn threads_lock_one_after_the_other() {
    let folder = Folder::new("turns");
    let name = folder.path("a");
    write(&name, &[1; 100]);
    let map = Map::open(&name, OpenMode::ReadWrite, 0).expect("opens");
    let inside = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    map.lock_exclusive().expect("locks");
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    assert!(map.try_lock_exclusive().is_some(), "its own lock");
                    map.unlock();
                    std::thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    map.unlock();
                }
            });
        }
    });
    assert!(map.try_lock_exclusive().is_some());
    let other = std::thread::scope(|scope| {
        let other = scope.spawn(|| map.try_lock_exclusive().is_some());
        other.join().expect("ends")
    });
    assert!(!other, "another thread that does not wait is refused");
    // One that waits does so for as long as it said.
    std::thread::scope(|scope| {
        let other = scope.spawn(|| map.lock_shared(Duration::from_millis(5)));
        std::thread::sleep(Duration::from_millis(300));
        let ended = other.is_finished();
        map.unlock();
        assert!(ended && !other.join().expect("ends"));
    });
}

#[test]
fn readers_beside_a_writer_that_grows_the_map() {
    let folder = Folder::new("grow");
    let name = folder.path("a");
    for access in [OpenMode::ReadWrite, OpenMode::Copy] {
        write(&name, &[7; 9000]);
        let map = Map::open(&name, access, 1).expect("opens");
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for i in 0..3000 {
                        let mut back = [0; 500];
                        map.read_at(i % 8500, &mut back).expect("reads");
                        assert_eq!(back, [7; 500]);
                    }
                });
            }
            for i in 0..200 {
                map.write_at(9000 + i * 1000, &[9; 1000]).expect("writes");
            }
        });
        assert_eq!(map.size(), Ok(209_000));
    }
}

#[test]
fn a_change_through_a_map_keeps_others_out() {
    let folder = Folder::new("map-lock");
    let name = folder.path("a");
    write(&name, b"0123456789");
    let map = Map::open(&name, OpenMode::ReadWrite, 1).expect("opens");
    let open = |mode| Filesystem.open(&name, mode).expect("opens");
    let (one, two) = (open(Mode::ReadWrite), open(Mode::Read));
    for _ in 0..2 {
        assert_eq!(
            (map.lock_exclusive(), map.lock_exclusive()),
            (Ok(Exclusion::Granted), Ok(Exclusion::Granted))
        );
        for held in [true, true, false] {
            assert_eq!(one.try_lock_exclusive().is_none(), held);
            one.unlock();
            assert_eq!(!two.lock_shared(Duration::ZERO), held);
            two.unlock();
            if held {
                // The thread has it.
                assert_eq!(one.lock_exclusive(), Err(Error::LOCK));
            }
            map.unlock();
        }
        assert_eq!(one.lock_exclusive(), Ok(Exclusion::Granted));
        assert!(map.try_lock_exclusive().is_none() && !map.lock_shared(Duration::ZERO));
        one.unlock();
        assert!(one.lock_shared(Duration::ZERO) && two.lock_shared(Duration::ZERO));
        assert!(map.try_lock_exclusive().is_none());
        one.unlock();
        two.unlock();
        // Another thread is waited for.
        assert!(map.try_lock_exclusive().is_some());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| one.lock_exclusive());
            std::thread::sleep(Duration::from_millis(30));
            assert!(!waits.is_finished());
            map.unlock();
            assert_eq!(waits.join().expect("joins"), Ok(Exclusion::Granted));
        });
        one.unlock();
        // While a thread waits, the others need not.
        assert!(one.try_lock_exclusive().is_some());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| map.lock_exclusive().map(|_| map.unlock()));
            std::thread::sleep(Duration::from_millis(30));
            let looks = scope.spawn(|| {
                let taken = map.try_lock_exclusive().is_some();
                taken || map.lock_shared(Duration::from_millis(5))
            });
            std::thread::sleep(Duration::from_millis(300));
            let ended = looks.is_finished();
            assert!(!waits.is_finished());
            one.unlock();
            assert_eq!(waits.join().expect("joins"), Ok(()));
            assert!(ended && !looks.join().expect("joins"));
        });
        // Also if it uses the same map.
        assert_eq!(map.lock_exclusive(), Ok(Exclusion::Granted));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| {
                assert!(map.try_lock_exclusive().is_none());
                map.lock_exclusive().map(|_| map.unlock())
            });
            std::thread::sleep(Duration::from_millis(30));
            assert!(!waits.is_finished());
            map.unlock();
            assert_eq!(waits.join().expect("joins"), Ok(()));
        });
    }
    let copy = Map::open(&name, OpenMode::Copy, 1).expect("opens");
    assert_eq!(copy.lock_exclusive(), Ok(Exclusion::Granted));
    assert!(map.try_lock_exclusive().is_some(), "a copy changes nothing");
}
