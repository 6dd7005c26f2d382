//! compiles

use cuarray::{
    Acquired, AcquiredMut, Bool8, Complex,
    kernel::{Function, LaunchConfig},
};

cuarray::element! {
    struct Step {
        small: u8,
        large: f64,
    }
}

fn launch(kernel: &Function, stream: &cuarray::Stream, x: &Acquired<'_>, y: &mut AcquiredMut<'_>) {
    let config = LaunchConfig::new([1; 3], [1; 3]);
    let (n, offset) = (x.len(), -1isize);
    let step = Step { small: 1, large: 2.0 };
    let z = Complex { re: 1.0f32, im: 0.0 };
    let _ = unsafe { kernel.launch(stream, config, (x, y, n, offset, step, z, Bool8(1), 1.0f64)) };
}

fn main() {}
