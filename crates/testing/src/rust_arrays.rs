//! Arrays of Rust programs, of items of four bytes.

use oxiblosc::{Array, CParams, Chunking, Error, Initial, Layout, Place, StorageParams, codec};

/// How arrays are cut.
pub const CUT: Chunking = Chunking {
    chunks: &[8, 6],
    blocks: &[3, 4],
};

/// LZ4, for items of four bytes.
pub fn cparams() -> CParams {
    CParams {
        codec: codec::LZ4,
        typesize: 4,
        ..CParams::default()
    }
}

pub fn storage(place: Place) -> StorageParams {
    StorageParams {
        place,
        cparams: cparams(),
        ..StorageParams::default()
    }
}

pub fn layout<'a>(shape: &'a [i64], cut: Chunking<'a>) -> Layout<'a> {
    Layout {
        shape,
        chunks: cut.chunks,
        blocks: cut.blocks,
        dtype: Some(b"<i4"),
        metalayers: &[],
    }
}

/// A new array of this shape, cut as [`CUT`] says.
pub fn make(place: Place, shape: &[i64], initial: Initial) -> Result<Array, Error> {
    Array::create(&layout(shape, CUT), initial, storage(place))
}
