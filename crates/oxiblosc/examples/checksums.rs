//! A frame with checksums: a bit that flips on the disk is an error, and no wrong number.

use oxiblosc::{Error, Place, Protection, StorageParams, SuperChunk};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("checksums-{}.b2frame", std::process::id()));
    let schunk = SuperChunk::create(StorageParams {
        place: Place::File(&path),
        protection: Protection {
            checksums: true,
            ..Protection::default()
        },
        ..StorageParams::default()
    })?;
    let data: Vec<u8> = (0..10_000u32).flat_map(|i| (i * i).to_le_bytes()).collect();
    schunk.append_data(&data)?;
    assert!(schunk.check_chunk(0)?);
    drop(schunk);

    // One bit in the middle of the file.
    let mut file = std::fs::read(&path)?;
    let middle = file.len() / 2;
    file[middle] ^= 1;
    std::fs::write(&path, file)?;

    let schunk = SuperChunk::open(&path, 0, 1, Protection::default())?;
    let mut back = vec![0; data.len()];
    let error = schunk.decompress_chunk(0, &mut back).unwrap_err();
    assert_eq!(error.code(), Error::DATA.code());
    println!("the damage was found: {error}");
    drop(schunk);
    let _ = std::fs::remove_file(path);
    Ok(())
}
