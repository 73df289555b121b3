//! The codec Snappy, which Blosc 2 does not have.

use oxiblosc_base::memory::object_pool::ObjectPool;
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::hooks::{Hooks, RegisteredFunctions};
use oxiblosc_codecs::snappy::Compressor;
use snap::raw::Decoder;

static COMPRESSORS: ObjectPool<Compressor, 32> = ObjectPool::empty();

/// Frees the memory that is kept for the next call.
pub fn release() {
    COMPRESSORS.release();
}

/// The codec as a callback of the chunk crate, which does not know it.
pub struct Snappy;

impl Hooks for Snappy {
    fn registered(&self) -> &dyn RegisteredFunctions {
        self
    }
}

impl RegisteredFunctions for Snappy {
    fn encode(&self, _compcode: u8, _meta: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        COMPRESSORS.borrow(Compressor::default)?.compress(src, dst)
    }

    fn decode(&self, _compcode: u8, _meta: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        Decoder::new().decompress(src, dst).map_err(|_| Error::DATA)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter::repeat_n;

    /// Data of many kinds and sizes: noise, numbers, repeats of all lengths from near and from far,
    /// over the ends of 64 KiB too.
    fn all_data() -> Vec<Vec<u8>> {
        let mut state = 1u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005) + 1;
            (state >> 33) as usize % n
        };
        let mut all = vec![
            (0..40_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect(),
            vec![7; 300_000],
            (0..200_000).map(|_| below(256) as u8).collect(),
        ];
        for len in (0..40).chain([
            59, 60, 61, 62, 255, 256, 257, 65_535, 65_536, 65_537, 500_000,
        ]) {
            let mut data = Vec::new();
            while data.len() < len {
                data.extend((0..below([3, 9, 100][len % 3])).map(|i| (i * 37) as u8));
                data.extend(repeat_n(below(256) as u8, below(70)));
                let farthest = [10, 3000, 65_536, 90_000][below(4)];
                let distance = 1 + below(farthest);
                let longest = [12, 80, 300][below(3)];
                for _ in 0..below(longest) {
                    data.push(
                        data.len()
                            .checked_sub(distance)
                            .map_or(0, |from| data[from]),
                    );
                }
            }
            data.truncate(len);
            all.push(data);
        }
        all
    }

    #[test]
    fn streams_come_back_and_are_never_longer_than_their_room() {
        for data in all_data() {
            let mut packed = vec![0; snap::raw::max_compress_len(data.len())];
            let size = Snappy.encode(3, 0, &data, &mut packed).unwrap();
            assert!(size > 0);
            let mut back = vec![0; data.len()];
            assert_eq!(
                Snappy.decode(3, 0, &packed[..size], &mut back),
                Ok(back.len())
            );
            assert!(back == data);
            if let Some((_, short)) = back.split_first_mut() {
                let refused = Snappy.decode(3, 0, &packed[..size], short);
                assert_eq!(refused, Err(Error::DATA));
            }
            let mut exact = vec![0; size];
            assert_eq!(Snappy.encode(3, 0, &data, &mut exact), Ok(size));
            assert!(exact == packed[..size], "{} bytes", data.len());
            for capacity in [0, size / 2, size - 1] {
                assert_eq!(Snappy.encode(3, 0, &data, &mut exact[..capacity]), Ok(0));
            }
        }
        release();
    }
}
