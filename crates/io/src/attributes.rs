//! Copies the user attributes and the access control list (ACL) of a file to the one that replaces
//! it.

use oxiblosc_base::Result;
use oxiblosc_base::memory::TryVec;
use oxiblosc_base::system::attributes::{self, ACL};
use std::ffi::CStr;
use std::fs::File;
use std::io;

/// How often an attribute is read if it grows between the call that returns its length and the one
/// that reads it.
const TRIES: usize = 4;

/// The prefix of the names of user attributes.
const USER: &[u8] = b"user.";

/// Copies the user attributes of a file to a new one. Those that this process may not read, or the
/// file system does not accept, are left out.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
pub fn copy(old: &File, new: &File) -> Result<()> {
    let names = read(|buffer| attributes::names(old, buffer))?;
    let AttributeValue::Bytes(names) = names else {
        return Ok(());
    };
    let names = names.split_inclusive(|byte| *byte == 0);
    let names = names.filter_map(|name| CStr::from_bytes_with_nul(name).ok());
    for name in names.filter(|name| name.to_bytes().starts_with(USER)) {
        if let AttributeValue::Bytes(value) = read(|buffer| attributes::value(old, name, buffer))? {
            let _ = attributes::set(new, name, &value);
        }
    }
    Ok(())
}

/// The access control list of a file, if it has one; an empty list if it cannot be read.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
pub fn acl(file: &File) -> Result<Option<TryVec<u8>>> {
    Ok(match read(|buffer| attributes::value(file, ACL, buffer))? {
        AttributeValue::Bytes(acl) => Some(acl),
        AttributeValue::Absent => None,
        AttributeValue::Unreadable => Some(TryVec::new()),
    })
}

/// The result of reading an attribute.
enum AttributeValue {
    Bytes(TryVec<u8>),
    Absent,
    Unreadable,
}

