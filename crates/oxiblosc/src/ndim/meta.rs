//! The metalayer `b2nd`: an array of seven elements in msgpack.
//!
//! They are: version, number of dimensions, shape, chunk shape, block shape, format of the dtype,
//! dtype. The format is described in `README_B2ND_METALAYER.rst` of C-Blosc2. As in the reference,
//! only the marker of the dtype is checked: all numbers are at fixed positions.

use super::geometry::Geometry;
use super::{Dims, MAX_DIM};
use oxiblosc_base::cells::BlockShape;
use oxiblosc_base::memory::{Text, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_frame::meta::Metalayer;
use std::fmt::{self, Display};

/// The metalayer's name.
pub const NAME: &[u8] = b"b2nd";
/// The name that the metalayer had in Caterva, the library that b2nd replaced.
pub const OLD_NAME: &[u8] = b"caterva";
/// The dtype of an array that has none.
pub const DEFAULT_DTYPE: &[u8] = b"|u1";

const VERSION: u8 = 0;

mod marker {
    pub const FIXARRAY: u8 = 0x90;
    pub const INT32: u8 = 0xd2;
    pub const INT64: u8 = 0xd3;
    pub const STR32: u8 = 0xdb;
}

/// The content of the metalayer. Only its length and the number of dimensions have been checked;
/// [`Self::geometry`] checks the shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta<'a> {
    /// The number of dimensions, at most [`MAX_DIM`].
    pub ndim: usize,
    /// Items of the array along each dimension.
    pub shape: Dims,
    /// Items of a chunk along each dimension.
    pub chunkshape: [i32; MAX_DIM],
    /// Items of a block along each dimension.
    pub blockshape: [i32; MAX_DIM],
    /// The dtype, which metalayers of Caterva do not have.
    pub dtype: Option<&'a [u8]>,
    /// The format of the dtype; 0 is NumPy's notation.
    pub dtype_format: i8,
}

/// Numbers with commas between them.
struct Numbers<'a, T>(&'a [T]);

impl<T: Display> Display for Numbers<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, number) in self.0.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{number}")?;
        }
        Ok(())
    }
}

/// Takes bytes from the front of a metalayer.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(len).ok_or(Error::FAILURE)?;
        let part = self.bytes.get(self.at..end).ok_or(Error::FAILURE)?;
        self.at = end;
        Ok(part)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut number = [0; N];
        number.copy_from_slice(&self.take(1 + N)?[1..]);
        Ok(number)
    }

    /// Reads three lists of `ndim` numbers each, with a marker before each list and each number.
    fn shapes(&mut self, meta: &mut Meta) -> Result<()> {
        self.byte()?;
        for dim in &mut meta.shape[..meta.ndim] {
            *dim = i64::from_be_bytes(self.number()?);
        }
        for list in [&mut meta.chunkshape, &mut meta.blockshape] {
            self.byte()?;
            for dim in &mut list[..meta.ndim] {
                *dim = i32::from_be_bytes(self.number()?);
            }
        }
        Ok(())
    }
}

/// The number of dimensions that a metalayer may have.
///
/// # Errors
/// [`Error::FAILURE`] if it is negative or more than [`MAX_DIM`].
pub fn dimensions(ndim: i8) -> Result<usize> {
    let ndim = usize::try_from(ndim).map_err(|_| Error::FAILURE)?;
    match ndim <= MAX_DIM {
        true => Ok(ndim),
        false => Err(Error::FAILURE),
    }
}

impl<'a> Meta<'a> {
    /// Parses a metalayer. Also gives how many bytes were parsed. Without `with_dtype`, only the
    /// shapes are.
    ///
    /// # Errors
    /// [`Error::FAILURE`] if it is cut short, has too many dimensions, or has no string where the
    /// dtype should be.
    pub fn parse(bytes: &'a [u8], with_dtype: bool) -> Result<(Self, usize)> {
        let mut cursor = Cursor { bytes, at: 0 };
        cursor.take(2)?;
        let ndim = usize::from(cursor.byte()?);
        if ndim > MAX_DIM {
            return Err(Error::FAILURE);
        }
        let mut meta = Self {
            ndim,
            shape: [1; MAX_DIM],
            chunkshape: [1; MAX_DIM],
            blockshape: [1; MAX_DIM],
            dtype: None,
            dtype_format: 0,
        };
        cursor.shapes(&mut meta)?;
        if with_dtype && cursor.at < bytes.len() {
            let prefix = cursor.take(6)?;
            if prefix[1] != marker::STR32 {
                return Err(Error::FAILURE);
            }
            let len = i32::from_be_bytes([prefix[2], prefix[3], prefix[4], prefix[5]]);
            let len = usize::try_from(len).map_err(|_| Error::FAILURE)?;
            meta.dtype = Some(cursor.take(len)?);
            meta.dtype_format = prefix[0] as i8;
        }
        Ok((meta, cursor.at))
    }

