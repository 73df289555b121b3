//! The sources and the documents: what may use what, and that what is written about them is so.

mod architecture;
mod documents;
