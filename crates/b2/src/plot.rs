//! Plots what [`bench`](crate::bench) measured, ratio against speed, as SVG.

use crate::bench::{Measured, speed};
use crate::settings::codec_name;
use std::fmt::Write;

/// The left edges of the two panels, in pixels; below their width, upper edge and height.
const LEFT: [f64; 2] = [70.0, 545.0];
const WIDTH: f64 = 400.0;
const TOP: f64 = 90.0;
const HEIGHT: f64 = 400.0;

/// The value on the x axis of a panel.
type Value = fn(&Measured) -> f64;

/// A colour for each codec, from the palette of Okabe and Ito, which colour-blind people can tell
/// apart, too.
fn colour(codec: u8) -> &'static str {
    match codec {
        0 => "#0072b2",
        1 => "#e69f00",
        2 => "#d55e00",
        4 => "#009e73",
        5 => "#cc79a7",
        _ => "#666666",
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A logarithmic scale from `low` to `high`.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values.fold((f64::MAX, f64::MIN_POSITIVE), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        // Leave some margin on both sides, and some width if all values are alike.
        Self {
            low: (low / 1.15).max(1e-9),
            high: (high * 1.15).max(low * 1.5),
        }
    }

    /// The place of a value on the scale: 0 to 1.
    fn at(&self, value: f64) -> f64 {
        (value / self.low).ln() / (self.high / self.low).ln()
    }

    /// Round numbers within it.
    fn ticks(&self) -> Vec<f64> {
        let steps = if self.high / self.low > 30.0 {
            &[1.0, 3.0][..]
        } else {
            &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0]
        };
        let decades = (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32);
        let all =
            decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
        all.filter(|tick| (self.low..=self.high).contains(tick))
            .collect()
    }
}

fn number(value: f64) -> String {
    if value >= 10.0 || value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

/// A mark by filter: a circle for the byte shuffle, a square for the bit shuffle, a triangle for
/// none.
fn mark(filters: &str, x: f64, y: f64, style: &str, title: &str) -> String {
    let shape = if filters.starts_with("shuffle") {
        format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"")
    } else if filters.starts_with("bitshuffle") {
        format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"9\" height=\"9\"",
            x - 4.5,
            y - 4.5
        )
    } else {
        format!("<path d=\"M{x:.1} {:.1}l5.5 10h-11z\"", y - 6.0)
    };
    let element = shape[1..].split(' ').next().unwrap_or("path").to_string();
    format!(
        "{shape} {style}><title>{}</title></{element}>\n",
        escaped(title)
    )
}

/// One of the two panels.
struct Panel<'a> {
    name: &'a str,
    /// The value on its x axis.
    value: Value,
    left: f64,
    speeds: Scale,
    /// The y axis of both panels.
    ratios: &'a Scale,
}

impl Panel<'_> {
    /// The position of a row, in pixels.
    fn at(&self, row: &Measured) -> (f64, f64) {
        (self.x((self.value)(row)), self.y(row.ratio))
    }

    fn x(&self, speed: f64) -> f64 {
        self.left + self.speeds.at(speed) * WIDTH
    }

    fn y(&self, ratio: f64) -> f64 {
        TOP + (1.0 - self.ratios.at(ratio)) * HEIGHT
    }

    /// Draws its name, the lines of its scales, and its frame. Writing to a string does not fail.
    fn axes(&self, out: &mut String) {
        let Self { name, left, .. } = self;
        let _ = writeln!(
            out,
            "<text x=\"{left}\" y=\"{}\" font-weight=\"bold\">{name}, millions of bytes a second</text>",
            TOP - 12.0
        );
        for tick in self.speeds.ticks() {
            let at = self.x(tick);
            let _ = writeln!(
                out,
                "<path d=\"M{at:.1} {TOP}v{HEIGHT}\" stroke=\"#ddd\"/><text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\" fill=\"#444\">{}</text>",
                TOP + HEIGHT + 16.0,
                number(tick)
            );
        }
        for tick in self.ratios.ticks() {
            let at = self.y(tick);
            let _ = writeln!(
                out,
                "<path d=\"M{left} {at:.1}h{WIDTH}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#444\">{}</text>",
                left - 6.0,
                at + 4.0,
                number(tick)
            );
        }
        let _ = writeln!(
            out,
            "<rect x=\"{left}\" y=\"{TOP}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" stroke=\"#888\"/>"
        );
    }

    /// Draws a mark for each row, and the names of the best ones if there is room.
    fn marks(&self, rows: &[Measured], best: &[bool], out: &mut String) {
        let points: Vec<(f64, f64)> = rows.iter().map(|row| self.at(row)).collect();
        let mut taken: Vec<(f64, f64)> = Vec::new();
        for (row, best) in rows.iter().zip(best) {
            let (x, y) = self.at(row);
            *out += &mark(&row.filters(), x, y, &style(row, *best), &title(row));
            // The name stands to the right of its mark, or to the left near the right edge.
            let right = x <= self.left + WIDTH - 70.0;
            let covers = |(u, v): &(f64, f64), from: f64| {
                let along = if right { u - x } else { x - u };
                (from..56.0).contains(&along) && (v - y).abs() < 11.0
            };
            let free = !points.iter().any(|point| covers(point, 4.0))
                && !taken.iter().any(|name| covers(name, -56.0));
            if *best && free {
                taken.push((x, y));
                let (at, anchor) = match right {
                    true => (x + 9.0, "start"),
                    false => (x - 9.0, "end"),
                };
                let _ = writeln!(
                    out,
                    "<text x=\"{at:.1}\" y=\"{:.1}\" font-size=\"10\" text-anchor=\"{anchor}\">{}</text>",
                    y + 4.0,
                    escaped(&row.codec())
                );
            }
        }
    }
}

