//! Stream memory operations.
//!
//! Driver API: [stream memory operations](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEMOP.html).
// Names and parameters are the driver's.
#![allow(non_snake_case)]

use crate::capture;
use crate::driver::Call;
use crate::execution::{progress, submit};
use crate::memory_operations::work::{User, batch, check};
use crate::objects::graph_data::Action;
use crate::objects::memory_operation::{Batch, MemoryOperation};
use crate::objects::work::Work;
use crate::parameters::In;
use crate::stream::lookup::stream;
use cuarray_abi::*;
use std::ffi::c_uint;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
/// Enqueues operations in a stream, or captures them as one node.
fn enqueue(
    call: &Call<'_>,
    stream: CUstream,
    (operations, params): (Vec<MemoryOperation>, Vec<[u64; 6]>),
) -> Result<(), CUresult> {
    let (mut state, handle) = self::stream(call, stream)?;
    let context = state.streams.get(&handle).map(|stream| stream.context).unwrap_or_default();
    let user = if capture::capture_of(&state, handle).is_some() { User::Node } else { User::Stream };
    check(&mut state, context, &operations, user)?;
    let node = || Action::Memory(Box::new(Batch { context, flags: 0, params, operations: operations.clone() }));
    if capture::capture(&mut state, handle, node)? {
        return Ok(());
    }
    for operation in operations {
        state = submit(call, state, handle, Work::Memory(operation), Vec::new())?.0;
    }
    progress::watch(call.driver, &mut state);
    Ok(())
}

/// The element of a batch that describes a single wait or write.
fn single(operation: CUstreamBatchMemOpType, address: CUdeviceptr, value: u64, flags: c_uint) -> [u64; 6] {
    [u64::from(operation), address, value, u64::from(flags), 0, 0]
}

fn wait(
    call: &Call<'_>,
    stream: CUstream,
    (address, size): (CUdeviceptr, u64),
    value: u64,
    flags: c_uint,
) -> Result<(), CUresult> {
    let operation = MemoryOperation::wait(address, size, value, flags)?;
    let kind = if size == 4 { CU_STREAM_MEM_OP_WAIT_VALUE_32 } else { CU_STREAM_MEM_OP_WAIT_VALUE_64 };
    enqueue(call, stream, (vec![operation], vec![single(kind, address, value, flags)]))
}

fn write(
    call: &Call<'_>,
    stream: CUstream,
    (address, size): (CUdeviceptr, u64),
    value: u64,
    flags: c_uint,
    first_version: bool,
) -> Result<(), CUresult> {
    let operation = MemoryOperation::write(address, size, value, flags, first_version)?;
    let kind = if size == 4 { CU_STREAM_MEM_OP_WRITE_VALUE_32 } else { CU_STREAM_MEM_OP_WRITE_VALUE_64 };
    enqueue(call, stream, (vec![operation], vec![single(kind, address, value, flags)]))
}

macro_rules! values {
    ($($symbol:ident $function:ident $ty:ty, $size:literal $(, $first_version:literal)?;)*) => {$(
        pub(crate) fn $symbol(
            call: &Call<'_>,
            stream: CUstream,
            addr: CUdeviceptr,
            value: $ty,
            flags: c_uint,
        ) -> Result<(), CUresult> {
            $function(call, stream, (addr, $size), value.into(), flags $(, $first_version)?)
        }
    )*};
}
values! {
    cuStreamWaitValue32 wait u32, 4;
    cuStreamWaitValue32_v2 wait u32, 4;
    cuStreamWaitValue64 wait u64, 8;
    cuStreamWaitValue64_v2 wait u64, 8;
    cuStreamWriteValue32 write u32, 4, true;
    cuStreamWriteValue32_v2 write u32, 4, false;
    cuStreamWriteValue64 write u64, 8, true;
    cuStreamWriteValue64_v2 write u64, 8, false;
}

/// Enqueues the operations of a list, or captures them as one node.
///
/// # Safety
/// As for [`batch`].
unsafe fn enqueue_batch(
    call: &Call<'_>,
    stream: CUstream,
    list: (In<'_, CUstreamBatchMemOpParams>, c_uint),
    flags: c_uint,
    first_version: bool,
) -> Result<(), CUresult> {
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: this function's contract.
    enqueue(call, stream, unsafe { batch(list.0, list.1, first_version)? })
}

pub(crate) fn cuStreamBatchMemOp(
    call: &Call<'_>,
    stream: CUstream,
    count: c_uint,
    param_array: In<'_, CUstreamBatchMemOpParams>,
    flags: c_uint,
) -> Result<(), CUresult> {
    // SAFETY: the manual gives the list this length.
    unsafe { enqueue_batch(call, stream, (param_array, count), flags, true) }
}

pub(crate) fn cuStreamBatchMemOp_v2(
    call: &Call<'_>,
    stream: CUstream,
    count: c_uint,
    param_array: In<'_, CUstreamBatchMemOpParams>,
    flags: c_uint,
) -> Result<(), CUresult> {
    // SAFETY: the manual gives the list this length.
    unsafe { enqueue_batch(call, stream, (param_array, count), flags, false) }
}
