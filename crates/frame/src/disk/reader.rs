//! Files from which a frame is read.

use oxiblosc_base::memory::Shared;
use oxiblosc_base::{Error, Result};
use oxiblosc_io::Storage;
use oxiblosc_io::readers::{FileSlot, READERS};

/// A read handle that is kept open.
pub(super) struct KeptReader {
    pub(super) file: Shared<dyn Storage>,
    _slot: FileSlot<'static>,
}

impl KeptReader {
    /// The file, if the number of open files allows to keep it.
    pub(super) fn keep(file: &Shared<dyn Storage>) -> Option<Self> {
        let slot = READERS.take()?;
        file.keep().then(|| Self {
            file: file.clone(),
            _slot: slot,
        })
    }
}

/// A file to read the frame from.
pub(super) struct OpenedFile {
    pub(super) file: Shared<dyn Storage>,
    /// What the path leads to.
    pub(super) found: Named,
    /// Its size, if that is known without another system call.
    pub(super) size: Option<u64>,
}

/// What the path of an open file leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// The open file.
    Same,
    /// Another file.
    Another,
    /// Nothing.
    Nothing,
}

impl Named {
    /// # Errors
    /// [`Error::FILE_OPEN`] if the path leads to nothing.
    pub(super) fn is_there(self) -> Result<()> {
        match self {
            Self::Nothing => Err(Error::FILE_OPEN),
            Self::Same | Self::Another => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::bare_file::BareFile;

    #[test]
    fn a_file_is_kept_if_its_back_end_allows_it() {
        for is_kept in [false, true] {
            let file = BareFile {
                is_kept,
                ..BareFile::default()
            };
            let kept = KeptReader::keep(&file.shared());
            assert_eq!(kept.is_some_and(|kept| kept.file.keep()), is_kept);
        }
    }

    #[test]
    fn another_file_is_there_and_none_is_not() {
        assert_eq!(Named::Same.is_there(), Ok(()));
        assert_eq!(Named::Another.is_there(), Ok(()));
        assert_eq!(Named::Nothing.is_there(), Err(Error::FILE_OPEN));
    }
}
