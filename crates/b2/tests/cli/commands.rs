//! Every command on intact files, and with wrong arguments.

use crate::damage_files::{Original, write_files};
use crate::support::{Folder, b2, compress, piped, read, series};
use oxiblosc_testing::fixtures::fixtures;
use sha2::{Digest, Sha256};
use std::path::Path;

#[test]
fn text_gets_blocks_as_large_as_its_chunks() {
    let folder = Folder::new("text");
    let text = include_bytes!("commands.rs").repeat(400);
    let file = folder.write("text", &text);
    for (more, block) in [("--level=5", "4194304"), ("--blocks=32K", "32768")] {
        b2(&["compress", &file, "--force", more]).ended(0);
        let frame = folder.path("text.b2frame");
        let json = b2(&["info", "--json", &frame]).ended(0).text();
        assert!(json.contains(&format!("\"blocksize\": {block}")), "{json}");
        assert!(b2(&["decompress", &frame, "-o", "-"]).ended(0).out == text);
    }
}

#[test]
fn what_is_compressed_comes_back() {
    let folder = Folder::new("roundtrip");
    let data = series(300_000);
    let file = folder.write("data.i32", &data);
    let ways: [&[&str]; 8] = [
        &[],
        &["--codec", "lz4", "--level", "9", "--typesize", "4"],
        &[
            "--codec",
            "zlib",
            "--filters",
            "bitshuffle",
            "--typesize",
            "4",
            "--threads",
            "3",
        ],
        &[
            "--codec",
            "blosclz",
            "--filters",
            "delta,shuffle",
            "--typesize",
            "4",
            "--split",
            "never",
        ],
        &[
            "--codec",
            "lz4hc",
            "--filters",
            "none",
            "--chunks",
            "100K",
            "--blocks",
            "10K",
        ],
        &["--level", "0"],
        &["--sparse", "--chunks", "200k", "--typesize", "4"],
        &["--dict", "--chunks", "1M", "--typesize", "4"],
    ];
    for way in ways {
        let frame = folder.path("frame");
        let back = folder.path("back");
        b2(&[&["compress", &file, "-o", &frame, "--force"], way].concat()).ended(0);
        b2(&["verify", &frame]).ended(0);
        b2(&["decompress", &frame, "-o", &back, "--force"]).ended(0);
        assert!(read(&back) == data, "{way:?}");
    }
    let said = b2(&["compress", &file]).ended(0).text();
    let how = "zstd 5, items of 4 bytes, shuffle, chunks of 4.00 MiB)";
    assert!(said.trim_end().ends_with(how), "{said}");
    std::fs::remove_file(&file).expect("removed");
    b2(&["decompress", &folder.path("data.i32.b2frame")]).ended(0);
    assert!(read(&file) == data);
    // No unfinished file is left.
    assert_eq!(folder.count(), 4);
}

#[test]
fn threads_make_the_same_bytes() {
    let folder = Folder::new("threads");
    let file = folder.write("data", &series(500_000));
    let one = b2(&["compress", &file, "-o", "-", "-t", "1"]).ended(0).out;
    let many = b2(&["compress", &file, "-o", "-", "-t", "7"]).ended(0).out;
    assert!(
        one[..63] == many[..63] && one[68..] == many[68..],
        "but for the number of threads"
    );
}

#[test]
fn the_size_of_items_is_chosen_by_samples() {
    let folder = Folder::new("typesize");
    let frame = folder.path("frame");
    let size = |file: &str, more: &[&str]| {
        b2(&[&["compress", file, "-o", &frame, "-f"], more].concat()).ended(0);
        read(&frame).len()
    };
    let numbers = folder.write("numbers", &series(500_000));
    let chosen = size(&numbers, &[]);
    assert!(b2(&["info", &frame]).text().contains("items of 4 bytes"));
    assert_eq!(chosen, size(&numbers, &["--typesize", "4"]));
    let plain = size(&numbers, &["--typesize", "1"]);
    assert!(b2(&["info", &frame]).text().contains("items of 1 byte"));
    assert!(chosen < plain);
    let piped = piped(&["compress", "-", "-o", "-"], Some(&series(500_000))).ended(0);
    assert_eq!(piped.out.len(), chosen);
    // Programs and text do not become larger.
    let text = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
    for file in [env!("CARGO_BIN_EXE_b2"), text] {
        let plain = size(file, &["--typesize", "1"]);
        assert!(size(file, &[]) <= plain + plain / 1000, "{file}");
    }
    // Nor does text whose repetitions are far apart, even if its length is a multiple of a size
    // that is tried.
    for len in (12_000..12_480).step_by(60) {
        let text = &include_bytes!("commands.rs")[..len];
        let file = folder.write("repeated", &text.repeat(100));
        let plain = size(&file, &["--typesize", "1"]);
        assert!(size(&file, &[]) <= plain + plain / 1000, "{len}");
    }
}

