//! Every implemented entry point, called before `cuInit`, with null arguments, without a current context, with handles of objects
//! that have ended, and after the driver's end.
#[macro_use]
mod program;

use program::*;
use std::ffi::{c_char, c_int, c_uint};

type Answer = (&'static str, CUresult);

macro_rules! sweep {
    ($($group:ident { $($name:literal @ $since:literal $([$($flag:ident)*])? fn $symbol:ident($($arg:ident: $ty:ty),*) $(per_thread $per_thread:ident)?;)* })*) => {
        /// Calls every entry point with arguments of zeros. `before` runs before each call.
        fn answers(api: &Api, mut before: impl FnMut()) -> Vec<Answer> {
            let mut answers = Vec::new();
            $($({
                before();
                let function = api.$symbol.unwrap();
                // SAFETY: zero is a value of every parameter. A null pointer is an argument that the driver must refuse.
                let answer = unsafe { function($({ let $arg: $ty = std::mem::zeroed(); $arg }),*) };
                answers.push((stringify!($symbol), answer));
            })*)*
            answers
        }
    };
}
cuarray_abi::entry_points!(sweep);

/// The entry points that the manual documents to work before `cuInit`.
const BEFORE_INIT: [&str; 12] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuGetProcAddress",
    "cuGetProcAddress_v2",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGetExportTable",
    "cuLogsRegisterCallback",
    "cuLogsUnregisterCallback",
    "cuLogsCurrent",
    "cuLogsDumpToFile",
    "cuLogsDumpToMemory",
];

#[test]
fn every_entry_point_requires_the_initialization() {
    let sim = Sim::new(Config { quiet: true, ..Config::default() });
    let (api, _entered) = (sim.api(), sim.enter());
    let mut initialized = false;
    for (symbol, answer) in answers(&api, || {}) {
        // `cuInit(0)` is the first of the list.
        initialized |= symbol == "cuInit" && answer.is_success();
        assert_ne!(answer, CUresult::CUDA_ERROR_UNKNOWN, "{symbol}");
    }
    assert!(initialized);
    let failing = Sim::new(Config { quiet: true, visible: Some(Vec::new()), ..Config::default() });
    let (api, _entered) = (failing.api(), failing.enter());
    for (symbol, answer) in answers(&api, || {}) {
        let expected = if BEFORE_INIT.contains(&symbol) { None } else { Some(CUresult::CUDA_ERROR_NOT_INITIALIZED) };
        assert!(expected.is_none_or(|expected| answer == expected), "{symbol}: {answer:?}");
    }
}

/// The entry points for which zeros are valid, and the reason.
const ZEROS_ARE_VALID: [(&str, &[&str]); 7] = [
    (
        "device 0 and the flags 0 exist",
        &[
            "cuInit",
            "cuDevicePrimaryCtxRelease",
            "cuDevicePrimaryCtxRelease_v2",
            "cuDevicePrimaryCtxSetFlags",
            "cuDevicePrimaryCtxSetFlags_v2",
            "cuDevicePrimaryCtxReset",
            "cuDevicePrimaryCtxReset_v2",
            "cuDeviceGraphMemTrim",
        ],
    ),
    (
        "a null context means none, or the current one",
        &[
            "cuCtxSetCurrent",
            "cuCtxSynchronize",
            "cuCtxSynchronize_v2",
            "cuCtxResetPersistingL2Cache",
            "cuProfilerStart",
            "cuProfilerStop",
        ],
    ),
    ("the output is optional", &["cuCtxPopCurrent", "cuCtxPopCurrent_v2", "cuCtxGetStreamPriorityRange"]),
    (
        "0 is a value of the setting",
        &["cuCtxSetFlags", "cuCtxSetLimit", "cuCtxSetCacheConfig", "cuCtxSetSharedMemConfig"],
    ),
    ("a release of null has no effect", &["cuMemFree_v2", "cuMemFreeHost", "cuMemFreeAsync"]),
    (
        "no byte is copied or filled",
        &[
            "cuMemcpy",
            "cuMemcpyHtoD_v2",
            "cuMemcpyDtoH_v2",
            "cuMemcpyDtoD_v2",
            "cuMemcpyAsync",
            "cuMemcpyHtoDAsync_v2",
            "cuMemcpyDtoHAsync_v2",
            "cuMemcpyDtoDAsync_v2",
            "cuMemsetD8_v2",
            "cuMemsetD16_v2",
            "cuMemsetD32_v2",
            "cuMemsetD2D8_v2",
            "cuMemsetD2D16_v2",
            "cuMemsetD2D32_v2",
            "cuMemsetD8Async",
            "cuMemsetD16Async",
            "cuMemsetD32Async",
            "cuMemsetD2D8Async",
            "cuMemsetD2D16Async",
            "cuMemsetD2D32Async",
            "cuStreamBatchMemOp",
            "cuStreamBatchMemOp_v2",
        ],
    ),
    ("a null stream is the default stream", &["cuStreamSynchronize", "cuStreamQuery", "cuStreamCopyAttributes"]),
];

