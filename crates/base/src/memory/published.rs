//! Values that one thread publishes and others read without a lock. So no thread waits for another,
//! nor does a child after `fork`.

use super::heap::boxed;
use crate::error::Result;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A place for a value. A published value is never freed, since a reader may still use it.
pub struct Published<T: 'static>(AtomicPtr<T>);

impl<T: Sync + 'static> Published<T> {
    /// An empty place.
    pub const fn empty() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    /// The value.
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: the pointer is null, or that of a published value, which is neither changed nor
        // freed.
        unsafe { self.as_ptr().as_ref() }
    }

    /// The address of the value; null if there is none.
    pub fn as_ptr(&self) -> *mut T {
        self.0.load(Ordering::Acquire)
    }

    /// Publishes a value if the place is empty; otherwise returns the value that is there.
    ///
    /// # Errors
    /// [`crate::error::Error::MEMORY_ALLOC`].
    pub fn publish(&self, value: T) -> Result<Option<&'static T>> {
        let fresh = Box::into_raw(boxed(value)?);
        let (empty, done) = (null_mut(), Ordering::AcqRel);
        if self
            .0
            .compare_exchange(empty, fresh, done, Ordering::Acquire)
            .is_ok()
        {
            return Ok(None);
        }
        // SAFETY: the pointer came from a box in this function, and was not published.
        drop(unsafe { Box::from_raw(fresh) });
        Ok(self.get())
    }

    /// Publishes a value instead of the one that is there, or empties the place.
    ///
    /// # Errors
    /// [`crate::error::Error::MEMORY_ALLOC`]; the place is unchanged then.
    pub fn replace(&self, value: Option<T>) -> Result<()> {
        let fresh = match value {
            Some(value) => Box::into_raw(boxed(value)?),
            None => null_mut(),
        };
        retire(self.0.swap(fresh, Ordering::AcqRel).cast());
        Ok(())
    }
}

/// A replaced value, in a linked list of all of them.
struct Retired {
    _value: *mut u8,
    _earlier: *mut Retired,
}

static RETIRED: AtomicPtr<Retired> = AtomicPtr::new(null_mut());

/// Keeps a replaced value reachable, so that leak checkers do not report it.
fn retire(value: *mut u8) {
    if value.is_null() {
        return;
    }
    let node = boxed(Retired {
        _value: value,
        _earlier: null_mut(),
    });
    let Ok(node) = node.map(Box::into_raw) else {
        // Without memory for the list, a leak checker will report it.
        return;
    };
    let mut head = RETIRED.load(Ordering::Relaxed);
    loop {
        // SAFETY: only this function has the node until it is published.
        unsafe { (*node)._earlier = head };
        match RETIRED.compare_exchange_weak(head, node, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => head = now,
        }
    }
}

/// A table of published values, indexed by ids of one byte.
pub struct PublishedTable<T: 'static>([Published<T>; 256]);

impl<T: Sync + 'static> PublishedTable<T> {
    /// No values.
    #[allow(clippy::new_without_default, reason = "used in statics only")]
    pub const fn new() -> Self {
        Self([const { Published::empty() }; 256])
    }

    /// The place for an id.
    pub fn slot(&self, id: u8) -> &Published<T> {
        &self.0[usize::from(id)]
    }

    /// The value with this id, if there is one.
    pub fn get(&self, id: i32) -> Option<&'static T> {
        self.slot(u8::try_from(id).ok()?).get()
    }

    /// All values.
    pub fn iter(&self) -> impl Iterator<Item = &'static T> {
        self.0.iter().filter_map(Published::get)
    }

    /// Publishes a value if its place is empty. Returns whether the place has this value now, or
    /// had one for which `same` is true.
    ///
    /// # Errors
    /// [`crate::error::Error::MEMORY_ALLOC`].
    pub fn add(&self, id: u8, value: T, same: impl FnOnce(&T) -> bool) -> Result<bool> {
        Ok(self.slot(id).publish(value)?.is_none_or(same))
    }

    /// Empties all places.
    pub fn clear(&self) {
        for slot in &self.0 {
            // Emptying a place needs no memory, so it cannot fail.
            let _ = slot.replace(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_stays_until_it_is_replaced() {
        static TABLE: PublishedTable<u32> = PublishedTable::new();
        assert_eq!(TABLE.get(7), None);
        assert_eq!(TABLE.slot(7).publish(1), Ok(None));
        assert_eq!(TABLE.slot(7).publish(2), Ok(Some(&1)));
        assert_eq!(TABLE.add(7, 3, |there| *there == 1), Ok(true));
        assert_eq!(TABLE.add(7, 3, |_| false), Ok(false));
        let kept = TABLE.get(7).unwrap();
        TABLE.slot(7).replace(Some(4)).unwrap();
        assert_eq!((kept, TABLE.get(7)), (&1, Some(&4)));
        assert_eq!(TABLE.iter().copied().collect::<Vec<_>>(), [4]);
        TABLE.clear();
        assert_eq!(
            (TABLE.get(7), TABLE.get(-1), TABLE.get(256)),
            (None, None, None)
        );
        assert!(TABLE.slot(7).as_ptr().is_null());
    }
}
