//! The API for Rust programs against the C libraries: the same data and parameters give the same
//! bytes, what one writes the others read, and threads may share what they have.

use blosc2::capi::types::blosc2_cparams;
use oxiblosc::schunk::chunks::Position as At;
use oxiblosc::{
    Array, CParams, Compressor, DParams, Decompressor, Error, Initial, Layout, Place, Protection,
    Split, StorageParams, SuperChunk,
};
use oxiblosc_testing::b2nd::{Spec, our_arrays, reference_arrays};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::schunk::{our_schunks, reference_schunks};
use std::fs;
use std::path::Path;

const NBYTES: usize = 200_000;
const NCHUNKS: usize = 5;

fn data(nchunk: usize) -> Vec<u8> {
    let kind = if nchunk == 3 {
        Kind::Zeros
    } else {
        Kind::WalkInt32
    };
    kind.bytes(NBYTES, nchunk as u64)
}

/// Parameters, as Rust and as C have them.
fn parameters() -> Vec<(CParams, blosc2_cparams)> {
    let mut all = Vec::new();
    for (codec, level, filter, typesize, use_dict) in [
        (0, 5, 1, 4, false),
        (1, 9, 2, 8, false),
        (1, 1, 0, 1, false),
        (2, 3, 1, 2, false),
        (4, 6, 3, 4, false),
        (5, 5, 1, 4, true),
        (5, 0, 1, 4, false),
    ] {
        let mut rust = CParams {
            codec,
            level,
            typesize,
            use_dict,
            split: Split::Auto,
            ..CParams::default()
        };
        rust.filters[5] = filter;
        let c = blosc2_cparams {
            compcode: codec,
            clevel: level,
            typesize,
            use_dict: use_dict.into(),
            splitmode: 3,
            filters: rust.filters,
            ..blosc2_cparams::defaults()
        };
        all.push((rust, c));
    }
    all
}

fn create(place: Place, cparams: &CParams) -> Result<SuperChunk, Error> {
    SuperChunk::create(StorageParams {
        place,
        cparams: cparams.clone(),
        dparams: DParams { nthreads: 2 },
        ..StorageParams::default()
    })
}

/// Checks that a frame holds the chunks of [`data`], and these metalayers.
fn check(path: &Path, library: &'static oxiblosc_testing::schunk::SchunkLib, what: &str) {
    let schunk = library
        .open_path(path)
        .unwrap_or_else(|| panic!("{what}: does not open"));
    let mut chunk = vec![0; NBYTES];
    for nchunk in 0..NCHUNKS {
        let rc = schunk.decompress_chunk(nchunk as i64, &mut chunk);
        assert_eq!(rc, NBYTES as i64, "{what}, chunk {nchunk}");
        assert!(chunk == data(nchunk), "{what}, chunk {nchunk}");
    }
    assert_eq!(
        schunk.vlmeta_get(c"more"),
        (0, b"content".to_vec()),
        "{what}"
    );
    assert_eq!(
        schunk.metalayers(),
        [(b"fixed".to_vec(), vec![1, 2, 3])],
        "{what}"
    );
}

#[test]
fn frames_have_the_bytes_that_c_programs_write() {
    let folder = Folder::new("rust-api");
    let (ours, reference) = (our_schunks(), reference_schunks());
    for (i, (cparams, c)) in parameters().into_iter().enumerate() {
        for directory in [false, true] {
            let what = format!("{cparams:?}, directory: {directory}");
            let path = folder.join(&format!("rust-{i}-{directory}"));
            let place = match directory {
                true => Place::Directory(&path),
                false => Place::File(&path),
            };
            let rust = create(place, &cparams).expect("a super-chunk");
            assert_eq!(rust.add_metalayer(b"fixed", &[1, 2, 3]), Ok(0), "{what}");
            for nchunk in 0..NCHUNKS {
                let count = rust.append_data(&data(nchunk));
                assert_eq!(count, Ok(nchunk + 1), "{what}");
            }
            let encoder = Compressor::new(CParams::default());
            let added = rust.add_vlmetalayer(b"more", b"content", &encoder);
            assert_eq!(added, Ok(0), "{what}");
            drop(rust);
            check(&path, ours, &what);
            if let Some(reference) = reference {
                check(&path, reference, &what);
            }
            if directory {
                continue;
            }
            let other = folder.join(&format!("c-{i}"));
            let created = ours
                .create(true, Some(&other), &c, 1, None)
                .expect("a frame");
            created.meta_add(c"fixed", &[1, 2, 3]);
            for nchunk in 0..NCHUNKS {
                assert!(created.append_buffer(&data(nchunk), NBYTES as i32) > 0);
            }
            created.vlmeta_add(c"more", b"content");
            drop(created);
            let (rust, c) = (fs::read(&path).unwrap(), fs::read(&other).unwrap());
            // The header records the threads, of which the super-chunk of Rust has two to
            // decompress.
            let same = rust.iter().zip(&c).filter(|(a, b)| a == b).count();
            assert_eq!((rust.len(), same + 1), (c.len(), c.len()), "{what}");
        }
    }
}

