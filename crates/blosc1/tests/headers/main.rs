//! The headers: `blosc.h` is up to date with the sources, and both headers declare the same items
//! as c-blosc's.
//!
//! c-blosc's are those of Debian's package `libblosc-dev`, or in the folder that
//! `OXIBLOSC_BLOSC1_HEADERS` names. bindgen loads libclang (`LIBCLANG_PATH`).

use oxiblosc_testing::headers::{items, macros};
use oxiblosc_testing::needs;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const HEADERS: [&str; 2] = ["blosc.h", "blosc-export.h"];
/// Macros that differ because Debian 12 has another release.
const OF_THE_RELEASE: [&str; 3] = [
    "BLOSC_VERSION_RELEASE",
    "BLOSC_VERSION_STRING",
    "BLOSC_VERSION_DATE",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn ours() -> PathBuf {
    root().join("include")
}

/// A folder with c-blosc's headers and no others. None if they are not installed: the test is
/// skipped.
fn reference() -> Option<PathBuf> {
    let installed = std::env::var_os("OXIBLOSC_BLOSC1_HEADERS")
        .map_or(PathBuf::from("/usr/include"), PathBuf::from);
    if !installed.join("blosc-export.h").is_file() {
        needs::skip("no headers of c-blosc; Debian's package libblosc-dev has them");
        return None;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-blosc-headers");
    fs::create_dir_all(&folder).expect("the target folder can be written");
    for header in HEADERS {
        fs::copy(installed.join(header), folder.join(header)).expect("a readable header");
    }
    Some(folder)
}

/// A program's text that includes all headers.
fn all_headers() -> String {
    // BLOSC_MAX_BLOCKSIZE uses a type of stdint.h.
    let includes = HEADERS.map(|header| format!("#include \"{header}\"\n"));
    format!("#include <stdint.h>\n{}", includes.concat())
}

/// `blosc.h`, generated from the sources.
fn generated() -> String {
    let config =
        cbindgen::Config::from_file(root().join("cbindgen.toml")).expect("cbindgen.toml is valid");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in [
        "settings",
        "compress",
        "decompress",
        "compressors",
        "header",
    ] {
        builder = builder.with_src(root().join(format!("src/{file}.rs")));
    }
    let mut functions = Vec::new();
    builder
        .generate()
        .expect("cbindgen reads the sources")
        .write(&mut functions);
    let functions = String::from_utf8(functions).expect("cbindgen writes UTF-8");
    let functions = functions
        .replace("# Safety", "Required of the caller:")
        .replace("[`", "`")
        .replace("`]", "`");
    let constants =
        fs::read_to_string(root().join("src/headers/blosc.h")).expect("the constants are there");
    format!(
        "/* Part of oxiblosc: the library of Blosc 1 in Rust. */\n\
         /* Generated from crates/blosc1/src by the test `headers`: change it there. */\n\n\
         {constants}\n{}\n#ifdef __cplusplus\n}}\n#endif\n\n#endif /* BLOSC_H */\n",
        functions.trim_start()
    )
}

/// Where files may be made.
const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

fn items_of(include: &Path) -> BTreeMap<String, items::Declaration> {
    items::of(include, &all_headers(), Path::new(SCRATCH))
}

fn macros_of(include: &Path, option: Option<&str>) -> BTreeMap<String, macros::Macro> {
    macros::of(include, option, &all_headers(), Path::new(SCRATCH))
}

/// `OXIBLOSC_UPDATE_HEADERS=1` writes the header in place of comparing it.
#[test]
fn the_committed_header_is_current() {
    let file = ours().join("blosc.h");
    if std::env::var_os("OXIBLOSC_UPDATE_HEADERS").is_some() {
        fs::write(&file, generated()).expect("include/ can be written");
    }
    let committed = fs::read_to_string(&file).expect("the header is committed");
    assert!(
        committed == generated(),
        "blosc.h is not what the sources say: OXIBLOSC_UPDATE_HEADERS=1 cargo test -p oxiblosc-blosc1 --test headers"
    );
}

#[test]
fn every_item_of_c_blosc_is_here_and_equal() {
    let Some(reference) = reference() else { return };
    let (theirs, ours) = (items_of(&reference), items_of(&ours()));
    let names = |items: &BTreeMap<String, items::Declaration>| {
        items.keys().cloned().collect::<BTreeSet<_>>()
    };
    assert_eq!(names(&theirs), names(&ours));
    for (name, item) in &theirs {
        if !OF_THE_RELEASE.contains(&name.as_str()) {
            assert_eq!(item, &ours[name], "{name}");
        }
    }
    let functions = theirs
        .values()
        .filter(|item| item.kind() == "functions")
        .count();
    assert_eq!(functions, 25, "bindgen saw too little of c-blosc's header");
}

#[test]
fn every_macro_of_c_blosc_is_here_and_equal() {
    let Some(reference) = reference() else { return };
    for define in [
        None,
        Some("-DBLOSC_SHARED_LIBRARY"),
        Some("-DBLOSC_TESTING"),
    ] {
        let (theirs, ours) = (macros_of(&reference, define), macros_of(&ours(), define));
        assert!(theirs.len() > 50, "gcc saw too few macros");
        let names = |macros: &BTreeMap<String, macros::Macro>| {
            macros.keys().cloned().collect::<BTreeSet<_>>()
        };
        assert_eq!(names(&theirs), names(&ours), "{define:?}");
        for (name, theirs) in theirs
            .iter()
            .filter(|(name, _)| !OF_THE_RELEASE.contains(&name.as_str()))
        {
            assert_eq!(theirs.parameters, ours[name].parameters, "{name}");
            assert_eq!(theirs.body, ours[name].body, "{name} with {define:?}");
        }
    }
}

#[test]
fn every_dialect_takes_the_header() {
    let include = ours();
    for (compiler, standard) in [
        ("gcc", "c90"),
        ("gcc", "c99"),
        ("gcc", "c17"),
        ("g++", "c++98"),
        ("g++", "c++20"),
    ] {
        let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(if compiler == "g++" {
            "blosc1.cpp"
        } else {
            "blosc1.c"
        });
        // By itself, twice.
        fs::write(&source, "#include \"blosc.h\"\n#include \"blosc.h\"\nint main(void) { blosc_init(); return 0; }\n").expect("a text");
        let said = Command::new(compiler)
            .arg(format!("-std={standard}"))
            .args([
                "-Wall",
                "-Wextra",
                "-Werror",
                "-pedantic",
                "-fsyntax-only",
                "-I",
            ])
            .arg(&include)
            .arg(&source)
            .output()
            .expect("the compiler is here");
        assert!(
            said.status.success(),
            "{standard}: {}",
            String::from_utf8_lossy(&said.stderr)
        );
    }
}