    /// The geometry of an array with these shapes.
    ///
    /// # Errors
    /// Those of [`Geometry::new`]; [`Error::INVALID_PARAM`] if chunks or blocks have length 0 along
    /// a dimension of another length.
    pub fn geometry(&self) -> Result<Geometry> {
        let dims = ..self.ndim;
        let lengths = self.shape.iter().zip(self.chunkshape).zip(self.blockshape);
        for ((shape, chunk), block) in lengths.take(self.ndim) {
            if *shape != 0 && (chunk == 0 || block == 0) {
                return Err(Error::INVALID_PARAM);
            }
        }
        Geometry::new(
            &self.shape[dims],
            &self.chunkshape[dims],
            &self.blockshape[dims],
        )
    }

    /// A description of the array, to be printed.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn describe(&self) -> Result<TryVec<u8>> {
        let ndim = self.ndim;
        let (shape, chunkshape) = (&self.shape[..ndim], &self.chunkshape[..ndim]);
        let mut text = TryVec::new();
        let mut add = |part: fmt::Arguments| -> Result<()> {
            text.extend_from_slice(Text::<1024>::of(part).as_bytes())
        };
        add(format_args!(
            "b2nd metalayer parameters:\n Ndim:       {ndim}\n shape:      {}\n chunkshape: {}\n",
            Numbers(shape),
            Numbers(chunkshape),
        ))?;
        if let Some(dtype) = self.dtype {
            // In C the string ends at the first 0.
            let seen = dtype.split(|byte| *byte == 0).next().unwrap_or_default();
            for part in [b" dtype: ", seen, b"\n"] {
                text.extend_from_slice(part)?;
            }
        }
        let blockshape = Numbers(&self.blockshape[..ndim]);
        let last = Text::<1024>::of(format_args!(" blockshape: {blockshape}\n"));
        text.extend_from_slice(last.as_bytes())?;
        Ok(text)
    }

    /// The bytes of the metalayer. Without a dtype, it gets [`DEFAULT_DTYPE`].
    ///
    /// # Errors
    /// [`Error::FAILURE`] if the format of the dtype is negative, or the dtype has 2 GiB or more.
    pub fn serialize(&self) -> Result<TryVec<u8>> {
        let dtype = self.dtype.unwrap_or(DEFAULT_DTYPE);
        let len = i32::try_from(dtype.len()).map_err(|_| Error::FAILURE)?;
        if self.dtype_format < 0 || self.ndim > MAX_DIM {
            return Err(Error::FAILURE);
        }
        let ndim = self.ndim as u8;
        let mut out = TryVec::of([marker::FIXARRAY + 7, VERSION, ndim])?;
        out.push(marker::FIXARRAY + ndim)?;
        for dim in &self.shape[..self.ndim] {
            out.push(marker::INT64)?;
            out.extend(dim.to_be_bytes())?;
        }
        for list in [&self.chunkshape, &self.blockshape] {
            out.push(marker::FIXARRAY + ndim)?;
            for dim in &list[..self.ndim] {
                out.push(marker::INT32)?;
                out.extend(dim.to_be_bytes())?;
            }
        }
        out.push(self.dtype_format as u8)?;
        out.push(marker::STR32)?;
        out.extend(len.to_be_bytes())?;
        out.extend_from_slice(dtype)?;
        Ok(out)
    }
}

