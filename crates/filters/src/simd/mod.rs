//! The CPU feature table: which shuffle and bitshuffle kernels there are, and which one this CPU gets.

#[cfg(target_arch = "aarch64")]
mod aarch64;
pub(crate) mod vector;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use super::{bitshuffle, bytedelta, run, shuffle};
use std::sync::OnceLock;

/// A kernel: type size, source, destination of the same length.
pub(crate) type Kernel = unsafe fn(usize, &[u8], &mut [u8]);

/// A kernel of [`Kernel`]'s arguments that does its work, or names another one for it. That one is called when the first has
/// returned: each keeps many vectors on the stack, and small stacks have room for those of one.
#[derive(Clone, Copy)]
pub(crate) struct BitKernel(pub(crate) unsafe fn(usize, &[u8], &mut [u8]) -> Option<BitKernel>);

impl BitKernel {
    /// Has the work done.
    ///
    /// # Safety
    /// The CPU has the instruction sets of the kernel and of those that it names.
    pub(crate) unsafe fn run(self, typesize: usize, src: &[u8], dst: &mut [u8]) {
        let mut next = Some(self);
        while let Some(BitKernel(kernel)) = next {
            // SAFETY: the caller's contract.
            next = unsafe { kernel(typesize, src, dst) };
        }
    }
}

/// A kernel that puts the elements whose bytes are in streams of the same length together.
pub(crate) type Joiner = unsafe fn(&[&[u8]], &mut [u8]);

/// A kernel that knows no items: source, destination of the same length.
type Mover = unsafe fn(&[u8], &mut [u8]);

/// The kernels for one instruction set.
pub(crate) struct Kernels {
    /// The instruction set's name.
    name: &'static str,
    /// Whether this CPU can run them.
    supported: fn() -> bool,
    shuffle: Kernel,
    unshuffle: Kernel,
    join: Joiner,
    bitshuffle: BitKernel,
    bitunshuffle: BitKernel,
    copy: Mover,
    differences: Mover,
    sums: Mover,
    repeats: unsafe fn(u8, &[u8]) -> bool,
}

/// Whether the CPU has GFNI beside AVX2, and it works.
#[cfg(target_arch = "x86_64")]
fn has_gfni() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("gfni")
        // SAFETY: both features were just detected.
        && unsafe { x86_64::avx2::gfni_works() }
}

/// The copy of instruction sets that have nothing better to offer.
fn copy_by_library(src: &[u8], dst: &mut [u8]) {
    dst.copy_from_slice(src);
}

/// Every set of kernels that was compiled, the fastest first; the last one runs anywhere.
static ALL: &[Kernels] = &[
    #[cfg(target_arch = "x86_64")]
    Kernels {
        name: "avx512+gfni",
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
        supported: || true,
        shuffle: x86_64::sse2::shuffle,
        unshuffle: x86_64::sse2::unshuffle,
        join: x86_64::sse2::join,
        bitshuffle: BitKernel(x86_64::sse2::bitshuffle),
        bitunshuffle: BitKernel(x86_64::sse2::bitunshuffle),
        copy: copy_by_library,
        differences: bytedelta::differences,
        sums: x86_64::sse2::sums,
        repeats: run::repeats,
    },
    #[cfg(target_arch = "aarch64")]
    Kernels {
        name: "neon",
        supported: || true,
        shuffle: aarch64::neon::shuffle,
        unshuffle: aarch64::neon::unshuffle,
        join: aarch64::neon::join,
        bitshuffle: BitKernel(aarch64::neon::bitshuffle),
        bitunshuffle: BitKernel(aarch64::neon::bitunshuffle),
        copy: copy_by_library,
        differences: bytedelta::differences,
        sums: aarch64::neon::sums,
        repeats: run::repeats,
    },
    Kernels {
        name: "portable",
        supported: || true,
        shuffle: shuffle::portable::shuffle,
        unshuffle: shuffle::portable::unshuffle,
        join: shuffle::portable::join,
        bitshuffle: BitKernel(bitshuffle::portable::bitshuffle),
        bitunshuffle: BitKernel(bitshuffle::portable::bitunshuffle),
        copy: copy_by_library,
        differences: bytedelta::differences,
        sums: bytedelta::sums,
        repeats: run::repeats,
    },
];

