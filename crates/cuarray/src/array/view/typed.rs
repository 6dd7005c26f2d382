//! Typed views, with a static element type, number of dimensions and layout, and the checks behind them.

use super::RawView;
use crate::{
    AnyLayout, Dimension, Element, Error, Interface, IxDyn, Kind, Layout, LayoutPolicy, Result,
    array::guard::{Acquired, AcquiredMut, Anywhere, GuardCore},
    driver::Stream,
    protocol::{interface::DevicePtr, layout::Tuple},
    sync::Access,
};
use std::{fmt, marker::PhantomData};

/// A view's types, without a value.
pub(crate) type Kinds<T, D, L> = PhantomData<fn() -> (T, D, L)>;

/// Another library's array of elements `T`, with the number of dimensions `D` and a layout that `L` allows. It is kept alive, and not
/// yet ordered. From [`RawView::typed`], or from a Python argument.
///
/// ```
/// # use cuarray::{Driver, Interface, Layout, Owner, RawView, StreamEntry, TypeStr, driver::Allocation};
/// # use std::sync::Arc;
/// # cuarray::__simulated!(driver);
/// use cuarray::{CContiguous, Ix2, Stream, TypedView};
///
/// # let context = driver.default_context()?;
/// # let theirs = Stream::new(&context)?;
/// # let memory = Arc::new(Allocation::device(&context, 4 * 6)?);
/// # let interface = Interface::new(memory.device_ptr(), TypeStr::of::<f32>(), Layout::c_contiguous(&[2, 3], 4)?)?
/// #     .with_stream(StreamEntry::try_from(theirs.handle() as i128)?);
/// # // SAFETY: the memory and the stream live as long as the view.
/// # let raw = unsafe { RawView::new(&driver, interface, Some(Owner::new(memory))) }?;
/// let mut view: TypedView<f32, Ix2, CContiguous> = raw.typed()?; // any library's array
/// let ours = Stream::non_blocking(&context)?;
/// let mut array = view.acquire_mut(&ours)?; // `ours` waits for `theirs`
/// let [rows, columns] = array.shape();
/// array.copy_from_host(&vec![1.0; rows * columns])?;
/// array.release()?; // `theirs` waits for `ours`
/// # Ok::<(), cuarray::Error>(())
/// ```
pub struct TypedView<T, D: Dimension = IxDyn, L: LayoutPolicy = AnyLayout> {
    raw: RawView,
    kind: Kinds<T, D, L>,
}

impl<T: Element, D: Dimension, L: LayoutPolicy> TypedView<T, D, L> {
    /// A view whose types have been checked.
    pub(crate) fn from_checked(raw: RawView) -> Self {
        TypedView { raw, kind: PhantomData }
    }

    /// As [`RawView::acquire`], with a typed guard.
    ///
    /// # Errors
    /// As [`RawView::acquire`].
    pub fn acquire<'v>(&'v self, stream: &'v Stream) -> Result<Acquired<'v, T, D>> {
        Ok(Acquired::new(GuardCore::begin(&self.raw, stream, Access::Read, Anywhere)?))
    }

    /// As [`RawView::acquire_mut`], with a typed guard.
    ///
    /// # Errors
    /// As [`RawView::acquire_mut`].
    pub fn acquire_mut<'v>(&'v mut self, stream: &'v Stream) -> Result<AcquiredMut<'v, T, D>> {
        Ok(AcquiredMut::new(GuardCore::begin(&self.raw, stream, Access::Write, Anywhere)?))
    }

