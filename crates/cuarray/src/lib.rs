//! The CUDA Array Interface in Rust: GPU arrays between libraries, without copying.
//!
//! Python's GPU libraries hand arrays to each other through one attribute, `__cuda_array_interface__`: a dictionary with a
//! pointer, a shape, a type, strides and a stream. This crate reads, checks and writes that dictionary. It also does the work
//! around an exchange: it orders streams, keeps owners alive, finds the device and copies any layout.
//!
//! An array on a GPU differs from an array on the host. Work that is already enqueued in a stream may write its memory *later*.
//! Such work may read the memory after every owner has dropped the array. The host cannot read the memory directly, and the library
//! that made it may not be written in Rust. So this crate gives out no slices, and the borrow checker cannot see every access.
//! A **guard** takes the place of a reference: it is the right to enqueue work on an array in one stream. That work is ordered
//! after all earlier work on the array and before all later work. The address of an array is only available through a guard.
//! Types carry the checks made once: a [`Layout`] cannot overflow, a [`StreamEntry`] cannot be 0, a view keeps its owner alive.
//!
//! The crate has layers, and each is usable without the layers above it:
//!
//! | layer | contents | needs |
//! |---|---|---|
//! | protocol | [`TypeStr`], [`NamedType`], [`Descr`], [`Layout`], [`StreamEntry`], [`Interface`] | nothing: plain data |
//! | driver | [`Driver`], [`Device`], [`Context`], [`Stream`], [`Event`], [`driver::Allocation`], [`kernel::Module`] | a CUDA driver, found at run time |
//! | arrays | [`RawView`], [`TypedView`], [`Acquired`], [`AcquiredMut`], [`DeviceArray`], [`sync`], [`CArray`] | the same |
//! | `python` (a feature) | arguments and results of extensions; the classes and functions of the Python package | Python, through PyO3 |
//!
//! # Host and device equivalents
//!
//! | ndarray and rust-numpy | cuarray | difference |
//! |---|---|---|
//! | `numpy.ndarray`, `__array_interface__` | any library's array, `__cuda_array_interface__` | [`Interface`] holds the dictionary's content: plain data, no owner |
//! | `PyReadonlyArray2<f32>`, an argument | `python::DeviceView2<f32>` | checked and kept alive, but *not yet ordered*: no pointer yet |
//! | `PyReadwriteArray2<f32>` | `python::DeviceViewMut2<f32>` | a read-only array is refused as an argument |
//! | `ArrayView2<f32>`: a pointer, a shape, strides | [`TypedView<f32, Ix2>`](TypedView), or untyped [`RawView`] | strides are bytes, of either sign, and need not be multiples of the item size ([`Layout`]) |
//! | `&array`, `array.as_array()` | [`TypedView::acquire`], an [`Acquired`] | for one stream; several may read |
//! | `&mut array`, `array.as_array_mut()` | [`TypedView::acquire_mut`], an [`AcquiredMut`] | one at a time, by the borrow checker |
//! | `Ix1`, `Ix2`, `IxDyn` | [`Ix1`], [`Ix2`], [`IxDyn`] | the layout is a type too: [`CContiguous`], [`FContiguous`], [`AnyLayout`] |
//! | the end of a borrow | [`Acquired::release`], or the drop | adds an edge back to the producer's stream; the host does not wait |
//! | `numpy::Element`, `f32`, `Complex<f32>` | [`Element`], `f32`, [`Complex`] | `bool` is [`Bool8`]: a device may have written any byte |
//! | a structured type | [`element!`] | C padding, which other libraries see as unnamed fields |
//! | `Array`, `Array::uninit`, `PyArray::from_vec` | [`DeviceArray`], [`DeviceArray::empty`], [`DeviceArray::from_host`] | freed when the work on it is done, not when it is dropped |
//! | `slice!`, `t()`, `broadcast`, `into_shape` | [`Layout::index`], [`Layout::transpose`], [`Layout::broadcast_to`], [`Layout::reshape`] | they change layouts; no element moves |
//! | `axis_iter`, `rows`, `to_shape` | [`DeviceArray::axis_iter`], [`DeviceArray::rows`], [`DeviceArray::to_shape`] | each part has its own guards; a copy is made on the device |
//! | `to_owned()`, `assign()` | [`driver::copy`] | contiguous bytes; [`DeviceArray::from_host`] and [`DeviceArray::to_host`] copy whole arrays |
//! | the conversion to an `Array` and from one | `DeviceArray::to_ndarray`, `from_ndarray`, with the feature `ndarray` | views of a [`PinnedArray`] too: `as_ndarray` |
//! | a buffer for input and output | [`PinnedArray`] | lent to a copy, and returned after it: [`PinnedCopy`] |
//! | `mapv`, a loop, `rayon` | [`Context::kernel`], [`Function::launch`](kernel::Function::launch) | a kernel from PTX; arrays go in as guards |
//! | a thread, `join()` | [`Stream`], [`Event`], [`Stream::synchronize`] | one stream waits for another without the host ([`sync::edge`]) |
//! | the base object of an array | [`Owner`], [`RawDeviceArray::from_owner`] | any object that keeps the memory alive |
//! | `NonNull`, a dangling pointer | [`DevicePtr`], a `u64` | never a Rust pointer, and never read on the host |
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
//! Building needs no CUDA toolkit and starting needs no driver: [`Driver::load`] looks for a driver when it is called. On a machine
//! without one it returns an [`Error`] that lists the paths it tried. Every object releases its resource when it is dropped.
//!
//! ```
//! use cuarray::{Driver, Stream, driver::{Allocation, copy}};
//!
//! # cuarray::__simulated!(driver);
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
//! # Ok::<(), cuarray::Error>(())
//! ```
//!
//! # An array and a kernel
//!
//! ```
//! use cuarray::{DeviceArray, Driver, Ix1, Stream, kernel::LaunchConfig};
//!
//! # cuarray::__simulated!(driver);
//! let context = driver.default_context()?;
//! let (home, work) = (Stream::non_blocking(&context)?, Stream::non_blocking(&context)?);
//!
//! // This crate allocates the array. An array of another library is an `Interface` with an owner (`RawView::new`), or a Python argument.
//! let mut numbers = DeviceArray::<u32, _>::empty([32], &home)?;
//!
//! let kernel = context.kernel(
//!     ".version 8.0
//!      .target sm_80
//!      .address_size 64
//!      .visible .entry count(.param .u64 to)
//!      {
//!          .reg .b32 %r; .reg .b64 %rd<3>;
//!          ld.param.u64 %rd1, [to];
//!          mov.u32 %r, %tid.x;
//!          mul.wide.u32 %rd2, %r, 4;
//!          add.u64 %rd1, %rd1, %rd2;
//!          st.global.u32 [%rd1], %r;
//!          ret;
//!      }",
//!     "count",
//! )?;
//!
//! let mut array = numbers.acquire_mut(&work)?; // `work` waits for `home`
//! // SAFETY: the kernel writes 32 numbers, and the array has as many.
//! unsafe { kernel.launch(&work, LaunchConfig::new([1, 1, 1], [32, 1, 1]), (&mut array,)) }?;
//! array.release()?; // `home` waits for `work`
//! assert_eq!(numbers.acquire(&home)?.copy_to_host()?, (0..32).collect::<Vec<u32>>());
//! # Ok::<(), cuarray::Error>(())
//! ```
//!
//! # Guarantees
//!
//! - No input causes a panic, an overflow or an out-of-bounds read. An [`Error`] names the key, the wrong value and the remedy.
//! - Safe code cannot make a race on an array of this crate, or use its memory after it is freed; a leaked guard costs a wait at most. The
//!   page *Limits of safe code* of the guide says how, and lists what is outside: other libraries' use of an address, and graphs
//!   that are launched later.
//! - A function is `unsafe` only where it relies on facts that cannot be checked: a foreign address or stream is alive, or a kernel is correct.
//! - Contexts are pushed and popped, never left set. A driver is loaded once and never unloaded. No destructor panics.
//! - Public items name types of other crates only behind features: PyO3's behind `python`, half's behind `half`, ndarray's behind `ndarray`.
//! - Rust 1.88 or later. A release that needs a later Rust raises the minor version.

