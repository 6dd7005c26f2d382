//! Tables of the objects behind handles and descriptors, which are numbers.

use crate::status::{INVALID_VALUE, Outcome};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The number of the next object. Numbers are distinct from small ones and aligned, as an address is.
static NEXT: AtomicUsize = AtomicUsize::new(0x6378_0000_0040);

/// The objects of one type.
pub(crate) struct Objects<T>(LazyLock<RwLock<HashMap<usize, T>>>);

impl<T: Clone> Objects<T> {
    /// A table without objects.
    pub(crate) const fn new() -> Objects<T> {
        Objects(LazyLock::new(RwLock::default))
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<usize, T>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<usize, T>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an object, and returns its number.
    pub(crate) fn add(&self, object: T) -> usize {
        let number = NEXT.fetch_add(64, Ordering::Relaxed);
        self.write().insert(number, object);
        number
    }

    /// The object of a number.
    pub(crate) fn get(&self, number: usize) -> Outcome<T> {
        self.read().get(&number).cloned().ok_or(INVALID_VALUE)
    }

    /// Changes the object of a number.
    pub(crate) fn change<R>(&self, number: usize, change: impl FnOnce(&mut T) -> Outcome<R>) -> Outcome<R> {
        change(self.write().get_mut(&number).ok_or(INVALID_VALUE)?)
    }

    /// Removes the object of a number.
    pub(crate) fn remove(&self, number: usize) -> Outcome<T> {
        self.write().remove(&number).ok_or(INVALID_VALUE)
    }
}
