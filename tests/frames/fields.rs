//! What a program writes into the public fields of a super-chunk that has chunks, and then changes
//! it: no frame is lost.

use blosc2::capi::types::{blosc2_cparams, blosc2_schunk};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::schunk::our_schunks;
use oxiblosc_testing::schunk_calls::Schunk;

const NBYTES: usize = 4000;

fn data(number: u64) -> Vec<u8> {
    Kind::WalkInt32.bytes(NBYTES, number)
}

/// A field by name, and what sets it.
type Field = (&'static str, fn(&mut blosc2_schunk, i32));

/// Ways to set a field.
const FIELDS: [Field; 8] = [
    ("chunksize", |s, value| s.chunksize = value),
    ("typesize", |s, value| s.typesize = value),
    ("blocksize", |s, value| s.blocksize = value),
    ("nchunks", |s, value| s.nchunks = value.into()),
    ("nbytes", |s, value| s.nbytes = value.into()),
    ("cbytes", |s, value| s.cbytes = value.into()),
    ("nvlmetalayers", |s, value| s.nvlmetalayers = value as i16),
    ("clevel", |s, value| s.clevel = value as u8),
];

const CHANGES: [fn(&Schunk) -> i64; 5] = [
    |s| s.append_buffer(&data(9), NBYTES as i32),
    |s| s.append_buffer(&data(9)[..2000], 2000),
    |s| s.delete_chunk(1),
    |s| s.vlmeta_add(c"a", b"content"),
    |s| s.set_slice(10, 20, &[7; 40]),
];

#[test]
fn a_frame_can_be_opened_whatever_a_program_set() {
    let folder = Folder::new("fields");
    let cparams = blosc2_cparams {
        typesize: 4,
        ..blosc2_cparams::defaults()
    };
    for (name, set) in FIELDS {
        for value in [i32::MIN, -1, 0, 1, 3, 300, 2000, 8000, i32::MAX] {
            for (number, change) in CHANGES.iter().enumerate() {
                for contiguous in [true, false] {
                    let what = format!("{name} {value} {number} {contiguous}");
                    let path = folder.join(&what);
                    let created = our_schunks().create(contiguous, Some(&path), &cparams, 1, None);
                    let schunk = created.expect("a frame");
                    for number in 0..2 {
                        assert!(schunk.append_buffer(&data(number), NBYTES as i32) > 0);
                    }
                    // Zeros, of which the index alone tells.
                    assert!(schunk.append_buffer(&[0; NBYTES], NBYTES as i32) > 0);
                    // SAFETY: a super-chunk, which no other thread uses.
                    set(unsafe { &mut *schunk.raw }, value);
                    let changed = change(&schunk) >= 0;
                    drop(schunk);
                    let again = our_schunks().open_path(&path).expect(&what);
                    let (deleted, appended) = (changed && number == 2, changed && number < 2);
                    let n = 3 + i64::from(appended) - i64::from(deleted);
                    assert_eq!(again.get().nchunks, n, "{what}");
                    let mut chunk = vec![1; NBYTES];
                    let last = 2 - i64::from(deleted);
                    assert_eq!(
                        again.decompress_chunk(last, &mut chunk),
                        NBYTES as i64,
                        "{what}"
                    );
                    assert!(chunk == [0; NBYTES], "{what}");
                    if number != 4 {
                        assert_eq!(
                            again.decompress_chunk(0, &mut chunk),
                            NBYTES as i64,
                            "{what}"
                        );
                        assert!(chunk == data(0), "{what}");
                    }
                }
            }
        }
    }
}
