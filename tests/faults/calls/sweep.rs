//! The process that is started again, and what all sweeps have in common.

use super::faults::{Class, Fault};
use super::place::{Storage, clear, open_files};
use super::{creating, following, frames};
use oxiblosc_testing::folder::without_syncs;
use oxiblosc_testing::own_process::again;
use oxiblosc_testing::panics::assert_fatal;
use oxiblosc_testing::report::Report;
use oxiblosc_testing::schunk::{SchunkLib, our_schunks, reference_schunks};
use oxiblosc_testing::schunk_state::State;
use oxiblosc_testing::shim;
use oxiblosc_testing::test_name;
use oxiblosc_testing::workers::{Part, divided};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Tells the process that it has the shim, and which folder is its own.
const FOLDER: &str = "OXIBLOSC_FAULTS_FOLDER";
/// Says what is run.
const WHICH: &str = "OXIBLOSC_FAULTS";
/// Of how many calls of a class that fail in one way or another one more is in the sample.
const SAMPLE: usize = 34;
/// What trials of an operation are noted as, with its name.
const TRIALS: &str = "trials of ";

/// Seconds that all may take, on a machine that has much else to do.
const PATIENCE: u32 = 4 * 3600;

/// What went wrong: a kind, and what exactly.
pub type Wrong = (&'static str, String);

/// Something wrong unless `ok`.
pub fn check(ok: bool, kind: &'static str, which: impl FnOnce() -> String) -> Result<(), Wrong> {
    if ok { Ok(()) } else { Err((kind, which())) }
}

/// A run over all cases.
pub struct Sweep {
    pub lib: &'static SchunkLib,
    pub reference: Option<&'static SchunkLib>,
    /// Where all files are on which calls fail.
    pub root: PathBuf,
    pub report: Report,
    only: String,
    /// How the environment is set.
    environment: &'static str,
    part: Part,
    /// Cases so far, of all workers.
    cases: usize,
    /// The operation of the case.
    operation: String,
}

/// An operation in one of its variants: where a frame is, or what is copied.
pub struct Variant<'a> {
    pub operation: &'a str,
    pub number: usize,
    /// How many variants the operation has.
    pub of: usize,
}

impl Sweep {
    /// A path in the folder where the trials are made.
    pub fn work(&self) -> PathBuf {
        self.root.join("work/frame")
    }

    /// Whether anything of this case is run, here.
    pub fn wants(&mut self, variant: &Variant, case: &str) -> bool {
        if !self.is_chosen(variant, case) {
            return false;
        }
        self.operation = variant.operation.to_owned();
        self.cases += 1;
        self.part.has(self.cases)
    }

    /// One variant of each operation is in the sample, which depends on the environment.
    fn is_chosen(&self, variant: &Variant, case: &str) -> bool {
        match &*self.only {
            "" => {
                let first = self.hash(variant.operation) as usize % variant.of;
                variant.number == first
            }
            "full" => true,
            only => case.contains(only),
        }
    }

