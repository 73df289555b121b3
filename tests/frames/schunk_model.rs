//! Random sequences of every operation on a super-chunk, on all storages, by our library, by the
//! reference and by a plain model: the bytes must be the model's, the return codes the reference's
//! but where it is known to be wrong.
//!
//! `OXIBLOSC_MODEL` is the number of sequences (600 by default), `OXIBLOSC_MODEL_FIRST` that of the
//! first: the same number always gives the same sequence. `OXIBLOSC_MODEL_REFERENCE=1` runs the
//! reference and the model alone: what the model knows of the reference's rules was found so. With
//! `OXIBLOSC_MODEL_STEPS=1` every step is printed.

mod chunks;
mod compare;
mod model;
mod ops;
mod run;
mod sequence;
mod subject;
mod wrong;
