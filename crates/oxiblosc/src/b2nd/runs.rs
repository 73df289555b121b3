//! Copies of boxes of items from one array to another, as contiguous runs.

use super::MAX_DIM;
pub use oxiblosc_base::memory::grid::{Run, StridedCopy};
use oxiblosc_base::{Error, Result};

/// C-order strides of an array, in items.
///
/// # Errors
/// [`Error::INVALID_PARAM`] if they overflow or a length is negative.
pub fn strides(shape: &[i64]) -> Result<[usize; MAX_DIM]> {
    let mut strides = [0; MAX_DIM];
    let mut stride = 1usize;
    for d in (0..shape.len().min(MAX_DIM)).rev() {
        strides[d] = stride;
        if d > 0 {
            let len = usize::try_from(shape[d]).map_err(|_| Error::INVALID_PARAM)?;
            stride = stride.checked_mul(len).ok_or(Error::INVALID_PARAM)?;
        }
    }
    Ok(strides)
}

/// A box of items that is copied from one array to another of the same number of dimensions.
pub struct Transfer<'a> {
    /// Shape of the source, in items.
    pub src_shape: &'a [i64],
    /// Start of the box in the source.
    pub start: &'a [i64],
    /// End of the box in the source.
    pub stop: &'a [i64],
    /// Shape of the destination, in items.
    pub dst_shape: &'a [i64],
    /// Start of the box in the destination.
    pub dst_start: &'a [i64],
}

