//! The super-chunk behind the pointer that C holds: the public structure, and behind it the
//! super-chunk itself.

use super::mirror::{Layer, Mirror};
use super::storage::Storage;
use crate::capi::io;
use crate::capi::mmap;
use crate::capi::prelude::*;
use oxiblosc::format::frame::meta::Metalayer;
use oxiblosc::schunk::State;
use oxiblosc::schunk::host::Host;
use oxiblosc_base::memory::{TryVec, boxed, boxed_uninit, lock};
use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Deref;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// A super-chunk.
#[repr(C)]
pub struct Handle {
    /// First, so that a pointer to it is a pointer to the handle.
    c: UnsafeCell<blosc2_schunk>,
    content: Content,
    /// How many keep this alive: the program, and views.
    owners: AtomicUsize,
    /// Whether C keeps the frame's buffer when the super-chunk is freed.
    avoid_free: AtomicBool,
    /// Where the frame's buffer was when C last got its address.
    given: AtomicPtr<u8>,
}

// SAFETY: the lock of the super-chunk lets one thread write the public fields while no other reads
// them (see `Mirror`); those of a view are written under its mutex. The other fields are atomics,
// or `Sync`.
unsafe impl Sync for Handle {}

/// What is behind the structure.
#[allow(
    clippy::large_enum_variant,
    reason = "it is beside 66 KB of public fields"
)]
enum Content {
    /// Chunks of its own.
    Own(SuperChunk),
    /// The chunks of another super-chunk, with other metalayers.
    View(SchunkView),
}

/// A super-chunk that shows the chunks of another one.
struct SchunkView {
    /// Kept alive by the view.
    base: *mut Handle,
    /// The metalayer of the array that the view is.
    metalayers: TryVec<Metalayer>,
    /// Shows it.
    _layer: Box<Layer>,
    /// Threads that read through the same view write its public fields one after the other.
    following: Mutex<()>,
}

/// A handle in the making: the public structure alone. If it is dropped, the back end in its
/// storage is told.
pub struct Unfinished(Box<MaybeUninit<Handle>>);

impl Unfinished {
    /// A structure with empty fields, no contexts and no storage.
    pub fn new() -> Result<Self> {
        let mut handle = boxed_uninit::<Handle>()?;
        // SAFETY: the memory is there. The fields of C's struct, 66 KB, are written where they are:
        // each is an integer, a bool or a pointer, for which zero is a value.
        unsafe { (&raw mut (*handle.as_mut_ptr()).c).write_bytes(0, 1) };
        Ok(Self(handle))
    }

    /// The pointer that C will hold.
    pub fn as_c(&mut self) -> *mut blosc2_schunk {
        self.0.as_mut_ptr().cast()
    }

    /// The public fields.
    pub fn fields(&mut self) -> &mut blosc2_schunk {
        // SAFETY: `new` wrote the structure, and only this owns it.
        unsafe { &mut *self.as_c() }
    }

    /// How it will be stored.
    pub fn storage(&mut self) -> &mut blosc2_storage {
        // SAFETY: `with_storage` sets it, to a pointer from `Storage::into_c`, before anything else
        // can call this; only this owns it.
        unsafe { &mut *self.fields().storage }
    }

    /// The back end in that storage.
    pub fn io(&mut self) -> &mut blosc2_io {
        // SAFETY: `Storage::copy_of` gives every copy a back end of its own.
        unsafe { &mut *self.storage().io }
    }

    /// The window of the super-chunk to come, and its id in the list of a thread's operations.
    pub fn host(&mut self) -> Result<(Box<dyn Host>, usize)> {
        let c = self.as_c();
        // SAFETY: the structure outlives the super-chunk, which is freed first (see `free_parts`).
        Ok((unsafe { Mirror::of(c)? }, c as usize))
    }

    /// The handle of a super-chunk that was made with [`Self::host`].
    pub fn finish(mut self, schunk: SuperChunk) -> *mut blosc2_schunk {
        // SAFETY: the storage that `with_storage` has set, whose parameters the program keeps
        // valid.
        unsafe { mmap::follow(self.fields().storage) };
        self.finish_with(Content::Own(schunk))
    }

