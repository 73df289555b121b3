//! Codecs, filters and tuners that the program registers, and the names of codecs.
//!
//! The codecs and the tuner that the format knows by name but are none of its own come first: some are part of the library
//! (their work is done in [`oxiblosc_chunk`]), others are plugins. A function that an entry lacks is the plugin's of its name.
//!
//! A table has a place for every id. An entry is published with one atomic store and read without a lock, so that a
//! registration in one thread, or in the parent of a `fork`, can never block another.

use super::border::{code, guard, retire, text};
use super::constants::*;
use super::types::*;
use crate::plugin;
use oxiblosc_codecs::Codec;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::{CStrBuf, boxed};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Entries by id.
struct Table<T: 'static>([AtomicPtr<T>; 256]);

/// What the three kinds of entries have in common.
trait Entry: Copy {
    fn name(&self) -> *mut c_char;
    fn rename(&mut self, name: *mut c_char);
}

impl<T: Entry> Table<T> {
    const fn new() -> Self {
        Self([const { AtomicPtr::new(null_mut()) }; 256])
    }

    fn get(&self, id: c_int) -> Option<&'static T> {
        let slot = self.0.get(usize::try_from(id).ok()?)?;
        // SAFETY: an entry is never freed once it was published.
        unsafe { slot.load(Ordering::Acquire).as_ref() }
    }

    fn iter(&self) -> impl Iterator<Item = &'static T> {
        (0..256).filter_map(|id| self.get(id))
    }

    /// Publishes a copy of `entry`, with a copy of its name. The same name again is fine, another one is `taken`.
    fn add(&self, id: c_int, mut entry: T, taken: Error) -> Result<()> {
        if entry.name().is_null() {
            return Err(Error::InvalidParam);
        }
        // SAFETY: the caller of the border hands over a C string.
        let name = unsafe { CStr::from_ptr(entry.name()) };
        let name = CStrBuf::to_malloc(name)?;
        entry.rename(name);
        let fresh = match boxed(entry) {
            Ok(fresh) => Box::into_raw(fresh),
            Err(error) => {
                // SAFETY: just made; no other thread knows it.
                unsafe { libc::free(name.cast()) };
                return Err(error);
            }
        };
        let slot = &self.0[id as usize];
        let Err(there) =
            slot.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire)
        else {
            return Ok(());
        };
        // SAFETY: `fresh` was not published, so both it and its name are still ours alone; the entry that is there
        // is never freed, nor is its name.
        let same = unsafe {
            drop(Box::from_raw(fresh));
            let same = CStr::from_ptr((*there).name()) == CStr::from_ptr(name);
            libc::free(name.cast());
            same
        };
        if same { Ok(()) } else { Err(taken) }
    }

    /// Forgets all entries. They stay in memory: a thread may still be using one.
    fn clear(&self) {
        for slot in &self.0 {
            retire(slot.swap(null_mut(), Ordering::AcqRel));
        }
    }
}

macro_rules! entry {
    ($entry:ty, $name:ident) => {
        impl Entry for $entry {
            fn name(&self) -> *mut c_char {
                self.$name
            }
            fn rename(&mut self, name: *mut c_char) {
                self.$name = name;
            }
        }
    };
}
entry!(blosc2_codec, compname);
entry!(blosc2_filter, name);
entry!(blosc2_tuner, name);

static CODECS: Table<blosc2_codec> = Table::new();
static FILTERS: Table<blosc2_filter> = Table::new();
static TUNERS: Table<blosc2_tuner> = Table::new();

/// Codecs that were always registered, by id from [`BLOSC_CODEC_NDLZ`] on.
const GLOBAL_CODECS: [&CStr; 9] = [
    c"ndlz",
    c"zfp_acc",
    c"zfp_prec",
    c"zfp_rate",
    c"openhtj2k",
    c"grok",
    c"openzl",
    c"j2k",
    c"htj2k",
];

/// The format's version of the streams of these.
const GLOBAL_VERSION: u8 = 1;

/// The name of a codec that was always registered.
fn global_codec(compcode: c_int) -> Option<&'static CStr> {
    let index = compcode.checked_sub(BLOSC_CODEC_NDLZ)?;
    GLOBAL_CODECS.get(usize::try_from(index).ok()?).copied()
}

