//! cuFFT's documented interface, computed on the host in the order of streams.
//!
//! The crates `cuarray-cufft-11` and `cuarray-cufft-12` are the shared libraries `libcufft.so.11` of CUDA 12 and `libcufft.so.12` of CUDA 13:
//! the functions of [`api`] under their C names, which [`entry_points`](crate::__entry_points) lists.
//!
//! A plan is a [`problem`]: types, sizes, and the [`layout`] of both sides. A transform enqueues copies of exactly the elements of both sides
//! and a closure that computes ([`cuarray_stream_work`]). The [`engine`] transforms arrays without gaps, by the crates `rustfft` and `realfft`.
// Names and parameters are cuFFT's.
#![allow(non_snake_case, clippy::too_many_arguments)]
#![recursion_limit = "256"]

pub mod types;

mod descriptor;
mod devices;
mod distribution;
mod engine;
mod entry_points;
mod execute;
mod exports;
mod kinds;
mod layout;
mod making;
mod numbers;
mod plans;
mod problem;
mod settings;
mod status;
mod threads;
mod transform;

pub use exports::api;
pub use status::refuse;
