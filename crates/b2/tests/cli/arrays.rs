//! Arrays: `.npy` files in and out, and other shapes of chunks and blocks.

use crate::support::{Folder, b2, npy, piped, read, series};

#[test]
fn arrays_come_back() {
    let folder = Folder::new("arrays");
    let data = series(60 * 50 * 7);
    let files = [
        ("c.npy", npy("<i4", false, "(60, 50, 7)", &data)),
        ("line.npy", npy("<f8", false, "(10500,)", &data)),
        ("scalar.npy", npy("<i4", false, "()", &data[..4])),
        ("empty.npy", npy("<i4", false, "(0, 5)", &[])),
        (
            "record.npy",
            npy("[('a', '<i4'), ('b', '<f8')]", false, "(1750, 4)", &data),
        ),
        ("text.npy", npy("<U5", false, "(3, 7)", &data[..420])),
    ];
    let ways: [&[&str]; 3] = [&[], &["--sparse", "--codec", "lz4"], &["--level", "0"]];
    for (name, bytes) in files {
        let file = folder.write(name, &bytes);
        let (frame, back) = (folder.path("array.b2nd"), folder.path("back.npy"));
        for way in ways {
            b2(&[&["compress", &file, "-o", &frame, "--force"], way].concat()).ended(0);
            b2(&["verify", &frame]).ended(0);
            b2(&["decompress", &frame, "-o", &back, "--force"]).ended(0);
            assert!(read(&back) == bytes, "{name} {way:?}");
        }
    }
}

#[test]
fn shapes_of_chunks_and_blocks_may_be_chosen() {
    let folder = Folder::new("shapes");
    let bytes = npy("<i4", false, "(60, 50, 7)", &series(60 * 50 * 7));
    let file = folder.write("a.npy", &bytes);
    b2(&[
        "compress", &file, "--chunks", "16,17,7", "--blocks", "5,17,3",
    ])
    .ended(0);
    let array = folder.path("a.b2nd");
    let text = b2(&["info", &array]).ended(0).text();
    assert!(
        text.contains("shape (60, 50, 7), chunks (16, 17, 7), blocks (5, 17, 3), dtype <i4"),
        "{text}"
    );
    let new = folder.path("new.b2nd");
    let ways: [&[&str]; 4] = [
        &["--chunks", "60,10,2", "--blocks", "7,7,2"],
        &["--blocks", "2,2,2", "--sparse"],
        &["--codec", "zlib", "--filters", "bitshuffle"],
        &[],
    ];
    for way in ways {
        b2(&[&["convert", &array, &new, "--force"], way].concat()).ended(0);
        b2(&["verify", &new]).ended(0);
        let back = b2(&["decompress", &new, "-o", "-"]).ended(0).out;
        assert!(back == bytes, "{way:?}");
    }
    let run = b2(&[
        "compress",
        &file,
        "-o",
        &folder.path("x"),
        "--chunks",
        "16,17",
    ])
    .failed();
    assert!(run.err.contains("3 lengths"), "{}", run.err);
}

#[test]
fn fortran_order_becomes_c_order() {
    let items: Vec<u8> = (0..24u8).collect();
    // Shape (2, 3, 4), item [i, j, k] is at i + 2 j + 6 k.
    let turned: Vec<u8> = (0..2u8)
        .flat_map(|i| (0..3u8).flat_map(move |j| (0..4u8).map(move |k| i + 2 * j + 6 * k)))
        .collect();
    let file = npy("|u1", true, "(2, 3, 4)", &items);
    let array = piped(&["compress", "-"], Some(&file)).ended(0).out;
    let raw = piped(&["decompress", "--raw", "-"], Some(&array))
        .ended(0)
        .out;
    assert_eq!(raw, turned);
    let back = piped(&["decompress", "-"], Some(&array)).ended(0).out;
    assert!(back == npy("|u1", false, "(2, 3, 4)", &turned));
}

