//! The registry of guards: the memory, the access and the stream of each guard in the process.
//!
//! The borrow checker sees one array object. It does not see that two objects share memory, such as clones, views, or objects of two
//! libraries. So each view with a guard has an entry in one registry for the process, as in rust-numpy. The registry serves three rules.
//!
//! **Aliasing.** If the elements of two live guards share memory, both guards are for reading. Extents are compared first, and elements
//! only if the extents overlap.
//!
//! **Leaks.** A guard may be leaked ([`std::mem::forget`]). Its borrow of the array ends, but the entry stays live. The drop of the
//! guard's [`RawView`](super::view::RawView) finds the entry and makes the missing edge back before the memory can be freed.
//!
//! **Two views over the same memory.** A released guard has ordered its work in the home stream of its view. Another view may have another
//! home stream, or none. So the entry stays until its view is dropped, with the view's synchronization state. A guard of another view
//! waits for that state if their elements share memory and one of them writes.
//!
//! Entries are kept by address, in [regions](super::regions). Each view finds its region once. Views that share no memory share no lock.
//!
//! Device addresses are unique within a driver. A driver made from a table of entry points has its own address space.

use super::{
    aliasing::Elements,
    regions::{Base, Extent, Region, Regions, Slot, Slots},
};
use crate::{
    Error, Interface, Owner, Result,
    driver::Stream,
    protocol::layout::Tuple,
    sync::{Access, Begun, Home, SyncState},
};
use std::{
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

#[cfg(not(all(test, loom)))]
static REGIONS: Regions<Entry> = Regions::new();
#[cfg(all(test, loom))]
loom::lazy_static! {
    static ref REGIONS: Regions<Entry> = Regions::new();
}

/// The guards of one view's data, or of its mask.
#[derive(Debug)]
struct Entry {
    elements: Elements,
    /// The number of live or leaked guards for reading.
    readers: u32,
    /// Whether a live or leaked guard is for writing.
    writes: bool,
    /// The live or leaked guards that have edges to make at their end.
    begun: Vec<Edges>,
    /// The work of released guards, if other views have to be ordered after it.
    released: Option<Released>,
}

/// The edges that a guard has to make at its end.
#[derive(Debug)]
pub(super) struct Edges {
    pub(super) stream: Stream,
    pub(super) begun: Begun,
    pub(super) access: Access,
}

#[derive(Debug)]
struct Released {
    access: Access,
    order: Order,
}

/// The order of a view's work.
#[derive(Debug)]
pub(super) enum Order {
    /// The work is ordered in the stream with this handle, which lives as long as the view.
    InStream(usize),
    /// The work is ordered in this state. The owner keeps the state's streams alive.
    InState(SyncState, Option<Owner>),
}

/// The synchronization states of other views over the same memory, for a new guard to wait for, and the guard's access to each. The
/// owners keep the states' streams alive.
pub(super) type Others = Vec<(SyncState, Option<Owner>, Access)>;

/// The entry of one view's data, or of its mask, if it has one.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// The region of the elements, once there has been a guard.
    region: OnceLock<Arc<Region<Entry>>>,
    /// The number of the entry's slot plus one; 0 without an entry. Written under the region's lock.
    slot: AtomicU64,
}

/// An entry that belongs to no view any more. A drop removes it.
#[derive(Debug)]
pub(super) struct Detached {
    region: Arc<Region<Entry>>,
    slot: Slot,
}

/// The entry of a view that is being dropped, and whose leaked guards have edges to make.
pub(super) struct Leaked {
    pub(super) edges: Vec<Edges>,
    pub(super) entry: Detached,
}

