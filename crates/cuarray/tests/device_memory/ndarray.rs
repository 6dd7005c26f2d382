//! Conversions to and from the arrays of ndarray, in any layout.

use crate::driver_fixture::{Fixture, streams};
use cuarray::{
    AnyLayout, Complex, DeviceArray, Element, Index, Interface, Ix2, IxDyn as AnyNdim, Layout, PinnedArray, RawView,
    Slice, TypeStr, View, driver::fill::fill_bytes,
};
use ndarray::{Array, Array2, ArrayD, ArrayViewD, Axis, Dimension, IxDyn, Slice as Part, array, s};
use proptest::prelude::*;

fn there_and_back<T: Element>(array: ArrayViewD<'_, T>) -> ArrayD<T> {
    let fixture = Fixture::new();
    let [home, other] = streams(&fixture.primary());
    let device = DeviceArray::from_ndarray(&array, &home).unwrap();
    let here = device.to_ndarray().unwrap();
    let mut copied = device.clone();
    let guard = copied.acquire_mut(&other).unwrap();
    assert_eq!(guard.copy_to_ndarray().unwrap().shape(), here.shape());
    here
}

/// An array, with a rearrangement of it: permuted, and cut by steps of either sign.
fn rearrangement() -> impl Strategy<Value = (ArrayD<u16>, Vec<usize>, Vec<(usize, isize)>)> {
    prop::collection::vec(0usize..5, 0..5).prop_flat_map(|shape| {
        let ndim = shape.len();
        let array = Array::from_shape_fn(IxDyn(&shape), |index| {
            index.slice().iter().fold(0u16, |number, &at| 5 * number + at as u16)
        });
        let order = Just((0..ndim).collect::<Vec<usize>>()).prop_shuffle();
        let step = prop_oneof![1isize..4, -3isize..0];
        (Just(array), order, prop::collection::vec((0usize..3, step), ndim))
    })
}

proptest! {
    #[test]
    fn arrays_of_any_layout_are_copied_there_and_back((array, order, cuts) in rearrangement()) {
        let mut view = array.view().permuted_axes(order);
        for (axis, (first, step)) in cuts.into_iter().enumerate() {
            let first = first.min(view.len_of(Axis(axis)));
            view.slice_axis_inplace(Axis(axis), Part::new(first as isize, None, step));
        }
        prop_assert_eq!(there_and_back(view.view()), view);
    }

    #[test]
    fn device_views_have_the_elements_of_the_same_view_on_the_host((array, order, cuts) in rearrangement()) {
        let fixture = Fixture::new();
        let [home] = streams(&fixture.primary());
        let axes: Vec<isize> = order.iter().map(|&axis| axis as isize).collect();
        let (mut host, mut index) = (array.view().permuted_axes(order), Vec::new());
        for (axis, (first, step)) in cuts.into_iter().enumerate() {
            // The sign of a step alone selects the end at which both libraries begin, so the device gets forward steps.
            let (first, step) = (first.min(host.len_of(Axis(axis))) as isize, step.abs());
            host.slice_axis_inplace(Axis(axis), Part::new(first, None, step));
            index.push(Index::Slice(Slice { start: Some(first), stop: None, step: Some(step) }));
        }
        let device = DeviceArray::from_ndarray(&array, &home).unwrap().transpose(Some(&axes)).unwrap().into_raw();
        let device = device.index(&index).unwrap().typed::<u16, AnyNdim>().unwrap();
        prop_assert_eq!(device.to_ndarray().unwrap(), host);
    }

    #[test]
    fn pinned_views_address_the_elements_of_their_layout(
        axes in prop::collection::vec((0usize..4, -9isize..10), 0..4),
        first in -2isize..40,
        odd in 0isize..2,
    ) {
        let fixture = Fixture::new();
        let mut pinned = PinnedArray::from_slice(&(0..40u16).collect::<Vec<_>>(), &fixture.primary()).unwrap();
        let (shape, steps): (Vec<usize>, Vec<isize>) = axes.into_iter().unzip();
        let strides: Vec<isize> = steps.iter().map(|step| 2 * step).collect();
        let view = View { offset: 2 * first + odd, layout: Layout::strided(&shape, &strides, 2).unwrap() };
        let at = |index: &[usize]| first + index.iter().zip(&steps).map(|(&at, step)| at as isize * step).sum::<isize>();
        let elements: Vec<isize> = ndarray::indices(IxDyn(&shape)).into_iter().map(|index| at(index.slice())).collect();
        let is_expressible = elements.is_empty() || odd == 0 && elements.iter().all(|at| (0..40).contains(at));
        let Ok(seen) = pinned.as_ndarray_strided::<AnyNdim>(&view) else {
            prop_assert!(!is_expressible);
            return Ok(());
        };
        prop_assert!(is_expressible);
        prop_assert_eq!(seen.shape(), &shape[..]);
        prop_assert!(seen.indexed_iter().all(|(index, &element)| element as isize == at(index.slice())));
        // A mutable view has no element twice. One that has each once may be refused.
        let mut once = elements.clone();
        once.sort_unstable();
        once.dedup();
        match pinned.as_ndarray_strided_mut::<AnyNdim>(&view) {
            Ok(mut view) => {
                prop_assert_eq!(once.len(), elements.len());
                view.fill(99);
                let written: Vec<isize> = (0..40).filter(|&at| pinned[at as usize] == 99).collect();
                prop_assert_eq!(written, once);
            }
            Err(error) => prop_assert!(error.is_unsupported() && elements.len() > 1, "{}", error),
        }
    }
}

