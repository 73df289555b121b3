//! What a frame of python-blosc2 is, by its metalayers.

use crate::json::Json;
use crate::msgpack;
use crate::source::{Frame, vlmeta_content};

/// Bytes of a metalayer that says what a frame is, at most.
const MOST: usize = 1 << 10;

/// What python-blosc2 takes a frame for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Items of n dimensions.
    Array,
    /// Bytes in chunks.
    SuperChunk,
    /// Python's objects, one by one.
    ObjectArray,
    /// Python's objects in batches.
    BatchArray,
    /// Lists of items.
    ListArray,
    /// Data that are computed, or are elsewhere: see [`Frame::stands_for`].
    Recipe,
    /// Frames in a frame.
    EmbedStore,
    /// Frames by key.
    DictStore,
    /// Frames by path.
    TreeStore,
    /// What says that a table is here.
    TableManifest,
}

impl Kind {
    /// Whether other frames are in it.
    pub fn is_store(self) -> bool {
        matches!(self, Self::EmbedStore | Self::DictStore | Self::TreeStore)
    }

    /// What to call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::SuperChunk => "super-chunk",
            Self::ObjectArray => "object array",
            Self::BatchArray => "batch array",
            Self::ListArray => "list array",
            Self::Recipe => "recipe",
            Self::EmbedStore => "EmbedStore",
            Self::DictStore => "DictStore",
            Self::TreeStore => "TreeStore",
            Self::TableManifest => "table manifest",
        }
    }
}

/// What python-blosc2 4.14 takes a frame for.
pub fn kind_of(frame: &Frame) -> Kind {
    // Of several the first counts.
    let known: [(&[u8], Kind); 6] = [
        (b"b2tree", Kind::TreeStore),
        (b"b2dict", Kind::DictStore),
        (b"b2embed", Kind::EmbedStore),
        (b"listarray", Kind::ListArray),
        (b"vlarray", Kind::ObjectArray),
        (b"batcharray", Kind::BatchArray),
    ];
    let has = |name: &[u8]| {
        let mut layers = frame.header.metalayers.iter();
        layers.any(|layer| layer.name == name)
    };
    if frame.stands_for().is_some() {
        return Kind::Recipe;
    }
    match known.iter().find(|(name, _)| has(name)) {
        Some((_, kind)) => *kind,
        None if frame.array().is_some() => Kind::Array,
        None if is_manifest(frame) => Kind::TableManifest,
        None => Kind::SuperChunk,
    }
}

fn is_manifest(frame: &Frame) -> bool {
    let mut layers = frame.vlmetalayers.iter();
    let Some(layer) = layers.find(|layer| layer.name == b"kind"[..]) else {
        return false;
    };
    let contexts = frame.contexts(1);
    let content = contexts.and_then(|contexts| vlmeta_content(&contexts, layer, MOST));
    content.is_ok_and(|content| msgpack::show(&content) == Json::from("ctable"))
}
