//! Chunks in a file of which some blocks are changed where they are: only those are read, nothing
//! else is overwritten, and both libraries find the data in what comes of it.

use oxiblosc_base::memory::Buffer;
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::add_checksums;
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_chunk::hooks::NoHooks;
use oxiblosc_chunk::in_place::PatchTarget;
use oxiblosc_chunk::patch::{PatchMode, Patched, Patcher, Touched};
use oxiblosc_chunk::source::BlockSource;
use oxiblosc_chunk::workers::Workers;
use oxiblosc_testing::abi::*;
use oxiblosc_testing::data::{Kind, Rng};
use oxiblosc_testing::library::{both, ours};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A chunk somewhere in a file, and how many bytes of it were read.
struct File<'a>(&'a [u8], AtomicUsize);

impl BlockSource for File<'_> {
    fn read_at(&self, pos: usize, buf: &mut [u8]) -> Result<()> {
        let bytes = self.0.get(pos..pos + buf.len()).ok_or(Error::FILE_READ)?;
        buf.copy_from_slice(bytes);
        self.1.fetch_add(buf.len(), Ordering::Relaxed);
        Ok(())
    }
}

/// What writing `new` to `start` in the chunk's data makes of it, with `tail` bytes free behind it,
/// and how many bytes were read for that.
fn patch(chunk: &[u8], tail: usize, start: usize, new: &[u8]) -> Result<(Option<Patched>, usize)> {
    let header = ChunkHeader::parse(chunk)?;
    let touched = Touched::of_range(&header, start, new.len())?.expect("blocks of one size");
    let file = File(chunk, AtomicUsize::new(0));
    let prefix = &chunk[..chunk.len().min(Chunk::prefix_len(&header))];
    let Some(target) = PatchTarget::read(&file, &header, prefix, &touched, (tail, true))? else {
        return Ok((None, 0));
    };
    let patched = Patcher {
        chunk: &target.chunk()?,
        compcode: LZ4,
        clevel: 5,
        decoding: &NoHooks,
        encoding: &NoHooks,
        workers: Workers::ALONE,
    }
    .range(start, new, PatchMode::InPlace(&target))?;
    Ok((patched, file.1.load(Ordering::Relaxed)))
}

#[test]
fn many_writes_into_chunks_that_stay_where_they_are() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut rng = Rng(11);
    let (mut overwritten, mut grown, mut anew) = (0, 0, 0);
    let cases = [
        (LZ4, 5, 1, 8, Kind::SmoothFloat64),
        (LZ4, 5, 2, 4, Kind::WalkInt32),
        (BLOSCLZ, 5, 1, 8, Kind::SmoothFloat64),
        (ZSTD, 1, 2, 8, Kind::Text),
        // Stored as it is.
        (LZ4, 5, 1, 4, Kind::Random),
    ];
    for ((compcode, clevel, splitmode, typesize, kind), checksums) in cases
        .into_iter()
        .flat_map(|case| [(case, false), (case, true)])
    {
        let written = |chunk: Vec<u8>| match add_checksums::add(&chunk).expect("a good chunk") {
            Some(chunk) if checksums => chunk.to_vec(),
            _ => chunk,
        };
        let cparams = CParams {
            compcode,
            clevel,
            splitmode,
            typesize,
            blocksize: 4096,
            ..CParams::default()
        };
        let mut data = kind.bytes(100_000, 8);
        let mut chunk = written(ours.compress(&cparams, &data).1);
        let mut tail = chunk.len() / 8;
        for turn in 0..150 {
            let len = [1, 8, 100, 5000][rng.below(4)];
            let start = rng.below(data.len() - len);
            let new = match turn % 3 {
                0 => kind.bytes(len, turn),
                1 => vec![turn as u8; len],
                _ => data[start..start + len].iter().map(|b| b ^ 1).collect(),
            };
            let (patched, read) = patch(&chunk, tail, start, &new).expect("a good chunk");
            data[start..start + len].copy_from_slice(&new);
            match patched.expect("a chunk of plain blocks") {
                Patched::Whole(bytes) => {
                    anew += 1;
                    chunk = written(bytes.to_vec());
                    tail = chunk.len() / 8;
                }
                Patched::Edits(edits) => {
                    assert!(read < chunk.len() / 2, "{read} bytes read");
                    for edit in &edits {
                        if edit.len == 0 {
                            grown += 1;
                            assert_eq!(edit.at, chunk.len());
                            assert!(edit.new.len() <= tail);
                            tail -= edit.new.len();
                            chunk.extend_from_slice(&edit.new);
                        } else {
                            overwritten += 1;
                            assert_eq!(edit.len, edit.new.len());
                            chunk[edit.at..][..edit.len].copy_from_slice(&edit.new);
                        }
                    }
                }
            }
            for lib in [ours, reference] {
                let (rc, out) = lib.decompress(&chunk, data.len(), 1);
                assert_eq!(rc as usize, data.len(), "{}", lib.name);
                assert!(out == data, "{} after turn {turn}", lib.name);
            }
            let header = ChunkHeader::parse(&chunk).expect("a chunk");
            let parsed = Chunk::parse(&header, &chunk).expect("a chunk");
            assert_eq!(parsed.check_checksums(), Ok(checksums), "turn {turn}");
        }
    }
    assert!(
        overwritten > 100 && grown > 20 && anew > 5,
        "{overwritten}, {grown}, {anew}"
    );
}

