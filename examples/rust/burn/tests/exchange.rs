//! Arrays and tensors are exchanged with work pending on both sides. No burn kernel runs, so burn compiles nothing.

use burn_cuda::{Cuda, CudaDevice};
use burn_tensor::Tensor;
use burn_tensors::{copied, lend};
use cuarray::{CContiguous, DeviceArray, Driver, IxDyn, RawView, Stream, driver::fill};

const ROWS: [[f32; 3]; 2] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];

fn values<const D: usize>(tensor: &Tensor<Cuda, D>) -> Vec<f32> {
    tensor.to_data().to_vec().unwrap()
}

#[test]
fn writes_to_lent_array_are_seen_by_tensor() {
    let (driver, device) = (Driver::load().unwrap(), CudaDevice::default());
    let mut lent = lend(&driver, Tensor::<Cuda, 2>::from_data(ROWS, &device)).unwrap();
    let array = lent.array();
    assert_eq!(array.shape()[..], [2, 3]);
    assert!(!array.interface().is_read_only());

    let stream = Stream::non_blocking(&driver.default_context().unwrap()).unwrap();
    let mut guard = array.acquire_mut(&stream).unwrap();
    assert_eq!(guard.copy_to_host().unwrap(), ROWS.as_flattened());
    guard.copy_from_host(&[0.0; 6]).unwrap();
    // Fill the second row, whose address depends on burn's padding, with work that is still pending at the release.
    let row = guard.device_ptr_at(&[1, 0]).unwrap();
    let context = stream.work_context().unwrap();
    // SAFETY: the row has three elements, and the guard orders it with this stream.
    unsafe { fill::fill_bytes(&context, row, &1.5f32.to_ne_bytes(), 3, Some(&stream)) }.unwrap();
    guard.release().unwrap();
    assert_eq!(values(&lent.take_back().unwrap()), [0.0, 0.0, 0.0, 1.5, 1.5, 1.5]);
}

#[test]
fn lent_transposed_tensor_keeps_its_strides() {
    let (driver, device) = (Driver::load().unwrap(), CudaDevice::default());
    let tensor = Tensor::<Cuda, 2>::from_data(ROWS, &device).transpose();
    let mut lent = lend(&driver, tensor).unwrap();
    let stream = Stream::non_blocking(&driver.default_context().unwrap()).unwrap();
    let array = lent.array().acquire(&stream).unwrap();
    assert_eq!(array.shape()[..], [3, 2]);
    assert_eq!(array.copy_to_host().unwrap(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
}

#[test]
fn lent_tensor_with_shared_memory_is_read_only() {
    let (driver, device) = (Driver::load().unwrap(), CudaDevice::default());
    let tensor = Tensor::<Cuda, 2>::from_data(ROWS, &device);
    let mut lent = lend(&driver, tensor.clone()).unwrap();
    let stream = Stream::non_blocking(&driver.default_context().unwrap()).unwrap();
    assert!(lent.array().acquire_mut(&stream).unwrap_err().is_unsupported());
    assert_eq!(lent.array().acquire(&stream).unwrap().copy_to_host().unwrap(), ROWS.as_flattened());
    assert_eq!(values(&tensor), ROWS.as_flattened());
}

#[test]
fn array_with_pending_fill_is_copied_into_tensor() {
    let (driver, device) = (Driver::load().unwrap(), CudaDevice::default());
    let context = driver.default_context().unwrap();
    let (producer, stream) = (Stream::non_blocking(&context).unwrap(), Stream::non_blocking(&context).unwrap());
    let array = DeviceArray::<f32, _>::empty([2, 3], &producer).unwrap();
    // SAFETY: the memory has six elements, and `producer` is its home stream.
    unsafe { fill::fill_bytes(&context, array.interface().data(), &2.5f32.to_ne_bytes(), 6, Some(&producer)) }.unwrap();
    // SAFETY: the array is alive, and so is its stream.
    let view = unsafe { RawView::new(&driver, array.interface().clone(), None) }.unwrap();
    let view = view.typed::<f32, IxDyn, CContiguous>().unwrap();
    let tensor = copied::<2>(&view, &device, &stream).unwrap();
    assert_eq!((tensor.dims(), values(&tensor)), ([2, 3], vec![2.5; 6]));
    assert!(copied::<1>(&view, &device, &stream).is_err());
}
