//! The library that makes calls fail, and the ways in which it does.

use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

/// The classes of calls, in the order of `shim.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Open,
    Read,
    Write,
    Truncate,
    Sync,
    Rename,
    Unlink,
    Mkdir,
    Close,
    Map,
    Unmap,
    Stat,
    Lock,
    TryVec,
    Attribute,
    /// Another descriptor or a stream of an open file, for which nothing is waited.
    Duplicate,
}

const CLASSES: [Class; 16] = [
    Class::Open,
    Class::Read,
    Class::Write,
    Class::Truncate,
    Class::Sync,
    Class::Rename,
    Class::Unlink,
    Class::Mkdir,
    Class::Close,
    Class::Map,
    Class::Unmap,
    Class::Stat,
    Class::Lock,
    Class::TryVec,
    Class::Attribute,
    Class::Duplicate,
];

/// What happens to a call, numbered as in `shim.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Error = 1,
    Short = 2,
    ShortThenError = 3,
}

/// To which calls it happens, numbered as in `shim.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    Once = 0,
    Class = 1,
    All = 2,
}

/// One way to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The number of the call, from 1 on.
    pub at: usize,
    pub class: Class,
    pub act: Act,
    pub lasts: Lasts,
    pub errno: c_int,
}

impl Fault {
    /// A name for messages.
    pub fn name(&self) -> String {
        let errno = match self.errno {
            libc::ENOSPC => "ENOSPC",
            libc::EIO => "EIO",
            libc::EINTR => "EINTR",
            _ => "",
        };
        let Fault {
            at,
            class,
            act,
            lasts,
            ..
        } = self;
        format!("{act:?} {errno} {lasts:?} at call {at} ({class:?})")
    }

    /// Whether the library has to repeat or continue the call, so that the fault has no effect.
    pub fn is_harmless(&self) -> bool {
        self.act == Act::Short || self.errno == libc::EINTR
    }

    /// Whether what was made can be removed, or put back, while this lasts.
    pub fn allows_cleaning(&self) -> bool {
        match self.lasts {
            Lasts::All => false,
            Lasts::Class => !matches!(
                self.class,
                // What cannot be looked at may be another's.
                Class::Unlink | Class::TryVec | Class::Truncate | Class::Rename | Class::Stat
            ),
            Lasts::Once => !matches!(self.class, Class::Unlink | Class::TryVec | Class::Truncate),
        }
    }

    /// Whether nothing can be done any more, so that a change that was begun can be neither
    /// finished nor undone before the fault is over. What it has overwritten then lies in its
    /// record, which our library knows alone.
    pub fn is_of_everything(&self) -> bool {
        self.lasts == Lasts::All
    }

    /// Whether maps may stay because unmapping them fails.
    pub fn is_on_maps(&self) -> bool {
        self.lasts == Lasts::All || self.class == Class::Unmap
    }

    /// The ways for a call of this class to fail.
    fn all(at: usize, class: Class) -> Vec<Fault> {
        let transfers = matches!(class, Class::Read | Class::Write);
        let mut faults = Vec::new();
        let mut add = |act, lasts, errno| {
            faults.push(Fault {
                at,
                class,
                act,
                lasts,
                errno,
            });
        };
        for lasts in [Lasts::Once, Lasts::Class, Lasts::All] {
            add(Act::Error, lasts, libc::EIO);
            let takes_space = matches!(
                class,
                Class::Open
                    | Class::Write
                    | Class::Truncate
                    | Class::Sync
                    | Class::Mkdir
                    | Class::Rename
            );
            if takes_space {
                add(Act::Error, lasts, libc::ENOSPC);
            }
        }
        let is_interrupted = matches!(
            class,
            Class::Open
                | Class::Read
                | Class::Write
                | Class::Truncate
                | Class::Sync
                | Class::Close
                | Class::Lock
        );
        if is_interrupted {
            add(Act::Error, Lasts::Once, libc::EINTR);
        }
        if transfers {
            add(Act::Short, Lasts::Once, 0);
            add(Act::Short, Lasts::Class, 0);
            add(Act::ShortThenError, Lasts::Class, libc::EIO);
        }
        if class == Class::Write {
            add(Act::ShortThenError, Lasts::Class, libc::ENOSPC);
        }
        faults
    }
}

/// The functions of `shim.c`.
pub struct Shim {
    arm: unsafe extern "C" fn(*const c_char, c_int, c_int, c_int, c_int),
    disarm: unsafe extern "C" fn() -> c_int,
    class: unsafe extern "C" fn(c_int) -> c_int,
}

/// The library, which is preloaded.
pub fn shim() -> &'static Shim {
    static SHIM: OnceLock<Shim> = OnceLock::new();
    SHIM.get_or_init(|| {
        let this = libloading::os::unix::Library::this();
        // SAFETY: the library is preloaded and declares the functions so.
        unsafe {
            Shim {
                arm: *this.get(b"fault_arm").expect("the shim is preloaded"),
                disarm: *this.get(b"fault_disarm").expect("the shim is preloaded"),
                class: *this.get(b"fault_class").expect("the shim is preloaded"),
            }
        }
    })
}

impl Shim {
    fn armed<T>(&self, folder: &Path, args: [c_int; 4], work: impl FnOnce() -> T) -> (T, usize) {
        let folder = CString::new(folder.as_os_str().as_bytes()).expect("a plain path");
        let [at, act, lasts, errno] = args;
        // SAFETY: a C string, that the shim copies.
        unsafe { (self.arm)(folder.as_ptr(), at, act, lasts, errno) };
        let done = work();
        // SAFETY: no arguments.
        let calls = unsafe { (self.disarm)() };
        (done, calls.max(0) as usize)
    }

    /// Runs something while calls on what is under `folder` fail.
    pub fn failing<T>(&self, folder: &Path, fault: &Fault, work: impl FnOnce() -> T) -> T {
        let Fault {
            at,
            act,
            lasts,
            errno,
            ..
        } = *fault;
        let args = [at as c_int, act as c_int, lasts as c_int, errno];
        self.armed(folder, args, work).0
    }

    /// Runs something and gives every way in which a call of it can fail.
    pub fn faults<T>(&self, folder: &Path, work: impl FnOnce() -> T) -> (T, Vec<Fault>) {
        let (done, calls) = self.armed(folder, [0; 4], work);
        let class = |at: usize| {
            // SAFETY: a number.
            let class = unsafe { (self.class)(at as c_int) };
            CLASSES[usize::try_from(class).expect("a call that was counted")]
        };
        let faults = (1..=calls).flat_map(|at| Fault::all(at, class(at)));
        (done, faults.collect())
    }
}
