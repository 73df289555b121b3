use super::*;
use proptest::prelude::*;

/// An axis, and which part each of its places belongs to.
fn even(len: usize, chunk: usize, block: usize, from: usize) -> Axis {
    Axis::even(from..from + len, chunk, block).unwrap()
}

/// The places from 0 to before `len` in an order of chance, in parts of `each` runs.
fn listed(len: usize, each: usize, mut seed: u64) -> Axis {
    let mut indices: Vec<_> = (0..len).collect();
    for i in (1..len).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        indices.swap(i, (seed >> 33) as usize % (i + 1));
    }
    let run = |(inside, at)| Run { inside, at, len: 1 };
    let runs: Vec<_> = indices.into_iter().enumerate().map(run).collect();
    let mut firsts: Vec<_> = (0..len).step_by(each).collect();
    firsts.push(len);
    Axis::listed(runs.into(), firsts.into()).unwrap()
}

/// Every tile's parts.
fn tiles(axes: &[Axis]) -> Vec<Vec<usize>> {
    axes.iter().fold(vec![vec![]], |tiles, axis| {
        let with = |tile: &Vec<usize>, part| [&tile[..], &[part]].concat();
        tiles
            .iter()
            .flat_map(|tile| (0..axis.count()).map(move |part| with(tile, part)))
            .collect()
    })
}

/// The strides of an array, each of whose rows is `more` items longer than an axis.
fn strides(axes: &[Axis], more: usize) -> Vec<usize> {
    let mut strides = vec![1; axes.len()];
    for d in (1..axes.len()).rev() {
        strides[d - 1] = strides[d] * (axes[d].len() + more);
    }
    strides
}

/// The places of a tile's items, one by one.
fn naive(axes: &[Axis], strides: &[usize], tile: &[usize]) -> Vec<usize> {
    let mut indices = vec![0];
    for ((axis, stride), part) in axes.iter().zip(strides).zip(tile) {
        let part = axis.part(*part);
        let along: Vec<_> = (part.runs().iter())
            .flat_map(|run| run.at..run.at + run.len)
            .collect();
        indices = indices
            .iter()
            .flat_map(|index| along.iter().map(move |at| index + at * stride))
            .collect();
    }
    indices
}

type Dim = (usize, usize, usize, usize, bool);

fn dims() -> impl Strategy<Value = Vec<Dim>> {
    // Length, chunk, block, start, and whether it is a list.
    proptest::collection::vec(
        (1..7usize, 1..5usize, 1..4usize, 0..4usize, any::<bool>()),
        0..4,
    )
}

proptest! {
    #[test]
    fn tiles_are_their_items_and_nothing_else(
        dims in dims(),
        more in 0..2usize,
        item in 1..4usize,
        seed in any::<u64>(),
    ) {
        let axis = |(len, chunk, block, from, list): &Dim| match list {
            true => listed(*len, *block, seed),
            false => even(*len, *chunk, *block, *from),
        };
        let axes: Vec<_> = dims.iter().map(axis).collect();
        let strides = strides(&axes, more);
        let last: usize = axes.iter().zip(&strides).map(|(axis, s)| (axis.len() - 1) * s).sum();
        let mut buffer = vec![0u8; (last + 1) * item + 1];
        let mut expected = buffer.clone();
        let grid = Grid::new(&mut buffer, item, axes.iter().zip(strides.iter().copied())).unwrap();
        let all = tiles(&axes);
        std::thread::scope(|scope| {
            for (worker, own) in all.chunks(all.len().div_ceil(3)).enumerate() {
                let (grid, strides) = (&grid, &strides);
                scope.spawn(move || {
                    for parts in own {
                        let mut tile = grid.claim(parts, strides).unwrap();
                        let mut add = |_: usize, bytes: &mut [u8]| {
                            bytes.iter_mut().for_each(|byte| *byte += worker as u8 + 1);
                            Ok(())
                        };
                        tile.each(&mut add).unwrap();
                        assert!(grid.claim(parts, strides).is_err());
                    }
                });
            }
        });
        for (i, tile) in all.iter().enumerate() {
            for index in naive(&axes, &strides, tile) {
                let worker = i / all.len().div_ceil(3);
                expected[index * item..][..item].iter_mut().for_each(|byte| *byte += worker as u8 + 1);
            }
        }
        prop_assert_eq!(buffer, expected);
    }
}

#[test]
fn a_tile_that_is_one_run_is_given_at_once() {
    let axes = [even(4, 2, 2, 0), even(3, 3, 3, 0)];
    let mut buffer = [0u8; 24];
    let grid = Grid::new(&mut buffer, 2, axes.iter().zip([3, 1])).unwrap();
    let mut tile = grid.claim(&[1, 0], &[3, 1]).unwrap();
    let (inside, bytes) = tile.single().unwrap();
    assert_eq!((inside, bytes.len()), (0, 12));
    bytes.fill(7);
    // Where the items do not follow each other in the block there are two.
    assert!(grid.claim(&[0, 0], &[4, 1]).unwrap().single().is_none());
    assert_eq!(buffer[..13], [[0; 12].as_slice(), &[7]].concat());
}

#[test]
fn errors_of_runs_come_out() {
    let axes = [even(4, 1, 1, 0), even(3, 3, 3, 0)];
    let mut buffer = [0u8; 12];
    let grid = Grid::new(&mut buffer, 1, axes.iter().zip([3, 1])).unwrap();
    let mut tile = grid.claim(&[2, 0], &[3, 1]).unwrap();
    assert_eq!(tile.each(&mut |_, _| Err(Error::DATA)), Err(Error::DATA));
}

#[test]
fn many_tiles_are_claimed_once() {
    let axes = [even(300, 7, 2, 5)];
    let mut buffer = [0u8; 300];
    let grid = Grid::new(&mut buffer, 1, axes.iter().zip([1])).unwrap();
    let claimed = |part: &usize| grid.claim(&[*part], &[1]).is_ok();
    let all = || (0..axes[0].count()).filter(claimed).count();
    let taken: usize = std::thread::scope(|scope| {
        let workers = [0; 4].map(|_| scope.spawn(all));
        workers.map(|worker| worker.join().unwrap()).iter().sum()
    });
    assert_eq!(taken, axes[0].count());
    assert!(taken > 128);
}

#[test]
fn arrays_that_overlap_or_do_not_fit_are_refused() {
    let axes = [even(4, 2, 1, 0), even(3, 3, 3, 0)];
    let mut buffer = [0u8; 24];
    let mut refused = |item: usize, strides: [usize; 2]| {
        Grid::new(&mut buffer, item, axes.iter().zip(strides)).err() == Some(Error::INVALID_PARAM)
    };
    assert!(!refused(2, [3, 1]) && !refused(1, [7, 1]) && !refused(0, [1000, 1]));
    assert!(refused(2, [4, 1]) && refused(3, [3, 1]));
    assert!(refused(1, [2, 1]) && refused(1, [0, 1]) && refused(1, [4, 0]) && refused(1, [7, 2]));
    assert!(refused(1, [usize::MAX, 1]) && refused(usize::MAX, [3, 1]));
    let axes: Vec<_> = (0..=MAX_AXES).map(|_| even(1, 1, 1, 0)).collect();
    let strides = (0..=MAX_AXES).map(|d| MAX_AXES + 1 - d);
    assert!(Grid::new(&mut buffer, 1, axes.iter().zip(strides)).is_err());
}
