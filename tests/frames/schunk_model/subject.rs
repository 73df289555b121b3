//! A super-chunk of one library, and what an operation on it gives.

use super::chunks::Maker;
use super::ops::{Op, Plan, Storage};
use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::abi::CParams;
use oxiblosc_testing::schunk::SchunkLib;
use oxiblosc_testing::schunk_calls::{Fields, Given, Schunk};
use oxiblosc_testing::schunk_state::{State, read};
use std::path::{Path, PathBuf};

/// What an operation gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub rc: i64,
    pub bytes: Vec<u8>,
    pub numbers: Vec<i64>,
    pub state: Option<State>,
}

/// The same parameters as the library's own struct.
pub fn cparams(from: &CParams) -> blosc2_cparams {
    blosc2_cparams {
        compcode: from.compcode,
        compcode_meta: from.compcode_meta,
        clevel: from.clevel,
        typesize: from.typesize,
        blocksize: from.blocksize,
        splitmode: from.splitmode,
        filters: from.filters,
        filters_meta: from.filters_meta,
        ..blosc2_cparams::defaults()
    }
}

/// One library's super-chunk.
pub struct Subject {
    pub lib: &'static SchunkLib,
    schunk: Option<Schunk>,
    folder: PathBuf,
    /// Where it is, when it is on disk.
    pub path: PathBuf,
    spare: u32,
}

impl Subject {
    pub fn new(lib: &'static SchunkLib, folder: &Path, plan: &Plan) -> Option<Subject> {
        std::fs::create_dir_all(folder).expect("a folder for the test");
        let path = folder.join("frame");
        let at = plan.storage.on_disk().then_some(path.as_path());
        let schunk = lib.create(
            plan.storage.contiguous(),
            at,
            &cparams(&plan.maker.cparams),
            plan.nthreads,
            None,
        );
        Some(Subject {
            lib,
            schunk: Some(schunk?),
            folder: folder.to_owned(),
            path,
            spare: 0,
        })
    }

    pub fn schunk(&self) -> &Schunk {
        self.schunk.as_ref().expect("open between steps")
    }

    pub fn fields(&self) -> Fields {
        self.schunk().fields()
    }

    /// Gives the super-chunk up without freeing it: the library may have damaged it.
    pub fn abandon(mut self) {
        std::mem::forget(self.schunk.take());
    }

    /// Takes the super-chunk from where it was left; for one in memory, the frame is `buffer`.
    pub fn close(&mut self, storage: Storage) -> Result<Vec<u8>, i64> {
        let (rc, buffer) = match storage {
            Storage::Buffer => self.schunk().to_buffer(),
            _ => (0, Vec::new()),
        };
        if rc < 0 {
            return Err(rc);
        }
        if storage.framed() {
            self.schunk = None;
        }
        Ok(buffer)
    }

    pub fn open(&mut self, storage: Storage, buffer: &[u8]) -> bool {
        match storage {
            Storage::Memory => {}
            Storage::Buffer => self.schunk = self.lib.open_buffer(buffer, false),
            _ => self.schunk = self.lib.open_path(&self.path),
        }
        self.schunk.is_some()
    }

    fn fresh(&mut self) -> PathBuf {
        self.spare += 1;
        self.folder.join(format!("spare{}", self.spare))
    }

    fn reopened(&mut self, plan: &Plan) -> Outcome {
        let rc = match self.close(plan.storage) {
            Err(rc) => rc,
            Ok(buffer) => i64::from(self.open(plan.storage, &buffer)) - 1,
        };
        let state = (rc >= 0).then(|| read(self.schunk()));
        Outcome {
            rc,
            state,
            ..Outcome::default()
        }
    }

    /// The copy of a kind, read and thrown away.
    fn copied(&mut self, storage: Storage, recompress: bool, maker: &Maker) -> Outcome {
        let path = self.fresh();
        let other = blosc2_cparams {
            clevel: if maker.cparams.clevel == 3 { 4 } else { 3 },
            ..cparams(&maker.cparams)
        };
        let at = storage.on_disk().then_some(path.as_path());
        let copy = self
            .schunk()
            .copy(storage.contiguous(), at, recompress.then_some(&other));
        let outcome = found(copy);
        remove(&path);
        outcome
    }

    fn written(&mut self, behind: usize) -> Outcome {
        let path = self.fresh();
        let mut rc;
        let opened = if behind == 0 {
            rc = self.schunk().to_file(&path);
            let there = path.metadata().map_or(0, |file| file.len() as i64);
            if rc >= 0 && rc != there {
                eprintln!("to_file returns {rc}, the file has {there} bytes");
                rc = i64::MIN;
            }
            self.lib.open_path(&path)
        } else {
            std::fs::write(&path, vec![0x5A; behind]).expect("a file");
            rc = self.schunk().append_file(&path);
            self.lib.open_at(&path, behind as i64)
        };
        let mut outcome = found(opened);
        if rc != behind as i64 && (behind > 0 || rc <= 0) {
            outcome.rc = rc;
        }
        remove(&path);
        outcome
    }

