//! Metalayers: fixed-length ones in the header of a frame, variable-length ones in its trailer.

use super::state::State;
use super::superchunk::SuperChunk;
use crate::context::{Compressor, Decompressor};
use crate::decoding::DecodeContext;
use crate::encoding::EncodeContext;
use crate::params::{CParams, DParams};
use crate::schunk::host::{Changed, Host, WindowCounts};
use oxiblosc_base::memory::{Buffer, Collect, ToTryVec, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::encode::ChunkInput;
use oxiblosc_chunk::header::{ChunkHeader, MAX_OVERHEAD};
use oxiblosc_frame::change::Change;
use oxiblosc_frame::disk::Metadata;
use oxiblosc_frame::meta::{self, Metalayer, NAME_MAXLEN};

/// The maximum number of fixed-length metalayers, and of variable-length ones in a frame, as in the
/// reference.
pub const MAX_METALAYERS: usize = oxiblosc_frame::header::MAX_METALAYERS;
/// The maximum number of variable-length metalayers of a super-chunk without a frame.
pub const MAX_VLMETALAYERS: usize = 8 * 1024;

fn find(layers: &[Metalayer], name: &[u8]) -> Result<usize> {
    if name.len() > NAME_MAXLEN {
        return Err(Error::INVALID_PARAM);
    }
    layers
        .iter()
        .position(|layer| *layer.name == *name)
        .ok_or(Error::NOT_FOUND)
}

fn layer(name: &[u8], content: &[u8]) -> Result<Metalayer> {
    Ok(Metalayer {
        name: name.to_try_vec()?,
        content: content.to_try_vec()?,
    })
}

impl State {
    /// The index of a fixed-length metalayer.
    ///
    /// # Errors
    /// [`Error::NOT_FOUND`]; [`Error::INVALID_PARAM`] for a name that is too long.
    pub fn find_metalayer(&self, name: &[u8]) -> Result<usize> {
        find(&self.metalayers, name)
    }

    /// The index of a variable-length metalayer.
    ///
    /// # Errors
    /// As for [`Self::find_metalayer`].
    pub fn find_vlmetalayer(&self, name: &[u8]) -> Result<usize> {
        find(&self.vlmetalayers, name)
    }
}

/// A change of metalayers. They have a name or an index, and new content.
enum MetalayerEdit<'a> {
    AddFixed(&'a [u8], &'a [u8]),
    /// The content has the same length as before.
    SetFixed(usize, &'a [u8]),
    AddVariable(&'a [u8], &'a [u8]),
    SetVariable(usize, &'a [u8]),
    DeleteVariable(usize),
}

impl State {
    /// Changes metalayers.
    fn edit_metalayers(&mut self, schunk: &SuperChunk, edit: &MetalayerEdit) -> Result<()> {
        let host = schunk.host();
        let (mut count, new) = (self.window_counts(), edit.layer()?);
        match edit {
            MetalayerEdit::AddFixed(..) => count.metalayers += 1,
            MetalayerEdit::AddVariable(..) => count.vlmetalayers += 1,
            MetalayerEdit::SetFixed(..)
            | MetalayerEdit::SetVariable(..)
            | MetalayerEdit::DeleteVariable(_) => {}
        }
        self.reserve_metalayers(count)?;
        self.save_metalayers(host, count)?;
        host.prepare(self, count)?;
        if self.store.is_frame() {
            self.write_metalayers(host, edit)?;
        }
        // Nothing fails from here on.
        let mut old = TryVec::new();
        match (edit, new) {
            (MetalayerEdit::AddFixed(..), Some(layer)) => {
                self.metalayers.push_within_capacity(layer)
            }
            (MetalayerEdit::SetFixed(at, content), _) => {
                self.metalayers[*at].content.copy_from_slice(content);
            }
            (MetalayerEdit::AddVariable(..), Some(layer)) => {
                self.vlmetalayers.push_within_capacity(layer)
            }
            (MetalayerEdit::SetVariable(at, _), Some(layer)) => {
                old = std::mem::replace(&mut self.vlmetalayers[*at].content, layer.content);
            }
            (MetalayerEdit::DeleteVariable(at), _) => old = self.vlmetalayers.remove(*at).content,
            (
                MetalayerEdit::AddFixed(..)
                | MetalayerEdit::AddVariable(..)
                | MetalayerEdit::SetVariable(..),
                None,
            ) => {}
        }
        self.tick += 1;
        host.show(self, Changed::Metalayers);
        // Until the window was updated, the program could still see this content.
        drop(old);
        Ok(())
    }

    /// Writes header and trailer of a frame with a change.
    fn write_metalayers(&mut self, host: &dyn Host, edit: &MetalayerEdit) -> Result<()> {
        let mut fixed = meta::borrow(&self.metalayers)?;
        let mut variable = meta::borrow(&self.vlmetalayers)?;
        match edit {
            MetalayerEdit::AddFixed(name, content) => fixed.push((name, content))?,
            MetalayerEdit::SetFixed(at, content) => fixed[*at].1 = content,
            MetalayerEdit::AddVariable(name, content) => variable.push((name, content))?,
            MetalayerEdit::SetVariable(at, content) => variable[*at].1 = content,
            MetalayerEdit::DeleteVariable(at) => drop(variable.remove(*at)),
        }
        let is_fixed = matches!(
            edit,
            MetalayerEdit::AddFixed(..) | MetalayerEdit::SetFixed(..)
        );
        let mut header = self.header(host, &self.counts, self.store.kind());
        header.has_vlmetalayers = !variable.is_empty();
        let metadata = Metadata {
            header: &header,
            metalayers: &fixed,
            vlmetalayers: (!is_fixed).then_some(&variable),
            cbytes: self.counts.compressed_bytes(),
        };
        self.store.commit(&Change::Nothing, &[], &metadata)
    }

    fn reserve_metalayers(&mut self, count: WindowCounts) -> Result<()> {
        let more = count.metalayers.saturating_sub(self.metalayers.len());
        self.metalayers.reserve(more)?;
        let more = count.vlmetalayers.saturating_sub(self.vlmetalayers.len());
        self.vlmetalayers.reserve(more)
    }
}

impl MetalayerEdit<'_> {
    /// The metalayer whose name or content goes into the list, if there is one.
    fn layer(&self) -> Result<Option<Metalayer>> {
        Ok(match self {
            Self::AddFixed(name, content) | Self::AddVariable(name, content) => {
                Some(layer(name, content)?)
            }
            Self::SetVariable(_, content) => Some(layer(&[], content)?),
            Self::SetFixed(..) | Self::DeleteVariable(_) => None,
        })
    }
}

impl SuperChunk {
    /// Adds a fixed-length metalayer with a name of at most [`NAME_MAXLEN`] bytes. A frame must not
    /// have chunks yet. Gives its index.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if there is one with this name, if there are [`MAX_METALAYERS`]
    /// already, for a name that is too long, content of 2 GiB or more, and a frame with chunks;
    /// those of output.
    pub fn add_metalayer(&self, name: &[u8], content: &[u8]) -> Result<usize> {
        let mut changing = self.reserve()?;
        let at = {
            let state = changing.state()?;
            if state.find_metalayer(name) != Err(Error::NOT_FOUND) {
                return Err(Error::INVALID_PARAM);
            }
            let at = state.metalayers.len();
            let full = state.store.is_frame() && state.counts.cbytes > 0;
            if at >= MAX_METALAYERS || full || i32::try_from(content.len()).is_err() {
                return Err(Error::INVALID_PARAM);
            }
            at
        };
        let edit = MetalayerEdit::AddFixed(name, content);
        changing.commit(|state| state.edit_metalayers(self, &edit))?;
        Ok(at)
    }

    /// Overwrites the front of a fixed-length metalayer, whose size does not change. As in the
    /// reference, content that is longer than the metalayer changes nothing, and is no error. Gives
    /// its index.
    ///
    /// # Errors
    /// [`Error::NOT_FOUND`]; those of output.
    pub fn update_metalayer(&self, name: &[u8], content: &[u8]) -> Result<usize> {
        let mut changing = self.reserve()?;
        let (at, new) = {
            let state = changing.state()?;
            let at = state.find_metalayer(name)?;
            let old = &state.metalayers[at].content;
            if content.len() > old.len() {
                return Ok(at);
            }
            let mut new = old.to_try_vec()?;
            new[..content.len()].copy_from_slice(content);
            (at, new)
        };
        let edit = MetalayerEdit::SetFixed(at, &new);
        changing.commit(|state| state.edit_metalayers(self, &edit))?;
        Ok(at)
    }

    /// Adds a variable-length metalayer with a name of at most [`NAME_MAXLEN`] bytes. `encoder`
    /// compresses its content. Gives its index.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if there is one with this name, for a name that is too long, and
    /// for content of about 2 GiB or more; [`Error::FAILURE`] if there are [`MAX_METALAYERS`] in a
    /// frame, or [`MAX_VLMETALAYERS`] without one; those of compression and output.
    pub fn add_vlmetalayer(
        &self,
        name: &[u8],
        content: &[u8],
        encoder: &dyn EncodeContext,
    ) -> Result<usize> {
        let mut changing = self.reserve()?;
        let (at, most) = {
            let state = changing.state()?;
            if state.find_vlmetalayer(name) != Err(Error::NOT_FOUND) {
                return Err(Error::INVALID_PARAM);
            }
            let most = if state.store.is_frame() {
                MAX_METALAYERS
            } else {
                MAX_VLMETALAYERS
            };
            (state.vlmetalayers.len(), most)
        };
        let chunk = compressed(content, encoder)?;
        if at >= most {
            return Err(Error::FAILURE);
        }
        let edit = MetalayerEdit::AddVariable(name, &chunk);
        changing.commit(|state| state.edit_metalayers(self, &edit))?;
        Ok(at)
    }

    /// Replaces the content of a variable-length metalayer. Gives its index.
    ///
    /// # Errors
    /// [`Error::NOT_FOUND`]; those of compression and output.
    pub fn update_vlmetalayer(
        &self,
        name: &[u8],
        content: &[u8],
        encoder: &dyn EncodeContext,
    ) -> Result<usize> {
        let mut changing = self.reserve()?;
        let at = changing.state()?.find_vlmetalayer(name)?;
        let chunk = compressed(content, encoder)?;
        let edit = MetalayerEdit::SetVariable(at, &chunk);
        changing.commit(|state| state.edit_metalayers(self, &edit))?;
        Ok(at)
    }

    /// Deletes a variable-length metalayer. Gives how many are left.
    ///
    /// # Errors
    /// [`Error::NOT_FOUND`]; those of output.
    pub fn delete_vlmetalayer(&self, name: &[u8]) -> Result<usize> {
        let mut changing = self.reserve()?;
        let (at, count) = {
            let state = changing.state()?;
            (state.find_vlmetalayer(name)?, state.vlmetalayers.len())
        };
        let edit = MetalayerEdit::DeleteVariable(at);
        changing.commit(|state| state.edit_metalayers(self, &edit))?;
        Ok(count - 1)
    }

    /// The index and the content of a variable-length metalayer, which `decoder` decompresses.
    ///
    /// # Errors
    /// [`Error::NOT_FOUND`]; [`Error::DATA`] and [`Error::READ_BUFFER`] for damaged content;
    /// [`Error::MEMORY_ALLOC`].
    pub fn vlmetalayer(&self, name: &[u8], decoder: &dyn DecodeContext) -> Result<(usize, Buffer)> {
        let state = self.read()?;
        let at = state.find_vlmetalayer(name)?;
        let chunk = &state.vlmetalayers[at].content;
        let header = ChunkHeader::parse(chunk).map_err(|_| Error::DATA)?;
        if header.cbytes != chunk.len() || header.is_lazy() {
            return Err(Error::DATA);
        }
        let mut data = Buffer::zeroed(header.nbytes)?;
        match decoder.decompress(&header, chunk, &mut data) {
            Ok(nbytes) if nbytes == header.nbytes => Ok((at, data)),
            Err(error) if error == Error::MEMORY_ALLOC => Err(error),
            _ => Err(Error::READ_BUFFER),
        }
    }
}

/// Functions for Rust programs, which need no contexts.
impl SuperChunk {
    /// The content of a fixed-length metalayer.
    ///
    /// # Errors
    /// [`Error::NOT_FOUND`]; [`Error::INVALID_PARAM`] for a name that is too long.
    pub fn metalayer(&self, name: &[u8]) -> Result<TryVec<u8>> {
        let state = self.read()?;
        state.metalayers[state.find_metalayer(name)?]
            .content
            .to_try_vec()
    }

    /// The names of the fixed-length metalayers, in the order in which they were added.
    ///
    /// # Errors
    /// Those of [`Self::read`]; [`Error::MEMORY_ALLOC`].
    pub fn metalayer_names(&self) -> Result<TryVec<TryVec<u8>>> {
        names(&self.read()?.metalayers)
    }

    /// The names of the variable-length metalayers, in the order in which they were added.
    ///
    /// # Errors
    /// As for [`Self::metalayer_names`].
    pub fn vlmetalayer_names(&self) -> Result<TryVec<TryVec<u8>>> {
        names(&self.read()?.vlmetalayers)
    }

    /// The content of a variable-length metalayer.
    ///
    /// ```
    /// use oxiblosc::{StorageParams, SuperChunk};
    ///
    /// let schunk = SuperChunk::create(StorageParams::default())?;
    /// schunk.set_vlmetalayer(b"unit", b"metre")?;
    /// schunk.set_vlmetalayer(b"unit", b"centimetre")?;
    /// assert_eq!(*schunk.get_vlmetalayer(b"unit")?, *b"centimetre");
    /// # Ok::<(), oxiblosc::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Self::vlmetalayer`].
    pub fn get_vlmetalayer(&self, name: &[u8]) -> Result<Buffer> {
        let decoder = Decompressor::new(DParams::default());
        self.vlmetalayer(name, &decoder).map(|(_, content)| content)
    }

    /// Sets the content of a variable-length metalayer, which is added if there is none with this
    /// name.
    ///
    /// # Errors
    /// As for [`Self::add_vlmetalayer`].
    pub fn set_vlmetalayer(&self, name: &[u8], content: &[u8]) -> Result<()> {
        let encoder = Compressor::new(CParams::default());
        // The reservation keeps other threads from adding the metalayer between the two calls.
        let _changing = self.reserve()?;
        let set = match self.update_vlmetalayer(name, content, &encoder) {
            Err(error) if error == Error::NOT_FOUND => {
                self.add_vlmetalayer(name, content, &encoder)
            }
            other => other,
        };
        set.map(drop)
    }
}

fn names(layers: &[Metalayer]) -> Result<TryVec<TryVec<u8>>> {
    layers
        .iter()
        .map(|layer| layer.name.to_try_vec())
        .try_collect_vec()
}

/// The content of a variable-length metalayer as a chunk.
fn compressed(content: &[u8], encoder: &dyn EncodeContext) -> Result<Buffer> {
    let capacity = content.len() + MAX_OVERHEAD;
    i32::try_from(capacity).map_err(|_| Error::INVALID_PARAM)?;
    let mut chunk = Buffer::zeroed(capacity)?;
    let header = encoder.compress(ChunkInput::Buffer(content), &mut chunk, false)?;
    chunk.resize(header.map_or(0, |header| header.cbytes))?;
    Ok(chunk)
}