#[test]
fn chunks_come_go_and_change() {
    let folder = Folder::new("rust-api-changes");
    let (file, directory) = (folder.join("file"), folder.join("directory"));
    let places = [
        Place::Memory,
        Place::Frame,
        Place::File(&file),
        Place::Directory(&directory),
    ];
    for place in places {
        let cparams = CParams {
            typesize: 4,
            ..CParams::default()
        };
        let schunk = create(place, &cparams).expect("a super-chunk");
        let mut model: Vec<Vec<u8>> = Vec::new();
        for nchunk in 0..NCHUNKS {
            schunk.append_data(&data(nchunk)).expect("a chunk");
            model.push(data(nchunk));
        }
        let compress = |data: &[u8]| Compressor::new(cparams.clone()).compress(data).unwrap();
        let (new, other) = (data(11), data(12));
        assert_eq!(schunk.put_chunk(At::Before(1), &compress(&new)), Ok(6));
        model.insert(1, new);
        assert_eq!(schunk.put_chunk(At::Over(4), &compress(&other)), Ok(6));
        model[4] = other;
        assert_eq!(schunk.delete_chunk(0), Ok(5));
        model.remove(0);
        assert_eq!(schunk.reorder(&[4, 0, 1, 2, 3]), Ok(()));
        model.rotate_right(1);
        let mut flat = model.concat();
        let patch = vec![0xab; 12_340];
        schunk.write_bytes(190_000, &patch).expect("a place");
        flat[190_000..][..patch.len()].copy_from_slice(&patch);
        assert_eq!(schunk.nbytes(), Ok(flat.len() as u64));
        let mut back = vec![0; flat.len()];
        schunk
            .read_bytes(0..flat.len() as u64, &mut back)
            .expect("all");
        assert!(back == flat, "{place:?}");
        let coords: Vec<u64> = (0..flat.len() as u64 / 4).rev().step_by(997).collect();
        let mut items = vec![0; 4 * coords.len()];
        schunk.read_sparse(&coords, &mut items).expect("items");
        for (item, coord) in items.chunks(4).zip(&coords) {
            assert_eq!(item, &flat[*coord as usize * 4..][..4], "{place:?}");
        }
        // What there is not.
        let end = flat.len() as u64;
        assert_eq!(
            schunk.read_bytes(end..end + 4, &mut [0; 4]),
            Err(Error::FAILURE)
        );
        assert_eq!(schunk.delete_chunk(5), Err(Error::INVALID_PARAM));
        assert_eq!(
            schunk.read_sparse(&[end], &mut [0; 4]),
            Err(Error::INVALID_PARAM)
        );
        // Copies, and the bytes of a frame.
        let frame = schunk.to_frame().expect("a frame");
        let path = folder.join("copy");
        let protection = Protection {
            locking: true,
            durable: true,
            checksums: true,
        };
        let copy = schunk.copy_to(StorageParams {
            place: Place::File(&path),
            cparams: cparams.clone(),
            protection,
            ..StorageParams::default()
        });
        drop(copy.expect("a copy"));
        let again = create(Place::File(&path), &cparams);
        assert_eq!(again.err(), Some(Error::FILE_OPEN));
        let copy = SuperChunk::open(&path, 0, 2, protection).expect("a frame");
        copy.read_bytes(0..end, &mut back).expect("all");
        assert!(back == flat, "{place:?}");
        drop(copy);
        let appended = [vec![0; 1000], frame.to_vec()].concat();
        fs::write(&path, appended).unwrap();
        let copy = SuperChunk::open(&path, 1000, 1, Protection::default()).expect("a frame");
        copy.read_bytes(0..end, &mut back).expect("all");
        assert!(back == flat, "{place:?}");
        fs::remove_file(&path).unwrap();
        let _ = fs::remove_file(folder.join("copy.lock"));
    }
}

