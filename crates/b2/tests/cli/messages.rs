//! What the tool says when it cannot do something: what, why, and what to do; and the exit code
//! tells damage (1) from all else (2).

use crate::archives::archive;
use crate::support::{Folder, Run, b2, compress, npy, read, series};

/// Commands that need all of a frame.
fn commands(frame: &str, to: &str) -> [Run; 4] {
    let _ = std::fs::remove_file(to);
    [
        b2(&["verify", frame]),
        b2(&["decompress", frame, "-o", to, "-f", "--raw"]),
        b2(&["convert", frame, to, "-f", "-c", "lz4", "-l", "3"]),
        b2(&["bench", frame, "--seconds", "0", "--sample", "64K"]),
    ]
}

/// Files in an archive, by their names.
type Files<'a> = &'a [(&'a str, &'a [u8])];

#[test]
fn archives_of_others_are_no_stores() {
    let folder = Folder::new("zips");
    let items = npy("<i4", false, "(10,)", &series(10));
    let frame = folder.path("frame.b2nd");
    b2(&["compress", &folder.write("a.npy", &items), "-o", &frame]).ended(0);
    let frame = read(&frame);
    let others: [(&str, Files); 4] = [
        ("arrays.npz", &[("a.npy", &items), ("b.npy", &items)]),
        (
            "package.whl",
            &[("package/__init__.py", b"pass"), ("RECORD", b"")],
        ),
        ("document.zip", &[("text.txt", b"text")]),
        ("nothing.zip", &[]),
    ];
    for (name, files) in others {
        let file = folder.write(name, &archive(files));
        for run in commands(&file, &folder.path("to"))
            .into_iter()
            .chain([b2(&["info", &file])])
        {
            let run = run.reported().ended(2);
            assert!(
                run.err.contains("zip archive") && run.err.contains(name),
                "{}",
                run.err
            );
            assert!(!run.err.contains("damaged"), "{}", run.err);
        }
    }
    // Frames in any archive can be listed and taken out.
    let file = folder.write(
        "frames.zip",
        &archive(&[("one.b2nd", &frame), ("text.txt", b"text")]),
    );
    b2(&["verify", &file]).ended(0);
    b2(&["info", &file]).ended(0);
    let to = folder.path("taken.npy");
    b2(&["decompress", &file, "--key", "/one", "-o", &to]).ended(0);
    // A store by its name has to be one.
    let file = folder.write("broken.b2z", &archive(&[("text.txt", b"text")]));
    b2(&["verify", &file]).ended(1);
}

/// The fields of a chunk's header that name its codec and its filters, as the format's
/// specification places them.
const FLAGS: usize = 2;
const FILTERS: usize = 16;
const CODEC: usize = 22;

#[test]
fn what_is_missing_here_is_no_damage() {
    let folder = Folder::new("missing");
    let data = folder.write("data", &series(30_000));
    let (frame, to) = (folder.path("frame"), folder.path("to"));
    compress(&data, &frame, "--codec lz4 --typesize 4 --chunks 40K").ended(0);
    let good = read(&frame);
    let header_len = u32::from_be_bytes([good[11], good[12], good[13], good[14]]) as usize;
    let mut kinds = Vec::new();
    for (what, change) in [
        (
            "codec",
            &(|bytes: &mut [u8]| {
                // The codecs of plugins have the number 6 there, and their own in a field of its
                // own.
                bytes[FLAGS] = bytes[FLAGS] & 0x1f | 6 << 5;
                bytes[CODEC] = 36;
            }) as &dyn Fn(&mut [u8]),
        ),
        ("filter", &|bytes: &mut [u8]| bytes[FILTERS + 4] = 160),
    ] {
        let mut bytes = good.clone();
        change(&mut bytes[header_len..]);
        let changed = folder.write("changed", &bytes);
        for run in commands(&changed, &to) {
            let said = run.text() + &run.err;
            assert_eq!(run.code, Some(2), "{what}: {said}");
            let expected = format!("needs a {what} that b2 does not have");
            assert!(said.contains(&expected), "{said}");
            assert!(!said.contains("damaged"), "{said}");
            kinds.push(what);
        }
    }
    assert_eq!(kinds.len(), 8);
}

