//! The matrix: codecs x levels x filters x typesizes x lengths x split modes x threads, ours
//! against the reference in one process. Each library decodes what the other wrote, headers and
//! return codes are the same, and random getitem and maskout agree.
//!
//! `OXIBLOSC_REFERENCE` names the reference's `libblosc2.so.9`; without it these tests are skipped,
//! in CI they fail. `OXIBLOSC_MATRIX=full` runs the whole product (two hours, one of them Zstd),
//! otherwise short buffers run whole and long ones by a fixed sample (see [`Sample`]).
//!
//! Both libraries are opened at run time, so these tests do not run under a sanitizer: an
//! instrumented library does not find the sanitizer's runtime in the test binary. `tests/hostile`,
//! which links the library, says how to.

use oxiblosc_testing::abi::*;
use oxiblosc_testing::ctx::Ctx;
use oxiblosc_testing::data::{Kind, Rng, mix};
use oxiblosc_testing::library::{Lib, both};
use oxiblosc_testing::pipelines::{PIPELINES, Pipeline};
use oxiblosc_testing::report::{Report, difference, differing_results};

const LEVELS: [u8; 4] = [0, 1, 5, 9];
const TYPESIZES: [i32; 10] = [1, 2, 3, 4, 7, 8, 12, 16, 255, 300];
const SPLITS: [i32; 4] = [ALWAYS_SPLIT, NEVER_SPLIT, AUTO_SPLIT, FORWARD_COMPAT_SPLIT];
const THREADS: [i16; 3] = [1, 2, 4];
const SHORT: [usize; 6] = [0, 1, 15, 31, 32, 100];
const LONG: usize = (1 << 20) + 3;
/// The block size that a user asks for where block edges are tested.
const EDGE_BLOCK: i32 = 4096;

/// Which of the many cases run: one in so many, chosen by a hash of the parameters, so the same
/// ones every time.
struct Sample {
    full: bool,
}

impl Sample {
    fn takes(&self, one_in: u64, parameters: u64, salt: u64) -> bool {
        self.full || mix(parameters.wrapping_mul(31).wrapping_add(salt)).is_multiple_of(one_in)
    }
}

/// One row of the matrix: contexts of both libraries with the same parameters.
struct Row<'a> {
    cparams: CParams,
    pipeline: &'a Pipeline,
    ours: &'static Lib,
    reference: &'static Lib,
    /// Decompression contexts, ours and the reference's, with the row's number of threads.
    dctx: &'a [Ctx; 2],
}

