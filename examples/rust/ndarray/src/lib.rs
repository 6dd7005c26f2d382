//! Copies ndarray arrays to and from device memory.

use cuarray::{Acquired, DeviceArray, Dimension as AnyDimension, Element, Error, Result, Stream};
use ndarray::{ArrayD, ArrayRef, Dimension, IxDyn};

/// Copies an array of any layout to device memory, in C order, with `stream` as the home stream. The host waits for the copy.
pub fn to_device<T: Element, D: Dimension>(array: &ArrayRef<T, D>, stream: &Stream) -> Result<DeviceArray<T>> {
    let host = array.as_standard_layout();
    let elements = host.as_slice().ok_or_else(|| Error::unsupported("the standard layout is one slice"))?;
    DeviceArray::from_host(elements, array.shape(), stream)
}

/// Copies an array of any strides to the host, after all pending work on it. The host waits for the copy.
pub fn to_host<T: Element, D: AnyDimension>(array: &Acquired<'_, T, D>) -> Result<ArrayD<T>> {
    ArrayD::from_shape_vec(IxDyn(array.layout().shape()), array.copy_to_host()?)
        .map_err(|error| Error::unsupported(error.to_string()))
}
