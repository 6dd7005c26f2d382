//! Exchange between burn and cuarray: [`lend`] exports a tensor as an array without a copy, [`copied`] copies any array into a tensor.
//!
//! burn's public API gives a tensor's address (`CubeTensor::client`, `ComputeClient::get_resource`, `GpuResource::ptr`) and its strides,
//! with padding between the rows. It neither gives nor takes a stream or an event, so the host waits once in each direction. It cannot
//! make a tensor over foreign memory, so that direction is a copy within the device.

use burn_cubecl::{
    cubecl::{Runtime, cuda::CudaRuntime, future::block_on},
    tensor::CubeTensor,
};
use burn_cuda::{Cuda, CudaDevice};
use burn_tensor::{DType, Tensor, TensorPrimitive};
use cuarray::{
    CContiguous, Driver, Interface, IxDyn, Layout, Owner, RawView, Stream, StreamEntry, TypeStr, TypedView,
    driver::copy::copy_device_to_device,
};
use std::sync::Arc;

/// The result of a call to either library.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// A lent tensor and the array that exports it. The array keeps the tensor's memory alive.
pub struct Lent<const D: usize> {
    tensor: CubeTensor<CudaRuntime>,
    home: Stream,
    array: TypedView<f32>,
}

/// Exports a tensor as an array, read-only if other tensors share the memory. The host waits for burn's work on the tensor.
pub fn lend<const D: usize>(driver: &Driver, tensor: Tensor<Cuda, D>) -> Result<Lent<D>> {
    let tensor = tensor.into_primitive().tensor();
    if tensor.dtype != DType::F32 {
        return Err(format!("the tensor is of {:?}, and f32 is expected", tensor.dtype).into());
    }
    let is_shared = !tensor.handle.can_mut();
    let pointer = address(&tensor)?;

    let size = size_of::<f32>();
    let shape: Vec<usize> = tensor.meta.shape().iter().copied().collect();
    // burn's strides are in elements, the interface's in bytes.
    let strides: Vec<isize> = tensor.meta.strides().iter().map(|&stride| (stride * size) as isize).collect();
    let layout = Layout::strided(&shape, &strides, size)?;

    // burn does not give its stream. The array gets a new home stream, which joins all consumers' work; `take_back` waits for it.
    let home = Stream::non_blocking(&driver.device(tensor.device.index as i32)?.primary_context()?)?;
    let interface = Interface::new(pointer, TypeStr::of::<f32>(), layout)?
        .with_read_only(is_shared)
        .with_stream(StreamEntry::try_from(home.handle() as i128)?);
    let owner = Owner::new(Arc::new((tensor.clone(), home.clone())));
    // SAFETY: memory and stream belong to the owner.
    let array = unsafe { RawView::new(driver, interface, Some(owner)) }?;
    Ok(Lent { tensor, home, array: array.typed()? })
}

impl<const D: usize> Lent<D> {
    /// Returns the array for consumers.
    pub fn array(&mut self) -> &mut TypedView<f32> {
        &mut self.array
    }

    /// Returns the tensor. The host waits for the consumers' work, since burn's stream cannot be made to wait.
    pub fn take_back(self) -> Result<Tensor<Cuda, D>> {
        self.home.synchronize()?;
        drop(self.array);
        Ok(Tensor::from_primitive(TensorPrimitive::Float(self.tensor)))
    }
}

/// Copies any array into a new tensor, within the device. The host waits for the copy.
pub fn copied<const D: usize>(
    view: &TypedView<f32, IxDyn, CContiguous>,
    device: &CudaDevice,
    stream: &Stream,
) -> Result<Tensor<Cuda, D>> {
    let shape: [usize; D] =
        view.shape()[..].try_into().map_err(|_| format!("an array of {D} dimensions is expected"))?;
    let (client, bytes) = (CudaRuntime::client(device), view.len() * size_of::<f32>());
    let handle = client.empty(bytes);
    let tensor = CubeTensor::new_contiguous(client, device.clone(), shape.into(), handle, DType::F32);
    let (target, source) = (address(&tensor)?, view.acquire(stream)?);
    // SAFETY: the new tensor has `bytes` bytes and no pending work of burn; the guard orders the array's work.
    unsafe {
        copy_device_to_device(&stream.work_context()?, target, source.as_device_ptr(), bytes, Some(stream))?;
    }
    source.release()?;
    stream.synchronize()?;
    Ok(Tensor::from_primitive(TensorPrimitive::Float(tensor)))
}

/// Returns a tensor's address, after waiting for all work that burn has enqueued on it.
fn address(tensor: &CubeTensor<CudaRuntime>) -> Result<u64> {
    // `get_resource` makes this thread's stream of burn wait for the stream that made the tensor; `sync` waits for this thread's stream.
    let resource = tensor.client.get_resource(tensor.handle.clone()).map_err(|error| format!("{error:?}"))?;
    block_on(tensor.client.sync()).map_err(|error| format!("{error:?}"))?;
    Ok(resource.resource().ptr)
}
