//! Random arrays and random operations on them.

use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::b2nd::Spec;
use oxiblosc_testing::data::Rng;
use oxiblosc_testing::fuzz::model::{Model, count};

/// Where the array is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    Memory,
    Frame,
    File,
    Directory,
}

/// An operation, with its arguments.
#[derive(Clone, Debug)]
pub enum Op {
    Set {
        start: Vec<i64>,
        stop: Vec<i64>,
        capacity: Vec<i64>,
    },
    Get {
        start: Vec<i64>,
        stop: Vec<i64>,
        capacity: Vec<i64>,
    },
    Resize {
        shape: Vec<i64>,
    },
    ResizeAt {
        shape: Vec<i64>,
        start: Vec<i64>,
    },
    Append {
        axis: i8,
        len: i64,
    },
    Insert {
        axis: i8,
        at: i64,
        len: i64,
    },
    Delete {
        axis: i8,
        at: i64,
        len: i64,
    },
    GetPicked {
        lists: Vec<Vec<i64>>,
    },
    SetPicked {
        lists: Vec<Vec<i64>>,
    },
    Sparse {
        coords: Vec<i64>,
    },
    Copy {
        chunks: Vec<i32>,
        blocks: Vec<i32>,
    },
    Slice {
        start: Vec<i64>,
        stop: Vec<i64>,
    },
    Join {
        axis: i8,
        len: i64,
        copy: bool,
    },
    View,
    Squeeze,
    Reopen,
    Swap,
}

/// Bytes that compress more or less.
pub fn bytes(rng: &mut Rng, len: usize) -> Vec<u8> {
    let kind = rng.below(4);
    let mut value = rng.next() as u8;
    (0..len)
        .map(|i| match kind {
            0 => rng.next() as u8,
            1 => (i / 7) as u8,
            2 => value,
            _ => {
                if rng.below(20) == 0 {
                    value = rng.next() as u8;
                }
                value
            }
        })
        .collect()
}

/// Chunks and blocks that fit a shape more or less.
pub fn cuts(rng: &mut Rng, shape: &[i64]) -> (Vec<i32>, Vec<i32>) {
    let chunks: Vec<i32> = shape
        .iter()
        .map(|len| 1 + rng.below(*len as usize + 2) as i32)
        .collect();
    let blocks = chunks
        .iter()
        .map(|len| 1 + rng.below(*len as usize + 1) as i32)
        .collect();
    (chunks, blocks)
}

/// A random array without a place.
pub fn spec(rng: &mut Rng) -> Spec {
    let ndim = rng.pick(&[0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 7, 8]);
    let most = [0, 40, 14, 9, 6, 4, 3, 3, 2][ndim];
    let shape: Vec<i64> = (0..ndim)
        .map(|_| match rng.below(12) {
            0 => 0,
            1 => 1,
            _ => 1 + rng.below(most) as i64,
        })
        .collect();
    let (chunks, blocks) = cuts(rng, &shape);
    let typesize = match rng.below(12) {
        0 => 300,
        1 => 255,
        2 => 1 + rng.below(16) as i32,
        _ => rng.pick(&[1, 2, 4, 8]),
    };
    let mut cparams = blosc2_cparams {
        compcode: rng.pick(&[0, 1, 2, 4, 5]),
        clevel: rng.pick(&[0, 1, 5, 5, 9]),
        typesize,
        nthreads: rng.pick(&[1, 1, 2, 4]),
        splitmode: rng.pick(&[1, 2, 3, 4]),
        ..blosc2_cparams::defaults()
    };
    cparams.filters[5] = rng.pick(&[0, 1, 1, 2]);
    if rng.below(12) == 0 {
        cparams.filters[4] = 3;
    }
    Spec {
        shape,
        chunks,
        blocks,
        cparams,
        nthreads: rng.pick(&[1, 1, 2, 4]),
        contiguous: false,
        path: None,
    }
}

fn slice(rng: &mut Rng, shape: &[i64]) -> (Vec<i64>, Vec<i64>, Vec<i64>) {
    let (mut start, mut stop, mut capacity) = (vec![], vec![], vec![]);
    let whole = rng.below(6) == 0;
    for len in shape {
        let a = rng.below(*len as usize + 1) as i64;
        let b = a + rng.below((len - a) as usize + 1) as i64;
        let (a, b) = if whole { (0, *len) } else { (a, b) };
        start.push(a);
        stop.push(b);
        let more = if rng.below(8) == 0 {
            rng.below(3) as i64
        } else {
            0
        };
        capacity.push(b - a + more);
    }
    if rng.below(25) == 0 && !shape.is_empty() {
        // Something that cannot be, perhaps.
        let d = rng.below(shape.len());
        match rng.below(3) {
            0 => stop[d] += 1 + rng.below(20) as i64,
            1 => start[d] = -1 - rng.below(3) as i64,
            _ => capacity[d] -= 1,
        }
        if rng.below(2) == 0 {
            capacity[d] = (stop[d] - start[d]).max(0);
        }
    }
    (start, stop, capacity)
}

