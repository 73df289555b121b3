//! The reference reads frames with checksums, and changes them.

use crate::checksums::{
    add_checksums, check_chunk, frames, has_checksums, read_files, write_files,
};
use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::isolated::isolated;
use oxiblosc_testing::schunk::{SchunkLib, our_schunks, reference_schunks};
use oxiblosc_testing::schunk_calls::Schunk;
use oxiblosc_testing::schunk_state::read;
use std::path::PathBuf;

const DATA: i64 = -3;

#[test]
fn the_reference_reads_them_as_others() {
    oxiblosc_testing::own_process!();
    let Some(reference) = reference_schunks() else {
        return;
    };
    let lib = our_schunks();
    let folder = Folder::new("checksums-reference");
    let path = folder.join("frame");
    for frame in frames(lib, &folder.0) {
        let look = |files, lib: &'static SchunkLib| {
            write_files(&path, files);
            let s = lib.open_path(&path).expect("a frame");
            let fields = s.fields();
            (read(&s), fields.nchunks, fields.nbytes, fields.flags2 & 1)
        };
        let (before, after) = (
            look(&frame.plain, reference),
            look(&frame.checked, reference),
        );
        assert!(before == after, "{:?}", before.0.chunks.len());
        let ours = (look(&frame.plain, lib), look(&frame.checked, lib));
        assert!(ours.0 == ours.1, "{:?}", before.0.chunks.len());
    }
}

/// Data that cannot be compressed, so that all chunks of them have the same size.
fn noise(seed: u64) -> Vec<u8> {
    Kind::Random.bytes(8000, seed)
}

/// A frame with checksums.
struct Covered {
    lib: &'static SchunkLib,
    path: PathBuf,
    /// The data of each chunk, and what [`check_chunk`] says of it: 1 if it has checksums.
    model: Vec<(Vec<u8>, i32)>,
}

impl Covered {
    fn new(lib: &'static SchunkLib, contiguous: bool, path: PathBuf) -> Self {
        let cparams = blosc2_cparams {
            typesize: 4,
            blocksize: 2048,
            ..blosc2_cparams::defaults()
        };
        let s = lib
            .create(contiguous, Some(&path), &cparams, 1, None)
            .expect("a frame");
        assert_eq!(
            (has_checksums(&s), add_checksums(&s), has_checksums(&s)),
            (0, 0, 1)
        );
        assert!(s.meta_add(c"fixed", b"before") >= 0);
        let model: Vec<(Vec<u8>, i32)> = (0..8)
            .map(|i| match i % 2 {
                0 => (Kind::Runs.bytes(8000, i), 1),
                _ => (noise(i), 1),
            })
            .collect();
        for (data, _) in &model {
            assert!(s.append_buffer(data, 8000) > 0);
        }
        drop(s);
        Self { lib, path, model }
    }

    fn open(&self) -> Schunk {
        self.lib.open_path(&self.path).expect("a frame")
    }

    /// The data and checksums are those of the model.
    fn check(&self) {
        let s = self.open();
        let state = read(&s);
        let data = self.model.iter().map(|(data, _)| Ok(data.clone()));
        assert!(state.chunks == data.collect::<Vec<_>>(), "{:?}", self.path);
        let sums: Vec<i32> = (0..s.get().nchunks).map(|n| check_chunk(&s, n)).collect();
        let wanted: Vec<i32> = self.model.iter().map(|(_, sum)| *sum).collect();
        assert_eq!(sums, wanted, "{:?}", self.path);
        for (nchunk, (data, _)) in self.model.iter().enumerate() {
            let lazy = s.get_lazychunk(nchunk as i64);
            let mut out = vec![0; data.len()];
            assert_eq!(s.decompress_given(&lazy.bytes, &mut out), 8000, "{nchunk}");
            assert!(out == *data, "{nchunk}");
        }
        assert_eq!(has_checksums(&s), 1);
    }

