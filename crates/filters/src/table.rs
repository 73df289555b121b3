//! The table of filters: all that is known of each. The pipeline of chunks, the tool's options and
//! the tests of all filters come from here.

use crate::{bytedelta, int_trunc, ndcell, ndmean, trunc_prec};
use oxiblosc_base::Result;
use oxiblosc_base::cells::BlockShape;

/// The ids of filters.
pub mod filter_id {
    /// An empty slot.
    pub const NONE: u8 = 0;
    /// Byte shuffle; its meta byte, if not 0, is the number of byte streams.
    pub const SHUFFLE: u8 = 1;
    /// Bit shuffle.
    pub const BITSHUFFLE: u8 = 2;
    /// XOR with the first block.
    pub const DELTA: u8 = 3;
    /// Mantissa bits set to zero; not undone.
    pub const TRUNC_PREC: u8 = 4;
    /// Ids above this belong to registered and user-defined filters.
    pub const LAST_DEFINED: u8 = 31;
    /// Items sorted by cells of an n-dimensional block.
    pub const NDCELL: u8 = 32;
    /// Means of cells of an n-dimensional block.
    pub const NDMEAN: u8 = 33;
    /// [`BYTEDELTA`] as it was first released.
    pub const BYTEDELTA_BUGGY: u8 = 34;
    /// Differences of neighbouring bytes of a shuffled block.
    pub const BYTEDELTA: u8 = 35;
    /// Bits of integers set to zero; not undone.
    pub const INT_TRUNC: u8 = 36;
}

/// A filter.
pub struct Filter {
    /// Its id.
    pub id: u8,
    /// The name in the tool; none if it is for reading old data only.
    pub name: Option<&'static str>,
    /// Whether it does nothing without a parameter: bits, or the side of a cell.
    pub needs_parameter: bool,
    /// What it does with a block.
    pub kind: FilterKind,
}

impl Filter {
    /// Whether it is undone when a block is decompressed.
    pub fn is_undone(&self) -> bool {
        !matches!(self.kind, FilterKind::Items(_))
    }
}

/// A function from a block into another of the same length.
type OfStreams = fn(usize, &[u8], &mut [u8]);
/// The same, of blocks of arrays: their shape, the meta byte, the size of an item.
type OfCells = fn(BlockShape, u8, usize, &[u8], &mut [u8]) -> Result<()>;

/// What a filter does with a block.
pub enum FilterKind {
    /// One that is neither of streams, cells nor items: the pipeline has its own code for it.
    OfFormat,
    /// One for the byte streams of a shuffled block. Their number is the meta byte, or the size of
    /// an item.
    Streams {
        /// When compressing.
        forward: OfStreams,
        /// Undoes it.
        backward: OfStreams,
    },
    /// One for blocks of arrays.
    Cells {
        /// When compressing.
        forward: OfCells,
        /// Undoes it.
        backward: OfCells,
    },
    /// One that is not undone: the meta byte, the size of an item.
    Items(fn(i8, usize, &[u8], &mut [u8]) -> Result<()>),
}

/// A filter that the format defines.
const fn of_format(id: u8, name: &'static str) -> Filter {
    Filter {
        id,
        name: Some(name),
        needs_parameter: false,
        kind: FilterKind::OfFormat,
    }
}

/// All filters of the library.
pub static FILTERS: [Filter; 10] = [
    of_format(filter_id::NONE, "none"),
    of_format(filter_id::SHUFFLE, "shuffle"),
    of_format(filter_id::BITSHUFFLE, "bitshuffle"),
    of_format(filter_id::DELTA, "delta"),
    Filter {
        id: filter_id::TRUNC_PREC,
        name: Some("truncprec"),
        needs_parameter: true,
        kind: FilterKind::Items(trunc_prec::truncate),
    },
    Filter {
        id: filter_id::NDCELL,
        name: Some("ndcell"),
        needs_parameter: true,
        kind: FilterKind::Cells {
            forward: ndcell::forward,
            backward: ndcell::backward,
        },
    },
    Filter {
        id: filter_id::NDMEAN,
        name: Some("ndmean"),
        needs_parameter: true,
        kind: FilterKind::Cells {
            forward: ndmean::forward,
            backward: ndmean::backward,
        },
    },
    Filter {
        id: filter_id::BYTEDELTA_BUGGY,
        name: None,
        needs_parameter: false,
        kind: FilterKind::Streams {
            forward: bytedelta::forward_cut,
            backward: bytedelta::backward_cut,
        },
    },
    Filter {
        id: filter_id::BYTEDELTA,
        name: Some("bytedelta"),
        needs_parameter: false,
        kind: FilterKind::Streams {
            forward: bytedelta::forward,
            backward: bytedelta::backward,
        },
    },
    Filter {
        id: filter_id::INT_TRUNC,
        name: Some("inttrunc"),
        needs_parameter: true,
        kind: FilterKind::Items(int_trunc::truncate),
    },
];

/// The filter of an id; none if it is the program's, or unknown.
#[inline]
pub fn filter(id: u8) -> Option<&'static Filter> {
    FILTERS.iter().find(|filter| filter.id == id)
}