#[test]
fn parameters_that_cannot_be_are_errors() {
    let data = data(0);
    for (cparams, error) in [
        (
            CParams {
                typesize: 0,
                ..CParams::default()
            },
            Error::INVALID_PARAM,
        ),
        (
            CParams {
                level: 10,
                ..CParams::default()
            },
            Error::CODEC_PARAM,
        ),
        (
            CParams {
                codec: 77,
                ..CParams::default()
            },
            Error::CODEC_SUPPORT,
        ),
        (
            CParams {
                use_dict: true,
                ..CParams::default()
            },
            Error::CODEC_PARAM,
        ),
    ] {
        let created = Compressor::new(cparams.clone()).compress(&data);
        assert_eq!(created.err(), Some(error), "{cparams:?}");
        let schunk = create(Place::Memory, &cparams).expect("nothing is compressed yet");
        assert_eq!(schunk.append_data(&data), Err(error), "{cparams:?}");
    }
    let chunk = Compressor::new(CParams::default()).compress(&data).unwrap();
    let decompressor = Decompressor::new(DParams::default());
    let mut dest = vec![0; NBYTES];
    let short = decompressor.decompress(&chunk, &mut dest[1..]);
    assert_eq!(short, Err(Error::WRITE_BUFFER));
    assert_eq!(
        decompressor.decompress_items(&chunk, 10, 5, &mut dest),
        Ok(40)
    );
    assert!(dest[..40] == data[80..120]);
    assert!(decompressor.decompress(&chunk[..40], &mut dest).is_err());
}

#[test]
fn arrays_are_those_of_c_programs() {
    let folder = Folder::new("rust-api-arrays");
    let path = folder.join("array");
    let layout = Layout {
        shape: &[70, 90],
        chunks: &[40, 50],
        blocks: &[13, 11],
        dtype: Some(b"<i4"),
        metalayers: &[(b"more", b"content")],
    };
    let cparams = CParams {
        typesize: 4,
        ..CParams::default()
    };
    let storage = StorageParams {
        place: Place::File(&path),
        cparams,
        ..StorageParams::default()
    };
    let array = Array::zeros(&layout, storage).expect("an array");
    let mut items: Vec<u8> = (0..70 * 90i32).flat_map(i32::to_le_bytes).collect();
    array.write(&[0, 0], &[70, 90], &items).expect("all items");
    let patch = [7; 4 * 6 * 8];
    array.write(&[37, 47], &[43, 55], &patch).expect("a box");
    for row in 37..43 {
        items[4 * (row * 90 + 47)..][..32].fill(7);
    }
    array.append(&[5; 4 * 90 * 2], 0).expect("two rows");
    items.extend([5; 4 * 90 * 2]);
    assert_eq!(*array.shape().expect("a shape"), [72, 90]);
    let mut part = [0; 4 * 3 * 2];
    array
        .read(&[70, 88], &[73, 90], &mut part)
        .expect_err("beyond the end");
    array.read(&[36, 46], &[39, 48], &mut part).expect("a box");
    for (row, got) in (36..39).zip(part.chunks(8)) {
        assert_eq!(got, &items[4 * (row * 90 + 46)..][..8]);
    }
    drop(array);
    for library in [Some(our_arrays()), reference_arrays()]
        .into_iter()
        .flatten()
    {
        let opened = library.open_path(&path).expect("an array");
        assert!(opened.to_buffer().expect("all items") == items);
    }
    let spec = Spec {
        shape: vec![72, 90],
        chunks: vec![40, 50],
        blocks: vec![13, 11],
        cparams: blosc2_cparams {
            typesize: 4,
            ..blosc2_cparams::defaults()
        },
        nthreads: 1,
        contiguous: true,
        path: Some(oxiblosc_testing::b2nd::c_path(&folder.join("c"))),
    };
    let created = our_arrays().array_of(&spec, &items).expect("an array");
    drop(created);
    let array = Array::open(&folder.join("c"), 1, Protection::default()).expect("an array");
    let mut all = vec![0; items.len()];
    array.read(&[0, 0], &[72, 90], &mut all).expect("all items");
    assert!(all == items);
    assert_eq!(array.resize(&[100, 20]), Ok(()));
    assert_eq!(array.resize(&[100]), Err(Error::INVALID_PARAM));
}

