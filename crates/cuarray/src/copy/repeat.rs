//! Plans for writing a broadcast array with few copies: write it once, then double it.
//!
//! The driver has no copy that reads one place many times, so a source with strides of 0 would need one call for each
//! repetition. Instead, each copy within the destination doubles the part that is already written. A column copied
//! into a million columns takes one copy and twenty more within the device. So assigning a scalar, a row or a column
//! needs no kernel and no broadcast array on the host.
//!
//! Pure arithmetic, like [`strided_copy`](crate::copy::strided_copy).

use crate::{Dims, Index, Layout, Result, View};
use std::cmp::Reverse;

/// A copy of a broadcast source, in steps. Each step reads only places that earlier steps wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repetition {
    /// The part of the destination that is written from the source; both begin at the same place.
    pub first: Layout,
    /// The source without repetitions, in the shape of `first`; it begins where the source begins.
    pub source: Layout,
    /// Later copies within the destination, in order.
    pub doublings: Vec<Doubling>,
}

/// One copy within the destination. Both parts have the same shape. They overlap only if elements of the destination
/// overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubling {
    /// The part that is written.
    pub to: View,
    /// The part that is read.
    pub from: View,
}

impl Repetition {
    /// Plans the copy of `src` into `dst`, which have one shape. Returns `None` if the source repeats nothing.
    pub fn new(dst: &Layout, src: &Layout) -> Result<Option<Repetition>> {
        let mut repeated: Dims =
            (0..src.ndim()).filter(|&axis| src.strides()[axis] == 0 && src.shape()[axis] > 1).collect();
        if repeated.is_empty() || dst.is_empty() {
            return Ok(None);
        }
        // Smallest strides first, so that later copies have longer runs.
        repeated.sort_by_key(|&axis| Reverse(dst.strides()[axis].unsigned_abs()));
        // The written length of each axis.
        let mut written = Dims::from(dst.shape());
        repeated.iter().for_each(|&axis| written[axis] = 1);
        let part = |layout: &Layout, written: &[usize], axis: usize, from: usize, count: usize| {
            let index: Vec<Index> = (0..written.len())
                .map(|other| match other == axis {
                    true => (from as isize..(from + count) as isize).into(),
                    false => (0..written[other] as isize).into(),
                })
                .collect();
            layout.index(&index)
        };
        let once =
            |layout: &Layout, written: &[usize]| part(layout, written, repeated[0], 0, 1).map(|view| view.layout);
        let (first, source) = (once(dst, &written)?, once(src, &written)?);
        let mut doublings = Vec::new();
        for &axis in repeated.iter().rev() {
            while written[axis] < dst.shape()[axis] {
                let count = written[axis].min(dst.shape()[axis] - written[axis]);
                doublings.push(Doubling {
                    to: part(dst, &written, axis, written[axis], count)?,
                    from: part(dst, &written, axis, 0, count)?,
                });
                written[axis] += count;
            }
        }
        Ok(Some(Repetition { first, source, doublings }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn offsets(layout: &Layout) -> Vec<isize> {
        layout.shape().iter().zip(layout.strides()).fold(vec![0], |all, (&length, &stride)| {
            all.iter().flat_map(|&start| (0..length as isize).map(move |at| start + at * stride)).collect()
        })
    }

    /// A destination without overlaps, its axes in any order, and a source that repeats along some axes.
    fn pairs() -> impl Strategy<Value = (Layout, Layout)> {
        let axis = (1usize..8, any::<bool>(), 0isize..3, prop::option::of(-3isize..4), any::<u8>());
        (prop::collection::vec(axis, 0..5), 1usize..4).prop_map(|(axes, itemsize)| {
            let mut step = itemsize as isize;
            let mut made: Vec<_> = axes
                .into_iter()
                .map(|(length, reversed, gap, src, key)| {
                    step += gap;
                    let dst = if reversed { -step } else { step };
                    step *= length as isize;
                    (key, length, dst, src.map_or(0, |src| src * 7))
                })
                .collect();
            made.sort_unstable();
            let shape: Vec<_> = made.iter().map(|axis| axis.1).collect();
            let dst: Vec<_> = made.iter().map(|axis| axis.2).collect();
            let src: Vec<_> = made.iter().map(|axis| axis.3).collect();
            (Layout::strided(&shape, &dst, itemsize).unwrap(), Layout::strided(&shape, &src, itemsize).unwrap())
        })
    }

    proptest! {
        #[test]
        fn doubling_copies_every_element_to_its_place((dst, src) in pairs()) {
            let expected: HashMap<_, _> = offsets(&dst).into_iter().zip(offsets(&src)).collect();
            let Some(steps) = Repetition::new(&dst, &src).unwrap() else {
                prop_assert!(src.shape().iter().zip(src.strides()).all(|(&length, &stride)| stride != 0 || length < 2));
                return Ok(());
            };
            // Maps each written place of the destination to the offset of its source element.
            let mut written: HashMap<_, _> = offsets(&steps.first).into_iter().zip(offsets(&steps.source)).collect();
            for Doubling { to, from } in &steps.doublings {
                prop_assert_eq!(to.layout.shape(), from.layout.shape());
                let reads = offsets(&from.layout).into_iter().map(|place| written.get(&(from.offset + place)).copied());
                let reads: Vec<_> = reads.collect();
                for (place, read) in offsets(&to.layout).into_iter().zip(reads) {
                    // A step reads only written places and writes each place once.
                    prop_assert!(written.insert(to.offset + place, read.expect("written before")).is_none());
                }
            }
            prop_assert_eq!(written, expected);
            let calls: u32 = dst.shape().iter().map(|length| length.next_power_of_two().trailing_zeros()).sum();
            prop_assert!(steps.doublings.len() <= calls as usize);
        }
    }

    #[test]
    fn a_million_columns_take_twenty_copies() {
        let dst = Layout::c_contiguous(&[3, 1 << 20], 8).unwrap();
        let src = Layout::strided(&[3, 1 << 20], &[8, 0], 8).unwrap();
        assert_eq!(Repetition::new(&dst, &src).unwrap().unwrap().doublings.len(), 20);
    }
}
