//! The list of all modules in a process that contain this crate. Each module releases its own deferred memory,
//! counts its own idle events, and reads other libraries' objects by the user's protocol.
//!
//! Users call `cuarray.reclaim()` once for all modules. So each module adds a tuple of Python functions to a list in the
//! interpreter's own dictionary: `(reclaim(wait), idle_events(), set_protocol(name))`.

pub(crate) mod rust_api;

use crate::python::{config, memory::runtime};
use pyo3::{
    prelude::*,
    sync::PyOnceLock,
    types::{PyList, PyTuple},
};
use rust_api::interpreter_dict;

const KEY: &str = "cuarray.extensions";

/// This module's functions.
static OWN: PyOnceLock<Py<PyTuple>> = PyOnceLock::new();

/// Adds this module's functions to the list, once.
pub(in crate::python) fn join(py: Python<'_>) -> PyResult<()> {
    let Some(dict) = interpreter_dict(py) else { return Ok(()) };
    OWN.get_or_try_init(py, || {
        let functions = [
            wrap_pyfunction!(runtime::reclaim_own, py)?.into_any(),
            wrap_pyfunction!(runtime::idle_events_own, py)?.into_any(),
            wrap_pyfunction!(config::set_protocol_own, py)?.into_any(),
        ];
        let functions = PyTuple::new(py, functions)?;
        match dict.get_item(KEY)? {
            Some(list) => list.cast_into::<PyList>()?.append(&functions)?,
            None => dict.set_item(KEY, PyList::new(py, [&functions])?)?,
        }
        PyResult::Ok(functions.unbind())
    })?;
    Ok(())
}

/// The functions of the other modules.
fn others(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyTuple>>> {
    let list = match interpreter_dict(py) {
        Some(dict) => dict.get_item(KEY)?,
        None => None,
    };
    let Some(list) = list else { return Ok(Vec::new()) };
    let own = OWN.get(py);
    let all = list.cast_into::<PyList>()?.iter().map(|functions| functions.cast_into::<PyTuple>());
    let others = all.filter(|functions| !matches!((functions, own), (Ok(functions), Some(own)) if functions.is(own)));
    Ok(others.collect::<Result<_, _>>()?)
}

/// Makes the other modules release their deferred memory.
pub(in crate::python) fn reclaim_others(py: Python<'_>, wait: bool) -> PyResult<()> {
    others(py)?.iter().try_for_each(|functions| functions.get_item(0)?.call1((wait,)).map(drop))
}

/// The number of events that the other modules keep.
pub(in crate::python) fn idle_events_of_others(py: Python<'_>) -> PyResult<usize> {
    others(py)?.iter().map(|functions| functions.get_item(1)?.call0()?.extract::<usize>()).sum()
}

/// Sets the protocol of imports in the other modules.
pub(in crate::python) fn set_protocol_of_others(py: Python<'_>, name: &str) -> PyResult<()> {
    others(py)?.iter().try_for_each(|functions| functions.get_item(2)?.call1((name,)).map(drop))
}
