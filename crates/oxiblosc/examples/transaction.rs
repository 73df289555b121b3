//! Several changes of a file, of which all are made or none.

use oxiblosc::{Place, Protection, StorageParams, SuperChunk};

fn main() -> Result<(), oxiblosc::Error> {
    let path = std::env::temp_dir().join(format!("transaction-{}.b2frame", std::process::id()));
    let open = || SuperChunk::open(&path, 0, 1, Protection::default());
    let schunk = SuperChunk::create(StorageParams {
        place: Place::File(&path),
        ..StorageParams::default()
    })?;
    schunk.append_data(&[1; 40_000])?;

    // Until the commit nobody else sees the changes, and a program that dies has made none.
    let transaction = schunk.transaction()?;
    schunk.append_data(&[2; 40_000])?;
    schunk.set_vlmetalayer(b"last", b"2")?;
    assert_eq!(open()?.nchunks()?, 1);
    transaction.commit()?;
    assert_eq!(open()?.nchunks()?, 2);

    // A transaction that is dropped, at an error for one, is forgotten.
    let transaction = schunk.transaction()?;
    schunk.delete_chunk(0)?;
    drop(transaction);
    assert_eq!(schunk.nchunks()?, 2);
    println!("{} chunks", schunk.nchunks()?);
    drop(schunk);
    let _ = std::fs::remove_file(path);
    Ok(())
}
