//! Asynchronous copies and fills against kernels and against each other: parts, rows and planes.

use super::small_kernels::*;
use super::*;

/// A copy of `height` rows of 8 bytes, 32 bytes apart, from packed memory of the host.
fn rows(to: CUdeviceptr, from: *const u8, height: usize) -> CUDA_MEMCPY2D {
    // SAFETY: all bytes zero are a value of the structure.
    let mut copy: CUDA_MEMCPY2D = unsafe { std::mem::zeroed() };
    (copy.srcMemoryType, copy.srcHost, copy.srcPitch) = (CU_MEMORYTYPE_HOST, from.cast(), 8);
    (copy.dstMemoryType, copy.dstDevice, copy.dstPitch) = (CU_MEMORYTYPE_DEVICE, to, 32);
    (copy.WidthInBytes, copy.Height) = (8, height);
    copy
}

/// A copy of two planes of two rows of 8 bytes within the device: rows are 32 bytes apart, planes 128 bytes.
fn planes(to: CUdeviceptr, from: CUdeviceptr) -> CUDA_MEMCPY3D {
    // SAFETY: all bytes zero are a value of the structure.
    let mut copy: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    (copy.srcMemoryType, copy.srcDevice, copy.srcPitch, copy.srcHeight) = (CU_MEMORYTYPE_DEVICE, from, 32, 4);
    (copy.dstMemoryType, copy.dstDevice, copy.dstPitch, copy.dstHeight) = (CU_MEMORYTYPE_DEVICE, to, 32, 4);
    (copy.WidthInBytes, copy.Height, copy.Depth) = (8, 2, 2);
    copy
}

/// A thread writes a word at an offset.
fn store_at(offset: u32) -> String {
    one_thread(&format!("st.global.u32 [%out + {offset}], 1;"))
}

pairs! {
    two_uploads_that_overlap: DataRace ["cuMemcpyHtoDAsync_v2 on stream 1", "cuMemcpyHtoDAsync_v2 on stream 2"], |p, right| {
        let (memory, host) = (p.written(256), p.pinned(128));
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        ok!(p, cuMemcpyHtoDAsync_v2(memory, host.cast(), 100, one));
        ok!(p, cuMemcpyHtoDAsync_v2(memory + if right { 100 } else { 99 }, host.cast(), 100, other));
        ok!(p, cuCtxSynchronize());
    }
    an_upload_of_what_a_download_writes: DataRace ["cuMemcpyDtoHAsync_v2 on stream 1", "cuMemcpyHtoDAsync_v2 on stream 2"], |p, right| {
        let (memory, there, host) = (p.written(64), p.written(64), p.pinned(64));
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        ok!(p, cuMemcpyDtoHAsync_v2(host.cast(), memory, 64, one));
        if right {
            p.order(one, other);
        }
        ok!(p, cuMemcpyHtoDAsync_v2(there, host.cast(), 64, other));
        ok!(p, cuCtxSynchronize());
    }
    a_kernel_in_a_row_of_a_copy: DataRace ["cuMemcpy2DAsync_v2 on stream 1", "cuLaunchKernel on stream 2"], |p, right| {
        let (memory, host) = (p.written(256), p.pinned(128));
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        ok!(p, cuMemcpy2DAsync_v2(&rows(memory, host, 4), one));
        kernel(p, &store_at(if right { 72 } else { 68 })).run(p, memory, memory, other);
        ok!(p, cuCtxSynchronize());
    }
    a_kernel_before_a_copy_of_rows: DataRace ["cuLaunchKernel on stream 1", "cuMemcpy2DAsync_v2 on stream 2"], |p, right| {
        let (memory, host) = (p.written(256), p.pinned(128));
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        kernel(p, &store_at(if right { 28 } else { 96 })).run(p, memory, memory, one);
        ok!(p, cuMemcpy2DAsync_v2(&rows(memory, host, 4), other));
        ok!(p, cuCtxSynchronize());
    }
    a_kernel_in_a_plane_of_a_copy: DataRace ["cuMemcpy3DAsync_v2 on stream 1", "cuLaunchKernel on stream 2"], |p, right| {
        let (memory, from) = (p.written(256), p.written(256));
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        ok!(p, cuMemcpy3DAsync_v2(&planes(memory, from), one));
        // The third row of the first plane is not copied; the second row of the second plane is.
        kernel(p, &store_at(if right { 64 } else { 160 })).run(p, memory, memory, other);
        ok!(p, cuCtxSynchronize());
    }
    a_kernel_in_the_source_of_a_copy_of_planes: DataRace ["cuMemcpy3DAsync_v2 on stream 1", "cuLaunchKernel on stream 2"], |p, right| {
        let (memory, from) = (p.written(256), p.written(256));
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        ok!(p, cuMemcpy3DAsync_v2(&planes(memory, from), one));
        kernel(p, &store_at(if right { 8 } else { 4 })).run(p, from, from, other);
        ok!(p, cuCtxSynchronize());
    }
    a_strong_store_during_a_copy: DataRace ["cuMemcpyDtoHAsync_v2 on stream 1", "cuLaunchKernel on stream 2"], |p, right| {
        // A copy is no strong access, so a release does not order the two.
        let (memory, host) = (p.written(64), p.pinned(64));
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        ok!(p, cuMemcpyDtoHAsync_v2(host.cast(), memory, 64, one));
        if right {
            p.order(one, other);
        }
        kernel(p, &one_thread("st.release.sys.global.u32 [%out], 1;")).run(p, memory, memory, other);
        ok!(p, cuCtxSynchronize());
    }
    a_fill_in_a_graph: DataRace ["cuGraphAddMemsetNode on stream 1", "cuLaunchKernel on stream 2"], |p, right| {
        let memory = p.written(256);
        let [one, other] = [0, 1].map(|_| p.stream(NON_BLOCKING));
        let (mut graph, mut exec, mut node) = (CUgraph::NULL, CUgraphExec::NULL, CUgraphNode::NULL);
        ok!(p, cuGraphCreate(&mut graph, 0));
        let fill = CUDA_MEMSET_NODE_PARAMS { dst: memory, pitch: 32, value: 1, elementSize: 1, width: 8, height: 4 };
        ok!(p, cuGraphAddMemsetNode(&mut node, graph, std::ptr::null(), 0, &fill, p.context));
        ok!(p, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        ok!(p, cuGraphLaunch(exec, one));
        kernel(p, &store_at(if right { 8 } else { 32 })).run(p, memory, memory, other);
        ok!(p, cuCtxSynchronize());
    }
}
