//! The binary interface of the CUDA driver: its types, its result codes, and one list of its entry points.
//!
//! Nothing here calls anything. The crate exists so that the library that *calls* a driver and the simulator that *is* one
//! are made from the same text and cannot drift apart: [`entry_points!`] hands every signature to a macro of the caller's,
//! and [`Api`] is the table that both meet at. Names are those of `cuda.h`, so that the driver's manual can be read beside
//! the code.
//!
//! Handles are integers (`#[repr(transparent)]` over `usize`), never pointers: what a driver hands out is opaque, is not
//! ours to read, and may come back to us from any Python program as any number at all.
//!
//! ```
//! use cuarray_abi::{CUresult, ENTRY_POINTS};
//!
//! let alloc = ENTRY_POINTS.iter().find(|entry| entry.name == "cuMemAlloc").unwrap();
//! assert_eq!((alloc.since, alloc.symbol), (3020, "cuMemAlloc_v2"));
//! assert_eq!(CUresult::CUDA_SUCCESS.name(), Some("CUDA_SUCCESS"));
//! ```

mod api;
mod entry_points;
mod result;
mod types;

pub use api::{Api, ENTRY_POINTS, EntryPoint, Flags};
pub use result::CUresult;
pub use types::*;
