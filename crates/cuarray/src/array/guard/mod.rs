//! [`Acquired`] and [`AcquiredMut`]: access to an array's address while work on it is ordered.
//!
//! A guard belongs to a stream. Work enqueued there during its life is ordered after the producer's work, by an edge when the guard is
//! acquired. The producer's later work is ordered after it, by an edge back when the guard is released. The host waits for neither.
//!
//! Edges use pooled events, so acquiring and releasing allocates nothing. In the array's home stream a guard makes no driver call.
//!
//! # Errors
//!
//! If the edge back fails, for example because the driver cannot record an event, the host waits for the guard's stream instead.
//! [`release`](Acquired::release) returns the error. The first error of a guard that is only dropped is in
//! [`Driver::take_drop_error`](crate::Driver::take_drop_error); for a Python argument, `sys.unraisablehook` gets it. Nothing panics.
//!
//! # Threads
//!
//! A guard may move to another thread. The per-thread default stream is another stream there, so copies and launches with such a guard are
//! errors. Its release is possible, and waits on the host.

mod core;

pub(crate) use core::GuardCore;
pub use core::{Anywhere, Scope};
#[cfg(feature = "python")]
pub(crate) use core::{read_only, sealed};

use super::host_copy::{fetch, send};
use crate::{
    Dimension, Element, Error, Interface, IxDyn, Layout, PinnedArray, PinnedCopy, Result, Strides,
    driver::Stream,
    protocol::{interface::DevicePtr, layout::Tuple},
};
use std::{fmt, marker::PhantomData};

/// A marker for the element type of a [`RawView`](crate::RawView)'s guards, which the compiler does not know.
#[derive(Clone, Copy, Debug)]
pub enum Untyped {}

