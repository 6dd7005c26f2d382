//! Views compared with an oracle that visits every element. A view's elements must be those of the array that the
//! index, shape or permutation selects, in the right order. (The Python tests compare with NumPy.)

use crate::{Index, Layout, Order, Slice};
use proptest::prelude::*;

/// The byte offset of every element, in the given order.
fn offsets(layout: &Layout, order: Order) -> Vec<isize> {
    let ndim = layout.ndim();
    let mut axes: Vec<usize> = (0..ndim).collect();
    if order == Order::F {
        axes.reverse();
    }
    let mut all = vec![0];
    for axis in axes {
        let (length, stride) = (layout.shape()[axis] as isize, layout.strides()[axis]);
        all = all.iter().flat_map(|&start| (0..length).map(move |at| start + at * stride)).collect();
    }
    all
}

/// The indices that Python's `range(length)[slice]` selects, found by testing each.
fn places(length: usize, slice: Slice) -> Vec<isize> {
    let length = length as isize;
    let step = slice.step.unwrap_or(1);
    let from_end = |place: isize| if place < 0 { place + length } else { place };
    let mut found = Vec::new();
    if step > 0 {
        let start = slice.start.map_or(0, |start| from_end(start).max(0));
        let stop = slice.stop.map_or(length, from_end);
        let mut at = start;
        while at < stop.min(length) {
            found.push(at);
            at += step;
        }
    } else {
        let start = slice.start.map_or(length - 1, |start| from_end(start).min(length - 1));
        let stop = slice.stop.map_or(-1, |stop| from_end(stop).max(-1));
        let mut at = start;
        while at > stop && at >= 0 {
            found.push(at);
            at += step;
        }
    }
    found
}

fn layouts() -> impl Strategy<Value = Layout> {
    let axes = prop::collection::vec((0usize..6, -40isize..40), 0..5);
    (axes, 1usize..9).prop_map(|(axes, itemsize)| {
        let (shape, strides): (Vec<_>, Vec<_>) = axes.into_iter().unzip();
        Layout::strided(&shape, &strides, itemsize).unwrap()
    })
}

/// Dense layouts of every axis order, with few elements and many divisors.
fn dense() -> impl Strategy<Value = Layout> {
    (prop::collection::vec(1usize..7, 0..5), 1usize..5, any::<bool>()).prop_map(|(shape, itemsize, c)| {
        if c { Layout::c_contiguous(&shape, itemsize) } else { Layout::f_contiguous(&shape, itemsize) }.unwrap()
    })
}

fn slices() -> impl Strategy<Value = Slice> {
    let end = || prop::option::of(prop_oneof![4 => -8isize..8, 1 => Just(isize::MAX), 1 => Just(isize::MIN)]);
    let step = prop::option::of((-7isize..7).prop_filter("a step", |step| *step != 0));
    (end(), end(), step).prop_map(|(start, stop, step)| Slice { start, stop, step })
}