    /// Makes a change by a handle of the reference.
    fn change(&mut self, reference: &'static SchunkLib, step: u64) {
        let chunk = |data: &[u8]| {
            let own = oxiblosc_testing::abi::CParams {
                typesize: 4,
                ..Default::default()
            };
            reference.lib.compress(&own, data).1
        };
        let s = reference
            .open_path(&self.path)
            .expect("the reference reads it");
        let data = noise(100 + step);
        let rc = match step {
            0 => s.append_buffer(&data, 8000),
            // As many bytes as were there, in the same place.
            1 => s.update_chunk(3, &chunk(&data), true),
            2 => s.update_chunk(4, &chunk(&Kind::Runs.bytes(8000, 50)), true),
            3 => s.insert_chunk(2, &chunk(&data), true),
            4 => s.delete_chunk(0),
            5 => s.meta_update(c"fixed", b"behind"),
            _ => s.vlmeta_add(c"more", b"content"),
        };
        assert!(rc >= 0, "step {step}: {rc}");
        drop(s);
        let model = &mut self.model;
        match step {
            0 => model.push((data, 0)),
            1 => model[3] = (data, 0),
            2 => model[4] = (Kind::Runs.bytes(8000, 50), 0),
            3 => model.insert(2, (data, 0)),
            4 => drop(model.remove(0)),
            _ => {}
        }
    }

    /// Damages each chunk in the middle of its bytes. That is found in those that have checksums.
    fn damage(&self) {
        let whole = read_files(&self.path);
        let s = self.open();
        let chunks: Vec<Vec<u8>> = (0..self.model.len() as i64)
            .map(|n| s.get_chunk(n).bytes)
            .collect();
        drop(s);
        for (nchunk, (_, sum)) in self.model.iter().enumerate() {
            let chunk = &chunks[nchunk];
            let mut damaged = whole.clone();
            let found = damaged.iter_mut().find_map(|(_, bytes)| {
                let at = bytes.windows(chunk.len()).position(|w| w == &chunk[..])?;
                bytes[at + chunk.len() - 5] ^= 4;
                Some(())
            });
            assert!(found.is_some(), "chunk {nchunk}");
            write_files(&self.path, &damaged);
            let s = self.open();
            if *sum == 1 {
                let mut data = vec![0; 8000];
                assert_eq!(s.decompress_chunk(nchunk as i64, &mut data), DATA);
                assert_eq!(i64::from(check_chunk(&s, nchunk as i64)), DATA);
            }
        }
        write_files(&self.path, &whole);
    }

    /// Makes a change by a handle of ours, after which the frame is covered again, and asks for all
    /// of it once more.
    fn cover_again(&mut self) {
        let s = self.open();
        let data = noise(200);
        assert!(s.append_buffer(&data, 8000) > 0);
        self.model.push((data, 1));
        assert_eq!(add_checksums(&s), 0);
        drop(s);
        self.model.iter_mut().for_each(|(_, sum)| *sum = 1);
    }
}

#[test]
fn what_the_reference_changes_is_no_damage_and_the_rest_stays_checked() {
    oxiblosc_testing::own_process!();
    let Some(reference) = reference_schunks() else {
        return;
    };
    let folder = Folder::new("checksums-changed");
    for contiguous in [true, false] {
        let path = folder.join(if contiguous { "file" } else { "directory" });
        let mut frame = Covered::new(our_schunks(), contiguous, path);
        frame.check();
        for step in 0..7 {
            frame.change(reference, step);
            frame.check();
        }
        frame.damage();
        frame.cover_again();
        frame.check();
        let read_back = read(&reference.open_path(&frame.path).expect("the reference"));
        assert_eq!(read_back.chunks.len(), frame.model.len());
    }
}

