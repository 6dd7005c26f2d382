//! Views: other layouts over the same bytes.
//!
//! Indexing, reshaping, and what is here (transposing, broadcasting, splitting, another item size): none of these moves an
//! element. Each is a little arithmetic on shape and strides, and a number of bytes by which the data pointer moves. These
//! files are that arithmetic and nothing else, so that it can be tested, value by value, against NumPy, whose rules it follows
//! to the letter: where an empty slice points, which strides an axis of length 1 gets, when a reshape needs no copy. A view
//! that exists stays within the bytes of what it is a view of, whatever the index was; an index that cannot be is an error.

use super::Tuple;
use crate::{Dims, Error, Layout, Result, Strides};
use smallvec::SmallVec;

/// A layout, and where it begins: bytes from the data pointer of what it is a view of.
///
/// ```
/// use cuarray::{Index, Layout, Slice};
///
/// let whole = Layout::c_contiguous(&[10, 4], 4)?;
/// let part = whole.index(&[Index::Slice(Slice { start: Some(2), stop: None, step: Some(3) })])?;
/// assert_eq!((part.offset, part.layout.shape()), (32, &[3, 4][..]));
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Bytes to add to the data pointer.
    pub offset: isize,
    /// Shape and strides of the view.
    pub layout: Layout,
}

impl Layout {
    /// The axes in another order; without one, reversed. Negative axes count from the end.
    ///
    /// # Errors
    /// An invalid argument: another number of axes than the array has, one that it has not, or one named twice.
    pub fn transpose(&self, axes: Option<&[isize]>) -> Result<Layout> {
        let axes: Dims = match axes {
            None => (0..self.ndim()).rev().collect(),
            Some(axes) => {
                if axes.len() != self.ndim() {
                    return Err(Error::argument(format!(
                        "axes {} do not match an array of {} dimensions; each is to be named once",
                        Tuple(axes),
                        self.ndim()
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
    #[doc(hidden)]
    pub fn squeeze(&self, axes: Option<&[isize]>) -> Result<Layout> {
        let drop: Dims = match axes {
            None => (0..self.ndim()).filter(|&axis| self.shape()[axis] == 1).collect(),
            Some(axes) => self.axes_of(axes)?,
        };
        if let Some(&axis) = drop.iter().find(|&&axis| self.shape()[axis] != 1) {
            return Err(Error::argument(format!(
                "cannot squeeze axis {axis} of shape {}: its length is {}, not 1",
                Tuple(self.shape()),
                self.shape()[axis]
            )));
        }
        let kept = || (0..self.ndim()).filter(|axis| !drop.contains(axis));
        let shape = kept().map(|axis| self.shape()[axis]).collect();
        let strides = kept().map(|axis| self.strides()[axis]).collect();
        Layout::from_parts(shape, Some(strides), self.itemsize())
    }

    /// Axes counted from the front, each named once.
    fn axes_of(&self, axes: &[isize]) -> Result<Dims> {
        let ndim = self.ndim() as isize;
        let mut found = Dims::new();
        for &axis in axes {
            if !(-ndim..ndim).contains(&axis) {
                return Err(Error::argument(format!(
                    "axis {axis} in {} is out of bounds for an array of {ndim} dimensions",
                    Tuple(axes)
                )));
            }
            let axis = axis.rem_euclid(ndim) as usize;
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
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Layout> {
        let refused = || {
            Error::argument(format!("cannot broadcast an array of shape {} to {}", Tuple(self.shape()), Tuple(shape)))
        };
        let added = shape.len().checked_sub(self.ndim()).ok_or_else(refused)?;
        let mut strides = Strides::repeat(0, added);
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
    #[doc(hidden)]
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
    #[doc(hidden)]
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
    #[doc(hidden)]
    pub fn packed(&self) -> Result<Layout> {
        if self.is_c_contiguous() || self.ndim() <= 1 {
            return Layout::c_contiguous(self.shape(), self.itemsize());
        }
        if self.is_f_contiguous() {
            return Layout::f_contiguous(self.shape(), self.itemsize());
        }
        let mut axes: Dims = (0..self.ndim()).collect();
        axes.sort_by_key(|&axis| std::cmp::Reverse(self.strides()[axis].unsigned_abs()));
        let mut strides = Strides::repeat(0, self.ndim());
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
        let strides: Strides = (0..self.ndim())
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
    #[doc(hidden)]
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
