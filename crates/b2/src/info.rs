//! `b2 info`: shows what is in a frame, a chunk or a store.

use crate::args::InfoArgs;
use crate::failure::{Outcome, Result, describe};
use crate::input::{ALTERED, Input};
use crate::json::Json;
use crate::listing::Listing;
use crate::msgpack;
use crate::open::FrameOrChunk;
use crate::picture::{self, Share};
use crate::print::{print_error, print_text, said};
use crate::settings::{codec_name, filter_names};
use crate::source::{Frame, vlmeta_content};
use crate::store::Store;
use crate::summary::{Summary, array_fields, joined};
use crate::text::{bytes, clean, grouped, ratio};
use oxiblosc::codec::Codec;
use oxiblosc::format::chunk::header::{Blocks, ChunkHeader, Special, flags, flags2};
use oxiblosc::format::frame::header::FrameKind;
use oxiblosc::format::frame::offsets::ChunkPosition;
use oxiblosc_base::Error;
use oxiblosc_repair::{Contexts, Files, array_meta};
use std::io::{self, IsTerminal, Write};

/// The most chunks whose headers are read for the picture.
const SAMPLES: usize = 1 << 14;
/// The most bytes of variable-length metalayers that are decoded, all together. The others are only
/// named, since values can take many times the memory of their bytes, and a few bytes can
/// decompress to many.
const MOST_META: usize = 4 << 20;
/// Columns of the picture if the output is no terminal.
const WIDTH: usize = 72;

/// A row of the table of chunks. Sizes are in bytes, and none if the chunk cannot be read.
struct ChunkRow {
    nchunk: usize,
    place: String,
    kind: String,
    nbytes: Option<usize>,
    cbytes: Option<usize>,
    blocks: Option<usize>,
}

/// What is printed of a frame, as text or as JSON.
struct FrameInfo {
    fields: Vec<(&'static str, String)>,
    json: Vec<(String, Json)>,
    /// Names, sizes in bytes, and contents.
    metalayers: Vec<(String, usize, Json)>,
    vlmetalayers: Vec<(String, usize, Json)>,
    rows: Vec<ChunkRow>,
    nchunks: usize,
    shares: Vec<Share>,
}

/// Runs the command.
pub fn run(args: &InfoArgs) -> Result<Outcome> {
    let mut out = Vec::new();
    let printed = print(args, &mut out);
    // After an error this is the part before it.
    print_text(&out);
    printed.map(|()| Outcome::Fine)
}

fn print(args: &InfoArgs, out: &mut Vec<u8>) -> Result<()> {
    let input = args.input.open()?;
    if input.is_altered() {
        print_error(&format!("{}: {ALTERED}", input.name()));
    }
    let mut members = Vec::new();
    if let Some(store) = Store::open(&input)? {
        let listing = Listing::of(&store, &input)?;
        match args.json {
            true => members = listing.into_json(),
            false => said(listing.print(out))?,
        }
        if !store.is_file() {
            return match args.json {
                true => said(writeln!(out, "{}", Json::Object(members))),
                false => Ok(()),
            };
        }
        // An EmbedStore in a file is also a frame.
        if !args.json {
            said(writeln!(out))?;
        }
    }
    match FrameOrChunk::open(&input)? {
        FrameOrChunk::Chunk(chunk) => {
            let header = ChunkHeader::parse(&chunk)
                .map_err(|error| crate::failure::Failure::unread(input.name(), error))?;
            let fields = chunk_fields(&header);
            if args.json {
                let members = fields
                    .into_iter()
                    .map(|(name, _, json)| (name.to_string(), json));
                said(writeln!(out, "{}", Json::Object(members.collect())))?;
            } else {
                let name = clean(input.name().as_bytes());
                said(writeln!(out, "{name}: a chunk\n"))?;
                for (name, text, _) in fields {
                    said(writeln!(out, "  {name:<13} {text}"))?;
                }
            }
        }
        FrameOrChunk::Frame(mut frame) => {
            let report = FrameInfo::of(&mut frame, &input, args.chunks)?;
            if args.json {
                members.extend(report.into_json());
                said(writeln!(out, "{}", Json::Object(members)))?;
            } else {
                said(report.print(out))?;
            }
        }
    }
    Ok(())
}

/// How a chunk's data are stored: by which codec, as they are, or as a special value.
fn kind_of(header: &ChunkHeader) -> String {
    match header.special() {
        Special::None if header.is_memcpyed() => "stored".into(),
        Special::None => Codec::from_format(header.flags >> 5).map_or_else(
            || codec_name(header.udcompcode),
            |codec| codec.name().to_string(),
        ),
        special => special_name(special),
    }
}

/// What the items of a chunk of special values are, in words.
pub fn special_name(special: Special) -> String {
    match special {
        Special::None => "data".into(),
        Special::Zero => "zeros".into(),
        Special::Nan => "NaNs".into(),
        Special::Value => "one value".into(),
        Special::Uninit => "uninitialised".into(),
        Special::Unknown(kind) => format!("special {kind}"),
    }
}

fn flag_names(header: &ChunkHeader) -> Vec<&'static str> {
    let bits = [
        (header.is_extended(), "extended"),
        (header.is_memcpyed(), "stored"),
        (header.flags & flags::DONT_SPLIT == 0, "split"),
        (header.blosc2_flags & flags2::USE_DICT != 0, "dictionary"),
        (header.is_lazy(), "lazy"),
        (
            header.blosc2_flags & flags2::INSTRUMENTED != 0,
            "instrumented",
        ),
        (header.has_vlblocks(), "variable-length blocks"),
    ];
    bits.iter()
        .filter(|(set, _)| *set)
        .map(|(_, name)| *name)
        .collect()
}

