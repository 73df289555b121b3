//! Ranges of items: the three functions agree with each other, and with the whole chunk.

use super::super::calls::{Decompression, Getitem, decompress, getitem};
use super::{Case, LARGEST, LARGEST_CLAIM};

/// Options, of which two numbers are a range, then a chunk.
pub fn run(data: &[u8]) {
    let case = Case::read(data);
    let chunk = &*case.chunk;
    if case.nbytes() > LARGEST_CLAIM {
        return;
    }
    let typesize = case.header.map_or(1, |header| i32::from(header.typesize));
    let [how, a, b, c, d, e, f] = case.numbers;
    let (start, n) = match how % 4 {
        // Anything.
        0 => (
            i32::from_le_bytes([a, b, c, how]),
            i32::from_le_bytes([d, e, f, how.rotate_left(4)]),
        ),
        // Inside, or nearly.
        _ => {
            let nitems = case.nbytes() as i32 / typesize;
            let start = i32::from_le_bytes([a, b, c, 0]) % (nitems + 1);
            let most = if how % 4 == 1 { 16 } else { nitems - start + 2 };
            (start, i32::from_le_bytes([d, e, f, 0]) % most.max(1))
        }
    };
    let wanted = i64::from(n).saturating_mul(typesize.into());
    let capacity = usize::try_from(wanted).unwrap_or(0);
    let capacity = capacity.min(case.nbytes().min(LARGEST) + 1024);
    // Sometimes there is less room than the range needs.
    let capacity = capacity.saturating_sub(usize::from(how >> 6));
    let mut dest = vec![0x00; capacity].into_boxed_slice();
    let mut other = vec![0xff; capacity].into_boxed_slice();
    let context = Decompression {
        nthreads: 2,
        postfilter: case.postfilter(),
    };
    let code = getitem(Getitem::Plain, chunk, start, n, &mut dest);
    let rc = getitem(Getitem::Context(context), chunk, start, n, &mut other);
    // A postfilter needs whole blocks; without one a part may be read of a block that is damaged
    // elsewhere, but not a part of a repeated value that has another size than an item.
    if context.postfilter {
        assert!(
            code < 0 || rc < 0 || code == rc,
            "plain {code}, with context {rc}"
        );
    } else {
        assert_eq!(code, rc, "plain, with context");
    }
    let same = |other: &[u8]| code < 0 || rc < 0 || !case.writes_all() || *other == *dest;
    assert!(same(&other), "with context");
    if code >= 0 {
        assert_eq!(i64::from(code), wanted);
    }
    if let Some((start, n)) = start.checked_mul(typesize).zip(n.checked_mul(typesize)) {
        let bytes = getitem(Getitem::Bytes(context), chunk, start, n, &mut other);
        let agree = bytes == rc || (bytes < 0 && rc < 0) || start < 0;
        assert!(agree, "items {rc}, bytes {bytes}");
        assert!(same(&other), "in bytes");
    }
    // Anything but whole items is refused or a range of its own.
    getitem(Getitem::Bytes(context), chunk, start, n, &mut other);
    as_in_the_whole(&case, start, code, &dest);
}

/// The items are those that the whole chunk has there.
fn as_in_the_whole(case: &Case, start: i32, code: i32, items: &[u8]) {
    if code <= 0 || case.nbytes() > LARGEST || !case.writes_all() {
        return;
    }
    let mut whole = vec![0; case.nbytes()].into_boxed_slice();
    if decompress(Decompression::on(1), None, &case.chunk, &mut whole) < 0 {
        return;
    }
    let typesize = case.header.map_or(1, |header| usize::from(header.typesize));
    let from = start as usize * typesize;
    assert!(whole[from..from + code as usize] == items[..code as usize]);
}
