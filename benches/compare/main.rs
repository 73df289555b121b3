//! Ours against the reference in one process: the same data, the same calls, taking turns.
//!
//! ```text
//! OXIBLOSC_REFERENCE=.../libblosc2.so.9 cargo bench --bench compare -- [--quick] [--from CSV] [--out DIR] [WORD...]
//! ```
//!
//! Writes `compare.csv` and `compare.svg` into DIR (`target/compare` by default) and prints the
//! geometric mean of the speed ratios of each group beside its goal, the rows in which ours is
//! slower, and the outputs that are larger. `--quick` uses less data and takes a minute. With
//! words, only rows whose description has all of them are measured (`lz4 decompress`). `--from`
//! measures nothing, but draws the table of an earlier run. With `OXIBLOSC_LIBRARY` naming a copy
//! of the reference every ratio should be 1: a check of the method and of how quiet the machine is.

mod measure;
mod plot;
mod rows;
mod summary;

use oxiblosc_testing::library::both;
use std::path::PathBuf;

/// The arguments.
struct Options {
    quick: bool,
    /// The table to draw.
    from: Option<PathBuf>,
    out: PathBuf,
    words: Vec<String>,
}

impl Options {
    fn parse() -> Options {
        let mut options = Options {
            quick: false,
            from: None,
            out: PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/compare"),
            words: Vec::new(),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => options.quick = true,
                // Cargo passes this.
                "--bench" => {}
                "--from" => {
                    options.from = Some(arguments.next().expect("--from takes a table").into())
                }
                "--out" => {
                    options.out = PathBuf::from(arguments.next().expect("--out takes a folder"))
                }
                word => options.words.push(word.to_lowercase()),
            }
        }
        options
    }
}

fn main() {
    let options = Options::parse();
    let table = options.from.as_ref().map(|path| {
        std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    });
    let libraries = match table {
        None => both(),
        Some(_) => None,
    };
    if table.is_none() && libraries.is_none() {
        return;
    }
    let cases = rows::cases(options.quick);
    let mut measured = Vec::new();
    for case in &cases {
        for row in rows::rows(case) {
            let description = row.describe().to_lowercase();
            if !options.words.iter().all(|word| description.contains(word)) {
                continue;
            }
            if let Some(result) = table.as_ref().and_then(|table| summary::read(table, &row)) {
                measured.push((row, result));
            } else if let Some((ours, reference)) = libraries {
                let result = measure::measure(case, &row, [ours, reference], options.quick);
                println!("{:5.2}  {}", result.ratio(), row.describe());
                measured.push((row, result));
            }
        }
    }
    std::fs::create_dir_all(&options.out).expect("the output folder can be made");
    let write = |name: &str, content: String| {
        let path = options.out.join(name);
        std::fs::write(&path, content).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        println!("wrote {}", path.display());
    };
    write("compare.csv", summary::csv(&measured));
    write("compare.svg", plot::svg(&measured));
    print!("{}", summary::summary(&measured));
}