    fn finish_with(mut self, content: Content) -> *mut blosc2_schunk {
        let handle = self.0.as_mut_ptr();
        // SAFETY: the memory is there for every field, and with the structure each is written then.
        unsafe {
            (&raw mut (*handle).content).write(content);
            (&raw mut (*handle).owners).write(AtomicUsize::new(1));
            (&raw mut (*handle).avoid_free).write(AtomicBool::new(false));
            (&raw mut (*handle).given).write(AtomicPtr::new(null_mut()));
        }
        let c = self.as_c();
        let unfinished = ManuallyDrop::new(self);
        // SAFETY: the box is taken out once; it is the program's from here on, and comes back in
        // `free`.
        let _ = Box::into_raw(unsafe { std::ptr::read(&unfinished.0) });
        c
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // SAFETY: the fields are zero, or were set by this library (`parts`), and are not used
        // after this.
        unsafe { free_fields(self.fields()) };
    }
}

impl Handle {
    /// The handle behind the pointer that C holds, a view's own.
    ///
    /// # Safety
    /// `schunk` is null or came from this library and was not freed.
    pub unsafe fn from_c<'a>(schunk: *mut blosc2_schunk) -> Result<&'a Self> {
        // SAFETY: by `# Safety` it is null or from `finish_with`, the only place that returns one:
        // there it is the first field of a `repr(C)` handle.
        unsafe { schunk.cast::<Self>().as_ref() }.ok_or(Error::NULL_POINTER)
    }

    /// The handle that has the chunks: this one, or that whose chunks it shows.
    pub fn base(&self) -> &Self {
        match &self.content {
            Content::Own(_) => self,
            // SAFETY: a view counts as an owner of its base (`finish_view`), so it is not freed
            // before the view.
            Content::View(view) => unsafe { &*view.base },
        }
    }

    /// The super-chunk that has the chunks.
    pub fn core(&self) -> &SuperChunk {
        match &self.content {
            Content::Own(schunk) => schunk,
            Content::View(_) => self.base().core(),
        }
    }

    /// Whether this shows the chunks of another super-chunk.
    pub fn is_view(&self) -> bool {
        matches!(self.content, Content::View(_))
    }

    /// The pointer that C holds.
    pub fn as_c(&self) -> *mut blosc2_schunk {
        self.c.get()
    }

    /// How it is stored: the library's copy of what the program said.
    pub fn storage(&self) -> &blosc2_storage {
        // SAFETY: `parts` sets the pointer before a handle is finished, and it stays until the
        // handle is freed.
        unsafe { &*(*self.c.get()).storage }
    }

    /// Whether C keeps the frame's buffer when the super-chunk is freed.
    pub fn set_avoid_free(&self, avoid: bool) {
        self.avoid_free.store(avoid, Ordering::Relaxed);
    }

    /// The address of the frame's buffer, which C gets.
    pub fn give(&self, frame: &[u8]) -> *mut u8 {
        let frame = frame.as_ptr().cast_mut();
        self.given.store(frame, Ordering::Relaxed);
        frame
    }

    /// The fixed-length metalayers of a view; none for another super-chunk, whose state has them.
    pub fn view_metalayers(&self) -> Option<&[Metalayer]> {
        match &self.content {
            Content::Own(_) => None,
            Content::View(view) => Some(&view.metalayers),
        }
    }

    /// The fixed-length metalayers: those of the state, or a view's own.
    pub fn metalayers<'a>(&'a self, state: &'a State) -> &'a [Metalayer] {
        self.view_metalayers().unwrap_or(state.metalayers())
    }

    /// Finishes the handle of a view of `base`, which it keeps alive: one whose only metalayer is
    /// this.
    pub fn finish_view(
        base: &Self,
        mut view: Unfinished,
        metalayer: Metalayer,
    ) -> Result<*mut blosc2_schunk> {
        let mut metalayers = TryVec::new();
        metalayers.push(metalayer)?;
        let mut layer = boxed(Layer::default())?;
        let c = view.fields();
        c.view = true;
        c.metalayers[0] = layer.show(&metalayers[0]);
        c.nmetalayers = 1;
        base.owners.fetch_add(1, Ordering::Relaxed);
        let content = Content::View(SchunkView {
            base: base.as_c().cast(),
            metalayers,
            _layer: layer,
            following: Mutex::new(()),
        });
        Ok(view.finish_with(content))
    }

    /// How many variable-length metalayers the public fields say there are, within an operation.
    pub fn nvlmetalayers(&self) -> usize {
        let _one = match &self.content {
            Content::Own(_) => None,
            Content::View(view) => Some(lock(&view.following)),
        };
        // SAFETY: the field of a view is written under its mutex, that of another handle by a
        // thread that has it exclusively.
        usize::try_from(unsafe { (*self.c.get()).nvlmetalayers }).unwrap_or(0)
    }

