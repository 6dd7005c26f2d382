//! Tensors and arrays are exchanged with work pending on both sides.

use cuarray::{
    DeviceArray, Driver, Stream,
    driver::{Allocation, fill::fill_bytes},
};
use dlpark::{
    DlpackFlags,
    ffi::{DLDataType, DLDevice, DLManagedTensorVersioned},
    metadata::Fixed,
    versioned::Dlpack,
};
use dlpark_tensors::{export, import};
use std::sync::Arc;

/// A tensor of 2 x 3 numbers that dlpark makes over memory of the driver, which `alive` outlives.
fn tensor(home: &Stream, device: DLDevice, dtype: DLDataType, flags: DlpackFlags, alive: &Arc<()>) -> Dlpack {
    let memory = Allocation::device(&home.work_context().unwrap(), 24).unwrap();
    // SAFETY: the memory has six numbers, and is freed after this stream's work.
    unsafe { fill_bytes(&home.work_context().unwrap(), memory.device_ptr(), &1.5f32.to_ne_bytes(), 6, Some(home)) }
        .unwrap();
    let data = memory.device_ptr() as *mut _;
    let prepared = Fixed::new([2, 3], [3, 1]).prepare_as::<DLManagedTensorVersioned>().unwrap();
    let mut tensor = prepared.initialize(Box::new((memory, alive.clone())));
    tensor.set_data(data).set_device(device).set_dtype(dtype).set_flags(flags).unwrap();
    // SAFETY: the box keeps the memory of 2 x 3 numbers.
    unsafe { tensor.finish() }
}

#[test]
fn imported_tensor_is_ordered_after_its_stream_and_deleted_after_its_work() {
    let driver = Driver::load().unwrap();
    let context = driver.default_context().unwrap();
    let (home, other) = (Stream::non_blocking(&context).unwrap(), Stream::non_blocking(&context).unwrap());
    let alive = Arc::new(());
    let tensor = tensor(&home, DLDevice::cuda(0), DLDataType::F32, DlpackFlags::empty(), &alive);
    // SAFETY: the pending fill is in `home`.
    let mut array = unsafe { import::<f32>(tensor, &home) }.unwrap();
    assert_eq!(array.shape(), [2, 3]);
    array
        .with_mut(&other, |guard| {
            assert_eq!(guard.copy_to_host()?, [1.5; 6]);
            // SAFETY: the array has six numbers, and the guard orders it with this stream.
            unsafe { fill_bytes(&context, guard.as_device_ptr(), &2.5f32.to_ne_bytes(), 6, Some(&other)) }
        })
        .unwrap();
    assert_eq!(Arc::strong_count(&alive), 2);
    drop(array); // the second fill is pending
    driver.reclaim(true);
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[test]
fn exported_array_comes_back_with_the_work_of_its_consumer() {
    let driver = Driver::load().unwrap();
    let context = driver.default_context().unwrap();
    let (home, consumer) = (Stream::non_blocking(&context).unwrap(), Stream::non_blocking(&context).unwrap());
    let rows = DeviceArray::from_host(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3], &home).unwrap();
    let tensor = export(rows.t().into_dimensionality().unwrap(), &consumer).unwrap();
    let described = tensor.validate().unwrap();
    assert_eq!((described.shape(), described.strides()), (&[3, 2][..], Some(&[1, 3][..])));
    // SAFETY: the array has six numbers without gaps, and `consumer` waits for their copy.
    unsafe { fill_bytes(&context, described.data_ptr() as u64, &0.5f32.to_ne_bytes(), 6, Some(&consumer)) }.unwrap();
    // SAFETY: the pending fill is in `consumer`.
    let columns = unsafe { import::<f32>(tensor, &consumer) }.unwrap();
    assert_eq!(columns.to_host().unwrap(), [0.5; 6]);
}

#[test]
fn array_is_ordered_after_the_work_of_a_deleted_tensor() {
    let driver = Driver::load().unwrap();
    let context = driver.default_context().unwrap();
    let (home, consumer) = (Stream::non_blocking(&context).unwrap(), Stream::non_blocking(&context).unwrap());
    let array = DeviceArray::<f32, _>::zeros([6], &home).unwrap().into_dimensionality().unwrap();
    let tensor = export(array.clone(), &consumer).unwrap();
    let data = tensor.validate().unwrap().data_ptr() as u64;
    // SAFETY: the array has six numbers, and `consumer` waits for the zeros.
    unsafe { fill_bytes(&context, data, &0.5f32.to_ne_bytes(), 6, Some(&consumer)) }.unwrap();
    drop(tensor); // the fill is pending
    assert_eq!(array.to_host().unwrap(), [0.5; 6]);
}

#[test]
fn read_only_flag_is_kept_both_ways() {
    let driver = Driver::load().unwrap();
    let home = Stream::non_blocking(&driver.default_context().unwrap()).unwrap();
    let alive = Arc::new(());
    let tensor = tensor(&home, DLDevice::cuda(0), DLDataType::F32, DlpackFlags::READ_ONLY, &alive);
    // SAFETY: the pending fill is in `home`.
    let mut array = unsafe { import::<f32>(tensor, &home) }.unwrap();
    assert!(array.acquire_mut(&home).unwrap_err().is_unsupported());
    assert_eq!(export(array, &home).unwrap().flags(), DlpackFlags::READ_ONLY);
    driver.reclaim(true);
}

#[test]
fn tensors_of_other_elements_and_devices_are_refused_and_deleted() {
    let driver = Driver::load().unwrap();
    let home = Stream::non_blocking(&driver.default_context().unwrap()).unwrap();
    for (device, dtype) in [(DLDevice::cuda(0), DLDataType::I32), (DLDevice::CPU, DLDataType::F32)] {
        let alive = Arc::new(());
        let tensor = tensor(&home, device, dtype, DlpackFlags::empty(), &alive);
        home.synchronize().unwrap();
        // SAFETY: no work is pending.
        assert!(unsafe { import::<f32>(tensor, &home) }.is_err());
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
