//! [`DeviceView`] and [`DeviceViewMut`]: any library's GPU array as a typed argument of a `#[pyfunction]`.
//!
//! The argument's type says what is checked at the start of a call: the object is an array with a sound interface, and its element
//! type, byte order, ndim, layout and access fit. An argument that does not fit raises a Python exception that names the expected
//! and the given value. It is a `TypeError` for an object that is no array, a `ValueError` for a wrong interface, and a
//! `BufferError` for an array of another kind. PyO3 adds the argument's name as a note, from Python 3.11 on.
//!
//! An object is read by its dictionary, else by its C structure (`__cuda_array_c_interface__`), else as a DLPack tensor. The
//! dictionary comes first, because cuarray's own arrays write it faster than the structure.
//!
//! Extraction from a dictionary makes no driver call and waits for nothing. The array is *not ordered yet*, and has no pointer;
//! `acquire` provides both.
//!
//! ```no_run
//! use cuarray::{Stream, python::{DeviceView2, DeviceViewMut1}};
//! use pyo3::prelude::*;
//!
//! /// The sum of each row of `x` into `out`.
//! #[pyfunction]
//! fn row_sums(x: DeviceView2<'_, f32>, mut out: DeviceViewMut1<'_, f32>, stream: Stream) -> PyResult<()> {
//!     let x = x.acquire(&stream)?; // `stream` waits for the producers of both
//!     let out = out.acquire_mut(&stream)?;
//!     let ([rows, columns], [row_step, step]) = (x.shape(), x.element_strides()?);
//!     // ... launch a kernel in `stream` with these, x.as_device_ptr() and out.as_device_ptr() ...
//! #   let _ = (rows, columns, row_step, step);
//!     out.release()?; // and their next work waits for it; so it would without these lines
//!     x.release()?;
//!     Ok(())
//! }
//! ```
//!
//! A function that passes an array on takes one of the types without a lifetime. They are those of Rust code without Python, and
//! detach as this module's types do.
//!
//! - A [`DeviceArray<T, D>`](crate::DeviceArray) is an array that also keeps its memory: the object is kept until the work on the
//!   array is done. PyO3 accepts the type by value only. Functions of a Rust library take it as `&DeviceArray` or `&mut DeviceArray`.
//! - A [`TypedView`] is the view that [`unbind`](DeviceView::unbind) returns.
//!
//! ```no_run
//! use cuarray::{DeviceArray, Ix1, Stream, TypedView};
//! use pyo3::prelude::*;
//!
//! /// A function of a library that does not know Python.
//! fn total(x: &DeviceArray<f32, Ix1>) -> cuarray::Result<f32> {
//!     Ok(x.to_host()?.iter().sum())
//! }
//!
//! #[pyfunction]
//! #[pyo3(name = "total")]
//! fn total_of_python(x: DeviceArray<f32, Ix1>) -> PyResult<f32> {
//!     Ok(total(&x)?)
//! }
//!
//! #[pyfunction]
//! fn first(x: TypedView<f32, Ix1>, stream: Stream) -> PyResult<Option<f32>> {
//!     Ok(x.acquire(&stream)?.copy_to_host()?.first().copied())
//! }
//! ```
//!
//! An optional argument is an `Option<DeviceView<…>>`. A function for several element types takes an enum of views that derives
//! `FromPyObject`. The first variant that fits is used; if none fits, the error lists why.
//!
//! A view is bound to the interpreter, and so is its guard: neither can be sent to another thread, or stored.
//! [`unbind`](DeviceView::unbind) turns a view into a [`TypedView`], which can.
//!
//! ```compile_fail,E0277
//! fn sent(view: cuarray::python::DeviceView1<'_, f32>) {
//!     std::thread::scope(|scope| {
//!         scope.spawn(move || drop(view));
//!     });
//! }
//! ```
//!
//! A guard stays in its thread for the same reason, and does not outlive its view. A view has no address, and a read-only view
//! has no guard for writing:
//!
//! ```compile_fail,E0277
//! # use cuarray::{Stream, python::DeviceView1};
//! fn sent(view: &DeviceView1<'_, f32>, stream: &Stream) {
//!     let guard = view.acquire(stream).unwrap();
//!     std::thread::scope(|scope| {
//!         scope.spawn(|| guard.len());
//!     });
//! }
//! ```
//!
//! ```compile_fail,E0515
//! # use cuarray::{Stream, python::{Attached, DeviceView1}};
//! # use cuarray::{Acquired, Ix1};
//! fn outlives<'a, 'py>(view: DeviceView1<'py, f32>, stream: &'a Stream) -> Acquired<'a, f32, Ix1, Attached<'py>> {
//!     view.acquire(stream).unwrap()
//! }
//! ```
//!
//! ```compile_fail,E0599
//! # use cuarray::python::DeviceView1;
//! fn no_address(view: &DeviceView1<'_, f32>) -> u64 {
//!     view.as_device_ptr()
//! }
//! ```
//!
//! ```compile_fail,E0599
//! # use cuarray::{Stream, python::DeviceView1};
//! fn writes(view: &mut DeviceView1<'_, f32>, stream: &Stream) {
//!     let _guard = view.acquire_mut(stream);
//! }
//! ```
//!
//! ```compile_fail,E0499
//! # use cuarray::{Stream, python::DeviceViewMut1};
//! fn twice(view: &mut DeviceViewMut1<'_, f32>, stream: &Stream) {
//!     let first = view.acquire_mut(stream);
//!     let second = view.acquire_mut(stream);
//!     drop((first, second));
//! }
//! ```

