//! Tests of calls that fail in the middle: the super-chunk then has the state from before, and
//! later calls work.

use super::SuperChunk;
use crate::CParams;
use crate::StorageParams;
use crate::context::{Compressor, Decompressor};
use crate::decoding::DecodeContext;
use crate::encoding::EncodeContext;
use crate::params::DParams;
use crate::schunk::host::Contexts;
use crate::schunk::host::{Host, WindowCounts};
use crate::schunk::open::{NewSuperChunk, Place, Protection, next_id};
use crate::schunk::rules::Counts;
use crate::schunk::state::State;
use crate::schunk::store::ChunkStore;
use oxiblosc_base::system::locks;
use oxiblosc_base::{Error, Result};
use oxiblosc_frame::disk::Options;
use oxiblosc_io::file::Filesystem;
use oxiblosc_io::{operation, shared};
use std::ffi::CString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A window for which there is no memory after so many calls.
struct FailingWindow {
    contexts: Contexts,
    calls_left: Arc<AtomicUsize>,
}

impl Host for FailingWindow {
    fn encoder(&self) -> Result<&dyn EncodeContext> {
        self.contexts.encoder()
    }

    fn decoder(&self) -> Result<&dyn DecodeContext> {
        self.contexts.decoder()
    }

    fn prepare(&self, _state: &mut State, _count: WindowCounts) -> Result<()> {
        let less = |left: usize| left.checked_sub(1);
        let (order, failed) = (Ordering::Relaxed, Ordering::Relaxed);
        match self.calls_left.fetch_update(order, failed, less) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::MEMORY_ALLOC),
        }
    }
}

fn window() -> (Box<dyn Host>, Arc<AtomicUsize>) {
    let calls_left = Arc::new(AtomicUsize::new(usize::MAX));
    let window = FailingWindow {
        contexts: Contexts {
            compressor: Compressor::new(CParams::default()),
            decompressor: Decompressor::new(DParams::default()),
        },
        calls_left: calls_left.clone(),
    };
    (Box::new(window), calls_left)
}

pub(super) fn temporary(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("oxiblosc-{name}-{}", std::process::id()));
    remove(&path);
    path
}

pub(super) fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_file(path.with_extension("b2lock"));
}

/// All that a handle shows, but for `cbytes`: bytes that a frame has for deleted chunks are counted
/// in some cases.
#[derive(Debug, PartialEq)]
pub(super) struct Content {
    counts: Counts,
    chunks: Vec<Vec<u8>>,
    layers: Vec<(Vec<u8>, Vec<u8>)>,
}

pub(super) fn content(schunk: &SuperChunk) -> Content {
    let state = schunk.read().expect("the state");
    let nchunks = 0..state.nchunks();
    let layers = state.metalayers().iter().chain(state.vlmetalayers());
    Content {
        counts: Counts {
            cbytes: 0,
            ..state.counts()
        },
        chunks: nchunks
            .map(|nchunk| schunk.chunk(nchunk).expect("a chunk").to_vec())
            .collect(),
        layers: layers
            .map(|layer| (layer.name.to_vec(), layer.content.to_vec()))
            .collect(),
    }
}

/// A change, or what sees the change of another handle, which is the second one.
type Action = fn(&SuperChunk, Option<&SuperChunk>) -> Result<()>;

const ACTIONS: [(&str, Action); 8] = [
    ("append", |own, _| own.append_data(&[3; 400]).map(drop)),
    ("delete", |own, _| own.delete_chunk(0).map(drop)),
    ("reorder", |own, _| own.reorder(&[1, 0])),
    ("metalayer", |own, _| {
        own.set_vlmetalayer(b"new", &[5; 300])?;
        own.set_vlmetalayer(b"new", &[6; 30])?;
        own.delete_vlmetalayer(b"new").map(drop)
    }),
    ("write", |own, _| own.write_bytes(10, &[8; 500])),
    ("transaction", |own, _| {
        let transaction = own.transaction()?;
        own.append_data(&[3; 400])?;
        own.set_vlmetalayer(b"new", &[5; 300])?;
        own.delete_chunk(0)?;
        transaction.commit()
    }),
    ("rollback", |own, _| {
        let transaction = own.transaction()?;
        own.set_vlmetalayer(b"new", &[5; 300])?;
        own.delete_vlmetalayer(b"old")?;
        transaction.abandon()
    }),
    ("refresh", |own, other| {
        if let Some(other) = other {
            other.set_vlmetalayer(b"new", &[5; 300])?;
            other.append_data(&[4; 400])?;
        }
        own.refresh().map(drop)
    }),
];

/// Runs an action so that its `nth` preparation of the window fails. Gives whether it succeeded, as
/// there are fewer.
fn fail_at(nth: usize, path: Option<&CString>, (name, action): (&str, Action)) -> bool {
    let (host, calls_left) = window();
    let options = || {
        Ok(Options {
            backend: shared(Filesystem)?,
            locking: false,
            durable: false,
        })
    };
    let new = NewSuperChunk {
        path: path.map(|path| &**path),
        contiguous: path.is_some(),
        options: &options,
        hidden: false,
        checksums: false,
        parameters: CParams::default().recorded(),
        host,
        id: None,
    };
    let own = new.make().expect("a super-chunk");
    for value in [1, 2] {
        own.append_data(&[value; 400]).expect("appends");
    }
    own.set_vlmetalayer(b"old", b"content").expect("adds");
    let open = || {
        path.map(|path| {
            let (store, loaded) = ChunkStore::open(path, 0, options).expect("a frame");
            let (host, _) = window();
            SuperChunk::of_frame(store, loaded, host, next_id()).expect("a frame")
        })
    };
    let (before, other) = (content(&own), open());
    calls_left.store(nth, Ordering::Relaxed);
    let done = action(&own, other.as_ref());
    calls_left.store(usize::MAX, Ordering::Relaxed);
    drop(other);
    if let Err(error) = done {
        assert_eq!(error, Error::MEMORY_ALLOC, "{name}");
    }
    match open() {
        Some(fresh) => assert_eq!(content(&own), content(&fresh), "{name}, call {nth}"),
        // Several changes, each of which may have been made.
        None if done.is_ok() || name == "metalayer" => {}
        None => assert_eq!(content(&own), before, "{name}, call {nth}"),
    }
    own.append_data(&[9; 400]).expect("works again");
    done.is_ok()
}

#[test]
fn a_window_without_memory_changes_nothing() {
    let file = temporary("window");
    let name = CString::new(file.to_str().expect("a text")).expect("no zero inside");
    for path in [Some(&name), None] {
        for action in ACTIONS {
            let mut nth = 0;
            loop {
                remove(&file);
                if fail_at(nth, path, action) {
                    break;
                }
                nth += 1;
            }
        }
    }
    remove(&file);
}

#[test]
fn an_unlock_that_fails_can_be_repeated() {
    let path = temporary("unlock");
    let storage = StorageParams {
        place: Place::File(&path),
        protection: Protection {
            locking: true,
            ..Protection::default()
        },
        ..StorageParams::default()
    };
    let schunk = SuperChunk::create(storage).expect("a frame");
    let is_free = || {
        let file = File::open(path.with_extension("b2lock")).expect("a lock file");
        locks::try_lock(&file).is_ok()
    };
    schunk.lock().expect("locks");
    {
        let _reading = schunk.read().expect("the state");
        let _callback = operation::call_backend();
        assert_eq!(schunk.unlock(), Err(Error::LOCK));
    }
    assert!(!is_free());
    schunk.unlock().expect("unlocks");
    assert!(is_free());
    drop(schunk);
    remove(&path);
}
