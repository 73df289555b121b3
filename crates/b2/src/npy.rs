//! Files of NumPy arrays (`.npy`), read and written box by box, so that the array need not fit into
//! memory. The format is described in NumPy's `lib/format.py`.

use crate::failure::{Failure, Result};
use crate::library::zeros;
use oxiblosc_base::system::files::read_exact_at;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

/// The first bytes of such a file.
pub const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// The longest header that is read, in bytes.
const MAX_HEADER_LEN: usize = 1 << 20;

/// The byte orders with which a dtype may begin.
const ORDERS: [char; 4] = ['<', '>', '|', '='];
/// How deep lists of fields may be nested. Deeper ones, which no program writes, could need more
/// than the stack.
const MAX_DEPTH: usize = 32;

/// An array in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Npy {
    /// Items along each dimension.
    pub shape: Vec<i64>,
    /// The dtype as NumPy describes it: `<f8`, or a list of fields.
    pub dtype: String,
    /// Whether the items are in Fortran order: neighbours along the first dimension are contiguous.
    pub fortran: bool,
    /// Bytes of an item.
    pub itemsize: usize,
    /// The position of the first item in the file.
    pub data: u64,
}

/// The value of a key in a header, which is a dictionary as Python writes it.
fn value<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    let entries = header.trim().strip_prefix('{')?.strip_suffix('}')?;
    parts(entries).find_map(|entry| {
        let named = entry.strip_prefix('\'')?.strip_prefix(name)?;
        let value = named.strip_prefix('\'')?.trim_start().strip_prefix(':')?;
        Some(value.trim())
    })
}

/// The letter of the kind of a dtype that is no list of fields, and what follows it.
fn kind_of(dtype: &str) -> Option<(char, &str)> {
    let mut rest = dtype.strip_prefix(ORDERS).unwrap_or(dtype).chars();
    Some((rest.next()?, rest.as_str()))
}

