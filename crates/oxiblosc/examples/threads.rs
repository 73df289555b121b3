//! Threads share one super-chunk: some read it while another appends.

use oxiblosc::{Error, StorageParams, SuperChunk};
use std::thread;

const CHUNKS: usize = 200;
const LEN: usize = 40_000;

/// Reads the newest chunk until the last is there.
fn follow(schunk: &SuperChunk) -> Result<(), Error> {
    let mut chunk = [0; LEN];
    loop {
        let n = schunk.nchunks()?;
        if n > 0 {
            schunk.decompress_chunk(n - 1, &mut chunk)?;
            assert_eq!(chunk, [n as u8 - 1; LEN]);
        }
        if n == CHUNKS {
            return Ok(());
        }
    }
}

fn main() -> Result<(), Error> {
    let schunk = SuperChunk::create(StorageParams::default())?;
    thread::scope(|scope| {
        let readers: [_; 3] = std::array::from_fn(|_| scope.spawn(|| follow(&schunk)));
        for n in 0..CHUNKS {
            schunk.append_data(&[n as u8; LEN])?;
        }
        readers
            .into_iter()
            .try_for_each(|reader| reader.join().expect("no panic"))
    })?;
    println!("{} chunks", schunk.nchunks()?);
    Ok(())
}
