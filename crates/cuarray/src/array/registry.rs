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
//! **Ends without the lock.** Most guards work in the home stream of a short-lived view, such as a Python argument, and meet no other
//! guard. Such a guard takes the lock once, to register. Its release and the drop of its view each store one atomic [`End`]. The next
//! operation under the lock applies these ends first, so it sees the lists that it would see if each end had taken the lock. An end
//! is stored with release order and read with acquire order: a guard that finds the entry ended also sees everything before that end.
//! Until an end is applied, its entry holds numbers only, and keeps no object alive. So a view with an owner takes the lock.
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
use std::{
    mem,
    num::NonZeroU32,
    ops::Range,
    sync::{
        PoisonError,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
};

#[cfg(all(test, loom))]
use loom::sync::{Mutex, MutexGuard, atomic::AtomicU8 as AtomicEnd};
#[cfg(not(all(test, loom)))]
use std::sync::{Mutex, MutexGuard, atomic::AtomicU8 as AtomicEnd};

/// The number of entries to reserve memory for at the first registration. Registrations up to that number then allocate nothing.
const USUAL: usize = 64;

#[cfg(not(all(test, loom)))]
static ENTRIES: Mutex<Registry> = Mutex::new(Registry::EMPTY);
#[cfg(all(test, loom))]
loom::lazy_static! {
    static ref ENTRIES: Mutex<Registry> = Mutex::new(Registry::EMPTY);
}

/// The number of free entries that stay in the lists.
const KEPT: usize = 4;

/// The number of entries, from the first, whose guards may end without the lock.
#[cfg(not(all(test, loom)))]
const UNLOCKED: usize = 64;
#[cfg(all(test, loom))]
const UNLOCKED: usize = 2;

/// The [`End`] of each entry in [`Registry::unlocked`].
#[cfg(not(all(test, loom)))]
static ENDS: [AtomicEnd; UNLOCKED] = [const { AtomicEnd::new(End::NONE) }; UNLOCKED];
#[cfg(all(test, loom))]
loom::lazy_static! {
    static ref ENDS: [AtomicEnd; UNLOCKED] = std::array::from_fn(|_| AtomicEnd::new(End::NONE));
}

/// The end of a guard that ends without the lock.
struct End;

impl End {
    /// The guard is live or leaked.
    const NONE: u8 = 0;
    /// The guard has been released.
    const RELEASED: u8 = 1;
    /// The guard's view has been dropped too.
    const DROPPED: u8 = 2;
}

struct Registry {
    /// The extent of each entry, in its own list because each registration scans it. A free slot has an empty extent.
    extents: Vec<Extent>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// A bit for each entry whose guard may end without the lock.
    unlocked: u64,
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
    /// The guard is live or leaked, and works in the home stream of its view. If it may end without the lock, `home` is the handle
    /// of that stream.
    Live {
        home: Option<usize>,
    },
    /// The guard is live or leaked, and has edges to make at its end.
    Begun(Stream, Begun),
    /// The guard has been released, and its work is ordered in this state. The owner keeps the state's streams alive.
    Released(SyncState, Option<Owner>),
    /// The guard has been released, and its work is ordered in the stream with this handle.
    ReleasedAtHome(usize),
}

impl Use {
    fn is_released(&self) -> bool {
        matches!(self, Use::Released(..) | Use::ReleasedAtHome(_))
    }
}

/// The synchronization states of other views over the same memory, for a new guard to wait for, and the guard's access to each. The
/// owners keep the states' streams alive.
pub(super) type Others = Vec<(SyncState, Option<Owner>, Access)>;

/// A guard's entry. A drop removes it.
#[derive(Debug)]
pub(super) struct Registration(
    /// The entry's index plus one, with [`Registration::UNLOCKED`] if the guard ends without the lock.
    Option<NonZeroU32>,
);

/// The entries of one view's guards, so far as the view has to know them.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// Whether the registry may have entries. Written under the lock.
    any: AtomicBool,
    /// Whether there has been more than one entry. Written under the lock.
    several: AtomicBool,
    /// The first entry plus one, if its guard was released without the lock.
    ended: AtomicU8,
}

