//! Device memory shared between processes of one machine: [`IpcMemHandle`] and [`IpcMemory`].
//!
//! A handle is 64 bytes that name a whole allocation. Any address in the allocation gives the same handle, and its
//! bytes can be sent to another process. Only memory from `cuMemAlloc` has a handle: pool memory (`cuMemAllocAsync`),
//! managed memory and pinned memory have none. Opening a handle maps the allocation at an address of the opening
//! process.
//!
//! The driver orders no work between processes and counts no references across them. So the exporter waits for its work on the
//! memory before it sends the handle. It frees the memory only after all other processes have closed it: an earlier free is
//! undefined. A process cannot open its own export (`CUDA_ERROR_INVALID_CONTEXT`). It opens another process's export in one
//! context of each device.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).

use super::{Context, DeferredRelease, call};
use crate::{DevicePtr, Result};
use cuarray_abi::CUipcMemHandle;
use std::fmt;

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`, the only value that the driver accepts.
const LAZY_ENABLE_PEER_ACCESS: u32 = 1;

/// A name of an allocation for other processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct IpcMemHandle([u8; IpcMemHandle::LEN]);

impl IpcMemHandle {
    /// The size of a handle in bytes.
    pub const LEN: usize = 64;

    /// The handle of the allocation that contains `ptr`. Does not wait.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE`: the memory did not come from `cuMemAlloc`.
    ///
    /// Driver API: [`cuIpcGetMemHandle`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
    pub fn of(context: &Context, ptr: DevicePtr) -> Result<IpcMemHandle> {
        let _current = context.push()?;
        let mut handle = CUipcMemHandle { reserved: [0; IpcMemHandle::LEN] };
        // SAFETY: the driver writes one handle, which outlives the call. It only looks up the address.
        unsafe { call!(context.driver(), cuIpcGetMemHandle(&mut handle, ptr)) }?;
        Ok(IpcMemHandle(handle.reserved.map(|byte| byte as u8)))
    }

    /// A handle from the bytes that another process sent.
    pub fn from_bytes(bytes: [u8; IpcMemHandle::LEN]) -> IpcMemHandle {
        IpcMemHandle(bytes)
    }

    /// The bytes to send to another process.
    pub fn as_bytes(&self) -> &[u8; IpcMemHandle::LEN] {
        &self.0
    }

    /// Maps the allocation into this process, in `context`. Opening it again in that context gives the same address and adds a
    /// reference.
    ///
    /// # Errors
    /// Errors of the driver: the handle is this process's own, or its memory has been freed.
    ///
    /// Driver API: [`cuIpcOpenMemHandle`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
    pub fn open(&self, context: &Context) -> Result<IpcMemory> {
        let _current = context.push()?;
        let handle = CUipcMemHandle { reserved: self.0.map(|byte| byte as _) };
        let mut device_ptr = 0;
        // SAFETY: the driver writes one address, which outlives the call. The driver checks the handle's bytes, and rejects a
        // handle that it did not create.
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

/// Another process's allocation, open in this one. A drop closes it, after a wait for all work in its context. If the wait fails,
/// the memory stays open until [`Driver::reclaim`](super::Driver::reclaim) can wait.
pub struct IpcMemory {
    context: Context,
    /// 0 after closing.
    device_ptr: DevicePtr,
}

impl IpcMemory {
    /// The address of the allocation's first byte.
    pub fn device_ptr(&self) -> DevicePtr {
        self.device_ptr
    }

    /// The context that the memory is open in.
    #[cfg(test)]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Closes the memory, after a wait for all work in its context.
    ///
    /// # Errors
    /// Errors of the driver. If the wait failed, the memory is closed later.
    #[cfg(feature = "python")]
    pub(crate) fn close(mut self) -> Result<()> {
        self.close_or_defer()
    }

    /// The manual does not promise that closing waits for work on the memory, so a failed wait defers it.
    fn close_or_defer(&mut self) -> Result<()> {
        let device_ptr = std::mem::take(&mut self.device_ptr);
        if device_ptr == 0 {
            return Ok(());
        }
        let waited = self.context.push_to_release().and_then(|current| self.context.synchronize().map(|()| current));
        let _current = waited.inspect_err(|_| {
            let unclosed = IpcMemory { context: self.context.clone(), device_ptr };
            self.context.driver().defer(Box::new(Unclosed(unclosed)));
        })?;
        // SAFETY: the address came from cuIpcOpenMemHandle, and this is the one close for that open.
        unsafe { call!(self.context.driver(), cuIpcCloseMemHandle(device_ptr)) }
    }
}

/// Memory whose close is deferred.
struct Unclosed(IpcMemory);

impl DeferredRelease for Unclosed {
    fn attempt(self: Box<Self>, wait: bool) {
        if wait { drop(self.0) } else { self.0.context.driver().clone().defer(self) }
    }
}

impl Drop for IpcMemory {
    fn drop(&mut self) {
        let closed = self.close_or_defer();
        self.context.driver().table().dropped(closed);
    }
}

impl fmt::Debug for IpcMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IpcMemory({:#x})", self.device_ptr)
    }
}
