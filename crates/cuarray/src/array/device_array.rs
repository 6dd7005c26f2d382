//! [`DeviceArray`]: device memory of one's own, to be worked on here and handed to anybody.
//!
//! What it holds is memory that was allocated here, or any Rust object that somebody else's memory belongs to. Either way that goes
//! when the last array over it is gone *and* the work on it is done, whoever enqueued it; nobody waits for that
//! (see [`sync::Memory`](crate::sync::Memory)).
//!
//! It has a home stream, in which its work is ordered: its producer's kernels, or another stream that these are ordered into. With the
//! feature `python` it is returned from functions, as a Python object that every library takes.

use super::{
    guard::{Acquired, AcquiredMut, Anywhere, Visit},
    view::{expect_shape, is_of, wrong_type},
};
use crate::{
    AnyLayout, DevicePtr, Element, Error, Interface, Layout, Owner, Rank, RawView, Result, StreamEntry, TypeStr,
    driver::{Allocation, Context, Stream},
    sync::{Access, Deferred, Memory, Ordering, Pending, Resource},
};
use std::{
    fmt,
    ops::Range,
    panic::{self, AssertUnwindSafe},
    sync::Arc,
};

/// An array in device memory, which it holds. A clone is the same array.
///
/// ```
/// use cuarray::{DeviceArray, Driver, Ix1, Stream, sync::Access};
///
/// # fn work(driver: &Driver) -> cuarray::Result<()> {
/// let context = driver.default_context()?;
/// let stream = Stream::non_blocking(&context)?;
/// let mut array = DeviceArray::from_host(&[1.0f32, 2.0, 3.0], &[3], &stream)?;
/// let mut elements = array.acquire_mut::<f32, Ix1>(&stream)?;
/// // ... launch kernels in `stream` ...
/// elements.copy_from_host(&[2.0, 4.0, 6.0])?;
/// elements.release()?;
/// assert_eq!(array.acquire::<f32, Ix1>(&stream)?.copy_to_host()?, [2.0, 4.0, 6.0]);
///
/// // Work that others have enqueued elsewhere: what comes next comes after it.
/// let elsewhere = Stream::non_blocking(&context)?;
/// array.record_stream(&elsewhere, Access::Read)?;
/// # Ok(()) }
/// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
/// # let _entered = sim.enter();
/// # // SAFETY: the simulator is a driver.
/// # work(&unsafe { Driver::from_api(sim.api()) }?)?;
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone)]
pub struct DeviceArray {
    // Dropped first: what orders the work uses what is behind it.
    view: Arc<RawView>,
    /// Held; only the Python object asks for it.
    #[cfg_attr(not(feature = "python"), allow(dead_code))]
    held: Held,
    home: Option<Stream>,
}

/// What an array's memory belongs to, with the work that is pending on it.
#[derive(Clone, Debug)]
pub(crate) enum Held {
    Memory(Arc<Memory>),
    Owner(Arc<Deferred<Kept>>),
}

/// Memory of somebody else's, and the object that it belongs to.
#[derive(Debug)]
pub(crate) struct Kept {
    context: Context,
    /// Where it lies; only the Python object asks for it.
    #[cfg_attr(not(feature = "python"), allow(dead_code))]
    bytes: Range<DevicePtr>,
    owner: Option<Owner>,
}

impl Resource for Kept {
    fn context(&self) -> &Context {
        &self.context
    }

    fn is_gone(&self) -> bool {
        self.owner.is_none()
    }

    fn give_back(&mut self) -> Result<()> {
        // This runs where nobody expects the owner's code: in an allocation, at the end of some other array. Nor is what else waits to be
        // given back to be lost by its panic.
        let owner = self.owner.take();
        panic::catch_unwind(AssertUnwindSafe(|| drop(owner)))
            .map_err(|_| Error::argument("the owner of an array's memory panicked when it was dropped"))
    }
}

