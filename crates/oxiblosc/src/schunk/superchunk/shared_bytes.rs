//! Frames whose index gives several chunks the same bytes, or bytes that overlap. No writer makes
//! them, but they can be read. A change of one chunk must not change another.

use super::SuperChunk;
use crate::schunk::chunks::Position;
use crate::{Array, CParams, Initial, Layout, Place, Protection, Result, StorageParams};
use oxiblosc_base::memory::{Buffer, TryVec};
use oxiblosc_frame::header::{Extent, set_extent};
use oxiblosc_frame::offsets::{Offsets, special_offset};
use oxiblosc_frame::trailer;
use std::path::PathBuf;

/// Chunks of 128 items of 8 bytes, in blocks of 32.
const NCHUNKS: usize = 5;
const ITEMS: usize = 128;
const NBYTES: usize = 8 * ITEMS;

type Content = Vec<Vec<u8>>;

fn data(seed: usize) -> Vec<u8> {
    let item = |i: usize| (seed * 1000 + i / 16) as u64;
    (0..ITEMS).flat_map(|i| item(i).to_le_bytes()).collect()
}

fn array(level: u8) -> Array {
    let layout = Layout {
        shape: &[(NCHUNKS * ITEMS) as i64],
        chunks: &[ITEMS as i32],
        blocks: &[32],
        dtype: None,
        metalayers: &[],
    };
    let storage = StorageParams {
        place: Place::Frame,
        cparams: CParams {
            level,
            ..CParams::default()
        },
        ..StorageParams::default()
    };
    Array::create(&layout, Initial::Zeros, storage).expect("an array")
}

/// A chunk with this data.
fn chunk(level: u8, data: &[u8]) -> Buffer {
    let array = array(level);
    array
        .write(&[0], &[ITEMS as i64], data)
        .expect("it is written");
    array.schunk().chunk(0).expect("a chunk")
}

/// A frame with these bytes of chunks, and these offsets.
fn frame(data: &[u8], offsets: Offsets) -> Vec<u8> {
    let example = array(5).schunk().to_frame().expect("a frame");
    let extent = Extent::parse(&example).expect("its sizes");
    let mut frame = example[..extent.header_len as usize].to_vec();
    frame.extend(data);
    frame.extend(&*offsets.encode().expect("an index"));
    frame.extend(&*trailer::encode(&[]).expect("a trailer"));
    let len = frame.len() as u64;
    set_extent(&mut frame, len, data.len() as u64);
    frame
}

/// Frames: their names, whether chunks overlap that are not at the same place, and their bytes.
fn frames() -> Vec<(&'static str, bool, Vec<u8>)> {
    let zeros = special_offset(oxiblosc_chunk::header::Special::Zero);
    let list = |offsets: [i64; NCHUNKS]| Offsets::List(TryVec::of(offsets).expect("a list"));
    let (first, second) = (chunk(5, &data(1)), chunk(5, &data(2)));
    let lens = (first.len(), second.len());
    assert!(lens.0 < 400 && lens.1 < 400, "{lens:?}");
    let both = [&first[..], &second].concat();
    let behind = first.len() as i64;
    let repeated = Offsets::Repeated {
        offset: 0,
        count: NCHUNKS,
    };
    // A stored chunk whose data contains two other chunks.
    let mut outside = data(3);
    outside[100..][..first.len()].copy_from_slice(&first);
    outside[600..][..second.len()].copy_from_slice(&second);
    let outer = chunk(0, &outside);
    let inside = |chunk: &[u8]| {
        let at = outer.windows(chunk.len()).position(|part| part == chunk);
        at.expect("the chunk is stored") as i64
    };
    let (inner, other) = (inside(&first), inside(&second));
    let nested = [&outer[..], &second].concat();
    let end = outer.len() as i64;
    // The end of a stored chunk is the front of another.
    let (cut, mut partly) = (500, chunk(0, &data(4)).to_vec());
    partly.truncate(cut);
    partly.extend(&*chunk(0, &data(5)));
    let cut = cut as i64;
    vec![
        ("same", false, frame(&both, list([0, 0, behind, 0, behind]))),
        ("all", false, frame(&both, repeated)),
        (
            "special",
            false,
            frame(&both, list([0, zeros, 0, zeros, behind])),
        ),
        (
            "inside",
            true,
            frame(&nested, list([0, inner, other, end, zeros])),
        ),
        (
            "inside, in another order",
            true,
            frame(&nested, list([end, other, 0, inner, inner])),
        ),
        (
            "partly",
            true,
            frame(&partly, list([0, cut, zeros, zeros, zeros])),
        ),
    ]
}

