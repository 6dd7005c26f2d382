//! Indexing: the view that `a[1, ::-1, ..., None]` selects.
//!
//! Follows NumPy's basic indexing: an integer removes an axis, a slice keeps it, an ellipsis stands for all axes without an
//! entry, and `None` adds an axis of length 1. No element moves; see [`View`].

use super::MAX_NDIM;
use crate::{Dims, Error, Layout, Result, Strides, View};
use std::ops::{Range, RangeFull};

/// One entry of an index, as in the brackets of `a[1, ::-1, ..., None]`.
///
/// ```
/// use cuarray::{Index, Layout};
///
/// let matrix = Layout::c_contiguous(&[3, 4], 8)?;
/// let column = matrix.index(&[Index::Ellipsis, Index::At(-1)])?;
/// assert_eq!((column.offset, column.layout.shape(), column.layout.strides()), (24, &[3][..], &[32][..]));
///
/// let middle = matrix.index(&[(1..3).into(), Index::NewAxis])?;
/// assert_eq!((middle.offset, middle.layout.shape()), (32, &[2, 1, 4][..]));
///
/// assert!(matrix.index(&[Index::At(3)]).unwrap_err().is_out_of_bounds());
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// One position on an axis, which the view drops; a negative position counts from the end.
    At(isize),
    /// Several positions on an axis.
    Slice(Slice),
    /// All axes without an entry in the index; allowed once.
    Ellipsis,
    /// A new axis of length 1.
    NewAxis,
}

impl From<isize> for Index {
    fn from(at: isize) -> Index {
        Index::At(at)
    }
}

impl From<Slice> for Index {
    fn from(slice: Slice) -> Index {
        Index::Slice(slice)
    }
}

impl From<Range<isize>> for Index {
    fn from(range: Range<isize>) -> Index {
        Index::Slice(Slice { start: Some(range.start), stop: Some(range.end), step: None })
    }
}

impl From<RangeFull> for Index {
    fn from(_: RangeFull) -> Index {
        Index::Slice(Slice::default())
    }
}

/// `start:stop:step` with Python's rules: negative positions count from the end, and positions outside are clamped.
///
/// ```
/// use cuarray::{Layout, Slice};
///
/// let reversed = Slice { step: Some(-1), ..Slice::default() };
/// let view = Layout::c_contiguous(&[5], 4)?.index(&[reversed.into()])?;
/// assert_eq!((view.offset, view.layout.strides()), (16, &[-4][..]));
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// The first position; by default the end at which the step starts.
    pub start: Option<isize>,
    /// The position before which the slice stops; by default after the last.
    pub stop: Option<isize>,
    /// The distance between positions; by default 1, and never 0.
    pub step: Option<isize>,
}

impl Slice {
    /// First position, step and count on an axis of `length`.
    fn places(self, length: usize) -> Result<(isize, isize, usize)> {
        let length = length as isize;
        let step = self.step.unwrap_or(1);
        if step == 0 {
            return Err(Error::argument("a slice with step 0 never ends; any other int is expected"));
        }
        // Clamped, so that the step can be negated. No axis is long enough for this to matter.
        let step = step.max(-isize::MAX);
        let (low, high) = if step < 0 { (-1, length - 1) } else { (0, length) };
        let place = |place: isize| if place < 0 { (place + length).max(low) } else { place.min(high) };
        let (first, end) = if step < 0 { (high, low) } else { (low, high) };
        let start = self.start.map_or(first, place);
        let stop = self.stop.map_or(end, place);
        let count = if step < 0 {
            if stop < start { (start - stop - 1) / -step + 1 } else { 0 }
        } else if start < stop {
            (stop - start - 1) / step + 1
        } else {
            0
        };
        Ok((start, step, count as usize))
    }
}

/// The place among `length` places. A negative one counts from the end. `None` if there is no such place.
pub(crate) fn place_within(place: isize, length: usize) -> Option<usize> {
    let place = if place < 0 { place.checked_add_unsigned(length)? } else { place };
    usize::try_from(place).ok().filter(|place| *place < length)
}

impl Layout {
    /// The view that an index selects. Axes without an entry are kept completely.
    ///
    /// # Errors
    /// [`Error::is_out_of_bounds`]: a position outside its axis, more entries than axes, two ellipses, or more than
    /// [`MAX_NDIM`] axes in the view. [`Error::is_invalid_argument`]: a slice of step 0.
    pub fn index(&self, index: &[Index]) -> Result<View> {
        let named = index.iter().filter(|entry| matches!(entry, Index::At(_) | Index::Slice(_))).count();
        if index.iter().filter(|entry| **entry == Index::Ellipsis).count() > 1 {
            return Err(Error::out_of_bounds("an index can only have a single ellipsis ('...')"));
        }
        let Some(whole) = self.ndim().checked_sub(named) else {
            return Err(Error::out_of_bounds(format!(
                "too many indices for an array: it has {} dimensions, but {named} were indexed",
                self.ndim()
            )));
        };
        let (mut offset, mut axis) = (0isize, 0);
        let (mut shape, mut strides) = (Dims::new(), Strides::new());
        let take_whole = |axis: &mut usize, count: usize, shape: &mut Dims, strides: &mut Strides| {
            shape.extend_from_slice(&self.shape()[*axis..*axis + count]);
            strides.extend_from_slice(&self.strides()[*axis..*axis + count]);
            *axis += count;
        };
        for entry in index {
            match *entry {
                Index::NewAxis => {
                    shape.push(1);
                    strides.push(0);
                }
                Index::Ellipsis => take_whole(&mut axis, whole, &mut shape, &mut strides),
                Index::At(at) => {
                    let (length, stride) = (self.shape()[axis], self.strides()[axis]);
                    let place = place_within(at, length).ok_or_else(|| {
                        Error::out_of_bounds(format!("index {at} is out of bounds for axis {axis} with size {length}"))
                    })?;
                    offset = offset.wrapping_add((place as isize).wrapping_mul(stride));
                    axis += 1;
                }
                Index::Slice(slice) => {
                    let (start, step, count) = slice.places(self.shape()[axis])?;
                    let stride = self.strides()[axis];
                    // As in NumPy, an empty slice begins where its axis begins. Other offsets are those of elements. A wrapped stride is
                    // harmless, because no step leads past the last element.
                    if count == 0 {
                        strides.push(stride);
                    } else {
                        offset = offset.wrapping_add(start.wrapping_mul(stride));
                        strides.push(stride.wrapping_mul(step));
                    }
                    shape.push(count);
                    axis += 1;
                }
            }
        }
        let rest = self.ndim() - axis;
        take_whole(&mut axis, rest, &mut shape, &mut strides);
        if shape.len() > MAX_NDIM {
            return Err(Error::out_of_bounds(format!(
                "the index makes {} dimensions; at most {MAX_NDIM} are supported",
                shape.len()
            )));
        }
        Ok(View { offset, layout: Layout::from_parts(shape, Some(strides), self.itemsize())? })
    }
}
