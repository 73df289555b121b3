//! What a step gave, held against the model and against the other library.

use super::chunks::Chunk;
use super::model::{Code, Expect, Model};
use super::ops::{Op, Storage};
use super::subject::Outcome;
use oxiblosc_chunk::repack::repack;
use oxiblosc_testing::schunk_calls::Fields;
use oxiblosc_testing::schunk_state::State;

fn short(bytes: &[u8]) -> String {
    format!(
        "{} bytes {:02x?}",
        bytes.len(),
        &bytes[..bytes.len().min(12)]
    )
}

fn first_difference(expected: &[u16], bytes: &[u8]) -> String {
    let at = expected
        .iter()
        .zip(bytes)
        .position(|(&e, &b)| e <= 0xff && e != u16::from(b));
    match at {
        Some(at) => format!(
            "byte {at} of {}: {:02x} for {:02x}",
            bytes.len(),
            bytes[at],
            expected[at]
        ),
        None => format!("{} for {}", short(bytes), expected.len()),
    }
}

/// Where everything that was read is not what the model has.
pub fn state(model: &Model, state: &State) -> Option<String> {
    if state.chunks.len() != model.chunks.len() {
        return Some(format!(
            "{} chunks for {}",
            state.chunks.len(),
            model.chunks.len()
        ));
    }
    for (at, (chunk, expected)) in state.chunks.iter().zip(&model.chunks).enumerate() {
        match chunk {
            Err(code) => return Some(format!("chunk {at} {expected:?}: {code}")),
            Ok(bytes) if !Model::fits(&expected.data, bytes) => {
                let difference = first_difference(&expected.data, bytes);
                return Some(format!("chunk {at} {expected:?}: {difference}"));
            }
            Ok(_) => {}
        }
    }
    if state.meta != model.meta {
        return Some(format!("metalayers {:?} for {:?}", state.meta, model.meta));
    }
    let vlmeta: Vec<_> = model
        .vlmeta
        .iter()
        .map(|(name, content)| (name.clone(), Ok(content.clone())))
        .collect();
    (state.vlmeta != vlmeta).then(|| format!("vlmetalayers {:?} for {vlmeta:?}", state.vlmeta))
}

/// Where an outcome is not what the model expects.
pub fn outcome(model: &Model, op: &Op, expect: &Expect, outcome: &Outcome) -> Option<String> {
    if !expect.rc.fits(outcome.rc) {
        return Some(format!("returns {} for {:?}", outcome.rc, expect.rc));
    }
    if outcome.rc < 0 {
        return None;
    }
    if let Some(expected) = &expect.bytes
        && !Model::fits(expected, &outcome.bytes)
    {
        return Some(first_difference(expected, &outcome.bytes));
    }
    if let Some(expected) = &expect.numbers
        && *expected != outcome.numbers
    {
        return Some(format!("{:?} for {expected:?}", outcome.numbers));
    }
    if let Op::Offsets = op {
        let special = outcome.numbers.iter().map(|&offset| offset < 0);
        let expected = model
            .chunks
            .iter()
            .map(|chunk| chunk.special.is_some() || chunk.written.is_some());
        if special
            .zip(expected)
            .any(|(special, expected)| special && !expected)
        {
            return Some(format!("a special offset: {:?}", outcome.numbers));
        }
    }
    outcome.state.as_ref().and_then(|read| state(model, read))
}

/// Where the public fields, of ours or of the reference, are not what the model has.
pub fn fields(model: &Model, fields: &Fields, storage: Storage, ours: bool) -> Option<String> {
    let known = [
        ("nchunks", fields.nchunks, model.chunks.len() as i64),
        ("nbytes", fields.nbytes, model.nbytes() as i64),
        (
            "nmetalayers",
            i64::from(fields.nmetalayers),
            model.meta.len() as i64,
        ),
        (
            "nvlmetalayers",
            i64::from(fields.nvlmetalayers),
            model.vlmeta.len() as i64,
        ),
        ("flags2", i64::from(fields.flags2), i64::from(model.flags2)),
        ("chunksize", i64::from(fields.chunksize), model.chunksize),
    ];
    let wrong = known.iter().find(|(name, found, expected)| {
        // A short last chunk that was moved inside may make chunksize 0 or not.
        let either = *name == "chunksize" && model.irregular() && *found == 0;
        found != expected && !either
    });
    if let Some((name, found, expected)) = wrong {
        return Some(format!("{name} is {found}, not {expected}"));
    }
    // Room that deleted chunks left may be counted or not, as may special chunks that are stored
    // where sizes differ.
    let payload = model.payload(storage);
    let most = payload
        + 32 * model
            .chunks
            .iter()
            .filter(|chunk| chunk.special.is_some())
            .count() as i64;
    // What changes left free between the blocks of a chunk is removed when the frame is given away.
    let least = payload - if ours { unpacked(model) } else { 0 };
    // A contiguous frame may also hold room for chunks to come.
    let most = if storage.contiguous() && model.holes {
        i64::MAX
    } else {
        most
    };
    let fits = fields.cbytes == model.cbytes || (ours && (least..=most).contains(&fields.cbytes));
    let unknown = model.exchanged || (!ours && model.compressed_apart);
    (!fits && !unknown).then(|| {
        format!(
            "cbytes is {}, not {} or {least}",
            fields.cbytes, model.cbytes
        )
    })
}

/// How many bytes are free between the blocks of chunks.
fn unpacked(model: &Model) -> i64 {
    let free = |chunk: &Chunk| {
        let packed = repack(&chunk.raw).ok().flatten()?;
        Some((chunk.raw.len() - packed.len()) as i64)
    };
    model.chunks.iter().filter_map(free).sum()
}

/// Where the two libraries differ in one step.
pub fn libraries(
    model: &Model,
    op: &Op,
    expect: &Expect,
    ours: &Outcome,
    reference: &Outcome,
) -> Option<String> {
    let loose = match op {
        // A frame may be stored in another way as long as it is the same frame.
        Op::FrameLen => true,
        Op::Get { .. } | Op::Lazy { .. } => model.compressed_apart,
        Op::SetSlice { .. } => expect.rc == Code::Error,
        Op::GetSlice { .. } => expect.rc == Code::Unknown,
        // Ours also reads where the block size was left automatic, and where it is not that of the
        // chunks.
        Op::Sparse { .. } => reference.rc < 0 && ours.rc == 0,
        _ => false,
    };
    if ours.rc != reference.rc && !loose {
        return Some(format!(
            "returns {}, the reference {}",
            ours.rc, reference.rc
        ));
    }
    let numbers = !loose && !matches!(op, Op::Offsets) && ours.rc >= 0;
    if numbers && ours.numbers != reference.numbers {
        return Some(format!(
            "{:?}, the reference {:?}",
            ours.numbers, reference.numbers
        ));
    }
    if matches!(op, Op::Params) && ours.bytes != reference.bytes {
        let (a, b) = (
            String::from_utf8_lossy(&ours.bytes),
            String::from_utf8_lossy(&reference.bytes),
        );
        return Some(format!("{a}, the reference {b}"));
    }
    None
}
