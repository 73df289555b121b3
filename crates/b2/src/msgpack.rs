//! Decodes msgpack, the format of metalayers, into values that can be shown. See
//! <https://github.com/msgpack/msgpack/blob/master/spec.md>.

use crate::json::Json;

/// How deep values may be nested.
const MAX_DEPTH: usize = 32;
/// The most bytes of a binary value that are shown.
const SHOWN: usize = 32;

/// The bytes that are not decoded yet. Its functions return none where the bytes are no msgpack.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (part, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(part)
    }

    /// A big-endian number of `len` bytes.
    fn number(&mut self, len: usize) -> Option<u64> {
        let bytes = self.take(len)?;
        Some(bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)))
    }

    fn length(&mut self, len: usize) -> Option<usize> {
        usize::try_from(self.number(len)?).ok()
    }

    fn text(&mut self, len: usize) -> Option<Json> {
        let bytes = self.take(len)?;
        let text = std::str::from_utf8(bytes);
        Some(text.map_or_else(|_| binary(bytes), Json::from))
    }

    fn list(&mut self, count: usize, depth: usize) -> Option<Json> {
        // Every value takes at least one byte, so a larger count is wrong.
        if count > self.0.len() {
            return None;
        }
        let values: Option<Vec<Json>> = (0..count).map(|_| self.value(depth)).collect();
        values.map(Json::List)
    }

    fn map(&mut self, count: usize, depth: usize) -> Option<Json> {
        if count > self.0.len() {
            return None;
        }
        let mut members = Vec::new();
        for _ in 0..count {
            // No list or map: names in names in names would become twice as long with each.
            let name = match self.value(depth.min(1))? {
                Json::Text(text) => text,
                other => other.to_string(),
            };
            members.push((name, self.value(depth)?));
        }
        Some(Json::Object(members))
    }

    fn extension(&mut self, len: usize) -> Option<Json> {
        let kind = self.number(1)?;
        let bytes = self.take(len)?;
        Some(Json::object([
            ("ext", Json::from(kind)),
            ("data", binary(bytes)),
        ]))
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        let depth = depth.checked_sub(1)?;
        let marker = self.take(1)?[0];
        let low = |bits: u8| usize::from(marker & bits);
        Some(match marker {
            0x00..=0x7f => Json::from(marker),
            0x80..=0x8f => self.map(low(0x0f), depth)?,
            0x90..=0x9f => self.list(low(0x0f), depth)?,
            0xa0..=0xbf => self.text(low(0x1f))?,
            0xc0 => Json::Null,
            0xc1 => return None,
            0xc2 | 0xc3 => Json::Bool(marker == 0xc3),
            0xc4..=0xc6 => {
                let len = self.length(1 << (marker - 0xc4))?;
                binary(self.take(len)?)
            }
            0xc7..=0xc9 => {
                let len = self.length(1 << (marker - 0xc7))?;
                self.extension(len)?
            }
            0xca => Json::Float(f32::from_bits(self.number(4)? as u32).into()),
            0xcb => Json::Float(f64::from_bits(self.number(8)?)),
            0xcc..=0xcf => Json::from(self.number(1 << (marker - 0xcc))?),
            0xd0 => Json::from(i64::from(self.number(1)? as i8)),
            0xd1 => Json::from(self.number(2)? as i16),
            0xd2 => Json::from(self.number(4)? as i32),
            0xd3 => Json::from(self.number(8)? as i64),
            0xd4..=0xd8 => self.extension(1 << (marker - 0xd4))?,
            0xd9..=0xdb => {
                let len = self.length(1 << (marker - 0xd9))?;
                self.text(len)?
            }
            0xdc | 0xdd => {
                let count = self.length(2 << (marker - 0xdc))?;
                self.list(count, depth)?
            }
            0xde | 0xdf => {
                let count = self.length(2 << (marker - 0xde))?;
                self.map(count, depth)?
            }
            0xe0..=0xff => Json::from(i64::from(marker as i8)),
        })
    }
}

/// An object with the number of bytes, and the first of them in hexadecimal.
pub fn binary(bytes: &[u8]) -> Json {
    let shown = &bytes[..bytes.len().min(SHOWN)];
    let hex: Vec<String> = shown.iter().map(|byte| format!("{byte:02x}")).collect();
    let dots = if bytes.len() > SHOWN { "..." } else { "" };
    Json::object([
        ("bytes", Json::from(bytes.len())),
        ("hex", Json::from(hex.concat() + dots)),
    ])
}

/// Decodes bytes as msgpack; if they are none, or something follows, shows them as text or as
/// bytes.
pub fn show(bytes: &[u8]) -> Json {
    let mut cursor = Cursor(bytes);
    if let Some(value) = cursor.value(MAX_DEPTH)
        && cursor.0.is_empty()
    {
        return value;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Json::from(text),
        _ => binary(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value() {
        let value = |bytes: &[u8]| show(bytes).to_string();
        assert_eq!(value(&[0x07]), "7");
        assert_eq!(value(&[0xff]), "-1");
        assert_eq!(value(&[0x93, 0xc0, 0xc2, 0xc3]), "[null, false, true]");
        assert_eq!(value(&[0xa2, b'h', b'i']), "\"hi\"");
        assert_eq!(value(&[0xd9, 1, b'x']), "\"x\"");
        assert_eq!(value(&[0xcd, 1, 0]), "256");
        assert_eq!(value(&[0xd3, 255, 255, 255, 255, 255, 255, 255, 254]), "-2");
        assert_eq!(value(&[0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0]), "1.5");
        assert_eq!(value(&[0xca, 0x3f, 0xc0, 0, 0]), "1.5");
        assert_eq!(value(&[0xdc, 0, 1, 5]), "[5]");
        assert_eq!(value(&[0x81, 0xa1, b'k', 0x01]), "{\n  \"k\": 1\n}");
        assert!(value(&[0xc4, 2, 0xab, 0]).contains("\"hex\": \"ab00\""));
        assert!(value(&[0xd4, 5, 9]).contains("\"ext\": 5"));
    }

    #[test]
    fn what_is_no_msgpack_is_text_or_bytes() {
        assert_eq!(show(b"plain text"), Json::from("plain text"));
        assert!(matches!(show(&[0xc1, 0]), Json::Object(_)));
        // A list that claims four thousand million values.
        assert!(matches!(show(&[0xdd, 255, 255, 255, 255]), Json::Object(_)));
        assert!(matches!(show(&vec![0x91; 10_000]), Json::Object(_)));
    }

    #[test]
    fn what_is_shown_is_not_much_longer_than_the_bytes() {
        for depth in 0..20 {
            for (open, close) in [
                (&[0x81][..], &[0][..]),
                (&[0x81, 0], &[]),
                (&[0x92], &[0xc4, 1, 0]),
            ] {
                let bytes = [&open.repeat(depth)[..], &[0xa1, b'"'], &close.repeat(depth)].concat();
                let shown = show(&bytes).to_string();
                assert!(
                    shown.len() < 100 + 100 * bytes.len(),
                    "{bytes:02x?}: {} bytes",
                    shown.len()
                );
            }
        }
        // Names that are no texts.
        assert_eq!(
            show(&[0x82, 7, 1, 0xc0, 2]).to_string(),
            "{\n  \"7\": 1,\n  \"null\": 2\n}"
        );
    }
}