impl Row<'_> {
    fn describe(&self, src: &[u8], kind: Kind) -> String {
        let p = &self.cparams;
        format!(
            "codec {} level {} {:?} meta {:?} typesize {} blocksize {} split {} threads {} {} x {kind:?}",
            p.compcode,
            p.clevel,
            p.filters,
            p.filters_meta,
            p.typesize,
            p.blocksize,
            p.splitmode,
            p.nthreads,
            src.len()
        )
    }

    /// Runs buffers of these lengths through one pair of compression contexts.
    fn lengths(&self, lengths: &[usize], parameters: u64, report: &mut Report) {
        let mine = self.ours.cctx(&self.cparams);
        let theirs = self.reference.cctx(&self.cparams);
        let (Some(mine), Some(theirs)) = (mine.as_ref(), theirs.as_ref()) else {
            report.case();
            report.check(mine.is_none() && theirs.is_none(), "create_cctx", || {
                self.describe(&[], Kind::Zeros)
            });
            return;
        };
        let mut rng = Rng(parameters);
        for &len in lengths {
            let kind = kind_for(parameters, len);
            self.run(
                [mine, theirs],
                &kind.bytes(len, parameters),
                kind,
                &mut rng,
                report,
            );
        }
    }

    /// Compresses `src` with both libraries and compares everything that can be asked of the
    /// chunks.
    fn run(&self, cctx: [&Ctx; 2], src: &[u8], kind: Kind, rng: &mut Rng, report: &mut Report) {
        report.case();
        let which = || self.describe(src, kind);
        let [mine, theirs] = cctx.map(|ctx| {
            // A copy each: from the third filter of a pipeline on, the reference writes into its
            // source.
            let source = src.to_vec();
            let mut dest = vec![0u8; src.len() + MAX_OVERHEAD];
            let rc = ctx.compress(&source, &mut dest);
            dest.truncate(rc.max(0) as usize);
            (rc, dest, source == src)
        });
        report.check(mine.2, "our compressor wrote into its source", which);
        if !theirs.2 {
            report.note("the reference wrote into its source");
        }
        if mine.0 <= 0 || theirs.0 <= 0 {
            report.check(mine.0 == theirs.0, "return code of compress", || {
                format!("{} and {}: {}", mine.0, theirs.0, which())
            });
            return;
        }
        let whole_items = src.len().is_multiple_of(self.cparams.typesize as usize);
        if theirs.2 && whole_items {
            compare_headers(&mine.1, &theirs.1, &which, report);
        }
        let theirs_intact = theirs.2;
        let (mine, theirs) = (mine.1, theirs.1);
        report.note(if mine == theirs {
            "same bytes"
        } else {
            "other bytes"
        });

        let [theirs_by_us, theirs_by_them] = self.decode(&theirs, src.len());
        if self.is_right(&theirs_by_them, src) {
            report.check(
                theirs_by_us == theirs_by_them,
                "decompress of the reference's chunk",
                || {
                    let [a, b] = [&theirs_by_us, &theirs_by_them];
                    format!("{}: {}", differing_results(a, b), which())
                },
            );
            self.getitem(&theirs, &theirs_by_them.1, rng, &which, report);
            self.maskout(&theirs, src.len(), rng, &which, report);
        } else {
            // It cannot undo what it wrote: what no whole item fills where blocks are split or a
            // delta is taken, and everything after it has written into its source.
            report.note("the reference does not round trip");
            report.check(
                !theirs_intact || !whole_items,
                "the reference does not round trip for no known reason",
                which,
            );
            // What is lost is lost: an error says so as well as a short count does.
            report.check(
                theirs_by_us.0 < 0 || theirs_by_us.0 == theirs_by_them.0,
                "return code of decompress",
                || format!("{} and {}: {}", theirs_by_us.0, theirs_by_them.0, which()),
            );
        }
        if mine != theirs {
            let lossy = theirs_intact && whole_items && !self.pipeline.lossless();
            let lost = lossy.then_some(&*theirs_by_them.1);
            self.read_ours(&mine, src, lost, rng, &which, report);
        }
    }

    fn is_right(&self, decoded: &(i32, Vec<u8>), src: &[u8]) -> bool {
        decoded.0 == src.len() as i32 && (decoded.1 == src || !self.pipeline.lossless())
    }

    /// Our chunk, which is not the reference's: both libraries read the same. Where something is
    /// lost it is `lost`.
    fn read_ours(
        &self,
        chunk: &[u8],
        src: &[u8],
        lost: Option<&[u8]>,
        rng: &mut Rng,
        which: &dyn Fn() -> String,
        report: &mut Report,
    ) {
        let [by_us, by_them] = self.decode(chunk, src.len());
        report.check(
            self.is_right(&by_us, src) && by_us == by_them,
            "decompress of our chunk",
            || {
                let codes = format!("{} and {}", by_us.0, by_them.0);
                let [a, b] = [&by_us, &by_them].map(|decoded| difference(&decoded.1, src));
                format!("{codes}, {a} and {b}: {}", which())
            },
        );
        if let Some(lost) = lost {
            report.check(by_us.1 == lost, "what our chunk has lost", || {
                difference(&by_us.1, lost) + &which()
            });
            report.note("lossy, and other bytes");
        }
        self.getitem(chunk, &by_us.1, rng, which, report);
        self.maskout(chunk, src.len(), rng, which, report);
    }

    /// The chunk decompressed by ours and by the reference: return codes, and buffers that held
    /// `0xA5` before.
    fn decode(&self, chunk: &[u8], nbytes: usize) -> [(i32, Vec<u8>); 2] {
        self.dctx.each_ref().map(|dctx| {
            let mut dest = vec![0xA5u8; nbytes];
            (dctx.decompress(chunk, &mut dest), dest)
        })
    }

    /// Random ranges, and the first and the last item, through each of the functions.
    fn getitem(
        &self,
        chunk: &[u8],
        whole: &[u8],
        rng: &mut Rng,
        which: &dyn Fn() -> String,
        report: &mut Report,
    ) {
        let size = chunk[3] as usize;
        if size == 0 || whole.len() < size {
            return;
        }
        let items = whole.len() / size;
        let start = rng.below(items);
        let ranges = [
            (start, 1 + rng.below(items - start)),
            (rng.below(items), 1),
            (items - 1, 1),
            (start, 0),
        ];
        for (start, count) in ranges {
            let wanted = count * size;
            let mut got = Vec::new();
            for (lib, dctx) in [self.ours, self.reference].iter().zip(self.dctx) {
                let mut dest = vec![0u8; wanted];
                let rc = dctx.getitem(chunk, start as i32, count as i32, &mut dest);
                got.push((rc, dest));
                let mut dest = vec![0u8; wanted];
                let rc = dctx.getitem_bytes(chunk, (start * size) as i32, wanted as i32, &mut dest);
                got.push((rc, dest));
                let mut dest = vec![0u8; wanted];
                // SAFETY: both pointers are good for the lengths that go with them.
                let rc = unsafe {
                    (lib.f.blosc2_getitem)(
                        chunk.as_ptr().cast(),
                        chunk.len() as i32,
                        start as i32,
                        count as i32,
                        dest.as_mut_ptr().cast(),
                        wanted as i32,
                    )
                };
                got.push((rc, dest));
            }
            let (mine, theirs) = got.split_at(3);
            let right = (wanted as i32, whole[start * size..][..wanted].to_vec());
            for (mine, theirs) in mine.iter().zip(theirs) {
                // The reference answers with other bytes where a delta was applied, and where the
                // range has the length of a later block that it begins before.
                let wrong = theirs.0 >= 0 && *theirs != right;
                if wrong {
                    report.note("getitem is wrong in the reference");
                }
                let wanted = if wrong { &right } else { theirs };
                report.check(mine == wanted, "getitem", || {
                    let (a, b) = (mine.0, wanted.0);
                    format!(
                        "{start}+{count} items of {size}, {a}, should be {b}, {}",
                        difference(&mine.1, &wanted.1)
                    ) + &which()
                });
            }
        }
    }

    /// A random mask: the same bytes are written, the same are left alone.
    fn maskout(
        &self,
        chunk: &[u8],
        nbytes: usize,
        rng: &mut Rng,
        which: &dyn Fn() -> String,
        report: &mut Report,
    ) {
        let (_, [_, _, blocksize]) = self.reference.sizes(chunk);
        if blocksize <= 0 || nbytes == 0 {
            return;
        }
        let mut mask: Vec<bool> = (0..nbytes.div_ceil(blocksize as usize))
            .map(|_| rng.below(2) == 1)
            .collect();
        // The reference waits for ever for a masked first block where several threads undo a delta
        // against it.
        mask[0] &= !self.pipeline.filters.contains(&DELTA);
        let [a, b] = [self.ours, self.reference].map(|lib| {
            // A context of its own: the reference keeps the mask for the next chunk where this one
            // is copied or special.
            let dctx = lib.dctx_threads(self.cparams.nthreads);
            let set = dctx.maskout(&mut mask);
            let mut dest = vec![0xA5u8; nbytes];
            (set, dctx.decompress(chunk, &mut dest), dest)
        });
        report.check(a == b, "maskout", || {
            format!(
                "{} {} and {} {}, {}: {}",
                a.0,
                a.1,
                b.0,
                b.1,
                difference(&a.2, &b.2),
                which()
            )
        });
    }
}

