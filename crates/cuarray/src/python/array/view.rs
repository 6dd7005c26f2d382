//! Views of a `DeviceArray`: other interfaces over the same memory, with the same owner.
//!
//! [`Layout`] has the arithmetic. This file carries over the other properties of an array: read-only flag, fields,
//! stream, version, and the matching part of the mask. Only `reshape` and `ravel` may copy, as NumPy's do, if no
//! strides describe the result; the driver makes the copy.

use super::{PyDeviceArray, assign, create, host_memory::HostMemory, mask::ArrayMask};
use crate::python::{
    memory::stream,
    values::{dtype::Element, numbers},
};
use crate::{
    Error, Field, FieldType, Index, Interface, Layout, Order, Result, StreamEntry, TypeStr, Version, View,
    driver::MemoryKind, protocol::layout::Tuple, sync::Access,
};
use pyo3::{
    prelude::*,
    types::{PyList, PyTuple},
};

/// A view of an array. `at` maps a layout of the array's shape to the layout and offset of the view, for the array
/// and for its mask.
pub(in crate::python) fn derive(
    array: &PyDeviceArray,
    py: Python<'_>,
    at: impl Fn(&Layout) -> Result<View>,
) -> Result<PyDeviceArray> {
    let interface = array.interface();
    let view = array.view_of(py, part(interface, at(interface.layout())?)?)?;
    let Some(mask) = wide_mask(array, py)? else { return Ok(view) };
    let mask = mask.view_of(py, part(mask.interface(), at(mask.interface().layout())?)?)?;
    masked(py, view, mask)
}

/// The mask, broadcast to the array's shape.
fn wide_mask(array: &PyDeviceArray, py: Python<'_>) -> Result<Option<PyDeviceArray>> {
    let Some(mask) = array.mask() else { return Ok(None) };
    let mask = mask.array(py)?.get();
    let wide = mask.interface().layout().broadcast_to(array.interface().shape())?;
    Ok(Some(mask.view_of(py, part(mask.interface(), at_start(wide))?)?))
}

fn masked(py: Python<'_>, array: PyDeviceArray, mask: PyDeviceArray) -> Result<PyDeviceArray> {
    Ok(array.with_mask(Some(ArrayMask::of_elements(Py::new(py, mask)?))))
}

/// A view that begins at the array's first element.
fn at_start(layout: Layout) -> View {
    View { offset: 0, layout }
}

/// The interface of a view, with the same type and fields.
fn part(interface: &Interface, view: View) -> Result<Interface> {
    let moved = moved(interface, interface.typestr(), view)?;
    match interface.descr() {
        Some(descr) => moved.with_descr(descr.clone()),
        None => Ok(moved),
    }
}

/// The interface of a view with another type, without fields.
fn moved(interface: &Interface, typestr: TypeStr, view: View) -> Result<Interface> {
    if view.offset != 0 && shares_bytes(typestr) {
        return Err(Error::unsupported(format!(
            "elements of type '{typestr}' share bytes, so a view can only begin at the first element; another start needs a kernel"
        )));
    }
    let data = interface.data().wrapping_add_signed(view.offset as i64);
    Ok(Interface::new(data, typestr, view.layout)?
        .with_version(interface.version())
        .with_read_only(interface.is_read_only())
        .with_stream(interface.stream()))
}

/// Whether the elements are bits, several to a byte.
fn shares_bytes(typestr: TypeStr) -> bool {
    typestr.bits().is_some_and(|bits| bits % 8 != 0)
}

/// The named field of a structured array.
pub(in crate::python) fn field(array: &PyDeviceArray, py: Python<'_>, name: &str) -> Result<PyDeviceArray> {
    let interface = array.interface();
    let named = |field: &Field| !field.is_padding() && (field.name == name || field.title.as_deref() == Some(name));
    let found =
        interface.descr().and_then(|descr| descr.fields().iter().zip(descr.offsets()).find(|(field, _)| named(field)));
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
            let too_big = || {
                Error::argument(format!(
                    "the field {name:?} has {} bytes; at most {} are supported",
                    descr.itemsize(),
                    i32::MAX
                ))
            };
            (TypeStr::void(i32::try_from(descr.itemsize()).map_err(|_| too_big())? as u32), Some(descr.clone()))
        }
    };
    let sub_array = Layout::c_contiguous(&field.shape, typestr.itemsize())?;
    let with_sub_array = |layout: &Layout, strides: &[isize], itemsize: usize| {
        let shape = [layout.shape(), sub_array.shape()].concat();
        Layout::strided(&shape, &[layout.strides(), strides].concat(), itemsize)
    };
    let layout = with_sub_array(interface.layout(), sub_array.strides(), typestr.itemsize())?;
    let mut selected = moved(interface, typestr, View { offset: offset as isize, layout })?;
    if let Some(descr) = descr {
        selected = selected.with_descr(descr)?;
    }
    let view = array.view_of(py, selected)?;
    let Some(mask) = wide_mask(array, py)? else { return Ok(view) };
    // All elements of a sub-array share one truth value.
    let valid = mask.interface().layout();
    let wide = with_sub_array(valid, &vec![0; sub_array.ndim()], valid.itemsize())?;
    let mask = mask.view_of(py, part(mask.interface(), at_start(wide))?)?;
    masked(py, view, mask)
}

