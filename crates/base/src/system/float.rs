//! The floating-point state of threads: how results are rounded, and whether numbers near zero
//! become zero. A program may set it for its thread; the threads that work for it take it over, or
//! results would depend on how many there are.

/// The state of a thread, without what the processor reports and which exceptions it raises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloatState(u64);

/// Gives a thread its own state back when this is dropped.
struct Restore {
    before: Option<registers::Registers>,
}

impl FloatState {
    /// That of the calling thread.
    #[inline]
    pub fn of_this_thread() -> Self {
        Self(registers::read().mode())
    }

    /// Makes a call in this state.
    #[inline]
    pub fn during<T>(self, call: impl FnOnce() -> T) -> T {
        let now = registers::read();
        let before = (now.mode() != self.0).then(|| {
            registers::write(now.with_mode(self.0));
            now
        });
        let _restore = Restore { before };
        call()
    }
}

impl Drop for Restore {
    #[inline]
    fn drop(&mut self) {
        if let Some(before) = self.before {
            registers::write(before);
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod registers {
    use std::arch::asm;

    /// The control and status register of vectors, and the control word of the older unit, with
    /// which C compilers compute a `long double`.
    #[derive(Clone, Copy)]
    pub struct Registers {
        vectors: u32,
        older: u16,
    }

    /// Rounding, and what becomes of numbers near zero.
    const VECTORS: u32 = 0b11 << 13 | 1 << 15 | 1 << 6;
    /// Rounding and precision.
    const OLDER: u16 = 0b1111 << 8;

    impl Registers {
        pub fn mode(self) -> u64 {
            u64::from(self.vectors & VECTORS) | u64::from(self.older & OLDER) << 32
        }

        pub fn with_mode(self, mode: u64) -> Self {
            Self {
                vectors: self.vectors & !VECTORS | mode as u32,
                older: self.older & !OLDER | (mode >> 32) as u16,
            }
        }
    }

    #[inline]
    pub fn read() -> Registers {
        let (mut vectors, mut older) = (0_u32, 0_u16);
        // SAFETY: both are stored where they have room.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &mut vectors, options(nostack, preserves_flags));
            asm!("fnstcw [{}]", in(reg) &mut older, options(nostack, preserves_flags));
        }
        Registers { vectors, older }
    }

    #[inline]
    pub fn write(registers: Registers) {
        let Registers { vectors, older } = registers;
        // SAFETY: values that `read` gave, but for the bits of the mode, all of whose values are
        // valid.
        unsafe {
            asm!("ldmxcsr [{}]", in(reg) &vectors, options(nostack, preserves_flags));
            asm!("fldcw [{}]", in(reg) &older, options(nostack, preserves_flags));
        }
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod registers {
    use std::arch::asm;

    /// The control register.
    #[derive(Clone, Copy)]
    pub struct Registers(u64);

    /// Rounding, what becomes of numbers near zero, and of those that are none.
    const MODE: u64 = 0b1111 << 22 | 1 << 19 | 0b11;

    impl Registers {
        pub fn mode(self) -> u64 {
            self.0 & MODE
        }

        pub fn with_mode(self, mode: u64) -> Self {
            Self(self.0 & !MODE | mode)
        }
    }

    #[inline]
    pub fn read() -> Registers {
        let value;
        // SAFETY: any program may read it.
        unsafe { asm!("mrs {}, fpcr", out(reg) value, options(nomem, nostack, preserves_flags)) };
        Registers(value)
    }

    #[inline]
    pub fn write(Registers(value): Registers) {
        // SAFETY: a value that `read` gave, but for the bits of the mode, all of whose values are
        // valid.
        unsafe { asm!("msr fpcr, {}", in(reg) value, options(nomem, nostack, preserves_flags)) };
    }
}

/// Where it is not known how the state is read, and under Miri, each thread has its own.
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod registers {
    #[derive(Clone, Copy)]
    pub struct Registers;

    impl Registers {
        pub fn mode(self) -> u64 {
            0
        }

        pub fn with_mode(self, _mode: u64) -> Self {
            self
        }
    }

    pub fn read() -> Registers {
        Registers
    }

    pub fn write(_registers: Registers) {}
}
