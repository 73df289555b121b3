//! What is done with a damaged frame: every reader, every change, every reader again.

use super::seeds::Seed;
use oxiblosc_testing::abi::CParams;
use oxiblosc_testing::data::Rng;
use oxiblosc_testing::schunk::SchunkLib;
use oxiblosc_testing::schunk_calls::Schunk;
use std::ffi::CString;
use std::path::Path;

/// The largest chunk that is given room; a larger one is asked for in vain.
pub const ROOM: usize = 1 << 20;
/// How many chunks are looked at.
const CHUNKS: i64 = 12;

/// What came of a damaged frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Refused,
    /// It opened, but some chunk cannot be read.
    Damaged,
    Read,
}

/// Writes the seed to `path` and opens it, or takes it as a buffer.
pub fn open(lib: &'static SchunkLib, seed: &Seed, path: &Path, rng: &mut Rng) -> Option<Schunk> {
    clear(path);
    match seed {
        Seed::Contiguous(frame) => match rng.below(4) {
            0 => lib.open_buffer(frame, true),
            1 => lib.open_buffer(frame, false),
            2 => {
                std::fs::write(path, frame).expect("a file");
                lib.open_path(path)
            }
            _ => {
                let behind = 1 + rng.below(50);
                let file = [vec![0xAA; behind], frame.clone()].concat();
                std::fs::write(path, file).expect("a file");
                lib.open_at(path, behind as i64)
            }
        },
        Seed::Directory(_) => {
            seed.write(path);
            lib.open_path(path)
        }
    }
}

/// Removes what is at a path, a file or a directory.
fn clear(path: &Path) {
    // Whichever was there.
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_dir_all(path);
}

impl Seed {
    /// Writes it to `path`, in place of what was there.
    pub fn write(&self, path: &Path) {
        clear(path);
        match self {
            Seed::Contiguous(frame) => std::fs::write(path, frame).expect("a file"),
            Seed::Directory(files) => {
                std::fs::create_dir(path).expect("a folder");
                for (name, content) in files {
                    std::fs::write(path.join(name), content).expect("a file");
                }
            }
        }
    }

    /// Bytes of its files.
    pub fn size(&self) -> usize {
        match self {
            Seed::Contiguous(frame) => frame.len(),
            Seed::Directory(files) => files.iter().map(|(_, content)| content.len()).sum(),
        }
    }
}

/// Reads what can be read; whether all of it could.
pub fn read(s: &Schunk) -> bool {
    look(s, &mut vec![0; ROOM])
}

/// As [`read`]; `buffer` is of [`ROOM`] bytes.
pub fn look(s: &Schunk, buffer: &mut [u8]) -> bool {
    let n = s.get().nchunks;
    let mut fine = true;
    for at in (0..n.min(CHUNKS)).chain([n - 1, n, -1]) {
        let inside = (0..n).contains(&at);
        let rc = s.decompress_chunk(at, buffer);
        fine &= rc >= 0 || !inside;
        s.get_chunk(at);
        let lazy = s.get_lazychunk(at);
        if lazy.rc >= 32 {
            s.decompress_given(&lazy.bytes, buffer);
        }
        s.get_vlblock(at, 0);
        s.get_vlblock(at, 2);
    }
    let typesize = i64::from(s.get().typesize).max(1);
    let items = s.get().nbytes / typesize;
    let fits = |count: i64| count >= 0 && count.saturating_mul(typesize) <= ROOM as i64;
    for (start, stop) in [
        (0, 3),
        (items / 2, items / 2 + 20),
        (items - 2, items),
        (0, items),
        (items, items.saturating_add(1)),
    ] {
        if fits(stop.saturating_sub(start)) {
            s.get_slice(start, stop, buffer);
        }
    }
    if fits(8) {
        s.get_sparse(&[0, 5, 1, items - 1, items / 2, 0], buffer);
        s.get_sparse(&[items], buffer);
    }
    s.slice_nchunks(0, items.clamp(0, 1000));
    s.metalayers();
    for name in s.vlmeta_names().1 {
        fine &= s.vlmeta_get(&CString::new(name).expect("no NUL")).0 >= 0;
    }
    s.vlmeta_exists(c"variable");
    // An index that is claimed to be long is only counted.
    if n < 1 << 17 {
        s.offsets();
    }
    s.frame_len();
    s.refresh();
    s.cparams();
    fine
}

/// Changes what can be changed.
fn change(s: &Schunk, rng: &mut Rng) {
    let fields = s.fields();
    let typesize = fields.typesize.clamp(1, 300);
    let cparams = CParams {
        typesize,
        ..CParams::default()
    };
    let nbytes = match fields.chunksize {
        size @ 1..=100_000 => size as usize,
        _ => 40 * typesize as usize,
    };
    let (_, chunk) = s.lib.lib.compress(&cparams, &vec![3; nbytes]);
    let n = fields.nchunks;
    for _ in 0..6 {
        match rng.below(12) {
            0 => drop(s.append_chunk(&chunk, true)),
            1 => drop(s.append_buffer(&vec![5; nbytes], nbytes as i32)),
            2 => drop(s.update_chunk(rng.below(n.clamp(1, 5) as usize) as i64, &chunk, true)),
            3 => drop(s.update_chunk(n - 1, &chunk, true)),
            4 => drop(s.insert_chunk(0, &chunk, true)),
            5 => drop(s.delete_chunk(0)),
            6 => drop(s.delete_chunk(s.get().nchunks - 1)),
            7 => drop(s.vlmeta_add(c"new", b"content")),
            8 => drop(s.vlmeta_update(c"variable", &[9; 500])),
            9 => drop(s.vlmeta_delete(c"small")),
            10 if s.get().nchunks < 1 << 16 => {
                let order: Vec<i64> = (0..s.get().nchunks).rev().collect();
                s.reorder(&order);
            }
            _ => {
                s.meta_update(c"one", b"FIXED");
                s.set_slice(
                    1,
                    3,
                    &vec![1; 2 * fields.typesize.clamp(1, 1 << 20) as usize],
                );
            }
        }
    }
}

/// Everything. A frame that opens must also be freed, copied and written.
pub fn exercise(lib: &'static SchunkLib, seed: &Seed, path: &Path, rng: &mut Rng) -> Fate {
    let Some(s) = open(lib, seed, path, rng) else {
        return Fate::Refused;
    };
    let fine = read(&s);
    // A copy of what claims to be large takes its time and memory.
    let small = s.get().nbytes < 4 * ROOM as i64 && s.get().nchunks < 1000;
    if small && rng.below(3) == 0 {
        if let Some(copy) = s.copy(rng.below(2) == 0, None, None) {
            read(&copy);
        }
        let (_, frame) = s.to_buffer();
        if let Some(again) = lib.open_buffer(&frame, false) {
            read(&again);
        }
    }
    change(&s, rng);
    read(&s);
    drop(s);
    if path.exists()
        && let Some(again) = lib.open_path(path)
    {
        read(&again);
    }
    if fine { Fate::Read } else { Fate::Damaged }
}
