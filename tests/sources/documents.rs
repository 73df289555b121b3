//! What the documents name is there: files and folders of the repository, pages that are linked to,
//! and the map of the sources.

use std::fs;
use std::path::{Path, PathBuf};

/// The documents that are not in `docs`.
const OTHERS: [&str; 5] = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "packaging/README.md",
];

/// Folders and files at the root of the repository that a path may begin with.
const ROOTS: [&str; 14] = [
    "crates/",
    "src/",
    "tests/",
    "docs/",
    "benches/",
    "cmake/",
    "capi-tests/",
    "fuzz/",
    "include/",
    "packaging/",
    "examples/",
    "Cargo.toml",
    "build.rs",
    "clippy.toml",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(root().join(&path))
        .unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

/// All documents.
fn documents() -> Vec<String> {
    let docs = entries(&root().join("docs")).into_iter();
    let pages = docs.filter(|(name, _)| name.ends_with(".md"));
    let pages: Vec<_> = pages.map(|(name, _)| format!("docs/{name}")).collect();
    assert!(pages.len() > 5, "{pages:?}");
    OTHERS.map(str::to_owned).into_iter().chain(pages).collect()
}

/// What stands between `open` and `close`.
fn between<'a>(text: &'a str, open: &'a str, close: char) -> impl Iterator<Item = &'a str> {
    text.split(open)
        .skip(1)
        .filter_map(move |rest| rest.split_once(close).map(|(inside, _)| inside))
}

/// What follows links: `path#heading` in a page, and where the page is.
fn is_linked(page: &str, link: &str) -> bool {
    if link.starts_with("https://") {
        return true;
    }
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let path = match path {
        "" => PathBuf::from(page),
        path => Path::new(page).with_file_name("").join(path),
    };
    if heading.is_empty() {
        return root().join(path).exists();
    }
    read(path)
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| line.trim_start_matches(['#', ' ']).to_lowercase())
        .any(|line| line.replace(' ', "-") == heading)
}

