//! Masks: which elements of an array are valid (clauses I10 and X3).
//!
//! A mask is an array of its own, of any type with a truth value, broadcast to the array it belongs to; true is valid, which
//! is the opposite of what a `numpy.ma` mask says. One library writes bits instead, packed into bytes (peers call it a
//! bitmask); nothing in its interface says so, so the user does: `mask_format="bits"`. A mask of the type `t1` says it itself.
//! Bits cannot be stepped through, sliced or exported to anybody who reads masks by the text. They are therefore unpacked,
//! through the host, into an array of bool when the mask is first needed, and not before: importing costs nothing.

use super::{PyDeviceArray, create};
use crate::python::{
    import::{self, Reading},
    values::host::{self, HostArray},
};
use crate::{Error, Interface, Layout, Mask, Result, TypeStr};
use pyo3::{PyTraverseError, PyVisit, intern, prelude::*, sync::PyOnceLock, types::PyString};

/// What is done with an array's mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::python) enum Policy {
    /// It stays with the array.
    Keep,
    /// The array is read as if it had none.
    Ignore,
    /// An array with a mask is refused.
    Refuse,
}

impl Policy {
    /// What the argument `mask` says.
    pub(in crate::python) fn named(argument: &Bound<'_, PyString>) -> Result<Policy> {
        match &*argument.to_string_lossy() {
            "keep" => Ok(Policy::Keep),
            "ignore" => Ok(Policy::Ignore),
            "error" => Ok(Policy::Refuse),
            other => Err(Error::argument(format!("mask is {other:?}; 'keep', 'ignore' or 'error' is expected"))),
        }
    }
}

/// Whether the argument `mask_format` says that masks of bytes are bits.
pub(in crate::python) fn names_bits(argument: &Bound<'_, PyString>) -> Result<bool> {
    match &*argument.to_string_lossy() {
        "bits" => Ok(true),
        other => Err(Error::argument(format!("mask_format is {other:?}; None or 'bits' is expected"))),
    }
}

/// The mask of one array; boxed, as few arrays have one and every array has room for it.
pub(in crate::python) struct ArrayMask(Box<Content>);

struct Content {
    /// What the producer gave.
    source: Py<PyDeviceArray>,
    /// The layout of the array that it masks, where `source` holds bits.
    packed: Option<Layout>,
    unpacked: PyOnceLock<Py<PyDeviceArray>>,
}

impl ArrayMask {
    /// A mask whose elements are elements.
    pub(in crate::python) fn of_elements(source: Py<PyDeviceArray>) -> ArrayMask {
        ArrayMask::new(source, None)
    }

    fn new(source: Py<PyDeviceArray>, packed: Option<Layout>) -> ArrayMask {
        ArrayMask(Box::new(Content { source, packed, unpacked: PyOnceLock::new() }))
    }

    /// A mask that is an array already, of elements or, if its type says so, of bits.
    ///
    /// # Errors
    /// Key `mask`: it holds fewer bits than `array` has elements.
    pub(in crate::python) fn of_array(source: Py<PyDeviceArray>, array: &Layout) -> Result<ArrayMask> {
        let packed = source.get().interface().typestr().bits() == Some(1);
        if packed {
            check_bits(source.get().interface(), array)?;
        }
        Ok(ArrayMask::new(source, packed.then(|| array.clone())))
    }

    /// The mask that `reading` has found of an array of layout `array`, if it has.
    ///
    /// # Errors
    /// Key `mask`: the object is no CUDA array, has a mask itself, has no truth value, or does not fit the array's shape.
    #[inline]
    pub(in crate::python) fn read(reading: &mut Reading<'_>, array: &Layout, bits: bool) -> Result<Option<ArrayMask>> {
        let Some(object) = reading.mask.take() else { return Ok(None) };
        ArrayMask::of_object(object, reading, array, bits).map(Some)
    }

    /// Apart, so that an array without a mask does not carry this along.
    #[inline(never)]
    fn of_object<'py>(
        object: Bound<'py, PyAny>,
        reading: &mut Reading<'py>,
        array: &Layout,
        bits: bool,
    ) -> Result<ArrayMask> {
        let interface = described(&object, reading)?;
        let packed = bits || interface.typestr().bits() == Some(1);
        if packed {
            check_bits(&interface, array)?;
        } else {
            Mask::new((*interface).clone(), array)?;
        }
        let source = Py::new(object.py(), PyDeviceArray::foreign(interface, Some(object.unbind())))?;
        Ok(ArrayMask::new(source, packed.then(|| array.clone())))
    }

    /// The stream to heed before the mask is read, if there is one.
    pub(in crate::python) fn interface(&self) -> &Interface {
        self.0.source.get().interface()
    }

    /// The mask as an array of elements that are true where the array's are valid.
    pub(in crate::python) fn array(&self, py: Python<'_>) -> Result<&Py<PyDeviceArray>> {
        match &self.0.packed {
            None => Ok(&self.0.source),
            Some(array) => self.0.unpacked.get_or_try_init(py, || unpack(py, self.0.source.get(), array)),
        }
    }

    /// The mask for `numpy.ma`: true where an element is *not* valid, broadcast to `shape`.
    pub(in crate::python) fn invalid<'py>(
        &self,
        py: Python<'py>,
        shape: &Bound<'py, PyAny>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        let numpy = host::numpy(py)?;
        let valid = self.array(py)?.get().fetch(py, stream)?;
        let invalid = numpy.call_method1(intern!(py, "logical_not"), (valid,))?;
        Ok(numpy.call_method1(intern!(py, "broadcast_to"), (invalid, shape))?)
    }

    pub(in crate::python) fn clone_ref(&self, py: Python<'_>) -> ArrayMask {
        match self.0.unpacked.get(py) {
            Some(array) => ArrayMask::of_elements(array.clone_ref(py)),
            None => ArrayMask::new(self.0.source.clone_ref(py), self.0.packed.clone()),
        }
    }

    pub(in crate::python) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.0.source)
    }
}

