//! The Python side: the classes and functions of the package `cuarray`, as a module that an extension registers.
//!
//! The package itself is this and nothing more: [`register`] puts the names into its extension module, and a few lines of
//! Python give them their place. Three rules hold throughout. What can block runs without the GIL. What is shared is frozen:
//! no class here has a field that changes (but one that is closed, behind a lock: memory of another process, in [`ipc`]), so the
//! package is as right without the GIL as with it. And nothing needs a driver before it touches a device: reading, checking and
//! printing interfaces works on any machine.

mod allocate;
mod array_owner;
mod as_cuda_array;
mod assign;
pub mod borrow;
mod bounds;
mod c_interface;
pub mod config;
mod copies;
mod create;
mod descr;
pub mod device_array;
pub mod device_view;
mod dlpack;
mod dtype;
pub mod event;
mod export;
mod extensions;
mod fastcall;
mod host;
pub mod import;
mod indexing;
mod inert;
pub mod interface;
pub mod ipc;
mod kept;
mod mask;
mod memory;
mod options;
mod per_number;
mod pointer;
mod reach;
mod rearrange;
mod root;
mod runtime;
mod rust_api;
pub mod stream;
mod transfer;
mod vectorcall;
mod view;

pub(crate) use rust_api::cuda_error_class;

pub use device_view::{
    Attached, DeviceView, DeviceView0, DeviceView1, DeviceView2, DeviceView3, DeviceView4, DeviceView5, DeviceView6,
    DeviceViewDyn, DeviceViewMut, DeviceViewMut0, DeviceViewMut1, DeviceViewMut2, DeviceViewMut3, DeviceViewMut4,
    DeviceViewMut5, DeviceViewMut6, DeviceViewMutDyn, MaskedView,
};

use pyo3::prelude::*;

/// Adds every class and function of the package to `module`.
///
/// ```
/// use pyo3::prelude::*;
///
/// /// The package's own extension module; others need none of this.
/// #[pymodule]
/// fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
///     cuarray::python::register(module)
/// }
/// ```
///
/// # Errors
/// An environment variable of the [configuration](config) holds a value that it cannot have.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<device_array::PyDeviceArray>()?;
    module.add_class::<c_interface::PyCArray>()?;
    module.add_class::<dlpack::PyDLPackTensor>()?;
    module.add_class::<interface::PyInterface>()?;
    module.add_class::<ipc::PyIpcHandle>()?;
    module.add_class::<ipc::PyIpcMemory>()?;
    module.add_class::<memory::PyMemory>()?;
    module.add_class::<pointer::PyPointerAttributes>()?;
    module.add_class::<stream::PyStream>()?;
    module.add_class::<stream::PyAutoSynchronize>()?;
    module.add_class::<event::PyEvent>()?;
    module.add_class::<borrow::PyBorrow>()?;
    module.add_class::<config::PyConfig>()?;
    module.add("CudaError", module.py().get_type::<crate::error::CudaError>())?;
    module.add("config", Bound::new(module.py(), config::PyConfig::from_environment()?)?)?;
    for function in [
        fastcall::function::<as_cuda_array::AsCudaArray>(module)?,
        wrap_pyfunction!(borrow::borrow, module)?,
        wrap_pyfunction!(create::from_cuda_array_interface, module)?,
        fastcall::function::<dlpack::consume::FromDLPack>(module)?,
        wrap_pyfunction!(create::is_cuda_array, module)?,
        wrap_pyfunction!(create::device_array, module)?,
        wrap_pyfunction!(create::to_device, module)?,
        wrap_pyfunction!(allocate::device_array_like, module)?,
        wrap_pyfunction!(allocate::mapped_array, module)?,
        wrap_pyfunction!(allocate::managed_array, module)?,
        wrap_pyfunction!(allocate::pinned_array, module)?,
        wrap_pyfunction!(interface::interface, module)?,
        wrap_pyfunction!(stream::stream, module)?,
        wrap_pyfunction!(stream::default_stream, module)?,
        wrap_pyfunction!(stream::legacy_default_stream, module)?,
        wrap_pyfunction!(stream::per_thread_default_stream, module)?,
        wrap_pyfunction!(stream::external_stream, module)?,
        wrap_pyfunction!(event::event, module)?,
        wrap_pyfunction!(pointer::pointer_attributes, module)?,
        wrap_pyfunction!(runtime::driver_path, module)?,
        wrap_pyfunction!(runtime::idle_events, module)?,
        wrap_pyfunction!(runtime::reclaim, module)?,
    ] {
        module.add_function(function)?;
    }
    rust_api::publish(module.py())?;
    extensions::join(module.py())?;
    runtime::reclaim_at_exit(module.py())
}
