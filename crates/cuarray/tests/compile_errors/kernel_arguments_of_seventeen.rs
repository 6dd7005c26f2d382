//! E0277
//! cannot be the arguments of a kernel
//! a tuple of up to 16 arguments
// The compiler's errors for this program must contain each text above.

use cuarray::kernel::{Function, LaunchConfig};

fn launch(kernel: &Function, stream: &cuarray::Stream, config: LaunchConfig) {
    let _ = unsafe { kernel.launch(stream, config, (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)) };
}

fn main() {}
