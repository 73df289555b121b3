//! What a frame is for python-blosc2, by its metalayers.

use crate::json::Json;
use crate::msgpack;
use crate::source::{Frame, vlmeta_content};

/// The most bytes of a metalayer that says what a frame is.
const MAX_LAYER_LEN: usize = 1 << 10;

/// What a frame is for python-blosc2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An n-dimensional array.
    Array,
    /// Bytes in chunks.
    SuperChunk,
    /// Python objects, one by one.
    ObjectArray,
    /// Python objects in batches.
    BatchArray,
    /// Lists of items.
    ListArray,
    /// Data that are computed or stored elsewhere: see [`Frame::stands_for`].
    Recipe,
    /// A store whose frames are in the data of a frame.
    EmbedStore,
    /// A store with keys.
    DictStore,
    /// A store with a tree of keys.
    TreeStore,
    /// The frame that marks its parent in the tree as a table.
    TableManifest,
}

impl Kind {
    /// Whether it is a store, which contains other frames.
    pub fn is_store(self) -> bool {
        matches!(self, Self::EmbedStore | Self::DictStore | Self::TreeStore)
    }

    /// Its name in listings.
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

/// What a frame is for python-blosc2 4.14.
pub fn kind_of(frame: &Frame) -> Kind {
    // If a frame has several of them the first one counts.
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
    let content = contexts.and_then(|contexts| vlmeta_content(&contexts, layer, MAX_LAYER_LEN));
    let content = frame.faults.readable(content);
    content.is_some_and(|content| msgpack::show(&content) == Json::from("ctable"))
}
