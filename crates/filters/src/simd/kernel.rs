//! The types of kernels.

/// A kernel: type size, source, destination of the same length.
pub(crate) type Kernel = unsafe fn(usize, &[u8], &mut [u8]);

/// A kernel that either does the work or returns another kernel for it. The other kernel is called
/// when the first has returned, so that their stack frames, which hold many vectors, do not add up.
#[derive(Clone, Copy)]
pub(crate) struct BitKernel(pub(crate) unsafe fn(usize, &[u8], &mut [u8]) -> Option<BitKernel>);

impl BitKernel {
    /// Runs the kernel, or the one that it returns.
    ///
    /// # Safety
    /// The CPU has the instruction sets of the kernel and of those that it returns.
    pub(crate) unsafe fn run(self, typesize: usize, src: &[u8], dst: &mut [u8]) {
        let mut next = Some(self);
        while let Some(BitKernel(kernel)) = next {
            // SAFETY: the CPU has them (# Safety).
            next = unsafe { kernel(typesize, src, dst) };
        }
    }
}

/// A kernel that joins byte streams of equal length into elements.
pub(crate) type JoinKernel = unsafe fn(&[&[u8]], &mut [u8]);

/// A kernel that works on bytes: source, destination of the same length.
pub(crate) type ByteKernel = unsafe fn(&[u8], &mut [u8]);
