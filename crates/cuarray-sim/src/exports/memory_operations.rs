//! Stream memory operations.
//!
//! Driver API: [stream memory operations](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEMOP.html).

use super::stream::stream;
use super::transfer::submit;
use super::*;
use crate::capture;
use crate::execution::progress;
use crate::happens_before::calls as refusals;
use crate::objects::allocation::{Declared, Kind};
use crate::objects::graph_data::Action;
use crate::objects::memory_operation::{Batch, MemoryOperation};
use crate::objects::work::Work;
use crate::state::State;
use crate::work::{allocations, mappings};

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
/// The number of operations that a batch may not reach.
const LONGEST: usize = 256;

/// Checks that the operations of a context can access their words.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for a word outside of all allocations, in managed memory, or in memory that the context
/// cannot access.
pub(super) fn check(state: &mut State, context: CUcontext, operations: &[MemoryOperation]) -> Result<(), CUresult> {
    for operation in operations {
        let Some(word) = operation.word() else { continue };
        let access = operation.access();
        if !mappings::is_open_to(state, context, word.address, word.size, access) {
            let device = state.contexts.get(&context).map_or(0, |context| context.device as i32);
            refusals::closed(state, access, word.address, word.size, device);
            return Err(INVALID_VALUE);
        }
        let known = state.memory.find(word.address).map(|allocation| matches!(allocation.kind, Kind::Managed { .. }));
        let side = allocations::side(state, word.address, word.size, Declared::Unified, access);
        if known.is_none() || side.is_err() {
            refusals::refused(state, access, word.address, word.size);
            return Err(INVALID_VALUE);
        }
        if known == Some(true) {
            return Err(INVALID_VALUE);
        }
    }
    Ok(())
}

/// The operations of a batch, and their parameters.
///
/// # Errors
/// Those of [`MemoryOperation::of`]; `CUDA_ERROR_INVALID_VALUE` for a null list and a list that is too long.
///
/// # Safety
/// `params` is null, or points at `count` elements.
pub(super) unsafe fn batch(
    params: *const CUstreamBatchMemOpParams,
    count: c_uint,
    first_version: bool,
) -> Result<(Vec<MemoryOperation>, Vec<[u64; 6]>), CUresult> {
    let count = usize::try_from(count).ok().filter(|count| *count < LONGEST).ok_or(INVALID_VALUE)?;
    if count > 0 && params.is_null() {
        return Err(INVALID_VALUE);
    }
    let mut operations = Vec::with_capacity(count);
    let mut given = Vec::with_capacity(count);
    for index in 0..count {
        // SAFETY: by this function's contract; the elements may be unaligned, and every bit pattern is valid.
        let (element, words) =
            unsafe { (params.add(index).read_unaligned(), params.add(index).cast::<[u64; 6]>().read_unaligned()) };
        operations.push(MemoryOperation::of(&element, first_version)?);
        given.push(words);
    }
    Ok((operations, given))
}

/// Enqueues operations in a stream, or captures them as one node.
fn enqueue(
    call: &Call<'_>,
    stream: CUstream,
    (operations, params): (Vec<MemoryOperation>, Vec<[u64; 6]>),
) -> Result<(), CUresult> {
    let (mut state, handle) = self::stream(call, stream)?;
    let context = state.streams.get(&handle).map(|stream| stream.context).unwrap_or_default();
    check(&mut state, context, &operations)?;
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
        pub(super) unsafe fn $symbol(
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

pub(super) unsafe fn cuStreamBatchMemOp(
    call: &Call<'_>,
    stream: CUstream,
    count: c_uint,
    param_array: *mut CUstreamBatchMemOpParams,
    flags: c_uint,
) -> Result<(), CUresult> {
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller's list, by the driver's contract.
    enqueue(call, stream, unsafe { batch(param_array, count, true)? })
}

pub(super) unsafe fn cuStreamBatchMemOp_v2(
    call: &Call<'_>,
    stream: CUstream,
    count: c_uint,
    param_array: *mut CUstreamBatchMemOpParams,
    flags: c_uint,
) -> Result<(), CUresult> {
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller's list, by the driver's contract.
    enqueue(call, stream, unsafe { batch(param_array, count, false)? })
}
