//! Reads and decompresses the chunks of a frame, by one thread or several.

use crate::failure::{Failure, Result, describe, is_damage};
use crate::input::Input;
use crate::library::zeros;
use crate::source::{ChunkRun, Frame, StoredChunk, special_chunk};
use crate::workers::{BufferPool, each_thread};
use oxiblosc::format::chunk::header::{ChunkHeader, Special};
use oxiblosc::format::frame::header::Header;
use oxiblosc_base::Error;
use oxiblosc_base::memory::Buffer;
use oxiblosc_repair::Contexts;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The most bytes of special values that are decompressed at a time, unless a single chunk has
/// more.
pub const PIECE: u64 = 4 << 20;

/// The data of a frame, cut anew.
pub enum Part {
    /// Some bytes.
    Data(Buffer),
    /// Special values: so many parts of the same size.
    Specials(Special, usize),
}

/// Reads the chunks of a frame. Each thread decompresses them with its own contexts.
pub struct ChunkReader<'a> {
    input: &'a Input,
    header: Arc<Header>,
    nchunks: usize,
    used: BufferPool<Buffer>,
}

impl<'a> ChunkReader<'a> {
    /// A reader for a frame that was read from `input`.
    pub fn of(frame: &Frame, input: &'a Input) -> Self {
        Self {
            input,
            header: frame.header.clone(),
            nchunks: frame.nchunks(),
            used: BufferPool::new(),
        }
    }

    /// The position of the first byte of a chunk in the data of the frame; none if its chunks
    /// differ in size.
    pub fn start(&self, nchunk: usize) -> Option<u64> {
        let size = u64::try_from(self.header.chunksize).ok()?;
        size.checked_mul(nchunk as u64).filter(|_| size > 0)
    }

    /// A state for each worker thread. `make` is told how many threads each state may use itself.
    pub fn each_thread<S>(
        &self,
        threads: i16,
        make: impl Fn(i16) -> std::result::Result<S, Error>,
    ) -> Result<Vec<S>> {
        // An unknown size may be large.
        let size = self.start(1).unwrap_or(u64::MAX);
        each_thread(threads, self.nchunks as u64, size, |threads| {
            make(threads).map_err(|error| self.input.failure("", error))
        })
    }

