//! Views of a `DeviceArray`: other interfaces over the same memory, with the same owner.
//!
//! The arithmetic is [`Layout`]'s; what is here is what belongs to an *array* beside its layout and has to survive: that
//! it is read-only, its fields, its stream, its version, and its mask, of which the same part is taken. `reshape` and
//! `ravel` alone may copy, as NumPy's do, when no strides say what is asked for; the copy is made by the driver.

use super::{
    allocate::HostMemory,
    create::{self, Element},
    device_array::PyDeviceArray,
    import, stream,
};
use crate::{
    Error, FieldType, Index, Interface, Layout, Mask, Order, Result, StreamEntry, TypeStr, Version, View,
    driver::MemoryKind,
    layout::Tuple,
    order,
};
use pyo3::{
    prelude::*,
    types::{PyList, PyTuple},
};

/// The interface of a view: `at` says where in a layout of the array's shape it is, and is asked for the mask's too.
pub(super) fn derive(interface: &Interface, at: impl Fn(&Layout) -> Result<View>) -> Result<Interface> {
    let mut derived = moved(interface, interface.typestr(), at(interface.layout())?)?;
    if let Some(descr) = interface.descr() {
        derived = derived.with_descr(descr.clone())?;
    }
    if let Some(mask) = interface.mask() {
        let mask = mask.interface();
        let part = moved(mask, mask.typestr(), at(&mask.layout().broadcast_to(interface.shape())?)?)?;
        let mask = Mask::new(part, derived.layout())?;
        derived = derived.with_mask(mask)?;
    }
    Ok(derived)
}

/// A view that begins where the array does.
fn at_start(layout: Layout) -> View {
    View { offset: 0, layout }
}

/// The interface at another place, without fields and mask.
fn moved(interface: &Interface, typestr: TypeStr, view: View) -> Result<Interface> {
    if view.offset != 0 && typestr.bits().is_some_and(|bits| bits % 8 != 0) {
        return Err(Error::unsupported(format!(
            "elements of type '{typestr}' share bytes, so a view can only begin at the first; taking others needs a kernel"
        )));
    }
    let data = interface.data().wrapping_add_signed(view.offset as i64);
    Ok(Interface::new(data, typestr, view.layout)?
        .with_version(interface.version())
        .with_read_only(interface.is_read_only())
        .with_stream(interface.stream()))
}

/// The field of a structured array.
pub(super) fn field(interface: &Interface, name: &str) -> Result<Interface> {
    let named = |field: &crate::Field| !field.is_padding() && (field.name == name || field.title.as_deref() == Some(name));
    let found = interface.descr().and_then(|descr| descr.fields().iter().zip(descr.offsets()).find(|(field, _)| named(field)));
    let Some((field, offset)) = found else {
        let why = format!("no field {name:?}: the elements are of type '{}'", interface.typestr());
        return Err(match interface.descr() {
            Some(descr) => Error::argument(format!("{why}, {descr}")),
            None => Error::out_of_bounds(why),
        });
    };
    let (typestr, descr) = match &field.ty {
        FieldType::TypeStr(typestr) => (*typestr, None),
        FieldType::Struct(descr) => {
            let itemsize = u32::try_from(descr.itemsize()).map_err(|_| Error::argument(format!("{descr} is too big")))?;
            (TypeStr::void(itemsize), Some(descr.clone()))
        }
    };
    let sub_array = Layout::c_contiguous(&field.shape, typestr.itemsize())?;
    let within = |layout: &Layout| -> Result<View> {
        let shape = [layout.shape(), sub_array.shape()].concat();
        let strides = [layout.strides(), sub_array.strides()].concat();
        let layout = Layout::strided(&shape, &strides, typestr.itemsize())?;
        Ok(View { offset: offset as isize, layout })
    };
    if interface.mask().is_some() {
        return Err(Error::unsupported("a mask is of whole elements; a field of a masked array has none of its own"));
    }
    let field = moved(interface, typestr, within(interface.layout())?)?;
    match descr {
        Some(descr) => field.with_descr(descr),
        None => Ok(field),
    }
}

