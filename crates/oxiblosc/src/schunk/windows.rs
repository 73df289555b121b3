//! What C programs see of the chunks and the metalayers of a super-chunk: a window for each chunk
//! that has a buffer of its own, and one for each metalayer, whose address does not change until
//! the metalayer is removed.

use super::layers::MetalayerKind;
use super::state::State;
use crate::schunk::host::{Changed, WindowCounts};
use oxiblosc_base::Result;
use oxiblosc_base::memory::{Buffer, TryVec, boxed};
use oxiblosc_frame::meta::Metalayer;

/// What C programs see of each chunk that has a buffer of its own, such as its address.
pub struct ChunkWindows<W>(TryVec<W>);

impl<W> Default for ChunkWindows<W> {
    fn default() -> Self {
        Self(TryVec::new())
    }
}

impl<W> ChunkWindows<W> {
    /// Allocates room for so many chunks, so that [`Self::update`] cannot fail.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
    pub fn prepare(&mut self, count: &WindowCounts) -> Result<()> {
        let more = count.separate.saturating_sub(self.0.len());
        self.0.reserve(more)
    }

    /// Calls `show` for each chunk that changed, and keeps what it gives.
    pub fn update(
        &mut self,
        state: &mut State,
        changed: &Changed,
        show: impl Fn(Option<&mut Buffer>) -> W,
    ) {
        let (before, nchunks) = (self.0.len(), state.nchunks());
        self.0.truncate(nchunks);
        for nchunk in changed.chunks(before, nchunks) {
            let window = show(state.separate_chunk(nchunk));
            match self.0.get_mut(nchunk) {
                Some(shown) => *shown = window,
                None => self.0.push_within_capacity(window),
            }
        }
    }

    /// The windows, in the order of the chunks.
    pub fn windows(&mut self) -> &mut [W] {
        &mut self.0
    }

    /// For how many windows memory is allocated.
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

/// The window of one metalayer.
struct LayerWindow<W> {
    /// The address of the metalayer's name, which identifies the metalayer.
    key: usize,
    window: W,
}

fn key(layer: &Metalayer) -> usize {
    layer.name.as_ptr().addr()
}

/// The windows for metalayers of one kind, in their order.
struct Windows<W>(TryVec<Box<LayerWindow<W>>>);

/// The windows of a super-chunk.
pub struct LayerWindows<W> {
    /// Those of metalayers of fixed length, and of variable length.
    lists: [Windows<W>; 2],
    /// Unused windows, for new metalayers.
    spare: TryVec<Box<LayerWindow<W>>>,
}

impl<W> Default for LayerWindows<W> {
    fn default() -> Self {
        Self {
            lists: [Windows(TryVec::new()), Windows(TryVec::new())],
            spare: TryVec::new(),
        }
    }
}

impl<W: Default> LayerWindows<W> {
    /// Allocates windows for so many metalayers, so that [`Self::update`] cannot fail.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
    pub fn prepare(&mut self, count: &WindowCounts) -> Result<()> {
        let (spare, mut shown, mut all) = (&mut self.spare, 0, 0);
        for (Windows(list), count) in self.lists.iter_mut().zip(count.layers) {
            list.reserve((count + 1).saturating_sub(list.len()))?;
            (shown, all) = (shown + list.len(), all + count);
        }
        spare.reserve((all + shown).saturating_sub(spare.len()))?;
        while spare.len() + shown < all {
            spare.push(boxed(LayerWindow {
                key: 0,
                window: W::default(),
            })?)?;
        }
        Ok(())
    }

