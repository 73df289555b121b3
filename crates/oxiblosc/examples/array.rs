//! An array of two dimensions in memory: a part is written, another is read, and a row is appended.

use oxiblosc::{Array, CParams, Layout, StorageParams};

fn bytes(items: impl IntoIterator<Item = f32>) -> Vec<u8> {
    items.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn main() -> Result<(), oxiblosc::Error> {
    // 1,000 x 2,000 floats. What is read together should be in one chunk, and what is small in one
    // block.
    let layout = Layout {
        shape: &[1000, 2000],
        chunks: &[250, 500],
        blocks: &[50, 100],
        dtype: Some(b"<f4"),
        ..Layout::default()
    };
    let cparams = CParams {
        typesize: 4,
        ..CParams::default()
    };
    let array = Array::zeros(
        &layout,
        StorageParams {
            cparams,
            ..StorageParams::default()
        },
    )?;

    // A square of 4 x 4 at row 248, column 498: it lies in four chunks.
    array.write(&[248, 498], &[252, 502], &bytes((1..=16).map(|i| i as f32)))?;

    // Row 250 of it, with two columns more on each side.
    let mut row = [0; 32];
    array.read(&[250, 496], &[251, 504], &mut row)?;
    assert_eq!(row[..], bytes([0.0, 0.0, 9.0, 10.0, 11.0, 12.0, 0.0, 0.0]));

    array.append(&bytes([7.0; 2000]), 0)?;
    assert_eq!(*array.shape()?, [1001, 2000]);
    let mut last = [0; 4];
    array.read(&[1000, 1999], &[1001, 2000], &mut last)?;
    assert_eq!(f32::from_le_bytes(last), 7.0);
    println!("{:?} items", array.shape()?);
    Ok(())
}
