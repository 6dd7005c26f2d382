//! Fills of raw memory: one element, written many times.
//!
//! A fill takes an optional stream, as [copies](super::copy) do. Without one, the driver's own form is called, which is ordered
//! before all later work of the default stream; for device memory the host does not wait. A fill of 0 bytes makes no call.
//!
//! Driver API: [memory management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).

use super::{Context, Stream, call, copy::in_context};
use crate::{DevicePtr, Error, Result};

/// Writes the bytes of `element` `count` times in a row, starting at `dst`.
///
/// # Errors
/// [`Error::is_unsupported`]: the driver cannot fill with the element. It accepts elements of 1, 2 or 4 bytes, and elements of any
/// length whose bytes are all equal, such as zero. `CUDA_ERROR_INVALID_VALUE`: `dst` is not aligned to the element.
///
/// # Safety
/// `dst` is valid for writes of `count` elements until the fill is done, and no other work uses them meanwhile. `stream` belongs to
/// `context`.
///
/// Driver API: [`cuMemsetD8`, `cuMemsetD16`,
/// `cuMemsetD32`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
pub unsafe fn fill_bytes(
    context: &Context,
    dst: DevicePtr,
    element: &[u8],
    count: usize,
    stream: Option<&Stream>,
) -> Result<()> {
    let Some(len) = element.len().checked_mul(count) else {
        return Err(Error::argument(format!("{count} elements of {} bytes exceed the address space", element.len())));
    };
    let &[first, ..] = element else { return Ok(()) };
    if count == 0 {
        return Ok(());
    }
    let driver = context.driver();
    in_context(context, stream, || match (element, stream.map(Stream::cu_stream)) {
        (_, stream) if element.iter().all(|byte| *byte == first) => match stream {
            // SAFETY: this function's contract.
            Some(stream) => unsafe { call!(driver, cuMemsetD8Async(dst, first, len, stream)) },
            // SAFETY: this function's contract.
            None => unsafe { call!(driver, cuMemsetD8_v2(dst, first, len)) },
        },
        (&[a, b], stream) => {
            let value = u16::from_ne_bytes([a, b]);
            match stream {
                // SAFETY: this function's contract.
                Some(stream) => unsafe { call!(driver, cuMemsetD16Async(dst, value, count, stream)) },
                // SAFETY: this function's contract.
                None => unsafe { call!(driver, cuMemsetD16_v2(dst, value, count)) },
            }
        }
        (&[a, b, c, d], stream) => {
            let value = u32::from_ne_bytes([a, b, c, d]);
            match stream {
                // SAFETY: this function's contract.
                Some(stream) => unsafe { call!(driver, cuMemsetD32Async(dst, value, count, stream)) },
                // SAFETY: this function's contract.
                None => unsafe { call!(driver, cuMemsetD32_v2(dst, value, count)) },
            }
        }
        _ => Err(no_such_fill(element)),
    })
}

/// Writes the bytes of `element` into `height` rows of `width` elements each; row starts are `pitch` bytes apart.
///
/// # Errors
/// As [`fill_bytes`]. `CUDA_ERROR_INVALID_VALUE` also if the pitch is no multiple of the element's length, or below the row's
/// length.
///
/// # Safety
/// As [`fill_bytes`], for every row.
///
/// Driver API: [`cuMemsetD2D8`, `cuMemsetD2D16`, `cuMemsetD2D32`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html).
pub(crate) unsafe fn fill_rows(
    context: &Context,
    dst: DevicePtr,
    pitch: usize,
    element: &[u8],
    width: usize,
    height: usize,
    stream: Option<&Stream>,
) -> Result<()> {
    let Some(len) = element.len().checked_mul(width) else {
        return Err(Error::argument(format!("{width} elements of {} bytes exceed the address space", element.len())));
    };
    let &[first, ..] = element else { return Ok(()) };
    if width == 0 || height == 0 {
        return Ok(());
    }
    let driver = context.driver();
    in_context(context, stream, || match (element, stream.map(Stream::cu_stream)) {
        (_, stream) if element.iter().all(|byte| *byte == first) => match stream {
            // SAFETY: this function's contract.
            Some(stream) => unsafe { call!(driver, cuMemsetD2D8Async(dst, pitch, first, len, height, stream)) },
            // SAFETY: this function's contract.
            None => unsafe { call!(driver, cuMemsetD2D8_v2(dst, pitch, first, len, height)) },
        },
        (&[a, b], stream) => {
            let value = u16::from_ne_bytes([a, b]);
            match stream {
                // SAFETY: this function's contract.
                Some(stream) => unsafe { call!(driver, cuMemsetD2D16Async(dst, pitch, value, width, height, stream)) },
                // SAFETY: this function's contract.
                None => unsafe { call!(driver, cuMemsetD2D16_v2(dst, pitch, value, width, height)) },
            }
        }
        (&[a, b, c, d], stream) => {
            let value = u32::from_ne_bytes([a, b, c, d]);
            match stream {
                // SAFETY: this function's contract.
                Some(stream) => unsafe { call!(driver, cuMemsetD2D32Async(dst, pitch, value, width, height, stream)) },
                // SAFETY: this function's contract.
                None => unsafe { call!(driver, cuMemsetD2D32_v2(dst, pitch, value, width, height)) },
            }
        }
        _ => Err(no_such_fill(element)),
    })
}

#[cold]
fn no_such_fill(element: &[u8]) -> Error {
    Error::unsupported(format!(
        "the driver cannot fill memory with an element of {} bytes, unless all are equal; it takes 1, 2 or 4",
        element.len()
    ))
}