#[test]
fn a_cut_frame_is_said_to_be_cut() {
    let folder = Folder::new("cut");
    let data = folder.write("data", &series(30_000));
    let (frame, to) = (folder.path("frame"), folder.path("to"));
    for options in ["", "--checksum", "--sparse"] {
        compress(
            &data,
            &frame,
            &format!("--codec lz4 --typesize 4 --chunks 40K {options}"),
        )
        .ended(0);
        let header = match options {
            "--sparse" => format!("{frame}/chunks.b2frame"),
            _ => frame.clone(),
        };
        let good = read(&header);
        let cuts = (1..good.len()).step_by(good.len() / 13);
        for len in cuts
            .chain([20, 86, 87, good.len() - 1])
            .filter(|len| *len < good.len())
        {
            std::fs::write(&header, &good[..len]).expect("written");
            let runs = commands(&frame, &to)
                .into_iter()
                .chain([b2(&["info", &frame])]);
            for run in runs {
                let said = run.text() + &run.err;
                // Of the first bytes nobody can tell that they were a frame, and any bytes can be
                // tried by `bench`.
                if len >= 12 {
                    assert_eq!(run.code, Some(1), "{options}, {len}: {said}");
                    let is_told = said.contains("is cut short") && said.contains(&len.to_string());
                    assert!(is_told, "{options}, {len}: {said}");
                    assert!(said.contains("b2 repair"), "{said}");
                } else if run.code != Some(0) {
                    run.reported();
                }
            }
        }
        std::fs::write(&header, &good).expect("written");
    }
}

/// Every filter, with parameters in and out of what it takes, on items of every size: it works, or
/// the message names the filter and says what it takes.
#[test]
fn a_filter_says_what_it_takes() {
    let folder = Folder::new("filters");
    let data = folder.write("data", &series(6_000));
    let to = folder.path("to");
    let filters = [
        "shuffle",
        "bitshuffle",
        "delta",
        "bytedelta",
        "truncprec:1",
        "truncprec:10",
        "truncprec:23",
        "truncprec:24",
        "truncprec:52",
        "truncprec:53",
        "truncprec:-10",
        "inttrunc:1",
        "inttrunc:7",
        "inttrunc:8",
        "inttrunc:31",
        "inttrunc:32",
        "inttrunc:63",
        "inttrunc:64",
        "inttrunc:-3",
        "ndcell:4",
        "ndmean:4",
    ];
    let (mut worked, mut refused) = (0, 0);
    for filter in filters {
        for typesize in ["1", "2", "3", "4", "7", "8", "16", "255"] {
            let args = [
                "compress",
                &data,
                "-o",
                &to,
                "-f",
                "--filters",
                filter,
                "--typesize",
                typesize,
            ];
            let run = b2(&args);
            match run.code {
                Some(0) => worked += 1,
                _ => {
                    let run = run.failed();
                    let name = filter.split(':').next().expect("a name");
                    assert!(run.err.contains(name), "{filter}, {typesize}: {}", run.err);
                    assert!(
                        run.err.contains("take"),
                        "{filter}, {typesize}: {}",
                        run.err
                    );
                    refused += 1;
                }
            }
        }
    }
    assert!(worked > 40 && refused > 40, "{worked}, {refused}");
    // Items of an array have the size that the array says.
    let ints = folder.write("ints.npy", &npy("<i2", false, "(60, 50)", &series(1500)));
    let run = b2(&[
        "compress",
        &ints,
        "-o",
        &to,
        "-f",
        "--filters",
        "truncprec:10",
    ])
    .failed();
    assert!(
        run.err.contains("4 or 8 bytes") && run.err.contains("items of 2"),
        "{}",
        run.err
    );
}