#[test]
fn threads_share_what_there_is() {
    let schunk = create(Place::Frame, &CParams::default()).expect("a super-chunk");
    let layout = Layout {
        shape: &[64, 64],
        chunks: &[32, 32],
        blocks: &[8, 8],
        dtype: None,
        metalayers: &[],
    };
    let array = Array::zeros(&layout, StorageParams::default()).expect("an array");
    schunk.append_data(&[0; 8000]).expect("a chunk");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 1..100u8 {
                schunk.write_bytes(0, &[n; 8000]).expect("a write");
                array
                    .write(&[0, 0], &[64, 64], &[n; 8 * 64 * 64])
                    .expect("a write");
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                let (mut bytes, mut items) = (vec![0; 8000], vec![0; 8 * 64 * 64]);
                for _ in 0..200 {
                    schunk.read_bytes(0..8000, &mut bytes).expect("a read");
                    assert!(bytes.iter().all(|byte| *byte == bytes[0]), "a mixture");
                    array.read(&[0, 0], &[64, 64], &mut items).expect("a read");
                    assert!(items.iter().all(|byte| *byte == items[0]), "a mixture");
                }
            });
        }
    });
}

/// A chunk of an array may have another codec and other filters than new chunks get; blocks of it
/// that change get them again, also those that ask for the super-chunk's typesize or the shape of
/// blocks. So it becomes what a chunk of an array with these parameters becomes.
#[test]
fn blocks_keep_codec_and_filters_of_their_chunk() {
    use oxiblosc::filter::{BYTEDELTA, BYTEDELTA_BUGGY, INT_TRUNC, NDCELL, NDMEAN, SHUFFLE};
    const REGISTERED_CODECS: std::ops::RangeInclusive<u8> = 32..=35;
    let data: Vec<u8> = (0..40_000).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let plain = CParams {
        codec: 1,
        typesize: 4,
        ..CParams::default()
    };
    let mut others = Vec::new();
    for (filter, meta) in [
        (NDCELL, 4),
        (NDMEAN, 4),
        (BYTEDELTA, 0),
        (BYTEDELTA_BUGGY, 0),
        (INT_TRUNC, 8),
    ] {
        let (filters, filters_meta) = ([0, 0, 0, 0, SHUFFLE, filter], [0, 0, 0, 0, 0, meta]);
        others.push(CParams {
            filters,
            filters_meta,
            ..plain.clone()
        });
    }
    for codec in REGISTERED_CODECS {
        others.push(CParams {
            codec,
            codec_meta: if codec == 32 { 4 } else { 8 },
            // NDLZ takes single bytes.
            typesize: if codec == 32 { 1 } else { 4 },
            filters: [0; 6],
            ..plain.clone()
        });
    }
    for other in others {
        let layout = Layout {
            shape: &[200, 200],
            chunks: &[200, 200],
            blocks: &[40, 50],
            dtype: None,
            metalayers: &[],
        };
        let plain = CParams {
            typesize: other.typesize,
            ..plain.clone()
        };
        let item = other.typesize as usize;
        let create = |cparams: &CParams| {
            let storage = StorageParams {
                cparams: cparams.clone(),
                ..StorageParams::default()
            };
            let created = Array::create(&layout, Initial::Items(&data[..40_000 * item]), storage);
            created.unwrap_or_else(|error| panic!("{cparams:?}: {error}"))
        };
        let (array, donor) = (create(&plain), create(&other));
        let state = donor.schunk().peek().expect("a state");
        let chunk = state.chunk(0).expect("a chunk").to_vec();
        drop(state);
        let put = array.schunk().put_chunk(At::Over(0), &chunk);
        put.expect("a chunk of the same size");
        let written = [&array, &donor].map(|array| {
            let write = array.write(&[41, 3], &[42, 7], &[0; 16][..4 * item]);
            write.unwrap_or_else(|error| panic!("{other:?}: {error}"));
            let state = array.schunk().peek().expect("a state");
            state.chunk(0).expect("a chunk").to_vec()
        });
        assert!(written[0] != chunk, "{other:?}");
        assert!(written[0] == written[1], "{other:?}");
    }
}
