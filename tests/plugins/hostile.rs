//! Damaged streams, frames and metalayers through every codec and filter of ours: nothing but an
//! error may come of it.

use crate::arrays::{ITEMS, SHAPES, Shape, items, pipelines, spec};
use oxiblosc_testing::b2nd::our_arrays;
use oxiblosc_testing::data::{Rng, mix};
use oxiblosc_testing::fuzz::targets::registered;
use oxiblosc_testing::isolated::isolated;
use std::sync::OnceLock;

/// The frames that are damaged, each with the number of bytes in front of its first chunk.
fn seeds() -> &'static Vec<Vec<u8>> {
    static SEEDS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    SEEDS.get_or_init(|| {
        let mut all = Vec::new();
        for (n, shape) in SHAPES.iter().enumerate() {
            let nitems = shape.shape.iter().product::<i64>() as usize;
            for (m, pipeline) in pipelines().into_iter().enumerate() {
                if (n + m) % 3 != 0 {
                    continue;
                }
                let typesize = match pipeline.codec.0 {
                    32 => 1,
                    33..=35 => [4, 8][m % 2],
                    _ => [4, 8, 2, 1][(n + m) % 4],
                };
                let kind = ITEMS[(n + m / 2) % 2];
                let width = *shape.shape.last().expect("a dimension") as usize;
                let data = items(kind, nitems, width, typesize as usize, m as u64);
                let array = our_arrays().array_of(&spec(shape, pipeline, typesize, 1), &data);
                if let Ok(frame) = array.and_then(|array| array.to_frame()) {
                    all.push(frame);
                }
            }
        }
        all
    })
}

fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Damages a frame: some bytes anywhere, some in the front where the metalayer is, some in it
/// alone.
fn damage(frame: &mut Vec<u8>, rng: &mut Rng) {
    let prefix = frame.len().min(200);
    let meta = frame.windows(4).position(|name| name == b"b2nd");
    for _ in 0..=rng.below(4) {
        let at = match rng.below(4) {
            0 => rng.below(prefix),
            1 => meta.unwrap_or(0) + rng.below(100),
            _ => rng.below(frame.len()),
        };
        let at = at.min(frame.len() - 1);
        frame[at] = match rng.below(4) {
            0 => frame[at] ^ 1 << rng.below(8),
            1 => rng.pick(&[0, 1, 0x7f, 0x80, 0xff]),
            _ => rng.next() as u8,
        };
    }
    if rng.below(10) == 0 {
        let len = rng.below(frame.len());
        frame.truncate(len.max(1));
    }
}

/// Damages one frame and reads all that can be read.
fn mutant(n: u64) -> bool {
    let mut rng = Rng(mix(n));
    let seeds = seeds();
    let mut frame = seeds[rng.below(seeds.len())].clone();
    damage(&mut frame, &mut rng);
    let Ok(array) = our_arrays().open_frame(frame, true) else {
        return false;
    };
    let fields = array.fields();
    let nbytes = (fields.nitems as u64).saturating_mul(array.typesize() as u64);
    // What would take long is left alone: how much is made of how little is the caller's to say.
    if nbytes > 1 << 20 || fields.nitems < 0 {
        return false;
    }
    let read = array.to_buffer().is_ok();
    let ndim = fields.ndim.max(0) as usize;
    let shape = &fields.shape[..ndim.min(16)];
    if shape.iter().all(|len| *len > 0) {
        let coords: Vec<i64> = shape
            .iter()
            .map(|len| rng.below(*len as usize) as i64)
            .collect();
        let mut item = vec![0; array.typesize()];
        array.get_sparse(&coords, &mut item);
        // Writing goes through the encoders, with the shapes that the frame says.
        let ones = vec![1; shape.len()];
        let stop: Vec<i64> = coords.iter().map(|at| at + 1).collect();
        array.set(&coords, &stop, &ones, &item);
    }
    read
}