macro_rules! guard {
    ($(#[$doc:meta])* $name:ident, $method:literal) => {
        $(#[$doc])*
        ///
        /// A drop releases the guard, also during a panic; [`release`](Self::release) does so too, and returns errors.
        ///
        /// # Aliasing
        ///
        /// If the elements of two live guards share memory, both guards are for reading; otherwise the second acquisition fails with
        /// [`Error::is_already_acquired`](crate::Error::is_already_acquired). This is checked at run time, for all guards of the process that were
        /// acquired through this build of the crate and one driver. It covers all threads, clones, views, and objects of different libraries
        /// over one memory. Elements decide, not extents, so `x[::2]` and `x[1::2]` may both be written. Arrays without elements never
        /// conflict. Views whose comparison would take long count as overlapping.
        ///
        /// Not checked: guards of other extension modules, which have their own registry, and accesses by Python code and other libraries.
        /// Unordered addresses (`acquire_unordered`) are not registered. A Python argument is not registered by its extraction, only while a
        /// guard is live: `f(x, x)` is an error if `f` acquires both at once and writes one.
        ///
        /// # Leaks
        ///
        /// A guard may be leaked ([`std::mem::forget`]). Its elements then stay acquired until the array is dropped. That drop makes the
        /// edge back, before the memory can be freed.
        ///
        /// # Lifetimes
        ///
        /// The guard borrows the view and the stream:
        ///
        /// ```compile_fail,E0597
        /// # use cuarray::{RawView, Stream};
        /// # fn work(context: &cuarray::Context, mut view: RawView) -> cuarray::Result<()> {
        #[doc = concat!("let _array: cuarray::", stringify!($name), ";")]
        /// {
        ///     let stream = Stream::new(context)?;
        #[doc = concat!("    _array = view.", $method, "(&stream)?;")]
        /// }
        /// # Ok(()) }
        /// ```
        #[must_use = "a guard that is dropped at once orders nothing"]
        pub struct $name<'v, T = Untyped, D: Dimension = IxDyn, S: Scope = Anywhere> {
            core: GuardCore<'v, S>,
            marker: PhantomData<fn() -> (T, D)>,
        }

        impl<'v, T, D: Dimension, S: Scope> $name<'v, T, D, S> {
            pub(crate) fn new(core: GuardCore<'v, S>) -> Self {
                $name { core, marker: PhantomData }
            }

            /// The address of the first element, for work in the guard's [stream](Self::stream).
            pub fn as_device_ptr(&self) -> DevicePtr {
                // Another library may make a view of the memory, with its own home stream.
                self.core.view.expose();
                self.data()
            }

            /// As [`as_device_ptr`](Self::as_device_ptr), for uses within this crate.
            pub(crate) fn data(&self) -> DevicePtr {
                self.interface().data()
            }

            /// The array's interface: shape, strides, element type, address and stream.
            pub(crate) fn interface(&self) -> &'v Interface {
                self.core.view.interface()
            }

            /// The shape, strides and item size.
            pub fn layout(&self) -> &'v Layout {
                self.interface().layout()
            }

            /// The length of each dimension.
            pub fn shape(&self) -> D::Shape {
                D::shape(self.layout())
            }

            /// The distance between elements in each dimension, in *bytes*; [`element_strides`](Self::element_strides) counts in elements.
            pub fn strides(&self) -> D::Strides {
                D::strides(self.layout().strides())
            }

            /// The distance between elements in each dimension, in elements, as most kernels expect it.
            ///
            /// # Errors
            /// [`Error::is_unsupported`]: a stride is no multiple of the item size, as for one field of a structure.
            pub fn element_strides(&self) -> Result<D::Strides> {
                element_strides(self.layout()).map(|strides| D::strides(&strides))
            }

            /// The number of elements.
            pub fn len(&self) -> usize {
                self.layout().len()
            }

            /// Whether the array has no elements.
            pub fn is_empty(&self) -> bool {
                self.layout().is_empty()
            }

            /// The address of one element.
            ///
            /// # Errors
            /// [`Error::is_out_of_bounds`]: the index is outside of the shape. [`Error::is_unsupported`]: the number of indices differs from
            /// the number of dimensions, which is possible with [`IxDyn`] only.
            pub fn device_ptr_at(&self, index: &D::Index) -> Result<DevicePtr> {
                Ok(self.as_device_ptr().wrapping_add_signed(self.byte_offset(index)? as i64))
            }

            /// The distance from the first element to the indexed one, in bytes.
            ///
            /// # Errors
            /// As [`device_ptr_at`](Self::device_ptr_at).
            pub(crate) fn byte_offset(&self, index: &D::Index) -> Result<isize> {
                byte_offset(self.layout(), index.as_ref())
            }

            /// The stream of the ordered work.
            pub fn stream(&self) -> &Stream {
                self.core.stream()
            }

            pub(crate) fn core(&self) -> &GuardCore<'v, S> {
                &self.core
            }

            /// Runs `work` with the guard, and then releases it. The error of `work` comes first.
            pub(crate) fn scoped<R>(mut self, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
                let done = work(&mut self);
                let released = self.release();
                done.and_then(|result| released.map(|()| result))
            }

            /// Orders the producer's later work after the work now in the stream.
            ///
            /// # Errors
            /// [`Error::is_unsupported`]: one stream captures and the other does not take part. Errors of the driver; the host has then waited
            /// for the stream, so the producer may use the memory all the same.
            pub fn release(mut self) -> Result<()> {
                self.core.end()
            }
        }

        impl<T: Element, D: Dimension, S: Scope> $name<'_, T, D, S> {
            /// Copies the elements to the host in C order, in the guard's stream. The host waits.
            ///
            /// # Errors
            /// [`Error::is_unsupported`]: the stream captures, or it is a per-thread default stream and another thread acquired the guard.
            /// Errors of the driver.
            pub fn copy_to_host(&self) -> Result<Vec<T>> {
                let (interface, stream) = (self.interface(), self.stream());
                self.core.enqueue(|| fetch(interface, stream))
            }

            /// Enqueues a copy of the elements to the host in C order, in the guard's stream. The host does not wait: the result returns the
            /// pinned array after the copy. Release the guard at any time after this call.
            ///
            /// # Errors
            /// [`Error::is_invalid_argument`]: the pinned array has another length, or is of another driver. As
            /// [`copy_to_host`](Self::copy_to_host). An error drops the pinned array.
            ///
            /// Driver API: [`cuMemcpyDtoHAsync`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
            pub fn copy_to_pinned(&self, to: PinnedArray<T>) -> Result<PinnedCopy<T>> {
                let (interface, stream) = (self.interface(), self.stream());
                // SAFETY: the guard orders reads in its stream.
                self.core.enqueue(|| unsafe { to.fetched(interface, stream) })
            }
        }

        impl<T, D: Dimension, S: Scope> fmt::Debug for $name<'_, T, D, S> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("interface", self.interface())
                    .field("stream", self.stream())
                    .finish_non_exhaustive()
            }
        }
    };
}

