//! E0277
//! `(usize, usize)` is not a shape
//! write an array `[rows, columns]` of `usize`

fn zeros(stream: &cuarray::Stream, shape: (usize, usize)) {
    let _ = cuarray::DeviceArray::<f32, _>::zeros(shape, stream);
}

fn main() {}
