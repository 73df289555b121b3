//! Functions that a program might register. They trust the library with the sizes of their buffers,
//! as programs do, and touch all of them, so that a sanitizer sees a buffer that is too short.

use blosc2::capi::registry::{blosc2_register_codec, blosc2_register_filter};
use blosc2::capi::types::*;
use std::ffi::{c_int, c_void};
use std::slice::{from_raw_parts, from_raw_parts_mut};
use std::sync::Once;

/// Id of the codec.
pub const CODEC: u8 = 200;
/// Id of the filter.
pub const FILTER: u8 = 201;

/// Makes the codec and the filter known.
pub fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let mut codec = blosc2_codec {
            compcode: CODEC,
            compname: c"halves".as_ptr().cast_mut(),
            complib: CODEC,
            version: 1,
            encoder: Some(encode),
            decoder: Some(decode),
        };
        let mut filter = blosc2_filter {
            id: FILTER,
            name: c"flip".as_ptr().cast_mut(),
            version: 1,
            forward: Some(forward),
            backward: Some(backward),
        };
        // SAFETY: both structs are whole, and the functions live as long as the process.
        let codes = unsafe {
            [
                blosc2_register_codec(&mut codec),
                blosc2_register_filter(&mut filter),
            ]
        };
        assert_eq!(codes, [0, 0]);
    });
}

/// Compresses data whose second half is like the first.
unsafe extern "C-unwind" fn encode(
    input: *const u8,
    input_len: i32,
    output: *mut u8,
    output_len: i32,
    _meta: u8,
    _cparams: *mut blosc2_cparams,
    _chunk: *const c_void,
) -> c_int {
    // SAFETY: the library, which calls this, passes buffers of these sizes.
    let (input, output) = unsafe {
        (
            from_raw_parts(input, input_len as usize),
            from_raw_parts_mut(output, output_len as usize),
        )
    };
    let (prefix, back) = input.split_at(input.len() / 2);
    match output.get_mut(..prefix.len()) {
        Some(out) if prefix == back => {
            out.copy_from_slice(prefix);
            prefix.len() as c_int
        }
        _ => 0,
    }
}

/// Writes its input twice, as far as there is room.
unsafe extern "C-unwind" fn decode(
    input: *const u8,
    input_len: i32,
    output: *mut u8,
    output_len: i32,
    _meta: u8,
    _dparams: *mut blosc2_dparams,
    _chunk: *const c_void,
) -> c_int {
    // SAFETY: the library, which calls this, passes buffers of these sizes.
    let (input, output) = unsafe {
        (
            from_raw_parts(input, input_len as usize),
            from_raw_parts_mut(output, output_len as usize),
        )
    };
    output.fill(0);
    let twice = input.iter().chain(input);
    let written = output.len().min(2 * input.len());
    output
        .iter_mut()
        .zip(twice)
        .for_each(|(to, from)| *to = *from);
    written as c_int
}

/// Copies `size` bytes, every bit flipped.
fn flip(src: *const u8, dest: *mut u8, size: i32) -> c_int {
    // SAFETY: the library, which calls this, passes buffers of this size.
    let (src, dest) = unsafe {
        (
            from_raw_parts(src, size as usize),
            from_raw_parts_mut(dest, size as usize),
        )
    };
    dest.iter_mut().zip(src).for_each(|(to, from)| *to = !from);
    0
}

unsafe extern "C-unwind" fn forward(
    src: *const u8,
    dest: *mut u8,
    size: i32,
    _meta: u8,
    _cparams: *mut blosc2_cparams,
    _id: u8,
) -> c_int {
    flip(src, dest, size)
}

unsafe extern "C-unwind" fn backward(
    src: *const u8,
    dest: *mut u8,
    size: i32,
    _meta: u8,
    _dparams: *mut blosc2_dparams,
    _id: u8,
) -> c_int {
    flip(src, dest, size)
}

/// A postfilter that leaves the data as they are, and uses all the memory it is given.
///
/// # Safety
/// The library calls it.
pub unsafe extern "C-unwind" fn postfilter(params: *mut blosc2_postfilter_params) -> c_int {
    // SAFETY: the library, which calls this, passes a struct whose buffers have the sizes it says.
    unsafe {
        let params = &*params;
        from_raw_parts_mut(params.output, params.size as usize)
            .copy_from_slice(from_raw_parts(params.input, params.size as usize));
        let ttmp = from_raw_parts_mut(params.ttmp, params.ttmp_nbytes);
        if let [first, .., last] = ttmp {
            (*first, *last) = (1, 1);
        }
    }
    0
}
