//! The proof that our headers say what the reference's say. One run of bindgen over either; the
//! Rust that comes out is cut into items (constants, sizes, offsets, fields, types, signatures),
//! and the items are compared by name.
//!
//! `OXIBLOSC_REFERENCE` names the reference's `libblosc2.so.9`, with its headers in `../include`;
//! bindgen loads libclang (`LIBCLANG_PATH`).

mod typedefs;

use oxiblosc_testing::headers::{items, macros};
use oxiblosc_testing::needs;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The eight headers, in the order in which they are read.
const HEADERS: [&str; 8] = [
    "blosc2.h",
    "b2nd.h",
    "blosc2/blosc2-common.h",
    "blosc2/blosc2-export.h",
    "blosc2/blosc2-stdio.h",
    "blosc2/codecs-registry.h",
    "blosc2/filters-registry.h",
    "blosc2/tuners-registry.h",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Our headers.
fn ours() -> PathBuf {
    root().join("include")
}

/// The reference's headers, if the reference is there: see [`needs::reference_path`].
fn reference() -> Option<PathBuf> {
    let library = needs::reference_path()?;
    let include = library
        .ancestors()
        .nth(2)
        .expect("the library lies in a folder beside include/")
        .join("include");
    assert!(
        include.join("blosc2.h").is_file(),
        "no blosc2.h in {}",
        include.display()
    );
    Some(include)
}

/// A program's text that includes all headers.
fn all_headers() -> String {
    HEADERS
        .iter()
        .map(|path| format!("#include \"{path}\"\n"))
        .collect()
}

/// Where files may be made.
const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

fn items_of(include: &Path) -> BTreeMap<String, items::Declaration> {
    items::of(include, &all_headers(), Path::new(SCRATCH))
}

fn macros_of(include: &Path, option: Option<&str>) -> BTreeMap<String, macros::Macro> {
    macros::of(include, option, &all_headers(), Path::new(SCRATCH))
}

#[test]
fn every_item_of_the_reference_is_here_and_equal() {
    let Some(reference) = reference() else { return };
    let (theirs, ours) = (items_of(&reference), items_of(&ours()));

    let missing: Vec<_> = theirs
        .keys()
        .filter(|name| !ours.contains_key(*name))
        .collect();
    assert!(missing.is_empty(), "not here: {missing:?}");

    let unequal: Vec<_> = theirs
        .iter()
        .filter_map(|(name, their)| {
            ours.get(name)
                .filter(|our| *our != their)
                .map(|our| (name, their, our))
        })
        .collect();
    for (name, theirs, ours) in &unequal {
        println!("{name}\n  theirs: {theirs:?}\n  ours:   {ours:?}");
    }
    assert!(unequal.is_empty(), "{} items differ", unequal.len());
    let surplus: Vec<_> = ours
        .keys()
        .filter(|name| !theirs.contains_key(*name))
        .collect();
    assert!(
        surplus.is_empty(),
        "the reference does not have {surplus:?}"
    );

    let mut kinds: Vec<_> = theirs.values().map(items::Declaration::kind).collect();
    kinds.sort_unstable();
    for kind in kinds.chunk_by(|a, b| a == b) {
        println!("{:5} {}", kind.len(), kind[0]);
    }
    println!("{:5} items of the reference, all equal", theirs.len());
    assert!(
        theirs.len() > 400,
        "bindgen saw too little of the reference's headers"
    );
}

#[test]
fn the_typedefs_are_those_of_the_reference() {
    let Some(reference) = reference() else { return };
    let (theirs, ours) = (typedefs::of(&reference), typedefs::of(&ours()));
    assert!(theirs.len() > 20, "gcc saw too few typedefs: {theirs:?}");
    let missing: Vec<_> = theirs.difference(&ours).collect();
    let surplus: Vec<_> = ours.difference(&theirs).collect();
    assert!(
        missing.is_empty() && surplus.is_empty(),
        "missing: {missing:?}; the reference does not have {surplus:?}"
    );
}

#[test]
fn every_macro_of_the_reference_is_here_and_equal() {
    let Some(reference) = reference() else { return };
    let mut counted = BTreeSet::new();
    for define in [
        None,
        Some("-DBLOSC1_COMPAT"),
        Some("-DBLOSC_SHARED_LIBRARY"),
        Some("-DBLOSC_TESTING"),
        Some("-DBLOSC_H"),
        // As on a machine that must have its loads aligned.
        Some("-U__amd64"),
    ] {
        let (theirs, ours) = (macros_of(&reference, define), macros_of(&ours(), define));
        for (name, their) in &theirs {
            let our = ours
                .get(name)
                .unwrap_or_else(|| panic!("no macro {name} with {define:?}"));
            assert_eq!(
                their.parameters, our.parameters,
                "parameters of {name} with {define:?}"
            );
            // What the others do is compared by what they do: constants above, code in
            // tests/headers/behaviour.c.
            if their.is_plain() {
                assert_eq!(their.body, our.body, "{name} with {define:?}");
            }
        }
        let surplus: Vec<_> = ours
            .keys()
            .filter(|name| !theirs.contains_key(*name))
            .collect();
        assert!(
            surplus.is_empty(),
            "the reference does not define {surplus:?} with {define:?}"
        );
        counted.extend(theirs.into_keys());
    }
    counted.retain(|name| !name.ends_with("_H"));
    println!("{:5} macros of the reference, all here", counted.len());
    assert!(counted.len() > 50, "gcc saw too few macros");
    counted.extend(items_of(&reference).into_keys());
    println!(
        "{:5} items of the reference, macros and all others",
        counted.len()
    );
}