mod attached;
mod extract;
mod names;

pub use attached::Attached;
pub use names::*;

use crate::python::memory::runtime;
use crate::{
    AnyLayout, Bool8, Dimension, Element, Interface, Ix2, IxDyn, LayoutPolicy, Owner, RawView, Result, Stream,
    TypedView,
    array::{
        guard::{Acquired, AcquiredMut, GuardCore},
        view::{Kinds, context_of},
    },
    protocol::interface::DevicePtr,
    sync::Access,
};
use pyo3::prelude::*;
use std::{fmt, ops::Deref};

/// A GPU array for reading, with elements `T`, the ndim of `D` and a layout that `L` allows. See the [module](self).
///
/// ```
/// use cuarray::{CContiguous, Ix2, Stream, python::DeviceView};
/// use pyo3::prelude::*;
///
/// #[pyfunction]
/// fn rows(x: DeviceView<'_, f32, Ix2, CContiguous>, stream: Stream) -> PyResult<Vec<f32>> {
///     Ok(x.acquire(&stream)?.copy_to_host()?)
/// }
/// ```
pub struct DeviceView<'py, T, D: Dimension = IxDyn, L: LayoutPolicy = AnyLayout> {
    raw: RawView,
    object: Bound<'py, PyAny>,
    kind: Kinds<T, D, L>,
}

/// A GPU array for reading and writing; a read-only array is refused. See the [module](self).
///
/// It is a [`DeviceView`] too, so it can be acquired for reading.
///
/// ```
/// use cuarray::{Ix1, Stream, python::DeviceViewMut};
/// use pyo3::prelude::*;
///
/// #[pyfunction]
/// fn clear(mut x: DeviceViewMut<'_, f32, Ix1>, stream: Stream) -> PyResult<()> {
///     let mut x = x.acquire_mut(&stream)?;
///     x.copy_from_host(&vec![0.0; x.len()])?;
///     Ok(())
/// }
/// ```
pub struct DeviceViewMut<'py, T, D: Dimension = IxDyn, L: LayoutPolicy = AnyLayout>(DeviceView<'py, T, D, L>);

