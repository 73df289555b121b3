//! Frames in the data of another frame.

use super::window::{self, ByteSource};
use super::{Member, MemberLocation};
use crate::failure::describe;
use crate::json::Json;
use crate::library::SuperChunk;
use crate::msgpack;
use crate::source::{Frame, StoredChunk, vlmeta_content};
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_error::Error;
use oxiblosc_io::Storage;
use oxiblosc_memory::Shared;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The variable-length metalayer with keys and places.
const MAP: &[u8] = b"estore_metadata";
/// The most bytes of it: about two million keys.
const MOST: usize = 64 << 20;

/// A frame whose data are other frames.
pub struct Embedded(Mutex<(Frame, SuperChunk)>);

impl Embedded {
    /// Lists the members of an EmbedStore. The error says what is wrong with the list.
    pub fn open(frame: Frame) -> Result<(Self, Vec<Member>), String> {
        let told = |error| format!("the list of embedded keys: {}", describe(error));
        let contexts = frame.contexts(1).map_err(told)?;
        let mut members = Vec::new();
        if let Some(layer) = frame.vlmetalayers.iter().find(|layer| layer.name == MAP) {
            let content = vlmeta_content(&contexts, layer, MOST).map_err(told)?;
            members = list(&content, frame.header.nbytes.max(0) as u64)
                .ok_or("the list of embedded keys makes no sense")?;
        }
        Ok((Self(Mutex::new((frame, contexts))), members))
    }
}

/// A range of the data as a file.
pub fn window(embedded: &Arc<Embedded>, range: Range<u64>) -> Result<Shared<dyn Storage>, Error> {
    window::window(embedded.clone(), range)
}

/// The members in a list in msgpack: `{"embed_map": {KEY: {"offset": 0, "length": 9}, ...}, "current_offset": 9}`. `nbytes` is the size of the
/// data in bytes.
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
        let mut store = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (frame, contexts) = &mut *store;
        let chunksize = usize::try_from(frame.header.chunksize).unwrap_or(0);
        let (mut pos, mut into) = (usize::try_from(pos).map_err(|_| Error::Data)?, into);
        while !into.is_empty() {
            let nchunk = pos.checked_div(chunksize).ok_or(Error::Data)?;
            let start = pos % chunksize;
            let there = frame.chunk_nbytes(nchunk).saturating_sub(start);
            let len = there.min(into.len());
            if len == 0 || nchunk >= frame.nchunks() {
                return Err(Error::Data);
            }
            let (part, rest) = into.split_at_mut(len);
            match frame.chunk(nchunk)? {
                StoredChunk::Bytes(chunk) => {
                    // Positions are in bytes, so items must be, too.
                    let header = ChunkHeader::parse(&chunk)?;
                    if header.typesize != 1 || contexts.items(&chunk, start, len, part)? != len {
                        return Err(Error::Data);
                    }
                }
                // Data that were never written: no frame is there.
                StoredChunk::Special(..) => part.fill(0),
            }
            (pos, into) = (pos + len, rest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
