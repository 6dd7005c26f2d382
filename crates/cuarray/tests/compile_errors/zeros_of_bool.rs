//! E0277
//! `bool` cannot be an element of a device array
//! `Bool8` for `bool`
// The compiler's errors for this program must contain each text above.

fn create(stream: &cuarray::Stream) {
    let _ = cuarray::DeviceArray::<bool, _>::zeros([3], stream);
}

fn main() {}
