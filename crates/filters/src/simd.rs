//! The table of kernels by instruction set, and the choice of kernels for this CPU.

#[cfg(target_arch = "aarch64")]
mod aarch64;
pub(crate) mod bitshuffle;
pub(crate) mod bytes;
pub(crate) mod kernel;
pub(crate) mod shuffle;
pub(crate) mod vector;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use kernel::{BitKernel, ByteKernel, JoinKernel, Kernel};
use oxiblosc_base::memory::cpu::{Vectors, allows};
use std::sync::OnceLock;

/// The kernels for one instruction set.
pub(crate) struct Kernels {
    /// The name of the instruction set.
    name: &'static str,
    /// Whether this CPU can run these kernels.
    supported: fn() -> bool,
    /// The vectors that they use, which a setting may forbid.
    vectors: Vectors,
    shuffle: Kernel,
    unshuffle: Kernel,
    join: JoinKernel,
    bitshuffle: BitKernel,
    bitunshuffle: BitKernel,
    copy: ByteKernel,
    differences: ByteKernel,
    sums: ByteKernel,
    repeats: unsafe fn(u8, &[u8]) -> bool,
}

/// Whether the CPU has AVX2 and a working GFNI.
#[cfg(target_arch = "x86_64")]
fn has_gfni() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("gfni")
        // SAFETY: the two checks before it say that the CPU has both features.
        && unsafe { x86_64::avx2::gfni_works() }
}

/// The copy for instruction sets without a kernel for it.
fn copy_by_library(src: &[u8], dst: &mut [u8]) {
    dst.copy_from_slice(src);
}

