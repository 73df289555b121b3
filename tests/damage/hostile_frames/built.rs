//! Frames that are built by hand, each to cost a reader as much as possible for its bytes: a few
//! numbers that tell of much, and many places that lead to the same bytes.

use super::seeds::Seed;
use oxiblosc::b2nd::MAX_DIM;
use oxiblosc::b2nd::meta::Meta;
use oxiblosc_base::memory::TryVec;
use oxiblosc_chunk::parameters::Parameters;
use oxiblosc_frame::header::{self, Header};
use oxiblosc_frame::meta::MetalayerRef;
use oxiblosc_frame::offsets::{ChunkPosition, Offsets};
use oxiblosc_frame::trailer;
use oxiblosc_testing::abi::{self, CParams};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::schunk::SchunkLib;

/// What is to become of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It opens: it only tells of much.
    Opens,
    /// It contradicts itself, or no writer makes such frames.
    Refused,
    /// Either will do, as long as it costs little.
    Any,
}

/// A frame that was built.
pub struct Built {
    pub name: String,
    pub seed: Seed,
    pub verdict: Verdict,
    /// Bytes of memory that are asked for with any item: those of its block, as often as filters
    /// need them.
    pub asked: usize,
}

impl Built {
    fn new(name: impl Into<String>, seed: Seed, verdict: Verdict) -> Self {
        Self {
            name: name.into(),
            seed,
            verdict,
            asked: 0,
        }
    }
}

/// A frame that costs nothing.
pub fn small() -> Seed {
    contiguous(2000, 2000, &[], &repeated(ZEROS, 1))
}

/// The offset of a chunk of zeros.
const ZEROS: i64 = i64::MIN | 1 << 56;
/// The offset of a chunk of NaNs.
const NANS: i64 = i64::MIN | 2 << 56;

fn header(kind: header::FrameKind, nbytes: i64, chunksize: i32, typesize: i32) -> Header {
    Header {
        kind,
        nbytes,
        chunksize,
        parameters: Parameters {
            typesize,
            blocksize: 0,
            compcode: 1,
            compcode_meta: 0,
            clevel: 5,
            splitmode: 1,
            use_dict: false,
            filters: [0, 0, 0, 0, 0, 1],
            filters_meta: [0; 6],
        },
        nthreads_c: 1,
        nthreads_d: 1,
        has_vlmetalayers: false,
        vlblocks: false,
        metalayers: TryVec::new(),
    }
}

/// Puts the parts of a frame together.
fn join(
    prefix: impl AsRef<[u8]>,
    data: &[u8],
    index: &[u8],
    trailer: &[u8],
    cbytes: u64,
) -> Vec<u8> {
    let mut frame = [prefix.as_ref(), data, index, trailer].concat();
    let len = frame.len() as u64;
    header::set_extent(&mut frame, len, cbytes);
    frame
}

/// A contiguous frame with these metalayers.
fn contiguous_with(h: &Header, layers: &[MetalayerRef], data: &[u8], index: &[u8]) -> Seed {
    let prefix = h.encode(layers).expect("a header");
    let trailer = trailer::encode(&[]).expect("a trailer");
    Seed::Contiguous(join(prefix, data, index, &trailer, data.len() as u64))
}

/// A contiguous frame.
fn contiguous(nbytes: i64, chunksize: i32, data: &[u8], index: &[u8]) -> Seed {
    let h = header(header::FrameKind::Contiguous, nbytes, chunksize, 1);
    contiguous_with(&h, &[], data, index)
}

/// A directory whose files of chunks are all the same.
fn directory(nbytes: i64, chunksize: i32, chunk: &[u8], files: usize, index: &[u8]) -> Seed {
    let h = header(header::FrameKind::Sparse, nbytes, chunksize, 1);
    let prefix = h.encode(&[]).expect("a header");
    let trailer = trailer::encode(&[]).expect("a trailer");
    let frame = join(prefix, &[], index, &trailer, 1 << 40);
    let mut all = vec![("chunks.b2frame".to_owned(), frame)];
    all.extend((0..files).map(|file| (format!("{file:08X}.chunk"), chunk.to_vec())));
    Seed::Directory(all)
}

/// The header of a chunk, 32 bytes.
fn chunk_header(
    flags: u8,
    typesize: u8,
    sizes: [usize; 3],
    filters: [u8; 6],
    special: u8,
) -> Vec<u8> {
    let mut chunk = vec![5, 1, flags, typesize];
    for size in sizes {
        chunk.extend((size as i32).to_le_bytes());
    }
    chunk.extend(filters);
    chunk.resize(31, 0);
    chunk.push(special << 4);
    chunk
}

