//! Changes of a frame whose file is lost: they are refused, or they are in what the path names, or
//! in a file with another name.

use super::place::{LOSSES, Loss, NAME, STORAGES, Storage};
use oxiblosc_testing::b2nd::Library;
use oxiblosc_testing::folder::{Folder, without_syncs};
use oxiblosc_testing::isolated::isolated;
use oxiblosc_testing::report::Report;
use oxiblosc_testing::schunk_calls::Schunk;
use oxiblosc_testing::schunk_state::read;
use std::fs;
use std::path::Path;

type Change = (&'static str, fn(&Schunk) -> i64);

const CHANGES: [Change; 6] = [
    ("append", |s| s.append_buffer(&[5; 400], 400)),
    ("delete", |s| s.delete_chunk(0)),
    ("reorder", |s| s.reorder(&[1, 0, 2])),
    ("slice", |s| s.set_slice(3, 30, &[7; 108])),
    ("metalayer", |s| s.vlmeta_update(NAME, b"another content")),
    ("new metalayer", |s| s.vlmeta_add(c"new", b"content")),
];

/// Makes the change, and looks whether it is there if the call says so.
fn change(
    lib: Library,
    storage: Storage,
    folder: &Path,
    lose: impl FnOnce(),
    run: fn(&Schunk) -> i64,
) -> Result<(), String> {
    let s = storage.open(lib, folder, "frame").ok_or("does not open")?;
    lose();
    if run(&s) < 0 {
        return Ok(());
    }
    let expected = read(&s);
    drop(s);
    let names = ["frame", "elsewhere"]
        .into_iter()
        .filter(|name| folder.join(name).exists());
    let opened = names.filter_map(|name| storage.open(lib, folder, name));
    match opened.map(|s| read(&s)).any(|found| found == expected) {
        true => Ok(()),
        false => Err("it is acknowledged and lost".into()),
    }
}

/// Whether files are kept open or not.
#[test]
fn a_transaction_whose_file_is_removed_cannot_be_committed() {
    oxiblosc_testing::own_process!();
    let (lib, folder) = (Library::ours(), Folder::new("gone"));
    for storage in STORAGES.into_iter().filter(|storage| !storage.is_map()) {
        for kept in [c"96", c"0"] {
            let own = folder.join(&format!("{storage:?}{kept:?}"));
            let done = isolated(60, || {
                // SAFETY: C strings, and this process has one thread.
                unsafe { libc::setenv(c"BLOSC_MAX_CACHED_READERS".as_ptr(), kept.as_ptr(), 1) };
                fs::create_dir_all(&own).map_err(|error| error.to_string())?;
                storage.make(lib, &own, "frame", 3);
                let s = storage.open(lib, &own, "frame").ok_or("does not open")?;
                let begun = [s.begin(), s.append_buffer(&[5; 400], 400)];
                storage.lose(Loss::Removed, &own.join("frame"), &own);
                match (begun, s.commit(), s.abandon()) {
                    ([0, 4], -15, 0) => Ok(()),
                    codes => Err(format!("{codes:?}")),
                }
            });
            assert_eq!(done, Ok(()), "{storage:?}, {kept:?} kept open");
        }
    }
}

#[test]
fn no_change_is_acknowledged_and_lost() {
    oxiblosc_testing::own_process!();
    let lib = Library::ours();
    let folder = Folder(without_syncs().join(format!("oxiblosc-lost-{}", std::process::id())));
    let mut report = Report::default();
    // What a map of this mode writes is in memory alone.
    for storage in STORAGES
        .into_iter()
        .filter(|storage| *storage != Storage::MapToCopy)
    {
        // With a chunk the frame loses more than the change.
        let losses = LOSSES
            .into_iter()
            .filter(|loss| *loss != Loss::ChunkRemoved);
        let losses = losses.map(Some).chain([None]);
        for (loss, (name, run)) in losses.flat_map(|loss| CHANGES.map(|change| (loss, change))) {
            report.case();
            let done = isolated(60, || {
                let _ = fs::remove_dir_all(&folder.0);
                fs::create_dir_all(&folder.0).map_err(|error| error.to_string())?;
                storage.make(lib, &folder.0, "frame", 3);
                storage.make(lib, &folder.0, "other", 4);
                let path = folder.0.join("frame");
                let lose = || match loss {
                    Some(loss) => _ = storage.lose(loss, &path, &folder.0.join("other")),
                    None => fs::rename(&path, folder.0.join("elsewhere")).expect("renames"),
                };
                change(lib, storage, &folder.0, lose, run)
            });
            report.check(done == Ok(()), "lost", || {
                format!("{storage:?}, {loss:?}, {name}: {done:?}")
            });
        }
    }
    report.finish("changes of lost files");
}
