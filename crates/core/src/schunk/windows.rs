//! The buffers in which C programs see the metalayers of a super-chunk: each metalayer has a window, whose address does not change until the
//! metalayer is removed.

use super::state::State;
use crate::coder::WindowCounts;
use oxiblosc_error::Result;
use oxiblosc_frame::meta::Metalayer;
use oxiblosc_memory::{List, boxed};

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
struct Windows<W>(List<Box<LayerWindow<W>>>);

/// The windows of a super-chunk.
pub struct LayerWindows<W> {
    fixed: Windows<W>,
    variable: Windows<W>,
    /// Unused windows, for new metalayers.
    spare: List<Box<LayerWindow<W>>>,
}

impl<W> Default for LayerWindows<W> {
    fn default() -> Self {
        Self {
            fixed: Windows(List::new()),
            variable: Windows(List::new()),
            spare: List::new(),
        }
    }
}

impl<W: Default> LayerWindows<W> {
    /// Allocates windows for so many metalayers, so that [`Self::update`] cannot fail.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`](oxiblosc_error::Error::MemoryAlloc).
    pub fn prepare(&mut self, count: &WindowCounts) -> Result<()> {
        let (fixed, variable, spare) = (&mut self.fixed.0, &mut self.variable.0, &mut self.spare);
        let all = count.metalayers + count.vlmetalayers;
        fixed.reserve((count.metalayers + 1).saturating_sub(fixed.len()))?;
        variable.reserve((count.vlmetalayers + 1).saturating_sub(variable.len()))?;
        let there = fixed.len() + variable.len();
        spare.reserve((all + there).saturating_sub(spare.len()))?;
        while spare.len() + there < all {
            spare.push(boxed(LayerWindow {
                key: 0,
                window: W::default(),
            })?)?;
        }
        Ok(())
    }

    /// Assigns a window to each metalayer, and calls `show` for it: first for all of fixed length, then for those of variable length. `show`
    /// gets the kind, the index, the window, and the metalayer.
    pub fn update(
        &mut self,
        state: &State,
        mut show: impl FnMut(MetalayerKind, usize, &mut W, &Metalayer),
    ) {
        let kinds = [
            (MetalayerKind::Fixed, &mut self.fixed, state.metalayers()),
            (
                MetalayerKind::Variable,
                &mut self.variable,
                state.vlmetalayers(),
            ),
        ];
        for (kind, windows, layers) in kinds {
            windows.update(&mut self.spare, layers);
            for (at, (window, layer)) in windows.0.iter_mut().zip(layers).enumerate() {
                window.key = key(layer);
                show(kind, at, &mut window.window, layer);
            }
        }
    }
}

/// The kind of a metalayer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetalayerKind {
    /// Fixed length.
    Fixed,
    /// Variable length.
    Variable,
}

impl<W> Windows<W> {
    /// Makes this list one window for each of `layers`. Metalayers that had a window keep it.
    fn update(&mut self, spare: &mut List<Box<LayerWindow<W>>>, layers: &[Metalayer]) {
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
                // If there is no spare window, the last one belongs to a removed metalayer, and is used again. `prepare` has reserved the
                // capacity for this.
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
    use crate::schunk::{ChunkStore, Parameters};
    use oxiblosc_memory::ToList;

    fn layer(name: &str) -> Metalayer {
        Metalayer {
            name: name.as_bytes().to_list().expect("has memory"),
            content: List::new(),
        }
    }

    /// The names in the order in which they are shown, and the addresses of their windows.
    fn shown(windows: &mut LayerWindows<String>, state: &State) -> Vec<(String, *const String)> {
        windows.prepare(&state.window_counts()).expect("has memory");
        let mut all = Vec::new();
        windows.update(state, |kind, at, window, layer| {
            assert_eq!((kind, at), (MetalayerKind::Fixed, all.len()));
            *window = String::from_utf8_lossy(&layer.name).into_owned();
            all.push((window.clone(), std::ptr::from_ref(window)));
        });
        all
    }

    #[test]
    fn metalayers_stay_where_they_are_shown() {
        let parameters: Parameters = CParams::default().recorded();
        let mut state = State::new(ChunkStore::Separate(List::new()), parameters);
        let mut windows = LayerWindows::default();
        for name in ["a", "b", "c"] {
            state.metalayers.push(layer(name)).expect("has memory");
        }
        let before = shown(&mut windows, &state);
        assert_eq!(
            before.iter().map(|(name, _)| &**name).collect::<String>(),
            "abc"
        );
        state.metalayers.remove(1);
        state.metalayers.push(layer("d")).expect("has memory");
        let after = shown(&mut windows, &state);
        assert_eq!(
            after.iter().map(|(name, _)| &**name).collect::<String>(),
            "acd"
        );
        assert_eq!(after[0].1, before[0].1);
        assert_eq!(after[1].1, before[2].1);
    }
}
