//! A bar chart, in text, of how well the parts of a file compress.

/// Rows of the picture.
const ROWS: usize = 6;
/// The heights that a bar can have in a row.
const STEPS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Compressed over uncompressed bytes of a chunk: 0 to 1, or more if it became larger. `None` for a
/// chunk of special values.
pub type Share = Option<f64>;

/// The lines of the picture, at most about `width` characters wide. A column shows the mean of the
/// chunks in it. The picture is 100 % high, or as high as its highest column. Dots stand below
/// columns that contain special chunks only.
pub fn columns(shares: &[Share], width: usize) -> Vec<String> {
    if shares.is_empty() || width == 0 {
        return Vec::new();
    }
    let count = width.min(shares.len());
    // Few chunks get columns of several characters.
    let wide = (width / count).clamp(1, 4);
    let edge = |column: usize| column * shares.len() / count;
    let means: Vec<Share> = (0..count)
        .map(|column| {
            let here = &shares[edge(column)..edge(column + 1)];
            let stored: Vec<f64> = here.iter().flatten().copied().collect();
            (!stored.is_empty()).then(|| stored.iter().sum::<f64>() / here.len() as f64)
        })
        .collect();
    if means.iter().all(Option::is_none) {
        return vec!["·".repeat(count * wide)];
    }
    // Chunks of little data may be larger than the data.
    let highest = means.iter().flatten().copied().fold(1.0, f64::max);
    let steps = |share: f64| {
        let full = (ROWS * (STEPS.len() - 1)) as f64;
        // However small it is, it can be seen.
        ((share / highest * full).round() as usize).max(1)
    };
    let mut lines: Vec<String> = (0..ROWS)
        .rev()
        .map(|row| {
            let cell = |mean: &Share| {
                let height = mean
                    .map_or(0, steps)
                    .saturating_sub(row * (STEPS.len() - 1));
                STEPS[height.min(STEPS.len() - 1)].to_string().repeat(wide)
            };
            let line: String = means.iter().map(cell).collect();
            format!("{} {line}", label(row, highest))
        })
        .collect();
    if means.iter().any(Option::is_none) {
        let cell = |mean: &Share| if mean.is_none() { "·" } else { " " }.repeat(wide);
        let line: String = means.iter().map(cell).collect();
        lines.push(format!("{:5} {line}", ""));
    }
    lines
}

fn label(row: usize, highest: f64) -> String {
    if row + 1 == ROWS {
        format!("{:4.0}%", highest * 100.0)
    } else if row == 0 {
        "   0%".into()
    } else {
        " ".repeat(5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_is_somewhere() {
        let lines = columns(&[Some(1.0), None, Some(0.5), Some(0.01)], 4);
        assert_eq!(lines.len(), ROWS + 1);
        assert_eq!(lines[0], " 100% █   ");
        assert_eq!(lines[ROWS - 1], "   0% █ █▁");
        assert_eq!(lines[ROWS], "       ·  ");
        let many: Vec<Share> = (0..1000).map(|i| Some(f64::from(i) / 1000.0)).collect();
        assert!(
            columns(&many, 60)
                .iter()
                .all(|line| line.chars().count() == 66)
        );
        assert_eq!(columns(&[None, None], 10), ["········"]);
        assert!(columns(&[], 10).is_empty());
    }

    /// A chunk of little data may be larger than these: then the picture is higher, and says so.
    #[test]
    fn what_became_larger_is_higher_than_what_did_not() {
        let lines = columns(&[Some(5.0), Some(1.0), Some(0.07)], 3);
        assert_eq!(lines[0], " 500% █  ");
        assert_eq!(lines[ROWS - 2], "      █▂ ");
        assert_eq!(lines[ROWS - 1], "   0% ██▁");
    }
}
