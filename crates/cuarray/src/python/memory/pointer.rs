//! Attributes of an address in the driver (clause A1).

use super::reach;
use crate::python::values::numbers::number;
use crate::{DevicePtr, Result, driver::MemoryKind};
use pyo3::prelude::*;

/// The driver's attributes of an address (clause A1), returned by `pointer_attributes`.
///
/// >>> a = cuarray.device_array(4)
/// >>> cuarray.pointer_attributes(a.ptr).memory_type
/// 'device'
#[pyclass(frozen, get_all, name = "PointerAttributes", module = "cuarray")]
pub struct PyPointerAttributes {
    /// The device's ordinal.
    device: Option<i32>,
    /// The handle of the context of the allocation; stream-ordered and managed memory may have none.
    context: Option<usize>,
    /// 'device' or 'host', or the driver's number of another type. Managed memory counts as device memory.
    memory_type: String,
    /// The address for kernels.
    device_ptr: DevicePtr,
    /// The address for the host, if it reaches the memory.
    host_ptr: Option<u64>,
    /// Whether the memory is managed: the driver moves it to the processor that uses it.
    is_managed: bool,
    /// The addresses of the allocation on the device, as (first, end); `end` is exclusive.
    range: Option<(DevicePtr, DevicePtr)>,
}

#[pymethods]
impl PyPointerAttributes {
    fn __repr__(&self) -> String {
        let address =
            |address: Option<u64>| address.map_or_else(|| "None".to_owned(), |address| format!("{address:#x}"));
        format!(
            "PointerAttributes(device={}, memory_type='{}', is_managed={}, device_ptr={:#x}, host_ptr={}, context={}, range={})",
            self.device.map_or_else(|| "None".to_owned(), |device| device.to_string()),
            self.memory_type,
            if self.is_managed { "True" } else { "False" },
            self.device_ptr,
            address(self.host_ptr),
            address(self.context.map(|context| context as u64)),
            self.range.map_or_else(|| "None".to_owned(), |(first, end)| format!("({first:#x}, {end:#x})")),
        )
    }
}

/// The driver's attributes of the address `ptr`; None for ordinary host memory and unmapped addresses.
///
/// Raises CudaError if there is no driver, ValueError if `ptr` is negative or does not fit 64 bits.
///
/// >>> a = cuarray.device_array(4, "u1")
/// >>> attributes = cuarray.pointer_attributes(a[1:].ptr)
/// >>> attributes.device, attributes.is_managed, attributes.range == (a.ptr, a.ptr + 4)
/// (0, False, True)
#[pyfunction]
pub(in crate::python) fn pointer_attributes(ptr: &Bound<'_, PyAny>) -> Result<Option<PyPointerAttributes>> {
    let ptr = number(ptr, "ptr", "an address (an int from 0 to 2**64 - 1)")?;
    Ok(reach::attributes(ptr)?.map(|attributes| PyPointerAttributes {
        device: attributes.device_ordinal,
        context: attributes.context.map(|context| context.0),
        memory_type: match attributes.kind {
            MemoryKind::Pinned | MemoryKind::Mapped => "host".to_owned(),
            MemoryKind::Device | MemoryKind::StreamOrdered | MemoryKind::Managed => "device".to_owned(),
            MemoryKind::Other(number) => number.to_string(),
        },
        device_ptr: reach::of_device(&attributes, ptr).unwrap_or(0),
        host_ptr: attributes.host_ptr,
        is_managed: attributes.kind == MemoryKind::Managed,
        range: attributes.range.map(|range| (range.start, range.end)),
    }))
}
