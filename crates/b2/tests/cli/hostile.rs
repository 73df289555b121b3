//! Files that are made to harm: the tool ends with an exit code, and needs time and memory in
//! proportion to the file.

use crate::damage_files::{Original, write_files};
use crate::support::{Folder, b2};
#[cfg(unix)]
use crate::support::{compress, npy, read, series};
use oxiblosc::{
    Array, CParams, Compressor, Layout, NewChunks, Place, Special, StorageParams, SuperChunk,
};
use std::path::Path;
#[cfg(unix)]
use std::process::{Command, Output};

/// An `.npy` file of version 2, whose header may be longer than 64 KB.
fn npy2(header: &str) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x02\0".to_vec();
    file.extend((header.len() as u32).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend([0; 4]);
    file
}

/// Fields in fields in fields, which would need more than the stack.
#[test]
fn nested_fields_are_not_followed_without_end() {
    let folder = Folder::new("nested-fields");
    for depth in [100, 10_000, 90_000] {
        let dtype = "[('a',".repeat(depth) + "'<i4'" + &")]".repeat(depth);
        let header = format!("{{'descr': {dtype}, 'fortran_order': False, 'shape': (1,)}}\n");
        let file = folder.write("a.npy", &npy2(&header));
        let run = b2(&["compress", &file]).failed();
        assert!(run.err.contains("its dtype is not known"), "{}", run.err);
    }
}

/// Makes an array of zeros in a file.
fn array(path: &str, shape: &[i64], typesize: i32, dtype: &[u8]) {
    let chunks = vec![5; shape.len()];
    let layout = Layout {
        shape,
        chunks: &chunks,
        blocks: &chunks,
        dtype: Some(dtype),
        metalayers: &[],
    };
    let storage = StorageParams {
        place: Place::File(Path::new(path)),
        cparams: CParams {
            typesize,
            ..CParams::default()
        },
        ..StorageParams::default()
    };
    drop(Array::zeros(&layout, storage).expect("made"));
}

/// The dtype of an array is copied to the header of an `.npy` file, in which it must not be
/// anything else.
#[test]
fn a_dtype_is_only_a_dtype() {
    let folder = Folder::new("dtypes");
    for (dtype, expected) in [
        ("<f8", "'<f8'"),
        ("<M8[ns]", "'<M8[ns]'"),
        ("[('a', '<f4', (2,))]", "[('a', '<f4', (2,))]"),
        ("<f8', 'x': '1", "'|V8'"),
        ("[('a', '<f4')]", "'|V8'"),
        ("[('a', '<f8')", "'|V8'"),
        ("[], 'x': []", "'|V8'"),
        ("<<f8", "'|V8'"),
        ("<f8[ns]", "'|V8'"),
        ("<M8[ns", "'|V8'"),
        ("<g8", "'|V8'"),
    ] {
        let path = folder.path("array");
        array(&path, &[10], 8, dtype.as_bytes());
        let back = b2(&["decompress", &path, "-o", "-"]).ended(0).out;
        let header = String::from_utf8_lossy(&back[10..back.len() - 80]).into_owned();
        let fields = format!("{{'descr': {expected}, 'fortran_order': False, 'shape': (10,), }}");
        assert_eq!(header.trim_end(), fields, "{dtype}");
        std::fs::remove_file(&path).expect("removed");
    }
}

/// The items of an array and the header of an `.npy` file are together more than 2^64 bytes.
#[test]
fn an_array_may_claim_any_shape() {
    let folder = Folder::new("shapes");
    let path = folder.path("array");
    array(&path, &[10, 2], 4, b"<i4");
    let mut bytes = std::fs::read(&path).expect("there");
    let shape = bytes
        .windows(9)
        .position(|found| found == [0xd3, 0, 0, 0, 0, 0, 0, 0, 10]);
    let shape = shape.expect("the shape") + 1;
    for length in [1, 11, 1 << 40, (1 << 61) - 1, 1 << 61, i64::MAX] {
        bytes[shape..shape + 8].copy_from_slice(&length.to_be_bytes());
        let changed = folder.write("changed", &bytes);
        b2(&["verify", &changed]).ended(1);
        // Some are more than there can be, and some contradict what is there.
        b2(&["decompress", &changed, "-o", &folder.path("to")]).reported();
        b2(&["decompress", &changed, "-o", "-", "--raw"]).reported();
        b2(&["convert", &changed, &folder.path("to"), "--chunks", "3,2"]).reported();
        assert_eq!(folder.count(), 2);
    }
}