/// Whether this is the unit of a time, such as `[ns]`.
fn is_unit(text: &str) -> bool {
    let unit = text
        .strip_prefix('[')
        .and_then(|unit| unit.strip_suffix(']'));
    unit.is_some_and(|unit| unit.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Bytes of an item of a dtype that is no list of fields; none for other kinds than numbers, texts,
/// raw bytes and times.
fn itemsize_of(dtype: &str) -> Option<usize> {
    let (kind, rest) = kind_of(dtype)?;
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (digits, unit) = rest.split_at(digits);
    let has_unit = matches!(kind, 'm' | 'M') && is_unit(unit);
    if !unit.is_empty() && !has_unit {
        return None;
    }
    let number: usize = digits.parse().ok()?;
    match kind {
        'U' => number.checked_mul(4),
        'b' | 'i' | 'u' | 'f' | 'c' | 'S' | 'V' | 'm' | 'M' => Some(number),
        _ => None,
    }
}

/// Why the size of an item is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsized {
    /// It is or contains a Python object, of which the file has a pickle.
    Objects,
    /// The dtype is not understood.
    Unknown,
}

/// Bytes of an item of a dtype: a kind such as `<i4`, or a list of fields such as `[('a', '<i4'),
/// ('b', '<f8', (2,))]`. A field may be such a list.
pub fn item_size(dtype: &str) -> std::result::Result<usize, Unsized> {
    nested_size(dtype, MAX_DEPTH)
}

/// The same for a dtype in which lists may be nested `depth` times.
fn nested_size(dtype: &str, depth: usize) -> std::result::Result<usize, Unsized> {
    let Some(fields) = dtype.trim().strip_prefix('[') else {
        return itemsize_of(dtype).ok_or(match kind_of(dtype) {
            Some(('O', _)) => Unsized::Objects,
            _ => Unsized::Unknown,
        });
    };
    let depth = depth.checked_sub(1).ok_or(Unsized::Unknown)?;
    let mut size = 0usize;
    for field in parts(fields.strip_suffix(']').ok_or(Unsized::Unknown)?) {
        let bytes = field_size(field, depth)?;
        size = size.checked_add(bytes).ok_or(Unsized::Unknown)?;
    }
    Ok(size)
}

/// Bytes of a field: `('a', '<i4')`, or with a shape.
fn field_size(field: &str, depth: usize) -> std::result::Result<usize, Unsized> {
    let inner = || field.strip_prefix('(')?.strip_suffix(')');
    let mut parts = parts(inner().ok_or(Unsized::Unknown)?);
    let (_name, kind) = (parts.next(), parts.next().ok_or(Unsized::Unknown)?);
    let quoted = kind
        .strip_prefix('\'')
        .and_then(|kind| kind.strip_suffix('\''));
    let one = match quoted {
        Some(kind) => nested_size(kind, depth)?,
        None if kind.starts_with('[') => nested_size(kind, depth)?,
        None => return Err(Unsized::Unknown),
    };
    let count = parts.next().map_or(Some(1), items_of_shape);
    count
        .and_then(|count| one.checked_mul(count))
        .ok_or(Unsized::Unknown)
}

/// The number of items in a field with this shape: `(2, 3)`, or one length.
fn items_of_shape(shape: &str) -> Option<usize> {
    let lengths = shape.trim_matches(['(', ')']);
    parts(lengths).try_fold(1usize, |n, length| n.checked_mul(length.parse().ok()?))
}

/// The elements of a list as Python writes it: split at commas outside of brackets and quotes.
fn parts(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let (mut quote, mut escaped) = (None, false);
    list.split(move |c| {
        match (c, quote) {
            _ if escaped => escaped = false,
            ('\\', Some(_)) => escaped = true,
            (c, Some(end)) if c == end => quote = None,
            (_, Some(_)) => {}
            ('\'' | '"', None) => quote = Some(c),
            ('(' | '[', None) => depth += 1,
            (')' | ']', None) => depth -= 1,
            _ => {}
        }
        c == ',' && quote.is_none() && depth == 0
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
}

/// Why a header is refused.
enum Refused {
    /// The file could not be read.
    Unread(io::Error),
    /// What is wrong with it.
    Wrong(String),
}

impl From<&str> for Refused {
    fn from(why: &str) -> Self {
        Self::Wrong(why.into())
    }
}

/// Reads the header of a file. Returns its text, and the position of the first item.
fn read_header(mut file: &File) -> std::result::Result<(String, u64), Refused> {
    let mut read = |bytes: &mut [u8]| {
        let read = file.read_exact(bytes);
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => "too short".into(),
            _ => Refused::Unread(error),
        })
    };
    let mut prefix = [0; 10];
    read(&mut prefix)?;
    let (len, start) = match prefix[6] {
        1 => (usize::from(u16::from_le_bytes([prefix[8], prefix[9]])), 10),
        2 | 3 => {
            let mut rest = [0; 2];
            read(&mut rest)?;
            let len = u32::from_le_bytes([prefix[8], prefix[9], rest[0], rest[1]]);
            (len as usize, 12)
        }
        other => return Err(Refused::Wrong(format!("version {other}"))),
    };
    if prefix[..6] != *MAGIC || len > MAX_HEADER_LEN {
        return Err("its header makes no sense".into());
    }
    let mut header = vec![0; len];
    read(&mut header)?;
    let header = match prefix[6] {
        3 => String::from_utf8(header).map_err(|_| "its header is no text")?,
        _ => from_latin1(&header),
    };
    Ok((header, start + len as u64))
}

/// Text in Latin-1, as the headers of versions 1 and 2 are.
fn from_latin1(text: &[u8]) -> String {
    text.iter().map(|byte| char::from(*byte)).collect()
}

/// The bytes of a text in Latin-1; none if it has other characters.
fn to_latin1(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(c).ok()).collect()
}

