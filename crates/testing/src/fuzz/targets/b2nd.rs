//! Arrays: out of a frame that cannot be trusted, and one on which operations follow each other,
//! beside a plain model.

use super::super::arrays::{Array, Cut};
use super::super::model::{Model, count, ranges};
use super::super::numbers::Input;

/// The most items of an array.
const MAX_ITEMS: usize = 2000;
/// The largest data that is read of a frame's array.
const LARGEST: usize = 1 << 20;

/// A byte that says which of the two, then a frame, or numbers that say how the array is cut and
/// what is done to it.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    if input.byte() & 1 == 0 {
        frame(input);
    } else {
        sequence(&mut input);
    }
}

/// Everything that can be done to the array of a frame, whatever it gives. The first byte says
/// where.
fn frame(mut input: Input) {
    let seed = i64::from(input.byte());
    let Some(array) = Array::of_frame(input.rest()) else {
        return;
    };
    let (shape, item) = (array.shape(), array.typesize());
    let total = shape.iter().try_fold(item, |n, len| {
        n.checked_mul(usize::try_from(*len).unwrap_or(0))
    });
    if let Some(total) = total.filter(|total| *total <= LARGEST) {
        array.read_all(total);
    }
    let start: Vec<i64> = shape
        .iter()
        .map(|len| seed % (*len).clamp(1, 256))
        .collect();
    let stop: Vec<i64> = start.iter().map(|at| at + 1 + seed % 3).collect();
    let capacity: Vec<i64> = start.iter().zip(&stop).map(|(a, b)| b - a).collect();
    let items = capacity.iter().product::<i64>() as usize;
    let Some(len) = items.checked_mul(item).filter(|len| *len <= LARGEST) else {
        return;
    };
    let mut buffer = vec![1; len];
    array.get(&start, &stop, &mut buffer);
    array.sparse(seed, &mut buffer[..item]);
    if array.chunk_nbytes() > LARGEST as i64 {
        // To write one item is to compress all of a chunk that was never written.
        return;
    }
    array.set(&start, &stop, &buffer);
    array.get(&start, &stop, &mut buffer);
    let longer: Vec<i64> = shape.iter().map(|len| (len + 1).min(50)).collect();
    array.resize(&longer);
    array.append(0, &buffer[..item]);
    array.delete(0, 0, 1);
    array.append(0, &buffer);
}

fn sequence(input: &mut Input) {
    let ndim = 1 + usize::from(input.byte() % 3);
    let most = [40, 12, 6][ndim - 1];
    let below = |input: &mut Input, end: i64| i64::from(input.byte()) % end.max(1);
    let shape: Vec<i64> = (0..ndim).map(|_| below(input, most)).collect();
    let chunks: Vec<i32> = (0..ndim).map(|_| 1 + below(input, most) as i32).collect();
    let blocks: Vec<i32> = chunks
        .iter()
        .map(|chunk| 1 + below(input, i64::from(*chunk)) as i32)
        .collect();
    let cut = Cut {
        chunks,
        blocks,
        typesize: [1, 2, 3, 4, 8, 300][below(input, 6) as usize],
        filter: [0, 1, 2][below(input, 3) as usize],
        codec: [0, 1, 4, 5][below(input, 4) as usize],
        contiguous: below(input, 2) == 1,
    };
    let item = cut.typesize as usize;
    let mut model = Model::zeros(&shape, item);
    let mut value = 0u8;
    let mut bytes = |len: usize, kind: i64| -> Vec<u8> {
        value = value.wrapping_add(1);
        (0..len)
            .map(|i| {
                if kind == 0 {
                    value
                } else {
                    (i as u8).wrapping_mul(value)
                }
            })
            .collect()
    };
    model.data = bytes(model.data.len(), 1);
    let array = Array::new(&shape, &cut, &model.data).expect("an array that can be");
    for _ in 0..32 {
        if input.0.is_empty() {
            break;
        }
        let shape = model.shape.clone();
        let axis = below(input, ndim as i64) as usize;
        let chunk = i64::from(cut.chunks[axis]);
        match below(input, 6) {
            op @ (0 | 1) => {
                let start: Vec<i64> = shape.iter().map(|len| below(input, *len)).collect();
                let len = |(at, end): (&i64, &i64)| at + below(input, end - at + 1);
                let stop: Vec<i64> = start.iter().zip(&shape).map(len).collect();
                let lists = ranges(&start, &stop);
                let items: usize = lists.iter().map(Vec::len).product();
                if op == 0 {
                    let new = bytes(items * item, below(input, 2));
                    assert_eq!(array.set(&start, &stop, &new), 0);
                    model.put(&lists, &new);
                } else {
                    let mut read = vec![0; items * item];
                    assert_eq!(array.get(&start, &stop, &mut read), 0);
                    assert!(items == 0 || read == model.pick(&lists), "a slice");
                }
            }
            2 => {
                let mut new = shape.clone();
                new[axis] = below(input, 2 * most);
                if count(&new) > MAX_ITEMS {
                    continue;
                }
                assert_eq!(array.resize(&new), 0);
                model = model.resized(&new);
            }
            op @ (3 | 4) => {
                let len = below(input, 3) * chunk + below(input, 2);
                let mut part = shape.clone();
                part[axis] = len;
                let at = if op == 3 {
                    shape[axis]
                } else {
                    chunk * below(input, 3)
                };
                let whole = at == shape[axis] || (at < shape[axis] && len % chunk == 0);
                if count(&part) == 0 || !whole || count(&part) + count(&shape) > MAX_ITEMS {
                    continue;
                }
                let new = bytes(count(&part) * item, 1);
                assert_eq!(array.insert(axis as i8, at, &new), 0);
                model = model.stretched(axis, at, len);
                let mut start = vec![0; ndim];
                start[axis] = at;
                let mut stop = model.shape.clone();
                stop[axis] = at + len;
                model.put(&ranges(&start, &stop), &new);
            }
            _ => {
                let len = below(input, shape[axis] + 1);
                assert_eq!(array.delete(axis as i8, shape[axis] - len, len), 0);
                model = model.stretched(axis, shape[axis] - len, -len);
            }
        }
        assert_eq!(array.shape(), model.shape);
        assert!(array.read_all(model.data.len()) == model.data, "all items");
    }
}
