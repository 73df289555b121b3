//! What the documents name is there: files and folders of the repository, pages that are linked to, and the map of `src/`.

use std::fs;
use std::path::{Path, PathBuf};

const DOCUMENTS: [&str; 9] = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "docs/architecture.md",
    "docs/compatibility.md",
    "docs/concurrency.md",
    "docs/durability.md",
    "docs/performance.md",
];

/// Folders and files at the root of the repository that a path may begin with.
const ROOTS: [&str; 11] = [
    "src/",
    "tests/",
    "docs/",
    "benches/",
    "cmake/",
    "capi-tests/",
    "fuzz/",
    "include/",
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
    for page in DOCUMENTS {
        let text = read(page);
        let links = between(&text, "](", ')').filter(|link| !is_linked(page, link));
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
const NOT_ON_THE_MAP: [&str; 5] = ["mod.rs", "tests.rs", "tests/", "model.rs", "reference.rs"];

/// All folders and files are on the map, as far as it goes.
#[test]
fn the_map_of_the_sources_is_whole() {
    let text = read("docs/architecture.md");
    let map = between(&text, "## Map of `src/`", '#')
        .next()
        .expect("there is a map");
    let words: Vec<&str> = map
        .split(|c: char| c.is_whitespace() || ",;:()".contains(c))
        .collect();
    let mut missing = Vec::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of sources") {
            let entry = entry.expect("a readable folder");
            let path = entry.path();
            let name = entry.file_name().into_string().expect("plain names");
            let below = path.strip_prefix(root().join("src")).expect("below src");
            if path.is_dir() && below.components().count() == 1 && name != "bin" {
                folders.push(path.clone());
            }
            let name = match &*name {
                "bin" => "bin/b2/".to_owned(),
                _ if path.is_dir() => name + "/",
                _ => name,
            };
            if !NOT_ON_THE_MAP.contains(&&*name) && !words.contains(&&*name) {
                missing.push(below.to_owned());
            }
        }
    }
    assert!(missing.is_empty(), "not on the map: {missing:?}");
}
