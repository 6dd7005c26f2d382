//! The objects behind the handles and descriptors of a library, which are numbers for the program.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The objects of one type. `S` is the status of a number that no object has.
#[derive(Debug)]
pub struct Objects<T, S> {
    last: AtomicUsize,
    missing: S,
    table: LazyLock<RwLock<HashMap<usize, T>>>,
}

impl<T: Clone, S: Copy> Objects<T, S> {
    /// A table without objects. Their numbers are multiples of 64 after `first`, and so aligned as an address is. Two tables have distinct numbers
    /// if their `first` differ by 2 to the power of 32.
    pub const fn new(first: usize, missing: S) -> Objects<T, S> {
        Objects { last: AtomicUsize::new(first), missing, table: LazyLock::new(RwLock::default) }
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<usize, T>> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<usize, T>> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an object, and returns its number. No number comes twice, so that a destroyed object is not found.
    pub fn add(&self, object: T) -> usize {
        let number = self.last.fetch_add(64, Ordering::Relaxed) + 64;
        self.write().insert(number, object);
        number
    }

    /// The object of a number, which is `made` if there is none.
    pub fn get_or_add(&self, number: usize, made: T) -> T {
        self.write().entry(number).or_insert(made).clone()
    }

    /// The object of a number.
    ///
    /// # Errors
    /// The status of a missing object.
    pub fn get(&self, number: usize) -> Result<T, S> {
        self.read().get(&number).cloned().ok_or(self.missing)
    }

    /// Changes the object of a number.
    ///
    /// # Errors
    /// The status of a missing object, and those of `change`.
    pub fn change<R>(&self, number: usize, change: impl FnOnce(&mut T) -> Result<R, S>) -> Result<R, S> {
        change(self.write().get_mut(&number).ok_or(self.missing)?)
    }

    /// Removes the object of a number.
    ///
    /// # Errors
    /// The status of a missing object.
    pub fn remove(&self, number: usize) -> Result<T, S> {
        self.write().remove(&number).ok_or(self.missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_object_is_missing_and_its_number_does_not_come_again() {
        static OBJECTS: Objects<char, &str> = Objects::new(0x1000, "missing");
        let numbers = ['a', 'b'].map(|object| OBJECTS.add(object));
        assert_eq!(numbers.map(|number| OBJECTS.get(number)), [Ok('a'), Ok('b')]);
        assert_eq!(OBJECTS.remove(numbers[1]), Ok('b'));
        assert_eq!((OBJECTS.get(numbers[1]), OBJECTS.remove(numbers[1])), (Err("missing"), Err("missing")));
        assert_eq!(OBJECTS.change(numbers[0], |object| Ok(std::mem::replace(object, 'c'))), Ok('a'));
        assert!(!numbers.contains(&OBJECTS.add('d')));
        assert_eq!((OBJECTS.get_or_add(numbers[0], 'e'), OBJECTS.get_or_add(numbers[1], 'e')), ('c', 'e'));
    }
}
