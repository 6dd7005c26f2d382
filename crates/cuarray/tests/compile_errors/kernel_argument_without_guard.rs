//! E0277
//! cannot be passed to a kernel
//! acquire arrays for the launch's stream, and pass the guards as `&Acquired` or `&mut AcquiredMut`
// The compiler's errors for this program must contain each text above.

use cuarray::kernel::{Function, LaunchConfig};

fn launch(kernel: &Function, config: LaunchConfig, array: &cuarray::DeviceArray<f32, cuarray::Ix1>) {
    let _ = unsafe { kernel.launch(array.home_stream().unwrap(), config, (array,)) };
}

fn main() {}
