//! The shared library `libcurand.so.10`: cuRAND's documented host interface, computed on the host in the order of streams.
//!
//! A [`generator`] knows its position in its sequences. Each call takes the next results: it describes the bytes that it writes, and
//! enqueues a closure that computes them ([`cuarray_stream_work`]). The closure depends on the position at the call alone, so a graph
//! that contains the call writes the same numbers at each launch.
//!
//! [`sequences`] has the algorithms, [`distribution`] makes results of their bits, and [`exports`] has the C functions.
// Names and parameters are cuRAND's.
#![allow(non_snake_case)]

mod discrete;
mod distribution;
mod exports;
mod generator;
mod handles;
mod parallel;
mod poisson;
mod quantile;
mod sequences;
mod sobol;
mod status;
