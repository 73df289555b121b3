//! Arrays in 1 to 4 dimensions through every codec and filter: the frames that both libraries
//! write, and what each reads in the other's.

use blosc2::capi::constants::*;
use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::abi::{BITSHUFFLE, BLOSCLZ, LZ4, NEVER_SPLIT, NOFILTER, SHUFFLE};
use oxiblosc_testing::b2nd::{B2ndLib, Spec, our_arrays, reference_arrays};
use oxiblosc_testing::data::{Rng, mix};
use oxiblosc_testing::report::{Report, difference};
use oxiblosc_testing::sample::takes;

/// A shape, and what chunks and blocks it is in.
pub struct Shape {
    pub shape: &'static [i64],
    pub chunks: &'static [i32],
    pub blocks: &'static [i32],
}

/// Even and odd blocks, some cut by the chunk, some by the array, some smaller than a cell.
pub const SHAPES: [Shape; 12] = [
    Shape {
        shape: &[1000],
        chunks: &[300],
        blocks: &[100],
    },
    Shape {
        shape: &[777],
        chunks: &[500],
        blocks: &[77],
    },
    Shape {
        shape: &[64, 64],
        chunks: &[64, 64],
        blocks: &[64, 64],
    },
    Shape {
        shape: &[100, 90],
        chunks: &[50, 60],
        blocks: &[25, 33],
    },
    Shape {
        shape: &[200, 40],
        chunks: &[90, 40],
        blocks: &[37, 8],
    },
    Shape {
        shape: &[3, 500],
        chunks: &[3, 200],
        blocks: &[3, 50],
    },
    Shape {
        shape: &[40, 5],
        chunks: &[20, 5],
        blocks: &[16, 5],
    },
    Shape {
        shape: &[20, 30, 25],
        chunks: &[10, 15, 25],
        blocks: &[5, 8, 12],
    },
    Shape {
        shape: &[9, 9, 9],
        chunks: &[9, 9, 9],
        blocks: &[4, 4, 4],
    },
    Shape {
        shape: &[8, 12, 10, 9],
        chunks: &[8, 6, 10, 9],
        blocks: &[4, 5, 6, 7],
    },
    Shape {
        shape: &[5, 5, 5, 5],
        chunks: &[5, 5, 5, 5],
        blocks: &[2, 5, 3, 4],
    },
    Shape {
        shape: &[3, 4, 3, 4, 3],
        chunks: &[3, 4, 3, 4, 3],
        blocks: &[3, 2, 3, 4, 3],
    },
];

/// What the items are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Items {
    /// Smooth numbers with some noise.
    Smooth,
    /// A few patterns of bytes over and over, so that cells repeat.
    Patterns,
    /// Anything, infinities and what is no number included.
    Noise,
    /// One value in most places.
    Flat,
}

pub const ITEMS: [Items; 4] = [Items::Smooth, Items::Patterns, Items::Noise, Items::Flat];

/// The items of an array, as floats where there are such of the size.
pub fn items(kind: Items, nitems: usize, width: usize, typesize: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng(seed);
    let mut out = Vec::with_capacity(nitems * typesize);
    for i in 0..nitems {
        let (row, column) = (i / width, i % width);
        match kind {
            Items::Smooth => {
                let x = (row as f64 * 0.07).sin() * 50.0 + (column as f64 * 0.05).cos() * 20.0;
                let x = x + rng.unit() * 0.01;
                match typesize {
                    4 => out.extend((x as f32).to_le_bytes()),
                    8 => out.extend(x.to_le_bytes()),
                    _ => {
                        let bytes = (x as i64).to_le_bytes();
                        out.extend((0..typesize).map(|n| bytes[n % 8]));
                    }
                }
            }
            Items::Patterns => {
                let pattern = mix((row / 8 % 3 + column / 8 % 5) as u64 / 2);
                let value = mix(pattern ^ (row % 4) as u64 ^ ((column % 8) as u64) << 8);
                let value = if rng.below(40) == 0 {
                    rng.next()
                } else {
                    value
                };
                out.extend((0..typesize).map(|n| value.to_le_bytes()[n % 8]));
            }
            Items::Noise => {
                let value = rng.next();
                out.extend((0..typesize).map(|n| value.to_le_bytes()[n % 8]));
            }
            Items::Flat => {
                let value = if rng.below(200) == 0 {
                    rng.next()
                } else {
                    0x4049_0fdb_4049_0fdb
                };
                out.extend((0..typesize).map(|n| value.to_le_bytes()[n % 8]));
            }
        }
    }
    out
}