fn lists(rng: &mut Rng, shape: &[i64]) -> Vec<Vec<i64>> {
    shape
        .iter()
        .map(|len| {
            let count = if *len == 0 { 0 } else { rng.below(6) };
            let sorted = rng.below(2) == 0;
            let mut list: Vec<i64> = (0..count)
                .map(|_| rng.below(*len as usize) as i64)
                .collect();
            if sorted {
                list.sort_unstable();
            }
            list
        })
        .collect()
}

/// The next operation.
pub fn op(rng: &mut Rng, model: &Model, chunks: &[i32]) -> Op {
    let shape = &model.shape;
    let ndim = shape.len();
    let small = |rng: &mut Rng, len: i64| (len + rng.below(7) as i64 - 3).max(0);
    if ndim == 0 {
        return match rng.below(6) {
            0 | 1 => Op::Set {
                start: vec![],
                stop: vec![],
                capacity: vec![],
            },
            2 => Op::View,
            3 => Op::Copy {
                chunks: vec![],
                blocks: vec![],
            },
            4 => Op::Reopen,
            _ => Op::Swap,
        };
    }
    let axis = rng.below(ndim);
    let chunk = i64::from(chunks[axis]);
    let wild = rng.below(20) == 0;
    match rng.below(24) {
        0..5 => {
            let (start, stop, capacity) = slice(rng, shape);
            Op::Set {
                start,
                stop,
                capacity,
            }
        }
        5..8 => {
            let (start, stop, capacity) = slice(rng, shape);
            Op::Get {
                start,
                stop,
                capacity,
            }
        }
        8 | 9 => {
            let mut new: Vec<i64> = shape.iter().map(|len| small(rng, *len)).collect();
            if wild {
                new[axis] = -1;
            }
            while count(&new) > 4000 {
                new[axis] /= 2;
            }
            Op::Resize { shape: new }
        }
        10 => {
            let mut new = shape.clone();
            let by = chunk * (rng.below(5) as i64 - 2);
            new[axis] = (new[axis] + by).max(0);
            let mut start = vec![0; ndim];
            start[axis] = chunk * rng.below(3) as i64 + i64::from(wild);
            Op::ResizeAt { shape: new, start }
        }
        11 | 12 => {
            let len = if rng.below(3) == 0 {
                chunk
            } else {
                rng.below(5) as i64
            };
            let axis = if wild { ndim as i8 } else { axis as i8 };
            Op::Append { axis, len }
        }
        13 => {
            let at = match rng.below(3) {
                0 => shape[axis],
                1 => chunk * rng.below(3) as i64,
                _ => rng.below(shape[axis] as usize + 2) as i64,
            };
            let len = chunk * rng.below(3) as i64 + i64::from(rng.below(4) == 0);
            Op::Insert {
                axis: axis as i8,
                at,
                len,
            }
        }
        14 => {
            let len = if rng.below(2) == 0 {
                chunk
            } else {
                rng.below(4) as i64
            };
            let len = len.min(shape[axis]);
            let at = match rng.below(3) {
                0 => chunk * rng.below(2) as i64,
                _ => shape[axis] - len,
            };
            Op::Delete {
                axis: axis as i8,
                at,
                len,
            }
        }
        15 => Op::GetPicked {
            lists: lists(rng, shape),
        },
        16 => Op::SetPicked {
            lists: lists(rng, shape),
        },
        17 => {
            let total = count(shape);
            let n = if total == 0 { 0 } else { rng.below(20) };
            let mut coords: Vec<i64> = (0..n).map(|_| rng.below(total) as i64).collect();
            if wild && !coords.is_empty() {
                coords[0] = rng.pick(&[-1, total as i64, i64::MAX]);
            }
            Op::Sparse { coords }
        }
        18 => {
            let (chunks, blocks) = cuts(rng, shape);
            Op::Copy { chunks, blocks }
        }
        19 => {
            let (start, stop, _) = slice(rng, shape);
            Op::Slice { start, stop }
        }
        20 => Op::Join {
            axis: axis as i8,
            len: rng.below(4) as i64,
            copy: rng.below(2) == 0,
        },
        21 if rng.below(2) == 0 => Op::View,
        21 => Op::Squeeze,
        22 => Op::Reopen,
        _ => Op::Swap,
    }
}
