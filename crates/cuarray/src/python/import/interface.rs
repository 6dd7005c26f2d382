//! `Interface`: a parsed and checked `__cuda_array_interface__`, for inspection.

use super::{Reading, mask};
use crate::python::{
    array::{PyDeviceArray, dictionary, mask::ArrayMask},
    import,
    memory::bounds,
    values::{
        dtype::{self, Element},
        options::{self, Policy},
    },
};
use crate::{DevicePtr, Interface, Result, protocol::layout::Tuple};
use pyo3::{
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};

/// One interface as this library parsed it: plain data that keeps nothing alive (clause L1).
///
/// >>> cuarray.interface({"shape": (2, 3), "typestr": "<f4", "data": (4096, True), "version": 3}).strides
/// (12, 4)
#[pyclass(frozen, name = "Interface", module = "cuarray")]
pub struct PyInterface {
    interface: Interface,
    mask: Option<Py<PyInterface>>,
    deviations: Vec<String>,
    notes: Vec<String>,
}

impl PyInterface {
    fn of_mask(interface: Interface) -> PyInterface {
        PyInterface { interface, mask: None, deviations: Vec::new(), notes: Vec::new() }
    }

    /// Compares the parsed values, so that two spellings of one interface are equal.
    fn is_equivalent(&self, other: &PyInterface) -> bool {
        let masks = match (&self.mask, &other.mask) {
            (None, None) => true,
            (Some(mask), Some(other)) => mask.get().interface == other.get().interface,
            _ => false,
        };
        masks && self.interface == other.interface
    }
}

#[pymethods]
impl PyInterface {
    /// The version of the interface that was read, 0 to 3.
    #[getter]
    fn version(&self) -> u8 {
        self.interface.version().number()
    }

    /// The size of each dimension.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        dictionary::shape(py, &self.interface)
    }

    /// Bytes to step in each dimension, also if the interface omits them.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        dictionary::strides(py, &self.interface)
    }

    /// The element type as the interface writes it, or its name if the caller gave one ('bfloat16').
    #[getter]
    fn typestr(&self) -> String {
        self.interface.typestr().label()
    }

    /// The element type, as a numpy.dtype.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        dtype::of_interface(py, &self.interface)
    }

    /// The address of the first element.
    #[getter]
    fn ptr(&self) -> DevicePtr {
        self.interface.data()
    }

    /// Whether the elements must not be written.
    #[getter]
    fn readonly(&self) -> bool {
        self.interface.is_read_only()
    }

    /// The stream to wait for, as an int; None if there is none.
    #[getter]
    fn stream(&self) -> Option<usize> {
        self.interface.stream().handle()
    }

    /// The number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.interface.layout().ndim()
    }

    /// The number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.interface.layout().len()
    }

    /// Bytes of one element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.interface.layout().itemsize()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.interface.nbytes()
    }

    /// The addresses that the elements span, as (first, end); `end` is exclusive.
    #[getter]
    fn byte_range(&self) -> (DevicePtr, DevicePtr) {
        let range = self.interface.byte_range();
        (range.start, range.end)
    }

    /// The interface of the mask (clause I10); None where all elements are valid.
    #[getter]
    fn mask(&self, py: Python<'_>) -> Option<Py<PyInterface>> {
        self.mask.as_ref().map(|mask| mask.clone_ref(py))
    }

    /// The deviations from the text that `strict=False` accepted, each with its key; empty with `strict=True`.
    #[getter]
    fn deviations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.deviations)
    }

    /// The requested checks that were impossible, with reasons; empty without `bounds=True`.
    #[getter]
    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.notes)
    }

    /// Whether the elements lie in C order without gaps.
    fn is_c_contiguous(&self) -> bool {
        self.interface.layout().is_c_contiguous()
    }

    /// Whether the elements lie in Fortran order without gaps.
    fn is_f_contiguous(&self) -> bool {
        self.interface.layout().is_f_contiguous()
    }

    fn __repr__(&self) -> String {
        let mut text = self.interface.to_string();
        if let Some(mask) = &self.mask {
            let mask = &mask.get().interface;
            text += &format!("\n  mask     '{}' {}", mask.typestr(), Tuple(mask.shape()));
        }
        text
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyInterface>().is_ok_and(|other| self.is_equivalent(other.get()))
    }
}

/// Reads the `__cuda_array_interface__` of an object, or such a dictionary. Needs no driver and does not wait.
///
/// `strict=False` also accepts known deviations of some libraries from the text: a type string such as 'float32' or
/// '=f', a list for a tuple, no version, no read-only flag. `deviations` lists them.
///
/// `dtype` names the element type if the interface cannot, as in `as_cuda_array`.
///
/// `bounds=True` checks that the elements lie in an allocation, as in `as_cuda_array`. That needs a driver. `notes` lists the checks that
/// were impossible.
///
/// Raises as `as_cuda_array` does.
///
/// >>> cuarray.interface({"shape": (), "typestr": "<f4", "data": (4096, False), "version": 2}).nbytes
/// 4
/// >>> cuarray.interface({"shape": [3], "typestr": "float32", "data": (4096, False), "version": 2}, strict=False).deviations
/// ("'typestr': typestr 'float32' is the name of a type; read as '<f4'", "'shape': a list, read as a tuple")
#[pyfunction]
#[pyo3(signature = (obj, *, strict=true, mask_format=None, dtype=None, bounds=false))]
pub(in crate::python) fn interface(
    obj: &Bound<'_, PyAny>,
    strict: bool,
    mask_format: Option<&Bound<'_, PyString>>,
    dtype: Option<&Bound<'_, PyAny>>,
    bounds: bool,
) -> Result<PyInterface> {
    let mut element = dtype.map(|dtype| Element::of(obj.py(), Some(dtype))).transpose()?;
    if let Ok(array) = obj.cast_exact::<PyDeviceArray>() {
        // The dictionary cannot express every type that an array can have.
        element = Some(Element::of_interface(&import::with_element(array.get().interface().clone(), element)?));
    }
    let mut reading = Reading::new(strict).with_masks(Policy::Keep).with_element(element);
    let interface = match obj.cast::<PyDict>() {
        Ok(dict) => *import::interface(dict, &mut reading)?,
        Err(_) => {
            let interface = *import::interface(&import::attribute(obj)?, &mut reading)?;
            import::refuse_lazy(obj, &interface)?;
            interface
        }
    };
    let mask = mask::read(&mut reading, interface.layout(), mask_format.map_or(Ok(false), options::is_bits)?)?;
    let notes = if bounds { bounds::notes(&interface, mask.as_ref().map(ArrayMask::interface))? } else { Vec::new() };
    let mask = mask.map(|mask| Py::new(obj.py(), PyInterface::of_mask(mask.interface().clone()))).transpose()?;
    Ok(PyInterface { interface, mask, deviations: reading.deviations(), notes })
}
