//! A library that divides its work among its own streams.

use pyo3::prelude::*;

/// A module with one class.
#[pymodule]
mod stream_pool {
    use cuarray::{
        CContiguous, Context, DeviceArray, Driver, Ix2, Stream, kernel::LaunchConfig, python::DeviceView, sync::Access,
    };
    use pyo3::{exceptions::PyValueError, prelude::*};

    /// Doubles matrices, with the rows divided among several streams.
    #[pyclass(frozen)]
    struct Doubler {
        context: Context,
        workers: Vec<Stream>,
    }

    #[pymethods]
    impl Doubler {
        #[new]
        fn new(streams: usize) -> PyResult<Doubler> {
            if streams == 0 {
                return Err(PyValueError::new_err("at least one stream is needed"));
            }
            let context = Driver::load()?.default_context()?;
            let workers = (0..streams).map(|_| Stream::non_blocking(&context)).collect::<cuarray::Result<_>>()?;
            Ok(Doubler { context, workers })
        }

        /// Returns `2 * x` in a new array. Does not wait.
        ///
        /// Each worker acquires `x`, so it waits for the producer, and the producer's next work waits for it. All workers write the result,
        /// which records their streams, so a consumer is ordered after all of them.
        fn double(&self, x: DeviceView<'_, f32, Ix2, CContiguous>) -> PyResult<DeviceArray<f32, Ix2>> {
            let [rows, columns] = x.shape();
            let kernel = self.context.kernel(include_str!("double.ptx"), "double")?;
            let result = DeviceArray::empty([rows, columns], &self.workers[0])?;
            let start = result.interface().data();
            let each = rows.div_ceil(self.workers.len()).max(1);
            for (worker, first) in self.workers.iter().zip((0..rows).step_by(each)) {
                let count = each.min(rows - first) * columns;
                let n = u32::try_from(count).map_err(|_| PyValueError::new_err("more than 2**32 elements"))?;
                if n == 0 {
                    break;
                }
                let x = x.acquire(worker)?;
                let arguments = (x.device_ptr_at(&[first, 0])?, start + 4 * (first * columns) as u64, n);
                // SAFETY: both arrays hold `count` elements from row `first` on, and no other worker writes these rows. The result is
                // new, so no earlier work touches it, and the next line records this use.
                unsafe { kernel.launch(worker, LaunchConfig::for_elements(count, 256)?, arguments) }?;
                result.record_stream(worker, Access::Write)?;
                x.release()?;
            }
            Ok(result)
        }
    }
}
