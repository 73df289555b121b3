//! What a command prints: lines on standard output, and messages on standard error.

use crate::failure::{Failure, Result};
use crate::system;
use oxiblosc_base::memory::lock;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{LazyLock, Mutex, OnceLock};

/// The name of standard output in messages.
pub const STANDARD: &str = "standard output";

/// Standard output for [`print_line`]. It needs a descriptor, and later there may be none left: see
/// [`prepare`].
static LINES: LazyLock<Mutex<io::Result<Box<dyn Write + Send>>>> =
    LazyLock::new(|| Mutex::new(system::standard_output()));

/// The first error of a write to standard output.
static WRITE_ERROR: OnceLock<io::Error> = OnceLock::new();

/// Opens standard output. To be called first, so that there is a descriptor for it.
pub fn prepare() {
    LazyLock::force(&LINES);
}

/// The result of a write to text that is printed later.
pub fn said(written: io::Result<()>) -> Result<()> {
    written.map_err(|error| Failure::at(Path::new(STANDARD), &error))
}

/// Prints a line to standard output. If that fails the command goes on, and [`has_write_error`]
/// reports it at the end.
pub fn print_line(line: &str) {
    print_text(format!("{}\n", one_line(line)).as_bytes());
}

/// Prints text to standard output as it is. If that fails the command goes on, as with
/// [`print_line`].
pub fn print_text(text: &[u8]) {
    if WRITE_ERROR.get().is_some() {
        return;
    }
    let written = match &mut *lock(&LINES) {
        Ok(lines) => lines.write_all(text),
        Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
    };
    if let Err(error) = written {
        WRITE_ERROR.get_or_init(|| error);
    }
}

/// Whether something could not be written to standard output. Prints why, unless the reader has
/// closed its end, as `head` does.
pub fn has_write_error() -> bool {
    let error = WRITE_ERROR.get();
    if let Some(error) = error.filter(|error| error.kind() != io::ErrorKind::BrokenPipe) {
        print_error(&format!("{STANDARD}: {error}"));
    }
    error.is_some()
}

/// Prints a message to standard error.
pub fn print_error(text: &str) {
    print_error_about("", text);
}

/// Prints a message about a file to standard error. Allocates nothing and waits for no lock, so
/// that it can say that there is no memory.
pub fn print_error_about(file: &str, text: &str) {
    let mut line = ErrorLine {
        bytes: [0; 1024],
        len: 0,
    };
    let parts = ["b2: ", file, if file.is_empty() { "" } else { ": " }, text];
    parts.iter().for_each(|part| line.add(part));
    line.add_byte(b'\n');
    line.write();
}

/// A line for standard error, which is written in as few parts as possible.
struct ErrorLine {
    bytes: [u8; 1024],
    len: usize,
}

impl ErrorLine {
    /// Adds text, without control characters.
    fn add(&mut self, text: &str) {
        for c in text.chars() {
            let shown = if c.is_control() { ' ' } else { c };
            let mut bytes = [0; 4];
            let bytes = shown.encode_utf8(&mut bytes).bytes();
            bytes.for_each(|byte| self.add_byte(byte));
        }
    }

    fn add_byte(&mut self, byte: u8) {
        if self.len == self.bytes.len() {
            self.write();
        }
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    fn write(&mut self) {
        // If this cannot be written either, only the exit code is left.
        oxiblosc_startup::write_to_stderr(&self.bytes[..self.len]);
        self.len = 0;
    }
}

/// A message without control characters. Names of files may contain line ends, and bytes that a
/// terminal takes as commands.
pub fn one_line(text: &str) -> String {
    let chars = text.chars();
    chars
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
