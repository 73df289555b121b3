//! The effect of more threads: the same work with 2, 4, 8, 16 and 64 threads, alternating in one
//! process.
//!
//! ```text
//! cargo bench --bench scaling -- [WORD...]
//! ```
//!
//! Prints the ratio of the speed with each number of threads to that with two, for chunks of few
//! and of many blocks. On a machine with two processors no row should be under 0.95. The first
//! ratio is that of two threads to two threads again: how far equal works differ. With words, only
//! rows whose name has all of them are measured. `OXIBLOSC_LIBRARY` names another library.

use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::abi::{CParams, LZ4, MAX_OVERHEAD, SHUFFLE, ZSTD};
use oxiblosc_testing::b2nd::{Spec, our_arrays};
use oxiblosc_testing::data::{Kind, Rng};
use oxiblosc_testing::library::ours;
use oxiblosc_testing::schunk::our_schunks;
use std::time::{Duration, Instant};

const THREADS: [i16; 6] = [2, 2, 4, 8, 16, 64];
/// How often all works are prepared anew, since the speed depends on where their memory happens to
/// lie.
const ROUNDS: usize = 4;
/// The approximate length of a turn.
const TURN: Duration = Duration::from_millis(2);
/// The approximate length of all turns of a work in a round.
const ROUND: Duration = Duration::from_millis(40);

/// The work of a row, with one number of threads.
type Work = Box<dyn FnMut()>;

/// A row: its name, and a function that prepares the work for a number of threads.
struct Row {
    name: String,
    prepare: Box<dyn Fn(i16) -> Work>,
}

fn row(name: String, prepare: impl Fn(i16) -> Work + 'static) -> Row {
    Row {
        name,
        prepare: Box::new(prepare),
    }
}

/// Compressing and decompressing a chunk of `nbytes` in blocks of `blocksize`.
fn chunk_rows(codec: (u8, &str), nbytes: usize, blocksize: usize) -> [Row; 2] {
    let (compcode, codec) = codec;
    let name = |what| {
        let (size, blocks) = (nbytes >> 10, nbytes / blocksize);
        format!("{what} {codec}, {size} KB, {blocks} blocks")
    };
    let cparams = move |nthreads| CParams {
        compcode,
        nthreads,
        typesize: 4,
        blocksize: blocksize as i32,
        filters: [0, 0, 0, 0, 0, SHUFFLE],
        ..CParams::default()
    };
    let compress = move |nthreads| {
        let context = ours().cctx(&cparams(nthreads)).expect("valid parameters");
        let data = Kind::WalkInt32.bytes(nbytes, 1);
        let mut dest = vec![1; nbytes + MAX_OVERHEAD];
        Box::new(move || assert!(context.compress(&data, &mut dest) > 0)) as Work
    };
    let decompress = move |nthreads| {
        let context = ours().cctx(&cparams(1)).expect("valid parameters");
        let mut data = Kind::WalkInt32.bytes(nbytes, 1);
        let mut chunk = vec![1; nbytes + MAX_OVERHEAD];
        let cbytes = context.compress(&data, &mut chunk);
        chunk.truncate(cbytes as usize);
        let context = ours().dctx_threads(nthreads);
        Box::new(move || assert!(context.decompress(&chunk, &mut data) > 0)) as Work
    };
    [
        row(name("compress"), compress),
        row(name("decompress"), decompress),
    ]
}

fn schunk_cparams(nthreads: i16) -> blosc2_cparams {
    blosc2_cparams {
        typesize: 4,
        compcode: LZ4,
        nthreads,
        ..blosc2_cparams::defaults()
    }
}

/// Slices of half a chunk of a super-chunk in memory.
fn slice_row(nbytes: usize) -> Row {
    let prepare = move |nthreads| {
        const CHUNKS: usize = 8;
        let schunk = our_schunks()
            .create(false, None, &schunk_cparams(nthreads), nthreads, None)
            .expect("a super-chunk");
        for nchunk in 0..CHUNKS {
            let data = Kind::WalkInt32.bytes(nbytes, nchunk as u64);
            assert!(schunk.append_buffer(&data, nbytes as i32) > 0);
        }
        let mut rng = Rng(7);
        let items = nbytes / 8;
        let mut dest = vec![1; nbytes / 2];
        Box::new(move || {
            let start = rng.below((CHUNKS - 1) * nbytes / 4) as i64;
            assert!(schunk.get_slice(start, start + items as i64, &mut dest) >= 0);
        }) as Work
    };
    row(
        format!("slices of half a chunk, {} KB", nbytes >> 10),
        prepare,
    )
}

