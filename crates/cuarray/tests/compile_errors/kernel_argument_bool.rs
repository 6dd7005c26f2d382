//! E0277
//! `bool` cannot be passed to a kernel
//! pass numbers, `Bool8` and structures of `cuarray::element!` by value
// The compiler's errors for this program must contain each text above.

use cuarray::kernel::{Function, LaunchConfig};

fn launch(kernel: &Function, stream: &cuarray::Stream, config: LaunchConfig) {
    let _ = unsafe { kernel.launch(stream, config, (1.0f32, true)) };
}

fn main() {}
