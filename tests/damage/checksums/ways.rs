//! Every way to read a damaged frame gives what was there, or an error; and all of them together
//! meet the damage.

use crate::checksums::{Files, backend, frames, read_files, write_files};
use oxiblosc_testing::data::Rng;
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::maps::Opened;
use oxiblosc_testing::schunk::{SchunkLib, our_schunks};
use oxiblosc_testing::schunk_calls::Schunk;
use std::ffi::CString;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a call gave, or its code.
type Given = Result<Vec<u8>, i64>;

/// How a frame is opened, and whether it is copied then.
const OPENINGS: [(&str, bool); 7] = [
    ("path", true),
    ("map", false),
    ("behind another frame", false),
    ("buffer", true),
    ("copied buffer", false),
    ("back end that fills buffers", true),
    ("back end that lends addresses", false),
];

fn open(lib: &'static SchunkLib, path: &Path, files: &Files, how: usize) -> Option<Opened> {
    let contiguous = files[0].0.is_empty();
    match how {
        0 => lib.open_path(path).map(Opened::from),
        1 if contiguous => Opened::map(lib, path, c"r"),
        2 if contiguous => {
            let behind = path.with_extension("behind");
            std::fs::write(&behind, [&[0x55; 777], &files[0].1[..]].concat()).expect("a file");
            lib.open_at(&behind, 777).map(Opened::from)
        }
        3 | 4 if contiguous => lib.open_buffer(&files[0].1, how == 4).map(Opened::from),
        5 | 6 => backend::opened(path, how == 6).map(Opened::from),
        _ => None,
    }
}

fn given(rc: i64, wanted: i64, bytes: Vec<u8>) -> Given {
    match rc == wanted {
        true => Ok(bytes),
        false => Err(rc.min(0)),
    }
}

/// Items of the lazy chunk, by the context of its super-chunk.
fn items(s: &Schunk, chunk: &[u8], (start, count): (i32, i32), dest: &mut [u8]) -> i32 {
    // SAFETY: the context is the super-chunk's, the pointers are good for their lengths.
    unsafe {
        (s.lib.lib.f.blosc2_getitem_ctx)(
            s.get().dctx.cast(),
            chunk.as_ptr().cast(),
            chunk.len() as i32,
            start,
            count,
            dest.as_mut_ptr().cast(),
            dest.len() as i32,
        )
    }
}

/// The sizes of a frame that is whole.
struct Shape {
    typesize: usize,
    /// Bytes of each chunk's data.
    chunks: Vec<usize>,
}

impl Shape {
    fn of(s: &Schunk) -> Self {
        let size = |nchunk| {
            let chunk = s.get_chunk(nchunk).bytes;
            let (_, [nbytes, _, _]) = s.lib.lib.sizes(&chunk);
            nbytes as usize
        };
        Self {
            typesize: s.get().typesize as usize,
            chunks: (0..s.get().nchunks).map(size).collect(),
        }
    }

    fn items(&self) -> i64 {
        (self.chunks.iter().sum::<usize>() / self.typesize) as i64
    }
}

/// What every call gives that reads.
fn all_calls(s: &Schunk, shape: &Shape) -> Vec<Given> {
    let mut all = Vec::new();
    for (nchunk, nbytes) in shape.chunks.iter().enumerate() {
        let (at, wanted) = (nchunk as i64, *nbytes as i64);
        let mut data = vec![0; *nbytes];
        let rc = s.decompress_chunk(at, &mut data);
        all.push(given(rc, wanted, data.clone()));
        for chunk in [s.get_lazychunk(at), s.get_chunk(at)] {
            if chunk.rc < 32 {
                all.extend([Err(chunk.rc), Err(chunk.rc)]);
                continue;
            }
            data.fill(0);
            let rc = s.decompress_given(&chunk.bytes, &mut data);
            all.push(given(rc, wanted, data.clone()));
            let count = nbytes / shape.typesize;
            let (start, some) = (count / 3, count - count / 2);
            let mut part = vec![0; some * shape.typesize];
            let rc = items(s, &chunk.bytes, (start as i32, some as i32), &mut part);
            all.push(given(rc.into(), part.len() as i64, part));
        }
        for nblock in 0..3 {
            let (rc, block) = s.get_vlblock(at, nblock);
            all.push(given(rc, block.len() as i64, block));
        }
    }
    let count = shape.items();
    for nth in 0..8 {
        let (start, stop) = (count * nth / 8, (count * (nth + 1) / 8).max(1));
        let mut part = vec![0; (stop - start) as usize * shape.typesize];
        let rc = if count > 0 {
            s.get_slice(start, stop, &mut part)
        } else {
            -1
        };
        all.push(given(rc, 0, part));
    }
    let coordinates: Vec<i64> = (0..count).step_by(7).collect();
    let mut part = vec![0; coordinates.len() * shape.typesize];
    let rc = s.get_sparse(&coordinates, &mut part);
    all.push(given(rc, 0, part));
    let (_, names) = s.vlmeta_names();
    for name in names {
        let name = CString::new(name).expect("no NUL");
        let (rc, content) = s.vlmeta_get(&name);
        all.push(given(rc, content.len() as i64, content));
    }
    all.extend(s.metalayers().into_iter().map(|(_, content)| Ok(content)));
    all
}