impl Npy {
    /// Reads the header of a file, and checks it against the length of the file. `name` stands in
    /// the messages of errors.
    pub fn parse(file: &File, name: &str) -> Result<Self> {
        let bad = |why: &str| {
            Failure::message(format!("{name}: not an .npy file that can be read: {why}"))
        };
        let unread = |error: io::Error| Failure::at(Path::new(name), &error);
        let (header, data) = read_header(file).map_err(|why| match why {
            Refused::Unread(error) => unread(error),
            Refused::Wrong(why) => bad(&why),
        })?;
        let field = |name| value(&header, name).ok_or_else(|| bad(&format!("it has no {name}")));
        let dtype = field("descr")?.trim_matches('\'').to_string();
        let fortran = field("fortran_order")? == "True";
        let shape: Option<Vec<i64>> = field("shape")?
            .trim_matches(['(', ')'])
            .split(',')
            .filter(|length| !length.trim().is_empty())
            .map(|length| length.trim().parse().ok().filter(|length| *length >= 0))
            .collect();
        let shape = shape.ok_or_else(|| bad("its shape makes no sense"))?;
        let there = file.metadata().map_err(unread)?.len();
        let there = there.saturating_sub(data);
        let items = shape
            .iter()
            .try_fold(1u64, |n, length| n.checked_mul(*length as u64));
        let items = items.ok_or_else(|| bad("it is too large"))?;
        let itemsize = item_size(&dtype).map_err(|why| {
            bad(match why {
                Unsized::Objects => "it holds Python objects (--raw compresses the file as it is)",
                Unsized::Unknown => "its dtype is not known (--raw compresses the file as it is)",
            })
        })?;
        let needed = items
            .checked_mul(itemsize as u64)
            .ok_or_else(|| bad("it is too large"))?;
        if itemsize == 0 || needed > there {
            return Err(bad("it is cut short"));
        }
        if needed < there {
            return Err(bad(&format!(
                "{} bytes follow the array, as where there are several in one file (--raw compresses the file as it is)",
                there - needed
            )));
        }
        Ok(Self {
            shape,
            dtype,
            fortran,
            itemsize,
            data,
        })
    }

    /// The header of a file with an array in C order: all bytes before the first item.
    pub fn header(shape: &[i64], dtype: &str) -> Vec<u8> {
        let descr = if dtype.starts_with('[') {
            dtype.to_string()
        } else {
            format!("'{dtype}'")
        };
        let shape = crate::summary::tuple(shape);
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
        // As NumPy chooses: version 3 is for names that Latin-1 does not have, version 2 for long
        // headers.
        let (version, text) = match to_latin1(&text) {
            Some(text) if text.len() <= usize::from(u16::MAX) - 64 => (1, text),
            Some(text) => (2, text),
            None => (3, text.into_bytes()),
        };
        // The format asks for a header that ends with a line feed, and items that begin at a
        // multiple of 64.
        let prefix = if version == 1 { 10 } else { 12 };
        let len = (prefix + text.len() + 1).next_multiple_of(64) - prefix;
        let mut header = MAGIC.to_vec();
        header.extend([version, 0]);
        match version {
            1 => header.extend((len as u16).to_le_bytes()),
            _ => header.extend((len as u32).to_le_bytes()),
        }
        header.extend(text);
        header.resize(prefix + len - 1, b' ');
        header.push(b'\n');
        header
    }

