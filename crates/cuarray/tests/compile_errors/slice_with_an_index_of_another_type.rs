//! E0277
//! `u8` is not an index of `s!`
//! `range; step`

fn first(array: &cuarray::DeviceArray<f32, cuarray::Ix1>, index: u8) {
    let _ = array.slice(cuarray::s![index]);
}

fn main() {}
