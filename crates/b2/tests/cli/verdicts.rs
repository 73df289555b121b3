//! The reports of `repair`, and damage of which it brings back everything.

use crate::damage_files::{Original, content, write_files};
use crate::support::{Folder, b2, is_full};
use std::path::Path;

/// Repairs a damaged frame. Returns the report as text and as JSON, and the data of the chunks in
/// the new frame.
fn repaired(folder: &Folder, files: &[(String, Vec<u8>)]) -> (String, String, Vec<Vec<u8>>) {
    let (broken, new) = (folder.path("broken"), folder.path("new"));
    write_files(Path::new(&broken), &files.to_vec());
    let text = b2(&["repair", &broken, &new, "-f"]).text();
    let json = b2(&["repair", &broken, &new, "-f", "--json"]).text();
    let chunks = content(Path::new(&new)).map_or(Vec::new(), |back| back.chunks);
    (text, json, chunks)
}

/// Checks that `verify` says that `repair` may help.
fn verified(folder: &Folder) {
    let run = b2(&["verify", &folder.path("broken")]);
    let said = run.text() + &run.err;
    assert!(said.contains("b2 repair may bring back"), "{said}");
    assert!(matches!(run.code, Some(1 | 2)), "{said}");
}

#[test]
fn each_chunk_and_block_is_right_wrong_or_unknown() {
    let folder = Folder::new("verdicts");
    for (checksums, word) in [(true, "right"), (false, "unknown")] {
        let original = Original::new(&folder, 1, false, checksums);
        let mut files = original.files.clone();
        // In the last block of the second chunk.
        let (pos, cbytes) = original.place(1);
        files[0].1[pos + cbytes - 30] ^= 0xff;
        let (text, json, _) = repaired(&folder, &files);
        let lines = [
            "9 of 9 chunks".to_string(),
            format!("{word}: chunks 0, 2-8"),
            format!("chunk 1: 1 block wrong, and lost: 5; the others {word}"),
        ];
        assert!(lines.iter().all(|line| text.contains(line)), "{text}");
        for line in [
            format!("\"{word}\": 8"),
            "\"complete\": false".into(),
            "\"wrong_blocks\": [5]".into(),
        ] {
            assert!(json.contains(&line), "{line}: {json}");
        }
    }
}

#[test]
fn without_its_header_a_frame_has_as_many_chunks_as_before() {
    let folder = Folder::new("no-header");
    for (kind, checksums) in [(0, false), (0, true), (5, false), (5, true), (6, true)] {
        let original = Original::new(&folder, kind, false, checksums);
        let chunks = &original.content.chunks;
        let mut files = original.files.clone();
        files[0].1[..97].fill(0);
        let (text, json, back) = repaired(&folder, &files);
        assert!(back == *chunks, "{kind}: {text}");
        let count = format!("\"right\": {}", if checksums { chunks.len() } else { 0 });
        assert!(json.contains(&count), "{json}");
        verified(&folder);
        // The chunks that are not lost stay where they were.
        files[0].1[..4096].fill(0);
        let (text, _, back) = repaired(&folder, &files);
        assert_eq!(back.len(), chunks.len(), "{text}");
        let lost = back.iter().zip(chunks).filter(|(now, then)| now != then);
        assert!(lost.count() <= 1 + 4096 / 400, "{kind}: {text}");
        verified(&folder);
    }
}

