//! Views: other layouts over the same bytes.
//!
//! Indexing with integers and slices, new axes, transposing, reshaping: none of these moves an element. Each is a little
//! arithmetic on shape and strides, and a number of bytes by which the data pointer moves. This file is that arithmetic
//! and nothing else, so that it can be tested, value by value, against NumPy, whose rules it follows to the letter: where
//! an empty slice points, which strides an axis of length 1 gets, when a reshape needs no copy. A view that exists stays
//! within the bytes of what it is a view of, whatever the index was; an index that cannot be is an error.
//!
//! What only a copy can do (joining axes that do not continue each other) is answered with `None` or an error, never done:
//! that is for the layer that can copy.

use crate::{
    Dims, Error, Layout, Result, Strides,
    layout::{MAX_RANK, Tuple},
};
use smallvec::SmallVec;
use std::ops::{Range, RangeFull};

/// One entry of an index, as between the brackets of `a[1, ::-1, ..., None]`.
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
    /// One place on an axis, which the view no longer has; a negative one counts from the end.
    At(isize),
    /// Some places on an axis.
    Slice(Slice),
    /// As many whole axes as the other entries leave; at most once.
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

/// `start:stop:step`, as Python has it: negative places count from the end, places outside are moved to the nearest end.
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
    /// The first place; by default, the end that the step leads away from.
    pub start: Option<isize>,
    /// The place before which to stop; by default, behind the last.
    pub stop: Option<isize>,
    /// From place to place; by default 1, and never 0.
    pub step: Option<isize>,
}

impl Slice {
    /// First place, step and count on an axis of that length.
    fn places(self, length: usize) -> Result<(isize, isize, usize)> {
        let length = length as isize;
        let step = self.step.unwrap_or(1);
        if step == 0 {
            return Err(Error::argument("a slice with step 0 never ends; any other int is expected"));
        }
        // So that it can be negated; nothing steps as far as either.
        let step = step.max(-isize::MAX);
        let (low, high) = if step < 0 { (-1, length - 1) } else { (0, length) };
        let place = |place: isize| if place < 0 { (place + length).max(low) } else { place.min(high) };
        let (first, behind) = if step < 0 { (high, low) } else { (low, high) };
        let start = self.start.map_or(first, place);
        let stop = self.stop.map_or(behind, place);
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

/// A layout, and where it begins: bytes from the data pointer of what it is a view of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Bytes to add to the data pointer.
    pub offset: isize,
    /// Shape and strides of the view.
    pub layout: Layout,
}

/// The order in which a reshape counts elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The last axis is the fastest.
    #[default]
    C,
    /// The first axis is the fastest.
    F,
}