/// What a change does to the frame, and to its content.
type Action = (&'static str, fn(&Array) -> Result<()>, fn(&mut Content));

fn items(from: usize, to: usize) -> Vec<u8> {
    (from..to)
        .flat_map(|i| (i as u64 ^ 0x55).to_le_bytes())
        .collect()
}

fn write(array: &Array, from: usize, to: usize) -> Result<()> {
    let (schunk, items) = (array.schunk(), items(from, to));
    // An array is not written if it has more or fewer chunks than its shape says.
    match schunk.nchunks()? {
        NCHUNKS => array.write(&[from as i64], &[to as i64], &items),
        _ => schunk.write_bytes(8 * from as u64, &items),
    }
}

fn written(content: &mut Content, from: usize, to: usize) {
    for (i, item) in (from..to).zip(items(from, to).chunks(8)) {
        if let Some(chunk) = content.get_mut(i / ITEMS) {
            chunk[i % ITEMS * 8..][..8].copy_from_slice(item);
        }
    }
}

const ACTIONS: [Action; 11] = [
    (
        "an item of the first chunk",
        |a| write(a, 40, 41),
        |c| written(c, 40, 41),
    ),
    (
        "items of the second chunk",
        |a| write(a, 130, 140),
        |c| written(c, 130, 140),
    ),
    (
        "a block of the third chunk",
        |a| write(a, 288, 320),
        |c| written(c, 288, 320),
    ),
    (
        "items of several chunks",
        |a| write(a, 100, 400),
        |c| written(c, 100, 400),
    ),
    (
        "a range of bytes",
        |a| a.schunk().write_bytes(8 * 400, &items(400, 420)),
        |c| written(c, 400, 420),
    ),
    (
        "a chunk replaced",
        |a| {
            let put = a.schunk().put_chunk(Position::Over(2), &chunk(0, &data(7)));
            put.map(drop)
        },
        |c| c[2] = data(7),
    ),
    (
        "a chunk of zeros",
        |a| {
            let zeros = chunk(5, &[0; NBYTES]);
            a.schunk().put_chunk(Position::Over(1), &zeros).map(drop)
        },
        |c| c[1] = vec![0; NBYTES],
    ),
    (
        "a chunk inserted",
        |a| {
            let put = a
                .schunk()
                .put_chunk(Position::Before(1), &chunk(5, &data(8)));
            put.map(drop)
        },
        |c| c.insert(1, data(8)),
    ),
    (
        "a chunk deleted",
        |a| a.schunk().delete_chunk(0).map(drop),
        |c| drop(c.remove(0)),
    ),
    (
        "another order",
        |a| {
            let count = a.schunk().nchunks()?;
            let order: Vec<usize> = (0..count).rev().collect();
            a.schunk().reorder(&order)
        },
        |c| c.reverse(),
    ),
    (
        "a transaction",
        |a| {
            let transaction = a.schunk().transaction()?;
            write(a, 30, 50)?;
            write(a, 140, 300)?;
            a.schunk().append_data(&data(9))?;
            transaction.commit()
        },
        |c| {
            written(c, 30, 50);
            written(c, 140, 300);
            c.push(data(9));
        },
    ),
];

fn content(schunk: &SuperChunk) -> Content {
    let chunk = |nchunk| {
        let mut data = vec![0; NBYTES];
        let len = schunk.decompress_chunk(nchunk, &mut data);
        assert_eq!(len, Ok(NBYTES), "chunk {nchunk}");
        data
    };
    (0..schunk.nchunks().expect("chunks")).map(chunk).collect()
}

/// What is opened, and what is there after it was closed.
struct Opened {
    array: Array,
    path: Option<PathBuf>,
}

impl Opened {
    fn new(frame: &[u8], path: Option<PathBuf>) -> Self {
        let schunk = match &path {
            Some(path) => {
                std::fs::write(path, frame).expect("a file");
                SuperChunk::open(path, 0, 1, Protection::default())
            }
            None => SuperChunk::from_frame(Buffer::copy_of(frame).expect("memory"), 1),
        };
        let array = Array::of(schunk.expect("a frame")).expect("an array");
        Self { array, path }
    }

    fn close(self) -> Content {
        let again = match self.path {
            Some(path) => {
                drop(self.array);
                SuperChunk::open(&path, 0, 1, Protection::default())
            }
            None => {
                let frame = self.array.schunk().to_frame().expect("a frame");
                SuperChunk::from_frame(frame, 1)
            }
        };
        content(&again.expect("a frame"))
    }
}

#[test]
fn a_change_of_a_chunk_changes_no_other() {
    let path = super::tests::temporary("shared-bytes");
    for (name, overlaps, frame) in frames() {
        // To know which chunks of a file overlap, all their headers would have to be read.
        let in_file = (!overlaps).then(|| Some(path.clone()));
        for place in [None].into_iter().chain(in_file) {
            for first in ACTIONS {
                for second in ACTIONS {
                    let opened = Opened::new(&frame, place.clone());
                    let mut expected = content(opened.array.schunk());
                    for (what, change, model) in [first, second] {
                        let case = format!("{name}, {}, then {}: {what}", first.0, second.0);
                        assert_eq!(change(&opened.array), Ok(()), "{case}");
                        model(&mut expected);
                        assert!(content(opened.array.schunk()) == expected, "{case}");
                    }
                    let case = format!("{name}, {}, then {}", first.0, second.0);
                    assert!(opened.close() == expected, "{case}, closed");
                }
            }
        }
    }
    super::tests::remove(&path);
}

/// The record of such a change could not be used to roll it back.
#[test]
fn bytes_in_a_file_are_not_overwritten_twice_by_one_change() {
    let path = super::tests::temporary("overlapping-bytes");
    let mut refused = 0;
    for (name, overlaps, frame) in frames() {
        for from in (0..ITEMS).step_by(32).filter(|_| overlaps) {
            let opened = Opened::new(&frame, Some(path.clone()));
            let before = content(opened.array.schunk());
            if write(&opened.array, from, ITEMS + 20).is_err() {
                assert!(content(opened.array.schunk()) == before, "{name}, {from}");
                assert!(opened.close() == before, "{name}, {from}, closed");
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
    super::tests::remove(&path);
}
