//! Kernels of a few instructions, which the pairs of several themes launch.

use super::*;
use std::ffi::CString;

/// The common beginning of all small kernels. `%t` is the thread, `%n` the number of threads in a block, `%out`
/// the first parameter, `%data` the second.
const HEAD: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 data)
{
    .reg .pred %p; .reg .b32 %t, %n, %v, %w; .reg .b64 %out, %data, %a, %c, %d; .reg .f64 %x, %y;
    ld.param.u64 %out, [out];
    ld.param.u64 %data, [data];
    mov.u32 %t, %tid.x;
    mov.u32 %n, %ntid.x;
";

/// A loaded kernel.
pub struct Kernel(CUfunction);

pub fn kernel(p: &Program, body: &str) -> Kernel {
    let text = CString::new(format!("{HEAD}{body}\n    ret;\n}}\n")).unwrap();
    let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
    ok!(p, cuModuleLoadData(&mut module, text.as_ptr().cast()));
    ok!(p, cuModuleGetFunction(&mut function, module, c"k".as_ptr()));
    Kernel(function)
}

impl Kernel {
    pub fn run(&self, p: &Program, out: CUdeviceptr, data: CUdeviceptr, stream: CUstream) {
        let (mut out, mut data) = (out, data);
        let mut parameters = [(&raw mut out).cast::<c_void>(), (&raw mut data).cast()];
        let (none, parameters) = (std::ptr::null_mut(), parameters.as_mut_ptr());
        ok!(p, cuLaunchKernel(self.0, 2, 1, 1, 32, 1, 1, 0, stream, parameters, none));
    }
}

/// Runs one kernel in each of two unordered streams, over the same memory.
pub fn two(p: &Program, one: &str, other: &str) {
    let [one, other] = [one, other].map(|body| kernel(p, body));
    let (memory, data) = (p.written(256), p.written(256));
    let streams = [0, 1].map(|_| p.stream(NON_BLOCKING));
    one.run(p, memory, data, streams[0]);
    other.run(p, memory, data, streams[1]);
    ok!(p, cuCtxSynchronize());
}

/// The sides of a finding between the two launches.
pub const LAUNCHES: [&str; 2] = ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 2"];

/// Polls a word in memory that the host can read, until a kernel has set it.
pub fn poll(address: *const u8) {
    let start = std::time::Instant::now();
    while read(address) == 0 {
        assert!(start.elapsed().as_secs() < 60, "the kernel did not run");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// The first thread of the grid executes `body`; the others leave.
pub fn one_thread(body: &str) -> String {
    format!("mov.u32 %w, %ctaid.x; or.b32 %w, %w, %t; setp.ne.u32 %p, %w, 0; @%p bra END; {body} END:")
}
