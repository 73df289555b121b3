//! Codecs and filter pipelines that the tests go through.

use super::abi::*;

/// A filter pipeline with its metas.
#[derive(Clone, Copy, Debug)]
pub struct Pipeline {
    pub name: &'static str,
    pub filters: [u8; 6],
    pub meta: [u8; 6],
}

impl Pipeline {
    /// Whether what comes out is what went in.
    pub fn lossless(&self) -> bool {
        !self.filters.contains(&TRUNC_PREC)
    }
}

const fn pipeline(name: &'static str, filters: [u8; 6], meta: [u8; 6]) -> Pipeline {
    Pipeline {
        name,
        filters,
        meta,
    }
}

/// Every pipeline of the matrix.
pub const PIPELINES: [Pipeline; 13] = [
    pipeline("none", [0; 6], [0; 6]),
    pipeline("shuffle", [0, 0, 0, 0, 0, SHUFFLE], [0; 6]),
    pipeline("bitshuffle", [0, 0, 0, 0, 0, BITSHUFFLE], [0; 6]),
    pipeline("delta", [0, 0, 0, 0, 0, DELTA], [0; 6]),
    pipeline("delta shuffle", [0, 0, 0, 0, DELTA, SHUFFLE], [0; 6]),
    pipeline(
        "delta first, bitshuffle last",
        [DELTA, 0, 0, 0, 0, BITSHUFFLE],
        [0; 6],
    ),
    pipeline(
        "trunc_prec 10",
        [0, 0, 0, 0, 0, TRUNC_PREC],
        [0, 0, 0, 0, 0, 10],
    ),
    pipeline(
        "trunc_prec -8, shuffle",
        [0, 0, 0, 0, TRUNC_PREC, SHUFFLE],
        [0, 0, 0, 0, 0xF8, 0],
    ),
    pipeline("shuffle by 4", [0, 0, 0, 0, 0, SHUFFLE], [0, 0, 0, 0, 0, 4]),
    pipeline(
        "shuffle by 3, early",
        [SHUFFLE, 0, 0, 0, 0, 0],
        [3, 0, 0, 0, 0, 0],
    ),
    pipeline(
        "shuffle by 200",
        [0, 0, 0, 0, 0, SHUFFLE],
        [0, 0, 0, 0, 0, 200],
    ),
    pipeline(
        "six",
        [DELTA, SHUFFLE, BITSHUFFLE, SHUFFLE, BITSHUFFLE, SHUFFLE],
        [0, 0, 0, 2, 0, 5],
    ),
    pipeline(
        "shuffle twice",
        [0, 0, 0, 0, SHUFFLE, SHUFFLE],
        [0, 0, 0, 0, 0, 16],
    ),
];

/// The codecs that every build has.
pub const CODECS: [u8; 5] = [BLOSCLZ, LZ4, LZ4HC, ZLIB, ZSTD];

/// A few common pipelines, the last with a delta.
pub const FILTERS: [[u8; 6]; 4] = [
    [0; 6],
    [0, 0, 0, 0, 0, SHUFFLE],
    [0, 0, 0, 0, 0, BITSHUFFLE],
    [0, 0, 0, 0, DELTA, SHUFFLE],
];
