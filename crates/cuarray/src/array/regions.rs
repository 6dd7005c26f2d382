//! [`Regions`]: an index of extents in which extents that share no bytes share no lock.
//!
//! A *region* is a range of addresses with its own lock and its own entries. Regions do not overlap, and each extent lies in one region.
//! So extents that overlap are in one region, and one lock orders their entries. An object finds its region once, and keeps it. From
//! then on it locks this region only.
//!
//! The first extent in some memory makes a region. A later extent that reaches beyond a region enlarges it. One that reaches into several
//! regions joins them: the entries of the smaller ones move to the largest. A region that no object keeps is replaced, and not
//! joined. So regions do not grow together as memory is reused.
//!
//! Most regions have a few entries, which are scanned. A region with more than [`SCANNED`] has an index, sorted by the *class* of each
//! extent, which is the power of two below its length, and then by its start. An extent of one class that overlaps another extent starts
//! within a range that the class gives.

use crate::DevicePtr;
#[cfg(all(test, loom))]
use crate::lock::model::{Lock, SharedLock};
#[cfg(not(all(test, loom)))]
use crate::lock::{Lock, SharedLock};
use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::Arc,
};

/// The number of entries up to which a region is scanned.
const SCANNED: usize = 32;

/// The number of regions from which those that no object keeps are removed.
const SWEPT: usize = 1024;

/// The bytes from the first to the last element of an array; at least one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) start: DevicePtr,
    pub(super) end: DevicePtr,
}

impl Extent {
    #[inline]
    fn overlaps(self, other: Extent) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The power of two below the length, as an exponent.
    fn class(self) -> u32 {
        (self.end - self.start).ilog2()
    }
}

/// All regions, by address space and start.
#[derive(Debug)]
pub(super) struct Regions<E>(SharedLock<Table<E>>);

#[derive(Debug)]
struct Table<E> {
    /// Each region by its address space and start, with its end.
    regions: BTreeMap<(usize, DevicePtr), Ending<E>>,
    /// The number of regions at which the next sweep is due.
    sweep_at: usize,
}

/// The end of a region, and the region.
type Ending<E> = (DevicePtr, Arc<Region<E>>);

/// A range of addresses, and the entries with an extent there. Its table knows the range.
#[derive(Debug)]
pub(super) struct Region<E>(Lock<State<E>>);

#[derive(Debug)]
enum State<E> {
    Here(Slots<E>),
    /// The entries moved to another region, which lives as long as this one. Their slots follow that many others.
    Moved(Arc<Region<E>>, u32),
}

/// A slot of a region. It stays valid when the region's entries move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(u32);

/// The entries of a region.
#[derive(Debug)]
pub(super) struct Slots<E> {
    /// The extent of each slot; `None` for a free slot. They have their own list because most operations scan it.
    extents: Vec<Option<Extent>>,
    entries: Vec<Option<E>>,
    free: Vec<u32>,
    index: Option<Box<Index>>,
}

/// The extents of many slots, by class, start and slot.
#[derive(Debug)]
struct Index {
    sorted: BTreeSet<(u32, DevicePtr, u32)>,
    /// The number of extents of each class, and a bit for each class that has one.
    classes: [u32; 64],
    used: u64,
}

impl<E> Default for Table<E> {
    fn default() -> Table<E> {
        Table { regions: BTreeMap::new(), sweep_at: SWEPT }
    }
}

impl<E> Default for Slots<E> {
    fn default() -> Slots<E> {
        Slots { extents: Vec::new(), entries: Vec::new(), free: Vec::new(), index: None }
    }
}

impl<E> Default for State<E> {
    fn default() -> State<E> {
        State::Here(Slots::default())
    }
}

impl<E> Regions<E> {
    #[cfg(not(all(test, loom)))]
    pub(super) const fn new() -> Regions<E> {
        Regions(SharedLock::new(Table { regions: BTreeMap::new(), sweep_at: SWEPT }))
    }

    #[cfg(all(test, loom))]
    pub(super) fn new() -> Regions<E> {
        Regions(SharedLock::new(Table::default()))
    }

