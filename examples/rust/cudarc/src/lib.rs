//! cudarc and cuarray, both ways: [`consume`] takes anybody's array into a kernel of cudarc's; [`produce`] lends a `CudaSlice` as an array.

pub mod consume;
pub mod produce;

use cuarray::{Driver, Owner, Stream};
use cudarc::driver::CudaStream;
use std::sync::Arc;

/// What either library may answer.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// A stream of cudarc's as one of cuarray's, which keeps it. cudarc's default stream is the null handle, which means the legacy one.
pub fn stream(driver: &Driver, stream: &Arc<CudaStream>) -> Stream {
    let handle = stream.cu_stream() as usize;
    // SAFETY: the stream is the driver's, and lives as long as its owner.
    unsafe { Stream::external(driver, handle, Some(Owner::new(stream.clone()))) }
}
