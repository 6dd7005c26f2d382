//! [`PinnedArray`]: an array in page-locked host memory, and [`PinnedCopy`], which has the array while the driver copies it.
//!
//! A copy in a stream runs after the call that enqueues it, so nothing may use the host memory until then. The copy takes the array by
//! value. An event records its end, and the array is returned when that event is done. This needs no destructor: a leaked copy leaks the
//! array. The other side of the copy is a guard, which orders all other work on the device array.

use crate::{
    Context, Element, Error, Interface, Layout, Result, Stream,
    copy::strided_copy::CopyPlan,
    driver::{
        Allocation,
        copy::{CopyAddress, copy_planned},
        of_another_driver,
    },
    protocol::padding,
    sync::{Access, Memory},
};
use std::{
    fmt,
    marker::PhantomData,
    mem::MaybeUninit,
    ops::{Deref, DerefMut},
    ptr::NonNull,
    slice,
};

/// Elements in page-locked host memory, for copies that run beside other work. It dereferences to a slice.
///
/// [`copy_from_pinned`](crate::AcquiredMut::copy_from_pinned) and [`copy_to_pinned`](crate::Acquired::copy_to_pinned) take the array by
/// value, and their result, a [`PinnedCopy`], gives it back after the copy. So safe code cannot use the array while the driver does:
///
/// ```compile_fail,E0382
/// # use cuarray::{AcquiredMut, Ix1, PinnedArray, Result};
/// # fn copy(guard: &mut AcquiredMut<'_, f32, Ix1>, mut host: PinnedArray<f32>) -> Result<()> {
/// let copy = guard.copy_from_pinned(host)?;
/// host[0] = 1.0;
/// # drop(copy); Ok(()) }
/// ```
///
/// A drop frees the memory after the copies that use it. The host does not wait.
///
/// Driver API: [`cuMemHostAlloc`, `cuMemFreeHost`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
pub struct PinnedArray<T> {
    memory: Memory,
    len: usize,
    kind: PhantomData<T>,
}

impl<T: Element> PinnedArray<T> {
    /// Allocates `len` elements whose bytes are all zero, for copies in every context of the driver.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: the array is larger than the address space. Errors of the driver, such as out of memory.
    pub fn zeros(len: usize, context: &Context) -> Result<PinnedArray<T>> {
        let layout = Layout::c_contiguous(&[len], size_of::<T>()).map_err(Error::into_argument)?;
        let memory = Memory::new(context, || Allocation::pinned(context, layout.nbytes()))?;
        let array = PinnedArray { memory, len, kind: PhantomData };
        if !array.start().is_aligned() {
            return Err(Error::unsupported(format!(
                "the driver's host memory is not aligned to the {} bytes of the element type",
                align_of::<T>()
            )));
        }
        // SAFETY: the allocation has as many bytes, and no other object has its address.
        unsafe { array.start().cast::<u8>().as_ptr().write_bytes(0, layout.nbytes()) };
        Ok(array)
    }

    /// Copies a slice into new page-locked memory.
    ///
    /// # Errors
    /// As [`PinnedArray::zeros`].
    pub fn from_slice(elements: &[T], context: &Context) -> Result<PinnedArray<T>> {
        let mut array = PinnedArray::zeros(elements.len(), context)?;
        array.copy_from_slice(elements);
        Ok(array)
    }

    fn start(&self) -> NonNull<T> {
        self.memory.allocation().host_ptr().and_then(NonNull::new).map_or(NonNull::dangling(), NonNull::cast)
    }

    /// Writes zeros over the padding of the elements, because a copy to the device reads it.
    fn clear_padding(&mut self) {
        if T::HAS_PADDING {
            // SAFETY: the memory has `len` elements, and `MaybeUninit<T>` has the layout of `T`. Only zeros are written, and any bytes are
            // a valid `T`.
            let elements =
                unsafe { slice::from_raw_parts_mut(self.start().cast::<MaybeUninit<T>>().as_ptr(), self.len) };
            elements.iter_mut().for_each(padding::clear_value);
        }
    }

