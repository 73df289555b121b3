//! The program in Rust of the README.

use oxiblosc::{Array, CParams, Layout, StorageParams};

#[rustfmt::skip]
fn main() -> Result<(), oxiblosc::Error> {
    let layout = Layout { shape: &[1000, 2000], chunks: &[250, 500], blocks: &[50, 100], ..Layout::default() };
    let cparams = CParams { typesize: 4, ..CParams::default() };
    let array = Array::zeros(&layout, StorageParams { cparams, ..StorageParams::default() })?;
    array.write(&[248, 498], &[252, 502], &[1; 64])?; // 4 x 4 items of four bytes
    let mut row = [0; 32];
    array.read(&[250, 496], &[251, 504], &mut row)?;
    assert_eq!(row[8..24], [1; 16]);
    Ok(())
}
