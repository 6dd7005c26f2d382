//! [`Link`]: a value whose drop may drop further links, without unbounded recursion.
//!
//! The owner of an array can be another array with an owner, and so on, through objects, structures and tensors. Such a chain has any
//! length, and a drop that recurses overflows the stack. So drops nest up to a limit, as in CPython. Deeper links are dropped by
//! the outermost drop of the thread, one after the other.

use std::{
    cell::{Cell, RefCell},
    mem::ManuallyDrop,
    ops::Deref,
};

/// The number of nested drops. Usual arrays have fewer links.
const LIMIT: u32 = 16;

type Release = Box<dyn FnOnce()>;

thread_local! {
    /// The number of drops of links that run in this thread. It has no destructor, so it can be read until the thread has ended.
    static DEPTH: Cell<u32> = const { Cell::new(0) };

    /// The number of entries in [`LATER`].
    static WAITING: Cell<usize> = const { Cell::new(0) };

    /// The drops that the outermost drop runs.
    static LATER: RefCell<Vec<Release>> = const { RefCell::new(Vec::new()) };
}

/// A link of a chain of owners.
pub(crate) struct Link<T: 'static>(ManuallyDrop<T>);

impl<T> Link<T> {
    #[inline]
    pub(crate) fn new(value: T) -> Link<T> {
        Link(ManuallyDrop::new(value))
    }
}

impl<T> Deref for Link<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for Link<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the only take, in the destructor of `self`.
        let value = unsafe { ManuallyDrop::take(&mut self.0) };
        release(move || drop(value));
    }
}

/// Runs `release`, which drops a link: now, or in the outermost drop of this thread if drops nest too deeply.
#[inline]
pub(crate) fn release(release: impl FnOnce() + 'static) {
    let depth = DEPTH.get();
    if depth >= LIMIT {
        return defer(Box::new(release));
    }
    let _nested = Nested::new(depth);
    release();
    if depth == 0 && WAITING.get() != 0 {
        drain();
    }
}

/// Counts a drop that runs, also if it panics.
struct Nested(u32);

impl Nested {
    #[inline]
    fn new(depth: u32) -> Nested {
        DEPTH.set(depth + 1);
        Nested(depth)
    }
}

impl Drop for Nested {
    #[inline]
    fn drop(&mut self) {
        DEPTH.set(self.0);
    }
}

#[cold]
fn defer(release: Release) {
    let mut release = Some(release);
    let _ = LATER.try_with(|later| {
        later.borrow_mut().extend(release.take());
        WAITING.set(WAITING.get() + 1);
    });
    // The list is gone at the end of a thread.
    if let Some(release) = release {
        release();
    }
}

/// Runs the deferred drops. They may defer others.
#[cold]
fn drain() {
    while let Ok(Some(release)) = LATER.try_with(|later| later.borrow_mut().pop()) {
        WAITING.set(WAITING.get() - 1);
        release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Owner;
    use std::{
        sync::{
            Arc, Mutex,
            atomic::{AtomicUsize, Ordering::SeqCst},
        },
        thread,
    };

    static DROPPED: AtomicUsize = AtomicUsize::new(0);

    struct Counted(#[allow(dead_code)] Option<Owner>);

    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, SeqCst);
        }
    }

    fn chain(length: usize) -> Owner {
        (1..length).fold(Owner::new(Arc::new(Counted(None))), |owner, _| Owner::new(Arc::new(Counted(Some(owner)))))
    }

    #[test]
    fn long_chain_of_owners_is_dropped_in_a_small_stack() {
        let work = || {
            let owner = chain(100_000);
            let before = DROPPED.load(SeqCst);
            drop(owner);
            assert_eq!(DROPPED.load(SeqCst) - before, 100_000);
        };
        thread::Builder::new().stack_size(128 << 10).spawn(work).unwrap().join().unwrap();
    }

    #[test]
    fn links_of_a_short_chain_are_dropped_from_the_outside_to_the_inside() {
        struct Named(&'static str, Arc<Mutex<Vec<&'static str>>>, #[allow(dead_code)] Option<Link<Box<Named>>>);
        impl Drop for Named {
            fn drop(&mut self) {
                self.1.lock().unwrap().push(self.0);
            }
        }
        let names = Arc::new(Mutex::new(Vec::new()));
        let inner = Named("inner", names.clone(), None);
        drop(Link::new(Box::new(Named("outer", names.clone(), Some(Link::new(Box::new(inner)))))));
        assert_eq!(*names.lock().unwrap(), ["outer", "inner"]);
    }

    #[test]
    fn drop_that_panics_leaves_the_thread_usable() {
        struct Panics;
        impl Drop for Panics {
            fn drop(&mut self) {
                panic!("in a drop");
            }
        }
        for _ in 0..2 * LIMIT {
            std::panic::catch_unwind(|| drop(Link::new(Panics))).unwrap_err();
        }
        assert_eq!(DEPTH.get(), 0);
    }
}
