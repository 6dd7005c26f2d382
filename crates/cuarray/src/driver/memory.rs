//! [`Allocation`]: memory of every kind that the driver gives, freed when dropped.
//!
//! | kind | device address | host address | freed |
//! |---|---|---|---|
//! | device | yes | no | at once; the driver waits for work in the context |
//! | pinned | the host address (unified addressing) | yes | at once |
//! | mapped | its own, which the driver is asked for | yes | at once |
//! | managed | yes | the same | at once |
//! | stream-ordered | yes, for work that its stream comes before | no | in its stream's order |
//!
//! An allocation of no bytes is null and asks the driver for nothing: the driver refuses such a request, and arrays of
//! no elements are common.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html),
//! [stream-ordered allocation](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html).

use super::{Context, Stream, call};
use crate::{Error, Result};
use cuarray_abi::{CU_MEM_ATTACH_GLOBAL, CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CUdeviceptr, CUresult};
use std::{
    ffi::{c_uint, c_void},
    fmt, ptr,
};

/// Where an [`Allocation`] lives and who reaches it.
///
/// ```
/// # use cuarray::{Driver, Stream, driver::{Allocation, MemoryKind}};
/// # cuarray::__simulated!(driver);
/// let context = driver.default_context()?;
/// assert_eq!(Allocation::device(&context, 64)?.kind(), MemoryKind::Device);
/// let pinned = Allocation::pinned(&context, 64)?;
/// assert!(pinned.kind() == MemoryKind::Pinned && pinned.host_ptr().is_some());
/// assert!(Allocation::mapped(&context, 64)?.host_ptr().is_some());
/// assert!(Allocation::managed(&context, 64)?.host_ptr().is_some());
/// let stream = Stream::new(&context)?;
/// assert_eq!(Allocation::stream_ordered(&stream, 64)?.stream(), Some(&stream));
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// The device's memory.
    Device,
    /// The host's memory, locked in place, so that copies to and from it can run beside other work.
    Pinned,
    /// The host's memory, locked in place and with an address for the device.
    Mapped,
    /// Memory that the driver moves to whoever uses it.
    Managed,
    /// The device's memory, allocated and freed in the order of a stream.
    StreamOrdered,
}

/// Memory of the driver's, freed when dropped. Its contents are undefined until written.
///
/// It is an address and a length, never a slice: what a device may write at any time is nothing that Rust may refer to.
///
/// ```
/// # use cuarray::{Driver, driver::{Allocation, MemoryKind}};
/// # cuarray::__simulated!(driver);
/// let context = driver.device(0)?.primary_context()?;
/// let memory = Allocation::device(&context, 1 << 20)?;
/// assert_eq!((memory.len(), memory.kind()), (1 << 20, MemoryKind::Device));
/// assert!(memory.host_ptr().is_none());
/// # Ok::<(), cuarray::Error>(())
/// ```
pub struct Allocation {
    context: Context,
    device_ptr: CUdeviceptr,
    /// Null where the host has no address for it. An address as a number: nothing here reads or writes through it.
    host_ptr: usize,
    len: usize,
    kind: MemoryKind,
    /// Of a stream-ordered allocation: where it is freed.
    stream: Option<Stream>,
}

impl Allocation {
    /// `len` bytes of the device's memory, aligned to 256 bytes at least.
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

    /// `len` bytes of the host's memory, locked in place, for copies with every context.
    ///
    /// Driver API: [`cuMemHostAlloc`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
    pub fn pinned(context: &Context, len: usize) -> Result<Allocation> {
        let mut memory = Allocation::null(context, len, MemoryKind::Pinned);
        memory.allocate_host(CU_MEMHOSTALLOC_PORTABLE)?;
        memory.device_ptr = memory.host_ptr as CUdeviceptr;
        Ok(memory)
    }

    /// `len` bytes of the host's memory, locked in place, that devices reach too.
    ///
    /// Driver API: [`cuMemHostAlloc`,
    /// `cuMemHostGetDevicePointer`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
    pub fn mapped(context: &Context, len: usize) -> Result<Allocation> {
        let mut memory = Allocation::null(context, len, MemoryKind::Mapped);
        memory.allocate_host(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)?;
        if len != 0 {
            let _current = context.push()?;
            let host = ptr::with_exposed_provenance_mut::<c_void>(memory.host_ptr);
            // SAFETY: the driver writes one address, which outlives the call; the host address is one that it just
            // gave. If it refuses, `memory` is dropped, which frees by the host address.
            unsafe { call!(context.driver(), cuMemHostGetDevicePointer_v2(&mut memory.device_ptr, host, 0)) }?;
        }
        Ok(memory)
    }

