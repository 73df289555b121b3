//! The coding of bit planes, compiled for several sets of CPU features.

use super::bits::{BitReader, BitWriter};
use super::planes::{PlaneLimits, decode, encode};

/// The coding of bit planes with one set of CPU features. It does not depend on the type of the
/// items. It is not inlined, so that it is compiled only once for both types, except for cells of
/// one dimension, where a call would cost too much.
pub trait PlaneCoder: Copy {
    /// See [`encode`].
    fn encode<const N: usize, const W: usize>(
        self,
        values: &mut [u64; N],
        limits: PlaneLimits,
        out: &mut BitWriter,
    ) -> usize;
    /// See [`decode`].
    fn decode<const N: usize, const W: usize>(
        self,
        values: &mut [u64; N],
        limits: PlaneLimits,
        input: &mut BitReader,
    ) -> usize;
}

/// The instructions that every CPU of the architecture has.
#[derive(Clone, Copy)]
pub struct BaselineCoder;

impl PlaneCoder for BaselineCoder {
    #[inline(never)]
    fn encode<const N: usize, const W: usize>(
        self,
        values: &mut [u64; N],
        limits: PlaneLimits,
        out: &mut BitWriter,
    ) -> usize {
        encode::<N, W>(values, limits, out)
    }

    #[inline(never)]
    fn decode<const N: usize, const W: usize>(
        self,
        values: &mut [u64; N],
        limits: PlaneLimits,
        input: &mut BitReader,
    ) -> usize {
        decode::<N, W>(values, limits, input)
    }
}

/// AVX2 and the bit manipulation instructions BMI1, BMI2 and LZCNT. Invariant: a value exists only
/// if the CPU has them, as `new` checks.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx2Coder(());

#[cfg(target_arch = "x86_64")]
impl Avx2Coder {
    /// `None` if the CPU lacks one of the features.
    pub fn new() -> Option<Self> {
        (oxiblosc_base::memory::cpu::has_avx2()
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("lzcnt"))
        .then_some(Self(()))
    }
}

#[cfg(target_arch = "x86_64")]
impl PlaneCoder for Avx2Coder {
    #[inline(always)]
    fn encode<const N: usize, const W: usize>(
        self,
        values: &mut [u64; N],
        limits: PlaneLimits,
        out: &mut BitWriter,
    ) -> usize {
        #[inline(never)]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
        fn with_avx2<const N: usize, const W: usize>(
            values: &mut [u64; N],
            limits: PlaneLimits,
            out: &mut BitWriter,
        ) -> usize {
            encode::<N, W>(values, limits, out)
        }
        if N == 4 {
            return encode::<N, W>(values, limits, out);
        }
        // SAFETY: the CPU has these features (invariant of `Avx2Coder`).
        unsafe { with_avx2::<N, W>(values, limits, out) }
    }

    #[inline(always)]
    fn decode<const N: usize, const W: usize>(
        self,
        values: &mut [u64; N],
        limits: PlaneLimits,
        input: &mut BitReader,
    ) -> usize {
        #[inline(never)]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
        fn with_avx2<const N: usize, const W: usize>(
            values: &mut [u64; N],
            limits: PlaneLimits,
            input: &mut BitReader,
        ) -> usize {
            decode::<N, W>(values, limits, input)
        }
        if N == 4 {
            return decode::<N, W>(values, limits, input);
        }
        // SAFETY: the CPU has these features (invariant of `Avx2Coder`).
        unsafe { with_avx2::<N, W>(values, limits, input) }
    }
}
