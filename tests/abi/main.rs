//! The proof that our headers say what the reference's say. One run of bindgen over either; the Rust that comes out is
//! cut into items (constants, sizes, offsets, fields, types, signatures), and the items are compared by name.
//!
//! `OXIBLOSC_REFERENCE` names the reference's `libblosc2.so.9`, with its headers in `../include`; bindgen loads libclang
//! (`LIBCLANG_PATH`). Functions that are not there yet stand in `tests/abi_to_come.txt`;
//! `OXIBLOSC_UPDATE_HEADERS=1` writes that list, after the test `headers` wrote the headers.

mod items;
mod macros;
mod typedefs;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

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

/// The reference's headers; `None`, with a line that says so, when it is not there.
fn reference() -> Option<PathBuf> {
    let Some(library) = std::env::var_os("OXIBLOSC_REFERENCE").map(PathBuf::from) else {
        println!("skipped: OXIBLOSC_REFERENCE does not name the reference's libblosc2.so.9");
        return None;
    };
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

/// The list of functions to come: a name a line.
fn to_come() -> BTreeSet<String> {
    let file = root().join("tests/abi_to_come.txt");
    let text =
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_item_of_the_reference_is_here_and_equal() {
    let Some(reference) = reference() else { return };
    let (theirs, ours) = (items::of(&reference), items::of(&ours()));

    let missing: Vec<_> = theirs
        .iter()
        .filter(|(name, _)| !ours.contains_key(*name))
        .collect();
    let others: Vec<_> = missing
        .iter()
        .filter(|(_, item)| !item.is_function())
        .map(|(name, _)| name)
        .collect();
    assert!(
        others.is_empty(),
        "only functions may be missing, but these are too: {others:?}"
    );
    let missing: BTreeSet<_> = missing.into_iter().map(|(name, _)| name.clone()).collect();
    if std::env::var_os("OXIBLOSC_UPDATE_HEADERS").is_some() {
        let mut text =
            String::from("# Functions of the reference's headers that are not exported yet.\n");
        text.extend(missing.iter().map(|name| format!("{name}\n")));
        fs::write(root().join("tests/abi_to_come.txt"), text).expect("tests/ can be written");
    }
    let to_come = to_come();
    let forgotten: Vec<_> = missing.difference(&to_come).collect();
    assert!(
        forgotten.is_empty(),
        "neither here nor in abi_to_come.txt: {forgotten:?}"
    );
    let arrived: Vec<_> = to_come.difference(&missing).collect();
    assert!(
        arrived.is_empty(),
        "in abi_to_come.txt, but no function that is missing: {arrived:?}"
    );

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

    let mut kinds: Vec<_> = theirs.values().map(items::Item::kind).collect();
    kinds.sort_unstable();
    for kind in kinds.chunk_by(|a, b| a == b) {
        println!("{:5} {}", kind.len(), kind[0]);
    }
    println!(
        "{:5} items of the reference; equal: {}; to come: {}",
        theirs.len(),
        theirs.len() - missing.len(),
        missing.len()
    );
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
        let (theirs, ours) = (macros::of(&reference, define), macros::of(&ours(), define));
        for (name, their) in &theirs {
            let our = ours
                .get(name)
                .unwrap_or_else(|| panic!("no macro {name} with {define:?}"));
            assert_eq!(
                their.parameters, our.parameters,
                "parameters of {name} with {define:?}"
            );
            // What the others do is compared by what they do: constants above, code in tests/headers/behaviour.c.
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
    counted.extend(items::of(&reference).into_keys());
    println!(
        "{:5} items of the reference, macros and all others",
        counted.len()
    );
}
