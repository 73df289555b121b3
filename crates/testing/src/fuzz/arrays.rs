//! The C functions of arrays on slices. A slice that ends where the buffer does lets a sanitizer
//! see every byte too far.

use super::numbers::Random;
use blosc2::capi::b2nd::{context::*, convert::*, create::*, reshape::*, selection::*, slices::*};
use blosc2::capi::types::*;
use std::ffi::c_int;
use std::ptr::{null, null_mut};

/// An array, freed with this value.
pub struct Array {
    raw: *mut b2nd_array_t,
    /// Where its frame lies, if it was not copied.
    _frame: Box<[u8]>,
}

/// How an array is cut, and how its chunks are compressed.
pub struct Cut {
    /// Shape of a chunk.
    pub chunks: Vec<i32>,
    /// Shape of a block.
    pub blocks: Vec<i32>,
    /// Bytes of an item.
    pub typesize: i32,
    /// The last filter.
    pub filter: u8,
    /// The codec.
    pub codec: u8,
    /// Whether the chunks lie in one buffer.
    pub contiguous: bool,
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: made by the library, freed once.
        unsafe { b2nd_free(self.raw) };
    }
}

impl Array {
    /// The array of a frame, which is used where it lies.
    pub fn of_frame(mut frame: Box<[u8]>) -> Option<Self> {
        let mut raw = null_mut();
        // SAFETY: the frame stays as long as the array.
        let rc = unsafe {
            b2nd_from_cframe(frame.as_mut_ptr(), frame.len() as i64, false, &raw mut raw)
        };
        (rc == 0).then_some(Self { raw, _frame: frame })
    }

    /// An array of the items of a buffer.
    pub fn new(shape: &[i64], cut: &Cut, data: &[u8]) -> Option<Self> {
        let mut cparams = blosc2_cparams {
            compcode: cut.codec,
            typesize: cut.typesize,
            nthreads: 1,
            ..blosc2_cparams::defaults()
        };
        cparams.filters[5] = cut.filter;
        let storage = blosc2_storage {
            contiguous: cut.contiguous,
            cparams: &raw mut cparams,
            ..blosc2_storage::defaults()
        };
        let mut raw = null_mut();
        // SAFETY: the parameters are copied; the buffer is as long as it is.
        let rc = unsafe {
            let (chunks, blocks) = (cut.chunks.as_ptr(), cut.blocks.as_ptr());
            let (ndim, shape) = (shape.len() as i8, shape.as_ptr());
            let ctx = b2nd_create_ctx(
                &raw const storage,
                ndim,
                shape,
                chunks,
                blocks,
                null(),
                0,
                null(),
                0,
            );
            let (data, len) = (data.as_ptr().cast(), data.len() as i64);
            let rc = b2nd_from_cbuffer(ctx, &raw mut raw, data, len);
            b2nd_free_ctx(ctx);
            rc
        };
        (rc == 0).then(|| Self {
            raw,
            _frame: Box::default(),
        })
    }

    /// The array as a frame.
    pub fn to_frame(&self) -> Vec<u8> {
        let (mut frame, mut len, mut needs_free) = (null_mut(), 0, false);
        // SAFETY: places for the result; the frame is as long as it says.
        unsafe {
            let rc = b2nd_to_cframe(self.raw, &raw mut frame, &raw mut len, &raw mut needs_free);
            assert_eq!(rc, 0);
            let bytes = std::slice::from_raw_parts(frame, len as usize).to_vec();
            if needs_free {
                libc::free(frame.cast());
            }
            bytes
        }
    }

    /// The shape.
    pub fn shape(&self) -> Vec<i64> {
        // SAFETY: the array lives as long as this.
        let fields = unsafe { &*self.raw };
        fields.shape[..fields.ndim as usize].to_vec()
    }

    /// Bytes of a chunk's data.
    pub fn chunk_nbytes(&self) -> i64 {
        // SAFETY: the array lives as long as this.
        let fields = unsafe { &*self.raw };
        fields.extchunknitems.saturating_mul(self.typesize() as i64)
    }

    /// Bytes of an item.
    pub fn typesize(&self) -> usize {
        // SAFETY: the super-chunk lives as long as the array.
        unsafe { (*(*self.raw).sc).typesize as usize }
    }

    /// All items, `len` bytes; whatever is in the buffer if that fails.
    pub fn read_all(&self, len: usize) -> Vec<u8> {
        let mut buffer = vec![0x5a; len];
        // SAFETY: the buffer is as long as it is.
        unsafe { b2nd_to_cbuffer(self.raw, buffer.as_mut_ptr().cast(), len as i64) };
        buffer
    }

    /// Reads a slice.
    pub fn get(&self, start: &[i64], stop: &[i64], buffer: &mut [u8]) -> c_int {
        let capacity = capacity(start, stop);
        let (ptr, len) = (buffer.as_mut_ptr().cast(), buffer.len() as i64);
        // SAFETY: as many numbers as dimensions; the buffer is as long as it is.
        unsafe {
            b2nd_get_slice_cbuffer(
                self.raw,
                start.as_ptr(),
                stop.as_ptr(),
                ptr,
                capacity.as_ptr(),
                len,
            )
        }
    }

