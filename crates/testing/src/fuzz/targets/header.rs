//! What a header says, through every function that asks it; and the chunks that are nothing but a
//! header.

use super::super::calls::{
    Decompression, Getitem, c_len, decompress, getitem, vlchunk_get_nblocks,
};
use super::super::numbers::Input;
use super::LARGEST;
use blosc2::capi::info::*;
use blosc2::capi::special::*;
use blosc2::capi::types::blosc2_cparams;
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH, MIN_HEADER_LENGTH};
use std::ffi::CStr;

/// The front of a chunk; the same bytes are also taken for parameters of a special chunk.
pub fn run(data: &[u8]) {
    let chunk: Box<[u8]> = data.into();
    queries(&chunk);
    special(&mut Input(data));
}

fn queries(chunk: &[u8]) {
    let src = chunk.as_ptr().cast();
    let mut nbytes = usize::MAX;
    // SAFETY: the source has the size given.
    let valid = unsafe { blosc1_cbuffer_validate(src, chunk.len(), &mut nbytes) };
    assert!(valid >= 0 || nbytes == 0);
    let nblocks = vlchunk_get_nblocks(chunk);
    let parsed = ChunkHeader::parse(chunk);
    if let Ok(header) = parsed {
        assert_eq!(nblocks.is_ok(), header.has_vlblocks());
        assert!(nblocks.is_err() || nblocks == Ok(header.nblocks));
        let mut written = [0; EXTENDED_HEADER_LENGTH];
        header.write(&mut written);
        assert_eq!(ChunkHeader::parse(&written), Ok(header));
    }
    if chunk.len() < MIN_HEADER_LENGTH {
        return;
    }
    let prefix: Box<[u8]> = chunk[..MIN_HEADER_LENGTH].into();
    let src = prefix.as_ptr().cast();
    let basic = ChunkHeader::parse_basic(&prefix);
    let (mut n, mut c, mut b) = (-1, -1, -1);
    let (mut n1, mut c1, mut b1) = (usize::MAX, usize::MAX, usize::MAX);
    let (mut typesize, mut flags, mut version, mut versionlz) = (usize::MAX, -1, -1, -1);
    // SAFETY: the source has 16 bytes.
    let (code, complib) = unsafe {
        blosc1_cbuffer_sizes(src, &mut n1, &mut c1, &mut b1);
        blosc1_cbuffer_metainfo(src, &mut typesize, &mut flags);
        blosc2_cbuffer_versions(src, &mut version, &mut versionlz);
        (
            blosc2_cbuffer_sizes(src, &mut n, &mut c, &mut b),
            blosc2_cbuffer_complib(src),
        )
    };
    assert_eq!(code < 0, basic.is_err());
    let sizes = [n, c, b].map(|size| usize::try_from(size).expect("never negative"));
    assert_eq!(sizes, [n1, c1, b1]);
    match basic {
        Ok(header) => {
            assert_eq!((sizes[0], sizes[1]), (header.nbytes, header.cbytes));
            assert_eq!(
                (typesize, flags),
                (header.typesize.into(), header.flags.into())
            );
            assert_eq!((version, versionlz), (prefix[0].into(), prefix[1].into()));
        }
        Err(_) => assert_eq!((sizes, typesize, flags, version), ([0; 3], 0, 0, 0)),
    }
    if !complib.is_null() {
        // SAFETY: a C string of the library.
        assert!(!unsafe { CStr::from_ptr(complib) }.is_empty());
    }
}

/// A chunk of zeros, NaNs, one value or nothing: made, read, and asked for an item.
fn special(input: &mut Input) {
    let kind = input.byte();
    let mut cparams = blosc2_cparams::defaults();
    cparams.compcode = input.byte();
    cparams.clevel = input.byte();
    let (mut nbytes, mut typesize) = (input.int(), input.int());
    if kind & 8 == 0 {
        (nbytes, typesize) = (nbytes & 0xf_ffff, typesize & 0xff);
    }
    if kind & 16 == 0 && typesize > 0 {
        nbytes -= nbytes % typesize;
    }
    cparams.typesize = typesize;
    cparams.blocksize = input.int() & if kind & 32 == 0 { 0xffff } else { -1 };
    cparams.splitmode = input.byte().into();
    let capacity = usize::from(input.byte());
    let value_size = usize::try_from(typesize).unwrap_or(0).min(LARGEST);
    if value_size == LARGEST {
        return;
    }
    let mut value = input.take(value_size).into_vec();
    value.resize(value_size, 0x11);
    let value = value.into_boxed_slice();
    let needed = EXTENDED_HEADER_LENGTH + if kind & 3 == 3 { value.len() } else { 0 };
    let capacity = if capacity < 240 {
        needed
    } else {
        capacity - 220
    };
    let mut chunk = vec![0; capacity].into_boxed_slice();
    let (dest, destsize) = (chunk.as_mut_ptr().cast(), c_len(capacity));
    // SAFETY: the destination has the size given, the value that of an item; the parameters hold no
    // pointers.
    let cbytes = unsafe {
        match kind & 3 {
            0 => blosc2_chunk_zeros(cparams, nbytes, dest, destsize),
            1 => blosc2_chunk_nans(cparams, nbytes, dest, destsize),
            2 => blosc2_chunk_uninit(cparams, nbytes, dest, destsize),
            _ => blosc2_chunk_repeatval(cparams, nbytes, dest, destsize, value.as_ptr().cast()),
        }
    };
    let Ok(cbytes) = usize::try_from(cbytes) else {
        return;
    };
    assert!(cbytes <= capacity);
    queries(&chunk[..cbytes]);
    let header = ChunkHeader::parse(&chunk[..cbytes]);
    let Some(header) = header.ok().filter(|header| header.nbytes <= LARGEST) else {
        return;
    };
    let mut data = vec![0x55; header.nbytes].into_boxed_slice();
    let code = decompress(Decompression::on(2), None, &chunk, &mut data);
    if code < 0 {
        return;
    }
    assert_eq!(code, c_len(data.len()));
    match kind & 3 {
        0 => assert!(data.iter().all(|byte| *byte == 0)),
        3 => assert!(data.chunks(value.len()).all(|item| *item == *value)),
        _ => {}
    }
    let mut item = vec![0x55; header.typesize.into()].into_boxed_slice();
    let code = getitem(Getitem::Plain, &chunk, 0, 1, &mut item);
    assert!(code < 0 || data.starts_with(&item));
}
