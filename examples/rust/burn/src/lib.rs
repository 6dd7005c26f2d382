//! burn and cuarray, both ways: [`lend`] gives a tensor to anybody as an array, where it lies; [`copied`] makes a tensor of anybody's array.
//!
//! burn's public API says where a tensor lies (`CubeTensor::client`, `ComputeClient::get_resource`, `GpuResource::ptr`) and how its rows lie, which is
//! with gaps between them. It does not say which stream burn works in, nor take one, nor an event: so where work changes over, the host
//! waits, once in each direction. And it takes no memory of anybody else's, so that way is a copy within the device.

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

/// What either library may answer.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// A tensor that is lent, and the array that others see. Whoever holds the array holds the tensor's memory.
pub struct Lent<const D: usize> {
    tensor: CubeTensor<CudaRuntime>,
    home: Stream,
    array: TypedView<f32>,
}

/// Lends a tensor as an array; it is read-only if other tensors share the memory. The host waits until burn is done with it.
pub fn lend<const D: usize>(driver: &Driver, tensor: Tensor<Cuda, D>) -> Result<Lent<D>> {
    let tensor = tensor.into_primitive().tensor();
    if tensor.dtype != DType::F32 {
        return Err(format!("the tensor is of {:?}, and f32 is expected", tensor.dtype).into());
    }
    let is_shared = !tensor.handle.can_mut();
    let pointer = place(&tensor)?;

    let size = size_of::<f32>();
    let shape: Vec<usize> = tensor.meta.shape().iter().copied().collect();
    // burn counts elements, the interface bytes.
    let strides: Vec<isize> = tensor.meta.strides().iter().map(|&stride| (stride * size) as isize).collect();
    let layout = Layout::strided(&shape, &strides, size)?;

    // burn's own stream is its secret. So the array has one of ours, where all consumers' work ends, and `take_back` waits for that.
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
    /// The array, for consumers.
    pub fn array(&mut self) -> &mut TypedView<f32> {
        &mut self.array
    }

    /// The tensor again. The host waits until the consumers' work is done, since burn cannot be told to.
    pub fn take_back(self) -> Result<Tensor<Cuda, D>> {
        self.home.synchronize()?;
        drop(self.array);
        Ok(Tensor::from_primitive(TensorPrimitive::Float(self.tensor)))
    }
}

/// A tensor with what is in an array of anybody's: a copy within the device, for which the host waits.
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
    let (target, source) = (place(&tensor)?, view.acquire(stream)?);
    // SAFETY: the tensor is new and has as many bytes, and nothing of burn's is pending on them; the guard orders the rest.
    unsafe {
        copy_device_to_device(&stream.work_context()?, target, source.as_device_ptr(), bytes, Some(stream))?;
    }
    source.release()?;
    stream.synchronize()?;
    Ok(Tensor::from_primitive(TensorPrimitive::Float(tensor)))
}

/// Where a tensor lies, once all that burn has enqueued on it is done.
fn place(tensor: &CubeTensor<CudaRuntime>) -> Result<u64> {
    // This makes burn's stream of this thread wait for that of whoever made the tensor, and the host then waits for ours.
    let place = tensor.client.get_resource(tensor.handle.clone()).map_err(|error| format!("{error:?}"))?;
    block_on(tensor.client.sync()).map_err(|error| format!("{error:?}"))?;
    Ok(place.resource().ptr)
}
