//! Conversions to and from the arrays of the crate `ndarray` (feature `ndarray`).

use super::{
    device_array::DeviceArray,
    guard::{Acquired, AcquiredMut, Scope, element_strides},
    pinned::PinnedArray,
    view::expect_ndim,
};
use crate::{Dimension, Element, Error, IntoShape, Ix, IxDyn, Layout, Result, Stream, View};
use ndarray::{Array, ArrayD, ArrayRef, ArrayView, ArrayViewMut, Dim, ShapeBuilder, ShapeError, StrideShape};
use std::ops::Range;

/// A number of dimensions that this crate and ndarray have, as a type of either: `Ix0` to `Ix6`, and `IxDyn`.
///
/// ```
/// use cuarray::NdarrayDimension;
///
/// type Host = <cuarray::Ix2 as NdarrayDimension>::Host; // ndarray::Ix2
/// type Device = <ndarray::Ix2 as NdarrayDimension>::Device; // cuarray::Ix2
/// # let (_, _): (Host, Device) = (ndarray::Dim([2, 3]), cuarray::Ix2::default());
/// ```
pub trait NdarrayDimension: sealed::Sealed {
    /// The type of ndarray.
    type Host: ndarray::Dimension;
    /// The type of this crate.
    type Device: Dimension;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! equivalents {
    ($($device:ty => $host:ty),*) => {$(
        impl sealed::Sealed for $device {}
        impl NdarrayDimension for $device {
            type Host = $host;
            type Device = $device;
        }
        impl sealed::Sealed for $host {}
        impl NdarrayDimension for $host {
            type Host = $host;
            type Device = $device;
        }
    )*};
}

equivalents!(
    Ix<0> => Dim<[usize; 0]>,
    Ix<1> => Dim<[usize; 1]>,
    Ix<2> => Dim<[usize; 2]>,
    Ix<3> => Dim<[usize; 3]>,
    Ix<4> => Dim<[usize; 4]>,
    Ix<5> => Dim<[usize; 5]>,
    Ix<6> => Dim<[usize; 6]>,
    IxDyn => ndarray::IxDyn
);

impl<T: Element, D: Dimension> DeviceArray<T, D> {
    /// Creates an array in C order from an array of ndarray in any layout, with the home stream `stream`. The host waits for the copy.
    ///
    /// An array in another order is put into C order on the host first.
    ///
    /// ```
    /// # cuarray::__simulated!(driver, context, stream);
    /// use cuarray::DeviceArray;
    /// use ndarray::{array, s};
    ///
    /// let host = array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    /// let device = DeviceArray::from_ndarray(&host.slice(s![.., ..;-2]), &stream)?; // a DeviceArray<f32, cuarray::Ix2>
    /// assert_eq!(device.to_host()?, [3.0, 1.0, 6.0, 4.0]);
    /// assert_eq!(device.t().to_ndarray()?, array![[3.0, 6.0], [1.0, 4.0]]);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`DeviceArray::empty`].
    ///
    /// Driver API: [`cuMemcpyHtoDAsync`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
    pub fn from_ndarray<E>(array: &ArrayRef<T, E>, stream: &Stream) -> Result<DeviceArray<T, D>>
    where
        E: ndarray::Dimension + NdarrayDimension<Device = D>,
    {
        let in_c_order = array.as_standard_layout();
        // An array in C order is one slice.
        let elements = in_c_order.as_slice().unwrap_or_default();
        DeviceArray::from_host(elements, array.shape(), stream)?.into_dimensionality()
    }

    /// Copies the elements to the host, into an array of ndarray in C order. The host waits for the work on the array and for the copy.
    ///
    /// # Errors
    /// As [`DeviceArray::to_host`]. [`Error::is_unsupported`]: elements without bytes, more of them than ndarray permits.
    ///
    /// Driver API: [`cuMemcpyDtoHAsync`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
    pub fn to_ndarray(&self) -> Result<Array<T, D::Host>>
    where
        D: NdarrayDimension,
    {
        owned(self.layout(), self.to_host()?)
    }
}

macro_rules! copies_to_host {
    ($($guard:ident),*) => {$(
        impl<T: Element, D: Dimension + NdarrayDimension, S: Scope> $guard<'_, T, D, S> {
            /// Copies the elements to the host, in the guard's stream, into an array of ndarray in C order. The host waits.
            ///
            /// # Errors
            /// As [`copy_to_host`](Self::copy_to_host). [`Error::is_unsupported`]: elements without bytes, more of them than ndarray permits.
            ///
            /// Driver API: [`cuMemcpyDtoHAsync`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
            pub fn copy_to_ndarray(&self) -> Result<Array<T, D::Host>> {
                owned(self.layout(), self.copy_to_host()?)
            }
        }
    )*};
}

copies_to_host!(Acquired, AcquiredMut);

impl<T: Element> PinnedArray<T> {
    /// All elements as a view of ndarray, in C order.
    ///
    /// ```
    /// # cuarray::__simulated!(driver, context, stream);
    /// use cuarray::{DeviceArray, PinnedArray};
    /// use ndarray::array;
    ///
    /// let device = DeviceArray::from_ndarray(&array![[1u8, 2], [3, 4]], &stream)?;
    /// let copy = device.with(&stream, |guard| guard.copy_to_pinned(PinnedArray::zeros(4, &context)?))?;
    /// let mut host = copy.wait()?;
    /// assert_eq!(host.as_ndarray([2, 2])?.row(1), array![3, 4]);
    /// host.as_ndarray_mut([4])?.fill(0);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: the shape has another number of elements.
    pub fn as_ndarray<S>(&self, shape: S) -> Result<ArrayView<'_, T, <S::Dim as NdarrayDimension>::Host>>
    where
        S: IntoShape,
        S::Dim: NdarrayDimension,
    {
        self.as_ndarray_strided::<S::Dim>(&self.all(shape.lengths())?)
    }