    /// `len` bytes that the host and every device reach at one address.
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

    /// `len` bytes of the device's memory for work that comes after now in `stream`'s order, freed in that order too:
    /// when this is dropped, work given to the stream before still has its memory.
    ///
    /// A driver or a device without memory pools (before CUDA 11.2) gives [`MemoryKind::Device`] memory instead, which
    /// is good at once and whose freeing waits for all work.
    ///
    /// Driver API: [`cuMemAllocAsync`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html).
    #[doc(hidden)]
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
            // SAFETY: the stream is alive by its type's invariant; the driver writes one address, which outlives the
            // call.
            let allocate =
                || unsafe { call!(stream.driver(), cuMemAllocAsync(&mut memory.device_ptr, len, stream.raw())) };
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

    /// An allocation that holds nothing yet, so that dropping it frees nothing.
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

    /// The device's address of the first byte; 0 for an allocation of no bytes.
    pub fn device_ptr(&self) -> u64 {
        self.device_ptr
    }

    /// The host's address of the first byte, where the host has one (pinned, mapped, managed) and there is a first
    /// byte.
    pub fn host_ptr(&self) -> Option<*mut u8> {
        (self.host_ptr != 0).then(|| ptr::with_exposed_provenance_mut(self.host_ptr))
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes, and so no address.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Which kind of memory it is.
    #[doc(hidden)]
    pub fn kind(&self) -> MemoryKind {
        self.kind
    }

    /// The context that it was allocated in.
    #[doc(hidden)]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Of a stream-ordered allocation, the stream whose order it is freed in.
    #[doc(hidden)]
    pub fn stream(&self) -> Option<&Stream> {
        self.stream.as_ref()
    }

    /// Whether there is nothing to free, or it has been freed.
    pub(crate) fn is_null(&self) -> bool {
        self.device_ptr == 0 && self.host_ptr == 0
    }

    /// Frees the memory now, or in its own stream's order; nothing is left for the drop.
    pub(crate) fn free(&mut self) -> Result<()> {
        let driver = self.context.driver();
        match (self.kind, &self.stream) {
            (MemoryKind::Pinned | MemoryKind::Mapped, _) => {
                let _current = self.context.push()?;
                let host = ptr::with_exposed_provenance_mut::<c_void>(self.host_ptr);
                // SAFETY: the address came from cuMemHostAlloc and is in no other hands.
                unsafe { call!(driver, cuMemFreeHost(host)) }?;
            }
            (MemoryKind::StreamOrdered, Some(stream)) => stream.in_context_or(&self.context, || {
                // SAFETY: the address came from cuMemAllocAsync and is in no other hands; the stream is alive by its
                // type's invariant.
                let freed = unsafe { call!(driver, cuMemFreeAsync(self.device_ptr, stream.raw())) };
                // SAFETY: as above. The stream may have gone wrong without the memory: the other call takes no stream.
                freed.or_else(|error| unsafe { call!(driver, cuMemFree_v2(self.device_ptr)) }.map_err(|_| error))
            })?,
            _ => {
                let _current = self.context.push()?;
                // SAFETY: the address came from cuMemAlloc, cuMemAllocManaged or cuMemAllocAsync and is in no other
                // hands.
                unsafe { call!(driver, cuMemFree_v2(self.device_ptr)) }?;
            }
        }
        self.forget();
        Ok(())
    }

    fn forget(&mut self) {
        (self.device_ptr, self.host_ptr) = (0, 0);
    }
}

/// The error of an allocation of `len` bytes; where there is not so much memory it says how much was asked for.
#[cold]
fn of_bytes(error: Error, len: usize) -> Error {
    if error.driver_code() == Some(CUresult::CUDA_ERROR_OUT_OF_MEMORY) {
        error.with_log(format!("{len} bytes were asked for"))
    } else {
        error
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if !self.is_null() {
            let freed = self.free();
            self.context.driver().dropped(freed);
        }
    }
}

impl fmt::Debug for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Allocation({:#x}, {} bytes, {:?})", self.device_ptr, self.len, self.kind)
    }
}