/// The functions of a plugin, where its name is one.
fn plugin_functions(name: &CStr, count: usize) -> Option<plugin::Functions> {
    let trace = |line: std::fmt::Arguments| super::border::trace("error", line);
    plugin::functions(name.to_str().ok()?, count, &trace).ok()?
}

/// The function at a place in a plugin's structure, as the type that this place has.
///
/// # Safety
/// `T` is `Option` of the type of the functions at that place.
unsafe fn function<T>(functions: &plugin::Functions, place: usize) -> T {
    const { assert!(size_of::<T>() == size_of::<*const c_void>()) };
    // SAFETY: an optional function pointer is a pointer, by the caller's word of this type.
    unsafe { std::mem::transmute_copy(&functions[place]) }
}

/// The functions of the codec of this id that is none of the library's own, loaded if it is a plugin.
fn codec(compcode: c_int) -> Option<(blosc2_codec_encoder_cb, blosc2_codec_decoder_cb)> {
    let name = match CODECS.get(compcode) {
        Some(entry) if entry.encoder.is_some() && entry.decoder.is_some() => {
            return Some((entry.encoder, entry.decoder));
        }
        // SAFETY: the names of entries are C strings that are never freed.
        Some(entry) => unsafe { CStr::from_ptr(entry.compname) },
        None => global_codec(compcode)?,
    };
    let functions = plugin_functions(name, 2)?;
    // SAFETY: these are the places of the functions in `codec_info`.
    unsafe { Some((function(&functions, 0), function(&functions, 1))) }
}

/// What compresses with the codec of this id.
pub fn encoder(compcode: c_int) -> blosc2_codec_encoder_cb {
    match CODECS.get(compcode) {
        Some(entry) if entry.encoder.is_some() => entry.encoder,
        _ => codec(compcode)?.0,
    }
}

/// What decompresses with the codec of this id.
pub fn decoder(compcode: c_int) -> blosc2_codec_decoder_cb {
    match CODECS.get(compcode) {
        Some(entry) if entry.decoder.is_some() => entry.decoder,
        _ => codec(compcode)?.1,
    }
}

/// The registered filter of this id, with what a plugin of its name has where it lacks a function.
pub fn filter(id: u8) -> Option<(blosc2_filter_forward_cb, blosc2_filter_backward_cb)> {
    let entry = FILTERS.get(c_int::from(id))?;
    let own = (entry.forward, entry.backward);
    if entry.forward.is_some() && entry.backward.is_some() {
        return Some(own);
    }
    // SAFETY: the names of entries are C strings that are never freed.
    let name = unsafe { CStr::from_ptr(entry.name) };
    let Some(functions) = plugin_functions(name, 2) else {
        return Some(own);
    };
    // SAFETY: these are the places of the functions in `filter_info`.
    unsafe { Some((function(&functions, 0), function(&functions, 1))) }
}

/// The functions of a tuner.
#[derive(Clone, Copy)]
pub struct Tuner {
    /// See [`blosc2_tuner`].
    pub init: TunerInit,
    /// See [`blosc2_tuner`].
    pub next_blocksize: TunerStep,
    /// See [`blosc2_tuner`].
    pub next_cparams: TunerStep,
    /// See [`blosc2_tuner`].
    pub update: TunerUpdate,
    /// See [`blosc2_tuner`].
    pub free: TunerStep,
}

type TunerInit =
    Option<unsafe extern "C" fn(*mut c_void, *mut blosc2_context, *mut blosc2_context) -> c_int>;
type TunerStep = Option<unsafe extern "C" fn(*mut blosc2_context) -> c_int>;
type TunerUpdate = Option<unsafe extern "C" fn(*mut blosc2_context, f64) -> c_int>;

