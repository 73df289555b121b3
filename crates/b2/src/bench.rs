//! `b2 bench`: measures codecs, levels, filters and block sizes on the user's own data.

use crate::args::{BenchArgs, size};
use crate::chunks::each_chunk_of;
use crate::compress::{check_typesize, chosen_typesize, defaults};
use crate::decompress::refuse_without_data;
use crate::failure::{Failure, Outcome, Result};
use crate::input::Input;
use crate::library::{ChunkInput, Place, SuperChunk, zeros};
use crate::member::open_member;
use crate::npy::{MAGIC, Npy};
use crate::open::{FrameOrChunk, refuse_store};
use crate::print::{print_text, said};
use crate::progress::ByteProgress;
use crate::settings::{Settings, codec_name, filter_names};
use crate::text::{bytes, plural};
use oxiblosc::codec::Codec;
use oxiblosc::filter;
use oxiblosc::format::chunk::header::MAX_BUFFERSIZE;
use oxiblosc::format::frame::header::Header;
use oxiblosc_base::memory::Buffer;
use oxiblosc_base::system::files::{OpenFlags, read_exact_at};
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Levels that are tried.
const LEVELS: [u8; 3] = [1, 5, 9];
/// Sizes of blocks that are tried with the best settings, in bytes.
const BLOCKS: [i32; 4] = [32 << 10, 128 << 10, 512 << 10, 2 << 20];
/// How often each thing is measured at least,
const RUNS: usize = 3;
/// and for how long at least,
const MIN_TIME: Duration = Duration::from_millis(60);
/// unless it takes this long.
const MAX_TIME: Duration = Duration::from_secs(2);
/// Settings with a lower ratio are not recommended.
const WORTH: f64 = 1.02;

/// The measurement of one way to compress. Speeds are in bytes of uncompressed data per second.
#[derive(Clone, Debug)]
struct Measured {
    /// The parameters.
    settings: Settings,
    /// Uncompressed over compressed bytes.
    ratio: f64,
    /// The speed of compression.
    compress: f64,
    /// The speed of decompression.
    decompress: f64,
}

impl Measured {
    /// The names of the filters.
    fn filters(&self) -> String {
        let names = filter_names(&self.settings.filters, &self.settings.filters_meta);
        if names.is_empty() {
            "none".into()
        } else {
            names.join("+")
        }
    }

    /// The codec and its level.
    fn codec(&self) -> String {
        format!(
            "{} {}",
            codec_name(self.settings.codec),
            self.settings.level
        )
    }

    /// Whether another way is better in one respect and no worse in the others.
    fn is_beaten_by(&self, other: &Self) -> bool {
        let (a, b) = (self, other);
        let no_worse =
            b.ratio >= a.ratio && b.compress >= a.compress && b.decompress >= a.decompress;
        no_worse && (b.ratio > a.ratio || b.compress > a.compress || b.decompress > a.decompress)
    }
}

/// Data to try, in chunks.
struct Sample {
    chunks: Vec<Buffer>,
    typesize: i32,
}

impl Sample {
    fn nbytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }

    /// The size of the largest chunk.
    fn largest(&self) -> usize {
        let sizes = self.chunks.iter().map(|chunk| chunk.len());
        sizes.max().unwrap_or(0)
    }
}

/// Runs the command.
pub fn run(args: &BenchArgs) -> Result<Outcome> {
    let input = match &args.key {
        None => Input::new(&args.input)?,
        Some(key) => open_member(&args.input, key)?,
    };
    refuse_store(&input)?;
    let sample = sample(args, &input)?;
    if sample.nbytes() == 0 {
        return Err(Failure::message(format!(
            "{}: there are no data in it",
            input.name()
        )));
    }
    let threads = args.threads.count();
    let name = crate::text::clean(input.name().as_bytes());
    let about = format!(
        "{} of {name} in {}, items of {}, {}",
        bytes(sample.nbytes() as u64),
        plural(sample.chunks.len(), "chunk", "chunks"),
        bytes(sample.typesize as u64),
        plural(threads as usize, "thread", "threads"),
    );
    let limit = Duration::from_secs(args.seconds.into());
    let (rows, skipped) =
        measure_all(&sample, threads, limit).map_err(|error| Failure::of(input.name(), error))?;
    let best = unbeaten(&rows);
    let mut text = Vec::new();
    said(writeln!(text, "{about}\n"))?;
    said(table(&rows, &best, &mut text))?;
    if skipped > 0 {
        said(writeln!(
            text,
            "\n{skipped} not measured: {} seconds are over (--seconds)",
            args.seconds
        ))?;
    }
    said(advise(&rows, &mut text))?;
    print_text(&text);
    Ok(Outcome::Fine)
}

