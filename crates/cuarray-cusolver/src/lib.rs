//! cuSOLVER's dense interface and its equations with sparse matrices, computed on the host in the order of streams.
//!
//! The crates `cuarray-cusolver-11` and `cuarray-cusolver-12` are the shared libraries `libcusolver.so.11` and `libcusolver.so.12`: the
//! functions of [`api`] under their C names, which [`entry_points`](crate::__entry_points) lists. A function checks its arguments, describes
//! the bytes that it reads and writes, and enqueues a closure that computes ([`cuarray_stream_work`]).
//!
//! All arithmetic is in double precision, real or complex, and results are rounded to the type of the call. Each algorithm is so compiled
//! for two types and not for four, which halves the library. Products, Cholesky factors, singular values and eigenvalues are those of the
//! crate `faer`. LU and QR factors are made here by blocks, because their pivots and reflectors are those of LAPACK.
// Names and parameters are cuSOLVER's.
#![allow(non_snake_case, clippy::too_many_arguments)]
#![recursion_limit = "256"]

pub mod types;

mod approximate;
mod arguments;
mod bidiagonal;
mod cholesky;
mod eigen;
mod entry_points;
mod exports;
mod general_eigen;
mod generalized;
mod handle;
mod indefinite;
mod jacobi;
mod lu;
mod management;
mod matrix;
mod qr;
mod refined;
mod refinement;
mod reflectors;
mod report;
mod scalar;
mod sparse;
mod sparse_eigen;
mod sparse_factors;
mod status;
mod svd;
mod tridiagonal;
mod typed;
mod typed_symmetric;

pub use exports::api;
pub use status::refuse;
