//! Reshaping: the same elements, in the same order, in another shape.
//!
//! A reshape pairs groups of old axes with groups of new axes that have equal numbers of elements. Elements can stay in
//! place if the old axes of each group are contiguous with each other. Otherwise a copy is needed, and these functions
//! return `None`; the caller decides whether to copy.

use super::Tuple;
use crate::{Dims, Error, Layout, Result, Strides};
use smallvec::SmallVec;

/// The order in which a reshape counts elements.
///
/// ```
/// use cuarray::{Layout, Order};
///
/// let rows = Layout::c_contiguous(&[2, 3], 4)?;
/// assert_eq!(rows.reshape(&[6], Order::C)?.map(|flat| flat.strides()[0]), Some(4)); // without a copy
/// assert_eq!(rows.reshape(&[6], Order::F)?, None); // needs a copy
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// C order: the last axis is the fastest.
    #[default]
    C,
    /// Fortran order: the first axis is the fastest.
    F,
}

impl Layout {
    /// Arranges the elements in another shape, counted in `order` in both shapes. One length may be -1 and is computed from the
    /// others. Returns `None` if no strides can express the new shape, so that a copy is needed.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: another number of elements, several lengths of -1, or another negative length.
    pub fn reshape(&self, shape: &[isize], order: Order) -> Result<Option<Layout>> {
        if shape.len() == self.ndim() && shape.iter().zip(self.shape()).all(|(&new, &old)| new == old as isize) {
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

    /// Replaces the length -1 in a shape.
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
                    let why = format!(
                        "only one length of {} can be -1, because it is computed from the others",
                        Tuple(shape)
                    );
                    return Err(Error::argument(why));
                }
                -1 => unknown = Some(axis),
                ..0 => {
                    let why = format!("{length} in the shape {} is not a length; at least 0 is expected", Tuple(shape));
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

    /// Strides for `shape`, which has the same number of elements, at least one. `None` if the old axes of a group
    /// are not contiguous with each other.
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
            // Takes the smallest groups with equal numbers of elements. The totals are equal, so such groups exist.
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
        // Only axes of length 1 are left. Any stride is valid for them; these strides are NumPy's.
        let beside = strides.last().copied().unwrap_or(self.itemsize() as isize);
        let last = match (order, next_new) {
            (Order::F, 1..) => beside.wrapping_mul(shape[next_new - 1] as isize),
            _ => beside,
        };
        strides.resize(shape.len(), last);
        Some(strides)
    }
}