#[test]
fn number_of_dimensions_is_kept_as_a_type() {
    let fixture = Fixture::new();
    let [home, other] = streams(&fixture.primary());
    let host: Array2<i32> = Array::from_shape_fn((6, 8), |(i, j)| (10 * i + j) as i32);
    let mut device: DeviceArray<i32, Ix2> = DeviceArray::from_ndarray(&host, &home).unwrap();
    let back: Array2<i32> = device.to_ndarray().unwrap();
    assert_eq!(back, host);
    assert_eq!(device.acquire(&other).unwrap().copy_to_ndarray().unwrap(), host);
    assert_eq!(device.acquire_mut(&other).unwrap().copy_to_ndarray().unwrap(), host);
    let scalar = DeviceArray::from_ndarray(&ndarray::arr0(7.0f64), &home).unwrap();
    assert_eq!(scalar.to_ndarray().unwrap(), ndarray::arr0(7.0));
    let complex = Array::from_elem((2, 0, 3), Complex { re: 1.0f32, im: -1.0 });
    assert_eq!(there_and_back(complex.view().into_dyn()), complex.into_dyn());
}

#[test]
fn views_of_other_libraries_are_copied_in_any_strides() {
    let fixture = Fixture::new();
    let [home, other] = streams(&fixture.primary());
    let host: Array2<i32> = Array::from_shape_fn((6, 8), |(i, j)| (10 * i + j) as i32);
    let whole = DeviceArray::from_ndarray(&host, &home).unwrap();
    let pointer = whole.interface().data();
    let part = |start: u64, shape: &[usize], strides: &[isize]| {
        let layout = Layout::strided(shape, strides, 4).unwrap();
        let interface = Interface::new(pointer + start, TypeStr::of::<i32>(), layout).unwrap();
        // SAFETY: the memory lives as long as `whole`, and its work is done.
        let view = unsafe { RawView::new(&fixture.driver, interface, None) }.unwrap();
        view.typed::<i32, Ix2, AnyLayout>().unwrap().acquire(&other).unwrap().copy_to_ndarray().unwrap()
    };
    assert_eq!(part(0, &[8, 6], &[4, 32]), host.t());
    assert_eq!(part(47 * 4, &[6, 8], &[-32, -4]), host.slice(s![..;-1, ..;-1]));
    assert_eq!(part(4, &[3, 4], &[64, 8]), host.slice(s![..;2, 1..;2]));
    assert_eq!(part(0, &[4, 8], &[0, 4]), host.row(0).broadcast((4, 8)).unwrap());
}

#[test]
fn copy_to_ndarray_is_ordered_after_pending_work() {
    let fixture = Fixture::new();
    let context = fixture.primary();
    let [home, other] = streams(&context);
    let array = DeviceArray::<u32, _>::empty([100], &home).unwrap();
    for value in [3u32, 5] {
        let (pointer, pattern) = (array.interface().data(), value.to_ne_bytes());
        // SAFETY: the memory has 400 bytes.
        unsafe { fill_bytes(&context, pointer, &pattern, 100, Some(&home)) }.unwrap();
        assert_eq!(array.acquire(&other).unwrap().copy_to_ndarray().unwrap(), Array::from_elem(100, value));
    }
}

#[test]
fn pinned_views_are_refused_with_the_reason() {
    let fixture = Fixture::new();
    let mut pinned = PinnedArray::from_slice(&[1u32, 2, 3, 4, 5, 6], &fixture.primary()).unwrap();
    assert_eq!(pinned.as_ndarray([2, 3]).unwrap(), array![[1, 2, 3], [4, 5, 6]]);
    pinned.as_ndarray_mut([3, 2]).unwrap().row_mut(1).fill(0);
    assert_eq!(*pinned, [1, 2, 0, 0, 5, 6]);
    let mut refused = |offset: isize, layout: cuarray::Result<Layout>, expected: &str| {
        let error = pinned.as_ndarray_strided_mut::<Ix2>(&View { offset, layout: layout.unwrap() }).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    refused(0, Layout::c_contiguous(&[6], 4), "a 2-dimensional array is expected");
    refused(0, Layout::c_contiguous(&[2, 2], 8), "items of 8 bytes, and an element has 4");
    refused(4, Layout::c_contiguous(&[2, 3], 4), "outside of the 24 bytes");
    refused(0, Layout::strided(&[2, 2], &[-4, 4], 4), "outside of the 24 bytes");
    refused(isize::MAX, Layout::c_contiguous(&[2, 2], 4), "outside of the 24 bytes");
    refused(2, Layout::c_contiguous(&[1, 2], 4), "offset 2 is no multiple of the item size");
    refused(0, Layout::strided(&[2, 2], &[6, 4], 4), "strides (6, 4) are no multiples of the item size");
    refused(0, Layout::strided(&[2, 3], &[0, 4], 4), "ndarray cannot express the layout");
    let error = pinned.as_ndarray([4, 2]).unwrap_err();
    assert!(error.is_invalid_argument() && error.to_string().contains("8 elements, and the array has 6"), "{error}");
}