/// Which elements of a `numpy.ma.MaskedArray` are valid, as an array of bool.
///
/// # Errors
/// [`Error::is_unsupported`]: fields of one element differ in that.
pub(in crate::python) fn valid<'py>(masked: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let py = masked.py();
    let numpy = host::numpy(py)?;
    let ma = numpy.getattr(intern!(py, "ma"))?;
    let mut invalid = ma.call_method1(intern!(py, "getmaskarray"), (masked,))?;
    let fields = invalid.getattr(intern!(py, "dtype"))?;
    if !fields.getattr(intern!(py, "names"))?.is_none() {
        // A truth value for each field of each element, side by side: one more axis.
        let bytes = invalid.call_method0(intern!(py, "tobytes"))?;
        let each = fields.getattr(intern!(py, "itemsize"))?;
        let shape = invalid.getattr(intern!(py, "shape"))?.add((each,).into_pyobject(py)?)?;
        let flags = numpy.call_method1(intern!(py, "frombuffer"), (bytes, intern!(py, "?")))?;
        let flags = flags.call_method1(intern!(py, "reshape"), (shape,))?;
        let of = |fold: &Bound<'py, PyString>| flags.call_method1(fold, (-1,));
        let (any, all) = (of(intern!(py, "any"))?, of(intern!(py, "all"))?);
        if !numpy.call_method1(intern!(py, "array_equal"), (&any, &all))?.is_truthy()? {
            return Err(Error::unsupported(
                "the mask tells fields of one element apart, and the interface's mask is of whole elements; give the fields as arrays \
                 of their own, or `filled()`",
            ));
        }
        invalid = all;
    }
    Ok(numpy.call_method1(intern!(py, "logical_not"), (invalid,))?)
}

/// Makes `invalid` the mask of `target`, a `numpy.ma.MaskedArray`; `None` if all elements are valid.
pub(in crate::python) fn set_invalid(target: &Bound<'_, PyAny>, invalid: Option<Bound<'_, PyAny>>) -> Result<()> {
    let py = target.py();
    let invalid = match invalid {
        Some(invalid) => invalid,
        None => host::numpy(py)?.getattr(intern!(py, "ma"))?.getattr(intern!(py, "nomask"))?,
    };
    Ok(target.setattr(intern!(py, "mask"), invalid)?)
}

/// Refuses a `numpy.ma.MaskedArray` whose mask would keep elements that are to be overwritten.
pub(in crate::python) fn refuse_hard(target: &Bound<'_, PyAny>) -> Result<()> {
    let py = target.py();
    let is_masked = || host::numpy(py)?.getattr(intern!(py, "ma"))?.call_method1(intern!(py, "is_masked"), (target,));
    if target.getattr(intern!(py, "hardmask"))?.is_truthy()? && is_masked()?.is_truthy()? {
        return Err(Error::unsupported(
            "cannot copy into a MaskedArray with a hard mask, whose masked elements would stay masked; call its soften_mask() before",
        ));
    }
    Ok(())
}

/// The interface of a mask object; what is wrong with it is wrong with the entry `mask`.
fn described<'py>(object: &Bound<'py, PyAny>, array: &mut Reading<'py>) -> Result<Box<Interface>> {
    let mut reading = array.of_mask();
    let read = import::attribute(object).and_then(|dict| import::interface(&dict, &mut reading));
    let interface = read.map_err(|error| match error.is_invalid_interface() || error.is_not_an_array() {
        true => error.within("mask"),
        false => error,
    })?;
    if reading.mask.is_some() {
        return Err(Error::entry("mask", "has a mask itself; an array whose elements are all valid is expected"));
    }
    array.add_mask_deviations(reading);
    Ok(interface)
}

/// Bits lie in bytes without gaps, one for each element of the array in C order, the lowest bit of a byte first.
fn check_bits(mask: &Interface, array: &Layout) -> Result<()> {
    if !mask.layout().is_c_contiguous() {
        return Err(Error::entry("mask", "bits that do not lie one behind the other cannot be read"));
    }
    let (bits, needed) = (mask.nbytes().saturating_mul(8), array.len());
    if bits < needed {
        return Err(Error::entry("mask", format!("holds {bits} bits, but the array has {needed} elements")));
    }
    Ok(())
}

/// An array of bool with the shape of `array`, from the bits of `source`.
fn unpack(py: Python<'_>, source: &PyDeviceArray, array: &Layout) -> Result<Py<PyDeviceArray>> {
    let bytes = Layout::c_contiguous(&[source.interface().nbytes()], 1)?;
    let bytes = Interface::new(source.interface().data(), TypeStr::of::<u8>(), bytes)?
        .with_version(source.interface().version())
        .with_stream(source.interface().stream());
    let bytes = PyDeviceArray::foreign(bytes, source.owner(py)?).fetch(py, None)?;
    let numpy = host::numpy(py)?;
    let arguments = pyo3::types::PyDict::new(py);
    arguments.set_item(intern!(py, "count"), array.len())?;
    arguments.set_item(intern!(py, "bitorder"), "little")?;
    let bits = numpy.call_method(intern!(py, "unpackbits"), (bytes,), Some(&arguments))?;
    let valid = bits
        .call_method1(intern!(py, "astype"), ("?",))?
        .call_method1(intern!(py, "reshape"), (pyo3::types::PyTuple::new(py, array.shape())?,))?;
    Ok(create::copy_of(HostArray::of(&valid, None)?, None, source.device()?)?.unbind())
}
