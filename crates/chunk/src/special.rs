//! Writes and reads chunks of special values, whose data follow from the header.

use super::header::{Blocks, ChunkHeader, EXTENDED_HEADER_LENGTH, Special, flags, version};
use oxiblosc_base::{Error, Result};

/// A chunk of special values.
#[derive(Clone, Copy, Debug)]
pub struct SpecialChunk<'a> {
    /// What the values are.
    pub special: Special,
    /// Bytes of the data.
    pub nbytes: usize,
    /// Bytes of a block. An empty chunk has blocks of one byte, as in the reference.
    pub blocksize: usize,
    /// Bytes of an item.
    pub typesize: usize,
    /// The repeated item of [`Special::Value`]; empty for the other kinds.
    pub value: &'a [u8],
}

impl SpecialChunk<'_> {
    /// Writes the chunk to `dest`, which must be large enough, and returns its size.
    pub fn write(&self, dest: &mut [u8]) -> usize {
        let header = ChunkHeader {
            version: version::STABLE,
            versionlz: 1,
            flags: flags::EXTENDED,
            typesize: self.typesize as u8,
            nbytes: self.nbytes,
            cbytes: EXTENDED_HEADER_LENGTH + self.value.len(),
            blocks: Blocks::Regular {
                blocksize: if self.nbytes == 0 { 1 } else { self.blocksize },
            },
            blosc2_flags: self.special.to_flags(),
            ..ChunkHeader::EMPTY
        };
        header.write(dest);
        dest[EXTENDED_HEADER_LENGTH..header.cbytes].copy_from_slice(self.value);
        header.cbytes
    }
}

/// Fills `dest` with the data from byte `start` on of a chunk of special values; `stored` is what
/// follows the header.
///
/// # Errors
/// [`Error::DATA`] if there is no value, or no NaN of this size; [`Error::SCHUNK_SPECIAL`] for a
/// chunk of another kind.
pub fn fill(header: &ChunkHeader, stored: &[u8], start: usize, dest: &mut [u8]) -> Result<()> {
    match header.special() {
        Special::Zero => dest.fill(0),
        Special::Uninit => {}
        Special::Value => {
            if stored.is_empty() {
                return Err(Error::DATA);
            }
            repeat(stored, start % stored.len(), dest);
        }
        Special::Nan => {
            let pattern: &[u8] = match header.typesize {
                4 => &f32::NAN.to_le_bytes(),
                8 => &f64::NAN.to_le_bytes(),
                _ => return Err(Error::DATA),
            };
            repeat(pattern, start % pattern.len(), dest);
        }
        Special::None | Special::Unknown(_) => return Err(Error::SCHUNK_SPECIAL),
    }
    Ok(())
}

/// Fills `dest` with copies of `pattern`, beginning `phase` bytes into it.
fn repeat(pattern: &[u8], phase: usize, dest: &mut [u8]) {
    if pattern.iter().all(|byte| *byte == pattern[0]) {
        dest.fill(pattern[0]);
        return;
    }
    for (out, byte) in dest
        .iter_mut()
        .zip(pattern.iter().cycle().skip(phase).take(pattern.len()))
    {
        *out = *byte;
    }
    // The filled part doubles until copies of it are fast, but stays small enough for the cache.
    let mut filled = pattern.len();
    let most = (32 << 10) / pattern.len().min(32 << 10) * pattern.len();
    while filled < dest.len() {
        let (done, rest) = dest.split_at_mut(filled);
        let size = filled.min(most.max(pattern.len())).min(rest.len());
        rest[..size].copy_from_slice(&done[..size]);
        filled += size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_repeat_from_any_phase() {
        for width in [1usize, 2, 3, 7, 8, 300, 40_000] {
            let pattern: Vec<u8> = (0..width).map(|i| (i * 7 + i / 256) as u8).collect();
            for phase in [0, width / 2, width - 1] {
                for len in [0, 1, 5, width, 3 * width + 1, 100_000] {
                    let len = if cfg!(miri) { len.min(1000) } else { len };
                    let mut dest = vec![0xaa; len];
                    repeat(&pattern, phase, &mut dest);
                    assert!(
                        dest.iter()
                            .enumerate()
                            .all(|(i, byte)| *byte == pattern[(i + phase) % width])
                    );
                }
            }
        }
    }
}
