//! Numbers in words.

/// A number of bytes, with a unit.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if count < 1024 {
        return if count == 1 {
            "1 byte".into()
        } else {
            format!("{count} bytes")
        };
    }
    let (mut value, mut unit) = (count as f64 / 1024.0, UNITS[0]);
    for next in &UNITS[1..] {
        if value < 1023.5 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    let digits = if value < 10.0 {
        2
    } else {
        usize::from(value < 100.0)
    };
    format!("{value:.digits$} {unit}")
}

/// A number with spaces between groups of three digits.
pub fn grouped(number: i128) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    if number < 0 { format!("-{out}") } else { out }
}

/// A number with the word for one thing or for many.
pub fn plural(count: usize, one: &str, many: &str) -> String {
    if count == 1 {
        format!("1 {one}")
    } else {
        format!("{} {many}", grouped(count as i128))
    }
}
