//! Metalayers: fixed-length ones in the header of a frame, variable-length ones in its trailer.

use super::layers::LayerEdit;
use super::layers::MetalayerKind::{self, Fixed, Variable};
use super::state::State;
use super::superchunk::{Changing, SuperChunk};
use crate::context::{Compressor, Decompressor};
use crate::decoding::DecodeContext;
use crate::encoding::EncodeContext;
use crate::params::{CParams, DParams};
use crate::schunk::host::{Changed, Host};
use oxiblosc_base::memory::{Buffer, Collect, ToTryVec, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::encode::ChunkInput;
use oxiblosc_chunk::header::{ChunkHeader, MAX_OVERHEAD};
use oxiblosc_frame::change::Change;
use oxiblosc_frame::disk::Metadata;
#[cfg(doc)]
use oxiblosc_frame::meta::NAME_MAXLEN;
use oxiblosc_frame::meta::{self, Metalayer};

/// The maximum number of fixed-length metalayers, and of variable-length ones in a frame, as in the
/// reference.
pub const MAX_METALAYERS: usize = oxiblosc_frame::header::MAX_METALAYERS;
/// The maximum number of variable-length metalayers of a super-chunk without a frame.
pub const MAX_VLMETALAYERS: usize = 8 * 1024;

impl State {
    /// The index of a fixed-length metalayer.
    ///
    /// # Errors
    /// [`Error::NOT_FOUND`]; [`Error::INVALID_PARAM`] for a name that is too long.
    pub fn find_metalayer(&self, name: &[u8]) -> Result<usize> {
        self.metalayers.find(Fixed, name)
    }

    /// The index of a variable-length metalayer.
    ///
    /// # Errors
    /// As for [`Self::find_metalayer`].
    pub fn find_vlmetalayer(&self, name: &[u8]) -> Result<usize> {
        self.metalayers.find(Variable, name)
    }

    /// Changes a metalayer.
    fn edit_metalayer(
        &mut self,
        host: &dyn Host,
        kind: MetalayerKind,
        edit: LayerEdit,
    ) -> Result<()> {
        let mut count = self.window_counts();
        count.layers[kind as usize] += usize::from(matches!(edit, LayerEdit::Add(..)));
        let prepared = self.metalayers.prepare(kind, edit)?;
        self.save_metalayers(host, count)?;
        host.prepare(self, count)?;
        if self.store.is_frame() {
            self.write_metalayers(host, kind, edit)?;
        }
        // Nothing fails from here on.
        let gone = self.metalayers.apply(kind, prepared);
        self.ticks.note_change();
        host.show(self, Changed::Metalayers);
        // Until the window was updated, the program could still see this content.
        drop(gone);
        Ok(())
    }

    /// Writes header and trailer of a frame with a change.
    fn write_metalayers(
        &mut self,
        host: &dyn Host,
        kind: MetalayerKind,
        edit: LayerEdit,
    ) -> Result<()> {
        let mut header = self.header(host, &self.counts, self.store.kind());
        let edited = self.metalayers.after(kind, edit)?;
        let (fixed, variable) = match kind {
            Fixed => (edited, None),
            Variable => {
                header.has_vlmetalayers = !edited.is_empty();
                let fixed = self.metalayers.list(Fixed);
                (meta::borrow(fixed)?, Some(edited))
            }
        };
        let metadata = Metadata {
            header: &header,
            metalayers: &fixed,
            vlmetalayers: variable.as_deref(),
            cbytes: self.counts.compressed_bytes(),
        };
        let metadata = || metadata.encode();
        self.store.commit(&Change::Nothing, &[], None, &metadata)
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
        let state = changing.state()?;
        let at = state.metalayers().len();
        let full = state.store.is_frame() && state.counts.cbytes > 0;
        let is_new = state.find_metalayer(name) == Err(Error::NOT_FOUND);
        drop(state);
        if !is_new || at >= MAX_METALAYERS || full || i32::try_from(content.len()).is_err() {
            return Err(Error::INVALID_PARAM);
        }
        self.commit_edit(&mut changing, Fixed, LayerEdit::Add(name, content))?;
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
        let state = changing.state()?;
        let at = state.find_metalayer(name)?;
        let old = &state.metalayers()[at].content;
        if content.len() > old.len() {
            return Ok(at);
        }
        let mut new = old.to_try_vec()?;
        drop(state);
        new[..content.len()].copy_from_slice(content);
        self.commit_edit(&mut changing, Fixed, LayerEdit::Set(at, &new))?;
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
        let state = changing.state()?;
        if state.find_vlmetalayer(name) != Err(Error::NOT_FOUND) {
            return Err(Error::INVALID_PARAM);
        }
        let at = state.vlmetalayers().len();
        let most = match state.is_frame() {
            true => MAX_METALAYERS,
            false => MAX_VLMETALAYERS,
        };
        drop(state);
        let chunk = compressed(content, encoder)?;
        if at >= most {
            return Err(Error::FAILURE);
        }
        self.commit_edit(&mut changing, Variable, LayerEdit::Add(name, &chunk))?;
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
        self.commit_edit(&mut changing, Variable, LayerEdit::Set(at, &chunk))?;
        Ok(at)
    }

    /// Deletes a variable-length metalayer. Gives how many are left.
    ///
    /// # Errors
    /// [`Error::NOT_FOUND`]; those of output.
    pub fn delete_vlmetalayer(&self, name: &[u8]) -> Result<usize> {
        let mut changing = self.reserve()?;
        let state = changing.state()?;
        let (at, count) = (state.find_vlmetalayer(name)?, state.vlmetalayers().len());
        drop(state);
        self.commit_edit(&mut changing, Variable, LayerEdit::Delete(at))?;
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
        let chunk = &state.vlmetalayers()[at].content;
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

    fn commit_edit(
        &self,
        changing: &mut Changing,
        kind: MetalayerKind,
        edit: LayerEdit,
    ) -> Result<()> {
        changing.commit(|state| state.edit_metalayer(self.host(), kind, edit))
    }

    // Functions for Rust programs, which need no contexts.

    /// The content of a fixed-length metalayer.
    ///
    /// # Errors
    /// [`Error::NOT_FOUND`]; [`Error::INVALID_PARAM`] for a name that is too long.
    pub fn metalayer(&self, name: &[u8]) -> Result<TryVec<u8>> {
        let state = self.read()?;
        state.metalayers()[state.find_metalayer(name)?]
            .content
            .to_try_vec()
    }

    /// The names of the fixed-length metalayers, in the order in which they were added.
    ///
    /// # Errors
    /// Those of [`Self::read`]; [`Error::MEMORY_ALLOC`].
    pub fn metalayer_names(&self) -> Result<TryVec<TryVec<u8>>> {
        names(self.read()?.metalayers())
    }

    /// The names of the variable-length metalayers, in the order in which they were added.
    ///
    /// # Errors
    /// As for [`Self::metalayer_names`].
    pub fn vlmetalayer_names(&self) -> Result<TryVec<TryVec<u8>>> {
        names(self.read()?.vlmetalayers())
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
