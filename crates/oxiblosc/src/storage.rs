//! Where bytes lie: files and directories, and the traits by which a program brings storage of its
//! own ([`Backend`] opens what is at a path, [`Storage`] is what it opened).

pub use oxiblosc_io::file::Filesystem;
pub use oxiblosc_io::within::FilesWithin;
pub use oxiblosc_io::{Backend, Exclusion, Mode, Storage, Written, attributes, paths, shared};
