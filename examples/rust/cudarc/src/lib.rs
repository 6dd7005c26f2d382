//! Exchange between cudarc and cuarray: [`consume`] runs a cudarc kernel on any array, [`produce`] exports a `CudaSlice` as an array.

pub mod consume;
pub mod produce;

use cuarray::{Driver, Owner, Stream};
use cudarc::driver::CudaStream;
use std::sync::Arc;

/// The result of a call to either library.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Converts a cudarc stream into a cuarray stream that keeps the cudarc stream alive. cudarc's default stream is CUDA's legacy default stream, handle 0.
pub fn stream(driver: &Driver, stream: &Arc<CudaStream>) -> Stream {
    let handle = stream.cu_stream() as usize;
    // SAFETY: the handle is a stream of the driver, and the owner keeps it alive.
    unsafe { Stream::from_raw(driver, handle, Some(Owner::new(stream.clone()))) }
}