    /// Brings the public fields of a view that tell of its base's chunks up to date, within an
    /// operation on them.
    pub fn follow(&self) {
        let Content::View(view) = &self.content else {
            return;
        };
        let _one = lock(&view.following);
        // SAFETY: the view is an owner of its base. The caller's operation keeps the base from
        // being changed. The view's fields are written under the mutex, and only if they differ,
        // since other threads may read them.
        unsafe {
            // Raw places: other threads may write further fields meanwhile.
            let (c, of) = (self.c.get(), (*view.base).c.get());
            macro_rules! follow {
                ($($field:ident),+) => {$(
                    if (*c).$field != (*of).$field {
                        (*c).$field = (*of).$field;
                    }
                )+};
            }
            follow!(
                nchunks, nbytes, cbytes, chunksize, flags2, data, data_len, frame
            );
            follow!(vlmetalayers, nvlmetalayers);
        }
    }
}

/// The super-chunk that has the chunks, reached through a handle which, if it is a view, shows what
/// was changed when this goes.
pub struct ViewedSchunk<'a>(&'a Handle);

impl<'a> ViewedSchunk<'a> {
    /// The super-chunk that has the chunks, reached through the pointer that C holds.
    ///
    /// # Safety
    /// As for [`Handle::from_c`].
    pub unsafe fn from_c(schunk: *mut blosc2_schunk) -> Result<Self> {
        unsafe_granted!(Handle::from_c(schunk)).map(Self)
    }

    /// The handle that was passed.
    pub fn shown(&self) -> &'a Handle {
        self.0
    }
}

impl Deref for ViewedSchunk<'_> {
    type Target = SuperChunk;

    fn deref(&self) -> &SuperChunk {
        self.0.core()
    }
}

impl Drop for ViewedSchunk<'_> {
    fn drop(&mut self) {
        if self.0.is_view()
            && let Ok(_unchanged) = self.0.core().peek()
        {
            self.0.follow();
        }
    }
}

/// Frees a super-chunk and all that is its own. Gives what the back end returned.
///
/// # Safety
/// `schunk` is null or a handle that is not in use.
pub unsafe fn free(schunk: *mut blosc2_schunk) -> i32 {
    // SAFETY: by `# Safety` the handle is null or valid. The call that takes the last share of a
    // handle frees it; a view also gives back its share of its base.
    unsafe {
        let Ok(handle) = Handle::from_c(schunk) else {
            return 0;
        };
        if handle.owners.fetch_sub(1, Ordering::AcqRel) > 1 {
            // A view still shows the chunks.
            return 0;
        }
        let (base, freed) = (handle.base().as_c(), free_parts(schunk));
        match base == schunk {
            true => freed,
            false => free(base),
        }
    }
}

/// Frees a handle that has no owner any more.
///
/// # Safety
/// As for [`free`]; no view is left.
unsafe fn free_parts(schunk: *mut blosc2_schunk) -> i32 {
    // SAFETY: by `# Safety` nothing else refers to the handle. Its content is moved out once, and
    // then its memory is freed as uninitialised. (The structure is not moved: its 64 KB might not
    // fit on a small stack.)
    unsafe {
        let handle = schunk.cast::<Handle>();
        let avoid_free = (*handle).avoid_free.load(Ordering::Relaxed);
        let given = (*handle).given.load(Ordering::Relaxed).cast_const();
        match (&raw mut (*handle).content).read() {
            // A buffer that C knows is left to C. One that it never had can only be freed here.
            Content::Own(core) if avoid_free => match core.into_frame() {
                Ok(frame) if frame.as_ptr() == given => drop(frame.into_raw()),
                frame => drop(frame),
            },
            content => drop(content),
        }
        let freed = free_fields(&mut *schunk);
        drop(Box::from_raw(handle.cast::<MaybeUninit<Handle>>()));
        freed
    }
}

/// Frees what the public fields of a structure own. Gives 1 if the back end could not free its own.
///
/// # Safety
/// The fields are the library's, and used no more.
unsafe fn free_fields(c: &mut blosc2_schunk) -> i32 {
    unsafe_granted!({
        drop([c.cctx, c.dctx].map(|ctx| Context::taken_back(ctx)));
        libc::free(c.blockshape.cast());
        let destroyed = Storage::from_c(c.storage).map_or(0, |storage| io::destroy(storage.io));
        i32::from(destroyed < 0)
    })
}