/// All fields of the headers but cbytes, which depends on the codec's build.
fn compare_headers(mine: &[u8], theirs: &[u8], which: &dyn Fn() -> String, report: &mut Report) {
    let header = |chunk: &[u8]| {
        let mut header = chunk[..MAX_OVERHEAD.min(chunk.len())].to_vec();
        header[12..16].fill(0);
        header
    };
    let memcpyed = |chunk: &[u8]| chunk[2] & 2;
    if memcpyed(mine) != memcpyed(theirs) {
        // Only one found the data worth compressing; that must not make ours much larger.
        let close = mine.len() <= theirs.len() + theirs.len() / 200 + 16;
        report.note("compressed by one only");
        report.check(close, "memcpyed", || {
            format!("{} and {} bytes: {}", mine.len(), theirs.len(), which())
        });
        return;
    }
    report.check(header(mine) == header(theirs), "header", || {
        format!(
            "\n  {:02x?}\n  {:02x?}\n  {}",
            &mine[..mine.len().min(32)],
            &theirs[..theirs.len().min(32)],
            which()
        )
    });
}

/// The kind of data of a case: all of them come round.
fn kind_for(parameters: u64, len: usize) -> Kind {
    Kind::ALL[(mix(parameters ^ (len as u64) << 32) % Kind::ALL.len() as u64) as usize]
}

