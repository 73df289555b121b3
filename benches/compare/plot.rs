//! The ratios as an SVG: a panel for each codec and filter, one for small buffers, one for single
//! items, one for the goals. Ratios are on a logarithmic axis with a line at 1.

use crate::measure::Measured;
use crate::rows::{CODECS, FILTERS, Group, ITEMS, Operation, Row, SMALL_SIZES, Size};
use crate::summary::mean;
use oxiblosc_testing::data::Kind;
use std::fmt::Write;

const PANEL: (f64, f64) = (330.0, 190.0);
const GAP: (f64, f64) = (50.0, 92.0);
const MARGIN: (f64, f64) = (60.0, 100.0);
/// The ends of the axis. A ratio beyond an end is drawn as an arrow at the edge, with its number.
const RANGE: (f64, f64) = (0.5, 16.0);
const COMPRESS: &str = "#d1600a";
const DECOMPRESS: &str = "#1f6fb4";
const GETITEM: &str = "#3a8f3a";

/// One panel: its position and the labels of its x axis.
struct Panel<'a> {
    svg: &'a mut String,
    x: f64,
    y: f64,
    steps: usize,
}

impl<'a> Panel<'a> {
    /// Draws the frame, the grid and the labels of the panel in this column and line.
    fn new(
        svg: &'a mut String,
        column: usize,
        line: usize,
        title: &str,
        labels: &[&str],
    ) -> Panel<'a> {
        let x = MARGIN.0 + column as f64 * (PANEL.0 + GAP.0);
        let y = MARGIN.1 + line as f64 * (PANEL.1 + GAP.1);
        let (w, h) = PANEL;
        let _ = writeln!(
            svg,
            r##"<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="#fafafa" stroke="#999"/>"##
        );
        let _ = writeln!(
            svg,
            r#"<text x="{x}" y="{}" class="title">{title}</text>"#,
            y - 8.0
        );
        for ratio in [0.5, 1.0, 2.0, 4.0, 8.0, 16.0] {
            let at = y + height_of(ratio);
            let (color, width) = if ratio == 1.0 {
                ("#333", 1.5)
            } else {
                ("#ddd", 1.0)
            };
            let _ = writeln!(
                svg,
                r#"<line x1="{x}" y1="{at:.1}" x2="{}" y2="{at:.1}" stroke="{color}" stroke-width="{width}"/>"#,
                x + w
            );
            let _ = writeln!(
                svg,
                r#"<text x="{}" y="{:.1}" class="tick" text-anchor="end">{ratio}</text>"#,
                x - 5.0,
                at + 4.0
            );
        }
        let panel = Panel {
            svg,
            x,
            y,
            steps: labels.len(),
        };
        for (step, label) in labels.iter().enumerate() {
            let (at, under) = (panel.middle(step), y + h + 12.0);
            let _ = writeln!(
                panel.svg,
                r#"<text x="{at:.1}" y="{under}" class="tick" text-anchor="end" transform="rotate(-35 {at:.1} {under})">{label}</text>"#
            );
        }
        panel
    }

    fn middle(&self, step: usize) -> f64 {
        self.x + PANEL.0 * (step as f64 + 0.5) / self.steps as f64
    }

    /// A dot at `shift` (-1 to 1) from the middle of a step. It is hollow for more than one thread.
    fn dot(&mut self, step: usize, shift: f64, row: &Row, ratio: f64) {
        let color = match row.operation {
            Operation::Compress => COMPRESS,
            Operation::Decompress => DECOMPRESS,
            Operation::GetItem(_) => GETITEM,
        };
        let fill = if row.case.threads > 1 { "white" } else { color };
        let x = self.middle(step) + shift * PANEL.0 / self.steps as f64 * 0.35;
        let y = self.y + height_of(ratio);
        let title = format!("<title>{}: {ratio:.2}</title>", row.describe());
        let style = format!(r#"fill="{fill}" stroke="{color}" stroke-width="1.8""#);
        if (RANGE.0..=RANGE.1).contains(&ratio) {
            let _ = writeln!(
                self.svg,
                r#"<circle cx="{x:.1}" cy="{y:.1}" r="4" {style}>{title}</circle>"#
            );
            return;
        }
        // The tip is at the edge. The number for one thread is on one side, that for several on the
        // other.
        let back = if ratio > RANGE.1 { 9 } else { -9 };
        let (anchor, aside) = if row.case.threads > 1 {
            ("start", 7.0)
        } else {
            ("end", -7.0)
        };
        let number = if ratio < 1.0 {
            format!("{ratio:.2}")
        } else {
            format!("{ratio:.0}")
        };
        let _ = writeln!(
            self.svg,
            r#"<path d="M{x:.1} {y:.1}l4.5 {back}h-9z" {style}>{title}</path><text x="{:.1}" y="{:.1}" class="tick" text-anchor="{anchor}">{number}</text>"#,
            x + aside,
            y + f64::from(back) / 2.0 + 5.0
        );
    }
}