    /// Assigns a window to each metalayer, and calls `show` for it: first for all of fixed length,
    /// then for those of variable length. `show` gets the kind, the index, the window, and the
    /// metalayer; and neither for each place behind the last one where there was one before.
    pub fn update(
        &mut self,
        state: &State,
        mut show: impl FnMut(MetalayerKind, usize, Option<(&mut W, &Metalayer)>),
    ) {
        let kinds = [MetalayerKind::Fixed, MetalayerKind::Variable];
        for (kind, windows) in kinds.into_iter().zip(&mut self.lists) {
            let layers = state.metalayers.list(kind);
            let before = windows.0.len();
            windows.update(&mut self.spare, layers);
            for (at, (window, layer)) in windows.0.iter_mut().zip(layers).enumerate() {
                window.key = key(layer);
                show(kind, at, Some((&mut window.window, layer)));
            }
            (layers.len()..before).for_each(|at| show(kind, at, None));
        }
    }
}

impl<W> Windows<W> {
    /// Makes this list one window for each of `layers`. Metalayers that had a window keep it.
    fn update(&mut self, spare: &mut TryVec<Box<LayerWindow<W>>>, layers: &[Metalayer]) {
        let shown = &mut self.0;
        for (at, layer) in layers.iter().enumerate() {
            let key = key(layer);
            let shows = |at: usize| shown.get(at).is_some_and(|shown| shown.key == key);
            if shows(at) {
                continue;
            }
            if shows(at + 1) {
                // The metalayer that was here was deleted.
                spare.push_within_capacity(shown.remove(at));
            } else if let Some(new) = spare.pop().or_else(|| shown.pop()) {
                // If there is no spare window, the last one belongs to a removed metalayer, and is
                // used again. `prepare` has reserved the capacity for this.
                let _ = shown.insert(at.min(shown.len()), new);
            }
        }
        while shown.len() > layers.len()
            && let Some(gone) = shown.pop()
        {
            spare.push_within_capacity(gone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::CParams;
    use crate::schunk::layers::LayerEdit;
    use crate::schunk::{ChunkStore, Parameters};

    fn edit(state: &mut State, edit: LayerEdit) {
        let kind = MetalayerKind::Fixed;
        let prepared = state.metalayers.prepare(kind, edit).expect("has memory");
        state.metalayers.apply(kind, prepared);
    }

    /// The names in the order in which they are shown, and the addresses of their windows.
    fn shown(windows: &mut LayerWindows<String>, state: &State) -> Vec<(String, *const String)> {
        windows.prepare(&state.window_counts()).expect("has memory");
        let mut all = Vec::new();
        windows.update(state, |kind, at, layer| {
            assert_eq!((kind, at), (MetalayerKind::Fixed, all.len()));
            let (name, window) = match layer {
                Some((window, layer)) => {
                    *window = String::from_utf8_lossy(&layer.name).into_owned();
                    (window.clone(), std::ptr::from_ref(window))
                }
                None => ("-".to_owned(), std::ptr::null()),
            };
            all.push((name, window));
        });
        all
    }

    #[test]
    fn metalayers_stay_where_they_are_shown() {
        let parameters: Parameters = CParams::default().recorded();
        let mut state = State::new(ChunkStore::EMPTY, parameters);
        let mut windows = LayerWindows::default();
        for name in ["a", "b", "c"] {
            edit(&mut state, LayerEdit::Add(name.as_bytes(), &[]));
        }
        let before = shown(&mut windows, &state);
        assert_eq!(
            before.iter().map(|(name, _)| &**name).collect::<String>(),
            "abc"
        );
        edit(&mut state, LayerEdit::Delete(1));
        edit(&mut state, LayerEdit::Add(b"d", &[]));
        let after = shown(&mut windows, &state);
        assert_eq!(
            after.iter().map(|(name, _)| &**name).collect::<String>(),
            "acd"
        );
        assert_eq!(after[0].1, before[0].1);
        assert_eq!(after[1].1, before[2].1);
        edit(&mut state, LayerEdit::Delete(2));
        edit(&mut state, LayerEdit::Delete(0));
        let after = shown(&mut windows, &state);
        assert_eq!(
            after.iter().map(|(name, _)| &**name).collect::<String>(),
            "c--"
        );
        assert_eq!(after[0].1, before[2].1);
    }

    #[test]
    fn chunks_that_changed_are_shown_again() {
        let mut chunks = TryVec::new();
        for byte in 0..3 {
            let chunk = Buffer::copy_of(&[byte; 40]).expect("has memory");
            chunks.push(chunk).expect("has memory");
        }
        let parameters: Parameters = CParams::default().recorded();
        let mut state = State::new(ChunkStore::Separate(chunks.into()), parameters);
        let mut windows = ChunkWindows::default();
        let mut update = |state: &mut State, changed, sign| {
            windows.prepare(&state.window_counts()).expect("has memory");
            windows.update(state, &changed, |chunk| (chunk.map(|chunk| chunk[0]), sign));
            assert!(windows.capacity() >= state.nchunks());
            windows.windows().to_vec()
        };
        let all = [0, 1, 2].map(|byte| (Some(byte), 'a'));
        assert_eq!(update(&mut state, Changed::Everything, 'a'), all);
        if let ChunkStore::Separate(chunks) = &mut state.store {
            let delete = oxiblosc_frame::change::Change::Delete(1);
            chunks.commit(&delete, None).expect("has memory");
        }
        let left = [(Some(0), 'a'), (Some(2), 'b')];
        assert_eq!(update(&mut state, Changed::ChunksFrom(1), 'b'), left);
    }
}
