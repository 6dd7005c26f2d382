//! cuBLAS's documented interface, computed on the host in the order of streams.
//!
//! The crates `cuarray-cublas-12` and `cuarray-cublas-13` are the shared libraries `libcublas.so.12` and `libcublas.so.13`: the functions of
//! [`api`] under their C names, which [`entry_points`](crate::__entry_points) lists. A function checks its arguments, describes the bytes that
//! it reads and writes, and enqueues a closure that computes ([`cuarray_stream_work`]).
//!
//! Matrices have the layouts of their calls: [`layout`] has the regions of triangles, bands and packed matrices, so a call reads and writes
//! exactly the elements that its documentation names. Products are those of the crate `matrixmultiply`, in [`product`].
// Names and parameters are cuBLAS's.
#![allow(non_snake_case, clippy::too_many_arguments)]
#![recursion_limit = "256"]

pub mod types;

mod arguments;
mod batched;
mod batched_vectors;
mod columns;
mod elements;
mod entry_points;
mod exports;
mod extensions;
mod factors;
mod fp8;
mod gemm;
mod general;
mod handle;
mod layout;
mod level1;
mod level1_typed;
mod level2;
mod level3;
mod level3_typed;
pub mod lt;
mod management;
mod product;
mod qr;
mod ranked;
mod rotation;
mod scalar;
mod status;
mod transfer;
mod triangular;
mod xt;

pub use exports::api;
pub use status::refuse;