/// Reads a value with `get`, which fills a buffer, or returns the length of the value if the buffer
/// is empty.
fn read(get: impl Fn(&mut [u8]) -> io::Result<Option<usize>>) -> Result<AttributeValue> {
    for _ in 0..TRIES {
        let len = match get(&mut []) {
            Ok(Some(len)) => len,
            Ok(None) => return Ok(AttributeValue::Absent),
            Err(_) => return Ok(AttributeValue::Unreadable),
        };
        let mut bytes = TryVec::filled(0, len)?;
        if len == 0 {
            return Ok(AttributeValue::Bytes(bytes));
        }
        match get(&mut bytes) {
            Ok(Some(len)) => {
                bytes.truncate(len);
                return Ok(AttributeValue::Bytes(bytes));
            }
            Ok(None) => return Ok(AttributeValue::Absent),
            Err(error) if attributes::is_too_long(&error) => {}
            Err(_) => return Ok(AttributeValue::Unreadable),
        }
    }
    Ok(AttributeValue::Unreadable)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::file::path;
    use super::super::tests::Folder;
    use super::super::whole;
    use super::*;
    use std::collections::BTreeMap;
    use std::ffi::CString;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    const DEFAULT_ACL: &CStr = c"system.posix_acl_default";
    /// Tags of entries.
    const OWNER: u16 = 1;
    const NAMED: u16 = 2;
    const GROUP: u16 = 4;
    const MASK: u16 = 16;
    const OTHERS: u16 = 32;
    /// Entries that are for no single user have this id.
    const NO_ID: u32 = u32::MAX;

    fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let entry = |(tag, rights, id): &(u16, u16, u32)| {
            [
                &tag.to_le_bytes()[..],
                &rights.to_le_bytes(),
                &id.to_le_bytes(),
            ]
            .concat()
        };
        let entries = entries.iter().flat_map(entry);
        2u32.to_le_bytes().into_iter().chain(entries).collect()
    }

    /// A user may read and write, the group may not.
    fn for_a_user() -> Vec<u8> {
        list(&[
            (OWNER, 6, NO_ID),
            (NAMED, 6, 1000),
            (GROUP, 0, NO_ID),
            (MASK, 6, NO_ID),
            (OTHERS, 0, NO_ID),
        ])
    }

    fn open(name: &CStr) -> File {
        File::open(path(name)).expect("opens")
    }

    /// All attributes that a file has.
    fn all(name: &CStr) -> BTreeMap<CString, Vec<u8>> {
        let file = open(name);
        let Ok(AttributeValue::Bytes(names)) = read(|buffer| attributes::names(&file, buffer))
        else {
            panic!("no names");
        };
        let names = names.split_inclusive(|byte| *byte == 0);
        let value = |name: &CStr| match read(|buffer| attributes::value(&file, name, buffer)) {
            Ok(AttributeValue::Bytes(value)) => value.to_vec(),
            _ => panic!("no value"),
        };
        names
            .map(|name| CStr::from_bytes_with_nul(name).expect("a name"))
            .map(|name| (name.to_owned(), value(name)))
            .collect()
    }

    fn mode(name: &CStr) -> u32 {
        fs::metadata(path(name)).expect("there").mode() & 0o777
    }

    fn file(folder: &Folder, mode: u32) -> CString {
        let name = folder.path("file");
        fs::write(path(&name), "old").expect("writes");
        fs::set_permissions(path(&name), Permissions::from_mode(mode)).expect("a mode");
        name
    }

    #[test]
    fn they_are_kept() {
        let folder = Folder::new("attributes");
        let name = file(&folder, 0o640);
        let set = |name: &CStr, value: &[u8]| {
            attributes::set(&open(&folder.path("file")), name, value).expect("an attribute");
        };
        let replaced = |content: &str| {
            whole::write(&name, content.as_bytes(), false).expect("writes");
            assert_eq!(fs::read_to_string(path(&name)).expect("reads"), content);
            (all(&name), mode(&name))
        };
        assert_eq!(replaced("without any"), (all(&name), 0o640));
        set(c"user.empty", b"");
        set(c"user.short", b"\0value\0");
        set(c"user.long", &[5; 2000]);
        let before = all(&name);
        assert!(before.len() >= 3);
        assert_eq!(replaced("with those of users"), (before, 0o640));
        set(ACL, &for_a_user());
        let before = all(&name);
        assert_eq!(before[ACL], for_a_user());
        // The mode shows the mask.
        assert_eq!(replaced("with a list"), (before, 0o660));
    }

    #[test]
    fn what_a_folder_gives_to_new_files_is_not_for_this_one() {
        let folder = Folder::new("default");
        let name = file(&folder, 0o640);
        attributes::set(&open(&folder.path("")), DEFAULT_ACL, &for_a_user()).expect("a default");
        whole::write(&name, b"new", false).expect("writes");
        assert_eq!((all(&name).get(ACL), mode(&name)), (None, 0o640));
    }

    /// Without the list, the mask would be the group's rights.
    #[test]
    fn a_list_that_cannot_be_given_gives_no_rights() {
        let folder = Folder::new("refused");
        let name = file(&folder, 0o664);
        let old = open(&name);
        let rights = oxiblosc_base::system::files::rights(&old).expect("rights");
        let unknown = list(&[(0x4000, 7, 0)]);
        for mut acl in [Vec::new(), vec![7; 3], unknown] {
            fs::set_permissions(path(&name), Permissions::from_mode(0o664)).expect("a mode");
            let given = oxiblosc_base::system::files::give_rights(&old, &rights, Some(&mut acl));
            given.expect("a mode");
            assert_eq!((all(&name).get(ACL), mode(&name)), (None, 0o600), "{acl:?}");
        }
    }

    #[test]
    fn the_mask_of_a_list_is_limited() {
        let mut acl = for_a_user();
        attributes::limit(&mut acl, 4);
        let limited = [
            (OWNER, 6, NO_ID),
            (NAMED, 6, 1000),
            (GROUP, 0, NO_ID),
            (MASK, 4, NO_ID),
            (OTHERS, 0, NO_ID),
        ];
        assert_eq!(acl, list(&limited));
    }
}
