//! The context of a handle, and the enqueueing of its work.

use crate::data::Data;
use crate::driver::{Error, Result, call};
use crate::gather::Kernels;
use crate::library_call::{self, LibraryCall};
use crate::region::{Block, Rows};
use crate::staging::{self, Lease, Staging};
use crate::work::{self, Described, Enqueued, Work};
use cuarray_abi::{
    CU_MEMORYTYPE_UNIFIED, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CUDA_MEMCPY2D, CUarray, CUcontext, CUdevice, CUgraph,
    CUresult, CUstream, CUstreamCaptureStatus, CUuserObject,
};
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// `CU_USER_OBJECT_NO_DESTRUCTOR_SYNC`.
const NO_DESTRUCTOR_SYNC: c_uint = 1;
/// `CU_GRAPH_USER_OBJECT_MOVE`.
const MOVE: c_uint = 1;
/// The bytes of scratch memory after a work: a number in no type.
const SCRATCH: u8 = 0xff;
/// The largest pitch of a copy by rows.
const LARGEST_PITCH: usize = c_int::MAX as usize;

/// The context in which a handle was created, with the staging memory of its work.
#[derive(Debug)]
pub struct Place {
    context: CUcontext,
    /// The device whose primary context the handle retains.
    retained: Option<CUdevice>,
    staging: Arc<Staging>,
    kernels: Kernels,
    /// Whether arguments may lie in memory of the host that the driver does not know.
    any_memory: bool,
    is_over: AtomicBool,
}

impl Place {
    /// The calling thread's context. Without one, that is the primary context of device 0, which becomes the current one, as with the
    /// CUDA runtime.
    ///
    /// # Errors
    /// The driver's.
    pub fn current() -> Result<Place> {
        call!(cuInit(0))?;
        let (mut context, mut retained) = (CUcontext::default(), None);
        call!(cuCtxGetCurrent(&mut context))?;
        if context.is_null() {
            let mut device = CUdevice::default();
            call!(cuDeviceGet(&mut device, 0))?;
            call!(cuDevicePrimaryCtxRetain(&mut context, device))?;
            retained = Some(device);
            call!(cuCtxSetCurrent(context))?;
        }
        Ok(Place { retained, ..Place::of_context(context) })
    }

    /// The primary context of a device.
    ///
    /// # Errors
    /// The driver's.
    pub fn of_device(number: c_int) -> Result<Place> {
        call!(cuInit(0))?;
        let (mut device, mut context) = (CUdevice::default(), CUcontext::default());
        call!(cuDeviceGet(&mut device, number))?;
        call!(cuDevicePrimaryCtxRetain(&mut context, device))?;
        Ok(Place { retained: Some(device), ..Place::of_context(context) })
    }

    /// Accepts arguments in any memory of the program. The driver waits for copies of memory that it does not know, and cannot check its addresses.
    #[must_use]
    pub fn with_any_memory(self) -> Place {
        Place { any_memory: true, ..self }
    }

    /// Makes a stream, which is ordered with the context's default stream.
    ///
    /// # Errors
    /// The driver's.
    pub fn create_stream(&self) -> Result<CUstream> {
        let mut stream = CUstream::NULL;
        self.within(|| call!(cuStreamCreate(&mut stream, 0)))?;
        Ok(stream)
    }

    /// Destroys a stream of [`Place::create_stream`]. Its work goes on.
    pub fn destroy_stream(&self, stream: CUstream) {
        // The context may be gone, and the stream with it.
        let _ = self.within(|| call!(cuStreamDestroy_v2(stream)));
    }

    /// A context that something else keeps alive.
    pub(crate) fn of_context(context: CUcontext) -> Place {
        Place {
            context,
            retained: None,
            staging: Arc::default(),
            kernels: Kernels::default(),
            any_memory: false,
            is_over: AtomicBool::new(false),
        }
    }

