//! JSON, as it is written.

use std::fmt::{self, Display, Formatter, Write};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// A number. Infinities and NaN, which JSON does not have, become `null`.
    Float(f64),
    /// Text.
    Text(String),
    /// Values in order.
    List(Vec<Json>),
    /// Values by name, in order.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// An object with these members.
    pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Json)>) -> Self {
        let members = members.into_iter();
        Self::Object(
            members
                .map(|(name, value)| (name.to_string(), value))
                .collect(),
        )
    }

    /// A list of these values.
    pub fn list<T: Into<Json>>(values: impl IntoIterator<Item = T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }

    fn write(&self, depth: usize, f: &mut Formatter) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) if value.is_finite() => write!(f, "{value}"),
            Self::Float(_) => f.write_str("null"),
            Self::Text(text) => write_text(text, f),
            Self::List(values) => {
                // Lists of plain values stay on a line.
                let flat = values
                    .iter()
                    .all(|value| !matches!(value, Self::List(_) | Self::Object(_)));
                f.write_char('[')?;
                for (i, value) in values.iter().enumerate() {
                    separate(i, !flat, depth + 1, f)?;
                    value.write(depth + 1, f)?;
                }
                close(!flat && !values.is_empty(), depth, ']', f)
            }
            Self::Object(members) => {
                f.write_char('{')?;
                for (i, (name, value)) in members.iter().enumerate() {
                    separate(i, true, depth + 1, f)?;
                    write_text(name, f)?;
                    f.write_str(": ")?;
                    value.write(depth + 1, f)?;
                }
                close(!members.is_empty(), depth, '}', f)
            }
        }
    }
}

fn separate(i: usize, lines: bool, depth: usize, f: &mut Formatter) -> fmt::Result {
    if i > 0 {
        f.write_char(',')?;
    }
    if lines {
        write!(f, "\n{:1$}", "", 2 * depth)
    } else if i > 0 {
        f.write_char(' ')
    } else {
        Ok(())
    }
}

fn close(lines: bool, depth: usize, end: char, f: &mut Formatter) -> fmt::Result {
    if lines {
        write!(f, "\n{:1$}", "", 2 * depth)?;
    }
    f.write_char(end)
}

fn write_text(text: &str, f: &mut Formatter) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            // A terminal would take some of those above 0x7f as commands, too.
            c if c.is_control() => write!(f, "\\u{:04x}", c as u32)?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

impl Display for Json {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        self.write(0, f)
    }
}

macro_rules! from_numbers {
    ($($number:ty),*) => {$(
        impl From<$number> for Json {
            fn from(number: $number) -> Self {
                Self::Int(number as i128)
            }
        }
    )*};
}
from_numbers!(u8, u16, i16, i32, u32, i64, u64, usize);

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<f64> for Json {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_json_wants_them() {
        let value = Json::object([
            ("a", Json::list([1, 2])),
            ("b\"", Json::from("x\u{1b}\n\u{85}")),
            (
                "c",
                Json::List(vec![Json::object([("d", Json::Float(f64::NAN))])]),
            ),
            ("e", Json::List(Vec::new())),
        ]);
        let expected = "{\n  \"a\": [1, 2],\n  \"b\\\"\": \"x\\u001b\\n\\u0085\",\n  \"c\": [\n    {\n      \"d\": null\n    }\n  ],\n  \"e\": []\n}";
        assert_eq!(value.to_string(), expected);
    }
}
