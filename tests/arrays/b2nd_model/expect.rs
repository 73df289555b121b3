//! What an operation should do, from the plain model, and where the reference is known not to.

use super::ops::Op;
use super::sequence::Run;
use oxiblosc_testing::fuzz::model::{Model, count, ranges};
use std::ffi::c_int;

/// What is expected of an operation: a code (none: any), the array after it, and the bytes that it
/// reads.
pub struct Expected {
    pub rc: Option<c_int>,
    pub after: Option<Model>,
    pub bytes: Option<Vec<u8>>,
}

const DONE: Option<c_int> = Some(0);
const INVALID: Option<c_int> = Some(-12);

impl Run<'_> {
    /// What is expected of an operation that writes `data`.
    pub fn expect(&self, op: &Op, data: &[u8]) -> Expected {
        let model = &self.model;
        let (shape, ndim) = (&model.shape, model.shape.len());
        let chunk = |d: usize| i64::from(self.spec.chunks[d]);
        let reads = |bytes: Vec<u8>| Expected {
            rc: DONE,
            after: None,
            bytes: Some(bytes),
        };
        let becomes = |after: Model| Expected {
            rc: DONE,
            after: Some(after),
            bytes: None,
        };
        let refused = |rc| Expected {
            rc,
            after: None,
            bytes: None,
        };
        let nothing = count(shape) == 0;
        match op {
            Op::Set {
                start,
                stop,
                capacity,
            }
            | Op::Get {
                start,
                stop,
                capacity,
            } => {
                let set = matches!(op, Op::Set { .. });
                let same = || {
                    if set {
                        becomes(model.clone())
                    } else {
                        reads(vec![0; data.len()])
                    }
                };
                if nothing {
                    return same();
                }
                if (0..ndim).any(|d| stop[d] - start[d] > capacity[d]) {
                    return refused(INVALID);
                }
                if (0..ndim).any(|d| stop[d] <= start[d]) {
                    return same();
                }
                let ext = |d: usize| (shape[d] + chunk(d) - 1) / chunk(d) * chunk(d);
                if (0..ndim).any(|d| start[d] < 0 || stop[d] > ext(d)) {
                    return refused(Some(-1));
                }
                let stop: Vec<i64> = (0..ndim).map(|d| stop[d].min(shape[d])).collect();
                let len: Vec<i64> = (0..ndim).map(|d| (stop[d] - start[d]).max(0)).collect();
                let inside = ranges(&vec![0; ndim], &len);
                let mut buffer = Model::zeros(capacity, model.typesize);
                if set {
                    buffer.data.copy_from_slice(data);
                    let mut after = model.clone();
                    after.put(&ranges(start, &stop), &buffer.pick(&inside));
                    return becomes(after);
                }
                buffer.put(&inside, &model.pick(&ranges(start, &stop)));
                reads(buffer.data)
            }
            Op::Resize { shape: new } => {
                if new.iter().any(|len| *len < 0) {
                    return refused(INVALID);
                }
                becomes(model.resized(new))
            }
            Op::ResizeAt { shape: new, start } => {
                let mut after = model.clone();
                for d in 0..ndim {
                    let (by, at) = (new[d] - shape[d], start[d]);
                    if at > shape[d] {
                        return refused(INVALID);
                    }
                    if by == 0 {
                        continue;
                    }
                    let end = shape[d].min(new[d]);
                    let cut = at % chunk(d) != 0 || by % chunk(d) != 0 || at - by.min(0) > shape[d];
                    if at != end && cut {
                        return refused(INVALID);
                    }
                    after = after.stretched(d, at, by);
                }
                becomes(after)
            }
            Op::Append { axis, len } | Op::Insert { axis, len, .. } => {
                let axis = *axis as usize;
                if axis >= ndim {
                    return refused(INVALID);
                }
                let at = match op {
                    Op::Insert { at, .. } => *at,
                    _ => shape[axis],
                };
                let row = count(&self.model.shape) as i64 / shape[axis].max(1);
                let row = if shape[axis] == 0 {
                    shape
                        .iter()
                        .enumerate()
                        .filter(|(d, _)| *d != axis)
                        .map(|(_, l)| *l)
                        .product()
                } else {
                    row
                };
                if at > shape[axis] {
                    return refused(INVALID);
                }
                if row == 0 || *len == 0 {
                    return becomes(model.clone());
                }
                let cut = at % chunk(axis) != 0 || len % chunk(axis) != 0;
                if at != shape[axis] && cut {
                    return refused(INVALID);
                }
                let mut after = model.stretched(axis, at, *len);
                let mut start = vec![0; ndim];
                let mut stop = after.shape.clone();
                (start[axis], stop[axis]) = (at, at + len);
                after.put(&ranges(&start, &stop), data);
                becomes(after)
            }
            Op::Delete { axis, at, len } => {
                let axis = *axis as usize;
                let left = shape[axis] - len;
                let cut = at % chunk(axis) != 0 || len % chunk(axis) != 0;
                if *at > shape[axis] || (at + len > shape[axis]) || (*at != left && *len > 0 && cut)
                {
                    return refused(INVALID);
                }
                becomes(model.stretched(axis, *at, -len))
            }
            Op::GetPicked { lists } => reads(model.pick(lists)),
            Op::SetPicked { lists } => {
                let mut after = model.clone();
                after.put(lists, data);
                becomes(after)
            }
            Op::Sparse { coords } => {
                let total = count(shape) as i64;
                if coords.iter().any(|coord| !(0..total).contains(coord)) {
                    return refused(INVALID);
                }
                let item = |coord: &i64| {
                    let from = *coord as usize * model.typesize;
                    model.data[from..from + model.typesize].to_vec()
                };
                reads(coords.iter().flat_map(item).collect())
            }
            Op::Copy { .. } | Op::View => reads(model.data.clone()),
            Op::Squeeze => {
                let padded = self.padded();
                if padded {
                    refused(INVALID)
                } else {
                    reads(model.data.clone())
                }
            }
            Op::Slice { start, stop } => {
                if (0..ndim).any(|d| stop[d] < start[d]) {
                    return refused(INVALID);
                }
                let empty = (0..ndim).any(|d| stop[d] == start[d]);
                if nothing && !empty {
                    let len: Vec<i64> = (0..ndim).map(|d| stop[d] - start[d]).collect();
                    return reads(Model::zeros(&len, model.typesize).data);
                }
                if (0..ndim).any(|d| start[d] < 0) && !empty {
                    return refused(None);
                }
                // What the array has not is zeros.
                let capacity: Vec<i64> = (0..ndim).map(|d| shape[d].max(stop[d])).collect();
                reads(if empty {
                    vec![]
                } else {
                    model.resized(&capacity).pick(&ranges(start, stop))
                })
            }
            Op::Join { axis, len, copy } => {
                let axis = *axis as usize;
                let at = shape[axis];
                let mut after = model.stretched(axis, at, *len);
                let mut start = vec![0; ndim];
                start[axis] = at;
                after.put(&ranges(&start, &after.shape.clone()), data);
                if *copy {
                    reads(after.data)
                } else {
                    becomes(after)
                }
            }
            Op::Reopen | Op::Swap => becomes(model.clone()),
        }
    }

    /// Whether a dimension of length 1 has padding.
    fn padded(&self) -> bool {
        let cut = self.spec.chunks.iter().zip(&self.spec.blocks);
        let mut dims = self.model.shape.iter().zip(cut);
        dims.any(|(len, (chunk, block))| *len == 1 && (*chunk > 1 || *block > 1))
    }

    /// Why the reference cannot be asked this, or is lost after it.
    pub fn known(&self, op: &Op, expected: &Expected) -> Option<&'static str> {
        let model = &self.model;
        let shape = &model.shape;
        let inside = |start: &[i64], stop: &[i64]| {
            (0..shape.len()).all(|d| start[d] >= 0 && stop[d] <= shape[d] && start[d] <= stop[d])
        };
        let grown = expected
            .after
            .as_ref()
            .is_some_and(|after| after.shape.iter().zip(shape).any(|(new, old)| new > old));
        match op {
            Op::Set {
                start,
                stop,
                capacity,
            }
            | Op::Get {
                start,
                stop,
                capacity,
            } => {
                let tight = (0..shape.len()).all(|d| capacity[d] >= stop[d] - start[d]);
                (!inside(start, stop) || !tight).then_some("a slice that is not inside")
            }
            Op::Slice { start, stop } => {
                (!inside(start, stop)).then_some("a slice that is not inside")
            }
            Op::Append { axis, .. } | Op::Insert { axis, .. } => {
                if shape.iter().product::<i64>() == 0 {
                    return Some("inserting into nothing");
                }
                let exact = matches!(op, Op::Append { len, .. } if
                    self.spec.chunks.get(*axis as usize).is_some_and(|c| i64::from(*c) == *len));
                if exact {
                    return Some("appending a chunk");
                }
                None
            }
            Op::Join { .. } if shape.iter().product::<i64>() == 0 => Some("joining with nothing"),
            Op::Delete { at, len, axis } if at + len > shape[*axis as usize] => {
                Some("deleting more than there is")
            }
            Op::ResizeAt { shape: new, start } => {
                let beyond =
                    (0..shape.len()).any(|d| start[d] - (new[d] - shape[d]).min(0) > shape[d]);
                beyond.then_some("deleting more than there is")
            }
            Op::Squeeze => self.padded().then_some("squeezing a padded dimension"),
            _ => None,
        }
        .or((grown && self.dirty).then_some("old bytes come back"))
    }
}