guard! {
    /// An array that may be read in a stream, from `acquire` of a view.
    Acquired, "acquire"
}
guard! {
    /// An array that may be read and written in a stream, from `acquire_mut` of a view.
    ///
    /// Only one such guard of a view exists at a time:
    ///
    /// ```compile_fail,E0499
    /// # fn work(stream: &cuarray::Stream, mut view: cuarray::RawView) -> cuarray::Result<()> {
    /// let first = view.acquire_mut(stream)?;
    /// let second = view.acquire_mut(stream)?;
    /// # drop((first, second)); Ok(()) }
    /// ```
    AcquiredMut, "acquire_mut"
}

impl<T: Element, D: Dimension, S: Scope> AcquiredMut<'_, T, D, S> {
    /// Copies elements in C order from the host, in the guard's stream. The host waits.
    ///
    /// # Errors
    /// [`Error::is_invalid_argument`]: `elements` has a wrong length. Elements of the array share memory, as after a broadcast. [`Error::is_unsupported`]: the stream
    /// captures, or it is a per-thread default stream and another thread acquired the guard. Errors of the driver.
    pub fn copy_from_host(&mut self, elements: &[T]) -> Result<()> {
        let (interface, stream) = (self.interface(), self.stream());
        self.core.enqueue(|| send(interface, stream, elements))
    }

    /// Enqueues a copy of elements in C order from the host, in the guard's stream. The host does not wait: the result returns the
    /// pinned array after the copy. Release the guard at any time after this call.
    ///
    /// # Errors
    /// As [`copy_from_host`](Self::copy_from_host). [`Error::is_invalid_argument`]: the pinned array is of another driver. An error drops
    /// the pinned array.
    ///
    /// Driver API: [`cuMemcpyHtoDAsync`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
    pub fn copy_from_pinned(&mut self, elements: PinnedArray<T>) -> Result<PinnedCopy<T>> {
        let (interface, stream) = (self.interface(), self.stream());
        // SAFETY: the guard orders writes in its stream.
        self.core.enqueue(|| unsafe { elements.sent(interface, stream) })
    }
}

pub(super) fn element_strides(layout: &Layout) -> Result<Strides> {
    let itemsize = layout.itemsize().max(1) as isize;
    // With one element in a dimension, the stride is not used and may have any value.
    let mut axes = layout.shape().iter().zip(layout.strides());
    if !layout.is_empty() && axes.any(|(&length, step)| length > 1 && step % itemsize != 0) {
        return Err(Error::unsupported(format!(
            "the strides {} are no multiples of the item size, {itemsize} bytes; an array of whole elements is expected",
            Tuple(layout.strides())
        )));
    }
    Ok(layout.strides().iter().map(|step| step / itemsize).collect())
}

fn byte_offset(layout: &Layout, index: &[usize]) -> Result<isize> {
    if index.len() != layout.ndim() {
        return Err(Error::unsupported(format!(
            "the index {} has {} entries, and the array has {} dimensions; one entry per dimension is expected",
            Tuple(index),
            index.len(),
            layout.ndim()
        )));
    }
    if index.iter().zip(layout.shape()).any(|(index, length)| index >= length) {
        return Err(Error::out_of_bounds(format!(
            "the index {} is outside of the shape {}",
            Tuple(index),
            Tuple(layout.shape())
        )));
    }
    // No overflow: the layout has checked its extent.
    Ok(index.iter().zip(layout.strides()).map(|(&index, &step)| (index as isize).wrapping_mul(step)).sum())
}

const _: () = {
    assert!(size_of::<Acquired<'_>>() <= 80);
    assert!(size_of::<AcquiredMut<'_>>() <= 80);
};
