//! The names that typedefs make. bindgen takes a struct's tag and a typedef of the same name for
//! one, but to a program that declares such a name itself they are two.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The typedefs that the headers in a folder make.
pub fn of(include: &Path) -> BTreeSet<String> {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("typedefs.c");
    fs::write(&source, super::all_headers()).expect("the target folder can be written");
    let output = Command::new("gcc")
        .arg("-E")
        .arg("-I")
        .arg(include)
        .arg(&source)
        .output()
        .expect("gcc is here: the crate needs it to build");
    assert!(output.status.success(), "gcc reads the headers");
    let text = String::from_utf8(output.stdout).expect("the headers are UTF-8");
    let include = include.to_str().expect("a path in UTF-8");
    let mut is_here = false;
    let mut code = String::new();
    for line in text.lines() {
        if let Some(marker) = line.strip_prefix("# ") {
            let file = marker.split('"').nth(1);
            is_here = file.is_some_and(|file| file.starts_with(include));
        } else if is_here {
            code += line;
            code.push('\n');
        }
    }
    statements(&code)
        .iter()
        .filter_map(|text| name(text))
        .collect()
}

/// What stands outside of all braces, up to each semicolon or closing brace.
fn statements(code: &str) -> Vec<String> {
    let (mut statements, mut depth) = (vec![String::new()], 0);
    for c in code.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ';' if depth == 0 => statements.push(String::new()),
            c if depth == 0 => statements.last_mut().expect("one").push(c),
            _ => {}
        }
    }
    statements
}

/// The name that a statement makes, if it is a typedef.
fn name(statement: &str) -> Option<String> {
    // Behind the body of a function there is no semicolon.
    let (_, statement) = statement.rsplit_once("typedef ")?;
    let end = match statement.split_once("(*") {
        Some((_, pointer)) => pointer.split(')').next()?,
        None => statement.trim_end().rsplit([' ', '\n', '*']).next()?,
    };
    Some(end.trim().to_owned())
}