impl Entries {
    /// Registers a guard for the elements of an interface. Adds the states to wait for to `others`. Returns whether there are elements.
    ///
    /// # Errors
    /// [`Error::is_already_acquired`]: a live guard has elements in the same memory, and one of the two writes.
    #[inline]
    pub(super) fn register(
        &self,
        stream: &Stream,
        interface: &Interface,
        access: Access,
        others: &mut Others,
    ) -> Result<bool> {
        let Range { start, end } = interface.byte_range();
        if start == end {
            return Ok(false);
        }
        let extent = Extent { start, end };
        let region = match self.region.get() {
            Some(region) => region,
            None => {
                let found = REGIONS.find(stream.driver().address_space(), extent);
                self.region.get_or_init(|| found)
            }
        };
        region.with(|slots, base| {
            let own = self.slot();
            let wanted = Wanted { stream, extent, interface, access, own };
            wanted.check(slots, base, others)?;
            match own.and_then(|slot| slots.get(base, slot)) {
                Some(entry) => entry.begin(access),
                None => {
                    let mut entry = Entry::of(Elements::of(interface));
                    entry.begin(access);
                    self.set_slot(Some(slots.insert(base, extent, entry)));
                }
            }
            Ok(true)
        })
    }

    /// Records that a registered guard has edges to make at its end.
    pub(super) fn set_begun(&self, edges: Edges) {
        self.with_entry(|entry| entry.begun.push(edges));
    }

    /// Ends a registered guard. If other views have to be ordered after its work, `order` returns the order of this work.
    #[inline]
    pub(super) fn release(
        &self,
        access: Access,
        begun: Option<(&Stream, Begun)>,
        order: Option<impl FnOnce() -> Order>,
    ) {
        let (Some(region), Some(slot)) = (self.region.get(), self.slot()) else { return };
        // These are dropped after the lock is released: a drop may destroy a stream, which is a driver call.
        let _dropped_unlocked = region.with(|slots, base| {
            let entry = slots.get(base, slot)?;
            let edges = begun.and_then(|(stream, begun)| entry.take_begun(stream, begun, access));
            entry.end(access);
            if let Some(order) = order {
                match &mut entry.released {
                    Some(earlier) if access == Access::Write => earlier.access = access,
                    Some(_) => {}
                    None => entry.released = Some(Released { access, order: order() }),
                }
            }
            Some((edges, self.remove_unused(slots, base, slot)))
        });
    }

    /// Separates a registered guard from its view, which may be dropped before the guard ends.
    #[cold]
    pub(super) fn detach(&self, access: Access, begun: Option<(&Stream, Begun)>) -> Option<Detached> {
        let (region, slot) = (self.region.get()?, self.slot()?);
        let (detached, _dropped_unlocked) = region.with(|slots, base| {
            let extent = slots.extent(base, slot)?;
            let entry = slots.get(base, slot)?;
            let edges = begun.and_then(|(stream, begun)| entry.take_begun(stream, begun, access));
            entry.end(access);
            let mut detached = Entry::of(entry.elements.clone());
            detached.begin(access);
            let removed = self.remove_unused(slots, base, slot);
            Some((slots.insert(base, extent, detached), (edges, removed)))
        })?;
        Some(Detached { region: region.clone(), slot: detached })
    }

    /// Removes the entry of a view that is being dropped. If leaked guards have edges to make, the entry lives on in the result, and refuses
    /// other guards.
    #[inline]
    pub(super) fn forget(&mut self) -> Option<Leaked> {
        let (region, slot) = (self.region.get()?, self.slot()?);
        *self.slot.get_mut() = 0;
        let (edges, _dropped_unlocked) = region.with(|slots, base| {
            let entry = slots.get(base, slot)?;
            let edges = std::mem::take(&mut entry.begun);
            let released = entry.released.take();
            let removed = if edges.is_empty() { slots.remove(base, slot) } else { None };
            Some((edges, (released, removed)))
        })?;
        (!edges.is_empty()).then(|| Leaked { edges, entry: Detached { region: region.clone(), slot } })
    }

    fn with_entry(&self, work: impl FnOnce(&mut Entry)) {
        let (Some(region), Some(slot)) = (self.region.get(), self.slot()) else { return };
        region.with(|slots, base| slots.get(base, slot).map(work));
    }

