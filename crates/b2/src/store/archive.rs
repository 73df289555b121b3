//! The members of a zip archive: where each is, and its checksum.

use super::window::{self, ByteSource};
use crate::failure::{Failure, Result};
use crate::input::Input;
use oxiblosc_error::Error;
use oxiblosc_io::Storage;
use oxiblosc_memory::Shared;
use oxiblosc_system::files::read_exact_at;
use rawzip::{CompressionMethod, Crc32, FileReader, RECOMMENDED_BUFFER_SIZE, ZipArchive};
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that are read at a time.
const PART: usize = 1 << 20;
/// The longest record of the central directory: three fields of 64 KB, and its fixed part.
const MAX_RECORD: usize = 3 * (1 << 16) + 64;

/// A zip archive.
pub struct Archive(Arc<File>);

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

impl ByteSource for Arc<File> {
    fn read(&self, pos: u64, into: &mut [u8]) -> std::result::Result<(), Error> {
        read_exact_at(self, into, pos).map_err(|_| Error::FileRead)
    }
}

impl Archive {
    /// Opens an archive. Returns the files in it, and a message if not all of them could be listed.
    pub fn open(input: &Input) -> Result<(Self, Vec<Entry>, Option<String>)> {
        let file = Arc::new(input.open()?);
        let size = file.metadata()?.len();
        let failed = |error: rawzip::Error| {
            Failure::message(format!("{}: no whole zip archive: {error}", input.name()))
        };
        let mut buffer = vec![0; MAX_RECORD.max(RECOMMENDED_BUFFER_SIZE)];
        let zip = ZipArchive::from_file(file.try_clone()?, &mut buffer).map_err(failed)?;
        let mut records = zip.entries(&mut buffer);
        let mut entries = Vec::new();
        let problem = loop {
            let record = match records.next_entry() {
                Ok(Some(record)) => record,
                Ok(None) if entries_missing(&zip, &entries) => {
                    break Some("the archive lists fewer files than it says".to_string());
                }
                Ok(None) => break None,
                Err(error) => break Some(format!("the archive's list of files: {error}")),
            };
            let name = String::from_utf8_lossy(record.file_path().as_bytes()).into_owned();
            let place = match (record.compression_method(), record.flags().is_encrypted()) {
                (_, true) => Err(Unreadable::Packed("is encrypted")),
                (CompressionMethod::STORE, false) => range(&zip, record.wayfinder(), size),
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
        Ok((Self(file), files, problem))
    }

    /// A range of its bytes as a file.
    pub fn window(&self, range: Range<u64>) -> std::result::Result<Shared<dyn Storage>, Error> {
        window::window(self.0.clone(), range)
    }

    /// The CRC-32 of a range of its bytes.
    pub fn checksum(&self, range: Range<u64>) -> Result<u32> {
        let mut crc = Crc32::new();
        let mut part = vec![0; PART];
        let mut pos = range.start;
        while pos < range.end {
            let len = (range.end - pos).min(PART as u64) as usize;
            read_exact_at(&self.0, &mut part[..len], pos)?;
            crc.update(&part[..len]);
            pos += len as u64;
        }
        Ok(crc.checksum())
    }
}

fn entries_missing(zip: &ZipArchive<FileReader>, entries: &[(bool, Entry)]) -> bool {
    zip.entries_hint() != entries.len() as u64
}

/// The range of a stored file in the archive, which has `size` bytes.
fn range(
    zip: &ZipArchive<FileReader>,
    entry: rawzip::ZipArchiveEntryWayfinder,
    size: u64,
) -> std::result::Result<Range<u64>, Unreadable> {
    let entry = zip.get_entry(entry);
    let (start, end) = entry
        .map_err(|_| Unreadable::Damaged("is not where the archive says"))?
        .compressed_data_range();
    match start <= end && end <= size {
        true => Ok(start..end),
        false => Err(Unreadable::Damaged("is longer than the archive")),
    }
}
