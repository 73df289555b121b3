//! Functions that a program registers, by id and by name. Codecs have names whether they are the
//! library's own, registered with the Blosc project, or the program's.

use oxiblosc_base::memory::{CStrBuf, PublishedTable};
use oxiblosc_base::{Error, Result};
use oxiblosc_codecs::{Codec, registered_code, registered_name};
use std::ffi::CStr;
use std::ops::RangeInclusive;

/// Functions that a program registered, with a copy of their name.
pub struct Registration<T> {
    /// The functions.
    pub functions: T,
    /// The name.
    pub name: CStrBuf,
}

/// The ids that programs may register functions under; those below are the format's and the Blosc
/// project's.
const PROGRAM_IDS: RangeInclusive<i32> = 160..=255;

/// Whether a codec is registered, by the Blosc project or by the program, and so not built in. -1
/// is no codec.
pub(crate) fn is_registered(code: i32) -> bool {
    code >= 0 && Codec::from_code(code).is_none()
}

/// Functions of one kind.
pub struct Registry<T: Sync + 'static>(PublishedTable<Registration<T>>);

impl<T: Sync + 'static> Registry<T> {
    /// An empty registry.
    #[allow(clippy::new_without_default, reason = "it is for constants")]
    pub const fn new() -> Self {
        Self(PublishedTable::new())
    }

    /// Registers functions under an id from 160 to 255. If the id is registered under the same name
    /// already, nothing changes.
    ///
    /// # Errors
    /// `refused` for another id, and for one that is registered under another name;
    /// [`Error::INVALID_PARAM`] without a name; [`Error::MEMORY_ALLOC`].
    pub fn register(
        &self,
        id: i32,
        functions: T,
        name: Option<&CStr>,
        refused: Error,
    ) -> Result<()> {
        let id = u8::try_from(id).ok().filter(|_| PROGRAM_IDS.contains(&id));
        let id = id.ok_or(refused)?;
        let given = name.ok_or(Error::INVALID_PARAM)?;
        let name = CStrBuf::copy_of(given)?;
        let entry = Registration { functions, name };
        match self.0.add(id, entry, |there| *there.name == *given)? {
            true => Ok(()),
            false => Err(refused),
        }
    }

    /// The entry of an id.
    pub fn get(&self, id: i32) -> Option<&'static Registration<T>> {
        self.0.get(id)
    }

    /// Removes all entries.
    pub fn clear(&self) {
        self.0.clear();
    }
}

/// A codec of the program.
pub trait ProgramCodec: Sync {
    /// Its id.
    fn code(&self) -> u8;
    /// The number of its library.
    fn library(&self) -> u8;
    /// The version of its format.
    fn version(&self) -> u8;
}

impl<T: ProgramCodec + 'static> Registry<T> {
    /// The program's codec of this name.
    fn named(&self, name: &str) -> Option<&'static T> {
        let mut codecs = self.0.iter();
        let found = codecs.find(|entry| entry.name.to_bytes() == name.as_bytes())?;
        Some(&found.functions)
    }

    /// The id of the codec of this name.
    pub fn code_of(&self, name: &str) -> Option<i32> {
        let known = Codec::from_name(name).map(Codec::code);
        let known = known.or_else(|| registered_code(name));
        known.or_else(|| Some(self.named(name)?.code().into()))
    }

    /// The name of the codec of this id.
    pub fn name_of(&self, code: i32) -> Option<&'static CStr> {
        let known = Codec::from_code(code).map(Codec::c_name);
        let known = known.or_else(|| registered_name(code));
        known.or_else(|| Some(&*self.get(code)?.name))
    }

    /// The version of a codec's format, for a chunk's header.
    pub fn version_of(&self, code: i32) -> u8 {
        if Codec::from_code(code).is_some() || registered_name(code).is_some() {
            return 1;
        }
        // The reference writes -1 for a codec it does not know.
        self.get(code)
            .map_or(0xff, |entry| entry.functions.version())
    }

    /// The number of the library that the codec of this name belongs to: its format in the `flags`
    /// byte of chunks, its id if it is registered with the project, or the number that the program
    /// gave it.
    pub fn library_of(&self, name: &str) -> Option<i32> {
        let known = Codec::from_name(name).map(|known| known.format().into());
        let known = known.or_else(|| registered_code(name));
        known.or_else(|| Some(self.named(name)?.library().into()))
    }

    /// The name of the library with this number; see [`Self::library_of`].
    pub fn library_name(&self, library: i32) -> Option<&'static CStr> {
        let number = u8::try_from(library).ok()?;
        let known = Codec::from_format(number).map(Codec::library_name);
        known.or_else(|| registered_name(library)).or_else(|| {
            let mut codecs = self.0.iter();
            let found = codecs.find(|entry| entry.functions.library() == number)?;
            Some(&*found.name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Own(u8);

    impl ProgramCodec for Own {
        fn code(&self) -> u8 {
            self.0
        }

        fn library(&self) -> u8 {
            self.0 + 1
        }

        fn version(&self) -> u8 {
            7
        }
    }

    #[test]
    fn codecs_have_names_wherever_they_are_from() {
        static CODECS: Registry<Own> = Registry::new();
        let add = |code, name| CODECS.register(code, Own(code as u8), name, Error::CODEC_PARAM);
        assert_eq!(add(31, Some(c"own")), Err(Error::CODEC_PARAM));
        assert_eq!(add(200, None), Err(Error::INVALID_PARAM));
        assert_eq!(add(200, Some(c"own")), Ok(()));
        assert_eq!(add(200, Some(c"own")), Ok(()));
        assert_eq!(add(200, Some(c"other")), Err(Error::CODEC_PARAM));
        for (code, name, version) in [(0, c"blosclz", 1), (32, c"ndlz", 1), (200, c"own", 7)] {
            assert_eq!(CODECS.name_of(code), Some(name));
            assert_eq!(CODECS.code_of(name.to_str().expect("is ASCII")), Some(code));
            assert_eq!(CODECS.version_of(code), version);
        }
        assert_eq!(
            (CODECS.code_of("none"), CODECS.version_of(201)),
            (None, 0xff)
        );
        assert_eq!(
            (CODECS.library_of("lz4hc"), CODECS.library_of("own")),
            (Some(1), Some(201))
        );
        assert_eq!(CODECS.library_name(201), Some(c"own"));
        CODECS.clear();
        assert!(CODECS.get(200).is_none());
    }
}
