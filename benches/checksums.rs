//! What checksums cost: the same calls alternate between two frames, of which one has checksums.
//!
//! Prints for each row the ratio of the speeds with and without checksums, the microseconds without
//! and with them, and the geometric mean of each group beside its goal. With words, only rows whose
//! description has all of them are measured.

use oxiblosc::{CParams, Place, Protection, StorageParams, SuperChunk};
use std::path::PathBuf;

const ROUNDS: usize = 31;

#[derive(Clone, Copy, PartialEq)]
enum Where {
    Memory,
    File,
    Directory,
}

fn numbers(len: usize, noise: u32) -> Vec<u8> {
    let mut state = 1u64;
    let items = (0..len as u32 / 4).map(|i| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        i.wrapping_mul(3) ^ ((state >> 33) as u32 & ((1u64 << noise) - 1) as u32)
    });
    items.flat_map(u32::to_le_bytes).collect()
}

struct Case {
    name: String,
    place: Where,
    chunk: usize,
    data: Vec<u8>,
    codec: u8,
}

impl Case {
    fn make(&self, path: &PathBuf, checksums: bool) -> SuperChunk {
        let _ = std::fs::remove_file(path);
        let _ = std::fs::remove_dir_all(path);
        let place = match self.place {
            Where::Memory => Place::Frame,
            Where::File => Place::File(path),
            Where::Directory => Place::Directory(path),
        };
        let cparams = CParams {
            typesize: 4,
            codec: self.codec,
            nthreads: 1,
            ..CParams::default()
        };
        let schunk = SuperChunk::create(StorageParams {
            place,
            cparams,
            protection: Protection::with_checksums(checksums),
            ..StorageParams::default()
        });
        schunk.expect("a super-chunk")
    }

    fn fill(&self, schunk: &SuperChunk) {
        for chunk in self.data.chunks(self.chunk) {
            schunk.append_data(chunk).expect("an append");
        }
    }
}

/// The processor time of this thread in seconds, which other programs disturb less than the time of
/// day.
fn cpu_time() -> f64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the structure is writable, and every thread has this clock.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    assert_eq!(rc, 0);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn best(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 4]
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let folder =
        std::env::temp_dir().join(format!("oxiblosc-bench-checksums-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let paths = [folder.join("without"), folder.join("with")];
    let mut groups: Vec<(&str, f64, Vec<f64>)> = vec![
        ("append", 0.95, vec![]),
        ("write slices", 0.95, vec![]),
        ("read whole", 0.97, vec![]),
        ("read slices", 0.97, vec![]),
    ];
    for (place, at) in [
        (Where::Memory, "memory"),
        (Where::File, "file"),
        (Where::Directory, "directory"),
    ] {
        for (chunk, size) in [(8 << 10, "8 KB"), (1 << 20, "1 MB")] {
            for (noise, kind) in [(3, "numbers"), (16, "half noise"), (32, "noise")] {
                for (codec, codec_name) in [(1, "LZ4"), (5, "Zstd")] {
                    let case = Case {
                        name: format!("{at}, {size}, {kind}, {codec_name}"),
                        place,
                        chunk,
                        data: numbers(if chunk < 1 << 20 { 4 << 20 } else { 16 << 20 }, noise),
                        codec,
                    };
                    row(&case, &paths, &words, &mut groups);
                }
            }
        }
    }
    for (group, goal, ratios) in groups {
        let mean =
            (ratios.iter().map(|r: &f64| r.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "{group}: {mean:.3} (goal {goal}), least {least:.3}, {} rows",
            ratios.len()
        );
    }
    let _ = std::fs::remove_dir_all(folder);
}

impl Case {
    /// Writes 200 slices. Each round writes other data.
    fn write_slices(&self, schunk: &SuperChunk, round: usize) {
        let len = self.data.len() as u64;
        for n in 0..200u64 {
            let at = n * 7919 * 4 % (len - 4000) / 4 * 4;
            let from = (at + 4000 * (1 + round as u64)) % (len - 4000);
            let new = &self.data[from as usize..][..4000];
            schunk.write_bytes(at, new).expect("a write");
        }
    }

    /// Reads 1,000 slices, each into `dest`.
    fn read_slices(&self, schunk: &SuperChunk, dest: &mut [u8]) {
        let len = self.data.len() as u64;
        for n in 0..1000u64 {
            let at = n * 104_729 * 4 % (len - 4000) / 4 * 4;
            schunk.read_bytes(at..at + 4000, dest).expect("a read");
        }
    }
}

fn row(case: &Case, paths: &[PathBuf; 2], words: &[String], groups: &mut [(&str, f64, Vec<f64>)]) {
    for (i, what) in ["append", "write slices", "read whole", "read slices"]
        .into_iter()
        .enumerate()
    {
        let name = format!("{what}: {}", case.name);
        if !words.iter().all(|word| name.contains(word.as_str())) {
            continue;
        }
        let mut times = [Vec::new(), Vec::new()];
        let mut kept: Vec<SuperChunk> = Vec::new();
        if i > 0 {
            for (with, path) in paths.iter().enumerate() {
                let schunk = case.make(path, with == 1);
                case.fill(&schunk);
                kept.push(schunk);
            }
        }
        let mut dest = vec![0; case.data.len()];
        for round in 0..ROUNDS {
            for with in [round % 2, 1 - round % 2] {
                let started;
                if i == 0 {
                    let schunk = case.make(&paths[with], with == 1);
                    started = cpu_time();
                    case.fill(&schunk);
                } else {
                    let schunk = &kept[with];
                    started = cpu_time();
                    match i {
                        1 => case.write_slices(schunk, round),
                        2 => schunk
                            .read_bytes(0..case.data.len() as u64, &mut dest)
                            .expect("a read"),
                        _ => case.read_slices(schunk, &mut dest[..4000]),
                    }
                }
                times[with].push(cpu_time() - started);
            }
        }
        let [without, with] = &mut times;
        let (without, with) = (best(without), best(with));
        let ratio = without / with;
        println!(
            "{ratio:.3}  {:8.1} {:8.1}  {name}",
            1e6 * without,
            1e6 * with
        );
        groups[i].2.push(ratio);
    }
}
