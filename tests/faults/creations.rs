//! Making frames: new ones, copies, files of buffers.

use super::faults::{Fault, shim};
use super::place::{Storage, Tree, changed, clear, tree};
use super::sweep::{Sweep, Wrong, check};
use crate::common::b2nd::{Array, Spec, c_path, our_arrays};
use crate::common::data::Kind;
use crate::common::maps::Opened;
use crate::common::schunk::SchunkLib;
use crate::common::schunk_calls::Schunk;
use crate::common::schunk_state::{State, read};
use blosc2::capi::types::blosc2_cparams;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Bytes of a chunk.
const CHUNK: usize = 4000;

/// What is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// Chunks each on its own, in memory.
    Separate,
    /// A frame in memory.
    Memory,
    File,
    Directory,
}

/// What lies where something is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum There {
    Nothing,
    /// A frame in a file that nobody else may read.
    File,
    /// A link to such a file.
    Link,
}

/// What a creation has to work with.
struct Source {
    schunk: Schunk,
    array: Array,
}

/// Makes something at a path; gives an error code, or where in the file it begins.
type Make = fn(&Source, &Path) -> i64;

struct Creation {
    name: String,
    from: From,
    there: There,
    /// Whether what is there stays, before what is made.
    appends: bool,
    make: Make,
}

fn parameters() -> blosc2_cparams {
    blosc2_cparams {
        typesize: 8,
        blocksize: 1000,
        ..blosc2_cparams::defaults()
    }
}

fn spec(contiguous: bool, path: Option<&Path>) -> Spec {
    Spec {
        shape: vec![30, 40],
        chunks: vec![20, 25],
        blocks: vec![5, 25],
        cparams: parameters(),
        nthreads: 1,
        contiguous,
        path: path.map(c_path),
    }
}

fn made<T, E>(made: Result<T, E>) -> i64 {
    if made.is_ok() { 0 } else { -1 }
}

fn new(source: &Source, contiguous: bool, path: &Path) -> i64 {
    let lib = source.schunk.lib;
    made(
        lib.create(contiguous, Some(path), &parameters(), 1, None)
            .ok_or(()),
    )
}

fn new_map(source: &Source, path: &Path) -> i64 {
    made(Opened::new_map(source.schunk.lib, path, &parameters()).ok_or(()))
}

fn copied(source: &Source, contiguous: bool, path: &Path, cparams: Option<&blosc2_cparams>) -> i64 {
    made(
        source
            .schunk
            .copy(contiguous, Some(path), cparams)
            .ok_or(()),
    )
}

fn array(source: &Source) -> &Array {
    &source.array
}

fn special(contiguous: bool, path: &Path, full: bool) -> i64 {
    let arrays = our_arrays();
    let value = 5.5f64;
    made(arrays.make(&spec(contiguous, Some(path)), |ctx, array| {
        // SAFETY: parameters, a place and an item.
        unsafe {
            match full {
                true => (arrays.f.b2nd_full)(ctx, array, (&raw const value).cast()),
                false => (arrays.f.b2nd_zeros)(ctx, array),
            }
        }
    }))
}

fn other_chunks(contiguous: bool, path: &Path) -> Spec {
    Spec {
        chunks: vec![10, 20],
        blocks: vec![5, 10],
        ..spec(contiguous, Some(path))
    }
}

fn save(source: &Source, path: &Path) -> i64 {
    let source = array(source);
    // SAFETY: an array and a string that lives across the call.
    unsafe { (source.lib.f.b2nd_save)(source.raw(), c_path(path).as_ptr().cast_mut()) }.into()
}

fn save_append(source: &Source, path: &Path) -> i64 {
    let source = array(source);
    // SAFETY: an array and a string that lives across the call.
    unsafe { (source.lib.f.b2nd_save_append)(source.raw(), c_path(path).as_ptr()) }
}