    /// All elements as a mutable view of ndarray, in C order.
    ///
    /// # Errors
    /// As [`as_ndarray`](Self::as_ndarray).
    pub fn as_ndarray_mut<S>(&mut self, shape: S) -> Result<ArrayViewMut<'_, T, <S::Dim as NdarrayDimension>::Host>>
    where
        S: IntoShape,
        S::Dim: NdarrayDimension,
    {
        let all = self.all(shape.lengths())?;
        self.as_ndarray_strided_mut::<S::Dim>(&all)
    }

    /// The elements of a layout as a view of ndarray. Strides may be negative or zero. The offset counts from the first element.
    ///
    /// ```
    /// # cuarray::__simulated!(driver, context, stream);
    /// use cuarray::{Ix2, Layout, PinnedArray, View};
    /// use ndarray::array;
    ///
    /// let host = PinnedArray::from_slice(&[1u16, 2, 3, 4], &context)?;
    /// let reversed = View { offset: 6, layout: Layout::strided(&[2, 2], &[-4, -2], 2)? }; // in bytes
    /// assert_eq!(host.as_ndarray_strided::<Ix2>(&reversed)?, array![[4, 3], [2, 1]]);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: the item size is not that of the elements, or the layout reaches outside of the array.
    /// [`Error::is_unsupported`]: the number of dimensions differs; the offset or a stride is no multiple of the item size, which ndarray
    /// cannot express.
    pub fn as_ndarray_strided<D>(&self, view: &View) -> Result<ArrayView<'_, T, D::Host>>
    where
        D: Dimension + NdarrayDimension,
    {
        let (elements, shape) = self.placed::<D>(view)?;
        let view = ArrayView::from_shape(shape, &self[elements]).map_err(refused)?;
        view.into_dimensionality().map_err(refused)
    }

    /// The elements of a layout as a mutable view of ndarray.
    ///
    /// # Errors
    /// As [`as_ndarray_strided`](Self::as_ndarray_strided). [`Error::is_unsupported`]: elements share memory, or ndarray does not see that they
    /// only interleave.
    pub fn as_ndarray_strided_mut<D>(&mut self, view: &View) -> Result<ArrayViewMut<'_, T, D::Host>>
    where
        D: Dimension + NdarrayDimension,
    {
        let (elements, shape) = self.placed::<D>(view)?;
        let view = ArrayViewMut::from_shape(shape, &mut self[elements]).map_err(refused)?;
        view.into_dimensionality().map_err(refused)
    }

    /// The layout of all elements.
    fn all(&self, shape: &[usize]) -> Result<View> {
        let layout = Layout::c_contiguous(shape, size_of::<T>()).map_err(Error::into_argument)?;
        if layout.len() != self.len() {
            return Err(Error::argument(format!(
                "the shape has {} elements, and the array has {}",
                layout.len(),
                self.len()
            )));
        }
        Ok(View { offset: 0, layout })
    }

    /// The elements from the lowest to the highest of a view, and their shape and strides for ndarray.
    fn placed<D: Dimension>(
        &self,
        View { offset, layout }: &View,
    ) -> Result<(Range<usize>, StrideShape<ndarray::IxDyn>)> {
        expect_ndim::<D>(layout)?;
        if layout.itemsize() != size_of::<T>() {
            return Err(Error::argument(format!(
                "the layout has items of {} bytes, and an element has {}",
                layout.itemsize(),
                size_of::<T>()
            )));
        }
        let shape = ndarray::IxDyn(layout.shape());
        // Without bytes, no stride is used.
        if layout.nbytes() == 0 {
            return Ok((0..layout.len().min(self.len()), shape.into()));
        }
        let Range { start, end } = layout.byte_extent();
        let bytes = [start, end].map(|side| offset.checked_add(side).and_then(|side| usize::try_from(side).ok()));
        let [Some(start), Some(end)] = bytes.map(|side| side.filter(|&side| side <= size_of_val(&**self))) else {
            return Err(Error::argument(format!(
                "the layout reaches outside of the {} bytes of the array",
                size_of_val(&**self)
            )));
        };
        let strides = element_strides(layout)?;
        if start % size_of::<T>() != 0 {
            return Err(Error::unsupported(format!(
                "the offset {offset} is no multiple of the item size, {} bytes; whole elements are expected",
                size_of::<T>()
            )));
        }
        // ndarray stores a negative stride in two's complement.
        let strides: Vec<usize> = strides.iter().map(|&stride| stride as usize).collect();
        Ok((start / size_of::<T>()..end / size_of::<T>(), shape.strides(ndarray::IxDyn(&strides))))
    }
}

fn owned<T, E: ndarray::Dimension>(layout: &Layout, elements: Vec<T>) -> Result<Array<T, E>> {
    let array = ArrayD::from_shape_vec(layout.shape(), elements).map_err(refused)?;
    array.into_dimensionality().map_err(refused)
}

/// The error for a layout that ndarray refuses.
#[cold]
fn refused(error: ShapeError) -> Error {
    Error::unsupported(format!("ndarray cannot express the layout: {error}"))
}
