//! Macros, as gcc's preprocessor sees them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A macro, without blanks.
#[derive(Debug)]
pub struct Macro {
    /// Its parameters with their parentheses; nothing for a macro without.
    pub parameters: String,
    pub body: String,
}

impl Macro {
    /// Whether the text itself matters: it is neither code nor an expression with a value.
    pub fn is_plain(&self) -> bool {
        let is_attribute = self.body.starts_with("__attribute__");
        let is_word = self
            .body
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_');
        self.parameters.is_empty() && (is_attribute || is_word)
    }
}

/// The macros that the headers in a folder define, all included by `text` after the compiler's
/// option `option`. A file is made in `scratch`.
pub fn of(
    include: &Path,
    option: Option<&str>,
    text: &str,
    scratch: &Path,
) -> BTreeMap<String, Macro> {
    let source = scratch.join("macros.c");
    fs::write(&source, text).expect("the target folder can be written");
    let output = Command::new("gcc")
        .args(["-E", "-dD"])
        .args(option)
        .arg("-I")
        .arg(include)
        .arg(&source)
        .output()
        .expect("gcc is here: the crate needs it to build");
    assert!(
        output.status.success(),
        "gcc: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("the headers are UTF-8");

    let include = include.to_str().expect("a path in UTF-8");
    let mut is_ours = false;
    let mut macros = BTreeMap::new();
    for line in text.lines() {
        if let Some(marker) = line.strip_prefix("# ") {
            is_ours = marker
                .split('"')
                .nth(1)
                .is_some_and(|file| file.starts_with(include));
        } else if let Some(definition) = line.strip_prefix("#define ").filter(|_| is_ours) {
            let end = definition.find([' ', '(']).unwrap_or(definition.len());
            let (name, rest) = definition.split_at(end);
            let close = if rest.starts_with('(') {
                rest.find(')').map_or(0, |at| at + 1)
            } else {
                0
            };
            let (parameters, body) = rest.split_at(close);
            let [parameters, body] = [parameters, body].map(|part| part.replace([' ', '\t'], ""));
            macros.insert(name.to_owned(), Macro { parameters, body });
        } else if let Some(name) = line.strip_prefix("#undef ").filter(|_| is_ours) {
            macros.remove(name);
        }
    }
    macros
}
