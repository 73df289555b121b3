//! Frames, and pairs of changes that are made to them.

use crate::schunk::SuperChunk;
use crate::schunk::open::{Place, Protection};
use crate::{Array, CParams, Initial, Layout, Result, StorageParams};
use std::path::Path;

/// Bytes of the largest chunk.
pub(super) const NBYTES: usize = 8000;

/// Data that do not compress, so that chunks with the same size of data have the same size.
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
pub(super) enum ScenarioFrame {
    Plain(SuperChunk),
    Array(Array),
}

impl ScenarioFrame {
    pub(super) fn schunk(&self) -> &SuperChunk {
        match self {
            Self::Plain(schunk) => schunk,
            Self::Array(array) => array.schunk(),
        }
    }

    fn array(&self) -> &Array {
        match self {
            Self::Array(array) => array,
            Self::Plain(_) => panic!("a scenario of arrays"),
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

pub(super) type FrameChange = fn(&ScenarioFrame) -> Result<()>;

/// A frame, and two changes of it. Most second changes undo the first, so that the header may be
/// the same as before both.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    /// The chunks of a super-chunk by their bytes, or the items of an array.
    start: ScenarioStart,
    pub(super) changes: [FrameChange; 2],
}

enum ScenarioStart {
    Chunks(&'static [usize]),
    Many(usize),
    Items(i64),
}

pub(super) const SCENARIOS: [Scenario; 13] = [
    Scenario {
        name: "one more and one less",
        start: ScenarioStart::Chunks(&[400, 400, 400]),
        changes: [
            |frame| append(frame, 400, 9),
            |frame| frame.schunk().delete_chunk(3).map(drop),
        ],
    },
    Scenario {
        name: "one less and the same again",
        start: ScenarioStart::Chunks(&[400, 400, 400]),
        changes: [
            |frame| frame.schunk().delete_chunk(2).map(drop),
            |frame| append(frame, 400, 2),
        ],
    },
    Scenario {
        name: "the first less, and another one more",
        start: ScenarioStart::Chunks(&[400, 400, 400]),
        changes: [
            |frame| frame.schunk().delete_chunk(0).map(drop),
            |frame| append(frame, 400, 9),
        ],
    },
    Scenario {
        name: "sizes that differ and do not",
        start: ScenarioStart::Chunks(&[400, 400, 200]),
        changes: [
            |frame| frame.schunk().reorder(&[2, 0, 1]),
            |frame| frame.schunk().reorder(&[1, 2, 0]),
        ],
    },
    Scenario {
        name: "a short one behind others, and gone",
        start: ScenarioStart::Chunks(&[400, 400]),
        changes: [
            |frame| append(frame, 200, 9),
            |frame| frame.schunk().delete_chunk(0).map(drop),
        ],
    },
    Scenario {
        name: "the first one, and none",
        start: ScenarioStart::Chunks(&[]),
        changes: [
            |frame| append(frame, 400, 9),
            |frame| frame.schunk().delete_chunk(0).map(drop),
        ],
    },
    Scenario {
        name: "a metalayer",
        start: ScenarioStart::Chunks(&[400]),
        changes: [
            |frame| frame.schunk().set_vlmetalayer(b"name", &[5; 60]),
            |frame| frame.schunk().delete_vlmetalayer(b"name").map(drop),
        ],
    },
    Scenario {
        name: "an index that grows in its place",
        start: ScenarioStart::Many(150),
        changes: [
            |frame| append(frame, NBYTES, 9),
            |frame| frame.schunk().delete_chunk(0).map(drop),
        ],
    },
    Scenario {
        name: "an array that grows and shrinks",
        start: ScenarioStart::Items(300),
        changes: [
            |frame| frame.array().append(&noise(400, 9), 0),
            |frame| frame.array().resize(&[300]),
        ],
    },
    Scenario {
        name: "an array that shrinks and grows",
        start: ScenarioStart::Items(300),
        changes: [
            |frame| frame.array().resize(&[200]),
            |frame| frame.array().append(&noise(1200, 0)[800..], 0),
        ],
    },
    Scenario {
        name: "an array that loses its first items, and grows",
        start: ScenarioStart::Items(300),
        changes: [
            |frame| frame.array().delete(0, 0, 100),
            |frame| frame.array().append(&noise(400, 9), 0),
        ],
    },
    Scenario {
        name: "an array that gets items and loses them",
        start: ScenarioStart::Items(0),
        changes: [
            |frame| frame.array().append(&noise(400, 9), 0),
            |frame| frame.array().resize(&[0]),
        ],
    },
    Scenario {
        name: "an array that is written",
        start: ScenarioStart::Items(250),
        changes: [
            |frame| frame.array().write(&[0], &[250], &[0; 1000]),
            |frame| frame.array().write(&[0], &[250], &noise(1000, 0)),
        ],
    },
];

fn append(frame: &ScenarioFrame, nbytes: usize, seed: u64) -> Result<()> {
    frame.schunk().append_data(&noise(nbytes, seed)).map(drop)
}

impl Scenario {
    pub(super) fn is_array(&self) -> bool {
        matches!(self.start, ScenarioStart::Items(_))
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
            ScenarioStart::Chunks(chunks) => chunks.to_vec(),
            ScenarioStart::Many(count) => vec![NBYTES; count],
            ScenarioStart::Items(items) => {
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