fn chunk_fields(header: &ChunkHeader) -> Vec<(&'static str, String, Json)> {
    let filters = filter_names(&header.filters, &header.filters_meta);
    let flags = flag_names(header);
    let blocks = match header.blocks {
        Blocks::Regular { blocksize } => {
            format!("{} of {}", header.nblocks, bytes(blocksize as u64))
        }
        Blocks::Variable { nblocks } => format!("{nblocks} of different sizes"),
    };
    vec![
        (
            "data",
            bytes(header.nbytes as u64),
            Json::from(header.nbytes),
        ),
        (
            "compressed",
            bytes(header.cbytes as u64),
            Json::from(header.cbytes),
        ),
        (
            "ratio",
            ratio(header.nbytes as u64, header.cbytes as u64),
            Json::from(header.nbytes as f64 / header.cbytes.max(1) as f64),
        ),
        ("content", kind_of(header), Json::from(kind_of(header))),
        ("filters", joined(&filters), Json::list(filters)),
        ("blocks", blocks, Json::from(header.nblocks)),
        (
            "typesize",
            header.typesize.to_string(),
            Json::from(header.typesize),
        ),
        ("flags", flags.join(", "), Json::list(flags)),
        (
            "version",
            header.version.to_string(),
            Json::from(header.version),
        ),
    ]
}

/// The rows of the table: all chunks, or the first and last ones if there are more than `most`.
fn rows(frame: &mut Frame, most: usize) -> Vec<ChunkRow> {
    let nchunks = frame.nchunks();
    let shown = nchunks.min(most);
    let head = if shown < nchunks {
        shown.div_ceil(2)
    } else {
        shown
    };
    let listed = (0..head).chain(nchunks - (shown - head)..nchunks);
    listed.map(|nchunk| ChunkRow::of(frame, nchunk)).collect()
}

impl ChunkRow {
    fn of(frame: &mut Frame, nchunk: usize) -> Self {
        let place = match frame.offsets().position(nchunk) {
            Ok(ChunkPosition::At(at)) if frame.header.kind == FrameKind::Sparse => {
                format!("{at:08X}.chunk")
            }
            Ok(ChunkPosition::At(at)) => (u64::from(frame.extent.header_len) + at).to_string(),
            Ok(ChunkPosition::Special(_)) => "-".into(),
            Err(_) => "?".into(),
        };
        let mut row = Self {
            nchunk,
            place,
            kind: String::new(),
            nbytes: None,
            cbytes: None,
            blocks: None,
        };
        match frame.chunk_header(nchunk) {
            Ok(Some(header)) => {
                row.kind = kind_of(&header);
                row.nbytes = Some(header.nbytes);
                row.cbytes = Some(header.cbytes);
                row.blocks = Some(header.nblocks);
            }
            Ok(None) => {
                if let Ok(ChunkPosition::Special(special)) = frame.offsets().position(nchunk) {
                    row.kind = special_name(special);
                }
                row.nbytes = Some(frame.chunk_nbytes(nchunk));
                row.cbytes = Some(0);
            }
            Err(error) => {
                frame.faults.note(error);
                row.kind = format!("damaged: {}", describe(error));
            }
        }
        row
    }

    fn into_json(self) -> Json {
        let number = |value: Option<usize>| value.map_or(Json::Null, Json::from);
        Json::object([
            ("chunk", Json::from(self.nchunk)),
            ("place", Json::from(self.place)),
            ("content", Json::from(self.kind)),
            ("nbytes", number(self.nbytes)),
            ("cbytes", number(self.cbytes)),
            ("blocks", number(self.blocks)),
        ])
    }
}

/// The shares of all chunks, or of some of them if there are more than [`SAMPLES`].
fn shares(frame: &mut Frame) -> Vec<Share> {
    let nchunks = frame.nchunks();
    let count = nchunks.min(SAMPLES);
    (0..count)
        .map(|sample| {
            let nchunk = (sample as u128 * nchunks as u128 / count as u128) as usize;
            let header = frame.chunk_header(nchunk);
            let header = frame.faults.readable(header).flatten()?;
            let special = header.special() != Special::None;
            (!special && header.nbytes > 0).then(|| header.cbytes as f64 / header.nbytes as f64)
        })
        .collect()
}

