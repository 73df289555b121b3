//! Finds what is left of a Blosc2 frame that is damaged or truncated, and repairs its chunks.
//!
//! The header, the index and the trailer are used if they can be read, and trusted if their
//! checksums fit. Chunks that the index does not lead to are searched for in the file: they lie one
//! behind the other, and a chunk's header has enough redundancy to be told from other bytes.
//!
//! A frame is repaired in steps. Nothing is ever written to it.
//!
//! 1. [`RolledBackFile`] is the file without a change that was not finished.
//! 2. [`contiguous`](fn@contiguous) or [`sparse`] finds the parts of a frame in a file or a
//!    directory: a [`Salvage`].
//! 3. [`agree`](fn@agree) corrects a header that is in doubt by the headers of the chunks.
//! 4. [`ChunkRepair`] reads each chunk of [`Salvage::locations`], and gives one for the new frame,
//!    with a [`Verdict`].
//!
//! [`Files`] opens the files, and remembers errors that show no damage.
//!
//! ```no_run
//! use oxiblosc_repair::{Contexts, Files, RolledBackFile, SystemFiles, contiguous};
//!
//! let files = SystemFiles::default();
//! let file = files.open(c"damaged.b2frame").expect("a file");
//! let image = RolledBackFile::new(&*file, &files, &mut Vec::new()).expect("its bytes");
//! let contexts = Contexts::plain(1).expect("memory");
//! let salvage = contiguous(&image, &contexts, Vec::new()).expect("something is left");
//! for note in &salvage.notes {
//!     println!("{note}");
//! }
//! println!("{} chunks", salvage.locations.len());
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs, clippy::missing_errors_doc)]

mod agree;
mod array;
mod budget;
pub mod check;
mod chunk_repair;
mod chunks;
mod contexts;
mod contiguous;
mod directory;
mod end;
mod fields;
mod files;
mod header;
mod index;
mod integrity;
mod location;
mod order;
mod plausible;
mod rolled_back;
mod run_list;
mod salvage;
mod scan;
mod specials;
mod start;
pub mod words;

pub use agree::{Sizes, agree};
pub use array::{array_layer, array_meta};
pub use chunk_repair::{ChunkRepair, Verdict};
pub use chunks::{ChunkFinder, Front, is_proven, templates};
pub use contexts::{Contexts, cparams_of, missing_of};
pub use contiguous::contiguous;
pub use directory::sparse;
pub use fields::UsualFields;
pub use files::{Files, SystemFiles, is_fault};
pub use integrity::Integrity;
pub use location::{ChunkLocation, MISPLACED, chunk_number};
pub use plausible::is_sound;
pub use rolled_back::RolledBackFile;
pub use run_list::RunList;
pub use salvage::{PartStates, Result, Salvage, Unrepairable};
