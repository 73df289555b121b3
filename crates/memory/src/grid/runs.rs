//! Boxes of items as runs: as long as both sides have them one after the other, and no more of them than need be.

use super::MAX_AXES;
use oxiblosc_error::Result;

/// Items that follow each other on both sides, counted in items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The first one's place in the block.
    pub inside: usize,
    /// The first one's place in the buffer.
    pub at: usize,
    /// How many.
    pub len: usize,
}

/// A box of items that lies in two arrays at once.
#[derive(Clone, Debug)]
pub struct StridedCopy {
    /// Lengths and strides of what cannot be merged, the innermost last; strides of the innermost are 1.
    lens: [usize; MAX_AXES + 1],
    inside: [usize; MAX_AXES + 1],
    at: [usize; MAX_AXES + 1],
    count: usize,
    origin: Run,
}

impl StridedCopy {
    /// From, for each dimension, the run along it and the strides in both arrays. None where a run is empty.
    ///
    /// Its places in the second array are, whatever is said of the first: for each combination of one place of every run, the
    /// sum of these places times their strides. A [`Grid`](super::Grid) relies on that.
    pub fn new(runs: &[Run], inside: &[usize], at: &[usize]) -> Option<Self> {
        let mut merged = Self {
            lens: [1; MAX_AXES + 1],
            inside: [1; MAX_AXES + 1],
            at: [1; MAX_AXES + 1],
            count: 1,
            origin: Run::default(),
        };
        // From the innermost out: a dimension that goes on where the one within it ends is one with it.
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

    /// Where the box is one run.
    #[inline]
    pub fn single(&self) -> Option<Run> {
        (self.count == 1).then_some(self.origin)
    }

    /// How many items there are.
    pub fn items(&self) -> usize {
        self.lens.iter().product()
    }

    /// The place of the first item in the block, and how far behind it the last one ends.
    pub fn span(&self) -> (usize, usize) {
        let outer = MAX_AXES + 1 - self.count..MAX_AXES + 1;
        let last: usize = outer.map(|d| (self.lens[d] - 1) * self.inside[d]).sum();
        (self.origin.inside, last + 1)
    }

    /// Calls `each` with every run, until it fails.
    #[inline]
    pub fn each(&self, each: &mut impl FnMut(Run) -> Result<()>) -> Result<()> {
        let first = MAX_AXES + 1 - self.count;
        if self.count == 1 {
            return each(self.origin);
        }
        // The dimension next to the innermost is a plain loop; those around it count like an odometer.
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

/// The places along one dimension that belong together: one run, or several.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    one: Run,
    many: Option<&'a [Run]>,
}

impl Part<'_> {
    /// No places.
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
    /// Several runs, or one.
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

/// The items at every combination of places, one from each part, as one box; none where that is not a box, or nothing.
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

/// Calls `each` with every run of the items at every combination of places, one from each of at least one part, until it
/// fails. Strides of the innermost are 1. What [`StridedCopy::new`] says of places holds here too.
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