/// Names of files that look like those of chunks, and are not.
#[test]
fn only_numbers_of_chunks_are_taken_for_them() {
    let folder = Folder::new("numbers");
    let original = Original::new(&folder, 0, true, false);
    let (broken, new) = (folder.path("broken"), folder.path("new"));
    let mut files = original.files.clone();
    files.retain(|(name, _)| name != "chunks.b2frame");
    let chunk = files[1].1.clone();
    for name in ["FFFFFFFFFFFFFFFF", "+0000001", "1", "100000000", "0000000a"] {
        files.push((format!("{name}.chunk"), chunk.clone()));
    }
    write_files(Path::new(&broken), &files);
    b2(&["repair", &broken, &new]).ended(1);
    let back = b2(&["decompress", &new, "-o", "-"]).ended(0).out;
    assert!(back == original.content.chunks.concat());
}

/// Names with what a terminal takes as commands.
#[cfg(unix)]
#[test]
fn names_are_shown_without_control_characters() {
    let folder = Folder::new("control");
    let name = |name: &str| folder.path(&format!("{name}\x1b[2J\n"));
    let file = folder.write("data\x1b[2J\n", &series(10_000));
    let [frame, copy, new, back] = ["frame", "copy", "new", "back"].map(name);
    let lone = name("lone");
    let chunk = Compressor::new(CParams::default())
        .compress(&[1; 100])
        .expect("a chunk");
    std::fs::write(&lone, &chunk[..]).expect("written");
    let broken = name("broken");
    let commands: [&[&str]; 12] = [
        &["compress", &file, "-o", &frame],
        &["info", &frame],
        &["info", &lone],
        &["verify", &frame],
        &["verify", &lone],
        &["convert", &frame, &copy],
        &["repair", &frame, &new],
        &["decompress", &frame, "-o", &back],
        &["bench", &file, "--seconds", "0", "--sample", "64K"],
        &["verify", &broken],
        &["info", &broken],
        &["repair", &broken, &new, "-f"],
    ];
    for args in commands {
        if args.contains(&broken.as_str()) {
            let mut bytes = read(&frame);
            bytes[11] ^= 1;
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            std::fs::write(&broken, &bytes).expect("written");
        }
        let run = b2(args);
        let said = run.text() + &run.err;
        assert!(!said.contains('\x1b'), "{args:?}: {said}");
        assert!(!said.contains("[2J\n:"), "{args:?}: {said}");
    }
}

/// Runs the tool with a limit of the shell.
#[cfg(unix)]
fn limited(limit: &str, args: &[&str]) -> Output {
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", &format!("{limit}; exec \"$0\" \"$@\"")]);
    let run = shell.arg(env!("CARGO_BIN_EXE_b2")).args(args).output();
    run.expect("runs")
}

/// Makes a frame with variable-length metalayers of this content.
#[cfg(unix)]
fn with_vlmetalayers(path: &str, count: usize, content: &[u8]) {
    let storage = StorageParams {
        place: Place::File(Path::new(path)),
        ..StorageParams::default()
    };
    let frame = SuperChunk::create(storage).expect("a frame");
    let encoder = Compressor::new(CParams::default());
    for n in 0..count {
        let name = format!("layer-{n}");
        let added = frame.add_vlmetalayer(name.as_bytes(), content, &encoder);
        added.expect("a metalayer");
    }
    frame.close_frame().expect("closed");
}

