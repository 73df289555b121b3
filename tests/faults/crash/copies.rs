//! Frames that are written to files, over others, behind others, and copied: what was there stays
//! until what comes is there as a whole, and once the process has died the same can be made again.

use super::child::{Act, End, counted, start, with_shim};
use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::isolated::isolated;
use oxiblosc_testing::report::Report;
use oxiblosc_testing::schunk::{SchunkLib, our_schunks, reference_schunks};
use oxiblosc_testing::schunk_calls::Schunk;
use oxiblosc_testing::schunk_state::{State, read};
use oxiblosc_testing::test_name;
use std::ffi::c_int;
use std::path::{Path, PathBuf};

const CHUNK: usize = 4000;

/// What is at the path after a death, beside what a finished copy leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// The frame that was there before.
    Old,
    /// Nothing.
    Nothing,
}

/// Something that is made of a frame at a path; gives an error code, or where in the file it
/// begins.
struct Making {
    name: &'static str,
    left: Left,
    /// Whether the frame that was there stays in front.
    appends: bool,
    /// Whether the frame that it is made of lies on a disk.
    from_disk: bool,
    make: fn(&Schunk, &Path) -> i64,
}

static MAKINGS: [Making; 10] = [
    making("to_file", Left::Nothing, false, |s, to| s.to_file(to)),
    making("to_file over a frame", Left::Old, false, |s, to| {
        s.to_file(to)
    }),
    making("append_file", Left::Nothing, true, |s, to| {
        s.append_file(to)
    }),
    making("append_file behind a frame", Left::Old, true, |s, to| {
        s.append_file(to)
    }),
    making("copy to a file", Left::Nothing, false, |s, to| {
        copied(s, true, to)
    }),
    making("copy to a directory", Left::Nothing, false, |s, to| {
        copied(s, false, to)
    }),
    making("to_file", Left::Nothing, false, |s, to| s.to_file(to)).of_a_frame_on_disk(),
    making("append_file", Left::Nothing, true, |s, to| {
        s.append_file(to)
    })
    .of_a_frame_on_disk(),
    making("copy to a file", Left::Nothing, false, |s, to| {
        copied(s, true, to)
    })
    .of_a_frame_on_disk(),
    making("copy to a directory", Left::Nothing, false, |s, to| {
        copied(s, false, to)
    })
    .of_a_frame_on_disk(),
];

impl Making {
    const fn of_a_frame_on_disk(self) -> Self {
        Self {
            from_disk: true,
            ..self
        }
    }

    /// What is copied: in memory, or in a folder beside that of `path`.
    fn source(&self, lib: &'static SchunkLib, path: &Path) -> Schunk {
        if !self.from_disk {
            return source(lib);
        }
        let folder = path.parent().and_then(Path::parent).expect("a folder");
        let path = folder.join("source");
        lib.open_path(&path)
            .unwrap_or_else(|| frame(lib, Some(&path), 3))
    }
}

const fn making(
    name: &'static str,
    left: Left,
    appends: bool,
    make: fn(&Schunk, &Path) -> i64,
) -> Making {
    Making {
        name,
        left,
        appends,
        from_disk: false,
        make,
    }
}

fn copied(s: &Schunk, contiguous: bool, to: &Path) -> i64 {
    match s.copy(contiguous, Some(to), None) {
        Some(_) => 0,
        None => -1,
    }
}

/// A frame of so many chunks.
fn frame(lib: &'static SchunkLib, path: Option<&Path>, chunks: u64) -> Schunk {
    let cparams = blosc2_cparams {
        typesize: 8,
        ..blosc2_cparams::defaults()
    };
    let s = lib.create(true, path, &cparams, 1, None).expect("a frame");
    assert!(s.meta_add(c"fixed", b"content") >= 0);
    for seed in 0..chunks {
        let rc = s.append_buffer(&Kind::Random.bytes(CHUNK, seed), CHUNK as i32);
        assert!(rc >= 0, "{rc}");
    }
    assert!(s.vlmeta_add(c"variable", &Kind::Random.bytes(700, chunks)) >= 0);
    s
}

/// What is copied.
fn source(lib: &'static SchunkLib) -> Schunk {
    frame(lib, None, 3)
}

