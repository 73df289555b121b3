//! Damaged frames: `verify` finds the damage, and `repair` copies everything else and does not
//! change the original.

use crate::support::{Folder, b2, compress, is_full, read, series};

const CHUNK: usize = 16 << 10;

/// A frame whose streams have checksums (those of zlib), so that damage is found: its path, its
/// bytes, the data.
fn frame(folder: &Folder, extra: &str) -> (String, Vec<u8>, Vec<u8>) {
    let data = series(40_000);
    let file = folder.write("data", &data);
    let path = folder.path("frame");
    let options = format!("--codec zlib --typesize 4 --chunks 16K --blocks 4K {extra}");
    compress(&file, &path, &options).ended(0);
    let bytes = if extra == "--sparse" {
        Vec::new()
    } else {
        read(&path)
    };
    (path, bytes, data)
}

/// The positions and lengths of the chunks of a frame, from the table of `info`.
fn places(path: &str) -> Vec<(usize, usize)> {
    let json = b2(&["info", "--json", "--chunks", "1000", path])
        .ended(0)
        .text();
    let field = |part: &str, name: &str| {
        let rest = part
            .split(&format!("\"{name}\": "))
            .nth(1)
            .expect("the field");
        let digits: String = rest
            .chars()
            .skip_while(|c| *c == '"')
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse().expect("a number")
    };
    let chunks = json.split("\"chunk\": ").skip(1);
    chunks
        .map(|part| (field(part, "place"), field(part, "cbytes")))
        .collect()
}

/// For each chunk of `data`, whether it is the same in `back`.
fn same(data: &[u8], back: &[u8]) -> Vec<bool> {
    data.chunks(CHUNK)
        .enumerate()
        .map(|(n, chunk)| back.get(n * CHUNK..n * CHUNK + chunk.len()) == Some(chunk))
        .collect()
}

/// Repairs a frame. Returns the data of the new one.
fn repaired(folder: &Folder, path: &str, code: i32) -> Vec<u8> {
    let new = folder.path("repaired");
    b2(&["repair", path, &new, "--force"]).ended(code);
    b2(&["verify", &new]).ended(0);
    b2(&["decompress", "--raw", &new, "-o", "-"]).ended(0).out
}

#[test]
fn damaged_chunks_are_named_and_the_others_kept() {
    let folder = Folder::new("chunks");
    let (path, bytes, data) = frame(&folder, "");
    let places = places(&path);
    assert!(places.len() > 8);
    for (nchunk, (pos, cbytes)) in places.iter().enumerate().step_by(3) {
        // Within the last of four blocks.
        let mut damaged = bytes.clone();
        damaged[pos + cbytes - 40] ^= 0x55;
        let broken = folder.write("broken", &damaged);
        let text = b2(&["verify", &broken]).ended(1).text();
        assert!(text.contains(&format!("chunk {nchunk}, block 3")), "{text}");
        let back = repaired(&folder, &broken, 1);
        assert_eq!(back.len(), data.len());
        let wrong: Vec<usize> = (0..data.len())
            .filter(|at| back[*at] != data[*at])
            .collect();
        let block = nchunk * CHUNK + 3 * 4096;
        assert!(
            wrong.iter().all(|at| (block..block + 4096).contains(at)),
            "chunk {nchunk}"
        );
        assert_eq!(read(&broken), damaged, "the original is only read");
    }
}