    /// A function that returns the chunks of the frame one after the other. For `most` see
    /// [`Frame::walk`].
    pub fn take_from<'f>(
        &'f self,
        frame: &'f mut Frame,
        most: fn(Special) -> u64,
    ) -> impl FnMut() -> Result<Option<ChunkRun>> + Send + 'f {
        let mut walk = frame.walk(most);
        move || {
            let found = walk
                .next()
                .map(|(nchunk, found)| found.map_err(|error| self.damaged(nchunk, error)));
            found.transpose()
        }
    }

    /// A function that returns the data of the whole frame, decompressed by `contexts`, in parts of
    /// `size` bytes, which are whole items. The last may have fewer.
    pub fn cut<'f>(
        &'f self,
        frame: &'f mut Frame,
        contexts: Contexts,
        size: usize,
    ) -> impl FnMut() -> Result<Option<Part>> + Send + 'f {
        let mut take = self.take_from(frame, |_| u64::MAX);
        let (mut waiting, mut done): (Vec<u8>, usize) = (Vec::new(), 0);
        // Special values behind those that wait: their kind, and how many bytes are left.
        let mut special = (Special::Zero, 0);
        let typesize = self.header.parameters.typesize.max(1) as u64;
        let failed = |error| self.input.failure("", error);
        move || {
            while waiting.len() - done < size {
                let (kind, left) = &mut special;
                let alone = *left / size as u64;
                if waiting.len() == done && alone > 0 {
                    *left %= size as u64;
                    return Ok(Some(Part::Specials(*kind, alone as usize)));
                }
                let more = if *left > 0 {
                    let more = (size - (waiting.len() - done)).min(*left as usize);
                    *left -= more as u64;
                    let chunk = special_chunk(*kind, more, &self.header);
                    self.decompress_chunk(&contexts, &chunk).map_err(failed)?
                } else if let Some(run) = take()? {
                    // A chunk of NaNs behind one that is no whole items begins within an item.
                    let whole = self.start(1).unwrap_or(1).is_multiple_of(typesize);
                    if let Some(kind) = run.special()
                        && (whole || kind == Special::Zero)
                    {
                        special = (kind, run.all_nbytes());
                        continue;
                    }
                    self.decompress(&contexts, &run)?
                } else {
                    break;
                };
                let (data, nbytes) = more;
                waiting.drain(..done);
                done = 0;
                let reserved = waiting.try_reserve(nbytes);
                reserved.map_err(|_| failed(Error::MEMORY_ALLOC))?;
                waiting.extend(&data[..nbytes]);
                self.keep(data);
            }
            let part = &waiting[done..waiting.len().min(done + size)];
            done += part.len();
            match part {
                [] => Ok(None),
                part => Ok(Some(Part::Data(Buffer::copy_of(part).map_err(failed)?))),
            }
        }
    }

    /// Decompresses chunks. Returns a buffer, and how many bytes at its front are the data.
    pub fn decompress(&self, contexts: &Contexts, run: &ChunkRun) -> Result<(Buffer, usize)> {
        let done = self.try_decompress(contexts, run);
        done.map_err(|error| self.damaged(run.first, error))
    }

    /// Keeps a buffer for another chunk.
    pub fn keep(&self, data: Buffer) {
        self.used.keep(data);
    }

    fn damaged(&self, nchunk: usize, error: Error) -> Failure {
        let name = self.input.name();
        match self.input.faults().damage(error) {
            Ok(error) if is_damage(error) => Failure::damaged(format!(
                "{name}: chunk {nchunk} is damaged: {} (b2 repair brings back the others)",
                describe(error)
            )),
            Ok(error) => Failure::message(format!("{name}: chunk {nchunk}: {}", describe(error))),
            Err(failure) => failure,
        }
    }

    fn try_decompress(
        &self,
        contexts: &Contexts,
        run: &ChunkRun,
    ) -> std::result::Result<(Buffer, usize), Error> {
        let chunk = match run.read()? {
            StoredChunk::Bytes(chunk) => chunk,
            StoredChunk::Special(kind) => {
                let size = usize::try_from(run.all_nbytes()).map_err(|_| Error::MEMORY_ALLOC)?;
                let chunk = special_chunk(kind, size, &self.header);
                return self.decompress_chunk(contexts, &chunk);
            }
        };
        if self.start(0).is_some() && ChunkHeader::parse(&chunk)?.nbytes != run.nbytes {
            return Err(Error::DATA);
        }
        self.decompress_chunk(contexts, &chunk)
    }

    /// Decompresses a chunk. Uninitialised data are zeros, as the buffer may have had others.
    fn decompress_chunk(
        &self,
        contexts: &Contexts,
        chunk: &[u8],
    ) -> std::result::Result<(Buffer, usize), Error> {
        let mut data = self.used.take().unwrap_or_default();
        let header = ChunkHeader::parse(chunk)?;
        let size = header.nbytes;
        if data.len() < size {
            data = zeros(size)?;
        } else if header.special() == Special::Uninit {
            data[..size].fill(0);
        }
        match contexts.decompress(chunk, &mut data[..size])? {
            done if done == size => Ok((data, size)),
            _ => Err(Error::DATA),
        }
    }
}

/// Calls `each` with the data of the chunks in `chosen`, until it breaks.
pub fn each_chunk_of(
    frame: &mut Frame,
    contexts: &Contexts,
    input: &Input,
    chosen: impl Iterator<Item = usize>,
    mut each: impl FnMut(&[u8]) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let chunks = ChunkReader::of(frame, input);
    for nchunk in chosen {
        let chunk = frame.locate(nchunk);
        let chunk = chunk.map_err(|error| chunks.damaged(nchunk, error))?;
        let (data, size) = chunks.decompress(contexts, &chunk)?;
        let next = each(&data[..size])?;
        chunks.keep(data);
        if next.is_break() {
            break;
        }
    }
    Ok(())
}
