//! Deflate: stretches of noise between data that repeat.

use super::*;

/// A sine: some stretches are noise, and others repeat what is before those.
#[test]
fn what_is_deflated_between_noise_does_not_depend_on_earlier_streams() {
    for clevel in 1..=9 {
        let mut used = Encoder::new();
        for part in 0..16 {
            let sine: Vec<u8> = (0..32_768)
                .flat_map(|i| {
                    let x = f64::from(i + 32_768 * part) * 0.0005;
                    (x.sin() * 100.0 + x).to_le_bytes()
                })
                .collect();
            let packed = [&mut Encoder::new(), &mut used].map(|encoder| {
                let mut packed = vec![0; roomy(sine.len())];
                let n = encoder
                    .compress(Codec::Zlib, clevel, None, &sine, &mut packed)
                    .unwrap();
                assert!(n > 0, "level {clevel}, part {part}");
                packed.truncate(n);
                packed
            });
            assert!(packed[0] == packed[1], "level {clevel}, part {part}");
        }
    }
}

/// Noise that is repeated after other data.
#[test]
fn what_is_deflated_later_is_known_though_what_is_between_repeats_none_of_it() {
    let mut numbers = Numbers(3);
    let noise = numbers.bytes(8192, 256);
    let between = [numbers.bytes(4096, 64), numbers.bytes(8192, 256)].concat();
    let (first, whole) = (
        [&noise[..], &between].concat(),
        [&noise[..], &between, &noise].concat(),
    );
    let mut encoder = Encoder::new();
    for clevel in 1..=9 {
        let mut packed = vec![0; roomy(whole.len())];
        let mut size = |data: &[u8]| {
            encoder
                .compress(Codec::Zlib, clevel, None, data, &mut packed)
                .unwrap()
        };
        let (first, whole) = (size(&first), size(&whole));
        assert!(
            0 < first && whole < first + 500,
            "level {clevel}: {first}, {whole}"
        );
    }
}

/// Noise between runs of one byte, as in bit planes.
#[test]
fn runs_between_noise_cost_nearly_nothing() {
    let mut numbers = Numbers(3);
    let mut data = Vec::new();
    for _ in 0..16 {
        data.extend(numbers.bytes(3500, 256));
        data.extend([0; 596]);
    }
    let mut encoder = Encoder::new();
    // Level 1 uses the fixed codes.
    for clevel in 2..=9 {
        let mut packed = vec![0; roomy(data.len())];
        let n = encoder
            .compress(Codec::Zlib, clevel, None, &data, &mut packed)
            .unwrap();
        assert!(0 < n && n < 16 * 3600, "level {clevel}: {n}");
    }
}

/// Uneven bytes of which few are repeated: numbers of four bytes, noise but for the highest, with
/// repeats between them.
#[test]
fn what_is_not_searched_for_repeats_has_next_to_none() {
    let mut numbers = Numbers(5);
    let mut encoder = Encoder::new();
    let (mut searched, mut given_up) = (0, 0);
    for len in [4096, 5000, 30_000, 131_072, 400_000] {
        for one_in in [50, 100, 200, 500, 2000, 10_000, usize::MAX] {
            for (repeat, far) in [(4, 100), (4, 60_000), (5, 2000), (8, 60_000), (40, 30_000)] {
                let mut data: Vec<u8> = Vec::new();
                while data.len() < len {
                    if data.len() > repeat && numbers.below(one_in / repeat) == 0 {
                        let back = repeat + numbers.below(far.min(data.len() - repeat));
                        data.extend_from_within(data.len() - back..data.len() - back + repeat);
                    }
                    let number = numbers.next() as u32 >> 2;
                    data.extend(((number % 3) << 30 | number).to_le_bytes());
                }
                let mut roomy = vec![0; roomy(data.len())];
                let mut size =
                    |dst: &mut [u8]| encoder.compress(Codec::Lz4hc, 5, None, &data, dst).unwrap();
                let quick = size(&mut roomy[..data.len()]);
                let whole = size(&mut roomy);
                if quick > 0 {
                    assert_eq!(quick, whole, "{len} {one_in} {repeat}");
                    searched += 1;
                } else {
                    assert!(
                        1000 * whole > 995 * data.len(),
                        "{whole} of {len}, one in {one_in}, {repeat} each"
                    );
                    given_up += 1;
                }
            }
        }
    }
    assert!(searched > 20 && given_up > 50, "{searched} and {given_up}");
}
