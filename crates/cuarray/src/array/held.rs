//! [`Held`]: the object that keeps the memory of an array alive.
//!
//! This crate allocated the memory, or its owner is another object. Views and arrays both keep such an object, so it is below both.

use crate::{
    DevicePtr, Error, Interface, Owner, Result, StreamEntry,
    driver::{Context, Stream},
    owner::drop_without_unwinding,
    sync::{Deferred, Home, Memory, Pending, Resource, SyncState},
};
use std::{ops::Range, sync::Arc};

/// The object that keeps an array's memory alive, with the work that is pending on it.
#[derive(Clone, Debug)]
pub(crate) enum Held {
    Memory(Arc<Memory>),
    Owner(Arc<Deferred<Kept>>),
}

/// The owner of memory that this crate did not allocate, and the context of that memory.
#[derive(Debug)]
pub(crate) struct Kept {
    context: Context,
    /// The address range of the memory; only the Python object reads it.
    #[cfg_attr(not(feature = "python"), allow(dead_code))]
    bytes: Range<DevicePtr>,
    owner: Option<Owner>,
}

impl Resource for Kept {
    fn context(&self) -> &Context {
        &self.context
    }

    fn is_gone(&self) -> bool {
        self.owner.is_none()
    }

    fn release(&mut self) -> Result<()> {
        // The owner's code may run inside an unrelated call, such as an allocation or the drop of another array. A panic must not end
        // that call, or lose other deferred releases.
        match drop_without_unwinding(self.owner.take()) {
            true => Err(Error::argument("the owner of an array's memory panicked when it was dropped")),
            false => Ok(()),
        }
    }
}

impl Held {
    pub(crate) fn owner(context: &Context, bytes: Range<DevicePtr>, owner: Owner) -> Held {
        Held::until_done(context, bytes, owner, Arc::default())
    }

    /// Keeps an owner alive until the result is dropped and the pending work is done.
    pub(crate) fn until_done(context: &Context, bytes: Range<DevicePtr>, owner: Owner, pending: Arc<Pending>) -> Held {
        let kept = Kept { context: context.clone(), bytes, owner: Some(owner) };
        Held::Owner(Arc::new(Deferred::after(kept, pending)))
    }

    /// An owner of the memory, for a view.
    pub(super) fn as_owner(&self) -> Owner {
        match self {
            Held::Memory(memory) => Owner::new(memory.clone()),
            Held::Owner(kept) => Owner::new(kept.clone()),
        }
    }

    /// The interface and the synchronization state of an array in the memory, with the home stream `home`.
    pub(super) fn with_home(&self, interface: Interface, home: Option<&Stream>) -> Result<(Box<Interface>, SyncState)> {
        let home = home.map(|home| home.resolve_in(self.context()));
        let entry = home.as_ref().map_or(Ok(StreamEntry::None), |home| StreamEntry::try_from(home.handle() as i128))?;
        let home = home.map(|home| match home.is_owned() {
            true => {
                self.add_home(&home);
                Home::lasting(home)
            }
            false => Home::outlived(home),
        });
        Ok((Box::new(interface.with_stream(entry)), SyncState::new(home, self.pending().clone())))
    }

    pub(super) fn context(&self) -> &Context {
        match self {
            Held::Memory(memory) => memory.allocation().context(),
            Held::Owner(kept) => &kept.resource().context,
        }
    }

    pub(crate) fn pending(&self) -> &Arc<Pending> {
        match self {
            Held::Memory(memory) => memory.pending(),
            Held::Owner(kept) => kept.pending(),
        }
    }

    pub(crate) fn add_home(&self, home: &Stream) {
        match self {
            Held::Memory(memory) => memory.add_home(home),
            Held::Owner(kept) => kept.add_home(home),
        }
    }

    #[cfg(feature = "python")]
    pub(crate) fn bytes(&self) -> Range<DevicePtr> {
        match self {
            Held::Memory(memory) => {
                let start = memory.allocation().device_ptr();
                start..start.saturating_add(memory.allocation().len() as u64)
            }
            Held::Owner(kept) => kept.resource().bytes.clone(),
        }
    }
}
