//! Attributes of streams.
//!
//! Driver API: [stream management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html). The priority is
//! the stream's own. The others are kept and returned, because on a GPU too they change no result
//! ([the table](crate::objects::launch_attributes)).

use crate::driver::Call;
use crate::objects::launch_attributes::{GREATEST_PRIORITY, Holder, LEAST_PRIORITY, check, of_word, value_of};
use crate::objects::stream::Stream;
use crate::parameters::{In, Out};
use crate::stream::lookup::stream;
use cuarray_abi::*;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// The value of an attribute.
fn attribute(stream: &Stream, attr: CUlaunchAttributeID) -> Result<CUlaunchAttributeValue, CUresult> {
    let value = value_of(Holder::Stream, attr, &stream.attributes)?;
    let own = of_word(u64::from(stream.priority as u32), 0);
    Ok(if attr == CU_LAUNCH_ATTRIBUTE_PRIORITY { own } else { value })
}

/// Checks a value, and stores it.
fn set(stream: &mut Stream, attr: CUlaunchAttributeID, value: CUlaunchAttributeValue) -> Result<(), CUresult> {
    check(Holder::Stream, attr, &value)?;
    if attr != CU_LAUNCH_ATTRIBUTE_PRIORITY {
        stream.attributes.insert(attr, value);
        return Ok(());
    }
    let priority = value.words[0] as i32;
    if !(GREATEST_PRIORITY..=LEAST_PRIORITY).contains(&priority) {
        return Err(INVALID_VALUE);
    }
    stream.priority = priority;
    Ok(())
}

pub(crate) fn cuStreamGetAttribute(
    call: &Call<'_>,
    stream: CUstream,
    attr: CUlaunchAttributeID,
    value_out: Out<'_, CUlaunchAttributeValue>,
) -> Result<(), CUresult> {
    value_out.present()?;
    let (state, handle) = self::stream(call, stream)?;
    let stream = state.streams.get(&handle).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
    let value = attribute(stream, attr)?;
    value_out.put(value)
}

pub(crate) fn cuStreamSetAttribute(
    call: &Call<'_>,
    stream: CUstream,
    attr: CUlaunchAttributeID,
    value: In<'_, CUlaunchAttributeValue>,
) -> Result<(), CUresult> {
    value.present()?;
    let (mut state, handle) = self::stream(call, stream)?;
    let value = value.read()?;
    set(state.streams.get_mut(&handle).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?, attr, value)
}

pub(crate) fn cuStreamCopyAttributes(call: &Call<'_>, dst: CUstream, src: CUstream) -> Result<(), CUresult> {
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