/// Flags of a chunk of LZ4 streams that are not split.
const LZ4: u8 = 5 | 1 << 4 | 1 << 5;

/// A chunk all of whose blocks begin where one stream does.
fn shared_block(nbytes: usize, blocksize: usize, stream: &[u8], filters: [u8; 6]) -> Vec<u8> {
    let nblocks = nbytes.div_ceil(blocksize);
    let body = 32 + 4 * nblocks;
    let cbytes = body + stream.len();
    let mut chunk = chunk_header(LZ4, 8, [nbytes, blocksize, cbytes], filters, 0);
    for _ in 0..nblocks {
        chunk.extend((body as i32).to_le_bytes());
    }
    chunk.extend(stream);
    chunk
}

/// The stream of `bytes` as LZ4 has it, with its size in front.
fn lz4_stream(lib: &SchunkLib, bytes: &[u8]) -> Vec<u8> {
    let cparams = CParams {
        typesize: 1,
        compcode: abi::LZ4,
        clevel: 9,
        blocksize: bytes.len() as i32,
        filters: [0; 6],
        splitmode: 2,
        ..CParams::default()
    };
    let (rc, chunk) = lib.lib.compress(&cparams, bytes);
    assert!(rc > 36 && (rc as usize) < bytes.len(), "{rc}");
    chunk[36..].to_vec()
}

/// A chunk as the library makes it.
fn real(lib: &SchunkLib, nbytes: usize) -> Vec<u8> {
    let cparams = CParams {
        typesize: 1,
        ..CParams::default()
    };
    lib.lib.compress(&cparams, &Kind::Text.bytes(nbytes, 3)).1
}

fn list(offsets: Vec<i64>) -> Vec<u8> {
    Offsets::List(offsets.into())
        .encode()
        .expect("an index")
        .into()
}

fn repeated(offset: i64, count: usize) -> Vec<u8> {
    let repeated = Offsets::Repeated { offset, count };
    repeated.encode().expect("an index").into()
}

/// Metalayers that share one content, as header and trailer have them; `at` is where they begin.
fn shared_metalayers(count: usize, at: usize, base: usize, content: &[u8]) -> Vec<u8> {
    let names: Vec<String> = (0..count).map(|nth| format!("{nth:x}")).collect();
    let map: usize = names.iter().map(|name| name.len() + 6).sum();
    let start = 7 + map;
    let size = (start - base) as u16;
    let mut out = vec![0x93, 0xcd];
    out.extend(size.to_be_bytes());
    out.push(0xde);
    out.extend((count as u16).to_be_bytes());
    for name in names {
        out.push(0xa0 + name.len() as u8);
        out.extend(name.bytes());
        out.push(0xd2);
        out.extend(((at + start + 3) as u32).to_be_bytes());
    }
    out.push(0xdc);
    out.extend((count as u16).to_be_bytes());
    out.push(0xc6);
    out.extend((content.len() as u32).to_be_bytes());
    out.extend(content);
    out
}

/// A trailer of metalayers that share a content.
fn shared_trailer(count: usize, content: &[u8]) -> Vec<u8> {
    let mut out = vec![0x94, 1];
    out.extend(shared_metalayers(count, 2, 1, content));
    let len = out.len() + 23;
    out.push(0xce);
    out.extend((len as u32).to_be_bytes());
    out.extend([0xd8, 0]);
    out.extend([0; 16]);
    out
}

fn metalayers(lib: &SchunkLib) -> Vec<Built> {
    let mut h = header(header::FrameKind::Contiguous, 0, -1, 1);
    let mut built = Vec::new();
    for (count, len) in [(8192, 400_000), (8192, 1000), (100, 3 << 20)] {
        h.has_vlmetalayers = true;
        let prefix = h.encode(&[]).expect("a header");
        let trailer = shared_trailer(count, &real(lib, len));
        built.push(Built::new(
            format!("{count} variable metalayers share a content of {len} bytes"),
            Seed::Contiguous(join(prefix, &[], &[], &trailer, 0)),
            Verdict::Refused,
        ));
    }
    h.has_vlmetalayers = false;
    let mut prefix = Vec::from(h.encode(&[]).expect("a header"));
    prefix.truncate(87);
    prefix.extend(shared_metalayers(16, 87, 0, &vec![7; 3 << 20]));
    let len = prefix.len() as u32;
    prefix[11..15].copy_from_slice(&len.to_be_bytes());
    let trailer = trailer::encode(&[]).expect("a trailer");
    built.push(Built::new(
        "16 metalayers share a content",
        Seed::Contiguous(join(prefix, &[], &[], &trailer, 0)),
        Verdict::Refused,
    ));
    let small: Vec<(Vec<u8>, Vec<u8>)> = (0..8192u32)
        .map(|nth| (nth.to_string().into_bytes(), real(lib, 1)))
        .collect();
    let small: Vec<MetalayerRef> = small.iter().map(|(name, c)| (&name[..], &c[..])).collect();
    h.has_vlmetalayers = true;
    // As many as the size of their map can be told of.
    let trailer = trailer::encode(&small[..5000]).expect("a trailer");
    built.push(Built::new(
        "5000 small variable metalayers",
        Seed::Contiguous(join(
            h.encode(&[]).expect("a header"),
            &[],
            &[],
            &trailer,
            0,
        )),
        Verdict::Opens,
    ));
    built
}

