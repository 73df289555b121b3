//! Every chunk of the fixtures, written by releases 1.3.0 to 3.0.0, decodes to the bytes that it is
//! known to hold.
//!
//! The fixtures lie beside the repository (`../shared/fixtures`, or where `OXIBLOSC_FIXTURES`
//! says); without them the test is skipped, and fails in CI.

use oxiblosc_testing::fixtures::fixtures;
use oxiblosc_testing::library::ours;
use sha2::{Digest, Sha256};

/// Decodes one file as its line of `EXPECTED.tsv` says.
fn decode(how: &str, file: &[u8], nbytes: usize) -> (i32, Vec<u8>) {
    let f = &ours().f;
    let mut dest = vec![0u8; nbytes];
    let size = nbytes as i32;
    let (src, out) = (file.as_ptr().cast(), dest.as_mut_ptr().cast());
    // SAFETY: `out` has room for `nbytes`, and the files of raw filter output hold as many.
    let rc = unsafe {
        match how {
            "decompress" => (f.blosc2_decompress)(src, file.len() as i32, out, size),
            "unshuffle(4)" => (f.blosc2_unshuffle)(4, size, src, out),
            "bitunshuffle(4)" => (f.blosc2_bitunshuffle)(4, size, src, out),
            other => panic!("unknown way to read a fixture: {other}"),
        }
    };
    (rc, dest)
}

#[test]
fn every_chunk_decodes_to_its_digest() {
    let Some(folder) = fixtures() else { return };
    let expected =
        std::fs::read_to_string(folder.join("EXPECTED.tsv")).expect("the table of digests");
    let mut seen = 0;
    for line in expected.lines().filter(|line| line.starts_with("chunks/")) {
        let [name, how, nbytes, digest] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not four columns: {line}");
        };
        let file = std::fs::read(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let nbytes: usize = nbytes.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(
            how == "decompress" || file.len() >= nbytes,
            "{name}: too short"
        );
        let (rc, bytes) = decode(how, &file, nbytes);
        assert_eq!(rc, nbytes as i32, "{name}: return code");
        let found: String = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(found, digest, "{name}");
        seen += 1;
    }
    assert_eq!(seen, 29, "chunks in the table");
}

#[test]
fn the_headers_of_the_fixtures_agree_with_their_content() {
    let Some(folder) = fixtures() else { return };
    let mut seen = 0;
    for entry in std::fs::read_dir(folder.join("chunks")).expect("the folder of chunks") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if !name.starts_with("blosc-") {
            continue;
        }
        let file = std::fs::read(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
        let (rc, [nbytes, cbytes, blocksize]) = ours().sizes(&file);
        assert_eq!((rc, cbytes as usize), (0, file.len()), "{name}");
        assert!(
            nbytes > 0 && blocksize > 0 && blocksize <= nbytes,
            "{name}: {nbytes} in blocks of {blocksize}"
        );
        let mut validated = 0usize;
        // SAFETY: the pointer is good for the length that goes with it.
        let rc = unsafe {
            (ours().f.blosc1_cbuffer_validate)(file.as_ptr().cast(), file.len(), &mut validated)
        };
        assert_eq!((rc, validated), (0, nbytes as usize), "{name}: validate");
        // Some items from the middle are those of the whole.
        let (_, whole) = decode("decompress", &file, nbytes as usize);
        let size = file[3] as usize;
        let start = nbytes as usize / size / 2;
        let mut items = vec![0u8; 100 * size];
        let rc = ours()
            .dctx_threads(1)
            .getitem(&file, start as i32, 100, &mut items);
        assert_eq!(rc as usize, items.len(), "{name}: getitem");
        assert_eq!(
            items,
            whole[start * size..][..items.len()],
            "{name}: getitem"
        );
        seen += 1;
    }
    assert_eq!(seen, 27, "chunks in the folder");
}