/// Ints, one by one or as one sequence: the arguments of `reshape` and `transpose`.
fn ints(arguments: &Bound<'_, PyTuple>, key: &'static str) -> Result<Vec<isize>> {
    match arguments.len() {
        1 => numbers::numbers(&arguments.get_item(0)?, key),
        _ => numbers::numbers(arguments.as_any(), key),
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

pub(in crate::python) fn reshape<'py>(
    array: &PyDeviceArray,
    shape: &Bound<'py, PyTuple>,
    order: &str,
    copy: Option<bool>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let lengths = ints(shape, "shape")?;
    let order = order_of(order, array.interface().layout())?;
    Ok(Bound::new(shape.py(), reshaped(array, shape.py(), &lengths, order, copy)?)?)
}

pub(in crate::python) fn ravel<'py>(
    array: &PyDeviceArray,
    py: Python<'py>,
    order: &str,
) -> Result<Bound<'py, PyDeviceArray>> {
    let order = order_of(order, array.interface().layout())?;
    Ok(Bound::new(py, reshaped(array, py, &[-1], order, None)?)?)
}

fn reshaped(
    array: &PyDeviceArray,
    py: Python<'_>,
    shape: &[isize],
    order: Order,
    copy: Option<bool>,
) -> Result<PyDeviceArray> {
    let interface = array.interface();
    let possible = interface.layout().reshape(shape, order)?;
    let reshaped_array = match (possible, copy) {
        (Some(layout), None | Some(false)) => array.view_of(py, part(interface, at_start(layout))?)?,
        (None, Some(false)) => {
            return Err(Error::argument(format!(
                "no view of shape {} with strides {} has the shape {}, and copy=False forbids a copy",
                Tuple(interface.shape()),
                Tuple(interface.strides()),
                Tuple(shape)
            )));
        }
        _ => {
            let itemsize = interface.layout().itemsize();
            let packed = match order {
                Order::C => Layout::c_contiguous(interface.shape(), itemsize)?,
                Order::F => Layout::f_contiguous(interface.shape(), itemsize)?,
            };
            let fit = packed.reshape(shape, order)?.unwrap_or_else(|| packed.clone());
            let element = Element::of_interface(interface);
            // The stream may belong to another device than the memory, because an array can be bound to any stream.
            let copied = create::allocate(py, MemoryKind::Device, element, packed, None, array.device()?)?;
            let bound = copied.get().interface().clone().with_stream(interface.stream());
            let copied = copied.get().bound_to(py, bound, array.stream(py)?)?;
            assign::copy(py, &copied, &array.share(py)?)?;
            copied.view_of(py, part(copied.interface(), at_start(fit))?)?
        }
    };
    match wide_mask(array, py)? {
        Some(mask) => masked(py, reshaped_array, reshaped(&mask, py, shape, order, copy)?),
        None => Ok(reshaped_array),
    }
}

pub(in crate::python) fn transpose<'py>(
    array: &PyDeviceArray,
    axes: &Bound<'py, PyTuple>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let reversed = axes.is_empty() || (axes.len() == 1 && axes.get_item(0)?.is_none());
    let order = if reversed { None } else { Some(ints(axes, "axes")?) };
    let view = derive(array, axes.py(), |layout| layout.transpose(order.as_deref()).map(at_start))?;
    Ok(Bound::new(axes.py(), view)?)
}

pub(in crate::python) fn squeeze<'py>(
    array: &PyDeviceArray,
    py: Python<'py>,
    axis: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let mut axes: Option<Vec<isize>> = axis.map(|axis| numbers::numbers(axis, "axis")).transpose()?;
    // As in NumPy: the axis 0 of a 0-d array can be squeezed, if it is given as a number and not in a tuple.
    if array.interface().layout().ndim() == 0
        && matches!(axes.as_deref(), Some([0 | -1]))
        && axis.is_some_and(|axis| axis.try_iter().is_err())
    {
        axes = None;
    }
    Ok(Bound::new(py, derive(array, py, |layout| layout.squeeze(axes.as_deref()).map(at_start))?)?)
}

