//! The options for reading a dictionary, and the deviations from the text that it has.

use crate::{
    Error, Result,
    python::{
        memory::event,
        values::{dtype::Element, options::Policy},
    },
};
use pyo3::prelude::*;

/// The options for reading a dictionary, and the values found so far that are not part of the interface.
pub(in crate::python) struct Reading<'py> {
    strict: bool,
    pub(super) masks: Policy,
    deviations: Vec<String>,
    /// The element type that the caller states.
    pub(super) element: Option<Element>,
    /// The object under `mask`, if masks are kept and the array has one.
    pub(in crate::python) mask: Option<Bound<'py, PyAny>>,
    /// The event under `event`, if the interface also names a stream.
    pub(in crate::python) event: Option<event::Handle>,
}

impl<'py> Reading<'py> {
    /// A reading that refuses arrays with a mask.
    pub(in crate::python) fn new(strict: bool) -> Reading<'py> {
        Reading { strict, masks: Policy::Refuse, deviations: Vec::new(), element: None, mask: None, event: None }
    }

    pub(in crate::python) fn with_masks(self, masks: Policy) -> Reading<'py> {
        Reading { masks, ..self }
    }

    /// Sets the element type that the caller states.
    pub(in crate::python) fn with_element(self, element: Option<Element>) -> Reading<'py> {
        Reading { element, ..self }
    }

    /// A `Reading` for the mask of this array, equally strict.
    pub(in crate::python) fn of_mask(&self) -> Reading<'py> {
        Reading::new(self.strict).with_masks(Policy::Keep)
    }

    /// Adds the deviations of the mask.
    pub(in crate::python) fn add_mask_deviations(&mut self, mask: Reading<'py>) {
        self.deviations.extend(mask.deviations.iter().map(|note| format!("'mask': {note}")));
    }

    /// The deviations, in the order in which they were found.
    pub(in crate::python) fn deviations(self) -> Vec<String> {
        self.deviations
    }

    /// Notes a deviation; a strict reading raises `error` instead.
    pub(super) fn deviation(
        &mut self,
        key: &str,
        note: impl FnOnce() -> String,
        error: impl FnOnce() -> Error,
    ) -> Result<()> {
        if self.strict {
            return Err(error());
        }
        self.deviations.push(format!("'{key}': {}", note()));
        Ok(())
    }
}
