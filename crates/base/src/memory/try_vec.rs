//! A growable array whose growth can fail.
#![expect(clippy::disallowed_types, reason = "the vector is inside")]

use super::kept_blocks::allocate;
use crate::error::{Error, Result};
use std::fmt;
use std::ops::{Deref, DerefMut, RangeBounds};

/// A `Vec` without the functions that abort when there is no memory. A function that may grow the
/// list returns [`Error::MEMORY_ALLOC`] then, and leaves the list unchanged. It dereferences to a
/// slice.
#[derive(Eq)]
pub struct TryVec<T>(Vec<T>);

impl<T> TryVec<T> {
    /// An empty list, without an allocation.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// An empty list with at least this capacity.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline]
    pub fn with_capacity(capacity: usize) -> Result<Self> {
        let mut list = Vec::new();
        allocate(|| list.try_reserve_exact(capacity).ok())?;
        Ok(Self(list))
    }

    /// The items of an array.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline]
    pub fn of<const N: usize>(items: [T; N]) -> Result<Self> {
        items.into_iter().collect_vec()
    }

    /// Reserves capacity for `more` items, in steps that grow with the list.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline]
    pub fn reserve(&mut self, more: usize) -> Result<()> {
        if more <= self.0.capacity() - self.0.len() {
            return Ok(());
        }
        self.grow(more)
    }

    /// Not inlined, as that would make the library 20 KB larger.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) -> Result<()> {
        allocate(|| self.0.try_reserve(more).ok())
    }

    /// Reserves capacity for exactly `more` items.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline]
    pub fn reserve_exact(&mut self, more: usize) -> Result<()> {
        allocate(|| self.0.try_reserve_exact(more).ok())
    }

    /// Appends an item.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline]
    pub fn push(&mut self, item: T) -> Result<()> {
        self.reserve(1)?;
        self.0.push(item);
        Ok(())
    }

    /// Appends an item within the capacity, for code that must not fail.
    ///
    /// # Panics
    /// If there is no capacity left.
    #[inline]
    pub fn push_within_capacity(&mut self, item: T) {
        assert!(self.0.len() < self.0.capacity(), "room was made before");
        self.0.push(item);
    }

    /// Inserts an item at `at`, which is at most the length.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline]
    pub fn insert(&mut self, at: usize, item: T) -> Result<()> {
        self.reserve(1)?;
        self.0.insert(at, item);
        Ok(())
    }

    /// Appends the items of an iterator. On an error some of them may have been added.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline]
    pub fn extend(&mut self, items: impl IntoIterator<Item = T>) -> Result<()> {
        let mut items = items.into_iter();
        let least = items.size_hint().0;
        self.reserve(least)?;
        // The capacity suffices for these, so it is not checked for each.
        self.0.extend(items.by_ref().take(least));
        for item in items {
            self.push(item)?;
        }
        Ok(())
    }

    /// Moves all items of another list to the end of this one.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline]
    pub fn append(&mut self, other: &mut Self) -> Result<()> {
        self.reserve(other.len())?;
        self.0.append(&mut other.0);
        Ok(())
    }

    /// Makes the list `len` items long. New items are made by `make`.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline]
    pub fn resize_with(&mut self, len: usize, make: impl FnMut() -> T) -> Result<()> {
        self.reserve(len.saturating_sub(self.len()))?;
        self.0.resize_with(len, make);
        Ok(())
    }

    /// Removes the last item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.0.pop()
    }

    /// Removes the item at `at`. Those behind it move up.
    #[inline]
    pub fn remove(&mut self, at: usize) -> T {
        self.0.remove(at)
    }

    /// Removes the item at `at`, and puts the last one in its place.
    #[inline]
    pub fn swap_remove(&mut self, at: usize) -> T {
        self.0.swap_remove(at)
    }

    /// Drops all items from number `len` on.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Drops all items.
    #[inline]
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Removes the items of a range and returns them.
    #[inline]
    pub fn drain(&mut self, range: impl RangeBounds<usize>) -> std::vec::Drain<'_, T> {
        self.0.drain(range)
    }

    /// Drops the items for which `keeps` is false.
    #[inline]
    pub fn retain(&mut self, keeps: impl FnMut(&T) -> bool) {
        self.0.retain(keeps);
    }

    /// Drops items that are equal to the item before.
    #[inline]
    pub fn dedup(&mut self)
    where
        T: PartialEq,
    {
        self.0.dedup();
    }

    /// Drops items for which `same(item, item before)` is true.
    #[inline]
    pub fn dedup_by(&mut self, same: impl FnMut(&mut T, &mut T) -> bool) {
        self.0.dedup_by(same);
    }

    /// The items as a boxed array, without a copy.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`] if there are not exactly `N` items, or the capacity is larger, as
    /// then a smaller allocation would be needed.
    pub fn into_array<const N: usize>(self) -> Result<Box<[T; N]>> {
        if self.0.len() != self.0.capacity() {
            return Err(Error::MEMORY_ALLOC);
        }
        self.0
            .into_boxed_slice()
            .try_into()
            .map_err(|_| Error::MEMORY_ALLOC)
    }

    /// The number of items that fit without a new allocation.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// The unused capacity.
    #[inline]
    pub fn spare_capacity_mut(&mut self) -> &mut [std::mem::MaybeUninit<T>] {
        self.0.spare_capacity_mut()
    }

    /// Sets the number of items.
    ///
    /// # Safety
    /// `len` is at most the capacity, and the first `len` items are initialised.
    #[inline]
    pub unsafe fn set_len(&mut self, len: usize) {
        // SAFETY: `# Safety` is the same as that of `Vec::set_len`.
        unsafe { self.0.set_len(len) };
    }
}

