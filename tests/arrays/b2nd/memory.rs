//! How much memory is used, and what chunks depend on.

use super::*;
use oxiblosc_testing::memory_use::status;

/// Chunks that lie together in the buffer, row by row or block by block, are compressed from there;
/// those of a selection that goes backwards are put together first.
#[test]
fn chunks_do_not_depend_on_how_their_data_lie_in_the_buffer() {
    oxiblosc_testing::own_process!();
    let lib = our_arrays();
    let mut rng = Rng(7);
    let noise: Vec<u8> = (0..96 * 40 * 4).map(|_| rng.next() as u8).collect();
    let kinds = [
        vec![0; noise.len()],
        vec![9; noise.len()],
        counted(noise.len()),
        noise,
    ];
    let cuts: [(&[i64], &[i32], &[i32]); 5] = [
        (&[3840], &[1920], &[480]),
        (&[3840], &[1000], &[250]),
        (&[96, 40], &[96, 40], &[8, 40]),
        (&[96, 40], &[32, 40], &[8, 20]),
        (&[96, 40], &[50, 40], &[8, 40]),
    ];
    for data in &kinds {
        for (shape, chunks, blocks) in cuts {
            let spec = spec(shape, chunks, blocks, 4);
            let forwards = lib.array_of(&spec, data).unwrap();
            let backwards = lib.array_of(&spec, &vec![77; data.len()]).unwrap();
            let lists: Vec<Vec<i64>> = shape.iter().map(|len| (0..*len).rev().collect()).collect();
            let items: Vec<u8> = data.chunks_exact(4).rev().flatten().copied().collect();
            assert_eq!(backwards.set_picked(&lists, &items), 0);
            assert_eq!(forwards.to_buffer().unwrap(), *data);
            assert!(
                forwards.to_frame() == backwards.to_frame(),
                "{shape:?} {chunks:?} {blocks:?}"
            );
        }
    }
}

#[test]
fn a_slice_takes_no_more_memory_than_some_blocks() {
    oxiblosc_testing::own_process!();
    const BLOCK: u64 = 10 * 40 * 50 * 8;
    let folder = std::env::temp_dir().join(format!("oxiblosc-slices-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let path = folder.join("array");
    let mut rng = Rng(3);
    let shape = [50, 200, 200];
    let data: Vec<u8> = (0..50 * 200 * 200)
        .flat_map(|i: u64| ((i << 20) | (rng.next() % 4096)).to_le_bytes())
        .collect();
    for nthreads in [1, 2] {
        let spec = Spec {
            nthreads,
            contiguous: true,
            path: Some(c_path(&path)),
            ..spec(&shape, &[50, 200, 100], &[10, 40, 50], 8)
        };
        let _ = std::fs::remove_file(&path);
        let read = isolated(60, || {
            let array = our_arrays().array_of(&spec, &data);
            let array = array.map_err(|rc| rc.to_string())?;
            let get = |start: [i64; 3], stop: [i64; 3], buffer: &mut [u8]| {
                let shape = [0, 1, 2].map(|d| stop[d] - start[d]);
                match array.get(&start, &stop, &shape, buffer) {
                    0 => Ok(()),
                    rc => Err(format!("{start:?} to {stop:?}: {rc}")),
                }
            };
            let mut buffer = vec![1; data.len()];
            // Threads, and what they keep, are there afterwards.
            get([0, 0, 0], [50, 200, 1], &mut buffer)?;
            limit_memory(status("VmSize") as u64 + nthreads as u64 * 4 * BLOCK);
            get([0, 0, 0], shape, &mut buffer)?;
            get([3, 3, 3], [49, 190, 170], &mut buffer)?;
            get([7, 0, 0], [8, 200, 200], &mut buffer)
        });
        assert_eq!(read, Ok(()), "{nthreads} threads");
    }
    std::fs::remove_dir_all(&folder).expect("the test's own folder");
}

#[test]
fn large_items_go_through_a_contiguous_frame() {
    oxiblosc_testing::own_process!();
    let data = counted(7 * 300);
    let array = our_arrays()
        .array_of(&spec(&[7], &[3], &[2], 300), &data)
        .unwrap();
    let frame = array.to_frame().unwrap();
    for copy in [false, true] {
        let again = our_arrays().open_frame(frame.clone(), copy).unwrap();
        assert_eq!(again.to_buffer().unwrap(), data);
    }
}

/// A few bytes may say that an array has millions of chunks: it is changed at the cost of what is
/// there, and what would list the chunks one by one fails where there is no memory for that.
#[test]
fn chunks_without_end_are_not_listed_one_by_one() {
    oxiblosc_testing::own_process!();
    const ITEMS: i64 = 2 * (9 << 20);
    const NO_MEMORY: i32 = -4;
    let done = isolated(60, || {
        // SAFETY: both are those of the call.
        let zeros = |ctx, array| unsafe { (our_arrays().f.b2nd_zeros)(ctx, array) };
        let array = our_arrays().make(&spec(&[ITEMS], &[2], &[2], 8), zeros);
        let array = array.map_err(|rc| rc.to_string())?;
        limit_memory(status("VmSize") as u64 + (64 << 20));
        let items = [1; 16];
        let changes = [
            ("set", array.set(&[6], &[8], &[2], &items), 0),
            ("append", array.append(0, &items), 0),
            ("insert", array.insert(0, 4, &items), NO_MEMORY),
            ("delete", array.delete(0, 4, 2), NO_MEMORY),
            ("grow", array.resize(&[ITEMS + 10], None), 0),
            ("shrink", array.resize(&[ITEMS - 10], None), 0),
            ("picked", array.set_picked(&[vec![5, 9]], &items), 0),
        ];
        match changes.iter().find(|(_, rc, expected)| rc != expected) {
            None => Ok(()),
            Some(wrong) => Err(format!("{wrong:?}")),
        }
    });
    assert_eq!(done, Ok(()));
}