/// What is asked for and cannot be is refused, not left out without a word; and `bench` tries what
/// `compress` would do.
#[test]
fn what_is_asked_for_is_done_or_refused() {
    let folder = Folder::new("asked");
    let numbers: Vec<u8> = (0..20_000u32)
        .flat_map(|n| (f64::from(n) * 0.1).to_le_bytes())
        .collect();
    let data = folder.write("data", &numbers);
    let items_of = |run: Run| {
        let text = run.ended(0).text();
        let rest = text.split("items of ").nth(1).expect("told").to_string();
        rest.split(' ').next().expect("a number").to_string()
    };
    let quick = ["--seconds", "0", "--sample", "64K"];
    let bench = |args: &[&str]| b2(&[&["bench"], args, &quick].concat());
    let compressed = items_of(b2(&["compress", &data, "-o", &folder.path("frame")]));
    assert_eq!(
        (items_of(bench(&[&data])), compressed),
        ("8".into(), "8".into())
    );
    assert_eq!(items_of(bench(&[&data, "--typesize", "2"])), "2");

    let store = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/stores/tree.b2z"
    );
    assert!(bench(&[store]).failed().err.contains("--key"));
    bench(&[store, "--key", "/small"]).ended(0);
    let embedded = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/stores/embed.b2e"
    );
    assert!(bench(&[embedded]).failed().err.contains("--key"));

    let array = folder.write("a.npy", &npy("<i2", false, "(60, 50)", &series(1500)));
    for command in ["compress", "bench"] {
        let run = b2(&[command, &array, "--typesize", "4"]).failed();
        assert!(run.err.contains("2 bytes"), "{}", run.err);
    }
    b2(&["compress", &array, "--typesize", "2"]).ended(0);
    b2(&["compress", &array, "--typesize", "4", "--raw"]).ended(0);

    // A folder is replaced by a file only if it is a frame.
    let empty = folder.path("empty");
    std::fs::create_dir(&empty).expect("made");
    let frame = folder.path("frame");
    for args in [
        &["compress", &data, "-o", &empty, "-f"][..],
        &["decompress", &frame, "-o", &empty, "-f"],
        &["convert", &frame, &empty, "-f"],
        &["repair", &frame, &empty, "-f"],
    ] {
        assert!(b2(args).failed().err.contains("is a directory"), "{args:?}");
        assert_eq!(std::fs::read_dir(&empty).expect("a folder").count(), 0);
    }
}

/// Bash, with the completion of the tool: options for what begins with a dash, files for all else.
#[cfg(unix)]
#[test]
fn bash_completes_names_of_files() {
    let folder = Folder::new("completion");
    let script = folder.write("b2.bash", &b2(&["completions", "bash"]).ended(0).out);
    let offered = |words: &str| {
        let line = format!(
            "source {script}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _b2 b2 \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let run = std::process::Command::new("bash")
            .args(["-c", &line])
            .output();
        let run = run.expect("bash is here");
        assert!(run.status.success(), "{words}: {run:?}");
        String::from_utf8_lossy(&run.stdout).trim().to_string()
    };
    for command in [
        "info",
        "verify",
        "repair",
        "compress",
        "decompress",
        "convert",
        "bench",
    ] {
        // Where nothing is offered, Bash offers files: the script says so.
        for word in ["''", "data"] {
            assert_eq!(
                offered(&format!("b2 {command} {word}")),
                "",
                "{command} {word}"
            );
        }
        assert_eq!(offered(&format!("b2 {command} data ''")), "", "{command}");
        assert!(
            offered(&format!("b2 {command} --he")).contains("--help"),
            "{command}"
        );
    }
    assert!(offered("b2 ''").contains("verify"));
    assert!(offered("b2 completions ''").contains("fish"));
    let script = String::from_utf8(read(&script)).expect("text");
    assert!(script.contains("-o default"), "{script}");
}
