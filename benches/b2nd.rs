//! Arrays, ours against the reference in one process: the same calls on the same data, taking
//! turns.
//!
//! ```text
//! OXIBLOSC_REFERENCE=.../libblosc2.so.9 cargo bench --bench b2nd -- [--out DIR] [WORD...]
//! ```
//!
//! 200 x 400 x 200 float64 in chunks of 50 x 200 x 100 and blocks of 10 x 40 x 50, LZ4, by one
//! thread and by two, in memory and in a file. Writes `b2nd.csv` into DIR (`target/compare` by
//! default), and prints the geometric mean of the speed ratios of each group beside its goal. With
//! words, only rows whose description has all of them are measured.

use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::b2nd::{Array, B2ndLib, Spec, c_path, our_arrays, reference_arrays};
use oxiblosc_testing::data::{Kind, Rng};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const SHAPE: [i64; 3] = [200, 400, 200];
const ITEM: usize = 8;
/// The longest time for one row.
const BUDGET: Duration = Duration::from_millis(1500);
/// The approximate length of a turn. After a call, a library's worker threads spin for some
/// microseconds. If the libraries took turns at each call, they would take the processors from
/// those of the other one.
const TURN: Duration = Duration::from_millis(2);

/// A part of the array: its start and its end.
struct Part {
    name: &'static str,
    start: [i64; 3],
    stop: [i64; 3],
}

const PARTS: [Part; 6] = [
    part("point", [77, 133, 101], [78, 134, 102]),
    part("row", [77, 133, 0], [78, 134, 200]),
    part("plane", [77, 0, 0], [78, 400, 200]),
    part("cube", [30, 30, 30], [80, 80, 80]),
    part("half", [0, 0, 0], [100, 400, 200]),
    part("whole", [0, 0, 0], SHAPE),
];

const fn part(name: &'static str, start: [i64; 3], stop: [i64; 3]) -> Part {
    Part { name, start, stop }
}

impl Part {
    fn shape(&self) -> [i64; 3] {
        [0, 1, 2].map(|d| self.stop[d] - self.start[d])
    }

    fn nbytes(&self) -> usize {
        self.shape().iter().product::<i64>() as usize * ITEM
    }
}