/// An `.npy` file with one field, whose header is of this version and has the field's name in these
/// bytes, as NumPy's `format.py` says: Latin-1 in versions 1 and 2, UTF-8 in version 3.
fn named(version: u8, name: &[u8], items: &[u8]) -> Vec<u8> {
    let mut text = b"{'descr': [('".to_vec();
    text.extend(name);
    text.extend(b"', '<i4')], 'fortran_order': False, 'shape': (5,), }");
    let prefix = if version == 1 { 10 } else { 12 };
    while !(prefix + text.len() + 1).is_multiple_of(64) {
        text.push(b' ');
    }
    text.push(b'\n');
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([version, 0]);
    file.extend(&(text.len() as u32).to_le_bytes()[..prefix - 8]);
    file.extend(text);
    file.extend(items);
    file
}

/// Names of every length in UTF-8, in every version of the header: as NumPy would read them, and as
/// it would write them again.
#[test]
fn names_come_back_in_every_version_of_the_header() {
    let folder = Folder::new("names");
    let items = series(5);
    let latin1 =
        |name: &str| -> Option<Vec<u8>> { name.chars().map(|c| u8::try_from(c).ok()).collect() };
    let every_letter_of_latin1: String = ('\u{a1}'..='\u{ff}').collect();
    for name in [
        "plain",
        "gr\u{f6}\u{df}e",
        &every_letter_of_latin1,
        "\u{142}",
        "\u{540d}\u{524d}",
        "\u{1f388}",
        "a, b) [c]",
    ] {
        let mut files = vec![named(3, name.as_bytes(), &items)];
        // NumPy writes the lowest version that can hold the name.
        let mut expected = files[0].clone();
        if let Some(bytes) = latin1(name) {
            files.extend([1, 2].map(|version| named(version, &bytes, &items)));
            expected = named(1, &bytes, &items);
        }
        for (nth, bytes) in files.iter().enumerate() {
            let file = folder.write("named.npy", bytes);
            let (frame, back) = (folder.path("named.b2nd"), folder.path("back.npy"));
            b2(&["compress", &file, "-o", &frame, "-f"]).ended(0);
            let reported = b2(&["info", &frame]).ended(0).text();
            assert!(reported.contains(name), "{reported}");
            b2(&["decompress", &frame, "-o", &back, "-f"]).ended(0);
            assert!(read(&back) == expected, "{name}, file {nth}");
        }
    }
    // Bytes that are no UTF-8 are a name in versions 1 and 2 only.
    let file = folder.write("wrong.npy", &named(3, b"gr\xf6\xdfe", &items));
    b2(&["compress", &file]).failed();
}

#[test]
fn files_that_only_look_like_arrays() {
    let folder = Folder::new("npy");
    let good = npy("<i4", false, "(10, 10)", &series(100));
    let wrong = [
        good[..good.len() - 1].to_vec(),
        good[..20].to_vec(),
        npy("|O", false, "(10,)", &series(20)),
        npy("<i4", false, "(-1,)", &series(1)),
        npy("<i4", false, "(9999999999, 9999999999)", &[]),
        npy(
            "<i4",
            false,
            "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)",
            &series(1),
        ),
        b"\x93NUMPY\x09\0\x10\0................".to_vec(),
    ];
    for (nth, bytes) in wrong.iter().enumerate() {
        let file = folder.write("a.npy", bytes);
        let run = b2(&["compress", &file]).failed();
        assert!(!run.err.contains("panicked"), "{nth}: {}", run.err);
        // They can be compressed as plain bytes.
        b2(&[
            "compress",
            "--raw",
            &file,
            "-o",
            &folder.path("raw"),
            "--force",
        ])
        .ended(0);
    }
    for cut in 0..130 {
        let file = folder.write("a.npy", &good[..cut]);
        let code = b2(&["compress", &file, "-o", &folder.path("x"), "-f"]).code;
        assert!(matches!(code, Some(0 | 2)), "{cut}: {code:?}");
    }
}
