//! Device memory that another process of the machine has open: [`IpcMemHandle`] and [`IpcMemory`].
//!
//! A handle is 64 bytes that name a whole allocation, whichever of its addresses it was made from; it goes to another process
//! as bytes do. Only memory of `cuMemAlloc` has one: not the memory of pools (`cuMemAllocAsync`), nor managed or pinned
//! memory. Opening it maps the allocation, at an address of that process's own.
//!
//! The driver orders nothing between processes and counts nothing across them. So the exporter waits for its work on the memory
//! before it hands the handle on, and frees the memory only when everybody else has closed it: freeing it before is
//! undefined. A process does not open what it exported itself (`CUDA_ERROR_INVALID_CONTEXT`), and opens what another
//! exported in one context of each device.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).

use super::{Context, call};
use crate::Result;
use cuarray_abi::{CUdeviceptr, CUipcMemHandle};
use std::fmt;

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`, the one value that the driver takes.
const LAZY_ENABLE_PEER_ACCESS: u32 = 1;

/// What names an allocation to other processes.
///
/// ```
/// # use cuarray::{Driver, driver::{Allocation, IpcMemHandle}};
/// # cuarray::__simulated!(driver);
/// let context = driver.device(0)?.primary_context()?;
/// let memory = Allocation::device(&context, 1024)?;
/// let handle = IpcMemHandle::of(&context, memory.device_ptr())?;
/// assert_eq!(IpcMemHandle::from_bytes(*handle.as_bytes()), handle);
/// assert!(handle.open(&context).is_err()); // this process has the memory already
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct IpcMemHandle([u8; IpcMemHandle::LEN]);

impl IpcMemHandle {
    /// How many bytes a handle has.
    pub const LEN: usize = 64;

    /// The handle of the allocation that `ptr` lies in. It waits for nothing.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for memory that did not come from `cuMemAlloc`.
    ///
    /// Driver API: [`cuIpcGetMemHandle`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
    pub fn of(context: &Context, ptr: u64) -> Result<IpcMemHandle> {
        let _current = context.push()?;
        let mut handle = CUipcMemHandle { reserved: [0; IpcMemHandle::LEN] };
        // SAFETY: the driver writes one handle, which outlives the call; the address is only looked up.
        unsafe { call!(context.driver(), cuIpcGetMemHandle(&mut handle, ptr)) }?;
        Ok(IpcMemHandle(handle.reserved.map(|byte| byte as u8)))
    }

    /// The handle that another process had as these bytes.
    pub fn from_bytes(bytes: [u8; IpcMemHandle::LEN]) -> IpcMemHandle {
        IpcMemHandle(bytes)
    }

    /// The bytes to hand to another process.
    pub fn as_bytes(&self) -> &[u8; IpcMemHandle::LEN] {
        &self.0
    }

    /// Maps the allocation into this process, in `context`. What that context has open already is counted, and has one address.
    ///
    /// # Errors
    /// The driver's, if the handle is this process's own, or its memory is gone.
    ///
    /// Driver API: [`cuIpcOpenMemHandle`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
    pub fn open(&self, context: &Context) -> Result<IpcMemory> {
        let _current = context.push()?;
        let handle = CUipcMemHandle { reserved: self.0.map(|byte| byte as _) };
        let mut device_ptr = 0;
        // SAFETY: the driver writes one address, which outlives the call. The handle's bytes are the driver's to check, which
        // refuses those that it did not make.
        unsafe { call!(context.driver(), cuIpcOpenMemHandle_v2(&mut device_ptr, handle, LAZY_ENABLE_PEER_ACCESS)) }?;
        Ok(IpcMemory { context: context.clone(), device_ptr })
    }
}

impl fmt::Debug for IpcMemHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IpcMemHandle(")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

/// An allocation of another process, open in this one; closed when dropped.
///
/// ```no_run
/// use cuarray::{Driver, driver::IpcMemHandle};
///
/// # fn received() -> [u8; 64] { [0; 64] }
/// let context = Driver::load()?.default_context()?;
/// let memory = IpcMemHandle::from_bytes(received()).open(&context)?; // what another process sent
/// println!("{:#x}", memory.device_ptr()); // closed when it is dropped
/// # Ok::<(), cuarray::Error>(())
/// ```
pub struct IpcMemory {
    context: Context,
    device_ptr: CUdeviceptr,
}

impl IpcMemory {
    /// The address of the allocation's first byte.
    pub fn device_ptr(&self) -> u64 {
        self.device_ptr
    }

    /// The context that it is open in.
    pub fn context(&self) -> &Context {
        &self.context
    }

    fn close(&self) -> Result<()> {
        let _current = self.context.push()?;
        // The manual does not say that closing waits for work on the memory, so this does. If it cannot, closing cannot
        // either, and says why.
        let _ = self.context.synchronize();
        // SAFETY: the address came from cuIpcOpenMemHandle, and this is the one close for that open.
        unsafe { call!(self.context.driver(), cuIpcCloseMemHandle(self.device_ptr)) }
    }
}

impl Drop for IpcMemory {
    fn drop(&mut self) {
        self.context.driver().table().dropped(self.close());
    }
}

impl fmt::Debug for IpcMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IpcMemory({:#x})", self.device_ptr)
    }
}