#[test]
fn flipped_bytes_everywhere() {
    let folder = Folder::new("flips");
    let (path, bytes, data) = frame(&folder, "");
    let places = places(&path);
    let index = places
        .iter()
        .map(|(start, cbytes)| start + cbytes)
        .max()
        .expect("chunks");
    let new = folder.path("new");
    let step = bytes.len() / 150;
    let positions = (0..100)
        .chain((100..bytes.len() - 100).step_by(step))
        .chain(bytes.len() - 100..bytes.len());
    let sample = if is_full("OXIBLOSC_DAMAGE") { 1 } else { 3 };
    let mut worst = usize::MAX;
    for pos in positions.step_by(sample) {
        let mut damaged = bytes.clone();
        damaged[pos] ^= 0xff;
        let broken = folder.write("broken", &damaged);
        let verified = b2(&["verify", &broken]);
        assert!(matches!(verified.code, Some(0..=2)), "{pos}: {verified:?}");
        let repaired = b2(&["repair", &broken, &new, "--force"]);
        assert!(matches!(repaired.code, Some(0 | 1)), "{pos}: {repaired:?}");
        let back = b2(&["decompress", "--raw", &new, "-o", "-"]).ended(0).out;
        let kept = same(&data, &back).iter().filter(|same| **same).count();
        worst = worst.min(kept);
        // A byte is in one chunk at most.
        assert!(
            kept + 1 >= data.len().div_ceil(CHUNK),
            "{pos}: {kept} chunks kept\n{}",
            repaired.text()
        );
        // Neither the header of a chunk, which says how to undo what was done, nor the index has a
        // checksum.
        let in_header = |(start, _): &(usize, usize)| (*start..start + 32).contains(&pos);
        let silent = places.iter().any(in_header) || pos >= index;
        if verified.code == Some(0) && !silent {
            assert!(back == data, "{pos}: verified, but not the same");
        }
    }
    assert_eq!(worst, data.len().div_ceil(CHUNK) - 1);
}

#[test]
fn files_cut_short() {
    let folder = Folder::new("cut");
    let (path, bytes, data) = frame(&folder, "");
    let places = places(&path);
    let header = places[0].0;
    for cut in (header..bytes.len())
        .step_by(bytes.len() / 60)
        .chain([bytes.len() - 1])
    {
        let broken = folder.write("broken", &bytes[..cut]);
        b2(&["verify", &broken]).ended(1);
        let run = b2(&["repair", &broken, &folder.path("new"), "-f"]);
        assert_eq!(run.code, Some(1), "{cut}: {run:?}");
        let back = b2(&["decompress", &folder.path("new"), "-o", "-"])
            .ended(0)
            .out;
        assert_eq!(back.len(), data.len(), "{cut}");
        for ((pos, cbytes), same) in places.iter().zip(same(&data, &back)) {
            assert!(same || pos + cbytes > cut, "{cut}: chunk at {pos}");
        }
    }
    for cut in 0..header {
        let broken = folder.write("broken", &bytes[..cut]);
        let code = b2(&["repair", &broken, &folder.path("new"), "-f"]).code;
        assert!(matches!(code, Some(1 | 2)), "{cut}: {code:?}");
    }
}

#[test]
fn index_and_trailer_gone() {
    let folder = Folder::new("index");
    let (path, bytes, data) = frame(&folder, "");
    let (last, cbytes) = *places(&path).last().expect("chunks");
    let end = last + cbytes;
    let mut damaged = bytes.clone();
    damaged[end..].fill(0xaa);
    let broken = folder.write("broken", &damaged);
    b2(&["verify", &broken]).ended(1);
    assert!(repaired(&folder, &broken, 1) == data);
    // Without the header, too: the headers of the chunks are enough.
    damaged[..places(&path)[0].0].fill(0);
    let broken = folder.write("broken", &damaged);
    assert!(repaired(&folder, &broken, 1) == data);
}

#[test]
fn directories() {
    let folder = Folder::new("directory");
    let (path, _, data) = frame(&folder, "--sparse");
    assert!(repaired(&folder, &path, 0) == data);
    let chunk = |n: usize| format!("{path}/{n:08X}.chunk");
    std::fs::remove_file(chunk(2)).expect("removed");
    let mut fourth = read(&chunk(4));
    fourth[..40].fill(0xff);
    std::fs::write(chunk(4), &fourth).expect("writes");
    let text = b2(&["verify", &path]).ended(1).text();
    assert!(
        text.contains("chunk 2") && text.contains("chunk 4"),
        "{text}"
    );
    let lost = |back: &[u8]| -> Vec<usize> {
        let same = same(&data, back);
        (0..same.len()).filter(|n| !same[*n]).collect()
    };
    assert_eq!(lost(&repaired(&folder, &path, 1)), [2, 4]);
    // Without the index, the numbers of the files give the order.
    let index = format!("{path}/chunks.b2frame");
    let bytes = read(&index);
    std::fs::write(&index, &bytes[..97]).expect("writes");
    b2(&["verify", &path]).ended(1);
    let text = b2(&["repair", &path, &folder.path("repaired"), "-f"])
        .ended(1)
        .text();
    assert!(text.contains("in the order of their numbers"), "{text}");
    assert_eq!(lost(&repaired(&folder, &path, 1)), [2, 4]);
}

