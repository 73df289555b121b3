//! Plugins: libraries named `libblosc2_NAME.so` that are loaded when a codec, filter or tuner of
//! theirs is used for the first time.
//!
//! If the loader finds a library of that name, it is loaded. Otherwise the Python package
//! `blosc2_NAME` is asked for the path of its library, in a process of its own (`python`, then
//! `python3`, as found in `PATH`; see [`python`]). The library exports a structure `info` with the
//! names of its functions. It stays loaded. A plugin that was not found is not looked for again for
//! at least a second, so that the other blocks of a chunk fail quickly. After that it is looked for
//! again, since it may have been installed. While one plugin is looked for, threads that need
//! another one do not wait.
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs, clippy::missing_errors_doc)]
#![warn(clippy::undocumented_unsafe_blocks)]
// These abort the process when an allocation fails. clippy.toml lists them and what to use instead.
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        clippy::disallowed_macros
    )
)]

mod python;

use oxiblosc_base::memory::{CStrBuf, Collect, Lossy, Published, TryVec, boxed};
use oxiblosc_base::system::library::{self, PLUGIN};
use oxiblosc_base::{Error, Result};
use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The functions of a plugin, in the order of their names in its `info` structure.
pub type Functions = TryVec<*const c_void>;

/// Takes messages about failures.
type Trace<'a> = &'a dyn Fn(fmt::Arguments);

/// How long a plugin that was not found is not looked for again: at least this time, and this many
/// times as long as the search took.
const MISSING_FOR: (Duration, u32) = (Duration::from_secs(1), 10);

/// Whether a plugin is loaded.
enum PluginState {
    /// Nothing yet.
    Nothing,
    /// Addresses of its functions.
    Loaded(TryVec<usize>),
    /// It was not found, and is not looked for again before this time.
    Missing(Instant),
}

/// The name of a plugin, and its state, which is locked while the plugin is looked for.
struct Plugin {
    name: TryVec<u8>,
    known: &'static Mutex<PluginState>,
}

/// All plugins that were asked for in one process. Entries stay until the process ends.
struct Plugins {
    /// The process, as [`oxiblosc_pool::process`] numbers it.
    process: u32,
    entries: Mutex<TryVec<Plugin>>,
}

static PLUGINS: Published<Plugins> = Published::empty();

/// The plugins of this process. A forked child starts with none: its copies of the locks may be
/// held by a thread that only its parent has.
fn plugins() -> Result<&'static Plugins> {
    let process = oxiblosc_pool::process();
    let new = || Plugins {
        process,
        entries: Mutex::new(TryVec::new()),
    };
    match PLUGINS.get() {
        Some(plugins) if plugins.process == process => return Ok(plugins),
        Some(_) => PLUGINS.replace(Some(new()))?,
        None => _ = PLUGINS.publish(new())?,
    }
    PLUGINS.get().ok_or(Error::FAILURE)
}

/// The entry of a plugin.
fn entry(name: &str) -> Result<&'static Mutex<PluginState>> {
    let mut plugins = plugins()?
        .entries
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let mut there = plugins.iter();
    if let Some(plugin) = there.find(|plugin| plugin.name == name.as_bytes()) {
        return Ok(plugin.known);
    }
    let name = TryVec::copy_of(name.as_bytes())?;
    plugins.reserve(1)?;
    let known = Box::leak(boxed(Mutex::new(PluginState::Nothing))?);
    plugins.push(Plugin { name, known })?;
    Ok(known)
}

