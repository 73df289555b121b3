//! Frames in the data of another frame.

use super::member::{Member, MemberLocation};
use super::window::{self, ByteSource};
use crate::failure::describe;
use crate::json::Json;
use crate::msgpack;
use crate::source::{Frame, StoredChunk, vlmeta_content};
use oxiblosc::format::chunk::header::ChunkHeader;
use oxiblosc::storage::Storage;
use oxiblosc_base::Error;
use oxiblosc_base::memory::Shared;
use oxiblosc_base::memory::lock;
use oxiblosc_repair::{Contexts, Files};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The variable-length metalayer with keys and places.
const MAP: &[u8] = b"estore_metadata";
/// The most bytes of it: about two million keys.
const MAX_MAP_LEN: usize = 64 << 20;
/// The most bytes of it for each compressed one, above a minimum: decoded values take many times
/// the memory of their bytes.
const MOST_RATIO: usize = 256;
const FREE: usize = 1 << 20;

/// A frame whose data are other frames.
pub struct Embedded(Mutex<Reader>);

/// Reads the data of a frame.
struct Reader {
    frame: Frame,
    contexts: Contexts,
    /// The chunk that was read last, so that reading it part by part does not read it from the file
    /// each time.
    last: Option<(usize, StoredChunk)>,
}

impl Embedded {
    /// Lists the members of an EmbedStore. The error says what is wrong with the list.
    pub fn open(frame: Frame) -> Result<(Self, Vec<Member>), String> {
        let faults = frame.faults.clone();
        let reported = |error| {
            faults.note(error);
            format!("the list of embedded keys: {}", describe(error))
        };
        let contexts = frame.contexts(1).map_err(reported)?;
        let mut members = Vec::new();
        if let Some(layer) = frame.vlmetalayers.iter().find(|layer| layer.name == MAP) {
            let most = MAX_MAP_LEN.min(FREE.max(MOST_RATIO * layer.content.len()));
            let content = vlmeta_content(&contexts, layer, most).map_err(reported)?;
            members = list(&content, frame.header.nbytes.max(0) as u64)
                .ok_or("the list of embedded keys makes no sense")?;
        }
        let reader = Reader {
            frame,
            contexts,
            last: None,
        };
        Ok((Self(Mutex::new(reader)), members))
    }
}

/// A range of the data as a file.
pub fn window(embedded: &Arc<Embedded>, range: Range<u64>) -> Result<Shared<dyn Storage>, Error> {
    window::window(embedded.clone(), range)
}

/// The members in a list in msgpack: `{"embed_map": {KEY: {"offset": 0, "length": 9}, ...},
/// "current_offset": 9}`. `nbytes` is the size of the data in bytes.
fn list(content: &[u8], nbytes: u64) -> Option<Vec<Member>> {
    let Json::Object(map) = msgpack::show(content) else {
        return None;
    };
    let Json::Object(keys) = map.into_iter().find(|(name, _)| name == "embed_map")?.1 else {
        return None;
    };
    let members = keys.into_iter().map(|(key, value)| Member {
        key,
        file: None,
        place: place(&value, nbytes),
    });
    Some(members.collect())
}

fn place(value: &Json, nbytes: u64) -> MemberLocation {
    let Json::Object(fields) = value else {
        return MemberLocation::Nowhere("has no place in the list");
    };
    let field = |wanted: &str| fields.iter().find(|(name, _)| name == wanted);
    let number = |wanted| match field(wanted) {
        Some((_, Json::Int(value))) => u64::try_from(*value).ok(),
        _ => None,
    };
    let text = |wanted| match field(wanted) {
        Some((_, Json::Text(text))) => text.clone(),
        _ => String::new(),
    };
    if let (Some(offset), Some(length)) = (number("offset"), number("length")) {
        return match offset.checked_add(length).filter(|end| *end <= nbytes) {
            Some(end) => MemberLocation::Embedded(offset..end),
            None => MemberLocation::Nowhere("is not within the store's data"),
        };
    }
    match field("path") {
        Some(_) => MemberLocation::Elsewhere(format!("{}/{}", text("urlbase"), text("path"))),
        None => MemberLocation::Nowhere("has no place in the list"),
    }
}