/// What is measured.
enum Work {
    Read(&'static Part),
    /// The same values again, but for one byte.
    Write(&'static Part),
    /// Other values each time.
    Renew(&'static Part),
    Blocks,
    Picked,
    Sparse,
    Build,
    Append,
    /// A copy whose chunks are compressed with another codec.
    Recompress,
    /// A copy with chunks and blocks of other shapes.
    Rechunk,
}

struct Row {
    work: Work,
    on_disk: bool,
    threads: i16,
}

impl Row {
    fn name(&self) -> String {
        match &self.work {
            Work::Read(part) => format!("read {}", part.name),
            Work::Write(part) => format!("write {}", part.name),
            Work::Renew(part) => format!("write {} of new values", part.name),
            Work::Blocks => "write whole blocks".to_owned(),
            Work::Picked => "read orthogonal selection".to_owned(),
            Work::Sparse => "read sparse".to_owned(),
            Work::Build => "build from buffer".to_owned(),
            Work::Append => "append a plane".to_owned(),
            Work::Recompress => "copy to another codec".to_owned(),
            Work::Rechunk => "copy into other chunks".to_owned(),
        }
    }

    /// The group, and its goal: how many times as fast ours must be.
    fn group(&self) -> (&'static str, f64) {
        match &self.work {
            Work::Write(part) | Work::Renew(part) if matches!(part.name, "point" | "row") => {
                ("write points, rows", 30.0)
            }
            Work::Write(_) | Work::Renew(_) => ("write planes, cubes", 4.0),
            Work::Blocks | Work::Append => ("write blocks, append", 1.0),
            _ => ("read, build, copy", 1.5),
        }
    }

    fn describe(&self) -> String {
        let place = if self.on_disk { "file" } else { "memory" };
        format!("{} {place} threads {}", self.name(), self.threads)
    }
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for on_disk in [false, true] {
        for threads in [1, 2] {
            let mut works: Vec<Work> = PARTS.iter().map(Work::Read).collect();
            works.extend(PARTS[..4].iter().map(Work::Write));
            works.extend(PARTS[..4].iter().map(Work::Renew));
            works.extend([Work::Blocks, Work::Picked, Work::Sparse, Work::Append]);
            if !on_disk {
                works.extend([Work::Build, Work::Recompress, Work::Rechunk]);
            }
            rows.extend(works.into_iter().map(|work| Row {
                work,
                on_disk,
                threads,
            }));
        }
    }
    rows
}

fn spec(row: &Row, path: &Path) -> Spec {
    Spec {
        shape: SHAPE.to_vec(),
        chunks: vec![50, 200, 100],
        blocks: vec![10, 40, 50],
        cparams: blosc2_cparams {
            compcode: oxiblosc_testing::abi::LZ4,
            typesize: ITEM as i32,
            nthreads: row.threads,
            ..blosc2_cparams::defaults()
        },
        nthreads: row.threads,
        contiguous: row.on_disk,
        path: row.on_disk.then(|| c_path(path)),
    }
}

/// One library's array, and buffers.
struct Bench {
    array: Array,
    spec: Spec,
    buffer: Vec<u8>,
    turn: u8,
}

impl Bench {
    fn new(lib: &'static B2ndLib, row: &Row, path: &Path, data: &[u8]) -> Bench {
        // It does not matter if there is none.
        let _ = std::fs::remove_file(path);
        let spec = spec(row, path);
        let array = lib.array_of(&spec, data).expect("an array");
        Bench {
            array,
            spec,
            buffer: data.to_vec(),
            turn: 0,
        }
    }

    fn once(&mut self, row: &Row, data: &[u8], lists: &[Vec<i64>], coords: &[i64]) {
        self.turn = self.turn.wrapping_add(1);
        let buffer = &mut self.buffer;
        let rc = match &row.work {
            Work::Read(part) => {
                let buffer = &mut buffer[..part.nbytes()];
                self.array
                    .get(&part.start, &part.stop, &part.shape(), buffer)
            }
            Work::Write(part) => {
                let buffer = &mut buffer[..part.nbytes()];
                buffer[0] = self.turn;
                self.array
                    .set(&part.start, &part.stop, &part.shape(), buffer)
            }
            Work::Renew(part) => {
                let len = part.nbytes();
                let from = usize::from(self.turn) * 4096 * ITEM;
                let new = &data[from..from + len];
                self.array.set(&part.start, &part.stop, &part.shape(), new)
            }
            Work::Blocks => {
                buffer[0] = self.turn;
                let (start, stop, shape) = ([50, 200, 100], [70, 280, 200], [20, 80, 100]);
                let len = 20 * 80 * 100 * ITEM;
                self.array.set(&start, &stop, &shape, &buffer[..len])
            }
            Work::Picked => {
                let len = lists.iter().map(Vec::len).product::<usize>() * ITEM;
                self.array.get_picked(lists, &mut buffer[..len])
            }
            Work::Sparse => self
                .array
                .get_sparse(coords, &mut buffer[..coords.len() * ITEM]),
            Work::Build => {
                drop(self.array.lib.array_of(&self.spec, data).expect("an array"));
                0
            }
            Work::Append => {
                let len = 400 * 200 * ITEM;
                let rc = self.array.append(0, &data[..len]);
                assert_eq!(self.array.delete(0, SHAPE[0], 1), 0);
                rc
            }
            Work::Recompress => {
                let mut spec = self.spec.clone();
                spec.cparams.compcode = oxiblosc_testing::abi::BLOSCLZ;
                drop(self.array.copy(&spec).expect("a copy"));
                0
            }
            Work::Rechunk => {
                let spec = Spec {
                    chunks: vec![100, 100, 100],
                    ..self.spec.clone()
                };
                drop(self.array.copy(&spec).expect("a copy"));
                0
            }
        };
        assert_eq!(rc, 0, "{} {}", self.array.lib.lib.name, row.describe());
    }
}

/// The seconds that one operation takes, with ours and with the reference: the median of its turns.
/// The fastest turn of several threads is one in which they happened to be awake.
fn measure(row: &Row, libs: [&'static B2ndLib; 2], folder: &Path, data: &[u8]) -> [f64; 2] {
    let mut rng = Rng(5);
    let lists: Vec<Vec<i64>> = SHAPE
        .iter()
        .map(|len| (0..20).map(|_| rng.below(*len as usize) as i64).collect())
        .collect();
    let items = SHAPE.iter().product::<i64>() as usize;
    let coords: Vec<i64> = (0..2000).map(|_| rng.below(items) as i64).collect();
    let mut sides = [0, 1].map(|i| {
        let path = folder.join(["ours", "reference"][i]);
        Bench::new(libs[i], row, &path, data)
    });
    let turn = |side: &mut Bench, calls: u32| {
        let start = Instant::now();
        (0..calls).for_each(|_| side.once(row, data, &lists, &coords));
        (start.elapsed() / calls).as_secs_f64()
    };
    let first = sides.each_mut().map(|side| turn(side, 1));
    let calls = (TURN.as_secs_f64() / first[0].max(first[1])).clamp(1.0, 1000.0) as u32;
    let begun = Instant::now();
    let mut times = [Vec::new(), Vec::new()];
    while times[0].len() < 3 || begun.elapsed() < BUDGET {
        for (side, times) in sides.iter_mut().zip(&mut times) {
            times.push(turn(side, calls));
        }
    }
    times.map(|mut times| {
        let middle = times.len() / 2;
        *times.select_nth_unstable_by(middle, f64::total_cmp).1
    })
}

fn main() {
    let mut out = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/compare");
    let mut words = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // Cargo passes this.
            "--bench" => {}
            "--out" => out = PathBuf::from(arguments.next().expect("--out takes a folder")),
            word => words.push(word.to_lowercase()),
        }
    }
    let Some(reference) = reference_arrays() else {
        return;
    };
    let libs = [our_arrays(), reference];
    let folder = out.join(format!("b2nd-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folders can be made");
    let data = Kind::SmoothFloat64.bytes(SHAPE.iter().product::<i64>() as usize * ITEM, 1);
    let mut csv = "work,threads,place,ours_s,reference_s,ratio\n".to_owned();
    let mut groups: Vec<(&str, f64, Vec<f64>)> = Vec::new();
    for row in rows() {
        let description = row.describe();
        if !words.iter().all(|word| description.contains(word)) {
            continue;
        }
        let [ours, theirs] = measure(&row, libs, &folder, &data);
        let ratio = theirs / ours;
        println!(
            "{ratio:7.2}  {description}  ({:.3} ms for {:.3})",
            ours * 1e3,
            theirs * 1e3
        );
        let place = if row.on_disk { "file" } else { "memory" };
        let (name, threads) = (row.name(), row.threads);
        writeln!(
            csv,
            "{name},{threads},{place},{ours:.9},{theirs:.9},{ratio:.3}"
        )
        .expect("text");
        let (group, goal) = row.group();
        match groups.iter_mut().find(|(name, ..)| *name == group) {
            Some((.., ratios)) => ratios.push(ratio),
            None => groups.push((group, goal, vec![ratio])),
        }
    }
    std::fs::remove_dir_all(&folder).expect("the folder made above");
    for (group, goal, ratios) in groups {
        let mean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        println!("{group}: {mean:.2} (goal {goal}), least {least:.2}");
    }
    std::fs::write(out.join("b2nd.csv"), csv).expect("the folder was made");
}
