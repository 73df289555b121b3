//! Plugins as they come from PyPI: the same image stacks through both libraries, in processes of
//! their own.
//!
//! `OXIBLOSC_PLUGIN_PYTHON` names the Python of an environment with `blosc2-grok`, `blosc2-htj2k`,
//! `blosc2-openhtj2k`, `blosc2-openzl` and `blosc2-j2k`; without it there is nothing to load, and
//! the test is skipped.

use crate::{again, succeeds};
use blosc2::capi::constants::*;
use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::abi::NEVER_SPLIT;
use oxiblosc_testing::b2nd::{B2ndLib, Spec, our_arrays, reference_arrays};
use oxiblosc_testing::needs::{reference_path, skip};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const PYTHON: &str = "OXIBLOSC_PLUGIN_PYTHON";
/// Tells a child which library it is to use, and the folder for its results.
const CHILD: &str = "OXIBLOSC_TEST_PLUGIN_CHILD";

/// A codec, and what its plugin wants: the size of an item, and the lengths of a stack and of one
/// image.
struct Plugin {
    name: &'static str,
    compcode: i32,
    typesize: i32,
    shape: [i64; 3],
    image: [i32; 3],
}

/// A stack of five images, one in a chunk.
const fn images(name: &'static str, compcode: i32, typesize: i32) -> Plugin {
    Plugin {
        name,
        compcode,
        typesize,
        shape: [5, 96, 80],
        image: [1, 96, 80],
    }
}

const PLUGINS: [Plugin; 5] = [
    // One image in three colours.
    Plugin {
        shape: [3, 96, 80],
        image: [3, 96, 80],
        ..images("openhtj2k", BLOSC_CODEC_OPENHTJ2K, 4)
    },
    images("grok", BLOSC_CODEC_GROK, 2),
    images("openzl", BLOSC_CODEC_OPENZL, 4),
    images("j2k", BLOSC_CODEC_J2K, 2),
    images("htj2k", BLOSC_CODEC_HTJ2K, 2),
];

impl Plugin {
    fn spec(&self) -> Spec {
        Spec {
            shape: self.shape.to_vec(),
            chunks: self.image.to_vec(),
            blocks: self.image.to_vec(),
            cparams: blosc2_cparams {
                compcode: self.compcode as u8,
                typesize: self.typesize,
                splitmode: NEVER_SPLIT,
                filters: [0; 6],
                nthreads: 1,
                ..blosc2_cparams::defaults()
            },
            nthreads: 1,
            contiguous: true,
            path: None,
        }
    }

    /// Images of soft waves, each item with 8 bits that count.
    fn stack(&self) -> Vec<u8> {
        let nitems = self.shape.iter().product::<i64>();
        let width = self.shape[2];
        let items = (0..nitems).map(|i| {
            let (row, column) = ((i / width) as f64, (i % width) as f64);
            let x = (row / 17.0).sin() * 60.0 + (column / 11.0).cos() * 50.0 + 120.0;
            x as u32
        });
        items
            .flat_map(|item| item.to_le_bytes()[..self.typesize as usize].to_vec())
            .collect()
    }
}

/// What one library makes of all stacks, and of the frames that are there already.
fn work(lib: &'static B2ndLib, who: &str, folder: &Path) {
    for plugin in &PLUGINS {
        let file = |suffix: &str| folder.join(format!("{}.{suffix}", plugin.name));
        let write = |suffix: &str, result: Result<Vec<u8>, i32>| match result {
            Ok(bytes) => std::fs::write(file(suffix), bytes),
            Err(code) => std::fs::write(file(&format!("{suffix}.code")), code.to_string()),
        };
        let array = lib.array_of(&plugin.spec(), &plugin.stack());
        write(
            &format!("frame.{who}"),
            array.and_then(|array| array.to_frame()),
        )
        .expect("the folder is there");
        for of in ["ours", "reference"] {
            if let Ok(frame) = std::fs::read(file(&format!("frame.{of}"))) {
                // To open it is to run nothing; to read it is.
                let array = lib.open_frame(frame, true);
                let data = array.and_then(|array| array.to_buffer());
                write(&format!("data.{of}.{who}"), data).expect("the folder is there");
            }
        }
    }
}

/// Opens a library for everybody: some plugins call functions that they do not say where to find.
fn open_for_all(path: &Path) {
    let path = CString::new(path.as_os_str().as_bytes()).expect("a path without a 0");
    // SAFETY: a C string; the libraries have no initialiser that touches the process.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    assert!(!library.is_null(), "{path:?}");
}

#[test]
fn packages_from_pypi_work() {
    if let Ok(task) = std::env::var(CHILD) {
        let (who, folder) = task.split_once(':').expect("two words");
        let lib = match who {
            // Ours makes itself known to plugins, however it was opened.
            "ours" => our_arrays(),
            _ => {
                open_for_all(&reference_path().expect("named by the parent"));
                reference_arrays().expect("named by the parent")
            }
        };
        work(lib, who, Path::new(folder));
        // What these plugins do when a process ends frees something twice, whoever loaded them.
        // SAFETY: the results are in files; nothing else of this process counts.
        unsafe { libc::_exit(0) };
    }
    let Some(python) = std::env::var_os(PYTHON).map(PathBuf::from) else {
        skip(&format!("{PYTHON} does not name a Python with the plugins"));
        return;
    };
    if reference_path().is_none() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("oxiblosc-plugins-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for results");
    let bin = python.parent().expect("a program lies in a folder");
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = [bin.to_owned()]
        .into_iter()
        .chain(std::env::split_paths(&others));
    let path = std::env::join_paths(path).expect("folders without a colon");
    // Ours comes again to read what the reference wrote.
    for who in ["ours", "reference", "ours"] {
        let task = format!("{who}:{}", folder.display());
        let mut child = again("packages::packages_from_pypi_work", CHILD, &task);
        child.env("PATH", &path);
        succeeds(child);
    }
    let mut worked = Vec::new();
    for plugin in &PLUGINS {
        let Plugin { name, .. } = plugin;
        let read = |suffix: &str| std::fs::read(folder.join(format!("{name}.{suffix}"))).ok();
        let frames = ["frame.ours", "frame.reference"].map(read);
        assert!(frames[0] == frames[1], "{name}: the frames differ");
        let Some(frame) = &frames[0] else {
            // Built for another layout of the super-chunk: the reference cannot use it either.
            let codes = ["frame.ours.code", "frame.reference.code"].map(read);
            assert!(
                codes[0].is_some() && codes[0] == codes[1],
                "{name}: {codes:?}"
            );
            println!("{name}: refused alike");
            continue;
        };
        let stack = plugin.stack();
        for of in ["ours", "reference"] {
            for who in ["ours", "reference"] {
                let data = read(&format!("data.{of}.{who}"));
                assert!(data.as_ref() == Some(&stack), "{name}: {of} by {who}");
            }
        }
        println!("{name}: {} bytes became {}", stack.len(), frame.len());
        worked.push(*name);
    }
    std::fs::remove_dir_all(&folder).expect("the folder can go");
    assert_eq!(worked, ["openzl", "j2k", "htj2k"]);
}
