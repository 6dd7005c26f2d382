//! Functions in safe Rust, apart from the fills, that use guards in unusual ways: leaked, several over one memory, in several threads.

use crate::views::enqueue;
use cuarray::{
    AcquiredMut, Ix1, Stream, TypedView,
    python::{Attached, DeviceViewMut1},
};
use pyo3::prelude::*;
use std::{
    mem,
    sync::{Mutex, PoisonError},
};

/// Enqueues a fill, and ends the guard, or leaks it.
fn fill(guard: AcquiredMut<'_, u8, Ix1, Attached<'_>>, byte: u8, leak: bool) -> PyResult<()> {
    // The guard knows the context of a default stream.
    enqueue(guard.stream(), guard.as_device_ptr(), guard.len(), byte)?;
    match leak {
        true => mem::forget(guard),
        false => guard.release()?,
    }
    Ok(())
}

/// Enqueues a fill. Leaks the guard if `leak` is set.
#[pyfunction]
pub fn fill_and_leak(mut x: DeviceViewMut1<'_, u8>, byte: u8, stream: Stream, leak: bool) -> PyResult<()> {
    fill(x.acquire_mut(&stream)?, byte, leak)
}

/// Enqueues a fill of one argument after the other, each in its stream. Both live until the end.
#[pyfunction]
pub fn fill_in_turn(
    mut x: DeviceViewMut1<'_, u8>,
    mut y: DeviceViewMut1<'_, u8>,
    first: Stream,
    second: Stream,
) -> PyResult<()> {
    fill(x.acquire_mut(&first)?, 1, false)?;
    fill(y.acquire_mut(&second)?, 2, false)
}

/// Keeps another library's array, and writes it in any thread.
#[pyclass(frozen)]
pub struct Writer {
    view: Mutex<TypedView<u8, Ix1>>,
}

#[pymethods]
impl Writer {
    #[new]
    fn new(x: DeviceViewMut1<'_, u8>) -> Writer {
        Writer { view: Mutex::new(x.unbind()) }
    }

    #[pyo3(signature = (byte, stream, leak=false))]
    fn fill(&self, py: Python<'_>, byte: u8, stream: Stream, leak: bool) -> PyResult<()> {
        py.detach(|| {
            let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
            let guard = view.acquire_mut(&stream)?;
            enqueue(guard.stream(), guard.as_device_ptr(), guard.len(), byte)?;
            match leak {
                true => mem::forget(guard),
                false => guard.release()?,
            }
            Ok(())
        })
    }
}
