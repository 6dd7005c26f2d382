//! Tests of arrays and views in device memory that share a process. Each test has a simulated driver of its own.

#[path = "../driver_fixture/mod.rs"]
mod driver_fixture;

mod aliasing;
mod array_parts;
mod device_array_owner;
mod display;
mod element;
mod element_padding;
#[cfg(feature = "ndarray")]
mod ndarray;
mod pinned;
mod typed_kernels;
mod view;
