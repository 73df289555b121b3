//! Arrays that grow under the eyes of others: processes that append to one array in a file, and
//! processes that read it, each with a lock. No reader sees a part of an append, and every reader
//! follows what is written.
//!
//! `OXIBLOSC_LOCKING` is how many seconds it takes (3 by default).

use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::b2nd::{Array, Spec, c_path, our_arrays};
use oxiblosc_testing::isolated::{Child, start};
use oxiblosc_testing::schunk::our_schunks;
use std::path::Path;
use std::time::{Duration, Instant};

const WRITERS: u32 = 2;
const READERS: usize = 3;
/// Items of a row, and rows of one append: neither divides a chunk.
const COLUMNS: i64 = 7;
const ROWS: i64 = 3;

fn open(path: &Path) -> Result<Array, String> {
    let opened = our_schunks().open_locking(path);
    let schunk = opened.ok_or("the frame does not open")?;
    // SAFETY: a super-chunk of our library.
    unsafe { our_arrays().adopt(schunk.into_raw()) }
        .map_err(|rc| format!("the super-chunk is no array: {rc}"))
}

/// What one append writes.
fn rows(writer: u32, count: u32) -> Vec<u8> {
    let item = [writer.to_le_bytes(), count.to_le_bytes()].concat();
    item.repeat((ROWS * COLUMNS) as usize)
}

fn write(path: &Path, writer: u32, until: Instant) -> Result<(), String> {
    let array = open(path)?;
    for count in 0.. {
        if Instant::now() >= until && count > 0 {
            break;
        }
        match array.append(0, &rows(writer, count)) {
            0 => {}
            rc => return Err(format!("append {count} of writer {writer} returns {rc}")),
        }
    }
    Ok(())
}

/// Looks at the whole array; gives how many appends it shows.
fn look(array: &Array) -> Result<i64, String> {
    let shape = array.shape();
    if shape[0] % ROWS != 0 || shape[1] != COLUMNS {
        return Err(format!("a shape that never was: {shape:?}"));
    }
    let append = (ROWS * COLUMNS * 8) as usize;
    let mut data = vec![0xee; shape[0] as usize / ROWS as usize * append];
    match array.get(&[0, 0], &shape, &shape, &mut data) {
        0 => {}
        rc => return Err(format!("reading {shape:?} returns {rc}")),
    }
    let mut next = [0; WRITERS as usize];
    for (i, seen) in data.chunks(append).enumerate() {
        let number = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| seen[at + byte]));
        let (writer, count) = (number(0), number(4));
        let expected = next.get_mut(writer as usize);
        let expected = expected.ok_or(format!("append {i} is of an unknown writer: {writer}"))?;
        if count != *expected || seen != rows(writer, count) {
            return Err(format!(
                "append {i} is {count} of writer {writer}, not {expected}"
            ));
        }
        *expected += 1;
    }
    Ok(shape[0] / ROWS)
}

/// Follows the array, by `b2nd_refresh` or by what every function does.
fn follow(path: &Path, refresh: bool, until: Instant) -> Result<(), String> {
    let array = open(path)?;
    let (mut last, mut grown) = (0, 0);
    while Instant::now() < until {
        if refresh {
            match array.refresh() {
                0 | 1 => {}
                rc => return Err(format!("refresh returns {rc}")),
            }
        } else {
            let mut item = [0; 8];
            // There may be no item yet.
            array.get_sparse(&[0], &mut item);
        }
        let now = look(&array)?;
        if now < last {
            return Err(format!("{now} appends after {last}"));
        }
        grown += u32::from(now > last);
        last = now;
    }
    match grown {
        0 => Err("the array never grew".into()),
        _ => Ok(()),
    }
}

#[test]
fn readers_follow_an_array_that_grows() {
    oxiblosc_testing::own_process!();
    let seconds = std::env::var("OXIBLOSC_LOCKING")
        .map_or(3, |seconds| seconds.parse().expect("a number of seconds"));
    let folder = std::env::temp_dir().join(format!("oxiblosc-growing-{}", std::process::id()));
    for contiguous in [true, false] {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let path = folder.join("array");
        let spec = Spec {
            shape: vec![0, COLUMNS],
            chunks: vec![4, 5],
            blocks: vec![2, 3],
            cparams: blosc2_cparams {
                typesize: 8,
                ..blosc2_cparams::defaults()
            },
            nthreads: 1,
            contiguous,
            path: Some(c_path(&path)),
        };
        drop(our_arrays().array_of(&spec, &[]).expect("an empty array"));
        let until = Instant::now() + Duration::from_secs(seconds);
        let limit = 60 + seconds as u32;
        let mut children: Vec<(String, Child)> = Vec::new();
        for writer in 0..WRITERS {
            let child = start(limit, || write(&path, writer, until));
            children.push((format!("writer {writer}"), child));
        }
        for reader in 0..READERS {
            let child = start(limit, || follow(&path, reader % 2 == 0, until));
            children.push((format!("reader {reader}"), child));
        }
        for (who, child) in children {
            assert_eq!(child.join(), Ok(()), "{who}, contiguous: {contiguous}");
        }
        let array = open(&path).expect("the array at the end");
        let appends = look(&array).expect("all appends");
        println!("{appends} appends, contiguous: {contiguous}");
        assert!(appends > 0);
    }
    std::fs::remove_dir_all(&folder).expect("the test's own folder");
}