/// Planes and cubes of an array in memory.
fn array_row(name: &str, start: [i64; 3], stop: [i64; 3]) -> Row {
    const SHAPE: [i64; 3] = [100, 400, 200];
    let prepare = move |nthreads| {
        let spec = Spec {
            shape: SHAPE.to_vec(),
            chunks: vec![50, 200, 100],
            blocks: vec![10, 40, 50],
            cparams: schunk_cparams(nthreads),
            nthreads,
            contiguous: false,
            path: None,
        };
        let data = Kind::WalkInt32.bytes(SHAPE.iter().product::<i64>() as usize * 4, 1);
        let array = our_arrays().array_of(&spec, &data).expect("an array");
        let shape = [0, 1, 2].map(|d| stop[d] - start[d]);
        let mut dest = vec![1; shape.iter().product::<i64>() as usize * 4];
        Box::new(move || assert_eq!(array.get(&start, &stop, &shape, &mut dest), 0)) as Work
    };
    row(format!("array: {name}"), prepare)
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for codec in [(LZ4, "LZ4"), (ZSTD, "Zstd")] {
        for (kbytes, blocks) in [
            (64, 2),
            (64, 16),
            (256, 4),
            (256, 64),
            (1024, 4),
            (1024, 64),
            (8192, 8),
            (8192, 128),
            (8192, 1024),
        ] {
            rows.extend(chunk_rows(codec, kbytes << 10, (kbytes << 10) / blocks));
        }
    }
    rows.extend([64, 256, 1024, 8192].map(|kbytes| slice_row(kbytes << 10)));
    rows.push(array_row("a plane", [77, 0, 0], [78, 400, 200]));
    rows.push(array_row("a cube", [30, 30, 30], [80, 80, 80]));
    rows.push(array_row("the whole", [0; 3], [100, 400, 200]));
    rows
}

/// Measures the seconds of one call of each work in its fastest turn, and keeps the lower of that
/// and `best`.
fn measure(works: &mut [Work], best: &mut [f64]) {
    let time = |work: &mut Work, calls: u32| {
        let start = Instant::now();
        (0..calls).for_each(|_| work());
        start.elapsed()
    };
    let first = works
        .iter_mut()
        .map(|work| time(work, 1).max(time(work, 1)));
    let slowest = first.max().expect("several").max(Duration::from_nanos(1));
    let calls = TURN.as_nanos().div_ceil(slowest.as_nanos()).min(10_000) as u32;
    let turns = (ROUND.as_nanos() / (slowest * calls).as_nanos()).max(2) as usize;
    for turn in 0..turns {
        for at in 0..works.len() {
            let at = (at + turn) % works.len();
            let seconds = time(&mut works[at], calls).as_secs_f64() / f64::from(calls);
            best[at] = best[at].min(seconds);
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    println!(
        "us with 2 threads; speed over that with {:?}",
        &THREADS[1..]
    );
    let mut least = f64::INFINITY;
    for row in rows() {
        if !words.iter().all(|word| row.name.contains(word.as_str())) {
            continue;
        }
        let mut seconds = THREADS.map(|_| f64::INFINITY);
        for _ in 0..ROUNDS {
            measure(&mut THREADS.map(|n| (row.prepare)(n)), &mut seconds);
        }
        let ratios: Vec<f64> = seconds[1..].iter().map(|more| seconds[0] / more).collect();
        least = ratios[1..].iter().copied().fold(least, f64::min);
        let text: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:6.2}")).collect();
        println!("{:9.1} {}  {}", seconds[0] * 1e6, text.join(""), row.name);
    }
    println!("the lowest: {least:.2}");
}