/// The distance of a ratio from the top of a panel.
fn height_of(ratio: f64) -> f64 {
    let (low, high) = (RANGE.0.ln(), RANGE.1.ln());
    let part = (ratio.clamp(RANGE.0, RANGE.1).ln() - low) / (high - low);
    PANEL.1 * (1.0 - part)
}

/// The shift of a dot from the middle of its step.
fn shift(row: &Row) -> f64 {
    let side = if row.operation == Operation::Compress {
        -0.5
    } else {
        0.5
    };
    side + if row.case.threads > 1 { 0.3 } else { -0.3 }
}

/// The whole plot.
pub fn svg(measured: &[(Row, Measured)]) -> String {
    let lines = CODECS.len() + 1;
    let width = MARGIN.0 + 3.0 * PANEL.0 + 2.0 * GAP.0 + 25.0;
    let height = MARGIN.1 + lines as f64 * (PANEL.1 + GAP.1);
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">
<style>text {{ font-family: sans-serif; fill: #222 }} .head {{ font-size: 20px }} .title {{ font-size: 14px; font-weight: bold }} .tick {{ font-size: 11px }} .note {{ font-size: 13px }}</style>
<rect width="{width}" height="{height}" fill="white"/>
<text x="{0}" y="32" class="head">oxiblosc: speed relative to the reference, higher is faster</text>"#,
        MARGIN.0
    );
    legend(&mut svg);
    codec_panels(&mut svg, measured);
    small_panel(&mut svg, measured);
    item_panel(&mut svg, measured);
    goals(&mut svg, CODECS.len(), measured);
    svg.push_str("</svg>\n");
    svg
}

/// A panel for each codec and filter: chunks of level 5.
fn codec_panels(svg: &mut String, measured: &[(Row, Measured)]) {
    let kinds: Vec<&str> = Kind::MEASURED.iter().map(|kind| kind.name()).collect();
    let of_level_5 = |row: &Row| row.case.size == Size::Chunk && row.case.clevel == 5;
    for (line, (codec, codec_name)) in CODECS.iter().enumerate() {
        for (column, (filter, filter_name)) in FILTERS.iter().enumerate() {
            let mut panel = Panel::new(
                svg,
                column,
                line,
                &format!("{codec_name}, {filter_name}"),
                &kinds,
            );
            for (row, result) in measured.iter().filter(|(row, _)| of_level_5(row)) {
                if (row.case.codec, row.case.filter) == (*codec, *filter) {
                    let step = Kind::MEASURED
                        .iter()
                        .position(|kind| *kind == row.case.kind);
                    panel.dot(
                        step.expect("a kind of the list"),
                        shift(row),
                        row,
                        result.ratio(),
                    );
                }
            }
        }
    }
}

/// The panel of small buffers, behind those of the codecs.
fn small_panel(svg: &mut String, measured: &[(Row, Measured)]) {
    let labels = ["256 B", "1 KiB", "4 KiB", "16 KiB", "64 KiB"];
    let mut panel = Panel::new(svg, 0, CODECS.len(), "small buffers, shuffle", &labels);
    for (row, result) in measured
        .iter()
        .filter(|(row, _)| row.case.size == Size::Small)
    {
        let step = SMALL_SIZES
            .iter()
            .position(|nbytes| *nbytes == row.case.nbytes);
        panel.dot(
            step.expect("a length of the list"),
            shift(row),
            row,
            result.ratio(),
        );
    }
}

/// The panel of single items, beside that of small buffers.
fn item_panel(svg: &mut String, measured: &[(Row, Measured)]) {
    let labels = ["1 item", "100 items", "10,000 items"];
    let mut panel = Panel::new(svg, 1, CODECS.len(), "getitem", &labels);
    for (row, result) in measured {
        if let Operation::GetItem(items) = row.operation {
            let step = ITEMS.iter().position(|n| *n == items);
            panel.dot(
                step.expect("a number of the list"),
                0.0,
                row,
                result.ratio(),
            );
        }
    }
}

/// The legend.
fn legend(svg: &mut String) {
    let entries = [
        (COMPRESS, COMPRESS, "compress, 1 thread"),
        (COMPRESS, "white", "compress, 2 threads"),
        (DECOMPRESS, DECOMPRESS, "decompress, 1 thread"),
        (DECOMPRESS, "white", "decompress, 2 threads"),
        (GETITEM, GETITEM, "getitem"),
    ];
    for (n, (stroke, fill, text)) in entries.iter().enumerate() {
        let x = MARGIN.0 + 6.0 + n as f64 * 190.0;
        let _ = writeln!(
            svg,
            r#"<circle cx="{x}" cy="56" r="5" fill="{fill}" stroke="{stroke}" stroke-width="1.8"/><text x="{}" y="61" class="note">{text}</text>"#,
            x + 12.0
        );
    }
    let _ = writeln!(
        svg,
        r#"<text x="{}" y="32" class="note" text-anchor="end">An arrow at the edge with a number: a ratio beyond the axis.</text>"#,
        MARGIN.0 + 3.0 * PANEL.0 + 2.0 * GAP.0
    );
}

/// The geometric means as bars, each with a mark at its goal.
fn goals(svg: &mut String, line: usize, measured: &[(Row, Measured)]) {
    let names: Vec<&str> = Group::GOALS.iter().map(|(_, name, _)| *name).collect();
    let panel = Panel::new(
        svg,
        2,
        line,
        "geometric means (bars) and goals (marks)",
        &names,
    );
    let width = PANEL.0 / names.len() as f64 * 0.6;
    for (step, (group, name, goal)) in Group::GOALS.into_iter().enumerate() {
        let Some(mean) = mean(measured, group) else {
            continue;
        };
        let middle = panel.middle(step);
        let (left, right) = (middle - width / 2.0, middle + width / 2.0);
        let (top, bottom) = (
            panel.y + height_of(mean.max(1.0)),
            panel.y + height_of(mean.min(1.0)),
        );
        let height = (bottom - top).max(1.0);
        let mark = panel.y + height_of(goal);
        let above = top.min(mark) - 5.0;
        let color = if mean >= goal { "#7aa874" } else { "#c9856b" };
        let _ = writeln!(
            panel.svg,
            r##"<rect x="{left:.1}" y="{top:.1}" width="{width:.1}" height="{height:.1}" fill="{color}"><title>{name}: {mean:.2}, goal {goal}</title></rect>
<line x1="{:.1}" y1="{mark:.1}" x2="{:.1}" y2="{mark:.1}" stroke="#222" stroke-width="2"/>
<text x="{middle:.1}" y="{above:.1}" class="tick" text-anchor="middle">{mean:.2}</text>"##,
            left - 4.0,
            right + 4.0,
        );
    }
}
