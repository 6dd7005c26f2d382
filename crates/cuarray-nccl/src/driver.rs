//! The driver: opened by name at run time; contexts, events, copies and launches of a rank.

use crate::kernel;
use crate::result::{Error, Outcome, ncclResult_t};
use crate::types::{DataType, Reduce};
use cuarray_abi::{
    Api, CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUmodule, CUresult, CUstream, CUstreamCaptureStatus,
};
use std::collections::HashMap;
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: c_uint = 2;
/// The handle of the calling thread's default stream.
const PER_THREAD_STREAM: CUstream = CUstream(2);
const BLOCK: u64 = 256;

/// The driver of the process.
fn api() -> Outcome<&'static Api> {
    static API: OnceLock<Option<Api>> = OnceLock::new();
    let open = || {
        // SAFETY: the name is a string; the initializers of a driver are the process's own choice.
        let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
        // SAFETY: the library is open and never closed; its documented symbols have the documented signatures.
        (!library.is_null())
            .then(|| unsafe { Api::resolve_with(|symbol: &CStr| libc::dlsym(library, symbol.as_ptr()).cast_const()) })
    };
    API.get_or_init(open).as_ref().ok_or_else(|| Error {
        result: ncclResult_t::SYSTEM_ERROR,
        message: "there is no CUDA driver, libcuda.so.1".to_owned(),
    })
}

fn checked(function: &str, result: CUresult) -> Outcome {
    if result.is_success() {
        return Ok(());
    }
    let name = result.name().map_or_else(|| format!("{result:?}"), str::to_owned);
    Err(Error { result: ncclResult_t::UNHANDLED_CUDA_ERROR, message: format!("{function} answers {name}") })
}

/// Calls a function of the driver.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {
        match api()?.$name {
            // SAFETY: the pointers among the arguments point to live variables of the documented types.
            Some(function) => checked(stringify!($name), unsafe { function($($argument),*) }),
            None => Err(Error {
                result: ncclResult_t::SYSTEM_ERROR,
                message: concat!("the driver has no ", stringify!($name)).to_owned(),
            }),
        }
    };
}

/// The device and the context of a rank, with the objects that it keeps there.
pub(crate) struct Rank {
    pub(crate) device: c_int,
    context: CUcontext,
    /// The device whose primary context this rank retains.
    retained: Option<CUdevice>,
    /// Recorded when the rank's stream reaches an operation that reads the rank's buffer.
    ready: CUevent,
    /// Recorded after the rank has read the buffers of others.
    done: CUevent,
    kernels: Mutex<HashMap<(DataType, Reduce), (CUmodule, CUfunction)>>,
}

impl Rank {
    /// A rank on the current device. Without a current context, that is the primary context of device 0, as for the CUDA runtime.
    pub(crate) fn current() -> Outcome<Self> {
        call!(cuInit(0))?;
        let mut context = CUcontext::default();
        call!(cuCtxGetCurrent(&mut context))?;
        if context.is_null() {
            return Self::of_device(0);
        }
        let mut device = CUdevice::default();
        call!(cuCtxGetDevice(&mut device))?;
        Self::new(device, context, None)
    }

    /// A rank on the primary context of a device.
    pub(crate) fn of_device(number: c_int) -> Outcome<Self> {
        call!(cuInit(0))?;
        let mut device = CUdevice::default();
        call!(cuDeviceGet(&mut device, number))?;
        let mut context = CUcontext::default();
        call!(cuDevicePrimaryCtxRetain(&mut context, device))?;
        Self::new(number, context, Some(device))
    }

    /// Another rank on this rank's device and context.
    pub(crate) fn again(&self) -> Outcome<Self> {
        match self.retained {
            Some(device) => Self::of_device(device),
            None => Self::new(self.device, self.context, None),
        }
    }

    fn new(device: c_int, context: CUcontext, retained: Option<CUdevice>) -> Outcome<Self> {
        let mut rank =
            Self { device, context, retained, ready: CUevent::NULL, done: CUevent::NULL, kernels: Mutex::default() };
        let (mut ready, mut done) = (CUevent::NULL, CUevent::NULL);
        let made = rank.within(|| {
            call!(cuEventCreate(&mut ready, DISABLE_TIMING))?;
            call!(cuEventCreate(&mut done, DISABLE_TIMING))
        });
        (rank.ready, rank.done) = (ready, done);
        made.inspect_err(|_| rank.destroy()).map(|()| rank)
    }

    /// Runs calls with the rank's context as the current one.
    fn within<T>(&self, calls: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        call!(cuCtxPushCurrent_v2(self.context))?;
        let outcome = calls();
        let mut popped = CUcontext::default();
        let restored = call!(cuCtxPopCurrent_v2(&mut popped));
        let value = outcome?;
        restored.map(|()| value)
    }

