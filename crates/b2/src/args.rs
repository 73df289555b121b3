//! The command line: commands, their arguments and options. The doc comments of its fields are the
//! help texts.

use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::member::open_member;
use crate::settings::{SPLIT_MODES, Settings, codec_help, codec_of, pipeline};
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Looks into Blosc2 frames, checks and repairs them, and makes them from other files and back
#[derive(Debug, Parser)]
#[command(
    name = "b2",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Shows what is in a frame: header, codec, filters, metalayers, chunks; lists the frames of a
    /// store of python-blosc2
    #[command(
        after_help = "Examples:\n  b2 info temperature.b2nd\n  b2 info --json --chunks 0 data.b2frame | jq .ratio\n  b2 info store.b2z\n  b2 info store.b2z --key /group/matrix"
    )]
    Info(InfoArgs),
    /// Decompresses everything and says what is damaged; exit code 1 if anything is
    ///
    /// In a frame with checksums (`b2 compress --checksum`) any damage is found. Without them,
    /// damage is not found if the data can still be decompressed, except with zlib, whose streams
    /// have checksums of their own.
    #[command(
        after_help = "Examples:\n  b2 verify temperature.b2nd && echo fine\n  b2 verify --quiet archive/*.b2nd"
    )]
    Verify(VerifyArgs),
    /// Copies what is readable of a damaged or truncated frame into a new one; exit code 1 if
    /// anything is lost
    ///
    /// The damaged frame is only read. Chunks that are lost become chunks of zeros, so that all
    /// others stay where they were; the readable blocks of a damaged chunk are kept. Each chunk and
    /// block is reported as right (its checksum fits, and its place is certain), wrong (its
    /// checksum does not fit, or it cannot be read), or unknown.
    #[command(after_help = "Example:\n  b2 repair broken.b2nd repaired.b2nd")]
    Repair(RepairArgs),
    /// Compresses a file into a frame; an .npy file into an array
    ///
    /// Parameters that are not given are chosen by samples of the file, and printed at the end.
    #[command(
        after_help = "Examples:\n  b2 compress series.f64 --typesize 8\n  b2 compress temperature.npy --codec zstd --level 9\n  tar c folder | b2 compress - -o folder.tar.b2frame"
    )]
    Compress(CompressArgs),
    /// Decompresses a frame into a file; an array into an .npy file
    #[command(
        after_help = "Examples:\n  b2 decompress temperature.b2nd\n  b2 decompress store.b2z --key /group/matrix -o matrix.npy\n  b2 decompress folder.tar.b2frame -o - | tar x"
    )]
    Decompress(DecompressArgs),
    /// Copies a frame: into one file or a directory, with another codec, filters, chunks or blocks
    #[command(
        after_help = "Examples:\n  b2 convert data.b2frame folder.b2frame --sparse\n  b2 convert a.b2nd b.b2nd --codec zstd --level 9 --filters bitshuffle"
    )]
    Convert(ConvertArgs),
    /// Tries codecs, levels, filters and block sizes on your own data: ratio against speed
    #[command(after_help = "Example:\n  b2 bench temperature.npy")]
    Bench(BenchArgs),
    /// Prints what a shell needs to complete the commands
    #[command(after_help = "Example:\n  b2 completions bash > /etc/bash_completion.d/b2")]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Prints the manual page
    #[command(hide = true)]
    Manual,
}

/// Shells with completions.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Shell {
    /// Bash
    Bash,
    /// Zsh
    Zsh,
    /// Fish
    Fish,
}

/// How many threads to use.
#[derive(Args, Clone, Copy, Debug)]
pub struct Threads {
    /// Threads to use; 0: one for each processor, at most 64
    #[arg(long, short = 't', value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(i16).range(0..=512))]
    threads: i16,
}

impl Threads {
    /// The number of threads, 1 to 512.
    pub fn count(self) -> i16 {
        let processors = || std::thread::available_parallelism().map_or(1, |n| n.get());
        match self.threads {
            0 => processors().min(64) as i16,
            threads => threads,
        }
    }
}

