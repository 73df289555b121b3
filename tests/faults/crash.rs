//! A frame is never lost: a process that dies before or in the middle of any write of any change
//! leaves a frame that opens as it was before the change or after it, and a change that meets a
//! full disk or a failing write leaves it as it was.
//!
//! What a copy of it is written over or behind is not lost either.
//!
//! The process that dies is this one, started again with a library in front of the C library
//! (`shim.c`, compiled here) that counts the calls which change files. Storages take turns, and so
//! do the ways to be cut short. `OXIBLOSC_CRASH=name` runs the changes whose names contain `name`
//! alone, in all storages and ways, and with an empty name all changes.

mod backend;
mod child;
mod copies;
mod sweep;
