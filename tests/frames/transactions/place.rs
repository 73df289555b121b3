//! Where the super-chunks of the tests are, and what they are made of.

use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::b2nd::{Array, Spec, c_path, our_arrays};
use oxiblosc_testing::data::{Kind, Rng};
use oxiblosc_testing::schunk::{SchunkLib, our_schunks};
use oxiblosc_testing::schunk_calls::Schunk;
use std::path::{Path, PathBuf};

pub const TYPESIZE: usize = 8;
/// Items of an array's chunk.
const CHUNK: [i32; 2] = [20, 25];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    Separate,
    Memory,
    File,
    Directory,
}

impl Storage {
    pub const ALL: [Self; 4] = [Self::Separate, Self::Memory, Self::File, Self::Directory];

    pub fn is_on_disk(self) -> bool {
        matches!(self, Self::File | Self::Directory)
    }

    fn is_contiguous(self) -> bool {
        matches!(self, Self::Memory | Self::File)
    }
}

pub fn lib() -> &'static SchunkLib {
    our_schunks()
}

pub fn parameters() -> blosc2_cparams {
    blosc2_cparams {
        typesize: TYPESIZE as i32,
        blocksize: 1000,
        ..blosc2_cparams::defaults()
    }
}

/// An empty super-chunk.
pub fn create(storage: Storage, path: &Path) -> Schunk {
    let path = storage.is_on_disk().then_some(path);
    let created = lib().create(storage.is_contiguous(), path, &parameters(), 2, None);
    created.expect("a new super-chunk")
}

/// An array; it is freed with its super-chunk.
pub fn create_array(storage: Storage, path: &Path) -> Array {
    let spec = Spec {
        shape: vec![50, 60],
        chunks: CHUNK.to_vec(),
        blocks: vec![5, 25],
        cparams: parameters(),
        nthreads: 2,
        contiguous: storage.is_contiguous(),
        path: storage.is_on_disk().then(|| c_path(path)),
    };
    let items = Kind::WalkInt32.bytes(50 * 60 * TYPESIZE, 5);
    our_arrays().array_of(&spec, &items).expect("an array")
}

/// Bytes of all files of a frame.
pub fn len_on_disk(path: &Path) -> u64 {
    let len = |path: &PathBuf| path.metadata().map_or(0, |about| about.len());
    match path.is_dir() {
        true => (path.read_dir().expect("a directory").flatten())
            .map(|entry| len(&entry.path()))
            .sum(),
        false => len(&path.to_path_buf()),
    }
}

/// Some kind of data.
pub fn data(rng: &mut Rng, nbytes: usize) -> Vec<u8> {
    let kinds = [Kind::Random, Kind::SmoothFloat64, Kind::Zeros, Kind::Runs];
    rng.pick(&kinds).bytes(nbytes, rng.next())
}
