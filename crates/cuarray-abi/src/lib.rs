//! The binary interface of the CUDA driver: its types, its result codes, and one list of its entry points.
//!
//! This crate calls no driver. The library *calls* a driver and the simulator *is* one. Both are generated from this
//! list, so their signatures cannot differ. [`entry_points!`] passes every signature to a macro of the caller, and
//! [`Api`] is the table that both sides use. Names are those of `cuda.h`, so that they can be looked up in the
//! driver's manual.
//!
//! Handles are integers (`#[repr(transparent)]` over `usize`), never pointers. A handle is opaque, its target
//! must not be read, and a Python program may pass any number as one.
//!
//! ```
//! use cuarray_abi::{CUresult, ENTRY_POINTS};
//!
//! let alloc = ENTRY_POINTS.iter().find(|entry| entry.name == "cuMemAlloc").unwrap();
//! assert_eq!((alloc.since, alloc.symbol), (3020, "cuMemAlloc_v2"));
//! assert_eq!(CUresult::CUDA_SUCCESS.name(), Some("CUDA_SUCCESS"));
//! ```

mod api;
mod arrays;
mod attributes;
mod copies;
mod diagnostics;
mod entry_points;
mod graphs;
mod memory_operations;
mod resources;
mod result;
mod types;
mod unsupported;

pub use api::{Api, ENTRY_POINTS, EntryPoint, Flags};
pub use arrays::*;
pub use attributes::*;
pub use copies::*;
pub use diagnostics::*;
pub use graphs::*;
pub use memory_operations::*;
pub use resources::*;
pub use result::CUresult;
pub use types::*;
pub use unsupported::{UNSUPPORTED_ENTRY_POINTS, UnsupportedEntryPoint};
