//! The ids of filters, as chunks and [`CParams`](crate::CParams) have them, and the table of all
//! filters ([`FILTERS`]).

pub use oxiblosc_filters::filter_id::*;
pub use oxiblosc_filters::{FILTERS, Filter, FilterKind, Transposition, filter as find};