/// The `count` functions that the `info` structure of plugin `name` names. Loads the plugin if
/// necessary. Messages about failures go to `trace`.
///
/// None if there is no such plugin, or it lacks a function.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`].
pub fn functions(name: &str, count: usize, trace: Trace) -> Result<Option<Functions>> {
    if !is_valid(name) {
        trace(format_args!("'{name}' is no name of a plugin"));
        return Ok(None);
    }
    let mut known = entry(name)?.lock().unwrap_or_else(PoisonError::into_inner);
    match &*known {
        PluginState::Loaded(functions) => return pointers(functions).map(Some),
        PluginState::Missing(until) if Instant::now() < *until => return Ok(None),
        _ => {}
    }
    let since = Instant::now();
    if let Some(functions) = load(name, count, trace)? {
        let result = pointers(&functions)?;
        *known = PluginState::Loaded(functions);
        return Ok(Some(result));
    }
    let (prefix, back) = PLUGIN;
    trace(format_args!(
        "plugin '{name}' is not there: install it (pip install blosc2-{name}), or put {prefix}{name}{back} where the loader \
         finds it"
    ));
    let (least, times) = MISSING_FOR;
    *known = PluginState::Missing(Instant::now() + least.max(since.elapsed() * times));
    Ok(None)
}

fn pointers(addresses: &[usize]) -> Result<Functions> {
    addresses
        .iter()
        .map(|at| *at as *const c_void)
        .collect_vec()
}

/// Whether a name is safe as part of a file name and of a line of Python.
fn is_valid(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
}

/// Loads a plugin, whose name is valid. Returns the addresses of its functions.
fn load(name: &str, count: usize, trace: Trace) -> Result<Option<TryVec<usize>>> {
    // Plugins may call this library.
    let own: fn(&str) -> bool = is_valid;
    library::show_to_all(own as *const c_void);
    // Allocated first, so that no allocation fails while the library is open.
    let mut functions = TryVec::with_capacity(count)?;
    let (prefix, back) = PLUGIN;
    let direct = CStrBuf::concat(&[prefix, name, back].map(str::as_bytes))?;
    let mut library = library::open(&direct);
    if library.is_null() {
        trace_loader(trace);
        let Some(path) = python::ask(name)? else {
            trace(format_args!(
                "no Python package blosc2_{name} said where its library is"
            ));
            return Ok(None);
        };
        library = library::open(&path);
        if library.is_null() {
            trace_loader(trace);
            return Ok(None);
        }
    }
    if look_up(library, count, trace, &mut functions) {
        return Ok(Some(functions));
    }
    // SAFETY: opened above, and nothing of it is used.
    unsafe { library::close(library) };
    Ok(None)
}

/// Reports why the loader did not open a library.
fn trace_loader(trace: Trace) {
    library::explain(|message| trace(format_args!("{}", Lossy(message))));
}