    /// Takes a step.
    pub fn apply(&mut self, op: &Op, plan: &Plan) -> Outcome {
        let code = |rc: i64| Outcome {
            rc,
            ..Outcome::default()
        };
        let typesize = plan.maker.typesize();
        match op {
            Op::Copy {
                storage,
                recompress,
            } => {
                return self.copied(*storage, *recompress, &plan.maker);
            }
            Op::ToFile { behind } => return self.written(*behind),
            Op::Reopen | Op::Swap => return self.reopened(plan),
            _ => {}
        }
        let s = self.schunk();
        match op {
            Op::AppendBuffer { chunk } => {
                let bytes: Vec<u8> = chunk.data.iter().map(|&byte| byte as u8).collect();
                code(s.append_buffer(&bytes, bytes.len() as i32))
            }
            Op::AppendShortOf { data, nbytes } => code(s.append_buffer(data, *nbytes)),
            Op::Append { chunk, copy } => code(s.append_chunk(&chunk.raw, *copy)),
            Op::Insert { at, chunk, copy } => code(s.insert_chunk(*at, &chunk.raw, *copy)),
            Op::Update { at, chunk, copy } => code(s.update_chunk(*at, &chunk.raw, *copy)),
            Op::Delete { at } => code(s.delete_chunk(*at)),
            Op::Decompress { at, capacity } => {
                let mut bytes = vec![0; *capacity];
                let rc = s.decompress_chunk(*at, &mut bytes);
                bytes.truncate(rc.max(0) as usize);
                Outcome {
                    rc,
                    bytes,
                    ..Outcome::default()
                }
            }
            Op::Get { at } => given(s, s.get_chunk(*at)),
            Op::Lazy { at } => given(s, s.get_lazychunk(*at)),
            Op::VlBlock { at, block } => {
                let (rc, bytes) = s.get_vlblock(*at, *block);
                Outcome {
                    rc,
                    bytes,
                    ..Outcome::default()
                }
            }
            Op::GetSlice { start, stop } => {
                let mut bytes = vec![0; (stop - start).max(0) as usize * typesize];
                let rc = s.get_slice(*start, *stop, &mut bytes);
                Outcome {
                    rc,
                    bytes,
                    ..Outcome::default()
                }
            }
            Op::SetSlice { start, stop, data } => code(s.set_slice(*start, *stop, data)),
            Op::Sparse { coords } => {
                let mut bytes = vec![0; coords.len() * typesize];
                let rc = s.get_sparse(coords, &mut bytes);
                Outcome {
                    rc,
                    bytes,
                    ..Outcome::default()
                }
            }
            Op::SliceNchunks { start, stop } => {
                let (rc, numbers) = s.slice_nchunks(*start, *stop);
                Outcome {
                    rc,
                    numbers,
                    ..Outcome::default()
                }
            }
            Op::Reorder { order } => code(s.reorder(order)),
            Op::Fill {
                nitems,
                kind,
                chunksize,
            } => code(s.fill_special(*nitems, *kind, *chunksize)),
            Op::MetaAdd { name, content } => code(s.meta_add(name, content)),
            Op::MetaUpdate { name, content } => code(s.meta_update(name, content)),
            Op::VlAdd { name, content } => code(s.vlmeta_add(name, content)),
            Op::VlUpdate { name, content } => code(s.vlmeta_update(name, content)),
            Op::VlGet { name } => {
                let (rc, bytes) = s.vlmeta_get(name);
                Outcome {
                    rc,
                    bytes,
                    ..Outcome::default()
                }
            }
            Op::VlExists { name } => code(s.vlmeta_exists(name)),
            Op::VlDelete { name } => code(s.vlmeta_delete(name)),
            Op::VlNames => {
                let (rc, names) = s.vlmeta_names();
                Outcome {
                    rc,
                    bytes: names.join(&0),
                    ..Outcome::default()
                }
            }
            Op::Offsets => match s.offsets() {
                None => code(-1),
                Some(numbers) => Outcome {
                    rc: numbers.len() as i64,
                    numbers,
                    ..Outcome::default()
                },
            },
            Op::FrameLen => code(s.frame_len()),
            Op::Refresh => code(s.refresh()),
            Op::Params => {
                let (rc, c) = s.cparams();
                let (rc2, nthreads) = s.dparams_nthreads();
                let bytes = format!("{c:?} {nthreads}").into_bytes();
                Outcome {
                    rc: rc.min(rc2),
                    bytes,
                    ..Outcome::default()
                }
            }
            Op::Buffer { copy } => {
                let (rc, frame) = s.to_buffer();
                if rc < 0 {
                    return code(rc);
                }
                found(self.lib.open_buffer(&frame, *copy))
            }
            Op::Verify => Outcome {
                state: Some(read(s)),
                ..Outcome::default()
            },
            Op::Copy { .. } | Op::ToFile { .. } | Op::Reopen | Op::Swap => unreachable!("above"),
        }
    }
}

/// A chunk that was given, decompressed; whether it had to be freed, and its size.
fn given(s: &Schunk, given: Given) -> Outcome {
    if given.rc < 0 {
        return Outcome {
            rc: given.rc,
            ..Outcome::default()
        };
    }
    let (_, [nbytes, _, _]) = s.lib.lib.sizes(&given.bytes);
    let mut bytes = vec![0; nbytes.max(0) as usize];
    let rc = s.decompress_given(&given.bytes, &mut bytes);
    Outcome {
        rc: given.rc,
        bytes: if rc == i64::from(nbytes) {
            bytes
        } else {
            rc.to_le_bytes().to_vec()
        },
        numbers: vec![i64::from(given.needs_free)],
        state: None,
    }
}

/// What is in a super-chunk that should be there.
fn found(schunk: Option<Schunk>) -> Outcome {
    match schunk {
        None => Outcome {
            rc: -1,
            ..Outcome::default()
        },
        Some(schunk) => Outcome {
            state: Some(read(&schunk)),
            ..Outcome::default()
        },
    }
}

fn remove(path: &Path) {
    // Whichever it is; a failed copy leaves nothing.
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_dir_all(path);
}