impl Held {
    pub(crate) fn owner(context: &Context, bytes: Range<DevicePtr>, owner: Owner) -> Held {
        Held::until_done(context, bytes, owner, Arc::default())
    }

    /// Keeps an owner until the work is done that is pending when this goes.
    pub(crate) fn until_done(context: &Context, bytes: Range<DevicePtr>, owner: Owner, pending: Arc<Pending>) -> Held {
        let kept = Kept { context: context.clone(), bytes, owner: Some(owner) };
        Held::Owner(Arc::new(Deferred::after(kept, pending)))
    }

    pub(crate) fn pending(&self) -> &Arc<Pending> {
        match self {
            Held::Memory(memory) => memory.pending(),
            Held::Owner(kept) => kept.pending(),
        }
    }

    pub(crate) fn add_home(&self, home: &Stream) {
        match self {
            Held::Memory(memory) => memory.add_home(home),
            Held::Owner(kept) => kept.add_home(home),
        }
    }

    #[cfg(feature = "python")]
    pub(crate) fn bytes(&self) -> Range<DevicePtr> {
        match self {
            Held::Memory(memory) => {
                let start = memory.allocation().device_ptr();
                start..start.saturating_add(memory.allocation().len() as u64)
            }
            Held::Owner(kept) => kept.resource().bytes.clone(),
        }
    }
}

impl DeviceArray {
    /// A new array in C order, of the device of `stream`, which becomes its home. Its elements have no values yet.
    ///
    /// ```
    /// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
    /// # let _entered = sim.enter();
    /// # // SAFETY: the simulator is a driver.
    /// # let driver = unsafe { cuarray::Driver::from_api(sim.api()) }?;
    /// # let context = driver.default_context()?;
    /// # let stream = cuarray::Stream::non_blocking(&context)?;
    /// use cuarray::DeviceArray;
    ///
    /// let array = DeviceArray::empty::<f32>(&[3, 4], &stream)?; // its values are to be written
    /// assert_eq!((array.shape(), array.home()), (&[3, 4][..], Some(&stream)));
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// A shape that is too big; whatever the driver refuses.
    ///
    /// Driver API: [`cuMemAlloc`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
    pub fn empty<T: Element>(shape: &[usize], stream: &Stream) -> Result<DeviceArray> {
        let layout = Layout::c_contiguous(shape, size_of::<T>())?;
        let context = stream.work_context()?;
        let memory = Memory::new(&context, || Allocation::device(&context, layout.nbytes()))?;
        let interface = Interface::new(memory.allocation().device_ptr(), TypeStr::of::<T>(), layout)?;
        let interface = match T::descr() {
            Some(descr) => interface.with_descr(descr)?,
            None => interface,
        };
        DeviceArray::of_memory(Arc::new(memory), interface, Some(stream))
    }

    /// A new array with these elements, in C order. The host waits for the copy.
    ///
    /// ```
    /// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
    /// # let _entered = sim.enter();
    /// # // SAFETY: the simulator is a driver.
    /// # let driver = unsafe { cuarray::Driver::from_api(sim.api()) }?;
    /// # let context = driver.default_context()?;
    /// # let stream = cuarray::Stream::non_blocking(&context)?;
    /// use cuarray::{DeviceArray, Ix2};
    ///
    /// let array = DeviceArray::from_host(&[1i32, 2, 3, 4], &[2, 2], &stream)?;
    /// assert_eq!(array.acquire::<i32, Ix2>(&stream)?.copy_to_host()?, [1, 2, 3, 4]);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Another number of elements than the shape has; as [`DeviceArray::empty`].
    pub fn from_host<T: Element>(elements: &[T], shape: &[usize], stream: &Stream) -> Result<DeviceArray> {
        let mut array = DeviceArray::empty::<T>(shape, stream)?;
        array.acquire_mut::<T, crate::IxDyn>(stream)?.copy_from_host(elements)?;
        Ok(array)
    }