/// Looks up the `count` functions that are named in the structure `info`, an array of pointers to C
/// strings. Puts their addresses into `functions`, which has room for them. Returns whether the
/// library has all of them.
fn look_up(
    library: *mut c_void,
    count: usize,
    trace: Trace,
    functions: &mut TryVec<usize>,
) -> bool {
    // SAFETY: an open library.
    let symbol = |name: &CStr| unsafe { library::symbol(library, name) };
    let info = symbol(c"info").cast::<*const c_char>();
    if info.is_null() {
        trace(format_args!("the plugin has no structure `info`"));
        return false;
    }
    for i in 0..count {
        // SAFETY: a plugin of this kind has that many names in its structure, each null or a C
        // string.
        let name = unsafe {
            let name = *info.add(i);
            (!name.is_null()).then(|| CStr::from_ptr(name))
        };
        let function = name.map_or(std::ptr::null_mut(), symbol);
        if function.is_null() {
            trace(format_args!("the plugin lacks function {i} of its kind"));
            return false;
        }
        functions.push_within_capacity(function as usize);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn only_words_are_names() {
        for name in ["grok", "my_own2"] {
            assert!(is_valid(name));
        }
        for name in ["", "../x", "a b", "x;y", "é", "a.b", "a\"b"] {
            assert!(!is_valid(name), "{name}");
            assert!(functions(name, 2, &|_| {}).unwrap().is_none());
        }
    }

    #[test]
    fn what_is_missing_is_told_once() {
        let reported = RefCell::new(Vec::new());
        let trace = |line: fmt::Arguments| reported.borrow_mut().push(line.to_string());
        assert!(functions("not_there_at_all", 2, &trace).unwrap().is_none());
        assert!(functions("not_there_at_all", 2, &trace).unwrap().is_none());
        let reported = reported.into_inner();
        assert_eq!(reported.len(), 3, "{reported:?}");
        assert!(reported[2].contains("pip install blosc2-not_there_at_all"));
    }

    #[cfg(unix)]
    #[test]
    fn a_child_does_not_wait_for_what_its_parent_looks_for() {
        let name = "looked_for_by_the_parent";
        let held = entry(name).unwrap().lock().unwrap();
        // Hold the lock of the list, too.
        let list = plugins().unwrap().entries.lock().unwrap();
        // SAFETY: the child calls the library alone, which may be called after a fork.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: ends the child, at once or where it waits.
            unsafe {
                libc::alarm(30);
                let missing = matches!(functions(name, 2, &|_| {}), Ok(None));
                libc::_exit(i32::from(!missing));
            }
        }
        let mut status = -1;
        // SAFETY: the child is ours, and the status can be written.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child waited");
        drop((held, list));
    }

    /// Of a program that gets rights from its file, whose user is another, no `PATH` counts and no
    /// other variable.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_user_sets_counts_nothing_in_a_program_with_more_rights() {
        use std::os::unix::fs::{PermissionsExt, chown};
        use std::process::Command;
        const MARK: &str = "OXIBLOSC_TEST_MARK";
        let Ok(mark) = std::env::var(MARK) else {
            return as_user_and_with_more_rights(MARK);
        };
        // SAFETY: a call with a number.
        let has_more_rights = unsafe { libc::getauxval(libc::AT_SECURE) != 0 };
        assert!(functions("not_there_at_all", 2, &|_| {}).unwrap().is_none());
        let asked = std::path::Path::new(&mark).exists();
        assert_eq!(asked, !has_more_rights);
        for name in [c"PATH", c"BLOSC_TRACE"] {
            assert_eq!(oxiblosc_base::memory::env::is_set(name), !has_more_rights);
        }

        /// Runs this test in a process that is the user's alone, and in one with another user's
        /// rights.
        fn as_user_and_with_more_rights(mark_name: &str) {
            // SAFETY: a call that takes nothing.
            if unsafe { libc::getuid() } != 0 {
                assert!(
                    std::env::var_os("CI").is_none(),
                    "only root can make such a program"
                );
                eprintln!("skipped: only root can make a program that has another user's rights");
                return;
            }
            let name = format!("oxiblosc-rights-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            let (program, mark) = (folder.join("program"), folder.join("mark"));
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder).unwrap();
            let python = format!("#!/bin/sh\ntouch {}\n", mark.display());
            std::fs::write(folder.join("python"), python).unwrap();
            std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
            for (file, mode) in [(&folder, 0o777), (&folder.join("python"), 0o755)] {
                std::fs::set_permissions(file, PermissionsExt::from_mode(mode)).unwrap();
            }
            for more_rights in [false, true] {
                let _ = std::fs::remove_file(&mark);
                let mode = if more_rights { 0o4755 } else { 0o755 };
                let nobody = more_rights.then_some(65534);
                chown(&program, nobody, nobody).unwrap();
                std::fs::set_permissions(&program, PermissionsExt::from_mode(mode)).unwrap();
                let test = "tests::what_a_user_sets_counts_nothing_in_a_program_with_more_rights";
                let output = Command::new(&program)
                    .args(["--exact", test])
                    .env(mark_name, &mark)
                    .env("BLOSC_TRACE", "1")
                    .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
                    .output();
                let output = output.unwrap();
                assert!(output.status.success(), "{more_rights}: {output:?}");
                assert_eq!(mark.exists(), !more_rights);
            }
            let _ = std::fs::remove_dir_all(&folder);
        }
    }

    #[test]
    fn a_library_without_info_is_no_plugin() {
        let of_the_system = if cfg!(windows) {
            c"kernel32.dll"
        } else {
            c"libc.so.6"
        };
        let system = library::open(of_the_system);
        assert!(!system.is_null(), "there is always one");
        let mut functions = TryVec::with_capacity(2).unwrap();
        assert!(!look_up(system, 2, &|_| {}, &mut functions));
        assert!(library::open(c"/nowhere/libblosc2_x.so").is_null());
    }
}
