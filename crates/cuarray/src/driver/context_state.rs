//! [`ContextState`]: what all objects of a context share, and its release.

use super::{
    call,
    current::{self, Current},
    lock,
    shared_pool::Idle,
    table::Table,
};
use crate::{Result, lock::Lock};
use cuarray_abi::{CUcontext, CUdevice, CUmodule};
use std::{
    any::Any,
    mem,
    sync::{Arc, OnceLock},
};

/// The data of borrowed contexts, by handle. The states of such contexts come and go with the objects that use them.
pub(super) struct BorrowedData {
    table: Arc<Table>,
    known: Lock<Vec<(CUcontext, Arc<dyn ContextData>)>>,
}

/// The state shared by all objects of a context.
pub(super) struct ContextState {
    table: Arc<Table>,
    pub(super) raw: CUcontext,
    pub(super) device: OnceLock<CUdevice>,
    /// Whether this is the device's primary context, retained once by this crate.
    pub(super) retained: bool,
    pub(super) idle_events: Idle,
    pub(super) data: OnceLock<Arc<dyn ContextData>>,
}

/// Data that another folder keeps for a context: a retained one until it is released, a borrowed one until the driver is dropped.
pub(crate) trait ContextData: Any + Send + Sync {
    /// The loaded modules, each with the [`Context::id`](super::Context::id) that it was loaded under.
    fn modules(&self) -> Vec<(u64, CUmodule)>;
}

impl BorrowedData {
    pub(super) fn new(table: Arc<Table>) -> BorrowedData {
        BorrowedData { table, known: Lock::default() }
    }

    pub(super) fn of(&self, raw: CUcontext, make: impl FnOnce() -> Arc<dyn ContextData>) -> Arc<dyn ContextData> {
        let mut known = lock(&self.known);
        if let Some((_, data)) = known.iter().find(|(of, _)| *of == raw) {
            return data.clone();
        }
        let data = make();
        known.push((raw, data.clone()));
        data
    }
}

impl Drop for BorrowedData {
    fn drop(&mut self) {
        for (raw, data) in mem::take(&mut *lock(&self.known)) {
            let state = ContextState::new(self.table.clone(), raw, None);
            let _ = state.data.set(data);
            // The drop of the state unloads the modules.
        }
    }
}

impl ContextState {
    pub(super) fn new(table: Arc<Table>, raw: CUcontext, retained_of: Option<CUdevice>) -> Arc<ContextState> {
        let idle_events = Idle::of(table.pools.get(), raw);
        Arc::new(ContextState {
            table,
            raw,
            device: retained_of.map_or_else(OnceLock::new, OnceLock::from),
            retained: retained_of.is_some(),
            idle_events,
            data: OnceLock::new(),
        })
    }

    pub(super) fn id(&self) -> Result<Option<u64>> {
        if self.table.api().cuCtxGetId.is_none() {
            return Ok(None);
        }
        let mut id = 0u64;
        // SAFETY: the driver writes one number, which outlives the call. This crate retained the context, or another library owns it. Only an
        // unsafe call destroys a context, and its caller sees to it that no other call uses it meanwhile. Afterwards there is an error.
        unsafe { call!(self.table, cuCtxGetId(self.raw, &mut id)) }?;
        Ok(Some(id))
    }

    /// Unloads the modules of the context's data. The context is current.
    fn unload(&self, modules: &[(u64, CUmodule)]) -> Result<()> {
        let Some(id) = self.id()? else { return Ok(()) };
        // The driver has unloaded the modules of a context that was destroyed, and may have reused its handle.
        let mut modules = modules.iter().filter(|(of, _)| *of == id).peekable();
        if modules.peek().is_none() {
            return Ok(());
        }
        // SAFETY: the call has no arguments, and waits for the current context.
        let mut unloaded = unsafe { call!(self.table, cuCtxSynchronize()) };
        for (_, module) in modules {
            // SAFETY: the handle came from cuModuleLoadDataEx in this context, and no other object holds it. No kernel runs.
            unloaded = unloaded.and(unsafe { call!(self.table, cuModuleUnload(*module)) });
        }
        unloaded
    }

    pub(super) fn push(&self) -> Result<Current<'_>> {
        current::push(&self.table, self.raw)
    }

    pub(super) fn push_to_release(&self) -> Result<Current<'_>> {
        current::push_to_release(&self.table, self.raw)
    }
}

impl Drop for ContextState {
    fn drop(&mut self) {
        let events = self.idle_events.drain();
        // The data of a borrowed context is shared with the driver.
        let data = self.data.get_mut().and_then(Arc::get_mut);
        let modules = data.map(|data| data.modules()).unwrap_or_default();
        if !events.is_empty() || !modules.is_empty() {
            match self.push_to_release() {
                Ok(_current) => {
                    self.table.dropped(self.unload(&modules));
                    events.into_iter().for_each(|event| {
                        // SAFETY: the event came from cuEventCreate and was returned to the pool; no other object holds it.
                        self.table.dropped(unsafe { call!(self.table, cuEventDestroy_v2(event)) });
                    });
                }
                // The events of a destroyed context are destroyed with it.
                Err(error) => self.table.dropped(Err(error)),
            }
        }
        if let (true, Some(device)) = (self.retained, self.device.get()) {
            // SAFETY: this state retained the device's primary context once, and this is the matching release.
            self.table.dropped(unsafe { call!(self.table, cuDevicePrimaryCtxRelease_v2(*device)) });
        }
    }
}