/// A codec with its meta byte, and filters with theirs.
#[derive(Clone, Copy, Debug)]
pub struct Pipeline {
    pub codec: (u8, u8),
    pub filters: [(u8, u8); 2],
}

/// Everything that works on arrays.
pub fn pipelines() -> Vec<Pipeline> {
    let none = (NOFILTER, 0);
    let mut all = Vec::new();
    for meta in [4, 8, 5] {
        let codec = (BLOSC_CODEC_NDLZ as u8, meta);
        all.push(Pipeline {
            codec,
            filters: [none; 2],
        });
        all.push(Pipeline {
            codec,
            filters: [none, (SHUFFLE, 0)],
        });
    }
    for (codec, metas) in [
        (
            BLOSC_CODEC_ZFP_FIXED_ACCURACY,
            &[0xfdu8, 0xff, 0, 1, 3, 0x80, 0x7f][..],
        ),
        (BLOSC_CODEC_ZFP_FIXED_PRECISION, &[0, 1, 7, 14, 25, 60, 255]),
        // Above 100 the reference writes beyond its buffer.
        (BLOSC_CODEC_ZFP_FIXED_RATE, &[0, 1, 9, 25, 37, 50, 90, 100]),
    ] {
        for meta in metas {
            let codec = (codec as u8, *meta);
            all.push(Pipeline {
                codec,
                filters: [none; 2],
            });
        }
        // Little sense, but the program's business.
        all.push(Pipeline {
            codec: (codec as u8, metas[4]),
            filters: [none, (SHUFFLE, 0)],
        });
    }
    for codec in [(LZ4, 0), (BLOSCLZ, 0)] {
        for side in [1, 3, 4, 8, 200] {
            for second in [none, (SHUFFLE, 0), (BITSHUFFLE, 0)] {
                let cells = (BLOSC_FILTER_NDCELL as u8, side);
                all.push(Pipeline {
                    codec,
                    filters: [cells, second],
                });
                let means = (BLOSC_FILTER_NDMEAN as u8, side);
                all.push(Pipeline {
                    codec,
                    filters: [means, second],
                });
            }
        }
        for meta in [0, 1, 3, 4, 8, 200] {
            let delta = (BLOSC_FILTER_BYTEDELTA as u8, meta);
            all.push(Pipeline {
                codec,
                filters: [(SHUFFLE, 0), delta],
            });
            all.push(Pipeline {
                codec,
                filters: [none, delta],
            });
        }
    }
    all
}

pub fn spec(shape: &Shape, pipeline: Pipeline, typesize: i32, nthreads: i16) -> Spec {
    let mut cparams = blosc2_cparams {
        typesize,
        compcode: pipeline.codec.0,
        compcode_meta: pipeline.codec.1,
        nthreads,
        splitmode: NEVER_SPLIT,
        ..blosc2_cparams::defaults()
    };
    for (slot, (id, meta)) in pipeline.filters.iter().enumerate() {
        (cparams.filters[4 + slot], cparams.filters_meta[4 + slot]) = (*id, *meta);
    }
    Spec {
        shape: shape.shape.to_vec(),
        chunks: shape.chunks.to_vec(),
        blocks: shape.blocks.to_vec(),
        cparams,
        nthreads,
        contiguous: true,
        path: None,
    }
}

/// Whether a filter leaves part of a block as it found its buffer, in the reference: what is left
/// over at the end.
fn leaves_rest(pipeline: Pipeline, shape: &Shape, typesize: i32) -> bool {
    let block: i32 = shape.blocks.iter().product::<i32>() * typesize;
    pipeline.filters.iter().any(|(id, meta)| {
        let streams = if *meta == 0 {
            typesize
        } else {
            i32::from(*meta)
        };
        c_int_is(*id, BLOSC_FILTER_BYTEDELTA_BUGGY) && block % streams != 0
    })
}

fn c_int_is(id: u8, wanted: i32) -> bool {
    i32::from(id) == wanted
}

/// What a library makes of a frame: the items, or a code.
fn read(lib: &'static B2ndLib, frame: &[u8]) -> Result<Vec<u8>, i32> {
    lib.open_frame(frame.to_vec(), true)?.to_buffer()
}

