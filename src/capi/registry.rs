//! Codecs, filters and tuners that the program registers, and the names of codecs. A function that an entry lacks is the
//! plugin's of its name.

use crate::capi::prelude::*;
use oxiblosc_codecs::{Codec, registered_code, registered_name};
use oxiblosc_memory::{CStrBuf, Table, env};
use oxiblosc_plugin as plugin;
use std::ops::RangeInclusive;

/// What the program registered, with a copy of its name.
struct Entry<T> {
    functions: T,
    name: CStrBuf,
}

// SAFETY: an entry is only read, and its functions may be called from any thread, as registering them demands.
unsafe impl<T> Sync for Entry<T> {}

static CODECS: Table<Entry<blosc2_codec>> = Table::new();
static FILTERS: Table<Entry<blosc2_filter>> = Table::new();
static TUNERS: Table<Entry<blosc2_tuner>> = Table::new();

/// Registers functions, whose struct is copied, for one of the ids that a program may take. The same name again is fine; another one,
/// and an id that is not the program's, gives `refused`.
///
/// # Safety
/// `name` is null or a C string; the functions can be called from any thread until they are forgotten.
unsafe fn add<T>(
    table: &'static Table<Entry<T>>,
    ids: RangeInclusive<c_int>,
    (id, functions, name): (c_int, T, *const c_char),
    refused: Error,
) -> Result<()> {
    let id = u8::try_from(id).ok().filter(|_| ids.contains(&id));
    let id = id.ok_or(refused)?;
    let given = unsafe_granted!(c_str(name)).ok_or(Error::InvalidParam)?;
    let name = CStrBuf::copy_of(given)?;
    let entry = Entry { functions, name };
    match table.add(id, entry, |there| *there.name == *given)? {
        true => Ok(()),
        false => Err(refused),
    }
}

/// The functions of a plugin, where its name is one.
fn plugin_functions(name: &CStr, count: usize) -> Option<plugin::Functions> {
    let trace = |line: std::fmt::Arguments| env::trace("error", line);
    plugin::functions(name.to_str().ok()?, count, &trace).ok()?
}

/// The function at a place in a plugin's structure, as the type that this place has.
///
/// # Safety
/// `T` is `Option` of the type of the functions at that place.
unsafe fn function<T>(functions: &plugin::Functions, place: usize) -> T {
    const { assert!(size_of::<T>() == size_of::<*const c_void>()) };
    // SAFETY: as large as a pointer, as was just asserted; `# Safety` says that the function has this type.
    unsafe { std::mem::transmute_copy(&functions[place]) }
}

/// A function of the codec of this id: the program's own, or that at a place in `codec_info` of the plugin of its name.
///
/// # Safety
/// The function at that place is an `F`.
unsafe fn codec<F>(
    compcode: c_int,
    own: fn(&blosc2_codec) -> Option<F>,
    place: usize,
) -> Option<F> {
    let entry = CODECS.get(compcode);
    entry.and_then(|entry| own(&entry.functions)).or_else(|| {
        let name = match entry {
            Some(entry) => &*entry.name,
            None => registered_name(compcode)?,
        };
        unsafe_granted!(function(&plugin_functions(name, 2)?, place))
    })
}

/// What compresses with the codec of this id.
pub fn encoder(compcode: c_int) -> blosc2_codec_encoder_cb {
    // SAFETY: this is its place.
    unsafe { codec(compcode, |codec| codec.encoder, 0) }
}

/// What decompresses with the codec of this id.
pub fn decoder(compcode: c_int) -> blosc2_codec_decoder_cb {
    // SAFETY: this is its place.
    unsafe { codec(compcode, |codec| codec.decoder, 1) }
}

/// The registered filter of this id, with what a plugin of its name has where it lacks a function.
pub fn filter(id: u8) -> Option<(blosc2_filter_forward_cb, blosc2_filter_backward_cb)> {
    let Entry { functions, name } = FILTERS.get(id.into())?;
    let own = (functions.forward, functions.backward);
    if own.0.is_some() && own.1.is_some() {
        return Some(own);
    }
    let Some(functions) = plugin_functions(name, 2) else {
        return Some(own);
    };
    // SAFETY: these are the places of the functions in `filter_info`.
    unsafe { Some((function(&functions, 0), function(&functions, 1))) }
}

