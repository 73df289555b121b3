//! Random sequences of every operation on an array, on all storages, by our library, by the
//! reference and by a plain model: our bytes and shapes must be the model's, and our return codes
//! the reference's, but where it is known to be wrong. What is on disk or in a frame is opened
//! crosswise in between.
//!
//! `OXIBLOSC_MODEL` is the number of sequences (200 by default), `OXIBLOSC_MODEL_FIRST` that of the
//! first: the same number always gives the same sequence. With `OXIBLOSC_MODEL_STEPS=1` every step
//! is printed.

mod expect;
mod ops;
mod sequence;

use oxiblosc_testing::isolated::isolated;
use oxiblosc_testing::report::Report;

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(value) => value.replace('_', "").parse().expect(name),
        Err(_) => default,
    }
}

#[test]
fn sequences() {
    oxiblosc_testing::own_process!();
    let reference = oxiblosc_testing::b2nd::reference_arrays();
    let ours = oxiblosc_testing::b2nd::our_arrays();
    let folder = std::env::temp_dir().join(format!("oxiblosc-b2nd-{}", std::process::id()));
    let log = folder.join("log");
    let mut report = Report::default();
    let first = number("OXIBLOSC_MODEL_FIRST", 0);
    for number in first..first + number("OXIBLOSC_MODEL", 200) {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        report.case();
        let done = isolated(60, || sequence::run(number, ours, reference, &folder));
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        for note in said.lines().filter_map(|line| line.strip_prefix("note ")) {
            report.note(note);
        }
        let last = said.lines().last().unwrap_or_default();
        match done {
            Ok(()) => {}
            Err(how) if how.starts_with("killed") && last.starts_with("reference") => {
                report.note("the reference dies");
            }
            Err(how) => {
                let what = how.split(':').next().unwrap_or_default().to_owned();
                report.fail(&what, format!("sequence {number}: {how}; {last}"));
            }
        }
    }
    std::fs::remove_dir_all(&folder).expect("the test's own folder");
    report.finish("sequences on arrays");
}