    /// The array that `interface` describes within `memory`, with `home` as the stream that its work is ordered in; without one, what is
    /// pending is remembered wherever it was enqueued.
    ///
    /// ```
    /// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
    /// # let _entered = sim.enter();
    /// # // SAFETY: the simulator is a driver.
    /// # let driver = unsafe { cuarray::Driver::from_api(sim.api()) }?;
    /// # let context = driver.default_context()?;
    /// # let stream = cuarray::Stream::non_blocking(&context)?;
    /// use cuarray::{DeviceArray, Interface, Layout, TypeStr, driver::Allocation, sync::Memory};
    /// use std::sync::Arc;
    ///
    /// let memory = Arc::new(Memory::new(&context, || Allocation::device(&context, 64))?);
    /// let layout = Layout::c_contiguous(&[16], 4)?;
    /// let interface = Interface::new(memory.allocation().device_ptr(), TypeStr::of::<f32>(), layout)?;
    /// let array = DeviceArray::of_memory(memory, interface, Some(&stream))?; // which keeps the memory
    /// assert_eq!(array.len(), 16);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RawView::of_memory`].
    pub fn of_memory(memory: Arc<Memory>, interface: Interface, home: Option<&Stream>) -> Result<DeviceArray> {
        let view = Arc::new(RawView::of_memory(&memory, interface, home)?);
        Ok(DeviceArray { view, held: Held::Memory(memory), home: home.cloned() })
    }

    /// The array that `interface` describes, in memory of `context`'s that `owner` keeps: a pool's block, another crate's slice. The
    /// owner is dropped when the last array over the memory is gone and the work on it is done, in any thread; should it panic then, that
    /// is what [`Driver::take_drop_error`](crate::Driver::take_drop_error) gives.
    ///
    /// ```
    /// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
    /// # let _entered = sim.enter();
    /// # // SAFETY: the simulator is a driver.
    /// # let driver = unsafe { cuarray::Driver::from_api(sim.api()) }?;
    /// # let context = driver.default_context()?;
    /// # let stream = cuarray::Stream::non_blocking(&context)?;
    /// use cuarray::{DeviceArray, Interface, Layout, Owner, TypeStr, driver::Allocation};
    /// use std::sync::Arc;
    ///
    /// let slab = Arc::new(Allocation::device(&context, 64)?); // of a library that knows nothing of arrays
    /// let interface = Interface::new(slab.device_ptr(), TypeStr::of::<f32>(), Layout::c_contiguous(&[16], 4)?)?;
    /// // SAFETY: the slab has the memory, and is the owner.
    /// let array = unsafe { DeviceArray::from_owner(&context, interface, Owner::new(slab), Some(&stream)) }?;
    /// assert_eq!(array.len(), 16);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// A wrong argument: the interface has a mask, or a home that is not a stream of `context`.
    ///
    /// # Safety
    /// The memory is the driver's, and lives until the owner is dropped.
    pub unsafe fn from_owner(
        context: &Context,
        interface: Interface,
        owner: Owner,
        home: Option<&Stream>,
    ) -> Result<DeviceArray> {
        if interface.mask().is_some() {
            return Err(Error::argument("an array of one owner's memory cannot have a mask, which is another array"));
        }
        if let Some(home) = home
            && home.known_context()?.is_some_and(|of_home| of_home != *context)
        {
            return Err(Error::argument(format!(
                "the home, {home:?}, is a stream of another context than the memory's"
            )));
        }
        let held = Held::owner(context, interface.byte_range(), owner);
        let entry = home.map_or(Ok(StreamEntry::None), |home| StreamEntry::try_from(home.handle() as i128))?;
        let mut ordering = Ordering::new(home.cloned(), held.pending().clone());
        match home {
            Some(home) if home.is_owned() => held.add_home(home),
            // It may be gone before the memory is; so its work is remembered by events.
            Some(_) => ordering = ordering.outliving_home(),
            None => {}
        }
        let view = RawView::ordered(Box::new(interface.with_stream(entry)), ordering, None);
        Ok(DeviceArray { view: Arc::new(view), held, home: home.cloned() })
    }