/// The tuner of this id, with what a plugin of its name has where it lacks a function.
pub fn tuner(id: c_int) -> Option<blosc2_tuner> {
    const NOTHING: blosc2_tuner = blosc2_tuner {
        init: None,
        next_blocksize: None,
        next_cparams: None,
        update: None,
        free: None,
        id: BLOSC_BTUNE,
        name: null_mut(),
    };
    let (own, name) = match TUNERS.get(id) {
        Some(entry) => (entry.functions, &*entry.name),
        None if id == BLOSC_BTUNE => (NOTHING, c"btune"),
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
        Some(blosc2_tuner {
            init: function(&functions, 0),
            next_blocksize: function(&functions, 1),
            next_cparams: function(&functions, 2),
            update: function(&functions, 3),
            free: function(&functions, 4),
            ..own
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
    let mut codecs = CODECS.iter();
    let found = codecs.find(|entry| entry.name.to_bytes() == name.as_bytes())?;
    Some(&found.functions)
}

/// The id of the codec of this name, or -1.
pub fn compcode_of(name: &str) -> c_int {
    let known = Codec::from_name(name).map(Codec::code);
    let known = known.or_else(|| registered_code(name));
    known
        .or_else(|| Some(registered(name)?.compcode.into()))
        .unwrap_or(-1)
}

/// The name of the codec of this id.
pub fn compname_of(compcode: c_int) -> Option<&'static CStr> {
    let known = Codec::from_code(compcode).map(Codec::c_name);
    let known = known.or_else(|| registered_name(compcode));
    known.or_else(|| Some(&*CODECS.get(compcode)?.name))
}

/// The version of a codec's format, for a chunk's header.
pub fn format_version_of(compcode: c_int) -> u8 {
    if Codec::from_code(compcode).is_some() || registered_name(compcode).is_some() {
        return 1;
    }
    // The reference writes -1 for a codec it does not know.
    CODECS
        .get(compcode)
        .map_or(0xff, |entry| entry.functions.version)
}

/// The library of the codec of this name: its code for the `flags` byte, or the field of its registration.
pub fn library_of(name: &str) -> Option<c_int> {
    let known = Codec::from_name(name).map(|known| known.format().into());
    let known = known.or_else(|| registered_code(name));
    known.or_else(|| Some(registered(name)?.complib.into()))
}

/// The name of a library.
pub fn library_name(library: c_int) -> Option<&'static CStr> {
    let format = u8::try_from(library).ok()?;
    let known = Codec::from_format(format).map(Codec::library_name);
    known.or_else(|| registered_name(library)).or_else(|| {
        let mut codecs = CODECS.iter();
        let found = codecs.find(|entry| entry.functions.complib == format)?;
        Some(&*found.name)
    })
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
        let codec = unsafe_granted!(codec.as_ref()).ok_or(Error::InvalidParam)?;
        let ids = BLOSC2_USER_REGISTERED_CODECS_START..=BLOSC2_USER_REGISTERED_CODECS_STOP;
        let entry = (codec.compcode.into(), *codec, codec.compname.cast_const());
        unsafe_granted!(add(&CODECS, ids, entry, Error::CodecParam))
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
        let filter = unsafe_granted!(filter.as_ref()).ok_or(Error::InvalidParam)?;
        let ids = BLOSC2_USER_REGISTERED_FILTERS_START..=BLOSC2_USER_REGISTERED_FILTERS_STOP;
        let entry = (filter.id.into(), *filter, filter.name.cast_const());
        unsafe_granted!(add(&FILTERS, ids, entry, Error::Failure))
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
        let tuner = unsafe_granted!(tuner.as_ref()).ok_or(Error::InvalidParam)?;
        let ids = BLOSC2_USER_REGISTERED_TUNER_START..=BLOSC2_USER_REGISTERED_TUNER_STOP;
        let entry = (tuner.id, *tuner, tuner.name.cast_const());
        unsafe_granted!(add(&TUNERS, ids, entry, Error::Failure))
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
        unsafe_granted!(give(compname, name.map_or(null(), CStr::as_ptr)));
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
        unsafe_granted!(text(compname)).map_or(-1, compcode_of)
    })
}
