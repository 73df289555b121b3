//! A sweep that is divided between processes, one for each core.

use super::isolated::start;
use super::report::Report;
use std::path::{Path, PathBuf};

/// Which part of a sweep a process has.
#[derive(Clone, Copy)]
pub struct Part {
    /// From 0 on.
    pub worker: usize,
    pub workers: usize,
}

impl Part {
    /// Whether the case with this number belongs to it.
    pub fn has(&self, case: usize) -> bool {
        case % self.workers == self.worker
    }

    /// Where the worker with this folder may say what it is at.
    pub fn at(own: &Path) -> PathBuf {
        own.with_extension("at")
    }
}

/// Runs `work` in forked children that may take `seconds`, each with its part and an empty folder
/// under `folder`; gives what all of them found.
pub fn divided(seconds: u32, folder: &Path, work: impl Fn(Part, &Path) -> Report) -> Report {
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get().min(8));
    let found = |worker: usize| folder.join(format!("found{worker}"));
    let own = |worker: usize| folder.join(format!("worker{worker}"));
    let working: Vec<_> = (0..workers)
        .map(|worker| {
            let own = own(worker);
            std::fs::create_dir_all(&own).expect("a folder for a worker");
            let (work, found) = (&work, found(worker));
            start(seconds, move || {
                let report = work(Part { worker, workers }, &own);
                std::fs::write(found, report.to_text()).map_err(|error| error.to_string())
            })
        })
        .collect();
    let mut report = Report::default();
    for (worker, child) in working.into_iter().enumerate() {
        match child.join() {
            Ok(()) => {
                let found = std::fs::read_to_string(found(worker));
                report.add_text(&found.expect("what a worker found"));
            }
            Err(wrong) => {
                let at = std::fs::read_to_string(Part::at(&own(worker))).unwrap_or_default();
                report.fail("a worker", format!("{wrong}, at {at}"));
            }
        }
    }
    report
}
