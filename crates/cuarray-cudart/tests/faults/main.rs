//! Every driver call of memory, pools and graphs fails once: the runtime returns its error, remembers it, and leaks no memory.
#![allow(clippy::undocumented_unsafe_blocks)] // each call has the arguments that the manual requires

#[path = "../chapters/driver.rs"]
mod driver;

use cuarray_abi::ENTRY_POINTS;
use cuarray_cudart::cudaError_t;
use cuarray_cudart::types::*;
use cuarray_cudart::v13::*;
use driver::{ok, open};
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering};

/// The injected error. No call of a scenario fails with it otherwise.
const INJECTED: cudaError_t = cudaError_t::cudaErrorIllegalState;

const PTX: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .entry nothing() {
    ret;
}
";

type FailNext = unsafe extern "C" fn(*const c_char) -> u32;
type Clear = unsafe extern "C" fn(*mut u64) -> u32;

/// The simulated driver's functions for faults.
struct Faults {
    fail_next: FailNext,
    clear: Clear,
}

impl Faults {
    fn find() -> Faults {
        unsafe {
            let driver = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
            let (fail_next, clear) = (
                libc::dlsym(driver, c"cuarraySimFailNext".as_ptr()),
                libc::dlsym(driver, c"cuarraySimClearFaults".as_ptr()),
            );
            assert!(!fail_next.is_null() && !clear.is_null());
            Faults {
                fail_next: std::mem::transmute::<*mut c_void, FailNext>(fail_next),
                clear: std::mem::transmute::<*mut c_void, Clear>(clear),
            }
        }
    }

    fn inject(&self, symbol: &str, call: u32) {
        let fault = CString::new(format!("{symbol}:{call}:CUDA_ERROR_ILLEGAL_STATE")).unwrap();
        assert_eq!(unsafe { (self.fail_next)(fault.as_ptr()) }, 0, "{fault:?}");
    }

    /// Removes the fault, and returns whether a call had reached it.
    fn clear(&self) -> bool {
        let mut left = 9;
        assert_eq!(unsafe { (self.clear)(&mut left) }, 0);
        left == 0
    }
}

/// The errors of the calls of a scenario.
#[derive(Default)]
struct Calls(Vec<cudaError_t>);

impl Calls {
    /// Records a result, and returns whether the call succeeded.
    fn done(&mut self, error: cudaError_t) -> bool {
        if error != cudaError_t::cudaSuccess {
            self.0.push(error);
        }
        error == cudaError_t::cudaSuccess
    }

    /// Makes a call that must take place in the end: it is repeated after the injected error.
    fn release(&mut self, call: impl Fn() -> cudaError_t) {
        if !self.done(call()) {
            ok(call());
        }
    }
}

const NULL: cudaStream_t = cudaStream_t::NULL;
const DEVICE_0: cudaMemLocation = cudaMemLocation { kind: 1, id: 0 };

