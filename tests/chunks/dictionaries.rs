//! Dictionaries are a help where they can be trained, and never a reason to fail: small and odd
//! data, with every codec that takes a dictionary, as chunks and as slices that are written into
//! super-chunks, beside the reference.
//!
//! `OXIBLOSC_DICTIONARIES` is the number of chunks (600 by default; a tenth as many super-chunks).

use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::abi::{BITSHUFFLE, CParams, DELTA, LZ4, LZ4HC, SHUFFLE, ZSTD};
use oxiblosc_testing::data::{Kind, Rng, mix};
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::library::both;
use oxiblosc_testing::report::Report;
use oxiblosc_testing::schunk::{our_schunks, reference_schunks};

fn count() -> u64 {
    match std::env::var("OXIBLOSC_DICTIONARIES") {
        Ok(value) => value.replace('_', "").parse().expect("a number"),
        Err(_) => 600,
    }
}

/// Data of which a dictionary is hard to make: few values, few places that are not zero, repeated
/// pieces.
fn data(rng: &mut Rng, len: usize) -> Vec<u8> {
    let seed = rng.next();
    let mut bytes = match rng.below(6) {
        0 => vec![rng.next() as u8; len],
        1 => {
            let period = 1 + rng.below(5000);
            let piece = Kind::Random.bytes(period, seed);
            piece.iter().copied().cycle().take(len).collect()
        }
        2 => {
            let values = 1 + rng.below(4);
            (0..len).map(|_| rng.below(values) as u8).collect()
        }
        _ => rng.pick(&Kind::ALL).bytes(len, seed),
    };
    // Something else in a few places.
    for _ in 0..rng.below(4) {
        let at = rng.below(len);
        let n = rng.below((len - at).min(3000) + 1);
        let part = rng.pick(&Kind::ALL).bytes(n, seed);
        bytes[at..at + n].copy_from_slice(&part);
    }
    bytes
}

fn params(rng: &mut Rng) -> CParams {
    let typesize = rng.pick(&[1, 2, 4, 8, 3, 17]);
    let filters = rng.pick(&[
        [0; 6],
        [0, 0, 0, 0, 0, SHUFFLE],
        [0, 0, 0, 0, 0, BITSHUFFLE],
        [0, 0, 0, 0, DELTA, SHUFFLE],
    ]);
    CParams {
        compcode: rng.pick(&[LZ4, LZ4HC, ZSTD, ZSTD, ZSTD]),
        clevel: 1 + rng.below(9) as u8,
        use_dict: 1,
        typesize,
        blocksize: rng.pick(&[0, 0, 256, 512, 1000, 4096, 16_384]) / typesize * typesize,
        splitmode: 1 + rng.below(4) as i32,
        filters,
        ..CParams::default()
    }
}

/// Sizes around the least that a dictionary is made for, and larger ones.
fn length(rng: &mut Rng) -> usize {
    match rng.below(4) {
        0 => 1 + rng.below(6000),
        1 => 5000 + rng.below(2000),
        2 => rng.below(200_000) + 1,
        _ => 8 * (1 + rng.below(4000)),
    }
}

#[test]
fn chunks() {
    let Some((ours, theirs)) = both() else { return };
    let mut report = Report::default();
    for round in 0..count() {
        let mut rng = Rng(mix(round ^ 0xD1C7));
        let (params, len) = (params(&mut rng), length(&mut rng));
        let bytes = data(&mut rng, len);
        let (rc, chunk) = ours.compress(&params, &bytes);
        let (expected, other) = theirs.compress(&params, &bytes);
        report.case();
        let which = || format!("round {round}: {len} bytes, {params:?}");
        if rc <= 0 {
            let what = format!("{rc}, the reference {expected}");
            report.fail(&what, which());
            continue;
        }
        report.note(match chunk[31] & 1 {
            0 => "without a dictionary",
            _ => "with a dictionary",
        });
        for (reader, name) in [(ours, "ours"), (theirs, "the reference")] {
            let back = reader.decompress(&chunk, len, 1);
            report.check(back == (len as i32, bytes.clone()), name, which);
        }
        // Where the reference's training comes to nothing, it leaves out the bytes behind the last
        // whole item of a block, and gives back whatever its buffer has there.
        let items = len % params.typesize as usize == 0;
        if items && expected > 0 && theirs.decompress(&other, len, 1).1 == bytes {
            let back = ours.decompress(&other, len, 1);
            let same = back == (len as i32, bytes);
            report.check(same, &format!("the reference's: {}", back.0), || {
                format!("{} {:?}", which(), &other[..48])
            });
        }
    }
    report.finish("chunks with dictionaries");
}

#[test]
fn slices_of_super_chunks() {
    let ours = our_schunks();
    let Some(theirs) = reference_schunks() else {
        return;
    };
    let mut report = Report::default();
    let folder = Folder::new("dictionaries");
    for round in 0..count() / 10 {
        let mut rng = Rng(mix(round ^ 0x51CE));
        let params = params(&mut rng);
        let typesize = params.typesize as usize;
        let own = blosc2_cparams {
            compcode: params.compcode,
            clevel: params.clevel,
            use_dict: 1,
            typesize: params.typesize,
            blocksize: params.blocksize,
            splitmode: params.splitmode,
            filters: params.filters,
            ..blosc2_cparams::defaults()
        };
        let contiguous = rng.below(3) > 0;
        let on_disk = round % 2 > 0;
        let path = on_disk.then(|| folder.join(&round.to_string()));
        let s = ours
            .create(contiguous, path.as_deref(), &own, 1, None)
            .expect("a super-chunk");
        let items = 1 + rng.below(20_000);
        let mut model = Vec::new();
        let which = |what: &str| {
            format!("round {round}: {what}, {items} items, on disk {on_disk}, {params:?}")
        };
        for _ in 0..1 + rng.below(3) {
            let bytes = data(&mut rng, items * typesize);
            let rc = s.append_buffer(&bytes, bytes.len() as i32);
            report.check(rc > 0, &format!("append {rc}"), || which("append"));
            model.extend(bytes);
        }
        let all = model.len() / typesize;
        for _ in 0..8 {
            let start = rng.below(all);
            let most = rng.pick(&[1, 100, 30_000]).min(all - start);
            let n = 1 + rng.below(most);
            let bytes = data(&mut rng, n * typesize);
            let rc = s.set_slice(start as i64, (start + n) as i64, &bytes);
            report.case();
            report.check(rc >= 0, &format!("set_slice {rc}"), || which("set_slice"));
            if rc >= 0 {
                model[start * typesize..(start + n) * typesize].copy_from_slice(&bytes);
            }
        }
        let (_, frame) = s.to_buffer();
        let other = theirs.open_buffer(&frame, false);
        for s in other.iter().chain([&s]) {
            let mut back = vec![0; model.len()];
            let rc = s.get_slice(0, all as i64, &mut back);
            report.check(rc >= 0 && back == model, "other data", || {
                which("get_slice")
            });
        }
        report.check(other.is_some(), "the reference does not open it", || {
            which("open")
        });
    }
    report.finish("slices of super-chunks with dictionaries");
}
