//! [`DeviceArray`]: an owned, typed array in device memory.

use super::{
    guard::{Acquired, AcquiredMut},
    raw::RawDeviceArray,
};
use crate::{
    AnyLayout, Dimension, Element, Error, Interface, IntoShape, IxDyn, Layout, Result, SliceArg, TypeStr,
    array::{
        host_copy,
        view::{expect_shape, is_of, wrong_type},
    },
    driver::{Allocation, Stream, fill::fill_bytes, keep_with_graph},
    protocol::typestr::Kind,
    sync::{self, Access, Memory},
};
use std::{marker::PhantomData, slice, sync::Arc};

/// An array of `T` in device memory, with the number of dimensions `D`.
///
/// The names are those of ndarray. Clones, slices and other views share the memory. It is freed when the last of them is dropped and the
/// work on it is done. A guard's acquisition checks aliasing at run time: the same elements may have several readers or one writer.
///
/// Work on an array is ordered in its home stream. Work in another stream is ordered by a guard, from [`acquire`](Self::acquire) or
/// [`acquire_mut`](Self::acquire_mut).
///
/// ```
/// use cuarray::{DeviceArray, Stream, s};
///
/// # cuarray::__simulated!(driver, context, home);
/// let mut matrix = DeviceArray::from_host(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3], &home)?;
/// assert_eq!(matrix.slice(s![.., 1])?.to_host()?, [2.0, 5.0]);
/// assert_eq!(matrix.t().shape(), [3, 2]);
///
/// let other = Stream::non_blocking(&context)?;
/// let mut guard = matrix.acquire_mut(&other)?; // work in `other` is ordered after the work in `home`
/// // ... launch kernels in `other` with `&mut guard` as an argument ...
/// guard.copy_from_host(&[0.0; 6])?;
/// guard.release()?; // later work in `home` is ordered after the work in `other`
/// assert_eq!(matrix.to_host()?, [0.0; 6]);
/// # Ok::<(), cuarray::Error>(())
/// ```
pub struct DeviceArray<T, D: Dimension = IxDyn> {
    raw: RawDeviceArray,
    kind: PhantomData<fn() -> (T, D)>,
}

impl RawDeviceArray {
    /// Checks the element type and the number of dimensions, and converts to the typed array.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: the element type or the number of dimensions differs.
    pub fn typed<T: Element, D: Dimension>(self) -> Result<DeviceArray<T, D>> {
        let interface = self.private_interface();
        if !is_of::<T>(interface) {
            return Err(wrong_type::<T>(interface));
        }
        expect_shape::<D, AnyLayout>(interface)?;
        Ok(DeviceArray::from_checked(self))
    }
}

// The bounds are on the functions: for a bound on the block, the compiler does not print the advice of `Element`.
impl<T, D: Dimension> DeviceArray<T, D> {
    /// Creates an array of uninitialized elements in C order, with the home stream `stream`.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: the array is larger than the address space. Errors of the driver, such as out of memory.
    pub fn empty(shape: impl IntoShape<Dim = D>, stream: &Stream) -> Result<DeviceArray<T, D>>
    where
        T: Element,
    {
        let layout = Layout::c_contiguous(shape.lengths(), size_of::<T>()).map_err(Error::into_argument)?;
        let context = stream.work_context()?;
        let memory = Memory::new(&context, || Allocation::device(&context, layout.nbytes()))?;
        let interface = Interface::new(memory.allocation().device_ptr(), TypeStr::of::<T>(), layout)?;
        let interface = match T::descr() {
            Some(descr) => interface.with_descr(descr)?,
            None => interface,
        };
        RawDeviceArray::from_memory(Arc::new(memory), interface, Some(stream)).map(DeviceArray::from_checked)
    }

    /// Creates an array whose bytes are all zero.
    ///
    /// # Errors
    /// As [`DeviceArray::empty`].
    pub fn zeros(shape: impl IntoShape<Dim = D>, stream: &Stream) -> Result<DeviceArray<T, D>>
    where
        T: Element,
    {
        let mut array = DeviceArray::empty(shape, stream)?;
        array.fill(&[0], array.layout().nbytes(), stream)?;
        Ok(array)
    }

