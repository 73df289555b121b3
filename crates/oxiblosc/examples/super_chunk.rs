//! A super-chunk: a series of any length, cut into chunks, here in a file. It grows, is read in
//! part, changed, and opened again.

use oxiblosc::{CParams, Place, Protection, StorageParams, SuperChunk};

fn bytes(items: impl Iterator<Item = i32>) -> Vec<u8> {
    items.flat_map(i32::to_le_bytes).collect()
}

fn main() -> Result<(), oxiblosc::Error> {
    let path = std::env::temp_dir().join(format!("super_chunk-{}.b2frame", std::process::id()));
    let cparams = CParams {
        typesize: 4,
        ..CParams::default()
    };
    let schunk = SuperChunk::create(StorageParams {
        place: Place::File(&path),
        cparams,
        ..StorageParams::default()
    })?;
    for n in 0..10 {
        schunk.append_data(&bytes(n * 100_000..(n + 1) * 100_000))?;
    }

    // Items 250,000 to 251,000, which are in the third chunk: only its blocks that hold them are
    // decompressed.
    let mut some = [0; 4000];
    schunk.read_bytes(1_000_000..1_004_000, &mut some)?;
    assert_eq!(some[..], bytes(250_000..251_000));
    schunk.write_bytes(1_000_000, &[0xff; 4000])?;
    assert_eq!(schunk.delete_chunk(0)?, 9);
    println!("{} bytes in {} chunks", schunk.nbytes()?, schunk.nchunks()?);
    drop(schunk);

    let schunk = SuperChunk::open(&path, 0, 1, Protection::default())?;
    let mut chunk = vec![0; 400_000];
    schunk.decompress_chunk(1, &mut chunk)?;
    assert_eq!(chunk[199_996..200_000], 249_999i32.to_le_bytes());
    assert_eq!(chunk[200_000..204_000], [0xff; 4000]);
    drop(schunk);
    let _ = std::fs::remove_file(path);
    Ok(())
}
