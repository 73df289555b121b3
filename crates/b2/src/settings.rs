//! Parameters of compression, and the names of codecs, filters and split modes.

use crate::failure::{Failure, Result};
use crate::text::plural;
use oxiblosc::codec::{NDLZ, ZFP_ACCURACY, ZFP_PRECISION, ZFP_RATE};
use oxiblosc_chunk::header::{MAX_FILTERS, filter_id};
use oxiblosc_codecs::Codec;
use std::fmt::{self, Display, Formatter};

/// Parameters of compression. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The codec's id.
    pub codec: u8,
    /// The codec's meta byte.
    pub codec_meta: u8,
    /// 0 to 9.
    pub level: u8,
    /// The pipeline.
    pub filters: [u8; MAX_FILTERS],
    /// A meta byte for each filter.
    pub filters_meta: [u8; MAX_FILTERS],
    /// Bytes of an item.
    pub typesize: i32,
    /// Bytes of a block; 0: the library chooses.
    pub blocksize: i32,
    /// 1 to 4: see [`SPLIT_MODES`].
    pub splitmode: i32,
    /// Whether chunks get a dictionary.
    pub dict: bool,
    /// Whether a new frame gets checksums.
    pub checksums: bool,
    /// How many threads compress or decompress.
    pub threads: i16,
}

/// The modes by which blocks are split into streams: names and codes.
pub const SPLIT_MODES: [(&str, i32); 4] =
    [("always", 1), ("never", 2), ("auto", 3), ("compatible", 4)];

/// Filters by name: the format's own, and registered ones.
const FILTERS: [(&str, u8); 9] = [
    ("none", filter_id::NONE),
    ("shuffle", filter_id::SHUFFLE),
    ("bitshuffle", filter_id::BITSHUFFLE),
    ("delta", filter_id::DELTA),
    ("truncprec", filter_id::TRUNC_PREC),
    ("ndcell", filter_id::NDCELL),
    ("ndmean", filter_id::NDMEAN),
    ("bytedelta", filter_id::BYTEDELTA),
    ("inttrunc", filter_id::INT_TRUNC),
];

/// Filters that do nothing without a parameter: bits, or the side of a cell.
const NEED_PARAMETER: [u8; 4] = [
    filter_id::TRUNC_PREC,
    filter_id::INT_TRUNC,
    filter_id::NDCELL,
    filter_id::NDMEAN,
];

/// Registered codecs by name.
const PLUGINS: [(&str, u8); 6] = [
    ("ndlz", NDLZ),
    ("zfp-acc", ZFP_ACCURACY),
    ("zfp-prec", ZFP_PRECISION),
    ("zfp-rate", ZFP_RATE),
    ("openhtj2k", 36),
    ("grok", 37),
];

/// The name of a codec.
pub fn codec_name(code: u8) -> String {
    if let Some(codec) = Codec::from_code(code.into()) {
        return codec.name().to_string();
    }
    let plugin = PLUGINS.iter().find(|(_, id)| *id == code);
    plugin.map_or_else(|| format!("codec {code}"), |(name, _)| (*name).to_string())
}

/// The codec of a name, and its meta byte: `zstd`, `zfp-acc:-3`.
pub fn codec_of(text: &str) -> Result<(u8, u8)> {
    let (name, meta) = match text.split_once(':') {
        Some((name, meta)) => (name, Some(parameter(meta, "codec", name)?)),
        None => (text, None),
    };
    if let Some(codec) = Codec::from_name(name) {
        return match meta {
            None => Ok((codec.code() as u8, 0)),
            Some(_) => Err(Failure::message(format!(
                "the codec {name} has no parameter"
            ))),
        };
    }
    let plugin = PLUGINS.iter().find(|(known, _)| *known == name);
    let (_, id) = plugin.ok_or_else(|| {
        let names: Vec<&str> = Codec::ALL.iter().map(|codec| codec.name()).collect();
        Failure::message(format!("no codec '{name}'; there are {}", names.join(", ")))
    })?;
    let wanted = match *id {
        NDLZ => "ndlz:4 or ndlz:8 (the side of a cell)",
        ZFP_ACCURACY => "zfp-acc:-3 (a tolerance of 10 to that power)",
        ZFP_PRECISION => "zfp-prec:10 (bits of precision)",
        ZFP_RATE => "zfp-rate:25 (percent of the size)",
        _ => return Ok((*id, meta.unwrap_or(0))),
    };
    match meta {
        Some(meta) if *id != NDLZ || matches!(meta, 4 | 8) => Ok((*id, meta)),
        _ => Err(Failure::message(format!(
            "the codec {name} needs a parameter: {wanted}"
        ))),
    }
}

