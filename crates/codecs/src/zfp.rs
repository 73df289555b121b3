//! ZFP (by Peter Lindstrom), version 5 of the format: lossy compression of floats and doubles in
//! blocks of one to four dimensions, which are divided into cells of 4 items along each dimension.
//! The codec's id and meta byte choose one of three [`CompressionMode`]s.
//!
//! The code is written from the specification, for two reasons: no crate that binds the C library
//! builds without CMake or libclang, and the C library's decoder trusts the stream, so that it
//! reads past the end of a truncated one. Streams and decoded values are the same as that
//! library's, bit for bit.
//!
//! In the stream, a cell is a bit that is 0 if all items are 0, the common exponent, and the bit
//! planes ([`planes`]) of the coefficients. The coefficients result from a transform along each
//! dimension ([`cell`]). Cells follow each other in row-major order without gaps. The stream is
//! padded with zeros to a multiple of 8 bytes.

mod bits;
mod cell;
mod coder;
mod number;
mod one_dim;
mod order;
mod planes;
#[cfg(test)]
mod tests;
mod transpose;

use bits::{BitReader, BitWriter};
use cell::CellParams;
#[cfg(target_arch = "x86_64")]
use coder::Avx2Coder;
use coder::{BaselineCoder, PlaneCoder};
use number::Real;
use oxiblosc_base::cells::{BlockShape, Cell, Cells};
use oxiblosc_base::memory::TryVec;
use oxiblosc_base::{Error, Result};

/// The number of items of a cell along a dimension.
const SIDE: usize = 4;
/// The largest number of dimensions.
const MAX_CELL_DIM: usize = 4;
/// The largest number of bits of a cell.
const MAX_BITS: usize = 16658;
/// The number of bit planes of a double.
const MAX_PLANES: u32 = 64;
/// The exponent of the smallest double.
const MIN_EXPONENT: i32 = -1074;

/// What determines the loss of accuracy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionMode {
    /// All values are within a tolerance of 10 to the power of the meta byte (as a signed number).
    Accuracy,
    /// A fixed number of bit planes is kept: the meta byte, plus 5, 7, 9 or 11 with 1, 2, 3 or 4
    /// dimensions.
    Precision,
    /// Each cell takes a fixed number of bits: the meta byte is the percentage of the uncompressed
    /// size.
    Rate,
}

impl CompressionMode {
    fn params(self, meta: u8, dims: usize, typesize: usize) -> CellParams {
        let all = CellParams {
            min_bits: 1,
            max_bits: MAX_BITS,
            max_precision: MAX_PLANES,
            min_exponent: MIN_EXPONENT,
            order: order::of(dims),
        };
        match self {
            // The largest power of two that does not exceed the tolerance.
            Self::Accuracy => CellParams {
                min_exponent: (f64::from(meta as i8) * std::f64::consts::LOG2_10).floor() as i32,
                ..all
            },
            Self::Precision => CellParams {
                max_precision: MAX_PLANES.min(u32::from(meta) + 3 + 2 * dims as u32),
                ..all
            },
            Self::Rate => {
                let rate = f64::from(meta) / 100.0 * typesize as f64 * 8.0;
                let bits = (f64::from(1u32 << (2 * dims)) * rate + 0.5).floor() as usize;
                let exponent = if typesize == 4 { 8 } else { 11 };
                let bits = bits.max(1 + exponent);
                CellParams {
                    min_bits: bits,
                    max_bits: bits,
                    ..all
                }
            }
        }
    }
}

/// Compressing or decompressing a block, which is compiled for each type of items and each number
/// of items in a cell.
trait BlockTask {
    type Output;
    fn run<R: Real, const N: usize, const W: usize>(
        self,
        coder: impl PlaneCoder,
        cells: &Cells,
    ) -> Self::Output;
}

/// Pads a row of four items, of which the first `len` exist, with the copies that the format
/// prescribes.
fn pad<R: Real>(items: &mut [R], stride: usize, len: usize) {
    if len < 2 {
        items[stride] = items[0];
    }
    if len < 3 {
        items[2 * stride] = items[stride];
    }
    if len < 4 {
        items[3 * stride] = items[0];
    }
}