#[test]
fn an_array_keeps_its_shape() {
    let folder = Folder::new("array");
    let items = series(64 * 64);
    let text = "{'descr': '<i4', 'fortran_order': False, 'shape': (64, 64), }";
    let mut npy = b"\x93NUMPY\x01\0\x76\0".to_vec();
    npy.extend(format!("{text:117}\n").as_bytes());
    npy.extend(&items);
    let file = folder.write("a.npy", &npy);
    b2(&[
        "compress", &file, "--chunks", "16,64", "--blocks", "4,64", "--codec", "zlib",
    ])
    .ended(0);
    let array = folder.path("a.b2nd");
    let bytes = read(&array);
    // In the metalayers' names, and in the second chunk.
    let mut damaged = bytes.clone();
    damaged[97] ^= 0xff;
    let second = places(&array)[1];
    damaged[second.0 + second.1 - 20] ^= 0xff;
    let broken = folder.write("broken", &damaged);
    let back = repaired(&folder, &broken, 1);
    assert_eq!(back.len(), items.len());
    let rows = 64 * 4;
    assert!(back[..16 * rows] == items[..16 * rows] && back[32 * rows..] == items[32 * rows..]);
    assert!(
        back[16 * rows..28 * rows] == items[16 * rows..28 * rows],
        "three of four blocks are whole"
    );
}

#[test]
fn what_is_whole_is_copied() {
    let folder = Folder::new("whole");
    let (path, bytes, data) = frame(&folder, "");
    assert!(repaired(&folder, &path, 0) == data);
    assert_eq!(read(&folder.path("repaired")).len(), bytes.len());
}

/// Noise, which is stored, so that no codec notices a flipped bit.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 7u64;
    let next = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(next).collect()
}

#[test]
fn with_checksums_every_damage_is_found() {
    let folder = Folder::new("checksums");
    let (file, plain, checked, copy) = (
        folder.write("data", &noise(50_000)),
        folder.path("plain"),
        folder.path("checked"),
        folder.path("copy"),
    );
    let compress = |path: &str, more: &[&str]| {
        b2(&[&["compress", &file, "-o", path, "--chunks", "16K"], more].concat()).ended(0);
    };
    compress(&plain, &[]);
    compress(&checked, &["--checksum"]);
    let verified = |path: &str| b2(&["verify", path]);
    assert!(verified(&plain).ended(0).text().contains("no checksums"));
    let fine = verified(&checked).ended(0).text();
    assert!(
        fine.contains("checksums of header, index and metalayers, all chunks are right"),
        "{fine}"
    );
    for (path, has) in [(&plain, "none"), (&checked, "header, index and metalayers")] {
        let info = b2(&["info", path]).ended(0).text();
        let line = info.lines().find(|line| line.starts_with("checksums"));
        assert!(line.is_some_and(|line| line.ends_with(has)), "{info}");
    }
    // Conversion keeps checksums, and can add them.
    b2(&["convert", &checked, &copy, "--sparse"]).ended(0);
    let kept = verified(&copy).ended(0).text();
    assert!(kept.contains("all chunks are right"), "{kept}");
    let added = folder.path("added");
    b2(&["convert", &plain, &added, "--checksum"]).ended(0);
    let text = verified(&added).ended(0).text();
    assert!(text.contains("all chunks are right"), "{text}");
    for (path, found) in [(&plain, false), (&checked, true)] {
        let mut bytes = read(path);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(path, &bytes).expect("a file");
        let run = verified(path);
        assert!(
            run.ended(if found { 1 } else { 0 })
                .text()
                .contains("chunk")
        );
    }
}
