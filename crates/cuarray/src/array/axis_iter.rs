//! Iterators over the parts of a [`DeviceArray`]: [`axis_iter`](DeviceArray::axis_iter) and [`rows`](DeviceArray::rows).

use super::device_array::DeviceArray;
use crate::{
    Dimension, Error, Index, Ix0, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6, IxDyn, Result, protocol::layout::index::place_within,
};

/// A number of dimensions that has a smaller one: [`Ix1`] to [`Ix6`], or [`IxDyn`].
///
/// ```
/// use cuarray::{DeviceArray, RemoveAxis, Result};
///
/// /// The part at the start of the first dimension.
/// fn first<T, D: RemoveAxis>(array: &DeviceArray<T, D>) -> Result<Option<DeviceArray<T, D::Smaller>>> {
///     Ok(array.axis_iter(0)?.next())
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "no dimension can be removed from `{Self}`",
    note = "arrays of one to six dimensions and of `IxDyn` have parts along a dimension; see `DeviceArray::into_dimensionality`"
)]
pub trait RemoveAxis: Dimension {
    /// One dimension less.
    type Smaller: Dimension;
}

macro_rules! remove_axis {
    ($($of:ty => $smaller:ty),*) => {$(
        impl RemoveAxis for $of {
            type Smaller = $smaller;
        }
    )*};
}
remove_axis! { Ix1 => Ix0, Ix2 => Ix1, Ix3 => Ix2, Ix4 => Ix3, Ix5 => Ix4, Ix6 => Ix5, IxDyn => IxDyn }

impl<T, D: Dimension> DeviceArray<T, D> {
    /// The parts along a dimension, in the same memory: that at index 0, at index 1 and so on. A negative dimension counts from the end.
    ///
    /// ```
    /// # use cuarray::DeviceArray;
    /// # cuarray::__simulated!(driver, context, stream);
    /// let matrix = DeviceArray::from_host(&[1i32, 2, 3, 4, 5, 6], [2, 3], &stream)?;
    /// let mut columns = matrix.axis_iter(1)?;
    /// assert_eq!(columns.len(), 3);
    /// assert_eq!(columns.next_back().unwrap().to_host()?, [3, 6]);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_out_of_bounds`]: the array does not have this dimension.
    pub fn axis_iter(
        &self,
        axis: isize,
    ) -> Result<impl ExactSizeIterator<Item = DeviceArray<T, D::Smaller>> + DoubleEndedIterator + use<'_, T, D>>
    where
        D: RemoveAxis,
    {
        let Some(axis) = place_within(axis, self.ndim()) else {
            return Err(Error::out_of_bounds(format!("the array has {} dimensions, and not {axis}", self.ndim())));
        };
        let all = Index::Slice(crate::Slice { start: None, stop: None, step: None });
        let part = move |at: usize| {
            let mut index = vec![all; axis];
            index.push(Index::At(at as isize));
            self.part(&index)
        };
        Ok((0..self.shape()[axis]).map(part))
    }

    /// The rows, in C order and in the same memory: the parts along the last dimension. An array without dimensions is one row of one
    /// element.
    ///
    /// ```
    /// # use cuarray::DeviceArray;
    /// # cuarray::__simulated!(driver, context, stream);
    /// let matrix = DeviceArray::from_host(&[1i32, 2, 3, 4, 5, 6], [2, 3], &stream)?;
    /// let sums: Vec<i32> = matrix.rows().map(|row| Ok(row.to_host()?.iter().sum())).collect::<cuarray::Result<_>>()?;
    /// assert_eq!(sums, [6, 15]);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn rows(&self) -> impl ExactSizeIterator<Item = DeviceArray<T, Ix1>> + DoubleEndedIterator + use<'_, T, D> {
        let outer = self.shape().split_last().map_or(&[][..], |(_, outer)| outer);
        // Elements without bytes can have more rows than any program visits.
        let count = outer.iter().fold(1, |count: usize, &length| count.saturating_mul(length));
        (0..count).map(move |row| {
            let mut rest = row;
            let mut index: Vec<Index> = Vec::with_capacity(outer.len().max(1));
            for &length in outer.iter().rev() {
                index.push(Index::At((rest % length) as isize));
                rest /= length;
            }
            index.reverse();
            if self.ndim() == 0 {
                index.push(Index::NewAxis);
            }
            self.part(&index)
        })
    }

    /// The elements of an index that lies within the array.
    fn part<E: Dimension>(&self, index: &[Index]) -> DeviceArray<T, E> {
        let raw = self.as_raw();
        // A part covers some of the array's bytes, so `index` cannot fail.
        DeviceArray::from_checked(raw.index(index).unwrap_or_else(|_| raw.clone()))
    }
}