impl<T: Clone> TryVec<T> {
    /// A copy of a slice.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline]
    pub fn copy_of(items: &[T]) -> Result<Self> {
        let mut list = Self::with_capacity(items.len())?;
        list.0.extend_from_slice(items);
        Ok(list)
    }

    /// A list of `len` copies of an item.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline]
    pub fn filled(item: T, len: usize) -> Result<Self> {
        let mut list = Self::with_capacity(len)?;
        list.0.resize(len, item);
        Ok(list)
    }

    /// Appends copies of the items of a slice: all of them, or none on an error.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline]
    pub fn extend_from_slice(&mut self, items: &[T]) -> Result<()> {
        self.reserve(items.len())?;
        self.0.extend_from_slice(items);
        Ok(())
    }

    /// Makes the list `len` items long. New items are copies of `item`.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline]
    pub fn resize(&mut self, len: usize, item: T) -> Result<()> {
        self.reserve(len.saturating_sub(self.len()))?;
        self.0.resize(len, item);
        Ok(())
    }

    /// A copy of the list.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline]
    pub fn try_clone(&self) -> Result<Self> {
        Self::copy_of(self)
    }
}

/// Copies slices to lists.
pub trait ToTryVec<T> {
    /// A copy of the slice.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    fn to_try_vec(&self) -> Result<TryVec<T>>;
}

impl<T: Clone> ToTryVec<T> for [T] {
    #[inline]
    fn to_try_vec(&self) -> Result<TryVec<T>> {
        TryVec::copy_of(self)
    }
}

/// Collects iterators into lists.
pub trait Collect: Iterator + Sized {
    /// The items as a list.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline]
    fn collect_vec(self) -> Result<TryVec<Self::Item>> {
        let mut list = TryVec::new();
        list.extend(self)?;
        Ok(list)
    }

    /// The items as a list, or the first error.
    ///
    /// # Errors
    /// The first of the items'; [`Error::MEMORY_ALLOC`].
    #[inline]
    fn try_collect_vec<T>(self) -> Result<TryVec<T>>
    where
        Self: Iterator<Item = Result<T>>,
    {
        let mut list = TryVec::with_capacity(self.size_hint().0)?;
        for item in self {
            list.push(item?)?;
        }
        Ok(list)
    }
}

impl<I: Iterator> Collect for I {}

impl<T> Default for TryVec<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for TryVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> Deref for TryVec<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for TryVec<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> AsRef<[T]> for TryVec<T> {
    fn as_ref(&self) -> &[T] {
        &self.0
    }
}

impl<T> IntoIterator for TryVec<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a TryVec<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut TryVec<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;
    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}

impl<T: PartialEq, U: AsRef<[T]> + ?Sized> PartialEq<U> for TryVec<T> {
    fn eq(&self, other: &U) -> bool {
        **self == *other.as_ref()
    }
}

/// For programs that have vectors. The items are not copied.
impl<T> From<Vec<T>> for TryVec<T> {
    fn from(vector: Vec<T>) -> Self {
        Self(vector)
    }
}

/// For programs that want a vector. The items are not copied.
impl<T> From<TryVec<T>> for Vec<T> {
    fn from(list: TryVec<T>) -> Self {
        list.0
    }
}

/// For tests, which may abort when there is no memory.
#[cfg(any(test, feature = "clone"))]
mod for_tests {
    use super::TryVec;

    impl<T: Clone> Clone for TryVec<T> {
        fn clone(&self) -> Self {
            Self(self.0.clone())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_do_what_vectors_do() {
        let mut list = TryVec::of([3, 1, 2]).unwrap();
        list.push(4).unwrap();
        list.insert(0, 9).unwrap();
        list.extend(5..7).unwrap();
        list.extend_from_slice(&[7]).unwrap();
        assert_eq!(list[..], [9, 3, 1, 2, 4, 5, 6, 7]);
        assert_eq!(
            (list.pop(), list.remove(0), list.swap_remove(0)),
            (Some(7), 9, 3)
        );
        list.retain(|item| item % 2 == 0);
        list.resize(4, 1).unwrap();
        list.dedup();
        assert_eq!(list[..], [6, 2, 4, 1]);
        assert_eq!(list.drain(1..3).collect_vec().unwrap()[..], [2, 4]);
        assert_eq!(list.try_clone().unwrap()[..], [6, 1]);
        assert_eq!(TryVec::filled(7, 2).unwrap()[..], [7, 7]);
    }

    #[test]
    fn errors_come_out_and_too_much_is_an_error() {
        let good = [Ok(1), Ok(2)].into_iter().try_collect_vec().unwrap();
        assert_eq!(good[..], [1, 2]);
        let bad = [Ok(1), Err(Error::DATA)].into_iter().try_collect_vec();
        assert_eq!(bad.err(), Some(Error::DATA));
        let mut list = TryVec::of([1u64]).unwrap();
        assert_eq!(list.reserve(usize::MAX), Err(Error::MEMORY_ALLOC));
        assert_eq!(list.resize(usize::MAX, 0), Err(Error::MEMORY_ALLOC));
        assert_eq!(list[..], [1]);
    }

    #[test]
    #[should_panic(expected = "room was made before")]
    fn no_capacity_is_seen() {
        TryVec::new().push_within_capacity(1);
    }
}
