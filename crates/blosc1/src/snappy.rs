//! Snappy, which only Blosc 1 has.

use oxiblosc_chunk::hooks::Hooks;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::AlignedBuffer;
use oxiblosc_memory::depot::Depot;
use snap::raw::{Decoder, Encoder, max_compress_len};

/// What compressing needs.
struct State {
    encoder: Encoder,
    /// The codec wants room for the worst case, which a stream has not got in its chunk.
    room: AlignedBuffer,
}

impl State {
    fn new() -> Self {
        Self {
            encoder: Encoder::new(),
            room: AlignedBuffer::default(),
        }
    }
}

static STATES: Depot<State, 32> = Depot::empty();

/// Frees what is kept for the next call.
pub fn release() {
    STATES.release();
}

/// The codec, as the engine calls those that are none of its own.
pub struct Snappy;

impl Hooks for Snappy {
    fn encode(&self, _compcode: u8, _meta: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let mut state = STATES.borrow(State::new)?;
        let State { encoder, room } = &mut *state;
        let room = room.ensure(max_compress_len(src.len()))?;
        let size = encoder.compress(src, room).map_err(|_| Error::Failure)?;
        let Some(dst) = dst.get_mut(..size) else {
            return Ok(0);
        };
        dst.copy_from_slice(&room[..size]);
        Ok(size)
    }

    fn decode(&self, _compcode: u8, _meta: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        Decoder::new().decompress(src, dst).map_err(|_| Error::Data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_come_back_and_are_never_longer_than_their_room() {
        let numbers: Vec<u8> = (0..40_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        let mut packed = vec![0; numbers.len()];
        let size = Snappy.encode(3, 0, &numbers, &mut packed).unwrap();
        assert!(size > 0 && size < numbers.len());
        assert_eq!(
            Snappy.encode(3, 0, &numbers, &mut packed[..size - 1]),
            Ok(0)
        );
        let mut back = vec![0; numbers.len()];
        assert_eq!(
            Snappy.decode(3, 0, &packed[..size], &mut back),
            Ok(back.len())
        );
        assert!(back == numbers);
        let (_, short) = back.split_first_mut().unwrap();
        assert_eq!(
            Snappy.decode(3, 0, &packed[..size], short),
            Err(Error::Data)
        );
        release();
    }
}