    fn remove_unused(&self, slots: &mut Slots<Entry>, base: Base, slot: Slot) -> Option<Entry> {
        if slots.get(base, slot).is_some_and(|entry| entry.is_used()) {
            return None;
        }
        self.set_slot(None);
        slots.remove(base, slot)
    }

    #[inline]
    fn slot(&self) -> Option<Slot> {
        let number = self.slot.load(Relaxed).checked_sub(1)?;
        Some(Slot::from_number(number as u32))
    }

    #[inline]
    fn set_slot(&self, slot: Option<Slot>) {
        self.slot.store(slot.map_or(0, |slot| u64::from(slot.number()) + 1), Relaxed);
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        // The entry is dropped after the lock is released.
        let _dropped_unlocked = self.region.with(|slots, base| slots.remove(base, self.slot));
    }
}

impl Entry {
    fn of(elements: Elements) -> Entry {
        Entry { elements, readers: 0, writes: false, begun: Vec::new(), released: None }
    }

    #[inline]
    fn begin(&mut self, access: Access) {
        match access {
            Access::Read => self.readers += 1,
            Access::Write => self.writes = true,
        }
    }

    #[inline]
    fn end(&mut self, access: Access) {
        match access {
            Access::Read => self.readers = self.readers.saturating_sub(1),
            Access::Write => self.writes = false,
        }
    }

    /// Removes the edges of one of the guards in a stream; such guards differ in nothing.
    fn take_begun(&mut self, stream: &Stream, begun: Begun, access: Access) -> Option<Edges> {
        let is_same = |edges: &Edges| edges.stream == *stream && edges.begun == begun && edges.access == access;
        let index = self.begun.iter().position(is_same)?;
        Some(self.begun.swap_remove(index))
    }

    fn is_used(&self) -> bool {
        self.readers > 0 || self.writes || self.released.is_some()
    }

    /// Whether a live guard refuses another guard for `access` to the same elements.
    #[inline]
    fn refuses(&self, access: Access) -> bool {
        self.writes || access == Access::Write && self.readers > 0
    }
}

/// A guard that is about to be registered.
struct Wanted<'a> {
    stream: &'a Stream,
    extent: Extent,
    interface: &'a Interface,
    access: Access,
    /// The entry of its view.
    own: Option<Slot>,
}

impl Wanted<'_> {
    /// Finds the states to wait for.
    #[inline]
    fn check(&self, slots: &Slots<Entry>, base: Base, others: &mut Others) -> Result<()> {
        slots.overlapping(base, self.extent, |slot, entry| {
            let refused = entry.refuses(self.access);
            // The view's own state orders its own released work.
            let released = entry.released.as_ref().filter(|_| Some(slot) != self.own);
            match released.filter(|released| self.access == Access::Write || released.access == Access::Write) {
                None if !refused => Ok(()),
                released => self.compare(entry, refused, released, others),
            }
        })
    }

    #[cold]
    fn compare(&self, entry: &Entry, refused: bool, released: Option<&Released>, others: &mut Others) -> Result<()> {
        let elements = Elements::of(self.interface);
        if !elements.share_memory_with(&entry.elements) {
            return Ok(());
        }
        if refused {
            let live = if entry.writes { Access::Write } else { Access::Read };
            return Err(already_acquired(&elements, self.access, &entry.elements, live));
        }
        match released.map(|released| &released.order) {
            Some(Order::InState(state, owner)) => others.push((state.clone(), owner.clone(), self.access)),
            Some(Order::InStream(home)) => {
                // SAFETY: the entry's view lives, as its drop takes the lock that this thread holds. So the stream outlives this acquisition, by the
                // contract of `RawView::new`. Both drivers share an address space, so they are one library, and the handle means the same
                // stream in both.
                let home = unsafe { Stream::from_raw(self.stream.driver(), *home, None) };
                others.push((SyncState::in_home(Home::lasting(home)), None, self.access));
            }
            None => {}
        }
        Ok(())
    }
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
