//! Metalayers: a program's own bytes beside the data, by name. Fixed ones stay as long as they were
//! made; variable ones come, grow and go.

use oxiblosc::{Place, StorageParams, SuperChunk};

fn main() -> Result<(), oxiblosc::Error> {
    let schunk = SuperChunk::create(StorageParams {
        place: Place::Frame,
        ..StorageParams::default()
    })?;

    // A fixed one, which has to be there before the first chunk.
    schunk.add_metalayer(b"unit", &0.5f64.to_le_bytes())?;
    schunk.append_data(&[0; 1000])?;
    schunk.update_metalayer(b"unit", &0.25f64.to_le_bytes())?;

    // A variable one. It is compressed.
    schunk.set_vlmetalayer(b"note", b"measured on a Monday")?;
    schunk.set_vlmetalayer(
        b"note",
        b"measured on a Monday, and again on the Tuesday after",
    )?;

    assert_eq!(*schunk.metalayer(b"unit")?, 0.25f64.to_le_bytes());
    let note = schunk.get_vlmetalayer(b"note")?;
    println!("{}", String::from_utf8_lossy(&note));
    assert!(note.ends_with(b"after"));

    schunk.delete_vlmetalayer(b"note")?;
    assert!(schunk.get_vlmetalayer(b"note").is_err());
    Ok(())
}
