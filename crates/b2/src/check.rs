//! Checks whether the header and the chunks of a frame agree.

use crate::failure::{Failure, REPAIR, describe, is_damage};
use crate::input::Input;
use crate::source::{Frame, StoredChunk};
use crate::summary::tuple;
use crate::text::plural;
use oxiblosc::schunk::Parameters;
use oxiblosc_base::Error;
use oxiblosc_repair::check::{chunk, item_size};
use oxiblosc_repair::{Files, array_meta, is_fault, missing_of};

/// Whether anything of the frame of an input is damaged. Arrays do not tell damage from files that
/// cannot be read: after an error of one, this looks at the frame again.
pub fn is_damaged(input: &Input) -> bool {
    let faults = input.faults();
    let found = || {
        let mut frame = Frame::open(input.path(), faults).map_err(|error| faults.note(error))?;
        let contexts = frame.contexts(1).map_err(|error| faults.note(error))?;
        let mut is_damaged = array(&frame, None).is_some();
        let header = frame.header.clone();
        for (_, found) in frame.walk(|_| u64::MAX) {
            if is_damaged {
                break;
            }
            let read = found.and_then(|run| Ok((run.read()?, run.nbytes)));
            is_damaged = match read {
                Ok((StoredChunk::Special(_), _)) => false,
                Ok((StoredChunk::Bytes(bytes), nbytes)) => {
                    let expected = (header.chunksize > 0).then_some(nbytes);
                    let checked = chunk(&contexts, &bytes, expected)
                        .and_then(|()| item_size(&bytes, header.parameters.typesize));
                    checked.is_err_and(|damage| is_damage(damage.error))
                }
                Err(error) => is_damage(error),
            };
        }
        Ok::<bool, ()>(is_damaged)
    };
    // A frame that does not open is damaged, if the system could read it.
    found().unwrap_or(true) && faults.check().is_ok()
}

/// The failure of a command that could not read an array, or the chunk from `start` on.
pub fn unread(
    input: &Input,
    parameters: &Parameters,
    start: Option<&[i64]>,
    error: Error,
) -> Failure {
    let at = start.map(|start| format!("the chunk at {} ", tuple(start)));
    let what = format!("{}: {}", input.name(), at.unwrap_or_default());
    match missing_of(parameters) {
        _ if is_fault(error) => Failure::message(format!("{what}{}", describe(error))),
        Some(missing) => Failure::message(format!("{what}{}", describe(missing))),
        None if is_damaged(input) => {
            let why = describe(error);
            Failure::damaged(format!("{what}is damaged: {why} ({REPAIR})"))
        }
        // What the system said was noted when the frame was looked at again.
        None => match input.faults().check() {
            Err(failure) => failure,
            Ok(()) => Failure::message(format!("{what}cannot be read")),
        },
    }
}

/// What is wrong with the data size in the header of a frame whose chunks have `all` bytes of data
/// together. If the header says that all chunks have the same size this is not checked: each chunk
/// is checked against that size.
pub fn data_size(frame: &Frame, all: Option<u64>) -> Option<String> {
    let said = frame.header.nbytes.max(0) as u64;
    let all = all.filter(|all| frame.header.chunksize <= 0 && *all != said)?;
    Some(format!(
        "the header says that there are {} of data, the chunks have {}",
        plural(said as usize, "byte", "bytes"),
        plural(all as usize, "byte", "bytes")
    ))
}

/// What is wrong with a frame as an array. Its metalayer must make sense, and the number and size
/// of its chunks and the size of its blocks must follow from the shapes. `blocksize` is the size of
/// a block in one of the chunks, in bytes.
pub fn array(frame: &Frame, blocksize: Option<usize>) -> Option<String> {
    let content = frame.array()?;
    let (header, nchunks) = (&frame.header, frame.nchunks());
    let fitting = array_sizes(content, header.parameters.typesize);
    let Some((count, chunk, block)) = fitting else {
        return Some("the array's metalayer makes no sense".into());
    };
    if count != nchunks {
        return Some(format!(
            "the array's shape asks for {}, there are {nchunks}",
            plural(count, "chunk", "chunks")
        ));
    }
    if nchunks > 0 && i64::try_from(chunk) != Ok(header.chunksize.into()) {
        return Some(
            "the array's shapes and its size of items ask for chunks of another size".into(),
        );
    }
    // A tuner may have chosen other blocks for the chunks.
    let is_said = header.parameters.blocksize as usize == block;
    let differs = |blocksize: usize| blocksize != block.min(chunk) && !is_said;
    if blocksize.is_some_and(differs) {
        return Some("the array's shape of blocks asks for blocks of another size".into());
    }
    None
}

/// How many chunks an array has, and the sizes of a chunk and a block in bytes; none if its
/// metalayer makes no sense.
fn array_sizes(content: &[u8], typesize: i32) -> Option<(usize, usize, usize)> {
    let meta = array_meta(content)?;
    let shapes = meta
        .shape
        .iter()
        .zip(&meta.chunkshape)
        .zip(&meta.blockshape);
    for ((shape, chunk), block) in shapes.take(meta.ndim) {
        if *shape != 0 && (*chunk == 0 || *block == 0) {
            return None;
        }
    }
    let array = meta.geometry().ok()?;
    // If it overflows it is larger than any chunk, so it cannot match.
    let chunk = array.chunk_nbytes(typesize).unwrap_or(usize::MAX);
    Some((array.nchunks().ok()?, chunk, array.block_nbytes(typesize)))
}