impl Entries {
    /// Registers the elements of an interface for work in `stream`. Adds the states to wait for to `others`.
    ///
    /// `home` is the stream's handle, if this handle alone orders other views' work after the guard's, and the view keeps no owner. The
    /// guard may then end without the lock.
    ///
    /// # Errors
    /// [`Error::is_already_acquired`]: a live guard has elements in the same memory, and one of the two writes.
    #[inline]
    pub(super) fn register(
        &self,
        stream: &Stream,
        interface: &Interface,
        access: Access,
        home: Option<usize>,
        others: &mut Others,
    ) -> Result<Registration> {
        let Range { start, end } = interface.byte_range();
        if start == end {
            return Ok(Registration::NONE);
        }
        let extent = Extent { space: stream.driver().address_space(), start, end, access };
        let mut registry = registry();
        registry.check(stream, extent, interface, others)?;
        let is_first = !self.any.load(Ordering::Relaxed);
        if is_first {
            self.any.store(true, Ordering::Relaxed);
        } else {
            self.several.store(true, Ordering::Relaxed);
        }
        Ok(registry.enter(extent, interface, home.filter(|_| is_first)))
    }

    /// Whether the view has to [`forget`] its parts when it is dropped. If it does not, its entry is removed.
    #[inline]
    pub(super) fn must_be_forgotten(&mut self) -> bool {
        if !*self.any.get_mut() {
            return false;
        }
        match (*self.several.get_mut(), usize::from(*self.ended.get_mut()).checked_sub(1)) {
            (false, Some(index)) => {
                ENDS[index].store(End::DROPPED, Ordering::Release);
                false
            }
            _ => true,
        }
    }
}

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

    const UNLOCKED: u32 = 1 << 31;

    fn new(index: usize, is_unlocked: bool) -> Registration {
        Registration(NonZeroU32::new((index as u32 + 1) | if is_unlocked { Registration::UNLOCKED } else { 0 }))
    }

    fn index(&self) -> Option<usize> {
        self.0.map(|slot| (slot.get() & !Registration::UNLOCKED) as usize - 1)
    }

    /// The index of the entry, if the guard ends without the lock.
    fn unlocked(&self) -> Option<usize> {
        self.index().filter(|_| self.0.is_some_and(|slot| slot.get() & Registration::UNLOCKED != 0))
    }

    /// Detaches the entry from its view, which may be dropped before the guard is released.
    #[cold]
    pub(super) fn without_view(self) -> Registration {
        if let Some(index) = self.index() {
            registry().entries[index].part = Part::NONE;
        }
        self
    }

    /// Records that the guard has edges to make at its end, which then takes the lock.
    pub(super) fn set_begun(&mut self, stream: &Stream, begun: Begun) {
        if let Some(index) = self.index() {
            self.0 = NonZeroU32::new(index as u32 + 1);
            let mut registry = registry();
            registry.set_locked(index);
            registry.entries[index].use_of = Use::Begun(stream.clone(), begun);
        }
    }

    /// Ends the guard without the lock. Returns `false` if the guard has to take the lock.
    #[inline]
    pub(super) fn release_unlocked(&mut self, entries: &Entries) -> bool {
        let Some(index) = self.unlocked() else { return false };
        self.0 = None;
        entries.ended.store(index as u8 + 1, Ordering::Relaxed);
        ENDS[index].store(End::RELEASED, Ordering::Release);
        true
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
    for index in 0..registry.entries.len() {
        // Removing the last entry clears the list.
        let Some(entry) = registry.entries.get(index).filter(|entry| entry.part == part) else { continue };
        let edges = match &entry.use_of {
            Use::None => continue,
            Use::Live { .. } => None,
            Use::Begun(stream, begun) => Some((stream.clone(), *begun)),
            Use::Released(..) | Use::ReleasedAtHome(_) => {
                dropped_unlocked.push(registry.leave(index));
                continue;
            }
        };
        let access = registry.extents[index].access;
        leaked.push(Leaked { edges, access, registration: Registration::new(index, false) });
    }
    drop(registry);
    leaked
}

