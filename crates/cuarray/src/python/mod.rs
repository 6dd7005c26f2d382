//! The Python side: the classes and functions of the package `cuarray`, as a module that an extension registers.
//!
//! [`register`] adds all names to the package's extension module; a few lines of Python export them. Three rules hold
//! throughout. Code that can block runs without the GIL. Shared objects are frozen, apart from memory of another process
//! ([`ipc`](import::ipc)), which has a field that changes, behind a lock. Objects of others are not frozen: without the GIL, the walk over a
//! dictionary holds its critical section ([`entries`](import)), and so does the taking of a capsule. No driver is needed
//! before a call touches a device: interfaces are read, checked and printed on any machine.

pub mod arguments;
pub mod array;
mod class;
pub mod config;
mod export;
mod extensions;
pub(crate) mod ffi;
mod functions;
pub mod import;
pub mod memory;
mod values;

pub use arguments::{
    Attached, DeviceView, DeviceView0, DeviceView1, DeviceView2, DeviceView3, DeviceView4, DeviceView5, DeviceView6,
    DeviceViewDyn, DeviceViewMut, DeviceViewMut0, DeviceViewMut1, DeviceViewMut2, DeviceViewMut3, DeviceViewMut4,
    DeviceViewMut5, DeviceViewMut6, DeviceViewMutDyn, MaskedView,
};

use pyo3::{exceptions::PyImportError, ffi as pyo3_ffi, prelude::*};

/// Adds every class and function of the package to `module`.
///
/// ```
/// use pyo3::prelude::*;
///
/// /// The package's own extension module; other modules do not need this.
/// #[pymodule]
/// fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
///     cuarray::python::register(module)
/// }
/// ```
///
/// # Errors
/// An environment variable of the [configuration](config) holds a value that it cannot have. ImportError: the module is imported in
/// a sub-interpreter.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    refuse_subinterpreter()?;
    module.add_class::<array::PyDeviceArray>()?;
    module.add_class::<memory::c_array::PyCArray>()?;
    module.add_class::<memory::tensor::PyDLPackTensor>()?;
    module.add_class::<import::interface::PyInterface>()?;
    module.add_class::<import::ipc::PyIpcHandle>()?;
    module.add_class::<import::ipc::PyIpcMemory>()?;
    module.add_class::<memory::owner::PyMemory>()?;
    module.add_class::<memory::pointer::PyPointerAttributes>()?;
    module.add_class::<memory::stream::PyStream>()?;
    module.add_class::<memory::stream::PyAutoSynchronize>()?;
    module.add_class::<memory::event::PyEvent>()?;
    module.add_class::<import::borrow::PyBorrow>()?;
    module.add_class::<config::PyConfig>()?;
    module.add("CudaError", module.py().get_type::<ffi::error::CudaError>())?;
    module.add("config", Bound::new(module.py(), config::PyConfig::from_environment()?)?)?;
    for function in [
        ffi::fastcall::function::<import::as_cuda_array::AsCudaArray>(module)?,
        wrap_pyfunction!(import::borrow::borrow, module)?,
        wrap_pyfunction!(functions::from_cuda_array_interface, module)?,
        ffi::fastcall::function::<import::dlpack::FromDLPack>(module)?,
        wrap_pyfunction!(functions::is_cuda_array, module)?,
        wrap_pyfunction!(functions::device_array, module)?,
        wrap_pyfunction!(functions::to_device, module)?,
        wrap_pyfunction!(functions::device_array_like, module)?,
        wrap_pyfunction!(functions::mapped_array, module)?,
        wrap_pyfunction!(functions::managed_array, module)?,
        wrap_pyfunction!(functions::pinned_array, module)?,
        wrap_pyfunction!(import::interface::interface, module)?,
        wrap_pyfunction!(memory::stream::stream, module)?,
        wrap_pyfunction!(memory::stream::default_stream, module)?,
        wrap_pyfunction!(memory::stream::legacy_default_stream, module)?,
        wrap_pyfunction!(memory::stream::per_thread_default_stream, module)?,
        wrap_pyfunction!(memory::stream::external_stream, module)?,
        wrap_pyfunction!(memory::event::event, module)?,
        wrap_pyfunction!(memory::pointer::pointer_attributes, module)?,
        wrap_pyfunction!(memory::runtime::driver_path, module)?,
        wrap_pyfunction!(memory::runtime::idle_events, module)?,
        wrap_pyfunction!(memory::runtime::reclaim, module)?,
    ] {
        module.add_function(function)?;
    }
    extensions::join(module.py())?;
    memory::runtime::reclaim_at_exit(module.py())
}

/// Refuses an import in a sub-interpreter. The classes belong to the interpreter that made them, and before Python 3.12 a thread that
/// attaches itself attaches to the main interpreter, and would wait forever. Later versions refuse the import before this.
fn refuse_subinterpreter() -> PyResult<()> {
    // SAFETY: this thread is attached, as it runs the initialization of a module.
    let interpreter = unsafe { pyo3_ffi::PyInterpreterState_GetID(pyo3_ffi::PyInterpreterState_Get()) };
    if interpreter == 0 {
        return Ok(());
    }
    Err(PyImportError::new_err(format!(
        "cuarray cannot be imported in a sub-interpreter (this is interpreter {interpreter}); import it in the main interpreter, or \
         use processes with the start method 'spawn'"
    )))
}