fn copies(calls: &mut Calls) {
    let (mut memory, mut bytes) = (ptr::null_mut::<c_void>(), [0_u8; 64]);
    let host = bytes.as_mut_ptr().cast::<c_void>();
    unsafe {
        if !calls.done(cudaMalloc(&mut memory, 64)) {
            assert!(memory.is_null());
            return;
        }
        for kind in [1, 2] {
            let (dst, src) = if kind == 1 { (memory, host) } else { (host, memory) };
            calls.done(cudaMemcpy(dst, src, 8, kind));
            calls.done(cudaMemcpyAsync(dst, src, 8, kind, NULL));
            calls.done(cudaMemcpy2D(dst, 8, src, 8, 4, 2, kind));
            calls.done(cudaMemcpy2DAsync(dst, 8, src, 8, 4, 2, kind, NULL));
        }
        for kind in [3, 4] {
            calls.done(cudaMemcpy(memory, memory.byte_add(8), 8, kind));
            calls.done(cudaMemcpyAsync(memory, memory.byte_add(8), 8, kind, NULL));
        }
        let pitched = |ptr| cudaPitchedPtr { ptr, pitch: 8, xsize: 8, ysize: 2 };
        let extent = cudaExtent { width: 4, height: 1, depth: 2 };
        let mut copy = std::mem::zeroed::<cudaMemcpy3DParms>();
        (copy.srcPtr, copy.dstPtr, copy.extent, copy.kind) = (pitched(memory), pitched(memory.byte_add(32)), extent, 3);
        calls.done(cudaMemcpy3D(&copy));
        calls.done(cudaMemcpy3DAsync(&copy, NULL));
        let mut copy = std::mem::zeroed::<cudaMemcpy3DPeerParms>();
        (copy.srcPtr, copy.dstPtr, copy.extent) = (pitched(memory), pitched(memory.byte_add(32)), extent);
        calls.done(cudaMemcpy3DPeer(&copy));
        calls.done(cudaMemcpy3DPeerAsync(&copy, NULL));
        calls.done(cudaMemcpyPeer(memory, 0, memory.byte_add(8), 0, 8));
        calls.done(cudaMemcpyPeerAsync(memory, 0, memory.byte_add(8), 0, 8, NULL));
        calls.done(cudaMemset(memory, 1, 8));
        calls.done(cudaMemsetAsync(memory, 1, 8, NULL));
        calls.done(cudaMemset2D(memory, 8, 1, 4, 2));
        calls.done(cudaMemset2DAsync(memory, 8, 1, 4, 2, NULL));
        calls.done(cudaMemset3D(pitched(memory), 1, extent));
        calls.done(cudaMemset3DAsync(pitched(memory), 1, extent, NULL));
        calls.release(|| cudaDeviceSynchronize());
        calls.release(|| cudaFree(memory));
    }
}

fn allocations(calls: &mut Calls) {
    let (mut memory, mut pitch, mut flags, mut value) = (ptr::null_mut(), 0, 0, 0_i32);
    unsafe {
        if calls.done(cudaMallocPitch(&mut memory, &mut pitch, 8, 2)) {
            calls.release(|| cudaFree(memory));
        }
        let mut volume = std::mem::zeroed::<cudaPitchedPtr>();
        if calls.done(cudaMalloc3D(&mut volume, cudaExtent { width: 8, height: 2, depth: 2 })) {
            calls.release(|| cudaFree(volume.ptr));
        }
        if calls.done(cudaMallocManaged(&mut memory, 4096, 1)) {
            calls.done(cudaMemAdvise(memory, 4096, 1, DEVICE_0));
            calls.done(cudaMemPrefetchAsync(memory, 4096, DEVICE_0, 0, NULL));
            calls.done(cudaMemRangeGetAttribute((&raw mut value).cast(), 4, 1, memory, 4096));
            let mut data = (&raw mut value).cast::<c_void>();
            calls.done(cudaMemRangeGetAttributes(&mut data, &mut 4, &mut 1, 1, memory, 4096));
            calls.release(|| cudaFree(memory));
        }
        if calls.done(cudaMallocHost(&mut memory, 64)) {
            calls.done(cudaHostGetFlags(&mut flags, memory));
            let mut device = ptr::null_mut();
            calls.done(cudaHostGetDevicePointer(&mut device, memory, 0));
            calls.release(|| cudaFreeHost(memory));
        }
        let mut bytes = vec![0_u8; 8192];
        let host = bytes.as_mut_ptr().cast::<c_void>();
        if calls.done(cudaHostRegister(host, 8192, 0)) {
            calls.release(|| cudaHostUnregister(host));
        }
    }
}