/// The style of a mark: those that nothing beats are filled.
fn style(row: &Measured, best: bool) -> String {
    let colour = colour(row.settings.codec);
    if best {
        format!("fill=\"{colour}\" stroke=\"{colour}\"")
    } else {
        format!(
            "fill=\"{colour}\" fill-opacity=\"0.15\" stroke=\"{colour}\" stroke-opacity=\"0.6\""
        )
    }
}

/// The tooltip of a mark.
fn title(row: &Measured) -> String {
    format!(
        "{}, {}: ratio {:.2}, {} and {} MB/s",
        row.codec(),
        row.filters(),
        row.ratio,
        speed(row.compress),
        speed(row.decompress)
    )
}

/// The picture. `best` marks those that nothing beats: they are filled and named.
pub fn svg(about: &str, rows: &[Measured], best: &[bool]) -> String {
    let mut out = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 970 580\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"970\" height=\"580\" fill=\"white\"/>\n",
    );
    let panels: [(&str, Value); 2] = [
        ("compressing", |row| row.compress / 1e6),
        ("decompressing", |row| row.decompress / 1e6),
    ];
    let ratios = &Scale::of(rows.iter().map(|row| row.ratio));
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "<text x=\"70\" y=\"28\" font-size=\"16\" font-weight=\"bold\">Ratio against speed</text>\n<text x=\"70\" y=\"48\" fill=\"#444\">{}</text>",
        escaped(about)
    );
    for ((name, value), left) in panels.into_iter().zip(LEFT) {
        let panel = Panel {
            name,
            value,
            left,
            speeds: Scale::of(rows.iter().map(value)),
            ratios,
        };
        panel.axes(&mut out);
        panel.marks(rows, best, &mut out);
    }
    let _ = writeln!(
        out,
        "<text x=\"20\" y=\"{:.1}\" transform=\"rotate(-90 20 {:.1})\" text-anchor=\"middle\">ratio</text>",
        TOP + HEIGHT / 2.0,
        TOP + HEIGHT / 2.0
    );
    legend(rows, &mut out);
    out += "</svg>\n";
    out
}

fn legend(rows: &[Measured], out: &mut String) {
    const Y: f64 = 545.0;
    let mut at = LEFT[0];
    let mut codecs: Vec<u8> = rows.iter().map(|row| row.settings.codec).collect();
    codecs.sort_unstable();
    codecs.dedup();
    for codec in codecs {
        let name = codec_name(codec);
        let _ = writeln!(
            out,
            "<rect x=\"{at}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{}\" y=\"{Y}\">{name}</text>",
            Y - 10.0,
            colour(codec),
            at + 17.0
        );
        at += 40.0 + 8.0 * name.len() as f64;
    }
    let mut kinds: Vec<String> = rows.iter().map(Measured::filters).collect();
    kinds.sort_unstable();
    kinds.dedup();
    at += 20.0;
    for kind in kinds {
        *out += &mark(&kind, at, Y - 4.0, "fill=\"none\" stroke=\"#222\"", &kind);
        let label = if kind == "none" { "no filter" } else { &kind };
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{Y}\">{}</text>",
            at + 12.0,
            escaped(label)
        );
        at += 40.0 + 8.0 * label.len() as f64;
    }
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" fill=\"#444\">filled: no other is better in ratio or a speed and as good in the rest</text>",
        LEFT[0],
        Y + 20.0
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_holds_every_row() {
        let row = |codec, ratio| Measured {
            settings: crate::settings::Settings {
                codec,
                ..crate::compress::defaults(8, 1)
            },
            ratio,
            compress: 1e8 * ratio,
            decompress: 1e9,
        };
        let rows = [row(0, 1.0), row(1, 2.0), row(5, 9.0)];
        let picture = svg("a <b>", &rows, &[true, false, true]);
        assert_eq!(picture.matches("<title>").count(), 2 * 3 + 1);
        assert!(picture.contains("a &lt;b&gt;") && picture.ends_with("</svg>\n"));
        assert!(!picture.contains("NaN") && !picture.contains("inf"));
        assert_eq!(Scale::of([2.0].into_iter()).ticks(), [2.0, 3.0]);
    }
}
