//! [`DeviceView`] and [`DeviceViewMut`]: any library's GPU array as a typed argument of a `#[pyfunction]`.
//!
//! What the argument's type says is checked where the argument comes in: that it is an array at all, whose interface is sound; its
//! element type and byte order; its rank; its layout; that it may be written. So the body of a function begins with what it is
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

use super::{
    as_cuda_array,
    device_array::PyDeviceArray,
    import::{self, Reading},
    inert,
    mask::Policy,
    runtime,
};
use crate::{
    AnyLayout, Bool8, Element, Error, Interface, Ix0, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6, IxDyn, Kind, LayoutPolicy, Owner,
    Rank, RawView, Result, Stream, TypeStr, TypedView,
    guard::{Acquired, AcquiredMut, Scope, Visit, read_only, sealed},
    interface::DevicePtr,
    order::Access,
    view::{Kinds, context_of, expect},
};
use pyo3::prelude::*;
use std::{fmt, marker::PhantomData, ops::Deref};

/// A guard of a Python argument: it stays in a thread that is attached to the interpreter, and lets go of it around driver calls.
///
/// ```
/// use cuarray::{Acquired, Ix1, python::Attached};
///
/// /// Takes guards of Python arguments.
/// fn bytes(array: &Acquired<'_, f32, Ix1, Attached<'_>>) -> usize {
///     4 * array.len()
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Attached<'py>(Python<'py>);

impl fmt::Debug for Attached<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Attached")
    }
}

impl sealed::Sealed for Attached<'_> {}

impl Scope for Attached<'_> {
    fn outside<R: Send>(self, work: impl FnOnce() -> R + Send) -> R {
        self.0.detach(work)
    }

    /// Through `sys.unraisablehook`, as Python does for its own destructors.
    fn report(self, stream: &Stream, met: Error) {
        // What is to be ignored at the end of a process is ignored there.
        stream.driver().dropped(Err(met));
        if let Some(error) = stream.driver().take_drop_error() {
            PyErr::from(error).write_unraisable(self.0, None);
        }
    }
}

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
pub struct DeviceView<'py, T, D: Rank = IxDyn, L: LayoutPolicy = AnyLayout> {
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
pub struct DeviceViewMut<'py, T, D: Rank = IxDyn, L: LayoutPolicy = AnyLayout>(DeviceView<'py, T, D, L>);

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
pub struct MaskedView<'py, T, D: Rank = IxDyn, L: LayoutPolicy = AnyLayout> {
    /// The elements, valid or not.
    pub data: DeviceView<'py, T, D, L>,
    /// Which are valid, by [`Bool8::get`]; broadcast to the shape of the elements, so that both have the same indices. `None` where all
    /// are.
    pub mask: Option<DeviceView<'py, Bool8, D>>,
}

impl<'py, T: Element, D: Rank, L: LayoutPolicy> DeviceView<'py, T, D, L> {
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
    /// [`Error::is_unsupported`] where one stream captures and the other does not take part; the capture is not harmed. Whatever the
    /// driver refuses.
    pub fn acquire<'v>(&'v self, stream: &'v Stream) -> Result<Acquired<'v, T, D, Attached<'py>>> {
        Ok(Acquired::new(Visit::begin(&self.raw, stream, Access::Read, Attached(self.object.py()))?))
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
            let owner = Owner::python(self.object.clone().unbind());
            // SAFETY: the object that named the stream keeps it (clause L4).
            return Ok(unsafe { Stream::external(driver, handle, Some(owner)) });
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
        TypedView::of_checked(self.raw.with_owner(Owner::python(self.object.unbind())))
    }
}

impl<'py, T: Element, D: Rank, L: LayoutPolicy> DeviceViewMut<'py, T, D, L> {
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
        Ok(AcquiredMut::new(Visit::begin(&self.0.raw, stream, Access::Write, Attached(py))?))
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

impl<'py, T, D: Rank, L: LayoutPolicy> Deref for DeviceViewMut<'py, T, D, L> {
    type Target = DeviceView<'py, T, D, L>;

    fn deref(&self) -> &DeviceView<'py, T, D, L> {
        &self.0
    }
}

impl<'py, T: Element, D: Rank, L: LayoutPolicy> FromPyObject<'_, 'py> for DeviceView<'py, T, D, L> {
    type Error = Error;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self> {
        let Source { mut raw, object, .. } = Source::of(&object, Policy::Refuse)?;
        expect::<T, D, L>(raw.interface_mut())?;
        Ok(DeviceView { raw, object, kind: PhantomData })
    }
}

impl<'py, T: Element, D: Rank, L: LayoutPolicy> FromPyObject<'_, 'py> for DeviceViewMut<'py, T, D, L> {
    type Error = Error;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self> {
        let view = DeviceView::extract(object)?;
        if view.interface().is_read_only() {
            return Err(read_only());
        }
        Ok(DeviceViewMut(view))
    }
}

impl<'py, T: Element, D: Rank, L: LayoutPolicy> FromPyObject<'_, 'py> for MaskedView<'py, T, D, L> {
    type Error = Error;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self> {
        let Source { mut raw, mask, object } = Source::of(&object, Policy::Keep)?;
        expect::<T, D, L>(raw.interface_mut())?;
        let mask = mask.map(|mask| view_of_mask(mask, raw.interface())).transpose()?;
        let data = DeviceView { raw, object, kind: PhantomData };
        Ok(MaskedView { data, mask })
    }
}

/// The array that an object is.
struct Source<'py> {
    raw: RawView,
    /// The object under `mask`, where masks are kept.
    mask: Option<Bound<'py, PyAny>>,
    /// What keeps the array: the object, or an array of ours that was made of its structure or tensor.
    object: Bound<'py, PyAny>,
}