/// Those that are made at all.
fn creations() -> Vec<Creation> {
    let mut all = Vec::new();
    let mut add = |name: &str, from: From, there: There, appends: bool, make: Make| {
        let name = format!("{name} from {from:?} over {there:?}");
        all.push(Creation {
            name,
            from,
            there,
            appends,
            make,
        });
    };
    let nothing = There::Nothing;
    add("new file", From::Memory, nothing, false, |s, to| {
        new(s, true, to)
    });
    add("new directory", From::Memory, nothing, false, |s, to| {
        new(s, false, to)
    });
    add("new map", From::Memory, nothing, false, new_map);
    for from in [From::Separate, From::Memory, From::File, From::Directory] {
        add("copy to a file", from, nothing, false, |s, to| {
            copied(s, true, to, None)
        });
        add("copy to a directory", from, nothing, false, |s, to| {
            copied(s, false, to, None)
        });
        add("to_file", from, nothing, false, |s, to| {
            s.schunk.to_file(to)
        });
        add("append_file", from, nothing, true, |s, to| {
            s.schunk.append_file(to)
        });
        for there in [There::File, There::Link] {
            add("append_file", from, there, true, |s, to| {
                s.schunk.append_file(to)
            });
        }
        add("array saved", from, nothing, false, save);
        add("array appended", from, There::File, true, save_append);
        add("array copied to a file", from, nothing, false, |s, to| {
            made(array(s).copy(&spec(true, Some(to))))
        });
        add(
            "array copied to other chunks in a file",
            from,
            nothing,
            false,
            |s, to| made(array(s).copy(&other_chunks(true, to))),
        );
        add(
            "array copied to other chunks in a directory",
            from,
            nothing,
            false,
            |s, to| made(array(s).copy(&other_chunks(false, to))),
        );
        add(
            "slice of an array in a file",
            from,
            nothing,
            false,
            |s, to| made(array(s).slice(&spec(true, Some(to)), &[3, 4], &[25, 33])),
        );
        add(
            "slice of an array in a directory",
            from,
            nothing,
            false,
            |s, to| made(array(s).slice(&spec(false, Some(to)), &[3, 4], &[25, 33])),
        );
        add("arrays joined in a file", from, nothing, false, |s, to| {
            made(array(s).joined(&spec(true, Some(to)), array(s), 0))
        });
    }
    add(
        "copy with other parameters",
        From::File,
        nothing,
        false,
        |s, to| {
            let cparams = blosc2_cparams {
                clevel: 1,
                compcode: 1,
                ..parameters()
            };
            copied(s, true, to, Some(&cparams))
        },
    );
    for there in [There::File, There::Link] {
        add("to_file", From::Memory, there, false, |s, to| {
            s.schunk.to_file(to)
        });
    }
    add(
        "array of a buffer in a file",
        From::Memory,
        nothing,
        false,
        |_, to| of_buffer(true, to),
    );
    add(
        "array of a buffer in a directory",
        From::Memory,
        nothing,
        false,
        |_, to| of_buffer(false, to),
    );
    add("zeros in a file", From::Memory, nothing, false, |_, to| {
        special(true, to, false)
    });
    add(
        "zeros in a directory",
        From::Memory,
        nothing,
        false,
        |_, to| special(false, to, false),
    );
    add(
        "one value in a file",
        From::Memory,
        nothing,
        false,
        |_, to| special(true, to, true),
    );
    add(
        "one value in a directory",
        From::Memory,
        nothing,
        false,
        |_, to| special(false, to, true),
    );
    all
}

fn of_buffer(contiguous: bool, path: &Path) -> i64 {
    let items = Kind::SmoothFloat64.bytes(30 * 40 * 8, 3);
    made(our_arrays().array_of(&spec(contiguous, Some(path)), &items))
}

/// Something to copy, in a folder of its own.
fn source(sweep: &Sweep, from: From) -> Source {
    let folder = sweep.root.join("source");
    clear(&folder);
    let on_disk = matches!(from, From::File | From::Directory);
    let path = |name: &str| on_disk.then(|| folder.join(name));
    let contiguous = matches!(from, From::Memory | From::File);
    let place = path("schunk");
    let s = sweep
        .lib
        .create(contiguous, place.as_deref(), &parameters(), 1, None)
        .expect("a super-chunk");
    let fine = |rc: i64| assert!(rc >= 0, "the source: {rc}");
    fine(s.meta_add(c"fixed", b"twenty bytes content"));
    for (seed, kind) in [
        (1, Kind::SmoothFloat64),
        (2, Kind::Random),
        (3, Kind::SmoothFloat64),
    ] {
        fine(s.append_buffer(&kind.bytes(CHUNK, seed), CHUNK as i32));
    }
    fine(s.vlmeta_add(c"first", &[7; 300]));
    let items = Kind::SmoothFloat64.bytes(30 * 40 * 8, 4);
    let array = our_arrays()
        .array_of(&spec(contiguous, path("array").as_deref()), &items)
        .expect("an array");
    let opened = |path: PathBuf| sweep.lib.open_path(&path).expect("what was just made");
    let (s, array) = match on_disk {
        false => (s, array),
        true => {
            drop((s, array));
            let array = our_arrays().open_path(&folder.join("array"));
            (opened(folder.join("schunk")), array.expect("an array"))
        }
    };
    Source { schunk: s, array }
}

/// What the source shows, through its handles.
fn shown(source: &Source) -> (State, Result<Vec<u8>, i32>) {
    (read(&source.schunk), source.array.to_buffer())
}

