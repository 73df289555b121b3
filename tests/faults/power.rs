//! With `BLOSC_DURABLE` no frame is lost when the power is: every disk that a cut may leave has the
//! frame as it was before a change or as it is after it, and what a call had returned for is there.
//!
//! `OXIBLOSC_POWER=full` looks at all disks and not at a sample, `OXIBLOSC_POWER_ONLY=name` at the
//! scenarios whose names contain `name` alone.

mod child;
mod disk;
mod forged;
mod pages;
mod race;
mod scenario;
mod sweep;