/// Measures all settings within a time limit. Returns the rows, and how many settings were not
/// measured.
fn measure_all(
    sample: &Sample,
    threads: i16,
    limit: Duration,
) -> std::result::Result<(Vec<Measured>, usize), oxiblosc_base::Error> {
    let until = Instant::now() + limit;
    let ways = ways(sample.typesize, threads);
    let count = ways.len() + 2 * BLOCKS.len();
    let progress = ByteProgress::new("measuring", (count * sample.nbytes()) as u64);
    let (mut rows, mut skipped) = (Vec::new(), 0);
    let mut all = |settings: &[Settings], rows: &mut Vec<Measured>| {
        for settings in settings {
            // At least one row is measured, however slow.
            if Instant::now() > until && !rows.is_empty() {
                skipped += 1;
                continue;
            }
            rows.push(measure(sample, settings)?);
            progress.add(sample.nbytes());
        }
        Ok(())
    };
    all(&ways, &mut rows)?;
    all(&block_sizes(&rows, sample), &mut rows)?;
    Ok((rows, skipped))
}

/// All settings to measure, the fastest first.
fn ways(typesize: i32, threads: i16) -> Vec<Settings> {
    let base = defaults(typesize, threads);
    let filters: &[u8] = if typesize > 1 {
        &[filter::SHUFFLE, filter::BITSHUFFLE, filter::NONE]
    } else {
        &[filter::NONE, filter::BITSHUFFLE]
    };
    let mut ways = Vec::new();
    for level in LEVELS {
        for codec in Codec::ALL {
            for filter in filters {
                let mut settings = Settings {
                    codec: codec.code() as u8,
                    level,
                    ..base
                };
                settings.filters[5] = *filter;
                ways.push(settings);
            }
        }
    }
    ways
}

/// Settings with other sizes of blocks: for the way that compresses best, and for the quickest one
/// that compresses at least half as well.
fn block_sizes(rows: &[Measured], sample: &Sample) -> Vec<Settings> {
    let largest = sample.largest();
    let Some(smallest) = rows.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio)) else {
        return Vec::new();
    };
    let quick = rows
        .iter()
        .filter(|row| row.ratio * 2.0 >= smallest.ratio)
        .max_by(|a, b| (a.compress.min(a.decompress)).total_cmp(&b.compress.min(b.decompress)));
    let mut chosen = vec![smallest.settings];
    chosen.extend(
        quick
            .map(|row| row.settings)
            .filter(|other| *other != smallest.settings),
    );
    let mut ways = Vec::new();
    for settings in chosen {
        for blocksize in BLOCKS {
            if (blocksize as usize) < largest {
                ways.push(Settings {
                    blocksize,
                    ..settings
                });
            }
        }
    }
    ways
}

fn measure(
    sample: &Sample,
    settings: &Settings,
) -> std::result::Result<Measured, oxiblosc_base::Error> {
    let contexts = SuperChunk::new(Place::Memory, settings)?;
    let nbytes = sample.nbytes();
    let mut chunks = Vec::new();
    let compress = shortest(|| {
        chunks.clear();
        for data in &sample.chunks {
            chunks.push(contexts.compress(ChunkInput::Buffer(data))?);
        }
        Ok(())
    })?;
    let mut data = zeros(sample.largest())?;
    let decompress = shortest(|| {
        for chunk in &chunks {
            contexts.decompress(chunk, &mut data)?;
        }
        Ok(())
    })?;
    let cbytes: usize = chunks.iter().map(|chunk| chunk.len()).sum();
    Ok(Measured {
        settings: *settings,
        ratio: nbytes as f64 / cbytes.max(1) as f64,
        compress: nbytes as f64 / compress,
        decompress: nbytes as f64 / decompress,
    })
}

/// The shortest time of several runs, in seconds. Other work of the machine makes a run longer,
/// never shorter; the first run also fetches memory from the system.
fn shortest(
    mut run: impl FnMut() -> std::result::Result<(), oxiblosc_base::Error>,
) -> std::result::Result<f64, oxiblosc_base::Error> {
    let mut shortest = f64::INFINITY;
    let mut runs = 0;
    let began = Instant::now();
    while runs < RUNS || began.elapsed() < MIN_TIME {
        let started = Instant::now();
        run()?;
        shortest = shortest.min(started.elapsed().as_secs_f64().max(1e-9));
        runs += 1;
        if began.elapsed() > MAX_TIME {
            break;
        }
    }
    Ok(shortest)
}

