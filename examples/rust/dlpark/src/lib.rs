//! Exchange between dlpark and cuarray: [`import`] takes a DLPack tensor as an array, [`export`] hands an array out as a tensor. Neither copies.
//!
//! A DLPack tensor names its device and no stream, so each function takes the stream in which the tensor's work is ordered.

use cuarray::{DeviceArray, Element, Interface, Layout, Owner, RawDeviceArray, Stream, TypeStr, sync::Access};
use dlpark::{
    DlpackElement, DlpackFlags,
    ffi::{DLDevice, DLManagedTensorVersioned},
    metadata::Dynamic,
    versioned::Dlpack,
};
use std::sync::Arc;

/// The result of a call to either library.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Converts a tensor into an array with the home stream `home`. The tensor's deleter runs when the last array over it is dropped and the
/// work on it is done.
///
/// # Errors
/// The tensor is invalid, has other elements, or is on another device than the stream.
///
/// # Safety
/// * The tensor's data is valid until its deleter runs, as DLPack requires.
/// * Pending work on the tensor is ordered before later work in `home`.
pub unsafe fn import<T: Element + DlpackElement>(tensor: Dlpack, home: &Stream) -> Result<DeviceArray<T>> {
    let context = home.work_context()?;
    let described = tensor.validate()?;
    let expected = (DLDevice::cuda(context.device()?.ordinal()), T::DTYPE);
    if (described.device(), described.dtype()) != expected {
        let found = (described.device(), described.dtype());
        return Err(format!("the tensor has {found:?}, and {expected:?} is expected").into());
    }

    let size = size_of::<T>();
    // `validate` has checked that no length is negative.
    let shape: Vec<usize> = described.shape().iter().map(|&length| length as usize).collect();
    // DLPack's strides are in elements, the interface's in bytes.
    let in_bytes = |stride: &i64| (*stride as isize).checked_mul(size as isize);
    let strides: Option<Vec<isize>> = described.strides_or_compact()?.iter().map(in_bytes).collect();
    let layout = Layout::strided(&shape, &strides.ok_or("a stride exceeds the address space")?, size)?;
    let data = (described.data_ptr() as u64).checked_add(described.byte_offset());
    let interface = Interface::new(data.ok_or("the offset exceeds the address space")?, TypeStr::of::<T>(), layout)?
        .with_read_only(tensor.flags().contains(DlpackFlags::READ_ONLY));

    let owner = Owner::new(Arc::new(tensor));
    // SAFETY: the owner keeps the memory, which the driver knows by DLPack's device; `home` orders pending work (this function's contract).
    Ok(unsafe { RawDeviceArray::from_owner(&context, interface, owner, Some(home)) }?.typed()?)
}

/// Converts an array into a tensor for work in `stream`, which waits for the work on the array. The array's memory is freed after the work
/// that is in `stream` when the tensor's deleter runs.
///
/// # Errors
/// A live guard writes the array, or another one reads an array that is not read-only. Errors of the driver.
pub fn export<T: Element + DlpackElement>(mut array: DeviceArray<T>, stream: &Stream) -> Result<Dlpack> {
    let ordinal = stream.work_context()?.device()?.ordinal();
    let mut flags = DlpackFlags::empty();
    if array.interface().is_read_only() {
        flags |= DlpackFlags::READ_ONLY;
        array.acquire(stream)?.release()?;
    } else {
        array.acquire_mut(stream)?.release()?;
    }

    let size = size_of::<T>() as isize;
    if let Some(stride) = array.strides().iter().find(|stride| *stride % size != 0) {
        return Err(format!("a stride of {stride} bytes is no multiple of an element's {size} bytes").into());
    }
    let strides: Vec<isize> = array.strides().iter().map(|stride| stride / size).collect();
    let prepared = Dynamic::new(array.shape(), strides).prepare_as::<DLManagedTensorVersioned>()?;
    let data = array.interface().data() as *mut _;
    let mut tensor = prepared.initialize(Box::new(Lent { array, stream: stream.clone() }));
    tensor.set_data(data).set_device(DLDevice::cuda(ordinal)).set_dtype(T::DTYPE).set_flags(flags)?;
    // SAFETY: address, shape and strides are the array's, which `Lent` keeps until the deleter runs; the flag says whether it is read-only.
    Ok(unsafe { tensor.finish() })
}

/// An array that a tensor keeps alive, and the stream of the tensor's consumer.
struct Lent<T> {
    array: DeviceArray<T>,
    stream: Stream,
}

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        let access = if self.array.interface().is_read_only() { Access::Read } else { Access::Write };
        // Orders the release of the array after the consumer's work. A deleter cannot return an error.
        let _ = self.array.record_stream(&self.stream, access);
    }
}
