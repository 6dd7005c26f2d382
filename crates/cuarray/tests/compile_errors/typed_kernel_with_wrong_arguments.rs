//! E0277
//! `f64` is no argument for this kernel parameter
//! `&AcquiredMut<'_, f32>` is no argument for this kernel parameter
//! `&mut AcquiredMut<'_, f64>` is no argument for this kernel parameter
// The compiler's errors for this program must contain each text above.

use cuarray::{AcquiredMut, IxDyn, Stream, kernel::LaunchConfig};

cuarray::kernel! {
    fn scale(x: &mut [f32], factor: f32);
}

fn launch(kernel: &scale, to: &Stream, config: LaunchConfig, x: &mut AcquiredMut<'_, f32, IxDyn>, y: &mut AcquiredMut<'_, f64, IxDyn>) {
    let _ = unsafe { kernel.launch(to, config, &mut *x, 1.0f64) };
    let _ = unsafe { kernel.launch(to, config, &*x, 1.0f32) };
    let _ = unsafe { kernel.launch(to, config, y, 1.0f32) };
}

fn main() {}
