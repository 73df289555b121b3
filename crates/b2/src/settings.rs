//! Parameters of compression, and the names of codecs, filters and split modes.

use crate::failure::{Failure, Result};
use crate::text::plural;
use oxiblosc::codec::{Codec, REGISTERED_CODECS, RegisteredCodec, own_codec, registered_codec};
use oxiblosc::filter::{self, FILTERS, Filter, FilterKind};
use oxiblosc::format::chunk::header::MAX_FILTERS;
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

/// The name of a registered codec in the tool, where names have no underscores.
fn registered_name(codec: &RegisteredCodec) -> String {
    codec.name.to_string_lossy().replace('_', "-")
}

/// The name of a codec.
pub fn codec_name(code: u8) -> String {
    if let Some(codec) = Codec::from_code(code.into()) {
        return codec.name().to_string();
    }
    registered_codec(code).map_or_else(|| format!("codec {code}"), registered_name)
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
    let mut registered = REGISTERED_CODECS.iter();
    let codec = registered.find(|codec| registered_name(codec) == name);
    let codec = codec.ok_or_else(|| {
        let names = Codec::ALL.map(Codec::name).join(", ");
        Failure::message(format!("no codec '{name}'; there are {names}"))
    })?;
    let Some(own) = &codec.own else {
        return Ok((codec.id, meta.unwrap_or(0)));
    };
    let wanted = &own.parameter;
    let takes = |meta: &u8| !wanted.is_closed || wanted.examples.contains(&(*meta as i8));
    meta.filter(takes)
        .map(|meta| (codec.id, meta))
        .ok_or_else(|| {
            let examples = wanted.examples.iter();
            let examples: Vec<String> = examples.map(|n| format!("{name}:{n}")).collect();
            let (examples, meaning) = (examples.join(" or "), wanted.meaning);
            Failure::message(format!(
                "the codec {name} needs a parameter: {examples} ({meaning})"
            ))
        })
}

/// The help for the option that takes a codec.
pub fn codec_help() -> String {
    let (last, rest) = Codec::ALL.split_last().expect("there are some");
    let built_in: Vec<&str> = rest.iter().map(|codec| codec.name()).collect();
    let registered = REGISTERED_CODECS.iter().filter_map(|codec| {
        let word = codec.own.as_ref()?.parameter.word;
        Some(format!("{}:{word}", registered_name(codec)))
    });
    format!(
        "{} or {}; for arrays {} (those of ZFP lose precision)",
        built_in.join(", "),
        last.name(),
        registered.collect::<Vec<_>>().join(", ")
    )
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
        own_codec(self.codec).is_some()
    }

    /// Checks that the filters take items of this size, with their parameters.
    fn check_filters(&self) -> Result<()> {
        for (id, meta) in self.filters.iter().zip(self.filters_meta) {
            let (name, bits) = (filter_name(*id, meta), i32::from(meta as i8).abs());
            let refused =
                |why: String| Err(Failure::message(format!("the filter {name} takes {why}")));
            let size = self.typesize;
            match *id {
                filter::TRUNC_PREC if !matches!(size, 4 | 8) => {
                    return refused(format!(
                        "floating-point numbers of 4 or 8 bytes, and these are items of {size} (--typesize says their size)"
                    ));
                }
                filter::TRUNC_PREC => {
                    let most = if size == 4 { 23 } else { 52 };
                    if bits > most {
                        return refused(format!("1 to {most} bits of items of {size} bytes"));
                    }
                }
                filter::INT_TRUNC if !matches!(size, 1 | 2 | 4 | 8) => {
                    return refused(format!(
                        "integers of 1, 2, 4 or 8 bytes, and these are items of {size} (--typesize says their size)"
                    ));
                }
                filter::INT_TRUNC if bits >= 8 * size => {
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

    /// Checks that codec and filters support the data: an array with `ndim` dimensions, or bytes
    /// that are no array.
    pub fn check_codec(&self, ndim: Option<usize>) -> Result<()> {
        let of_cells = |filter: &&Filter| matches!(filter.kind, FilterKind::Cells { .. });
        let for_arrays: Vec<&Filter> = FILTERS.iter().filter(of_cells).collect();
        let is_used = |filter: &&Filter| self.filters.contains(&filter.id);
        if ndim.is_none() && for_arrays.iter().any(is_used) {
            let names: Vec<&str> = for_arrays.iter().filter_map(|filter| filter.name).collect();
            return Err(Failure::message(format!(
                "the filters {} take arrays alone, such as .npy files",
                names.join(" and ")
            )));
        }
        self.check_filters()?;
        let Some(own) = own_codec(self.codec) else {
            return Ok(());
        };
        let name = codec_name(self.codec);
        let refused = |why: &str| Err(Failure::message(format!("the codec {name} takes {why}")));
        let (least, most) = (own.dims.start(), own.dims.end());
        match ndim {
            None => return refused("arrays alone, such as .npy files"),
            Some(n) if own.dims.contains(&n) => {}
            Some(_) if least == most => {
                return refused(&format!("arrays of {least} dimensions"));
            }
            Some(_) => return refused(&format!("arrays of {least} to {most} dimensions")),
        }
        if !own.typesizes.contains(&(self.typesize as usize)) {
            return refused(own.items);
        }
        if self.filters != [filter::NONE; MAX_FILTERS] {
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
    let known = filter::find(id).and_then(|filter| filter.name);
    let name = known.map_or_else(|| format!("filter {id}"), str::to_string);
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

/// A pipeline from names with parameters, `shuffle,truncprec:10`: in the last slots, as the library
/// has it by default.
pub fn pipeline(names: &[String]) -> Result<([u8; MAX_FILTERS], [u8; MAX_FILTERS])> {
    let (mut ids, mut metas) = ([0; MAX_FILTERS], [0; MAX_FILTERS]);
    let mut chosen = Vec::new();
    for name in names {
        let (name, meta) = match name.split_once(':') {
            Some((name, meta)) => (name, parameter(meta, "filter", name)?),
            None => (name.as_str(), 0),
        };
        let known = FILTERS.iter().find(|filter| filter.name == Some(name));
        let filter = known.ok_or_else(|| {
            let names: Vec<&str> = FILTERS.iter().filter_map(|filter| filter.name).collect();
            Failure::message(format!(
                "no filter '{name}'; there are {}",
                names.join(", ")
            ))
        })?;
        if meta == 0 && filter.needs_parameter {
            let why = format!("the filter {name} needs a parameter, such as {name}:4");
            return Err(Failure::message(why));
        }
        if filter.id != filter::NONE {
            chosen.push((filter.id, meta));
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
    use oxiblosc::codec::{NDLZ, ZFP_ACCURACY};

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
