//! No call to the system that fails does harm: every call of every change, creation and opening
//! fails in turn, once or from then on, alone or with all others, or transfers half of what it
//! should. Then a call that returns success has made its change, and one that returns an error has
//! not; the frame opens, with the reference too, and the handle shows the frame as it is and takes
//! the same change again, also if another handle has changed the frame since it was read; nothing
//! is left that keeps a creation from being repeated, and no descriptor or map is left open.
//!
//! The process is this one, started again with a library in front of the C library (`shim.c`,
//! compiled here). A sample is run; `OXIBLOSC_FAULTS=full` runs all, and any other value all of
//! what has that in its name.

mod creating;
mod creations;
mod faults;
mod following;
mod frames;
mod place;
mod sweep;
