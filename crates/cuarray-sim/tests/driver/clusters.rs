//! Thread block clusters and cooperative launches through the driver's interface, and the time of kernels.

use crate::program::*;
use std::ffi::CStr;

/// `any` has no directive, `pair` states clusters of two blocks, `explicit` needs the launch to state them. Each block
/// writes the number of blocks of its cluster.
const KERNELS: &CStr = c"
.version 8.0
.target sm_90
.address_size 64
.visible .entry any(.param .u64 out)
{
    .reg .b32 %r<3>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mad.wide.u32 %rd2, %r1, 4, %rd1;
    mov.u32 %r2, %cluster_nctarank; st.global.u32 [%rd2], %r2; ret;
}
.visible .entry pair(.param .u64 out) .explicitcluster .reqnctapercluster 2, 1, 1
{
    .reg .b32 %r<3>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mad.wide.u32 %rd2, %r1, 4, %rd1;
    mov.u32 %r2, %cluster_nctarank; st.global.u32 [%rd2], %r2; ret;
}
.visible .entry explicit(.param .u64 out) .explicitcluster .maxclusterrank 4 { ret; }
.visible .entry sleeper(.param .u64 out)
{
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out]; mov.u64 %rd2, %globaltimer; nanosleep.u32 1000000; mov.u64 %rd3, %globaltimer;
    st.global.u64 [%rd1], %rd2; st.global.u64 [%rd1+8], %rd3; ret;
}
";

const INVALID_CLUSTER_SIZE: CUresult = CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE;
const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;
const CLUSTER_DIMENSION: u32 = 4;

fn kernel(program: &Program, name: &CStr) -> CUfunction {
    let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
    ok!(program, cuModuleLoadData(&mut module, KERNELS.as_ptr().cast()));
    ok!(program, cuModuleGetFunction(&mut function, module, name.as_ptr()));
    function
}

fn attribute(id: u32, value: [u32; 3]) -> CUlaunchAttribute {
    let low = u64::from(value[0]) | u64::from(value[1]) << 32;
    CUlaunchAttribute { id, pad: [0; 4], value: [low, value[2].into(), 0, 0, 0, 0, 0, 0] }
}

fn config(blocks: u32, attributes: &mut [CUlaunchAttribute]) -> CUlaunchConfig {
    CUlaunchConfig {
        gridDimX: blocks,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        hStream: CUstream::NULL,
        attrs: attributes.as_mut_ptr(),
        numAttrs: attributes.len() as u32,
    }
}

/// Launches blocks in clusters of `size`; 0 means without the attribute.
fn launch(program: &Program, function: CUfunction, blocks: u32, size: u32, out: u64) -> CUresult {
    let mut attributes = [attribute(CLUSTER_DIMENSION, [size, 1, 1])];
    let config = config(blocks, &mut attributes[..usize::from(size > 0)]);
    let mut out = out;
    let mut params = [(&raw mut out).cast::<c_void>()];
    call!(program, cuLaunchKernelEx(&config, function, params.as_mut_ptr(), std::ptr::null_mut()))
}

fn first_words(program: &Program, address: u64) -> Vec<u32> {
    let mut host = vec![0_u32; 4];
    ok!(program, cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), address, 16));
    host
}

#[test]
fn launch_attribute_and_directive_make_clusters() {
    let program = Program::new();
    let out = program.alloc(64);
    for (name, size, wanted) in [(c"any", 0, 1), (c"any", 1, 1), (c"any", 4, 4), (c"pair", 0, 2), (c"pair", 2, 2)] {
        assert_eq!(launch(&program, kernel(&program, name), 8, size, out), SUCCESS);
        assert_eq!(first_words(&program, out), [wanted; 4], "{name:?} {size}");
    }
}

#[test]
fn plain_launch_of_a_kernel_with_required_clusters_has_them() {
    let program = Program::new();
    let mut out = program.alloc(64);
    let pair = kernel(&program, c"pair");
    let mut params = [(&raw mut out).cast::<c_void>()];
    let none = std::ptr::null_mut();
    let mut launch = |blocks| {
        call!(program, cuLaunchKernel(pair, blocks, 1, 1, 1, 1, 1, 0, CUstream::NULL, params.as_mut_ptr(), none))
    };
    assert_eq!(launch(3), INVALID_CLUSTER_SIZE);
    assert_eq!(launch(4), SUCCESS);
    assert_eq!(first_words(&program, out), [2; 4]);
}

