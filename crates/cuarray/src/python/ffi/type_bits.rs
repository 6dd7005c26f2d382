//! A cache with one bit for each of a few types, such as whether a type offers a protocol.
//!
//! Types are found by address, at the cost of one load. A weak reference to each type empties its slot when the type is deleted,
//! because a new type may get that address.
//!
//! A type may change after it was asked, so a bit is a guess: it may choose what is tried first, and must not refuse an object alone.

use pyo3::{
    ffi,
    prelude::*,
    sync::PyOnceLock,
    types::{PyCFunction, PyType, PyWeakrefReference},
};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

const SLOTS: usize = 16;

/// A cache, which must be static: the callbacks of its weak references refer to it.
pub(in crate::python) struct TypeBits {
    slots: [Slot; SLOTS],
    /// The function that is called with the weak reference to a deleted type.
    forget: PyOnceLock<Py<PyCFunction>>,
}

struct Slot {
    /// The address of the type, with its bit as the lowest one, which is free in an address. 0 if the slot is empty.
    entry: AtomicUsize,
    /// The weak reference to that type. No Python code runs while the lock is held.
    kept: Mutex<Option<Py<PyWeakrefReference>>>,
}

impl Slot {
    /// Replaces type and bit, and returns the old reference, which the caller must drop.
    fn replace(&self, entry: usize, kept: Option<Py<PyWeakrefReference>>) -> Option<Py<PyWeakrefReference>> {
        let mut place = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        self.entry.store(entry, Relaxed);
        std::mem::replace(&mut *place, kept)
    }
}

impl TypeBits {
    pub(in crate::python) const fn new() -> TypeBits {
        TypeBits {
            slots: [const { Slot { entry: AtomicUsize::new(0), kept: Mutex::new(None) } }; SLOTS],
            forget: PyOnceLock::new(),
        }
    }

    fn slot(&self, address: usize) -> &Slot {
        &self.slots[(address >> 4 ^ address >> 8) % SLOTS]
    }

    /// The bit of a type, if it is known.
    #[inline]
    pub(in crate::python) fn get(&self, kind: *mut ffi::PyTypeObject) -> Option<bool> {
        let known = self.slot(kind as usize).entry.load(Relaxed);
        (known & !1 == kind as usize).then_some(known & 1 == 1)
    }

    /// Stores the bit of a type in the place of an older entry. A type that has no weak references is not stored.
    ///
    /// PyO3 must know that this thread is attached.
    pub(in crate::python) fn set(&'static self, kind: &Bound<'_, PyType>, bit: bool) {
        let (py, address) = (kind.py(), kind.as_ptr() as usize);
        let slot = self.slot(address);
        if let Some(known) = self.get(kind.as_type_ptr()) {
            // The slot has this type's reference already. If another type takes the slot meanwhile, it keeps it.
            let (old, new) = (address | usize::from(known), address | usize::from(bit));
            let _ = slot.entry.compare_exchange(old, new, Relaxed, Relaxed);
            return;
        }
        let forget = self.forget.get_or_try_init(py, || {
            PyCFunction::new_closure(py, None, None, |arguments, _| {
                arguments.get_item(0).map(|reference| self.forget(&reference))
            })
            .map(Bound::unbind)
        });
        let Ok(forget) = forget else { return };
        let Ok(kept) = PyWeakrefReference::new_with(kind, forget.bind(py)) else { return };
        drop(slot.replace(address | usize::from(bit), Some(kept.unbind())));
    }

    /// Empties the slot of a deleted type.
    fn forget(&self, reference: &Bound<'_, PyAny>) {
        for slot in &self.slots {
            let mut place = slot.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if place.as_ref().is_some_and(|kept| kept.is(reference)) {
                slot.entry.store(0, Relaxed);
                let kept = place.take();
                drop(place);
                drop(kept);
                return;
            }
        }
    }
}