/// Iterates over the rows of a cut cell. An item is the position of the row in a whole cell. A row
/// runs along the last dimension.
struct Rows<'a> {
    extent: &'a [usize],
    index: [usize; MAX_CELL_DIM],
}

impl Iterator for Rows<'_> {
    type Item = usize;

    /// Never `None`: the first row comes after the last.
    fn next(&mut self) -> Option<usize> {
        let outer = self.extent.len() - 1;
        let place = self.index[..outer]
            .iter()
            .fold(0, |place, index| SIDE * place + index);
        for d in (0..outer).rev() {
            self.index[d] += 1;
            if self.index[d] < self.extent[d] {
                break;
            }
            self.index[d] = 0;
        }
        Some(SIDE * place)
    }
}

fn rows(extent: &[usize]) -> Rows<'_> {
    Rows {
        extent,
        index: [0; MAX_CELL_DIM],
    }
}

/// Loads the items of a cell, and pads a cut cell.
#[inline(always)]
fn gather<R: Real, const N: usize>(cell: &Cell, src: &[u8], items: &mut [R; N]) {
    if cell.extent().iter().any(|len| *len < SIDE) {
        return gather_cut(cell, src, items);
    }
    let mut rows = items.as_chunks_mut::<SIDE>().0.iter_mut();
    cell.each_row(|at| {
        let row = &src[at * R::SIZE..][..SIDE * R::SIZE];
        if let Some(to) = rows.next() {
            *to = std::array::from_fn(|i| R::read(&row[i * R::SIZE..][..R::SIZE]));
        }
    });
}

/// [`gather`] for a cut cell. There are few of these, so this is neither inlined nor compiled for
/// each CPU.
#[inline(never)]
fn gather_cut<R: Real, const N: usize>(cell: &Cell, src: &[u8], items: &mut [R; N]) {
    let (extent, width) = (cell.extent(), cell.width());
    let mut rows = rows(extent);
    cell.each_row(|at| {
        let row = src[at * R::SIZE..][..width * R::SIZE].chunks_exact(R::SIZE);
        let place = rows.next().unwrap_or(0);
        for (to, from) in items[place..].iter_mut().zip(row) {
            *to = R::read(from);
        }
    });
    for (dim, len) in extent.iter().rev().enumerate() {
        let stride = 1 << (2 * dim);
        for group in items.chunks_exact_mut(SIDE * stride) {
            for place in 0..stride {
                pad(&mut group[place..], stride, *len);
            }
        }
    }
}

/// Stores the items of a cell.
#[inline(always)]
fn scatter<R: Real, const N: usize>(cell: &Cell, items: &[R; N], dst: &mut [u8]) {
    let (extent, width) = (cell.extent(), cell.width());
    let mut rows = rows(extent);
    cell.each_row(|at| {
        let row = dst[at * R::SIZE..][..width * R::SIZE].chunks_exact_mut(R::SIZE);
        let place = rows.next().unwrap_or(0);
        for (to, from) in row.zip(&items[place..]) {
            from.write(to);
        }
    });
}

struct Compress<'a> {
    params: CellParams,
    src: &'a [u8],
    dst: &'a mut [u8],
    /// A buffer for the coefficients of a cell.
    coefficients: &'a mut [u64],
}

impl BlockTask for Compress<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<R: Real, const N: usize, const W: usize>(
        self,
        coder: impl PlaneCoder,
        cells: &Cells,
    ) -> usize {
        let mut out = BitWriter::new(self.dst);
        let mut items = [R::default(); N];
        let Some(coefficients) = self.coefficients.first_chunk_mut() else {
            return 0;
        };
        let mut walk = cells.walk();
        while let Some(cell) = walk.advance() {
            if out.is_full() {
                return 0;
            }
            gather::<R, N>(cell, self.src, &mut items);
            cell::encode::<R, N, W>(coder, &items, coefficients, &self.params, &mut out);
        }
        out.finish().unwrap_or(0)
    }
}

