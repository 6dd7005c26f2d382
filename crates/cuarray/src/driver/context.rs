//! [`Context`]: a device's state in this process, pushed for a call and popped after it.
//!
//! Nearly every driver call works in the calling thread's current context. The program chooses that context; a library that
//! changes it breaks other code on the thread. So a call pushes its context, unless it is already current, and the guard
//! [`Current`] pops it on every path out.
//!
//! A context's state is shared: its event pool, and for a primary context the retain count. All objects of one context share it
//! through the [`Driver`], which tracks the live contexts.
//!
//! Driver API: [context management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html),
//! [primary contexts](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PRIMARY__CTX.html).

use super::{
    Device, Driver, call,
    context_state::{ContextData, ContextState},
    current::{self, Current},
    lock,
    shared_pool::Idle,
};
use crate::{Result, interpreter};
use cuarray_abi::CUcontext;
use smallvec::SmallVec;
use std::{
    any::Any,
    fmt,
    hash::{Hash, Hasher},
    sync::{Arc, Weak},
};

/// A context. A clone is the same context.
///
/// A context from [`Device::primary_context`] is retained until the last object that holds it is dropped. A context from
/// [`Driver::current_context`] is borrowed: its owner may destroy it, and calls in it then fail with the driver's error.
///
/// ```
/// # use cuarray::Driver;
/// # cuarray::__simulated!(driver);
/// let context = driver.device(0)?.primary_context()?;
/// assert_eq!(context.device()?.ordinal(), 0);
/// let (free, total) = context.memory_info()?;
/// assert!(free <= total);
/// context.synchronize()?; // waits for all work in all streams of the context
/// assert_eq!(driver.default_context()?, context); // device 0's: the thread has no current context
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone)]
pub struct Context {
    driver: Driver,
    state: Arc<ContextState>,
}

impl Driver {
    /// The context that is current for this thread, borrowed; `None` if there is none.
    ///
    /// Driver API: [`cuCtxGetCurrent`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html).
    pub fn current_context(&self) -> Result<Option<Context>> {
        let raw = current::current(self.table())?;
        Ok((!raw.is_null()).then(|| self.borrow_context(raw)))
    }

    /// The default context: the thread's current one, or else device 0's primary context.
    ///
    /// The primary context is retained once, until the driver is dropped, so that it is not created and destroyed at each use.
    pub fn default_context(&self) -> Result<Context> {
        if let Some(context) = self.current_context()? {
            return Ok(context);
        }
        // Detached as a whole: the lock is held during driver calls that can block.
        let state = interpreter::detached(|| -> Result<_> {
            let mut default = lock(&self.0.default);
            match &*default {
                Some(state) => Ok(state.clone()),
                None => {
                    let state = self.device(0)?.primary_context()?.state;
                    Ok(default.insert(state).clone())
                }
            }
        })?;
        Ok(Context { driver: self.clone(), state })
    }

    /// The number of events in the [pools](super::EventPool) of all live contexts. Pooled events are reused, so they are not a
    /// leak.
    pub(crate) fn idle_events(&self) -> usize {
        let alive = alive(&lock(&self.0.contexts));
        alive.iter().map(|state| state.idle_events.len()).sum()
    }

    /// The context with a handle that another library owns.
    pub(super) fn borrow_context(&self, raw: CUcontext) -> Context {
        // Dropped after the lock is released.
        let known;
        let mut contexts = lock(&self.0.contexts);
        known = alive(&contexts);
        let state = known.iter().find(|state| state.raw == raw).cloned().unwrap_or_else(|| {
            let state = ContextState::new(self.table().clone(), raw, None);
            register(&mut contexts, &state);
            state
        });
        drop(contexts);
        Context { driver: self.clone(), state }
    }
}

/// The states of live contexts. Drop them without the lock: the last reference to a state makes driver calls when it is dropped.
fn alive(contexts: &[Weak<ContextState>]) -> SmallVec<[Arc<ContextState>; 4]> {
    contexts.iter().filter_map(Weak::upgrade).collect()
}

/// Registers a context's state and drops dead entries.
fn register(contexts: &mut Vec<Weak<ContextState>>, state: &Arc<ContextState>) {
    contexts.retain(|known| known.strong_count() > 0);
    contexts.push(Arc::downgrade(state));
}

impl Device {
    /// The device's primary context, in which CUDA's runtime and nearly every library work.
    ///
    /// The context is retained, and released when the last object that holds it is dropped. While a [`Context`]
    /// exists, a further call only looks it up.
    ///
    /// Driver API:
    /// [`cuDevicePrimaryCtxRetain`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__PRIMARY__CTX.html).
    pub fn primary_context(&self) -> Result<Context> {
        Context::retain_primary(self)
    }
}

