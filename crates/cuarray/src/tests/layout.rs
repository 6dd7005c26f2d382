//! Layouts: clauses I2, I8 and V1, against an oracle that visits every element.

use crate::{Dims, Layout, MAX_NDIM, Strides};
use proptest::prelude::*;
use std::ops::Range;

/// The byte offset of every element, in C order.
fn offsets(shape: &[usize], strides: &[isize]) -> Vec<isize> {
    let mut all = vec![0];
    for (&length, &stride) in shape.iter().zip(strides) {
        all = all.iter().flat_map(|&start| (0..length as isize).map(move |index| start + index * stride)).collect();
    }
    all
}

fn extent_by_visiting(shape: &[usize], strides: &[isize], itemsize: usize) -> Range<isize> {
    let all = offsets(shape, strides);
    match (all.iter().min(), all.iter().max()) {
        (Some(&low), Some(&high)) if itemsize != 0 => low..high + itemsize as isize,
        _ => 0..0,
    }
}

/// Whether the elements, visited in C order, are adjacent.
fn is_dense_by_visiting(offsets: &[isize], itemsize: usize) -> bool {
    offsets.iter().enumerate().all(|(index, &offset)| offset == (index * itemsize) as isize)
}

fn reversed<T: Clone>(values: &[T]) -> Vec<T> {
    values.iter().rev().cloned().collect()
}

#[test]
fn contiguous_strides_match_numpy() {
    // As numpy.empty(shape).strides, and with order='F'; for empty arrays NumPy has zeros instead.
    type Case = (&'static [usize], usize, &'static [isize], &'static [isize]);
    let cases: &[Case] = &[
        (&[], 4, &[], &[]),
        (&[7], 4, &[4], &[4]),
        (&[3, 4], 8, &[32, 8], &[8, 24]),
        (&[2, 3, 4], 2, &[24, 8, 2], &[2, 4, 12]),
        (&[3, 0, 2], 4, &[8, 8, 4], &[4, 12, 12]),
        (&[0, 0], 4, &[4, 4], &[4, 4]),
        (&[1, 5], 4, &[20, 4], &[4, 4]),
    ];
    for &(shape, itemsize, c, f) in cases {
        let in_c = Layout::c_contiguous(shape, itemsize).unwrap();
        let in_f = Layout::f_contiguous(shape, itemsize).unwrap();
        assert_eq!((in_c.strides(), in_f.strides()), (c, f), "{shape:?}");
        assert!(in_c.is_c_contiguous() && in_f.is_f_contiguous());
        assert_eq!(in_c.byte_extent(), 0..in_c.nbytes() as isize);
    }
}

#[test]
fn contiguity_follows_numpy_with_relaxed_strides() {
    // (shape, strides, C, F) as in numpy.lib.stride_tricks.as_strided(...).flags, with 4-byte items.
    let cases: &[(&[usize], &[isize], bool, bool)] = &[
        (&[], &[], true, true),
        (&[1], &[999], true, true),
        (&[1, 4], &[7, 4], true, true),
        (&[4, 1], &[4, -7], true, true),
        (&[1, 1], &[0, 0], true, true),
        (&[2, 3], &[12, 4], true, false),
        (&[2, 3], &[4, 8], false, true),
        (&[2, 1, 3], &[12, 5, 4], true, false),
        (&[5], &[4], true, true),
        (&[5], &[-4], false, false),
        (&[5], &[8], false, false),
        // Broadcast: one copy would transfer it all, but its elements are not adjacent.
        (&[5], &[0], false, false),
        (&[4, 2, 3], &[0, 24, 8], false, false),
        (&[2, 4, 3], &[24, 0, 8], false, false),
        (&[2, 3], &[0, 4], false, false),
        (&[1, 3], &[0, 4], true, true),
        // Empty arrays are contiguous with any strides.
        (&[0], &[999], true, true),
        (&[0, 3], &[48, 16], true, true),
        (&[3, 0], &[-5, 0], true, true),
    ];
    for &(shape, strides, c, f) in cases {
        let layout = Layout::strided(shape, strides, 4).unwrap();
        assert_eq!((layout.is_c_contiguous(), layout.is_f_contiguous()), (c, f), "{layout:?}");
    }
}

#[test]
fn scalar_has_one_element() {
    let scalar = Layout::c_contiguous(&[], 8).unwrap();
    assert_eq!((scalar.ndim(), scalar.len(), scalar.nbytes(), scalar.byte_extent()), (0, 1, 8, 0..8));
    assert!(!scalar.is_empty());
}

#[test]
fn zero_size_items_have_no_extent() {
    let layout = Layout::strided(&[3], &[16], 0).unwrap();
    assert_eq!((layout.len(), layout.nbytes(), layout.byte_extent()), (3, 0, 0..0));
}

#[test]
fn errors_name_key_value_and_expectation() {
    type Case<'a> = (&'a [usize], Option<&'a [isize]>, usize, &'a str, &'a [&'a str]);
    let huge = usize::MAX;
    let cases: &[Case<'_>] = &[
        (&[huge], None, 1, "shape", &["(18446744073709551615,)", "9223372036854775807"]),
        (&[1 << 62, 2], None, 1, "shape", &["too big"]),
        (&[1 << 61], None, 8, "shape", &["too big", "8-byte"]),
        (&[0, 1 << 62, 1 << 62], None, 1, "shape", &["too big"]),
        (&[1; MAX_NDIM + 1], None, 1, "shape", &["65 dimensions", "64"]),
        (&[3, 4], Some(&[4]), 4, "strides", &["(4,)", "1 entries", "expected 2", "(3, 4)"]),
        (&[], Some(&[4]), 4, "strides", &["expected 0", "()"]),
        (&[3], Some(&[isize::MAX]), 4, "strides", &["(9223372036854775807,)", "(3,)"]),
        (&[3], Some(&[isize::MIN]), 4, "strides", &["-9223372036854775808"]),
        (&[2], Some(&[isize::MAX]), 4, "strides", &["reach"]),
        (&[2, 2], Some(&[isize::MAX - 8, isize::MIN + 8]), 4, "strides", &["reach"]),
        (&[1], None, 1 << 40, "typestr", &["1099511627776", "2147483647"]),
    ];
    for &(shape, strides, itemsize, key, words) in cases {
        let strides = strides.map(Strides::from_slice);
        let error = Layout::from_parts(Dims::from_slice(shape), strides, itemsize).unwrap_err();
        assert_eq!(error.key(), Some(key), "{error}");
        for word in words {
            assert!(error.to_string().contains(word), "{word}: {error}");
        }
    }
}

