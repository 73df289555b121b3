//! The reference library's filters, and test parameters, for the tests of the kernels.

use libloading::Library;
use std::sync::OnceLock;

/// `blosc2_shuffle` and its like: type size, bytes, source, destination.
type Filter = unsafe extern "C" fn(i32, i32, *const u8, *mut u8) -> i32;

/// The largest type size that the reference's functions accept.
pub(super) const MAX_TYPESIZE: usize = 256;

/// The reference library, if it is available.
fn library() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let path = oxiblosc_testing::needs::reference_path()?;
    // SAFETY: loading the reference library runs its initialisers, which have no preconditions.
    let load = || unsafe { Library::new(path) }.expect("the reference library loads");
    Some(LIBRARY.get_or_init(load))
}

/// The result of the reference's function `name` for `src`; `None` if there is no reference
/// library.
pub(super) fn filter(name: &str, typesize: usize, src: &[u8]) -> Option<Vec<u8>> {
    let library = library()?;
    let mut dst = vec![0; src.len()];
    let (typesize, len) = (typesize as i32, src.len() as i32);
    // SAFETY: the four functions called have this signature, and read and write `len` bytes.
    let rc = unsafe {
        let filter = library.get::<Filter>(name.as_bytes()).expect(name);
        filter(typesize, len, src.as_ptr(), dst.as_mut_ptr())
    };
    assert_eq!(rc, len, "{name}");
    Some(dst)
}

/// The type sizes that every kernel is tested with.
pub(super) fn typesizes() -> impl Iterator<Item = usize> {
    (1..=64).chain([100, 255, 300])
}

/// Lengths around those at which kernels switch to other code for `typesize`, up to a few tiles of
/// the widest vector.
pub(super) fn lengths(typesize: usize) -> impl Iterator<Item = usize> {
    let edges = [
        8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 136, 200,
    ];
    let elements = edges
        .into_iter()
        .chain([256, 264, 272, 511, 512, 513, 520, 1024, 1032]);
    (0..=200).chain(elements.flat_map(move |n| {
        let bytes = n * typesize;
        [bytes - 1, bytes, bytes + 1, bytes + typesize / 2]
    }))
}