impl Context {
    fn retain_primary(device: &Device) -> Result<Context> {
        let driver = device.driver();
        // Detached as a whole: the lock is held during a driver call that can block.
        let state = interpreter::detached(|| -> Result<_> {
            // Dropped after the lock is released.
            let known;
            // The lock is held during the driver's call. If two threads call at once, the second finds the context that
            // the first retained.
            let mut contexts = lock(&driver.0.contexts);
            known = alive(&contexts);
            let is_wanted =
                |state: &&Arc<ContextState>| state.retained && state.device.get() == Some(&device.ordinal());
            if let Some(state) = known.iter().find(is_wanted) {
                return Ok(state.clone());
            }
            let mut raw = CUcontext::NULL;
            // SAFETY: the driver writes one handle, which outlives the call; the device came from the driver.
            unsafe { call!(driver, cuDevicePrimaryCtxRetain(&mut raw, device.ordinal())) }?;
            let state = ContextState::new(driver.table().clone(), raw, Some(device.ordinal()));
            // Inserted first, so that a look-up by handle also finds this state.
            contexts.retain(|known| known.strong_count() > 0);
            contexts.insert(0, Arc::downgrade(&state));
            Ok(state)
        })?;
        Ok(Context { driver: driver.clone(), state })
    }

    /// The driver's handle.
    pub(crate) fn handle(&self) -> CUcontext {
        self.state.raw
    }

    /// The driver that the context belongs to.
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// The context's device.
    ///
    /// Driver API: [`cuCtxGetDevice`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html).
    pub fn device(&self) -> Result<Device> {
        Ok(Device::known(self.driver.clone(), self.ordinal()?))
    }

    /// The ordinal of the context's device.
    pub(crate) fn ordinal(&self) -> Result<i32> {
        if let Some(raw) = self.state.device.get() {
            return Ok(*raw);
        }
        let _current = self.push()?;
        let mut raw = 0;
        // SAFETY: the driver writes one int, which outlives the call.
        unsafe { call!(self.driver, cuCtxGetDevice(&mut raw)) }?;
        Ok(*self.state.device.get_or_init(|| raw))
    }

    /// Whether the context is current for this thread.
    #[cfg(feature = "python")]
    pub(crate) fn is_current(&self) -> Result<bool> {
        Ok(current::current(self.driver.table())? == self.handle())
    }

    /// Makes the context current for this thread until the guard is dropped. Drop guards in the reverse order of their creation. If
    /// the context is already current, nothing is pushed or popped.
    ///
    /// Driver API: [`cuCtxPushCurrent`,
    /// `cuCtxPopCurrent`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html).
    pub fn push(&self) -> Result<Current<'_>> {
        self.state.push()
    }

    /// As [`Context::push`], for the release of an object.
    pub(super) fn push_to_release(&self) -> Result<Current<'_>> {
        self.state.push_to_release()
    }

    /// Waits until all work enqueued in the context is done.
    ///
    /// Driver API: [`cuCtxSynchronize`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html).
    pub fn synchronize(&self) -> Result<()> {
        let _current = self.push()?;
        // SAFETY: the call has no arguments, and waits for the context that was pushed.
        unsafe { call!(self.driver, cuCtxSynchronize()) }
    }

    /// The free and the total memory of the context's device, in bytes.
    ///
    /// Driver API: [`cuMemGetInfo`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
    pub fn memory_info(&self) -> Result<(usize, usize)> {
        let _current = self.push()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the driver writes two sizes, which outlive the call.
        unsafe { call!(self.driver, cuMemGetInfo_v2(&mut free, &mut total)) }?;
        Ok((free, total))
    }

    /// A number that is unique among all contexts of the process, past and present. Handles are not: the driver reuses them. `None`
    /// if the driver has no ids (before CUDA 12.0).
    ///
    /// Driver API: [`cuCtxGetId`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html).
    pub(crate) fn id(&self) -> Result<Option<u64>> {
        self.state.id()
    }

    /// The context's data; the first call creates it.
    pub(crate) fn data<T: ContextData + Default>(&self) -> Option<&T> {
        let data = self.state.data.get_or_init(|| match self.state.retained {
            true => Arc::<T>::default(),
            false => self.driver.0.borrowed.of(self.handle(), || Arc::<T>::default()),
        });
        let data: &dyn Any = &**data;
        data.downcast_ref()
    }

    pub(super) fn idle_events(&self) -> &Idle {
        &self.state.idle_events
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Context) -> bool {
        self.handle() == other.handle() && self.driver == other.driver
    }
}

impl Eq for Context {}

impl Hash for Context {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.handle().hash(state);
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({:#x}{})", self.handle().0, if self.state.retained { ", retained" } else { "" })
    }
}
