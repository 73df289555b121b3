//! The space in the file of a frame, and the places of its chunks.

use crate::free_list::FreeList;
use oxiblosc_base::memory::{Collect, Sorted};

/// What is known about the free bytes between chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Survey {
    /// Nothing.
    None,
    /// What this handle has freed. There may be few others.
    Own,
    /// All of them; or there is a chunk that cannot be read, and freed bytes are not used again.
    Whole,
}

/// What a change needs to know about the space in the file.
pub(super) struct SpaceInFile {
    /// The free bytes between header and index; not used for a sparse frame.
    pub(super) free: FreeList,
    /// What `free` takes into account; see [`Disk::survey`].
    pub(super) survey: Survey,
    /// The places of the chunks that may have free bytes between their blocks. Some may have no
    /// chunk any more.
    pub(super) loose: Sorted<u64>,
    /// The places of all chunks with bytes, a shared one several times; see [`Disk::positions`].
    pub(super) positions: Option<Sorted<u64>>,
}

impl SpaceInFile {
    /// Notes the places of a committed change in `positions` and `loose`: those that chunks left,
    /// those of chunks that came, and those for `loose`. What there is no memory for is not noted:
    /// then some chunks are not packed at closing, and the places are listed anew when they are
    /// needed.
    pub(super) fn note(&mut self, leaves: &[(u64, u64)], positions: &[u64], loose: &[u64]) {
        for (pos, _) in leaves {
            self.loose.remove(*pos);
        }
        for pos in loose {
            if !self.loose.contains(*pos) {
                let _ = self.loose.insert(*pos);
            }
        }
        if let Some(all) = &mut self.positions {
            for (pos, _) in leaves {
                all.remove(*pos);
            }
            if positions.iter().any(|pos| all.insert(*pos).is_err()) {
                self.positions = None;
            }
        }
    }

    /// Notes that chunks were moved: `moved` gives the new place for an old one. As for
    /// [`Self::note`].
    pub(super) fn note_moves(&mut self, moved: impl Fn(u64) -> u64) {
        self.positions = None;
        let loose = self.loose.iter().map(moved).collect_vec();
        if let Ok(loose) = loose.and_then(Sorted::of) {
            self.loose = loose;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_follow_changes_and_moves() {
        let sorted = |list: &[u64]| Sorted::of(list.to_vec().into()).expect("memory");
        let mut space = SpaceInFile {
            free: FreeList::default(),
            survey: Survey::None,
            loose: sorted(&[10, 30]),
            positions: Some(sorted(&[10, 20, 30])),
        };
        space.note(&[(10, 5)], &[40], &[20, 40]);
        let all = |list: &Sorted<u64>| list.iter().collect::<Vec<_>>();
        assert_eq!(all(&space.loose), [20, 30, 40]);
        assert_eq!(space.positions.as_ref().map(all), Some(vec![20, 30, 40]));
        space.note_moves(|pos| pos - 20);
        assert_eq!(all(&space.loose), [0, 10, 20]);
        assert!(space.positions.is_none(), "they are listed anew");
    }
}