impl Transfer<'_> {
    /// The runs of the box: in each, `inside` is the position in the source and `at` that in the
    /// destination. None if the box is empty.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if the box is not inside both arrays.
    pub fn runs(&self) -> Result<Option<StridedCopy>> {
        let ndim = self.src_shape.len();
        if (0..ndim).any(|d| self.stop[d] == self.start[d]) {
            return Ok(None);
        }
        let mut runs = [Run::default(); MAX_DIM];
        for (d, run) in runs[..ndim].iter_mut().enumerate() {
            let len = self.stop[d]
                .checked_sub(self.start[d])
                .ok_or(Error::INVALID_PARAM)?;
            let end = self.dst_start[d].checked_add(len);
            let inside = self.start[d] >= 0
                && len > 0
                && self.stop[d] <= self.src_shape[d]
                && self.dst_start[d] >= 0
                && end.is_some_and(|end| end <= self.dst_shape[d]);
            if !inside {
                return Err(Error::INVALID_PARAM);
            }
            *run = Run {
                inside: self.start[d] as usize,
                at: self.dst_start[d] as usize,
                len: len as usize,
            };
        }
        let (src, dst) = (strides(self.src_shape)?, strides(self.dst_shape)?);
        for (strides, shape) in [(&src, self.src_shape), (&dst, self.dst_shape)] {
            // The position of every item of the array has to fit into an `isize`.
            let outermost = strides[0].checked_mul(shape.first().map_or(1, |len| *len as usize));
            outermost
                .filter(|items| *items <= isize::MAX as usize)
                .ok_or(Error::INVALID_PARAM)?;
        }
        Ok(StridedCopy::new(&runs[..ndim], &src[..ndim], &dst[..ndim]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every item of a box, computed one by one.
    fn naive(runs: &[Run], inside: &[usize], at: &[usize]) -> Vec<(usize, usize)> {
        let mut items = vec![(0, 0)];
        for (d, run) in runs.iter().enumerate() {
            items = items
                .iter()
                .flat_map(|(a, b)| {
                    (0..run.len)
                        .map(move |i| (a + (run.inside + i) * inside[d], b + (run.at + i) * at[d]))
                })
                .collect();
        }
        items
    }

    fn by_runs(both: &StridedCopy) -> Vec<(usize, usize)> {
        let mut items = Vec::new();
        both.each(&mut |run| {
            items.extend((0..run.len).map(|i| (run.inside + i, run.at + i)));
            Ok(())
        })
        .unwrap();
        items
    }

    type Lengths = (i64, i64, i64, i64, i64);

    fn boxes() -> impl Strategy<Value = Vec<Lengths>> {
        // Length, and how much is before and after it in the source and in the destination.
        proptest::collection::vec((0..4i64, 0..2i64, 0..2i64, 0..2i64, 0..2i64), 0..=8)
    }

    proptest! {
        #[test]
        fn runs_are_the_items_one_by_one(lengths in boxes()) {
            let of = |f: fn(&Lengths) -> i64| lengths.iter().map(f).collect::<Vec<_>>();
            let (src, dst) = (of(|l| l.0 + l.1 + l.2), of(|l| l.0 + l.3 + l.4));
            let (start, stop, dst_start) = (of(|l| l.1), of(|l| l.0 + l.1), of(|l| l.3));
            let transfer = Transfer {
                src_shape: &src,
                start: &start,
                stop: &stop,
                dst_shape: &dst,
                dst_start: &dst_start,
            };
            let runs: Vec<Run> = lengths
                .iter()
                .map(|l| Run { inside: l.1 as usize, at: l.3 as usize, len: l.0 as usize })
                .collect();
            let expected = naive(&runs, &strides(&src).unwrap(), &strides(&dst).unwrap());
            match transfer.runs().unwrap() {
                None => prop_assert!(expected.is_empty()),
                Some(both) => {
                    let (first, len) = both.span();
                    prop_assert_eq!(both.items(), expected.len());
                    prop_assert_eq!(first, expected[0].0);
                    prop_assert_eq!(first + len, expected[expected.len() - 1].0 + 1);
                    prop_assert_eq!(by_runs(&both), expected);
                }
            }
        }
    }

    #[test]
    fn trailing_dimensions_that_are_whole_are_one_run() {
        let whole = Transfer {
            src_shape: &[4, 5, 6],
            start: &[1, 0, 0],
            stop: &[3, 5, 6],
            dst_shape: &[2, 5, 6],
            dst_start: &[0, 0, 0],
        };
        let run = whole.runs().unwrap().unwrap().single();
        assert_eq!(
            run,
            Some(Run {
                inside: 30,
                at: 0,
                len: 60
            })
        );
        let point = Transfer {
            stop: &[2, 1, 1],
            ..whole
        };
        assert_eq!(point.runs().unwrap().unwrap().single().unwrap().len, 1);
    }

    #[test]
    fn boxes_that_are_not_inside_are_refused() {
        let fits = Transfer {
            src_shape: &[4, 5],
            start: &[1, 0],
            stop: &[3, 5],
            dst_shape: &[2, 5],
            dst_start: &[0, 0],
        };
        assert!(fits.runs().is_ok());
        let refused = |transfer: Transfer| transfer.runs().err() == Some(Error::INVALID_PARAM);
        assert!(refused(Transfer {
            stop: &[5, 5],
            ..fits
        }));
        assert!(refused(Transfer {
            start: &[-1, 0],
            ..fits
        }));
        assert!(refused(Transfer {
            stop: &[0, 5],
            ..fits
        }));
        assert!(refused(Transfer {
            dst_start: &[1, 0],
            ..fits
        }));
        assert!(refused(Transfer {
            dst_start: &[-1, 0],
            ..fits
        }));
        assert!(refused(Transfer {
            dst_start: &[i64::MAX, 0],
            ..fits
        }));
        assert!(refused(Transfer {
            start: &[i64::MIN, 0],
            ..fits
        }));
        let huge = [i64::MAX, i64::MAX];
        assert!(refused(Transfer {
            src_shape: &huge,
            ..fits
        }));
        // An empty box may be anywhere.
        let nothing = Transfer {
            start: &[3, 0],
            src_shape: &[1, 1],
            ..fits
        };
        assert!(nothing.runs().unwrap().is_none());
    }
}
