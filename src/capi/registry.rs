//! Codecs, filters and tuners that the program registers. A function that an entry lacks is the
//! plugin's of its name.

use crate::capi::prelude::*;
use oxiblosc::codec::registered_name;
use oxiblosc::plugin;
use oxiblosc::registry::{ProgramCodec, Registry};
use oxiblosc_base::memory::env;

/// Functions of the program's.
pub struct ProgramFunctions<T>(T);

// SAFETY: entries are never written after they were made, and the functions that register them
// require that the callbacks can be called until `blosc2_destroy`, on the threads of the library.
unsafe impl<T> Sync for ProgramFunctions<T> {}

/// The codecs.
pub static CODECS: Registry<ProgramFunctions<blosc2_codec>> = Registry::new();
static FILTERS: Registry<ProgramFunctions<blosc2_filter>> = Registry::new();
static TUNERS: Registry<ProgramFunctions<blosc2_tuner>> = Registry::new();

impl ProgramCodec for ProgramFunctions<blosc2_codec> {
    fn code(&self) -> u8 {
        self.0.compcode
    }

    fn library(&self) -> u8 {
        self.0.complib
    }

    fn version(&self) -> u8 {
        self.0.version
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
    // SAFETY: as large as a pointer, as was just asserted; `# Safety` says that the function has
    // this type.
    unsafe { std::mem::transmute_copy(&functions[place]) }
}

/// A function of the codec of this id: the program's own, or that at a place in `codec_info` of the
/// plugin of its name.
///
/// # Safety
/// The function at that place is an `F`.
unsafe fn codec<F>(
    compcode: c_int,
    own: fn(&blosc2_codec) -> Option<F>,
    place: usize,
) -> Option<F> {
    let entry = CODECS.get(compcode);
    entry.and_then(|entry| own(&entry.functions.0)).or_else(|| {
        let name = match entry {
            Some(entry) => &*entry.name,
            None => registered_name(compcode)?,
        };
        unsafe_granted!(function(&plugin_functions(name, 2)?, place))
    })
}

/// What compresses with the codec of this id.
pub fn encoder(compcode: c_int) -> blosc2_codec_encoder_cb {
    // SAFETY: the `codec_info` of a plugin has the encoder first.
    unsafe { codec(compcode, |codec| codec.encoder, 0) }
}

/// What decompresses with the codec of this id.
pub fn decoder(compcode: c_int) -> blosc2_codec_decoder_cb {
    // SAFETY: the `codec_info` of a plugin has the decoder second.
    unsafe { codec(compcode, |codec| codec.decoder, 1) }
}

/// The registered filter of this id, with what a plugin of its name has where it lacks a function.
pub fn filter(id: u8) -> Option<(blosc2_filter_forward_cb, blosc2_filter_backward_cb)> {
    let entry = FILTERS.get(id.into())?;
    let own = (entry.functions.0.forward, entry.functions.0.backward);
    let complete = own.0.is_some() && own.1.is_some();
    // SAFETY: the `filter_info` of a plugin has these functions in this order.
    let of_plugin = |functions| unsafe { (function(&functions, 0), function(&functions, 1)) };
    let plugin = || plugin_functions(&entry.name, 2).map(of_plugin);
    complete.then_some(own).or_else(plugin).or(Some(own))
}

/// The tuner of this id, with what a plugin of its name has where it lacks a function.
pub fn tuner(id: c_int) -> Option<blosc2_tuner> {
    let (own, name) = match TUNERS.get(id) {
        Some(entry) => (Some(entry.functions.0), &*entry.name),
        None if id == BLOSC_BTUNE => (None, c"btune"),
        None => return None,
    };
    let complete = own.filter(|own| {
        let alike = [own.next_blocksize, own.next_cparams, own.free];
        own.init.is_some() && own.update.is_some() && alike.iter().all(Option::is_some)
    });
    // SAFETY: the `tuner_info` of a plugin has these functions in this order.
    let of_plugin = |functions| unsafe {
        blosc2_tuner {
            init: function(&functions, 0),
            next_blocksize: function(&functions, 1),
            next_cparams: function(&functions, 2),
            update: function(&functions, 3),
            free: function(&functions, 4),
            id,
            name: null_mut(),
        }
    };
    let plugin = || plugin_functions(name, 5).map(of_plugin);
    complete.or_else(plugin).or(own)
}

/// Forgets everything that was registered.
pub fn clear() {
    CODECS.clear();
    FILTERS.clear();
    TUNERS.clear();
}

/// The id of the codec of this name, or -1.
pub fn code_of(name: &str) -> c_int {
    CODECS.code_of(name).unwrap_or(-1)
}

/// Registers a copy of a structure of the program's under its id and name, or gives the error
/// `refused`.
///
/// # Safety
/// `entry` is null or valid. The name in it is null or a C string, and its functions can be called
/// until `blosc2_destroy`.
unsafe fn register<T: Copy + 'static>(
    registry: &'static Registry<ProgramFunctions<T>>,
    entry: *const T,
    id_and_name: fn(&T) -> (c_int, *mut c_char),
    refused: Error,
) -> Result<()> {
    let entry = unsafe_granted!(entry.as_ref()).ok_or(Error::INVALID_PARAM)?;
    let (id, name) = id_and_name(entry);
    let name = unsafe_granted!(c_str(name));
    registry.register(id, ProgramFunctions(*entry), name, refused)
}

