//! The registry of guards: the memory, the access and the stream of each guard in the process.
//!
//! The borrow checker sees one array object. It does not see that two objects share memory, such as clones, views, or objects of two
//! libraries. So each live guard has an entry in one registry for the process, as in rust-numpy. The registry serves three rules.
//!
//! **Aliasing.** If the elements of two live guards share memory, both guards are for reading. Extents are compared first, and elements
//! only if the extents overlap.
//!
//! **Leaks.** A guard may be leaked ([`std::mem::forget`]). Its borrow of the array ends, but its entry stays. The drop of the guard's
//! [`RawView`](super::view::RawView) finds the entry and makes the missing edge back before the memory can be freed.
//!
//! **Two views over the same memory.** A released guard has ordered its work in the home stream of its view. Another view may have another
//! home stream, or none. So the entry of a released guard stays until its view is dropped, with the view's synchronization state. A
//! guard of another view waits for that state if their elements share memory and one of them writes.
//!
//! Device addresses are unique within a driver. A driver made from a table of entry points has its own address space.

use super::aliasing::Elements;
use crate::{
    DevicePtr, Error, Interface, Owner, Result,
    driver::Stream,
    protocol::layout::Tuple,
    sync::{Access, Begun, SyncState},
};
use smallvec::SmallVec;
use std::{mem, num::NonZeroU32, ops::Range, sync::PoisonError};

#[cfg(all(test, loom))]
use loom::sync::{Mutex, MutexGuard};
#[cfg(not(all(test, loom)))]
use std::sync::{Mutex, MutexGuard};

/// The number of entries to reserve memory for at the first registration. Registrations up to that number then allocate nothing.
const USUAL: usize = 64;

#[cfg(not(all(test, loom)))]
static ENTRIES: Mutex<Registry> = Mutex::new(Registry::EMPTY);
#[cfg(all(test, loom))]
loom::lazy_static! {
    static ref ENTRIES: Mutex<Registry> = Mutex::new(Registry::EMPTY);
}

struct Registry {
    /// The extent of each entry, in a list of its own because each registration scans it. A free slot has an empty extent.
    extents: Vec<Extent>,
    entries: Vec<Entry>,
    free: Vec<u32>,
}

/// The bytes from the first to the last element of a guard, in one driver's address space.
#[derive(Clone, Copy)]
struct Extent {
    space: usize,
    start: DevicePtr,
    end: DevicePtr,
    access: Access,
}

struct Entry {
    elements: Elements,
    part: Part,
    use_of: Use,
}

/// The identity of a view, or of its mask: the address of the interface, which does not move while the view lives.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Part(usize);

impl Part {
    const NONE: Part = Part(0);

    fn of(interface: &Interface) -> Part {
        Part(std::ptr::from_ref(interface).addr())
    }
}

/// The state of the guard that uses an entry.
enum Use {
    None,
    /// The guard is live or leaked, and works in the home stream of its view.
    Live,
    /// The guard is live or leaked, and has edges to make at its end.
    Begun(Stream, Begun),
    /// The guard has been released, and its work is ordered in this state. The owner keeps the state's streams alive.
    Released(SyncState, Option<Owner>),
}

/// The synchronization states of other views over the same memory, for a new guard to wait for.
pub(super) type Others = Vec<(SyncState, Option<Owner>)>;

/// A guard's entry. A drop removes it.
#[derive(Debug)]
pub(super) struct Registration(Option<NonZeroU32>);

/// The entry of a leaked guard whose view is being dropped.
pub(super) struct Leaked {
    /// The guard's stream and the state that its end needs, if the guard has edges to make.
    pub(super) edges: Option<(Stream, Begun)>,
    pub(super) access: Access,
    pub(super) registration: Registration,
}

impl Registration {
    /// The entry of a guard without elements.
    pub(super) const NONE: Registration = Registration(None);

    /// Registers the elements of an interface, in a driver's address space. Returns the entry, and the states to wait for.
    ///
    /// # Errors
    /// [`Error::is_already_acquired`]: a live guard has elements in the same memory, and one of the two writes.
    #[inline]
    pub(super) fn new(space: usize, interface: &Interface, access: Access) -> Result<(Registration, Others)> {
        let Range { start, end } = interface.byte_range();
        if start == end {
            return Ok((Registration::NONE, Others::new()));
        }
        registry().enter(Extent { space, start, end, access }, interface)
    }

    fn index(&self) -> Option<usize> {
        self.0.map(|slot| slot.get() as usize - 1)
    }

    /// Detaches the entry from its view, which may be dropped before the guard is released.
    #[cold]
    pub(super) fn without_view(self) -> Registration {
        if let Some(index) = self.index() {
            registry().entries[index].part = Part::NONE;
        }
        self
    }