/// The tuner of this id, with what a plugin of its name has where it lacks a function.
pub fn tuner(id: c_int) -> Option<Tuner> {
    let (own, name) = match TUNERS.get(id) {
        Some(entry) => {
            let own = Tuner {
                init: entry.init,
                next_blocksize: entry.next_blocksize,
                next_cparams: entry.next_cparams,
                update: entry.update,
                free: entry.free,
            };
            // SAFETY: the names of entries are C strings that are never freed.
            (own, unsafe { CStr::from_ptr(entry.name) })
        }
        None if id == BLOSC_BTUNE => {
            let nothing = Tuner {
                init: None,
                next_blocksize: None,
                next_cparams: None,
                update: None,
                free: None,
            };
            (nothing, c"btune")
        }
        None => return None,
    };
    let steps = [own.next_blocksize, own.next_cparams, own.free];
    if own.init.is_some() && own.update.is_some() && steps.iter().all(Option::is_some) {
        return Some(own);
    }
    let Some(functions) = plugin_functions(name, 5) else {
        return Some(own);
    };
    // SAFETY: these are the places of the functions in `tuner_info`.
    unsafe {
        Some(Tuner {
            init: function(&functions, 0),
            next_blocksize: function(&functions, 1),
            next_cparams: function(&functions, 2),
            update: function(&functions, 3),
            free: function(&functions, 4),
        })
    }
}

/// Forgets everything that was registered.
pub fn clear() {
    CODECS.clear();
    FILTERS.clear();
    TUNERS.clear();
}

/// The registered codec of this name.
fn registered(name: &str) -> Option<&'static blosc2_codec> {
    CODECS.iter().find(|entry| {
        // SAFETY: the names of entries are C strings that are never freed.
        unsafe { CStr::from_ptr(entry.compname) }.to_bytes() == name.as_bytes()
    })
}

/// The id of the codec of this name, or -1.
pub fn compcode_of(name: &str) -> c_int {
    if let Some(known) = Codec::from_name(name) {
        return known as c_int;
    }
    let global = GLOBAL_CODECS
        .iter()
        .position(|own| own.to_bytes() == name.as_bytes());
    if let Some(index) = global {
        return BLOSC_CODEC_NDLZ + index as c_int;
    }
    registered(name).map_or(-1, |entry| c_int::from(entry.compcode))
}

/// The name of the codec of this id.
pub fn compname_of(compcode: c_int) -> Option<*const c_char> {
    match Codec::from_code(compcode) {
        Some(known) => Some(c_name(known).as_ptr()),
        None => global_codec(compcode).map(CStr::as_ptr).or_else(|| {
            CODECS
                .get(compcode)
                .map(|entry| entry.compname.cast_const())
        }),
    }
}

fn c_name(codec: Codec) -> &'static CStr {
    match codec {
        Codec::BloscLz => BLOSC_BLOSCLZ_COMPNAME,
        Codec::Lz4 => BLOSC_LZ4_COMPNAME,
        Codec::Lz4hc => BLOSC_LZ4HC_COMPNAME,
        Codec::Zlib => BLOSC_ZLIB_COMPNAME,
        Codec::Zstd => BLOSC_ZSTD_COMPNAME,
    }
}

fn c_library_name(codec: Codec) -> &'static CStr {
    match codec {
        Codec::BloscLz => BLOSC_BLOSCLZ_LIBNAME,
        Codec::Lz4 | Codec::Lz4hc => BLOSC_LZ4_LIBNAME,
        Codec::Zlib => BLOSC_ZLIB_LIBNAME,
        Codec::Zstd => BLOSC_ZSTD_LIBNAME,
    }
}

/// The version of a codec's format, for a chunk's header.
pub fn format_version_of(compcode: c_int) -> u8 {
    match Codec::from_code(compcode) {
        Some(_) => 1,
        None if global_codec(compcode).is_some() => GLOBAL_VERSION,
        // The reference writes -1 for a codec it does not know.
        None => CODECS.get(compcode).map_or(0xff, |entry| entry.version),
    }
}

/// The library of the codec of this name: its code for the `flags` byte, or the field of its registration.
pub fn library_of(name: &str) -> Option<c_int> {
    if let Some(known) = Codec::from_name(name) {
        return Some(c_int::from(known.format()));
    }
    let compcode = compcode_of(name);
    if global_codec(compcode).is_some() {
        return Some(compcode);
    }
    registered(name).map(|entry| c_int::from(entry.complib))
}

