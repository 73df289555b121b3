//! Round trips and damaged streams. `tests/plugins` compares the streams with the reference's.

use super::*;
use oxiblosc_testing::noise;

/// A block with many repeats, near and far: its rows are taken from a few patterns, with some bytes
/// changed.
fn repetitive(rows: usize, columns: usize) -> Vec<u8> {
    let random = noise(rows * columns + 1000);
    let mut data = vec![0; rows * columns];
    for (i, byte) in data.iter_mut().enumerate() {
        let (row, column) = (i / columns, i % columns);
        let pattern = random[row / 3 % 5 + 7 * (column / 8 % 4)] % 4;
        *byte = random[usize::from(pattern) * 8 + column % 8 + 31 * (row % 4)];
        if random[i] < 6 {
            *byte = random[i];
        }
    }
    data
}

fn shape(rows: usize, columns: usize) -> BlockShape {
    BlockShape::new(&[rows as i32, columns as i32]).expect("a shape")
}

#[test]
fn what_is_compressed_comes_back() {
    for (rows, columns) in [
        (4, 4),
        (8, 8),
        (64, 64),
        (37, 50),
        (3, 100),
        (100, 5),
        (300, 301),
        // Parts at distances that overflow where decoders add the size of the operands.
        (265, 600),
    ] {
        let data = repetitive(rows, columns);
        for side in [4, 8] {
            let mut packed = vec![0; data.len()];
            let len = compress(side, shape(rows, columns), &data, &mut packed).expect("a block");
            if len == 0 {
                assert!(data.len() < 400 || columns < 16, "{rows} {columns} {side}");
                continue;
            }
            let mut back = vec![0xee; data.len()];
            assert_eq!(decompress(side, &packed[..len], &mut back), Ok(data.len()));
            assert!(back == data, "{rows} {columns} {side}");
            for cut in (0..len).step_by(1 + len / 200) {
                assert!(decompress(side, &packed[..cut], &mut back).is_err());
            }
        }
    }
}

#[test]
fn what_does_not_pay_is_left() {
    let data = noise(1 << 12);
    let mut packed = vec![0; data.len()];
    for side in [4, 8] {
        assert_eq!(compress(side, shape(64, 64), &data, &mut packed), Ok(0));
        assert_eq!(
            compress(side, shape(64, 64), &data, &mut packed[..9]),
            Ok(0)
        );
        let refused = compress(side, shape(64, 64), &data, &mut packed[..8]);
        assert_eq!(refused, Err(Error::FAILURE));
        let refused = compress(side, shape(64, 63), &data, &mut packed);
        assert_eq!(refused, Err(Error::FAILURE));
        let cube = BlockShape::new(&[16, 16, 16]).expect("a shape");
        assert_eq!(
            compress(side, cube, &data, &mut packed),
            Err(Error::FAILURE)
        );
    }
    assert_eq!(
        compress(5, shape(64, 64), &data, &mut packed),
        Err(Error::FAILURE)
    );
    assert_eq!(decompress(5, &[0; 100], &mut packed), Err(Error::FAILURE));
}

#[test]
fn headers_that_lie_are_refused() {
    let mut out = vec![0; 1 << 12];
    let header = |rows: i32, columns: i32| {
        let mut stream = vec![2];
        stream.extend(rows.to_le_bytes());
        stream.extend(columns.to_le_bytes());
        stream.extend([0x40; 5000]);
        stream
    };
    for (rows, columns) in [
        (-1, -1),
        (i32::MAX, i32::MAX),
        (1 << 16, 1 << 16),
        (0, 5),
        (65, 64),
    ] {
        for side in [4, 8] {
            let refused = decompress(side, &header(rows, columns), &mut out);
            assert_eq!(refused, Err(Error::FAILURE), "{rows} {columns}");
        }
    }
    assert_eq!(decompress(4, &header(64, 64), &mut out), Ok(1 << 12));
    let mut cube = header(64, 64);
    cube[0] = 3;
    assert_eq!(decompress(4, &cube, &mut out), Err(Error::FAILURE));
}

#[test]
fn mutants_are_decoded_or_refused() {
    let (rows, columns) = (40, 43);
    let data = repetitive(rows, columns);
    let random = noise(30_000);
    for side in [4, 8] {
        let mut packed = vec![0; data.len()];
        let len = compress(side, shape(rows, columns), &data, &mut packed).expect("a block");
        assert!(len > 0);
        let mut out = vec![0; data.len()];
        let mut decoded = 0;
        for dice in random.as_chunks::<6>().0 {
            let mut mutant = packed[..len].to_vec();
            for pair in dice.as_chunks::<3>().0 {
                let at = usize::from(u16::from_le_bytes([pair[0], pair[1]])) % len;
                mutant[at] = pair[2];
            }
            decoded += usize::from(decompress(side, &mutant, &mut out).is_ok());
        }
        assert!(decoded > 0);
    }
}
