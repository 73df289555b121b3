//! Transactions: what is changed in one is there after the commit as if there had been none, and
//! gone when it is abandoned.

mod handles;
mod model;
mod place;
