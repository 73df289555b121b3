//! Zlib streams, by two libraries.
//!
//! Measured on blocks of 16 KiB to 1 MiB against zlib-ng (which the reference uses). Deflating, zlib-rs makes the same
//! streams as zlib-ng in the same time; libdeflate is 1.3 to 6 times as fast at levels 5 to 9, but some of its streams
//! are more than 0.5 % larger (32-bit integers: 2.6 %), and all of them, being cut into many short blocks, inflate at
//! half the speed. Inflating, libdeflate is the faster one (by up to 1.3) but for very redundant data, where zlib-rs
//! is. zlib-ng itself would need cmake to build, for nothing more. What all of them spend on noise is spared: see
//! [`super::noise`].

use core::ptr::NonNull;

use libdeflate_sys as sys;
use zlib_rs::adler32::adler32;
use zlib_rs::{Deflate, DeflateConfig, DeflateFlush, Inflate, InflateFlush, Status, Strategy};

use super::noise::{Noise, Search, Worth};
use crate::error::{Error, Result};

/// The version reported to callers: the zlib that zlib-rs stands for.
pub(super) const VERSION: &str = "1.3.0-zlib-rs-0.6";

/// zlib's window, as a power of two. Less than zero it tells the library to write no header.
const WINDOW_BITS: i32 = 15;
/// A stream that is smaller than its data by more than this factor is very redundant.
const REDUNDANT: usize = 8;
/// The most bytes of one stored block (RFC 1951, 3.2.4).
const STORED: usize = 0xFFFF;

/// What pays at a level: the high ones find words of three bytes, which are also repeated by chance; at the lowest a
/// search costs no more than a code.
fn sought(clevel: u8) -> Search {
    let (word, chance) = if clevel < 7 { (4, 5) } else { (3, 3) };
    Search {
        window: 1 << WINDOW_BITS,
        word,
        sparse: 16,
        chance,
        code: (2..7).contains(&clevel),
    }
}

/// A compressor and the level it was made for; none when it is not yet made.
type Deflater = Option<(Box<Deflate>, u8)>;

/// The compressor.
///
/// Where looking for repeated bytes is wasted it is spared: such stretches are stored, or given a code for single bytes
/// only, and what is between them is deflated by itself, with what it repeats of the window as a dictionary. A stream
/// without any has the bytes that zlib-ng would give it.
#[derive(Default)]
pub(super) struct Compressor {
    noise: Noise,
    search: Deflater,
    code: Deflater,
}

impl Compressor {
    /// Bytes written; 0 when they do not fit.
    pub(super) fn compress(&mut self, clevel: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let mut stream = Stream { dst, written: 0 };
        Ok(self
            .write(clevel, src, &mut stream)
            .map_or(0, |()| stream.written))
    }

    /// Writes a whole stream; none when it does not fit.
    fn write(&mut self, clevel: u8, src: &[u8], stream: &mut Stream) -> Option<()> {
        let Compressor {
            noise,
            search,
            code,
        } = self;
        let parts = noise.parts(src, sought(clevel));
        let stored: usize = parts
            .iter()
            .filter(|part| part.worth == Worth::Nothing)
            .map(|part| part.len)
            .sum();
        if stored > stream.dst.len() {
            return None;
        }
        // The window's size and the effort (RFC 1950, 2.2); together a multiple of 31.
        stream.put(match clevel {
            ..=1 => &[0x78, 0x01],
            2..=5 => &[0x78, 0x5E],
            6 => &[0x78, 0x9C],
            7.. => &[0x78, 0xDA],
        })?;
        let mut at = 0;
        for part in parts {
            let (before, rest) = src.split_at(at);
            let (bytes, rest) = rest.split_at(part.len);
            let last = rest.is_empty();
            match part.worth {
                Worth::Nothing => stream.store(bytes, last)?,
                Worth::Code => {
                    let how = (clevel, Strategy::HuffmanOnly);
                    stream.deflate(code, how, (&[], bytes), last)?;
                }
                Worth::Search => {
                    let window = at.saturating_sub(1 << WINDOW_BITS);
                    let seen = &before[part.repeats_from.max(window).min(at)..];
                    stream.deflate(search, (clevel, Strategy::Default), (seen, bytes), last)?;
                }
            }
            at += part.len;
        }
        stream.put(&adler32(1, src).to_be_bytes())
    }
}

/// A stream that is being written.
struct Stream<'a> {
    dst: &'a mut [u8],
    written: usize,
}