/// All sets of kernels that were compiled, the fastest first. The last one runs on any CPU.
static ALL: &[Kernels] = &[
    #[cfg(target_arch = "x86_64")]
    Kernels {
        name: "avx512+gfni",
        vectors: Vectors::Avx512,
        supported: || {
            std::arch::is_x86_feature_detected!("avx2")
                && std::arch::is_x86_feature_detected!("avx512f")
                && std::arch::is_x86_feature_detected!("avx512bw")
                && std::arch::is_x86_feature_detected!("avx512vbmi")
                && has_gfni()
        },
        shuffle: x86_64::avx512::shuffle,
        unshuffle: x86_64::avx512::unshuffle,
        join: x86_64::avx512::join,
        bitshuffle: BitKernel(x86_64::avx512::bitshuffle_gfni),
        bitunshuffle: BitKernel(x86_64::avx512::bitunshuffle_gfni),
        copy: x86_64::avx2::copy,
        differences: x86_64::avx2::differences,
        sums: x86_64::avx2::sums,
        repeats: x86_64::avx2::repeats,
    },
    #[cfg(target_arch = "x86_64")]
    Kernels {
        name: "avx512",
        vectors: Vectors::Avx512,
        supported: || {
            std::arch::is_x86_feature_detected!("avx2")
                && std::arch::is_x86_feature_detected!("avx512f")
                && std::arch::is_x86_feature_detected!("avx512bw")
        },
        shuffle: x86_64::avx512::shuffle,
        unshuffle: x86_64::avx512::unshuffle,
        join: x86_64::avx512::join,
        bitshuffle: BitKernel(x86_64::avx512::bitshuffle),
        bitunshuffle: BitKernel(x86_64::avx512::bitunshuffle),
        copy: x86_64::avx2::copy,
        differences: x86_64::avx2::differences,
        sums: x86_64::avx2::sums,
        repeats: x86_64::avx2::repeats,
    },
    #[cfg(target_arch = "x86_64")]
    Kernels {
        name: "avx2+gfni",
        vectors: Vectors::Avx2,
        supported: has_gfni,
        shuffle: x86_64::avx2::shuffle,
        unshuffle: x86_64::avx2::unshuffle,
        join: x86_64::avx2::join,
        bitshuffle: BitKernel(x86_64::avx2::bitshuffle_gfni),
        bitunshuffle: BitKernel(x86_64::avx2::bitunshuffle_gfni),
        copy: x86_64::avx2::copy,
        differences: x86_64::avx2::differences,
        sums: x86_64::avx2::sums,
        repeats: x86_64::avx2::repeats,
    },
    #[cfg(target_arch = "x86_64")]
    Kernels {
        name: "avx2",
        vectors: Vectors::Avx2,
        supported: || std::arch::is_x86_feature_detected!("avx2"),
        shuffle: x86_64::avx2::shuffle,
        unshuffle: x86_64::avx2::unshuffle,
        join: x86_64::avx2::join,
        bitshuffle: BitKernel(x86_64::avx2::bitshuffle),
        bitunshuffle: BitKernel(x86_64::avx2::bitunshuffle),
        copy: x86_64::avx2::copy,
        differences: x86_64::avx2::differences,
        sums: x86_64::avx2::sums,
        repeats: x86_64::avx2::repeats,
    },
    #[cfg(target_arch = "x86_64")]
    Kernels {
        name: "sse2",
        vectors: Vectors::Baseline,
        supported: || true,
        shuffle: x86_64::sse2::shuffle,
        unshuffle: x86_64::sse2::unshuffle,
        join: x86_64::sse2::join,
        bitshuffle: BitKernel(x86_64::sse2::bitshuffle),
        bitunshuffle: BitKernel(x86_64::sse2::bitunshuffle),
        copy: copy_by_library,
        differences: bytes::differences,
        sums: x86_64::sse2::sums,
        repeats: bytes::repeats,
    },
    #[cfg(target_arch = "aarch64")]
    Kernels {
        name: "neon",
        vectors: Vectors::Baseline,
        supported: || true,
        shuffle: aarch64::neon::shuffle,
        unshuffle: aarch64::neon::unshuffle,
        join: aarch64::neon::join,
        bitshuffle: BitKernel(aarch64::neon::bitshuffle),
        bitunshuffle: BitKernel(aarch64::neon::bitunshuffle),
        copy: copy_by_library,
        differences: bytes::differences,
        sums: aarch64::neon::sums,
        repeats: bytes::repeats,
    },
    Kernels {
        name: "portable",
        vectors: Vectors::None,
        supported: || true,
        shuffle: shuffle::portable::shuffle,
        unshuffle: shuffle::portable::unshuffle,
        join: shuffle::portable::join,
        bitshuffle: BitKernel(bitshuffle::portable::bitshuffle),
        bitunshuffle: BitKernel(bitshuffle::portable::bitunshuffle),
        copy: copy_by_library,
        differences: bytes::differences,
        sums: bytes::sums,
        repeats: bytes::repeats,
    },
];

