//! Frames, and changes of them.

use crate::schunk::SuperChunk;
use crate::schunk::open::{Place, Protection};
use crate::{Array, CParams, Initial, Layout, Result, StorageParams};
use std::path::Path;

/// Bytes of the largest chunk.
pub(super) const NBYTES: usize = 8000;

/// Data that do not compress, so that chunks of as many bytes of data have as many bytes.
fn noise(nbytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2) + 1;
    let word = || {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(9);
        (state ^ (state >> 29)).to_le_bytes()[3..7].to_vec()
    };
    std::iter::repeat_with(word)
        .flatten()
        .take(nbytes)
        .collect()
}

/// A frame that is changed.
pub(super) enum SceneFrame {
    Plain(SuperChunk),
    Array(Array),
}

impl SceneFrame {
    pub(super) fn schunk(&self) -> &SuperChunk {
        match self {
            Self::Plain(schunk) => schunk,
            Self::Array(array) => array.schunk(),
        }
    }

    fn array(&self) -> &Array {
        match self {
            Self::Array(array) => array,
            Self::Plain(_) => panic!("a scene of arrays"),
        }
    }

    pub(super) fn open(path: &Path, is_array: bool, locking: bool) -> Result<Self> {
        let protection = protection(locking);
        Ok(match is_array {
            true => Self::Array(Array::open(path, 1, protection)?),
            false => Self::Plain(SuperChunk::open(path, 0, 1, protection)?),
        })
    }
}

fn protection(locking: bool) -> Protection {
    Protection {
        locking,
        ..Protection::default()
    }
}

pub(super) type SceneChange = fn(&SceneFrame) -> Result<()>;

/// What a frame is, and what happens to it. Most second changes undo the first, so that the header may be what it was.
pub(super) struct Scene {
    pub(super) name: &'static str,
    /// The chunks of a super-chunk by their bytes, or the items of an array.
    start: SceneStart,
    pub(super) changes: [SceneChange; 2],
}

enum SceneStart {
    Chunks(&'static [usize]),
    Many(usize),
    Items(i64),
}

pub(super) const SCENES: [Scene; 13] = [
    Scene {
        name: "one more and one less",
        start: SceneStart::Chunks(&[400, 400, 400]),
        changes: [
            |frame| append(frame, 400, 9),
            |frame| frame.schunk().delete_chunk(3).map(drop),
        ],
    },
    Scene {
        name: "one less and the same again",
        start: SceneStart::Chunks(&[400, 400, 400]),
        changes: [
            |frame| frame.schunk().delete_chunk(2).map(drop),
            |frame| append(frame, 400, 2),
        ],
    },
    Scene {
        name: "the first less, and another one more",
        start: SceneStart::Chunks(&[400, 400, 400]),
        changes: [
            |frame| frame.schunk().delete_chunk(0).map(drop),
            |frame| append(frame, 400, 9),
        ],
    },
    Scene {
        name: "sizes that differ and do not",
        start: SceneStart::Chunks(&[400, 400, 200]),
        changes: [
            |frame| frame.schunk().reorder(&[2, 0, 1]),
            |frame| frame.schunk().reorder(&[1, 2, 0]),
        ],
    },
    Scene {
        name: "a short one behind others, and gone",
        start: SceneStart::Chunks(&[400, 400]),
        changes: [
            |frame| append(frame, 200, 9),
            |frame| frame.schunk().delete_chunk(0).map(drop),
        ],
    },
    Scene {
        name: "the first one, and none",
        start: SceneStart::Chunks(&[]),
        changes: [
            |frame| append(frame, 400, 9),
            |frame| frame.schunk().delete_chunk(0).map(drop),
        ],
    },
    Scene {
        name: "a metalayer",
        start: SceneStart::Chunks(&[400]),
        changes: [
            |frame| frame.schunk().set_vlmetalayer(b"name", &[5; 60]),
            |frame| frame.schunk().delete_vlmetalayer(b"name").map(drop),
        ],
    },
    Scene {
        name: "an index that grows in its place",
        start: SceneStart::Many(150),
        changes: [
            |frame| append(frame, NBYTES, 9),
            |frame| frame.schunk().delete_chunk(0).map(drop),
        ],
    },
    Scene {
        name: "an array that grows and shrinks",
        start: SceneStart::Items(300),
        changes: [
            |frame| frame.array().append(&noise(400, 9), 0),
            |frame| frame.array().resize(&[300]),
        ],
    },
    Scene {
        name: "an array that shrinks and grows",
        start: SceneStart::Items(300),
        changes: [
            |frame| frame.array().resize(&[200]),
            |frame| frame.array().append(&noise(1200, 0)[800..], 0),
        ],
    },
    Scene {
        name: "an array that loses its first items, and grows",
        start: SceneStart::Items(300),
        changes: [
            |frame| frame.array().delete(0, 0, 100),
            |frame| frame.array().append(&noise(400, 9), 0),
        ],
    },
    Scene {
        name: "an array that gets items and loses them",
        start: SceneStart::Items(0),
        changes: [
            |frame| frame.array().append(&noise(400, 9), 0),
            |frame| frame.array().resize(&[0]),
        ],
    },
    Scene {
        name: "an array that is written",
        start: SceneStart::Items(250),
        changes: [
            |frame| frame.array().write(&[0], &[250], &[0; 1000]),
            |frame| frame.array().write(&[0], &[250], &noise(1000, 0)),
        ],
    },
];

fn append(frame: &SceneFrame, nbytes: usize, seed: u64) -> Result<()> {
    frame.schunk().append_data(&noise(nbytes, seed)).map(drop)
}

impl Scene {
    pub(super) fn is_array(&self) -> bool {
        matches!(self.start, SceneStart::Items(_))
    }

    pub(super) fn make(&self, place: Place) -> Result<()> {
        let storage = StorageParams {
            place,
            cparams: CParams {
                typesize: 4,
                ..CParams::default()
            },
            protection: protection(false),
            ..StorageParams::default()
        };
        let chunks = match self.start {
            SceneStart::Chunks(chunks) => chunks.to_vec(),
            SceneStart::Many(count) => vec![NBYTES; count],
            SceneStart::Items(items) => {
                let layout = Layout {
                    shape: &[items],
                    chunks: &[100],
                    blocks: &[50],
                    dtype: None,
                    metalayers: &[],
                };
                let data = noise(4 * items as usize, 0);
                return Array::create(&layout, Initial::Items(&data), storage).map(drop);
            }
        };
        let schunk = SuperChunk::create(storage)?;
        for (seed, nbytes) in chunks.into_iter().enumerate() {
            schunk.append_data(&noise(nbytes, seed as u64))?;
        }
        Ok(())
    }
}