/// Metalayers of a few bytes that claim to have gigabytes of zeros, or have millions of values.
#[cfg(unix)]
#[test]
fn metalayers_take_no_more_than_the_file_explains() {
    let folder = Folder::new("metalayers");
    let path = folder.path("frame");
    with_vlmetalayers(&path, 15, &[0; 1 << 20]);
    let mut bytes = read(&path);
    let claim = ((1 << 20) as u32).to_le_bytes();
    for at in 0..bytes.len() - 4 {
        if bytes[at..at + 4] == claim {
            bytes[at..at + 4].copy_from_slice(&0x7f00_0000u32.to_le_bytes());
        }
    }
    let zeros = folder.write("zeros", &bytes);
    std::fs::remove_file(&path).expect("removed");
    let mut values = vec![0; 4 << 20];
    values[0] = 0xdd;
    let count = values.len() as u32 - 5;
    values[1..5].copy_from_slice(&count.to_be_bytes());
    with_vlmetalayers(&path, 15, &values);
    for file in [&zeros, &path] {
        for command in ["info", "verify"] {
            let run = limited("ulimit -v 1500000; ulimit -t 20", &[command, file]);
            assert_eq!(run.status.code(), Some(0), "{command} {file}: {run:?}");
        }
    }
}

/// Damage to a chunk of very many blocks.
#[cfg(unix)]
#[test]
fn many_blocks_take_no_longer_than_few() {
    let folder = Folder::new("many-blocks");
    let file = folder.write("data", &series(1 << 20));
    let frame = folder.path("frame");
    let options = "--checksum --typesize 1 --chunks 4M --blocks 32 -c lz4";
    compress(&file, &frame, options).ended(0);
    let len = read(&frame).len();
    let new = folder.path("new");
    // Damage to the front of the chunk and its blocks, and to blocks only.
    for from in [len / 8, len / 2] {
        let mut bytes = read(&frame);
        bytes[from..len - 200]
            .iter_mut()
            .step_by(37)
            .for_each(|byte| *byte ^= 0xff);
        let broken = folder.write("broken", &bytes);
        for args in [&["verify", &broken][..], &["repair", &broken, &new, "-f"]] {
            let run = limited("ulimit -t 4", args);
            assert_eq!(run.status.code(), Some(1), "{from}, {args:?}: {run:?}");
        }
    }
}

/// Where no thread can be started the caller does the work. A stack that is larger than the limit
/// on memory is an error of the system.
#[cfg(unix)]
#[test]
fn one_thread_is_enough() {
    let folder = Folder::new("one-thread");
    let data = series(100_000);
    let file = folder.write("data", &data);
    let [frame, to] = ["frame", "to"].map(|name| folder.path(name));
    compress(&file, &frame, "--chunks 32K").ended(0);
    for args in [
        &["compress", &file, "-o", &to, "--chunks", "32K"][..],
        &["decompress", &frame, "-o", &to],
        &["convert", &frame, &to],
        &["convert", &frame, &to, "-l", "1"],
        &["repair", &frame, &to],
        &["verify", &frame],
    ] {
        let limit = "export RUST_MIN_STACK=100000000000; ulimit -v 4000000";
        let run = limited(limit, &[args, &["-t", "8"]].concat());
        assert_eq!(run.status.code(), Some(0), "{args:?}: {run:?}");
        let _ = std::fs::remove_file(&to);
    }
}

/// Chunks for which there is not enough memory.
#[cfg(unix)]
#[test]
fn a_lack_of_memory_is_an_error_and_no_damage() {
    let folder = Folder::new("no-memory");
    let [file, frame, to] = ["file", "frame", "to"].map(|name| folder.path(name));
    let sparse = |name: &str, prefix: &[u8], len: u64| {
        let path = folder.write(name, prefix);
        let opened = std::fs::File::options().write(true).open(&path);
        let resized = opened.and_then(|file| file.set_len(prefix.len() as u64 + len));
        resized.expect("a sparse file");
        path
    };
    sparse("file", b"not only zeros", 700 << 20);
    compress(&file, &frame, "--typesize 1 -c lz4 --chunks 100M").ended(0);
    let shape = "(8000, 90000)";
    let fortran = sparse("fortran.npy", &npy("|u1", true, shape, &[]), 720_000_000);
    // One chunk that is not of special values.
    let noise = folder.write("noise", &oxiblosc_testing::noise(60 << 20));
    let large = folder.path("large");
    compress(&noise, &large, "--chunks 60M -l 0").ended(0);
    // One block that is larger than what is decompressed at a time.
    let pattern = folder.write("pattern", &b"0123456789abcdef".repeat(6 << 20));
    let block = folder.path("block");
    let options = "--typesize 1 -c lz4 --chunks 96M --blocks 96M";
    compress(&pattern, &block, options).ended(0);
    for (limit, args) in [
        (1_000_000, &["convert", &frame, &to, "--chunks", "600M"][..]),
        (
            1_000_000,
            &["compress", &fortran, "-o", &to, "--chunks", "8000,80000"],
        ),
        (
            1_000_000,
            &["compress", &file, "-o", &to, "--chunks", "900M"],
        ),
        (100_000, &["verify", &large]),
        (100_000, &["decompress", &large, "-o", &to]),
        (100_000, &["verify", &block]),
    ] {
        let run = limited(
            &format!("ulimit -v {limit}"),
            &[args, &["-t", "1"]].concat(),
        );
        let err = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(2), "{args:?}: {run:?}");
        assert!(err.contains("memory"), "{args:?}: {err}");
        assert!(!Path::new(&to).exists());
    }
}

