//! Views: other layouts over the same bytes.
//!
//! Indexing, reshaping, and the functions here (transposing, broadcasting, splitting, another item size) move no element. Each
//! computes new shape and strides and an offset for the data pointer. This is pure arithmetic, so tests compare the results
//! with NumPy's value by value. The results include the offset of an empty slice, the strides of axes of length 1, and the
//! reshapes that need no copy. A view never leaves the bytes of its base; an impossible index is an error.

use super::Tuple;
use crate::{Dims, Error, Layout, Result, Strides};
use smallvec::SmallVec;

/// A layout and its offset in bytes from the data pointer of the base.
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
    /// Permutes the axes; `None` reverses them. Negative axes count from the end.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: a wrong number of axes, an axis that the array lacks, or an axis named twice.
    pub fn transpose(&self, axes: Option<&[isize]>) -> Result<Layout> {
        let axes: Dims = match axes {
            None => (0..self.ndim()).rev().collect(),
            Some(axes) => {
                if axes.len() != self.ndim() {
                    return Err(Error::argument(format!(
                        "axes {} do not match an array of {} dimensions; each axis must be named once",
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

    /// Drops axes of length 1: all of them, or the given axes.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: an axis that the array lacks, that is named twice, or whose length is not 1.
    pub(crate) fn squeeze(&self, axes: Option<&[isize]>) -> Result<Layout> {
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

    /// Converts axes to non-negative numbers, and checks that no axis is repeated.
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

    /// Repeats the elements along the axes of a larger shape, with strides of 0.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: with the shapes aligned at their last axes, a length of this layout is neither 1
    /// nor that of `shape`.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Layout> {
        let refused = || {
            Error::argument(format!("cannot broadcast an array of shape {} to {}", Tuple(self.shape()), Tuple(shape)))
        };
        let added = shape.len().checked_sub(self.ndim()).ok_or_else(refused)?;
        let mut strides = Strides::repeat(0, added);
        for ((&old, &stride), &new) in self.shape().iter().zip(self.strides()).zip(&shape[added..]) {
            match old {
                // A repeated axis gets stride 0, whatever stride the axis had before.
                1 if new != 1 => strides.push(0),
                _ if old == new => strides.push(stride),
                _ => return Err(refused()),
            }
        }
        Layout::from_parts(shape.into(), Some(strides), self.itemsize())
    }

    /// Reads the same bytes as elements of another size. The last axis changes its length by the inverse factor.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`], if the size changes: there is no last axis, it is not contiguous, or its bytes are not a
    /// whole number of new elements.
    pub(crate) fn with_itemsize(&self, itemsize: usize) -> Result<Layout> {
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
            // The product may overflow for an empty array with a huge axis.
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

    /// Splits the first axis into sections of `section` elements; the last may be shorter. An axis of length 0 gives no sections.
    ///
    /// The sections are made one by one: an axis with a stride of 0 may be longer than any memory.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: a section of 0, or an array without axes.
    pub(crate) fn split(&self, section: usize) -> Result<impl ExactSizeIterator<Item = Result<View>> + '_> {
        let (Some(&length), Some(&stride)) = (self.shape().first(), self.strides().first()) else {
            return Err(Error::argument("an array without axes cannot be split"));
        };
        if section == 0 {
            return Err(Error::argument("cannot split into sections of 0; at least 1 is expected"));
        }
        Ok((0..length).step_by(section).map(move |start| {
            let mut shape = Dims::from(self.shape());
            shape[0] = section.min(length - start);
            let layout = Layout::from_parts(shape, Some(self.strides().into()), self.itemsize())?;
            Ok(View { offset: (start as isize).wrapping_mul(stride), layout })
        }))
    }

    /// A layout without gaps with the same order of axes, from the slowest to the fastest, as in NumPy's
    /// `empty_like`. Axes with stride 0 get their own memory, and reversed axes become forward ones.
    pub(crate) fn packed(&self) -> Result<Layout> {
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
            // The constructor has checked the byte count of the shape.
            step *= self.shape()[axis] as isize;
        }
        Layout::from_parts(self.shape().into(), Some(strides), self.itemsize())
    }

    /// Like [`Layout::packed`], but reversed axes stay reversed, so that a copy between the two layouts needs the fewest driver
    /// calls. The offset is that of the first element in the packed bytes.
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
                // Stays within the packed extent; an empty array has no first element.
                offset += length.saturating_sub(1) as isize * step;
                -step
            })
            .collect();
        Ok(View { offset, layout: Layout::from_parts(packed.shape().into(), Some(strides), self.itemsize())? })
    }

    /// Whether two elements may share a byte. Exact for slices, transposes and broadcasts of a dense array. For other strides it
    /// may return true if the elements only interleave.
    pub(crate) fn may_overlap_itself(&self) -> bool {
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
            // Stays within the extent, which the constructor has checked.
            taken += step * (length - 1);
        }
        false
    }
}
