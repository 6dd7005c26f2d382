//! Classes that hold device memory for as long as they live: one owns and exports it, one keeps another library's array.

use pyo3::prelude::*;

/// A module with two classes.
#[pymodule]
mod memory_in_classes {
    use cuarray::{
        CContiguous, DeviceArray, Ix1, Ix2, Stream, TypedView,
        driver::copy::copy_device_to_device,
        python::{DeviceView, DeviceView1},
    };
    use pyo3::{exceptions::PyValueError, prelude::*};
    use std::sync::{Mutex, PoisonError};

    /// A ring buffer of the last rows that were pushed.
    #[pyclass]
    struct History {
        rows: DeviceArray<f32, Ix2>,
        next: usize,
        stream: Stream,
    }

    #[pymethods]
    impl History {
        #[new]
        fn new(rows: usize, columns: usize, stream: Stream) -> PyResult<History> {
            if rows == 0 {
                return Err(PyValueError::new_err("at least one row is needed"));
            }
            let rows = DeviceArray::zeros([rows, columns], &stream)?;
            Ok(History { rows, next: 0, stream })
        }

        /// Copies a row into the buffer. Does not wait.
        fn push(&mut self, row: DeviceView<'_, f32, Ix1, CContiguous>) -> PyResult<()> {
            let [columns] = row.shape();
            let rows = self.rows.acquire_mut(&self.stream)?;
            let [count, expected] = rows.shape();
            if columns != expected {
                return Err(PyValueError::new_err(format!("a row of {columns} elements; {expected} are expected")));
            }
            if columns > 0 {
                let row = row.acquire(&self.stream)?;
                let to = rows.device_ptr_at(&[self.next, 0])?;
                let context = self.stream.work_context()?;
                // SAFETY: source and destination hold one row each, and both guards are for the stream of the copy.
                unsafe { copy_device_to_device(&context, to, row.as_device_ptr(), 4 * columns, Some(&self.stream)) }?;
                row.release()?;
            }
            rows.release()?;
            self.next = (self.next + 1) % count;
            Ok(())
        }

        /// Returns all rows without a copy. The returned array keeps the memory alive, also after the history is gone.
        #[getter]
        fn rows(&self) -> DeviceArray<f32, Ix2> {
            self.rows.clone()
        }
    }

    /// Another library's array, kept to be read repeatedly, from any thread.
    #[pyclass(frozen)]
    struct Table {
        view: Mutex<TypedView<f32, Ix1>>,
    }

    #[pymethods]
    impl Table {
        #[new]
        fn new(x: DeviceView1<'_, f32>) -> Table {
            // A view argument is bound to this call. `unbind` gives a view that keeps the object and may move to other threads.
            Table { view: Mutex::new(x.unbind()) }
        }

        /// Returns the sum of the current elements, read in `stream`. Waits, detached from the interpreter.
        fn sum(&self, py: Python<'_>, stream: Stream) -> PyResult<f64> {
            py.detach(|| {
                let view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
                let elements = view.acquire(&stream)?.copy_to_host()?;
                Ok(elements.into_iter().map(f64::from).sum())
            })
        }
    }
}