/// Runs a command, which would take minutes if it looked at each of very many chunks.
fn soon(args: &[&str]) {
    let began = std::time::Instant::now();
    b2(args).ended(0);
    let took = began.elapsed();
    assert!(took.as_secs() < 20, "{args:?}: {took:?}");
}

/// Items of four bytes in chunks of one item: special values and chunks that are stored.
fn mixed(path: &str, parts: &[Result<u32, (Special, usize)>]) {
    let cparams = CParams {
        typesize: 4,
        ..CParams::default()
    };
    let storage = StorageParams {
        place: Place::File(Path::new(path)),
        cparams: cparams.clone(),
        ..StorageParams::default()
    };
    let frame = SuperChunk::create(storage).expect("a frame");
    let compressor = Compressor::new(cparams);
    let stored = parts.iter().filter_map(|part| part.as_ref().ok());
    let stored = stored.map(|item| compressor.compress(&item.to_le_bytes()).expect("a chunk"));
    let stored: Vec<_> = stored.collect();
    let mut next = stored.iter();
    let parts = parts.iter().map(|part| match *part {
        Ok(_) => NewChunks::One(next.next().expect("a chunk")),
        Err((kind, count)) => NewChunks::Specials {
            kind,
            count,
            nbytes: 4,
        },
    });
    frame
        .append_all(&parts.collect::<Vec<_>>())
        .expect("appended");
    frame.close_frame().expect("closed");
}

/// The data of such a frame.
fn data_of(parts: &[Result<u32, (Special, usize)>]) -> Vec<u8> {
    let nan = f32::NAN.to_le_bytes();
    let part = |part: &Result<u32, (Special, usize)>| match *part {
        Ok(item) => item.to_le_bytes().to_vec(),
        Err((Special::Nan, count)) => nan.repeat(count),
        Err((_, count)) => vec![0; 4 * count],
    };
    parts.iter().flat_map(part).collect()
}

/// A frame of a few hundred bytes that says that there are very many chunks takes time by its data
/// and by the runs of equal chunks, not by the number of chunks.
#[test]
fn runs_of_special_chunks_take_no_time_each() {
    let folder = Folder::new("runs");
    let [path, to, data] = ["frame", "to", "data"].map(|name| folder.path(name));
    let parts = [
        Err((Special::Zero, 30_000_000)),
        Ok(7),
        Ok(8),
        Err((Special::Nan, 1_000_001)),
        Ok(9),
        Err((Special::Uninit, 20_000_000)),
        Err((Special::Zero, 5)),
        Err((Special::Nan, 3)),
        Err((Special::Zero, 40_000_000)),
        Ok(10),
    ];
    mixed(&path, &parts);
    assert!(std::fs::metadata(&path).expect("there").len() < 4_000_000);
    let expected = data_of(&parts);
    soon(&["info", &path]);
    soon(&["verify", &path]);
    let is_same = |frame: &str| {
        soon(&["decompress", frame, "-o", &data, "-f"]);
        let created = std::fs::read(&data).expect("read");
        assert!(created == expected, "{frame}");
    };
    is_same(&path);
    let piped = b2(&["decompress", &path, "-o", "-"]).ended(0).out;
    assert!(piped == expected);
    let commands: [&[&str]; 7] = [
        &["convert", &path, &to, "-f"],
        &["convert", &path, &to, "-f", "--sparse"],
        &["convert", &path, &to, "-f", "--checksum"],
        &["convert", &path, &to, "-f", "-c", "zstd"],
        &["convert", &path, &to, "-f", "--chunks", "8"],
        &["convert", &path, &to, "-f", "--chunks", "400000"],
        &["repair", &path, &to, "-f"],
    ];
    for args in commands {
        soon(args);
        soon(&["verify", &to]);
        is_same(&to);
    }
}

