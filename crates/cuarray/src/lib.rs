//! The CUDA Array Interface in Rust.

mod descr;
pub mod driver;
mod element;
pub mod error;
mod interface;
mod layout;
pub mod order;
mod owner;
#[cfg(feature = "python")]
pub mod python;
mod stream_entry;
pub mod strided_copy;
mod typestr;

pub use descr::{Descr, Field, FieldType};
pub use driver::{Context, Device, Driver, Event, Stream};
pub use element::{Bool8, Complex, Element};
pub use error::{Error, Result};
pub use interface::{DevicePtr, Interface, Mask, Version};
pub use layout::{Dims, Layout, MAX_RANK, Strides};
pub use owner::Owner;
pub use stream_entry::StreamEntry;
pub use typestr::{ByteOrder, Kind, TimeUnit, TypeStr};
