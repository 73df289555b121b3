//! Bytes that look like a record of a change, and are none: somebody put them behind a frame, or
//! into a frame that is appended to a container. Whoever only reads changes no byte of the file,
//! and the frame that is there reads as before.

use blosc2::capi::types::blosc2_cparams;
use oxiblosc_frame::journal::{Patch, Record, hash};
use oxiblosc_testing::data::{Kind, Rng};
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::report::Report;
use oxiblosc_testing::schunk::{SchunkLib, our_schunks};
use oxiblosc_testing::schunk_calls::Schunk;
use oxiblosc_testing::schunk_state::{State, read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes of a record's end: hash, size, magic.
const END: usize = 16;

/// A frame whose chunks are stored as they are; the last of them holds `stored`.
fn frame(lib: &'static SchunkLib, seed: u64, stored: &[u8]) -> (Schunk, Vec<u8>) {
    let cparams = blosc2_cparams {
        typesize: 1,
        clevel: 0,
        ..blosc2_cparams::defaults()
    };
    let s = lib.create(true, None, &cparams, 1, None);
    let s = s.expect("a frame in memory");
    let mut last = Kind::Random.bytes(2000, seed + 1);
    last[..stored.len()].copy_from_slice(stored);
    for data in [Kind::Random.bytes(2000, seed), last] {
        assert!(s.append_buffer(&data, 2000) > 0);
    }
    assert_eq!(s.vlmeta_add(c"which", &seed.to_le_bytes()), 0);
    let bytes = s.to_buffer().1;
    (s, bytes)
}

/// Bytes of the header of a frame.
fn header_len(frame: &[u8]) -> usize {
    u32::from_be_bytes([frame[11], frame[12], frame[13], frame[14]]) as usize
}

/// A record that a change of the frame may have left which stands at `base`, and of which the
/// process died before it overwrote anything but bytes of the last chunk.
fn genuine(frame: &[u8], base: u64) -> Record {
    let header = &frame[..header_len(frame)];
    Record {
        identity: None,
        base,
        old_len: frame.len() as u64,
        new_len: frame.len() as u64 + 700,
        header_len: header.len() as u32,
        header_hash: hash(header),
        changed_pos: 24,
        changed: vec![1, 2, 3].into(),
        patches: vec![Patch {
            pos: header.len() as u64 + 100,
            bytes: vec![0xee; 300].into(),
        }]
        .into(),
    }
}

/// What a fault is called, and what it does to a record or its bytes.
type Fault<T> = (&'static str, fn(&mut T));

/// What is wrong with a record: each makes it one that counts for nothing.
const FAULTS: &[Fault<Record>] = &[
    ("another frame", |r| r.base += 1),
    ("another base", |r| {
        r.base = u64::MAX - 50;
    }),
    ("a base before the frame", |r| {
        r.base = r.base.wrapping_sub(1)
    }),
    ("a shorter frame", |r| r.old_len -= 1),
    ("a frame of no bytes", |r| r.old_len = 0),
    ("a longer frame", |r| r.old_len += 1),
    ("far behind", |r| r.new_len = u64::MAX),
    ("too near", |r| r.new_len -= 1),
    ("another header", |r| r.header_hash ^= 1),
    ("a shorter header", |r| r.header_len -= 1),
    ("no header", |r| {
        r.header_len = 0;
        r.header_hash = hash(&[]);
    }),
    ("a header of all memory", |r| r.header_len = u32::MAX),
    ("a patch of nothing", |r| r.patches[0].bytes.clear()),
    ("a patch behind the frame", |r| {
        r.patches[0].pos = r.old_len - 10
    }),
    ("a patch far behind", |r| {
        r.patches[0].pos = u64::MAX - 10;
    }),
    ("a patch of the header", |r| r.patches[0].pos = 20),
    ("patches over one another", |r| {
        let twice = Patch {
            pos: r.patches[0].pos,
            bytes: r.patches[0].bytes.try_clone().expect("memory"),
        };
        r.patches.push(twice).expect("memory");
    }),
    ("patches backwards", |r| {
        let patch = Patch {
            pos: 200,
            bytes: vec![1; 10].into(),
        };
        r.patches.push(patch).expect("memory");
    }),
];

/// What is wrong with the bytes of a record.
const BAD_BYTES: &[Fault<Vec<u8>>] = &[
    ("another hash", |b| {
        let at = b.len() - END;
        b[at] ^= 1;
    }),
    ("another size", |b| {
        let at = b.len() - 8;
        b[at] ^= 4;
    }),
    ("no magic", |b| {
        let at = b.len() - 1;
        b[at] ^= 1;
    }),
    ("no front", |b| b[0] ^= 1),
    ("bytes behind it", |b| b.push(0)),
    ("a byte less", |b| b.truncate(b.len() - 1)),
    ("padding", |b| {
        b.truncate(b.len() - END);
        b.extend([0; 40]);
        let size = (b.len() + END) as u32;
        b[8..12].copy_from_slice(&size.to_le_bytes());
        seal(b);
    }),
    ("a patch more than there is", |b| {
        b.truncate(b.len() - END);
        let at = b.len() - 300 - 12 - 4;
        b[at] += 1;
        seal(b);
    }),
    ("very many patches", |b| {
        b.truncate(b.len() - END);
        let at = b.len() - 300 - 12 - 4;
        b[at..at + 4].fill(0xff);
        seal(b);
    }),
];

/// Puts an end behind the bytes of a record that fits them.
fn seal(record: &mut Vec<u8>) {
    let end = end_of(record, record.len() + END);
    record.extend(end);
}

/// The end of a record of which all other bytes are `record`.
fn end_of(record: &[u8], size: usize) -> Vec<u8> {
    let mut end = hash(record).to_le_bytes().to_vec();
    end.extend((size as u32).to_le_bytes());
    end.extend(b"\x02jnl");
    end
}

/// Opens the frames at these places and reads everything; says so if that changes the file.
fn read_all(
    lib: &'static SchunkLib,
    path: &Path,
    places: &[i64],
) -> Result<Vec<Option<State>>, String> {
    let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
    let times = |path: &Path| {
        path.metadata()
            .map(|about| (about.mtime(), about.mtime_nsec()))
    };
    let before = times(path).ok();
    let look = |place: &i64| lib.open_at(path, *place).map(|s| read(&s));
    let seen = places.iter().map(look).collect();
    if std::fs::read(path).map_err(|e| e.to_string())? != bytes {
        return Err("reading changed the file".into());
    }
    if times(path).ok() != before {
        return Err("reading wrote to the file".into());
    }
    Ok(seen)
}

/// Whether the frame at 0 reads as before in a file of these bytes, which reading leaves as it is,
/// and another frame behind it does, too.
fn harmless(
    lib: &'static SchunkLib,
    path: &Path,
    bytes: &[u8],
    places: &[i64],
    expected: &[&State],
) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|e| e.to_string())?;
    let seen = read_all(lib, path, places)?;
    match seen
        .iter()
        .zip(expected)
        .all(|(seen, expected)| seen.as_ref() == Some(*expected))
    {
        true => Ok(()),
        false => Err("a frame reads as something else".into()),
    }
}

