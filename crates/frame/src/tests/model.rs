//! The expected content of a frame, as a list of chunks, and random changes of it.

use super::*;
use oxiblosc_chunk::encoded::EncodedChunk;

/// A chunk that stores `len` bytes. Its header claims `CHUNKSIZE` bytes of data, since frames use
/// only its sizes.
pub fn chunk(len: usize, fill: u8) -> Vec<u8> {
    let mut chunk = vec![fill; len + 32];
    chunk[..4].copy_from_slice(&[5, 1, 5, 1]);
    chunk[4..8].copy_from_slice(&CHUNKSIZE.to_le_bytes());
    chunk[8..12].copy_from_slice(&CHUNKSIZE.to_le_bytes());
    let cbytes = chunk.len() as i32;
    chunk[12..16].copy_from_slice(&cbytes.to_le_bytes());
    chunk[16..32].fill(0);
    chunk
}

/// The bytes of a chunk, or the kind of a special one without bytes.
pub type ModelChunk = std::result::Result<Vec<u8>, Special>;

/// The expected content of a frame.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Model {
    pub chunks: Vec<ModelChunk>,
    pub metalayers: Vec<Metalayer>,
    pub vlmetalayers: Vec<Metalayer>,
}

pub fn header(model: &Model, kind: FrameKind) -> Header {
    Header {
        kind,
        nbytes: model.chunks.len() as i64 * i64::from(CHUNKSIZE),
        chunksize: CHUNKSIZE,
        parameters: Parameters {
            typesize: 1,
            blocksize: 0,
            compcode: 0,
            compcode_meta: 0,
            clevel: 5,
            splitmode: 1,
            use_dict: false,
            filters: [0; 6],
            filters_meta: [0; 6],
        },
        nthreads_c: 1,
        nthreads_d: 1,
        has_vlmetalayers: !model.vlmetalayers.is_empty(),
        vlblocks: false,
        metalayers: TryVec::new(),
    }
}

pub fn cbytes(model: &Model) -> u64 {
    let sizes = model
        .chunks
        .iter()
        .flatten()
        .map(|chunk| chunk.len() as u64);
    sizes.sum()
}

/// Compares chunks, first by size and last byte: the message of a failure with all bytes would be
/// unreadable.
pub fn assert_same(found: &[ModelChunk], expected: &[ModelChunk], context: &str) {
    let short = |chunks: &[ModelChunk]| {
        let short = chunks.iter().map(|chunk| match chunk {
            Ok(bytes) => (bytes.len(), bytes.last().copied()),
            Err(_) => (0, None),
        });
        short.collect::<Vec<_>>()
    };
    assert_eq!(short(found), short(expected), "{context}");
    assert!(found == expected, "{context}");
}

/// A change that owns its chunks and metalayers.
#[derive(Clone)]
pub enum Step {
    Append(ModelChunk),
    Insert(usize, ModelChunk),
    Update(Vec<(usize, ModelChunk)>),
    Delete(usize),
    Reorder(Vec<usize>),
    /// The chunks afterwards, the positions of those that are removed, and the new value of all
    /// bytes of the first metalayer.
    Arrange(Vec<Arranged>, Vec<usize>, u8),
    Meta(Metalayer),
    VlMeta(Metalayer),
}

/// A chunk of an arrangement.
#[derive(Clone)]
pub enum Arranged {
    Old(usize),
    New(ModelChunk),
}

/// The parts of a step that a [`Change`] borrows.
#[derive(Default)]
pub struct Parts<'a> {
    pub items: Vec<(usize, ChangedChunk<'a>)>,
    pub slots: Vec<ArrangedChunk<'a>>,
}

pub fn random_arrangement(random: &mut Random, count: usize, fill: u8) -> Step {
    let (mut slots, mut left) = (Vec::new(), Vec::new());
    for old in 0..count {
        match random.next(6) {
            0 => left.push(old),
            1 => {
                slots.push(Arranged::New(Ok(chunk(random.next(3000), fill))));
                slots.push(Arranged::Old(old));
            }
            2 => {
                left.push(old);
                slots.push(Arranged::New(Ok(chunk(random.next(3000), fill))));
            }
            _ => slots.push(Arranged::Old(old)),
        }
    }
    if random.next(2) == 0 {
        slots.push(Arranged::New(Err(Special::Zero)));
    }
    Step::Arrange(slots, left, fill)
}