/// A GPU array that may have a mask (clause I10): the elements, and which of them are valid.
///
/// Other views refuse an array with a mask, because a computation would use elements that are not valid. Elements and mask are two
/// views, each with its own `acquire`.
///
/// ```
/// use cuarray::{Ix1, Stream, python::MaskedView};
/// use pyo3::prelude::*;
///
/// #[pyfunction]
/// fn valid(x: MaskedView<'_, f32, Ix1>, stream: Stream) -> PyResult<usize> {
///     let Some(mask) = &x.mask else { return Ok(x.data.len()) };
///     Ok(mask.acquire(&stream)?.copy_to_host()?.into_iter().filter(|valid| valid.get()).count())
/// }
/// ```
pub struct MaskedView<'py, T, D: Dimension = IxDyn, L: LayoutPolicy = AnyLayout> {
    /// The elements, valid or not.
    pub data: DeviceView<'py, T, D, L>,
    /// Marks the valid elements, by [`Bool8::get`]. It is broadcast to the shape of the elements, so that both have the same indices.
    /// `None` if all elements are valid.
    pub mask: Option<DeviceView<'py, Bool8, D>>,
}

impl<'py, T: Element, D: Dimension, L: LayoutPolicy> DeviceView<'py, T, D, L> {
    /// Orders work in `stream` that reads the array: after the producer's pending work, and before its later work once the guard is
    /// released (clauses S2 and S3). The call detaches from the interpreter, and the host does not wait.
    ///
    /// ```
    /// use cuarray::{Stream, python::DeviceView1};
    /// use pyo3::prelude::*;
    ///
    /// #[pyfunction]
    /// fn total(x: DeviceView1<'_, f32>, stream: Stream) -> PyResult<f32> {
    ///     let x = x.acquire(&stream)?; // `stream` waits for the array's producer
    ///     Ok(x.copy_to_host()?.iter().sum())
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_unsupported`](crate::Error::is_unsupported) if one stream captures and the other does not take part; the
    /// capture stays valid. Errors of the driver.
    pub fn acquire<'v>(&'v self, stream: &'v Stream) -> Result<Acquired<'v, T, D, Attached<'py>>> {
        Ok(Acquired::new(GuardCore::begin(&self.raw, stream, Access::Read, Attached(self.object.py()))?))
    }

    /// Returns the address without ordering any work.
    ///
    /// ```
    /// use cuarray::python::DeviceView1;
    /// use pyo3::prelude::*;
    ///
    /// /// The caller has waited for everything.
    /// #[pyfunction]
    /// fn address(x: DeviceView1<'_, f32>) -> u64 {
    ///     // SAFETY: the pointer is only returned, not used.
    ///     unsafe { x.acquire_unordered() }
    /// }
    /// ```
    ///
    /// # Safety
    /// The caller orders its work after the producer's pending work, and the producer's later work after its own.
    pub unsafe fn acquire_unordered(&self) -> DevicePtr {
        self.raw.interface().data()
    }

    /// The array's home stream: the stream that its interface names, or the legacy default stream of its device. A function without
    /// its own stream can work there without waiting for other streams.
    ///
    /// ```
    /// use cuarray::python::DeviceViewMut1;
    /// use pyo3::prelude::*;
    ///
    /// #[pyfunction]
    /// fn clear(mut x: DeviceViewMut1<'_, f32>) -> PyResult<()> {
    ///     let stream = x.stream()?; // the array's own: nobody waits for anybody
    ///     x.acquire_mut(&stream)?.copy_from_host(&[0.0])?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// There is no driver, or it does not report the memory's context.
    pub fn stream(&self) -> Result<Stream> {
        let interface = self.raw.interface();
        let driver = runtime::driver()?;
        if let Some(handle) = interface.stream().handle().filter(|&handle| handle > 2) {
            let owner = self.owner();
            // SAFETY: the object that named the stream keeps it (clause L4).
            return Ok(unsafe { Stream::from_raw(driver, handle, Some(owner)) });
        }
        let context = context_of(driver, interface.data())?;
        Ok(match interface.stream().handle() {
            Some(2) => Stream::per_thread_default(&context),
            _ => Stream::legacy_default(&context),
        })
    }

    /// The object as an owner.
    fn owner(&self) -> Owner {
        Owner::from_python(self.object.clone().unbind())
    }

