//! Masks: which elements of an array are valid (clauses I10 and X3).
//!
//! A mask is an array of any type with a truth value, broadcast to the masked array. True means valid, the opposite
//! of a `numpy.ma` mask. Some producers write bits instead, packed into bytes: a bitmask.
//! Its interface does not show this, so the user states it: `mask_format="bits"`. A mask of the type `t1` needs no
//! such argument.
//!
//! Bits cannot be strided, sliced, or exported to libraries that follow the text. So they are unpacked, through the
//! host, into an array of bool. This happens on first use of the mask, so an import does not pay for it.

use super::{PyDeviceArray, create};
use crate::python::values::host::{self, HostArray};
use crate::{Error, Interface, Layout, Mask, Result, TypeStr};
use pyo3::{PyTraverseError, PyVisit, intern, prelude::*, sync::PyOnceLock, types::PyString};

/// The mask of an array; boxed, because few arrays have a mask and every array has a field for it.
pub(in crate::python) struct ArrayMask(Box<Content>);

struct Content {
    /// The producer's mask.
    source: Py<PyDeviceArray>,
    /// The layout of the masked array, if `source` holds bits.
    packed: Option<Layout>,
    unpacked: PyOnceLock<Py<PyDeviceArray>>,
}

impl ArrayMask {
    /// A mask with one element for each truth value.
    pub(in crate::python) fn of_elements(source: Py<PyDeviceArray>) -> ArrayMask {
        ArrayMask::new(source, None)
    }

    fn new(source: Py<PyDeviceArray>, packed: Option<Layout>) -> ArrayMask {
        ArrayMask(Box::new(Content { source, packed, unpacked: PyOnceLock::new() }))
    }

    /// A mask from an array of elements or, if its type is `t1`, of bits.
    ///
    /// # Errors
    /// Key `mask`: the mask holds fewer bits than `array` has elements.
    pub(in crate::python) fn of_array(source: Py<PyDeviceArray>, array: &Layout) -> Result<ArrayMask> {
        let packed = source.get().interface().typestr().bits() == Some(1);
        if packed {
            check_bits(source.get().interface(), array)?;
        }
        Ok(ArrayMask::new(source, packed.then(|| array.clone())))
    }

    /// A mask from the interface of the producer's object, of elements or, with `bits`, of bits.
    ///
    /// # Errors
    /// Key `mask`: the mask has no truth value, does not fit the array's shape, or holds too few bits.
    pub(in crate::python) fn foreign(
        interface: Box<Interface>,
        object: Bound<'_, PyAny>,
        array: &Layout,
        bits: bool,
    ) -> Result<ArrayMask> {
        let packed = bits || interface.typestr().bits() == Some(1);
        if packed {
            check_bits(&interface, array)?;
        } else {
            Mask::new((*interface).clone(), array)?;
        }
        let source = Py::new(object.py(), PyDeviceArray::foreign(interface, Some(object.unbind())))?;
        Ok(ArrayMask::new(source, packed.then(|| array.clone())))
    }

    /// The interface of the producer's mask, whose stream orders work before the mask is read.
    pub(in crate::python) fn interface(&self) -> &Interface {
        self.0.source.get().interface()
    }

    /// The mask as an array whose elements are true where the elements of the masked array are valid.
    pub(in crate::python) fn array(&self, py: Python<'_>) -> Result<&Py<PyDeviceArray>> {
        match &self.0.packed {
            None => Ok(&self.0.source),
            Some(array) => self.0.unpacked.get_or_try_init(py, || unpack(py, self.0.source.get(), array)),
        }
    }

    /// The mask in the sense of `numpy.ma`: true where an element is *not* valid, broadcast to `shape`.
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

/// The valid elements of a `numpy.ma.MaskedArray`, as an array of bool.
///
/// # Errors
/// [`Error::is_unsupported`]: fields of one element have different truth values.
pub(in crate::python) fn valid<'py>(masked: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    let py = masked.py();
    let numpy = host::numpy(py)?;
    let ma = numpy.getattr(intern!(py, "ma"))?;
    let mut invalid = ma.call_method1(intern!(py, "getmaskarray"), (masked,))?;
    let fields = invalid.getattr(intern!(py, "dtype"))?;
    if !fields.getattr(intern!(py, "names"))?.is_none() {
        // The mask has a truth value for each field of each element. The fields become one more axis.
        let bytes = invalid.call_method0(intern!(py, "tobytes"))?;
        let each = fields.getattr(intern!(py, "itemsize"))?;
        let shape = invalid.getattr(intern!(py, "shape"))?.add((each,).into_pyobject(py)?)?;
        let flags = numpy.call_method1(intern!(py, "frombuffer"), (bytes, intern!(py, "?")))?;
        let flags = flags.call_method1(intern!(py, "reshape"), (shape,))?;
        let of = |fold: &Bound<'py, PyString>| flags.call_method1(fold, (-1,));
        let (any, all) = (of(intern!(py, "any"))?, of(intern!(py, "all"))?);
        if !numpy.call_method1(intern!(py, "array_equal"), (&any, &all))?.is_truthy()? {
            return Err(Error::unsupported(
                "the mask has different values for the fields of an element, and the interface's mask is for whole elements; pass the \
                 fields as separate arrays, or `filled()`",
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

/// Refuses a `numpy.ma.MaskedArray` with a hard mask, which would protect masked elements from being overwritten.
pub(in crate::python) fn refuse_hard(target: &Bound<'_, PyAny>) -> Result<()> {
    let py = target.py();
    let is_masked = || host::numpy(py)?.getattr(intern!(py, "ma"))?.call_method1(intern!(py, "is_masked"), (target,));
    if target.getattr(intern!(py, "hardmask"))?.is_truthy()? && is_masked()?.is_truthy()? {
        return Err(Error::unsupported(
            "cannot copy into a MaskedArray with a hard mask, whose masked elements would stay masked; call its soften_mask() first",
        ));
    }
    Ok(())
}

/// Checks that the bits are packed without gaps, and that there is one bit for each element in C order, lowest bit of
/// a byte first.
fn check_bits(mask: &Interface, array: &Layout) -> Result<()> {
    if !mask.layout().is_c_contiguous() {
        return Err(Error::entry("mask", "the bits are not contiguous; contiguous bits are expected"));
    }
    let (bits, needed) = (mask.nbytes().saturating_mul(8), array.len());
    if bits < needed {
        return Err(Error::entry("mask", format!("holds {bits} bits, but the array has {needed} elements")));
    }
    Ok(())
}

/// Unpacks the bits of `source` into an array of bool with the shape of `array`.
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
