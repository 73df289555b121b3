//! Which vector instructions may be used: those that the CPU has, or fewer.
//!
//! The environment variable `BLOSC_SIMD` lowers them: `avx512`, `avx2` or `sse2` (`neon` on ARM) is the most that may be used, `none`
//! means code without vectors. It is read once. The libraries of codecs, and CRC-32C of short data, choose for themselves.

use crate::env;
use std::sync::OnceLock;

/// Vector instructions, each with those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vectors {
    /// None.
    None,
    /// What every CPU of the architecture has: SSE2, or NEON.
    Baseline,
    /// AVX2, with the instructions that came with it, and GFNI in its vectors.
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

/// Whether such instructions may be used where the CPU has them.
#[inline]
pub fn allows(vectors: Vectors) -> bool {
    static MOST: OnceLock<Vectors> = OnceLock::new();
    let most = || env::get(c"BLOSC_SIMD", Vectors::of).flatten();
    vectors <= *MOST.get_or_init(|| most().unwrap_or(Vectors::Avx512))
}

/// Whether the CPU has AVX2, and it may be used.
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
