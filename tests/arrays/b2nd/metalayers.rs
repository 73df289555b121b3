//! The metalayers of arrays, and the fixtures.

use super::*;

/// Dimensions; the shapes of the array, its chunks and its blocks.
type Shapes = (i8, Vec<i64>, Vec<i32>, Vec<i32>);

/// What a library reads out of a metalayer.
#[derive(Debug, PartialEq)]
struct Parsed {
    rc: i32,
    shapes: Option<Shapes>,
    dtype: Option<(i8, Vec<u8>)>,
}

fn parse(lib: &B2ndLib, smeta: &[u8]) -> Parsed {
    let (mut ndim, mut format, mut dtype) = (0, 0, null_mut());
    let (mut shape, mut chunks, mut blocks) = ([0; 16], [0; 16], [0; 16]);
    // SAFETY: shapes have room for 16 numbers; the dtype is freed once.
    unsafe {
        let rc = (lib.f.b2nd_deserialize_meta)(
            smeta.as_ptr(),
            smeta.len() as i32,
            &raw mut ndim,
            shape.as_mut_ptr(),
            chunks.as_mut_ptr(),
            blocks.as_mut_ptr(),
            &raw mut dtype,
            &raw mut format,
        );
        let text = (!dtype.is_null()).then(|| CStr::from_ptr(dtype).to_bytes().to_vec());
        libc::free(dtype.cast());
        let n = usize::try_from(ndim).unwrap_or(0).min(16);
        Parsed {
            rc,
            shapes: (rc >= 0).then(|| {
                let shapes = (
                    shape[..n].to_vec(),
                    chunks[..n].to_vec(),
                    blocks[..n].to_vec(),
                );
                (ndim, shapes.0, shapes.1, shapes.2)
            }),
            dtype: text.filter(|_| rc >= 0).map(|text| (format, text)),
        }
    }
}

fn serialize(lib: &B2ndLib, ndim: i8, shape: &[i64], cuts: &[i32], format: i8) -> (i32, Vec<u8>) {
    let mut smeta = null_mut();
    // SAFETY: as many numbers as dimensions; the result is freed once.
    unsafe {
        let rc = (lib.f.b2nd_serialize_meta)(
            ndim,
            shape.as_ptr(),
            cuts.as_ptr(),
            cuts.as_ptr(),
            c"<f8".as_ptr(),
            format,
            &raw mut smeta,
        );
        let len = usize::try_from(rc).unwrap_or(0);
        let bytes = match smeta.is_null() {
            true => Vec::new(),
            false => std::slice::from_raw_parts(smeta, len).to_vec(),
        };
        libc::free(smeta.cast());
        (rc, bytes)
    }
}

#[test]
fn metalayers_are_written_and_read_as_by_the_reference() {
    let ours = our_arrays();
    let Some(reference) = reference_arrays() else {
        return;
    };
    let mut rng = Rng(3);
    for case in 0..20_000 {
        let ndim = rng.below(17);
        let shape: Vec<i64> = (0..16)
            .map(|_| rng.next() as i64 >> rng.below(63))
            .collect();
        let cuts: Vec<i32> = (0..16)
            .map(|_| rng.next() as i32 >> rng.below(31))
            .collect();
        let format = rng.pick(&[0, 0, 1, 127, -1]);
        let written = serialize(ours, ndim as i8, &shape, &cuts, format);
        let expected = serialize(reference, ndim as i8, &shape, &cuts, format);
        assert_eq!(written.0, expected.0, "{case}");
        let mut smeta = expected.1;
        if expected.0 < 0 {
            continue;
        }
        assert_eq!(written.1, smeta, "{case}");
        match rng.below(3) {
            0 => smeta.truncate(rng.below(smeta.len() + 1)),
            1 => {
                for _ in 0..=rng.below(3) {
                    let at = rng.below(smeta.len());
                    smeta[at] = rng.next() as u8;
                }
            }
            _ => {}
        }
        assert_eq!(
            parse(ours, &smeta),
            parse(reference, &smeta),
            "{case}: {smeta:?}"
        );
    }
}

#[test]
fn the_fixtures_are_read_as_by_the_reference() {
    let (Some(folder), Some(reference)) = (fixtures(), reference_arrays()) else {
        return;
    };
    let names = ["example_day_month_temp.b2nd", "example_item_prices.b2nd"];
    let shapes: [&[i64]; 2] = [&[400, 3], &[12, 25, 250]];
    for (name, shape) in names.iter().zip(shapes) {
        let path = folder.join("b2nd").join(name);
        let ours = our_arrays().open_path(&path).expect(name);
        let theirs = reference.open_path(&path).expect(name);
        assert_eq!(ours.shape(), shape, "{name}");
        assert_eq!(ours.to_buffer(), theirs.to_buffer(), "{name}");
        let frame = std::fs::read(&path).expect(name);
        for copy in [false, true] {
            let again = our_arrays().open_frame(frame.clone(), copy).expect(name);
            assert_eq!(again.to_buffer(), theirs.to_buffer(), "{name}");
        }
    }
}

#[test]
fn impossible_shapes_are_refused() {
    let refused = |shape: &[i64], chunks: &[i32], blocks: &[i32]| {
        our_arrays()
            .array_of(&spec(shape, chunks, blocks, 4), &[0; 64])
            .is_err()
    };
    assert!(refused(&[-1], &[1], &[1]));
    assert!(refused(&[5], &[0], &[0]));
    assert!(refused(&[5], &[2], &[0]));
    assert!(refused(&[i64::MAX], &[2], &[1]));
    assert!(refused(&[2, 2], &[1 << 16, 1 << 15], &[1, 1]));
    assert!(!refused(&[0], &[0], &[0]));
}