#[test]
fn impossible_cluster_is_an_invalid_cluster_size() {
    let program = Program::new();
    let out = program.alloc(64);
    let any = kernel(&program, c"any");
    assert_eq!(launch(&program, any, 6, 4, out), INVALID_CLUSTER_SIZE, "the grid is not divisible");
    assert_eq!(launch(&program, any, 16, 16, out), INVALID_CLUSTER_SIZE, "more than 8 blocks are not portable");
    ok!(program, cuFuncSetAttribute(any, 14, 1));
    assert_eq!(launch(&program, any, 16, 16, out), SUCCESS);
    assert_eq!(first_words(&program, out), [16; 4]);
    assert_eq!(launch(&program, any, 32, 32, out), INVALID_CLUSTER_SIZE, "no device has such clusters");
    let pair = kernel(&program, c"pair");
    assert_eq!(launch(&program, pair, 8, 4, out), INVALID_CLUSTER_SIZE, "the directive states another size");
    let explicit = kernel(&program, c"explicit");
    assert_eq!(launch(&program, explicit, 8, 0, out), INVALID_CLUSTER_SIZE, "the launch states no size");
    assert_eq!(launch(&program, explicit, 8, 4, out), SUCCESS);
    assert_eq!(launch(&program, explicit, 8, 8, out), INVALID_CLUSTER_SIZE, "more than .maxclusterrank");
    let old = Program::with(Config { compute_capability: (8, 6), ..Config::default() });
    let out = old.alloc(64);
    let text = c".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) { ret; }";
    let (mut module, mut function) = (CUmodule::NULL, CUfunction::NULL);
    ok!(old, cuModuleLoadData(&mut module, text.as_ptr().cast()));
    ok!(old, cuModuleGetFunction(&mut function, module, c"k".as_ptr()));
    assert_eq!(launch(&old, function, 8, 2, out), INVALID_CLUSTER_SIZE, "devices of 8.6 have no clusters");
    assert_eq!(launch(&old, function, 8, 1, out), SUCCESS);
}

#[test]
fn function_attributes_describe_and_require_clusters() {
    let program = Program::new();
    let out = program.alloc(64);
    let value = |function, attribute| {
        let mut value = -1;
        ok!(program, cuFuncGetAttribute(&mut value, attribute, function));
        value
    };
    let (any, pair, explicit) = (kernel(&program, c"any"), kernel(&program, c"pair"), kernel(&program, c"explicit"));
    assert_eq!([10, 11, 12, 13, 14].map(|number| value(any, number)), [0; 5]);
    assert_eq!([10, 11, 12, 13, 14].map(|number| value(pair, number)), [0, 2, 1, 1, 0]);
    assert_eq!(value(explicit, 10), 1);
    fails!(program, NOT_PERMITTED, cuFuncSetAttribute(pair, 11, 4));
    fails!(program, INVALID_VALUE, cuFuncSetAttribute(any, 10, 1));
    fails!(program, INVALID_VALUE, cuFuncSetAttribute(any, 14, 2));
    ok!(program, cuFuncSetAttribute(any, 11, 2));
    assert_eq!(launch(&program, any, 8, 0, out), INVALID_CLUSTER_SIZE, "an extent is 0");
    ok!(program, cuFuncSetAttribute(any, 12, 1));
    ok!(program, cuFuncSetAttribute(any, 13, 1));
    assert_eq!(launch(&program, any, 8, 0, out), SUCCESS);
    assert_eq!(first_words(&program, out), [2; 4]);
}

#[test]
fn occupancy_of_clusters_depends_on_their_size() {
    let program = Program::new();
    let any = kernel(&program, c"any");
    let clusters = |size: u32| {
        let mut attributes = [attribute(CLUSTER_DIMENSION, [size, 1, 1])];
        let mut config = config(size, &mut attributes);
        (config.blockDimX, config.sharedMemBytes) = (1024, 40 << 10);
        let mut count = 0;
        ok!(program, cuOccupancyMaxActiveClusters(&mut count, any, &config));
        count
    };
    assert_eq!((clusters(2), clusters(8)), (132, 33));
    let most = |shared| {
        let mut config = config(1, &mut []);
        (config.blockDimX, config.sharedMemBytes) = (1024, shared);
        let mut size = -1;
        ok!(program, cuOccupancyMaxPotentialClusterSize(&mut size, any, &config));
        size
    };
    assert_eq!((most(0), most(400 << 10)), (8, 0));
    ok!(program, cuFuncSetAttribute(any, 14, 1));
    assert_eq!(most(0), 16);
}

