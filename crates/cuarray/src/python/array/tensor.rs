//! The device of an array's DLPack tensor, and the check that the tensor loses no mask.

use super::PyDeviceArray;
use crate::{
    Error, Result,
    driver::MemoryKind,
    exchange::dlpack::{
        abi::DLDevice,
        tensor::{CUDA, CUDA_HOST, CUDA_MANAGED},
    },
    python::memory::runtime::driver,
};

/// Refuses a masked array, because DLPack would lose the mask.
pub(in crate::python) fn refuse_mask(array: &PyDeviceArray) -> Result<()> {
    match array.mask() {
        None => Ok(()),
        Some(_) => {
            Err(Error::unsupported("the array has a mask, which DLPack cannot express; pass its `data`, or `filled()`"))
        }
    }
}

/// The device of the memory, in DLPack's numbers.
///
/// # Errors
/// [`Error::is_unsupported`]: the driver does not know the memory.
pub(in crate::python) fn device(array: &PyDeviceArray) -> Result<DLDevice> {
    let of = |device_type, device_id| DLDevice { device_type, device_id };
    let Some(place) = array.place()? else {
        if !array.interface().layout().is_empty() {
            return Err(Error::unsupported(format!(
                "the driver does not know the memory at {:#x}, so its device for DLPack is unknown",
                array.interface().data()
            )));
        }
        // An array without memory is on no device. The device of its home stream is reported, or else the current one.
        let ordinal = match array.home_stream()?.map(|stream| stream.context()).transpose()?.flatten() {
            Some(context) => context.device()?.ordinal(),
            None => driver()?.default_context()?.device()?.ordinal(),
        };
        return Ok(of(CUDA, ordinal));
    };
    Ok(match place.kind {
        MemoryKind::Managed => of(CUDA_MANAGED, 0),
        MemoryKind::Pinned | MemoryKind::Mapped => of(CUDA_HOST, 0),
        MemoryKind::Device | MemoryKind::StreamOrdered | MemoryKind::Other(_) => {
            let ordinal = place.device.ok_or_else(|| {
                Error::unsupported(format!(
                    "the driver does not report the device of the memory at {:#x}",
                    array.interface().data()
                ))
            })?;
            of(CUDA, ordinal)
        }
    })
}