pub fn random_step(random: &mut Random, model: &Model) -> Step {
    let count = model.chunks.len();
    let fill = random.next(256) as u8;
    let size = [5, 40, 500, 30_000, 200_000][random.next(5).min(random.next(6))];
    let item = match random.next(6) {
        0 => Err(Special::Zero),
        _ => Ok(chunk(random.next(size), fill)),
    };
    match random.next(14) {
        12 | 13 => random_arrangement(random, count, fill),
        0..4 => Step::Append(item),
        4 | 5 => Step::Insert(random.next(count + 1), item),
        6 if count > 0 => Step::Update(vec![(random.next(count), item)]),
        7 if count > 3 => {
            let (a, b) = (random.next(count / 2), count / 2 + random.next(count / 2));
            let other = Ok(chunk(random.next(size), fill ^ 1));
            Step::Update(vec![(b, item), (a, other)])
        }
        8 if count > 0 => Step::Delete(random.next(count)),
        9 if count > 0 => {
            let by = random.next(count);
            Step::Reorder((0..count).map(|i| (i + by) % count).collect())
        }
        10 if cbytes(model) == 0 && model.metalayers.len() < 16 => Step::Meta(Metalayer {
            name: format!("meta{}", model.metalayers.len())
                .into_bytes()
                .into(),
            content: vec![fill; random.next(300)].into(),
        }),
        _ => Step::VlMeta(Metalayer {
            name: format!("vlmeta{}", model.vlmetalayers.len())
                .into_bytes()
                .into(),
            content: vec![fill; random.next(700)].into(),
        }),
    }
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let size = |item: &ModelChunk| item.as_ref().map_or(0, Vec::len);
        match self {
            Self::Append(item) => write!(f, "append {}", size(item)),
            Self::Insert(at, item) => write!(f, "insert {at} {}", size(item)),
            Self::Update(items) => items
                .iter()
                .try_for_each(|(at, item)| write!(f, "update {at} {} ", size(item))),
            Self::Delete(at) => write!(f, "delete {at}"),
            Self::Reorder(order) => write!(f, "reorder {order:?}"),
            Self::Arrange(slots, left, _) => {
                write!(f, "arrange {} less {left:?}", slots.len())
            }
            Self::Meta(layer) => write!(f, "meta {}", layer.content.len()),
            Self::VlMeta(layer) => write!(f, "vlmeta {}", layer.content.len()),
        }
    }
}

pub fn stored(chunk: &[u8]) -> ChangedChunk<'_> {
    ChangedChunk::Stored(EncodedChunk::parse(chunk).unwrap())
}

pub fn item(item: &ModelChunk) -> ChangedChunk<'_> {
    match item {
        Ok(chunk) => stored(chunk),
        Err(kind) => ChangedChunk::Special(*kind),
    }
}

impl Step {
    pub fn apply(&self, model: &mut Model) {
        match self.clone() {
            Self::Append(chunk) => model.chunks.push(chunk),
            Self::Insert(at, chunk) => model.chunks.insert(at, chunk),
            Self::Update(items) => {
                for (at, chunk) in items {
                    model.chunks[at] = chunk;
                }
            }
            Self::Delete(at) => drop(model.chunks.remove(at)),
            Self::Reorder(order) => {
                model.chunks = order.iter().map(|i| model.chunks[*i].clone()).collect();
            }
            Self::Arrange(slots, _, fill) => {
                let old = std::mem::take(&mut model.chunks);
                let slots = slots.into_iter();
                let chunks = slots.map(|slot| match slot {
                    Arranged::Old(from) => old[from].clone(),
                    Arranged::New(chunk) => chunk,
                });
                model.chunks = chunks.collect();
                if let Some(layer) = model.metalayers.first_mut() {
                    layer.content.fill(fill);
                }
            }
            Self::Meta(layer) => model.metalayers.push(layer),
            Self::VlMeta(layer) => model.vlmetalayers.push(layer),
        }
    }

    pub fn items(&self) -> Parts<'_> {
        let mut parts = Parts::default();
        match self {
            Self::Update(items) => {
                parts.items = items.iter().map(|(at, it)| (*at, item(it))).collect();
            }
            Self::Arrange(slots, ..) => {
                let slots = slots.iter().map(|slot| match slot {
                    Arranged::Old(from) => ArrangedChunk::Old(*from),
                    Arranged::New(chunk) => ArrangedChunk::New(item(chunk)),
                });
                parts.slots = slots.collect();
            }
            _ => {}
        }
        parts
    }

    pub fn change<'a>(&'a self, parts: &'a Parts<'a>) -> Change<'a> {
        match self {
            Self::Append(chunk) => Change::Append(item(chunk)),
            Self::Insert(at, chunk) => Change::Insert(*at, item(chunk)),
            Self::Update(_) => Change::Update(&parts.items),
            // What stays in its place at the front is told in one of the two ways.
            Self::Arrange(_, left, fill) => {
                let same = |(i, slot): &(usize, &ArrangedChunk)| matches!(slot, ArrangedChunk::Old(from) if from == i);
                let kept = match fill % 2 {
                    0 => parts.slots.iter().enumerate().take_while(same).count(),
                    _ => 0,
                };
                Change::Arrange {
                    kept,
                    slots: &parts.slots[kept..],
                    left,
                }
            }
            Self::Delete(at) => Change::Delete(*at),
            Self::Reorder(order) => Change::Reorder(order),
            Self::Meta(_) | Self::VlMeta(_) => Change::Nothing,
        }
    }

    pub fn next(&self, after: &Model, kind: FrameKind) -> EncodedMetadata {
        let vlmetalayers = meta::borrow(&after.vlmetalayers).unwrap();
        let changed: Option<&[MetalayerRef]> =
            matches!(self, Self::VlMeta(_)).then_some(&vlmetalayers);
        let metadata = Metadata {
            header: &header(after, kind),
            metalayers: &meta::borrow(&after.metalayers).unwrap(),
            vlmetalayers: changed,
            cbytes: cbytes(after),
        };
        metadata.encode().unwrap()
    }
}