#[test]
fn damaged_arrays_are_read_or_refused() {
    oxiblosc_testing::own_process!();
    let (count, first) = (
        number("OXIBLOSC_HOSTILE_PLUGINS", 2_000),
        number("OXIBLOSC_HOSTILE_PLUGINS_FIRST", 0),
    );
    assert!(seeds().len() > 200, "{} frames to damage", seeds().len());
    let pieces = (first..first + count).step_by(500);
    for from in pieces {
        let to = (from + 500).min(first + count);
        let result = isolated(300, || {
            let read = (from..to).filter(|n| mutant(*n)).count();
            if read == 0 && to - from > 100 {
                return Err("no damaged array could be read".to_owned());
            }
            Ok(())
        });
        if result.is_err() {
            // Which one it was.
            for n in from..to {
                let alone = isolated(60, || {
                    mutant(n);
                    Ok(())
                });
                assert_eq!(alone, Ok(()), "OXIBLOSC_HOSTILE_PLUGINS_FIRST={n}");
            }
        }
        assert_eq!(result, Ok(()), "from {from} to {to}");
    }
    println!("{count} damaged arrays from number {first} on");
}

/// Metalayers whose block shapes are lies, in frames that are otherwise right.
#[test]
fn block_shapes_that_lie_are_refused() {
    oxiblosc_testing::own_process!();
    let shape = Shape {
        shape: &[64, 64],
        chunks: &[64, 64],
        blocks: &[32, 32],
    };
    let lies: [[i32; 2]; 8] = [
        [0, 32],
        [-1, -1],
        [i32::MAX, i32::MAX],
        [1 << 16, 1 << 16],
        [(1 << 16) + 1, 1 << 16],
        [32, 64],
        [1, 1024],
        [33, 31],
    ];
    let mut refused = 0;
    for pipeline in pipelines() {
        let typesize = if pipeline.codec.0 == 32 { 1 } else { 4 };
        let data = items(ITEMS[0], 64 * 64, 64, typesize as usize, 1);
        let array = our_arrays().array_of(&spec(&shape, pipeline, typesize, 1), &data);
        let Ok(frame) = array.and_then(|array| array.to_frame()) else {
            continue;
        };
        let meta = frame
            .windows(4)
            .rposition(|name| name == [0x92, 0xd2, 0, 0]);
        let meta = meta.expect("the list of the block's lengths");
        for lie in lies {
            let mut frame = frame.clone();
            for (n, len) in lie.iter().enumerate() {
                frame[meta + 2 + 5 * n..][..4].copy_from_slice(&len.to_be_bytes());
            }
            let read = our_arrays()
                .open_frame(frame, true)
                .and_then(|array| array.to_buffer());
            refused += usize::from(read.is_err());
        }
    }
    assert!(refused > 200, "{refused}");
}

/// Damages an input of the fuzz target of these codecs and filters, in a few places behind its
/// front.
fn damaged_input(seeds: &[Vec<u8>], n: u64) -> Vec<u8> {
    let mut rng = Rng(mix(n ^ 0xfeed));
    let mut input = seeds[rng.below(seeds.len())].clone();
    for _ in 0..=rng.below(5) {
        let at = if rng.below(6) == 0 {
            rng.below(12)
        } else {
            rng.below(input.len())
        };
        let at = at.min(input.len() - 1);
        match rng.below(6) {
            0 => input.truncate(at.max(1)),
            1 => input[at] ^= 1 << rng.below(8),
            2 => input[at] = rng.pick(&[0, 0x40, 0xc0, 0x80, 0xff, 0xe8, 0xa9, 0x28]),
            _ => input[at] = rng.next() as u8,
        }
    }
    input
}

#[test]
fn damaged_streams_are_decoded_or_refused() {
    oxiblosc_testing::own_process!();
    let (count, first) = (
        number("OXIBLOSC_HOSTILE_PLUGINS", 2_000) * 10,
        number("OXIBLOSC_HOSTILE_PLUGINS_FIRST", 0),
    );
    let seeds = registered::seeds();
    assert!(seeds.len() > 50 && seeds.iter().all(|seed| seed.len() > 12));
    for seed in &seeds {
        registered::run(seed);
    }
    let (mut last, mut sum) = (0, 0);
    for n in first..first + count {
        let input = damaged_input(&seeds, n);
        let result = std::panic::catch_unwind(|| registered::run(&input));
        assert!(result.is_ok(), "OXIBLOSC_HOSTILE_PLUGINS_FIRST={n}");
        (last, sum) = (n, sum + input.len());
    }
    println!("{count} damaged streams up to number {last}, {sum} bytes");
}
