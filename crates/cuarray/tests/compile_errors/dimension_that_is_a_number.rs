//! E0277
//! `usize` is not a number of dimensions
//! `IxDyn` for a number known at run time only
// The compiler's errors for this program must contain each text above.

fn matrix(_: cuarray::TypedView<f32, usize>) {}

fn main() {}