/// Which of the rows no other beats (the Pareto front).
fn unbeaten(rows: &[Measured]) -> Vec<bool> {
    let unbeaten = |row: &Measured| !rows.iter().any(|other| row.is_beaten_by(other));
    rows.iter().map(unbeaten).collect()
}

/// A speed in millions of bytes per second.
fn speed(bytes_a_second: f64) -> String {
    let millions = bytes_a_second / 1e6;
    let digits = usize::from(millions < 10.0);
    format!("{millions:.digits$}")
}

fn block_name(settings: &Settings) -> String {
    match settings.blocksize {
        0 => "auto".into(),
        size => format!("{}K", size >> 10),
    }
}

fn table(rows: &[Measured], best: &[bool], out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "  {:<11} {:<11} {:>7} {:>9} {:>14} {:>14}",
        "codec", "filters", "blocks", "ratio", "compress MB/s", "decompress MB/s"
    )?;
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|a, b| rows[*b].ratio.total_cmp(&rows[*a].ratio));
    for at in order {
        let row = &rows[at];
        writeln!(
            out,
            "{} {:<11} {:<11} {:>7} {:>9.2} {:>14} {:>14}",
            if best[at] { "*" } else { " " },
            row.codec(),
            row.filters(),
            block_name(&row.settings),
            row.ratio,
            speed(row.compress),
            speed(row.decompress)
        )?;
    }
    writeln!(
        out,
        "\n* no other is better in one column and as good in the others"
    )?;
    Ok(())
}

fn advise(rows: &[Measured], out: &mut impl Write) -> io::Result<()> {
    let rows: Vec<&Measured> = rows.iter().filter(|row| row.ratio >= WORTH).collect();
    if rows.is_empty() {
        writeln!(
            out,
            "\nnothing compresses these data: leave them as they are"
        )?;
        return Ok(());
    }
    let most = |value: &dyn Fn(&Measured) -> f64| {
        rows.iter()
            .copied()
            .max_by(|a, b| value(a).total_cmp(&value(b)))
    };
    let highest = most(&|row| row.ratio).map_or(1.0, |row| row.ratio);
    let choices = [
        ("smallest", most(&|row| row.ratio)),
        // The ratio counts as a share of the best one, the speeds by their orders of magnitude.
        (
            "balanced",
            most(&|row| {
                row.ratio / highest * 3.0 + row.compress.log10() + row.decompress.log10() * 0.5
            }),
        ),
        (
            "quickest",
            most(&|row| row.compress.log10() + row.decompress.log10()),
        ),
    ];
    writeln!(out)?;
    for (name, row) in choices {
        let Some(row) = row else { continue };
        let mut options = format!(
            "--codec {} --level {} --filters {}",
            codec_name(row.settings.codec),
            row.settings.level,
            row.filters()
        );
        if row.settings.blocksize != 0 {
            options += &format!(" --blocks {}", block_name(&row.settings));
        }
        writeln!(out, "{name}: ratio {:.2} with {options}", row.ratio)?;
    }
    Ok(())
}

/// Takes chunks of data from all parts of the input.
fn sample(args: &BenchArgs, input: &Input) -> Result<Sample> {
    let most = size(&args.sample)?;
    let chunk = size(&args.chunk)?.min(MAX_BUFFERSIZE as usize);
    let mut unbeaten = Vec::new();
    let file_name = input.frame_file()?;
    let file = input.faults().file(&file_name, OpenFlags::READ);
    let file = file.map_err(|error| Failure::at(&file_name, &error))?;
    let unread = |error: io::Error| Failure::at(&file_name, &error);
    let read = (&file).take(16).read_to_end(&mut unbeaten);
    read.map_err(unread)?;
    if Header::has_magic(&unbeaten) {
        return of_frame(input, most, args.typesize);
    }
    // Nothing follows the items of an array.
    let end = file.metadata().map_err(unread)?.len();
    let (start, typesize) = if unbeaten.starts_with(MAGIC) {
        let npy = Npy::parse(&input.open()?, input.name())?;
        let itemsize = npy.itemsize.min(255) as i32;
        check_typesize(args.typesize, itemsize, input)?;
        (npy.data, itemsize)
    } else {
        let chosen = || chosen_typesize(&file, end, input.name(), args.threads);
        (0, args.typesize.map_or_else(chosen, Ok)?)
    };
    let item = typesize as usize;
    let chunk = (chunk.min(most) / item).max(1) * item;
    let whole = (end - start) as usize;
    let count = (most.min(whole)).div_ceil(chunk);
    let mut chunks = Vec::new();
    for nth in 0..count {
        // Evenly, from the start to the end, at whole items.
        let last = whole.saturating_sub(chunk);
        let at = if count > 1 {
            (last as u128 * nth as u128 / (count as u128 - 1)) as usize
        } else {
            0
        };
        let at = at / item * item;
        let len = chunk.min(whole - at);
        let mut data = zeros(len).map_err(|error| Failure::of(input.name(), error))?;
        read_exact_at(&file, &mut data, start + at as u64).map_err(unread)?;
        chunks.push(data);
    }
    Ok(Sample { chunks, typesize })
}

