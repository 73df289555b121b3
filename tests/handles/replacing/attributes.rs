//! Extended attributes of files, and access control lists among them.

use oxiblosc_testing::b2nd::c_path;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::path::Path;
use std::ptr::null_mut;

pub const LIST: &CStr = c"system.posix_acl_access";
/// What a folder gives to new files.
pub const DEFAULT_LIST: &CStr = c"system.posix_acl_default";

/// An access control list: another user may do everything, the group nothing. The mode then says
/// that the group may, too.
pub fn for_a_user() -> Vec<u8> {
    let owner = [1u16, 7, 0xffff, 0xffff];
    let named = [2, 7, 1000, 0];
    let group = [4, 0, 0xffff, 0xffff];
    let mask = [16, 7, 0xffff, 0xffff];
    let others = [32, 0, 0xffff, 0xffff];
    let entries = [owner, named, group, mask, others];
    let words = [2, 0].into_iter().chain(entries.into_iter().flatten());
    words.flat_map(u16::to_le_bytes).collect()
}

/// Where the system refuses it, nothing is tested.
pub fn set(path: &Path, name: &CStr, value: &[u8]) {
    let from = value.as_ptr().cast();
    let path = c_path(path);
    // SAFETY: two C strings, and as many bytes as is said.
    let rc = unsafe { libc::lsetxattr(path.as_ptr(), name.as_ptr(), from, value.len(), 0) };
    let error = std::io::Error::last_os_error();
    assert_eq!(rc, 0, "no attributes in {path:?}: {error}");
}

/// What `get` fills in, if it does.
fn read(get: impl Fn(*mut libc::c_void, usize) -> libc::ssize_t) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(get(null_mut(), 0)).ok()?];
    let len = get(bytes.as_mut_ptr().cast(), bytes.len());
    bytes.truncate(usize::try_from(len).ok()?);
    Some(bytes)
}

/// Those of a file, links not followed; none where the system has none.
pub fn all(path: &Path) -> BTreeMap<CString, Vec<u8>> {
    let path = c_path(path);
    // SAFETY: a C string, and as much room as is said.
    let names = read(|to, len| unsafe { libc::llistxattr(path.as_ptr(), to.cast(), len) });
    let names = names.unwrap_or_default();
    let value = |name: &CStr| {
        // SAFETY: two C strings, and as much room as is said.
        read(|to, len| unsafe { libc::lgetxattr(path.as_ptr(), name.as_ptr(), to, len) })
    };
    names
        .split_inclusive(|byte| *byte == 0)
        .map(|name| CStr::from_bytes_with_nul(name).expect("a name"))
        .map(|name| (name.to_owned(), value(name).expect("a value")))
        .collect()
}