    /// Reads the items from `start` to before `stop` into `items`, in C order. `name` is that of
    /// the file in messages.
    pub fn read(
        &self,
        (file, name): (&File, &str),
        start: &[i64],
        stop: &[i64],
        items: &mut [u8],
    ) -> Result<()> {
        let size = self.itemsize;
        let read = |run: &mut [u8], at: u64| {
            let read = read_exact_at(file, run, self.data + at * size as u64);
            read.map_err(|error| Failure::at(Path::new(name), &error))
        };
        if !self.fortran {
            return runs(&self.shape, start, stop, |at, from, count| {
                let run = &mut items[from * size..(from + count) * size];
                read(run, at)
            });
        }
        // In Fortran order the box is read as that of the transposed array, and transposed in
        // memory.
        let reversed = |dims: &[i64]| dims.iter().rev().copied().collect::<Vec<i64>>();
        let mut lying = zeros(items.len()).map_err(|error| Failure::of(name, error))?;
        runs(
            &reversed(&self.shape),
            &reversed(start),
            &reversed(stop),
            |at, from, count| {
                let run = &mut lying[from * size..(from + count) * size];
                read(run, at)
            },
        )?;
        let lengths: Vec<usize> = start
            .iter()
            .zip(stop)
            .map(|(a, b)| (b - a) as usize)
            .collect();
        let mut place = vec![0; lengths.len()];
        for item in items.chunks_exact_mut(size) {
            let at = (0..lengths.len())
                .rev()
                .fold(0, |at, d| at * lengths[d] + place[d]);
            item.copy_from_slice(&lying[at * size..(at + 1) * size]);
            for d in (0..lengths.len()).rev() {
                place[d] += 1;
                if place[d] < lengths[d] {
                    break;
                }
                place[d] = 0;
            }
        }
        Ok(())
    }
}

/// Calls `each` for every run of items in a box that are contiguous in an array in C order: with
/// the index of its first item in the array, that in the box, and the number of items.
pub fn runs(
    shape: &[i64],
    start: &[i64],
    stop: &[i64],
    mut each: impl FnMut(u64, usize, usize) -> Result<()>,
) -> Result<()> {
    let ndim = shape.len();
    let length = |d: usize| (stop[d] - start[d]) as usize;
    if (0..ndim).any(|d| length(d) == 0) {
        return Ok(());
    }
    // From this dimension on the box is as wide as the array.
    let whole = (0..ndim)
        .rev()
        .take_while(|d| length(*d) as i64 == shape[*d])
        .count();
    let outer = (ndim - whole).saturating_sub(1);
    let count: usize = (outer..ndim).map(length).product();
    let mut place: Vec<i64> = start.to_vec();
    let mut from = 0;
    loop {
        let at = (0..ndim).fold(0u64, |at, d| at * shape[d] as u64 + place[d] as u64);
        each(at, from, count)?;
        from += count;
        let mut d = outer;
        loop {
            let Some(before) = d.checked_sub(1) else {
                return Ok(());
            };
            d = before;
            place[d] += 1;
            if place[d] < stop[d] {
                break;
            }
            place[d] = start[d];
        }
    }
}

/// How many boxes of `lengths` items lie along each dimension of an array of this shape.
pub fn grid(shape: &[i64], lengths: &[i32]) -> Vec<i64> {
    let count = |(shape, length): (&i64, &i32)| {
        ((*shape).max(0) as u64).div_ceil((*length).max(1) as u64) as i64
    };
    shape.iter().zip(lengths).map(count).collect()
}

/// The boxes of `lengths` items along each dimension (fewer at the end) into which an array of this
/// shape is cut: their first items, and those behind the last, in C order.
pub struct Boxes<'a> {
    shape: &'a [i64],
    lengths: &'a [i32],
    grid: Vec<i64>,
    left: Range<i64>,
}

/// See [`Boxes`].
pub fn boxes<'a>(shape: &'a [i64], lengths: &'a [i32]) -> Boxes<'a> {
    let grid = grid(shape, lengths);
    let left = 0..grid.iter().product();
    Boxes {
        shape,
        lengths,
        grid,
        left,
    }
}

impl Boxes<'_> {
    /// Passes over the boxes that end before the item `row` along the first dimension.
    pub fn pass(&mut self, row: i64) {
        let Some((length, per_row)) = self.lengths.first().zip(self.grid.get(1..)) else {
            return;
        };
        let whole = match self.shape[0] <= row {
            true => self.grid[0],
            false => row / i64::from(*length).max(1),
        };
        let first = whole * per_row.iter().product::<i64>();
        self.left.start = self.left.start.max(first);
    }
}

