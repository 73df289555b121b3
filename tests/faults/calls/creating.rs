//! Trials of creations: nothing half made is left, and what was there stays.

use super::creations::{Creation, Source, There, creations, parameters, source};
use super::faults::{Fault, shim};
use super::place::{Storage, Tree, changed, clear, tree};
use super::sweep::{Sweep, Variant, Wrong, check};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::schunk::SchunkLib;
use oxiblosc_testing::schunk_state::{State, read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// What the source shows, through its handles.
fn shown(source: &Source) -> (State, Result<Vec<u8>, i32>) {
    (read(&source.schunk), source.array.to_buffer())
}

impl Creation {
    fn name(&self) -> String {
        format!("{} from {:?}", self.operation, self.from)
    }

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
    fn created(&self, sweep: &Sweep, path: &Path, rc: i64) -> Result<State, Wrong> {
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
            return sweep.broken(&self.name(), rc);
        }
        let expected = match self.created(sweep, &target, rc) {
            Ok(expected) => expected,
            Err((_, wrong)) => return sweep.broken(&self.name(), wrong),
        };
        let target = self.clear(sweep);
        let (_, faults) = shim().faults(&sweep.root, || (self.make)(&source, &target));
        sweep.run(&self.name(), &faults, |sweep, fault| {
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
            let new = creation.created(sweep, target, 0).ok();
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
        let state = self.creation.created(sweep, target, rc)?;
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

/// The names of all operations.
pub fn operations() -> impl Iterator<Item = String> {
    creations().into_iter().map(|creation| creation.operation)
}

/// All creations.
pub fn sweep(sweep: &mut Sweep) {
    let all = creations();
    for (at, creation) in all.iter().enumerate() {
        let is_same = |other: &&Creation| other.operation == creation.operation;
        let variant = Variant {
            operation: &creation.operation,
            number: all[..at].iter().filter(is_same).count(),
            of: all.iter().filter(is_same).count(),
        };
        if sweep.wants(&variant, &creation.name()) {
            creation.sweep(sweep);
        }
    }
}