impl ByteSource for Arc<Embedded> {
    fn read(&self, pos: u64, into: &mut [u8]) -> Result<(), Error> {
        let mut reader = lock(&self.0);
        let Reader {
            frame,
            contexts,
            last,
        } = &mut *reader;
        let chunksize = usize::try_from(frame.header.chunksize).unwrap_or(0);
        let (mut pos, mut into) = (usize::try_from(pos).map_err(|_| Error::DATA)?, into);
        while !into.is_empty() {
            let nchunk = pos.checked_div(chunksize).ok_or(Error::DATA)?;
            let start = pos % chunksize;
            let there = frame.chunk_nbytes(nchunk).saturating_sub(start);
            let len = there.min(into.len());
            if len == 0 || nchunk >= frame.nchunks() {
                return Err(Error::DATA);
            }
            let (part, rest) = into.split_at_mut(len);
            if last.as_ref().is_none_or(|(read, _)| *read != nchunk) {
                *last = Some((nchunk, frame.chunk(nchunk)?));
            }
            match last.as_ref().map(|(_, chunk)| chunk).ok_or(Error::DATA)? {
                StoredChunk::Bytes(chunk) => {
                    // Positions are in bytes, so items must be, too.
                    let header = ChunkHeader::parse(chunk)?;
                    if header.typesize != 1 || contexts.items(chunk, start, len, part)? != len {
                        return Err(Error::DATA);
                    }
                }
                // Data that were never written: no frame is there.
                StoredChunk::Special(_) => part.fill(0),
            }
            (pos, into) = (pos + len, rest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::window::Counting;
    use super::*;
    use crate::faults::Faults;
    use crate::library::{ChunkInput, Place, SuperChunk};
    use std::sync::atomic::Ordering;

    #[test]
    fn places_lie_within_the_data() {
        let at = |offset: u64, length: u64| {
            place(
                &Json::object([("offset", offset.into()), ("length", length.into())]),
                100,
            )
        };
        assert!(matches!(at(0, 100), MemberLocation::Embedded(range) if range == (0..100)));
        assert!(matches!(at(1, 100), MemberLocation::Nowhere(_)));
        assert!(matches!(at(u64::MAX, 2), MemberLocation::Nowhere(_)));
        let negative = Json::object([("offset", Json::Int(-1)), ("length", Json::Int(5))]);
        assert!(matches!(place(&negative, 100), MemberLocation::Nowhere(_)));
        let remote = Json::object([("urlbase", "https://a".into()), ("path", "b".into())]);
        assert!(
            matches!(place(&remote, 100), MemberLocation::Elsewhere(to) if to == "https://a/b")
        );
        assert!(list(&[0xc0], 1).is_none());
    }

    #[test]
    fn a_chunk_is_read_once_for_all_of_its_parts() {
        let name = format!("oxiblosc-b2-embedded-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let settings = crate::compress::defaults(1, 1);
        let mut frame = SuperChunk::new(Place::File(&path), &settings).expect("a frame");
        let data = oxiblosc_testing::noise(2 << 20);
        let chunk = frame.compress(ChunkInput::Buffer(&data)).expect("a chunk");
        frame.append_chunk(&chunk).expect("appended");
        frame.close().expect("closed");
        let (bytes, read) = (std::fs::read(&path).expect("there"), Arc::default());
        std::fs::remove_file(&path).expect("removed");
        let len = bytes.len() as u64;
        let file = window::window(Counting(bytes, Arc::clone(&read)), 0..len).expect("a file");
        let frame = Frame::open_in(file, &Faults::new("a file")).expect("opened");
        let (embedded, _) = Embedded::open(frame).expect("no list");
        let all = window(&Arc::new(embedded), 0..data.len() as u64).expect("a file");
        let mut part = vec![0; 32 << 10];
        for (nth, expected) in data.chunks(part.len()).enumerate() {
            let pos = (nth * expected.len()) as u64;
            all.read_at(pos, &mut part).expect("read");
            assert!(part == expected);
        }
        let read = read.load(Ordering::Relaxed);
        assert!(read < 3 * len, "{read} bytes read of {len}");
    }
}