#[test]
fn a_large_frame_has_them_after_each_change() {
    oxiblosc_testing::own_process!();
    let lib = our_schunks();
    let folder = Folder::new("checksums-large");
    let cparams = blosc2_cparams {
        typesize: 4,
        ..blosc2_cparams::defaults()
    };
    for contiguous in [true, false] {
        let path = folder.join(if contiguous { "file" } else { "directory" });
        let s = lib.create(contiguous, Some(&path), &cparams, 1, None);
        let s = s.expect("a frame");
        assert_eq!(add_checksums(&s), 0);
        assert!(s.meta_add(c"fixed", b"before") >= 0);
        let mut model: Vec<Vec<u8>> = (0..200).map(noise).collect();
        for data in &model {
            assert!(s.append_buffer(data, 8000) > 0);
        }
        drop(s);
        let chunk = |seed: u64| {
            let own = oxiblosc_testing::abi::CParams {
                typesize: 4,
                ..Default::default()
            };
            lib.lib.compress(&own, &noise(seed)).1
        };
        // The first change finds the index compressed, the others find it as it is while the frame
        // grows; and once more all of them by a handle each.
        for reopened in [false, true] {
            let mut s = lib.open_path(&path).expect("a frame");
            for step in 0..7u64 {
                let new = 1000 + step + 10 * u64::from(reopened);
                let rc = match step {
                    0 => i64::from(s.meta_update(c"fixed", b"behind") >= 0),
                    1 if reopened => s.vlmeta_update(c"more", &noise(new)),
                    1 => s.vlmeta_add(c"more", &noise(new)),
                    2 => s.append_buffer(&noise(new), 8000),
                    3 => s.update_chunk(7, &chunk(new), true),
                    4 => s.insert_chunk(5, &chunk(new), true),
                    5 => s.delete_chunk(3),
                    _ => s.set_slice(100, 5100, &noise(new).repeat(3)[..20_000]),
                };
                assert!(rc >= 0, "step {step}: {rc}");
                match step {
                    2 => model.push(noise(new)),
                    3 => model[7] = noise(new),
                    4 => model.insert(5, noise(new)),
                    5 => drop(model.remove(3)),
                    6 => {
                        let mut all: Vec<u8> = model[..3].concat();
                        all[400..20_400].copy_from_slice(&noise(new).repeat(3)[..20_000]);
                        (model.iter_mut().zip(all.chunks(8000))).for_each(|(m, c)| *m = c.to_vec());
                    }
                    _ => {}
                }
                if reopened {
                    drop(s);
                    s = lib.open_path(&path).expect("a frame");
                }
                for lib in [Some(lib), reference_schunks()].into_iter().flatten() {
                    let other = lib.open_path(&path).expect("a whole frame");
                    let state = read(&other);
                    let same = |(now, then): (&Result<Vec<u8>, i64>, _)| now.as_ref() == Ok(then);
                    assert!(
                        state.chunks.len() == model.len()
                            && state.chunks.iter().zip(&model).all(same),
                        "step {step} {contiguous} {reopened}"
                    );
                }
                let all = (0..model.len() as i64).all(|nchunk| check_chunk(&s, nchunk) == 1);
                assert!(all && has_checksums(&s) == 1, "step {step}");
            }
        }
    }
}

#[test]
fn the_environment_asks_for_them() {
    oxiblosc_testing::own_process!();
    let lib = our_schunks();
    let folder = Folder::new("checksums-environment");
    let cparams = blosc2_cparams::defaults();
    let created = move |value: Option<&str>, contiguous: bool, name: Option<&str>| {
        // SAFETY: this process has no other thread.
        unsafe {
            match value {
                Some(value) => std::env::set_var("BLOSC_CHECKSUMS", value),
                None => std::env::remove_var("BLOSC_CHECKSUMS"),
            }
        }
        let path = name.map(|name| folder.join(name));
        let s = lib.create(contiguous, path.as_deref(), &cparams, 1, None);
        let s = s.expect("a super-chunk");
        let has = has_checksums(&s);
        // SAFETY: as above.
        unsafe { std::env::remove_var("BLOSC_CHECKSUMS") };
        has
    };
    let outcome = isolated(60, || {
        let got = [
            created(None, true, None),
            created(Some("0"), true, None),
            created(Some("1"), true, None),
            created(Some("1"), true, Some("file")),
            created(Some("1"), false, Some("directory")),
            // Chunks that are each on their own are no frame.
            created(Some("1"), false, None),
        ];
        match got == [0, 0, 1, 1, 1, 0] {
            true => Ok(()),
            false => Err(format!("{got:?}")),
        }
    });
    assert_eq!(outcome, Ok(()));
}
