//! The members of a zip archive: where each is, and its checksum.

use super::window::{self, ByteSource};
use crate::failure::{Failure, Result};
use crate::faults::Faults;
use crate::input::Input;
use crate::library::zeros;
use oxiblosc::storage::Storage;
use oxiblosc_base::Error;
use oxiblosc_base::memory::Shared;
use oxiblosc_base::system::files::read_exact_at;
use rawzip::{
    CompressionMethod, Crc32, ErrorKind, FileReader, RECOMMENDED_BUFFER_SIZE, ZipArchive,
};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Bytes that are read at a time.
const PART: usize = 1 << 20;
/// The longest record of the central directory: three fields of 64 KB, and its fixed part.
const MAX_RECORD: usize = 3 * (1 << 16) + 64;

/// A zip archive.
pub struct Archive(Arc<ArchiveFile>);

/// Its file.
struct ArchiveFile {
    file: File,
    /// Its name in messages.
    name: String,
    faults: Faults,
}

/// A file in it.
pub struct Entry {
    /// Its name, with slashes.
    pub name: String,
    /// The range of its content in the archive, or why it cannot be read.
    pub place: std::result::Result<Range<u64>, Unreadable>,
    /// The CRC-32 of its content, as the archive says.
    pub crc: u32,
}

/// Why a file in an archive cannot be read.
pub enum Unreadable {
    /// It is compressed or encrypted. python-blosc2 does not read such files either.
    Packed(&'static str),
    /// The archive is damaged.
    Damaged(&'static str),
}

impl ByteSource for Arc<ArchiveFile> {
    fn read(&self, pos: u64, into: &mut [u8]) -> std::result::Result<(), Error> {
        // The ranges lie within the archive, so this is no damage.
        read_exact_at(&self.file, into, pos).map_err(|error| {
            self.faults.note_file(&self.name, &error);
            Error::FILE_READ
        })
    }
}

impl Archive {
    /// Opens an archive. Returns the files in it, and a message if not all of them could be listed.
    pub fn open(input: &Input) -> Result<(Self, Vec<Entry>, Option<String>)> {
        let file = input.open()?;
        let unread = |error: io::Error| Failure::at(input.path(), &error);
        let size = file.metadata().map_err(unread)?.len();
        let failed = |error: rawzip::Error| match cause(&error) {
            Some(cause) => Failure::at(input.path(), cause),
            None => Failure::message(format!("{}: no whole zip archive: {error}", input.name())),
        };
        let mut buffer = zeros(MAX_RECORD.max(RECOMMENDED_BUFFER_SIZE))
            .map_err(|error| input.failure("", error))?;
        let again = file.try_clone().map_err(unread)?;
        let zip = ZipArchive::from_file(again, &mut buffer).map_err(failed)?;
        let mut records = zip.entries(&mut buffer);
        let mut entries = Vec::new();
        let problem = loop {
            let record = match records.next_entry() {
                Ok(Some(record)) => record,
                Ok(None) if entries_missing(&zip, &entries) => {
                    break Some("the archive lists fewer files than it says".to_string());
                }
                Ok(None) => break None,
                Err(error) if cause(&error).is_some() => return Err(failed(error)),
                Err(error) => break Some(format!("the archive's list of files: {error}")),
            };
            let name = String::from_utf8_lossy(record.file_path().as_bytes()).into_owned();
            let place = match (record.compression_method(), record.flags().is_encrypted()) {
                (_, true) => Err(Unreadable::Packed("is encrypted")),
                (CompressionMethod::STORE, false) => match zip.get_entry(record.wayfinder()) {
                    Ok(entry) => within(entry.compressed_data_range(), size),
                    Err(error) if cause(&error).is_some() => return Err(failed(error)),
                    Err(_) => Err(Unreadable::Damaged("is not where the archive says")),
                },
                _ => Err(Unreadable::Packed(
                    "is compressed by zip, so that python-blosc2 cannot read it either: unzip the archive into a directory",
                )),
            };
            let is_dir = record.is_dir();
            let crc = record.crc32();
            entries.push((is_dir, Entry { name, place, crc }));
        };
        let files = entries.into_iter().filter(|(is_dir, _)| !is_dir);
        let files = files.map(|(_, entry)| entry).collect();
        let (name, faults) = (input.name().to_string(), input.faults().clone());
        let file = ArchiveFile { file, name, faults };
        Ok((Self(Arc::new(file)), files, problem))
    }

    /// A range of its bytes as a file.
    pub fn window(&self, range: Range<u64>) -> std::result::Result<Shared<dyn Storage>, Error> {
        window::window(self.0.clone(), range)
    }

    /// The CRC-32 of a range of its bytes.
    pub fn checksum(&self, range: Range<u64>) -> Result<u32> {
        let mut crc = Crc32::new();
        let failed = |error| Failure::of(&self.0.name, error);
        let mut part = zeros(PART).map_err(failed)?;
        let mut pos = range.start;
        while pos < range.end {
            let len = (range.end - pos).min(PART as u64) as usize;
            let read = read_exact_at(&self.0.file, &mut part[..len], pos);
            read.map_err(|error| Failure::at(Path::new(&self.0.name), &error))?;
            crc.update(&part[..len]);
            pos += len as u64;
        }
        Ok(crc.checksum())
    }
}

fn entries_missing(zip: &ZipArchive<FileReader>, entries: &[(bool, Entry)]) -> bool {
    zip.entries_hint() != entries.len() as u64
}

/// The error of the system because of which an archive could not be read; none if the archive is
/// damaged.
fn cause(error: &rawzip::Error) -> Option<&io::Error> {
    match error.kind() {
        ErrorKind::IO(cause) if cause.kind() != io::ErrorKind::UnexpectedEof => Some(cause),
        _ => None,
    }
}

/// The range of a stored file in an archive of `size` bytes.
fn within((start, end): (u64, u64), size: u64) -> std::result::Result<Range<u64>, Unreadable> {
    match start <= end && end <= size {
        true => Ok(start..end),
        false => Err(Unreadable::Damaged("is longer than the archive")),
    }
}