    /// Records that the guard has edges to make at its end.
    pub(super) fn set_begun(&self, stream: &Stream, begun: Begun) {
        if let Some(index) = self.index() {
            registry().entries[index].use_of = Use::Begun(stream.clone(), begun);
        }
    }

    /// Ends the guard. The entry stays until [`forget`], with the `state` that orders the guard's work.
    pub(super) fn release(mut self, state: &SyncState, owner: Option<&Owner>) {
        let Some(index) = self.index() else { return };
        self.0 = None;
        let _dropped_unlocked = registry().release(index, state, owner);
    }
}

impl Drop for Registration {
    #[inline]
    fn drop(&mut self) {
        if let Some(index) = self.index() {
            // The entry is dropped after the lock is released: it may destroy a stream, which is a driver call.
            let _dropped_unlocked = registry().leave(index);
        }
    }
}

/// Removes the entries of released guards of a view that is being dropped, and returns those of leaked guards.
pub(super) fn forget(interface: &Interface) -> Vec<Leaked> {
    let part = Part::of(interface);
    let (mut leaked, mut dropped_unlocked) = (Vec::new(), SmallVec::<[Use; 1]>::new());
    let mut registry = registry();
    let mut index = 0;
    // Removing the last entry clears the list.
    while let Some(entry) = registry.entries.get(index) {
        if entry.part == part {
            let edges = match &entry.use_of {
                Use::None | Use::Released(..) => None,
                Use::Live => Some(None),
                Use::Begun(stream, begun) => Some(Some((stream.clone(), *begun))),
            };
            let access = registry.extents[index].access;
            match (edges, &entry.use_of) {
                (Some(edges), _) => {
                    leaked.push(Leaked {
                        edges,
                        access,
                        registration: Registration(NonZeroU32::new(index as u32 + 1)),
                    });
                }
                (None, Use::Released(..)) => dropped_unlocked.push(registry.leave(index)),
                (None, _) => {}
            }
        }
        index += 1;
    }
    drop(registry);
    leaked
}

fn registry() -> MutexGuard<'static, Registry> {
    ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    const EMPTY: Registry = Registry { extents: Vec::new(), entries: Vec::new(), free: Vec::new() };

    fn enter(&mut self, extent: Extent, interface: &Interface) -> Result<(Registration, Others)> {
        let part = Part::of(interface);
        let mut others = Others::new();
        for (index, other) in self.extents.iter().enumerate() {
            let apart = other.end <= extent.start || extent.end <= other.start || other.space != extent.space;
            if apart || extent.access == Access::Read && other.access == Access::Read {
                continue;
            }
            let entry = &self.entries[index];
            if let Use::Released(state, owner) = &entry.use_of {
                if entry.part != part && Elements::of(interface).share_memory_with(&entry.elements) {
                    others.push((state.clone(), owner.clone()));
                }
                continue;
            }
            let elements = Elements::of(interface);
            if elements.share_memory_with(&entry.elements) {
                return Err(already_acquired(&elements, extent.access, &entry.elements, other.access));
            }
        }
        let entry = Entry { elements: Elements::of(interface), part, use_of: Use::Live };
        let index = match self.free.pop() {
            Some(slot) => {
                let index = slot as usize;
                self.extents[index] = extent;
                self.entries[index] = entry;
                index
            }
            None => {
                if self.extents.capacity() == 0 {
                    self.extents.reserve(USUAL);
                    self.entries.reserve(USUAL);
                    self.free.reserve(USUAL);
                }
                self.extents.push(extent);
                self.entries.push(entry);
                self.extents.len() - 1
            }
        };
        Ok((Registration(NonZeroU32::new(index as u32 + 1)), others))
    }

    fn release(&mut self, index: usize, state: &SyncState, owner: Option<&Owner>) -> Use {
        let (part, access) = (self.entries[index].part, self.extents[index].access);
        let earlier =
            self.entries.iter().position(|entry| entry.part == part && matches!(entry.use_of, Use::Released(..)));
        match earlier {
            Some(earlier) => {
                if access == Access::Write {
                    self.extents[earlier].access = access;
                }
                self.leave(index)
            }
            None => mem::replace(&mut self.entries[index].use_of, Use::Released(state.clone(), owner.cloned())),
        }
    }

    fn leave(&mut self, index: usize) -> Use {
        let extent = &mut self.extents[index];
        debug_assert!(extent.start != extent.end, "an entry is removed once");
        (extent.start, extent.end) = (0, 0);
        let left = mem::replace(&mut self.entries[index].use_of, Use::None);
        self.free.push(index as u32);
        if self.free.len() == self.extents.len() {
            self.extents.clear();
            self.entries.clear();
            self.free.clear();
        }
        left
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
