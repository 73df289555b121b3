//! A frame that `verify` calls fine can be opened and decompressed, whichever byte of its header is
//! changed.

use crate::damage_files::{Original, write_files};
use crate::support::{Folder, b2};
use std::path::Path;

#[test]
fn what_is_called_fine_is_decompressed() {
    let folder = Folder::new("headers");
    let path = folder.path("frame");
    for kind in [4, 6, 7, 8, 9] {
        let original = Original::new(&folder, kind, false, false);
        let len = u32::from_be_bytes(original.files[0].1[11..15].try_into().expect("four"));
        let fine = (9..len as usize).filter(|at| {
            let mut files = original.files.clone();
            // Another bit for each byte.
            files[0].1[*at] ^= 1 << (at % 8);
            write_files(Path::new(&path), &files);
            let said = b2(&["verify", &path]);
            if said.code != Some(0) {
                return false;
            }
            let (text, back) = (said.text(), b2(&["decompress", &path, "-o", "-", "--raw"]));
            assert_eq!(back.code, Some(0), "{kind}: byte {at}: {text}{}", back.err);
            true
        });
        // Some fields do not matter here, such as the codec of the next chunk, and the number of
        // threads.
        assert!(fine.count() > 5, "{kind}");
    }
}

#[test]
fn sizes_that_the_chunks_do_not_have_are_damage() {
    let folder = Folder::new("sizes");
    let path = folder.path("frame");
    // Chunks of different sizes, and arrays.
    for (kind, places) in [
        (4, vec![(33, "bytes of data"), (34, "bytes of data")]),
        (9, vec![(34, "bytes of data")]),
        (
            7,
            vec![
                (48, "another size"),
                (49, "another size"),
                (50, "another size"),
            ],
        ),
    ] {
        let original = Original::new(&folder, kind, false, false);
        write_files(Path::new(&path), &original.files);
        b2(&["verify", &path]).ended(0);
        for (at, why) in places {
            let mut files = original.files.clone();
            files[0].1[at] ^= 1;
            write_files(Path::new(&path), &files);
            let run = b2(&["verify", &path]).ended(1).text();
            assert!(run.contains(why), "{kind}: byte {at}: {run}");
        }
    }
    // Another shape of blocks with which chunks have the same size.
    let original = Original::new(&folder, 7, false, false);
    let mut files = original.files.clone();
    let blocks = [0x92, 0xd2, 0, 0, 0, 10, 0xd2, 0, 0, 0, 65];
    let bytes = &mut files[0].1;
    let at = bytes
        .windows(blocks.len())
        .position(|found| found == blocks)
        .expect("there");
    bytes[at + 5] = 25;
    write_files(Path::new(&path), &files);
    let run = b2(&["verify", &path]).ended(1).text();
    assert!(run.contains("blocks of another size"), "{run}");
}
