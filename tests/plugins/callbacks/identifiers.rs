//! Which identifiers codecs, filters and tuners may have.

use super::*;

#[test]
fn ranges_of_identifiers() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let _turn = turn();
    let codes = [ours, reference].map(|lib| {
        let mut codes = Vec::new();
        for id in [0u8, 31, 159, 160, 161, 161, 255] {
            let name = if id == 161 { c"one" } else { c"other" };
            let mut codec = Codec {
                compcode: id,
                compname: name.as_ptr().cast_mut(),
                complib: id,
                version: 1,
                encoder: Some(encode),
                decoder: Some(decode),
            };
            let mut filter = Filter {
                id,
                name: name.as_ptr().cast_mut(),
                version: 1,
                forward: Some(forward),
                backward: Some(backward),
            };
            let mut tuner = Tuner {
                init: None,
                next_blocksize: None,
                next_cparams: None,
                update: None,
                free: None,
                id: c_int::from(id),
                name: name.as_ptr().cast_mut(),
            };
            // SAFETY: the structs live across the calls, the names for ever.
            unsafe {
                codes.push((lib.f.blosc2_register_codec)(&mut codec));
                codes.push((lib.f.blosc2_register_filter)(&mut filter));
                codes.push((lib.f.blosc2_register_tuner)(&mut tuner));
                let mut name = core::ptr::null();
                codes.push((lib.f.blosc2_compcode_to_compname)(c_int::from(id), &mut name).max(-1));
            }
        }
        // The same id again under another name.
        let mut codec = Codec {
            compcode: 160,
            compname: c"third".as_ptr().cast_mut(),
            complib: 160,
            version: 1,
            encoder: None,
            decoder: None,
        };
        let mut filter = Filter {
            id: 160,
            name: c"third".as_ptr().cast_mut(),
            version: 1,
            forward: None,
            backward: None,
        };
        // SAFETY: the structs live across the calls, the names for ever.
        unsafe {
            codes.push((lib.f.blosc2_register_codec)(&mut codec));
            codes.push((lib.f.blosc2_register_filter)(&mut filter));
        }
        codes
    });
    let [mine, theirs] = codes;
    assert_eq!(mine, theirs);
}
