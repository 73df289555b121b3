//! The two libraries that the tests compare, opened side by side in one process.

use super::needs::reference_path;
use super::table::Functions;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Overrides where our library is found.
pub const OURS_VARIABLE: &str = "OXIBLOSC_LIBRARY";

/// An opened library. It stays open until the process ends: pointers into it are handed out freely.
pub struct Lib {
    /// `ours` or `reference`, for messages.
    pub name: &'static str,
    /// The library's functions.
    pub f: Functions,
    /// The library itself, for functions that `f` has not.
    pub library: &'static libloading::Library,
}

impl Lib {
    /// Opens the shared library at `path` and looks up the whole chunk API in it.
    pub fn open(name: &'static str, path: &Path) -> Result<Lib, String> {
        // SAFETY: both libraries have no initialiser that touches the process.
        let library = unsafe { libloading::Library::new(path) }
            .map_err(|e| format!("{}: {e}", path.display()))?;
        // The functions must never dangle, whatever thread still runs at exit.
        let library: &'static _ = Box::leak(Box::new(library));
        // SAFETY: `Functions` is declared after the reference's headers, which both libraries
        // implement.
        let f =
            unsafe { Functions::load(library) }.map_err(|e| format!("{}: {e}", path.display()))?;
        // SAFETY: called once per library, before any other of its functions.
        unsafe { (f.blosc2_init)() };
        Ok(Lib { name, f, library })
    }
}

/// How a program that is linked to our library is started; with another library in front of ours if
/// there is one.
pub fn program_with(program: &Path, library: Option<&Path>) -> Command {
    let mut command = Command::new(program);
    match library {
        Some(library) => command.env("LD_PRELOAD", library),
        None => command.env_remove("LD_PRELOAD"),
    };
    command
}

/// Where our library is: as the environment says, or where cargo built it.
pub fn ours_path() -> PathBuf {
    match std::env::var_os(OURS_VARIABLE) {
        Some(path) => PathBuf::from(path),
        None => beside_this_test(),
    }
}

/// Our library: the one that the environment names, or the one cargo built beside this test.
pub fn ours() -> &'static Lib {
    static OURS: OnceLock<Lib> = OnceLock::new();
    OURS.get_or_init(|| {
        Lib::open("ours", &ours_path()).unwrap_or_else(|e| panic!("cannot open our library: {e}"))
    })
}

/// A function of `oxiblosc.h`.
pub fn own<F: Copy>(name: &str) -> F {
    // SAFETY: declared in the header as the caller asks for it.
    *unsafe { ours().library.get::<F>(name.as_bytes()) }.expect("a function of our own")
}

/// The reference, or `None` where the environment does not name one: see [`reference_path`].
pub fn reference() -> Option<&'static Lib> {
    static REFERENCE: OnceLock<Lib> = OnceLock::new();
    let path = reference_path()?;
    Some(REFERENCE.get_or_init(|| {
        Lib::open("reference", &path).unwrap_or_else(|e| panic!("cannot open the reference: {e}"))
    }))
}

/// Both libraries, or `None` where there is no reference.
pub fn both() -> Option<(&'static Lib, &'static Lib)> {
    reference().map(|reference| (ours(), reference))
}

/// Cargo puts the shared library in the folder of the test binaries, or in the one above it.
fn beside_this_test() -> PathBuf {
    let exe = std::env::current_exe().expect("a test knows its own path");
    let deps = exe.parent().expect("a file lies in a folder");
    let built = deps
        .ancestors()
        .take(2)
        .map(|folder| folder.join("libblosc2.so"));
    let newest = built
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .max_by_key(|(modified, _)| *modified);
    newest
        .unwrap_or_else(|| panic!("no libblosc2.so beside {}", exe.display()))
        .1
}
