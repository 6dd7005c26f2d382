//! Kernels that a context keeps loaded, for [`Context::kernel`].
//!
//! The cache is part of the context's state, and its modules are unloaded before the context is released. Another library may destroy
//! its own context, and the driver may reuse the handle. So each entry has the id of its context, which the driver never reuses.

use super::{Function, Module, function::Kernel};
use crate::{
    Result,
    driver::{Context, ContextData},
    interpreter::{self, lock},
    lock::Lock,
};
use cuarray_abi::CUmodule;
use std::{borrow::Cow, ptr, sync::Arc};

/// The modules of one context.
#[derive(Default)]
struct KernelCache(Lock<Vec<Entry>>);

/// The number of modules that a context keeps. A program that generates kernels may have more PTX, and keeps its [`Function`]s itself.
const MOST: usize = 256;

/// The result of a load: a kernel and its module, or the PTX for which the cache has no room.
type Cached = std::result::Result<(CUmodule, Arc<Kernel>), Cow<'static, str>>;

struct Entry {
    /// [`Context::id`] when the module was loaded.
    context: u64,
    ptx: Cow<'static, str>,
    module: CUmodule,
    kernels: Vec<Arc<Kernel>>,
}

impl Entry {
    fn is_of(&self, context: u64, ptx: &str) -> bool {
        // Text in a static is recognized by its address.
        self.context == context && (ptr::eq(&*self.ptx, ptx) || *self.ptx == *ptx)
    }

    fn kernel(&self, name: &str) -> Option<Arc<Kernel>> {
        self.kernels.iter().find(|kernel| kernel.name() == name).cloned()
    }
}

impl ContextData for KernelCache {
    fn modules(&self) -> Vec<(u64, CUmodule)> {
        lock(&self.0).iter().map(|entry| (entry.context, entry.module)).collect()
    }
}

impl Context {
    /// The kernel with a name in PTX. The first call in each context loads the PTX, and later calls find it, in every thread. So a
    /// function that launches a kernel needs no static:
    ///
    /// ```
    /// # cuarray::__simulated!(driver, context, stream);
    /// use cuarray::{DeviceArray, Ix1, Result, Stream, kernel::LaunchConfig};
    ///
    /// const PTX: &str = // from a file: include_str!("increment.ptx")
    /// #   ".version 8.0 .target sm_80 .address_size 64
    /// #    .visible .entry increment(.param .u64 x, .param .u32 n) {
    /// #        .reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .pred %over;
    /// #        ld.param.u64 %rd1, [x]; ld.param.u32 %r2, [n]; mov.u32 %r1, %tid.x;
    /// #        setp.ge.u32 %over, %r1, %r2; @%over ret;
    /// #        mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
    /// #        ld.global.u32 %r1, [%rd1]; add.u32 %r1, %r1, 1; st.global.u32 [%rd1], %r1; ret;
    /// #    }";
    /// # /*
    ///     "...";
    /// # */
    ///
    /// /// Adds 1 to each element, in place.
    /// fn increment(x: &mut DeviceArray<u32, Ix1>, stream: &Stream) -> Result<()> {
    ///     let kernel = stream.work_context()?.kernel(PTX, "increment")?;
    ///     let mut x = x.acquire_mut(stream)?;
    ///     let n = x.len() as u32;
    ///     // SAFETY: the kernel increments `n` numbers, and `x` has `n`.
    ///     unsafe { kernel.launch(stream, LaunchConfig::for_elements(x.len(), 256)?, (&mut x, n)) }?;
    ///     x.release()
    /// }
    ///
    /// let mut x = DeviceArray::from_host(&[1, 2, 3], [3], &stream)?;
    /// increment(&mut x, &stream)?;
    /// increment(&mut x, &stream)?; // loads nothing
    /// assert_eq!(x.to_host()?, [3, 4, 5]);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    ///
    /// The PTX stays loaded until the context ends. A context that this crate retained ends when the last object in it is dropped.
    /// Another library's context ends when its owner destroys it, and its PTX is unloaded at the latest when the
    /// [`Driver`](crate::Driver) is dropped. To unload PTX earlier, use [`Module::load_ptx`]. Drivers before CUDA 12.0 have no context
    /// ids, so each call loads the PTX there.
    ///
    /// A context keeps 256 texts of PTX. A call with a further text loads it each time, and it is unloaded after the last clone of the
    /// function and its work. A program that generates more kernels keeps their functions.
    ///
    /// # Errors
    /// As [`Module::load_ptx`] and [`Module::function`]. PTX that cannot be loaded is not cached.
    pub fn kernel(&self, ptx: impl Into<Cow<'static, str>>, name: &str) -> Result<Function> {
        let ptx = ptx.into();
        let (Some(id), Some(cache)) = (self.id()?, self.data::<KernelCache>()) else {
            return alone(self, &ptx, name);
        };
        let known =
            lock(&cache.0).iter().find(|entry| entry.is_of(id, &ptx)).map(|entry| (entry.module, entry.kernel(name)));
        let (module, kernel) = match known {
            Some((module, Some(kernel))) => (module, kernel),
            // The whole call runs detached from the interpreter: it holds the lock while the driver compiles.
            _ => match interpreter::detached(|| cache.load(self, id, ptx, name))? {
                Ok(loaded) => loaded,
                Err(ptx) => return alone(self, &ptx, name),
            },
        };
        Ok(Function::new(Module::kept_with_context(self, module), kernel))
    }
}

/// A kernel of a module that no cache keeps.
fn alone(context: &Context, ptx: &str, name: &str) -> Result<Function> {
    let module = Module::load_ptx(context, ptx)?;
    let kernel = module.kernel(name, Some(ptx))?;
    Ok(Function::new(module, Arc::new(kernel)))
}

impl KernelCache {
    /// Loads the PTX and the kernel, unless another thread did meanwhile. If the cache is full, returns the PTX.
    fn load(&self, context: &Context, id: u64, ptx: Cow<'static, str>, name: &str) -> Result<Cached> {
        // Before the lock is taken, because a release may run arbitrary code of an owner.
        context.driver().reclaim(false);
        let mut entries = lock(&self.0);
        // The driver has unloaded the modules of a context that was destroyed.
        entries.retain(|entry| entry.context == id);
        let index = match entries.iter().position(|entry| entry.is_of(id, &ptx)) {
            Some(index) => index,
            None if entries.len() >= MOST => return Ok(Err(ptx)),
            None => {
                let module = Module::load_with_context(context, &ptx)?;
                entries.push(Entry { context: id, ptx, module, kernels: Vec::new() });
                entries.len() - 1
            }
        };
        let entry = &mut entries[index];
        if let Some(kernel) = entry.kernel(name) {
            return Ok(Ok((entry.module, kernel)));
        }
        let kernel = Arc::new(Module::kept_with_context(context, entry.module).kernel(name, Some(&entry.ptx))?);
        entry.kernels.push(kernel.clone());
        Ok(Ok((entry.module, kernel)))
    }
}
