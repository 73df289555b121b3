//! Which vector instructions are used: those that the CPU has, or fewer if the environment says so.
//!
//! The environment variable `BLOSC_SIMD` is an upper limit: `avx512`, `avx2`, `sse2` (`neon` on
//! ARM), or `none` for code without vectors. It is read once. Codec libraries in C, and CRC-32C of
//! short data, do not look at it.

use crate::memory::env;
use std::sync::OnceLock;

/// Levels of vector instructions; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vectors {
    /// None.
    None,
    /// What every CPU of the architecture has: SSE2, or NEON.
    Baseline,
    /// AVX2 and the extensions that appeared with it, and GFNI for its vectors.
    Avx2,
    /// AVX-512.
    Avx512,
}

impl Vectors {
    fn of(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "sse2" | "neon" => Some(Self::Baseline),
            "avx2" => Some(Self::Avx2),
            "avx512" => Some(Self::Avx512),
            _ => None,
        }
    }
}

/// Whether the environment allows this level.
#[inline]
pub fn allows(vectors: Vectors) -> bool {
    static HIGHEST: OnceLock<Vectors> = OnceLock::new();
    let most = || env::get(c"BLOSC_SIMD", Vectors::of).flatten();
    vectors <= *HIGHEST.get_or_init(|| most().unwrap_or(Vectors::Avx512))
}

/// Whether the CPU has AVX2, and the environment allows it.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && allows(Vectors::Avx2)
}

#[cfg(test)]
mod tests {
    use super::Vectors;

    #[test]
    fn names_are_in_order() {
        let names = ["none", "sse2", "avx2", "avx512"].map(Vectors::of);
        assert!(names.is_sorted() && names.iter().all(Option::is_some));
        assert_eq!(Vectors::of("neon"), Vectors::of("sse2"));
        assert_eq!(Vectors::of("AVX2"), None);
    }
}
