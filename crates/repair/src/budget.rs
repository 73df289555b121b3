//! Limits how many bytes a search reads.

/// How many bytes may be read for each byte of the file.
const TIMES: u64 = 8;
/// How many bytes may be read besides.
const FREE: u64 = 1 << 20;

/// How many bytes a search may still spend on bytes that look like a chunk but are none, so that
/// the time of a search is proportional to the size of the file.
pub(crate) struct ScanBudget(u64);

impl ScanBudget {
    /// The budget for a file of this many bytes.
    pub fn of(bytes: u64) -> Self {
        Self(bytes.saturating_mul(TIMES).saturating_add(FREE))
    }

    /// Takes `bytes` from the budget. False, and nothing is taken, if there are fewer left.
    pub fn spend(&mut self, bytes: u64) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use crate::contexts::Contexts;
    use crate::files::SystemFiles;
    use crate::index::SalvagedIndex;
    use crate::location::HEADER;
    use crate::rolled_back::RolledBackFile;
    use crate::scan::{header_from, scan};
    use oxiblosc_base::Error;
    use oxiblosc_io::Storage;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A file in memory, and how many bytes of it were read.
    struct Counting(Vec<u8>, AtomicU64);

    impl Storage for Counting {
        fn size(&self) -> Result<u64, Error> {
            Ok(self.0.len() as u64)
        }

        fn read_at(&self, pos: u64, into: &mut [u8]) -> Result<(), Error> {
            let at = pos as usize;
            let bytes = self.0.get(at..at + into.len()).ok_or(Error::FILE_READ)?;
            into.copy_from_slice(bytes);
            self.1.fetch_add(into.len() as u64, Ordering::Relaxed);
            Ok(())
        }

        fn write_at(&self, _: u64, _: &[u8]) -> Result<(), Error> {
            Err(Error::FILE_WRITE)
        }

        fn truncate(&self, _: u64) -> Result<(), Error> {
            Err(Error::FILE_TRUNCATE)
        }

        fn sync(&self) -> Result<(), Error> {
            Ok(())
        }
    }

    /// Bytes of the files.
    const SIZE: usize = 1 << 20;

    /// The header of a chunk: its first four bytes, its sizes, and its kind of special value.
    fn header(prefix: [u8; 4], sizes: [usize; 3], special: u8) -> Vec<u8> {
        let sizes = sizes.map(|size| (size as u32).to_le_bytes()).concat();
        let mut header = [&prefix[..], &sizes].concat();
        header.resize(HEADER - 1, 0);
        header.push(special << 4);
        header
    }

    /// A file of about [`SIZE`] bytes that repeats the same bytes.
    fn repeated(bytes: &[u8]) -> Counting {
        let file = [&[0; HEADER][..], &bytes.repeat(SIZE / bytes.len()), b"end"].concat();
        Counting(file, AtomicU64::new(0))
    }

    #[test]
    fn a_search_takes_no_longer_than_the_file_is_large() {
        let half = SIZE / 2;
        let many_blocks = header([5, 1, 0x95, 1], [half, 4, half + 40], 0);
        let overlapping = header([5, 1, 0x97, 4], [half, 4096, half + HEADER], 0);
        let alone = [&header([5, 1, 0x95, 4], [400, 400, HEADER], 1)[..], b"x"].concat();
        let like_an_index = header([5, 1, 0x95, 8], [0x7fff_fff8, 1 << 20, HEADER], 1);
        let contexts = Contexts::plain(1).expect("made");
        for (n, bytes) in [many_blocks, overlapping, alone, like_an_index]
            .iter()
            .enumerate()
        {
            let (file, faults) = (repeated(bytes), SystemFiles::default());
            let image = RolledBackFile::new(&file, &faults, &mut Vec::new()).expect("an image");
            let size = image.size;
            let first = scan(&image, 0, size, None, &contexts);
            // If a header limits the size of chunks, chunks inside of others are searched for, too.
            let known = header_from(&first, |_| false);
            let again = scan(&image, 0, size, known.as_ref(), &contexts);
            for found in [first, again] {
                let all: u64 = found
                    .chunks
                    .iter()
                    .map(|(_, header)| header.cbytes as u64)
                    .sum();
                assert!(all < 12 * size, "{n}: {all} bytes of chunks in {size}");
            }
            for sum in [None, Some(1)] {
                assert!(
                    SalvagedIndex::before(&image, &contexts, size, sum).is_none(),
                    "{n}"
                );
            }
            let read = file.1.load(Ordering::Relaxed);
            assert!(read < 150 * size, "{n}: {read} bytes read of {size}");
        }
    }
}