fn pools(calls: &mut Calls) {
    let (mut pool, mut memory, mut value) = (cudaMemPool_t::NULL, ptr::null_mut(), 0_u64);
    let data = (&raw mut value).cast::<c_void>();
    unsafe {
        calls.done(cudaDeviceGetDefaultMemPool(&mut pool, 0));
        if calls.done(cudaDeviceGetMemPool(&mut pool, 0)) {
            calls.done(cudaDeviceSetMemPool(0, pool));
        }
        if calls.done(cudaMallocAsync(&mut memory, 64, NULL)) {
            calls.release(|| cudaFreeAsync(memory, NULL));
        }
        let mut properties = std::mem::zeroed::<cudaMemPoolProps>();
        (properties.allocType, properties.location) = (1, DEVICE_0);
        if calls.done(cudaMemPoolCreate(&mut pool, &properties)) {
            calls.done(cudaMemPoolGetAttribute(pool, 4, data));
            calls.done(cudaMemPoolSetAttribute(pool, 4, data));
            calls.done(cudaMemPoolGetAccess(&mut 0, pool, &mut { DEVICE_0 }));
            calls.done(cudaMemPoolSetAccess(pool, &cudaMemAccessDesc { location: DEVICE_0, flags: 3 }, 1));
            if calls.done(cudaMallocFromPoolAsync(&mut memory, 64, pool, NULL)) {
                calls.release(|| cudaFreeAsync(memory, NULL));
            }
            calls.done(cudaMemPoolTrimTo(pool, 0));
            calls.release(|| cudaMemPoolDestroy(pool));
        }
        calls.release(|| cudaDeviceSynchronize());
    }
}

static OBJECTS: AtomicI64 = AtomicI64::new(0);

extern "C" fn destroyed(_: *mut c_void) {
    OBJECTS.fetch_sub(1, Ordering::Relaxed);
}

extern "C" fn nothing(_: *mut c_void) {}

fn graphs(calls: &mut Calls) {
    let (mut graph, mut inner, mut exec, mut object) = Default::default();
    let (mut node, none, mut library) = (cudaGraphNode_t::NULL, ptr::null(), Default::default());
    unsafe {
        let mut memory = ptr::null_mut();
        if !calls.done(cudaMalloc(&mut memory, 64)) {
            return;
        }
        if calls.done(cudaGraphCreate(&mut graph, 0)) {
            // The graph owns the object, so a graph that is not destroyed shows.
            if calls.done(cudaUserObjectCreate(&mut object, ptr::null_mut(), Some(destroyed), 1, 1)) {
                OBJECTS.fetch_add(1, Ordering::Relaxed);
                if !calls.done(cudaGraphRetainUserObject(graph, object, 1, 1)) {
                    calls.release(|| cudaUserObjectRelease(object, 1));
                }
            }
            let fill =
                cudaMemsetParams { dst: memory.addr() as u64, pitch: 0, value: 1, elementSize: 1, width: 4, height: 1 };
            if calls.done(cudaGraphAddMemsetNode(&mut node, graph, none, 0, &fill)) {
                calls.done(cudaGraphMemsetNodeGetParams(node, &mut { fill }));
                calls.done(cudaGraphMemsetNodeSetParams(node, &fill));
            }
            if calls.done(cudaGraphAddMemcpyNode1D(
                &mut node,
                graph,
                none,
                0,
                memory.byte_add(8),
                memory.byte_add(16),
                4,
                3,
            )) {
                let mut copy = std::mem::zeroed();
                if calls.done(cudaGraphMemcpyNodeGetParams(node, &mut copy)) {
                    calls.done(cudaGraphMemcpyNodeSetParams(node, &copy));
                }
            }
            let host = cudaHostNodeParams { function: Some(nothing), userData: ptr::null_mut() };
            calls.done(cudaGraphAddHostNode(&mut node, graph, none, 0, &host));
            calls.done(cudaGraphAddEmptyNode(&mut node, graph, none, 0));
            let (mut nodes, mut before) = ([cudaGraphNode_t::NULL; 8], 8);
            if calls.done(cudaGraphGetNodes(graph, nodes.as_mut_ptr(), &mut before))
                && calls.done(cudaGraphClone(&mut inner, graph))
            {
                calls.done(cudaGraphAddChildGraphNode(&mut node, graph, nodes.as_ptr(), before, inner));
                calls.release(|| cudaGraphDestroy(inner));
            }
            let (code, options, values) = (PTX.as_ptr().cast(), ptr::null_mut(), ptr::null_mut());
            if calls.done(cudaLibraryLoadData(&mut library, code, options, values, 0, ptr::null_mut(), values, 0)) {
                let mut kernel = Default::default();
                if calls.done(cudaLibraryGetKernel(&mut kernel, library, c"nothing".as_ptr())) {
                    let one = dim3 { x: 1, y: 1, z: 1 };
                    let mut params = std::mem::zeroed::<cudaKernelNodeParams>();
                    (params.func, params.gridDim, params.blockDim) = (ptr::without_provenance_mut(kernel.0), one, one);
                    if calls.done(cudaGraphAddKernelNode(&mut node, graph, none, 0, &params)) {
                        calls.done(cudaGraphKernelNodeGetParams(node, &mut params));
                    }
                }
            }
            if calls.done(cudaGraphInstantiate(&mut exec, graph, 0)) {
                calls.done(cudaGraphExecUpdate(exec, graph, &mut Default::default()));
                calls.done(cudaGraphUpload(exec, NULL));
                calls.done(cudaGraphLaunch(exec, NULL));
                calls.release(|| cudaDeviceSynchronize());
                calls.release(|| cudaGraphExecDestroy(exec));
            }
            calls.release(|| cudaGraphDestroy(graph));
            if library != Default::default() {
                calls.release(|| cudaLibraryUnload(library));
            }
        }
        calls.release(|| cudaDeviceSynchronize());
        calls.release(|| cudaFree(memory));
    }
}

