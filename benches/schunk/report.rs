//! The results as a CSV table, as bars, and as a summary.

use crate::measure::Measured;
use crate::rows::{Operation, Row};
use std::fmt::Write;

/// A row with a ratio below this is reported as slower.
const SLOWEST: f64 = 0.95;
/// The largest ratio of the times of ten times as many appends.
const GROWTH: f64 = 11.0;

/// All rows, one per line.
pub fn csv(measured: &[(Row, Measured)]) -> String {
    let mut out = String::from(
        "operation,storage,chunks,chunksize,blocksize,threads,ours_us,reference_us,ratio\n",
    );
    for (row, result) in measured {
        let [ours, theirs] = result.seconds.map(|seconds| seconds * 1e6);
        let _ = writeln!(
            out,
            "\"{}\",{},{},{},{},{},{ours:.1},{theirs:.1},{:.3}",
            row.operation.name(),
            row.storage.name(),
            row.chunks,
            row.chunksize,
            row.blocksize,
            row.threads,
            result.ratio(),
        );
    }
    out
}

/// A bar for each row, on a logarithmic axis with lines at powers of two, as far as the ratios go.
pub fn svg(measured: &[(Row, Measured)]) -> String {
    const LINE: usize = 18;
    const OCTAVE: f64 = 48.0;
    /// The average width of a character: no common sans-serif font of this size is wider.
    const CHARACTER: f64 = 6.8;
    let longest = measured.iter().map(|(row, _)| row.describe().len()).max();
    let left = (20.0 + CHARACTER * longest.unwrap_or(0) as f64).ceil();
    let octaves = || measured.iter().map(|(_, result)| result.ratio().log2());
    let low = octaves().fold(-1.0, f64::min).floor();
    let high = octaves().fold(1.0, f64::max).ceil();
    let place = |ratio: f64| left + OCTAVE * (ratio.log2() - low);
    let (width, height) = (
        left + OCTAVE * (high - low + 0.5),
        60 + LINE * measured.len(),
    );
    let mut out = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/><text x="10" y="20" font-size="14">Super-chunks: speed of this library over the reference</text>"#
    );
    for power in low as i32..=high as i32 {
        let (ratio, at) = (f64::powi(2.0, power), place(f64::powi(2.0, power)));
        let color = if power == 0 { "#333" } else { "#ddd" };
        let _ = write!(
            out,
            r##"<line x1="{at}" y1="45" x2="{at}" y2="{height}" stroke="{color}"/><text x="{at}" y="40" text-anchor="middle">{ratio}</text>"##
        );
    }
    for (n, (row, result)) in measured.iter().enumerate() {
        let y = 50 + LINE * n;
        let (from, to) = (place(1.0), place(result.ratio()));
        let color = if result.ratio() < SLOWEST {
            "#b42020"
        } else {
            "#1f6fb4"
        };
        let _ = write!(
            out,
            r#"<text x="{}" y="{}" text-anchor="end">{}</text><rect x="{}" y="{y}" width="{:.1}" height="{}" fill="{color}"/>"#,
            left - 8.0,
            y + 11,
            row.describe(),
            from.min(to),
            (to - from).abs().max(1.0),
            LINE - 5,
        );
    }
    out.push_str("</svg>\n");
    out
}

/// The goals and the slow rows.
pub fn summary(measured: &[(Row, Measured)]) -> String {
    let mut out = String::from("\ngroup                                     mean   goal\n");
    let mut groups: Vec<(String, f64)> = Vec::new();
    for (row, _) in measured {
        if !groups.contains(&row.group()) {
            groups.push(row.group());
        }
    }
    for group in &groups {
        let logs: Vec<f64> = measured
            .iter()
            .filter(|(row, _)| row.group() == *group)
            .map(|(_, result)| result.ratio().ln())
            .collect();
        let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        let verdict = if mean >= group.1 { "" } else { "  not reached" };
        let _ = writeln!(out, "{:<40} {mean:>6.2} {:>6.2}{verdict}", group.0, group.1);
    }
    for (row, few) in measured {
        let tenfold = |other: &&(Row, Measured)| {
            let other = &other.0;
            other.operation == Operation::Append
                && row.operation == Operation::Append
                && other.storage == row.storage
                && other.chunks == 10 * row.chunks
        };
        if let Some((_, many)) = measured.iter().find(tenfold) {
            let [ours, theirs] = [0, 1].map(|n| many.seconds[n] / few.seconds[n]);
            let verdict = if ours > GROWTH { "  not reached" } else { "" };
            let _ = writeln!(
                out,
                "ten times as many appends, {}: {ours:.1} times as long (the reference {theirs:.1}), goal {GROWTH}{verdict}",
                row.storage.name()
            );
        }
    }
    let slow: Vec<_> = measured
        .iter()
        .filter(|(_, result)| result.ratio() < SLOWEST)
        .collect();
    let _ = writeln!(
        out,
        "\n{} of {} rows under {SLOWEST}",
        slow.len(),
        measured.len()
    );
    for (row, result) in slow {
        let _ = writeln!(out, "  {:.2}  {}", result.ratio(), row.describe());
    }
    out
}