#[test]
fn pipes() {
    let data = series(100_000);
    for data in [&data[..], &[]] {
        let frame = piped(&["compress", "-", "--typesize", "4"], Some(data))
            .ended(0)
            .out;
        let back = piped(&["decompress", "-"], Some(&frame)).ended(0).out;
        assert!(back == data);
        piped(&["verify", "-"], Some(&frame)).ended(0);
        let info = piped(&["info", "-"], Some(&frame)).ended(0).text();
        assert!(info.contains("contiguous frame"), "{info}");
    }
}

#[test]
fn conversions_keep_the_data() {
    let folder = Folder::new("convert");
    let data = series(300_000);
    let file = folder.write("data", &data);
    let frame = folder.path("frame");
    b2(&[
        "compress",
        &file,
        "-o",
        &frame,
        "--typesize",
        "4",
        "--chunks",
        "100K",
    ])
    .ended(0);
    let ways: [&[&str]; 5] = [
        &["--sparse"],
        &["--codec", "zlib", "--level", "1"],
        &["--chunks", "77K", "--codec", "lz4"],
        &["--filters", "none", "--blocks", "4K", "--sparse"],
        &[],
    ];
    for way in ways {
        let (new, again) = (folder.path("new"), folder.path("again"));
        b2(&[&["convert", &frame, &new, "--force"], way].concat()).ended(0);
        b2(&["verify", &new]).ended(0);
        b2(&["convert", &new, &again, "--force", "--contiguous"]).ended(0);
        let back = b2(&["decompress", &again, "-o", "-"]).ended(0).out;
        assert!(back == data, "{way:?}");
    }
    // A copy is as long as the original.
    let copy = b2(&["convert", &frame, "-"]).ended(0).out;
    assert_eq!(copy.len(), read(&frame).len());
}

#[test]
fn blocks_may_be_as_large_as_the_chunks_of_a_frame() {
    let folder = Folder::new("large-blocks");
    let file = folder.write("data", &[7; 9 << 20]);
    let [frame, new] = ["frame", "new"].map(|name| folder.path(name));
    for (chunks, blocks, code) in [
        ("8M", "8M", 0),
        ("8M", "9M", 2),
        ("64K", "64K", 0),
        ("64K", "65K", 2),
    ] {
        let options = format!("--typesize 1 -c lz4 --chunks {chunks}");
        compress(&file, &frame, &options).ended(0);
        b2(&["convert", &frame, &new, "-f", "--blocks", blocks]).ended(code);
    }
}

#[test]
fn files_by_the_reference_are_read() {
    let Some(folder) = fixtures() else { return };
    let table = std::fs::read_to_string(folder.join("EXPECTED.tsv")).expect("the table of digests");
    let mut seen = 0;
    for line in table.lines().skip(1) {
        let [name, how, nbytes, digest] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not four columns: {line}");
        };
        if how.contains("unshuffle") {
            continue;
        }
        let path = folder.join(name);
        let path = path.to_str().expect("a plain name");
        b2(&["verify", "--quiet", path]).ended(0);
        b2(&["info", path]).ended(0);
        let data = b2(&["decompress", "--raw", path, "-o", "-"]).ended(0).out;
        if how.contains("shape=") {
            // The table is about chunks, which pad an array's items and order them in another way.
            assert!(!data.is_empty(), "{name}");
            seen += 1;
            continue;
        }
        assert_eq!(data.len().to_string(), nbytes, "{name}");
        let hash: String = Sha256::digest(&data)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(hash, digest, "{name}");
        seen += 1;
    }
    assert!(seen > 30, "only {seen} fixtures");
}