proptest! {
    #[test]
    fn slice_selects_its_indices(layout in layouts(), slices in prop::collection::vec(slices(), 5)) {
        let slices = &slices[..layout.ndim()];
        let index: Vec<Index> = slices.iter().map(|&slice| slice.into()).collect();
        let view = layout.index(&index).unwrap();
        let mut expected = vec![0];
        for (axis, &slice) in slices.iter().enumerate() {
            let (stride, places) = (layout.strides()[axis], places(layout.shape()[axis], slice));
            prop_assert_eq!(view.layout.shape()[axis], places.len());
            expected = expected.iter().flat_map(|&start| places.iter().map(move |at| start + at * stride)).collect();
        }
        let found: Vec<_> = offsets(&view.layout, Order::C).into_iter().map(|offset| view.offset + offset).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn integer_selects_one_index(layout in layouts(), axis in 0usize..5, at in -7isize..7) {
        prop_assume!(axis < layout.ndim());
        let mut index = vec![Index::from(..); axis];
        index.push(Index::At(at));
        let length = layout.shape()[axis] as isize;
        match layout.index(&index) {
            Ok(view) => {
                prop_assert!((-length..length).contains(&at));
                prop_assert_eq!(view.offset, at.rem_euclid(length) * layout.strides()[axis]);
                prop_assert_eq!(view.layout.ndim(), layout.ndim() - 1);
            }
            Err(error) => {
                prop_assert!(!(-length..length).contains(&at));
                prop_assert!(error.is_out_of_bounds());
            }
        }
    }

    #[test]
    fn view_stays_within_its_array(layout in layouts(), slices in prop::collection::vec(slices(), 0..6)) {
        let index: Vec<Index> = slices.iter().map(|&slice| slice.into()).collect();
        let Ok(view) = layout.index(&index) else { return Ok(()) };
        let (inner, outer) = (view.layout.byte_extent(), layout.byte_extent());
        if !view.layout.is_empty() {
            prop_assert!(outer.start <= view.offset + inner.start && view.offset + inner.end <= outer.end);
        }
    }

    #[test]
    fn reshape_keeps_the_elements_in_order(layout in layouts(), shape in prop::collection::vec(-1isize..13, 0..5), f in any::<bool>()) {
        let order = if f { Order::F } else { Order::C };
        if let Ok(Some(view)) = layout.reshape(&shape, order) {
            prop_assert_eq!(view.ndim(), shape.len());
            prop_assert!(view.shape().iter().zip(&shape).all(|(&new, &old)| old == -1 || new == old as usize));
            prop_assert_eq!(offsets(&view, order), offsets(&layout, order));
        }
    }

    #[test]
    fn dense_array_can_be_reshaped_to_every_shape_in_its_order(layout in dense(), cut in 0usize..5) {
        let order = if layout.is_c_contiguous() { Order::C } else { Order::F };
        // Keep some axes, and merge the rest into one whose length is inferred.
        let cut = cut.min(layout.ndim());
        let mut shape: Vec<isize> = layout.shape()[..cut].iter().map(|&length| length as isize).collect();
        shape.push(-1);
        let view = layout.reshape(&shape, order).unwrap().unwrap();
        prop_assert_eq!(offsets(&view, order), offsets(&layout, order));
        let back: Vec<isize> = layout.shape().iter().map(|&length| length as isize).collect();
        let back = view.reshape(&back, order).unwrap().unwrap();
        prop_assert_eq!(offsets(&back, order), offsets(&layout, order));
    }

    #[test]
    fn reshape_is_refused_only_if_no_strides_exist(layout in layouts(), shape in prop::collection::vec(1isize..7, 0..4)) {
        // For `None`, no strides give the elements in that order: each stride would follow from the first steps.
        if let Ok(None) = layout.reshape(&shape, Order::C) {
            let all = offsets(&layout, Order::C);
            let mut strides = Vec::new();
            for axis in 0..shape.len() {
                let next: usize = shape[axis + 1..].iter().map(|&length| length as usize).product();
                strides.push(if shape[axis] > 1 { all[next] - all[0] } else { 0 });
            }
            let lengths: Vec<usize> = shape.iter().map(|&length| length as usize).collect();
            let candidate = Layout::strided(&lengths, &strides, layout.itemsize()).unwrap();
            prop_assert_ne!(offsets(&candidate, Order::C), all);
        }
    }

    #[test]
    fn inverse_transpose_restores_the_layout(layout in layouts(), seed in prop::collection::vec(any::<u8>(), 5)) {
        let mut axes: Vec<usize> = (0..layout.ndim()).collect();
        axes.sort_by_key(|&axis| seed[axis]);
        let mut back = vec![0isize; axes.len()];
        for (to, &from) in axes.iter().enumerate() {
            back[from] = to as isize;
        }
        let axes: Vec<isize> = axes.into_iter().map(|axis| axis as isize).collect();
        let there = layout.transpose(Some(&axes)).unwrap();
        prop_assert_eq!(there.transpose(Some(&back)).unwrap(), layout.clone());
        prop_assert_eq!(layout.transpose(None).unwrap().transpose(None).unwrap(), layout);
    }

    #[test]
    fn split_pieces_contain_every_element_in_order(layout in layouts(), section in 1usize..8) {
        prop_assume!(layout.ndim() > 0);
        let pieces: Vec<_> = layout.split(section).unwrap().map(Result::unwrap).collect();
        prop_assert!(pieces.iter().all(|piece| piece.layout.shape()[0] <= section));
        let joined: Vec<_> = pieces
            .iter()
            .flat_map(|piece| offsets(&piece.layout, Order::C).into_iter().map(|offset| piece.offset + offset))
            .collect();
        prop_assert_eq!(joined, offsets(&layout, Order::C));
    }

    #[test]
    fn broadcast_repeats_the_elements(layout in layouts(), before in prop::collection::vec(0usize..3, 0..3), lengths in prop::collection::vec(0usize..4, 5)) {
        let mut shape = before.clone();
        shape.extend(layout.shape().iter().zip(&lengths).map(|(&own, &other)| if own == 1 { other } else { own }));
        let wide = layout.broadcast_to(&shape).unwrap();
        let times: usize = before.iter().product();
        prop_assert!(wide.strides()[..before.len()].iter().all(|&stride| stride == 0));
        // The first index of every broadcast axis restores the original elements.
        let first = |axis: usize| if layout.shape()[axis] == 1 { Index::from(0..1) } else { (..).into() };
        if times > 0 && !wide.is_empty() {
            let mut index = vec![Index::At(0); before.len()];
            index.extend((0..layout.ndim()).map(first));
            let view = wide.index(&index).unwrap();
            prop_assert_eq!(view.offset, 0);
            prop_assert_eq!(offsets(&view.layout, Order::C), offsets(&layout, Order::C));
        }
    }

    #[test]
    fn packed_layout_is_dense_and_has_the_same_shape(layout in layouts()) {
        let packed = layout.packed().unwrap();
        prop_assert_eq!(packed.shape(), layout.shape());
        prop_assert!(!packed.may_overlap_itself());
        if !layout.is_empty() {
            prop_assert_eq!(packed.byte_extent(), 0..layout.nbytes() as isize);
        }
    }

    #[test]
    fn layout_without_reported_overlap_shares_no_bytes(layout in layouts()) {
        let mut bytes: Vec<isize> = offsets(&layout, Order::C)
            .into_iter()
            .flat_map(|offset| offset..offset + layout.itemsize() as isize)
            .collect();
        bytes.sort_unstable();
        let shared = bytes.windows(2).any(|pair| pair[0] == pair[1]);
        prop_assert!(layout.may_overlap_itself() || !shared);
    }

    #[test]
    fn views_of_dense_arrays_report_no_overlap(layout in dense(), slices in prop::collection::vec(slices(), 5)) {
        let index: Vec<Index> = slices[..layout.ndim()].iter().map(|&slice| slice.into()).collect();
        prop_assert!(!layout.index(&index).unwrap().layout.may_overlap_itself());
    }

    #[test]
    fn another_item_size_covers_the_same_bytes(layout in layouts(), itemsize in 0usize..20) {
        if let Ok(view) = layout.with_itemsize(itemsize) {
            let bytes = |layout: &Layout| -> Vec<isize> {
                let item = layout.itemsize() as isize;
                offsets(layout, Order::C).into_iter().flat_map(|offset| offset..offset + item).collect()
            };
            prop_assert_eq!(bytes(&view), bytes(&layout));
        }
    }
}

#[test]
fn errors_name_the_problem_and_the_value() {
    let matrix = Layout::c_contiguous(&[3, 4], 8).unwrap();
    let index = |index: &[Index]| matrix.index(index).unwrap_err().to_string();
    assert!(index(&[Index::At(3)]).contains("index 3 is out of bounds for axis 0 with size 3"));
    assert!(index(&[Index::At(0), Index::At(-5)]).contains("index -5 is out of bounds for axis 1 with size 4"));
    assert!(index(&[Index::At(isize::MIN)]).contains("out of bounds"));
    assert!(index(&[Index::At(0); 3]).contains("too many indices"));
    assert!(index(&[Index::Ellipsis, Index::Ellipsis]).contains("single ellipsis"));
    assert!(index(&[Index::NewAxis; 70]).contains("at most 64"));
    assert!(index(&[Slice { step: Some(0), ..Slice::default() }.into()]).contains("step 0"));

    let reshape = |shape: &[isize]| matrix.reshape(shape, Order::C).unwrap_err().to_string();
    assert!(reshape(&[5, 2]).contains("12 elements, shape (3, 4), into shape (5, 2)"));
    assert!(reshape(&[-1, -1]).contains("only one"));
    assert!(reshape(&[-2, 6]).contains("-2"));
    assert!(reshape(&[5, -1]).contains("cannot reshape"));
    assert!(reshape(&[isize::MAX, isize::MAX, 4]).contains("cannot reshape"));
    let empty = Layout::c_contiguous(&[0, 3], 4).unwrap();
    assert!(empty.reshape(&[0, -1], Order::C).unwrap_err().to_string().contains("cannot reshape"));

    let transpose = |axes: &[isize]| matrix.transpose(Some(axes)).unwrap_err().to_string();
    assert!(transpose(&[0]).contains("(0,)"));
    assert!(transpose(&[0, 2]).contains("(0, 2)"));
    assert!(transpose(&[1, -1]).contains("(1, -1)"));
    assert!(matrix.squeeze(Some(&[0])).unwrap_err().to_string().contains("its length is 3"));
    assert!(matrix.split(0).err().unwrap().to_string().contains("sections of 0"));
    assert!(Layout::c_contiguous(&[], 4).unwrap().split(1).is_err());
    assert!(matrix.broadcast_to(&[4]).unwrap_err().to_string().contains("(3, 4) to (4,)"));
    assert!(matrix.with_itemsize(3).unwrap_err().to_string().contains("must divide"));
    assert!(matrix.transpose(None).unwrap().with_itemsize(4).unwrap_err().to_string().contains("contiguous"));
}

#[test]
fn strides_of_unit_axes_match_numpy() {
    // As numpy.zeros((4, 6), 'i4')[:, ::2].reshape(4, 1, 3, 1).strides.
    let odd = Layout::strided(&[4, 3], &[24, 8], 4).unwrap();
    let reshaped = |shape: &[isize], order| odd.reshape(shape, order).unwrap().unwrap().strides().to_vec();
    assert_eq!(reshaped(&[4, 1, 3, 1], Order::C), [24, 24, 8, 8]);
    assert_eq!(reshaped(&[12, 1], Order::C), [8, 8]);
    // As numpy.zeros((6, 4), 'i4', order='F')[::2].
    let odd = Layout::strided(&[3, 4], &[8, 24], 4).unwrap();
    assert_eq!(odd.reshape(&[1, 3, 4, 1], Order::F).unwrap().unwrap().strides(), [8, 8, 24, 96]);
    // An empty slice points at the start of its axis.
    let line = Layout::c_contiguous(&[5], 4).unwrap();
    let view = line.index(&[Slice { start: Some(3), stop: Some(1), step: None }.into()]).unwrap();
    assert_eq!((view.offset, view.layout.strides()), (0, &[4][..]));
}

#[test]
fn sections_of_a_long_broadcast_axis_are_made_one_by_one() {
    for (stride, itemsize) in [(0, 4), (1, 0)] {
        let long = Layout::strided(&[1 << 40, 3], &[stride, 4], itemsize).unwrap();
        let mut sections = long.split(1).unwrap();
        assert_eq!(sections.len(), 1 << 40);
        let second = sections.nth(1).unwrap().unwrap();
        assert_eq!((second.offset, second.layout.shape()), (stride, &[1, 3][..]));
        let last = long.split((1 << 40) - 1).unwrap().last().unwrap().unwrap();
        assert_eq!(last.layout.shape(), &[1, 3]);
    }
}