    fn kernel(&self, datatype: DataType, operation: Reduce) -> Outcome<CUfunction> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, function)) = kernels.get(&(datatype, operation)) {
            return Ok(*function);
        }
        let text = kernel::ptx(datatype, operation);
        let (mut module, mut function) = (CUmodule::default(), CUfunction::default());
        call!(cuModuleLoadData(&mut module, text.as_ptr().cast()))?;
        call!(cuModuleGetFunction(&mut function, module, kernel::NAME.as_ptr()))?;
        kernels.insert((datatype, operation), (module, function));
        Ok(function)
    }

    /// Waits for the rank's operations and frees its objects. A context that is gone has freed them.
    pub(crate) fn destroy(&self) {
        let kernels = std::mem::take(&mut *self.kernels.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = self.within(|| {
            for event in [self.ready, self.done] {
                call!(cuEventSynchronize(event))?;
                call!(cuEventDestroy_v2(event))?;
            }
            kernels.values().try_for_each(|(module, _)| call!(cuModuleUnload(*module)))
        });
        if let Some(device) = self.retained {
            let _ = release(device);
        }
    }
}

fn release(device: CUdevice) -> Outcome {
    call!(cuDevicePrimaryCtxRelease_v2(device))
}

/// A rank's stream.
pub(crate) struct Lane<'a> {
    pub(crate) rank: &'a Rank,
    pub(crate) stream: CUstream,
    /// Whether the calling thread has chosen the stream.
    pub(crate) is_of_this_thread: bool,
}

impl Lane<'_> {
    /// The capture that the stream is part of.
    pub(crate) fn capture(&self) -> Outcome<Option<u64>> {
        if self.stream == PER_THREAD_STREAM && !self.is_of_this_thread {
            return Err(Error::usage(
                "the per-thread default stream of another thread cannot be used; pass a stream that was created",
            ));
        }
        self.rank.within(|| {
            let mut status = CUstreamCaptureStatus::default();
            let mut id = 0;
            call!(cuStreamGetCaptureInfo(self.stream, &mut status, &mut id))?;
            Ok((status != CUstreamCaptureStatus::default()).then_some(id))
        })
    }

    pub(crate) fn record_ready(&self) -> Outcome {
        self.rank.within(|| call!(cuEventRecord(self.rank.ready, self.stream)))
    }

    pub(crate) fn record_done(&self) -> Outcome {
        self.rank.within(|| call!(cuEventRecord(self.rank.done, self.stream)))
    }

    /// Orders the stream after the point where another has its buffer ready.
    pub(crate) fn wait_until_ready(&self, other: &Lane<'_>) -> Outcome {
        self.rank.within(|| call!(cuStreamWaitEvent(self.stream, other.rank.ready, 0)))
    }

    /// Orders the stream after the point where another has read the buffer of this one.
    pub(crate) fn wait_until_done(&self, other: &Lane<'_>) -> Outcome {
        self.rank.within(|| call!(cuStreamWaitEvent(self.stream, other.rank.done, 0)))
    }

    /// Copies from the memory of a rank to this rank's memory.
    pub(crate) fn copy(&self, to: u64, from: &Rank, address: u64, bytes: usize) -> Outcome {
        if bytes == 0 || to == address {
            return Ok(());
        }
        self.rank.within(|| {
            if from.context == self.rank.context {
                call!(cuMemcpyDtoDAsync_v2(to, address, bytes, self.stream))
            } else {
                call!(cuMemcpyPeerAsync(to, self.rank.context, address, from.context, bytes, self.stream))
            }
        })
    }

    /// Allocates memory in the order of the stream.
    pub(crate) fn allocate(&self, bytes: usize) -> Outcome<u64> {
        let mut address = CUdeviceptr::default();
        self.rank.within(|| call!(cuMemAllocAsync(&mut address, bytes, self.stream)))?;
        Ok(address)
    }

    /// Frees memory in the order of the stream.
    pub(crate) fn free(&self, address: u64) -> Outcome {
        self.rank.within(|| call!(cuMemFreeAsync(address, self.stream)))
    }

    /// Launches the kernel that reduces `ranks` blocks of `count` elements.
    pub(crate) fn reduce(
        &self,
        datatype: DataType,
        operation: Reduce,
        to: u64,
        from: u64,
        count: usize,
        ranks: usize,
    ) -> Outcome {
        let (mut to, mut from, mut ranks) = (to, from, ranks as u32);
        let mut stride = (count * datatype.size()) as u64;
        let mut count = count as u64;
        let grid = c_uint::try_from(count.div_ceil(BLOCK)).map_err(|_| Error::argument("too many elements"))?;
        let mut parameters: [*mut c_void; 5] = [
            (&raw mut to).cast(),
            (&raw mut from).cast(),
            (&raw mut stride).cast(),
            (&raw mut count).cast(),
            (&raw mut ranks).cast(),
        ];
        self.rank.within(|| {
            let function = self.rank.kernel(datatype, operation)?;
            call!(cuLaunchKernel(
                function,
                grid,
                1,
                1,
                BLOCK as c_uint,
                1,
                1,
                0,
                self.stream,
                parameters.as_mut_ptr(),
                ptr::null_mut(),
            ))
        })
    }
}

/// Allocates memory of the current context.
pub(crate) fn allocate(bytes: usize) -> Outcome<u64> {
    let mut address = CUdeviceptr::default();
    call!(cuMemAlloc_v2(&mut address, bytes))?;
    Ok(address)
}

/// Frees memory that `allocate` made.
pub(crate) fn free(address: u64) -> Outcome {
    call!(cuMemFree_v2(address))
}