fn array_of<'py>(array: &PyDeviceArray, py: Python<'py>, interface: Interface) -> Result<Bound<'py, PyDeviceArray>> {
    Ok(Bound::new(py, array.view_of(py, interface))?)
}

/// Ints, one by one or as one sequence: the arguments of `reshape` and `transpose`.
fn ints(arguments: &Bound<'_, PyTuple>, key: &'static str) -> Result<Vec<isize>> {
    match arguments.len() {
        1 => create::numbers(&arguments.get_item(0)?, key),
        _ => create::numbers(arguments.as_any(), key),
    }
}

fn order_of(order: &str, layout: &Layout) -> Result<Order> {
    match order {
        "C" => Ok(Order::C),
        "F" => Ok(Order::F),
        "A" if layout.is_f_contiguous() && !layout.is_c_contiguous() => Ok(Order::F),
        "A" => Ok(Order::C),
        other => Err(Error::argument(format!("order is {other:?}; 'C', 'F' or 'A' is expected"))),
    }
}

pub(super) fn reshape<'py>(
    array: &PyDeviceArray,
    shape: &Bound<'py, PyTuple>,
    order: &str,
    copy: Option<bool>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let lengths = ints(shape, "shape")?;
    reshaped(array, shape.py(), &lengths, order_of(order, array.interface().layout())?, copy)
}

pub(super) fn ravel<'py>(array: &PyDeviceArray, py: Python<'py>, order: &str) -> Result<Bound<'py, PyDeviceArray>> {
    reshaped(array, py, &[-1], order_of(order, array.interface().layout())?, None)
}

fn reshaped<'py>(
    array: &PyDeviceArray,
    py: Python<'py>,
    shape: &[isize],
    order: Order,
    copy: Option<bool>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let interface = array.interface();
    let possible = interface.layout().reshape(shape, order)?;
    if let (Some(layout), None | Some(false)) = (&possible, copy) {
        if interface.mask().is_none() {
            return array_of(array, py, derive(interface, |_| Ok(at_start(layout.clone())))?);
        }
        let none = || Error::unsupported("the mask of this array has no view of that shape");
        let view = derive(interface, |layout| Ok(at_start(layout.reshape(shape, order)?.ok_or_else(none)?)))?;
        return array_of(array, py, view);
    }
    if copy == Some(false) {
        return Err(Error::argument(format!(
            "no view of shape {} with strides {} has the shape {}, and copy=False forbids a copy",
            Tuple(interface.shape()),
            Tuple(interface.strides()),
            Tuple(shape)
        )));
    }
    if interface.mask().is_some() {
        return Err(Error::unsupported("a masked array cannot be copied into another shape"));
    }
    let itemsize = interface.layout().itemsize();
    let packed = match order {
        Order::C => Layout::c_contiguous(interface.shape(), itemsize)?,
        Order::F => Layout::f_contiguous(interface.shape(), itemsize)?,
    };
    let fit = packed.reshape(shape, order)?.ok_or_else(|| Error::argument("a contiguous array has every shape"))?;
    let element = Element { typestr: interface.typestr(), descr: interface.descr().cloned() };
    let stream = array.stream(py)?.map(|stream| stream.into_bound(py).into_any());
    let copied = create::allocate(py, MemoryKind::Device, element, packed, stream.as_ref())?;
    super::assign::copy(py, copied.get(), array)?;
    let copied = copied.get();
    array_of(copied, py, derive(copied.interface(), |_| Ok(at_start(fit.clone())))?)
}

pub(super) fn transpose<'py>(array: &PyDeviceArray, axes: &Bound<'py, PyTuple>) -> Result<Bound<'py, PyDeviceArray>> {
    let reversed = axes.is_empty() || (axes.len() == 1 && axes.get_item(0)?.is_none());
    let axes_given = if reversed { None } else { Some(ints(axes, "axes")?) };
    let view = derive(array.interface(), |layout| layout.transpose(axes_given.as_deref()).map(at_start))?;
    array_of(array, axes.py(), view)
}