/// A record as bytes.
fn encode(record: &Record) -> Vec<u8> {
    let encoded = record.encode().expect("a record");
    let writes = encoded.writes_at(0).expect("memory");
    let parts: Vec<&[u8]> = writes.iter().map(|(_, part)| *part).collect();
    parts.concat()
}

#[test]
fn records_that_do_not_count() {
    let lib = our_schunks();
    let folder = Folder::new("forged");
    let path = folder.0.join("frame");
    let (s, first) = frame(lib, 1, &[]);
    let before = read(&s);
    let mut report = Report::default();
    // With the padding up to where a record of this change would stand.
    let with = |record: &[u8]| [&first[..], &[0; 700], record].concat();
    let all_patches = genuine(&first, 0);
    let mut records: Vec<(String, Vec<u8>)> = Vec::new();
    for (fault, spoil) in FAULTS {
        let mut record = genuine(&first, 0);
        spoil(&mut record);
        let bytes = encode(&record);
        records.push(((*fault).to_owned(), bytes));
    }
    for (fault, spoil) in BAD_BYTES {
        let mut bytes = encode(&all_patches);
        spoil(&mut bytes);
        records.push(((*fault).to_owned(), bytes));
    }
    let whole = encode(&all_patches);
    for end in 1..whole.len() {
        records.push((format!("cut at {end}"), whole[..end].to_vec()));
    }
    for at in 0..whole.len() {
        let mut torn = whole.clone();
        torn[at] ^= 1 << (at % 8);
        records.push((format!("another byte {at}"), torn));
    }
    for (fault, record) in &records {
        report.case();
        if let Err(wrong) = harmless(lib, &path, &with(record), &[0], &[&before]) {
            report.fail(&wrong, fault);
        }
        // Nearer to the frame, and further from it.
        for gap in [0, 300, 1400] {
            let bytes = [&first[..], &vec![0; gap][..], record].concat();
            if let Err(wrong) = harmless(lib, &path, &bytes, &[0], &[&before]) {
                report.fail(&wrong, format!("{fault}, {gap} bytes behind the frame"));
            }
        }
    }
    // One that would count, had it been written for this file: what is read is the frame before
    // that change, and the file stays as it is, since it may be a copy of another.
    let mut older = before.clone();
    if let Ok(chunk) = &mut older.chunks[0] {
        // Behind the chunk's header of 32 bytes.
        chunk[100 - 32..400 - 32].fill(0xee);
    }
    report.case();
    if let Err(wrong) = harmless(lib, &path, &with(&whole), &[0], &[&older]) {
        report.fail(&wrong, "a record that counts, in a copy");
    }
    report.finish("records that do not count");
}