/// What was there before.
fn old(lib: &'static SchunkLib, path: Option<&Path>) -> Schunk {
    frame(lib, path, 2)
}

/// In a child: makes it, and dies where it is told to.
fn make(making: &Making, at: usize, act: Act, path: &Path) -> Result<(c_int, c_int), String> {
    let source = making.source(our_schunks(), path);
    let (rc, calls) = counted((at, act), path, |_| (making.make)(&source, path))?;
    match rc {
        0.. => Ok((calls, calls)),
        rc => Err(format!("returns {rc}")),
    }
}

struct Case {
    making: &'static Making,
    libs: Vec<&'static SchunkLib>,
    path: PathBuf,
    old: State,
    new: State,
}

impl Case {
    fn clear(&self) {
        let folder = self.path.parent().expect("a folder");
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).expect("a folder");
        if self.making.left == Left::Old {
            drop(old(self.libs[0], Some(&self.path)));
        }
    }

    fn start(&self, act: Act, at: usize) -> End {
        self.clear();
        start(|| make(self.making, at, act, &self.path))
    }

    /// What the libraries find at the path, or behind another frame.
    fn seen(&self, offset: i64) -> Result<Option<State>, String> {
        let open = |lib: &&'static SchunkLib| lib.open_at(&self.path, offset).map(|s| read(&s));
        let mut states: Vec<_> = self.libs.iter().map(open).collect();
        match states.windows(2).all(|pair| pair[0] == pair[1]) {
            true => Ok(states.swap_remove(0)),
            false => Err("the libraries see different things".into()),
        }
    }

    /// After a death: what is there is what may be there.
    fn look(&self) -> Result<(), String> {
        let seen = self.seen(0)?;
        let is_first = self.making.left == Left::Old && self.making.appends;
        let fine = match (&seen, self.making.left) {
            (None, left) => left != Left::Old,
            (Some(seen), Left::Old) if *seen == self.old => true,
            (Some(_), Left::Old) if is_first => false,
            (Some(seen), _) => *seen == self.new,
        };
        match fine {
            true => Ok(()),
            false => Err(format!("what is there is another: {seen:.200?}")),
        }
    }

    /// It can be made again, unless all of it is there.
    fn again(&self) -> Result<(), String> {
        if self.making.left == Left::Nothing && !self.making.appends && self.path.exists() {
            return Ok(());
        }
        let source = self.making.source(self.libs[0], &self.path);
        let rc = (self.making.make)(&source, &self.path);
        if rc < 0 {
            return Err(format!("made again it returns {rc}"));
        }
        let offset = if self.making.appends { rc } else { 0 };
        if self.seen(offset)?.as_ref() != Some(&self.new) {
            return Err("made again it is another".into());
        }
        match self.making.left == Left::Old && self.making.appends {
            true => self.look(),
            false => Ok(()),
        }
    }

    fn run(&self, report: &mut Report) {
        let name = self.making.name;
        let calls = match self.start(Act::Count, 0) {
            End::Made(calls, _) => calls,
            end => return report.fail("a copy", format!("{name}: {end:?}")),
        };
        report.check(calls > 0, "no call", || name.to_owned());
        for at in 1..=calls {
            for act in [Act::Die, Act::DieHalf] {
                report.case();
                let which =
                    |wrong: &str| format!("{name}, {act:?} at call {at} of {calls}: {wrong}");
                let end = self.start(act, at);
                if end != End::Died {
                    report.fail("a process that should die", which(&format!("{end:?}")));
                } else if let Err(wrong) = isolated(60, || self.look().and_then(|()| self.again()))
                {
                    report.fail("lost", which(&wrong));
                }
            }
        }
    }
}

#[test]
fn every_call_of_every_copy() {
    with_shim(test_name!(), sweep);
}

fn sweep(folder: &Path) {
    let lib = our_schunks();
    let mut report = Report::default();
    for making in &MAKINGS {
        let case = Case {
            making,
            libs: [Some(lib), reference_schunks()]
                .into_iter()
                .flatten()
                .collect(),
            path: folder.join("work/frame"),
            old: read(&old(lib, None)),
            new: read(&source(lib)),
        };
        case.run(&mut report);
    }
    report.finish("copies cut short");
}
