//! Data that a few bytes describe. An encoder searches long chains, samples streams, and cuts data
//! into blocks for threads only where there is much data; an input of a fuzzer is short.

use super::numbers::{Input, Random};

/// The largest data that a recipe makes.
const MAX_DATA: usize = 300 << 10;
/// The most steps of a recipe. More would make runs slow.
const MOST_STEPS: usize = 24;

/// Data by a recipe: steps, each of a byte that says what is appended, and numbers for it.
pub fn make(input: &mut Input) -> Box<[u8]> {
    let mut data = Vec::new();
    for _ in 0..MOST_STEPS {
        if input.0.is_empty() || data.len() >= MAX_DATA {
            break;
        }
        step(input, &mut data);
    }
    data.truncate(MAX_DATA);
    data.into()
}

fn step(input: &mut Input, data: &mut Vec<u8>) {
    let (what, number, count) = (input.byte(), input.byte(), input.short());
    let mut random = Random(u64::from(number) << 16 | count as u64);
    let count = match what >> 6 {
        0 => count % 100,
        1 => count % 5000,
        _ => count,
    };
    match what % 10 {
        // The bytes of the input.
        0 => data.extend(&*input.take(count)),
        // Random bytes, of all values or of some.
        1 => data.extend((0..count).map(|_| random.bits() as u8)),
        2 => data.extend((0..count).map(|_| random.below(1 + usize::from(number)) as u8)),
        // The same byte.
        3 => data.resize(data.len() + count, number),
        // Bytes from before, as a match copies them.
        4 => {
            let distance = input.short() * (1 + usize::from(number & 3));
            copy(data, distance, count);
        }
        // Short copies from anywhere before, with some bytes between.
        5 | 6 => {
            let window = if what % 10 == 5 { 1 << 10 } else { 70_000 };
            for _ in 0..count % 4000 {
                let distance = random.below(window);
                let len = 3 + random.below(3 + usize::from(number) % 40);
                copy(data, distance, len);
                let some = random.below(1 + usize::from(number) % 7);
                data.extend((0..some).map(|_| random.bits() as u8));
            }
        }
        // Few strings of four bytes, with other bytes behind each: chains are long.
        7 => {
            let kinds = 1 + usize::from(number % 8);
            for _ in 0..count % 16_000 {
                let kind = random.below(kinds) as u8;
                data.extend([kind, number, kind ^ 7, 9]);
                data.extend((0..random.below(3)).map(|_| random.below(3) as u8));
            }
        }
        // Numbers of 1 to 8 bytes that climb.
        8 => {
            let size = 1 + usize::from(number % 8);
            let mut value = random.bits();
            let slope = 1 + random.below(1 << (number / 8 % 16));
            for _ in 0..count / size {
                value = value.wrapping_add(random.below(slope) as u64);
                data.extend(&value.to_le_bytes()[..size]);
            }
        }
        // Another run of what is there, with a byte changed here and there.
        _ => {
            let from = data.len().saturating_sub(count);
            let mut again = data[from..].to_vec();
            let gap = 1 + 16 * usize::from(number);
            again
                .iter_mut()
                .step_by(gap)
                .for_each(|byte| *byte = byte.wrapping_add(1));
            data.extend(again);
        }
    }
}

/// Appends `len` bytes from `distance` before the end; they may overlap what is appended. Where
/// nothing is so far before, zeros.
fn copy(data: &mut Vec<u8>, distance: usize, len: usize) {
    for _ in 0..len {
        let at = data.len().checked_sub(distance.max(1));
        data.push(at.map_or(0, |at| data[at]));
    }
}
