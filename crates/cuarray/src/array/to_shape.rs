//! [`DeviceArray::to_shape`]: another shape, with a copy on the device where no strides describe it.

use super::device_array::DeviceArray;
use crate::{
    Dimension, Element, IntoShape, IxDyn, Order, Result, View,
    copy::strided_copy::CopyPlan,
    driver::{
        copy::{CopyAddress, copy_planned},
        keep_with_graph,
    },
    sync,
};

impl<T: Element, D: Dimension> DeviceArray<T, D> {
    /// The elements in C order under another shape: in the same memory if strides describe them, and otherwise in a copy.
    ///
    /// The copy is made on the device, in the home stream, which is also the home stream of the result. The host does not wait.
    /// A transposed matrix takes a driver call for each row of the result.
    ///
    /// ```
    /// # use cuarray::DeviceArray;
    /// # cuarray::__simulated!(driver, context, stream);
    /// let matrix = DeviceArray::from_host(&[1u8, 2, 3, 4, 5, 6], [2, 3], &stream)?;
    /// assert_eq!(matrix.t().to_shape([6])?.to_host()?, [1, 4, 2, 5, 3, 6]); // `reshape` would be an error
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`](crate::Error::is_invalid_argument): the shape has another number of elements. If a copy is needed, as
    /// [`DeviceArray::empty`] and [`DeviceArray::acquire`].
    ///
    /// Driver API: [`cuMemcpy3DAsync`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
    pub fn to_shape<S: IntoShape>(&self, shape: S) -> Result<DeviceArray<T, S::Dim>> {
        let lengths: Vec<isize> = shape.lengths().iter().map(|&length| length as isize).collect();
        let raw = match self.layout().reshape(&lengths, Order::C)? {
            Some(layout) => self.as_raw().view(View { offset: 0, layout }, false)?,
            None => self.copied()?.as_raw().reshape(&lengths)?,
        };
        Ok(DeviceArray::from_checked(raw))
    }

    /// A copy of the elements in C order, with the same home stream.
    fn copied(&self) -> Result<DeviceArray<T, IxDyn>> {
        let stream = &self.work_stream();
        let mut copy = DeviceArray::<T, IxDyn>::empty(self.shape(), stream)?;
        let Some(plan) = CopyPlan::new(copy.layout(), self.layout())? else { return Ok(copy) };
        let (from, to) = (self.acquire(stream)?, copy.acquire_mut(stream)?);
        let context = stream.work_context()?;
        if sync::capture_of(stream)?.is_some() {
            let _current = context.push()?;
            keep_with_graph(stream, [from.core().keep(), to.core().keep()])?;
        }
        let (dst, src) = (CopyAddress::Device(to.data()), CopyAddress::Device(from.data()));
        // SAFETY: the addresses are those of the plan's layouts. Both arrays are live, and the guards order the work on them. A graph
        // keeps both.
        unsafe { copy_planned(&context, &plan, dst, src, Some(stream)) }?;
        from.release()?;
        to.release()?;
        Ok(copy)
    }
}
