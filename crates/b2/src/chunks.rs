//! Reads and decompresses the chunks of a frame, by one thread or several.

use crate::failure::{Failure, Result, describe, is_damage};
use crate::input::Input;
use crate::library::{SuperChunk, zeros};
use crate::source::{Frame, Located, StoredChunk, special_chunk};
use crate::workers::{BufferPool, each_thread};
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_error::Error;
use oxiblosc_frame::header::Header;
use oxiblosc_memory::Buffer;
use std::ops::ControlFlow;
use std::sync::Arc;

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

    /// The position of the first byte of a chunk in the data of the frame; none if its chunks differ in size.
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

    /// A function that returns the chunks of the frame one after the other, with their numbers.
    pub fn take_from<'f>(
        &'f self,
        frame: &'f mut Frame,
    ) -> impl FnMut() -> Result<Option<(usize, Located)>> + Send + 'f {
        let mut left = 0..self.nchunks;
        move || {
            let found = left.next().map(|nchunk| {
                let found = frame.locate(nchunk);
                Ok((nchunk, found.map_err(|error| self.damaged(nchunk, error))?))
            });
            found.transpose()
        }
    }

    /// A function that returns the data of the whole frame, decompressed by `contexts`, in parts of `size` bytes. The last may have fewer.
    pub fn cut<'f>(
        &'f self,
        frame: &'f mut Frame,
        contexts: SuperChunk,
        size: usize,
    ) -> impl FnMut() -> Result<Option<Buffer>> + Send + 'f {
        let mut take = self.take_from(frame);
        let (mut waiting, mut done): (Vec<u8>, usize) = (Vec::new(), 0);
        let failed = |error| self.input.failure("", error);
        move || {
            while waiting.len() - done < size
                && let Some((nchunk, chunk)) = take()?
            {
                let (data, nbytes) = self.decompress(&contexts, nchunk, &chunk)?;
                waiting.drain(..done);
                done = 0;
                let room = waiting.try_reserve(nbytes);
                room.map_err(|_| failed(Error::MEMORY_ALLOC))?;
                waiting.extend(&data[..nbytes]);
                self.keep(data);
            }
            let part = &waiting[done..waiting.len().min(done + size)];
            done += part.len();
            match part {
                [] => Ok(None),
                part => Buffer::copy_of(part).map(Some).map_err(failed),
            }
        }
    }

    /// Decompresses a chunk. Returns a buffer, and how many bytes at its front are the data.
    pub fn decompress(
        &self,
        contexts: &SuperChunk,
        nchunk: usize,
        chunk: &Located,
    ) -> Result<(Buffer, usize)> {
        let mut data = self.used.take().unwrap_or_default();
        let size = self.decompress_into(contexts, nchunk, chunk, &mut data);
        let size = size.map_err(|error| self.damaged(nchunk, error))?;
        Ok((data, size))
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

    /// Decompresses a chunk into the front of `data`, which grows if necessary. Returns the bytes of data.
    fn decompress_into(
        &self,
        contexts: &SuperChunk,
        nchunk: usize,
        chunk: &Located,
        data: &mut Buffer,
    ) -> std::result::Result<usize, Error> {
        let made;
        let read;
        let chunk: &[u8] = match chunk.read()? {
            StoredChunk::Bytes(chunk) => {
                read = chunk;
                &read
            }
            StoredChunk::Special(kind, size) => {
                made = special_chunk(kind, size, &self.header);
                &made
            }
        };
        let size = ChunkHeader::parse(chunk)?.nbytes;
        if let Some(start) = self.start(nchunk) {
            let rest = (self.header.nbytes.max(0) as u64).saturating_sub(start);
            if size as u64 != rest.min(self.header.chunksize as u64) {
                return Err(Error::DATA);
            }
        }
        if data.len() < size {
            *data = zeros(size)?;
        }
        match contexts.decompress(chunk, &mut data[..size])? {
            done if done == size => Ok(size),
            _ => Err(Error::DATA),
        }
    }
}

/// Calls `each` with the data of the chunks in `chosen`, until it breaks.
pub fn each_chunk_of(
    frame: &mut Frame,
    contexts: &SuperChunk,
    input: &Input,
    chosen: impl Iterator<Item = usize>,
    mut each: impl FnMut(&[u8]) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let chunks = ChunkReader::of(frame, input);
    for nchunk in chosen {
        let chunk = frame.locate(nchunk);
        let chunk = chunk.map_err(|error| chunks.damaged(nchunk, error))?;
        let (data, size) = chunks.decompress(contexts, nchunk, &chunk)?;
        let next = each(&data[..size])?;
        chunks.keep(data);
        if next.is_break() {
            break;
        }
    }
    Ok(())
}
