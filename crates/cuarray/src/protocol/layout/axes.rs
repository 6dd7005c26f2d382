//! [`Axes`]: a few numbers, one for each axis of an array, without a heap allocation.
//!
//! Every exchange reads and checks shapes and strides, and nearly all arrays have few axes. Up to six numbers are stored inline:
//! enough for batches of volumes with channels, and a [`Layout`](crate::Layout) stays at 120 bytes. The type wraps one of
//! another crate, so that callers do not depend on that crate's version.

use smallvec::SmallVec;
use std::{
    fmt,
    ops::{Deref, DerefMut},
    slice,
};

/// The most numbers that are stored inline.
const INLINE: usize = 6;

/// A shape: the length of each axis.
pub type Dims = Axes<usize>;

/// Strides: the bytes between neighbours along each axis.
pub type Strides = Axes<isize>;

/// A growable list with one number for each axis; it dereferences to a slice.
///
/// ```
/// use cuarray::Dims;
///
/// let shape = Dims::from(&[2, 3][..]);
/// assert_eq!(shape.iter().product::<usize>(), 6);
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Axes<T>(SmallVec<[T; INLINE]>);

impl<T> Axes<T> {
    /// An empty list, for an array without axes.
    #[inline]
    pub(crate) fn new() -> Axes<T> {
        Axes(SmallVec::new())
    }

    /// The numbers as a slice.
    #[inline]
    pub(crate) fn as_slice(&self) -> &[T] {
        &self.0
    }

    /// Appends an axis.
    #[inline]
    pub(crate) fn push(&mut self, number: T) {
        self.0.push(number);
    }

    /// Inserts an axis before the axis at `index`.
    ///
    /// # Panics
    /// There are fewer than `index` axes.
    pub(crate) fn insert(&mut self, index: usize, number: T) {
        self.0.insert(index, number);
    }

    /// Appends these numbers.
    #[inline]
    pub(crate) fn extend(&mut self, numbers: impl IntoIterator<Item = T>) {
        self.0.extend(numbers);
    }
}

impl<T: Copy> Axes<T> {
    /// A list of these numbers.
    #[inline]
    pub(crate) fn from_slice(numbers: &[T]) -> Axes<T> {
        Axes(SmallVec::from_slice(numbers))
    }

    /// A list of `count` equal numbers.
    #[inline]
    pub(crate) fn repeat(number: T, count: usize) -> Axes<T> {
        // The common case writes each number once.
        Axes(if count <= INLINE {
            SmallVec::from_buf_and_len([number; INLINE], count)
        } else {
            SmallVec::from_elem(number, count)
        })
    }

    /// Appends these numbers.
    #[inline]
    pub(crate) fn extend_from_slice(&mut self, numbers: &[T]) {
        self.0.extend_from_slice(numbers);
    }

    /// Changes the number of axes to `count`; new axes get `number`.
    #[inline]
    pub(crate) fn resize(&mut self, count: usize, number: T) {
        self.0.resize(count, number);
    }
}

impl<T> Deref for Axes<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Axes<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> AsRef<[T]> for Axes<T> {
    fn as_ref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Copy> From<&[T]> for Axes<T> {
    fn from(numbers: &[T]) -> Axes<T> {
        Axes::from_slice(numbers)
    }
}

impl<T> FromIterator<T> for Axes<T> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> Axes<T> {
        Axes(numbers.into_iter().collect())
    }
}

impl<'a, T> IntoIterator for &'a Axes<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> slice::Iter<'a, T> {
        self.iter()
    }
}

impl<T: fmt::Debug> fmt::Debug for Axes<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}
