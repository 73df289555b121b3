//! Processes whose threads share a handle each.

use super::*;

/// Opens a locked frame.
fn open_locked(path: *const c_char) -> Result<SharedSchunk, String> {
    let io = io_of(Box::leak(Box::new(blosc2_stdio_params { locking: true })));
    // SAFETY: a path; the parameters stay.
    let opened = unsafe { blosc2_schunk_open_udio(path, &io) };
    if opened.is_null() {
        Err("does not open".into())
    } else {
        Ok(SharedSchunk(opened))
    }
}

/// Reads a chunk until `done`.
fn read_on(shared: SharedSchunk, done: &AtomicBool) -> Result<(), String> {
    while !done.load(Ordering::Relaxed) {
        let items = shared.chunk(0).map_err(|rc| format!("reading: {rc}"))?;
        if items.iter().any(|item| *item != items[0]) {
            return Err("a mixture".into());
        }
    }
    Ok(())
}

/// Runs `work` beside threads that read.
fn beside_readers(
    shared: SharedSchunk,
    readers: usize,
    work: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let done = &done;
        let readers: Vec<_> = (0..readers)
            .map(|_| scope.spawn(move || read_on(shared, done)))
            .collect();
        let worked = work();
        done.store(true, Ordering::Relaxed);
        let read: Result<Vec<()>, String> = readers
            .into_iter()
            .map(|reader| reader.join().map_err(|_| "a panic".to_owned())?)
            .collect();
        worked.and(read.map(drop))
    })
}

#[test]
fn processes_with_readers_of_their_own_lose_no_append() {
    oxiblosc_testing::own_process!();
    let _alone = alone();
    let folder = Folder::new("shared-processes");
    for (name, kept) in [
        ("file", Kept::InFile { locked: true }),
        ("directory", Kept::InDirectory { locked: true }),
    ] {
        let folder = folder.0.join(name);
        std::fs::create_dir(&folder).expect("a folder");
        let shared = SharedSchunk::new(kept, &folder, cparams(1), blosc2_dparams::defaults());
        assert!(shared.append(0) > 0);
        shared.free();
        let path = c_path(&folder.join("frame.b2frame"));
        let appends = rounds() as u32;
        let child = || {
            oxiblosc_testing::isolated::start(280, || {
                let shared = open_locked(path.as_ptr())?;
                beside_readers(shared, 3, || {
                    for count in 0..appends {
                        let rc = shared.append(count);
                        if rc < 0 {
                            return Err(format!("append {count}: {rc}"));
                        }
                    }
                    Ok(())
                })?;
                shared.free();
                Ok(())
            })
        };
        let children = [child(), child()];
        for child in children {
            assert_eq!(child.join(), Ok(()), "{name}");
        }
        let shared = open_locked(path.as_ptr()).expect("opens");
        // SAFETY: one field.
        let count = unsafe { (*shared.0).nchunks };
        assert_eq!(count, 2 * i64::from(appends) + 1, "{name}");
        let mut seen = vec![0; appends as usize];
        for nchunk in 1..count {
            let value = uniform(&shared.chunk(nchunk as usize).expect("reads"), "chunk");
            seen[value as usize] += 1;
        }
        assert!(seen.iter().all(|count| *count == 2), "{name}");
        shared.free();
    }
}

#[test]
fn readers_that_overlap_for_ever_starve_no_writer() {
    oxiblosc_testing::own_process!();
    let _alone = alone();
    let folder = Folder::new("shared-starving");
    let kept = Kept::InFile { locked: true };
    let shared = SharedSchunk::new(kept, &folder.0, cparams(1), blosc2_dparams::defaults());
    assert!(shared.append(0) > 0);
    shared.free();
    let path = c_path(&folder.0.join("frame.b2frame"));
    let stop = folder.0.join("stop");
    // Two processes, each with four threads that read until the writer has done its work.
    let child = || {
        oxiblosc_testing::isolated::start(280, || {
            let shared = open_locked(path.as_ptr())?;
            beside_readers(shared, 4, || {
                while !stop.exists() {
                    thread::sleep(std::time::Duration::from_millis(5));
                }
                Ok(())
            })?;
            shared.free();
            Ok(())
        })
    };
    let children = [child(), child()];
    let shared = open_locked(path.as_ptr()).expect("opens");
    for round in 1..=rounds() as u32 {
        assert_eq!(shared.set(0, ITEMS, round), 0);
    }
    std::fs::write(&stop, "").expect("writes");
    for child in children {
        assert_eq!(child.join(), Ok(()));
    }
    shared.free();
}
