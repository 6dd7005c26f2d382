//! [`Allocation`]: memory of each kind that the driver allocates, freed when dropped.
//!
//! | kind | device address | host address | freed |
//! |---|---|---|---|
//! | device | yes | no | at once; the driver waits for work in the context |
//! | pinned | the host address (unified addressing) | yes | at once |
//! | mapped | a separate one, from the driver | yes | at once |
//! | managed | yes | the device address | at once |
//! | stream-ordered | yes, for later work of its stream | no | in its stream's order |
//!
//! An allocation of 0 bytes has a null address and makes no driver call: the driver rejects such a request, and arrays without
//! elements are common.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html),
//! [stream-ordered allocation](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html).

use super::{CaptureStatus, Context, Stream, call, capture};
use crate::{DevicePtr, Error, Result};
use cuarray_abi::{CU_MEM_ATTACH_GLOBAL, CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CUmemorytype, CUresult};
use std::{
    ffi::{c_uint, c_void},
    fmt, ptr,
};

/// A kind of memory: its place, and the processors that can access it.
///
/// An [`Allocation`] knows its own kind. The driver tells only some kinds apart, see [`PointerAttributes::kind`].
///
/// [`PointerAttributes::kind`]: super::PointerAttributes::kind
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryKind {
    /// Device memory.
    Device,
    /// Page-locked host memory, so that copies can run beside other work.
    Pinned,
    /// Page-locked host memory that also has a device address.
    Mapped,
    /// Memory that the driver migrates between host and devices on access.
    Managed,
    /// Device memory, allocated and freed in a stream's order.
    StreamOrdered,
    /// A kind that this version of the crate does not know, by the driver's number. No [`Allocation`] has it.
    Other(CUmemorytype),
}

/// Memory from the driver, freed when dropped. Its contents are undefined until written.
///
/// An allocation is an address and a length, and never a slice: a device may write it at any time, so a Rust reference to it would
/// be unsound.
///
/// ```
/// # use cuarray::{Driver, driver::Allocation};
/// # cuarray::__simulated!(driver);
/// let context = driver.device(0)?.primary_context()?;
/// let memory = Allocation::device(&context, 1 << 20)?;
/// assert_eq!(memory.len(), 1 << 20);
/// assert!(memory.host_ptr().is_none());
/// # Ok::<(), cuarray::Error>(())
/// ```
pub struct Allocation {
    context: Context,
    device_ptr: DevicePtr,
    /// 0 if the memory has no host address. Kept as a number: nothing here reads or writes through it.
    host_ptr: usize,
    len: usize,
    kind: MemoryKind,
    /// The stream of a stream-ordered allocation, in whose order it is freed.
    stream: Option<Stream>,
}

impl Allocation {
    /// Allocates `len` bytes of device memory, aligned to at least 256 bytes.
    ///
    /// Driver API: [`cuMemAlloc`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
    pub fn device(context: &Context, len: usize) -> Result<Allocation> {
        let mut memory = Allocation::null(context, len, MemoryKind::Device);
        if len != 0 {
            let _current = context.push()?;
            // SAFETY: the driver writes one address, which outlives the call.
            let allocated = unsafe { call!(context.driver(), cuMemAlloc_v2(&mut memory.device_ptr, len)) };
            allocated.map_err(|error| of_bytes(error, len))?;
        }
        Ok(memory)
    }

    /// Allocates `len` bytes of page-locked host memory, for copies in every context.
    ///
    /// Driver API: [`cuMemHostAlloc`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
    pub fn pinned(context: &Context, len: usize) -> Result<Allocation> {
        let mut memory = Allocation::null(context, len, MemoryKind::Pinned);
        memory.allocate_host(CU_MEMHOSTALLOC_PORTABLE)?;
        memory.device_ptr = memory.host_ptr as DevicePtr;
        Ok(memory)
    }

