//! Where bytes lie: files and directories, and the traits by which a program brings storage of its
//! own ([`Backend`] opens what is at a path, [`Storage`] is what it opened).
//!
//! A border to another language finds here back ends of functions ([`callbacks`]) and of maps
//! ([`mmap`]), and what a thread has locked ([`operation`]).

pub use oxiblosc_io::file::Filesystem;
pub use oxiblosc_io::within::FilesWithin;
pub use oxiblosc_io::{
    Backend, Exclusion, Mode, Storage, Written, attributes, callbacks, file, mmap, operation,
    paths, shared,
};
