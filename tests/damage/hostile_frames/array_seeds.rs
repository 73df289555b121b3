//! Arrays of several shapes, to be damaged.

use super::seeds::{Seed, taken};
use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::b2nd::{B2ndLib, Spec, c_path};
use oxiblosc_testing::data::Kind;
use std::path::Path;

/// Arrays in files and directories, which a library makes, with their names; `folder` is used for a
/// while.
pub fn all(lib: &'static B2ndLib, folder: &Path) -> Vec<(String, Seed)> {
    let shapes: [(&[i64], &[i32], &[i32]); 3] = [
        (&[1000], &[300], &[70]),
        (&[40, 31], &[20, 10], &[7, 10]),
        (&[9, 8, 10], &[4, 8, 5], &[2, 3, 5]),
    ];
    let mut seeds = Vec::new();
    for (shape, chunks, blocks) in shapes {
        for contiguous in [true, false] {
            let path = folder.join("array");
            let spec = Spec {
                shape: shape.to_vec(),
                chunks: chunks.to_vec(),
                blocks: blocks.to_vec(),
                cparams: blosc2_cparams {
                    typesize: 8,
                    ..blosc2_cparams::defaults()
                },
                nthreads: 1,
                contiguous,
                path: Some(c_path(&path)),
            };
            let nbytes = 8 * shape.iter().product::<i64>() as usize;
            let items = Kind::Timestamps.bytes(nbytes, shape.len() as u64);
            drop(lib.array_of(&spec, &items).expect("an array"));
            let name = format!("{shape:?}, contiguous: {contiguous}");
            seeds.push((name, taken(&path)));
        }
    }
    seeds
}