impl<'py> Source<'py> {
    #[inline]
    fn of(object: &Bound<'py, PyAny>, masks: Policy) -> Result<Source<'py>> {
        if let Ok(array) = object.cast_exact::<PyDeviceArray>() {
            return Source::of_ours(array, masks);
        }
        let dict = match import::attribute(object) {
            Ok(dict) => dict,
            Err(error) => return Source::of_ours(&as_cuda_array::without_dictionary(object, error)?, masks),
        };
        let (interface, mask) = match inert::interface(&dict) {
            Some(interface) => (interface, None),
            None => {
                let mut reading = Reading::new(true).with_masks(masks);
                let interface = import::interface(&dict, &mut reading)?;
                (interface, reading.mask)
            }
        };
        import::refuse_lazy(object, &interface)?;
        // SAFETY: the object keeps the memory and the stream (clauses L2 and L4), and the view keeps the object.
        let raw = unsafe { RawView::of_boxed(runtime::loaded(), interface, None) };
        Ok(Source { raw, mask, object: object.clone() })
    }

    /// One of this module's own arrays: it knows more than its interface says.
    fn of_ours(array: &Bound<'py, PyDeviceArray>, masks: Policy) -> Result<Source<'py>> {
        let (py, object) = (array.py(), array.clone().into_any());
        let array = array.get();
        let mask = match array.mask() {
            Some(_) if masks == Policy::Refuse => {
                return Err(Error::unsupported("the array has a mask, and masked arrays are not taken here"));
            }
            Some(mask) => Some(mask.array(py)?.bind(py).clone().into_any()),
            None => None,
        };
        let raw = RawView::ordered(Box::new(array.interface().clone()), array.ordering()?, None);
        Ok(Source { raw, mask, object })
    }
}

/// A mask as a view that has an element for each of the array's.
fn view_of_mask<'py, D: Rank>(mask: Bound<'py, PyAny>, array: &Interface) -> Result<DeviceView<'py, Bool8, D>> {
    let refused = |error: Error| Error::entry("mask", error.to_string());
    let Source { mut raw, object, .. } = Source::of(&mask, Policy::Refuse).map_err(refused)?;
    let flags = raw.interface();
    let is_byte = flags.layout().itemsize() == 1
        && flags.typestr().bits() != Some(1)
        && matches!(flags.typestr().kind(), Kind::Bool | Kind::Int | Kind::UInt);
    if !is_byte {
        let why = format!("the elements are {}; a byte each is expected ('|b1', '|u1' or '|i1')", flags.typestr());
        return Err(Error::entry("mask", why));
    }
    crate::Mask::new(flags.clone(), array.layout())?;
    let layout = flags.layout().broadcast_to(array.shape())?;
    // A byte that is not zero is true, as which of the three types it came.
    let broadcast = Interface::new(flags.data(), TypeStr::of::<Bool8>(), layout)?
        .with_version(flags.version())
        .with_read_only(true)
        .with_stream(flags.stream());
    *raw.interface_mut() = broadcast;
    Ok(DeviceView { raw, object, kind: PhantomData })
}

impl<T, D: Rank, L: LayoutPolicy> fmt::Debug for DeviceView<'_, T, D, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceView({:?})", self.raw.interface())
    }
}

impl<T, D: Rank, L: LayoutPolicy> fmt::Debug for DeviceViewMut<'_, T, D, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceViewMut({:?})", self.0.raw.interface())
    }
}

impl<T, D: Rank, L: LayoutPolicy> fmt::Debug for MaskedView<'_, T, D, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaskedView").field("data", &self.data).field("mask", &self.mask).finish()
    }
}

macro_rules! names {
    ($($doc:literal $rank:ty: $read:ident $write:ident),* $(,)?) => {$(
        #[doc = concat!("A [`DeviceView`] of ", $doc, ".")]
        ///
        /// ```
        #[doc = concat!("use cuarray::python::", stringify!($read), ";")]
        /// use pyo3::prelude::*;
        ///
        /// #[pyfunction]
        #[doc = concat!("fn elements(x: ", stringify!($read), "<'_, f32>) -> usize {")]
        ///     x.len()
        /// }
        /// ```
        pub type $read<'py, T, L = AnyLayout> = DeviceView<'py, T, $rank, L>;
        #[doc = concat!("A [`DeviceViewMut`] of ", $doc, ".")]
        ///
        /// ```
        #[doc = concat!("use cuarray::python::", stringify!($write), ";")]
        /// use pyo3::prelude::*;
        ///
        /// #[pyfunction]
        #[doc = concat!("fn elements(x: ", stringify!($write), "<'_, f32>) -> usize {")]
        ///     x.len()
        /// }
        /// ```
        pub type $write<'py, T, L = AnyLayout> = DeviceViewMut<'py, T, $rank, L>;
    )*};
}

names! {
    "one element in no dimension" Ix0: DeviceView0 DeviceViewMut0,
    "one dimension" Ix1: DeviceView1 DeviceViewMut1,
    "two dimensions" Ix2: DeviceView2 DeviceViewMut2,
    "three dimensions" Ix3: DeviceView3 DeviceViewMut3,
    "four dimensions" Ix4: DeviceView4 DeviceViewMut4,
    "five dimensions" Ix5: DeviceView5 DeviceViewMut5,
    "six dimensions" Ix6: DeviceView6 DeviceViewMut6,
    "any number of dimensions" IxDyn: DeviceViewDyn DeviceViewMutDyn,
}

const _: () = assert!(size_of::<Acquired<'_, f32, Ix2, Attached<'_>>>() <= 64);