/// Two chunks exchanged, in a file and in a directory, and a chunk's file of an older state.
#[test]
fn chunks_that_are_right_but_elsewhere_are_found() {
    let folder = Folder::new("elsewhere");
    for (sparse, older) in [(false, false), (true, false), (true, true)] {
        // Every second chunk is noise, and as long as the others of these.
        let original = Original::new(&folder, 5, sparse, true);
        let mut files = original.files.clone();
        let (one, other) = (original.file(1), original.file(3));
        let ((pos, len), (to, same)) = (original.place(1), original.place(3));
        assert_eq!(len, same);
        let old = files[one].1[pos..pos + len].to_vec();
        if !older {
            let new = files[other].1[to..to + len].to_vec();
            files[one].1[pos..pos + len].copy_from_slice(&new);
        }
        files[other].1[to..to + len].copy_from_slice(&old);
        let (text, json, back) = repaired(&folder, &files);
        assert!(text.contains("some are older than others"), "{text}");
        assert!(json.contains("\"complete\": false"), "{json}");
        assert!(json.contains("\"right\": 0"), "{json}");
        assert_eq!(back.len(), original.content.chunks.len(), "{text}");
        let run = b2(&["verify", &folder.path("broken")]).ended(1);
        assert!(
            run.text().contains("are older than others"),
            "{}",
            run.text()
        );
        let (broken, to) = (folder.path("broken"), folder.path("to"));
        b2(&["decompress", "--raw", &broken, "-o", &to]).damaged();
        b2(&["convert", &broken, &to]).damaged();
    }
}

#[test]
fn an_array_without_its_shape_comes_back_as_its_chunks() {
    let folder = Folder::new("no-shape");
    for (kind, checksums) in [(7, false), (7, true), (8, true)] {
        let original = Original::new(&folder, kind, false, checksums);
        let mut files = original.files.clone();
        let at = files[0].1.windows(4).position(|name| name == b"b2nd");
        let content = files[0].1.windows(2).position(|two| two == [0x97, 0]);
        let (at, content) = at.zip(content).expect("a shape");
        assert!(at < content);
        // The length of its first dimension.
        files[0].1[content + 5..content + 13].copy_from_slice(&1000u64.to_be_bytes());
        let (text, json, back) = repaired(&folder, &files);
        assert!(text.contains("a frame that is no array"), "{text}");
        assert!(json.contains("\"complete\": false"), "{json}");
        assert!(back == original.content.chunks, "{text}");
    }
}

#[test]
fn a_directory_without_its_index_comes_back_from_its_chunks() {
    let folder = Folder::new("no-index");
    for (kind, checksums) in [(0, false), (3, true), (7, true)] {
        let original = Original::new(&folder, kind, true, checksums);
        let mut files = original.files.clone();
        files.retain(|(name, _)| name != "chunks.b2frame");
        let (text, json, back) = repaired(&folder, &files);
        assert!(back == original.content.chunks, "{text}");
        // Nothing tells the order.
        let why = match checksums {
            true => "unknown: all chunks (the checksums fit, but",
            false => "unknown: all chunks (no checksums)",
        };
        assert!(text.contains(why), "{text}");
        assert!(json.contains("\"right\": 0"), "{json}");
        assert!(json.contains("\"complete\": false"), "{json}");
        verified(&folder);
    }
}

/// A writer without checksums leaves an empty fingerprint, and chunks without checksums among the
/// others.
#[test]
fn what_another_writer_changed_is_not_called_damaged() {
    let folder = Folder::new("other-writer");
    let original = Original::new(&folder, 1, false, true).changed_by_another();
    let (text, json, back) = repaired(&folder, &original.files);
    assert!(back == original.content.chunks, "{text}");
    for line in [
        "\"right\": 9",
        "\"complete\": true",
        "\"index\": \"unknown\"",
    ] {
        assert!(json.contains(line), "{line}: {json}");
    }
    // With a chunk that is gone the index, which has no checksum any more, is not believed.
    let original = Original::new(&folder, 5, false, true).changed_by_another();
    let mut files = original.files.clone();
    let frame = &mut files[0].1;
    let (pos, cbytes) = original.place(7);
    frame[pos..pos + cbytes].fill(0);
    let (text, json, _) = repaired(&folder, &files);
    assert!(json.contains("\"complete\": false"), "{text}");
    assert!(json.contains("\"right\": 0"), "{json}");
}

