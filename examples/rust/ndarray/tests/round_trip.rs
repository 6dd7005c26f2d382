//! Arrays of any layout are copied to the device and back.

use cuarray::{
    AnyLayout, Complex, DeviceArray, Driver, Element, Interface, IxDyn as AnyNdim, Layout, RawView, Stream, TypeStr,
};
use device_ndarray::{to_device, to_host};
use ndarray::{Array, Array2, Array3, ArrayD, Axis, IxDyn, array, s};

/// Two streams. The drop frees all memory whose release was deferred, so that the test leaves no leak.
struct Streams {
    one: Stream,
    other: Stream,
}

impl Streams {
    fn new() -> Streams {
        let context = Driver::load().unwrap().default_context().unwrap();
        let [one, other] = [(); 2].map(|()| Stream::non_blocking(&context).unwrap());
        Streams { one, other }
    }

    fn there_and_back<T: Element>(&self, array: &ArrayD<T>) -> ArrayD<T> {
        to_host(&to_device(array, &self.one).unwrap().acquire(&self.other).unwrap()).unwrap()
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.one.driver().reclaim(true);
    }
}

#[test]
fn host_arrays_of_any_ndim_and_layout_are_copied_there_and_back() {
    let streams = Streams::new();
    let cube = Array3::from_shape_fn((3, 4, 5), |(i, j, k)| (100 * i + 10 * j + k) as f64);
    for array in [
        cube.clone().into_dyn(),
        cube.clone().reversed_axes().into_dyn(),
        cube.slice(s![..;-1, 1..3, ..;2]).to_owned().into_dyn(),
        cube.index_axis(Axis(1), 2).to_owned().into_dyn(),
        Array::from_elem((), 7.0).into_dyn(),
        Array::zeros((3, 0, 2)).into_dyn(),
    ] {
        assert_eq!(streams.there_and_back(&array), array);
    }
    let complex = Array::from_elem(IxDyn(&[2, 2]), Complex { re: 1.0f32, im: -1.0 });
    assert_eq!(streams.there_and_back(&complex), complex);
}

#[test]
fn device_views_of_any_strides_are_copied_to_host() {
    let Streams { one, other } = &Streams::new();
    let host: Array2<i32> = Array::from_shape_fn((6, 8), |(i, j)| (10 * i + j) as i32);
    let whole = to_device(&host, one).unwrap();
    let pointer = whole.interface().data();
    let part = |start: u64, shape: &[usize], strides: &[isize]| {
        let layout = Layout::strided(shape, strides, 4).unwrap();
        let interface = Interface::new(pointer + start, TypeStr::of::<i32>(), layout).unwrap();
        // SAFETY: the memory lives as long as `whole`.
        let view = unsafe { RawView::new(one.driver(), interface, None) }.unwrap();
        to_host(&view.typed::<i32, AnyNdim, AnyLayout>().unwrap().acquire(other).unwrap()).unwrap()
    };
    assert_eq!(part(0, &[8, 6], &[4, 32]), host.t().into_dyn());
    assert_eq!(part(47 * 4, &[6, 8], &[-32, -4]), host.slice(s![..;-1, ..;-1]).into_dyn());
    assert_eq!(part(4, &[3, 4], &[64, 8]), host.slice(s![..;2, 1..;2]).into_dyn());
    assert_eq!(part(0, &[4, 8], &[0, 4]), host.row(0).broadcast((4, 8)).unwrap().into_dyn());
}

#[test]
fn typed_view_of_wrong_element_type_is_an_error() {
    let Streams { one, .. } = &Streams::new();
    let array = to_device(&array![1.0f32, 2.0], one).unwrap();
    // SAFETY: the memory lives as long as `array`.
    let view = unsafe { RawView::new(one.driver(), array.interface().clone(), None) }.unwrap();
    let error = view.typed::<i32, AnyNdim, AnyLayout>().err().unwrap();
    assert!(error.is_unsupported() && error.to_string().contains("<f4"), "{error}");
}

#[test]
fn copy_to_host_is_ordered_after_pending_fill() {
    let Streams { one, other } = &Streams::new();
    let context = one.context().unwrap().unwrap();
    let array = DeviceArray::<i32, _>::empty([100], one).unwrap();
    for value in [3i32, 5] {
        let (pointer, pattern) = (array.interface().data(), value.to_ne_bytes());
        // SAFETY: the memory has 400 bytes.
        unsafe { cuarray::driver::fill::fill_bytes(&context, pointer, &pattern, 100, Some(one)) }.unwrap();
        let seen = to_host(&array.acquire(other).unwrap()).unwrap();
        assert_eq!(seen, Array::from_elem(IxDyn(&[100]), value));
    }
}
