//! Damaged frames.

use super::*;

/// Frames of arrays, to be damaged.
fn seeds() -> Vec<Vec<u8>> {
    let mut rng = Rng(11);
    let specs = [
        spec(&[30], &[7], &[3], 4),
        spec(&[9, 11], &[4, 5], &[3, 2], 8),
        spec(&[4, 5, 6], &[2, 3, 4], &[2, 2, 3], 2),
        spec(&[2, 2, 2, 2, 2], &[1, 2, 1, 2, 1], &[1, 1, 1, 2, 1], 1),
        spec(&[6, 0], &[2, 2], &[1, 1], 4),
        spec(&[], &[], &[], 8),
    ];
    let mut seeds = Vec::new();
    for (i, spec) in specs.iter().enumerate() {
        let items = spec.shape.iter().product::<i64>() as usize;
        let mut data = counted(items * spec.cparams.typesize as usize);
        if i % 2 == 1 {
            data.iter_mut().for_each(|byte| *byte = rng.next() as u8);
        }
        let array = our_arrays().array_of(spec, &data).unwrap();
        seeds.push(array.to_frame().unwrap());
    }
    seeds
}

/// The frame with something in it that should not be.
fn damaged(seed: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut frame = seed.to_vec();
    let meta = frame
        .windows(4)
        .position(|bytes| bytes == b"b2nd")
        .unwrap_or(0);
    for _ in 0..=rng.below(3) {
        // The header and the metalayer more often than the rest.
        let at = match rng.below(4) {
            0 => rng.below(frame.len()),
            1 => rng.below(100.min(frame.len())),
            _ => meta + rng.below(120),
        };
        let at = at.min(frame.len() - 1);
        match rng.below(4) {
            0 => frame[at] = rng.next() as u8,
            1 => frame[at] ^= 1 << rng.below(8),
            2 => {
                let value = rng.pick(&[0u8, 0xff, 0x7f, 0x80]);
                let end = frame.len().min(at + rng.pick(&[1, 4, 8]));
                frame[at..end].fill(value);
            }
            _ => {
                let end = frame.len().min(at + 4);
                let number = rng.pick(&[0i32, 1, -1, i32::MAX, i32::MIN, 1 << 20]);
                let number = number.to_be_bytes();
                frame[at..end].copy_from_slice(&number[..end - at]);
            }
        }
    }
    frame
}

/// Everything that can be done to an array, whatever it gives.
fn exercise(array: &Array, rng: &mut Rng) {
    let shape = array.shape();
    let nitems = array.fields().nitems;
    if nitems < 1 << 16 && array.typesize() <= 4096 {
        // The bytes of a damaged array cannot be judged.
        let _ = array.to_buffer();
    }
    let start: Vec<i64> = shape
        .iter()
        .map(|len| rng.next() as i64 % (len + 2).max(1))
        .collect();
    let stop: Vec<i64> = start
        .iter()
        .map(|at| at.saturating_add(1 + rng.below(3) as i64))
        .collect();
    let capacity: Vec<i64> = start
        .iter()
        .zip(&stop)
        .map(|(a, b)| (b - a).max(0))
        .collect();
    let items: i64 = capacity.iter().product();
    let len = (items as usize).saturating_mul(array.typesize());
    if len < 1 << 22 {
        let mut buffer = vec![1; len];
        array.get(&start, &stop, &capacity, &mut buffer);
        array.set(&start, &stop, &capacity, &buffer);
        let lists: Vec<Vec<i64>> = start.iter().map(|at| vec![*at, 0]).collect();
        let mut buffer = vec![1; array.typesize().saturating_mul(1 << lists.len())];
        array.get_picked(&lists, &mut buffer);
        array.set_picked(&lists, &buffer);
    }
    let mut item = vec![0; array.typesize().min(1 << 20)];
    array.get_sparse(&[rng.below(100) as i64], &mut item);
    let small: Vec<i64> = shape
        .iter()
        .map(|len| len.saturating_add(1).min(50))
        .collect();
    array.resize(&small, None);
    array.append(0, &item);
    drop(array.expand(&vec![false; shape.len()]));
    drop(array.squeeze());
    array.delete(0, 0, 1);
    drop(array.to_frame());
}

#[test]
fn damaged_frames_do_no_harm() {
    oxiblosc_testing::own_process!();
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |value| value.replace('_', "").parse().expect(name))
    };
    let first = number("OXIBLOSC_HOSTILE_B2ND_FIRST", 0);
    let count = number("OXIBLOSC_HOSTILE_B2ND", 2000);
    let seeds = seeds();
    let mut bad = Vec::new();
    const BATCH: u64 = 50;
    let mut batch = first;
    while batch < first + count {
        let last = (batch + BATCH).min(first + count);
        let run = |numbers: std::ops::Range<u64>| {
            isolated(60, || {
                limit_memory(2 << 30);
                for number in numbers {
                    let mut rng = Rng(mix(number));
                    let frame = damaged(&seeds[number as usize % seeds.len()], &mut rng);
                    let copy = rng.below(2) == 0;
                    if let Ok(array) = our_arrays().open_frame(frame, copy) {
                        exercise(&array, &mut rng);
                    }
                }
                Ok(())
            })
        };
        if run(batch..last).is_err() {
            for number in batch..last {
                if let Err(how) = run(number..number + 1) {
                    bad.push(format!("{number}: {how}"));
                }
            }
        }
        batch = last;
    }
    assert!(bad.is_empty(), "{} of {count}: {bad:#?}", bad.len());
}
