//! Arrays and slices are exchanged with work pending on both sides.

use cuarray::{
    CContiguous, Driver, Interface, IxDyn, Layout, RawView, Result, Stream, StreamEntry, TypeStr, TypedView,
    driver::{Allocation, fill},
};
use cudarc::driver::CudaContext;
use cudarc_arrays::{consume::Scaler, produce::lend};

const N: usize = 10_000;

#[test]
fn cudarc_kernel_is_ordered_with_the_producer_of_an_array() {
    let driver = Driver::load().unwrap();
    let scaler = Scaler::new(&driver).unwrap();
    let context = driver.default_context().unwrap();
    let producer = Stream::non_blocking(&context).unwrap();
    let memory = Allocation::device(&context, 4 * N).unwrap();
    let layout = Layout::c_contiguous(&[100, 100], 4).unwrap();
    let interface = Interface::new(memory.device_ptr(), TypeStr::of::<f32>(), layout)
        .unwrap()
        .with_stream(StreamEntry::try_from(producer.handle() as i128).unwrap());
    // SAFETY: memory and stream live as long as the view.
    let view = unsafe { RawView::new(&driver, interface, None) }.unwrap();
    let mut view = view.typed::<f32, IxDyn, CContiguous>().unwrap();

    // SAFETY: the memory has N numbers.
    unsafe { fill::fill_bytes(&context, memory.device_ptr(), &1.5f32.to_ne_bytes(), N, Some(&producer)) }.unwrap();
    scaler.scale(&mut view, 2.0).unwrap();
    scaler.scale(&mut view, 4.0).unwrap();
    assert_eq!(view.acquire(&producer).unwrap().copy_to_host().unwrap(), [12.0; N]);
}

#[test]
fn strided_and_integer_arrays_are_refused_and_empty_array_is_a_no_op() {
    let driver = Driver::load().unwrap();
    let scaler = Scaler::new(&driver).unwrap();
    let context = driver.default_context().unwrap();
    let memory = Allocation::device(&context, 4096).unwrap();
    let view_of = |typestr: &str, layout: Layout| -> Result<TypedView<f32, IxDyn, CContiguous>> {
        let interface = Interface::new(memory.device_ptr(), typestr.parse()?, layout)?;
        // SAFETY: the memory lives as long as the view.
        unsafe { RawView::new(&driver, interface, None) }?.typed()
    };
    assert!(view_of("<f4", Layout::strided(&[8, 8], &[64, 4], 4).unwrap()).is_err());
    assert!(view_of("<i4", Layout::c_contiguous(&[8, 8], 4).unwrap()).is_err());
    let mut empty = view_of("<f4", Layout::c_contiguous(&[0, 8], 4).unwrap()).unwrap();
    assert!(scaler.scale(&mut empty, 1.0).is_ok());
}

#[test]
fn lent_slice_is_ordered_for_consumers_and_after_take_back() {
    let driver = Driver::load().unwrap();
    let cudarc = CudaContext::new(0).unwrap();
    let (one, other) = (cudarc.new_stream().unwrap(), cudarc.new_stream().unwrap());
    let scaler = Scaler::new(&driver).unwrap();
    let context = driver.default_context().unwrap();
    let ours = Stream::non_blocking(&context).unwrap();

    let values: Vec<f32> = (0..N).map(|value| value as f32).collect();
    let slice = one.clone_htod(&values).unwrap();
    // The copy runs in another stream than the slice's. It waits by cudarc's events for the upload; `lend` waits for the copy.
    let slice = other.clone_dtod(&slice).unwrap();
    let mut lent = lend(&driver, slice, &[N / 10, 10]).unwrap();
    scaler.scale(lent.array(), 3.0).unwrap();
    let expected: Vec<f32> = values.iter().map(|value| 3.0 * value).collect();
    let array = lent.array().acquire(&ours).unwrap();
    assert_eq!(array.copy_to_host().unwrap(), expected);
    array.release().unwrap();

    scaler.scale(lent.array(), 2.0).unwrap();
    // After `take_back`, a third cudarc stream is ordered only by cudarc's events.
    let slice = lent.take_back();
    let third = cudarc.new_stream().unwrap();
    let expected: Vec<f32> = values.iter().map(|value| 6.0 * value).collect();
    assert_eq!(third.clone_dtoh(&slice).unwrap(), expected);
    assert!(lend(&driver, slice, &[N, 2]).is_err());
}