impl Stream<'_> {
    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        self.dst
            .get_mut(self.written..)?
            .get_mut(..bytes.len())?
            .copy_from_slice(bytes);
        self.written += bytes.len();
        Some(())
    }

    /// Writes stored blocks. The blocks before end at a whole byte.
    fn store(&mut self, bytes: &[u8], last: bool) -> Option<()> {
        let mut blocks = bytes.chunks(STORED).peekable();
        while let Some(block) = blocks.next() {
            let len = block.len() as u16;
            self.put(&[u8::from(last && blocks.peek().is_none())])?;
            self.put(&len.to_le_bytes())?;
            self.put(&(!len).to_le_bytes())?;
            self.put(block)?;
        }
        Some(())
    }

    /// Writes deflated blocks of bytes, that refer to what was seen before them and no more, and end at a whole byte.
    #[inline(never)]
    fn deflate(
        &mut self,
        state: &mut Deflater,
        (clevel, strategy): (u8, Strategy),
        (seen, bytes): (&[u8], &[u8]),
        last: bool,
    ) -> Option<()> {
        // A reset does not forget everything about a stream that was left unfinished (at level 1), and what is taken for
        // seen is entered with a byte behind its end, which an earlier stream left there. The next stream's bytes must
        // depend on neither: a state is put back when it is through, and one that has seen something is made anew.
        let mut deflate = match state.take() {
            Some((mut deflate, level)) if level == clevel && seen.is_empty() => {
                deflate.reset();
                deflate
            }
            _ => Box::new(Deflate::new_with_config(DeflateConfig {
                level: clevel.into(),
                window_bits: -WINDOW_BITS,
                strategy,
                ..DeflateConfig::default()
            })),
        };
        if !seen.is_empty() {
            deflate.set_dictionary(seen).ok()?;
        }
        let room = self.dst.get_mut(self.written..)?;
        let len = room.len();
        let flush = if last {
            DeflateFlush::Finish
        } else {
            DeflateFlush::SyncFlush
        };
        let status = deflate.compress(bytes, room, flush).ok()?;
        let written = deflate.total_out() as usize;
        // Without room left there may be more of a flush to come.
        let through = if last {
            status == Status::StreamEnd
        } else {
            written < len
        };
        if !through {
            return None;
        }
        self.written += written;
        *state = Some((deflate, clevel));
        Some(())
    }
}

/// libdeflate's decompressor, freed with this value.
struct Whole(NonNull<sys::libdeflate_decompressor>);

// SAFETY: plain memory owned by this value alone.
unsafe impl Send for Whole {}

impl Drop for Whole {
    fn drop(&mut self) {
        // SAFETY: came from `libdeflate_alloc_decompressor`, freed once.
        unsafe { sys::libdeflate_free_decompressor(self.0.as_ptr()) };
    }
}

/// The decompressor.
#[derive(Default)]
pub(super) struct Decompressor {
    redundant: Option<Box<Inflate>>,
    whole: Option<Whole>,
}

impl Decompressor {
    /// Bytes written. What follows the stream in `src` is left alone.
    pub(super) fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        if src.len() < dst.len() / REDUNDANT {
            let inflate = match &mut self.redundant {
                Some(inflate) => {
                    inflate.reset(true);
                    inflate
                }
                None => self
                    .redundant
                    .insert(Box::new(Inflate::new(true, WINDOW_BITS as u8))),
            };
            return match inflate.decompress(src, dst, InflateFlush::Finish) {
                Ok(Status::StreamEnd) => Ok(inflate.total_out() as usize),
                _ => Err(Error::Data),
            };
        }
        let whole = match &self.whole {
            Some(whole) => whole,
            None => {
                // SAFETY: takes nothing; null when there is no memory.
                let raw = unsafe { sys::libdeflate_alloc_decompressor() };
                self.whole
                    .insert(Whole(NonNull::new(raw).ok_or(Error::MemoryAlloc)?))
            }
        };
        let (mut taken, mut written) = (0, 0);
        // SAFETY: live decompressor; reads `src`, writes at most `dst.len()`.
        let result = unsafe {
            sys::libdeflate_zlib_decompress_ex(
                whole.0.as_ptr(),
                src.as_ptr().cast(),
                src.len(),
                dst.as_mut_ptr().cast(),
                dst.len(),
                &mut taken,
                &mut written,
            )
        };
        if result == sys::libdeflate_result_LIBDEFLATE_SUCCESS {
            Ok(written)
        } else {
            Err(Error::Data)
        }
    }
}
