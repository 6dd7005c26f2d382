//! E0277
//! `usize` is not a number of dimensions
//! `IxDyn` for a number known at run time only

fn matrix(_: cuarray::TypedView<f32, usize>) {}

fn main() {}
