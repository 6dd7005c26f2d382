//! Calls of the crate that wait in the driver, without a `Python<'_>` to detach by.

use cuarray::{
    DeviceArray, Event, Ix1, Stream,
    driver::{
        Allocation,
        copy::{copy_device_to_host, copy_host_to_device},
        fill::fill_bytes,
    },
    kernel::{LaunchConfig, Module},
    sync,
};
use pyo3::{exceptions::PyValueError, prelude::*};
use std::{
    hint::black_box,
    sync::{Arc, Mutex, PoisonError},
};

const PTX: &str = ".version 8.0 .target sm_80 .address_size 64 .visible .entry nothing() { ret; }";

/// Objects made before their stream is held, and the calls that wait for it.
#[pyclass(frozen)]
pub struct Waits {
    stream: Stream,
    array: Mutex<DeviceArray<f64, Ix1>>,
    allocations: Mutex<Vec<Allocation>>,
    event: Event,
    module: Module,
}

#[pymethods]
impl Waits {
    #[new]
    fn new(stream: Stream) -> PyResult<Waits> {
        let context = stream.work_context()?;
        Ok(Waits {
            array: Mutex::new(DeviceArray::from_host(&[1.0, 2.0], [2], &stream)?),
            allocations: Mutex::new(vec![Allocation::device(&context, 16)?, Allocation::pinned(&context, 16)?]),
            event: Event::new(&context, false)?,
            module: Module::load_ptx(&context, PTX)?,
            stream,
        })
    }

    /// Runs one of the calls, by its name.
    fn run(&self, call: &str) -> PyResult<()> {
        let (stream, context) = (&self.stream, self.stream.work_context()?);
        match call {
            "from_host" => drop(DeviceArray::<f64, _>::from_host(&[3.0], [1], stream)?),
            "full" => drop(DeviceArray::<f64, _>::full([4], 5.0, stream)?),
            "zeros" => drop(DeviceArray::<f64, _>::zeros([4], stream)?),
            "to_host" => drop(black_box(self.array()?.to_host()?)),
            "copy_to_host" => drop(black_box(self.array()?.acquire(stream)?.copy_to_host()?)),
            "copy_from_host" => self.array()?.acquire_mut(stream)?.copy_from_host(&[6.0, 7.0])?,
            "synchronize stream" => stream.synchronize()?,
            "sync::synchronize" => sync::synchronize(stream)?,
            "synchronize event" => {
                self.event.record(stream)?;
                self.event.synchronize()?;
            }
            "synchronize context" => context.synchronize()?,
            "allocate" => drop(black_box(Allocation::device(&context, 64)?)),
            "free" => self.allocations.lock().unwrap_or_else(PoisonError::into_inner).clear(),
            "load a module" => drop(Module::load_ptx(&context, PTX)?),
            "copy without a stream" => {
                let (memory, mut host) = (Allocation::device(&context, 4)?, [0u8; 4]);
                // SAFETY: both sides have 4 bytes, and the driver is done with the host's when it returns.
                unsafe {
                    fill_bytes(&context, memory.device_ptr(), &[1], 4, None)?;
                    copy_host_to_device(&context, memory.device_ptr(), host.as_ptr(), 4, None)?;
                    copy_device_to_host(&context, host.as_mut_ptr(), memory.device_ptr(), 4, None)?;
                }
            }
            "launch" => {
                let function = self.module.function("nothing")?;
                // SAFETY: the kernel has no parameters, and does nothing.
                unsafe { function.launch(stream, LaunchConfig::new([1, 1, 1], [1, 1, 1]), ()) }?;
                stream.synchronize()?;
            }
            "cached kernel" => {
                let function = context.kernel(PTX, "nothing")?;
                // SAFETY: the kernel has no parameters, and does nothing.
                unsafe { function.launch(stream, LaunchConfig::new([1, 1, 1], [1, 1, 1]), ()) }?;
                stream.synchronize()?;
            }
            "reclaim" => {
                let array = Arc::new(DeviceArray::<u8, _>::zeros([8], stream)?);
                drop(array);
                stream.driver().reclaim(true);
            }
            _ => return Err(PyValueError::new_err(format!("there is no call {call:?}"))),
        }
        Ok(())
    }
}

impl Waits {
    /// The array, cloned: a lock that is held during a call would deadlock with another thread that waits for it attached.
    fn array(&self) -> PyResult<DeviceArray<f64, Ix1>> {
        Ok(self.array.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}
