//! The cost of an argument: functions that take one and do nothing with it.

use pyo3::prelude::*;

/// Functions that take one argument each.
#[pymodule]
mod arguments_bench {
    use cuarray::{Stream, python::DeviceView1};
    use numpy::PyReadonlyArray1;
    use pyo3::prelude::*;

    /// The floor: accepts any object.
    #[pyfunction]
    fn anything(x: &Bound<'_, PyAny>) {
        let _ = x;
    }

    /// A typed GPU array.
    #[pyfunction]
    fn device_view(x: DeviceView1<'_, f32>) {
        drop(x);
    }

    /// A typed host array of rust-numpy.
    #[pyfunction]
    fn readonly_array(x: PyReadonlyArray1<'_, f32>) {
        drop(x);
    }

    /// A typed GPU array, acquired in its home stream and released.
    #[pyfunction]
    fn at_home(x: DeviceView1<'_, f32>) -> PyResult<()> {
        let stream = x.stream()?;
        x.acquire(&stream)?.release()?;
        Ok(())
    }

    /// A stream of the module, in which arrays are acquired.
    #[pyclass(frozen)]
    struct Worker {
        stream: Stream,
    }

    #[pymethods]
    impl Worker {
        #[new]
        fn new(stream: Stream) -> Worker {
            Worker { stream }
        }

        /// A typed GPU array, acquired in this stream and released.
        fn acquire(&self, x: DeviceView1<'_, f32>) -> PyResult<()> {
            x.acquire(&self.stream)?.release()?;
            Ok(())
        }
    }
}
