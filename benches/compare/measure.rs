//! Measures a row: the two libraries alternate, and the fastest turn of each counts, since
//! disturbances only make a turn slower.

use crate::rows::{Case, Operation, Row, Size};
use oxiblosc_testing::abi::MAX_OVERHEAD;
use oxiblosc_testing::ctx::Ctx;
use oxiblosc_testing::data::Rng;
use oxiblosc_testing::library::Lib;
use std::hint::black_box;
use std::time::Duration;

/// The result of a row.
#[derive(Clone, Copy)]
pub struct Measured {
    /// The seconds of one operation, with ours and with the reference.
    pub seconds: [f64; 2],
    /// Uncompressed bytes that one operation works on.
    pub bytes: usize,
    /// The sizes of the chunks of ours and of the reference.
    pub cbytes: [usize; 2],
}

impl Measured {
    /// How many times as fast ours is.
    pub fn ratio(&self) -> f64 {
        self.seconds[1] / self.seconds[0]
    }
}

/// Measures one row. Both decompress the reference's chunks.
pub fn measure(case: &Case, row: &Row, libs: [&'static Lib; 2], quick: bool) -> Measured {
    let chunks = match case.size {
        Size::Small => SMALL_BYTES / case.nbytes,
        Size::Chunk | Size::Items => 1,
    };
    let src = case.kind.bytes(case.nbytes * chunks, 1);
    let cctx = libs.map(|lib| lib.cctx(&case.cparams()).expect("valid parameters"));
    let dctx = libs.map(|lib| lib.dctx_threads(case.threads));
    let mut dest = vec![1u8; case.nbytes + MAX_OVERHEAD];
    let mut out = vec![1u8; case.nbytes];
    let mut cbytes = [0; 2];
    let mut compressed = Vec::new();
    for part in src.chunks(case.nbytes) {
        for n in [0, 1] {
            let rc = cctx[n].compress(part, &mut dest);
            assert!(rc > 0, "{}: {rc}: {}", libs[n].name, row.describe());
            cbytes[n] += rc as usize;
            if n == 1 {
                compressed.push(dest[..rc as usize].to_vec());
            }
        }
        for dctx in &dctx {
            let rc = dctx.decompress(compressed.last().expect("just pushed"), &mut out);
            let is_same = rc as usize == part.len() && out == part;
            assert!(is_same, "{rc}: {}", row.describe());
        }
    }
    let clock = Clock::of(case.threads);
    let seconds = match row.operation {
        Operation::Compress => take_turns(clock, quick, |n| {
            for part in src.chunks(case.nbytes) {
                let rc = cctx[n].compress(black_box(part), &mut dest);
                assert!(black_box(rc) > 0);
            }
        }),
        Operation::Decompress => take_turns(clock, quick, |n| {
            for chunk in &compressed {
                let rc = dctx[n].decompress(black_box(chunk), &mut out);
                assert!(black_box(rc) > 0);
            }
        }),
        Operation::GetItem(items) => {
            let dest = &mut out[..items * case.kind.typesize() as usize];
            take_turns(clock, quick, |n| {
                getitems(&dctx[n], case, &compressed[0], dest)
            })
        }
    };
    let (calls, bytes) = match row.operation {
        Operation::GetItem(items) => (ACCESSES, items * case.kind.typesize() as usize),
        _ => (chunks, case.nbytes),
    };
    Measured {
        seconds: seconds.map(|s| s / calls as f64),
        bytes,
        cbytes: cbytes.map(|c| c / chunks),
    }
}

/// The amount of data that is cut into small chunks. If one chunk were read over and over, the
/// branch predictor would learn it, which has a larger effect than the difference of the libraries.
const SMALL_BYTES: usize = 256 << 10;

/// The number of accesses of one operation, so that many places of the chunk are read.
const ACCESSES: usize = 16;

fn getitems(dctx: &Ctx, case: &Case, chunk: &[u8], dest: &mut [u8]) {
    let size = case.kind.typesize() as usize;
    let items = dest.len() / size;
    let mut rng = Rng(7);
    for _ in 0..ACCESSES {
        let start = rng.below(case.nbytes / size - items);
        let rc = dctx.getitem(chunk, start as i32, items as i32, dest);
        assert!(black_box(rc) > 0);
    }
}

/// Reads a clock twice. The work of one thread is measured in its processor time, which other
/// programs disturb less than the time of day; the work of several threads is measured by the time
/// of day.
#[derive(Clone, Copy)]
struct Clock(libc::clockid_t);

impl Clock {
    fn of(threads: i16) -> Clock {
        Clock(if threads == 1 {
            libc::CLOCK_THREAD_CPUTIME_ID
        } else {
            libc::CLOCK_MONOTONIC
        })
    }

    fn now(self) -> Duration {
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `now` is writable.
        let rc = unsafe { libc::clock_gettime(self.0, &mut now) };
        assert_eq!(rc, 0, "the clock is there");
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    }

    fn time(self, work: impl FnOnce()) -> Duration {
        let start = self.now();
        work();
        self.now() - start
    }
}

/// The seconds of one `work(0)` and of one `work(1)`.
fn take_turns(clock: Clock, quick: bool, mut work: impl FnMut(usize)) -> [f64; 2] {
    let (turns, length) = if quick {
        (5, Duration::from_millis(4))
    } else {
        (9, Duration::from_millis(20))
    };
    // A turn has as many calls as the faster of the two makes in the length of a turn.
    let first = (0..6).map(|n| clock.time(|| work(n % 2)));
    let faster = first.skip(2).min().expect("several");
    let calls = (length.as_nanos() / faster.as_nanos().max(50)).clamp(1, 100_000) as u32;
    let mut best = [Duration::MAX; 2];
    for turn in 0..turns {
        for n in [turn % 2, 1 - turn % 2] {
            let time = clock.time(|| (0..calls).for_each(|_| work(n)));
            best[n] = best[n].min(time);
        }
    }
    best.map(|b| b.as_secs_f64() / f64::from(calls))
}
