//! Which CPU this is, where the sets of instructions that it has do not say what is fastest.

/// Whether this is a Zen 3 or Zen 4: AMD's family 25.
#[cfg(target_arch = "x86_64")]
pub(crate) fn is_zen3_or_4() -> bool {
    use core::arch::x86_64::__cpuid;
    use std::sync::atomic::{AtomicU8, Ordering};
    /// Cached, since CPUID is slow in virtual machines: 0 if not known yet, 1 for no, 2 for yes.
    static ANSWER: AtomicU8 = AtomicU8::new(0);
    let answer = match ANSWER.load(Ordering::Relaxed) {
        0 => {
            let (vendor, version) = (__cpuid(0), __cpuid(1).eax);
            let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
            let family = (version >> 8 & 0xf) + (version >> 20 & 0xff);
            let answer = 1 + u8::from(name.as_flattened() == b"AuthenticAMD" && family == 25);
            ANSWER.store(answer, Ordering::Relaxed);
            answer
        }
        known => known,
    };
    answer == 2
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn is_zen3_or_4() -> bool {
    false
}
