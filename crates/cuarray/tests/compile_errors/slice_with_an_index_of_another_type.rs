//! E0277
//! `u8` is not an index of `s!`
//! `range; step`
// The compiler's errors for this program must contain each text above.

fn first(array: &cuarray::DeviceArray<f32, cuarray::Ix1>, index: u8) {
    let _ = array.slice(cuarray::s![index]);
}

fn main() {}
