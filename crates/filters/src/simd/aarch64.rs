//! The vector of aarch64 and the kernels made of it.

pub(crate) mod neon;
