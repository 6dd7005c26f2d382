use crate::driver::{ok, open};
use cuarray_cudart::cudaError_t;
use cuarray_cudart::types::*;
use cuarray_cudart::v13::*;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn stream_has_the_properties_that_it_was_made_with() {
    open();
    unsafe {
        let (mut least, mut greatest, mut stream) = (0, 0, cudaStream_t::default());
        ok(cudaDeviceGetStreamPriorityRange(&mut least, &mut greatest));
        ok(cudaStreamCreateWithPriority(&mut stream, 1, greatest));
        let (mut priority, mut flags, mut device, mut id) = (9, 9, 9, 0);
        ok(cudaStreamGetPriority(stream, &mut priority));
        ok(cudaStreamGetFlags(stream, &mut flags));
        ok(cudaStreamGetDevice(stream, &mut device));
        ok(cudaStreamGetId(stream, &mut id));
        assert_eq!((priority, flags, device), (greatest, 1, 0));
        ok(cudaStreamSynchronize(stream));
        ok(cudaStreamQuery(stream));
        ok(cudaStreamDestroy(stream));
        assert_eq!(cudaStreamCreate(ptr::null_mut()), cudaError_t::cudaErrorInvalidValue);
    }
}

#[test]
fn twin_reads_a_null_stream_as_that_of_the_thread() {
    open();
    unsafe {
        let (mut legacy, mut own, mut per_thread) = (0, 0, 0);
        ok(cudaStreamGetId(cudaStream_t::default(), &mut legacy));
        ok(cudaStreamGetId_ptsz(cudaStream_t::default(), &mut own));
        let handle: cudaStream_t = std::mem::transmute(2_usize);
        ok(cudaStreamGetId(handle, &mut per_thread));
        assert_ne!(legacy, own);
        assert_eq!(own, per_thread);
    }
}

#[test]
fn callback_runs_with_success() {
    open();
    static STATUS: AtomicU32 = AtomicU32::new(77);
    unsafe extern "C" fn callback(_: cudaStream_t, status: cudaError_t, data: *mut c_void) {
        assert_eq!(data.addr(), 5);
        STATUS.store(status.0, Ordering::Relaxed);
    }
    unsafe {
        let stream = cudaStream_t::default();
        ok(cudaStreamAddCallback(stream, Some(callback), ptr::without_provenance_mut(5), 0));
        ok(cudaStreamSynchronize(stream));
        assert_eq!(STATUS.load(Ordering::Relaxed), 0);
        assert_eq!(cudaStreamAddCallback(stream, None, ptr::null_mut(), 0), cudaError_t::cudaErrorInvalidValue);
    }
}

#[test]
fn capture_gives_a_graph() {
    open();
    unsafe {
        let mut stream = cudaStream_t::default();
        ok(cudaStreamCreate(&mut stream));
        let (mut status, mut id, mut graph) = (9, 0, cudaGraph_t::default());
        ok(cudaStreamIsCapturing(stream, &mut status));
        assert_eq!(status, 0);
        ok(cudaStreamBeginCapture(stream, 1));
        let none = ptr::null_mut;
        ok(cudaStreamGetCaptureInfo(
            stream,
            &mut status,
            &mut id,
            none(),
            ptr::null_mut(),
            ptr::null_mut(),
            ptr::null_mut(),
        ));
        assert_eq!(status, 1);
        ok(cuarray_cudart::v12::cudaStreamGetCaptureInfo(stream, &mut status, &mut id));
        assert!(id != 0);
        ok(cudaStreamEndCapture(stream, &mut graph));
        assert_ne!(graph, cudaGraph_t::default());
        assert_eq!(cudaStreamEndCapture(stream, &mut graph), cudaError_t::cudaErrorIllegalState);
        ok(cudaStreamDestroy(stream));
    }
}

#[test]
fn capture_to_a_graph_ends_without_a_place_for_its_handle() {
    open();
    unsafe {
        let (mut stream, mut graph, mut count) = (cudaStream_t::default(), cudaGraph_t::default(), 0);
        ok(cudaStreamCreate(&mut stream));
        ok(cudaGraphCreate(&mut graph, 0));
        ok(cudaStreamBeginCaptureToGraph(stream, graph, ptr::null(), ptr::null(), 0, 1));
        let mut memory = ptr::null_mut();
        ok(cudaMallocAsync(&mut memory, 16, stream));
        ok(cudaStreamEndCapture(stream, ptr::null_mut()));
        ok(cudaGraphGetNodes(graph, ptr::null_mut(), &mut count));
        assert_eq!(count, 1);
        ok(cudaGraphDestroy(graph));
        ok(cudaStreamDestroy(stream));
    }
}

/// `cudaLaunchAttributeSynchronizationPolicy`, and two of its values.
const SYNCHRONIZATION_POLICY: cudaLaunchAttributeID = 3;
const SPIN: u64 = 2;
const BLOCKING_SYNC: u64 = 4;

#[test]
fn attributes_of_a_stream_are_set_and_copied() {
    open();
    let (mut one, mut two, invalid) = (cudaStream_t::NULL, cudaStream_t::NULL, cudaError_t::cudaErrorInvalidValue);
    let policy = |stream| {
        let mut value = [0_u64; 8];
        unsafe { ok(cudaStreamGetAttribute(stream, SYNCHRONIZATION_POLICY, value.as_mut_ptr().cast())) };
        value[0] & 0xffff_ffff
    };
    let set = |stream, attribute, policy: u64| {
        let value = [policy, 0, 0, 0, 0, 0, 0, 0];
        unsafe { cudaStreamSetAttribute(stream, attribute, value.as_ptr().cast()) }
    };
    unsafe {
        ok(cudaStreamCreate(&mut one));
        ok(cudaStreamCreate(&mut two));
        ok(set(one, SYNCHRONIZATION_POLICY, BLOCKING_SYNC));
        ok(set(two, SYNCHRONIZATION_POLICY, SPIN));
        assert_eq!((policy(one), policy(two)), (BLOCKING_SYNC, SPIN));
        ok(cudaStreamCopyAttributes(two, one));
        assert_eq!(policy(two), BLOCKING_SYNC);
        assert_eq!(set(one, SYNCHRONIZATION_POLICY, 99), invalid);
        assert_eq!(set(one, 99, 1), invalid);
        assert_eq!(cudaStreamGetAttribute(one, SYNCHRONIZATION_POLICY, ptr::null_mut()), invalid);
        assert_eq!(cudaStreamSetAttribute(one, SYNCHRONIZATION_POLICY, ptr::null()), invalid);
        let wrong = cudaStreamCopyAttributes(cuarray_abi::CUstream(0xbad0), one);
        assert_eq!(wrong, cudaError_t::cudaErrorInvalidResourceHandle);
        ok(cudaStreamDestroy(one));
        ok(cudaStreamDestroy(two));
    }
}
