//! The bytes of MessagePack with which values in header, index, trailer and metalayers begin.
//!
//! See the specification of MessagePack, "Formats".

/// An array of up to 15 values: plus their number.
pub const FIXARRAY: u8 = 0x90;
/// A string of up to 31 bytes: plus their number.
pub const FIXSTR: u8 = 0xa0;
/// False.
pub const FALSE: u8 = 0xc2;
/// True.
pub const TRUE: u8 = 0xc3;
/// Bytes, after their number in four.
pub const BIN32: u8 = 0xc6;
/// An unsigned number of two bytes.
pub const UINT16: u8 = 0xcd;
/// An unsigned number of four bytes.
pub const UINT32: u8 = 0xce;
/// An unsigned number of eight bytes.
pub const UINT64: u8 = 0xcf;
/// A signed number of two bytes.
pub const INT16: u8 = 0xd1;
/// A signed number of four bytes.
pub const INT32: u8 = 0xd2;
/// A signed number of eight bytes.
pub const INT64: u8 = 0xd3;
/// A type and 16 bytes.
pub const FIXEXT16: u8 = 0xd8;
/// An array, after the number of its values in two bytes.
pub const ARRAY16: u8 = 0xdc;
/// A map, after the number of its pairs in two bytes.
pub const MAP16: u8 = 0xde;
