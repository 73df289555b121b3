//! The coding of planes against a slow model of the format.

use super::*;
use oxiblosc_testing::noise;

/// The format bit by bit, as it is specified.
fn slowly(values: &[u64], limits: PlaneLimits) -> Vec<bool> {
    let mut bits = Vec::new();
    let mut significant = 0;
    for k in (limits.last()..limits.precision).rev() {
        let bit = |i: usize| values[i] >> k & 1 == 1;
        bits.extend((0..significant).map(bit));
        while significant < values.len() {
            let any = (significant..values.len()).any(bit);
            bits.push(any);
            if !any {
                break;
            }
            while significant < values.len() - 1 {
                bits.push(bit(significant));
                if bit(significant) {
                    break;
                }
                significant += 1;
            }
            significant += 1;
        }
    }
    bits.truncate(limits.bits);
    bits
}

fn check<const N: usize, const W: usize>(values: &[u64; N], limits: PlaneLimits) {
    let expected = slowly(values, limits);
    let mut out = vec![0; N * 10 + 16];
    let mut writer = BitWriter::new(&mut out);
    assert_eq!(
        encode::<N, W>(&mut values.clone(), limits, &mut writer),
        expected.len()
    );
    writer.finish().expect("there is room");
    let bit = |i: usize| out[i / 8] >> (i % 8) & 1 == 1;
    assert!(
        expected
            .iter()
            .enumerate()
            .all(|(i, expected)| bit(i) == *expected)
    );
    let mut reader = BitReader::new(&out, 0);
    let mut decoded = [0; N];
    let len = decode::<N, W>(&mut decoded, limits, &mut reader);
    assert_eq!(len, expected.len());
    if limits.bits == usize::MAX {
        let last = limits.last();
        let kept = values.map(|value| value.checked_shr(last).map_or(0, |v| v << last));
        assert_eq!(decoded, kept);
    }
}

fn check_sizes<const N: usize, const W: usize>() {
    let data = noise(8 * N);
    for precision in [32, 64] {
        for scale in [0, 3, 20, 31, 40, 63] {
            let mut values = [0; N];
            for (i, value) in values.iter_mut().enumerate() {
                let bytes = data[8 * i..8 * i + 8].try_into().expect("eight");
                // Later ones are smaller, as in cells, and a few are large again.
                let small = scale + if i % 29 == 28 { 0 } else { i as u32 % 64 / 8 };
                *value = u64::from_le_bytes(bytes) >> (64 - precision) >> small.min(63);
            }
            for planes in [0, 1, 7, 32, 64] {
                for bits in [0, 1, 2, 3, 50, 63, 64, 65, 100, 257, 1000, usize::MAX] {
                    let limits = PlaneLimits {
                        precision,
                        planes,
                        bits,
                    };
                    check::<N, W>(&values, limits);
                }
            }
        }
    }
}

#[test]
fn planes_are_coded_as_specified() {
    check_sizes::<4, 1>();
    check_sizes::<16, 1>();
    check_sizes::<64, 1>();
    check_sizes::<256, 4>();
}

#[test]
fn noise_is_decoded_to_something() {
    let data = noise(4000);
    for at in 0..200 {
        let limits = PlaneLimits {
            precision: 64,
            planes: 64,
            bits: 5000,
        };
        let mut reader = BitReader::new(&data[..at * 20], at);
        assert!(decode::<256, 4>(&mut [0; 256], limits, &mut reader) <= 5000);
        let mut reader = BitReader::new(&data[..at * 20], at);
        assert!(decode::<64, 1>(&mut [0; 64], limits, &mut reader) <= 5000);
        let limits = PlaneLimits { bits: at, ..limits };
        let mut reader = BitReader::new(&data[at..at + 20], at);
        assert!(decode::<4, 1>(&mut [0; 4], limits, &mut reader) <= at);
    }
}