pub(in crate::python) fn view<'py>(
    array: &PyDeviceArray,
    dtype: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyDeviceArray>> {
    let (py, interface) = (dtype.py(), array.interface());
    let element = Element::of(py, Some(dtype))?;
    let (old, new) = (interface.typestr(), element.typestr);
    if old != new && (shares_bytes(old) || shares_bytes(new)) {
        return Err(Error::argument(format!(
            "cannot view '{old}' as '{new}', because elements smaller than a byte share bytes"
        )));
    }
    if array.mask().is_some() && new.itemsize() != old.itemsize() {
        return Err(Error::unsupported(
            "a mask is for whole elements, so a masked array has no view with another item size",
        ));
    }
    let mut viewed = moved(interface, new, at_start(interface.layout().with_itemsize(new.itemsize())?))?;
    if let Some(descr) = element.descr {
        viewed = viewed.with_descr(descr)?;
    }
    let mask = array.mask().map(|mask| mask.clone_ref(py));
    Ok(Bound::new(py, array.view_of(py, viewed)?.with_mask(mask))?)
}

pub(in crate::python) fn split<'py>(
    array: &PyDeviceArray,
    py: Python<'py>,
    section: &Bound<'py, PyAny>,
) -> Result<Bound<'py, PyList>> {
    /// The most views. A larger number is a mistake of the caller, because each view is a Python object.
    const MOST: usize = 1 << 24;
    let section: usize = numbers::number(section, "section", "an int of at least 1")?;
    let pieces = array.interface().layout().split(section)?.len();
    if pieces > MOST {
        let why =
            format!("section {section} gives {pieces} views; at most {MOST} are made: a larger section is expected");
        return Err(Error::argument(why));
    }
    let list = PyList::empty(py);
    for piece in 0..pieces {
        if piece % 4096 == 0 {
            py.check_signals()?;
        }
        let start = (piece * section) as isize;
        let part = Index::from(start..start.saturating_add_unsigned(section));
        list.append(Bound::new(py, derive(array, py, |layout| layout.index(&[part]))?)?)?;
    }
    Ok(list)
}

pub(in crate::python) fn bind<'py>(
    array: &PyDeviceArray,
    py: Python<'py>,
    stream: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyDeviceArray>> {
    // Both arrays can be used from now on, and their work is ordered.
    array.pending().set_records_homes();
    let old = array.sync_state()?;
    let interface = array.interface().clone();
    let Some(stream) = stream else {
        py.detach(|| old.synchronize(Access::Write))?;
        return Ok(Bound::new(py, array.bound_to(py, interface.with_stream(StreamEntry::None), None)?)?);
    };
    let new = stream::object(stream)?;
    let stream = &new.get().stream;
    py.detach(|| old.before(stream, Access::Write))?;
    let entry = StreamEntry::try_from(stream.handle() as i128)?;
    let interface = interface.with_version(Version::V3).with_stream(entry);
    Ok(Bound::new(py, array.bound_to(py, interface, Some(new.clone().unbind()))?)?)
}

/// The array bound to `stream`; `None` without a stream.
pub(in crate::python) fn in_stream<'py>(
    array: &PyDeviceArray,
    py: Python<'py>,
    stream: Option<&Bound<'py, PyAny>>,
) -> Result<Option<Bound<'py, PyDeviceArray>>> {
    stream.map(|stream| bind(array, py, Some(stream))).transpose()
}

pub(in crate::python) fn host_view<'py>(array: &PyDeviceArray, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
    let interface = array.interface();
    let address = match array.attributes()? {
        _ if interface.layout().is_empty() => 0,
        attributes => attributes.and_then(|attributes| attributes.host_ptr).ok_or_else(|| {
            Error::unsupported("the host cannot access the memory of this array; copy_to_host() copies its elements")
        })?,
    };
    if array.mask().is_some() {
        return Err(Error::unsupported(
            "a masked array has no host view; copy_to_host() gives a numpy.ma.MaskedArray, and `data` has a host view",
        ));
    }
    let state = array.sync_state()?;
    py.detach(|| state.synchronize(Access::Write))?;
    HostMemory::array(py, address, interface, array.owner(py)?)
}