struct Decompress<'a> {
    params: CellParams,
    src: &'a [u8],
    /// The cell and its first item, if only a part of one cell is decompressed; `None` for the
    /// whole block.
    only: Option<(usize, usize)>,
    dst: &'a mut [u8],
    /// A buffer for the coefficients of a cell.
    coefficients: &'a mut [u64],
}

impl BlockTask for Decompress<'_> {
    /// Whether the stream does not end before.
    type Output = bool;

    #[inline(always)]
    fn run<R: Real, const N: usize, const W: usize>(
        self,
        coder: impl PlaneCoder,
        cells: &Cells,
    ) -> bool {
        let begin = self
            .only
            .map_or(0, |(ncell, _)| ncell * self.params.max_bits);
        let mut input = BitReader::new(self.src, begin);
        let mut items = [R::default(); N];
        let Some(coefficients) = self.coefficients.first_chunk_mut() else {
            return false;
        };
        let mut walk = cells.walk();
        while let Some(cell) = walk.advance() {
            cell::decode::<R, N, W>(coder, &self.params, &mut input, coefficients, &mut items);
            if let Some((_, first)) = self.only {
                let wanted = self.dst.chunks_exact_mut(R::SIZE);
                for (to, from) in wanted.zip(&items[first..]) {
                    from.write(to);
                }
                return input.is_within();
            }
            scatter(cell, &items, self.dst);
        }
        input.is_within_words()
    }
}

/// Runs a task for the type of the items, which their size determines, and the number of items in a
/// cell. `check` must have accepted both.
fn run<T: BlockTask>(task: T, cells: &Cells, typesize: usize, dims: usize) -> T::Output {
    match (typesize, dims) {
        (4, 1) => run_for::<T, f32, 4, 1>(task, cells),
        (4, 2) => run_for::<T, f32, 16, 1>(task, cells),
        (4, 3) => run_for::<T, f32, 64, 1>(task, cells),
        (4, _) => run_for::<T, f32, 256, 4>(task, cells),
        (_, 1) => run_for::<T, f64, 4, 1>(task, cells),
        (_, 2) => run_for::<T, f64, 16, 1>(task, cells),
        (_, 3) => run_for::<T, f64, 64, 1>(task, cells),
        (_, _) => run_for::<T, f64, 256, 4>(task, cells),
    }
}

/// Runs a task with the instructions that this CPU has. Neither variant is inlined, so that their
/// stack frames do not add up.
fn run_for<T: BlockTask, R: Real, const N: usize, const W: usize>(
    task: T,
    cells: &Cells,
) -> T::Output {
    #[inline(never)]
    fn run_anywhere<T: BlockTask, R: Real, const N: usize, const W: usize>(
        task: T,
        cells: &Cells,
    ) -> T::Output {
        task.run::<R, N, W>(BaselineCoder, cells)
    }
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
        fn run_avx2<T: BlockTask, R: Real, const N: usize, const W: usize>(
            task: T,
            coder: Avx2Coder,
            cells: &Cells,
        ) -> T::Output {
            task.run::<R, N, W>(coder, cells)
        }
        if let Some(coder) = Avx2Coder::new() {
            // SAFETY: `Avx2Coder::new` returns a value only if the CPU has these features.
            return unsafe { run_avx2::<T, R, N, W>(task, coder, cells) };
        }
    }
    run_anywhere::<T, R, N, W>(task, cells)
}

/// Runs `body` with a buffer for the coefficients of a cell. For cells of four dimensions it is on
/// the heap, as it is too large for a small stack.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`].
fn with_coefficients<T>(dims: usize, body: impl FnOnce(&mut [u64]) -> T) -> Result<T> {
    if dims < MAX_CELL_DIM {
        return Ok(body(&mut [0; 64]));
    }
    Ok(body(&mut TryVec::filled(0, 256)?))
}

/// Checks that the items are floats or doubles in 1 to 4 dimensions. Returns the number of
/// dimensions.
fn check(block: BlockShape, typesize: usize) -> Result<usize> {
    let dims = block.dims().len();
    if dims > MAX_CELL_DIM || !matches!(typesize, 4 | 8) {
        return Err(Error::FAILURE);
    }
    Ok(dims)
}

