//! Where frames lie, and what a trial must leave as it was.

use oxiblosc_testing::maps::Opened;
use oxiblosc_testing::schunk::SchunkLib;
use oxiblosc_testing::schunk_state::{State, read};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What lies before a frame that does not begin its file.
pub const BEFORE: &[u8] = &[0x5a; 137];

/// How a frame is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    File,
    Directory,
    Map,
    /// In a file, behind other bytes.
    Offset,
}

pub const STORAGES: [Storage; 4] = [
    Storage::File,
    Storage::Directory,
    Storage::Map,
    Storage::Offset,
];

impl Storage {
    pub fn is_contiguous(self) -> bool {
        self != Storage::Directory
    }

    /// Opens a frame to change it.
    pub fn open(self, lib: &'static SchunkLib, path: &Path) -> Option<Opened> {
        let schunk = match self {
            Storage::File | Storage::Directory => lib.open_path(path),
            Storage::Offset => lib.open_at(path, BEFORE.len() as i64),
            Storage::Map => return Opened::map(lib, path, c"r+"),
        };
        schunk.map(Opened::from)
    }

    /// What a library finds in a frame when it opens it.
    pub fn state(self, lib: &'static SchunkLib, path: &Path) -> Option<State> {
        let schunk = match self {
            Storage::Offset => lib.open_at(path, BEFORE.len() as i64),
            _ => lib.open_path(path),
        };
        schunk.map(|schunk| read(&schunk))
    }
}

/// Everything in a folder: the bytes of files and the targets of links, with their modes.
pub type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Reads a folder.
pub fn tree(folder: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in folder.read_dir().expect("a folder").flatten() {
            let path = entry.path();
            let there = path.symlink_metadata().expect("an entry");
            let bytes = if there.is_symlink() {
                let target = path.read_link().expect("a link");
                target.into_os_string().into_encoded_bytes()
            } else if there.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else {
                std::fs::read(&path).expect("a file")
            };
            tree.insert(path, (there.mode(), bytes));
        }
    }
    tree
}

/// What is not the same in two trees.
pub fn changed(before: &Tree, after: &Tree) -> Vec<String> {
    let paths = before.keys().chain(after.keys());
    let mut changed: Vec<String> = paths
        .filter(|path| before.get(*path) != after.get(*path))
        .map(|path| {
            let is = match (before.get(path), after.get(path)) {
                (None, _) => "is new",
                (_, None) => "is gone",
                _ => "is another",
            };
            format!("{} {is}", path.display())
        })
        .collect();
    changed.sort();
    changed.dedup();
    changed
}

/// What the process has open of a folder: descriptors and maps, whether their files are still there
/// or not.
pub fn open_files(folder: &Path) -> Vec<OsString> {
    let descriptors = Path::new("/proc/self/fd").read_dir().expect("a folder");
    let mut open: Vec<OsString> = descriptors
        .flatten()
        .filter_map(|entry| entry.path().read_link().ok())
        .filter(|target| target.starts_with(folder))
        .map(PathBuf::into_os_string)
        .collect();
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the maps");
    let folder = folder.to_str().expect("a plain path");
    open.extend(
        maps.lines()
            .filter(|line| line.contains(folder))
            .map(|line| OsString::from(line.trim_end_matches(" (deleted)"))),
    );
    open
}

/// A copy of a file or of a folder of files, in a folder that has nothing else.
pub fn copy(from: &Path, to: &Path) {
    let parent = to.parent().expect("a path in a folder");
    clear(parent);
    if from.is_file() {
        std::fs::copy(from, to).expect("a file that can be copied");
        return;
    }
    std::fs::create_dir(to).expect("a folder");
    for entry in from.read_dir().expect("a folder").flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("a file that can be copied");
    }
}

/// An empty folder.
pub fn clear(folder: &Path) {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).expect("a folder");
}
