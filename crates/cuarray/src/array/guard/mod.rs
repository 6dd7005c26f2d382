//! [`Acquired`] and [`AcquiredMut`]: access to an array's address while work on it is ordered.
//!
//! A guard belongs to a stream. Work enqueued there during its life is ordered after the producer's work, by an edge when the guard is
//! acquired. The producer's later work is ordered after ours, by an edge back when the guard is released. The host waits for neither.
//!
//! Edges use pooled events, so acquiring and releasing allocates nothing. In the array's home stream a guard makes no driver call.
//!
//! # Errors
//!
//! If the edge back cannot be put, for example because the driver refuses to record an event, the host waits for the guard's stream instead.
//! [`release`](Acquired::release) returns the error. The first error of a guard that is only dropped is in
//! [`Driver::take_drop_error`](crate::Driver::take_drop_error); for a Python argument, `sys.unraisablehook` gets it. Nothing panics.
//!
//! # Threads
//!
//! A guard may move to another thread. The per-thread default stream is another stream there, so copies and launches with such a guard are
//! refused. Its release is possible, and waits on the host.

mod core;

pub(crate) use core::GuardCore;
pub use core::{Anywhere, Scope};
#[cfg(feature = "python")]
pub(crate) use core::{read_only, sealed};

use super::host_copy::{fetch, send};
use crate::{
    Dimension, Element, Error, Interface, IxDyn, Layout, Result, Strides,
    driver::Stream,
    protocol::{interface::DevicePtr, layout::Tuple},
};
use std::{fmt, marker::PhantomData, ops::Range};

/// Elements of a type that is not known to the compiler: what the guards of a [`RawView`](crate::RawView) are of.
///
/// ```
/// # cuarray::__simulated!(driver, context);
/// # use cuarray::{Interface, Layout, Owner, RawView, Stream, StreamEntry, TypeStr, driver::Allocation};
/// # let (theirs, ours) = (Stream::non_blocking(&context)?, Stream::non_blocking(&context)?);
/// # let memory = std::sync::Arc::new(Allocation::device(&context, 24)?);
/// # let interface = Interface::new(memory.device_ptr(), TypeStr::of::<f32>(), Layout::c_contiguous(&[2, 3], 4)?)?
/// #     .with_stream(StreamEntry::try_from(theirs.handle() as i128)?);
/// # // SAFETY: the memory and the stream live as long as the view.
/// # let view = unsafe { RawView::new(&driver, interface, Some(Owner::new(memory.clone()))) }?;
/// use cuarray::{Acquired, Untyped};
///
/// let guard: Acquired<'_, Untyped> = view.acquire(&ours)?; // it has an address, and no elements
/// assert_eq!(guard.interface().typestr().to_string(), "<f4");
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Untyped {}