/// One bit of a block or of a dictionary is corrected, but the block is not called right.
#[test]
fn one_bit_is_put_right() {
    let folder = Folder::new("one-bit");
    // The last is in the dictionary.
    for (kind, at) in [(0, 600), (4, 5000), (2, 200)] {
        let original = Original::new(&folder, kind, false, true);
        let mut files = original.files.clone();
        let (pos, _) = original.place(1);
        files[0].1[pos + at] ^= 4;
        let (text, json, back) = repaired(&folder, &files);
        assert!(back == original.content.chunks, "{kind}: {text}");
        assert!(json.contains("\"complete\": false"), "{kind}: {json}");
        let without = json.matches("\"one_bit_blocks\": []").count();
        let is_prefix = json.contains("\"front_one_bit\": true");
        let expected = back.len() - usize::from(kind != 2);
        assert_eq!((without, is_prefix), (expected, kind == 2), "{json}");
    }
}

#[test]
fn blocks_of_variable_length_are_kept_one_by_one() {
    let folder = Folder::new("variable");
    for checksums in [true, false] {
        let original = Original::new(&folder, 9, false, checksums);
        let mut files = original.files.clone();
        let frame = &mut files[0].1;
        let (pos, _) = original.place(3);
        let start = |nblock: usize| {
            let at = pos + 32 + 4 * nblock;
            pos + i32::from_le_bytes(frame[at..at + 4].try_into().expect("four")) as usize
        };
        // The third block's size, and some of its stream.
        let (from, to) = (start(2), start(3));
        frame[from..to.min(from + 20)].fill(0xee);
        let (text, json, back) = repaired(&folder, &files);
        assert!(json.contains("\"wrong_blocks\": [2]"), "{json}");
        let sizes = &original.content.blocks[3];
        let (before, third) = (sizes[0] + sizes[1], sizes[2]);
        let (now, then) = (&back[3], &original.content.chunks[3]);
        assert_eq!(now.len(), then.len(), "{text}");
        assert!(now[..before] == then[..before] && now[before + third..] == then[before + third..]);
        assert!(now[before..before + third].iter().all(|byte| *byte == 0));
    }
}

/// The checksum of the index proves where chunks of special values were.
#[test]
fn chunks_that_only_the_index_told_are_found() {
    let folder = Folder::new("specials");
    for sparse in [false, true] {
        let original = Original::new(&folder, 6, sparse, true);
        let (file, (from, to)) = (original.prefix(), original.tail());
        let mut files = original.files.clone();
        files[file].1[from..to].fill(0xcc);
        let (text, json, back) = repaired(&folder, &files);
        assert!(back == original.content.chunks, "{sparse}: {text}");
        assert!(json.contains("\"right\": 16"), "{sparse}: {json}");
    }
}

/// Without checksums, one damaged field of a chunk's header is put right if the frame or its other
/// chunks tell it.
#[test]
fn a_field_of_a_header_that_is_told_elsewhere_is_put_right() {
    let full = is_full("OXIBLOSC_DAMAGE");
    let mut turn = 0;
    let folder = Folder::new("field");
    for (kind, sparse) in [
        (0, false),
        (1, false),
        (3, false),
        (5, false),
        (7, false),
        (0, true),
        (1, true),
    ] {
        let original = Original::new(&folder, kind, sparse, false);
        let (prefix, (index, _)) = (original.prefix(), original.tail());
        let count = original.count();
        for nth in [0, 1, count / 2, count - 1] {
            let (file, pos) = (original.file(nth), original.place(nth).0);
            // The size of items, of data, and of the chunk; the codec.
            for (at, value) in [
                (3, 0),
                (3, 1),
                (3, 16),
                (3, 255),
                (4, 0x5a),
                (6, 0x77),
                (12, 0x5a),
                (14, 0x40),
                (2, 0),
            ] {
                // In the sample, each value in every second place: there are nine.
                turn += 1;
                if !full && turn % 2 == 0 {
                    continue;
                }
                // Another codec, and the same flags.
                let old = original.files[file].1[pos + at];
                let value = if at == 2 { old ^ 0xa0 } else { value };
                for is_index_gone in [false, true] {
                    let mut files = original.files.clone();
                    if files[file].1[pos + at] == value {
                        continue;
                    }
                    // Without an index, only a chunk between others is known to be one.
                    let is_between = !sparse && nth > 0 && nth + 1 < count;
                    if is_index_gone && (!is_between || at != 3) {
                        continue;
                    }
                    files[file].1[pos + at] = value;
                    if is_index_gone {
                        files[prefix].1[index..index + 40].fill(0xcc);
                    }
                    let about = format!("{kind} {sparse}, chunk {nth}, {at}: {value}");
                    let (text, json, back) = repaired(&folder, &files);
                    assert!(back == original.content.chunks, "{about}: {text}");
                    let corrected = back.len() - json.matches("\"corrected\": null").count();
                    // A chunk that calls itself longer than it is can be decompressed as it is, and
                    // one without compressed blocks by any codec.
                    if corrected == 0 && matches!(at, 2 | 12 | 14) {
                        continue;
                    }
                    assert_eq!(corrected, 1, "{about}: {json}");
                    assert!(json.contains("\"complete\": false"), "{about}: {json}");
                    let said = format!("chunk {nth}: its header was put right: ");
                    assert!(text.contains(&said), "{about}: {text}");
                    assert!(at != 3 || text.contains("size of items"), "{about}: {text}");
                }
            }
        }
    }
}