impl Iterator for Boxes<'_> {
    type Item = (Vec<i64>, Vec<i64>);

    fn next(&mut self) -> Option<Self::Item> {
        let ndim = self.shape.len();
        let mut rest = self.left.next()?;
        let mut start = vec![0; ndim];
        for d in (0..ndim).rev() {
            start[d] = rest % self.grid[d] * i64::from(self.lengths[d]);
            rest /= self.grid[d];
        }
        let stop = |d: usize| (start[d] + i64::from(self.lengths[d])).min(self.shape[d]);
        let stop = (0..ndim).map(stop).collect();
        Some((start, stop))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read() {
        let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }";
        assert_eq!(value(header, "descr"), Some("'<f8'"));
        assert_eq!(value(header, "shape"), Some("(3, 4)"));
        let fields = "{'descr': [('a', '<i4'), ('b,', '<f8', (2,))], 'shape': (3,)}";
        assert_eq!(
            value(fields, "descr"),
            Some("[('a', '<i4'), ('b,', '<f8', (2,))]")
        );
        assert_eq!(value(fields, "shape"), Some("(3,)"));
        assert_eq!(value(fields, "fortran_order"), None);
        assert_eq!(itemsize_of("<U5"), Some(20));
        assert_eq!(itemsize_of("<M8[ns]"), Some(8));
        assert_eq!(itemsize_of("[('a', '<i4')]"), None);
        let records = [
            ("[('a', '<i4')]", Ok(4)),
            (
                "[('b,)', '<f8', (2, 3)), ('a', '<i4'), ('', '|V4')]",
                Ok(56),
            ),
            (
                "[('a', [('x', '<U2'), ('y', '|b1')], (2,)), ('b', '<i2', 3)]",
                Ok(24),
            ),
            ("[('Offset', '<i4'), (('O', 'OO'), '<f8')]", Ok(12)),
            (
                r#"[("it's", '<i4'), ('"', '<i4'), ('a\',"b', '<i2')]"#,
                Ok(10),
            ),
            ("|O", Err(Unsized::Objects)),
            ("[('a', '|O')]", Err(Unsized::Objects)),
            ("[('a', [('Offset', 'O')], (2,))]", Err(Unsized::Objects)),
            ("['<i4']", Err(Unsized::Unknown)),
            ("[('a', '<Q4')]", Err(Unsized::Unknown)),
        ];
        for (dtype, size) in records {
            assert_eq!(item_size(dtype), size, "{dtype}");
        }
        let header = Npy::header(&[3], "<f8");
        assert_eq!((header.len() % 64, header.last()), (0, Some(&b'\n')));
    }

    #[test]
    fn runs_cover_a_box_once() {
        let collect = |shape: &[i64], start: &[i64], stop: &[i64]| {
            let mut seen = Vec::new();
            let _ = runs(shape, start, stop, |at, from, count| {
                seen.push((at, from, count));
                Ok(())
            });
            seen
        };
        assert_eq!(collect(&[4, 5], &[1, 0], &[3, 5]), [(5, 0, 10)]);
        assert_eq!(collect(&[4, 5], &[1, 2], &[3, 4]), [(7, 0, 2), (12, 2, 2)]);
        assert_eq!(collect(&[], &[], &[]), [(0, 0, 1)]);
        assert_eq!(collect(&[3, 0], &[0, 0], &[3, 0]), []);
        assert_eq!(
            collect(&[2, 2, 2], &[0, 1, 0], &[2, 2, 2]),
            [(2, 0, 2), (6, 2, 2)]
        );
        let boxes: Vec<_> = boxes(&[3, 4], &[2, 3]).collect();
        assert_eq!(boxes.len(), 4);
        assert_eq!(boxes[3], (vec![2, 3], vec![3, 4]));
    }
}