impl Layout {
    /// The view that an index selects. Axes that it does not name are taken whole.
    ///
    /// # Errors
    /// [`Error::is_out_of_bounds`]: a place outside its axis, more entries than axes, two ellipses, or more than
    /// [`MAX_RANK`] axes in the view. An invalid argument: a slice of step 0.
    ///
    /// ```
    /// use cuarray::{Index, Layout, Slice};
    ///
    /// let volume = Layout::c_contiguous(&[4, 5, 6], 4)?;
    /// let odd = Slice { start: Some(1), step: Some(2), ..Slice::default() };
    /// let view = volume.index(&[Index::At(2), odd.into()])?;
    /// assert_eq!((view.offset, view.layout.shape(), view.layout.strides()), (264, &[2, 6][..], &[48, 4][..]));
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn index(&self, index: &[Index]) -> Result<View> {
        let named = index.iter().filter(|entry| matches!(entry, Index::At(_) | Index::Slice(_))).count();
        if index.iter().filter(|entry| **entry == Index::Ellipsis).count() > 1 {
            return Err(Error::out_of_bounds("an index can only have a single ellipsis ('...')"));
        }
        let Some(whole) = self.rank().checked_sub(named) else {
            return Err(Error::out_of_bounds(format!(
                "too many indices for an array: it has {} dimensions, but {named} were indexed",
                self.rank()
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
                    let place = if at < 0 { at.checked_add_unsigned(length) } else { Some(at) };
                    let place = place.filter(|place| (0..length as isize).contains(place)).ok_or_else(|| {
                        Error::out_of_bounds(format!("index {at} is out of bounds for axis {axis} with size {length}"))
                    })?;
                    offset = offset.wrapping_add(place.wrapping_mul(stride));
                    axis += 1;
                }
                Index::Slice(slice) => {
                    let (start, step, count) = slice.places(self.shape()[axis])?;
                    let stride = self.strides()[axis];
                    // As in NumPy, an empty slice begins where its axis does. Other offsets are places of elements, and
                    // steps past the last element are never taken, so what wraps is never used.
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
        let rest = self.rank() - axis;
        take_whole(&mut axis, rest, &mut shape, &mut strides);
        if shape.len() > MAX_RANK {
            return Err(Error::out_of_bounds(format!(
                "the index makes {} dimensions; at most {MAX_RANK} are supported",
                shape.len()
            )));
        }
        Ok(View { offset, layout: Layout::from_parts(shape, Some(strides), self.itemsize())? })
    }

    /// The same elements in another shape, counted in `order` on both sides. One length may be -1: it is what the others
    /// leave. `None` where no strides say it, so that only a copy could have that shape.
    ///
    /// # Errors
    /// An invalid argument: another number of elements, several lengths of -1, another negative one.
    ///
    /// ```
    /// use cuarray::{Layout, Order};
    ///
    /// let rows = Layout::strided(&[4, 6], &[64, 4], 4)?;
    /// let halves = rows.reshape(&[4, -1, 3], Order::C)?.unwrap();
    /// assert_eq!((halves.shape(), halves.strides()), (&[4, 2, 3][..], &[64, 12, 4][..]));
    /// assert!(rows.reshape(&[-1], Order::C)?.is_none());
    /// assert!(rows.reshape(&[5, -1], Order::C).is_err());
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn reshape(&self, shape: &[isize], order: Order) -> Result<Option<Layout>> {
        if shape.len() == self.rank() && shape.iter().zip(self.shape()).all(|(&new, &old)| new == old as isize) {
            return Ok(Some(self.clone()));
        }
        let shape = self.fit(shape)?;
        let contiguous = match order {
            Order::C => self.is_c_contiguous(),
            Order::F => self.is_f_contiguous(),
        };
        if contiguous {
            return Ok(Some(match order {
                Order::C => Layout::c_contiguous(&shape, self.itemsize())?,
                Order::F => Layout::f_contiguous(&shape, self.itemsize())?,
            }));
        }
        match self.regroup(&shape, order) {
            Some(strides) => Ok(Some(Layout::from_parts(shape, Some(strides), self.itemsize())?)),
            None => Ok(None),
        }
    }

    /// The shape without -1.
    ///
    /// # Errors
    /// As [`Layout::reshape`].
    pub(crate) fn fit(&self, shape: &[isize]) -> Result<Dims> {
        let wrong = || {
            Error::argument(format!(
                "cannot reshape an array of {} elements, shape {}, into shape {}",
                self.len(),
                Tuple(self.shape()),
                Tuple(shape)
            ))
        };
        let mut unknown = None;
        let mut known = 1usize;
        for (axis, &length) in shape.iter().enumerate() {
            match length {
                -1 if unknown.is_some() => {
                    let why = format!("only one length of {} can be -1: it is what the others leave", Tuple(shape));
                    return Err(Error::argument(why));
                }
                -1 => unknown = Some(axis),
                ..0 => {
                    let why = format!("{length} in the shape {} is no length; at least 0 is expected", Tuple(shape));
                    return Err(Error::argument(why));
                }
                _ => known = known.checked_mul(length as usize).ok_or_else(wrong)?,
            }
        }
        let mut dims: Dims = shape.iter().map(|&length| length as usize).collect();
        match unknown {
            Some(axis) if known != 0 && self.len().is_multiple_of(known) => dims[axis] = self.len() / known,
            None if known == self.len() => {}
            _ => return Err(wrong()),
        }
        Ok(dims)
    }

    /// Strides for `shape`, of as many elements (and not none), where each group of old axes that becomes a group of new ones
    /// continues from axis to axis.
    fn regroup(&self, shape: &[usize], order: Order) -> Option<Strides> {
        let old: SmallVec<[(usize, isize); 8]> = self
            .shape()
            .iter()
            .copied()
            .zip(self.strides().iter().copied())
            .filter(|&(length, _)| length != 1)
            .collect();
        let continues = |pair: &[(usize, isize)]| match order {
            Order::C => pair[1].1.checked_mul(pair[1].0 as isize) == Some(pair[0].1),
            Order::F => pair[0].1.checked_mul(pair[0].0 as isize) == Some(pair[1].1),
        };
        let mut strides = Strides::new();
        let (mut next_old, mut next_new) = (0, 0);
        while next_old < old.len() && next_new < shape.len() {
            // The smallest groups of as many elements on both sides; the whole of both has as many, so there are some.
            let (first_old, first_new) = (next_old, next_new);
            let (mut olds, mut news) = (old[first_old].0, shape[first_new]);
            (next_old, next_new) = (first_old + 1, first_new + 1);
            while olds != news {
                if news < olds {
                    news *= shape.get(next_new)?;
                    next_new += 1;
                } else {
                    olds *= old.get(next_old)?.0;
                    next_old += 1;
                }
            }
            let group = &old[first_old..next_old];
            if !group.windows(2).all(continues) {
                return None;
            }
            let lengths = &shape[first_new..next_new];
            match order {
                Order::C => {
                    let mut step = group.last()?.1;
                    for &length in lengths.iter().rev() {
                        strides.insert(first_new, step);
                        step = step.wrapping_mul(length as isize);
                    }
                }
                Order::F => {
                    let mut step = group.first()?.1;
                    for &length in lengths {
                        strides.push(step);
                        step = step.wrapping_mul(length as isize);
                    }
                }
            }
        }
        // Axes of length 1 are left at the end. Any stride would do; these are NumPy's.
        let beside = strides.last().copied().unwrap_or(self.itemsize() as isize);
        let last = match (order, next_new) {
            (Order::F, 1..) => beside.wrapping_mul(shape[next_new - 1] as isize),
            _ => beside,
        };
        strides.resize(shape.len(), last);
        Some(strides)
    }

    /// The axes in another order; without one, reversed. Negative axes count from the end.
    ///
    /// # Errors
    /// An invalid argument: another number of axes than the array has, one that it has not, or one named twice.
    ///
    /// ```
    /// use cuarray::Layout;
    ///
    /// let volume = Layout::c_contiguous(&[2, 3, 4], 1)?;
    /// assert_eq!(volume.transpose(None)?.shape(), &[4, 3, 2]);
    /// assert_eq!(volume.transpose(Some(&[1, 0, -1]))?.strides(), &[4, 12, 1]);
    /// assert!(volume.transpose(Some(&[0, 0, 1])).is_err());
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn transpose(&self, axes: Option<&[isize]>) -> Result<Layout> {
        let axes: Dims = match axes {
            None => (0..self.rank()).rev().collect(),
            Some(axes) => {
                if axes.len() != self.rank() {
                    return Err(Error::argument(format!(
                        "axes {} do not match an array of {} dimensions; each is to be named once",
                        Tuple(axes),
                        self.rank()
                    )));
                }
                self.axes_of(axes)?
            }
        };
        let shape = axes.iter().map(|&axis| self.shape()[axis]).collect();
        let strides = axes.iter().map(|&axis| self.strides()[axis]).collect();
        Layout::from_parts(shape, Some(strides), self.itemsize())
    }

    /// Without axes of length 1: all of them, or those that are named.
    ///
    /// # Errors
    /// An invalid argument: an axis that the array has not, that is named twice, or whose length is not 1.
    ///
    /// ```
    /// use cuarray::Layout;
    ///
    /// let row = Layout::c_contiguous(&[1, 5, 1], 1)?;
    /// assert_eq!(row.squeeze(None)?.shape(), &[5]);
    /// assert_eq!(row.squeeze(Some(&[-1]))?.shape(), &[1, 5]);
    /// assert!(row.squeeze(Some(&[1])).is_err());
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn squeeze(&self, axes: Option<&[isize]>) -> Result<Layout> {
        let drop: Dims = match axes {
            None => (0..self.rank()).filter(|&axis| self.shape()[axis] == 1).collect(),
            Some(axes) => self.axes_of(axes)?,
        };
        if let Some(&axis) = drop.iter().find(|&&axis| self.shape()[axis] != 1) {
            return Err(Error::argument(format!(
                "cannot squeeze axis {axis} of shape {}: its length is {}, not 1",
                Tuple(self.shape()),
                self.shape()[axis]
            )));
        }
        let kept = || (0..self.rank()).filter(|axis| !drop.contains(axis));
        let shape = kept().map(|axis| self.shape()[axis]).collect();
        let strides = kept().map(|axis| self.strides()[axis]).collect();
        Layout::from_parts(shape, Some(strides), self.itemsize())
    }

    /// Axes counted from the front, each named once.
    fn axes_of(&self, axes: &[isize]) -> Result<Dims> {
        let rank = self.rank() as isize;
        let mut found = Dims::new();
        for &axis in axes {
            if !(-rank..rank).contains(&axis) {
                return Err(Error::argument(format!(
                    "axis {axis} in {} is out of bounds for an array of {rank} dimensions",
                    Tuple(axes)
                )));
            }
            let axis = axis.rem_euclid(rank) as usize;
            if found.contains(&axis) {
                return Err(Error::argument(format!("axis {axis} is repeated in {}", Tuple(axes))));
            }
            found.push(axis);
        }
        Ok(found)
    }

    /// The same elements as if they were repeated along the axes of another shape, with strides of 0 where they are.
    ///
    /// # Errors
    /// An invalid argument: the shapes, aligned at their last axes, differ where this one's length is not 1.
    ///
    /// ```
    /// use cuarray::Layout;
    ///
    /// let column = Layout::c_contiguous(&[3, 1], 8)?;
    /// assert_eq!(column.broadcast_to(&[2, 3, 4])?.strides(), &[0, 8, 0]);
    /// assert!(column.broadcast_to(&[4, 4]).is_err());
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Layout> {
        let refused = || {
            Error::argument(format!("cannot broadcast an array of shape {} to {}", Tuple(self.shape()), Tuple(shape)))
        };
        let added = shape.len().checked_sub(self.rank()).ok_or_else(refused)?;
        let mut strides: Strides = SmallVec::from_elem(0, added);
        for ((&old, &stride), &new) in self.shape().iter().zip(self.strides()).zip(&shape[added..]) {
            match old {
                // An axis of length 1 keeps no stride worth having where it is repeated.
                1 if new != 1 => strides.push(0),
                _ if old == new => strides.push(stride),
                _ => return Err(refused()),
            }
        }
        Layout::from_parts(shape.into(), Some(strides), self.itemsize())
    }

    /// The same bytes as elements of another size: the last axis becomes longer or shorter by what each element becomes
    /// shorter or longer.
    ///
    /// # Errors
    /// An invalid argument, where the size changes: there is no last axis, its elements do not lie one behind the other,
    /// or its bytes are no whole number of the new elements.
    ///
    /// ```
    /// use cuarray::Layout;
    ///
    /// let complex = Layout::c_contiguous(&[2, 3], 16)?;
    /// assert_eq!(complex.with_itemsize(8)?.shape(), &[2, 6]);
    /// assert_eq!(complex.with_itemsize(48)?.shape(), &[2, 1]);
    /// assert!(complex.with_itemsize(32).is_err());
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn with_itemsize(&self, itemsize: usize) -> Result<Layout> {
        let old = self.itemsize();
        if itemsize == old {
            return Ok(self.clone());
        }
        let refused = |why: &str| {
            Err(Error::argument(format!(
                "cannot view elements of {old} bytes, shape {}, as elements of {itemsize}: {why}",
                Tuple(self.shape())
            )))
        };
        let (Some(&length), Some(&stride)) = (self.shape().last(), self.strides().last()) else {
            return refused("an array without axes keeps its item size");
        };
        if !self.is_empty() && length != 1 && stride != old as isize {
            return refused("the last axis must be contiguous");
        }
        let length = if itemsize < old {
            if itemsize == 0 || !old.is_multiple_of(itemsize) {
                return refused("a smaller item size must divide the old one");
            }
            length.checked_mul(old / itemsize)
        } else {
            // In whole elements first: a zero-size axis of huge siblings must not overflow here.
            match length.checked_mul(old) {
                Some(bytes) if !bytes.is_multiple_of(itemsize) => {
                    return refused("a larger item size must divide the bytes of the last axis");
                }
                bytes => bytes.map(|bytes| bytes / itemsize),
            }
        };
        let Some(length) = length else { return refused("the last axis becomes too long") };
        let (mut shape, mut strides) = (Dims::from(self.shape()), Strides::from(self.strides()));
        if let (Some(last), Some(step)) = (shape.last_mut(), strides.last_mut()) {
            (*last, *step) = (length, itemsize as isize);
        }
        Layout::from_parts(shape, Some(strides), itemsize)
    }

    /// The first axis cut into pieces of `section` places; the last may be shorter. An axis of length 0 gives none.
    ///
    /// # Errors
    /// An invalid argument: a section of 0, or an array without axes.
    ///
    /// ```
    /// use cuarray::Layout;
    ///
    /// let pieces = Layout::c_contiguous(&[7], 4)?.split(3)?;
    /// assert_eq!(pieces.iter().map(|piece| piece.offset).collect::<Vec<_>>(), [0, 12, 24]);
    /// assert_eq!(pieces[2].layout.shape(), &[1]);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn split(&self, section: usize) -> Result<Vec<View>> {
        let (Some(&length), Some(&stride)) = (self.shape().first(), self.strides().first()) else {
            return Err(Error::argument("an array without axes cannot be split"));
        };
        if section == 0 {
            return Err(Error::argument("cannot split into sections of 0; at least 1 is expected"));
        }
        let piece = |start: usize| {
            let mut shape = Dims::from(self.shape());
            shape[0] = section.min(length - start);
            let layout = Layout::from_parts(shape, Some(self.strides().into()), self.itemsize())?;
            Ok(View { offset: (start as isize).wrapping_mul(stride), layout })
        };
        (0..length).step_by(section).map(piece).collect()
    }

    /// A layout without gaps whose axes lie in the order in which these do, the slowest first; what NumPy makes with
    /// `empty_like`. A broadcast axis becomes a real one, a reversed one is turned round.
    ///
    /// ```
    /// use cuarray::Layout;
    ///
    /// let view = Layout::strided(&[2, 3, 4], &[8, 0, -16], 2)?;
    /// assert_eq!(view.packed()?.strides(), &[6, 2, 12]);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn packed(&self) -> Result<Layout> {
        if self.is_c_contiguous() || self.rank() <= 1 {
            return Layout::c_contiguous(self.shape(), self.itemsize());
        }
        if self.is_f_contiguous() {
            return Layout::f_contiguous(self.shape(), self.itemsize());
        }
        let mut axes: Dims = (0..self.rank()).collect();
        axes.sort_by_key(|&axis| std::cmp::Reverse(self.strides()[axis].unsigned_abs()));
        let mut strides: Strides = SmallVec::from_elem(0, self.rank());
        let mut step = self.itemsize() as isize;
        for &axis in axes.iter().rev() {
            strides[axis] = step;
            // The bytes of all elements, which the layout's shape has been checked for.
            step *= self.shape()[axis] as isize;
        }
        Layout::from_parts(self.shape().into(), Some(strides), self.itemsize())
    }

    /// Like [`Layout::packed`], but reversed axes stay reversed, so that a copy between the two has the fewest boxes. The offset
    /// is where the first element lies in the packed bytes.
    #[cfg(feature = "python")]
    pub(crate) fn packed_in_step(&self) -> Result<View> {
        let packed = self.packed()?;
        let mut offset = 0;
        let strides: Strides = (0..self.rank())
            .map(|axis| {
                let (length, step) = (packed.shape()[axis], packed.strides()[axis]);
                if self.strides()[axis] >= 0 {
                    return step;
                }
                // Within the packed extent; an empty array has no first element.
                offset += length.saturating_sub(1) as isize * step;
                -step
            })
            .collect();
        Ok(View { offset, layout: Layout::from_parts(packed.shape().into(), Some(strides), self.itemsize())? })
    }

    /// Whether two elements may share a byte. Exact for what slicing, transposing and broadcasting make of a dense array; for
    /// stranger strides it may say yes where the elements only interleave.
    ///
    /// ```
    /// use cuarray::Layout;
    ///
    /// assert!(!Layout::strided(&[3, 4], &[-40, 8], 4)?.may_overlap_itself());
    /// assert!(Layout::strided(&[3], &[0], 4)?.may_overlap_itself());
    /// // A window of three elements, moved by one.
    /// assert!(Layout::strided(&[8, 3], &[4, 4], 4)?.may_overlap_itself());
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn may_overlap_itself(&self) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut axes: SmallVec<[(usize, usize); 8]> = self
            .shape()
            .iter()
            .zip(self.strides())
            .filter(|(length, _)| **length != 1)
            .map(|(&length, stride)| (stride.unsigned_abs(), length))
            .collect();
        axes.sort_unstable();
        let mut taken = self.itemsize();
        for (step, length) in axes {
            if step < taken {
                return true;
            }
            // Within the extent, which the layout has been checked for.
            taken += step * (length - 1);
        }
        false
    }
}
