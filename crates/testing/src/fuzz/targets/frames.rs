//! A contiguous frame in memory that cannot be trusted, and checksums of it that may lie: nothing
//! worse than an error comes of it.

use super::super::arrays;
use super::super::numbers::{Input, Random};
use super::super::restamp;
use super::super::seeds::data;
use oxiblosc::schunk::State;
use oxiblosc::schunk::lazy::lazy_chunk;
use oxiblosc::{
    CParams, Compressor, DParams, Decompressor, Place, Protection, StorageParams, SuperChunk,
};
use oxiblosc_base::memory::Buffer;

/// Option: the checksums of header, index and trailer are made to fit.
const STAMP_FRAME: u8 = 1;
/// Option: and those in front of chunks.
const STAMP_CHUNKS: u8 = 2;
/// Option: and those of their blocks.
const STAMP_BLOCKS: u8 = 4;
/// Option: changes are made in a transaction.
const TRANSACTION: u8 = 8;

/// The largest data that is read at once.
const LARGEST: u64 = 1 << 20;
/// The most chunks that are looked at one by one.
const MOST_CHUNKS: usize = 50;

/// A byte of options, one that says where and what is changed, and a frame.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let (options, seed) = (input.byte(), input.byte());
    let mut frame = input.rest();
    if options & STAMP_CHUNKS != 0 {
        restamp::chunks(&mut frame, options & STAMP_BLOCKS != 0);
    }
    if options & STAMP_FRAME != 0 {
        // Where their places cannot be told the frame is damaged enough.
        let _ = restamp::frame(&mut frame, true);
    }
    let Ok(schunk) = Buffer::copy_of(&frame).and_then(|frame| SuperChunk::from_frame(frame, 1))
    else {
        return;
    };
    let mut random = Random(seed.into());
    read(&schunk, &mut random);
    change_and_read(&schunk, options & TRANSACTION != 0, &mut random);
    let few = schunk.nchunks().is_ok_and(|n| n <= MOST_CHUNKS);
    if few && let Ok(frame) = schunk.to_frame() {
        let again = SuperChunk::from_frame(frame, 1).expect("a frame that was open");
        read(&again, &mut random);
    }
}

/// Reads whatever can be asked for; errors are what is expected.
pub(super) fn read(schunk: &SuperChunk, random: &mut Random) {
    let (Ok(nchunks), Ok(nbytes)) = (schunk.nchunks(), schunk.nbytes()) else {
        return;
    };
    let mut dest = vec![0x5a; nbytes.min(LARGEST) as usize];
    for nchunk in 0..nchunks.min(MOST_CHUNKS) {
        let _ = schunk.check_chunk(nchunk);
        let _ = schunk.decompress_chunk(nchunk, &mut dest);
        let _ = schunk.decompress_vlblock(nchunk, 0);
        if let Ok(state) = schunk.read() {
            let _ = lazy_chunk(&state, nchunk);
        }
    }
    for _ in 0..4 {
        let start = random.bits() % (nbytes + 1);
        let len = (random.bits() % 5000).min(nbytes - start) as usize;
        let _ = schunk.read_bytes(start..start + len as u64, &mut dest[..len]);
    }
    if nbytes <= LARGEST {
        let _ = schunk.read_bytes(0..nbytes, &mut dest);
    }
    let typesize = schunk.read().map_or(1, |state| state.parameters().typesize);
    if let Ok(typesize @ 1..=300) = usize::try_from(typesize) {
        let coords: Vec<u64> = (0..3).map(|_| random.below(2000) as u64).collect();
        let _ = schunk.read_sparse(&coords, &mut vec![0; 3 * typesize]);
    }
    let names = schunk.read().map_or(vec![], |state| names(&state));
    let decoder = Decompressor::new(DParams::default());
    for name in names {
        let _ = schunk.vlmetalayer(&name, &decoder);
    }
    let _ = schunk.frame_len();
}

fn names(state: &State) -> Vec<Vec<u8>> {
    let layers = state.vlmetalayers().iter();
    layers.map(|layer| layer.name.to_vec()).collect()
}

