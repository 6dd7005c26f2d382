//! E0277
//! `(usize, usize)` is not a shape
//! write an array `[rows, columns]` of `usize`
// The compiler's errors for this program must contain each text above.

fn zeros(stream: &cuarray::Stream, shape: (usize, usize)) {
    let _ = cuarray::DeviceArray::<f32, _>::zeros(shape, stream);
}

fn main() {}