#[test]
fn values_at_the_limits_are_allowed() {
    assert_eq!(Layout::c_contiguous(&[isize::MAX as usize], 1).unwrap().byte_extent(), 0..isize::MAX);
    assert_eq!(Layout::c_contiguous(&[1; MAX_NDIM], 4).unwrap().ndim(), MAX_NDIM);
    assert_eq!(Layout::strided(&[2], &[isize::MAX - 4], 4).unwrap().byte_extent(), 0..isize::MAX);
    assert_eq!(Layout::strided(&[2], &[isize::MIN + 5], 4).unwrap().byte_extent(), isize::MIN + 5..4);
    // The stride of a single element does not matter.
    assert_eq!(Layout::strided(&[1], &[isize::MIN], 4).unwrap().byte_extent(), 0..4);
    assert!(Layout::strided(&[0], &[isize::MIN], 4).unwrap().is_empty());
}

fn small() -> impl Strategy<Value = (Vec<usize>, Vec<isize>, usize)> {
    let itemsize = prop::sample::select(vec![0usize, 1, 2, 4, 12]);
    let axes = prop::collection::vec((0usize..5, -20isize..20), 0..5);
    (axes, itemsize).prop_map(|(axes, itemsize)| {
        let (shape, strides) = axes.into_iter().unzip();
        (shape, strides, itemsize)
    })
}