/// What can be read of copies that are made in every way.
fn all_copies(s: &Schunk, shape: &Shape, path: &Path) -> Vec<Vec<Given>> {
    let copy = path.with_extension("copy");
    let remove = || {
        let _ = std::fs::remove_file(&copy);
        let _ = std::fs::remove_dir_all(&copy);
    };
    let lib = s.lib;
    let mut all = Vec::new();
    let (rc, frame) = s.to_buffer();
    let opened = (rc > 0).then(|| lib.open_buffer(&frame, true)).flatten();
    all.extend(opened.map(|copy| all_calls(&copy, shape)));
    remove();
    if s.to_file(&copy) > 0 {
        all.extend(lib.open_path(&copy).map(|copy| all_calls(&copy, shape)));
    }
    let at = s.append_file(&copy);
    if at > 0 {
        all.extend(lib.open_at(&copy, at).map(|copy| all_calls(&copy, shape)));
    }
    for contiguous in [true, false] {
        remove();
        let created = s.copy(contiguous, Some(&copy), None);
        all.extend(created.map(|copy| all_calls(&copy, shape)));
    }
    remove();
    all
}

/// The most chunks, and bytes of data, of a frame that is read so often.
const MOST_CHUNKS: i64 = 40;
const MOST_DATA: i64 = 700_000;

/// The frame without some of the chunks from its middle where there are many, so that its bytes are
/// of the same kinds, and fewer.
fn shortened(lib: &'static SchunkLib, path: &Path, files: &Files) -> Files {
    write_files(path, files);
    let s = lib.open_path(path).expect("a whole frame");
    while s.get().nchunks > MOST_CHUNKS || (s.get().nchunks > 3 && s.get().nbytes > MOST_DATA) {
        assert!(s.delete_chunk(s.get().nchunks / 2) >= 0);
    }
    drop(s);
    read_files(path)
}

/// Where calls give something else than before, and no error.
fn first_wrong(now: &[Given], whole: &[Given]) -> Option<usize> {
    let differs = |(now, then): (&Given, &Given)| now.is_ok() && then.is_ok() && now != then;
    now.iter().zip(whole).position(differs)
}

/// Reads the damaged frame in every way; says what is wrong. `whole` is what each opening gives of
/// the frame before.
fn tried(path: &Path, files: &Files, shape: &Shape, whole: &[Vec<Given>]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (how, (what, copied)) in OPENINGS.iter().enumerate() {
        let Some(s) = open(our_schunks(), path, files, how) else {
            continue;
        };
        if s.get().nchunks != shape.chunks.len() as i64 {
            wrong.push(format!("{what}: {} chunks", s.get().nchunks));
            continue;
        }
        let now = all_calls(&s, shape);
        let differs = first_wrong(&now, &whole[how]);
        wrong.extend(differs.map(|call| format!("{what}: call {call}")));
        if now == whole[how] {
            wrong.push(format!("{what}: not met"));
        }
        if *copied {
            let copies = all_copies(&s, shape, path).into_iter();
            let differ = copies.filter_map(|copy| first_wrong(&copy, &whole[how]));
            wrong.extend(differ.map(|call| format!("{what}, copied: call {call}")));
        }
    }
    wrong
}

#[test]
fn every_way_to_read_meets_the_damage() {
    let lib = our_schunks();
    let folder = Folder::new("checksums-ways");
    let frames = frames(lib, &folder.0);
    let next = AtomicUsize::new(0);
    let failures = Mutex::new((0, Vec::new()));
    let flips = if std::env::var("OXIBLOSC_DAMAGE").is_ok_and(|value| value == "full") {
        400
    } else {
        12
    };
    // Most of the time is spent waiting for another process that might be changing what does not
    // open.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let which = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(frame) = frames.get(which)
                {
                    let path = folder.join(&format!("damaged{which}"));
                    let frame = shortened(lib, &path, &frame.checked);
                    let s = lib.open_path(&path).expect("a whole frame");
                    let shape = Shape::of(&s);
                    drop(s);
                    let whole = (0..OPENINGS.len()).map(|how| {
                        let opened = open(lib, &path, &frame, how);
                        opened.map_or(Vec::new(), |s| all_calls(&s, &shape))
                    });
                    let whole: Vec<Vec<Given>> = whole.collect();
                    let mut rng = Rng(which as u64 + 1);
                    for _ in 0..flips {
                        let mut files = frame.clone();
                        let file = rng.below(files.len());
                        let bytes = &mut files[file].1;
                        let (at, bit) = (rng.below(bytes.len()), rng.below(8));
                        bytes[at] ^= 1 << bit;
                        write_files(&path, &files);
                        let wrong = tried(&path, &files, &shape, &whole);
                        let mut failures = failures.lock().expect("no panic");
                        failures.0 += 1;
                        let place = format!("frame {which}, file {file}, byte {at}, bit {bit}");
                        failures
                            .1
                            .extend(wrong.into_iter().map(|what| format!("{place}: {what}")));
                    }
                    write_files(&path, &frame);
                    assert_eq!(read_files(&path), frame, "reading changes nothing");
                }
            });
        }
    });
    let (tried, failures) = failures.into_inner().expect("no panic");
    println!("{tried} damages, each read in every way");
    assert!(failures.is_empty(), "{failures:#?}");
}
