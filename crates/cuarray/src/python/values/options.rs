//! The keyword-only options of functions that import another library's array.
//!
//! The options are parsed by hand. Nearly every call has none of them, and then there is nothing to parse; PyO3 would
//! look up each declared parameter in each call.

use super::dtype::Element;
use crate::python::{
    config::{self, Protocol},
    ffi::inspect::{shown, type_name},
};
use crate::{Error, Result};
use pyo3::{
    exceptions::PyTypeError,
    ffi,
    prelude::*,
    types::{PyDict, PyString},
};

/// The treatment of an array's mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::python) enum Policy {
    /// The mask stays with the array.
    Keep,
    /// The array is read without its mask.
    Ignore,
    /// An array with a mask is refused.
    Refuse,
}

impl Policy {
    /// Parses the argument `mask`.
    pub(in crate::python) fn named(argument: &Bound<'_, PyString>) -> Result<Policy> {
        match &*argument.to_string_lossy() {
            "keep" => Ok(Policy::Keep),
            "ignore" => Ok(Policy::Ignore),
            "error" => Ok(Policy::Refuse),
            other => Err(Error::argument(format!("mask is {other:?}; 'keep', 'ignore' or 'error' is expected"))),
        }
    }
}

/// Whether the argument `mask_format` asks for bits. Any other format is an error.
pub(in crate::python) fn is_bits(argument: &Bound<'_, PyString>) -> Result<bool> {
    match &*argument.to_string_lossy() {
        "bits" => Ok(true),
        other => Err(Error::argument(format!("mask_format is {other:?}; None or 'bits' is expected"))),
    }
}

/// The options of an import, as documented in `as_cuda_array`.
pub(in crate::python) struct Options {
    pub(in crate::python) protocol: Option<Protocol>,
    pub(in crate::python) strict: bool,
    pub(in crate::python) masks: Policy,
    pub(in crate::python) bits: bool,
    pub(in crate::python) element: Option<Element>,
    pub(in crate::python) bounds: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { protocol: None, strict: true, masks: Policy::Keep, bits: false, element: None, bounds: false }
    }
}

impl Options {
    /// Reads the keywords of a call of `function`.
    ///
    /// # Errors
    /// As [`Options::set`].
    pub(in crate::python) fn of(function: &str, given: Option<&Bound<'_, PyDict>>) -> Result<Options> {
        let mut options = Options::default();
        for (name, value) in given.into_iter().flatten() {
            options.set(function, &name, &value)?;
        }
        Ok(options)
    }

    /// Whether all options but the protocol have their defaults.
    #[inline]
    pub(in crate::python) fn are_default(&self) -> bool {
        self.strict && self.masks == Policy::Keep && !self.bits && self.element.is_none() && !self.bounds
    }

    /// The protocol of the call or of the configuration. Options that only a dictionary supports select the dictionary.
    pub(in crate::python) fn protocol(&self) -> Protocol {
        match self.protocol.unwrap_or_else(config::protocol) {
            Protocol::Any if !self.strict || self.bits => Protocol::Dict,
            protocol => protocol,
        }
    }

    /// Sets the option of one keyword of a call of `function`.
    ///
    /// # Errors
    /// There is no such option, or the value is not allowed.
    #[cold]
    pub(in crate::python) fn set(
        &mut self,
        function: &str,
        name: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> Result<()> {
        match &*name.cast::<PyString>().map_err(PyErr::from)?.to_string_lossy() {
            "strict" => self.strict = flag("strict", value)?,
            "bounds" => self.bounds = flag("bounds", value)?,
            "protocol" if function != "from_cuda_array_interface" => {
                self.protocol = if value.is_none() {
                    None
                } else {
                    Some(Protocol::named(&text("protocol", value)?.to_string_lossy())?)
                };
            }
            "mask" | "mask_format" | "dtype" if value.is_none() => {}
            "mask" => self.masks = Policy::named(text("mask", value)?)?,
            "mask_format" => self.bits = is_bits(text("mask_format", value)?)?,
            "dtype" => self.element = Some(Element::of(value.py(), Some(value))?),
            other => {
                let why = format!("{function}() got an unexpected keyword argument '{other}'");
                return Err(PyTypeError::new_err(why).into());
            }
        }
        Ok(())
    }
}

#[inline]
pub(in crate::python) fn flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    // SAFETY: both objects live as long as the interpreter.
    let (no, yes) = unsafe { (ffi::Py_False(), ffi::Py_True()) };
    if value.as_ptr() == no || value.as_ptr() == yes {
        return Ok(value.as_ptr() == yes);
    }
    other_flag(name, value)
}

/// Accepts NumPy's bools too.
#[cold]
fn other_flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value.extract().map_err(|_| wrong_type(name, value, "bool"))
}

fn text<'a, 'py>(name: &str, value: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyString>> {
    value.cast().map_err(|_| wrong_type(name, value, "str"))
}

fn wrong_type(name: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "argument '{name}' is {}, a {}; a {expected} is expected",
        shown(value),
        type_name(value)
    ))
}