/// The product of everything but the lengths: level, pipeline, typesize, split mode, threads.
fn rows() -> impl Iterator<Item = (CParams, &'static Pipeline)> {
    LEVELS.into_iter().flat_map(|clevel| {
        PIPELINES.iter().flat_map(move |pipeline| {
            TYPESIZES.into_iter().flat_map(move |typesize| {
                SPLITS.into_iter().flat_map(move |splitmode| {
                    THREADS.into_iter().map(move |nthreads| {
                        let cparams = CParams {
                            clevel,
                            typesize,
                            splitmode,
                            nthreads,
                            filters: pipeline.filters,
                            filters_meta: pipeline.meta,
                            ..CParams::default()
                        };
                        (cparams, pipeline)
                    })
                })
            })
        })
    })
}

fn matrix(codec: u8) {
    let Some((ours, reference)) = both() else {
        return;
    };
    let sample = Sample {
        full: std::env::var("OXIBLOSC_MATRIX").is_ok_and(|v| v == "full"),
    };
    let mut report = Report::default();
    let mut totals = [0u64; 2];
    let dctxs =
        THREADS.map(|threads| [ours.dctx_threads(threads), reference.dctx_threads(threads)]);
    for (i, (cparams, pipeline)) in rows().enumerate() {
        let cparams = CParams {
            compcode: codec,
            ..cparams
        };
        let parameters = mix((i as u64) << 8 | u64::from(codec));
        let dctx = &dctxs[THREADS
            .iter()
            .position(|&t| t == cparams.nthreads)
            .expect("a row has one of them")];
        let row = |blocksize| Row {
            cparams: cparams.with_blocksize(blocksize),
            pipeline,
            ours,
            reference,
            dctx,
        };
        // A short buffer is one block, which one thread does: more of them say little.
        if sample.takes(if cparams.nthreads == 1 { 2 } else { 16 }, parameters, 1) {
            row(0).lengths(&SHORT, parameters, &mut report);
        }
        // The slow codecs at their slowest would take most of the time.
        let slow = if cparams.clevel == 9 && codec > LZ4 {
            8
        } else {
            1
        };
        if sample.takes(16 * slow, parameters, 2) {
            let row = row(EDGE_BLOCK);
            row.lengths(
                &edges_of(reference, &row.cparams, 1 << 16),
                parameters,
                &mut report,
            );
        }
        if sample.takes(100 * slow, parameters, 3) {
            let mut lengths = edges_of(reference, &cparams, LONG);
            lengths.retain(|&len| len < LONG);
            lengths.push(LONG);
            row(0).lengths(&lengths, parameters, &mut report);
            let src = Kind::SmoothFloat64.bytes(LONG, 1);
            for (total, lib) in totals.iter_mut().zip([ours, reference]) {
                *total += lib.compress(&cparams, &src).0.max(0) as u64;
            }
        }
    }
    let [mine, theirs] = totals;
    println!("codec {codec}: {mine} bytes, the reference {theirs}");
    report.check(
        mine * 200 <= theirs * 201,
        "size of all long chunks together",
        || format!("{mine} and {theirs}"),
    );
    report.finish(&format!("codec {codec}"));
}

/// Lengths around one and three blocks of the size that the reference chooses for `len` bytes.
fn edges_of(reference: &'static Lib, cparams: &CParams, len: usize) -> Vec<usize> {
    let (rc, chunk) = reference.compress(cparams, &Kind::WalkInt32.bytes(len, 3));
    if rc < MAX_OVERHEAD as i32 {
        return Vec::new();
    }
    let blocksize = reference.sizes(&chunk).1[2] as usize;
    [blocksize, 3 * blocksize]
        .into_iter()
        .flat_map(|edge| [edge - 1, edge, edge + 1])
        .collect()
}

#[test]
fn blosclz() {
    matrix(BLOSCLZ);
}

#[test]
fn lz4() {
    matrix(LZ4);
}

#[test]
fn lz4hc() {
    matrix(LZ4HC);
}

#[test]
fn zlib() {
    matrix(ZLIB);
}

#[test]
fn zstd() {
    matrix(ZSTD);
}
