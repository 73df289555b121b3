//! Threads that read while others change.

use super::*;

#[test]
fn readers_see_the_states_before_and_after_changes_and_no_mixture() {
    let _alone = alone();
    let folder = Folder::new("shared-states");
    for kept in STORAGES {
        let _ = std::fs::remove_dir_all(folder.0.join("frame.b2frame"));
        let _ = std::fs::remove_file(folder.0.join("frame.b2frame"));
        let mut dparams = blosc2_dparams::defaults();
        dparams.nthreads = 2;
        let shared = SharedSchunk::new(kept, &folder.0, cparams(2), dparams);
        for _ in 0..CHUNKS {
            assert!(shared.append(0) > 0);
        }
        assert!(shared.vlmeta_set(c"value", 0) >= 0);
        let (done, looks) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            let readers: Vec<_> = (0..4)
                .map(|reader| {
                    let (done, looks) = (&done, &looks);
                    scope.spawn(move || {
                        let shared = shared;
                        let mut last = [0; 2];
                        for turn in reader.. {
                            if done.load(Ordering::Relaxed) {
                                break;
                            }
                            let value = look(shared, turn);
                            let last = &mut last[usize::from(turn % 5 == 4)];
                            assert!(value >= *last, "{kept:?}: {value} after {last}");
                            *last = value;
                            looks.fetch_add(1, Ordering::Relaxed);
                        }
                    })
                })
                .collect();
            // On a busy machine the first reader may begin late.
            let wanted = |round: &u32| {
                let waits = looks.load(Ordering::Relaxed) == 0;
                *round <= rounds() as u32 || waits && !readers.iter().any(|r| r.is_finished())
            };
            for round in (1..).take_while(wanted) {
                assert_eq!(shared.set(0, CHUNKS * ITEMS, round), 0, "{kept:?}");
                assert!(shared.vlmeta_set(c"value", round) >= 0);
                assert_eq!(shared.append(round), CHUNKS as i64 + 1);
                if round % 3 == 0 {
                    let mut order: Vec<i64> = (0..=CHUNKS as i64).rev().collect();
                    // SAFETY: as many as there are chunks.
                    let rc = unsafe { blosc2_schunk_reorder_offsets(shared.0, order.as_mut_ptr()) };
                    assert_eq!(rc, 0);
                }
                // SAFETY: the chunk is there.
                let left = unsafe { blosc2_schunk_delete_chunk(shared.0, CHUNKS as i64) };
                assert_eq!(left, CHUNKS as i64, "{kept:?}");
            }
            done.store(true, Ordering::Relaxed);
            for reader in readers {
                reader.join().expect("a reader that found nothing wrong");
            }
        });
        assert!(looks.into_inner() > 0);
        shared.free();
    }
}