    /// Creates an array of equal elements.
    ///
    /// The driver fills in elements of 1, 2 or 4 bytes. Larger elements are copied from the host, which waits for the copy.
    ///
    /// # Errors
    /// As [`DeviceArray::empty`].
    pub fn full(shape: impl IntoShape<Dim = D>, value: T, stream: &Stream) -> Result<DeviceArray<T, D>>
    where
        T: Element,
    {
        let mut array = DeviceArray::empty(shape, stream)?;
        let bytes = (&raw const value).cast::<u8>();
        match size_of::<T>() {
            size @ (1 | 2 | 4) if T::TYPESTR.kind() != Kind::Void => {
                // SAFETY: a number of this size has no padding, so all of its bytes are initialized.
                let element = unsafe { slice::from_raw_parts(bytes, size) };
                array.fill(element, array.len(), stream)?;
            }
            _ => {
                let elements = host_copy::repeated(value, array.len())?;
                array.acquire_mut(stream)?.copy_from_host(&elements)?;
            }
        }
        Ok(array)
    }

    /// Fills the memory of a new array.
    fn fill(&mut self, element: &[u8], count: usize, stream: &Stream) -> Result<()> {
        let guard = self.acquire_mut(stream)?;
        let stream = guard.stream();
        let context = stream.work_context()?;
        if sync::capture_of(stream)?.is_some() {
            let _current = context.push()?;
            keep_with_graph(stream, guard.core().keep())?;
        }
        // SAFETY: the array has this many bytes, without gaps, and keeps them until the work in its home stream is done. A graph keeps the
        // array.
        unsafe { fill_bytes(&context, guard.data(), element, count, Some(stream)) }?;
        guard.release()
    }

    /// Creates an array from a slice of elements in C order. The host waits for the copy.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: the shape has another number of elements. As [`DeviceArray::empty`].
    pub fn from_host(elements: &[T], shape: impl IntoShape<Dim = D>, stream: &Stream) -> Result<DeviceArray<T, D>>
    where
        T: Element,
    {
        let mut array = DeviceArray::empty(shape, stream)?;
        array.acquire_mut(stream)?.copy_from_host(elements)?;
        Ok(array)
    }

    /// Copies the elements to the host in C order. The host waits for the work on the array and for the copy.
    ///
    /// # Errors
    /// As [`DeviceArray::acquire`].
    pub fn to_host(&self) -> Result<Vec<T>>
    where
        T: Element,
    {
        self.acquire(&self.work_stream())?.copy_to_host()
    }
}

impl<T, D: Dimension> DeviceArray<T, D> {
    /// The home stream, or the legacy default stream of the memory's context.
    pub(super) fn work_stream(&self) -> Stream {
        self.home_stream().cloned().unwrap_or_else(|| Stream::legacy_default(self.raw.context()))
    }

    /// An array whose element type and number of dimensions have been checked.
    pub(super) fn from_checked(raw: RawDeviceArray) -> DeviceArray<T, D> {
        DeviceArray { raw, kind: PhantomData }
    }

    /// Orders work in `stream` that reads the array: after the work already enqueued on it, and before later work.
    ///
    /// # Errors
    /// [`Error::is_already_acquired`]: a live guard writes some of the elements. [`Error::is_unsupported`]: one stream captures and the
    /// other does not take part. Errors of the driver.
    pub fn acquire<'v>(&'v self, stream: &'v Stream) -> Result<Acquired<'v, T, D>> {
        self.raw.read(stream)
    }

    /// Orders work in `stream` that writes the array.
    ///
    /// # Errors
    /// [`Error::is_already_acquired`]: a live guard reads or writes some of the elements. [`Error::is_unsupported`]: the array is read-only, or
    /// one stream captures and the other does not take part. Errors of the driver.
    pub fn acquire_mut<'v>(&'v mut self, stream: &'v Stream) -> Result<AcquiredMut<'v, T, D>> {
        self.raw.write(stream)
    }

