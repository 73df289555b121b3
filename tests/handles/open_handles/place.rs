//! Where the frame is, and what happens to it.

use oxiblosc_testing::b2nd::{Library, Spec, c_path};
use oxiblosc_testing::maps::{map_io, map_params};
use oxiblosc_testing::schunk_calls::Schunk;
use std::ffi::CStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

pub const NAME: &CStr = c"which";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    File,
    LockedFile,
    Directory,
    LockedDirectory,
    /// Behind another frame in the same file.
    Behind,
    MapToRead,
    MapToWrite,
    MapToCopy,
}

pub const STORAGES: [Storage; 8] = [
    Storage::File,
    Storage::LockedFile,
    Storage::Directory,
    Storage::LockedDirectory,
    Storage::Behind,
    Storage::MapToRead,
    Storage::MapToWrite,
    Storage::MapToCopy,
];

/// What happens to the file, or to that of the index in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    Cut(Length),
    Removed,
    /// All of a directory.
    RemovedWhole,
    Overwritten(With),
    /// By another file, which is renamed.
    Replaced(With),
    /// A file of a directory's chunks.
    ChunkRemoved,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    Nothing,
    Head,
    Half,
    OneLess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With {
    Garbage,
    Frame,
}

pub const LOSSES: [Loss; 11] = [
    Loss::Cut(Length::Nothing),
    Loss::Cut(Length::Head),
    Loss::Cut(Length::Half),
    Loss::Cut(Length::OneLess),
    Loss::Removed,
    Loss::RemovedWhole,
    Loss::Overwritten(With::Garbage),
    Loss::Overwritten(With::Frame),
    Loss::Replaced(With::Garbage),
    Loss::Replaced(With::Frame),
    Loss::ChunkRemoved,
];

impl Loss {
    /// Whether all that was in the frame is in files still, of which the handle has those open that
    /// lost their names; or another frame is there.
    pub fn leaves_all(self) -> bool {
        matches!(self, Self::Removed | Self::Replaced(_))
    }
}

impl Storage {
    pub fn is_directory(self) -> bool {
        matches!(self, Self::Directory | Self::LockedDirectory)
    }

    pub fn is_map(self) -> bool {
        self.mode().is_some()
    }

    /// Where the frame begins in its file, for frames made at `path`.
    fn offset(self, folder: &Path) -> i64 {
        match self {
            Self::Behind => {
                fs::metadata(folder.join("front")).map_or(0, |prefix| prefix.len() as i64)
            }
            _ => 0,
        }
    }

    fn mode(self) -> Option<&'static CStr> {
        match self {
            Self::MapToRead => Some(c"r"),
            Self::MapToWrite => Some(c"r+"),
            Self::MapToCopy => Some(c"c"),
            _ => None,
        }
    }

    /// Makes the frame `name` in the folder: an array of so many chunks, none it may be.
    pub fn make(self, lib: Library, folder: &Path, name: &str, chunks: i64) {
        self.make_of(lib, folder, name, chunks, |shape| {
            let items = (0..shape).flat_map(|item| (item * 37 + shape).pow(2).to_le_bytes());
            items.step_by(2).take(4 * shape as usize).collect()
        });
    }

    /// As [`Self::make`], of the items that `items` gives for their number.
    pub fn make_of(
        self,
        lib: Library,
        folder: &Path,
        name: &str,
        chunks: i64,
        items: impl Fn(i64) -> Vec<u8>,
    ) {
        let path = folder.join(name);
        let spec = |shape: i64, path: &Path| Spec {
            contiguous: !self.is_directory(),
            path: Some(c_path(path)),
            ..Spec::of_int32(shape)
        };
        let make = |shape: i64, path: &Path| {
            drop(
                lib.arrays
                    .array_of(&spec(shape, path), &items(shape))
                    .expect("an array"),
            );
            let s = lib.schunks.open_path(path).expect("a frame");
            assert!(s.vlmeta_add(NAME, format!("{shape} items").as_bytes()) >= 0);
        };
        make(100 * chunks, &path);
        if self == Self::Behind {
            let prefix = folder.join("front");
            if !prefix.exists() {
                make(200, &prefix);
            }
            let mut all = fs::read(prefix).expect("a frame");
            all.extend(fs::read(&path).expect("a frame"));
            fs::write(&path, all).expect("a container");
        }
    }

    /// Opens it; what its back end needs stays for the life of the process.
    pub fn open(self, lib: Library, folder: &Path, name: &str) -> Option<Schunk> {
        let path = folder.join(name);
        if let Some(mode) = self.mode() {
            let params = Box::leak(map_params(mode));
            return lib.schunks.open_io(&path, &map_io(params));
        }
        if matches!(self, Self::LockedFile | Self::LockedDirectory) {
            return lib.schunks.open_locking(&path);
        }
        lib.schunks.open_at(&path, self.offset(folder))
    }

    /// The file with the index.
    pub fn file(self, path: &Path) -> PathBuf {
        match self.is_directory() {
            true => path.join("chunks.b2frame"),
            false => path.to_owned(),
        }
    }

    /// Does it to the frame at `path`; `other` is another whole frame, which is used up. False if
    /// there is no such loss here.
    pub fn lose(self, loss: Loss, path: &Path, other: &Path) -> bool {
        let (file, other_file) = (self.file(path), self.file(other));
        let len = fs::metadata(&file).expect("a file").len();
        match loss {
            Loss::Cut(length) => {
                let to = match length {
                    Length::Nothing => 0,
                    Length::Head => 50,
                    Length::Half => len / 2,
                    Length::OneLess => len - 1,
                };
                let file = fs::OpenOptions::new().write(true).open(file);
                file.and_then(|file| file.set_len(to)).expect("cuts");
            }
            Loss::Removed => fs::remove_file(file).expect("removes"),
            Loss::RemovedWhole if self.is_directory() => fs::remove_dir_all(path).expect("removes"),
            Loss::Overwritten(with) => {
                let bytes = match with {
                    With::Garbage => vec![0xA5; len as usize],
                    With::Frame => fs::read(&other_file).expect("a frame"),
                };
                if with == With::Frame && self.is_directory() {
                    for entry in fs::read_dir(other).expect("a directory") {
                        let entry = entry.expect("an entry");
                        fs::copy(entry.path(), path.join(entry.file_name())).expect("copies");
                    }
                }
                let opened = fs::File::create(file);
                opened
                    .and_then(|mut file| file.write_all(&bytes))
                    .expect("writes");
            }
            Loss::Replaced(With::Garbage) => {
                fs::write(&other_file, vec![0xA5; len as usize]).expect("writes");
                fs::rename(other_file, file).expect("renames");
            }
            Loss::Replaced(With::Frame) => {
                if self.is_directory() {
                    fs::remove_dir_all(path).expect("removes");
                }
                fs::rename(other, path).expect("renames");
            }
            Loss::ChunkRemoved if self.is_directory() => {
                let chunk = path.join("00000001.chunk");
                return fs::remove_file(chunk).is_ok();
            }
            Loss::RemovedWhole | Loss::ChunkRemoved => return false,
        }
        true
    }
}