    /// As [`Place::current`], with staging memory that all such places of a context share and never free: freeing it waits for the context. So
    /// the handles of a library whose functions never wait need not be destroyed, and their primary context stays retained, as with the CUDA
    /// runtime.
    ///
    /// # Errors
    /// The driver's.
    pub fn shared() -> Result<Place> {
        let mut place = Place::current()?;
        let mut id = 0;
        // A driver without numbers of contexts cannot tell a context from an earlier one at its address.
        if call!(cuCtxGetId(place.context, &mut id)).is_ok() {
            place.staging = staging::of_context(id);
        }
        Ok(place)
    }

    /// The number of the context's device.
    ///
    /// # Errors
    /// The driver's.
    pub fn device(&self) -> Result<c_int> {
        let mut device = CUdevice::default();
        self.within(|| call!(cuCtxGetDevice(&mut device)))?;
        Ok(device)
    }

    /// Allocates device memory.
    ///
    /// # Errors
    /// The driver's.
    pub fn allocate(&self, bytes: usize) -> Result<u64> {
        let mut address = 0;
        self.within(|| call!(cuMemAlloc_v2(&mut address, bytes)))?;
        Ok(address)
    }

    /// Frees memory of [`Place::allocate`], after the work of the context.
    ///
    /// # Errors
    /// The driver's.
    pub fn free(&self, address: u64) -> Result {
        self.within(|| call!(cuMemFree_v2(address)))
    }

    /// Runs calls of the driver with the handle's context as the current one.
    ///
    /// # Errors
    /// Those of the calls, and of the driver.
    pub fn within<T>(&self, calls: impl FnOnce() -> Result<T>) -> Result<T> {
        let mut current = CUcontext::default();
        call!(cuCtxGetCurrent(&mut current))?;
        if current == self.context {
            return calls();
        }
        call!(cuCtxPushCurrent_v2(self.context))?;
        let outcome = calls();
        let restored = call!(cuCtxPopCurrent_v2(&mut current));
        let value = outcome?;
        restored.map(|()| value)
    }

    /// Whether the stream is part of a capture.
    ///
    /// # Errors
    /// The driver's.
    pub fn is_capturing(&self, stream: CUstream) -> Result<bool> {
        self.within(|| Ok(graph_of(stream)?.is_some()))
    }

    /// Waits for the work in a stream.
    ///
    /// # Errors
    /// The driver's.
    pub fn wait(&self, stream: CUstream) -> Result {
        self.within(|| call!(cuStreamSynchronize(stream)))
    }

