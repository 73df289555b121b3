//! Arrays that are open: what is known of one between the operations on it.

use super::array::{ArrayRef, find_metalayer};
use super::geometry::Geometry;
use super::meta::Meta;
use crate::schunk::{Changing, Reading, State, SuperChunk};
use oxiblosc_chunk::encode::lock;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::CStrBuf;
use std::ffi::CStr;
use std::sync::Mutex;

/// An array that is open: its shapes, which follow the metalayer of its frame, and what its items are.
pub struct OpenArray {
    shapes: Mutex<CachedShapes>,
    dtype: Option<CStrBuf>,
    dtype_format: i8,
    is_view: bool,
}

struct CachedShapes {
    geometry: Geometry,
    /// The state's tick when they were read.
    tick: i64,
}

/// Where a program sees the shapes. One thread at a time calls it for an array.
pub trait ShapeWindow {
    /// Shows shapes, and the tick of the state that they belong to.
    fn show(&self, geometry: &Geometry, tick: i64);
}

/// An array in use, which does not change meanwhile but through this.
pub struct ArrayInUse<'a> {
    /// The array.
    pub array: ArrayRef<'a>,
    open: &'a OpenArray,
    _lock: Lock<'a>,
}

#[allow(dead_code, reason = "dropped at the end")]
enum Lock<'a> {
    /// Others may read.
    Shared(Reading<'a>),
    /// It is to be changed.
    Reserved(Changing<'a>),
}

impl OpenArray {
    /// What is known of an array whose metalayer was just read or written, when the state had this tick.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`].
    pub fn new(
        geometry: &Geometry,
        (dtype, dtype_format): (Option<&[u8]>, i8),
        tick: i64,
        is_view: bool,
    ) -> Result<Self> {
        // C sees no more than what is before the first 0.
        let text = |dtype: &[u8]| {
            let len = dtype.iter().position(|byte| *byte == 0);
            CStrBuf::new(&dtype[..len.unwrap_or(dtype.len())])
        };
        Ok(Self {
            shapes: Mutex::new(CachedShapes {
                geometry: geometry.clone(),
                tick,
            }),
            dtype: dtype.map(text).transpose()?,
            dtype_format,
            is_view,
        })
    }

    /// What an item is, if the metalayer says it, and the format of that text.
    pub fn dtype(&self) -> (Option<&CStr>, i8) {
        (self.dtype.as_deref(), self.dtype_format)
    }

    /// The array as it is now, to be read.
    ///
    /// # Errors
    /// [`Error::Data`] where another handle made it an array of other chunks; those of reading a frame.
    pub fn read<'a>(
        &'a self,
        schunk: &'a SuperChunk,
        window: &dyn ShapeWindow,
    ) -> Result<ArrayInUse<'a>> {
        let reading = schunk.read()?;
        let (array, _) = self.current(schunk, &reading, window)?;
        let _lock = Lock::Shared(reading);
        let open = self;
        Ok(ArrayInUse { array, open, _lock })
    }

    /// The array as it is now, to be changed.
    ///
    /// # Errors
    /// As for [`Self::read`]; [`Error::Lock`] in a function of the program's that is called for the array.
    pub fn reserve<'a>(
        &'a self,
        schunk: &'a SuperChunk,
        window: &dyn ShapeWindow,
    ) -> Result<ArrayInUse<'a>> {
        let changing = schunk.reserve()?;
        let (array, _) = self.current(schunk, &*schunk.read()?, window)?;
        let _lock = Lock::Reserved(changing);
        let open = self;
        Ok(ArrayInUse { array, open, _lock })
    }

    /// Follows what others did to the frame. Gives whether the shapes were read again.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub fn refresh(&self, schunk: &SuperChunk, window: &dyn ShapeWindow) -> Result<bool> {
        Ok(self.current(schunk, &*schunk.read()?, window)?.1)
    }

    /// The array in this state, and whether its shapes were read again for it.
    fn current<'a>(
        &self,
        schunk: &'a SuperChunk,
        state: &State,
        window: &dyn ShapeWindow,
    ) -> Result<(ArrayRef<'a>, bool)> {
        let mut shapes = lock(&self.shapes);
        let follows = !self.is_view && state.may_differ_since(shapes.tick);
        let again = follows && shapes.read_again(state)?;
        if again {
            window.show(&shapes.geometry, shapes.tick);
        }
        let array = ArrayRef {
            schunk,
            geometry: shapes.geometry.clone(),
            typesize: state.parameters().typesize,
            is_view: self.is_view,
        };
        Ok((array, again))
    }
}

impl CachedShapes {
    /// Takes the shapes from the metalayer, if there is one.
    fn read_again(&mut self, state: &State) -> Result<bool> {
        let Some(at) = find_metalayer(state.metalayers()) else {
            // Perhaps caught in the middle of a change; the next call finds it.
            return Ok(false);
        };
        let (meta, _) = Meta::parse(&state.metalayers()[at].content, true)?;
        let (chunkshape, blockshape) =
            (&meta.chunkshape[..meta.ndim], &meta.blockshape[..meta.ndim]);
        if !self.geometry.is_cut_into(chunkshape, blockshape) {
            return Err(Error::Data);
        }
        self.geometry = meta.geometry()?;
        self.tick = state.tick();
        Ok(true)
    }
}

impl ArrayInUse<'_> {
    /// Changes the shape, and shows the new one.
    ///
    /// # Errors
    /// Those of `change`.
    pub fn reshape(
        &mut self,
        window: &dyn ShapeWindow,
        change: &mut dyn FnMut(&mut ArrayRef) -> Result<()>,
    ) -> Result<()> {
        change(&mut self.array)?;
        let tick = self.array.schunk.peek()?.tick();
        let mut shapes = lock(&self.open.shapes);
        shapes.geometry.clone_from(&self.array.geometry);
        shapes.tick = tick;
        window.show(&shapes.geometry, tick);
        Ok(())
    }
}