/// The shape of a block in the metalayer of an array.
///
/// # Errors
/// [`Error::FAILURE`] if there is no such metalayer; those of [`Meta::parse`] and
/// [`BlockShape::new`].
pub fn block_shape(layers: &[Metalayer]) -> Result<BlockShape> {
    let layer = layers.iter().find(|layer| *layer.name == *NAME);
    let (meta, _) = Meta::parse(&layer.ok_or(Error::FAILURE)?.content, false)?;
    BlockShape::new(&meta.blockshape[..meta.ndim])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_counted_to_the_largest_number() {
        assert_eq!((dimensions(0), dimensions(16)), (Ok(0), Ok(MAX_DIM)));
        assert!(dimensions(-1).is_err() && dimensions(17).is_err());
    }

    fn sample(ndim: usize, dtype: Option<&[u8]>) -> Meta<'_> {
        let mut meta = Meta {
            ndim,
            shape: [1; MAX_DIM],
            chunkshape: [1; MAX_DIM],
            blockshape: [1; MAX_DIM],
            dtype,
            dtype_format: 3,
        };
        for d in 0..ndim {
            meta.shape[d] = (1 << 40) + d as i64;
            meta.chunkshape[d] = 1000 + d as i32;
            meta.blockshape[d] = 10 + d as i32;
        }
        meta
    }

    #[test]
    fn what_is_written_is_read_back() {
        for ndim in 0..=MAX_DIM {
            let meta = sample(ndim, Some(b"<f8"));
            let bytes = meta.serialize().unwrap();
            assert_eq!(bytes.len(), 3 + 3 + ndim * (9 + 5 + 5) + 6 + 3);
            assert_eq!(Meta::parse(&bytes, true), Ok((meta, bytes.len())));
            let (bare, len) = Meta::parse(&bytes, false).unwrap();
            assert_eq!((bare.dtype, len), (None, bytes.len() - 9));
            for cut in 0..bytes.len() {
                let short = Meta::parse(&bytes[..cut], true);
                // Without the dtype, the metalayer is complete.
                assert_eq!(short.is_ok(), cut == bytes.len() - 9, "{cut}");
            }
        }
    }

    #[test]
    fn the_document_is_followed_to_the_byte() {
        let mut meta = sample(1, None);
        (meta.shape[0], meta.chunkshape[0], meta.blockshape[0]) = (5, 3, 2);
        meta.dtype_format = 0;
        let expected: &[u8] = &[
            0x97, 0, 1, 0x91, 0xd3, 0, 0, 0, 0, 0, 0, 0, 5, 0x91, 0xd2, 0, 0, 0, 3, 0x91, 0xd2, 0,
            0, 0, 2, 0, 0xdb, 0, 0, 0, 3, b'|', b'u', b'1',
        ];
        assert_eq!(meta.serialize().unwrap(), expected);
    }

    #[test]
    fn nonsense_is_refused() {
        let bytes = sample(2, Some(b"<i4")).serialize().unwrap();
        let mut many = bytes.try_clone().unwrap();
        many[2] = 17;
        assert_eq!(Meta::parse(&many, true), Err(Error::FAILURE));
        many[2] = 0xff;
        assert_eq!(Meta::parse(&many, true), Err(Error::FAILURE));
        let mut marker = bytes.try_clone().unwrap();
        let at = bytes.len() - 8;
        marker[at] = 0xd9;
        assert_eq!(Meta::parse(&marker, true), Err(Error::FAILURE));
        let mut len = bytes.try_clone().unwrap();
        len[at + 1] = 0x80;
        assert_eq!(Meta::parse(&len, true), Err(Error::FAILURE));
        let mut negative = sample(2, None);
        negative.dtype_format = -1;
        assert_eq!(negative.serialize(), Err(Error::FAILURE));
    }

    #[test]
    fn what_it_says_is_shown_up_to_the_first_zero() {
        let mut meta = Meta {
            ndim: 2,
            shape: [10; MAX_DIM],
            chunkshape: [5; MAX_DIM],
            blockshape: [2; MAX_DIM],
            dtype: Some(b"|u1\0rest"),
            dtype_format: 0,
        };
        let text = meta.describe().expect("has memory");
        let shown = "b2nd metalayer parameters:\n Ndim:       2\n shape:      10, 10\n chunkshape: 5, 5\n dtype: |u1\n \
            blockshape: 2, 2\n";
        assert_eq!(String::from_utf8_lossy(&text), shown);
        meta.dtype = None;
        let text = meta.describe().expect("has memory");
        assert_eq!(
            String::from_utf8_lossy(&text),
            shown.replace(" dtype: |u1\n", "")
        );
    }
}