    /// Allocates `len` bytes of page-locked host memory that devices can access too.
    ///
    /// Driver API: [`cuMemHostAlloc`,
    /// `cuMemHostGetDevicePointer`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
    pub fn mapped(context: &Context, len: usize) -> Result<Allocation> {
        let mut memory = Allocation::null(context, len, MemoryKind::Mapped);
        memory.allocate_host(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)?;
        if len != 0 {
            let _current = context.push()?;
            let host = ptr::with_exposed_provenance_mut::<c_void>(memory.host_ptr);
            // SAFETY: the driver writes one address, which outlives the call; the host address came from cuMemHostAlloc. If the
            // call fails, the drop of `memory` frees the host address.
            unsafe { call!(context.driver(), cuMemHostGetDevicePointer_v2(&mut memory.device_ptr, host, 0)) }?;
        }
        Ok(memory)
    }

    /// Allocates `len` bytes that the host and every device access at one address.
    ///
    /// Driver API: [`cuMemAllocManaged`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
    pub fn managed(context: &Context, len: usize) -> Result<Allocation> {
        let mut memory = Allocation::null(context, len, MemoryKind::Managed);
        if len != 0 {
            let _current = context.push()?;
            // SAFETY: the driver writes one address, which outlives the call.
            let allocated = unsafe {
                call!(context.driver(), cuMemAllocManaged(&mut memory.device_ptr, len, CU_MEM_ATTACH_GLOBAL))
            };
            allocated.map_err(|error| of_bytes(error, len))?;
            memory.host_ptr = memory.device_ptr as usize;
        }
        Ok(memory)
    }

    /// Allocates `len` bytes of device memory in `stream`'s order: work enqueued there later can use it. A drop frees it in that order
    /// too, after the work enqueued before the drop.
    ///
    /// Without memory pools (a driver before CUDA 11.2, or some devices), this allocates [`MemoryKind::Device`] memory instead, which
    /// is valid at once and whose release waits for all work.
    ///
    /// Driver API: [`cuMemAllocAsync`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html).
    pub fn stream_ordered(stream: &Stream, len: usize) -> Result<Allocation> {
        let context = match stream.context()? {
            Some(context) => context,
            None => stream.driver().default_context()?,
        };
        if stream.driver().api().cuMemAllocAsync.is_none() {
            return Allocation::device(&context, len);
        }
        let mut memory = Allocation::null(&context, len, MemoryKind::StreamOrdered);
        if len != 0 {
            // SAFETY: the stream is alive by its type's invariant; the driver writes one address, which outlives the call.
            let allocate =
                || unsafe { call!(stream.driver(), cuMemAllocAsync(&mut memory.device_ptr, len, stream.cu_stream())) };
            match stream.in_context_or(&context, allocate) {
                Err(error) if error.driver_code() == Some(CUresult::CUDA_ERROR_NOT_SUPPORTED) => {
                    return Allocation::device(&context, len);
                }
                result => result.map_err(|error| of_bytes(error, len))?,
            }
        }
        memory.stream = Some(stream.clone());
        Ok(memory)
    }

    /// An allocation without memory yet, whose drop frees nothing.
    fn null(context: &Context, len: usize, kind: MemoryKind) -> Allocation {
        Allocation { context: context.clone(), device_ptr: 0, host_ptr: 0, len, kind, stream: None }
    }

    fn allocate_host(&mut self, flags: c_uint) -> Result<()> {
        if self.len == 0 {
            return Ok(());
        }
        let _current = self.context.push()?;
        let mut host = ptr::null_mut();
        // SAFETY: the driver writes one address, which outlives the call.
        let allocated = unsafe { call!(self.context.driver(), cuMemHostAlloc(&mut host, self.len, flags)) };
        allocated.map_err(|error| of_bytes(error, self.len))?;
        self.host_ptr = host.expose_provenance();
        Ok(())
    }

    /// The device address of the first byte; 0 for an allocation of 0 bytes.
    pub fn device_ptr(&self) -> DevicePtr {
        self.device_ptr
    }

