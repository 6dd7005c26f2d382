//! Extraction of views from Python objects, with the checks of their types.

use super::{DeviceView, DeviceViewMut, MaskedView};
use crate::{
    Bool8, DeviceArray, Dimension, Element, Error, Interface, Kind, LayoutPolicy, Mask, Owner, RawDeviceArray, RawView,
    Result, Stream, TypeStr, TypedView,
    array::{
        guard::read_only,
        view::{context_of, expect},
    },
    python::{
        array::PyDeviceArray,
        config,
        import::{self, Reading, as_cuda_array},
        memory::runtime,
        values::options::Policy,
    },
    sync::Access,
};
use pyo3::prelude::*;
use std::marker::PhantomData;

impl<'py, T: Element, D: Dimension, L: LayoutPolicy> FromPyObject<'_, 'py> for DeviceView<'py, T, D, L> {
    type Error = Error;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self> {
        let Source { mut raw, object, .. } = Source::of(&object, Policy::Refuse)?;
        expect::<T, D, L>(raw.interface_mut())?;
        Ok(DeviceView { raw, object, kind: PhantomData })
    }
}

impl<'py, T: Element, D: Dimension, L: LayoutPolicy> FromPyObject<'_, 'py> for DeviceViewMut<'py, T, D, L> {
    type Error = Error;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self> {
        let view = DeviceView::extract(object)?;
        if view.interface().is_read_only() {
            return Err(read_only());
        }
        Ok(DeviceViewMut(view))
    }
}

impl<'py, T: Element, D: Dimension, L: LayoutPolicy> FromPyObject<'_, 'py> for MaskedView<'py, T, D, L> {
    type Error = Error;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self> {
        let Source { mut raw, mask, object } = Source::of(&object, Policy::Keep)?;
        expect::<T, D, L>(raw.interface_mut())?;
        let mask = mask.map(|mask| view_of_mask(mask, raw.interface())).transpose()?;
        let data = DeviceView { raw, object, kind: PhantomData };
        Ok(MaskedView { data, mask })
    }
}

impl<'py, T: Element, D: Dimension, L: LayoutPolicy> FromPyObject<'_, 'py> for TypedView<T, D, L> {
    type Error = Error;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self> {
        DeviceView::extract(object).map(DeviceView::unbind)
    }
}

impl<'py, T: Element, D: Dimension> FromPyObject<'_, 'py> for DeviceArray<T, D> {
    type Error = Error;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> Result<Self> {
        let view: DeviceView<'py, T, D> = DeviceView::extract(object)?;
        let home = home(&view)?;
        let interface = view.interface().clone();
        let context = match &home {
            Some(home) => home.work_context()?,
            None => context_of(runtime::driver()?, interface.data())?,
        };
        let owner = view.owner();
        // SAFETY: the object keeps the memory (clause L2).
        unsafe { RawDeviceArray::from_owner(&context, interface, owner, home.as_ref()) }?.typed()
    }
}

/// The stream that work on the array's data is ordered in, behind all pending work; `None` if nothing is pending.
fn home<T: Element, D: Dimension>(view: &DeviceView<'_, T, D>) -> Result<Option<Stream>> {
    if view.object.cast_exact::<PyDeviceArray>().is_ok() {
        let access = if view.interface().is_read_only() { Access::Read } else { Access::Write };
        let Some((ordering, access)) = view.raw.known_sync_states(access).next() else { return Ok(None) };
        let home = view.object.py().detach(|| ordering.export(access))?;
        return Ok(home.map(|home| match home.is_owned() || home.handle() <= 2 {
            true => home,
            // SAFETY: the object keeps the stream (clause L4).
            false => unsafe { Stream::from_raw(home.driver(), home.handle(), Some(view.owner())) },
        }));
    }
    match view.interface().stream().handle() {
        None => Ok(None),
        Some(_) => view.stream().map(Some),
    }
}

/// An array that was read from an object.
struct Source<'py> {
    raw: RawView,
    /// The object under `mask`, if masks are kept.
    mask: Option<Bound<'py, PyAny>>,
    /// The object that keeps the array alive: the argument, or a `DeviceArray` made from its structure or tensor.
    object: Bound<'py, PyAny>,
}

impl<'py> Source<'py> {
    #[inline]
    fn of(object: &Bound<'py, PyAny>, masks: Policy) -> Result<Source<'py>> {
        if let Ok(array) = object.cast_exact::<PyDeviceArray>() {
            return Source::from_own_array(array, masks);
        }
        if !config::reads_dictionaries() {
            return Source::from_own_array(&as_cuda_array::only_in_c(object)?, masks);
        }
        let dict = match import::attribute(object) {
            Ok(dict) => dict,
            Err(error) => return Source::from_own_array(&as_cuda_array::without_dictionary(object, error)?, masks),
        };
        let mut reading = Reading::new(true).with_masks(masks);
        let interface = import::interface(&dict, &mut reading)?;
        import::refuse_lazy(object, &interface)?;
        // SAFETY: the object keeps the memory and the stream alive (clauses L2 and L4), and the view keeps the object.
        let raw = unsafe { RawView::from_boxed(runtime::loaded(), interface, None).borrowed_from(object) };
        Ok(Source { raw, mask: reading.mask, object: object.clone() })
    }

    /// Reads a `DeviceArray` of this module, which holds more than its interface: its synchronization state and its mask.
    fn from_own_array(array: &Bound<'py, PyDeviceArray>, masks: Policy) -> Result<Source<'py>> {
        let (py, object) = (array.py(), array.clone().into_any());
        let array = array.get();
        let owner = array.deferred_owner(py)?;
        let mask = match array.mask() {
            Some(_) if masks == Policy::Refuse => {
                return Err(Error::unsupported("the array has a mask, and masked arrays are not accepted here"));
            }
            Some(mask) => Some(mask.array(py)?.bind(py).clone().into_any()),
            None => None,
        };
        let owner = owner.map(|owner| Owner::from_python(owner.into_any()));
        let raw = RawView::ordered(Box::new(array.interface().clone()), array.sync_state()?, owner);
        // SAFETY: the view is dropped before the array, which it is returned with.
        let raw = unsafe { raw.borrowed_from(&object) };
        Ok(Source { raw, mask, object })
    }
}

/// A mask as a view with one element for each element of the array.
fn view_of_mask<'py, D: Dimension>(mask: Bound<'py, PyAny>, array: &Interface) -> Result<DeviceView<'py, Bool8, D>> {
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
    Mask::new(flags.clone(), array.layout())?;
    let layout = flags.layout().broadcast_to(array.shape())?;
    // A byte that is not zero is true, in each of the three types.
    let broadcast = Interface::new(flags.data(), TypeStr::of::<Bool8>(), layout)?
        .with_version(flags.version())
        .with_read_only(true)
        .with_stream(flags.stream());
    *raw.interface_mut() = broadcast;
    Ok(DeviceView { raw, object, kind: PhantomData })
}