/// The argument that says what a command reads.
#[derive(Args, Debug)]
pub struct Source {
    /// A frame (file or directory), a chunk, or a store of python-blosc2; - reads standard input,
    /// and pipes with a name are read like it
    #[arg(value_name = "FRAME")]
    path: PathBuf,
    /// Reads the frame with this key of a store (.b2d, .b2z, .b2e); b2 info lists the keys
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

impl Source {
    /// Opens the path, or the frame with the key in it. Fails if there is nothing to read.
    pub fn open(&self) -> Result<Input> {
        match &self.key {
            None => Input::new(&self.path),
            Some(key) => open_member(&self.path, key),
        }
    }
}

/// Arguments of `info`.
#[derive(Args, Debug)]
pub struct InfoArgs {
    #[command(flatten)]
    pub input: Source,
    /// Writes JSON
    #[arg(long)]
    pub json: bool,
    /// Chunks in the table, at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub chunks: usize,
}

/// Arguments of `verify`.
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// Frames (files or directories), chunks, or stores of python-blosc2; - reads standard input,
    /// and pipes with a name are read like it
    #[arg(value_name = "FILE", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Says nothing if all is well
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub threads: Threads,
}

/// What `repair` puts in the place of lost chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Fill {
    /// Zeros
    Zeros,
    /// NaNs, where items are of 4 or 8 bytes
    Nan,
    /// Uninitialised
    Uninit,
}

/// Arguments of `repair`.
#[derive(Args, Debug)]
pub struct RepairArgs {
    #[command(flatten)]
    pub input: Source,
    /// The new frame
    #[arg(value_name = "NEW")]
    pub output: PathBuf,
    /// What takes the place of lost chunks
    #[arg(long, value_enum, default_value = "zeros")]
    pub fill: Fill,
    /// Reports on each chunk, in JSON
    #[arg(long)]
    pub json: bool,
    /// Replaces NEW if it exists: a file, or a directory with a frame and nothing else
    #[arg(long, short)]
    pub force: bool,
    #[command(flatten)]
    pub threads: Threads,
}

/// The options that say how to compress.
#[derive(Args, Clone, Debug, Default)]
pub struct Coding {
    // The names come from the table of codecs.
    #[arg(long, short, value_name = "NAME", help = codec_help())]
    pub codec: Option<String>,
    /// 0 (stored) to 9 (smallest)
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=9))]
    pub level: Option<u8>,
    /// Filters in the order of their use: none, shuffle, bitshuffle, delta, truncprec:BITS, ...
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub filters: Option<Vec<String>>,
    /// Splits blocks into one stream for each byte of an item: always, never, auto or compatible
    #[arg(long, value_name = "MODE", value_parser = PossibleValuesParser::new(SPLIT_MODES.map(|mode| mode.0)), hide_possible_values = true)]
    pub split: Option<String>,
    /// Gives every chunk a dictionary (zstd, lz4 and lz4hc)
    #[arg(long)]
    pub dict: bool,
    /// Adds checksums to the frame, so that any damage to it is found
    #[arg(long)]
    pub checksum: bool,
}

impl Coding {
    /// Whether an option is given that changes how data are compressed. (Checksums are added
    /// without compressing again.)
    pub fn is_given(&self) -> bool {
        self.codec.is_some()
            || self.level.is_some()
            || self.filters.is_some()
            || self.split.is_some()
            || self.dict
    }

    /// `settings`, changed by the options that are given. Fails if a name or a parameter is
    /// unknown.
    pub fn apply(&self, settings: Settings) -> Result<Settings> {
        let mut settings = settings;
        if let Some(name) = &self.codec {
            (settings.codec, settings.codec_meta) = codec_of(name)?;
            if settings.is_for_numbers() {
                settings.filters = Default::default();
            }
        }
        settings.level = self.level.unwrap_or(settings.level);
        if let Some(names) = &self.filters {
            (settings.filters, settings.filters_meta) = pipeline(names)?;
        }
        if let Some(name) = &self.split {
            let known = SPLIT_MODES.iter().find(|(known, _)| known == name);
            settings.splitmode = known.map_or(settings.splitmode, |(_, mode)| *mode);
        }
        settings.dict |= self.dict;
        settings.checksums |= self.checksum;
        Ok(settings)
    }
}

/// Arguments of `compress`.
#[derive(Args, Debug)]
pub struct CompressArgs {
    /// The file; - reads standard input, and a pipe with a name is read like it
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// The frame; - writes to standard output [default: FILE.b2frame, or FILE.b2nd for an array; -
    /// for a pipe]
    #[arg(long, short, value_name = "FRAME")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub coding: Coding,
    /// Bytes of an item of FILE, such as 4 for float32: the shuffles need it [default: that of an
    /// .npy file; else the one that suits samples of FILE best]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=255))]
    pub typesize: Option<i32>,
    /// Bytes of a chunk, such as 4M; for an array, items along each dimension, such as 100,200
    /// [default: 4M; 8M for large files of text]
    #[arg(long, value_name = "SIZE")]
    pub chunks: Option<String>,
    /// Bytes of a block, such as 64K; for an array, items along each dimension [default for text
    /// and other single bytes with zstd: a whole chunk, which compresses better; smaller blocks
    /// make it quicker to read a part, and less is lost if one is damaged]
    #[arg(long, value_name = "SIZE")]
    pub blocks: Option<String>,
    /// Makes a directory with a file for each chunk
    #[arg(long)]
    pub sparse: bool,
    /// Compresses an .npy file as plain bytes, not as an array
    #[arg(long)]
    pub raw: bool,
    /// Replaces FRAME if it exists: a file, or a directory with a frame and nothing else
    #[arg(long, short)]
    pub force: bool,
    #[command(flatten)]
    pub threads: Threads,
}

