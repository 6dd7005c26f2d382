//! E0277
//! `f32` cannot be the arguments of a kernel
//! also for one argument: `(x,)`
// The compiler's errors for this program must contain each text above.

use cuarray::kernel::{Function, LaunchConfig};

fn launch(kernel: &Function, stream: &cuarray::Stream, config: LaunchConfig) {
    let _ = unsafe { kernel.launch(stream, config, 1.0f32) };
}

fn main() {}
