//! The number of processors that the process may use.

#[cfg(target_os = "linux")]
use oxiblosc_base::memory::Text;
#[cfg(target_os = "linux")]
use oxiblosc_base::system::files::{self, NewFileAccess, OpenFlags};
use oxiblosc_base::system::thread::processors;
#[cfg(target_os = "linux")]
use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// How often [`recent_count`] returns the last count before it asks the system again.
const ANSWERS: u32 = 64;

/// The result of [`count`] a few calls ago, perhaps on another thread. Asking the system each time
/// would take a tenth of the time of a small chunk.
pub fn recent_count() -> usize {
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    static LEFT: AtomicU32 = AtomicU32::new(0);
    let left = LEFT.load(Ordering::Relaxed);
    if left == 0 {
        KNOWN.store(count(), Ordering::Relaxed);
    }
    // Threads that count down at the same time may lose a step, which only delays the next
    // question.
    LEFT.store(left.checked_sub(1).unwrap_or(ANSWERS), Ordering::Relaxed);
    KNOWN.load(Ordering::Relaxed).max(1)
}

/// The number of processors in the thread's affinity mask, limited by the CPU quota of its cgroup,
/// which is read once; at least 1. It is what `available_parallelism` of the standard library
/// returns, but that function aborts the process if there is no memory.
pub fn count() -> usize {
    /// The quota, or 0 as long as it was not read.
    static QUOTA: AtomicUsize = AtomicUsize::new(0);
    let mut quota = QUOTA.load(Ordering::Relaxed);
    if quota == 0 {
        quota = self::quota().unwrap_or(usize::MAX).max(1);
        QUOTA.store(quota, Ordering::Relaxed);
    }
    allowed().clamp(1, quota)
}

#[cfg(target_os = "linux")]
fn allowed() -> usize {
    // SAFETY: a `cpu_set_t` is a bit mask, for which all zeros is a valid value; the call writes at
    // most the given size.
    let (refused, set) = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        (libc::sched_getaffinity(0, size_of_val(&set), &mut set), set)
    };
    if refused == 0 {
        // SAFETY: `set` is initialised.
        return unsafe { libc::CPU_COUNT(&set) }.max(1) as usize;
    }
    processors()
}

#[cfg(not(target_os = "linux"))]
fn allowed() -> usize {
    processors()
}

/// The smallest CPU quota of the process's cgroup (version 2) and its ancestors, in processors.
/// `None` if there is no limit.
#[cfg(target_os = "linux")]
fn quota() -> Option<usize> {
    let mut buffer = [0; 1024];
    let groups = read(c"/proc/self/cgroup", &mut buffer)?;
    let line = groups
        .split(|byte| *byte == b'\n')
        .find_map(|line| line.strip_prefix(b"0::/"));
    let mut group = line?;
    let mut least = None::<usize>;
    loop {
        let mut path = Text::<1100>::new();
        path.push(b"/sys/fs/cgroup/");
        path.push(group);
        path.push(b"/cpu.max");
        let path = path.with_nul();
        let mut buffer = [0; 64];
        let allowed = CStr::from_bytes_until_nul(&path)
            .ok()
            .and_then(|path| read(path, &mut buffer))
            .and_then(allowance);
        least = least.into_iter().chain(allowed).min();
        if group.is_empty() {
            return least;
        }
        let above = group.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        group = &group[..above];
    }
}

#[cfg(not(target_os = "linux"))]
fn quota() -> Option<usize> {
    None
}

/// The number of processors that a `cpu.max` file allows. A line like `150000 100000` is the quota
/// and the period in microseconds. `None` for `max`.
#[cfg(any(target_os = "linux", test))]
fn allowance(line: &[u8]) -> Option<usize> {
    let mut numbers = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let quota: usize = numbers.next()?.parse().ok()?;
    let period: usize = numbers.next()?.parse().ok()?;
    Some((quota / period.max(1)).max(1))
}

/// Reads the start of a file, as much as fits into `buffer`.
#[cfg(target_os = "linux")]
fn read<'a>(path: &CStr, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let file = files::open(path, OpenFlags::READ, NewFileAccess::All).ok()?;
    let got = files::read_at(&file, buffer, 0).ok()?;
    buffer.get(..got)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_is_that_of_the_standard_library() {
        let expected = std::thread::available_parallelism().map_or(1, |n| n.get());
        assert_eq!(count(), expected);
    }

    #[test]
    fn allowances() {
        assert_eq!(allowance(b"150000 100000\n"), Some(1));
        assert_eq!(allowance(b"400000 100000\n"), Some(4));
        assert_eq!(allowance(b"1000 100000\n"), Some(1));
        assert_eq!(allowance(b"max 100000\n"), None);
        assert_eq!(allowance(b""), None);
    }
}