    /// Runs `work` with a guard of [`acquire`](Self::acquire), and releases the guard when `work` has returned or panicked.
    ///
    /// # Errors
    /// As [`TypedView::acquire`], those of `work`, and those of the release.
    pub fn with<R>(&self, stream: &Stream, work: impl FnOnce(&Acquired<'_, T, D>) -> Result<R>) -> Result<R> {
        self.acquire(stream)?.scoped(|guard| work(guard))
    }

    /// Runs `work` with a guard of [`acquire_mut`](Self::acquire_mut), and releases the guard when `work` has
    /// returned or panicked.
    ///
    /// # Errors
    /// As [`TypedView::acquire_mut`], those of `work`, and those of the release.
    pub fn with_mut<R>(
        &mut self,
        stream: &Stream,
        work: impl FnOnce(&mut AcquiredMut<'_, T, D>) -> Result<R>,
    ) -> Result<R> {
        self.acquire_mut(stream)?.scoped(work)
    }

    /// The address, without ordering.
    ///
    /// # Safety
    /// As [`RawView::acquire_unordered`].
    pub unsafe fn acquire_unordered(&self) -> DevicePtr {
        self.raw.interface.data()
    }

    /// The array's interface: shape, strides, element type, address and stream.
    pub fn interface(&self) -> &Interface {
        &self.raw.interface
    }

    /// The length of each dimension.
    pub fn shape(&self) -> D::Shape {
        D::shape(self.raw.interface.layout())
    }

    /// The distance between elements in each dimension, in *bytes*.
    pub fn strides(&self) -> D::Strides {
        D::strides(self.raw.interface.strides())
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.raw.interface.layout().len()
    }

    /// Whether the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.raw.interface.layout().is_empty()
    }
}

impl<T, D: Dimension, L: LayoutPolicy> fmt::Debug for TypedView<T, D, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw.fmt(f)
    }
}

/// Checks the element type, the number of dimensions and the layout of an array; see [`RawView::typed`].
#[inline]
pub(crate) fn expect<T: Element, D: Dimension, L: LayoutPolicy>(interface: &mut Interface) -> Result<()> {
    if !is_of::<T>(interface) {
        retype::<T>(interface)?;
    }
    expect_shape::<D, L>(interface)
}

/// Whether the interface gives the element type `T`.
#[inline]
pub(crate) fn is_of<T: Element>(interface: &Interface) -> bool {
    interface.typestr() == T::TYPESTR && (T::TYPESTR.kind() != Kind::Void || interface.descr() == T::descr().as_ref())
}

#[inline]
pub(crate) fn expect_shape<D: Dimension, L: LayoutPolicy>(interface: &Interface) -> Result<()> {
    expect_ndim::<D>(interface.layout())?;
    if !L::allows(interface.layout()) {
        return Err(wrong_layout(interface.layout(), L::NAME));
    }
    Ok(())
}

#[inline]
pub(crate) fn expect_ndim<D: Dimension>(layout: &Layout) -> Result<()> {
    match D::NDIM {
        Some(expected) if expected != layout.ndim() => Err(wrong_ndim(layout, expected)),
        _ => Ok(()),
    }
}

/// Sets the element type `T` if the interface leaves it open.
#[cold]
fn retype<T: Element>(interface: &mut Interface) -> Result<()> {
    match interface.clone().with_type(T::TYPESTR, T::descr()) {
        Ok(retyped) => *interface = retyped,
        Err(_) => return Err(wrong_type::<T>(interface)),
    }
    Ok(())
}

#[cold]
pub(crate) fn wrong_type<T: Element>(interface: &Interface) -> Error {
    let expected = match T::descr() {
        Some(descr) => descr.to_string(),
        None => format!("'{}'", T::TYPESTR.label()),
    };
    Error::unsupported(format!("the elements are {}; {expected} is expected", interface.type_label()))
}

#[cold]
fn wrong_ndim(layout: &Layout, expected: usize) -> Error {
    Error::unsupported(format!(
        "the array is {}-dimensional, of shape {}; a {expected}-dimensional array is expected",
        layout.ndim(),
        Tuple(layout.shape())
    ))
}

#[cold]
fn wrong_layout(layout: &Layout, expected: &str) -> Error {
    Error::unsupported(format!(
        "the array of shape {} and strides {} is not {expected}; a {expected} array, such as a copy, is expected",
        Tuple(layout.shape()),
        Tuple(layout.strides())
    ))
}
