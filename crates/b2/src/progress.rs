//! A progress bar, shown on terminals only.

use crate::print::print_line;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};

/// A progress bar that counts bytes, on standard error. Nothing is shown if that is no terminal.
pub struct ByteProgress(ProgressBar);

impl ByteProgress {
    /// A bar for `total` bytes.
    pub fn new(what: &'static str, total: u64) -> Self {
        if !stderr().is_terminal() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        let template = "{msg} {wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec} {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self(bar)
    }

    /// Counts `count` more bytes.
    pub fn add(&self, count: usize) {
        self.0.inc(count as u64);
    }

    /// Prints a line to standard output, above the bar.
    pub fn print_line(&self, line: &str) {
        self.0.suspend(|| print_line(line));
    }
}

impl Drop for ByteProgress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
