//! The keyword-only options of the functions that take another library's array.
//!
//! They are read by hand: nearly every call gives none, and then nothing is asked. Declared as parameters, each would be
//! looked for in each call.

use super::{
    dtype::Element,
    import::{shown, type_name},
    mask::{self, Policy},
};
use crate::Result;
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyDict, PyString},
};

/// What is asked of an import; its documentation is that of `as_cuda_array`.
pub(super) struct Options {
    pub(super) strict: bool,
    pub(super) masks: Policy,
    pub(super) bits: bool,
    pub(super) element: Option<Element>,
    pub(super) bounds: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { strict: true, masks: Policy::Keep, bits: false, element: None, bounds: false }
    }
}

impl Options {
    /// What the keywords of a call of `function` say.
    ///
    /// # Errors
    /// As [`Options::set`].
    pub(super) fn of(function: &str, given: Option<&Bound<'_, PyDict>>) -> Result<Options> {
        let mut options = Options::default();
        for (name, value) in given.into_iter().flatten() {
            options.set(function, &name, &value)?;
        }
        Ok(options)
    }

    /// Whether nothing is asked.
    #[inline]
    pub(super) fn are_default(&self) -> bool {
        self.strict && self.masks == Policy::Keep && !self.bits && self.element.is_none() && !self.bounds
    }

    /// Takes one keyword of a call of `function`.
    ///
    /// # Errors
    /// It is none of the options, or has a value that it cannot have.
    #[cold]
    pub(super) fn set(&mut self, function: &str, name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<()> {
        match &*name.cast::<PyString>().map_err(PyErr::from)?.to_string_lossy() {
            "strict" => self.strict = flag("strict", value)?,
            "bounds" => self.bounds = flag("bounds", value)?,
            "mask" | "mask_format" | "dtype" if value.is_none() => {}
            "mask" => self.masks = Policy::named(text("mask", value)?)?,
            "mask_format" => self.bits = mask::names_bits(text("mask_format", value)?)?,
            "dtype" => self.element = Some(Element::of(value.py(), Some(value))?),
            other => {
                let why = format!("{function}() got an unexpected keyword argument '{other}'");
                return Err(PyTypeError::new_err(why).into());
            }
        }
        Ok(())
    }
}

pub(super) fn flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
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