/// Layouts that are contiguous, or become so without the changed strides of some axes.
fn nearly_contiguous() -> impl Strategy<Value = (Vec<usize>, Vec<isize>, usize)> {
    let axes = prop::collection::vec((1usize..4, prop::option::weighted(0.1, -20isize..20)), 0..5);
    (axes, prop::sample::select(vec![1usize, 4]), any::<bool>()).prop_map(|(axes, itemsize, c)| {
        let shape: Vec<usize> = axes.iter().map(|axis| axis.0).collect();
        let made = if c { Layout::c_contiguous(&shape, itemsize) } else { Layout::f_contiguous(&shape, itemsize) };
        let made = made.unwrap();
        let strides = axes.iter().zip(made.strides()).map(|(axis, &stride)| axis.1.unwrap_or(stride)).collect();
        (shape, strides, itemsize)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn layout_agrees_with_visiting_every_element((shape, strides, itemsize) in prop_oneof![small(), nearly_contiguous()]) {
        let layout = Layout::strided(&shape, &strides, itemsize).unwrap();
        let in_c = offsets(&shape, &strides);
        let in_f = offsets(&reversed(&shape), &reversed(&strides));
        prop_assert_eq!(layout.len(), in_c.len());
        prop_assert_eq!(layout.is_empty(), in_c.is_empty());
        prop_assert_eq!(layout.nbytes(), in_c.len() * itemsize);
        prop_assert_eq!(layout.byte_extent(), extent_by_visiting(&shape, &strides, itemsize));
        prop_assert_eq!(layout.is_c_contiguous(), is_dense_by_visiting(&in_c, itemsize));
        prop_assert_eq!(layout.is_f_contiguous(), is_dense_by_visiting(&in_f, itemsize));
        prop_assert_eq!((layout.shape(), layout.strides()), (&shape[..], &strides[..]));
    }

    #[test]
    fn absent_strides_are_c_order(shape in prop::collection::vec(0usize..5, 0..8), itemsize in 0usize..20) {
        let given = Layout::c_contiguous(&shape, itemsize).unwrap();
        prop_assert!(given.is_c_contiguous());
        prop_assert_eq!(&given, &Layout::strided(&shape, given.strides(), itemsize).unwrap());
        let transposed = Layout::f_contiguous(&reversed(&shape), itemsize).unwrap();
        prop_assert!(transposed.is_f_contiguous());
        prop_assert_eq!(reversed(given.strides()), transposed.strides());
    }

    /// Any input gives an error, or a layout whose numbers are all exact.
    #[test]
    fn no_input_overflows(
        axes in prop_oneof![
            3 => prop::collection::vec((edge_length(), edge_stride()), 0..6),
            1 => prop::collection::vec((edge_length(), edge_stride()), 60..70),
        ],
        itemsize in prop_oneof![Just(0), Just(1), Just(8), any::<usize>(), Just(i32::MAX as usize)],
        with_strides in any::<bool>(),
    ) {
        let shape: Dims = axes.iter().map(|axis| axis.0).collect();
        let strides: Strides = axes.iter().map(|axis| axis.1).collect();
        let result = Layout::from_parts(shape, with_strides.then_some(strides), itemsize);
        if let Err(error) = &result {
            prop_assert!(matches!(error.key(), Some("shape" | "strides" | "typestr")), "{}", error);
        }
        if let Ok(layout) = result {
            let len = axes.iter().map(|axis| axis.0 as u128).try_fold(1u128, u128::checked_mul);
            let len = if layout.is_empty() { 0 } else { len.unwrap() };
            prop_assert_eq!(layout.len() as u128, len);
            prop_assert_eq!(layout.nbytes() as u128, len * itemsize as u128);
            let (mut low, mut high) = (0i128, 0i128);
            for (&length, &stride) in layout.shape().iter().zip(layout.strides()) {
                let last = (length as i128 - 1) * stride as i128;
                low += last.min(0);
                high += last.max(0);
            }
            let extent = layout.byte_extent();
            if len == 0 || itemsize == 0 {
                prop_assert_eq!(extent, 0..0);
            } else {
                prop_assert_eq!((extent.start as i128, extent.end as i128), (low, high + itemsize as i128));
                prop_assert!(extent.end.checked_sub(extent.start).is_some());
            }
            let _ = (layout.is_c_contiguous(), layout.is_f_contiguous(), format!("{layout:?}"));
        }
    }
}

fn edge_length() -> impl Strategy<Value = usize> {
    prop_oneof![
        6 => Just(1usize),
        3 => 0usize..9,
        1 => any::<usize>(),
        1 => (0u32..64).prop_map(|bit| 1 << bit),
        1 => Just(isize::MAX as usize),
        1 => Just(usize::MAX),
    ]
}

fn edge_stride() -> impl Strategy<Value = isize> {
    prop_oneof![
        4 => -64isize..64,
        1 => any::<isize>(),
        1 => (0u32..64).prop_map(|bit| 1 << bit),
        1 => (0u32..64).prop_map(|bit| -1 << bit),
        1 => Just(isize::MAX),
        1 => Just(isize::MIN),
    ]
}