/// A set of kernels that this CPU can run: the only way to get at one is [`best`] or [`supported`].
#[derive(Clone, Copy)]
pub(crate) struct Runnable(&'static Kernels);

impl Runnable {
    /// The instruction set's name.
    pub(crate) fn name(self) -> &'static str {
        self.0.name
    }

    /// Shuffles `src` into `dst`, of the same length; `typesize` is at least 1.
    pub(crate) fn shuffle(self, typesize: usize, src: &[u8], dst: &mut [u8]) {
        // SAFETY: `self` proves that the CPU has what the kernel needs.
        unsafe { (self.0.shuffle)(typesize, src, dst) }
    }

    /// The inverse of [`Runnable::shuffle`].
    pub(crate) fn unshuffle(self, typesize: usize, src: &[u8], dst: &mut [u8]) {
        // SAFETY: as in `shuffle`.
        unsafe { (self.0.unshuffle)(typesize, src, dst) }
    }

    /// Puts the elements whose bytes are in `streams` together in `dst`, which has the size of all of them. How many streams
    /// there can be says [`shuffle::generic::can_join`]; they have the same length, 64 at least.
    pub(crate) fn join(self, streams: &[&[u8]], dst: &mut [u8]) {
        // SAFETY: as in `shuffle`.
        unsafe { (self.0.join)(streams, dst) }
    }

    /// Transposes the bits of `src` into `dst`, of the same length, which is a positive multiple of `8 * typesize`.
    pub(crate) fn bitshuffle(self, typesize: usize, src: &[u8], dst: &mut [u8]) {
        // SAFETY: as in `shuffle`.
        unsafe { self.0.bitshuffle.run(typesize, src, dst) }
    }

    /// The inverse of [`Runnable::bitshuffle`].
    pub(crate) fn bitunshuffle(self, typesize: usize, src: &[u8], dst: &mut [u8]) {
        // SAFETY: as in `shuffle`.
        unsafe { self.0.bitunshuffle.run(typesize, src, dst) }
    }

    /// Copies `src` into `dst`, of the same length.
    pub(crate) fn copy(self, src: &[u8], dst: &mut [u8]) {
        // SAFETY: as in `shuffle`.
        unsafe { (self.0.copy)(src, dst) }
    }

    /// The differences of neighbouring bytes of `src`, the first one from 0, into `dst`, of the same length.
    pub(crate) fn differences(self, src: &[u8], dst: &mut [u8]) {
        // SAFETY: as in `shuffle`.
        unsafe { (self.0.differences)(src, dst) }
    }

    /// The inverse of [`Runnable::differences`].
    pub(crate) fn sums(self, src: &[u8], dst: &mut [u8]) {
        // SAFETY: as in `shuffle`.
        unsafe { (self.0.sums)(src, dst) }
    }

    /// Whether all of `data` is `value`.
    pub(crate) fn repeats(self, value: u8, data: &[u8]) -> bool {
        // SAFETY: as in `shuffle`.
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

/// Every set of kernels that this CPU can run, the fastest first.
pub(crate) fn supported() -> impl Iterator<Item = Runnable> {
    ALL.iter()
        .filter(|kernels| (kernels.supported)())
        .map(Runnable)
}

/// The fastest kernels for this CPU, found out once.
pub(crate) fn best() -> Runnable {
    static BEST: OnceLock<Runnable> = OnceLock::new();
    *BEST.get_or_init(|| supported().next().unwrap_or(Runnable(&ALL[ALL.len() - 1])))
}
