//! More open frames than the process may have descriptors.

use super::place::Storage;
use oxiblosc_testing::b2nd::Library;
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::isolated::start;
use std::fs;

/// How many files the process may have open: more than this library keeps open between calls,
/// whatever the limit was when it first asked.
const DESCRIPTORS: u64 = 250;
/// How many frames it has.
const FRAMES: usize = 300;

#[test]
fn frames_that_were_changed_keep_no_more_files_open_than_there_may_be() {
    oxiblosc_testing::own_process!();
    let lib = Library::ours();
    let folder = Folder::new("many");
    for storage in [Storage::File, Storage::Directory] {
        let own = folder.join(&format!("{storage:?}"));
        fs::create_dir_all(&own).expect("a folder");
        let child = start(100, || {
            let limit = libc::rlimit {
                rlim_cur: DESCRIPTORS,
                rlim_max: DESCRIPTORS,
            };
            // SAFETY: the call reads the limit.
            if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } != 0 {
                return Err("no limit".into());
            }
            let names: Vec<String> = (0..FRAMES).map(|n| format!("frame{n}")).collect();
            let opened = names.iter().map(|name| {
                storage.make(lib, &own, name, 1);
                let opened = storage.open(lib, &own, name);
                opened.ok_or_else(|| format!("{name} does not open"))
            });
            let frames = opened.collect::<Result<Vec<_>, _>>()?;
            for nchunks in 2..4 {
                for (name, frame) in names.iter().zip(&frames) {
                    let code = frame.append_buffer(&[5; 400], 400);
                    if code != nchunks {
                        return Err(format!("{name} with {nchunks} chunks: {code}"));
                    }
                }
            }
            Ok(())
        });
        assert_eq!(child.join(), Ok(()), "{storage:?}");
    }
}
