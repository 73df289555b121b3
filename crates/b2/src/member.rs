//! The frame with a key in a store, as something to read.

use crate::failure::{Failure, Result};
use crate::input::{Input, PART};
use crate::library::zeros;
use crate::store::{Extract, Store};
use oxiblosc::storage::Storage;
use oxiblosc_base::Error;
use rawzip::Crc32;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Opens the frame with a key in the store at `path`. If it has no file of its own it is copied
/// into a temporary one.
pub fn open_member(path: &Path, key: &str) -> Result<Input> {
    let whole = Input::new(path)?;
    let store = Store::open(&whole)?
        .ok_or_else(|| Failure::message(format!("{}: no store of python-blosc2", whole.name())))?;
    let name = format!("{}: {key}", whole.name());
    match store.extract(key, whole.name())? {
        Extract::Path(path) => whole.inner(&path, name),
        Extract::Bytes(file, checksum) => {
            let around = store.file_of_embedded(whole.path());
            whole.copied(around, name.clone(), |into, path, faults| {
                let failed = |error| match faults.damage(error) {
                    Ok(error) => Failure::of(&name, error),
                    Err(failure) => failure,
                };
                Ok(checksum.fits(copy(&*file, (into, path), failed)?))
            })
        }
    }
}

/// Copies all bytes into a file at a path, and returns their CRC-32, as zip archives have it.
/// `failed` is the failure if they cannot be read.
fn copy(
    from: &dyn Storage,
    (mut into, path): (&File, &Path),
    failed: impl Fn(Error) -> Failure,
) -> Result<u32> {
    let size = from.size().map_err(&failed)?;
    let mut part = zeros(PART as usize).map_err(&failed)?;
    let mut crc = Crc32::new();
    for pos in (0..size).step_by(PART as usize) {
        let part = &mut part[..PART.min(size - pos) as usize];
        from.read_at(pos, part).map_err(&failed)?;
        crc.update(part);
        into.write_all(part)
            .map_err(|error| Failure::at(path, &error))?;
    }
    Ok(crc.checksum())
}