/// Compresses a block of items of `typesize` bytes. Returns the bytes written, or 0 if the result
/// is not smaller, `dst` is too small, or `src` is not a whole block.
///
/// # Errors
/// [`Error::FAILURE`] for other items than floats and doubles, more than 4 dimensions, and blocks
/// shorter than a cell.
pub fn compress(
    (mode, meta): (CompressionMode, u8),
    block: BlockShape,
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
) -> Result<usize> {
    if block.dims().len() > MAX_CELL_DIM || block.dims().iter().any(|len| *len < SIDE) {
        return Err(Error::FAILURE);
    }
    if block.nbytes(typesize) != src.len() as u64 {
        return Ok(0);
    }
    let dims = check(block, typesize)?;
    let cells = Cells::new(block, |_| SIDE, typesize, src.len())?;
    let capacity = dst.len().min(src.len() - 1);
    with_coefficients(dims, |coefficients| {
        let task = Compress {
            params: mode.params(meta, dims, typesize),
            src,
            dst: &mut dst[..capacity],
            coefficients,
        };
        run(task, &cells, typesize, dims)
    })
}

/// Decompresses a block of items of `typesize` bytes into the front of `dst`, and fills the rest of
/// `dst` with zeros.
///
/// # Errors
/// [`Error::FAILURE`] for other items than floats and doubles, more than 4 dimensions, blocks
/// larger than `dst`, and a stream that is cut.
pub fn decompress(
    (mode, meta): (CompressionMode, u8),
    block: BlockShape,
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
) -> Result<()> {
    let dims = check(block, typesize)?;
    let nbytes = block.nbytes(typesize);
    if nbytes > dst.len() as u64 {
        return Err(Error::FAILURE);
    }
    let (dst, rest) = dst.split_at_mut(nbytes as usize);
    rest.fill(0);
    let cells = Cells::new(block, |_| SIDE, typesize, dst.len())?;
    with_coefficients(dims, |coefficients| {
        let task = Decompress {
            params: mode.params(meta, dims, typesize),
            src,
            only: None,
            dst,
            coefficients,
        };
        run(task, &cells, typesize, dims)
    })?
    .then_some(())
    .ok_or(Error::FAILURE)
}

/// Decompresses the items of a block from item `first` on that fill `dst`. The block must have been
/// compressed with [`CompressionMode::Rate`]. Returns false and does nothing if the items are not
/// adjacent in one cell.
///
/// # Errors
/// As [`decompress`], and if the stream ends before the cell does.
pub fn decompress_items(
    meta: u8,
    block: BlockShape,
    typesize: usize,
    src: &[u8],
    first: usize,
    dst: &mut [u8],
) -> Result<bool> {
    let dims = check(block, typesize)?;
    let (mut left, mut place, mut ncell) = (first, 0, 0);
    // The index is divided, from the last dimension on, into the number of the cell and the
    // position in the cell.
    let (mut place_stride, mut cell_stride) = (1, 1);
    for (d, len) in block.dims().iter().enumerate().rev() {
        let index = left % len;
        left /= len;
        if d == dims - 1
            && index % SIDE + dst.len() / typesize > SIDE.min(len - index / SIDE * SIDE)
        {
            return Ok(false);
        }
        place += index % SIDE * place_stride;
        ncell += index / SIDE * cell_stride;
        place_stride *= SIDE;
        cell_stride *= len.div_ceil(SIDE);
    }
    let params = CompressionMode::Rate.params(meta, dims, typesize);
    if left > 0 || ncell >= 8 * src.len() / params.max_bits {
        return Err(Error::DATA);
    }
    let cells = Cells::new(block, |_| SIDE, typesize, block.nbytes(typesize) as usize)?;
    with_coefficients(dims, |coefficients| {
        let task = Decompress {
            params,
            src,
            only: Some((ncell, place)),
            dst,
            coefficients,
        };
        run(task, &cells, typesize, dims)
    })?
    .then_some(true)
    .ok_or(Error::DATA)
}
