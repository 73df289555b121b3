//! Dictionaries for the codecs, trained on a chunk's own data and stored before its blocks.

use super::encode_chunk::ChunkEncoder;
use super::input::ChunkInput;
use super::scratch;
use oxiblosc_base::memory::TryVec;
use oxiblosc_base::{Error, Result};
use oxiblosc_codecs::{Codec, Dict, MAX_DICT_SIZE, MIN_USEFUL_DICT};

/// Writes a dictionary with its size in front. Returns the number of bytes written, or none if it
/// does not fit.
pub fn write_dict(dict: &[u8], out: &mut [u8]) -> Option<usize> {
    let (size, body) = out.split_first_chunk_mut()?;
    *size = (dict.len() as i32).to_le_bytes();
    body.get_mut(..dict.len())?.copy_from_slice(dict);
    Some(size.len() + dict.len())
}

impl ChunkEncoder<'_> {
    /// Trains a dictionary on filtered data. None if the data are too short for one.
    pub(super) fn build_dict(&self) -> Result<Option<(TryVec<u8>, Dict)>> {
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
        // The samples are the first sixteenth of a regular chunk, and all blocks of a
        // variable-length one.
        let wanted = if variable { nbytes } else { nsamples * sample };
        let mut samples = TryVec::new();
        samples.reserve_exact(wanted)?;
        let mut sizes = TryVec::new();
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
            sizes = TryVec::filled(sample, nsamples)?;
        }
        let Some(raw) = Dict::train(codec, &samples, &sizes, max_size)? else {
            return Ok(None);
        };
        // Zstd may refuse a dictionary that it trained itself on unusual samples. Then the chunk
        // gets none, as readers would refuse it, too.
        let usable = Dict::for_decompression(codec, &raw)
            .and_then(|_| Dict::for_compression(codec, self.params.clevel, &raw));
        match usable {
            Ok(dict) => Ok(Some((raw, dict))),
            Err(error) if error == Error::CODEC_DICT => Ok(None),
            Err(error) => Err(error),
        }
    }
}