fn captures(calls: &mut Calls) {
    let (mut stream, mut graph, mut memory) = (NULL, cudaGraph_t::NULL, ptr::null_mut());
    unsafe {
        if !calls.done(cudaMalloc(&mut memory, 64)) {
            return;
        }
        if calls.done(cudaStreamCreate(&mut stream)) {
            if calls.done(cudaStreamBeginCapture(stream, 2)) {
                calls.done(cudaMemsetAsync(memory, 1, 8, stream));
                let end = cudaStreamEndCapture(stream, &mut graph);
                if !calls.done(end) {
                    // The driver has refused the call, so the capture goes on.
                    ok(cudaStreamEndCapture(stream, &mut graph));
                }
                calls.release(|| cudaGraphDestroy(graph));
            }
            calls.release(|| cudaStreamDestroy(stream));
        }
        calls.release(|| cudaFree(memory));
    }
}

fn free_memory() -> usize {
    let (mut free, mut total) = (0, 0);
    unsafe { ok(cudaMemGetInfo(&mut free, &mut total)) };
    free
}

#[test]
fn failure_of_each_driver_call_is_returned_and_leaks_nothing() {
    open();
    unsafe { ok(cudaFree(ptr::null_mut())) };
    let faults = Faults::find();
    type Scenario = fn(&mut Calls);
    let scenarios: [(&str, Scenario); 5] = [
        ("copies", copies),
        ("allocations", allocations),
        ("pools", pools),
        ("graphs", graphs),
        ("captures", captures),
    ];
    let mut injected = 0;
    for (name, scenario) in scenarios {
        let mut calls = Calls::default();
        scenario(&mut calls);
        assert_eq!(calls.0, [], "{name} without a fault");
        let free = free_memory();
        for entry in ENTRY_POINTS {
            for call in 1.. {
                faults.inject(entry.symbol, call);
                let mut calls = Calls::default();
                scenario(&mut calls);
                if !faults.clear() {
                    break;
                }
                injected += 1;
                let at = format!("{name}: call {call} of {}", entry.symbol);
                assert!(calls.0.contains(&INJECTED), "{at}: {:?}", calls.0);
                assert_ne!(unsafe { cudaGetLastError() }, cudaError_t::cudaSuccess, "{at}");
                assert_eq!(free_memory(), free, "{at}");
                assert_eq!(OBJECTS.load(Ordering::Relaxed), 0, "{at}");
            }
        }
    }
    assert!(injected > 90, "{injected} faults");
}