/// A set of kernels that this CPU can run. Invariant: their `supported` returned true, or they are
/// the portable ones. Only [`best`] and [`supported`] create values of this type.
#[derive(Clone, Copy)]
pub(crate) struct Runnable(&'static Kernels);

impl Runnable {
    /// The name of the instruction set.
    pub(crate) fn name(self) -> &'static str {
        self.0.name
    }

    /// Shuffles `src` into `dst`, which has the same length. `typesize` is at least 1.
    pub(crate) fn shuffle(self, typesize: usize, src: &[u8], dst: &mut [u8]) {
        // SAFETY: the CPU has the instruction set of the kernels (invariant of `Runnable`).
        unsafe { (self.0.shuffle)(typesize, src, dst) }
    }

    /// The inverse of [`Runnable::shuffle`].
    pub(crate) fn unshuffle(self, typesize: usize, src: &[u8], dst: &mut [u8]) {
        // SAFETY: the CPU has the instruction set of the kernels (invariant of `Runnable`).
        unsafe { (self.0.unshuffle)(typesize, src, dst) }
    }

    /// Joins byte streams into elements in `dst`, which has the size of all streams. Their number
    /// must be one that [`shuffle::generic::can_join`] accepts, and their lengths equal and at
    /// least 64.
    pub(crate) fn join(self, streams: &[&[u8]], dst: &mut [u8]) {
        // SAFETY: the CPU has the instruction set of the kernels (invariant of `Runnable`).
        unsafe { (self.0.join)(streams, dst) }
    }

    /// Bitshuffles `src` into `dst`, which has the same length, a positive multiple of `8 *
    /// typesize`.
    pub(crate) fn bitshuffle(self, typesize: usize, src: &[u8], dst: &mut [u8]) {
        // SAFETY: the CPU has the instruction set of the kernels (invariant of `Runnable`).
        unsafe { self.0.bitshuffle.run(typesize, src, dst) }
    }

    /// The inverse of [`Runnable::bitshuffle`].
    pub(crate) fn bitunshuffle(self, typesize: usize, src: &[u8], dst: &mut [u8]) {
        // SAFETY: the CPU has the instruction set of the kernels (invariant of `Runnable`).
        unsafe { self.0.bitunshuffle.run(typesize, src, dst) }
    }

    /// Copies `src` to `dst`, which has the same length.
    pub(crate) fn copy(self, src: &[u8], dst: &mut [u8]) {
        // SAFETY: the CPU has the instruction set of the kernels (invariant of `Runnable`).
        unsafe { (self.0.copy)(src, dst) }
    }

    /// Writes the difference of each byte of `src` from the previous one (the first from 0) to
    /// `dst`, which has the same length.
    pub(crate) fn differences(self, src: &[u8], dst: &mut [u8]) {
        // SAFETY: the CPU has the instruction set of the kernels (invariant of `Runnable`).
        unsafe { (self.0.differences)(src, dst) }
    }

    /// The inverse of [`Runnable::differences`].
    pub(crate) fn sums(self, src: &[u8], dst: &mut [u8]) {
        // SAFETY: the CPU has the instruction set of the kernels (invariant of `Runnable`).
        unsafe { (self.0.sums)(src, dst) }
    }

    /// Whether all bytes of `data` are `value`.
    pub(crate) fn repeats(self, value: u8, data: &[u8]) -> bool {
        // SAFETY: the CPU has the instruction set of the kernels (invariant of `Runnable`).
        unsafe { (self.0.repeats)(value, data) }
    }
}

/// A vector that any CPU of this architecture has.
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) type AnyCpu = x86_64::sse2::Lane<false>;
/// A vector that any CPU of this architecture has.
#[cfg(all(test, target_arch = "aarch64"))]
pub(crate) type AnyCpu = aarch64::neon::Neon;

/// The name of the instruction set whose kernels are used.
pub fn kernels_in_use() -> &'static str {
    best().name()
}

/// All sets of kernels that this CPU can run, the fastest first.
pub(crate) fn supported() -> impl Iterator<Item = Runnable> {
    ALL.iter()
        .filter(|kernels| (kernels.supported)())
        .map(Runnable)
}

/// The fastest kernels for this CPU that no setting forbids. The choice is made once.
pub(crate) fn best() -> Runnable {
    static BEST: OnceLock<Runnable> = OnceLock::new();
    *BEST.get_or_init(|| {
        let mut allowed = supported().filter(|kernels| allows(kernels.0.vectors));
        allowed.next().unwrap_or(Runnable(&ALL[ALL.len() - 1]))
    })
}

#[cfg(test)]
mod tests {
    use super::{ALL, supported};

    #[test]
    fn kernels_that_this_cpu_lacks_are_printed() {
        for kernels in ALL.iter().filter(|kernels| !(kernels.supported)()) {
            println!(
                "not tested: the kernels {}, which this CPU lacks",
                kernels.name
            );
        }
        assert!(supported().any(|kernels| kernels.name() == "portable"));
        let sse2_or_neon = supported().any(|kernels| matches!(kernels.name(), "sse2" | "neon"));
        assert!(sse2_or_neon || !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")));
    }
}
