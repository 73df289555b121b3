//! Converts ranges of the data into parts of chunks.

use oxiblosc_base::memory::{Shared, TryVec};
use oxiblosc_base::{Error, Result};

/// The sizes of the data of all chunks, in bytes.
#[derive(Clone, Debug)]
pub enum ChunkSizes {
    /// All chunks have the same size, except the last, which may be smaller.
    Equal {
        /// Bytes of a chunk's data, at least 1.
        chunksize: u64,
        /// Bytes of all data.
        nbytes: u64,
    },
    /// The position of the first byte of each chunk in the data, and the end of the last chunk.
    Starts(Shared<TryVec<u64>>),
}

/// A part of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkPart {
    /// The index of the chunk.
    pub nchunk: usize,
    /// The first byte of the part, counted from the start of the chunk's data.
    pub from: usize,
    /// The end of the part.
    pub to: usize,
    /// Bytes of the chunk's data.
    pub nbytes: usize,
}

impl ChunkPart {
    /// Bytes of the part.
    pub fn len(&self) -> usize {
        self.to - self.from
    }

    /// Whether the part has no bytes.
    pub fn is_empty(&self) -> bool {
        self.to == self.from
    }

    /// Whether the part is the whole chunk.
    pub fn is_whole(&self) -> bool {
        self.from == 0 && self.to == self.nbytes
    }
}

impl ChunkSizes {
    /// Bytes of all data.
    pub fn nbytes(&self) -> u64 {
        match self {
            Self::Equal { nbytes, .. } => *nbytes,
            Self::Starts(starts) => starts.last().copied().unwrap_or(0),
        }
    }

    /// The index of the chunk with byte `at`, which must be less than [`Self::nbytes`].
    pub fn chunk_of(&self, at: u64) -> usize {
        match self {
            Self::Equal { chunksize, .. } => (at / chunksize) as usize,
            // Chunks without data have the same start as the next one. The last chunk with this
            // start has the byte.
            Self::Starts(starts) => starts.partition_point(|start| *start <= at) - 1,
        }
    }

    /// Start and end of chunk `nchunk` in the data.
    pub fn span(&self, nchunk: usize) -> (u64, u64) {
        match self {
            Self::Equal { chunksize, nbytes } => {
                let start = (nchunk as u64).saturating_mul(*chunksize);
                (
                    start.min(*nbytes),
                    start.saturating_add(*chunksize).min(*nbytes),
                )
            }
            Self::Starts(starts) => (starts[nchunk], starts[nchunk + 1]),
        }
    }

    /// The parts of chunks that are the bytes from `start` to `stop`. None of them is empty.
    ///
    /// # Errors
    /// [`Error::FAILURE`] if `stop` is behind the data.
    pub fn parts(&self, start: u64, stop: u64) -> Result<ChunkParts<'_>> {
        if stop > self.nbytes() {
            return Err(Error::FAILURE);
        }
        Ok(ChunkParts {
            sizes: self,
            at: start,
            stop,
        })
    }
}

/// See [`ChunkSizes::parts`].
pub struct ChunkParts<'a> {
    sizes: &'a ChunkSizes,
    at: u64,
    stop: u64,
}

impl Iterator for ChunkParts<'_> {
    type Item = ChunkPart;

    fn next(&mut self) -> Option<ChunkPart> {
        if self.at >= self.stop {
            return None;
        }
        let nchunk = self.sizes.chunk_of(self.at);
        let (start, end) = self.sizes.span(nchunk);
        let part = ChunkPart {
            nchunk,
            from: (self.at - start) as usize,
            to: (self.stop.min(end) - start) as usize,
            nbytes: (end - start) as usize,
        };
        self.at = end;
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_range() {
        let sizes: [&[u64]; 3] = [&[10, 10, 10, 3], &[5, 0, 0, 7, 1, 0, 20], &[4]];
        for lens in sizes {
            let mut starts = vec![0];
            for len in lens {
                starts.push(starts[starts.len() - 1] + len);
            }
            let nbytes = starts[lens.len()];
            let table = ChunkSizes::Starts(Shared::new(starts.clone().into()).unwrap());
            let equal = ChunkSizes::Equal {
                chunksize: lens[0],
                nbytes,
            };
            for start in 0..=nbytes {
                for stop in start..=nbytes {
                    let parts: Vec<ChunkPart> = table.parts(start, stop).unwrap().collect();
                    let bytes: Vec<u64> = parts
                        .iter()
                        .flat_map(|part| {
                            (part.from..part.to).map(|at| starts[part.nchunk] + at as u64)
                        })
                        .collect();
                    assert_eq!(bytes, (start..stop).collect::<Vec<_>>());
                    assert!(parts.iter().all(|part| !part.is_empty()));
                    if lens[0] == 10 || lens.len() == 1 {
                        assert_eq!(equal.parts(start, stop).unwrap().collect::<Vec<_>>(), parts);
                    }
                }
            }
            assert!(table.parts(0, nbytes + 1).is_err());
        }
    }
}
