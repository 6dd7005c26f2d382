//! The CUDA Array Interface in Rust.

pub mod error;

pub use error::{Error, Result};