fn one(report: &mut Report, libs: [&'static B2ndLib; 2], spec: &Spec, data: &[u8], which: &str) {
    report.case();
    let ours = libs[0].array_of(spec, data);
    // With one thread: with several the reference puts blocks in any order.
    let mut alone = spec.clone();
    alone.cparams.nthreads = 1;
    let theirs = libs[1].array_of(&alone, data);
    let single = libs[0]
        .array_of(&alone, data)
        .and_then(|array| array.to_frame());
    let (ours, theirs) = match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (ours, theirs) => {
            let codes = (ours.err(), theirs.err());
            // The reference's ZFP writes beyond a buffer that is a little smaller than the block,
            // and says so afterwards.
            let is_zfp = (33..=35).contains(&spec.cparams.compcode);
            if codes == (None, Some(-1)) && is_zfp {
                return report.note("refused by the reference alone");
            }
            report.note("refused");
            return report.check(codes.0 == codes.1, "code of writing", || {
                format!("{which}: {codes:?}")
            });
        }
    };
    let new_axis: Vec<bool> = (0..=spec.shape.len()).map(|axis| axis == 0).collect();
    let view = ours.expand(&new_axis).and_then(|view| view.to_buffer());
    report.check(view == ours.to_buffer(), "items of a view", || {
        format!("{which}: {:?}", view.as_ref().err())
    });
    let (mine, other) = (ours.to_frame(), theirs.to_frame());
    let (Ok(mine), Ok(other)) = (mine, other) else {
        return report.fail("no frame", which);
    };
    // The header of a frame says with how many threads it was made.
    const THREADS: usize = 64;
    let same = |a: &[u8], b: &[u8]| {
        a.len() == b.len() && a[..THREADS] == b[..THREADS] && a[THREADS + 1..] == b[THREADS + 1..]
    };
    let single = single.unwrap_or_default();
    report.check(same(&mine, &single), "bytes of several threads", || {
        format!("{which}: {}", difference(&mine, &single))
    });
    // Where the reference has one thread it gives up on a block that fits, if not in the worst
    // case.
    let smaller = single.len() < other.len();
    if smaller {
        report.note("smaller than the reference's");
    }
    report.check(smaller || same(&single, &other), "bytes written", || {
        format!("{which}: {}", difference(&mine, &other))
    });
    // Each library reads both frames.
    let all = [
        read(libs[0], &mine),
        read(libs[1], &mine),
        read(libs[0], &other),
        read(libs[1], &other),
    ];
    for (n, got) in all.iter().enumerate() {
        report.check(*got == all[3], "items read", || match (got, &all[3]) {
            (Ok(got), Ok(theirs)) => format!("{which} ({n}): {}", difference(got, theirs)),
            (got, theirs) => {
                format!(
                    "{which} ({n}): {:?} {:?}",
                    got.as_ref().err(),
                    theirs.as_ref().err()
                )
            }
        });
    }
    if all[3].is_err() {
        report.note("not read back");
    } else if mine.len() < data.len() {
        report.note("compressed");
    }
    slices(report, &ours, &theirs, spec, which);
}

/// Small slices and single items, as the two libraries read them out of their own.
fn slices(
    report: &mut Report,
    ours: &oxiblosc_testing::b2nd::Array,
    theirs: &oxiblosc_testing::b2nd::Array,
    spec: &Spec,
    which: &str,
) {
    let Ok(whole) = theirs.to_buffer() else {
        return;
    };
    let typesize = spec.cparams.typesize as usize;
    let mut rng = Rng(which.len() as u64);
    for _ in 0..4 {
        let pick = |rng: &mut Rng| {
            spec.shape
                .iter()
                .map(|len| rng.below(*len as usize) as i64)
                .collect::<Vec<_>>()
        };
        let start = pick(&mut rng);
        let places = [start.clone(), pick(&mut rng), pick(&mut rng)].map(|at| {
            at.iter()
                .zip(&spec.shape)
                .fold(0, |place, (i, len)| place * len + i)
        });
        let mut mine = vec![0; 3 * typesize];
        let code = ours.get_sparse(&places, &mut mine);
        let expected = places
            .map(|place| &whole[place as usize * typesize..][..typesize])
            .concat();
        report.check(code >= 0 && mine == expected, "single items", || {
            format!("{which}: {code} {places:?}")
        });
        let stop: Vec<i64> = start
            .iter()
            .zip(&spec.shape)
            .map(|(at, len)| len.min(&(at + 3)).to_owned())
            .collect();
        let lens: Vec<i64> = start
            .iter()
            .zip(&stop)
            .map(|(start, stop)| stop - start)
            .collect();
        let len = lens.iter().product::<i64>() as usize * typesize;
        let (mut mine, mut other) = (vec![0; len], vec![0; len]);
        let codes = (
            ours.get(&start, &stop, &lens, &mut mine),
            theirs.get(&start, &stop, &lens, &mut other),
        );
        let is_rate = i32::from(spec.cparams.compcode) == BLOSC_CODEC_ZFP_FIXED_RATE;
        if codes == (0, -1) && is_rate {
            // Its access to single cells gives up on some ranges.
            report.note("a slice that the reference alone cannot read");
            other.clone_from(&part(&whole, &spec.shape, &start, &lens, typesize));
        }
        report.check(codes.0 == 0 && mine == other, "a slice", || {
            format!("{which}: {codes:?} {start:?} {stop:?}")
        });
    }
}

