//! Fields of a chunk's header that the frame or its other chunks tell, too. A damaged one can be
//! put right, if it is the only one.

use crate::chunks::{ChunkFinder, Front};
use crate::location::{ChunkLocation, HEADER};
use crate::run_list::RunList;
use oxiblosc_chunk::header::MAX_TYPESIZE;
use oxiblosc_chunk::parameters::Parameters;
use oxiblosc_codecs::Codec;
use std::collections::HashMap;
use std::ops::Range;

/// How many chunks are looked at for what is usual.
const TRIED: usize = 64;

/// A field: its name in reports, and its bytes in the header.
#[derive(Clone)]
struct Field(&'static str, Range<usize>);

const VERSION: Field = Field("version", 0..1);
const CODEC_VERSION: Field = Field("version of the codec", 1..2);
const FLAGS: Field = Field("codec and flags", 2..3);
const TYPESIZE: Field = Field("size of items", 3..4);
const NBYTES: Field = Field("size of data", 4..8);
const BLOCKSIZE: Field = Field("size of blocks", 8..12);
const CBYTES: Field = Field("size", 12..16);
const FILTERS: Field = Field("filters", 16..22);
const CODEC: Field = Field("codec", 22..23);
const CODEC_PARAMETER: Field = Field("parameter of the codec", 23..24);
const FILTER_PARAMETERS: Field = Field("parameters of filters", 24..30);
const MORE_FLAGS: Field = Field("second flags", 30..31);
const SPECIAL: Field = Field("kind of values", 31..32);

/// The fields that are the same in most chunks of a frame.
const USUAL: [Field; 11] = [
    VERSION,
    CODEC_VERSION,
    FLAGS,
    TYPESIZE,
    BLOCKSIZE,
    FILTERS,
    CODEC,
    CODEC_PARAMETER,
    FILTER_PARAMETERS,
    MORE_FLAGS,
    SPECIAL,
];

/// The codec's bits of the flags.
const CODEC_BITS: u8 = 0b1110_0000;

/// The most common value of each field among the chunks of a frame; none if it has no other chunks.
pub struct UsualFields(Option<Front>);

impl UsualFields {
    /// Those of the chunks at these places.
    pub fn of(locations: &RunList<ChunkLocation>, chunks: &ChunkFinder) -> Self {
        let fronts = locations
            .positions()
            .take(TRIED)
            .filter_map(|position| chunks.prefix(position));
        Self::among(&fronts.collect::<Vec<_>>())
    }

    /// Those of chunks with these headers.
    pub(crate) fn among(fronts: &[Front]) -> Self {
        let mut usual = None;
        for Field(_, at) in USUAL {
            let mut counts: HashMap<&[u8], usize> = HashMap::new();
            for prefix in fronts {
                *counts.entry(&prefix[at.clone()]).or_default() += 1;
            }
            // The order of the map must not decide between values that are equally common.
            let most = counts.into_iter().max_by_key(|(value, n)| (*n, *value));
            if let Some((value, _)) = most {
                usual.get_or_insert([0; HEADER])[at].copy_from_slice(value);
            }
        }
        Self(usual)
    }
}

/// What is known of a chunk without its header.
pub struct ChunkHints<'a> {
    /// The parameters of its frame.
    pub parameters: &'a Parameters,
    /// What the other chunks have.
    pub usual: &'a UsualFields,
    /// Bytes of its data.
    pub nbytes: Option<usize>,
    /// Bytes of the chunk, if another one begins right behind it.
    pub cbytes: Option<usize>,
}

/// A header in which one field was put right.
#[derive(Debug, PartialEq, Eq)]
pub struct Correction {
    /// The header.
    pub prefix: Front,
    /// What was changed, in words.
    pub what: String,
}