#![cfg_attr(docsrs, feature(doc_cfg))]
// Part of the machinery is used by the Python side only.
#![cfg_attr(not(feature = "python"), allow(dead_code, unused_imports))]

mod array;
mod copy;
pub mod driver;
mod error;
mod exchange;
mod interpreter;
pub mod kernel;
mod lock;
mod owner;
mod protocol;
#[cfg(feature = "python")]
pub mod python;
pub mod sync;
#[cfg(test)]
mod tests;

// The tests inside and outside of the crate share a fixture, which names the crate as users do.
#[cfg(test)]
extern crate self as cuarray;

#[cfg(feature = "ndarray")]
pub use array::host_ndarray::NdarrayDimension;
pub use array::{
    axis_iter::RemoveAxis,
    device_array::DeviceArray,
    guard::{Acquired, AcquiredMut},
    pinned::{PinnedArray, PinnedCopy},
    raw::RawDeviceArray,
    view::{RawView, TypedView},
};
pub use driver::{context::Context, device::Device, event::Event, loaded::Driver, stream::Stream};
pub use error::{Error, Result};
pub use exchange::c_interface::CArray;
pub use owner::Owner;
pub use protocol::{
    descr::{Descr, Field, FieldType},
    element::{Bool8, Complex, Element},
    interface::{DevicePtr, Interface, mask::Mask},
    layout::{
        Layout, MAX_NDIM,
        axes::{Axes, Dims, Strides},
        contiguity::{AnyLayout, CContiguous, FContiguous, LayoutPolicy},
        dimension::{Dimension, IntoShape, Ix, Ix0, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6, IxDyn},
        index::{Index, Slice},
        reshape::Order,
        slice::SliceArg,
        view::View,
    },
    stream_entry::StreamEntry,
    typestr::{ByteOrder, Kind, NamedType, TimeUnit, TypeStr},
};