    /// Enqueues a copy between the array and the device array that `interface` describes.
    ///
    /// # Safety
    /// The use of the device array is ordered in the stream, for reading if `access` reads.
    unsafe fn copied(mut self, interface: &Interface, stream: &Stream, access: Access) -> Result<PinnedCopy<T>> {
        let layout = interface.layout();
        if self.len != layout.len() {
            return Err(Error::argument(format!("got {} elements, and the array has {}", self.len, layout.len())));
        }
        if self.memory.allocation().context().driver().library() != stream.driver().library() {
            return Err(of_another_driver("stream"));
        }
        self.clear_padding();
        let in_c_order = Layout::c_contiguous(layout.shape(), layout.itemsize())?;
        let (host, device) = (CopyAddress::Host(self.start().cast().as_ptr()), CopyAddress::Device(interface.data()));
        let ((dst, dst_layout), (src, src_layout)) = match access {
            Access::Read => ((host, &in_c_order), (device, layout)),
            Access::Write => ((device, layout), (host, &in_c_order)),
        };
        let plan = CopyPlan::new(dst_layout, src_layout)?;
        let PinnedArray { memory, len, kind } = self;
        let memory = match plan {
            None => memory,
            Some(plan) => memory.used_by(stream, || {
                // SAFETY: the host memory has all elements in C order. It is not used or freed before the work of this call is done. The
                // caller orders the use of the device array.
                unsafe { copy_planned(&stream.work_context()?, &plan, dst, src, Some(stream)) }
            })?,
        };
        Ok(PinnedCopy { array: PinnedArray { memory, len, kind } })
    }

    /// Enqueues a copy of the device array into this one.
    ///
    /// # Safety
    /// Reads of the device array are ordered in the stream.
    pub(super) unsafe fn fetched(self, interface: &Interface, stream: &Stream) -> Result<PinnedCopy<T>> {
        // SAFETY: this function's contract.
        unsafe { self.copied(interface, stream, Access::Read) }
    }

    /// Enqueues a copy of this array into the device array.
    ///
    /// # Safety
    /// Writes of the device array are ordered in the stream.
    pub(super) unsafe fn sent(self, interface: &Interface, stream: &Stream) -> Result<PinnedCopy<T>> {
        // SAFETY: this function's contract.
        unsafe { self.copied(interface, stream, Access::Write) }
    }
}

impl<T: Element> Deref for PinnedArray<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the memory has `len` initialized elements, any bytes are a valid `T`, and no copy uses the memory: its `PinnedCopy` would
        // have the array.
        unsafe { slice::from_raw_parts(self.start().as_ptr(), self.len) }
    }
}

impl<T: Element> DerefMut for PinnedArray<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and the reference to the array is unique.
        unsafe { slice::from_raw_parts_mut(self.start().as_ptr(), self.len) }
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for PinnedArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PinnedArray").field(&&**self).finish()
    }
}

/// A copy that a stream may not have done yet, with its [`PinnedArray`].
///
/// A drop frees the array's memory after the copy. The host does not wait. A leaked copy ([`std::mem::forget`]) leaks the memory.
///
/// ```
/// use cuarray::{DeviceArray, PinnedArray};
///
/// # cuarray::__simulated!(driver, context, stream);
/// let mut array = DeviceArray::<f32, _>::empty([3], &stream)?;
/// let sent = array.with_mut(&stream, |guard| guard.copy_from_pinned(PinnedArray::from_slice(&[1.0, 2.0, 3.0], &context)?))?;
/// // ... the host works beside the copy ...
/// let host = sent.wait()?; // the array, for the next copy
/// let received = array.with(&stream, |guard| guard.copy_to_pinned(host))?;
/// assert_eq!(*received.wait()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), cuarray::Error>(())
/// ```
#[must_use = "a drop discards the array"]
pub struct PinnedCopy<T> {
    array: PinnedArray<T>,
}

impl<T> PinnedCopy<T> {
    /// Whether the copy is done, so that [`wait`](Self::wait) returns at once.
    ///
    /// # Errors
    /// Errors of the driver.
    ///
    /// Driver API: [`cuEventQuery`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html).
    pub fn is_done(&self) -> Result<bool> {
        self.array.memory.pending().is_done()
    }

    /// Waits on the host for the copy, and returns the array. Work that was enqueued after the copy is not waited for.
    ///
    /// # Errors
    /// Errors of the driver, also those of earlier work in the stream. The memory is then freed once the driver says that the copy is
    /// done.
    ///
    /// Driver API: [`cuEventSynchronize`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html).
    pub fn wait(self) -> Result<PinnedArray<T>> {
        self.array.memory.pending().synchronize(Access::Write)?;
        Ok(self.array)
    }
}

impl<T> fmt::Debug for PinnedCopy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedCopy({} elements)", self.array.len)
    }
}

const _: () = {
    const fn shareable<T: Send + Sync + 'static>() {}
    shareable::<PinnedArray<f32>>();
    shareable::<PinnedCopy<f32>>();
};
