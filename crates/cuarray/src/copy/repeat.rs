//! How a broadcast array is written with few copies: once, and then doubled.
//!
//! The driver has no copy that reads one place many times, so a source with strides of 0 would cost a call for each
//! repetition. But what has been written once into the destination is there to be copied on, and every copy doubles it: a
//! column into a million columns takes one copy and twenty more within the device. So assigning a scalar of any size, a row
//! or a column needs neither a kernel nor a broadcast array on the host.
//!
//! Pure arithmetic, like [`strided_copy`](crate::copy::strided_copy).

use crate::{Dims, Index, Layout, Result, View};
use std::cmp::Reverse;

/// A copy of a broadcast source, in steps. Each step reads only what those before it wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repetition {
    /// The part of the destination that is written from the source; it begins where the destination does.
    pub first: Layout,
    /// The source without repetitions, of the same shape; it begins where the source does.
    pub source: Layout,
    /// What is copied then: from where to where, both within the destination.
    pub doublings: Vec<Doubling>,
}

/// One copy within the destination. The two parts have one shape and do not overlap, if no elements of the destination do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubling {
    /// Where it goes.
    pub to: View,
    /// Where it comes from.
    pub from: View,
}

impl Repetition {
    /// The steps that copy `src` into `dst`, which have one shape; `None` where the source repeats nothing.
    pub fn new(dst: &Layout, src: &Layout) -> Result<Option<Repetition>> {
        let mut repeated: Dims =
            (0..src.ndim()).filter(|&axis| src.strides()[axis] == 0 && src.shape()[axis] > 1).collect();
        if repeated.is_empty() || dst.is_empty() {
            return Ok(None);
        }
        // The closest places first: what is then copied further is in longer runs.
        repeated.sort_by_key(|&axis| Reverse(dst.strides()[axis].unsigned_abs()));
        // How far each axis has been written.
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

    /// Axes of a destination without overlaps, in any order, and of a source that repeats along some of them.
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
        fn every_place_gets_its_element((dst, src) in pairs()) {
            let expected: HashMap<_, _> = offsets(&dst).into_iter().zip(offsets(&src)).collect();
            let Some(steps) = Repetition::new(&dst, &src).unwrap() else {
                prop_assert!(src.shape().iter().zip(src.strides()).all(|(&length, &stride)| stride != 0 || length < 2));
                return Ok(());
            };
            // Places of the destination, and which element of the source lies there.
            let mut written: HashMap<_, _> = offsets(&steps.first).into_iter().zip(offsets(&steps.source)).collect();
            for Doubling { to, from } in &steps.doublings {
                prop_assert_eq!(to.layout.shape(), from.layout.shape());
                let reads = offsets(&from.layout).into_iter().map(|place| written.get(&(from.offset + place)).copied());
                let reads: Vec<_> = reads.collect();
                for (place, read) in offsets(&to.layout).into_iter().zip(reads) {
                    // Read only what is there already; write each place once.
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
