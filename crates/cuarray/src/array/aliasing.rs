//! Run-time checks of aliasing: if the elements of two live guards share memory, both guards are for reading.
//!
//! There is one registry for the process, as in rust-numpy. It records the elements of each live guard by address, so it detects
//! aliasing through clones, views, and objects of different libraries. Extents are compared first. If they overlap, the elements are
//! compared exactly: `x[::2]` and `x[1::2]` share no memory. A comparison that would take long counts as shared memory.
//!
//! Device addresses are unique within a driver. A driver made from a table of entry points has its own address space.

use crate::{
    DevicePtr, Error, Interface, Layout, Result,
    protocol::layout::{MAX_NDIM, Tuple},
    sync::Access,
};
use smallvec::SmallVec;
use std::{
    cmp::Reverse,
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The number of partial sums to try before elements count as shared. Common views need a handful.
const STEPS: u32 = 1 << 10;

/// The number of live guards for which memory is reserved at the first registration; up to it, later ones allocate nothing.
const USUAL: usize = 64;

static LIVE: Mutex<Registry> = Mutex::new(Registry { extents: Vec::new(), elements: Vec::new(), free: Vec::new() });

/// The elements of all live guards.
struct Registry {
    /// A list apart from [`Registry::elements`], as each registration scans it. A free slot has an empty extent.
    extents: Vec<Extent>,
    elements: Vec<Elements>,
    free: Vec<usize>,
}

/// The bytes from the first to the last element of a guard.
#[derive(Clone, Copy)]
struct Extent {
    space: usize,
    start: DevicePtr,
    end: DevicePtr,
    access: Access,
}

/// The elements of a guard.
#[derive(Debug)]
struct Elements {
    data: DevicePtr,
    layout: Layout,
    /// Whether elements are smaller than a byte. A layout cannot address such elements.
    packed: bool,
}

/// A guard's entry in the registry; removed when dropped.
#[derive(Debug)]
pub(super) struct Registration {
    slot: Option<usize>,
}

impl Registration {
    /// The entry of a guard without elements.
    pub(super) const NONE: Registration = Registration { slot: None };

    /// Registers the elements of an array in an address space.
    ///
    /// # Errors
    /// [`Error::is_already_acquired`]: a live guard has elements in the same memory, and one of the two writes.
    #[inline]
    pub(super) fn new(space: usize, interface: &Interface, access: Access) -> Result<Registration> {
        let Range { start, end } = interface.byte_range();
        if start == end {
            return Ok(Registration::NONE);
        }
        registry().enter(Extent { space, start, end, access }, interface).map(|slot| Registration { slot: Some(slot) })
    }
}

impl Drop for Registration {
    #[inline]
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            registry().leave(slot);
        }
    }
}

fn registry() -> MutexGuard<'static, Registry> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    fn enter(&mut self, extent: Extent, interface: &Interface) -> Result<usize> {
        for (slot, other) in self.extents.iter().enumerate() {
            let apart = other.end <= extent.start || extent.end <= other.start || other.space != extent.space;
            if !apart && (extent.access == Access::Write || other.access == Access::Write) {
                let elements = Elements::of(interface);
                if elements.share_memory_with(&self.elements[slot]) {
                    return Err(already_acquired(&elements, extent.access, &self.elements[slot], other.access));
                }
            }
        }
        let elements = Elements::of(interface);
        match self.free.pop() {
            Some(slot) => {
                self.extents[slot] = extent;
                self.elements[slot] = elements;
                Ok(slot)
            }
            None => {
                if self.extents.capacity() == 0 {
                    self.extents.reserve(USUAL);
                    self.elements.reserve(USUAL);
                    self.free.reserve(USUAL);
                }
                self.extents.push(extent);
                self.elements.push(elements);
                Ok(self.extents.len() - 1)
            }
        }
    }

    fn leave(&mut self, slot: usize) {
        let extent = &mut self.extents[slot];
        (extent.start, extent.end) = (0, 0);
        self.free.push(slot);
        if self.free.len() == self.extents.len() {
            self.extents.clear();
            self.elements.clear();
            self.free.clear();
        }
    }
}

impl Elements {
    fn of(interface: &Interface) -> Elements {
        let layout = interface.layout().clone();
        Elements { data: interface.data(), layout, packed: interface.is_packed() }
    }

    /// Whether elements of both arrays share a byte, given overlapping extents.
    #[cold]
    fn share_memory_with(&self, other: &Elements) -> bool {
        if self.packed || other.packed {
            return true;
        }
        // An element of `self` and one of `other` share a byte if the distance of their first bytes lies in the window. That distance is
        // a sum of steps, each taken a number of times between two bounds.
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
                // Equal steps of both arrays are combined, since only their difference counts.
                Some(term) => (term.least, term.most) = (term.least + least, term.most + most),
                None => terms.push(Term { step: step.abs(), least, most }),
            }
        }
        terms.sort_unstable_by_key(|term| Reverse(term.step));
        reaches(window, &terms, &mut { STEPS })
    }
}

/// A step, with the bounds of how often it may be taken.
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

#[cold]
fn already_acquired(wanted: &Elements, access: Access, live: &Elements, live_access: Access) -> Error {
    let word = |access| if access == Access::Write { "writing" } else { "reading" };
    let place = |elements: &Elements| {
        let (shape, strides) = (Tuple(elements.layout.shape()), Tuple(elements.layout.strides()));
        format!("shape {shape}, strides {strides}, from {:#x}", elements.data)
    };
    Error::already_acquired(format!(
        "cannot acquire the array for {}: its elements ({}) share memory with those of a live guard for {} ({}); release that guard first",
        word(access),
        place(wanted),
        word(live_access),
        place(live)
    ))
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
