//! The runtime on the simulated driver, a module for each chapter.
#![allow(clippy::undocumented_unsafe_blocks)] // each call has the arguments that the manual requires, or tests that others are refused

mod array;
mod device;
mod driver;
mod error;
mod error_log;
mod event;
mod execution;
mod execution_context;
mod faults;
mod graph;
mod library;
mod memory;
mod pools;
mod process;
mod registration;
mod stream;
mod symbols;
mod texture;
mod transfer;
mod unified;
mod version;