    /// The array's interface.
    ///
    /// ```
    /// # use pyo3::prelude::*;
    /// # Python::initialize();
    /// # Python::attach(|py| -> PyResult<()> {
    /// # let text = c"type('Array', (), {'__cuda_array_interface__': dict(shape=(2, 3), typestr='<f4', data=(4096, False), version=3)})()";
    /// # let x = py.eval(text, None, None)?; // any library's array
    /// use cuarray::python::DeviceView2;
    ///
    /// let view: DeviceView2<'_, f32> = x.extract()?; // as an argument does
    /// assert_eq!(view.interface().typestr().to_string(), "<f4");
    /// # Ok(()) }).unwrap();
    /// ```
    pub fn interface(&self) -> &Interface {
        self.raw.interface()
    }

    /// The Python object.
    ///
    /// ```
    /// # use pyo3::prelude::*;
    /// # Python::initialize();
    /// # Python::attach(|py| -> PyResult<()> {
    /// # let text = c"type('Array', (), {'__cuda_array_interface__': dict(shape=(2, 3), typestr='<f4', data=(4096, False), version=3)})()";
    /// # let x = py.eval(text, None, None)?; // any library's array
    /// use cuarray::python::DeviceView2;
    ///
    /// let view: DeviceView2<'_, f32> = x.extract()?; // as an argument does
    /// assert!(view.object().is(&x));
    /// # Ok(()) }).unwrap();
    /// ```
    pub fn object(&self) -> &Bound<'py, PyAny> {
        &self.object
    }

    /// The length of each dimension.
    ///
    /// ```
    /// # use pyo3::prelude::*;
    /// # Python::initialize();
    /// # Python::attach(|py| -> PyResult<()> {
    /// # let text = c"type('Array', (), {'__cuda_array_interface__': dict(shape=(2, 3), typestr='<f4', data=(4096, False), version=3)})()";
    /// # let x = py.eval(text, None, None)?; // any library's array
    /// use cuarray::python::DeviceView2;
    ///
    /// let view: DeviceView2<'_, f32> = x.extract()?; // as an argument does
    /// let [rows, columns] = view.shape();
    /// assert_eq!((rows, columns), (2, 3));
    /// # Ok(()) }).unwrap();
    /// ```
    pub fn shape(&self) -> D::Shape {
        D::shape(self.raw.interface().layout())
    }

    /// The bytes to step in each dimension.
    ///
    /// ```
    /// # use pyo3::prelude::*;
    /// # Python::initialize();
    /// # Python::attach(|py| -> PyResult<()> {
    /// # let text = c"type('Array', (), {'__cuda_array_interface__': dict(shape=(2, 3), typestr='<f4', data=(4096, False), version=3)})()";
    /// # let x = py.eval(text, None, None)?; // any library's array
    /// use cuarray::python::DeviceView2;
    ///
    /// let view: DeviceView2<'_, f32> = x.extract()?; // as an argument does
    /// assert_eq!(view.strides(), [12, 4]);
    /// # Ok(()) }).unwrap();
    /// ```
    pub fn strides(&self) -> D::Strides {
        D::strides(self.raw.interface().strides())
    }

    /// The number of elements.
    ///
    /// ```
    /// # use pyo3::prelude::*;
    /// # Python::initialize();
    /// # Python::attach(|py| -> PyResult<()> {
    /// # let text = c"type('Array', (), {'__cuda_array_interface__': dict(shape=(2, 3), typestr='<f4', data=(4096, False), version=3)})()";
    /// # let x = py.eval(text, None, None)?; // any library's array
    /// use cuarray::python::DeviceView2;
    ///
    /// let view: DeviceView2<'_, f32> = x.extract()?; // as an argument does
    /// assert_eq!(view.len(), 6);
    /// # Ok(()) }).unwrap();
    /// ```
    pub fn len(&self) -> usize {
        self.raw.interface().layout().len()
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # use pyo3::prelude::*;
    /// # Python::initialize();
    /// # Python::attach(|py| -> PyResult<()> {
    /// # let text = c"type('Array', (), {'__cuda_array_interface__': dict(shape=(2, 3), typestr='<f4', data=(4096, False), version=3)})()";
    /// # let x = py.eval(text, None, None)?; // any library's array
    /// use cuarray::python::DeviceView2;
    ///
    /// let view: DeviceView2<'_, f32> = x.extract()?; // as an argument does
    /// assert!(!view.is_empty());
    /// # Ok(()) }).unwrap();
    /// ```
    pub fn is_empty(&self) -> bool {
        self.raw.interface().layout().is_empty()
    }

    /// A view that keeps the object (clause L2), and can be sent to other threads and stored.
    ///
    /// ```
    /// # use pyo3::prelude::*;
    /// # Python::initialize();
    /// # Python::attach(|py| -> PyResult<()> {
    /// # let text = c"type('Array', (), {'__cuda_array_interface__': dict(shape=(2, 3), typestr='<f4', data=(4096, False), version=3)})()";
    /// # let x = py.eval(text, None, None)?; // any library's array
    /// use cuarray::python::DeviceView2;
    ///
    /// let view: DeviceView2<'_, f32> = x.extract()?; // as an argument does
    /// let kept = view.unbind();
    /// assert_eq!(std::thread::spawn(move || kept.len()).join().unwrap(), 6);
    /// # Ok(()) }).unwrap();
    /// ```
    pub fn unbind(self) -> TypedView<T, D, L> {
        TypedView::from_checked(self.raw.with_owner(Owner::from_python(self.object.unbind())))
    }
}

