//! The vectors of x86-64 and the kernels made of them.

pub(crate) mod avx2;
pub(crate) mod avx512;
pub(crate) mod sse2;