macro_rules! guard {
    ($(#[$doc:meta])* $name:ident, $method:literal) => {
        $(#[$doc])*
        ///
        /// The guard is released when dropped, also by a panic; [`release`](Self::release) returns the error as well.
        ///
        /// # Aliasing
        ///
        /// Where the elements of two live guards share memory, both guards only read; otherwise the second acquire returns an error that
        /// [`Error::is_already_acquired`](crate::Error::is_already_acquired) tells. This is checked at run time, for all guards of the process that were
        /// acquired through this build of the crate and one driver: in any thread, of clones, of views, and of objects of different libraries
        /// over one memory. Elements decide, not extents, so `x[::2]` and `x[1::2]` may both be written. Arrays without elements never
        /// conflict. Views whose comparison would take long count as overlapping.
        ///
        /// Not promised: other extension modules have a registry of their own, and Python code and other libraries are not bound by it.
        /// Unordered addresses (`acquire_unordered`) are not registered. A Python argument is not registered by its extraction, only while a
        /// guard is live: `f(x, x)` is an error where `f` acquires both at once and writes one.
        ///
        /// A leaked guard ([`std::mem::forget`]) stays registered, and puts no edge back.
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
                self.interface().data()
            }

            /// The bytes that the elements take.
            #[doc(hidden)]
            pub fn byte_range(&self) -> Range<DevicePtr> {
                self.interface().byte_range()
            }

            /// What the array says of itself.
            #[doc(hidden)]
            pub fn interface(&self) -> &'v Interface {
                self.core.view.interface()
            }

            /// Shape, strides and item size.
            pub fn layout(&self) -> &'v Layout {
                self.interface().layout()
            }

            /// The length of each dimension.
            pub fn shape(&self) -> D::Shape {
                D::shape(self.layout())
            }

            /// The *bytes* to step in each dimension; for kernels that count in elements, [`element_strides`](Self::element_strides).
            pub fn strides(&self) -> D::Strides {
                D::strides(self.layout().strides())
            }

            /// The elements to step in each dimension, as most kernels take them.
            ///
            /// # Errors
            /// [`Error::is_unsupported`]: some stride is no multiple of the item size, as of a field of a structure.
            pub fn element_strides(&self) -> Result<D::Strides> {
                element_strides(self.layout()).map(|strides| D::strides(&strides))
            }

            /// The number of elements.
            pub fn len(&self) -> usize {
                self.layout().len()
            }

            /// Whether there are no elements.
            pub fn is_empty(&self) -> bool {
                self.layout().is_empty()
            }

            /// The address of one element.
            ///
            /// # Errors
            /// [`Error::is_out_of_bounds`]: there is no such element; [`Error::is_unsupported`]: another number of indices than of
            /// dimensions, which only [`IxDyn`] admits.
            #[doc(hidden)]
            pub fn device_ptr_at(&self, index: &D::Index) -> Result<DevicePtr> {
                Ok(self.as_device_ptr().wrapping_add_signed(self.byte_offset(index)? as i64))
            }

            /// The bytes from the first element to that one.
            ///
            /// # Errors
            /// As [`device_ptr_at`](Self::device_ptr_at).
            #[doc(hidden)]
            pub fn byte_offset(&self, index: &D::Index) -> Result<isize> {
                byte_offset(self.layout(), index.as_ref())
            }

            /// The stream that the work goes to.
            pub fn stream(&self) -> &'v Stream {
                self.core.stream
            }

            /// Whether work that this thread enqueues in the guard's stream is in order: in a per-thread default stream it is only in
            /// the thread that has taken the guard.
            pub(crate) fn is_for_this_thread(&self) -> bool {
                self.core.is_for_this_thread()
            }

            /// Lets the producer's next work wait for what is in the stream now.
            ///
            /// # Errors
            /// [`Error::is_unsupported`] where one stream captures and the other does not take part. Whatever the driver refuses; the
            /// host has waited for the stream then, so the memory may be used by the producer all the same.
            pub fn release(mut self) -> Result<()> {
                self.core.end()
            }
        }

        impl<T: Element, D: Dimension, S: Scope> $name<'_, T, D, S> {
            /// The elements in C order, copied to the host in the guard's stream, which the host waits for.
            ///
            /// # Errors
            /// Whatever the driver refuses; [`Error::is_unsupported`] where the stream captures, or is the per-thread default one and the
            /// guard was taken in another thread.
            pub fn copy_to_host(&self) -> Result<Vec<T>> {
                let (interface, stream) = (self.interface(), self.stream());
                self.core.enqueue(|| fetch(interface, stream))
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
    /// An array that may be read in a stream; from `acquire` of a view.
    Acquired, "acquire"
}
guard! {
    /// An array that may be read and written in a stream; from `acquire_mut` of a view.
    ///
    /// A view gives one at a time:
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
    /// Writes elements that are in C order on the host, in the guard's stream, which the host waits for.
    ///
    /// # Errors
    /// Another number of elements; a broadcast array, of which several elements share one place. Whatever the driver refuses;
    /// [`Error::is_unsupported`] where the stream captures, or is the per-thread default one and the guard was taken in another thread.
    pub fn copy_from_host(&mut self, elements: &[T]) -> Result<()> {
        let (interface, stream) = (self.interface(), self.stream());
        self.core.enqueue(|| send(interface, stream, elements))
    }
}

fn element_strides(layout: &Layout) -> Result<Strides> {
    let itemsize = layout.itemsize().max(1) as isize;
    // Along a dimension of one element nothing steps, and its stride may be anything.
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
            "the index {} has {} entries, and the array {} dimensions; one for each is expected",
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
    // Nothing overflows within the extent, which a layout has checked.
    Ok(index.iter().zip(layout.strides()).map(|(&index, &step)| (index as isize).wrapping_mul(step)).sum())
}

const _: () = {
    assert!(size_of::<Acquired<'_>>() <= 64);
    assert!(size_of::<AcquiredMut<'_>>() <= 64);
};
