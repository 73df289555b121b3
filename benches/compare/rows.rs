//! The rows: each is one operation on a case, which is data and parameters.

use oxiblosc_testing::abi::*;
use oxiblosc_testing::data::Kind;

/// The group whose goal a row counts for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    FastCodecs,
    BitshuffleLz4,
    Zlib,
    Lz4hc,
    Zstd,
    Zeros,
    GetItem,
    Small,
}

impl Group {
    /// All groups, each with its name and the geometric mean of the speed ratios that is its goal.
    pub const GOALS: [(Group, &'static str, f64); 8] = [
        (Group::FastCodecs, "LZ4 and BloscLZ", 1.3),
        (Group::BitshuffleLz4, "bitshuffle with LZ4", 2.0),
        (Group::Zlib, "zlib", 1.7),
        (Group::Lz4hc, "LZ4HC", 1.1),
        (Group::Zstd, "Zstd", 1.05),
        (Group::Zeros, "zeros", 2.0),
        (Group::GetItem, "getitem", 1.5),
        (Group::Small, "small buffers", 1.3),
    ];
}

/// Whether a case has whole chunks, small chunks or single items.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Chunk,
    Small,
    Items,
}

/// Data and parameters. Contexts are created once for each case.
#[derive(Clone, Copy)]
pub struct Case {
    pub codec: u8,
    pub filter: u8,
    pub kind: Kind,
    pub clevel: u8,
    pub threads: i16,
    pub nbytes: usize,
    pub size: Size,
}

/// The operation that is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Compress,
    Decompress,
    /// Random accesses of this number of items.
    GetItem(usize),
}

/// One line of the table.
#[derive(Clone, Copy)]
pub struct Row {
    pub case: Case,
    pub operation: Operation,
}

/// Codecs in the order of the plot.
pub const CODECS: [(u8, &str); 5] = [
    (BLOSCLZ, "blosclz"),
    (LZ4, "lz4"),
    (LZ4HC, "lz4hc"),
    (ZLIB, "zlib"),
    (ZSTD, "zstd"),
];
/// Filters in the order of the plot.
pub const FILTERS: [(u8, &str); 3] = [
    (NOFILTER, "no filter"),
    (SHUFFLE, "shuffle"),
    (BITSHUFFLE, "bitshuffle"),
];
/// Lengths of small buffers.
pub const SMALL_SIZES: [usize; 5] = [256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];
/// Numbers of items of one access.
pub const ITEMS: [usize; 3] = [1, 100, 10_000];

impl Case {
    /// The parameters of a compression context.
    pub fn cparams(&self) -> CParams {
        CParams {
            compcode: self.codec,
            clevel: self.clevel,
            typesize: self.kind.typesize(),
            nthreads: self.threads,
            filters: [0, 0, 0, 0, 0, self.filter],
            ..CParams::default()
        }
    }
}

impl Row {
    /// The group whose goal this row counts for.
    pub fn group(&self) -> Group {
        let case = &self.case;
        match (case.size, case.kind, case.codec) {
            (Size::Items, ..) => Group::GetItem,
            (Size::Small, ..) => Group::Small,
            (_, Kind::Zeros, _) => Group::Zeros,
            (.., LZ4) if case.filter == BITSHUFFLE => Group::BitshuffleLz4,
            (.., BLOSCLZ | LZ4) => Group::FastCodecs,
            (.., ZLIB) => Group::Zlib,
            (.., LZ4HC) => Group::Lz4hc,
            _ => Group::Zstd,
        }
    }

    /// The name of the operation.
    pub fn operation(&self) -> String {
        match self.operation {
            Operation::Compress => "compress".into(),
            Operation::Decompress => "decompress".into(),
            Operation::GetItem(items) => format!("getitem {items}"),
        }
    }

    /// The description of the row.
    pub fn describe(&self) -> String {
        let Case {
            kind,
            clevel,
            threads,
            nbytes,
            ..
        } = self.case;
        let (codec, filter) = (self.codec(), self.filter());
        format!(
            "{codec} {clevel} {filter}, {}, {nbytes} bytes, {threads} threads: {}",
            kind.name(),
            self.operation()
        )
    }

    /// The codec's name.
    pub fn codec(&self) -> &'static str {
        CODECS
            .iter()
            .find(|(code, _)| *code == self.case.codec)
            .map_or("", |(_, name)| name)
    }

    /// The filter's name.
    pub fn filter(&self) -> &'static str {
        FILTERS
            .iter()
            .find(|(code, _)| *code == self.case.filter)
            .map_or("", |(_, name)| name)
    }
}

/// Every case of a run.
pub fn cases(quick: bool) -> Vec<Case> {
    let nbytes = if quick { 1 << 20 } else { 4 << 20 };
    let threads: &[i16] = if quick { &[1] } else { &[1, 2] };
    let of_level_5 = |codec, filter, kind| Case {
        codec,
        filter,
        kind,
        clevel: 5,
        threads: 1,
        nbytes,
        size: Size::Chunk,
    };
    const KINDS: [Kind; 3] = [Kind::SmoothFloat64, Kind::WalkInt32, Kind::Text];
    let mut cases = Vec::new();
    for (codec, _) in CODECS {
        for (filter, _) in FILTERS {
            for kind in Kind::MEASURED {
                cases.extend(threads.iter().map(|&threads| Case {
                    threads,
                    ..of_level_5(codec, filter, kind)
                }));
            }
        }
    }
    if !quick {
        for (codec, _) in CODECS {
            for clevel in [1, 9] {
                cases.extend(KINDS.map(|kind| Case {
                    clevel,
                    ..of_level_5(codec, SHUFFLE, kind)
                }));
            }
        }
    }
    for codec in [BLOSCLZ, LZ4, ZSTD] {
        for kind in KINDS {
            cases.extend(SMALL_SIZES.map(|nbytes| Case {
                nbytes,
                size: Size::Small,
                ..of_level_5(codec, SHUFFLE, kind)
            }));
        }
    }
    for (codec, filter) in [
        (BLOSCLZ, SHUFFLE),
        (LZ4, NOFILTER),
        (LZ4, SHUFFLE),
        (LZ4, BITSHUFFLE),
        (ZSTD, SHUFFLE),
    ] {
        cases.extend([Kind::SmoothFloat64, Kind::WalkInt32].map(|kind| Case {
            size: Size::Items,
            ..of_level_5(codec, filter, kind)
        }));
    }
    cases
}

/// The rows of a case.
pub fn rows(case: &Case) -> Vec<Row> {
    let row = |operation| Row {
        case: *case,
        operation,
    };
    match case.size {
        Size::Items => ITEMS.map(|items| row(Operation::GetItem(items))).to_vec(),
        _ => vec![row(Operation::Compress), row(Operation::Decompress)],
    }
}
