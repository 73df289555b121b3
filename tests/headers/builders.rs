//! Programs that read the headers as text while they are built: they find in ours what they find in
//! the reference's.

use crate::generate;
use oxiblosc_testing::needs::reference_path;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What a builder does with the text of `blosc2.h`: a version, or nothing where it gives up.
type Parser = fn(&str) -> Option<String>;

/// The builders, each with where its code is.
const BUILDERS: [(&str, Parser); 4] = [
    ("PyTables, setup.py, get_blosc2_version", pytables),
    (
        "c-blosc2, CMakeLists.txt: #define[ \\t]+BLOSC2_VERSION_MAJOR[ \\t]+([0-9]+), and so on",
        numbers,
    ),
    (
        "ADIOS2, FindBlosc2.cmake: BLOSC2_VERSION_STRING +\"([0-9]+.[0-9]+.[0-9]+)",
        text_after_blanks,
    ),
    (
        "porturb, FindBlosc2.cmake: ^#define BLOSC2_VERSION_STRING, then [0-9]+.[0-9]+.[0-9]+",
        text_of_line,
    ),
];

/// The third word of the first line with the macro's name and a word of its comment.
fn pytables(header: &str) -> Option<String> {
    let number = |name: &str, word: &str| {
        let line = header
            .lines()
            .find(|line| line.contains(name) && line.contains(word))?;
        line.split_whitespace().nth(2)?.parse::<u32>().ok()
    };
    let major = number("BLOSC2_VERSION_MAJOR", "major")?;
    let minor = number("BLOSC2_VERSION_MINOR", "minor")?;
    let release = number("BLOSC2_VERSION_RELEASE", "tweaks")?;
    Some(format!("{major}.{minor}.{release}"))
}

/// The number behind the last definition of each.
fn numbers(header: &str) -> Option<String> {
    let number = |name: &str| {
        let definition = header.rsplit("#define").find_map(|rest| {
            let value = rest.trim_start_matches([' ', '\t']).strip_prefix(name)?;
            value
                .starts_with([' ', '\t'])
                .then(|| value.trim_start_matches([' ', '\t']))
        })?;
        let end = definition.find(|c: char| !c.is_ascii_digit())?;
        definition[..end].parse::<u32>().ok()
    };
    let major = number("BLOSC2_VERSION_MAJOR")?;
    let minor = number("BLOSC2_VERSION_MINOR")?;
    let release = number("BLOSC2_VERSION_RELEASE")?;
    Some(format!("{major}.{minor}.{release}"))
}

fn text_after_blanks(header: &str) -> Option<String> {
    header
        .lines()
        .find_map(|line| {
            let rest = line.split_once("BLOSC2_VERSION_STRING")?.1;
            let text = rest.trim_start_matches(' ').strip_prefix('"')?;
            rest.starts_with(' ').then(|| text.split('"').next())?
        })
        .map(str::to_owned)
}

fn text_of_line(header: &str) -> Option<String> {
    let line = header
        .lines()
        .find(|line| line.starts_with("#define BLOSC2_VERSION_STRING"))?;
    line.split('"').nth(1).map(str::to_owned)
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect("a header that can be read")
}

#[test]
fn builders_find_the_version_as_in_the_reference() {
    let Some(library) = reference_path() else {
        return;
    };
    let theirs = library
        .ancestors()
        .nth(2)
        .expect("a folder")
        .join("include");
    let theirs = read(&theirs, "blosc2.h");
    let ours = read(&generate::root().join("include"), "blosc2.h");
    for (builder, parse) in BUILDERS {
        let version = parse(&theirs);
        assert!(version.is_some(), "{builder}: wrongly told here");
        assert_eq!(parse(&ours), version, "{builder}");
    }
}

/// The definitions of a number or a text that stand in one line: name and value, as a reader of
/// lines cuts them.
fn values(header: &str) -> BTreeMap<&str, &str> {
    header
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let [define, name, value] = [words.next()?, words.next()?, words.next()?];
            let is_value = value.starts_with(|c: char| c.is_ascii_digit() || c == '"');
            (define == "#define" && is_value).then_some((name, value))
        })
        .collect()
}

/// A header is read by lines and words elsewhere than where we looked, too: each value stands in
/// one line, as in the reference.
#[test]
fn every_value_is_defined_in_one_line_as_in_the_reference() {
    let Some(library) = reference_path() else {
        return;
    };
    let theirs = library
        .ancestors()
        .nth(2)
        .expect("a folder")
        .join("include");
    let mut counted = 0;
    for path in generate::paths().filter(|path| *path != "oxiblosc.h") {
        let (theirs, ours) = (
            read(&theirs, path),
            read(&generate::root().join("include"), path),
        );
        let ours = values(&ours);
        for (name, value) in values(&theirs) {
            assert_eq!(ours.get(name), Some(&value), "{name} in {path}");
            counted += 1;
        }
    }
    assert!(counted > 10, "only {counted} values found");
}