#[test]
fn info_says_what_is_there() {
    let folder = Folder::new("info");
    let file = folder.write("data", &series(300_000));
    let frame = folder.path("frame.b2frame");
    b2(&[
        "compress",
        &file,
        "-o",
        &frame,
        "--typesize",
        "4",
        "--chunks",
        "64K",
        "--codec",
        "lz4",
    ])
    .ended(0);
    let text = b2(&["info", &frame]).ended(0).text();
    for part in [
        "19 chunks",
        "lz4, level 5",
        "shuffle",
        "items of 4 bytes",
        "65 536",
        "what is left",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let json = b2(&["info", "--json", "--chunks", "4", &frame])
        .ended(0)
        .text();
    for part in [
        "\"nchunks\": 19",
        "\"codec\": \"lz4\"",
        "\"typesize\": 4",
        "\"nbytes\": 1200000",
    ] {
        assert!(json.contains(part), "{part} in {json}");
    }
    assert_eq!(json.matches("\"chunk\":").count(), 4);
    let few = b2(&["info", "--chunks", "4", &frame]).ended(0).text();
    assert!(
        few.contains("\n       18 ") && !few.contains("\n        9 "),
        "{few}"
    );
}

#[test]
fn bench_prints() {
    let folder = Folder::new("bench");
    let file = folder.write("data", &series(50_000));
    let args = [
        "bench",
        &file,
        "--typesize",
        "4",
        "--seconds",
        "0",
        "--sample",
        "100K",
        "--chunk",
        "50K",
    ];
    let text = b2(&args).ended(0).text();
    // At least the first settings are measured, however long that takes.
    for part in ["blosclz", "ratio", "smallest:", "quickest:", "not measured"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let frame = folder.path("frame");
    b2(&["compress", &file, "-o", &frame]).ended(0);
    b2(&["bench", &frame, "--seconds", "0", "--sample", "64K"]).ended(0);
    let empty = folder.write("empty", b"");
    b2(&["bench", &empty]).failed();
    let noise = folder.write("noise", &oxiblosc_testing::noise(100_000));
    let run = b2(&["bench", &noise, "--seconds", "0"]).ended(0).text();
    assert!(run.contains("nothing compresses") && !run.contains("smallest:"));
    // Chunks of different sizes. The first is larger than the sample.
    let original = Original::new(&folder, 4, false, false);
    write_files(Path::new(&frame), &original.files);
    let run = b2(&["bench", &frame, "--seconds", "0", "--sample", "16K"]).ended(0);
    assert!(run.text().starts_with("16.0 KiB of "), "{}", run.text());
}

#[test]
fn help_completions_and_manual() {
    for command in [
        "info",
        "verify",
        "repair",
        "compress",
        "decompress",
        "convert",
        "bench",
        "completions",
    ] {
        let help = b2(&[command, "--help"]).ended(0).text();
        assert!(
            help.contains("Example") && help.contains("b2 "),
            "{command}: {help}"
        );
    }
    for (shell, part) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef b2"),
        ("fish", "complete -c b2"),
    ] {
        let script = b2(&["completions", shell]).ended(0).text();
        assert!(
            script.contains(part) && script.contains("repair"),
            "{shell}"
        );
    }
    let manual = b2(&["manual"]).ended(0).text();
    for part in [".TH b2", "B2 REPAIR", "\\-\\-typesize", "EXIT STATUS"] {
        assert!(manual.contains(part), "{part} in the manual");
    }
}

#[test]
fn errors_are_one_line() {
    let folder = Folder::new("errors");
    let text = folder.write(
        "text",
        b"This is not a frame, but it is long enough to be looked at.",
    );
    let missing = folder.path("missing");
    let taken = folder.write("taken", b"kept");
    let frame = folder.path("frame");
    b2(&["compress", &text, "-o", &frame]).ended(0);
    for command in ["info", "verify", "decompress", "bench"] {
        let run = b2(&[command, &missing]).failed();
        assert!(run.err.contains("no such file"), "{}", run.err);
    }
    b2(&["info", &text]).failed();
    b2(&["verify", &text]).failed();
    b2(&["repair", &text, &folder.path("new")]).failed();
    b2(&["compress", &text, "-o", &taken]).failed();
    b2(&["convert", &frame, &taken]).failed();
    b2(&["decompress", &frame, "-o", &taken]).failed();
    b2(&["repair", &frame, &taken]).failed();
    assert_eq!(read(&taken), b"kept");
    b2(&["compress", &text, "-o", &folder.path("no/such/folder")]).failed();
    b2(&[
        "compress",
        &text,
        "-o",
        &folder.path("x"),
        "--codec",
        "lzma",
    ])
    .failed();
    b2(&[
        "compress",
        &text,
        "-o",
        &folder.path("x"),
        "--filters",
        "shuffle,what",
    ])
    .failed();
    b2(&[
        "compress",
        &text,
        "-o",
        &folder.path("x"),
        "--chunks",
        "many",
    ])
    .failed();
    b2(&[
        "compress",
        &text,
        "-o",
        &folder.path("x"),
        "--threads",
        "1000",
    ])
    .ended(2);
    b2(&["decompress", &folder.path(".")]).failed();
    b2(&["convert", "--sparse", &frame, "-"]).failed();
    b2(&["nonsense"]).ended(2);
    assert!(!std::path::Path::new(&folder.path("x")).exists());
}
