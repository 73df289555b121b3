//! Transactions: what is changed in one is there after the commit as if there had been none, and gone when it is abandoned.

#[path = "../common/mod.rs"]
mod common;

mod handles;
mod model;
mod place;