/// Arguments of `decompress`.
#[derive(Args, Debug)]
pub struct DecompressArgs {
    #[command(flatten)]
    pub input: Source,
    /// The file; - writes to standard output [default: FRAME without its ending, or with .npy for
    /// an array]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Writes the bytes of an array's items without the header of an .npy file
    #[arg(long)]
    pub raw: bool,
    /// Replaces FILE if it exists
    #[arg(long, short)]
    pub force: bool,
    #[command(flatten)]
    pub threads: Threads,
}

/// Arguments of `convert`.
#[derive(Args, Debug)]
pub struct ConvertArgs {
    #[command(flatten)]
    pub input: Source,
    /// The new frame; - writes to standard output
    #[arg(value_name = "NEW")]
    pub output: PathBuf,
    /// Makes a directory with a file for each chunk
    #[arg(long, conflicts_with = "contiguous")]
    pub sparse: bool,
    /// Makes one file
    #[arg(long)]
    pub contiguous: bool,
    #[command(flatten)]
    pub coding: Coding,
    /// Bytes of a chunk, such as 4M; for an array, items along each dimension, such as 100,200
    #[arg(long, value_name = "SIZE")]
    pub chunks: Option<String>,
    /// Bytes of a block, such as 64K; for an array, items along each dimension
    #[arg(long, value_name = "SIZE")]
    pub blocks: Option<String>,
    /// Replaces NEW if it exists: a file, or a directory with a frame and nothing else
    #[arg(long, short)]
    pub force: bool,
    #[command(flatten)]
    pub threads: Threads,
}

/// Arguments of `bench`.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// Data to try: any file, an .npy file, or a frame
    #[arg(value_name = "FILE")]
    pub input: PathBuf,
    /// Takes the frame with this key of a store (.b2d, .b2z, .b2e); b2 info lists the keys
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// Bytes of an item [default: that of an .npy file or a frame, else the one that suits samples
    /// of FILE best]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=255))]
    pub typesize: Option<i32>,
    /// Bytes to try, taken evenly from all of FILE
    #[arg(long, value_name = "SIZE", default_value = "16M")]
    pub sample: String,
    /// Bytes of a chunk
    #[arg(long, value_name = "SIZE", default_value = "4M")]
    pub chunk: String,
    /// Seconds to spend, roughly
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub seconds: u32,
    #[command(flatten)]
    pub threads: Threads,
}

/// Parses a number of bytes, at least 1: `4096`, `64K`, `4M`, `1G`.
pub fn size(text: &str) -> Result<usize> {
    let (digits, shift) = match text.chars().last().map(|c| c.to_ascii_uppercase()) {
        Some('K') => (&text[..text.len() - 1], 10),
        Some('M') => (&text[..text.len() - 1], 20),
        Some('G') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let number = digits.parse::<usize>().ok().filter(|n| *n > 0);
    number
        .and_then(|n| n.checked_mul(1 << shift))
        .ok_or_else(|| Failure::message(format!("'{text}' is no size; write 65536, 64K or 4M")))
}

/// Parses the lengths along `ndim` dimensions, each at least 1: `100,200`.
pub fn lengths(text: &str, ndim: usize) -> Result<Vec<i32>> {
    let lengths: Option<Vec<i32>> = text
        .split(',')
        .map(|length| length.trim().parse().ok().filter(|n| *n > 0))
        .collect();
    lengths
        .filter(|lengths| lengths.len() == ndim)
        .ok_or_else(|| {
            Failure::message(format!(
                "'{text}': {ndim} lengths with commas between them are needed"
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_commands_are_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_and_lengths() {
        assert_eq!(size("64k").ok(), Some(65536));
        assert_eq!(size("2G").ok(), Some(2 << 30));
        assert!(size("0").is_err() && size("x").is_err() && size("").is_err());
        assert_eq!(lengths("3, 4", 2).ok(), Some(vec![3, 4]));
        assert!(lengths("3", 2).is_err() && lengths("0,1", 2).is_err());
    }
}
