//! Dictionaries for the codecs, made from a chunk's own data and stored in front of its blocks.

use super::encode::ChunkInput;
use super::encode_chunk::ChunkEncoder;
use super::scratch;
use oxiblosc_codecs::{Codec, Dict, MAX_DICT_SIZE, MIN_USEFUL_DICT};
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::List;

/// Writes a dictionary with its size in front. Gives the bytes used, or none if it does not fit.
pub fn write_dict(dict: &[u8], out: &mut [u8]) -> Option<usize> {
    let (size, body) = out.split_first_chunk_mut()?;
    *size = (dict.len() as i32).to_le_bytes();
    body.get_mut(..dict.len())?.copy_from_slice(dict);
    Some(size.len() + dict.len())
}

impl ChunkEncoder<'_> {
    /// Makes a dictionary from the front of the filtered data, or none where that does not pay.
    pub(super) fn build_dict(&self) -> Result<Option<(List<u8>, Dict)>> {
        let Some(codec) = Codec::from_code(self.params.compcode.into()) else {
            return Ok(None);
        };
        let nbytes = self.source.nbytes();
        let max_size = MAX_DICT_SIZE.min(nbytes / 20);
        let variable = matches!(self.source, ChunkInput::Variable(_));
        let nsamples = match (variable, self.split) {
            (true, _) => self.nblocks,
            (false, true) => (self.nblocks * self.params.typesize).max(8),
            (false, false) => self.nblocks.max(8),
        };
        let sample = nbytes / nsamples / 16;
        if max_size < MIN_USEFUL_DICT || nsamples < 8 || sample == 0 {
            return Ok(None);
        }
        // Regular chunks are sampled from their first sixteenth, variable-length ones block by block.
        let wanted = if variable { nbytes } else { nsamples * sample };
        let mut samples = List::new();
        samples.reserve_exact(wanted)?;
        let mut sizes = List::new();
        let mut scratch = scratch::borrow()?;
        let encoder = self.encoder(None);
        for nblock in 0..self.nblocks {
            if samples.len() >= wanted {
                break;
            }
            let (pos, block) = self.block(nblock, 0);
            let data = encoder.filtered(pos, block, &mut scratch.bufs, None)?;
            samples.extend_from_slice(&data[..data.len().min(wanted - samples.len())])?;
            sizes.push(data.len())?;
        }
        if !variable {
            sizes = List::filled(sample, nsamples)?;
        }
        let Some(raw) = Dict::train(codec, &samples, &sizes, max_size)? else {
            return Ok(None);
        };
        // Zstd may not take what it made of odd samples itself: then there is none, for writers and for readers.
        let usable = Dict::for_decompression(codec, &raw)
            .and_then(|_| Dict::for_compression(codec, self.params.clevel, &raw));
        match usable {
            Ok(dict) => Ok(Some((raw, dict))),
            Err(Error::CodecDict) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
