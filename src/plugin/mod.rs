//! Plugins: libraries named `libblosc2_NAME.so` that are loaded when something is to be done for which they are registered,
//! and not before.
//!
//! A library that the loader finds by that name is taken. Else the Python package `blosc2_NAME` is asked where its own is,
//! in a process of its own (`python`, then `python3`, as found in `PATH`; see [`python`]). The library exports a structure `info`: the
//! names of its functions. It stays loaded. A plugin that was not found is not looked for again for a second, in which the
//! other blocks of a chunk fail quickly; then it may have been installed. While one plugin is looked for, who needs another
//! does not wait.

mod python;

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The functions of a plugin, by their places in its `info` structure.
pub type Functions = Vec<*const c_void>;

/// How long a plugin that was not found counts as missing, at least; as many times as long as it took to look for it, too.
const MISSING_FOR: (Duration, u32) = (Duration::from_secs(1), 10);

/// What is known of a plugin.
enum Known {
    /// Nothing yet.
    Nothing,
    /// Addresses of its functions.
    Loaded(Vec<usize>),
    /// It was not found, and is not looked for again until then.
    Missing(Instant),
}

/// Each plugin that was asked for. Entries stay until the process ends; whoever looks for a plugin keeps its entry locked.
static PLUGINS: Mutex<BTreeMap<String, &'static Mutex<Known>>> = Mutex::new(BTreeMap::new());

/// The entry of a plugin.
fn entry(name: &str) -> &'static Mutex<Known> {
    let mut plugins = PLUGINS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = plugins.get(name) {
        return known;
    }
    let known = Box::leak(Box::new(Mutex::new(Known::Nothing)));
    plugins.insert(name.to_owned(), known);
    known
}

/// The `count` functions that the `info` structure of plugin `name` has; loads it where that was not done before. In
/// `trace` go lines about what went wrong.
///
/// None where there is no such plugin, or it lacks a function.
pub fn functions(name: &str, count: usize, trace: impl Fn(&str)) -> Option<Functions> {
    if !is_valid(name) {
        trace(&format!("'{name}' is no name of a plugin"));
        return None;
    }
    let mut known = entry(name).lock().unwrap_or_else(PoisonError::into_inner);
    match &*known {
        Known::Loaded(functions) => return Some(pointers(functions)),
        Known::Missing(until) if Instant::now() < *until => return None,
        _ => {}
    }
    let since = Instant::now();
    match load(name, count) {
        Ok(functions) => {
            let result = pointers(&functions);
            *known = Known::Loaded(functions);
            Some(result)
        }
        Err(why) => {
            trace(&why);
            trace(&format!(
                "plugin '{name}' is not there: install it (pip install blosc2-{name}), or put {} where the loader finds it",
                file_name(name)
            ));
            let (least, times) = MISSING_FOR;
            *known = Known::Missing(Instant::now() + least.max(since.elapsed() * times));
            None
        }
    }
}

fn pointers(addresses: &[usize]) -> Functions {
    addresses.iter().map(|at| *at as *const c_void).collect()
}

/// Whether this may be part of a file name and of a line of Python.
fn is_valid(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
}

fn file_name(name: &str) -> String {
    format!("libblosc2_{name}.so")
}

/// Loads a plugin, whose name is valid; gives the addresses of its functions, or says what went wrong.
fn load(name: &str, count: usize) -> Result<Vec<usize>, String> {
    show_own_symbols();
    let direct = CString::new(file_name(name)).map_err(|error| error.to_string())?;
    let library = match open(&direct, libc::RTLD_NOW) {
        Ok(library) => library,
        Err(direct) => {
            let path = python::ask(name).ok_or_else(|| {
                format!("{direct}; no Python package blosc2_{name} said where it is")
            })?;
            open(&path, libc::RTLD_NOW)?
        }
    };
    let found = look_up(library, count);
    if found.is_err() {
        // SAFETY: opened above, and nothing of it is used.
        unsafe { libc::dlclose(library) };
    }
    found
}

/// Opens a library by name or path.
fn open(path: &CStr, flags: c_int) -> Result<*mut c_void, String> {
    // SAFETY: a C string. What its initialisers do is the library's own affair; it is asked for by name.
    let library = unsafe { libc::dlopen(path.as_ptr(), flags) };
    if !library.is_null() {
        return Ok(library);
    }
    // SAFETY: the message is the loader's, valid until its next one on this thread.
    let message = unsafe {
        libc::dlerror()
            .as_ref()
            .map(|message| CStr::from_ptr(message))
    };
    Err(message.map_or_else(String::new, |text| text.to_string_lossy().into_owned()))
}

/// The addresses of the functions that are named in the structure `info`: as many pointers to C strings.
fn look_up(library: *mut c_void, count: usize) -> Result<Vec<usize>, String> {
    // SAFETY: an open library, and a C string.
    let symbol = |name: *const c_char| unsafe { libc::dlsym(library, name) };
    let info = symbol(c"info".as_ptr()).cast::<*const c_char>();
    if info.is_null() {
        return Err("the plugin has no structure `info`".to_owned());
    }
    (0..count)
        .map(|i| {
            // SAFETY: a plugin of this kind has that many names in its structure.
            let name = unsafe { *info.add(i) };
            let function = if name.is_null() {
                std::ptr::null_mut()
            } else {
                symbol(name)
            };
            if function.is_null() {
                return Err(format!("the plugin lacks function {i} of its kind"));
            }
            Ok(function as usize)
        })
        .collect()
}

/// Plugins may call this library, which a program may have opened for itself alone: makes its functions known to all.
fn show_own_symbols() {
    let own: fn() = show_own_symbols;
    // SAFETY: the address of a function of this library; the structure lives across the call.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(own as *const c_void, &mut info) != 0 && !info.dli_fname.is_null() {
            let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_GLOBAL;
            // Where it is part of a program there is nothing to make known, and this fails.
            libc::dlopen(info.dli_fname, flags);
        }
    }
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
            assert!(functions(name, 2, |_| {}).is_none());
        }
    }

    #[test]
    fn what_is_missing_is_told_once() {
        let told = RefCell::new(Vec::new());
        let trace = |line: &str| told.borrow_mut().push(line.to_owned());
        assert!(functions("not_there_at_all", 2, trace).is_none());
        assert!(functions("not_there_at_all", 2, trace).is_none());
        let told = told.into_inner();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[1].contains("pip install blosc2-not_there_at_all"));
    }

    #[test]
    fn a_library_without_info_is_no_plugin() {
        let libc_itself = open(c"libc.so.6", libc::RTLD_NOW).expect("there is always one");
        assert!(look_up(libc_itself, 2).is_err());
        assert!(open(c"/nowhere/libblosc2_x.so", libc::RTLD_NOW).is_err());
    }
}
