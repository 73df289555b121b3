//! Boxes of items as runs that are contiguous both in the source and in the destination, as few as
//! possible.

use crate::error::Result;

/// The largest number of axes.
pub const MAX_AXES: usize = 16;

/// Items that are contiguous both in a block and in a buffer. All numbers are in items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Offset of the first item in the block.
    pub inside: usize,
    /// Offset of the first item in the buffer.
    pub at: usize,
    /// Number of items.
    pub len: usize,
}

/// A box of items that is copied between two strided arrays: a block and a buffer.
#[derive(Clone, Debug)]
pub struct StridedCopy {
    /// Lengths and strides of the dimensions after merging, the innermost last; its strides are 1.
    lens: [usize; MAX_AXES + 1],
    inside: [usize; MAX_AXES + 1],
    at: [usize; MAX_AXES + 1],
    count: usize,
    origin: Run,
}

impl StridedCopy {
    /// `runs` has a run along each dimension; `inside` and `at` have the strides in the block and
    /// in the buffer. None if a run is empty.
    ///
    /// The offsets in the buffer do not depend on `inside`: there is one for each combination of a
    /// position from every run, the sum of these positions times their strides. The safety of
    /// [`Grid`](super::Grid) rests on that.
    pub fn new(runs: &[Run], inside: &[usize], at: &[usize]) -> Option<Self> {
        let mut merged = Self {
            lens: [1; MAX_AXES + 1],
            inside: [1; MAX_AXES + 1],
            at: [1; MAX_AXES + 1],
            count: 1,
            origin: Run::default(),
        };
        // From the innermost dimension out: one whose items begin where those of the inner ones
        // end, in both arrays, is merged with them.
        let mut top = MAX_AXES;
        for ((run, inside), at) in runs.iter().zip(inside).zip(at).rev() {
            merged.origin.inside += run.inside * inside;
            merged.origin.at += run.at * at;
            match run.len {
                0 => return None,
                1 => continue,
                _ => {}
            }
            let end = (
                merged.inside[top] * merged.lens[top],
                merged.at[top] * merged.lens[top],
            );
            if (*inside, *at) == end {
                merged.lens[top] *= run.len;
            } else {
                top -= 1;
                merged.lens[top] = run.len;
                merged.inside[top] = *inside;
                merged.at[top] = *at;
            }
        }
        merged.count = MAX_AXES + 1 - top;
        merged.origin.len = merged.lens[MAX_AXES];
        Some(merged)
    }

    /// The box as one run, if it is one.
    #[inline]
    pub fn single(&self) -> Option<Run> {
        (self.count == 1).then_some(self.origin)
    }

    /// Number of items.
    pub fn items(&self) -> usize {
        self.lens.iter().product()
    }

    /// The offset of the first item in the block, and the distance from there to the end of the
    /// last one.
    pub fn span(&self) -> (usize, usize) {
        let outer = MAX_AXES + 1 - self.count..MAX_AXES + 1;
        let last: usize = outer.map(|d| (self.lens[d] - 1) * self.inside[d]).sum();
        (self.origin.inside, last + 1)
    }

    /// Calls `each` for every run, until it fails.
    ///
    /// # Errors
    /// Those of `each`.
    #[inline]
    pub fn each(&self, each: &mut impl FnMut(Run) -> Result<()>) -> Result<()> {
        let first = MAX_AXES + 1 - self.count;
        if self.count == 1 {
            return each(self.origin);
        }
        // The dimension next to the innermost is a simple loop; the outer ones count like an
        // odometer.
        let row = MAX_AXES - 1;
        let mut at = [0usize; MAX_AXES];
        let mut start = self.origin;
        loop {
            let mut run = start;
            for _ in 0..self.lens[row] {
                each(run)?;
                run.inside += self.inside[row];
                run.at += self.at[row];
            }
            let mut d = row;
            loop {
                if d == first {
                    return Ok(());
                }
                d -= 1;
                at[d] += 1;
                start.inside += self.inside[d];
                start.at += self.at[d];
                if at[d] < self.lens[d] {
                    break;
                }
                start.inside -= self.lens[d] * self.inside[d];
                start.at -= self.lens[d] * self.at[d];
                at[d] = 0;
            }
        }
    }
}

/// The positions along one dimension that belong to a tile: one run, or several.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    one: Run,
    many: Option<&'a [Run]>,
}

impl Part<'_> {
    /// No positions.
    pub const EMPTY: Self = Self {
        one: Run {
            inside: 0,
            at: 0,
            len: 0,
        },
        many: None,
    };
}

impl From<Run> for Part<'_> {
    fn from(one: Run) -> Self {
        Self { one, many: None }
    }
}

impl<'a> Part<'a> {
    /// The positions of these runs.
    #[inline]
    pub fn of(runs: &'a [Run]) -> Self {
        match runs {
            [] => Self::EMPTY,
            [one] => Self::from(*one),
            many => Self {
                one: many[0],
                many: Some(many),
            },
        }
    }

    /// Its runs.
    #[inline]
    pub fn runs(&self) -> &[Run] {
        self.many.unwrap_or(std::slice::from_ref(&self.one))
    }
}

/// The items at every combination of positions, one from each part, as one box. None if a part has
/// several runs, or there are no items.
#[inline]
pub fn as_box(parts: &[Part], inside: &[usize], at: &[usize]) -> Option<StridedCopy> {
    if parts.iter().any(|part| part.many.is_some()) {
        return None;
    }
    let mut runs = [Run::default(); MAX_AXES];
    for (run, part) in runs.iter_mut().zip(parts) {
        *run = part.one;
    }
    StridedCopy::new(&runs[..parts.len()], inside, at)
}

/// Calls `each` for every run of the items at every combination of positions, one from each part
/// (there is at least one), until it fails. The innermost strides are 1. What [`StridedCopy::new`]
/// says of offsets in the buffer holds here, too.
///
/// # Errors
/// Those of `each`.
pub fn walk(
    parts: &[Part],
    (inside, at): (&[usize], &[usize]),
    from: Run,
    each: &mut impl FnMut(Run) -> Result<()>,
) -> Result<()> {
    let [part, within @ ..] = parts else {
        return Ok(());
    };
    for run in part.runs() {
        let mut from = Run {
            inside: from.inside + run.inside * inside[0],
            at: from.at + run.at * at[0],
            len: run.len,
        };
        if within.is_empty() {
            each(from)?;
            continue;
        }
        for _ in 0..run.len {
            walk(within, (&inside[1..], &at[1..]), from, each)?;
            from.inside += inside[0];
            from.at += at[0];
        }
    }
    Ok(())
}