    /// The region for an extent, which lies within it.
    pub(super) fn find(&self, space: usize, extent: Extent) -> Arc<Region<E>> {
        // This statement ends the read, before the table is locked again.
        let found = self.0.read().containing(space, extent).cloned();
        found.unwrap_or_else(|| self.0.write().make(space, extent))
    }
}

impl<E> Table<E> {
    /// The region that contains an extent. A larger region that no object keeps does not count: later objects there may share no bytes.
    #[inline]
    fn containing(&self, space: usize, extent: Extent) -> Option<&Arc<Region<E>>> {
        let (&(of, start), (end, region)) = self.regions.range(..=(space, extent.start)).next_back()?;
        let is_exact = (start, *end) == (extent.start, extent.end);
        (of == space && extent.end <= *end && (is_exact || Arc::strong_count(region) > 1)).then_some(region)
    }

    #[cold]
    fn make(&mut self, space: usize, extent: Extent) -> Arc<Region<E>> {
        // Another thread may have made it since.
        if let Some(region) = self.containing(space, extent) {
            return region.clone();
        }
        self.sweep();
        let mut whole = extent;
        let mut kept: Vec<(usize, Arc<Region<E>>)> = Vec::new();
        while let Some((start, end)) = self.last_before(space, extent.end).filter(|(_, end)| extent.start < *end) {
            let Some((_, region)) = self.regions.remove(&(space, start)) else { break };
            // An object takes a region from this locked table, or from another object. So this one has no entries.
            if Arc::strong_count(&region) == 1 {
                continue;
            }
            whole = Extent { start: whole.start.min(start), end: whole.end.max(end) };
            let count = region.with(|slots, _| slots.extents.len());
            kept.push((count, region));
        }
        kept.sort_by_key(|(count, _)| *count);
        let largest = kept.pop().map_or_else(|| Arc::new(Region(Lock::default())), |(_, region)| region);
        for (_, region) in kept {
            region.move_to(&largest);
        }
        self.regions.insert((space, whole.start), (whole.end, largest.clone()));
        largest
    }

    /// The last region that starts before an address. The others end before this one does.
    fn last_before(&self, space: usize, address: DevicePtr) -> Option<(DevicePtr, DevicePtr)> {
        let (&(of, start), &(end, _)) = self.regions.range(..(space, address)).next_back()?;
        (of == space).then_some((start, end))
    }

    /// Removes the regions that no object keeps, once there are twice as many regions as the last sweep left.
    fn sweep(&mut self) {
        if self.regions.len() >= self.sweep_at {
            self.regions.retain(|_, (_, region)| Arc::strong_count(region) > 1);
            self.sweep_at = SWEPT.max(2 * self.regions.len());
        }
    }
}

impl<E> Region<E> {
    /// Locks the region, and calls `work` with its entries and the number by which their slots are counted.
    #[inline]
    pub(super) fn with<R>(&self, work: impl FnOnce(&mut Slots<E>, Base) -> R) -> R {
        let (next, moved) = match &mut *self.0.lock() {
            State::Here(slots) => return work(slots, Base(0)),
            State::Moved(next, by) => (next.clone(), *by),
        };
        next.with_moved(moved, work)
    }

    #[cold]
    fn with_moved<R>(self: Arc<Region<E>>, mut base: u32, work: impl FnOnce(&mut Slots<E>, Base) -> R) -> R {
        let mut region = self;
        loop {
            let (next, by) = match &mut *region.0.lock() {
                State::Here(slots) => return work(slots, Base(base)),
                State::Moved(next, by) => (next.clone(), *by),
            };
            (region, base) = (next, base.wrapping_add(by));
        }
    }

    /// Moves the entries to another region. The caller alone moves entries.
    fn move_to(&self, other: &Arc<Region<E>>) {
        // Other threads lock one region at a time, so two locks here wait for no cycle.
        let mut this = self.0.lock();
        let (State::Here(slots), State::Here(into)) = (&mut *this, &mut *other.0.lock()) else { return };
        let by = into.append(mem::take(slots));
        *this = State::Moved(other.clone(), by);
    }
}

/// The number of slots in a region that precede those of the region that an object keeps.
#[derive(Clone, Copy)]
pub(super) struct Base(u32);

impl Base {
    #[inline]
    fn index(self, slot: Slot) -> usize {
        slot.0.wrapping_add(self.0) as usize
    }