/// The items of a slice, out of all of them.
fn part(whole: &[u8], shape: &[i64], start: &[i64], lens: &[i64], typesize: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for n in 0..lens.iter().product::<i64>() {
        let (mut left, mut place, mut stride) = (n, 0, 1);
        for d in (0..shape.len()).rev() {
            place += (start[d] + left % lens[d]) * stride;
            left /= lens[d];
            stride *= shape[d];
        }
        out.extend(&whole[place as usize * typesize..][..typesize]);
    }
    out
}

#[test]
fn arrays_are_the_same_both_ways() {
    let Some(reference) = reference_arrays() else {
        return;
    };
    let libs = [our_arrays(), reference];
    let mut report = Report::default();
    let mut number = 0;
    for (n, shape) in SHAPES.iter().enumerate() {
        let nitems = shape.shape.iter().product::<i64>() as usize;
        let width = *shape.shape.last().expect("a dimension") as usize;
        for typesize in [1, 2, 4, 8, 3, 16] {
            for kind in ITEMS {
                // Half of the kinds for each, all of them with ZFP and NDLZ.
                let half = (kind as usize + typesize as usize / 2 + n).is_multiple_of(2);
                let data = items(kind, nitems, width, typesize as usize, n as u64);
                for pipeline in pipelines() {
                    number += 1;
                    // Every combination that works, and of the others a few.
                    let is_zfp = (33..=35).contains(&pipeline.codec.0);
                    let odd = (is_zfp && !matches!(typesize, 4 | 8))
                        || (pipeline.codec.0 == 32 && typesize != 1);
                    if (odd && kind != Items::Smooth)
                        || (half && pipeline.codec.0 < 32)
                        || leaves_rest(pipeline, shape, typesize)
                        || !takes("OXIBLOSC_MATRIX", number, 4)
                    {
                        continue;
                    }
                    let nthreads = 1 + (n % 2) as i16;
                    let spec = spec(shape, pipeline, typesize, nthreads);
                    let which = format!(
                        "{:?} {:?} typesize {typesize} {kind:?} {pipeline:?}",
                        shape.shape, shape.blocks
                    );
                    one(&mut report, libs, &spec, &data, &which);
                }
            }
        }
    }
    report.finish("arrays");
}

#[test]
fn tolerances_are_kept() {
    let ours = our_arrays();
    let mut report = Report::default();
    for shape in SHAPES
        .iter()
        .filter(|shape| shape.blocks.iter().all(|len| *len >= 4))
    {
        if shape.shape.len() > 4 {
            continue;
        }
        let nitems = shape.shape.iter().product::<i64>() as usize;
        let data = items(Items::Smooth, nitems, 10, 8, 1);
        for exponent in [-4i8, -2, 0, 1] {
            report.case();
            let codec = (BLOSC_CODEC_ZFP_FIXED_ACCURACY as u8, exponent as u8);
            let pipeline = Pipeline {
                codec,
                filters: [(NOFILTER, 0); 2],
            };
            let array = ours
                .array_of(&spec(shape, pipeline, 8, 1), &data)
                .expect("doubles");
            let back = array.to_buffer().expect("what was written");
            let number = |bytes: &[u8; 8]| f64::from_le_bytes(*bytes);
            let pairs = data.as_chunks::<8>().0.iter().zip(back.as_chunks::<8>().0);
            let worst = pairs
                .map(|(a, b)| (number(a) - number(b)).abs())
                .fold(0.0, f64::max);
            report.check(worst <= 10f64.powi(exponent.into()), "tolerance", || {
                format!("{:?} {exponent}: {worst}", shape.shape)
            });
        }
    }
    report.finish("tolerances");
}
