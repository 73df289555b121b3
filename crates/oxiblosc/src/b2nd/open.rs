//! Open arrays between operations, with their cached shapes.

use super::array::{ArrayRef, find_metalayer};
use super::geometry::Geometry;
use super::meta::Meta;
use crate::schunk::{Changing, Reading, State, SuperChunk};
use oxiblosc_base::memory::CStrBuf;
use oxiblosc_base::memory::lock;
use oxiblosc_base::{Error, Result};
use std::ffi::CStr;
use std::sync::Mutex;

/// An open array: its shapes, which are read again from the metalayer when it has changed, and the
/// type of its items.
pub struct OpenArray {
    shapes: Mutex<CachedShapes>,
    dtype: Option<CStrBuf>,
    dtype_format: i8,
    is_view: bool,
}

struct CachedShapes {
    geometry: Geometry,
    /// The tick of the state from which the shapes were read.
    tick: i64,
}

/// The window in which a program sees the shapes of an array. It is called by one thread at a time.
pub trait ShapeWindow {
    /// Shows shapes, and the tick of the state from which they were read.
    fn show(&self, geometry: &Geometry, tick: i64);
}

/// An array during an operation. It can be changed only through this.
pub struct ArrayInUse<'a> {
    /// The array.
    pub array: ArrayRef<'a>,
    open: &'a OpenArray,
    _lock: Lock<'a>,
}

#[allow(dead_code, reason = "its drop releases the lock")]
enum Lock<'a> {
    Shared(Reading<'a>),
    Reserved(Changing<'a>),
}

impl OpenArray {
    /// An array whose metalayer was just read or written, when the state had this tick.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn new(
        geometry: &Geometry,
        (dtype, dtype_format): (Option<&[u8]>, i8),
        tick: i64,
        is_view: bool,
    ) -> Result<Self> {
        // In C the string ends at the first 0.
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

    /// The dtype, if the metalayer has one, and its format; see [`Meta`].
    pub fn dtype(&self) -> (Option<&CStr>, i8) {
        (self.dtype.as_deref(), self.dtype_format)
    }

    /// Locks the array for reading.
    ///
    /// # Errors
    /// [`Error::DATA`] if another handle has made it an array with chunks or blocks of other
    /// shapes; those of reading a frame.
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

    /// Reserves the array for a change.
    ///
    /// # Errors
    /// As for [`Self::read`]; [`Error::LOCK`] in a callback that is called for the array.
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

    /// Reads the shapes again if the array may have another shape. Gives whether they were read.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub fn refresh(&self, schunk: &SuperChunk, window: &dyn ShapeWindow) -> Result<bool> {
        Ok(self.current(schunk, &*schunk.read()?, window)?.1)
    }

    /// The array in this state, and whether its shapes were read again.
    fn current<'a>(
        &'a self,
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
            dtype: (self.dtype.as_deref()).map(|dtype| (dtype.to_bytes(), self.dtype_format)),
            is_view: self.is_view,
        };
        Ok((array, again))
    }
}

impl CachedShapes {
    /// Reads the shapes from the metalayer, if there is one. Gives whether there is.
    fn read_again(&mut self, state: &State) -> Result<bool> {
        let Some(at) = find_metalayer(state.metalayers()) else {
            // A change by another library may be in progress. As the tick stays the same, the next
            // call looks again.
            return Ok(false);
        };
        let (meta, _) = Meta::parse(&state.metalayers()[at].content, true)?;
        let (chunkshape, blockshape) =
            (&meta.chunkshape[..meta.ndim], &meta.blockshape[..meta.ndim]);
        if !self.geometry.is_cut_into(chunkshape, blockshape) {
            return Err(Error::DATA);
        }
        let geometry = meta.geometry()?;
        // A program may change the chunks of a super-chunk in memory one by one.
        if state.is_frame() {
            ArrayRef::check_chunks(state, &geometry)?;
        }
        self.geometry = geometry;
        self.tick = state.tick();
        Ok(true)
    }
}

impl ArrayInUse<'_> {
    /// Runs `change`, which changes the shape, and shows the new shape.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Place, StorageParams};

    struct NoWindow;

    impl ShapeWindow for NoWindow {
        fn show(&self, _geometry: &Geometry, _tick: i64) {}
    }

    /// Another handle or the program may write anything into the metalayer of an open array.
    #[test]
    fn shapes_that_are_read_again_are_checked_as_when_opening() {
        let content = |shape: &[i64], lengths: &[i32]| {
            let geometry = Geometry::new(shape, lengths, lengths).expect("a geometry");
            geometry.meta(None, 0).serialize().expect("a metalayer")
        };
        let storage = StorageParams {
            place: Place::Frame,
            ..StorageParams::default()
        };
        // Chunks of length 0, and more chunks than there are.
        for (length, first, then) in [(0, 0, 5), (2, 4, 1 << 40)] {
            let schunk = SuperChunk::create(storage.clone()).expect("a super-chunk");
            let before = content(&[first], &[length]);
            schunk.add_metalayer(b"b2nd", &before).expect("adds");
            for _ in 0..first / 2 {
                schunk.append_data(&[1; 16]).expect("appends");
            }
            let geometry = Geometry::new(&[first], &[length], &[length]).expect("a geometry");
            let open = OpenArray::new(&geometry, (None, 0), 0, false).expect("has memory");
            assert!(open.read(&schunk, &NoWindow).is_ok());
            let after = content(&[then], &[length]);
            schunk.update_metalayer(b"b2nd", &after).expect("writes");
            assert!(open.read(&schunk, &NoWindow).is_err(), "shape of {then}");
            schunk.update_metalayer(b"b2nd", &before).expect("writes");
            assert!(open.read(&schunk, &NoWindow).is_ok());
        }
    }
}