/// The index that said so may be damaged. Its checksum says what it was.
#[test]
fn a_lost_index_of_special_chunks_takes_no_time_either() {
    let folder = Folder::new("lost-runs");
    let [path, to, data] = ["frame", "to", "data"].map(|name| folder.path(name));
    mixed(&path, &[Err((Special::Zero, 50_000_000))]);
    soon(&["convert", &path, &to, "--checksum"]);
    let mut bytes = std::fs::read(&to).expect("read");
    let offset = bytes
        .windows(8)
        .position(|at| at == [0, 0, 0, 0, 0, 0, 0, 0x81]);
    let offset = offset.expect("an offset");
    bytes[offset - 32..offset].fill(0xff);
    let broken = folder.write("broken", &bytes);
    let repaired = b2(&["repair", &broken, &to, "-f"]).ended(1);
    let text = repaired.text();
    assert!(text.contains("its checksum says which"), "{text}");
    soon(&["decompress", &to, "-o", &data]);
    assert!(std::fs::read(&data).expect("read") == vec![0; 200_000_000]);
}

/// Boxes of arrays that are made of runs are passed over, in any number of dimensions.
#[test]
fn arrays_of_special_chunks_take_no_time_each() {
    let folder = Folder::new("special");
    let [path, to, data] = ["array", "to", "data"].map(|name| folder.path(name));
    for (shape, chunks, place) in [
        (&[80_000_000][..], &[1][..], &[70_000_001][..]),
        (&[3000, 20_000], &[1, 2], &[1234, 4321]),
        (&[1, 30_000, 3, 500], &[1, 2, 2, 3], &[0, 29_000, 1, 7]),
    ] {
        let layout = Layout {
            shape,
            chunks,
            blocks: chunks,
            dtype: Some(b"|u1"),
            metalayers: &[],
        };
        let storage = StorageParams {
            place: Place::File(Path::new(&path)),
            cparams: CParams {
                typesize: 1,
                ..CParams::default()
            },
            ..StorageParams::default()
        };
        let array = Array::zeros(&layout, storage).expect("made");
        let behind: Vec<i64> = place.iter().map(|at| at + 1).collect();
        for written in [false, true] {
            if written {
                array.write(place, &behind, &[77]).expect("written");
            }
            array.schunk().close_frame().expect("closed");
            let is_same = |frame: &str| {
                soon(&["decompress", frame, "-o", &data, "-f", "--raw"]);
                let mut expected = vec![0; shape.iter().product::<i64>() as usize];
                let at = shape.iter().zip(place).fold(0, |at, (len, i)| at * len + i);
                expected[at as usize] = if written { 77 } else { 0 };
                assert!(
                    std::fs::read(&data).expect("read") == expected,
                    "{frame} {shape:?}"
                );
            };
            is_same(&path);
            let other: Vec<String> = chunks.iter().map(|n| (3 * n).to_string()).collect();
            let commands: [&[&str]; 6] = [
                &["info", &path],
                &["verify", &path],
                &["convert", &path, &to, "-f"],
                &["convert", &path, &to, "-f", "-c", "zstd"],
                &["convert", &path, &to, "-f", "--chunks", &other.join(",")],
                &["repair", &path, &to, "-f"],
            ];
            for args in commands {
                soon(args);
                if args[0] == "convert" || args[0] == "repair" {
                    is_same(&to);
                }
            }
        }
        std::fs::remove_file(&path).expect("removed");
    }
}