/// Parses the number behind a colon, -128 to 255, into a meta byte.
fn parameter(meta: &str, what: &str, name: &str) -> Result<u8> {
    let number = meta.parse::<i16>().ok();
    let number = number.filter(|n| (-128..=255).contains(n));
    number
        .map(|number| number as u8)
        .ok_or_else(|| Failure::message(format!("'{meta}' is no parameter of the {what} {name}")))
}

impl Settings {
    /// These settings with another number of threads.
    pub fn with_threads(self, threads: i16) -> Self {
        Self { threads, ..self }
    }

    /// Whether the codec compresses arrays of numbers only, not plain bytes.
    pub fn is_for_numbers(&self) -> bool {
        matches!(self.codec, NDLZ | ZFP_ACCURACY | ZFP_PRECISION | ZFP_RATE)
    }

    /// Checks that the filters take items of this size, with their parameters.
    fn check_filters(&self) -> Result<()> {
        for (id, meta) in self.filters.iter().zip(self.filters_meta) {
            let (name, bits) = (filter_name(*id, meta), i32::from(meta as i8).abs());
            let refused =
                |why: String| Err(Failure::message(format!("the filter {name} takes {why}")));
            let size = self.typesize;
            match *id {
                filter_id::TRUNC_PREC if !matches!(size, 4 | 8) => {
                    return refused(format!(
                        "floating-point numbers of 4 or 8 bytes, and these are items of {size} (--typesize says their size)"
                    ));
                }
                filter_id::TRUNC_PREC => {
                    let most = if size == 4 { 23 } else { 52 };
                    if bits > most {
                        return refused(format!("1 to {most} bits of items of {size} bytes"));
                    }
                }
                filter_id::INT_TRUNC if !matches!(size, 1 | 2 | 4 | 8) => {
                    return refused(format!(
                        "integers of 1, 2, 4 or 8 bytes, and these are items of {size} (--typesize says their size)"
                    ));
                }
                filter_id::INT_TRUNC if bits >= 8 * size => {
                    return refused(format!(
                        "less than {} bits of items of {size} bytes",
                        8 * size
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks that codec and filters support the data: an array with `ndim` dimensions, or bytes that are no array.
    pub fn check_codec(&self, ndim: Option<usize>) -> Result<()> {
        let is_for_arrays = |id: &u8| matches!(*id, filter_id::NDCELL | filter_id::NDMEAN);
        if ndim.is_none() && self.filters.iter().any(is_for_arrays) {
            let why = "the filters ndcell and ndmean take arrays alone, such as .npy files";
            return Err(Failure::message(why));
        }
        self.check_filters()?;
        let name = codec_name(self.codec);
        let refused = |why: &str| Err(Failure::message(format!("the codec {name} takes {why}")));
        if !self.is_for_numbers() {
            return Ok(());
        }
        let is_zfp = self.codec != NDLZ;
        match ndim {
            None => return refused("arrays alone, such as .npy files"),
            Some(n) if is_zfp && !(1..=4).contains(&n) => {
                return refused("arrays of 1 to 4 dimensions");
            }
            Some(n) if !is_zfp && n != 2 => return refused("arrays of 2 dimensions"),
            Some(_) => {}
        }
        if is_zfp && !matches!(self.typesize, 4 | 8) {
            return refused("floating-point numbers of 4 or 8 bytes");
        }
        if !is_zfp && self.typesize != 1 {
            return refused("items of 1 byte");
        }
        if self.filters != [filter_id::NONE; MAX_FILTERS] {
            return refused("numbers as they are: --filters none");
        }
        Ok(())
    }
}

/// The summary that `b2 compress` prints.
impl Display for Settings {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let codec = codec_name(self.codec);
        let items = plural(self.typesize as usize, "byte", "bytes");
        write!(f, "{codec} {}, items of {items}", self.level)?;
        match filter_names(&self.filters, &self.filters_meta) {
            names if names.is_empty() => write!(f, ", no filters"),
            names => write!(f, ", {}", names.join(", ")),
        }
    }
}

/// The name of a filter, with its parameter where it has one.
pub fn filter_name(id: u8, meta: u8) -> String {
    let known = FILTERS.iter().find(|(_, known)| *known == id);
    let name = known.map_or_else(|| format!("filter {id}"), |(name, _)| (*name).to_string());
    if meta == 0 {
        name
    } else {
        format!("{name}:{}", meta as i8)
    }
}

/// The filters of a pipeline by name, in the order of compression, without the empty slots.
pub fn filter_names(filters: &[u8], metas: &[u8]) -> Vec<String> {
    let used = filters.iter().zip(metas).filter(|(id, _)| **id != 0);
    used.map(|(id, meta)| filter_name(*id, *meta)).collect()
}

/// The name of a split mode.
pub fn split_name(mode: u8) -> &'static str {
    let known = SPLIT_MODES.iter().find(|(_, known)| *known == mode.into());
    known.map_or("unknown", |(name, _)| name)
}

/// A pipeline from names with parameters, `shuffle,truncprec:10`: in the last slots, as the library has it by default.
pub fn pipeline(names: &[String]) -> Result<([u8; MAX_FILTERS], [u8; MAX_FILTERS])> {
    let (mut ids, mut metas) = ([0; MAX_FILTERS], [0; MAX_FILTERS]);
    let mut chosen = Vec::new();
    for name in names {
        let (name, meta) = match name.split_once(':') {
            Some((name, meta)) => (name, parameter(meta, "filter", name)?),
            None => (name.as_str(), 0),
        };
        let known = FILTERS.iter().find(|(known, _)| *known == name);
        let (_, id) = known.ok_or_else(|| {
            let names: Vec<&str> = FILTERS.iter().map(|(name, _)| *name).collect();
            Failure::message(format!(
                "no filter '{name}'; there are {}",
                names.join(", ")
            ))
        })?;
        if meta == 0 && NEED_PARAMETER.contains(id) {
            let why = format!("the filter {name} needs a parameter, such as {name}:4");
            return Err(Failure::message(why));
        }
        if *id != filter_id::NONE {
            chosen.push((*id, meta));
        }
    }
    let first = MAX_FILTERS
        .checked_sub(chosen.len())
        .ok_or_else(|| Failure::message(format!("at most {MAX_FILTERS} filters")))?;
    for (slot, (id, meta)) in (first..).zip(chosen) {
        (ids[slot], metas[slot]) = (id, meta);
    }
    Ok((ids, metas))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_string()).collect()
    }

    #[test]
    fn pipelines_have_names() {
        let (ids, metas) = pipeline(&names(&["truncprec:-10", "bitshuffle"])).expect("known");
        assert_eq!((ids, metas), ([0, 0, 0, 0, 4, 2], [0, 0, 0, 0, 246, 0]));
        assert_eq!(filter_names(&ids, &metas), ["truncprec:-10", "bitshuffle"]);
        assert_eq!(pipeline(&names(&["none"])).expect("known").0, [0; 6]);
        assert!(pipeline(&names(&["shuffel"])).is_err());
        assert!(pipeline(&names(&["shuffle:300"])).is_err());
        for filter in ["truncprec", "inttrunc:0", "ndcell", "ndmean"] {
            assert!(pipeline(&names(&[filter])).is_err(), "{filter}");
        }
        assert!(pipeline(&vec!["delta".to_string(); 7]).is_err());
    }

    #[test]
    fn codecs_have_names() {
        for name in ["blosclz", "lz4", "lz4hc", "zlib", "zstd", "grok"] {
            assert_eq!(codec_name(codec_of(name).expect("known").0), name);
        }
        assert_eq!(codec_of("zfp-acc:-3").ok(), Some((ZFP_ACCURACY, 253)));
        assert_eq!(codec_of("ndlz:8").ok(), Some((NDLZ, 8)));
        for wrong in ["zfp-acc", "ndlz:5", "zstd:3", "zfp-rate:999"] {
            assert!(codec_of(wrong).is_err(), "{wrong}");
        }
        assert_eq!(codec_name(200), "codec 200");
        assert!(codec_of("LZ4").is_err());
    }
}
