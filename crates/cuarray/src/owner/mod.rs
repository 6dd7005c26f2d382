//! [`Owner`]: keeps the object alive that a pointer or a stream depends on.
//!
//! The interface passes addresses, not objects. A consumer that keeps an address must also keep the object that frees the
//! memory. Its type does not matter, so an owner is opaque, and a clone only increments a reference count in Rust.
//! A Python object is held through an `Arc` because only a thread attached to the interpreter may change the object's
//! own count, and threads that are not attached clone arrays too.
//!
//! Clauses: the consumer keeps the producer's object for as long as it uses the data (the section *Lifetime management*
//! of the interface's text).

pub(crate) mod chain;

use chain::Link;
use std::{
    any::Any,
    fmt, mem,
    panic::{self, AssertUnwindSafe},
    sync::Arc,
};

/// Drops a value of other code, at a place that a panic must not leave, such as a function that C calls. Returns whether the drop panicked.
/// The hook of panics has printed the message.
pub(crate) fn drop_without_unwinding<T>(value: T) -> bool {
    let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| drop(value))) else { return false };
    // Its drop may panic too.
    mem::forget(payload);
    true
}

/// An object that must stay alive for an address or a stream to stay valid. It has the size of two pointers; a clone
/// shares the object.
///
/// ```
/// use cuarray::Owner;
/// use std::sync::Arc;
///
/// let memory = Arc::new(vec![0u8; 16]);
/// let owner = Owner::new(memory.clone());
/// let other = owner.clone();
/// drop(owner);
/// assert_eq!(Arc::strong_count(&memory), 2);
/// drop(other);
/// assert_eq!(Arc::strong_count(&memory), 1);
/// ```
pub struct Owner(Link<Kept>);

#[derive(Clone)]
enum Kept {
    /// Never read; it only keeps the object alive.
    Rust(#[allow(dead_code)] Arc<dyn Any + Send + Sync>),
    #[cfg(feature = "python")]
    Python(Arc<pyo3::Py<pyo3::PyAny>>),
}

impl Owner {
    /// Keeps a Rust object.
    pub fn new(object: Arc<dyn Any + Send + Sync>) -> Owner {
        Owner(Link::new(Kept::Rust(object)))
    }

    /// Keeps a Python object. Clones and drops of the owner need no attached interpreter.
    #[cfg(feature = "python")]
    pub fn from_python(object: pyo3::Py<pyo3::PyAny>) -> Owner {
        Owner(Link::new(Kept::Python(Arc::new(object))))
    }

    /// The Python object, if the owner keeps one.
    #[cfg(feature = "python")]
    pub fn as_python(&self) -> Option<&pyo3::Py<pyo3::PyAny>> {
        match &*self.0 {
            Kept::Python(object) => Some(object),
            Kept::Rust(_) => None,
        }
    }
}

impl Clone for Owner {
    fn clone(&self) -> Owner {
        Owner(Link::new(self.0.clone()))
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self.0 {
            Kept::Rust(_) => "Owner(Rust)",
            #[cfg(feature = "python")]
            Kept::Python(_) => "Owner(Python)",
        })
    }
}

const _: () = {
    const fn shareable<T: Send + Sync + 'static>() {}
    shareable::<Owner>();
    assert!(size_of::<Owner>() == 2 * size_of::<usize>());
};