pub(super) fn squeeze<'py>(
    array: &PyDeviceArray,
    py: Python<'py>,
    axis: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let axes: Option<Vec<isize>> = axis.map(|axis| create::numbers(axis, "axis")).transpose()?;
    let view = derive(array.interface(), |layout| layout.squeeze(axes.as_deref()).map(at_start))?;
    array_of(array, py, view)
}

pub(super) fn view<'py>(array: &PyDeviceArray, dtype: &Bound<'py, PyAny>) -> Result<Bound<'py, PyDeviceArray>> {
    let (py, interface) = (dtype.py(), array.interface());
    let element = Element::of(py, Some(dtype))?;
    let (old, new) = (interface.typestr(), element.typestr);
    let packed = |typestr: TypeStr| typestr.bits().is_some_and(|bits| bits % 8 != 0);
    if old != new && (packed(old) || packed(new)) {
        return Err(Error::argument(format!("cannot view '{old}' as '{new}': of these, elements share bytes")));
    }
    if interface.mask().is_some() && new.itemsize() != old.itemsize() {
        return Err(Error::unsupported("a mask is of whole elements; a view of another item size has none"));
    }
    let mut viewed = moved(interface, new, at_start(interface.layout().with_itemsize(new.itemsize())?))?;
    if let Some(descr) = element.descr {
        viewed = viewed.with_descr(descr)?;
    }
    if let Some(mask) = interface.mask() {
        viewed = viewed.with_mask(mask.clone())?;
    }
    array_of(array, py, viewed)
}

pub(super) fn split<'py>(
    array: &PyDeviceArray,
    py: Python<'py>,
    section: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyList>> {
    let number = import::integer(section, "section", "a length, an int of at least 1,")?;
    let section = usize::try_from(number)
        .map_err(|_| Error::argument(format!("cannot split into sections of {number}; at least 1 is expected")))?;
    let interface = array.interface();
    let list = PyList::empty(py);
    for piece in 0..interface.layout().split(section)?.len() {
        let start = (piece * section) as isize;
        let part = Index::from(start..start.saturating_add_unsigned(section));
        list.append(array_of(array, py, derive(interface, |layout| layout.index(&[part]))?)?)?;
    }
    Ok(list)
}

pub(super) fn bind<'py>(
    array: &PyDeviceArray,
    py: Python<'py>,
    stream: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let old = array.default_stream(py)?;
    let interface = array.interface().clone();
    let Some(stream) = stream else {
        py.detach(|| old.map_or(Ok(()), |old| old.synchronize()))?;
        return Ok(Bound::new(py, array.bound_to(py, interface.with_stream(StreamEntry::None), None))?);
    };
    let new = stream::kept(stream)?;
    let stream = &new.get().stream;
    py.detach(|| old.map_or(Ok(()), |old| order::edge(&old, stream)))?;
    let entry = StreamEntry::try_from(stream.handle() as i128)?;
    let interface = interface.with_version(Version::V3).with_stream(entry);
    Ok(Bound::new(py, array.bound_to(py, interface, Some(new.clone().unbind())))?)
}

pub(super) fn host_view<'py>(array: &PyDeviceArray, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
    let interface = array.interface();
    let address = match array.attributes()? {
        None if interface.layout().is_empty() => 0,
        known => known.and_then(|attributes| attributes.host_ptr).ok_or_else(|| {
            Error::unsupported("the host does not reach the memory of this array; copy_to_host() fetches its elements")
        })?,
    };
    if interface.mask().is_some() {
        return Err(Error::unsupported("a masked array has no view on the host; copy_to_host() makes a masked one"));
    }
    if let Some(stream) = array.default_stream(py)? {
        py.detach(|| stream.synchronize())?;
    }
    HostMemory::array(py, address, interface, array.owner(py))
}