    /// Enqueues a work in a stream. The closure runs in stream order, once for each launch of a graph that captures it.
    ///
    /// # Errors
    /// The driver's. If an argument is no memory that the context can access, nothing is written.
    pub fn enqueue(
        &self,
        stream: CUstream,
        mut work: Work,
        closure: impl Fn(&mut Data<'_>) + Send + Sync + 'static,
    ) -> Result {
        let size = work.place()?;
        self.within(|| {
            if !self.any_memory {
                work.arguments().filter(|argument| !argument.reads).try_for_each(check_range)?;
            }
            let graph = graph_of(stream)?;
            if graph.is_none() && !self.any_memory {
                // Memory that a graph allocates is none before its launch.
                work.arguments().try_for_each(check_memory)?;
            }
            let mut id = u64::MAX;
            if graph.is_none() && call!(cuStreamGetId(stream, &mut id)).is_err() {
                id = stream.0 as u64;
            }
            let lease = self.staging.lease(id, size, graph.is_some())?;
            let enqueued = self.enqueue_in(stream, &work, lease, graph, Box::new(closure));
            library_call::accesses(None, false);
            enqueued
        })
    }

    fn enqueue_in(
        &self,
        stream: CUstream,
        work: &Work,
        lease: Lease,
        graph: Option<CUgraph>,
        closure: Box<dyn Fn(&mut Data<'_>) + Send + Sync>,
    ) -> Result {
        let base = lease.address();
        for (name, rows) in work.scratches() {
            library_call::accesses(Some(name), false);
            call!(cuMemsetD8Async(rows.address, SCRATCH, rows.width, stream))?;
        }
        for argument in work.arguments().filter(|argument| argument.reads) {
            library_call::accesses(Some(argument.name), argument.may_ignore);
            self.copy(argument, base, stream, true)?;
        }
        library_call::accesses(None, false);
        let function = LibraryCall::current().unwrap_or(c"a function of a library");
        let write_back = || {
            let mut written = work.arguments().filter(|argument| argument.writes);
            written.try_for_each(|argument| {
                library_call::accesses(Some(argument.name), false);
                self.copy(argument, base, stream, false)
            })
        };
        match graph {
            None => {
                let enqueued = Enqueued::new(function, base, None, work, closure).into_raw();
                launch(stream, work::run_once, enqueued)
                    // SAFETY: the driver has refused the function, so nothing else has the box.
                    .inspect_err(|_| unsafe { work::drop_work(enqueued) })?;
                let written = write_back();
                library_call::accesses(None, false);
                // If the driver refuses the function, the block is lost: work that uses it may be pending.
                launch(stream, staging::end, lease.into_raw()).and(written)
            }
            Some(graph) => {
                let enqueued = Enqueued::new(function, base, Some(lease), work, closure).into_raw();
                keep(graph, enqueued)?;
                launch(stream, work::run_again, enqueued)?;
                write_back()
            }
        }
    }

    /// Copies an argument between the device and staging memory.
    fn copy(&self, argument: &Described, base: usize, stream: CUstream, to_host: bool) -> Result {
        match &argument.region.found {
            Some(found) => self.kernels.copy(found, base + argument.offset, stream, to_host),
            None => copy(argument, base, stream, to_host),
        }
    }

    /// Waits for all work of the context and frees the staging memory, once.
    pub fn destroy(&self) {
        if self.is_over.swap(true, Ordering::AcqRel) {
            return;
        }
        // A context that is gone has freed everything.
        let _ = self.within(|| {
            call!(cuCtxSynchronize())?;
            self.staging.free();
            self.kernels.free();
            Ok(())
        });
        if let Some(device) = self.retained {
            let _ = release(device);
        }
    }
}

/// The number of devices.
///
/// # Errors
/// The driver's.
pub fn device_count() -> Result<c_int> {
    call!(cuInit(0))?;
    let mut count = 0;
    call!(cuDeviceGetCount(&mut count))?;
    Ok(count)
}

fn release(device: CUdevice) -> Result {
    call!(cuDevicePrimaryCtxRelease_v2(device))
}

/// The graph that a stream's work is captured into.
fn graph_of(stream: CUstream) -> Result<Option<CUgraph>> {
    let (mut status, mut graph) = (CUstreamCaptureStatus::default(), CUgraph::default());
    let (id, nodes, edges, count) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    match call!(cuStreamGetCaptureInfo_v2(stream, &mut status, id, &mut graph, nodes, count)) {
        Err(Error::Missing(_)) => {
            call!(cuStreamGetCaptureInfo_v3(stream, &mut status, id, &mut graph, nodes, edges, count))?;
        }
        other => other?,
    }
    Ok((status != CUstreamCaptureStatus::default()).then_some(graph))
}

/// The size from which an argument that is only written is looked up before anything is enqueued: its staging memory, and what the closure
/// allocates, may exceed the memory of this machine.
const LARGE: usize = 1 << 24;

/// Checks that an argument begins in memory that the driver knows. The driver also copies from other memory of the host, and then waits.
fn check_memory(argument: &Described) -> Result {
    let Some(Block { rows, .. }) = argument.region.blocks().next() else { return Ok(()) };
    let mut kind: c_uint = 0;
    call!(cuPointerGetAttribute((&raw mut kind).cast(), CU_POINTER_ATTRIBUTE_MEMORY_TYPE, rows.address))
}

/// Checks that a large argument lies in one allocation.
fn check_range(argument: &Described) -> Result {
    if argument.region.size() < LARGE {
        return Ok(());
    }
    argument.region.blocks().try_for_each(|Block { rows, .. }| {
        let (mut start, mut size) = (0_u64, 0_usize);
        call!(cuMemGetAddressRange_v2(&mut start, &mut size, rows.address))?;
        let span = (rows.height - 1).saturating_mul(rows.pitch).saturating_add(rows.width);
        let inside = rows.address.wrapping_sub(start) as usize;
        let fits = inside.checked_add(span).is_some_and(|end| end <= size);
        if fits { Ok(()) } else { Err(Error::Driver("cuMemGetAddressRange", CUresult::CUDA_ERROR_INVALID_VALUE)) }
    })
}

/// Gives a work to a graph, which frees it at its end.
fn keep(graph: CUgraph, work: *mut c_void) -> Result {
    let mut object = CUuserObject::default();
    call!(cuUserObjectCreate(&mut object, work, Some(work::drop_work), 1, NO_DESTRUCTOR_SYNC))
        // SAFETY: there is no object, so nothing else has the box.
        .inspect_err(|_| unsafe { work::drop_work(work) })?;
    call!(cuGraphRetainUserObject(graph, object, 1, MOVE)).inspect_err(|_| drop(call_release(object)))
}

fn call_release(object: CUuserObject) -> Result {
    call!(cuUserObjectRelease(object, 1))
}

fn launch(stream: CUstream, function: unsafe extern "C" fn(*mut c_void), data: *mut c_void) -> Result {
    call!(cuLaunchHostFunc(stream, Some(function), data))
}

/// Copies rows of bytes at any two addresses, in a stream; without one, the call waits for the copy, as `cuMemcpy2D` does.
///
/// # Errors
/// The driver's.
pub fn copy_rows(from: Rows, to: Rows, stream: Option<CUstream>) -> Result {
    call!(cuInit(0))?;
    let (width, height) = (from.width, from.height);
    let pitch = |rows: Rows| if rows.height == 1 { width } else { rows.pitch };
    let copy = unified((from.address, pitch(from)), (to.address, pitch(to)), (width, height));
    match stream {
        Some(stream) => call!(cuMemcpy2DAsync_v2(&copy, stream)),
        None => call!(cuMemcpy2DUnaligned_v2(&copy)),
    }
}

/// Copies an argument between the device and staging memory.
fn copy(argument: &Described, base: usize, stream: CUstream, to_host: bool) -> Result {
    for Block { rows, offset, pitch } in argument.region.blocks() {
        let host = base + argument.offset + offset;
        let is_dense = rows.height == 1 || (rows.pitch == rows.width && pitch == rows.width);
        if is_dense {
            copy_row(rows.address, host, rows.width * rows.height, stream, to_host)?;
        } else if rows.pitch >= rows.width && rows.pitch <= LARGEST_PITCH && pitch <= LARGEST_PITCH {
            let (device, host) = ((rows.address, rows.pitch), (host as u64, pitch));
            let (from, to) = if to_host { (device, host) } else { (host, device) };
            let copy = unified(from, to, (rows.width, rows.height));
            call!(cuMemcpy2DAsync_v2(&copy, stream))?;
        } else {
            for row in 0..rows.height {
                let address = rows.address + (row * rows.pitch) as u64;
                copy_row(address, host + row * pitch, rows.width, stream, to_host)?;
            }
        }
    }
    Ok(())
}

fn copy_row(device: u64, host: usize, bytes: usize, stream: CUstream, to_host: bool) -> Result {
    let host = host as u64;
    let (to, from) = if to_host { (host, device) } else { (device, host) };
    call!(cuMemcpyAsync(to, from, bytes, stream))
}

/// A copy between two addresses with their pitches.
fn unified(
    (from, from_pitch): (u64, usize),
    (to, to_pitch): (u64, usize),
    (width, height): (usize, usize),
) -> CUDA_MEMCPY2D {
    CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: CU_MEMORYTYPE_UNIFIED,
        srcHost: ptr::null(),
        srcDevice: from,
        srcArray: CUarray::default(),
        srcPitch: from_pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: CU_MEMORYTYPE_UNIFIED,
        dstHost: ptr::null_mut(),
        dstDevice: to,
        dstArray: CUarray::default(),
        dstPitch: to_pitch,
        WidthInBytes: width,
        Height: height,
    }
}

impl Error {
    /// Whether the driver has refused an argument.
    pub fn is_invalid_value(&self) -> bool {
        matches!(self, Error::Driver(_, CUresult::CUDA_ERROR_INVALID_VALUE))
    }
}
