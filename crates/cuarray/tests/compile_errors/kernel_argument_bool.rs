//! E0277
//! `bool` cannot be passed to a kernel
//! pass numbers, `Bool8` and structures of `cuarray::element!` by value

use cuarray::kernel::{Function, LaunchConfig};

fn launch(kernel: &Function, stream: &cuarray::Stream, config: LaunchConfig) {
    let _ = unsafe { kernel.launch(stream, config, (1.0f32, true)) };
}

fn main() {}
