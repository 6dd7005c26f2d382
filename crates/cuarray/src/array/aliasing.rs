//! Whether the elements of two arrays share memory: [`Elements::share_memory_with`].
//!
//! The elements are compared exactly: `x[::2]` and `x[1::2]` share no memory. If a comparison takes too many steps, the elements
//! count as shared.

use crate::{DevicePtr, Interface, Layout, protocol::layout::MAX_NDIM};
use smallvec::SmallVec;
use std::cmp::Reverse;

/// The number of partial sums to try before elements count as shared. Common views need a handful.
const STEPS: u32 = 1 << 10;

/// The elements of a guard.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    pub(super) data: DevicePtr,
    pub(super) layout: Layout,
    /// Whether elements are smaller than a byte. A layout cannot address such elements.
    packed: bool,
}

impl Elements {
    pub(super) fn of(interface: &Interface) -> Elements {
        let layout = interface.layout().clone();
        Elements { data: interface.data(), layout, packed: interface.is_packed() }
    }

    /// Whether elements of both arrays share a byte, given overlapping extents.
    #[cold]
    pub(super) fn share_memory_with(&self, other: &Elements) -> bool {
        if self.packed || other.packed {
            return true;
        }
        // An element of `self` and one of `other` share a byte if the distance between their first bytes is within the window. The distance
        // is a sum of strides. Each stride is multiplied by an integer between two bounds.
        let distance = i128::from(self.data) - i128::from(other.data);
        let (size, other_size) = (self.layout.itemsize() as i128, other.layout.itemsize() as i128);
        let window = (1 - size - distance, other_size - 1 - distance);
        let mut terms = SmallVec::<[Term; 2 * MAX_NDIM]>::new();
        let steps = self.layout.shape().iter().zip(self.layout.strides()).map(|(n, step)| (*n, *step as i128));
        let other_steps =
            other.layout.shape().iter().zip(other.layout.strides()).map(|(n, step)| (*n, -(*step as i128)));
        for (length, step) in steps.chain(other_steps).filter(|(length, step)| *length > 1 && *step != 0) {
            let last = length as i128 - 1;
            let (least, most) = if step > 0 { (0, last) } else { (-last, 0) };
            match terms.iter_mut().find(|term| term.step == step.abs()) {
                // Equal strides are combined into one term, whose bounds are the sums of the bounds of both.
                Some(term) => (term.least, term.most) = (term.least + least, term.most + most),
                None => terms.push(Term { step: step.abs(), least, most }),
            }
        }
        terms.sort_unstable_by_key(|term| Reverse(term.step));
        reaches(window, &terms, &mut { STEPS })
    }
}

/// A stride, with the least and the greatest factor it may be multiplied by.
struct Term {
    step: i128,
    least: i128,
    most: i128,
}

/// Whether a sum of the terms lies in the window; also `true` if the steps run out.
fn reaches((low, high): (i128, i128), terms: &[Term], steps: &mut u32) -> bool {
    let Some((term, rest)) = terms.split_first() else { return low <= 0 && 0 <= high };
    // Every sum is a multiple of the greatest common divisor.
    let divisor = terms.iter().fold(0, |divisor, term| greatest_common_divisor(divisor, term.step));
    if high.div_euclid(divisor) * divisor < low {
        return false;
    }
    let least_of_rest: i128 = rest.iter().map(|term| term.step * term.least).sum();
    let most_of_rest: i128 = rest.iter().map(|term| term.step * term.most).sum();
    let first = term.least.max(-(most_of_rest - low).div_euclid(term.step));
    let last = term.most.min((high - least_of_rest).div_euclid(term.step));
    let mut times = first;
    while times <= last {
        if *steps == 0 {
            return true;
        }
        *steps -= 1;
        if reaches((low - term.step * times, high - term.step * times), rest, steps) {
            return true;
        }
        times += 1;
    }
    false
}

fn greatest_common_divisor(one: i128, other: i128) -> i128 {
    if other == 0 { one } else { greatest_common_divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TypeStr;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn elements(data: DevicePtr, shape: &[usize], strides: &[isize], itemsize: u32) -> Elements {
        let layout = Layout::strided(shape, strides, itemsize as usize).unwrap();
        Elements::of(&Interface::new(data, TypeStr::void(itemsize), layout).unwrap())
    }

    fn bytes(of: &Elements) -> HashSet<DevicePtr> {
        let mut starts = vec![of.data];
        for (&length, &step) in of.layout.shape().iter().zip(of.layout.strides()) {
            let places =
                |start: DevicePtr| (0..length).map(move |index| start.wrapping_add_signed(index as i64 * step as i64));
            starts = starts.into_iter().flat_map(places).collect();
        }
        starts.into_iter().flat_map(|start| start..start + of.layout.itemsize() as u64).collect()
    }

    #[test]
    fn interleaved_views_share_no_memory() {
        let (even, odd) = (elements(4096, &[50], &[8], 4), elements(4100, &[50], &[8], 4));
        assert!(!even.share_memory_with(&odd));
        assert!(even.share_memory_with(&even));
        assert!(even.share_memory_with(&elements(4098, &[50], &[8], 4)), "two bytes of each element");
    }

    #[test]
    fn columns_of_a_large_matrix_share_no_memory() {
        let (left, right) =
            (elements(4096, &[100_000, 512], &[4096, 4], 4), elements(4096 + 2048, &[100_000, 512], &[4096, 4], 4));
        assert!(!left.share_memory_with(&right));
        assert!(left.share_memory_with(&elements(4096 + 2044, &[100_000, 512], &[4096, 4], 4)));
    }

    #[test]
    fn a_reversed_view_shares_memory_with_its_array() {
        let (array, reversed) = (elements(4096, &[8], &[4], 4), elements(4096 + 28, &[8], &[-4], 4));
        assert!(array.share_memory_with(&reversed));
    }

    #[test]
    fn a_comparison_that_takes_long_counts_as_shared_memory() {
        let many = |data| elements(data, &[40, 41, 43, 47, 53], &[1009, 1013, 1019, 1021, 1031], 1);
        assert!(many(1 << 20).share_memory_with(&many((1 << 20) + 1)));
    }

    fn array() -> impl Strategy<Value = Elements> {
        let axis = (1usize..5, -20isize..20);
        (1000u64..1040, prop::collection::vec(axis, 0..4), 1u32..6).prop_map(|(data, axes, itemsize)| {
            let (shape, strides): (Vec<_>, Vec<_>) = axes.into_iter().unzip();
            elements(data, &shape, &strides, itemsize)
        })
    }

    proptest! {
        #[test]
        fn elements_share_memory_where_their_bytes_do(one in array(), other in array()) {
            prop_assert_eq!(one.share_memory_with(&other), !bytes(&one).is_disjoint(&bytes(&other)));
        }
    }
}
