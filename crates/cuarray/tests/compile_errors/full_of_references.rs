//! E0277
//! `&'static f32` cannot be an element of a device array
//! elements are numbers of a stated size
// The compiler's errors for this program must contain each text above.

fn create(stream: &cuarray::Stream) {
    let _ = cuarray::DeviceArray::<&'static f32, _>::full([3], &1.0, stream);
}

fn main() {}
