//! How many processors the process may use.

use oxiblosc_memory::Text;
use std::ffi::CStr;

/// As many as it may run on, and no more than its control group may use at once; at least 1. That of the standard library
/// takes memory that it must have.
pub fn count() -> usize {
    allowed().min(quota().unwrap_or(usize::MAX)).max(1)
}

#[cfg(target_os = "linux")]
fn allowed() -> usize {
    // SAFETY: a set of bits, for which zeros are a value; the call writes as many bytes as it is told.
    let (refused, set) = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        (libc::sched_getaffinity(0, size_of_val(&set), &mut set), set)
    };
    if refused == 0 {
        // SAFETY: the set was written.
        return unsafe { libc::CPU_COUNT(&set) }.max(1) as usize;
    }
    online()
}

#[cfg(not(target_os = "linux"))]
fn allowed() -> usize {
    online()
}

fn online() -> usize {
    // SAFETY: a number for a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(1)
}

/// What the control group (of version 2) of the process and those above it allow, if anything is said.
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

/// The processors that a line like `150000 100000` allows: microseconds in each period. None for `max`.
#[cfg(any(target_os = "linux", test))]
fn allowance(line: &[u8]) -> Option<usize> {
    let mut numbers = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let quota: usize = numbers.next()?.parse().ok()?;
    let period: usize = numbers.next()?.parse().ok()?;
    Some((quota / period.max(1)).max(1))
}

/// The front of a file.
#[cfg(target_os = "linux")]
fn read<'a>(path: &CStr, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    // SAFETY: the path is a C string, and as many bytes are read as there is room for. The descriptor is closed once.
    let got = unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let got = libc::read(file, buffer.as_mut_ptr().cast(), buffer.len());
        libc::close(file);
        got
    };
    buffer.get(..usize::try_from(got).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_the_standard_library_counts() {
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
