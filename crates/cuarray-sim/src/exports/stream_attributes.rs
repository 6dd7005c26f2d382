//! Attributes of streams.
//!
//! Driver API: [stream management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html). The priority is
//! the stream's own. The others are kept and returned, because on a GPU too they change no result: a policy of waiting
//! threads, a window of the cache, and the domains of fences.

use super::context::{GREATEST_PRIORITY, LEAST_PRIORITY};
use super::stream::stream;
use super::*;
use crate::objects::stream::Stream;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
/// The attributes that `cuStreamCopyAttributes` copies besides the priority.
const KEPT: [CUlaunchAttributeID; 4] = [
    CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
    CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
];
/// `CU_SYNC_POLICY_AUTO` to `CU_SYNC_POLICY_BLOCKING_SYNC`.
const POLICIES: std::ops::RangeInclusive<u32> = 1..=4;

fn value(word: u64) -> CUlaunchAttributeValue {
    CUlaunchAttributeValue { words: [word, 0, 0, 0, 0, 0, 0, 0] }
}

/// The value of an attribute.
fn attribute(stream: &Stream, attr: CUlaunchAttributeID) -> Result<CUlaunchAttributeValue, CUresult> {
    if attr == CU_LAUNCH_ATTRIBUTE_PRIORITY {
        return Ok(value(u64::from(stream.priority as u32)));
    }
    if !KEPT.contains(&attr) {
        return Err(INVALID_VALUE);
    }
    let initial = if attr == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY { value(1) } else { value(0) };
    Ok(stream.attributes.get(&attr).copied().unwrap_or(initial))
}

/// Checks a value, and stores it.
fn set(stream: &mut Stream, attr: CUlaunchAttributeID, value: CUlaunchAttributeValue) -> Result<(), CUresult> {
    let low = value.words[0] as u32;
    let is_valid = match attr {
        CU_LAUNCH_ATTRIBUTE_PRIORITY => {
            let priority = low as i32;
            if !(GREATEST_PRIORITY..=LEAST_PRIORITY).contains(&priority) {
                return Err(INVALID_VALUE);
            }
            stream.priority = priority;
            return Ok(());
        }
        // The window's size, its second word, is at most CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, which is 0.
        CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW => value.words[1] == 0,
        CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY => POLICIES.contains(&low),
        // Two bytes name domains. The devices have one domain, number 0.
        CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP => low & 0xffff == 0,
        CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN => low <= 1,
        _ => false,
    };
    if !is_valid {
        return Err(INVALID_VALUE);
    }
    stream.attributes.insert(attr, value);
    Ok(())
}

pub(super) unsafe fn cuStreamGetAttribute(
    call: &Call<'_>,
    stream: CUstream,
    attr: CUlaunchAttributeID,
    value_out: *mut CUlaunchAttributeValue,
) -> Result<(), CUresult> {
    present(value_out)?;
    let (state, handle) = self::stream(call, stream)?;
    let stream = state.streams.get(&handle).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    let value = attribute(stream, attr)?;
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(value_out, value) }
}

pub(super) unsafe fn cuStreamSetAttribute(
    call: &Call<'_>,
    stream: CUstream,
    attr: CUlaunchAttributeID,
    value: *const CUlaunchAttributeValue,
) -> Result<(), CUresult> {
    present(value)?;
    let (mut state, handle) = self::stream(call, stream)?;
    // SAFETY: the caller's value, by the driver's contract; it may be unaligned.
    let value = unsafe { value.read_unaligned() };
    set(state.streams.get_mut(&handle).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?, attr, value)
}

pub(super) unsafe fn cuStreamCopyAttributes(call: &Call<'_>, dst: CUstream, src: CUstream) -> Result<(), CUresult> {
    let (state, source) = self::stream(call, src)?;
    let stream = state.streams.get(&source).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    let (context, priority, attributes) = (stream.context, stream.priority, stream.attributes.clone());
    drop(state);
    let (mut state, target) = self::stream(call, dst)?;
    let stream = state.streams.get_mut(&target).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    // By the manual, both streams have the same context.
    if stream.context != context {
        return Err(INVALID_VALUE);
    }
    (stream.priority, stream.attributes) = (priority, attributes);
    Ok(())
}
