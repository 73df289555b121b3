//! Writes the corpora that the fuzz targets begin with to `fuzz/corpus`:
//! `cargo run --manifest-path fuzz/Cargo.toml --example seed`

use oxiblosc_codecs::{Codec, Dict, Encoder};
use oxiblosc_testing::fuzz::numbers::Random;
use oxiblosc_testing::fuzz::seeds::{all, data};
use oxiblosc_testing::fuzz::targets::{COMPRESS, MASK, OPTIONS, POSTFILTER, REPAIR};
use oxiblosc_testing::fuzz::targets::{files, frames, registered};
use std::io::Result;
use std::path::{Path, PathBuf};

/// Bytes that the targets read as parameters of compression.
const PARAMETERS: usize = 25;

fn main() -> Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let folder = |target: &str| -> Result<PathBuf> {
        let folder = corpus.join(target);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    };
    for seed in all() {
        for (target, first) in [("decompress", 2), ("getitem", 1), ("vlblocks", 1)] {
            if target == "vlblocks" && !seed.name.contains("vl") {
                continue;
            }
            for (name, bits) in [("", 0), ("-all", REPAIR | POSTFILTER | MASK)] {
                let options: [u8; OPTIONS] = [bits, first, 30, 1, 0, 9, 1, 1];
                let path = folder(target)?.join(format!("{}{name}", seed.name));
                std::fs::write(path, [&options[..], &seed.chunk].concat())?;
            }
        }
        std::fs::write(folder("header")?.join(&seed.name), &seed.chunk)?;
    }
    for (n, input) in blosc1_chunks().into_iter().enumerate() {
        std::fs::write(folder("blosc1")?.join(n.to_string()), input)?;
    }
    for (n, input) in registered::seeds().into_iter().enumerate() {
        std::fs::write(folder("registered")?.join(n.to_string()), input)?;
    }
    for (n, input) in files::seeds().into_iter().enumerate() {
        std::fs::write(folder("files")?.join(n.to_string()), input)?;
    }
    for (n, frame) in frames::seeds().into_iter().enumerate() {
        for (options, seed) in [(0, 1), (0b0111, 2), (0b1001, 3), (0b1111, 4)] {
            let path = folder("frames")?.join(format!("{n}-{options}"));
            std::fs::write(path, [&[options, seed][..], &frame].concat())?;
        }
    }
    arrays(&folder("b2nd")?)?;
    parameters(&folder("compress")?, &folder("vlblocks")?)?;
    streams(&folder("streams")?)
}

/// Chunks of Blosc 1 by each compressor, with the options of their target in front.
fn blosc1_chunks() -> Vec<Vec<u8>> {
    let mut inputs = Vec::new();
    for (i, compressor) in [c"blosclz", c"lz4", c"lz4hc", c"snappy", c"zlib", c"zstd"]
        .into_iter()
        .enumerate()
    {
        for (len, shuffle) in [(50, 0), (3000, 1), (3000, 2), (9001, 0)] {
            let data = data(len, i as u64);
            let mut chunk = vec![0u8; len + 16];
            // SAFETY: the buffers have these sizes.
            let cbytes = unsafe {
                blosc::compress::blosc_compress_ctx(
                    5,
                    shuffle,
                    4,
                    len,
                    data.as_ptr().cast(),
                    chunk.as_mut_ptr().cast(),
                    chunk.len(),
                    compressor.as_ptr(),
                    1024,
                    1,
                )
            };
            chunk.truncate(usize::try_from(cbytes).expect("it compresses"));
            inputs.push([&[2, 1, 9, 0, 20, 0, 0, 0][..], &chunk].concat());
            inputs.push([&[1, i as u8, 100, 16, 4, 15, 0, 4][..], &data].concat());
            let mut random = Random(len as u64);
            let recipe: Vec<u8> = (0..40).map(|_| random.bits() as u8).collect();
            inputs.push(
                [
                    &[5, i as u8, 100, 16, 4, 15 + shuffle as u8, 0, 0][..],
                    &recipe,
                ]
                .concat(),
            );
        }
    }
    inputs
}

