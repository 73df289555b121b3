//! Changes of all kinds in one transaction.

use super::{CHUNK, Change, ITEMS, Start, WIDE, append, change, chunk, data, on_array, widen};
use oxiblosc_testing::schunk_calls::Schunk;

/// The first code that is an error, or the last one.
fn all(codes: &[i64]) -> i64 {
    let failed = codes.iter().find(|rc| **rc < 0);
    *failed.or(codes.last()).expect("some changes")
}

/// What one metalayer and another one become.
fn metalayers(s: &Schunk) -> i64 {
    all(&[
        s.vlmeta_update(c"first", &data(6, 900)),
        s.vlmeta_add(c"in a transaction", b"content"),
    ])
}

/// Ten transactions. A list of codes is made in its order.
pub const TRANSACTIONS: [Change; 10] = [
    change("transaction: chunks come and go", Start::Full, |s| {
        s.together(|| {
            all(&[
                append(s, 10, CHUNK),
                s.append_chunk(&chunk(s, 0, CHUNK), true),
                s.insert_chunk(1, &chunk(s, 11, CHUNK), true),
                s.delete_chunk(0),
                s.delete_chunk(4),
            ])
        })
    }),
    change("transaction: all that stays in place", Start::Full, |s| {
        s.together(|| {
            all(&[
                s.update_chunk(1, &chunk(s, 9, CHUNK), true),
                s.update_chunk(3, &chunk(s, 15, CHUNK), true),
                s.update_chunk(0, &chunk(s, 0, CHUNK), true),
                s.set_slice(2 * ITEMS - 9, 2 * ITEMS + 9, &data(20, 18 * 8)),
                s.meta_update(c"fixed", b"TWENTY BYTES CONTENT"),
                metalayers(s),
            ])
        })
    }),
    change("transaction: another order", Start::Full, |s| {
        s.together(|| {
            all(&[
                s.reorder(&[4, 2, 0, 3, 1, 5]),
                s.delete_chunk(2),
                s.vlmeta_delete(c"second"),
                append(s, 12, CHUNK),
                s.reorder(&[5, 4, 3, 2, 1, 0]),
            ])
        })
    }),
    change("transaction: chunks of other sizes", Start::Short, |s| {
        s.together(|| {
            all(&[
                s.append_chunk(&chunk(s, 13, CHUNK), true),
                s.append_chunk(&chunk(s, 11, 2 * CHUNK), true),
                s.insert_chunk(1, &chunk(s, 12, CHUNK), true),
                metalayers(s),
                s.update_chunk(2, &chunk(s, 9, CHUNK / 4), true),
            ])
        })
    }),
    change("transaction: all of a frame", Start::Empty, |s| {
        s.together(|| {
            all(&[
                s.meta_add(c"fixed", b"content"),
                append(s, 1, CHUNK),
                append(s, 2, CHUNK),
                s.vlmeta_add(c"variable", &data(3, 500)),
            ])
        })
    }),
    change("transaction: zeros and then some", Start::Empty, |s| {
        s.together(|| {
            all(&[
                s.fill_special(10 * ITEMS, 1, CHUNK as i32),
                s.meta_add(c"fixed", b"content"),
                s.set_slice(700, 1700, &data(21, 8000)),
            ])
        })
    }),
    change("transaction: some of many", Start::Many, |s| {
        s.together(|| {
            let at = [3, 77, 150, 298];
            let updates = at.map(|at| s.update_chunk(at, &chunk(s, 15, 64), true));
            let deletions = at.map(|at| s.delete_chunk(at - 3));
            all(&[
                all(&updates),
                all(&deletions),
                s.insert_chunk(100, &chunk(s, 12, 64), true),
                s.vlmeta_update(c"only", b"other"),
            ])
        })
    }),
    change("transaction: slices of many blocks", Start::Wide, |s| {
        s.together(|| {
            let items = (WIDE / 8) as i64;
            all(&[
                widen(s, 2000),
                s.set_slice(items - 40, items + 40, &data(20, 80 * 8)),
                s.set_slice(items - 10, items, &data(21, 80)),
                append(s, 9, WIDE),
            ])
        })
    }),
    change("transaction: an array grows", Start::Array, |s| {
        s.together(|| {
            all(&[
                on_array(s, |a| a.resize(&[70, 90], None)),
                on_array(s, |a| {
                    a.set(&[40, 55], &[65, 85], &[25, 30], &data(3, 25 * 30 * 8))
                }),
                on_array(s, |a| a.append(0, &data(6, 13 * 90 * 8))),
                s.vlmeta_add(c"variable", &data(4, 700)),
            ])
        })
    }),
    change("transaction: an array is cut", Start::Array, |s| {
        s.together(|| {
            let lists = [vec![1, 20], vec![59, 3, 26]];
            all(&[
                on_array(s, |a| a.resize(&[35, 60], None)),
                on_array(s, |a| a.insert(1, 25, &data(6, 35 * 25 * 8))),
                on_array(s, |a| a.set_picked(&lists, &data(4, 6 * 8))),
                on_array(s, |a| a.delete(1, 50, 25)),
            ])
        })
    }),
];
