//! Frames of every kind, to be damaged.

use blosc2::capi::types::{blosc2_cparams, blosc2_schunk};
use oxiblosc_testing::abi::{self, CParams};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::fixtures;
use oxiblosc_testing::schunk::SchunkLib;
use oxiblosc_testing::schunk_calls::Schunk;
use std::ffi::c_int;
use std::path::{Path, PathBuf};

/// A contiguous frame, or the files of a directory.
#[derive(Clone)]
pub enum Seed {
    Contiguous(Vec<u8>),
    /// Names and contents; the index comes first.
    Directory(Vec<(String, Vec<u8>)>),
}

const KINDS: usize = 9;

/// A function that the reference does not have.
const ADD_CHECKSUMS: &[u8] = b"oxiblosc_schunk_add_checksums";
type AddChecksums = unsafe extern "C" fn(*mut blosc2_schunk) -> c_int;

fn fill(s: &Schunk, kind: usize, cparams: &CParams) {
    let fine = |rc: i64| assert!(rc >= 0, "kind {kind}: {rc}");
    let lib = s.lib.lib;
    let size = 40 * cparams.typesize as usize;
    let chunk = |seed: u64, nbytes: usize| lib.compress(cparams, &Kind::Runs.bytes(nbytes, seed)).1;
    let append = |seed: u64, nbytes: usize| fine(s.append_chunk(&chunk(seed, nbytes), true));
    let zeros = || fine(s.append_chunk(&lib.compress(cparams, &vec![0; size]).1, true));
    if matches!(kind, 1 | 2 | 4 | 8) {
        fine(s.meta_add(c"one", b"fixed content"));
        fine(s.meta_add(c"another", &[7; 40]));
    }
    match kind {
        0 => append(1, size),
        1 => (1..6).for_each(|seed| append(seed, size)),
        2 => {
            zeros();
            append(2, size);
            zeros();
            append(3, size);
        }
        // Of all sizes.
        3 => [5, 40, 80, 1]
            .into_iter()
            .for_each(|items| append(items, items as usize * size / 40)),
        4 => (0..300).for_each(|seed| append(seed, cparams.typesize as usize)),
        5 => fine(s.fill_special(1000, 1, size as i32)),
        6 => {
            let ctx = lib.cctx(cparams).expect("valid parameters");
            for seed in 0..3 {
                let blocks = [
                    Kind::Text.bytes(100, seed),
                    Kind::Runs.bytes(33, seed),
                    vec![1],
                ];
                let mut chunk = vec![0; 1000];
                let rc = ctx.vlcompress(&blocks, &mut chunk);
                chunk.truncate(rc as usize);
                fine(s.append_chunk(&chunk, true));
            }
        }
        7 => {}
        _ => {
            append(1, size);
            append(
                2,
                size / 2 / cparams.typesize as usize * cparams.typesize as usize,
            );
        }
    }
    if matches!(kind, 0 | 2 | 7 | 8) {
        fine(s.vlmeta_add(c"variable", &Kind::Text.bytes(200, 1)));
        fine(s.vlmeta_add(c"small", b"x"));
    }
}

/// Every seed, or only those without checksums; `folder` is used for a while.
pub fn all(lib: &'static SchunkLib, folder: &Path, checksums: bool) -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (kind, checked) in (0..KINDS).flat_map(|kind| [(kind, false), (kind, true)]) {
        if checked && !checksums {
            continue;
        }
        for contiguous in [true, false] {
            let cparams = CParams {
                typesize: [4, 8, 1, 300, 13][kind % 5],
                compcode: [abi::LZ4, abi::BLOSCLZ, abi::ZSTD][kind % 3],
                ..CParams::default()
            };
            let own = blosc2_cparams {
                typesize: cparams.typesize,
                compcode: cparams.compcode,
                ..blosc2_cparams::defaults()
            };
            let path = folder.join(format!("seed{kind}"));
            let at = (!contiguous).then_some(path.as_path());
            let s = lib.create(contiguous, at, &own, 1, None).expect("a seed");
            fill(&s, kind, &cparams);
            if checked {
                // SAFETY: the type is that of oxiblosc.h.
                let add = unsafe { lib.lib.library.get::<AddChecksums>(ADD_CHECKSUMS) };
                if let Ok(add) = add {
                    // SAFETY: a super-chunk of this library.
                    assert_eq!(unsafe { add(s.raw) }, 0);
                }
            }
            if contiguous {
                let (rc, frame) = s.to_buffer();
                assert!(rc > 0, "{rc}");
                seeds.push(Seed::Contiguous(frame));
                continue;
            }
            drop(s);
            seeds.push(taken(&path));
        }
    }
    seeds.extend(fixtures("frames").into_iter().map(|(_, seed)| seed));
    seeds
}

/// What lies at a path, which is removed.
pub fn taken(path: &Path) -> Seed {
    if path.is_file() {
        let frame = std::fs::read(path).expect("a file that can be read");
        std::fs::remove_file(path).expect("the seed's file");
        return Seed::Contiguous(frame);
    }
    let files = files(path);
    std::fs::remove_dir_all(path).expect("the seed's folder");
    Seed::Directory(files)
}

/// The fixtures in a folder of theirs, with their names; see [`fixtures::fixtures`].
pub fn fixtures(folder: &str) -> Vec<(String, Seed)> {
    let Some(all) = fixtures::fixtures() else {
        return Vec::new();
    };
    let entries = all.join(folder).read_dir().expect("a folder of fixtures");
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let seed = |path: PathBuf| {
        let name = path.file_name().expect("a file").to_string_lossy();
        let frame = std::fs::read(&path).expect("a fixture");
        (name.into_owned(), Seed::Contiguous(frame))
    };
    paths.into_iter().map(seed).collect()
}

fn files(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = path
        .read_dir()
        .expect("a folder that can be listed")
        .flatten()
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (
                name,
                std::fs::read(entry.path()).expect("a file that can be read"),
            )
        })
        .collect();
    // `chunks.b2frame` behind `00000000.chunk` by name, before it here.
    files.sort_by_key(|(name, _)| (!name.ends_with("b2frame"), name.clone()));
    files
}