/// Frames of arrays, and sequences of calls.
fn arrays(arrays: &Path) -> Result<()> {
    for (name, frame) in oxiblosc_testing::fuzz::arrays::seeds() {
        std::fs::write(arrays.join(name), [&[0, 1][..], &frame].concat())?;
    }
    for i in 0..40u64 {
        let mut random = Random(i);
        let sequence: Vec<u8> = (0..150).map(|_| random.bits() as u8).collect();
        std::fs::write(
            arrays.join(format!("sequence-{i}")),
            [&[1][..], &sequence].concat(),
        )?;
    }
    Ok(())
}

/// Parameters of many kinds, with data.
fn parameters(compress: &Path, vlblocks: &Path) -> Result<()> {
    let mut random = Random(1);
    for i in 0..150u8 {
        let mut input: Vec<u8> = (0..PARAMETERS).map(|_| random.bits() as u8).collect();
        if i % 8 != 0 {
            input[0] &= 0x7f;
        }
        input.extend([random.bits() as u8, random.bits() as u8]);
        let len = random.one_of(&[0, 20, 100, 1000, 5000]);
        if let 0x80..0xe0 = input[PARAMETERS + 1] {
            // Steps of a recipe.
            input.extend((0..40).map(|_| random.bits() as u8));
        } else {
            input.extend(&*data(len, i.into()));
        }
        std::fs::write(compress.join(format!("parameters-{i}")), input)?;
    }
    for i in 0..40u8 {
        let mut input = vec![COMPRESS];
        input.extend((0..PARAMETERS).map(|_| random.bits() as u8));
        input[1] &= 0x7f;
        let nblocks = 1 + i % 30;
        input.extend([nblocks, 255 - i % 8]);
        for _ in 0..nblocks {
            input.extend((1 + random.below(400) as u16).to_le_bytes());
        }
        input.extend(&*data(6000, i.into()));
        std::fs::write(vlblocks.join(format!("parameters-{i}")), input)?;
    }
    Ok(())
}

/// Streams of every codec, with and without a dictionary; data to compress and to shuffle.
fn streams(folder: &Path) -> Result<()> {
    for (i, codec) in Codec::ALL.into_iter().enumerate() {
        for (len, clevel) in [(40, 1), (700, 5), (5000, 9)] {
            let data = data(len, 3);
            let what = (i as u8) << 2;
            for with_dict in [false, true] {
                let raw = &data[..data.len() / 3];
                let dict = match with_dict {
                    true => Dict::for_compression(codec, clevel, raw).ok(),
                    false => None,
                };
                if with_dict && dict.is_none() {
                    continue;
                }
                let mut stream = vec![0; 2 * data.len() + 100];
                let n = Encoder::new().compress(codec, clevel, dict.as_ref(), &data, &mut stream);
                let raw = dict.as_ref().map_or(&[][..], |dict| dict.bytes());
                let mut input = vec![what | u8::from(with_dict)];
                for number in [len, len / 2, raw.len()] {
                    input.extend((number as u16).to_le_bytes());
                }
                input.extend(raw);
                input.extend(&stream[..n.expect("good parameters")]);
                let name = format!("{}-{len}-{}", codec.name(), u8::from(with_dict));
                std::fs::write(folder.join(name), input)?;
            }
            for how in [0, 3] {
                let mut input = vec![what | 2, clevel - 1, how];
                input.extend((len as u16 + 50).to_le_bytes());
                input.extend(&*data);
                let name = format!("{}-{len}-data-{how}", codec.name());
                std::fs::write(folder.join(name), input)?;
            }
            for how in [0x04, 0x14, 0x27, 0x34] {
                // A recipe.
                let mut random = Random(u64::from(how) + len as u64);
                let mut input = vec![what | 2, clevel - 1, how, 0xff, 0x03];
                input.extend((0..40).map(|_| random.bits() as u8));
                let name = format!("{}-{len}-recipe-{how}", codec.name());
                std::fs::write(folder.join(name), input)?;
            }
        }
    }
    for typesize in [1u16, 2, 3, 4, 7, 8, 12, 16, 33, 255] {
        let mut input = vec![3];
        input.extend(typesize.to_le_bytes());
        input.extend(&*data(3001, typesize.into()));
        std::fs::write(folder.join(format!("shuffle-{typesize}")), input)?;
    }
    Ok(())
}
