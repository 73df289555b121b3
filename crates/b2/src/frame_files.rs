//! The files of a frame in a directory: which directories hold one and nothing else.

use crate::failure::cause;
use oxiblosc_base::Error;
use oxiblosc_base::system::files::Stat;
use oxiblosc_base::system::folder::Folder;
use oxiblosc_repair::chunk_number;
use std::ffi::CStr;
use std::io;

/// The file with the header in the directory of a frame.
pub const HEADER: &CStr = c"chunks.b2frame";

/// The name of the lock file in the directory of a frame.
const LOCK: &CStr = c".b2lock";

/// Whether a directory may be replaced by a file: it contains a frame and nothing else.
pub fn is_frame(folder: &Folder) -> io::Result<bool> {
    let has_header = folder.stat(HEADER).is_ok_and(Stat::is_file);
    Ok(has_header && has_only_files_of_frame(folder)?)
}

/// Whether a directory may be replaced by another one: it may also be empty.
pub fn is_frame_or_empty(folder: &Folder) -> io::Result<bool> {
    Ok(is_frame(folder)? || every_entry(folder, |_| false)?)
}

/// Whether nothing is in a directory but files of a frame, perhaps not all of them.
pub fn has_only_files_of_frame(folder: &Folder) -> io::Result<bool> {
    every_entry(folder, |name| is_of_frame(folder, name))
}

/// Whether something holds for all entries of a directory.
pub fn every_entry(folder: &Folder, is: impl Fn(&CStr) -> bool) -> io::Result<bool> {
    let mut all = true;
    let listed = folder.each_entry(|name| {
        all &= is(name);
        // The first that it does not hold for ends the search.
        if all { Ok(()) } else { Err(Error::NOT_FOUND) }
    });
    match listed {
        Err(error) if error == Error::MEMORY_ALLOC => Err(io::ErrorKind::OutOfMemory.into()),
        Err(error) if all => Err(cause(error).unwrap_or(io::ErrorKind::Other.into())),
        _ => Ok(all),
    }
}

/// Whether a name in a directory is that of one of the files of a frame.
fn is_of_frame(folder: &Folder, name: &CStr) -> bool {
    let is_known = name == HEADER
        || name == LOCK
        || name.to_str().is_ok_and(|name| chunk_number(name).is_some());
    is_known && folder.stat(name).is_ok_and(Stat::is_file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::as_c;
    use std::fs;

    #[test]
    fn only_frames_are_replaced() {
        let name = format!("oxiblosc-b2-only-frames-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        let frame = folder.join("frame");
        fs::create_dir_all(&frame).expect("made");
        fs::write(frame.join("chunks.b2frame"), b"old").expect("written");
        let opened = || Folder::open(&as_c(&frame).expect("a path")).expect("a directory");
        fs::write(frame.join("0000000A.chunk"), b"").expect("written");
        fs::write(frame.join(".b2lock"), b"").expect("written");
        assert!(is_frame_or_empty(&opened()).expect("there"));
        for name in [
            "notes.txt",
            "0000000A.chunk~",
            "A.chunk",
            "0000000G.chunk",
            ".chunk",
        ] {
            let path = frame.join(name);
            fs::write(&path, b"").expect("written");
            assert!(!is_frame_or_empty(&opened()).expect("there"), "{name}");
            fs::remove_file(&path).expect("removed");
        }
        fs::create_dir(frame.join("0000000B.chunk")).expect("made");
        assert!(!is_frame_or_empty(&opened()).expect("there"));
        fs::remove_dir_all(&folder).expect("removed");
    }
}
