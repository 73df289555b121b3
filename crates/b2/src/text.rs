//! Numbers as people read them, and text from files made safe for terminals.

pub use oxiblosc_repair::words::{bytes, grouped, plural};
use std::ops::Range;

/// The compression ratio: uncompressed over compressed bytes.
pub fn ratio(nbytes: u64, cbytes: u64) -> String {
    match cbytes {
        0 => "-".into(),
        _ => {
            let ratio = nbytes as f64 / cbytes as f64;
            let digits = if ratio < 100.0 { 2 } else { 0 };
            format!("{ratio:.digits$}")
        }
    }
}

/// A name from a file, without the control characters that a terminal would take as commands.
pub fn clean(name: &[u8]) -> String {
    String::from_utf8_lossy(name)
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// Sorted numbers as ranges: `3, 7-9, 12`. At most `most` ranges, then dots.
pub fn ranges(numbers: &[usize], most: usize) -> String {
    ranges_of(numbers.iter().map(|number| *number..number + 1), most)
}

/// As [`ranges`], of numbers in sorted ranges, none of which is empty.
pub fn ranges_of(numbers: impl Iterator<Item = Range<usize>>, most: usize) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for range in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == range.start => *last = range.end - 1,
            _ => ranges.push((range.start, range.end - 1)),
        }
    }
    let mut out: Vec<String> = ranges
        .iter()
        .take(most)
        .map(|(from, to)| {
            if from == to {
                from.to_string()
            } else {
                format!("{from}-{to}")
            }
        })
        .collect();
    if ranges.len() > most {
        out.push("...".into());
    }
    out.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(bytes(0), "0 bytes");
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(1536), "1.50 KiB");
        assert_eq!(bytes(50 << 20), "50.0 MiB");
        assert_eq!(bytes(1023 << 20), "1023 MiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
        assert_eq!(grouped(-1234567), "-1 234 567");
        assert_eq!(grouped(12), "12");
        assert_eq!(
            (ratio(10, 4), ratio(3000, 2), ratio(1, 0)),
            ("2.50".into(), "1500".into(), "-".into())
        );
        assert_eq!(ranges(&[1, 2, 3, 5, 8, 9], 9), "1-3, 5, 8-9");
        assert_eq!(ranges(&[1, 3, 5], 2), "1, 3, ...");
        assert_eq!(clean(b"a\x1b[2J"), "a\u{fffd}[2J");
        assert_eq!(plural(1, "chunk", "chunks"), "1 chunk");
    }
}
