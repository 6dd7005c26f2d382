//! Runs a cudarc kernel on any library's array.

use crate::{Result, stream};
use cuarray::{CContiguous, Driver, IxDyn, TypedView};
use cudarc::{
    driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig, PushKernelArg},
    nvrtc::Ptx,
};
use std::sync::Arc;

const PTX: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 data, .param .u64 n, .param .f32 factor)
{
    .reg .pred %over; .reg .b32 %r<4>; .reg .f32 %f<3>; .reg .b64 %rd<4>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r1, %r1, %r2, %r3;
    cvt.u64.u32 %rd1, %r1;
    ld.param.u64 %rd2, [n];
    setp.ge.u64 %over, %rd1, %rd2;
    @%over ret;
    shl.b64 %rd1, %rd1, 2;
    ld.param.u64 %rd3, [data];
    add.u64 %rd3, %rd3, %rd1;
    ld.global.f32 %f1, [%rd3];
    ld.param.f32 %f2, [factor];
    mul.f32 %f1, %f1, %f2;
    st.global.f32 [%rd3], %f1;
    ret;
}
";

/// A library whose kernels are launched with cudarc.
pub struct Scaler {
    driver: Driver,
    stream: Arc<CudaStream>,
    kernel: CudaFunction,
}

impl Scaler {
    /// Creates a scaler with its own stream on the first device.
    pub fn new(driver: &Driver) -> Result<Scaler> {
        let context = CudaContext::new(0)?;
        let kernel = context.load_module(Ptx::from_src(PTX))?.load_function("scale")?;
        Ok(Scaler { driver: driver.clone(), stream: context.new_stream()?, kernel })
    }

    /// Multiplies a C-contiguous array of any shape in place. The host does not wait.
    pub fn scale(&self, view: &mut TypedView<f32, IxDyn, CContiguous>, factor: f32) -> Result<()> {
        let n = view.len() as u64;
        if n == 0 {
            return Ok(());
        }
        let stream = stream(&self.driver, &self.stream);
        let array = view.acquire_mut(&stream)?; // this stream waits for the producer's
        let data = array.as_device_ptr();
        let mut launch = self.stream.launch_builder(&self.kernel);
        launch.arg(&data).arg(&n).arg(&factor);
        // SAFETY: the kernel reads and writes `n` numbers, and the array has `n`; the guard orders the access.
        unsafe { launch.launch(LaunchConfig::for_num_elems(n as u32)) }?;
        array.release()?; // the producer's stream waits for this one
        Ok(())
    }
}