/// Registers a codec for the ids from `BLOSC2_USER_REGISTERED_CODECS_START` on. The struct and its
/// name are copied. Returns 0, also when this codec was registered before;
/// `BLOSC2_ERROR_CODEC_PARAM` if the id is not a user's or belongs to a codec of another name.
///
/// # Safety
/// `codec` points to a codec with a name; its functions can be called until `blosc2_destroy`.
#[export]
pub unsafe extern "C" fn blosc2_register_codec(codec: *mut blosc2_codec) -> c_int {
    let id_and_name = |codec: &blosc2_codec| (codec.compcode.into(), codec.compname);
    register(&CODECS, codec, id_and_name, Error::CODEC_PARAM)
}

/// Registers a filter for the ids from `BLOSC2_USER_REGISTERED_FILTERS_START` on. The struct and
/// its name are copied. Returns 0, also when this filter was registered before;
/// `BLOSC2_ERROR_FAILURE` if the id is not a user's or belongs to a filter of another name.
///
/// # Safety
/// `filter` points to a filter with a name; its functions can be called until `blosc2_destroy`.
#[export]
pub unsafe extern "C" fn blosc2_register_filter(filter: *mut blosc2_filter) -> c_int {
    let id_and_name = |filter: &blosc2_filter| (filter.id.into(), filter.name);
    register(&FILTERS, filter, id_and_name, Error::FAILURE)
}

/// Registers a tuner for the ids from `BLOSC2_USER_REGISTERED_TUNER_START` on. The struct and its
/// name are copied. Returns 0, also when this tuner was registered before; `BLOSC2_ERROR_FAILURE`
/// if the id is not a user's or belongs to a tuner of another name.
///
/// # Safety
/// `tuner` points to a tuner with a name; its functions can be called until `blosc2_destroy`.
#[export]
pub unsafe extern "C" fn blosc2_register_tuner(tuner: *mut blosc2_tuner) -> c_int {
    let id_and_name = |tuner: &blosc2_tuner| (tuner.id, tuner.name);
    register(&TUNERS, tuner, id_and_name, Error::FAILURE)
}

/// A name for C; null for none.
pub fn c_name(name: Option<&'static CStr>) -> *const c_char {
    name.map_or(null(), CStr::as_ptr)
}

/// Gives the name of a codec in `*compname` (NULL if there is none of this id; the library's, not
/// to be freed). Returns the id, or -1.
///
/// # Safety
/// `compname` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_compcode_to_compname(
    compcode: c_int,
    compname: *mut *const c_char,
) -> c_int {
    unsafe_granted!(guard(-1, || {
        let name = CODECS.name_of(compcode);
        give(compname, c_name(name));
        if name.is_some() { compcode } else { -1 }
    }))
}

/// Returns the id of the codec of this name, or -1.
///
/// # Safety
/// `compname` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_compname_to_compcode(compname: *const c_char) -> c_int {
    unsafe_granted!(guard(-1, || text(compname).map_or(-1, code_of)))
}