fn of_frame(input: &Input, most: usize, typesize: Option<i32>) -> Result<Sample> {
    let FrameOrChunk::Frame(mut frame) = FrameOrChunk::open(input)? else {
        return Err(Failure::message(format!("{}: no frame", input.name())));
    };
    refuse_without_data(&frame, input)?;
    let failed = |error| input.failure("", error);
    let contexts = frame.contexts(1).map_err(failed)?;
    let nchunks = frame.nchunks();
    // The size of a chunk; if chunks differ in size, their average.
    let size = match frame.chunk_nbytes(0) {
        0 => frame.header.nbytes.max(0) as usize / nchunks.max(1),
        size => size,
    };
    let count = most.div_ceil(size.max(1)).min(nchunks).min(1 << 16);
    let chosen = (0..count).map(|nth| nth * nchunks / count);
    let (mut chunks, mut left) = (Vec::new(), most);
    each_chunk_of(&mut frame, &contexts, input, chosen, |data| {
        let part = &data[..data.len().min(left)];
        left -= part.len();
        chunks.push(Buffer::copy_of(part).map_err(failed)?);
        Ok(match left {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
    })?;
    let typesize = typesize.unwrap_or(frame.header.parameters.typesize.clamp(1, 255));
    Ok(Sample { chunks, typesize })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_codec_is_tried_at_each_level_the_quickest_first() {
        for (typesize, filters) in [(4, 3), (1, 2)] {
            let ways = ways(typesize, 1);
            assert_eq!(ways.len(), LEVELS.len() * Codec::ALL.len() * filters);
            assert!(ways.is_sorted_by_key(|way| way.level));
            for (level, codec) in LEVELS.iter().flat_map(|l| Codec::ALL.map(|c| (l, c))) {
                let same = |way: &&Settings| way.level == *level && way.codec == codec.code() as u8;
                assert_eq!(ways.iter().filter(same).count(), filters);
            }
        }
    }

    /// What else the machine does makes one run longer.
    #[test]
    fn the_shortest_of_several_runs_counts() {
        let mut runs = 0;
        let shortest = shortest(|| {
            runs += 1;
            let first = Duration::from_millis(if runs == 1 { 300 } else { 1 });
            std::thread::sleep(first);
            Ok(())
        });
        assert!(runs >= RUNS);
        assert!(shortest.expect("measured") < 0.3);
    }

    #[test]
    fn what_is_measured_is_told() {
        let numbers = (0..5000i32).flat_map(|n| (n * 3 + n % 5).to_le_bytes());
        let sample = Sample {
            chunks: vec![Buffer::copy_of(&Vec::from_iter(numbers)).expect("memory")],
            typesize: 4,
        };
        let ways = ways(4, 1).into_iter().filter(|way| way.level == 1);
        let of = |codec: Codec| ways.clone().find(|way| way.codec == codec.code() as u8);
        let rows = [Codec::BloscLz, Codec::Zstd].map(|codec| {
            let way = of(codec).expect("tried");
            measure(&sample, &way).expect("measured")
        });
        let mut text = Vec::new();
        table(&rows, &unbeaten(&rows), &mut text).expect("written");
        advise(&rows, &mut text).expect("written");
        let text = String::from_utf8(text).expect("text");
        for part in ["zstd 1", "blosclz 1", "smallest:", "balanced:", "quickest:"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(rows.iter().all(|row| row.ratio > 1.0));
    }
}