#[test]
fn what_documents_name_is_there() {
    let mut missing = Vec::new();
    for page in documents() {
        let text = read(&page);
        let links = between(&text, "](", ')').filter(|link| !is_linked(&page, link));
        missing.extend(links.map(|link| format!("{page} links to {link}")));
        // Options may follow a path.
        let words = text.split('`').skip(1).step_by(2);
        let paths = words
            .filter_map(|code| code.split_whitespace().next())
            .filter(|path| ROOTS.iter().any(|root| path.starts_with(root)));
        let gone = paths.filter(|path| !root().join(path).exists());
        missing.extend(gone.map(|path| format!("{page} names {path}")));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// What needs no words.
const NOT_ON_THE_MAP: [&str; 5] = ["lib.rs", "tests.rs", "tests/", "model.rs", "reference.rs"];

/// The files and folders of a folder, by name.
fn entries(folder: &Path) -> Vec<(String, PathBuf)> {
    let entry = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.expect("a readable folder");
        let name = entry.file_name().into_string().expect("plain names");
        (name, entry.path())
    };
    let entries = fs::read_dir(folder).expect("a folder of sources");
    entries.map(entry).collect()
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// All crates, and what is in them, are on the map.
#[test]
fn the_map_of_the_sources_is_whole() {
    let text = read("docs/architecture.md");
    let map = between(&text, "## Map of the sources", '#')
        .next()
        .expect("there is a map");
    let words: Vec<&str> = map
        .split(|c: char| c.is_whitespace() || ",;:()".contains(c))
        .collect();
    let mut missing = Vec::new();
    let mut look = |name: String, path: &Path| {
        let name = if path.is_dir() { name + "/" } else { name };
        // The folder of a module stands for the file beside it.
        if path.extension().is_some() && path.with_extension("").is_dir() {
            return;
        }
        if !NOT_ON_THE_MAP.contains(&&*name) && !words.contains(&&*name) {
            missing.push(path.to_owned());
        }
    };
    let mut folders = vec![root().join("src/capi")];
    for (name, path) in entries(&root().join("crates")) {
        look(name, &path);
        if name_of(&path) != "b2" {
            // The tool has a map of its own, in its `main.rs`.
            folders.push(path.join("src"));
        }
    }
    for folder in folders {
        for (name, path) in entries(&folder) {
            look(name, &path);
        }
    }
    assert!(missing.is_empty(), "not on the map: {missing:?}");
}

/// All sources in Rust.
fn rust_sources() -> Vec<PathBuf> {
    fn find(folder: &Path, into: &mut Vec<PathBuf>) {
        for (name, path) in entries(folder) {
            match path.is_dir() {
                true => find(&path, into),
                false if name.ends_with(".rs") => into.push(path),
                false => {}
            }
        }
    }
    let mut all = Vec::new();
    for folder in ["src", "crates", "tests", "benches", "fuzz/fuzz_targets"] {
        find(&root().join(folder), &mut all);
    }
    all
}

/// The file of a module stands beside its folder, and comments are no wider than code, but for
/// tables, code and names of variables (`OXIBLOSC_…`).
#[test]
fn sources_have_one_style() {
    let mut wrong = Vec::new();
    for path in rust_sources() {
        if name_of(&path) == "mod.rs" {
            wrong.push(format!("{} is not beside its folder", path.display()));
        }
        let text = fs::read_to_string(&path).expect("a source");
        let mut is_code = false;
        for (line, number) in text.lines().zip(1..) {
            let Some(comment) = line.trim_start().strip_prefix("//") else {
                is_code = false;
                continue;
            };
            let words = comment.trim_start_matches(['/', '!']).trim_start();
            is_code ^= words.starts_with("```");
            let kept = is_code || words.starts_with('|') || words.starts_with("OXIBLOSC_");
            if line.chars().count() > 100 && !kept {
                wrong.push(format!("{}:{number} is too wide", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Adds the files of a folder and those below it, but for tests.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for (name, path) in entries(folder) {
        match path.is_dir() {
            true => sources(&path, into),
            false if name.starts_with("tests") => {}
            false => into.push(path),
        }
    }
}

/// The core knows nothing of C: `#![forbid(unsafe_code)]` does not say that, since safe code may
/// hold and return pointers.
#[test]
fn the_core_has_no_types_of_c() {
    let mut files = Vec::new();
    sources(&root().join("crates/oxiblosc/src"), &mut files);
    assert!(files.len() > 50, "{files:?}");
    for file in files {
        let text = read(&file);
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for word in [
            "*mut ", "*const ", "NonNull", "c_int", "c_char", "c_void", "extern ",
        ] {
            assert!(!code.contains(word), "{word} in {}", file.display());
        }
    }
}

/// The programs that the README shows are among the examples, which are compiled and run.
#[test]
fn the_programs_of_the_readme_are_examples() {
    let readme = read("README.md");
    for (language, example) in [
        ("c", "examples/c/readme.c"),
        ("rust", "crates/oxiblosc/examples/readme.rs"),
    ] {
        let (_, rest) = readme
            .split_once(&format!("```{language}\n"))
            .expect("a program");
        let (program, _) = rest.split_once("```").expect("its end");
        let example = read(example).replace("#[rustfmt::skip]\n", "");
        assert!(example.ends_with(program), "{language}");
    }
}

/// The tables of the page on performance are those of the measurements.
#[test]
fn figures_are_those_that_were_measured() {
    let script = root().join("benches/report.py");
    let mut python = std::process::Command::new("python3");
    let checked = python.arg(script).arg("--check").output();
    let checked = checked.expect("python3 is on the path");
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{said}");
}

/// Of each `<text>` of a picture: what it says, and the box that it fits in with any common font:
/// left, top, right, bottom.
fn labels(svg: &str) -> Vec<(String, [f64; 4])> {
    let attribute = |element: &str, name: &str| {
        between(element, &format!(" {name}=\""), '"')
            .next()
            .map(str::to_owned)
    };
    let number = |text: String| text.parse::<f64>().expect("a number");
    let size_of_all = attribute(svg.split('>').next().unwrap_or(""), "font-size");
    let mut found = Vec::new();
    for element in svg.split("<text").skip(1) {
        let (opening, rest) = element.split_once('>').expect("the tag's end");
        let text = rest.split_once('<').expect("the text's end").0;
        let of_class = attribute(opening, "class").and_then(|class| {
            let rule = format!(".{class} {{ font-size: ");
            between(svg, &rule, 'p').next().map(str::to_owned)
        });
        let size = attribute(opening, "font-size")
            .or(of_class)
            .or(size_of_all.clone())
            .map_or(16.0, number);
        let width = text.chars().count() as f64 * size * 0.6;
        let left = match attribute(opening, "text-anchor").as_deref() {
            Some("end") => -width,
            Some("middle") => -width / 2.0,
            _ => 0.0,
        };
        let turned = between(opening, "rotate(", ' ').next().map(str::to_owned);
        let (sin, cos) = turned.map_or(0.0, number).to_radians().sin_cos();
        let [x, y] = ["x", "y"].map(|name| attribute(opening, name).map_or(0.0, number));
        let mut fits = [x, y, x, y];
        for across in [left, left + width] {
            for down in [-size, size * 0.25] {
                let (at, under) = (x + across * cos - down * sin, y + across * sin + down * cos);
                fits = [
                    fits[0].min(at),
                    fits[1].min(under),
                    fits[2].max(at),
                    fits[3].max(under),
                ];
            }
        }
        found.push((text.to_owned(), fits));
    }
    found
}

#[test]
fn no_label_of_a_picture_is_clipped() {
    for name in ["benches/compare.svg", "benches/schunk.svg"] {
        let svg = read(name);
        let seen: Vec<f64> = between(&svg, "viewBox=\"", '"')
            .next()
            .unwrap_or_else(|| panic!("{name} has no viewBox"))
            .split(' ')
            .map(|number| number.parse().expect("a number"))
            .collect();
        let labels = labels(&svg);
        assert!(labels.len() > 10, "{name} has labels");
        for (text, [left, top, right, bottom]) in labels {
            let inside = left >= seen[0]
                && top >= seen[1]
                && right <= seen[0] + seen[2]
                && bottom <= seen[1] + seen[3];
            assert!(inside, "{name} clips \"{text}\"");
        }
    }
}
