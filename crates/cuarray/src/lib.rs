//! The CUDA Array Interface in Rust.

pub mod driver;
pub mod error;
mod owner;

pub use driver::{Context, Device, Driver, Event, Stream};
pub use error::{Error, Result};
pub use owner::Owner;