#[test]
fn a_chunk_in_memory_stays_dense() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let (mut anew, mut behind) = (0, 0);
    for (kind, blocksize) in [
        (Kind::SmoothFloat64, 4096),
        (Kind::WalkInt32, 8192),
        (Kind::Text, 1024),
        (Kind::Zeros, 512),
    ] {
        let cparams = CParams {
            compcode: LZ4,
            blocksize,
            ..CParams::default()
        };
        let mut rng = Rng(5);
        let mut data = kind.bytes(100_000, 8);
        let mut chunk = Buffer::copy_of(&ours.compress(&cparams, &data).1).expect("memory");
        for turn in 0..300 {
            let len = [8, 100, 3000][rng.below(3)];
            let start = rng.below(data.len() - len);
            let new = match turn % 4 {
                0 => Kind::Random.bytes(len, turn),
                1 => vec![turn as u8; len],
                _ => kind.bytes(len, turn),
            };
            data[start..start + len].copy_from_slice(&new);
            let header = ChunkHeader::parse(&chunk).expect("a chunk");
            let patcher = Patcher {
                chunk: &Chunk::parse(&header, &chunk).expect("a chunk"),
                compcode: LZ4,
                clevel: 5,
                decoding: &NoHooks,
                encoding: &NoHooks,
                workers: Workers::ALONE,
            };
            match patcher.range(start, &new, PatchMode::Edits) {
                Ok(Some(Patched::Edits(edits))) => {
                    behind += edits.iter().filter(|edit| edit.len == 0).count();
                    chunk.edit(&edits).expect("edits that ascend");
                }
                Ok(Some(Patched::Whole(whole))) => {
                    anew += 1;
                    chunk = whole;
                }
                other => {
                    assert!(matches!(other, Ok(None)), "turn {turn}");
                    chunk = Buffer::copy_of(&ours.compress(&cparams, &data).1).expect("memory");
                }
            }
            for lib in [ours, reference] {
                let (rc, out) = lib.decompress(&chunk, data.len(), 1);
                assert_eq!(rc as usize, data.len(), "{}", lib.name);
                assert!(out == data, "{} after turn {turn}", lib.name);
            }
            let fresh = ours.compress(&cparams, &data).1.len();
            let slack = 9 * data.len().div_ceil(blocksize as usize);
            let most = (fresh + slack) * 5 / 4;
            // What was once stored as it is stays so.
            let good = header.is_memcpyed() || chunk.len() <= most;
            assert!(good, "{} for {fresh}, {kind:?}", chunk.len());
        }
    }
    assert!(anew > 20 && behind > 100, "{anew}, {behind}");
}

#[test]
fn a_block_that_shares_bytes_is_not_changed_in_place() {
    let cparams = CParams {
        blocksize: 4096,
        ..CParams::default()
    };
    let chunk = ours()
        .compress(&cparams, &Kind::SmoothFloat64.bytes(40_000, 8))
        .1;
    let at = |nblock: usize| 32 + 4 * nblock..36 + 4 * nblock;
    // Two blocks that are the same bytes.
    let mut same = chunk.clone();
    same.copy_within(at(3), 32 + 4 * 5);
    assert!(matches!(patch(&same, 0, 3 * 4096, &[1]), Ok((None, _))));
    assert!(matches!(patch(&same, 0, 5 * 4096, &[1]), Ok((None, _))));
    // One that begins within another.
    let mut within = chunk.clone();
    let third = i32::from_le_bytes(chunk[at(3)].try_into().expect("four bytes"));
    within[at(5)].copy_from_slice(&(third + 8).to_le_bytes());
    assert!(matches!(patch(&within, 0, 3 * 4096, &[1]), Ok((None, _))));
    // None that is in the chunk.
    for start in [0, 31, -1, i32::MAX, chunk.len() as i32] {
        let mut nowhere = chunk.clone();
        nowhere[at(3)].copy_from_slice(&start.to_le_bytes());
        assert!(
            matches!(patch(&nowhere, 0, 3 * 4096, &[1]), Ok((None, _))),
            "{start}"
        );
    }
}

#[test]
fn starts_and_sizes_that_lie_are_no_more_than_that() {
    let cparams = CParams {
        blocksize: 4096,
        ..CParams::default()
    };
    let chunk = ours()
        .compress(&cparams, &Kind::Timestamps.bytes(40_000, 8))
        .1;
    // Another block starts far behind the chunk, while this one is to move there.
    let mut far = chunk.clone();
    far[32 + 4 * 8..][..4].copy_from_slice(&i32::MAX.to_le_bytes());
    let grown = Kind::Random.bytes(3000, 1);
    assert!(!matches!(
        patch(&far, 1 << 20, 100, &grown),
        Ok((Some(Patched::Edits(_)), _))
    ));
    assert!(matches!(
        patch(&chunk, 1 << 20, 100, &grown),
        Ok((Some(Patched::Edits(_)), _))
    ));
    // A chunk stored as it is that has less than it says.
    let mut short = ours().compress(&cparams, &Kind::Random.bytes(40_000, 1)).1;
    short[12..16].copy_from_slice(&9000i32.to_le_bytes());
    assert!(matches!(
        patch(&short[..9000], 0, 30_000, &[1]),
        Ok((None, _)) | Err(_)
    ));
}