/// The name of a library.
pub fn library_name(library: c_int) -> Option<*const c_char> {
    let format = u8::try_from(library).ok()?;
    match Codec::from_format(format) {
        Some(known) => Some(c_library_name(known).as_ptr()),
        None => global_codec(library).map(CStr::as_ptr).or_else(|| {
            CODECS
                .iter()
                .find(|entry| entry.complib == format)
                .map(|entry| entry.compname.cast_const())
        }),
    }
}

/// Registers a codec for the ids from `BLOSC2_USER_REGISTERED_CODECS_START` on. The struct and its name are copied.
/// Returns 0, also when this codec was registered before; `BLOSC2_ERROR_CODEC_PARAM` if the id is not a user's or
/// belongs to a codec of another name.
///
/// # Safety
/// `codec` points to a codec with a name; its functions can be called until `blosc2_destroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_register_codec(codec: *mut blosc2_codec) -> c_int {
    code("blosc2_register_codec", || {
        // SAFETY: by the caller's word.
        let codec = unsafe { codec.as_ref() }.ok_or(Error::InvalidParam)?;
        let id = c_int::from(codec.compcode);
        if id < BLOSC2_USER_REGISTERED_CODECS_START {
            return Err(Error::CodecParam);
        }
        CODECS.add(id, *codec, Error::CodecParam).map(|()| 0)
    })
}

/// Registers a filter for the ids from `BLOSC2_USER_REGISTERED_FILTERS_START` on. The struct and its name are copied.
/// Returns 0, also when this filter was registered before; `BLOSC2_ERROR_FAILURE` if the id is not a user's or
/// belongs to a filter of another name.
///
/// # Safety
/// `filter` points to a filter with a name; its functions can be called until `blosc2_destroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_register_filter(filter: *mut blosc2_filter) -> c_int {
    code("blosc2_register_filter", || {
        // SAFETY: by the caller's word.
        let filter = unsafe { filter.as_ref() }.ok_or(Error::InvalidParam)?;
        let id = c_int::from(filter.id);
        if id < BLOSC2_USER_REGISTERED_FILTERS_START {
            return Err(Error::Failure);
        }
        FILTERS.add(id, *filter, Error::Failure).map(|()| 0)
    })
}

/// Registers a tuner for the ids from `BLOSC2_USER_REGISTERED_TUNER_START` on. The struct and its name are copied.
/// Returns 0, also when this tuner was registered before; `BLOSC2_ERROR_FAILURE` if the id is not a user's or
/// belongs to a tuner of another name.
///
/// # Safety
/// `tuner` points to a tuner with a name; its functions can be called until `blosc2_destroy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_register_tuner(tuner: *mut blosc2_tuner) -> c_int {
    code("blosc2_register_tuner", || {
        // SAFETY: by the caller's word.
        let tuner = unsafe { tuner.as_ref() }.ok_or(Error::InvalidParam)?;
        if !(BLOSC2_USER_REGISTERED_TUNER_START..=BLOSC2_USER_REGISTERED_TUNER_STOP)
            .contains(&tuner.id)
        {
            return Err(Error::Failure);
        }
        TUNERS.add(tuner.id, *tuner, Error::Failure).map(|()| 0)
    })
}

/// Gives the name of a codec in `*compname` (NULL if there is none of this id; the library's, not to be freed).
/// Returns the id, or -1.
///
/// # Safety
/// `compname` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_compcode_to_compname(
    compcode: c_int,
    compname: *mut *const c_char,
) -> c_int {
    guard(-1, || {
        let name = compname_of(compcode);
        if !compname.is_null() {
            // SAFETY: by the caller's word.
            unsafe { *compname = name.unwrap_or(std::ptr::null()) };
        }
        if name.is_some() { compcode } else { -1 }
    })
}

/// Returns the id of the codec of this name, or -1.
///
/// # Safety
/// `compname` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_compname_to_compcode(compname: *const c_char) -> c_int {
    guard(-1, || {
        // SAFETY: by the caller's word.
        unsafe { text(compname) }.map_or(-1, compcode_of)
    })
}
