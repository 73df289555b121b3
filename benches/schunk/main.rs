//! Super-chunks, ours against the reference in one process: the same calls in the same storage,
//! taking turns.
//!
//! ```text
//! OXIBLOSC_REFERENCE=.../libblosc2.so.9 cargo bench --bench schunk -- [--quick] [--out DIR] [--disk DIR] [WORD...]
//! ```
//!
//! Writes `schunk.csv` and `schunk.svg` into DIR (`target/compare` by default) and prints the
//! geometric mean of the speed ratios of each group beside its goal, and the rows in which ours is
//! slower. Files are created in the folder that `--disk` names (`target/compare` by default).
//! `--quick` leaves out the 20,000 appends and the threads. With words, only rows whose description
//! has all of them are measured (`append file`).

mod measure;
mod report;
mod rows;

use oxiblosc_testing::schunk::{our_schunks, reference_schunks};
use std::path::PathBuf;

fn main() {
    let target = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/compare");
    let (mut quick, mut out, mut disk) = (false, target.clone(), target);
    let mut words = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => quick = true,
            // Cargo passes this.
            "--bench" => {}
            "--out" => out = PathBuf::from(arguments.next().expect("--out takes a folder")),
            "--disk" => disk = PathBuf::from(arguments.next().expect("--disk takes a folder")),
            word => words.push(word.to_lowercase()),
        }
    }
    let ours = our_schunks();
    let Some(reference) = reference_schunks() else {
        return;
    };
    let folder = disk.join(format!("schunk-{}", std::process::id()));
    for path in [&out, &folder] {
        std::fs::create_dir_all(path).expect("the folders can be made");
    }
    let mut measured = Vec::new();
    for row in rows::rows(quick) {
        let description = row.describe().to_lowercase();
        if words.iter().all(|word| description.contains(word)) {
            let result = measure::measure(&row, [ours, reference], &folder, quick);
            println!("{:6.2}  {}", result.ratio(), row.describe());
            measured.push((row, result));
        }
    }
    std::fs::remove_dir_all(&folder).expect("the folder made above");
    for (name, content) in [
        ("schunk.csv", report::csv(&measured)),
        ("schunk.svg", report::svg(&measured)),
    ] {
        let path = out.join(name);
        std::fs::write(&path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        println!("wrote {}", path.display());
    }
    print!("{}", report::summary(&measured));
}
