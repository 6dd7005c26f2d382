//! cuSPARSE's documented interface, computed on the host in the order of streams: the shared library `libcusparse.so.12` of CUDA 12 and 13.
//!
//! [`entry_points`] lists the functions. A function checks its arguments, describes the bytes that it reads and writes, and enqueues a
//! closure that computes ([`cuarray_stream_work`]). Handles and descriptors are numbers ([`objects`]).
//!
//! The closure makes a [`pattern`] of the arrays of a matrix, whatever its format, so each algorithm has one form. Offsets and indices come
//! from device memory: a wrong one is reported, and no algorithm uses it. All arithmetic is in double precision, real or complex ([`numbers`]).
// Names and parameters are cuSPARSE's.
#![allow(non_snake_case, clippy::too_many_arguments)]
#![recursion_limit = "512"]

mod accumulator;
mod banded;
mod block_factors;
mod blocks;
mod call;
mod compression;
mod conversion;
mod dense;
mod entry_points;
mod exports;
mod handle;
mod incomplete;
mod matrix_descriptor;
mod numbers;
mod pattern;
mod products;
mod sorting;
mod sparse_creation;
mod sparse_descriptor;
mod sparse_matrix;
mod sparse_products;
mod sparse_vector;
mod status;
mod sums;
mod triangular;
mod types;
mod vectors;