/// A file ends within a chunk, whichever it is: with and without checksums, of data that compress
/// and that do not, in one file and in a directory. Of each block all is there or nothing, and
/// those in front of the end are.
#[test]
fn blocks_before_the_end_of_a_cut_file_are_kept() {
    const BLOCK: usize = 4 << 10;
    let folder = Folder::new("cut-chunks");
    let mut state = 1u64;
    let noise: Vec<u8> = (0..30_000)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as u8 | 1
        })
        .collect();
    let smooth: Vec<u8> = (1..7_501u32)
        .flat_map(|n| (n / 3 + 1).to_le_bytes())
        .collect();
    let (frame, new) = (folder.path("frame"), folder.path("new"));
    for (data, name) in [(&noise, "noise"), (&smooth, "smooth")] {
        let file = folder.write("data", data);
        for options in ["", "--checksum", "--sparse", "--sparse --checksum"] {
            // One chunk, and several.
            for chunks in ["64K", "8K"] {
                let options =
                    format!("{options} --codec lz4 --typesize 4 --chunks {chunks} --blocks 4K");
                crate::support::compress(&file, &frame, &options).ended(0);
                let files: Vec<String> = match options.contains("sparse") {
                    true => {
                        let all = std::fs::read_dir(&frame).expect("a folder");
                        let names = all.map(|entry| entry.expect("an entry").path());
                        let names = names.map(|path| path.to_str().expect("plain").to_string());
                        names.filter(|name| name.ends_with(".chunk")).collect()
                    }
                    false => vec![frame.clone()],
                };
                for cut in files {
                    let whole = std::fs::read(&cut).expect("there");
                    for percent in [99, 90, 50, 25] {
                        let left = whole.len() * percent / 100;
                        std::fs::write(&cut, &whole[..left]).expect("written");
                        let about = format!("{name}, {options}, {cut} to {percent} %");
                        b2(&["repair", &frame, &new, "-f"]).ended(1);
                        let back = b2(&["decompress", &new, "-o", "-"]).ended(0).out;
                        let mut kept = 0;
                        for (was, is) in data.chunks(BLOCK).zip(back.chunks(BLOCK)) {
                            let is_lost = is.iter().all(|byte| *byte == 0);
                            assert!(is == was || is_lost, "{about}: a block is something else");
                            kept += usize::from(is == was);
                        }
                        // What is in front of a block are its header and the starts: little of all.
                        let all = data.len().div_ceil(BLOCK);
                        let in_file = match options.contains("sparse") {
                            true => all - if chunks == "64K" { all } else { 2 },
                            false => (all * left / whole.len()).saturating_sub(2),
                        };
                        assert!(
                            kept >= in_file,
                            "{about}: {kept} of {all}, {in_file} expected"
                        );
                        assert!(kept > 0, "{about}: nothing is kept");
                    }
                    std::fs::write(&cut, &whole).expect("written");
                }
                let _ = std::fs::remove_dir_all(&frame);
                let _ = std::fs::remove_file(&frame);
            }
        }
    }
}
