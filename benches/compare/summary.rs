//! The results as a CSV table and as a summary.

use crate::measure::Measured;
use crate::rows::{Group, Operation, Row};
use oxiblosc_testing::abi::MAX_OVERHEAD;
use std::fmt::Write;

/// A row with a ratio below this is reported as slower.
const SLOWEST: f64 = 0.95;
/// An output with a ratio above this is reported as larger.
const LARGEST: f64 = 1.005;

/// The columns that identify a row, at the beginning of a line.
fn key(row: &Row) -> String {
    format!(
        "{:?},{},{},{},{},{},{},{},",
        row.group(),
        row.operation(),
        row.codec(),
        row.filter(),
        row.case.kind.name(),
        row.case.clevel,
        row.case.threads,
        row.case.nbytes,
    )
}

/// All rows, one per line.
pub fn csv(measured: &[(Row, Measured)]) -> String {
    let mut out = String::from(
        "group,operation,codec,filter,data,level,threads,nbytes,ours_ns,reference_ns,ours_gb_s,reference_gb_s,ratio,\
         ours_cbytes,reference_cbytes\n",
    );
    for (row, result) in measured {
        let [ours, theirs] = result.seconds;
        let speed = |seconds: f64| result.bytes as f64 / seconds / 1e9;
        let _ = writeln!(
            out,
            "{}{:.0},{:.0},{:.4},{:.4},{:.3},{},{}",
            key(row),
            ours * 1e9,
            theirs * 1e9,
            speed(ours),
            speed(theirs),
            result.ratio(),
            result.cbytes[0],
            result.cbytes[1],
        );
    }
    out
}

/// The result of a row in a table; `None` if the table does not have the row.
pub fn read(table: &str, row: &Row) -> Option<Measured> {
    let key = key(row);
    let figures = table.lines().find_map(|line| line.strip_prefix(&key))?;
    let figures: Vec<f64> = figures.split(',').flat_map(str::parse).collect();
    let [ours, _, speed, _, ratio, size, reference] = figures[..] else {
        panic!("{key}: seven figures expected");
    };
    Some(Measured {
        // The ratio has more digits than the nanoseconds of a small buffer.
        seconds: [ours / 1e9, ours * ratio / 1e9],
        bytes: (speed * ours) as usize,
        cbytes: [size as usize, reference as usize],
    })
}

/// The geometric mean of the ratios of a group; `None` where it has no row.
pub fn mean(measured: &[(Row, Measured)], group: Group) -> Option<f64> {
    mean_of(measured.iter().filter(|(row, _)| row.group() == group))
}

fn mean_of<'a>(rows: impl Iterator<Item = &'a (Row, Measured)>) -> Option<f64> {
    let logs: Vec<f64> = rows.map(|(_, result)| result.ratio().ln()).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// Whether a row compresses or decompresses what comes out as a plain copy. The reference copies
/// some such chunks very slowly, which says nothing about codecs; the means are given with and
/// without them.
fn copied(row: &Row, result: &Measured) -> bool {
    result.cbytes[1] >= row.case.nbytes + MAX_OVERHEAD
}

/// The goals, the slow rows and the large outputs.
pub fn summary(measured: &[(Row, Measured)]) -> String {
    let mut out = String::from("\ngroup                  mean   goal   without copies\n");
    for (group, name, goal) in Group::GOALS {
        if let Some(mean) = mean(measured, group) {
            let of_group = measured.iter().filter(|(row, _)| row.group() == group);
            let others = mean_of(of_group.filter(|(row, result)| !copied(row, result)));
            let verdict = if mean >= goal { "" } else { "  not reached" };
            let others = others.unwrap_or(f64::NAN);
            let _ = writeln!(
                out,
                "{name:<20} {mean:>6.2} {goal:>6.2} {others:>10.2}{verdict}"
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
    let larger = |result: &Measured| result.cbytes[0] as f64 / result.cbytes[1] as f64;
    let large: Vec<_> = measured
        .iter()
        .filter(|(row, result)| row.operation == Operation::Compress && larger(result) > LARGEST)
        .collect();
    let _ = writeln!(
        out,
        "\n{} outputs more than {:.1} % larger",
        large.len(),
        (LARGEST - 1.0) * 100.0
    );
    for (row, result) in large {
        let _ = writeln!(
            out,
            "  {:+.2} %  {}",
            (larger(result) - 1.0) * 100.0,
            row.describe()
        );
    }
    out
}
