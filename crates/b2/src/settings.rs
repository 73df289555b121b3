//! How to compress: what the options say, and what goes into the library.

use crate::failure::{Failure, Result};
use oxiblosc_chunk::header::{MAX_FILTERS, filter_id};
use oxiblosc_codecs::Codec;

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
    /// A meta byte a filter.
    pub filters_meta: [u8; MAX_FILTERS],
    /// An item.
    pub typesize: i32,
    /// A block, or 0 to leave it to the library.
    pub blocksize: i32,
    /// 1 to 4.
    pub splitmode: i32,
    /// Whether chunks get a dictionary.
    pub dict: bool,
    /// Whether a new frame gets checksums.
    pub checksums: bool,
    /// Threads.
    pub threads: i16,
}

/// The modes by which blocks are split into streams, as they are called and numbered.
pub const SPLIT_MODES: [(&str, i32); 4] =
    [("always", 1), ("never", 2), ("auto", 3), ("compatible", 4)];

/// Filters by name. Those that the format does not define itself are registered ones.
const FILTERS: [(&str, u8); 9] = [
    ("none", filter_id::NONE),
    ("shuffle", filter_id::SHUFFLE),
    ("bitshuffle", filter_id::BITSHUFFLE),
    ("delta", filter_id::DELTA),
    ("truncprec", filter_id::TRUNC_PREC),
    ("ndcell", 32),
    ("ndmean", 33),
    ("bytedelta", 35),
    ("inttrunc", 36),
];

/// Codecs that are registered with the format but not part of its core.
const PLUGINS: [(&str, u8); 6] = [
    ("ndlz", 32),
    ("zfp-acc", 33),
    ("zfp-prec", 34),
    ("zfp-rate", 35),
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

/// The codec of a name.
pub fn codec_of(name: &str) -> Result<u8> {
    let own = Codec::from_name(name).map(|codec| codec.code() as u8);
    let plugin = || PLUGINS.iter().find(|(known, _)| *known == name);
    own.or_else(|| plugin().map(|(_, id)| *id)).ok_or_else(|| {
        let names: Vec<&str> = Codec::ALL.iter().map(|codec| codec.name()).collect();
        Failure::say(format!("no codec '{name}'; there are {}", names.join(", ")))
    })
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
            Some((name, meta)) => {
                let number = meta
                    .parse::<i16>()
                    .ok()
                    .filter(|n| (-128..=255).contains(n));
                let number = number.ok_or_else(|| {
                    Failure::say(format!("'{meta}' is no parameter of the filter {name}"))
                })?;
                (name, number as u8)
            }
            None => (name.as_str(), 0),
        };
        let known = FILTERS.iter().find(|(known, _)| *known == name);
        let (_, id) = known.ok_or_else(|| {
            let names: Vec<&str> = FILTERS.iter().map(|(name, _)| *name).collect();
            Failure::say(format!(
                "no filter '{name}'; there are {}",
                names.join(", ")
            ))
        })?;
        if *id != filter_id::NONE {
            chosen.push((*id, meta));
        }
    }
    let first = MAX_FILTERS
        .checked_sub(chosen.len())
        .ok_or_else(|| Failure::say(format!("at most {MAX_FILTERS} filters")))?;
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
        assert!(pipeline(&vec!["delta".to_string(); 7]).is_err());
    }

    #[test]
    fn codecs_have_names() {
        for name in ["blosclz", "lz4", "lz4hc", "zlib", "zstd", "zfp-rate"] {
            assert_eq!(codec_name(codec_of(name).expect("known")), name);
        }
        assert_eq!(codec_name(200), "codec 200");
        assert!(codec_of("LZ4").is_err());
    }
}