impl Creation {
    /// The folder of the target as it is before, and the path of the target.
    fn clear(&self, sweep: &Sweep) -> PathBuf {
        let target = sweep.work();
        let folder = target.parent().expect("a folder");
        clear(folder);
        let file = match self.there {
            There::Nothing => return target,
            There::File => target.clone(),
            There::Link => folder.join("linked"),
        };
        std::fs::write(&file, old(sweep.lib)).expect("a file");
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&file, mode).expect("a mode");
        if self.there == There::Link {
            symlink("linked", &target).expect("a link");
        }
        target
    }

    /// What was made, where the creation says that it is.
    fn made(&self, sweep: &Sweep, path: &Path, rc: i64) -> Result<State, Wrong> {
        let mut states = Vec::new();
        for lib in [Some(sweep.lib), sweep.reference].into_iter().flatten() {
            let offset = if self.appends { rc } else { 0 };
            let Some(s) = lib.open_at(path, offset) else {
                return Err(("corrupt", format!("{}: it does not open", lib.lib.name)));
            };
            states.push(read(&s));
        }
        let same = states.windows(2).all(|pair| pair[0] == pair[1]);
        check(same, "corrupt", || {
            "the libraries see different things".to_owned()
        })?;
        let state = states.swap_remove(0);
        let readable = state.chunks.iter().all(Result::is_ok);
        check(readable, "corrupt", || "unreadable chunks".to_owned())?;
        Ok(state)
    }

    fn sweep(&self, sweep: &mut Sweep) {
        let source = source(sweep, self.from);
        let before = shown(&source);
        let target = self.clear(sweep);
        let there = tree(&sweep.root.join("work"));
        let rc = (self.make)(&source, &target);
        if rc < 0 {
            return sweep.broken(&self.name, rc);
        }
        let expected = match self.made(sweep, &target, rc) {
            Ok(expected) => expected,
            Err((_, wrong)) => return sweep.broken(&self.name, wrong),
        };
        let target = self.clear(sweep);
        let (_, faults) = shim().faults(&sweep.root, || (self.make)(&source, &target));
        sweep.run(&self.name, &faults, |sweep, fault| {
            let target = self.clear(sweep);
            let trial = Trial {
                creation: self,
                source: &source,
                expected: &expected,
                there: &there,
            };
            trial.run(sweep, fault, &target)?;
            check(shown(&source) == before, "bad handle", || {
                "the source shows something else".to_owned()
            })
        });
    }
}

struct Trial<'a> {
    creation: &'a Creation,
    source: &'a Source,
    expected: &'a State,
    there: &'a Tree,
}

impl Trial<'_> {
    fn run(&self, sweep: &Sweep, fault: &Fault, target: &Path) -> Result<(), Wrong> {
        let (creation, folder) = (self.creation, sweep.root.join("work"));
        let make = || (creation.make)(self.source, target);
        let rc = shim().failing(&sweep.root, fault, make);
        check(rc >= 0 || !fault.is_harmless(), "not gone on with", || {
            format!("returns {rc}")
        })?;
        if rc >= 0 {
            return self.look(sweep, target, rc, fault);
        }
        let left = changed(self.there, &tree(&folder));
        if fault.allows_cleaning() {
            check(left.is_empty(), "partial file", || {
                format!("returns {rc}; {}", left.join(", "))
            })?;
        } else if creation.there == There::Nothing {
            creation.clear(sweep);
        } else {
            let old = sweep.lib.open_path(target).map(|s| read(&s));
            let new = creation.made(sweep, target, 0).ok();
            let whole = old == Some(old_state(sweep.lib)) || new.as_ref() == Some(self.expected);
            check(whole, "corrupt", || {
                format!("returns {rc}; what was there is gone")
            })?;
        }
        let again = make();
        check(again >= 0, "bad handle", || {
            format!("returns {rc}, and {again} when made again")
        })?;
        let said = |(kind, wrong): Wrong| (kind, format!("returns {rc}; made again, {wrong}"));
        self.look(sweep, target, again, fault).map_err(said)
    }

    /// What was made is what it should be, and nothing else is there.
    fn look(&self, sweep: &Sweep, target: &Path, rc: i64, fault: &Fault) -> Result<(), Wrong> {
        let state = self.creation.made(sweep, target, rc)?;
        check(state == *self.expected, "wrong code", || {
            "something else was made".to_owned()
        })?;
        if self.creation.appends && self.creation.there != There::Nothing {
            sweep.look(Storage::File, target, &[&old_state(sweep.lib)])?;
        }
        let folder = sweep.root.join("work");
        let names =
            |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
        let left: Vec<_> = folder.read_dir().expect("a folder").map(names).collect();
        let known = ["frame", "linked", "frame.b2lock"];
        let others = left
            .iter()
            .filter(|name| !known.iter().any(|known| *name == known));
        check(
            others.count() == 0 || !fault.allows_cleaning(),
            "partial file",
            || format!("{left:?}"),
        )?;
        if self.creation.there != There::Nothing {
            let file = target.metadata().expect("a file");
            check(
                file.permissions().mode() & 0o777 == 0o600,
                "another mode",
                || format!("{:o}", file.permissions().mode()),
            )?;
            let linked = target.is_symlink() == (self.creation.there == There::Link);
            check(linked, "no link any more", || target.display().to_string())?;
        }
        Ok(())
    }
}

/// The bytes of a frame that is there before.
fn old(lib: &'static SchunkLib) -> Vec<u8> {
    let s = lib
        .create(true, None, &parameters(), 1, None)
        .expect("a frame");
    assert_eq!(s.append_buffer(&Kind::Random.bytes(400, 9), 400), 1);
    s.to_buffer().1
}

fn old_state(lib: &'static SchunkLib) -> State {
    read(&lib.open_buffer(&old(lib), true).expect("a frame"))
}

/// All creations.
pub fn sweep(sweep: &mut Sweep) {
    for creation in creations() {
        if sweep.wants(&creation.name) {
            creation.sweep(sweep);
        }
    }
}
