//! The lists of metalayers, and edits of them.

use MetalayerKind::{Fixed, Variable};
use oxiblosc_base::memory::{Collect, ToTryVec, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_frame::meta::{self, Metalayer, MetalayerRef, NAME_MAXLEN};

/// The kind of a metalayer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetalayerKind {
    /// Fixed length.
    Fixed,
    /// Variable length.
    Variable,
}

/// A change of one metalayer.
#[derive(Clone, Copy)]
pub(crate) enum LayerEdit<'a> {
    /// Adds one with this name and content.
    Add(&'a [u8], &'a [u8]),
    /// Sets the content of the one with this index. If it is of fixed length, the content has the
    /// same length as before.
    Set(usize, &'a [u8]),
    /// Deletes the one with this index.
    Delete(usize),
}

/// An edit for which all memory was allocated.
pub(crate) enum PreparedEdit<'a> {
    Push(Metalayer),
    Replace(usize, TryVec<u8>),
    Overwrite(usize, &'a [u8]),
    Remove(usize),
}

/// The metalayers of a super-chunk.
#[derive(Default)]
pub(crate) struct Metalayers {
    /// Those of fixed length, and those of variable length.
    lists: [TryVec<Metalayer>; 2],
}

impl Metalayers {
    pub fn new(fixed: TryVec<Metalayer>, variable: TryVec<Metalayer>) -> Self {
        let lists = [fixed, variable];
        Self { lists }
    }

    /// Those of this kind.
    pub fn list(&self, kind: MetalayerKind) -> &[Metalayer] {
        &self.lists[kind as usize]
    }

    /// How many there are of each kind.
    pub fn counts(&self) -> [usize; 2] {
        self.lists.each_ref().map(|list| list.len())
    }

    /// The index of a metalayer.
    ///
    /// # Errors
    /// [`Error::NOT_FOUND`]; [`Error::INVALID_PARAM`] for a name that is too long.
    pub fn find(&self, kind: MetalayerKind, name: &[u8]) -> Result<usize> {
        if name.len() > NAME_MAXLEN {
            return Err(Error::INVALID_PARAM);
        }
        let mut list = self.list(kind).iter();
        list.position(|layer| *layer.name == *name)
            .ok_or(Error::NOT_FOUND)
    }

    /// Copies of all.
    pub fn copied(&self) -> Result<Self> {
        let copy = |layer: &Metalayer| named(&layer.name, &layer.content);
        let [fixed, variable] = (self.lists.each_ref())
            .map(|list| list.iter().map(copy).try_collect_vec::<Metalayer>());
        Ok(Self::new(fixed?, variable?))
    }

    /// The list of this kind as it is after an edit.
    pub fn after<'a>(
        &'a self,
        kind: MetalayerKind,
        edit: LayerEdit<'a>,
    ) -> Result<TryVec<MetalayerRef<'a>>> {
        let mut list = meta::borrow(self.list(kind))?;
        match edit {
            LayerEdit::Add(name, content) => list.push((name, content))?,
            LayerEdit::Set(at, content) => list[at].1 = content,
            LayerEdit::Delete(at) => drop(list.remove(at)),
        }
        Ok(list)
    }

    /// Does all of an edit that can fail.
    pub fn prepare<'a>(
        &mut self,
        kind: MetalayerKind,
        edit: LayerEdit<'a>,
    ) -> Result<PreparedEdit<'a>> {
        Ok(match (edit, kind) {
            (LayerEdit::Add(name, content), _) => {
                self.lists[kind as usize].reserve(1)?;
                PreparedEdit::Push(named(name, content)?)
            }
            (LayerEdit::Set(at, content), Fixed) => PreparedEdit::Overwrite(at, content),
            (LayerEdit::Set(at, new), Variable) => PreparedEdit::Replace(at, new.to_try_vec()?),
            (LayerEdit::Delete(at), _) => PreparedEdit::Remove(at),
        })
    }

    /// Makes a prepared edit. Gives the content that is gone, which a program may still see until
    /// its window is updated.
    pub fn apply(&mut self, kind: MetalayerKind, edit: PreparedEdit) -> TryVec<u8> {
        let list = &mut self.lists[kind as usize];
        match edit {
            PreparedEdit::Push(layer) => list.push_within_capacity(layer),
            PreparedEdit::Overwrite(at, content) => list[at].content.copy_from_slice(content),
            PreparedEdit::Replace(at, content) => {
                return std::mem::replace(&mut list[at].content, content);
            }
            PreparedEdit::Remove(at) => return list.remove(at).content,
        }
        TryVec::new()
    }
}

fn named(name: &[u8], content: &[u8]) -> Result<Metalayer> {
    Ok(Metalayer {
        name: name.to_try_vec()?,
        content: content.to_try_vec()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [MetalayerKind; 2] = [MetalayerKind::Fixed, MetalayerKind::Variable];

    /// What is written before an edit is made is what is there after it.
    #[test]
    fn an_edit_makes_what_was_written() {
        for kind in KINDS {
            let mut layers = Metalayers::default();
            for edit in [
                LayerEdit::Add(b"one", b"1234"),
                LayerEdit::Add(b"two", b"5"),
                LayerEdit::Set(0, b"abcd"),
                LayerEdit::Delete(0),
                LayerEdit::Add(b"one", b""),
            ] {
                let owned = |list: TryVec<MetalayerRef>| -> Vec<(Vec<u8>, Vec<u8>)> {
                    let owned =
                        |(name, content): &(&[u8], &[u8])| (name.to_vec(), content.to_vec());
                    list.iter().map(owned).collect()
                };
                let written = owned(layers.after(kind, edit).expect("memory"));
                let prepared = layers.prepare(kind, edit).expect("memory");
                layers.apply(kind, prepared);
                let now = meta::borrow(layers.list(kind)).expect("memory");
                assert_eq!(owned(now), written);
            }
            assert_eq!(layers.find(kind, b"one"), Ok(1));
            assert_eq!(layers.find(kind, b"three"), Err(Error::NOT_FOUND));
            let long = layers.find(kind, &[b'x'; NAME_MAXLEN + 1]);
            assert_eq!(long, Err(Error::INVALID_PARAM));
            let other = KINDS[usize::from(kind == MetalayerKind::Fixed)];
            assert!(layers.list(other).is_empty());
        }
    }

    /// A program keeps the address of the content of a metalayer of fixed length.
    #[test]
    fn content_of_fixed_length_stays_where_it_is() {
        let mut layers = Metalayers::default();
        let mut edit = |kind, edit| {
            let prepared = layers.prepare(kind, edit).expect("memory");
            let gone = layers.apply(kind, prepared);
            (gone, layers.list(kind)[0].content.as_ptr())
        };
        let (_, before) = edit(MetalayerKind::Fixed, LayerEdit::Add(b"n", b"old"));
        let (gone, after) = edit(MetalayerKind::Fixed, LayerEdit::Set(0, b"new"));
        assert_eq!((gone.len(), after), (0, before));
        edit(MetalayerKind::Variable, LayerEdit::Add(b"n", b"old"));
        let (gone, _) = edit(MetalayerKind::Variable, LayerEdit::Set(0, b"newer"));
        assert_eq!(*gone, *b"old");
    }
}
