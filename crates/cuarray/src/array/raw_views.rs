//! Other layouts of a [`RawDeviceArray`] over the same memory: the untyped forms of [`DeviceArray`](crate::DeviceArray)'s methods.

use super::raw::RawDeviceArray;
use crate::{Error, Index, Layout, Order, Result, View, protocol::layout::Tuple};

impl RawDeviceArray {
    /// The elements that an index selects, in the same memory. Axes without an entry are kept completely.
    ///
    /// ```
    /// # cuarray::__simulated!(driver, context, stream);
    /// use cuarray::{DeviceArray, Index, RawDeviceArray};
    ///
    /// let table = DeviceArray::from_host(&[0u16, 1, 2, 3, 4, 5], [2, 3], &stream)?.into_raw();
    /// let row: RawDeviceArray = table.index(&[Index::At(-1)])?;
    /// assert_eq!(row.typed::<u16, cuarray::Ix1>()?.to_host()?, [3, 4, 5]);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Layout::index`].
    pub fn index(&self, index: &[Index]) -> Result<RawDeviceArray> {
        self.view(self.layout().index(index)?, false)
    }

    /// The array with its dimensions in the order of `axes`, or in reverse order, in the same memory.
    ///
    /// ```
    /// # cuarray::__simulated!(driver, context, stream);
    /// # use cuarray::DeviceArray;
    /// let table = DeviceArray::<u16, _>::zeros([2, 3, 4], &stream)?.into_raw();
    /// assert_eq!(table.transpose(None)?.layout().shape(), [4, 3, 2]);
    /// assert_eq!(table.transpose(Some(&[1, 0, 2]))?.layout().shape(), [3, 2, 4]);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: `axes` does not name each dimension once.
    pub fn transpose(&self, axes: Option<&[isize]>) -> Result<RawDeviceArray> {
        self.view(View { offset: 0, layout: self.layout().transpose(axes)? }, false)
    }

    /// The elements in C order under another shape, in the same memory. One length may be -1, and is then computed.
    ///
    /// ```
    /// # cuarray::__simulated!(driver, context, stream);
    /// # use cuarray::DeviceArray;
    /// let table = DeviceArray::<u16, _>::zeros([2, 3], &stream)?.into_raw();
    /// assert_eq!(table.reshape(&[3, -1])?.layout().shape(), [3, 2]);
    /// assert!(table.transpose(None)?.reshape(&[6]).unwrap_err().is_unsupported()); // needs a copy
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: the shape has another number of elements. [`Error::is_unsupported`]: no strides describe the
    /// elements under that shape without a copy.
    pub fn reshape(&self, shape: &[isize]) -> Result<RawDeviceArray> {
        match self.layout().reshape(shape, Order::C)? {
            Some(layout) => self.view(View { offset: 0, layout }, false),
            None => Err(Error::unsupported(format!(
                "an array of shape {} and strides {} cannot have the shape {} without a copy",
                Tuple(self.layout().shape()),
                Tuple(self.layout().strides()),
                Tuple(shape)
            ))),
        }
    }

    /// The array repeated to a larger shape by NumPy's rules, in the same memory. It is read-only, as several indices address one element.
    ///
    /// ```
    /// # cuarray::__simulated!(driver, context, stream);
    /// # use cuarray::DeviceArray;
    /// let row = DeviceArray::<u16, _>::zeros([3], &stream)?.into_raw();
    /// let mut table = row.broadcast(&[2, 3])?;
    /// assert_eq!(table.layout().strides(), [0, 2]);
    /// assert!(table.acquire_mut(&stream).is_err()); // read-only
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: the shapes are incompatible.
    pub fn broadcast(&self, shape: &[usize]) -> Result<RawDeviceArray> {
        self.view(View { offset: 0, layout: self.layout().broadcast_to(shape)? }, true)
    }

    /// Shape, strides and item size.
    pub fn layout(&self) -> &Layout {
        self.private_interface().layout()
    }
}
