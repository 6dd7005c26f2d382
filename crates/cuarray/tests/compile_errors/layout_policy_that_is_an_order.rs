//! E0277
//! is not a requirement on a layout
//! write `CContiguous`, `FContiguous`, or `AnyLayout`
// The compiler's errors for this program must contain each text above.

fn matrix(_: cuarray::TypedView<f32, cuarray::Ix2, cuarray::Order>) {}

fn main() {}