    #[inline]
    fn slot(self, index: usize) -> Slot {
        Slot((index as u32).wrapping_sub(self.0))
    }
}

impl Slot {
    /// The slot as a number, for [`Slot::from_number`].
    pub(super) fn number(self) -> u32 {
        self.0
    }

    pub(super) fn from_number(number: u32) -> Slot {
        Slot(number)
    }
}

impl<E> Slots<E> {
    #[inline]
    pub(super) fn insert(&mut self, base: Base, extent: Extent, entry: E) -> Slot {
        let index = match self.free.pop() {
            Some(index) => {
                let index = index as usize;
                (self.extents[index], self.entries[index]) = (Some(extent), Some(entry));
                index
            }
            None => {
                if self.entries.capacity() == 0 {
                    // Most regions have one entry, which is large.
                    self.entries.reserve_exact(1);
                }
                self.extents.push(Some(extent));
                self.entries.push(Some(entry));
                self.extents.len() - 1
            }
        };
        match &mut self.index {
            Some(sorted) => sorted.insert(extent, index as u32),
            None if self.extents.len() > SCANNED => self.index = Some(Box::new(Index::of(&self.extents))),
            None => {}
        }
        base.slot(index)
    }

    #[inline]
    pub(super) fn get(&mut self, base: Base, slot: Slot) -> Option<&mut E> {
        self.entries.get_mut(base.index(slot)).and_then(Option::as_mut)
    }

    pub(super) fn extent(&self, base: Base, slot: Slot) -> Option<Extent> {
        self.extents.get(base.index(slot)).copied().flatten()
    }

    #[inline]
    pub(super) fn remove(&mut self, base: Base, slot: Slot) -> Option<E> {
        let index = base.index(slot);
        let (extent, entry) = (self.extents.get_mut(index)?.take()?, self.entries[index].take());
        self.free.push(index as u32);
        if let Some(sorted) = &mut self.index {
            sorted.remove(extent, index as u32);
        }
        // A region without entries returns to a scan, and frees what many entries took. No slot is in use.
        if self.free.len() == self.extents.len() && self.extents.len() > SCANNED {
            *self = Slots::default();
        }
        entry
    }

    /// Calls `with` for each entry whose extent overlaps `extent`, until it returns an error.
    #[inline]
    pub(super) fn overlapping<X>(
        &self,
        base: Base,
        extent: Extent,
        mut with: impl FnMut(Slot, &E) -> Result<(), X>,
    ) -> Result<(), X> {
        let mut visit = |index: usize| match (&self.extents[index], &self.entries[index]) {
            (Some(other), Some(entry)) if other.overlaps(extent) => with(base.slot(index), entry),
            _ => Ok(()),
        };
        match &self.index {
            None => (0..self.extents.len()).try_for_each(visit),
            Some(sorted) => sorted.near(extent).try_for_each(|index| visit(index as usize)),
        }
    }

    /// Adds the slots of another region. Returns the number that their numbers grow by.
    fn append(&mut self, other: Slots<E>) -> u32 {
        let by = self.extents.len() as u32;
        self.extents.extend(other.extents);
        self.entries.extend(other.entries);
        self.free.extend(other.free.into_iter().map(|index| index + by));
        match &mut self.index {
            Some(sorted) => {
                for (index, extent) in self.extents.iter().enumerate().skip(by as usize) {
                    extent.iter().for_each(|extent| sorted.insert(*extent, index as u32));
                }
            }
            None if self.extents.len() > SCANNED => self.index = Some(Box::new(Index::of(&self.extents))),
            None => {}
        }
        by
    }
}

impl Index {
    fn of(extents: &[Option<Extent>]) -> Index {
        let mut index = Index { sorted: BTreeSet::new(), classes: [0; 64], used: 0 };
        for (slot, extent) in extents.iter().enumerate() {
            extent.iter().for_each(|extent| index.insert(*extent, slot as u32));
        }
        index
    }

    fn insert(&mut self, extent: Extent, slot: u32) {
        let class = extent.class();
        self.classes[class as usize] += 1;
        self.used |= 1 << class;
        self.sorted.insert((class, extent.start, slot));
    }

