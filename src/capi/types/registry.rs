//! What a plugin library tells about itself: the names of its functions, by which the loader looks
//! them up. The strings are the plugin's, and live as long as it is loaded.

use core::ffi::c_char;

/// The functions of a plugin that is a codec.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct codec_info {
    /// Name of the `blosc2_codec_encoder_cb`.
    pub encoder: *mut c_char,
    /// Name of the `blosc2_codec_decoder_cb`.
    pub decoder: *mut c_char,
}

/// The functions of a plugin that is a filter.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct filter_info {
    /// Name of the `blosc2_filter_forward_cb`.
    pub forward: *mut c_char,
    /// Name of the `blosc2_filter_backward_cb`.
    pub backward: *mut c_char,
}

/// The functions of a plugin that is a tuner: the fields of `blosc2_tuner` by name.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct tuner_info {
    /// Name of the function that begins.
    pub init: *mut c_char,
    /// Name of the function that sets the block size alone.
    pub next_blocksize: *mut c_char,
    /// Name of the function that sets the parameters.
    pub next_cparams: *mut c_char,
    /// Name of the function that learns the time taken.
    pub update: *mut c_char,
    /// Name of the function that ends.
    pub free: *mut c_char,
}