/// The prefixes of entry points that refuse zeros by another code than that of an invalid value or handle.
const OTHER_CODES: [(&str, CUresult); 7] = [
    ("cuCtx", CUresult::CUDA_ERROR_INVALID_CONTEXT),
    ("cuMemcpyPeer", CUresult::CUDA_ERROR_INVALID_CONTEXT),
    ("cuMemGetAddressRange", CUresult::CUDA_ERROR_NOT_FOUND),
    ("cuDeviceGetP2P", CUresult::CUDA_ERROR_INVALID_DEVICE),
    ("cuStreamBeginCapture", CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
    ("cuStreamEndCapture", CUresult::CUDA_ERROR_ILLEGAL_STATE),
    ("cuStreamUpdateCaptureDependencies", CUresult::CUDA_ERROR_ILLEGAL_STATE),
];

#[test]
fn null_arguments_are_refused() {
    let p = Program::with(Config { findings: false, ..Config::default() });
    let (sim, context) = (p.sim.clone(), p.context);
    let answers = answers(&sim.api(), || {
        // Some calls change the current context, or end it.
        if !call!(p, cuCtxSetCurrent(context)).is_success() {
            p.primary(0);
            ok!(p, cuCtxSetCurrent(context));
        }
    });
    for (symbol, answer) in answers {
        let valid = ZEROS_ARE_VALID.iter().any(|(_, symbols)| symbols.contains(&symbol));
        let usual = [CUresult::CUDA_ERROR_INVALID_VALUE, CUresult::CUDA_ERROR_INVALID_HANDLE].contains(&answer);
        let other = OTHER_CODES.iter().any(|(prefix, code)| symbol.starts_with(prefix) && answer == *code);
        assert!(if valid { answer.is_success() } else { usual || other }, "{symbol}: {answer:?}");
    }
}

/// A value for a parameter: a handle that has ended, or zero.
trait Argument {
    fn stale(of: &Ended) -> Self;
}

/// The handles of objects that have ended.
struct Ended {
    stream: CUstream,
    event: CUevent,
    context: CUcontext,
    module: CUmodule,
    function: CUfunction,
    library: CUlibrary,
    kernel: CUkernel,
    pool: CUmemoryPool,
    graph: CUgraph,
    node: CUgraphNode,
    exec: CUgraphExec,
    array: CUarray,
    address: CUdeviceptr,
}

macro_rules! stale {
    ($($ty:ty: $member:ident)*) => {$(impl Argument for $ty { fn stale(of: &Ended) -> $ty { of.$member } })*};
}
stale! {
    CUstream: stream CUevent: event CUcontext: context CUmodule: module CUfunction: function CUlibrary: library
    CUkernel: kernel CUmemoryPool: pool CUgraph: graph CUgraphNode: node CUgraphExec: exec CUarray: array
    CUdeviceptr: address
}

macro_rules! zero {
    ($($ty:ty)*) => {$(impl Argument for $ty {
        // SAFETY: zero is a value of every parameter.
        fn stale(_: &Ended) -> $ty { unsafe { std::mem::zeroed() } }
    })*};
}
zero! {
    c_int c_uint usize u8 u16 f32 CUresult CUmipmappedArray CUtexref CUsurfref CUlinkState CUuserObject CUmemLocation
    CUstreamCallback CUhostFn CUoccupancyB2DSize CUlogsCallback CUasyncCallback CUlogsCallbackHandle
    CUasyncCallbackHandle CUipcMemHandle CUipcEventHandle
}

impl<T> Argument for *mut T {
    fn stale(_: &Ended) -> *mut T {
        std::ptr::null_mut()
    }
}

impl<T> Argument for *const T {
    fn stale(_: &Ended) -> *const T {
        std::ptr::null()
    }
}

macro_rules! sweep_stale {
    ($($group:ident { $($name:literal @ $since:literal $([$($flag:ident)*])? fn $symbol:ident($($arg:ident: $ty:ty),*) $(per_thread $per_thread:ident)?;)* })*) => {
        /// Calls every entry point that takes one of the handles, with handles that have ended, and zeros for the rest.
        fn stale_answers(api: &Api, ended: &Ended, mut before: impl FnMut()) -> Vec<Answer> {
            const KINDS: [&str; 13] = [
                "CUstream", "CUevent", "CUcontext", "CUmodule", "CUfunction", "CUlibrary", "CUkernel", "CUmemoryPool",
                "CUgraph", "CUgraphNode", "CUgraphExec", "CUarray", "CUdeviceptr",
            ];
            let mut answers = Vec::new();
            $($(if [$(stringify!($ty),)*].iter().any(|ty| KINDS.contains(ty)) {
                before();
                let function = api.$symbol.unwrap();
                // SAFETY: handles are checked by the driver, and a null pointer is an argument that it must refuse.
                let answer = unsafe { function($(<$ty as Argument>::stale(ended)),*) };
                answers.push((stringify!($symbol), answer));
            })*)*
            answers
        }
    };
}
cuarray_abi::entry_points!(sweep_stale);

const PTX: &std::ffi::CStr = c".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }";

/// Makes one object of each kind, and ends them all.
fn ended(p: &Program) -> Ended {
    let (stream, event, address) = (p.stream(0), p.event(), p.alloc(64));
    let (mut module, mut function, mut other) = (CUmodule::NULL, CUfunction::NULL, CUcontext::NULL);
    ok!(p, cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
    ok!(p, cuModuleGetFunction(&mut function, module, c"nothing".as_ptr()));
    let (mut library, mut kernel, none) = (CUlibrary::NULL, CUkernel::NULL, std::ptr::null_mut());
    ok!(p, cuLibraryLoadData(&mut library, PTX.as_ptr().cast(), none, none.cast(), 0, none.cast(), none.cast(), 0));
    ok!(p, cuLibraryGetKernel(&mut kernel, library, c"nothing".as_ptr()));
    let (mut graph, mut node, mut exec) = (CUgraph::NULL, CUgraphNode::NULL, CUgraphExec::NULL);
    ok!(p, cuGraphCreate(&mut graph, 0));
    ok!(p, cuGraphAddEmptyNode(&mut node, graph, std::ptr::null(), 0));
    ok!(p, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
    // SAFETY: all-zero is a valid description.
    let mut props: CUmemPoolProps = unsafe { std::mem::zeroed() };
    (props.allocType, props.location.kind) = (CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE);
    let (mut pool, mut array) = (CUmemoryPool::NULL, CUarray::NULL);
    ok!(p, cuMemPoolCreate(&mut pool, &props));
    let of = CUDA_ARRAY_DESCRIPTOR { Width: 4, Height: 2, Format: CU_AD_FORMAT_UNSIGNED_INT8, NumChannels: 1 };
    ok!(p, cuArrayCreate_v2(&mut array, &of));
    ok!(p, cuArrayDestroy(array));
    ok!(p, cuMemPoolDestroy(pool));
    ok!(p, cuGraphExecDestroy(exec));
    ok!(p, cuGraphDestroy(graph));
    ok!(p, cuLibraryUnload(library));
    ok!(p, cuModuleUnload(module));
    ok!(p, cuMemFree_v2(address));
    ok!(p, cuEventDestroy_v2(event));
    ok!(p, cuStreamDestroy_v2(stream));
    ok!(p, cuCtxCreate_v2(&mut other, 0, 0));
    ok!(p, cuCtxDestroy_v2(other));
    ok!(p, cuCtxSetCurrent(p.context));
    Ended { stream, event, context: other, module, function, library, kernel, pool, graph, node, exec, array, address }
}

/// The codes by which the manual refuses an object that has ended. A code per object, because a call checks them in any order.
const REFUSALS: [CUresult; 5] = [
    CUresult::CUDA_ERROR_INVALID_VALUE,
    CUresult::CUDA_ERROR_INVALID_HANDLE,
    CUresult::CUDA_ERROR_INVALID_CONTEXT,
    CUresult::CUDA_ERROR_NOT_FOUND,
    CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED,
];

/// The calls that succeed with such arguments, and the reason.
const HARMLESS: [(&str, &[&str]); 2] = [
    ("0 bytes are copied or filled at any address", &["cuMemcpy", "cuMemset", "cuMemcpyHtoD", "cuMemcpyDtoH"]),
    ("a query of several attributes answers with zeros", &["cuPointerGetAttributes"]),
];

#[test]
fn handles_of_ended_objects_are_refused() {
    for findings in [false, true] {
        let p = Program::with(Config { findings, ..Config::default() });
        let (ended, sim, context) = (ended(&p), p.sim.clone(), p.context);
        let answers = stale_answers(&sim.api(), &ended, || {
            if !call!(p, cuCtxSetCurrent(context)).is_success() {
                p.primary(0);
                ok!(p, cuCtxSetCurrent(context));
            }
        });
        assert!(answers.len() > 200, "{}", answers.len());
        for (symbol, answer) in answers {
            let harmless =
                HARMLESS.iter().any(|(_, prefixes)| prefixes.iter().any(|prefix| symbol.starts_with(prefix)));
            assert!(REFUSALS.contains(&answer) || harmless && answer.is_success(), "{symbol}: {answer:?}");
        }
        // The driver still works.
        let memory = p.alloc(16);
        p.fill(memory, 7, 16, p.stream(0));
        ok!(p, cuCtxSynchronize());
        assert_eq!(p.peek(memory), 7);
    }
}

#[test]
fn no_call_crashes_without_a_current_context() {
    let p = Program::with(Config { findings: false, ..Config::default() });
    let ended = ended(&p);
    let answers = stale_answers(&p.sim.api(), &ended, || ok!(p, cuCtxSetCurrent(CUcontext::NULL)));
    for (symbol, answer) in answers {
        let harmless = HARMLESS.iter().any(|(_, prefixes)| prefixes.iter().any(|prefix| symbol.starts_with(prefix)));
        assert!(REFUSALS.contains(&answer) || harmless && answer.is_success(), "{symbol}: {answer:?}");
    }
}