/// A frame of a stranger that ends like a record, `at` bytes from the start of the container: the
/// record is in its last chunk and ends with the fingerprint of its trailer.
fn stranger(lib: &'static SchunkLib, at: u64, make: impl Fn(u64) -> Record) -> Vec<u8> {
    const MARK: &[u8] = b"here the record begins";
    let (_, mut bytes) = frame(lib, 50, MARK);
    let mut windows = bytes.windows(MARK.len());
    let start = windows
        .position(|bytes| bytes == MARK)
        .expect("stored as it is");
    let mut record = make(at + start as u64);
    // Its last patch has the rest of the frame.
    let record_len = bytes.len() - start;
    let short = encode(&record).len();
    if let Some(last) = record.patches.last_mut() {
        let len = last.bytes.len() + record_len - short;
        last.bytes.resize(len, 0).expect("memory");
    }
    let prefix = encode(&record);
    assert_eq!(prefix.len(), record_len);
    let fixed = short - END - 1;
    bytes[start..start + fixed].copy_from_slice(&prefix[..fixed]);
    let end = bytes.len() - END;
    let sealed = end_of(&bytes[start..end], record_len);
    bytes[end..].copy_from_slice(&sealed);
    bytes
}

#[test]
fn a_frame_that_ends_like_a_record() {
    let lib = our_schunks();
    let folder = Folder::new("stranger");
    let path = folder.0.join("container");
    let (s, first) = frame(lib, 1, &[]);
    let before = read(&s);
    let end = first.len() as u64;
    let mut report = Report::default();
    let mut random = Rng(1);
    for round in 0..200 {
        let (choice, pos) = (random.next() % 6, random.next());
        let own_header = random.next().is_multiple_of(2);
        let bytes = stranger(lib, end, |record_pos| {
            let mut record = genuine(&first, 0);
            // So that it begins where a record of the first frame would.
            record.new_len = record_pos;
            record.changed.clear();
            let at = match choice {
                0 => 0,
                1 => header_len(&first) as u64,
                _ => pos % end,
            };
            record.patches[0] = Patch {
                pos: at,
                bytes: vec![0xee].into(),
            };
            match choice {
                2 => record.base = end,
                3 => record.new_len = record_pos - end,
                4 => (record.base, record.new_len) = (end, record_pos - end),
                _ => {}
            }
            if own_header {
                let about = std::fs::metadata(&path);
                record.identity = about.ok().map(|about| (about.dev(), about.ino()));
            }
            record
        });
        report.case();
        let which = || format!("round {round}");
        std::fs::write(&path, &first).expect("a container");
        let appended = lib.open_buffer(&bytes, false).map(|s| s.append_file(&path));
        if appended != Some(end as i64) {
            report.fail(
                "a frame that is not appended",
                format!("{}: {appended:?}", which()),
            );
            continue;
        }
        let expected = read(&lib.open_buffer(&bytes, false).expect("a frame"));
        let places = [0, end as i64];
        let container = std::fs::read(&path).expect("the container");
        report.check(
            container[end as usize..] == bytes,
            "not the same bytes",
            which,
        );
        if let Err(wrong) = harmless(lib, &path, &container, &places, &[&before, &expected]) {
            report.fail(&wrong, which());
        }
        // One more behind both.
        let (third, _) = frame(lib, 90, &[]);
        let at = third.append_file(&path);
        report.check(at == container.len() as i64, "the third frame", which);
        match read_all(lib, &path, &[0, end as i64, at]) {
            Ok(seen) => {
                let expected = [Some(before.clone()), Some(expected), Some(read(&third))];
                report.check(seen == expected, "a frame reads as something else", which);
            }
            Err(wrong) => report.fail(&wrong, which()),
        }
    }
    report.finish("frames that end like a record");
}
