//! The ticks of a super-chunk, by which the owners of copies of its metalayers see that they are
//! out of date.

/// A clock that goes on when metalayers change, here or through another handle on the frame, and
/// when some of the changes were.
#[derive(Default)]
pub(in crate::schunk) struct ChangeTicks {
    /// When an array last may have got another shape: at a resize, or when a transaction was rolled
    /// back.
    reshaped: i64,
    /// When the frame was last read again.
    reloaded: i64,
    now: i64,
}

impl ChangeTicks {
    /// The present tick.
    pub fn now(&self) -> i64 {
        self.now
    }

    /// When the frame was last read again.
    pub fn reloaded(&self) -> i64 {
        self.reloaded
    }

    /// Notes that metalayers changed.
    pub fn note_change(&mut self) {
        self.now += 1;
    }

    /// Notes that an array may have got another shape.
    pub fn note_reshape(&mut self) {
        self.now += 1;
        self.reshaped = self.now;
    }

    /// Notes that the frame was read again.
    pub fn note_reload(&mut self) {
        self.now += 1;
        self.reloaded = self.now;
    }

    /// Whether an array may have another shape than at `tick`. If `any_change`, each change may
    /// have been one of the shape, as other handles also make changes.
    pub fn may_be_reshaped_since(&self, tick: i64, any_change: bool) -> bool {
        tick != self.now && (any_change || tick < self.reshaped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_moves_the_clock_and_only_some_the_shape() {
        let mut ticks = ChangeTicks::default();
        ticks.note_reshape();
        let reshaped = ticks.now();
        assert!(!ticks.may_be_reshaped_since(reshaped, true));
        assert!(ticks.may_be_reshaped_since(reshaped - 1, false));
        ticks.note_change();
        assert_eq!(ticks.now(), reshaped + 1);
        assert!(!ticks.may_be_reshaped_since(reshaped, false));
        assert!(ticks.may_be_reshaped_since(reshaped, true));
        assert_eq!(ticks.reloaded(), 0);
        ticks.note_reload();
        assert_eq!(ticks.reloaded(), ticks.now());
    }
}
