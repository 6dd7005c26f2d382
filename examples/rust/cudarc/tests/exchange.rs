//! Both ways, with work pending on every side.

use cuarray::{
    Driver, Interface, Layout, RawView, Stream, StreamEntry, TypeStr,
    driver::{Allocation, copy, fill},
};
use cudarc::driver::CudaContext;
use cudarc_arrays::{consume::Scaler, produce::lend};

const N: usize = 10_000;

#[test]
fn cudarc_launches_on_an_array_of_anybodys() {
    let driver = Driver::load().unwrap();
    let scaler = Scaler::new(&driver).unwrap();
    let context = driver.default_context().unwrap();
    let theirs = Stream::non_blocking(&context).unwrap();
    let memory = Allocation::device(&context, 4 * N).unwrap();
    let layout = Layout::c_contiguous(&[100, 100], 4).unwrap();
    let interface = Interface::new(memory.device_ptr(), TypeStr::of::<f32>(), layout)
        .unwrap()
        .with_stream(StreamEntry::try_from(theirs.handle() as i128).unwrap());
    // SAFETY: memory and stream live as long as the view.
    let mut view = unsafe { RawView::new(&driver, interface, None) }.unwrap();

    let mut host = vec![0f32; N];
    // SAFETY: everything has 4 * N bytes, and the host's are read when the stream is done.
    unsafe {
        fill::fill_bytes(&context, memory.device_ptr(), &1.5f32.to_ne_bytes(), N, Some(&theirs)).unwrap();
        scaler.scale(&mut view, 2.0).unwrap();
        scaler.scale(&mut view, 4.0).unwrap();
        let (to, bytes) = (host.as_mut_ptr().cast(), 4 * N);
        copy::copy_device_to_host(&context, to, memory.device_ptr(), bytes, Some(&theirs)).unwrap();
    }
    theirs.synchronize().unwrap();
    assert!(host.iter().all(|value| *value == 12.0));
}

#[test]
fn what_the_kernel_cannot_take_is_refused() {
    let driver = Driver::load().unwrap();
    let scaler = Scaler::new(&driver).unwrap();
    let context = driver.default_context().unwrap();
    let memory = Allocation::device(&context, 4096).unwrap();
    let of = |typestr: &str, layout: Layout| {
        let interface = Interface::new(memory.device_ptr(), typestr.parse().unwrap(), layout).unwrap();
        // SAFETY: the memory lives as long as the view.
        unsafe { RawView::new(&driver, interface, None) }.unwrap()
    };
    assert!(scaler.scale(&mut of("<f4", Layout::strided(&[8, 8], &[64, 4], 4).unwrap()), 1.0).is_err());
    assert!(scaler.scale(&mut of("<i4", Layout::c_contiguous(&[8, 8], 4).unwrap()), 1.0).is_err());
    assert!(scaler.scale(&mut of("<f4", Layout::c_contiguous(&[0, 8], 4).unwrap()), 1.0).is_ok());
}

#[test]
fn a_slice_of_cudarcs_is_an_array_and_comes_back() {
    let driver = Driver::load().unwrap();
    let cudarc = CudaContext::new(0).unwrap();
    let (one, other) = (cudarc.new_stream().unwrap(), cudarc.new_stream().unwrap());
    let scaler = Scaler::new(&driver).unwrap();
    let context = driver.default_context().unwrap();
    let ours = Stream::non_blocking(&context).unwrap();

    let values: Vec<f32> = (0..N).map(|value| value as f32).collect();
    let slice = one.clone_htod(&values).unwrap();
    // Work in a stream that is not the slice's own: the copy waits for the first by cudarc's events, and we for the copy.
    let slice = other.clone_dtod(&slice).unwrap();
    let mut lent = lend(&driver, slice, &[N / 10, 10]).unwrap();
    scaler.scale(lent.array(), 3.0).unwrap();
    let mut seen = vec![0f32; N];
    let array = lent.array().acquire(&ours).unwrap();
    // SAFETY: both have 4 * N bytes, and the host's are read when the stream is done.
    unsafe {
        let (to, from) = (seen.as_mut_ptr().cast(), array.as_device_ptr());
        copy::copy_device_to_host(&context, to, from, 4 * N, Some(&ours)).unwrap();
    }
    ours.synchronize().unwrap();
    array.release().unwrap();
    let expected: Vec<f32> = values.iter().map(|value| 3.0 * value).collect();
    assert_eq!(seen, expected);

    scaler.scale(lent.array(), 2.0).unwrap();
    // And back: a third stream of cudarc's, which knows of the slice what cudarc's events say.
    let slice = lent.take_back();
    let third = cudarc.new_stream().unwrap();
    let expected: Vec<f32> = values.iter().map(|value| 6.0 * value).collect();
    assert_eq!(third.clone_dtoh(&slice).unwrap(), expected);
    assert!(lend(&driver, slice, &[N, 2]).is_err());
}
