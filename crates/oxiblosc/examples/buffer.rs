//! A buffer is compressed into a chunk, and the chunk back into a buffer.

use oxiblosc::{CParams, Compressor, DParams, Decompressor, codec};

fn main() -> Result<(), oxiblosc::Error> {
    let numbers: Vec<u8> = (0..1_000_000)
        .flat_map(|i| (f64::from(i) * 0.25).to_le_bytes())
        .collect();
    let compressor = Compressor::new(CParams {
        typesize: 8, // so that the shuffle can put equal bytes side by side
        codec: codec::ZSTD,
        nthreads: 2,
        ..CParams::default()
    });
    let chunk = compressor.compress(&numbers)?;

    let decompressor = Decompressor::new(DParams::default());
    let mut back = vec![0; numbers.len()];
    assert_eq!(decompressor.decompress(&chunk, &mut back)?, numbers.len());
    assert_eq!(back, numbers);

    // A few items can be had without the others.
    let mut three = [0; 24];
    decompressor.decompress_items(&chunk, 500_000, 3, &mut three)?;
    assert_eq!(three, numbers[4_000_000..4_000_024]);
    println!("{} bytes became {}", numbers.len(), chunk.len());
    Ok(())
}
