//! What `b2 info` shows of the header of a frame, for a person and for a program.

use crate::input::Input;
use crate::json::Json;
use crate::settings::{codec_name, filter_names, split_name};
use crate::source::Frame;
use crate::text::{self, bytes, clean, ratio};
use oxiblosc::format::frame::header::FrameKind;
use oxiblosc_repair::array_meta;

/// The fields of a header, in the words that both forms of the report use.
pub struct Summary<'a> {
    frame: &'a Frame,
    input: &'a Input,
    file_size: u64,
    nbytes: u64,
    filters: Vec<String>,
    flags: Vec<&'static str>,
    array: Option<(String, Json)>,
}

impl<'a> Summary<'a> {
    pub fn of(frame: &'a Frame, input: &'a Input) -> Self {
        let header = &frame.header;
        let flags = [
            (header.vlblocks, "variable-length blocks"),
            (header.chunksize == 0, "chunks of different sizes"),
            (header.parameters.use_dict, "dictionaries"),
            (header.has_vlmetalayers, "variable-length metalayers"),
        ];
        let array = frame.array().and_then(array_meta);
        Self {
            frame,
            input,
            file_size: input.faults().size_of(input.path()),
            nbytes: header.nbytes.max(0) as u64,
            filters: filter_names(&header.parameters.filters, &header.parameters.filters_meta),
            flags: flags
                .iter()
                .filter(|(set, _)| *set)
                .map(|(_, name)| *name)
                .collect(),
            array: array.map(|meta| array_fields(&meta)),
        }
    }

    fn kind(&self) -> &'static str {
        match self.frame.header.kind {
            FrameKind::Contiguous => "contiguous",
            FrameKind::Sparse => "sparse",
        }
    }

    /// The sizes of data, chunks, blocks and items.
    fn sizes(&self) -> String {
        let header = &self.frame.header;
        let chunksize = match header.chunksize {
            0 => "chunks of different sizes".to_string(),
            size => format!("chunks of {}", bytes(size.max(0) as u64)),
        };
        let blocksize = match header.parameters.blocksize {
            0 => String::new(),
            size => format!(", blocks of {}", bytes(size.max(0) as u64)),
        };
        format!(
            "{} in {}; {chunksize}{blocksize}, items of {}",
            bytes(self.nbytes),
            text::plural(self.frame.nchunks(), "chunk", "chunks"),
            bytes(header.parameters.typesize as u64)
        )
    }

    /// The report for a person.
    pub fn text(&self) -> Vec<(&'static str, String)> {
        let header = &self.frame.header;
        let extent = self.frame.extent;
        let name = clean(self.input.name().as_bytes());
        let mut fields = vec![("file", format!("{name}: {} frame", self.kind()))];
        if let Some((text, _)) = &self.array {
            fields.push(("array", text.clone()));
        }
        let compressed = format!(
            "{}, ratio {}",
            bytes(self.file_size),
            ratio(self.nbytes, self.file_size)
        );
        let codec = format!(
            "{}, level {}; blocks split: {}",
            codec_name(header.parameters.compcode),
            header.parameters.clevel,
            split_name(header.parameters.splitmode)
        );
        let layout = format!(
            "header {}, chunks {}, whole frame {}",
            bytes(extent.header_len.into()),
            bytes(extent.cbytes),
            bytes(extent.frame_len)
        );
        let flags = match &self.flags[..] {
            [] => "none".into(),
            flags => flags.join(", "),
        };
        fields.extend([
            ("data", self.sizes()),
            ("compressed", compressed),
            ("codec", codec),
            ("filters", joined(&self.filters)),
            ("flags", flags),
            ("checksums", self.frame.covered().to_string()),
            ("layout", layout),
        ]);
        fields
    }

    /// The report for a program.
    pub fn json(self) -> Vec<(String, Json)> {
        let header = &self.frame.header;
        let extent = self.frame.extent;
        let ratio = match self.file_size {
            0 => Json::Null,
            size => Json::from(self.nbytes as f64 / size as f64),
        };
        let members = [
            ("file", Json::from(self.input.name())),
            ("kind", Json::from(self.kind())),
            ("file_size", Json::from(self.file_size)),
            ("header_len", Json::from(extent.header_len)),
            ("frame_len", Json::from(extent.frame_len)),
            ("nbytes", Json::from(header.nbytes)),
            ("cbytes", Json::from(extent.cbytes)),
            ("ratio", ratio),
            ("nchunks", Json::from(self.frame.nchunks())),
            ("chunksize", Json::from(header.chunksize)),
            ("blocksize", Json::from(header.parameters.blocksize)),
            ("typesize", Json::from(header.parameters.typesize)),
            ("codec", Json::from(codec_name(header.parameters.compcode))),
            ("codec_meta", Json::from(header.parameters.compcode_meta)),
            ("level", Json::from(header.parameters.clevel)),
            ("split", Json::from(split_name(header.parameters.splitmode))),
            ("filters", Json::list(self.filters)),
            ("flags", Json::list(self.flags)),
            ("checksums", Json::from(self.frame.covered())),
            (
                "threads",
                Json::list([header.nthreads_c, header.nthreads_d]),
            ),
        ];
        let array = self.array.map(|(_, json)| ("array", json));
        let members = members.into_iter().chain(array);
        members
            .map(|(name, value)| (name.to_string(), value))
            .collect()
    }
}

/// The filters in the order in which compression applies them.
pub fn joined(filters: &[String]) -> String {
    match filters {
        [] => "none".into(),
        _ => filters.join(", then "),
    }
}

/// An array's shapes and dtype, as text and as JSON.
pub fn array_fields(meta: &oxiblosc::b2nd::meta::Meta) -> (String, Json) {
    let ndim = meta.ndim;
    let shape = &meta.shape[..ndim];
    let (chunks, blocks) = (&meta.chunkshape[..ndim], &meta.blockshape[..ndim]);
    let dtype = clean(meta.dtype.unwrap_or_default());
    let text = format!(
        "shape {}, chunks {}, blocks {}, dtype {}",
        tuple(shape),
        tuple(chunks),
        tuple(blocks),
        if dtype.is_empty() { "unknown" } else { &dtype }
    );
    let json = Json::object([
        ("shape", Json::list(shape.iter().copied())),
        ("chunks", Json::list(chunks.iter().copied())),
        ("blocks", Json::list(blocks.iter().copied())),
        ("dtype", Json::from(dtype)),
        ("dtype_format", Json::from(i64::from(meta.dtype_format))),
    ]);
    (text, json)
}

/// Lengths as a Python tuple.
pub fn tuple<T: ToString>(lengths: &[T]) -> String {
    let lengths: Vec<String> = lengths.iter().map(ToString::to_string).collect();
    match &lengths[..] {
        [one] => format!("({one},)"),
        many => format!("({})", many.join(", ")),
    }
}