/// Locks the registry, and applies the ends that were stored without the lock.
fn registry() -> MutexGuard<'static, Registry> {
    let mut registry = ENTRIES.lock().unwrap_or_else(PoisonError::into_inner);
    if registry.unlocked != 0 {
        registry.apply_ends();
    }
    registry
}

impl Registry {
    const EMPTY: Registry = Registry { extents: Vec::new(), entries: Vec::new(), free: Vec::new(), unlocked: 0 };

    fn apply_ends(&mut self) {
        let mut unlocked = self.unlocked;
        while unlocked != 0 {
            let index = unlocked.trailing_zeros() as usize;
            unlocked &= unlocked - 1;
            match ENDS[index].load(Ordering::Acquire) {
                End::NONE => {}
                End::RELEASED => {
                    if let Use::Live { home: Some(home) } = self.entries[index].use_of {
                        self.entries[index].use_of = Use::ReleasedAtHome(home);
                    }
                }
                // The entry holds numbers only, so its drop under the lock calls no other code.
                _ => drop(self.leave(index)),
            }
        }
    }

    /// Finds the states that a new guard has to wait for.
    #[inline]
    fn check(&self, stream: &Stream, extent: Extent, interface: &Interface, others: &mut Others) -> Result<()> {
        let part = Part::of(interface);
        for (index, other) in self.extents.iter().enumerate() {
            let apart = other.end <= extent.start || extent.end <= other.start || other.space != extent.space;
            if apart || extent.access == Access::Read && other.access == Access::Read {
                continue;
            }
            let entry = &self.entries[index];
            if entry.part == part && entry.use_of.is_released() {
                continue;
            }
            let elements = Elements::of(interface);
            if !elements.share_memory_with(&entry.elements) {
                continue;
            }
            match &entry.use_of {
                Use::Released(state, owner) => others.push((state.clone(), owner.clone(), extent.access)),
                Use::ReleasedAtHome(home) => {
                    // SAFETY: the stream outlives the view, which is not dropped yet, as it would be for a clone of the view's stream.
                    // Both drivers share an address space, so they are one library, and the handle means the same stream in both.
                    let home = unsafe { Stream::from_raw(stream.driver(), *home, None) };
                    others.push((SyncState::in_home(home, None), None, extent.access));
                }
                _ => return Err(already_acquired(&elements, extent.access, &entry.elements, other.access)),
            }
        }
        Ok(())
    }

    /// Adds an entry.
    fn enter(&mut self, extent: Extent, interface: &Interface, home: Option<usize>) -> Registration {
        let entry = Entry { elements: Elements::of(interface), part: Part::of(interface), use_of: Use::Live { home } };
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
        let is_unlocked = home.is_some() && index < UNLOCKED;
        if is_unlocked {
            ENDS[index].store(End::NONE, Ordering::Relaxed);
            self.unlocked |= 1 << index;
        }
        Registration::new(index, is_unlocked)
    }

    /// Makes the end of the entry's guard take the lock.
    fn set_locked(&mut self, index: usize) {
        if index < UNLOCKED {
            self.unlocked &= !(1 << index);
        }
    }

    fn release(&mut self, index: usize, state: &SyncState, owner: Option<&Owner>) -> Use {
        let (part, access) = (self.entries[index].part, self.extents[index].access);
        let earlier = self.entries.iter().position(|entry| entry.part == part && entry.use_of.is_released());
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
        self.set_locked(index);
        let left = mem::replace(&mut self.entries[index].use_of, Use::None);
        self.free.push(index as u32);
        // A short list is scanned quickly, and its entries are used again.
        if self.free.len() == self.extents.len() && self.free.len() > KEPT {
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
