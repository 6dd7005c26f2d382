//! [`DeviceView`] and [`DeviceViewMut`]: any library's GPU array as a typed argument of a `#[pyfunction]`.
//!
//! What the argument's type says is checked where the argument comes in: that it is an array at all, whose interface is sound; its
//! element type and byte order; its ndim; its layout; that it may be written. So the body of a function begins with what it is
//! about. What does not fit is a Python exception that says what is expected and what came: `TypeError` for no array,
//! `ValueError` for an interface that is wrong, `BufferError` for an array of another kind. To each PyO3 adds the argument's name, as a
//! note (from Python 3.11 on, where exceptions have notes).
//!
//! An object is read by its dictionary; where it has none, by its structure of C (`__cuda_array_c_interface__`); where it has neither, as a
//! DLPack tensor. The dictionary comes first, as one of cuarray's own arrays writes it more quickly than the structure.
//!
//! Of a dictionary, extraction makes no driver call and waits for nothing: the array is *not ordered yet*, and has no pointer. `acquire` gives both.
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
//! Arguments that may be left out are `Option<DeviceView<…>>`. A function for several element types takes an enum of views that derives
//! `FromPyObject`: the first variant that fits is taken, and the error of none lists why each does not.
//!
//! A view is bound to the interpreter, and so is its guard: neither can be sent to another thread, or kept. What is to
//! be kept becomes a [`TypedView`] by [`unbind`](DeviceView::unbind), which may be.
//!
//! ```compile_fail,E0277
//! fn sent(view: cuarray::python::DeviceView1<'_, f32>) {
//!     std::thread::scope(|scope| {
//!         scope.spawn(move || drop(view));
//!     });
//! }
//! ```
//!
//! A guard of one stays where it is for the same reason, and does not outlive the view; a view has no address, and one that only reads
//! has no guard to write with:
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

/// A GPU array that is read: elements `T`, in as many dimensions as `D` says, laid out as `L` allows. See the [module](self).
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

/// A GPU array that is read and written; one that is read-only is refused. See the [module](self).
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
/// Other views refuse an array with a mask, since elements that are not valid would be computed with. Each of the two is a view of
/// its own, to be acquired for itself.
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
    /// Which are valid, by [`Bool8::get`]; broadcast to the shape of the elements, so that both have the same indices. `None` where all
    /// are.
    pub mask: Option<DeviceView<'py, Bool8, D>>,
}

impl<'py, T: Element, D: Dimension, L: LayoutPolicy> DeviceView<'py, T, D, L> {
    /// Orders work in `stream` that reads the array: after what its producer has enqueued, and before what that enqueues once the
    /// guard is released (clauses S2 and S3). The interpreter is let go of meanwhile; the host does not wait.
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
    /// [`Error::is_unsupported`](crate::Error::is_unsupported) where one stream captures and the other does not take part; the
    /// capture is not harmed. Whatever the driver refuses.
    pub fn acquire<'v>(&'v self, stream: &'v Stream) -> Result<Acquired<'v, T, D, Attached<'py>>> {
        Ok(Acquired::new(GuardCore::begin(&self.raw, stream, Access::Read, Attached(self.object.py()))?))
    }

    /// The address, in no order with anything.
    ///
    /// ```
    /// use cuarray::python::DeviceView1;
    /// use pyo3::prelude::*;
    ///
    /// /// The caller has waited for everything.
    /// #[pyfunction]
    /// fn address(x: DeviceView1<'_, f32>) -> u64 {
    ///     // SAFETY: nothing is done with it here.
    ///     unsafe { x.acquire_unordered() }
    /// }
    /// ```
    ///
    /// # Safety
    /// The caller orders its work after the producer's, and the producer's after its own.
    pub unsafe fn acquire_unordered(&self) -> DevicePtr {
        self.raw.interface().data()
    }

    /// The stream that the array's work is ordered in: the one that it names, or else the legacy default stream of its device. A
    /// function that has no stream of its own works there, and nobody has to wait for anybody.
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
    /// There is no driver, or it refuses to say whose the memory is.
    pub fn stream(&self) -> Result<Stream> {
        let interface = self.raw.interface();
        let driver = runtime::driver()?;
        if let Some(handle) = interface.stream().handle().filter(|&handle| handle > 2) {
            let owner = Owner::from_python(self.object.clone().unbind());
            // SAFETY: the object that named the stream keeps it (clause L4).
            return Ok(unsafe { Stream::from_raw(driver, handle, Some(owner)) });
        }
        let context = context_of(driver, interface.data())?;
        Ok(match interface.stream().handle() {
            Some(2) => Stream::per_thread_default(&context),
            _ => Stream::legacy_default(&context),
        })
    }

    /// What the array says of itself.
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

    /// The same view for any thread and any time: it keeps the object (clause L2).
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
    /// As [`DeviceView::acquire`], for work that writes too. There is one such guard at a time.
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
    /// As there.
    pub fn acquire_mut<'v>(&'v mut self, stream: &'v Stream) -> Result<AcquiredMut<'v, T, D, Attached<'py>>> {
        let py = self.0.object.py();
        Ok(AcquiredMut::new(GuardCore::begin(&self.0.raw, stream, Access::Write, Attached(py))?))
    }

    /// As [`DeviceView::unbind`].
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
