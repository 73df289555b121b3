//! Arrays: the metalayer against the reference, the fixtures, what the reference gets wrong, and
//! damaged frames.
//!
//! `OXIBLOSC_HOSTILE_B2ND` is the number of damaged frames (2,000 by default),
//! `OXIBLOSC_HOSTILE_B2ND_FIRST` that of the first: the same number always gives the same frame.

mod codes;
mod copies;
mod damage;
mod dtypes;
mod memory;
mod metalayers;
mod resizing;

use blosc2::capi::b2nd::context::{b2nd_create_ctx, b2nd_free_ctx};
use blosc2::capi::b2nd::convert::b2nd_from_cbuffer;
use blosc2::capi::b2nd::create::b2nd_free;
use blosc2::capi::schunk::convert::{blosc2_schunk_copy, blosc2_schunk_to_buffer};
use blosc2::capi::schunk::create::blosc2_schunk_free;
use blosc2::capi::types::{
    blosc2_cparams, blosc2_dparams, blosc2_postfilter_params, blosc2_storage,
};
use oxiblosc_testing::b2nd::{Array, B2ndLib, Spec, c_path, our_arrays, reference_arrays};
use oxiblosc_testing::data::{Rng, mix};
use oxiblosc_testing::fixtures::fixtures;
use oxiblosc_testing::isolated::isolated;
use std::ffi::{CStr, c_int};
use std::ptr::{null, null_mut};

fn spec(shape: &[i64], chunks: &[i32], blocks: &[i32], typesize: i32) -> Spec {
    Spec {
        shape: shape.to_vec(),
        chunks: chunks.to_vec(),
        blocks: blocks.to_vec(),
        cparams: blosc2_cparams {
            typesize,
            ..blosc2_cparams::defaults()
        },
        nthreads: 1,
        contiguous: true,
        path: None,
    }
}

fn counted(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// A frame that claims a lot must not get it.
fn limit_memory(bytes: u64) {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: a limit of this process, which is a child.
    let rc = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    assert_eq!(rc, 0, "a limit");
}
