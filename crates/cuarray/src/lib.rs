//! The CUDA Array Interface in Rust: GPU arrays between libraries, without copying.
//!
//! Python's GPU libraries hand arrays to each other through one attribute, `__cuda_array_interface__`: a dictionary with a
//! pointer, a shape, a type, strides and a stream. This crate reads it, checks it, writes it, and does the work around it
//! that makes an exchange right: ordering streams, keeping owners alive, finding the device, copying any layout.
//!
//! It comes in three layers, each usable without those above it:
//!
//! | layer | what | needs |
//! |---|---|---|
//! | protocol | [`TypeStr`], [`NamedType`], [`Descr`], [`Layout`], [`StreamEntry`], [`Interface`], [`strided_copy`] | nothing: plain data |
//! | driver | [`Driver`], [`Device`], [`Context`], [`Stream`], [`Event`], [`driver::Allocation`], [`order`] | a CUDA driver, found at run time |
//! | `python` (a feature) | the classes and functions of the Python package | Python, through PyO3 |
//!
//! # The protocol
//!
//! ```
//! use cuarray::{Interface, Layout, StreamEntry, TypeStr};
//!
//! let layout = Layout::strided(&[3, 4], &[32, 4], 4)?;
//! let interface = Interface::new(0x7f00_0000_0000, TypeStr::of::<f32>(), layout)?.with_stream(StreamEntry::LegacyDefault);
//! assert!(!interface.layout().is_c_contiguous());
//! assert_eq!(interface.stream().handle(), Some(1));
//! # Ok::<(), cuarray::Error>(())
//! ```
//!
//! # The driver
//!
//! No CUDA toolkit is needed to build and no driver to start: [`Driver::load`] looks for one when it is called, and a machine
//! without one gives an [`Error`] that says what was tried. Everything that is made is released when it is dropped.
//!
//! ```
//! use cuarray::{Driver, Stream, driver::{Allocation, copy}};
//!
//! # fn work(driver: &Driver) -> cuarray::Result<()> {
//! let context = driver.default_context()?;
//! let stream = Stream::new(&context)?;
//! let memory = Allocation::device(&context, 4)?;
//! let (sent, mut received) = ([1u8, 2, 3, 4], [0u8; 4]);
//! // SAFETY: both arrays are 4 bytes long and outlive the copies, which are done once the stream is.
//! unsafe {
//!     copy::copy_host_to_device(&context, memory.device_ptr(), sent.as_ptr(), 4, Some(&stream))?;
//!     copy::copy_device_to_host(&context, received.as_mut_ptr(), memory.device_ptr(), 4, Some(&stream))?;
//! }
//! stream.synchronize()?;
//! assert_eq!(received, sent);
//! # Ok(()) }
//! # let sim = cuarray_sim::Sim::new(cuarray_sim::Config::default());
//! # let _entered = sim.enter();
//! # // SAFETY: the simulator is a driver.
//! # work(&unsafe { Driver::from_api(sim.api()) }?)?;
//! # Ok::<(), cuarray::Error>(())
//! ```

mod axes;
pub mod c_interface;
mod contiguity;
mod descr;
mod device_array;
#[cfg_attr(not(feature = "python"), allow(dead_code))]
mod dlpack;
pub mod driver;
mod element;
pub mod error;
mod guard;
mod host_copy;
mod interface;
mod layout;
mod layout_index;
mod layout_reshape;
mod layout_view;
mod mask;
pub mod order;
mod owner;
#[cfg(feature = "python")]
pub mod python;
mod rank;
#[cfg_attr(not(feature = "python"), allow(dead_code))]
mod repeat;
mod stream_entry;
pub mod strided_copy;
mod typestr;
mod version;
mod view;

pub use axes::{Axes, Dims, Strides};
pub use c_interface::CArray;
pub use contiguity::{AnyLayout, CContiguous, FContiguous, LayoutPolicy};
pub use descr::{Descr, Field, FieldType};
pub use device_array::DeviceArray;
pub use driver::{Context, Device, Driver, Event, Stream};
pub use element::{Bool8, Complex, Element};
pub use error::{Error, Result};
pub use guard::{Acquired, AcquiredMut, Anywhere, Scope, Untyped};
pub use interface::{DevicePtr, Interface};
pub use layout::{Layout, MAX_RANK};
pub use layout_index::{Index, Slice};
pub use layout_reshape::Order;
pub use layout_view::View;
pub use mask::Mask;
pub use owner::Owner;
pub use rank::{Ix, Ix0, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6, IxDyn, Rank};
pub use stream_entry::StreamEntry;
pub use typestr::{ByteOrder, Kind, NamedType, TimeUnit, TypeStr};
pub use version::Version;
pub use view::{RawView, TypedView};

/// What [`element!`] expands to; not for use.
#[doc(hidden)]
pub mod __private {
    pub use crate::element::{Member, field};
}

/// The README's examples are tests too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