impl<'py, T: Element, D: Dimension, L: LayoutPolicy> DeviceViewMut<'py, T, D, L> {
    /// Like [`DeviceView::acquire`], for work that also writes. Only one such guard exists at a time.
    ///
    /// ```
    /// use cuarray::{Stream, python::DeviceViewMut1};
    /// use pyo3::prelude::*;
    ///
    /// #[pyfunction]
    /// fn write(mut x: DeviceViewMut1<'_, f32>, elements: Vec<f32>, stream: Stream) -> PyResult<()> {
    ///     let mut x = x.acquire_mut(&stream)?;
    ///     x.copy_from_host(&elements)?;
    ///     Ok(x.release()?)
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`DeviceView::acquire`].
    pub fn acquire_mut<'v>(&'v mut self, stream: &'v Stream) -> Result<AcquiredMut<'v, T, D, Attached<'py>>> {
        let py = self.0.object.py();
        Ok(AcquiredMut::new(GuardCore::begin(&self.0.raw, stream, Access::Write, Attached(py))?))
    }

    /// Like [`DeviceView::unbind`].
    ///
    /// ```
    /// # use pyo3::prelude::*;
    /// # Python::initialize();
    /// # Python::attach(|py| -> PyResult<()> {
    /// # let text = c"type('Array', (), {'__cuda_array_interface__': dict(shape=(2, 3), typestr='<f4', data=(4096, False), version=3)})()";
    /// # let x = py.eval(text, None, None)?; // any library's array
    /// use cuarray::python::DeviceViewMut2;
    ///
    /// let view: DeviceViewMut2<'_, f32> = x.extract()?;
    /// let mut kept = view.unbind(); // for a class that writes to it later
    /// assert_eq!(kept.shape(), [2, 3]);
    /// # Ok(()) }).unwrap();
    /// ```
    pub fn unbind(self) -> TypedView<T, D, L> {
        self.0.unbind()
    }
}

impl<'py, T, D: Dimension, L: LayoutPolicy> Deref for DeviceViewMut<'py, T, D, L> {
    type Target = DeviceView<'py, T, D, L>;

    fn deref(&self) -> &DeviceView<'py, T, D, L> {
        &self.0
    }
}

impl<T, D: Dimension, L: LayoutPolicy> fmt::Debug for DeviceView<'_, T, D, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceView({:?})", self.raw.interface())
    }
}

impl<T, D: Dimension, L: LayoutPolicy> fmt::Debug for DeviceViewMut<'_, T, D, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceViewMut({:?})", self.0.raw.interface())
    }
}

impl<T, D: Dimension, L: LayoutPolicy> fmt::Debug for MaskedView<'_, T, D, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaskedView").field("data", &self.data).field("mask", &self.mask).finish()
    }
}

const _: () = assert!(size_of::<Acquired<'_, f32, Ix2, Attached<'_>>>() <= 64);