    fn remove(&mut self, extent: Extent, slot: u32) {
        let class = extent.class();
        self.classes[class as usize] -= 1;
        if self.classes[class as usize] == 0 {
            self.used &= !(1 << class);
        }
        self.sorted.remove(&(class, extent.start, slot));
    }

    /// The slots whose extents may overlap `extent`: each extent of a class is shorter than twice its power of two.
    fn near(&self, extent: Extent) -> impl Iterator<Item = u32> {
        let mut used = self.used;
        let classes = std::iter::from_fn(move || {
            let class = (used != 0).then(|| used.trailing_zeros());
            used &= used.wrapping_sub(1);
            class
        });
        classes.flat_map(move |class| {
            let longest = (2u64 << class).wrapping_sub(1);
            let first = (class, extent.start.saturating_sub(longest), 0);
            self.sorted.range(first..(class, extent.end, 0)).map(|(_, _, slot)| *slot)
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::{prelude::*, sample::Index};

    /// An entry of the plain list: its address space and extent, its place in the index, and its number.
    type Known = (usize, Extent, Arc<Region<usize>>, Slot, usize);

    #[derive(Clone, Debug)]
    enum Step {
        Insert { space: usize, start: u64, length: u64 },
        Remove(Index),
    }

    fn step() -> impl Strategy<Value = Step> {
        let length = prop_oneof![1u64..8, 1u64..64, 1u64..2000];
        prop_oneof![
            3 => (0usize..2, 1u64..1000, length).prop_map(|(space, start, length)| Step::Insert { space, start, length }),
            2 => any::<Index>().prop_map(Step::Remove),
        ]
    }

    proptest! {
        #[test]
        fn entries_that_overlap_an_extent_are_those_of_a_plain_list(steps in prop::collection::vec(step(), 1..300)) {
            let regions = Regions::new();
            let mut list: Vec<Known> = Vec::new();
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Insert { space, start, length } => {
                        let extent = Extent { start, end: start + length };
                        let region = regions.find(space, extent);
                        let mut found = Vec::new();
                        let slot = region.with(|slots, base| {
                            let note = |_, number: &usize| { found.push(*number); Ok::<(), ()>(()) };
                            slots.overlapping(base, extent, note).unwrap();
                            slots.insert(base, extent, number)
                        });
                        let overlaps = |other: &Extent| other.start < extent.end && extent.start < other.end;
                        let met = list.iter().filter(|(of, other, ..)| *of == space && overlaps(other));
                        let mut expected: Vec<usize> = met.map(|(.., number)| *number).collect();
                        expected.sort_unstable();
                        found.sort_unstable();
                        prop_assert_eq!(found, expected);
                        list.push((space, extent, region, slot, number));
                    }
                    Step::Remove(index) if !list.is_empty() => {
                        let (_, _, region, slot, number) = list.swap_remove(index.index(list.len()));
                        prop_assert_eq!(region.with(|slots, base| slots.remove(base, slot)), Some(number));
                    }
                    Step::Remove(_) => {}
                }
                for (_, _, region, slot, number) in &list {
                    prop_assert_eq!(region.with(|slots, base| slots.get(base, *slot).copied()), Some(*number));
                }
            }
        }
    }

    #[test]
    fn objects_that_share_no_bytes_share_no_region() {
        let regions = Regions::<()>::new();
        let whole = regions.find(0, Extent { start: 0, end: 100 });
        assert!(Arc::ptr_eq(&whole, &regions.find(0, Extent { start: 10, end: 20 })), "a part of a region in use");
        drop(whole);
        let [one, two] = [0, 50].map(|start| regions.find(0, Extent { start, end: start + 50 }));
        assert!(!Arc::ptr_eq(&one, &two), "the region of the whole is in use no more");
        assert!(!Arc::ptr_eq(&one, &regions.find(1, Extent { start: 0, end: 50 })), "another address space");
    }

    #[test]
    fn regions_in_use_no_more_are_removed() {
        let regions = Regions::<()>::new();
        for start in 0..100_000 {
            regions.find(0, Extent { start: 2 * start, end: 2 * start + 1 });
        }
        assert!(regions.0.read().regions.len() <= 2 * SWEPT);
    }
}