    /// Runs `work` with a guard of [`acquire`](Self::acquire), and releases the guard when `work` has returned or panicked.
    ///
    /// # Errors
    /// As [`DeviceArray::acquire`], those of `work`, and those of the release.
    pub fn with<R>(&self, stream: &Stream, work: impl FnOnce(&Acquired<'_, T, D>) -> Result<R>) -> Result<R> {
        self.acquire(stream)?.scoped(|guard| work(guard))
    }

    /// Runs `work` with a guard of [`acquire_mut`](Self::acquire_mut), and releases the guard when `work` has
    /// returned or panicked.
    ///
    /// ```
    /// # use cuarray::{DeviceArray, Stream};
    /// # cuarray::__simulated!(driver, context, home);
    /// let mut array = DeviceArray::zeros([3], &home)?;
    /// let other = Stream::non_blocking(&context)?;
    /// array.with_mut(&other, |guard| guard.copy_from_host(&[1.0f32, 2.0, 3.0]))?; // `home` waits for the copy
    /// assert_eq!(array.to_host()?, [1.0, 2.0, 3.0]);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`DeviceArray::acquire_mut`], those of `work`, and those of the release.
    pub fn with_mut<R>(
        &mut self,
        stream: &Stream,
        work: impl FnOnce(&mut AcquiredMut<'_, T, D>) -> Result<R>,
    ) -> Result<R> {
        self.acquire_mut(stream)?.scoped(work)
    }

    /// The number of dimensions.
    pub fn ndim(&self) -> usize {
        self.layout().ndim()
    }

    /// The length of each dimension.
    pub fn shape(&self) -> &[usize] {
        self.layout().shape()
    }

    /// The distance between elements in each dimension, in *bytes*.
    pub fn strides(&self) -> &[isize] {
        self.layout().strides()
    }

    /// Shape, strides and item size.
    pub fn layout(&self) -> &Layout {
        self.raw.private_interface().layout()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.layout().len()
    }

    /// Whether the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.layout().is_empty()
    }

    /// The home stream, in which work on the array is ordered.
    pub fn home_stream(&self) -> Option<&Stream> {
        self.raw.home_stream()
    }

    /// The shape, strides, element type, address and home stream, as other libraries read them.
    pub fn interface(&self) -> &Interface {
        self.raw.interface()
    }

    /// Records work on the array that was enqueued in `stream` without a guard, such as a kernel of another library. Later work on the array
    /// is ordered after it, and so is the release of the memory.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn record_stream(&self, stream: &Stream, access: Access) -> Result<()> {
        self.raw.record_stream(stream, access)
    }

    /// The elements selected by the indices of [`s!`](crate::s), in the same memory.
    ///
    /// # Errors
    /// [`Error::is_out_of_bounds`]: an index is outside of its dimension. [`Error::is_unsupported`]: `s!` has another number of indices than the
    /// array has dimensions.
    pub fn slice<const N: usize, E: Dimension>(&self, indices: SliceArg<N, E>) -> Result<DeviceArray<T, E>> {
        let raw = self.raw.index(indices.as_ref())?;
        expect_shape::<E, crate::AnyLayout>(raw.private_interface())?;
        Ok(DeviceArray::from_checked(raw))
    }

    /// The array with its dimensions in reverse order, in the same memory.
    #[must_use]
    pub fn t(&self) -> DeviceArray<T, D> {
        // A permutation of the strides covers the same bytes, so `transpose` cannot fail.
        self.transpose(None).unwrap_or_else(|_| self.clone())
    }

    /// The array with its dimensions in the order of `axes`, or in reverse order, in the same memory.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: `axes` does not name each dimension once.
    pub fn transpose(&self, axes: Option<&[isize]>) -> Result<DeviceArray<T, D>> {
        self.raw.transpose(axes).map(DeviceArray::from_checked)
    }

    /// The elements in C order under another shape, in the same memory.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: the shape has another number of elements. [`Error::is_unsupported`]: no strides describe the elements under
    /// that shape without a copy, see [`to_shape`](Self::to_shape).
    pub fn reshape<S: IntoShape>(&self, shape: S) -> Result<DeviceArray<T, S::Dim>> {
        let lengths: Vec<isize> = shape.lengths().iter().map(|&length| length as isize).collect();
        self.raw.reshape(&lengths).map(DeviceArray::from_checked)
    }

    /// The array repeated to a larger shape by NumPy's rules, in the same memory. It is read-only, as several indices address one element.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: the shapes are incompatible.
    pub fn broadcast<S: IntoShape>(&self, shape: S) -> Result<DeviceArray<T, S::Dim>> {
        self.raw.broadcast(shape.lengths()).map(DeviceArray::from_checked)
    }

    /// Converts to another type for the number of dimensions.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: the array has another number of dimensions.
    pub fn into_dimensionality<E: Dimension>(self) -> Result<DeviceArray<T, E>> {
        expect_shape::<E, crate::AnyLayout>(self.raw.private_interface())?;
        Ok(DeviceArray::from_checked(self.raw))
    }

    /// The untyped array.
    pub fn as_raw(&self) -> &RawDeviceArray {
        &self.raw
    }

    /// Converts into the untyped array.
    pub fn into_raw(self) -> RawDeviceArray {
        self.raw
    }
}

impl<T, D: Dimension> Clone for DeviceArray<T, D> {
    fn clone(&self) -> Self {
        DeviceArray::from_checked(self.raw.clone())
    }
}

const _: () = {
    const fn shareable<T: Send + Sync + 'static>() {}
    shareable::<DeviceArray<f32>>();
};