#[test]
fn without_clusters_each_block_counts_as_one() {
    let program = Program::new();
    let mut config = config(8, &mut []);
    (config.blockDimX, config.sharedMemBytes) = (1024, 40 << 10);
    let mut count = 0;
    ok!(program, cuOccupancyMaxActiveClusters(&mut count, kernel(&program, c"any"), &config));
    assert_eq!(count, 264);
    let explicit = kernel(&program, c"explicit");
    fails!(program, INVALID_CLUSTER_SIZE, cuOccupancyMaxActiveClusters(&mut count, explicit, &config));
}

#[test]
fn launch_attributes_without_an_effect_here_are_refused() {
    let program = Program::new();
    let any = kernel(&program, c"any");
    let mut out = program.alloc(64);
    let mut params = [(&raw mut out).cast::<c_void>()];
    // A programmatic event, a launch completion event, and a kernel node that devices update.
    for (id, result) in [(7, NOT_SUPPORTED), (12, NOT_SUPPORTED), (13, NOT_SUPPORTED), (8, SUCCESS)] {
        let mut attributes = [attribute(id, [1, 0, 0])];
        let config = config(4, &mut attributes);
        let none = std::ptr::null_mut();
        assert_eq!(call!(program, cuLaunchKernelEx(&config, any, params.as_mut_ptr(), none)), result, "{id}");
    }
}

const NOT_SUPPORTED: CUresult = CUresult::CUDA_ERROR_NOT_SUPPORTED;

#[test]
fn cooperative_grid_must_be_resident_at_once() {
    let program = Program::new();
    let any = kernel(&program, c"any");
    let mut out = program.alloc(1 << 20);
    let mut params = [(&raw mut out).cast::<c_void>()];
    let mut launch = |blocks| {
        let stream = CUstream::NULL;
        call!(program, cuLaunchCooperativeKernel(any, blocks, 1, 1, 1024, 1, 1, 0, stream, params.as_mut_ptr()))
    };
    assert_eq!(launch(264), SUCCESS);
    assert_eq!(launch(265), CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

/// The milliseconds between events around `work`.
fn elapsed(program: &Program, work: impl Fn()) -> f32 {
    let (start, end) = (program.event(), program.event());
    ok!(program, cuEventRecord(start, CUstream::NULL));
    work();
    ok!(program, cuEventRecord(end, CUstream::NULL));
    ok!(program, cuEventSynchronize(end));
    let mut milliseconds = 0.0;
    ok!(program, cuEventElapsedTime_v2(&mut milliseconds, start, end));
    milliseconds
}

#[test]
fn time_between_events_covers_the_time_of_a_kernel() {
    let times = [0, 1].map(|_| {
        let program = Program::new();
        let sleeper = kernel(&program, c"sleeper");
        let out = program.alloc(64);
        let nothing = elapsed(&program, || {});
        let once = elapsed(&program, || assert_eq!(launch(&program, sleeper, 1, 0, out), SUCCESS));
        let mut timer = [0_u64; 2];
        ok!(program, cuMemcpyDtoH_v2(timer.as_mut_ptr().cast(), out, 16));
        let twice = elapsed(&program, || {
            assert_eq!(launch(&program, sleeper, 1, 0, out), SUCCESS);
            assert_eq!(launch(&program, sleeper, 1, 0, out + 16), SUCCESS);
        });
        let mut timers = [0_u64; 4];
        ok!(program, cuMemcpyDtoH_v2(timers.as_mut_ptr().cast(), out, 32));
        assert!(nothing > 0.0 && nothing < 0.001);
        assert!((1_000_000..1_001_000).contains(&(timer[1] - timer[0])), "{timer:?}");
        assert!(once >= (timer[1] - timer[0]) as f32 / 1e6 && once < 1.01, "{once}");
        assert!((2.0..2.02).contains(&twice), "{twice}");
        assert!(timer[1] < timers[0] && timers[1] < timers[2], "the timer runs on between kernels");
        (nothing, once, twice)
    });
    assert_eq!(times[0], times[1], "the time does not depend on the host");
}

#[test]
fn time_between_events_covers_copies() {
    let program = Program::new();
    let [from, to] = [0, 1].map(|_| program.alloc(32 << 20));
    let copy = |bytes| elapsed(&program, || ok!(program, cuMemcpyDtoDAsync_v2(to, from, bytes, CUstream::NULL)));
    assert!((1.0..1.1).contains(&copy(32 << 20)));
    assert!(copy(32) < 0.001);
}