    /// Orders work in `stream` that reads the array: after what is enqueued on it, and before what comes next.
    ///
    /// ```
    /// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
    /// # let _entered = sim.enter();
    /// # // SAFETY: the simulator is a driver.
    /// # let driver = unsafe { cuarray::Driver::from_api(sim.api()) }?;
    /// # let context = driver.default_context()?;
    /// # let stream = cuarray::Stream::non_blocking(&context)?;
    /// use cuarray::{DeviceArray, Ix1, Stream};
    ///
    /// let array = DeviceArray::from_host(&[1.0f32, 2.0], &[2], &stream)?;
    /// let ours = Stream::non_blocking(&context)?;
    /// let elements = array.acquire::<f32, Ix1>(&ours)?; // our stream waits for the array's
    /// assert_eq!(elements.shape(), [2]);
    /// elements.release()?; // and the array's for ours
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_unsupported`] where the elements are no `T`, or the dimensions not as many as `D` says, or one stream captures and the
    /// other does not take part. Whatever the driver refuses.
    pub fn acquire<'v, T: Element, D: Rank>(&'v self, stream: &'v Stream) -> Result<Acquired<'v, T, D>> {
        self.expect::<T, D>()?;
        Ok(Acquired::new(Visit::begin(&self.view, stream, Access::Read, Anywhere)?))
    }

    /// The same for work that writes.
    ///
    /// ```
    /// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
    /// # let _entered = sim.enter();
    /// # // SAFETY: the simulator is a driver.
    /// # let driver = unsafe { cuarray::Driver::from_api(sim.api()) }?;
    /// # let context = driver.default_context()?;
    /// # let stream = cuarray::Stream::non_blocking(&context)?;
    /// use cuarray::{DeviceArray, Ix1};
    ///
    /// let mut array = DeviceArray::empty::<u8>(&[3], &stream)?;
    /// array.acquire_mut::<u8, Ix1>(&stream)?.copy_from_host(&[1, 2, 3])?;
    /// assert!(array.acquire_mut::<i8, Ix1>(&stream).unwrap_err().is_unsupported()); // of another type
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`DeviceArray::acquire`]; also where the array is read-only.
    pub fn acquire_mut<'v, T: Element, D: Rank>(&'v mut self, stream: &'v Stream) -> Result<AcquiredMut<'v, T, D>> {
        self.expect::<T, D>()?;
        Ok(AcquiredMut::new(Visit::begin(&self.view, stream, Access::Write, Anywhere)?))
    }

    fn expect<T: Element, D: Rank>(&self) -> Result<()> {
        let interface = self.view.interface();
        if !is_of::<T>(interface) {
            return Err(wrong_type::<T>(interface));
        }
        expect_shape::<D, AnyLayout>(interface)
    }

    /// Says that work on the array has been enqueued in `stream` by others: a kernel of another library, a launch without a guard.
    /// What comes next on the array comes after it; its memory is freed after it.
    ///
    /// ```
    /// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
    /// # let _entered = sim.enter();
    /// # // SAFETY: the simulator is a driver.
    /// # let driver = unsafe { cuarray::Driver::from_api(sim.api()) }?;
    /// # let context = driver.default_context()?;
    /// # let stream = cuarray::Stream::non_blocking(&context)?;
    /// use cuarray::{DeviceArray, Stream, sync::Access};
    ///
    /// let array = DeviceArray::empty::<f32>(&[100], &stream)?;
    /// let theirs = Stream::non_blocking(&context)?;
    /// // ... a kernel of another library, enqueued in `theirs`, that writes the array ...
    /// array.record_stream(&theirs, Access::Write)?;
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// # Errors
    /// Whatever the driver refuses.
    pub fn record_stream(&self, stream: &Stream, access: Access) -> Result<()> {
        match self.view.known_orderings(access).next() {
            Some((ordering, access)) => ordering.record(stream, access),
            None => Ok(()),
        }
    }

    /// What the array says of itself.
    ///
    /// ```
    /// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
    /// # let _entered = sim.enter();
    /// # // SAFETY: the simulator is a driver.
    /// # let driver = unsafe { cuarray::Driver::from_api(sim.api()) }?;
    /// # let context = driver.default_context()?;
    /// # let stream = cuarray::Stream::non_blocking(&context)?;
    /// use cuarray::DeviceArray;
    ///
    /// let array = DeviceArray::empty::<f32>(&[3, 4], &stream)?;
    /// assert_eq!(array.interface().strides(), [16, 4]);
    /// assert_eq!(array.interface().stream().handle(), Some(stream.handle()));
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn interface(&self) -> &Interface {
        self.view.interface()
    }

    /// The length of each dimension.
    ///
    /// ```
    /// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
    /// # let _entered = sim.enter();
    /// # // SAFETY: the simulator is a driver.
    /// # let driver = unsafe { cuarray::Driver::from_api(sim.api()) }?;
    /// # let context = driver.default_context()?;
    /// # let stream = cuarray::Stream::non_blocking(&context)?;
    /// use cuarray::DeviceArray;
    ///
    /// assert_eq!(DeviceArray::empty::<f32>(&[3, 4], &stream)?.shape(), [3, 4]);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn shape(&self) -> &[usize] {
        self.view.interface().shape()
    }

    /// The number of elements.
    ///
    /// ```
    /// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
    /// # let _entered = sim.enter();
    /// # // SAFETY: the simulator is a driver.
    /// # let driver = unsafe { cuarray::Driver::from_api(sim.api()) }?;
    /// # let context = driver.default_context()?;
    /// # let stream = cuarray::Stream::non_blocking(&context)?;
    /// use cuarray::DeviceArray;
    ///
    /// assert_eq!(DeviceArray::empty::<f32>(&[3, 4], &stream)?.len(), 12);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.view.interface().layout().len()
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
    /// # let _entered = sim.enter();
    /// # // SAFETY: the simulator is a driver.
    /// # let driver = unsafe { cuarray::Driver::from_api(sim.api()) }?;
    /// # let context = driver.default_context()?;
    /// # let stream = cuarray::Stream::non_blocking(&context)?;
    /// use cuarray::DeviceArray;
    ///
    /// assert!(DeviceArray::empty::<f32>(&[3, 0], &stream)?.is_empty());
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.view.interface().layout().is_empty()
    }

    /// The stream that the work on the array is ordered in.
    ///
    /// ```
    /// # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
    /// # let _entered = sim.enter();
    /// # // SAFETY: the simulator is a driver.
    /// # let driver = unsafe { cuarray::Driver::from_api(sim.api()) }?;
    /// # let context = driver.default_context()?;
    /// # let stream = cuarray::Stream::non_blocking(&context)?;
    /// use cuarray::DeviceArray;
    ///
    /// assert_eq!(DeviceArray::empty::<f32>(&[3], &stream)?.home(), Some(&stream));
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn home(&self) -> Option<&Stream> {
        self.home.as_ref()
    }

    #[cfg(feature = "python")]
    pub(crate) fn held(&self) -> &Held {
        &self.held
    }

    #[cfg(feature = "python")]
    pub(crate) fn ordering(&self) -> Option<&Ordering> {
        self.view.known_orderings(Access::Write).next().map(|(ordering, _)| ordering)
    }
}

impl fmt::Debug for DeviceArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceArray({:?})", self.view.interface())
    }
}

const _: () = {
    const fn shareable<T: Send + Sync + 'static>() {}
    shareable::<DeviceArray>();
};