impl FrameInfo {
    fn of(frame: &mut Frame, input: &Input, most_rows: usize) -> Result<Self> {
        let nchunks = frame.nchunks();
        let summary = Summary::of(frame, input);
        let fields = summary.text();
        let json = summary.json();
        let contexts = frame.faults.readable(frame.contexts(1));
        let info = Self {
            fields,
            json,
            metalayers: metalayers(frame),
            vlmetalayers: vlmetalayers(frame, contexts.as_ref()),
            rows: rows(frame, most_rows),
            nchunks,
            shares: shares(frame),
        };
        frame.faults.check().map(|()| info)
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        for (name, text) in &self.fields {
            writeln!(out, "{name:<11} {text}")?;
        }
        let kinds = [
            ("metalayer", &self.metalayers),
            ("variable-length metalayer", &self.vlmetalayers),
        ];
        for (kind, layers) in kinds {
            for (name, size, value) in layers {
                writeln!(out, "\n{kind} '{name}', {}", bytes(*size as u64))?;
                for line in value.to_string().lines() {
                    writeln!(out, "  {line}")?;
                }
            }
        }
        let lines = picture::columns(&self.shares, terminal_width().saturating_sub(6));
        if !lines.is_empty() {
            let of = if self.shares.len() < self.nchunks {
                ", some of them"
            } else {
                ""
            };
            writeln!(
                out,
                "\nwhat is left of each chunk, from the first to the last{of}"
            )?;
            for line in lines {
                writeln!(out, "{line}")?;
            }
        }
        if !self.rows.is_empty() {
            self.print_table(out)?;
        }
        Ok(())
    }

    fn print_table(&self, out: &mut impl Write) -> io::Result<()> {
        let number = |value: Option<usize>| value.map_or("?".into(), |n| grouped(n as i128));
        writeln!(
            out,
            "\n{:>9} {:>15} {:>13} {:>13} {:>8} {:>7}  content",
            "chunk", "place", "bytes", "compressed", "ratio", "blocks"
        )?;
        let mut before = None;
        for row in &self.rows {
            if before.is_some_and(|before: usize| before + 1 != row.nchunk) {
                writeln!(out, "{:>9}", "...")?;
            }
            before = Some(row.nchunk);
            let ratio = match (row.nbytes, row.cbytes) {
                (Some(nbytes), Some(cbytes)) => ratio(nbytes as u64, cbytes as u64),
                _ => "?".into(),
            };
            writeln!(
                out,
                "{:>9} {:>15} {:>13} {:>13} {:>8} {:>7}  {}",
                row.nchunk,
                row.place,
                number(row.nbytes),
                number(row.cbytes),
                ratio,
                row.blocks.map_or("-".into(), |n| n.to_string()),
                row.kind
            )?;
        }
        if self.rows.len() < self.nchunks {
            writeln!(out, "{:>9} (--chunks N shows more)", "")?;
        }
        Ok(())
    }

    fn into_json(self) -> Vec<(String, Json)> {
        let layers = |layers: Vec<(String, usize, Json)>| {
            let members = layers.into_iter().map(|(name, _, value)| (name, value));
            Json::Object(members.collect())
        };
        let mut members = self.json;
        members.push(("metalayers".into(), layers(self.metalayers)));
        members.push(("vlmetalayers".into(), layers(self.vlmetalayers)));
        let rows = self.rows.into_iter().map(ChunkRow::into_json).collect();
        members.push(("chunks".into(), Json::List(rows)));
        members
    }
}

fn metalayers(frame: &Frame) -> Vec<(String, usize, Json)> {
    let layers = frame.header.metalayers.iter().map(|layer| {
        let name = clean(&layer.name);
        let value = match array_meta(&layer.content) {
            Some(meta) if name == "b2nd" || name == "caterva" => array_fields(&meta).1,
            _ => msgpack::show(&layer.content),
        };
        (name, layer.content.len(), value)
    });
    layers.collect()
}

fn vlmetalayers(frame: &Frame, contexts: Option<&Contexts>) -> Vec<(String, usize, Json)> {
    let mut left = MOST_META;
    let mut decode = |layer| match contexts {
        Some(contexts) => {
            vlmeta_content(contexts, layer, left).inspect(|content| left -= content.len())
        }
        None => Err(Error::CODEC_SUPPORT),
    };
    let layers = frame.vlmetalayers.iter().map(|layer| {
        let (size, value) = match decode(layer) {
            Ok(content) => (content.len(), msgpack::show(&content)),
            Err(error) if error == Error::MAX_BUFSIZE_EXCEEDED => {
                (layer.content.len(), Json::from("too large to show"))
            }
            Err(error) => {
                frame.faults.note(error);
                let what = format!("damaged: {}", describe(error));
                (layer.content.len(), Json::from(what))
            }
        };
        (clean(&layer.name), size, value)
    });
    layers.collect()
}

/// The width of the terminal, or [`WIDTH`] if the output goes elsewhere.
fn terminal_width() -> usize {
    if !std::io::stdout().is_terminal() {
        return WIDTH;
    }
    terminal_size::terminal_size().map_or(WIDTH, |(columns, _)| usize::from(columns.0).min(200))
}