    /// Writes a slice.
    pub fn set(&self, start: &[i64], stop: &[i64], buffer: &[u8]) -> c_int {
        let capacity = capacity(start, stop);
        let (ptr, len) = (buffer.as_ptr().cast(), buffer.len() as i64);
        // SAFETY: as above.
        unsafe {
            b2nd_set_slice_cbuffer(
                ptr,
                capacity.as_ptr(),
                len,
                start.as_ptr(),
                stop.as_ptr(),
                self.raw,
            )
        }
    }

    /// Reads one item.
    pub fn sparse(&self, coord: i64, item: &mut [u8]) -> c_int {
        let (ptr, len) = (item.as_mut_ptr().cast(), item.len() as i64);
        // SAFETY: one coordinate; the buffer is as long as it is.
        unsafe { b2nd_get_sparse_cbuffer(self.raw, 1, &raw const coord, ptr, len) }
    }

    /// Changes the shape.
    pub fn resize(&self, shape: &[i64]) -> c_int {
        // SAFETY: as many numbers as dimensions.
        unsafe { b2nd_resize(self.raw, shape.as_ptr(), null()) }
    }

    /// Appends items.
    pub fn append(&self, axis: i8, buffer: &[u8]) -> c_int {
        // SAFETY: the buffer is as long as it is.
        unsafe { b2nd_append(self.raw, buffer.as_ptr().cast(), buffer.len() as i64, axis) }
    }

    /// Inserts items.
    pub fn insert(&self, axis: i8, at: i64, buffer: &[u8]) -> c_int {
        // SAFETY: the buffer is as long as it is.
        unsafe {
            b2nd_insert(
                self.raw,
                buffer.as_ptr().cast(),
                buffer.len() as i64,
                axis,
                at,
            )
        }
    }

    /// Deletes items.
    pub fn delete(&self, axis: i8, from: i64, len: i64) -> c_int {
        // SAFETY: numbers alone.
        unsafe { b2nd_delete(self.raw, axis, from, len) }
    }
}

fn capacity(start: &[i64], stop: &[i64]) -> Vec<i64> {
    start.iter().zip(stop).map(|(a, b)| b - a).collect()
}

/// Frames of arrays of all kinds, by name.
pub fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let frame = |shape: &[i64], chunks: &[i32], blocks: &[i32], typesize: i32, filter: u8| {
        let cut = Cut {
            chunks: chunks.to_vec(),
            blocks: blocks.to_vec(),
            typesize,
            filter,
            codec: 1,
            contiguous: true,
        };
        let len = shape.iter().product::<i64>() as usize * typesize as usize;
        let data: Vec<u8> = (0..len).map(|i| (i * i / 7) as u8).collect();
        let array = Array::new(shape, &cut, &data);
        array.expect("an array that can be").to_frame()
    };
    vec![
        ("line", frame(&[30], &[7], &[3], 4, 1)),
        ("plane", frame(&[9, 11], &[4, 5], &[3, 2], 8, 1)),
        ("cube", frame(&[4, 5, 6], &[2, 3, 4], &[2, 2, 3], 2, 2)),
        (
            "five",
            frame(&[2; 5], &[1, 2, 1, 2, 1], &[1, 1, 1, 2, 1], 1, 0),
        ),
        ("nothing", frame(&[6, 0], &[2, 2], &[1, 1], 4, 1)),
        ("large-items", frame(&[5], &[2], &[1], 300, 0)),
    ]
}

/// One of the frames with something in it that should not be, behind what the fuzz target reads
/// first.
pub fn mutant(seeds: &[(&str, Vec<u8>)], number: u64) -> Vec<u8> {
    let mut random = Random(number);
    let (_, seed) = &seeds[number as usize % seeds.len()];
    let mut input = vec![0, random.bits() as u8];
    input.extend(seed);
    let frame = &mut input[2..];
    let meta = frame.windows(4).position(|bytes| bytes == b"b2nd");
    damage(frame, meta.unwrap_or(0), &mut random);
    input
}

/// Puts numbers that should not be there into a frame: into its header and the 120 bytes at `often`
/// more often than anywhere else.
pub fn damage(frame: &mut [u8], often: usize, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = match random.below(4) {
            0 => random.below(frame.len()),
            1 => random.below(100),
            _ => often + random.below(120),
        };
        let at = at.min(frame.len() - 1);
        match random.below(4) {
            0 => frame[at] = random.bits() as u8,
            1 => frame[at] ^= 1 << random.below(8),
            2 => {
                let end = frame.len().min(at + random.one_of(&[1, 4, 8]));
                frame[at..end].fill(random.one_of(&[0, 0xff, 0x7f, 0x80]));
            }
            _ => {
                let end = frame.len().min(at + 4);
                let number: i32 = random.one_of(&[0, 1, -1, i32::MAX, i32::MIN, 1 << 20]);
                frame[at..end].copy_from_slice(&number.to_be_bytes()[..end - at]);
            }
        }
    }
}
