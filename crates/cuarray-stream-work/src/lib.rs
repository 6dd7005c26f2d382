//! Work of a stand-in for a library: a function of the host, in the order of a stream, on exactly the bytes that it names.
//!
//! A stand-in describes each call of its library as a [`Work`]: the arguments that the call reads and writes, with their bytes in device
//! memory, and a closure that computes. [`Place::enqueue`] enqueues copies of the bytes that are read into page-locked memory, a host
//! function that runs the closure there, and copies of the written bytes back. These are documented calls of the driver alone, so the work
//! runs on any driver, a stream capture makes it a part of a graph, and a race detector sees each access.
//!
//! ```no_run
//! use cuarray_stream_work::{LibraryCall, Place, Region, Rows, Work};
//! # fn example(place: &Place, stream: cuarray_abi::CUstream, x: u64, y: u64, n: usize) -> Result<(), cuarray_stream_work::Error> {
//! let _call = LibraryCall::begin(c"libraryDouble");
//! let mut work = Work::new();
//! let x = work.reads(c"x", Rows::of::<f32>(x, n).into());
//! let y = work.writes(c"y", Rows::of::<f32>(y, n).into());
//! place.enqueue(stream, work, move |data| {
//!     let (x, y) = (data.take::<f32>(x), data.take::<f32>(y));
//!     y.iter_mut().zip(x).for_each(|(y, x)| *y = 2.0 * *x);
//! })
//! # }
//! ```
//!
//! The bytes of an argument are a [`Region`]: rows at known addresses, or bytes that values in device memory name. These are [`Pointers`],
//! [`Indexed`] rows, and [`Counted`] elements. A kernel reads the values in stream order and copies exactly these bytes.
//!
//! [`LibraryCall`] gives the calls of the driver the name of the library's function, if the driver is the simulated one. Findings then name
//! it and its arguments at the line of the program. On other drivers it has no effect.

mod data;
mod device;
mod driver;
mod entry;
mod gather;
mod handle;
mod library_call;
mod memory;
mod objects;
mod place;
mod region;
mod staging;
mod work;

pub use data::{Argument, Data, Plain};
pub use device::Device;
pub use driver::{Error, Result};
pub use entry::{Library, Status, c_name, guarded, read, write};
pub use handle::Handle;
pub use library_call::LibraryCall;
pub use memory::Constants;
pub use objects::Objects;
pub use place::{Place, copy_rows, device_count};
pub use region::{Block, Counted, Indexed, Integers, Part, Pointers, Region, Rows};
pub use work::Work;