pub(crate) use protocol::version::Version;

/// The content of a [`CArray`], and its C structure.
pub mod c_interface {
    pub use crate::exchange::c_interface::{Described, RawCArray};
}

/// Support for the expansions of [`element!`], [`kernel!`] and [`s!`]. No part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::{
        kernel::signature::{Parameter, Stated, check_signature},
        protocol::{
            element::{Member, field},
            layout::slice::stepped,
            padding::{Place, clear as clear_padding, exists as padding_exists},
        },
    };

    /// Private functions, for the fuzz targets of the repository.
    #[cfg(feature = "_fuzzing")]
    #[allow(missing_docs)]
    pub mod fuzzing {
        pub use crate::copy::strided_copy::CopyPlan;
        use crate::{Descr, DevicePtr, Interface, Layout, Result, TypeStr, View};
        use std::ops::Range;

        pub fn depth(descr: &Descr) -> usize {
            descr.depth()
        }

        pub fn plain_type(descr: &Descr) -> Option<TypeStr> {
            descr.as_plain()
        }

        pub fn export_data(interface: &Interface) -> DevicePtr {
            interface.export_data()
        }

        pub fn byte_extent(layout: &Layout) -> Range<isize> {
            layout.byte_extent()
        }

        pub fn may_overlap_itself(layout: &Layout) -> bool {
            layout.may_overlap_itself()
        }

        pub fn packed(layout: &Layout) -> Result<Layout> {
            layout.packed()
        }

        pub fn split(layout: &Layout, section: usize) -> Result<Vec<View>> {
            layout.split(section)?.collect()
        }

        pub fn squeeze(layout: &Layout) -> Result<Layout> {
            layout.squeeze(None)
        }

        pub fn with_itemsize(layout: &Layout, itemsize: usize) -> Result<Layout> {
            layout.with_itemsize(itemsize)
        }

        pub fn lenient_typestr(text: &str) -> Result<(TypeStr, Option<String>)> {
            TypeStr::from_lenient(text)
        }
    }
}

/// Hidden setup of the examples: a simulated driver, its default context and a stream. It adds nothing to a build.
#[doc(hidden)]
#[macro_export]
macro_rules! __simulated {
    ($driver:ident) => {
        let sim = cuarray_sim::Sim::new(cuarray_sim::Config { quiet: true, ..Default::default() });
        let _entered = sim.enter();
        // SAFETY: the simulator implements the driver API.
        let $driver = unsafe { cuarray::Driver::from_api(sim.api()) }?;
    };
    ($driver:ident, $context:ident) => {
        cuarray::__simulated!($driver);
        let $context = $driver.default_context()?;
    };
    ($driver:ident, $context:ident, $stream:ident) => {
        cuarray::__simulated!($driver, $context);
        let $stream = cuarray::Stream::non_blocking(&$context)?;
    };
}

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
