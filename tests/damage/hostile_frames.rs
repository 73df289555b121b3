//! Hostile frames: contiguous frames in buffers and files, directories and their index chunks,
//! damaged in every way, through every reader and then through what changes them. Nothing may die,
//! hang, or take memory that nothing stands behind.
//!
//! `OXIBLOSC_HOSTILE_FRAMES` is the number of damaged frames (1,000 by default),
//! `OXIBLOSC_HOSTILE_FRAMES_FIRST` that of the first: the same number always gives the same frame.
//! `OXIBLOSC_LIBRARY` may name a copy of the reference, to see how often that one dies.
//!
//! Frames that contradict themselves are compared with the reference in [`lies`];
//! `OXIBLOSC_HOSTILE_WHOLE` tries all of them. What frames cost ([`limits`]) is measured with a
//! limit of memory or without, or with `OXIBLOSC_DAMAGE=full` in both ways.

mod array_seeds;
mod built;
mod damage;
mod exercise;
mod lies;
mod limits;
mod planted;
mod run;
pub mod seeds;
