//! Frames appended to a file while others append to it, or change a frame in it: nothing is lost,
//! and every frame is where `blosc2_schunk_append_file` said.

use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::data::{Kind, Rng};
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::isolated::{Child, start};
use oxiblosc_testing::schunk::{SchunkLib, our_schunks};
use oxiblosc_testing::schunk_calls::Schunk;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const NBYTES: usize = 4000;
/// How many processes append at once, and how many frames each.
const PROCESSES: u64 = 4;
const FRAMES: u64 = 60;
/// A process that takes longer hangs.
const SECONDS: u32 = 120;

fn data(number: u64) -> Vec<u8> {
    Kind::WalkInt32.bytes(NBYTES, number)
}

/// A frame in memory with chunks of these numbers.
fn frame(lib: &'static SchunkLib, numbers: impl IntoIterator<Item = u64>) -> Schunk {
    let cparams = blosc2_cparams {
        typesize: 4,
        ..blosc2_cparams::defaults()
    };
    let schunk = lib.create(true, None, &cparams, 1, None).expect("a frame");
    for number in numbers {
        assert!(schunk.append_buffer(&data(number), NBYTES as i32) > 0);
    }
    schunk
}

/// What is wrong with the frame that begins at `offset`, which has chunks of these numbers.
fn check(
    lib: &'static SchunkLib,
    path: &Path,
    offset: i64,
    numbers: impl IntoIterator<Item = u64>,
) -> Result<i64, String> {
    let schunk = lib
        .open_at(path, offset)
        .ok_or(format!("no frame at {offset}"))?;
    let numbers: Vec<u64> = numbers.into_iter().collect();
    if schunk.get().nchunks != numbers.len() as i64 {
        let found = schunk.get().nchunks;
        return Err(format!("{found} chunks, not {}", numbers.len()));
    }
    let mut chunk = vec![0; NBYTES];
    for (at, number) in numbers.iter().enumerate() {
        let rc = schunk.decompress_chunk(at as i64, &mut chunk);
        if rc != NBYTES as i64 || chunk != data(*number) {
            return Err(format!("chunk {at} at {offset}: {rc}, or other bytes"));
        }
    }
    Ok(schunk.to_buffer().0)
}

/// What a process does; it gives where its frames begin.
type Work = Box<dyn FnOnce() -> Result<Vec<i64>, String>>;

/// Runs the work of several processes, and gives what each wrote into a file of its own.
fn together(folder: &Path, work: Vec<Work>) -> Vec<Vec<i64>> {
    let note = |n: usize| folder.join(format!("note{n}"));
    let children: Vec<Child> = work
        .into_iter()
        .enumerate()
        .map(|(n, work)| {
            start(SECONDS, || {
                let reported: Vec<String> = work()?.iter().map(i64::to_string).collect();
                fs::write(note(n), reported.join(" ")).map_err(|e| e.to_string())
            })
        })
        .collect();
    let count = children.len();
    let wrong: Vec<String> = children
        .into_iter()
        .filter_map(|child| child.join().err())
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let numbers = |n| {
        let reported = fs::read_to_string(note(n)).expect("what a process told");
        let reported = reported.split_whitespace();
        reported
            .map(|number| number.parse().expect("a number"))
            .collect()
    };
    (0..count).map(numbers).collect()
}

#[test]
fn processes_append_to_one_file() {
    oxiblosc_testing::own_process!();
    let lib = our_schunks();
    let folder = Folder::new("together");
    // Each time they make the file together.
    for round in 0..8 {
        let path = folder.0.join(format!("container{round}"));
        let append = |process: u64| -> Box<dyn FnOnce() -> Result<Vec<i64>, String>> {
            let path = path.clone();
            Box::new(move || {
                let append = |n: u64| match frame(lib, [process * FRAMES + n]).append_file(&path) {
                    offset if offset >= 0 => Ok(offset),
                    error => Err(format!("append_file: {error}")),
                };
                (0..FRAMES).map(append).collect()
            })
        };
        let offsets = together(&folder.0, (0..PROCESSES).map(append).collect());
        let mut total = 0;
        for (process, offsets) in (0..).zip(offsets) {
            for (n, offset) in (0..).zip(offsets) {
                let number = process * FRAMES + n;
                total += check(lib, &path, offset, [number]).expect("the frame");
            }
        }
        assert_eq!(fs::metadata(&path).expect("the file").len(), total as u64);
    }
}

/// A process changes the only frame of a file until another one stands behind it, and a second
/// process appends that.
#[test]
fn a_frame_is_appended_beside_a_writer() {
    oxiblosc_testing::own_process!();
    let lib = our_schunks();
    let folder = Folder::new("beside");
    let mut rng = Rng(7);
    for round in 0..60_u64 {
        let path = folder.0.join(format!("container{round}"));
        // Small frames, which are written whole, and large ones, in which places are found.
        let chunks = if round % 2 == 0 { 20 } else { 1500 };
        assert!(frame(lib, 0..chunks).to_file(&path) > 0);
        let pause = Duration::from_micros(rng.below(5000) as u64);
        let (written, appended) = (path.clone(), path.clone());
        let writer = Box::new(move || {
            let schunk = lib.open_path(&written).ok_or("the frame does not open")?;
            let until = Instant::now() + Duration::from_secs(u64::from(SECONDS) / 2);
            let mut next = chunks;
            while schunk.append_buffer(&data(next), NBYTES as i32) > 0 {
                next += 1;
                if Instant::now() > until {
                    return Err("no frame was appended".to_owned());
                }
            }
            Ok(vec![next as i64])
        });
        let appender = Box::new(move || {
            std::thread::sleep(pause);
            Ok(vec![frame(lib, [round]).append_file(&appended)])
        });
        let reported = together(&folder.0, vec![writer, appender]);
        let (next, offset) = (reported[0][0] as u64, reported[1][0]);
        let first = check(lib, &path, 0, 0..next).expect("the first frame");
        let second = check(lib, &path, offset, [round]).expect("the second frame");
        assert!(offset >= first, "{offset} in a frame of {first} bytes");
        let len = fs::metadata(&path).expect("the file").len();
        assert_eq!(len, (offset + second) as u64);
    }
}

/// Who locks the file for long does not change it: then there is an end to waiting.
#[test]
fn a_lock_of_somebody_else_is_not_waited_for_for_ever() {
    oxiblosc_testing::own_process!();
    let lib = our_schunks();
    let folder = Folder::new("locked");
    let path = folder.0.join("container");
    fs::write(&path, b"whatever").expect("writes");
    let file = fs::File::open(&path).expect("opens");
    file.lock().expect("locks");
    assert_eq!(frame(lib, [1]).append_file(&path), 8);
    check(lib, &path, 8, [1]).expect("the frame");
}