/// Changes a super-chunk, in a transaction or not, and reads it, before the transaction is
/// committed too.
pub(super) fn change_and_read(schunk: &SuperChunk, in_transaction: bool, random: &mut Random) {
    let transaction = in_transaction.then(|| schunk.transaction());
    change(schunk, random);
    read(schunk, random);
    if let Some(Ok(transaction)) = transaction {
        let _ = transaction.commit();
        read(schunk, random);
    }
}

/// Changes what can be changed.
pub(super) fn change(schunk: &SuperChunk, random: &mut Random) {
    let Ok(counts) = schunk.read().map(|state| state.counts()) else {
        return;
    };
    let nbytes = match counts.chunksize {
        size @ 1..=100_000 => size as usize,
        _ => 400,
    };
    let content = data(nbytes, 1);
    let encoder = Compressor::new(CParams::default());
    for _ in 0..5 {
        let nchunks = schunk.nchunks().unwrap_or(0).min(MOST_CHUNKS);
        let nchunk = random.below(nchunks + 1);
        match random.below(7) {
            0 => drop(schunk.append_data(&content)),
            1 => drop(schunk.delete_chunk(nchunk)),
            2 => {
                let len = random.below(3000).min(counts.nbytes.max(0) as usize);
                let start = random.bits() % (counts.nbytes.max(0) as u64 - len as u64 + 1);
                let _ = schunk.write_bytes(start, &vec![7; len]);
            }
            3 => drop(schunk.add_checksums()),
            4 => drop(schunk.add_vlmetalayer(b"new", &content, &encoder)),
            5 => drop(schunk.update_vlmetalayer(b"variable", &content, &encoder)),
            _ => drop(schunk.update_metalayer(b"fixed", b"content")),
        }
    }
}

/// Frames with checksums, and without, of all kinds of chunks.
pub fn seeds() -> Vec<Vec<u8>> {
    let pipelines: [(u8, i32, &[u8]); 5] = [
        (1, 4, &[1]),
        (5, 8, &[2]),
        (0, 1, &[]),
        (4, 3, &[1]),
        (1, 2, &[3, 1]),
    ];
    let kinds = pipelines
        .into_iter()
        .flat_map(|pipeline| [true, false].map(|with| (pipeline, with)));
    kinds.map(|(pipeline, with)| seed(pipeline, with)).collect()
}

/// One of the frames, damaged, behind options and the number that says what is done with it.
pub fn mutant(seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut random = Random(number);
    let mut frame = seeds[number as usize % seeds.len()].clone();
    // The trailer as often as an array's shape.
    let trailer = frame.len() - 120;
    arrays::damage(&mut frame, trailer, &mut random);
    let mut input = vec![random.bits() as u8 & 0xf, random.bits() as u8];
    input.extend(frame);
    input
}

fn seed(pipeline: (u8, i32, &[u8]), checksums: bool) -> Vec<u8> {
    let schunk = frame_in(Place::Frame, pipeline, checksums);
    schunk.to_frame().expect("a frame in memory").to_vec()
}

/// A frame of chunks of all kinds.
pub(super) fn frame_in(
    place: Place,
    (codec, typesize, filters): (u8, i32, &[u8]),
    checksums: bool,
) -> SuperChunk {
    let mut cparams = CParams {
        codec,
        typesize,
        ..CParams::default()
    };
    cparams.filters = [0; 6];
    cparams.filters[6 - filters.len()..].copy_from_slice(filters);
    let schunk = SuperChunk::create(StorageParams {
        place,
        cparams,
        protection: Protection::with_checksums(checksums),
        ..StorageParams::default()
    });
    let schunk = schunk.expect("good parameters");
    let encoder = Compressor::new(CParams::default());
    let done = schunk.add_metalayer(b"fixed", b"7 bytes").and_then(|_| {
        // Special values, what compresses, what does not, and a shorter last one.
        let noise: Vec<u8> = (0..5000 / 24 * 24)
            .map(|i| Random(i).bits() as u8)
            .collect();
        schunk.append_data(&vec![0; noise.len()])?;
        schunk.append_data(&data(noise.len(), 1))?;
        schunk.append_data(&noise)?;
        schunk.append_data(&data(240, 2))?;
        schunk.add_vlmetalayer(b"variable", &data(300, 3), &encoder)
    });
    done.expect("a frame");
    schunk
}
