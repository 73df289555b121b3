//! How much memory this process uses, as Linux says it.

/// A number of `/proc/self/status` in bytes, such as `VmRSS`, what is in memory, or `VmHWM`, the
/// most that ever was. The system sums up counters of each processor approximately, so that a later
/// peak may be a little lower.
pub fn status(name: &str) -> usize {
    let text = std::fs::read_to_string("/proc/self/status").expect("a process knows itself");
    let line = text.lines().find(|line| line.starts_with(name));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<usize>().ok());
    kilobytes.unwrap_or_else(|| panic!("no {name}")) << 10
}

/// Has the process's peaks begin at what it holds now.
pub fn forget_peaks() {
    std::fs::write("/proc/self/clear_refs", "5").expect("a process may forget its peak");
}
