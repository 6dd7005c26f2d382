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

/// A cache of `N` types, which must be static: the callbacks of its weak references refer to it.
pub(in crate::python) struct TypeBits<const N: usize> {
    /// The address of a type in each slot, with its bit as the lowest one, which is free in an address. 0 if the slot is empty.
    entries: [AtomicUsize; N],
    /// The weak reference to the type in each slot. No Python code runs while a lock is held.
    kept: [Mutex<Option<Py<PyWeakrefReference>>>; N],
    /// The function that is called with the weak reference to a deleted type.
    forget: PyOnceLock<Py<PyCFunction>>,
}

impl<const N: usize> TypeBits<N> {
    pub(in crate::python) const fn new() -> TypeBits<N> {
        TypeBits {
            entries: [const { AtomicUsize::new(0) }; N],
            kept: [const { Mutex::new(None) }; N],
            forget: PyOnceLock::new(),
        }
    }

    /// The slot for an address.
    fn slot(address: usize) -> usize {
        (address >> 4 ^ address >> 8) % N
    }

    /// Replaces the type and the bit of a slot; the caller drops the old reference.
    fn replace(
        &self,
        slot: usize,
        entry: usize,
        kept: Option<Py<PyWeakrefReference>>,
    ) -> Option<Py<PyWeakrefReference>> {
        let mut place = self.kept[slot].lock().unwrap_or_else(PoisonError::into_inner);
        self.entries[slot].store(entry, Relaxed);
        std::mem::replace(&mut *place, kept)
    }

    /// The bit of a type, if it is known.
    #[inline]
    pub(in crate::python) fn get(&self, kind: *mut ffi::PyTypeObject) -> Option<bool> {
        let known = self.entries[Self::slot(kind as usize)].load(Relaxed);
        (known & !1 == kind as usize).then_some(known & 1 == 1)
    }

    /// Stores the bit of a type in place of an older entry. A type that has no weak references is not stored.
    ///
    /// PyO3 must know that this thread is attached.
    pub(in crate::python) fn set(&'static self, kind: &Bound<'_, PyType>, bit: bool) {
        let (py, address) = (kind.py(), kind.as_ptr() as usize);
        let slot = Self::slot(address);
        if let Some(known) = self.get(kind.as_type_ptr()) {
            // The slot has this type's reference already. If another type takes the slot meanwhile, it keeps it.
            let (old, new) = (address | usize::from(known), address | usize::from(bit));
            let _ = self.entries[slot].compare_exchange(old, new, Relaxed, Relaxed);
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
        drop(self.replace(slot, address | usize::from(bit), Some(kept.unbind())));
    }

    /// Empties the slot of a deleted type.
    fn forget(&self, reference: &Bound<'_, PyAny>) {
        for (entry, kept) in self.entries.iter().zip(&self.kept) {
            let mut place = kept.lock().unwrap_or_else(PoisonError::into_inner);
            if place.as_ref().is_some_and(|kept| kept.is(reference)) {
                entry.store(0, Relaxed);
                let kept = place.take();
                drop(place);
                drop(kept);
                return;
            }
        }
    }
}
