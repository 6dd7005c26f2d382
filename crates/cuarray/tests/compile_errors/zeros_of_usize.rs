//! E0277
//! `usize` cannot be an element of a device array
//! `u64` for `usize`
// The compiler's errors for this program must contain each text above.

fn create(stream: &cuarray::Stream) {
    let _ = cuarray::DeviceArray::<usize, _>::zeros([3], stream);
}

fn main() {}