impl ChunkHints<'_> {
    /// The headers that differ from `prefix` in one field, for which another value is known. The
    /// surest ones come first.
    pub fn corrections(&self, prefix: &Front) -> Vec<Correction> {
        let parameters = self.parameters;
        let int32 = |size: usize| i32::try_from(size).map(i32::to_le_bytes).ok();
        let typesize = match usize::try_from(parameters.typesize) {
            Ok(size @ 1..=MAX_TYPESIZE) => size as u8,
            _ => 1,
        };
        let blocksize = (parameters.blocksize > 0).then(|| parameters.blocksize.to_le_bytes());
        let codec = Codec::from_code(parameters.compcode.into());
        let flags = codec.map(|codec| (prefix[2] & !CODEC_BITS) | codec.format() << 5);
        let mut expected: Vec<(Field, Vec<u8>)> = vec![(TYPESIZE, vec![typesize])];
        expected.extend(self.nbytes.and_then(int32).map(|n| (NBYTES, n.to_vec())));
        expected.extend(self.cbytes.and_then(int32).map(|n| (CBYTES, n.to_vec())));
        expected.extend(blocksize.map(|n| (BLOCKSIZE, n.to_vec())));
        expected.extend(flags.map(|flags| (FLAGS, vec![flags])));
        expected.push((FILTERS, parameters.filters.to_vec()));
        expected.push((FILTER_PARAMETERS, parameters.filters_meta.to_vec()));
        if let UsualFields(Some(usual)) = self.usual {
            expected.extend(USUAL.map(|field| (field.clone(), usual[field.1].to_vec())));
        }
        let other = expected
            .into_iter()
            .filter(|(Field(_, at), value)| prefix[at.clone()] != value[..]);
        let corrected = other.map(|(field, value)| {
            let mut corrected = *prefix;
            corrected[field.1.clone()].copy_from_slice(&value);
            let [before, after] = [prefix, &corrected].map(|prefix| shown(&field, prefix));
            let Field(name, _) = field;
            Correction {
                prefix: corrected,
                what: format!("{name} {after} in place of {before}"),
            }
        });
        corrected.collect()
    }
}

/// The value of a field in words.
fn shown(field: &Field, prefix: &Front) -> String {
    let bytes = &prefix[field.1.clone()];
    match bytes {
        [flags] if field.0 == FLAGS.0 => {
            let codec = Codec::from_format(flags >> 5);
            let name = codec.map_or("another", Codec::name);
            format!("{name} {:#04x}", flags & !CODEC_BITS)
        }
        [byte] => byte.to_string(),
        [a, b, c, d] => i32::from_le_bytes([*a, *b, *c, *d]).to_string(),
        bytes => {
            let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
            bytes.join(",")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_is_put_right_alone() {
        let parameters = Parameters {
            typesize: 4,
            blocksize: 0,
            compcode: Codec::Zstd.code() as u8,
            compcode_meta: 0,
            clevel: 5,
            splitmode: 4,
            use_dict: false,
            filters: [0, 0, 0, 0, 0, 1],
            filters_meta: [0; 6],
        };
        let mut right: Front = [0; HEADER];
        right[..4].copy_from_slice(&[5, 1, 0x95, 4]);
        right[4..8].copy_from_slice(&1000i32.to_le_bytes());
        right[8..12].copy_from_slice(&250i32.to_le_bytes());
        right[12..16].copy_from_slice(&300i32.to_le_bytes());
        right[21] = 1;
        let usual = UsualFields::among(&[right; 3]);
        let hints = ChunkHints {
            parameters: &parameters,
            usual: &usual,
            nbytes: Some(1000),
            cbytes: Some(300),
        };
        assert_eq!(hints.corrections(&right), []);
        for at in 0..HEADER {
            let mut prefix = right;
            prefix[at] ^= 0x41;
            let corrections = hints.corrections(&prefix);
            assert!(
                corrections.iter().any(|one| one.prefix == right),
                "{at}: {corrections:?}"
            );
            // Two damaged fields are not put right.
            let other = if at < 16 { 23 } else { 3 };
            prefix[other] ^= 0x10;
            let corrections = hints.corrections(&prefix);
            assert!(corrections.iter().all(|one| one.prefix != right), "{at}");
        }
        // A single chunk is known by its frame alone.
        let usual = UsualFields::among(&[]);
        let hints = ChunkHints {
            usual: &usual,
            ..hints
        };
        for at in [2, 3, 4, 7, 12, 16, 21, 24] {
            let mut prefix = right;
            prefix[at] ^= 0x40;
            let corrections = hints.corrections(&prefix);
            assert!(corrections.iter().any(|one| one.prefix == right), "{at}");
        }
    }
}