    /// The host address of the first byte; `None` if there is none, or for an allocation of 0 bytes.
    pub fn host_ptr(&self) -> Option<*mut u8> {
        (self.host_ptr != 0).then(|| ptr::with_exposed_provenance_mut(self.host_ptr))
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the length is 0, so that there is no address.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The kind of the memory.
    pub(crate) fn kind(&self) -> MemoryKind {
        self.kind
    }

    /// The context that the memory was allocated in.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The stream of a stream-ordered allocation, in whose order it is freed.
    pub(crate) fn stream(&self) -> Option<&Stream> {
        self.stream.as_ref()
    }

    /// Whether there is nothing to free, or it has been freed.
    pub(crate) fn is_null(&self) -> bool {
        self.device_ptr == 0 && self.host_ptr == 0
    }

    /// Frees the memory now, or in its stream's order. The drop then does nothing.
    pub(crate) fn free(&mut self) -> Result<()> {
        let driver = self.context.driver();
        match (self.kind, &self.stream) {
            (MemoryKind::Pinned | MemoryKind::Mapped, _) => {
                let _current = self.context.push()?;
                let host = ptr::with_exposed_provenance_mut::<c_void>(self.host_ptr);
                // SAFETY: the address came from cuMemHostAlloc, and no other object holds it.
                unsafe { call!(driver, cuMemFreeHost(host)) }?;
            }
            (MemoryKind::StreamOrdered, Some(stream)) => stream.in_context_or(&self.context, || {
                // SAFETY: the address came from cuMemAllocAsync, and no other object holds it; the stream is alive by its type's invariant.
                let freed = unsafe { call!(driver, cuMemFreeAsync(self.device_ptr, stream.cu_stream())) };
                freed.or_else(|error| self.free_after_wait(stream).map_err(|_| error))
            })?,
            _ => {
                let _current = self.context.push()?;
                // SAFETY: the address came from cuMemAlloc, cuMemAllocManaged or cuMemAllocAsync, and no other object holds it.
                unsafe { call!(driver, cuMemFree_v2(self.device_ptr)) }?;
            }
        }
        self.forget();
        Ok(())
    }

    /// Frees stream-ordered memory without its stream, which may have failed without the memory. `cuMemFree` does not wait for work on
    /// such memory, so this waits first. The context is current.
    ///
    /// # Errors
    /// Errors of the driver, and of a stream that captures: a wait would invalidate the capture, whose graph owns the memory.
    #[cold]
    fn free_after_wait(&self, stream: &Stream) -> Result<()> {
        let driver = self.context.driver();
        // SAFETY: the stream is alive by its type's invariant.
        match unsafe { capture::status(driver, stream.cu_stream()) } {
            Ok(CaptureStatus::None) => {}
            Ok(_) => return Err(Error::unsupported("the stream captures a graph")),
            Err(error) if error.driver_code() == Some(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) => {
                return Err(error);
            }
            // The wait below falls back to the context.
            Err(_) => {}
        }
        let _relaxed = driver.relaxed()?;
        // Work in a blocking stream follows the legacy default stream, but a wait for the stream alone does not. An event there does.
        let waited = self.context.event_pool().take().and_then(|event| {
            event.record(stream)?;
            event.synchronize()
        });
        // SAFETY: the call has no arguments.
        waited.or_else(|_| unsafe { call!(driver, cuCtxSynchronize()) })?;
        // SAFETY: the address came from cuMemAllocAsync, no other object holds it, and its work is done.
        unsafe { call!(driver, cuMemFree_v2(self.device_ptr)) }
    }

    fn forget(&mut self) {
        (self.device_ptr, self.host_ptr) = (0, 0);
    }
}

/// The error of an allocation of `len` bytes; if memory ran out, the message has the size.
#[cold]
fn of_bytes(error: Error, len: usize) -> Error {
    if error.driver_code() == Some(CUresult::CUDA_ERROR_OUT_OF_MEMORY) {
        error.with_log(format!("{len} bytes were requested"))
    } else {
        error
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if !self.is_null() {
            // A release has no caller who could try again after a context could not be made current.
            let freed = self.free().or_else(|error| match error.driver_call() {
                Some("cuCtxGetCurrent" | "cuCtxPushCurrent") => self.free(),
                _ => Err(error),
            });
            self.context.driver().dropped(freed);
        }
    }
}

impl fmt::Debug for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Allocation({:#x}, {} bytes, {:?})", self.device_ptr, self.len, self.kind)
    }
}