    /// The faults of a case that are tried: some of each class of calls.
    fn sample<'a>(&self, case: &str, faults: &'a [Fault]) -> Vec<&'a Fault> {
        if !self.only.is_empty() {
            return faults.iter().collect();
        }
        let mut classes: BTreeMap<Class, Vec<&Fault>> = BTreeMap::new();
        for fault in faults {
            classes.entry(fault.class).or_default().push(fault);
        }
        let some = |mut faults: Vec<&'a Fault>| {
            faults.sort_by_key(|fault| self.hash((case, fault.name())));
            faults.truncate(1 + faults.len() / SAMPLE);
            faults
        };
        classes.into_values().flat_map(some).collect()
    }

    fn hash(&self, what: impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        (what, self.environment).hash(&mut hasher);
        hasher.finish()
    }

    /// Runs the trials of a case.
    pub fn run(
        &mut self,
        case: &str,
        faults: &[Fault],
        trial: impl Fn(&mut Sweep, &Fault) -> Result<(), Wrong>,
    ) {
        for fault in self.sample(case, faults) {
            let which = format!("{case}{}, {}", self.environment, fault.name());
            // What a worker was at is told if it dies.
            std::fs::write(Part::at(&self.root), &which).expect("a file");
            self.report.case();
            self.report.note(&format!("{TRIALS}{}", self.operation));
            let open = open_files(&self.root);
            let tried = trial(self, fault);
            if let Err((kind, wrong)) = tried.and_then(|()| self.leaks(&open, fault)) {
                self.report.fail(kind, format!("{which}: {wrong}"));
            }
        }
    }

    /// A case that does not work even when nothing fails.
    pub fn broken(&mut self, case: &str, wrong: impl std::fmt::Display) {
        self.report
            .fail("without a fault", format!("{case}: {wrong}"));
    }

    /// Opens what lies at a path with both libraries; it must be one of `expected`.
    pub fn look(&self, storage: Storage, path: &Path, expected: &[&State]) -> Result<(), Wrong> {
        self.look_with(&[Some(self.lib), self.reference], storage, path, expected)
    }

    /// As [`Self::look`], with our library alone.
    pub fn look_ours(&self, storage: Storage, path: &Path, states: &[&State]) -> Result<(), Wrong> {
        self.look_with(&[Some(self.lib)], storage, path, states)
    }

    fn look_with(
        &self,
        libs: &[Option<&'static SchunkLib>],
        storage: Storage,
        path: &Path,
        expected: &[&State],
    ) -> Result<(), Wrong> {
        for lib in libs.iter().copied().flatten() {
            let name = lib.lib.name;
            let Some(state) = storage.state(lib, path) else {
                return Err(("corrupt", format!("{name}: it does not open")));
            };
            let readable = state.chunks.iter().all(Result::is_ok);
            check(readable, "corrupt", || format!("{name}: unreadable chunks"))?;
            check(expected.contains(&&state), "wrong", || {
                format!("{name}: another state")
            })?;
        }
        Ok(())
    }

    /// Nothing is open that was not open before. Maps that cannot be unmapped stay.
    fn leaks(&self, before: &[OsString], fault: &Fault) -> Result<(), Wrong> {
        let mut open = open_files(&self.root);
        if fault.is_on_maps() {
            open.retain(|file| file.as_encoded_bytes().starts_with(b"/"));
        }
        let new: Vec<&OsString> = open.iter().filter(|file| !before.contains(file)).collect();
        check(new.is_empty() && open.len() <= before.len(), "leak", || {
            format!("{new:?} of {} files, {} before", open.len(), before.len())
        })
    }
}

/// Sets variables that the libraries look at.
fn set(variables: &[(&str, &str)]) {
    for (name, value) in variables {
        // SAFETY: the other threads of this process, the test harness's, do not look at the
        // environment.
        unsafe { std::env::set_var(name, value) };
    }
}

#[test]
fn every_call_fails_in_turn() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return run(Path::new(&folder));
    }
    let folder = without_syncs().join(format!("oxiblosc-faults-{}", std::process::id()));
    clear(&folder);
    let shim = shim::compile(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/calls/shim.c"),
        &folder,
    );
    let status = again(test_name!())
        .env(FOLDER, folder.join("files"))
        .env("LD_PRELOAD", shim)
        // A lock that is never given back is an error, not a wait without an end.
        .env("BLOSC_LOCK_TIMEOUT", "5")
        .status()
        .expect("this program, started again");
    std::fs::remove_dir_all(&folder).expect("the test's own folder");
    assert!(status.success(), "{status}");
}

fn run(folder: &Path) {
    assert_fatal();
    let lib = our_schunks();
    let reference = reference_schunks();
    let only = std::env::var(WHICH).unwrap_or_default();
    let mut report = divided(PATIENCE, folder, |part, own| {
        let mut sweep = Sweep {
            lib,
            reference,
            root: own.to_path_buf(),
            report: Report::default(),
            only: only.clone(),
            environment: "",
            part,
            cases: 0,
            operation: String::new(),
        };
        let variables = ["BLOSC_DURABLE", "BLOSC_LOCKING", "BLOSC_CHECKSUMS"];
        let plain = variables.map(|name| (name, ""));
        let careful = variables.map(|name| (name, "1"));
        let runs = [("", plain), (", durable, locked, with checksums", careful)];
        for (name, variables) in runs {
            set(&variables);
            sweep.environment = name;
            frames::sweep(&mut sweep);
            following::sweep(&mut sweep);
            creating::sweep(&mut sweep);
        }
        sweep.report
    });
    let trials = report.take_notes(TRIALS);
    if matches!(&*only, "" | "full") {
        let changing = frames::operations().chain(following::operations());
        for operation in changing.chain(creating::operations()) {
            report.check(trials.contains_key(&operation), "no trial", || operation);
        }
    }
    report.finish("calls that failed");
}