/// A pattern of offsets: its name, what is to become of frames with it, and the offset of each
/// chunk.
type Pattern = (&'static str, Verdict, fn(i64) -> i64);

/// An index that tells of very many chunks.
fn indices(lib: &SchunkLib) -> Vec<Built> {
    let mut built = Vec::new();
    let mut add = |name: String, seed: Seed, verdict: Verdict| {
        built.push(Built::new(name, seed, verdict));
    };
    let chunk = real(lib, 2000);
    let size = 2000i64;
    for shift in [17, 23, 27] {
        let count = 1usize << shift;
        let nbytes = size * count as i64;
        for (what, offset) in [("zeros", ZEROS), ("NaNs", NANS)] {
            let seed = contiguous(nbytes, 2000, &[], &repeated(offset, count));
            add(format!("2^{shift} chunks of {what}"), seed, Verdict::Opens);
        }
        // The same place for all.
        for (what, chunksize) in [("equal", 2000), ("differing", 0)] {
            let index = repeated(0, count);
            add(
                format!("one place 2^{shift} times, {what} sizes"),
                contiguous(nbytes, chunksize, &chunk, &index),
                Verdict::Refused,
            );
            add(
                format!("one file 2^{shift} times, {what} sizes"),
                directory(nbytes, chunksize, &chunk, 1, &index),
                Verdict::Refused,
            );
        }
    }
    let count = 1 << 20;
    let nbytes = size * count;
    let patterns: [Pattern; 6] = [
        ("zeros and a few NaNs", Verdict::Opens, |i| {
            if i % 5000 == 7 { NANS } else { ZEROS }
        }),
        ("zeros and NaNs by turns", Verdict::Any, |i| {
            if i % 2 == 0 { NANS } else { ZEROS }
        }),
        ("two places by turns", Verdict::Refused, |i| 500 * (i % 2)),
        ("a hundred places over and over", Verdict::Refused, |i| {
            32 * (i % 100)
        }),
        ("places one after the other", Verdict::Any, |i| i),
        ("places that lie far apart", Verdict::Any, |i| i << 20),
    ];
    for (what, verdict, offset) in patterns {
        let index = list((0..count).map(offset).collect());
        for chunksize in [2000, 0] {
            let verdict = match (verdict, chunksize) {
                (Verdict::Opens, 0) => Verdict::Any,
                (verdict, _) => verdict,
            };
            let data = [&chunk[..]; 3].concat();
            let name = format!("{what}, chunks of {chunksize}");
            let seed = contiguous(nbytes, chunksize, &data, &index);
            // A contiguous frame has no room for so many.
            let within = match what {
                "places one after the other" | "places that lie far apart" => Verdict::Refused,
                _ => verdict,
            };
            add(name.clone(), seed, within);
            let seed = directory(nbytes, chunksize, &chunk, 2, &index);
            add(format!("directory: {name}"), seed, verdict);
        }
    }
    // Chunks differ in size although the header says that they do not, so the sizes of all have to
    // be found out.
    let count = 1i64 << 22;
    for sizes in [&[1000][..], &[1000, 3000]] {
        let (mut data, mut offsets) = (Vec::new(), Vec::new());
        for nbytes in sizes {
            offsets.push(data.len() as i64);
            data.extend(real(lib, *nbytes));
        }
        let stored: usize = sizes.iter().sum();
        let zeros = count - sizes.len() as i64;
        offsets.resize(count as usize, ZEROS);
        let nbytes = stored as i64 + size * zeros;
        let seed = contiguous(nbytes, 2000, &data, &list(offsets));
        let name = format!("chunks of {sizes:?} bytes before 2^22 of zeros");
        add(name, seed, Verdict::Refused);
    }
    built
}

/// An index chunk that takes much to decode.
fn index_chunks(lib: &SchunkLib) -> Vec<Built> {
    let mut built = Vec::new();
    let run_of_zeros = 0i32.to_le_bytes();
    let mixed: Vec<u8> = (0..2048u64)
        .flat_map(|i| (ZEROS | (i % 3) as i64 >> 1 << 57).to_le_bytes())
        .collect();
    let pipelines = [
        ("shuffle", [0, 0, 0, 0, 0, 1]),
        ("delta and shuffle", [0, 0, 0, 0, 3, 1]),
        ("three filters", [0, 0, 0, 2, 1, 1]),
    ];
    for (pipeline, filters) in pipelines {
        for blocksize in [16 << 10, 1 << 20, 500 << 20] {
            for (claim, nbytes) in [("a block", blocksize), ("two gigabytes", 0x7fff_0000)] {
                let nbytes = nbytes.max(blocksize);
                let count = nbytes as i64 / 8;
                let index = shared_block(nbytes, blocksize, &run_of_zeros, filters);
                let seed = contiguous(2000 * count, 2000, &[0; 64], &index);
                built.push(Built::new(
                    format!("index of zeros: {pipeline}, blocks of {blocksize}, {claim}"),
                    seed,
                    Verdict::Refused,
                ));
            }
        }
        let stream = lz4_stream(lib, &mixed);
        for nbytes in [1 << 24, 0x7fff_0000] {
            let index = shared_block(nbytes, 16 << 10, &stream, filters);
            built.push(Built::new(
                format!("index of one block over and over: {pipeline}, {nbytes} bytes"),
                contiguous(250 * nbytes as i64, 2000, &[0; 64], &index),
                Verdict::Any,
            ));
        }
    }
    built
}

/// Chunks of data that cost more than their bytes, and places that share bytes.
fn chunks(lib: &SchunkLib) -> Vec<Built> {
    let mut built = Vec::new();
    let mut add = |name: &str, chunk: Vec<u8>, nbytes: usize, verdict: Verdict| {
        let index = list(vec![0]);
        let (nbytes, size) = (nbytes as i64, nbytes as i32);
        let header = oxiblosc_chunk::header::ChunkHeader::parse(&chunk);
        let block = header.map_or(0, |header| header.blocksize_field());
        let seeds = [
            directory(nbytes, size, &chunk, 1, &index),
            contiguous(nbytes, size, &chunk, &index),
        ];
        for (storage, seed) in ["directory", "file"].into_iter().zip(seeds) {
            let mut frame = Built::new(format!("{storage}: {name}"), seed, verdict);
            if (1 << 20..=512 << 20).contains(&block) {
                frame.asked = 4 * block;
            }
            built.push(frame);
        }
    };
    let shuffle = [0, 0, 0, 0, 0, 1];
    let nothing = [0; 6];
    let zeros = 0i32.to_le_bytes();
    for (what, filters) in [("no filter", nothing), ("shuffle", shuffle)] {
        let chunk = shared_block(1 << 20, 16, &zeros, filters);
        add(
            &format!("equal block starts, {what}"),
            chunk,
            1 << 20,
            Verdict::Opens,
        );
        // A stream that is much longer than its block, and begins all of them.
        let mut stream = 300_000i32.to_le_bytes().to_vec();
        stream.extend(vec![0; 300_000]);
        let chunk = shared_block(1 << 20, 16, &stream, filters);
        add(
            &format!("a long stream for all blocks, {what}"),
            chunk,
            1 << 20,
            Verdict::Opens,
        );
        let chunk = shared_block(64 << 20, 64 << 20, &zeros, filters);
        add(
            &format!("one block of 64 MB, {what}"),
            chunk,
            64 << 20,
            Verdict::Opens,
        );
        let chunk = shared_block(64 << 20, 64 << 20, &500i32.to_le_bytes(), filters);
        add(
            &format!("one block of 64 MB with nothing in it, {what}"),
            chunk,
            64 << 20,
            Verdict::Any,
        );
    }
    // Block starts that go down, so that each block reaches to the next one.
    let mut chunk = shared_block(1 << 20, 16, &vec![1; 400_000], nothing);
    let nblocks = 1 << 16;
    for nblock in 0..nblocks {
        let start = (32 + 4 * nblocks + 6 * (nblocks - 1 - nblock)) as i32;
        chunk[32 + 4 * nblock..][..4].copy_from_slice(&start.to_le_bytes());
    }
    add("block starts that go down", chunk, 1 << 20, Verdict::Any);
    let mut vlblocks = shared_block(1 << 20, 16, &[1; 64], nothing);
    vlblocks[8..12].copy_from_slice(&(500_000_000i32).to_le_bytes());
    vlblocks[30] = 1;
    add(
        "500 million blocks of variable length",
        vlblocks,
        1 << 20,
        Verdict::Any,
    );
    let mut dict = shared_block(1 << 20, 1 << 20, &(1i32 << 30).to_le_bytes(), nothing);
    dict[31] = 1;
    add("a dictionary of a gigabyte", dict, 1 << 20, Verdict::Any);
    let value = [
        chunk_header(7, 8, [0x7fff_fff8, 8, 40], nothing, 3),
        vec![1; 8],
    ]
    .concat();
    add(
        "two gigabytes of a value",
        value,
        0x7fff_fff8,
        Verdict::Opens,
    );
    let stored = chunk_header(LZ4 | 2, 1, [0x7fff_0000, 16, 0x7fff_0020], nothing, 0);
    add(
        "two gigabytes that are stored",
        stored,
        0x7fff_0000,
        Verdict::Any,
    );
    built.extend(overlapping(lib));
    built
}

/// Chunks that lie over one another.
fn overlapping(lib: &SchunkLib) -> Vec<Built> {
    let mut built = Vec::new();
    let len = 150_000;
    for chunksize in [1000, 0] {
        // A header every 32 bytes, of a stored chunk up to the end.
        let count = len / 32;
        let mut data = Vec::new();
        let mut nbytes = 0;
        for nth in 0..count {
            let size = len - 32 * (nth + 1);
            let claims = if chunksize > 0 { chunksize } else { size };
            nbytes += claims as i64;
            let flags = if chunksize > 0 { LZ4 } else { LZ4 | 2 };
            let sizes = [claims, claims.max(1), size + 32];
            data.extend(chunk_header(flags, 1, sizes, [0; 6], 0));
        }
        data.resize(len, 0);
        let index = list((0..count as i64).map(|nth| 32 * nth).collect());
        built.push(Built::new(
            format!("chunks within chunks, of {chunksize}"),
            contiguous(nbytes, chunksize as i32, &data, &index),
            Verdict::Any,
        ));
    }
    let chunk = real(lib, 100_000);
    let padded = [&chunk[..], &vec![0; 60_000]].concat();
    let count = (padded.len() / 32) as i64;
    built.push(Built::new(
        "one large chunk many times",
        contiguous(
            100_000 * count,
            100_000,
            &padded,
            &list(vec![0; count as usize]),
        ),
        Verdict::Any,
    ));
    built
}

/// Arrays whose shapes tell of much.
fn arrays(lib: &SchunkLib) -> Vec<Built> {
    let mut built = Vec::new();
    let mut add = |name: &str, shape: &[i64], chunk: i32, block: i32, verdict: Verdict| {
        let ndim = shape.len();
        let mut meta = Meta {
            ndim,
            shape: [1; MAX_DIM],
            chunkshape: [1; MAX_DIM],
            blockshape: [1; MAX_DIM],
            dtype: Some(b"|u1"),
            dtype_format: 0,
        };
        meta.shape[..ndim].copy_from_slice(shape);
        meta.chunkshape[ndim - 1] = chunk;
        meta.blockshape[ndim - 1] = block;
        let content = meta.serialize().expect("a metalayer");
        let h = header(header::FrameKind::Contiguous, 4 * 2000, 2000, 1);
        let layers: [MetalayerRef; 1] = [(b"b2nd", &content)];
        let chunk = real(lib, 2000);
        let data = [&chunk[..]; 4].concat();
        let index = list((0..4).map(|nth| nth * chunk.len() as i64).collect());
        let seed = contiguous_with(&h, &layers, &data, &index);
        built.push(Built::new(format!("array: {name}"), seed, verdict));
    };
    // The super-chunk of each is fine.
    add("as it should be", &[8000], 2000, 2000, Verdict::Opens);
    add("a long shape", &[1 << 60], 2000, 2000, Verdict::Refused);
    add("large chunks", &[8000], i32::MAX, 2000, Verdict::Refused);
    add("small blocks", &[8000], 2000, 1, Verdict::Opens);
    add("16 dimensions", &[2; 16], 2000, 1, Verdict::Refused);
    built
}

/// All frames that are built.
pub fn all(lib: &SchunkLib) -> Vec<Built> {
    assert_eq!(
        ChunkPosition::from_offset(ZEROS).map(ChunkPosition::to_offset),
        Ok(ZEROS)
    );
    assert_eq!(
        ChunkPosition::from_offset(NANS).map(ChunkPosition::to_offset),
        Ok(NANS)
    );
    let mut built = metalayers(lib);
    built.extend(indices(lib));
    built.extend(index_chunks(lib));
    built.extend(chunks(lib));
    built.extend(arrays(lib));
    built
}
