//! E0277
//! `char` cannot be an element of a device array
//! `u32` for `char`
// The compiler's errors for this program must contain each text above.

fn create(stream: &cuarray::Stream) {
    let _ = cuarray::DeviceArray::<char, _>::empty([3], stream);
}

fn main() {}
