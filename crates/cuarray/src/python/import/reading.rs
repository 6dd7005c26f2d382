//! How a dictionary is read, and what was forgiven in it.

use crate::{
    Error, Result,
    python::{dtype::Element, event, mask},
};
use pyo3::prelude::*;

/// How a dictionary is to be read, and what has been forgiven so far.
pub(in crate::python) struct Reading<'py> {
    strict: bool,
    pub(super) masks: mask::Policy,
    forgiven: Vec<String>,
    /// What the user says of the elements.
    pub(super) element: Option<Element>,
    /// The object under `mask`, where masks are kept and the array has one.
    pub(in crate::python) mask: Option<Bound<'py, PyAny>>,
    /// The event under `event`, where the interface names a stream too.
    pub(in crate::python) event: Option<event::Handle>,
}

impl<'py> Reading<'py> {
    /// A reading that refuses arrays with a mask.
    pub(in crate::python) fn new(strict: bool) -> Reading<'py> {
        Reading { strict, masks: mask::Policy::Refuse, forgiven: Vec::new(), element: None, mask: None, event: None }
    }

    pub(in crate::python) fn with_masks(self, masks: mask::Policy) -> Reading<'py> {
        Reading { masks, ..self }
    }

    /// The elements are of this type, whatever little the interface says of them.
    pub(in crate::python) fn with_element(self, element: Option<Element>) -> Reading<'py> {
        Reading { element, ..self }
    }

    /// A reading of the mask of what this one reads, as strict as this one.
    pub(in crate::python) fn of_mask(&self) -> Reading<'py> {
        Reading::new(self.strict).with_masks(mask::Policy::Keep)
    }

    /// Adds what was forgiven in the mask.
    pub(in crate::python) fn forgive_mask(&mut self, mask: Reading<'py>) {
        self.forgiven.extend(mask.forgiven.iter().map(|note| format!("'mask': {note}")));
    }

    /// What was read although the text does not allow it, in the order in which it was met.
    pub(in crate::python) fn forgiven(self) -> Vec<String> {
        self.forgiven
    }

    /// Lets a deviation pass, and notes it; a strict reading raises `error` instead.
    pub(super) fn forgive(
        &mut self,
        key: &str,
        note: impl FnOnce() -> String,
        error: impl FnOnce() -> Error,
    ) -> Result<()> {
        if self.strict {
            return Err(error());
        }
        self.forgiven.push(format!("'{key}': {}", note()));
        Ok(())
    }
}
