"""``cuda.bindings.runtime`` by chapters of the runtime's manual.

On the simulated driver its functions are those of the package ``cuarray_sim``, in place of a static runtime inside of the
module. On a real driver they are NVIDIA's.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from typing import Any

import pytest

runtime = pytest.importorskip("cuda.bindings.runtime")

pytestmark = [
    pytest.mark.usefixtures("replaced"),
    # Functions of the runtime retain the primary context of a device and keep it.
    pytest.mark.cuarray_sim_leaks,
]

PTX = b"""
.version 8.0
.target sm_75
.address_size 64
.global .align 4 .u32 step = 5;
.visible .entry add(.param .u64 memory) {
    .reg .u64 %address, %memory, %symbol; .reg .u32 %value, %thread, %step;
    ld.param.u64 %memory, [memory];
    mov.u32 %thread, %tid.x;
    mad.wide.u32 %address, %thread, 4, %memory;
    ld.global.u32 %value, [%address];
    ld.global.u32 %step, [step];
    add.u32 %value, %value, %step;
    st.global.u32 [%address], %value;
    ret;
}
"""


def ok(*results: Any) -> Any:
    """Check that a call succeeded, and return its outputs."""
    (error, *outputs) = results[0]
    assert error == runtime.cudaError_t.cudaSuccess, error
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


@pytest.fixture
def replaced(driver_kind: str) -> None:
    """Skip the test if the package was built without its CUDA runtime."""
    if driver_kind == "simulated":
        import cuarray_sim
        from cuarray_sim.cuda_bindings import replaced

        try:
            cuarray_sim.runtime_path()
        except FileNotFoundError as missing:
            pytest.skip(str(missing))
        assert replaced()


@pytest.fixture
def leave_no_context():
    """Leave the thread without a current context, as the other tests expect."""
    from cuda.bindings import driver

    (_, before) = driver.cuCtxGetCurrent()
    yield
    driver.cuCtxSetCurrent(before)


pytestmark.append(pytest.mark.usefixtures("leave_no_context"))


@pytest.fixture
def memory():
    pointer = ok(runtime.cudaMalloc(64))
    yield pointer
    ok(runtime.cudaFree(pointer))


@pytest.fixture
def stream():
    stream = ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking))
    yield stream
    ok(runtime.cudaStreamDestroy(stream))


def fetched(pointer: int, size: int = 64) -> bytes:
    data = ctypes.create_string_buffer(size)
    ok(runtime.cudaMemcpy(ctypes.addressof(data), pointer, size, runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost))
    return data.raw


def test_versions_have_the_same_major_number() -> None:
    assert ok(runtime.cudaRuntimeGetVersion()) // 1000 == runtime.CUDART_VERSION // 1000
    assert ok(runtime.cudaDriverGetVersion()) >= 11020
    assert ok(runtime.getLocalRuntimeVersion()) // 1000 in (12, 13)


def test_devices_are_counted_selected_and_described() -> None:
    count = ok(runtime.cudaGetDeviceCount())
    assert count >= 1
    ok(runtime.cudaSetDevice(count - 1))
    assert ok(runtime.cudaGetDevice()) == count - 1
    ok(runtime.cudaSetDevice(0))
    properties = ok(runtime.cudaGetDeviceProperties(0))
    assert properties.warpSize == 32
    assert properties.name.rstrip(b"\0")
    major = ok(runtime.cudaDeviceGetAttribute(runtime.cudaDeviceAttr.cudaDevAttrComputeCapabilityMajor, 0))
    assert properties.major == major
    bus = ok(runtime.cudaDeviceGetPCIBusId(32, 0))
    assert ok(runtime.cudaDeviceGetByPCIBusId(bus)) == 0
    least, greatest = ok(runtime.cudaDeviceGetStreamPriorityRange())
    assert least >= greatest
    assert ok(runtime.cudaDeviceGetLimit(runtime.cudaLimit.cudaLimitStackSize)) > 0
    ok(runtime.cudaDeviceSynchronize())


def test_errors_have_names_texts_and_a_last_one() -> None:
    invalid = runtime.cudaError_t.cudaErrorInvalidDevice
    assert runtime.cudaGetErrorName(invalid)[1] == b"cudaErrorInvalidDevice"
    assert b"device" in runtime.cudaGetErrorString(invalid)[1]
    assert runtime.cudaSetDevice(1000) == (invalid,)
    assert runtime.cudaPeekAtLastError() == (invalid,)
    assert runtime.cudaGetLastError() == (invalid,)
    assert runtime.cudaGetLastError() == (runtime.cudaError_t.cudaSuccess,)


def test_streams_are_made_queried_and_destroyed(stream) -> None:
    assert ok(runtime.cudaStreamGetFlags(stream)) == runtime.cudaStreamNonBlocking
    _, greatest = ok(runtime.cudaDeviceGetStreamPriorityRange())
    urgent = ok(runtime.cudaStreamCreateWithPriority(runtime.cudaStreamNonBlocking, greatest))
    assert ok(runtime.cudaStreamGetPriority(urgent)) == greatest
    assert ok(runtime.cudaStreamGetId(urgent)) != ok(runtime.cudaStreamGetId(stream))
    ok(runtime.cudaStreamSynchronize(urgent))
    assert runtime.cudaStreamQuery(urgent) == (runtime.cudaError_t.cudaSuccess,)
    ok(runtime.cudaStreamDestroy(urgent))
    assert ok(runtime.cudaStreamIsCapturing(stream)) == runtime.cudaStreamCaptureStatus.cudaStreamCaptureStatusNone


def test_events_order_streams_and_measure_time(stream, memory) -> None:
    first, second = ok(runtime.cudaEventCreate()), ok(runtime.cudaEventCreateWithFlags(runtime.cudaEventDefault))
    ok(runtime.cudaEventRecord(first, stream))
    ok(runtime.cudaMemsetAsync(memory, 1, 64, stream))
    ok(runtime.cudaEventRecord(second, stream))
    other = ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking))
    ok(runtime.cudaStreamWaitEvent(other, second, 0))
    ok(runtime.cudaMemsetAsync(memory, 2, 64, other))
    ok(runtime.cudaStreamSynchronize(other))
    ok(runtime.cudaEventSynchronize(second))
    assert runtime.cudaEventQuery(second) == (runtime.cudaError_t.cudaSuccess,)
    assert ok(runtime.cudaEventElapsedTime(first, second)) >= 0
    assert fetched(memory) == bytes([2]) * 64
    ok(runtime.cudaStreamDestroy(other))
    for event in (first, second):
        ok(runtime.cudaEventDestroy(event))


def test_memory_is_copied_and_set(memory, stream) -> None:
    data = ctypes.create_string_buffer(bytes(range(64)), 64)
    kind = runtime.cudaMemcpyKind
    ok(runtime.cudaMemcpy(memory, ctypes.addressof(data), 64, kind.cudaMemcpyHostToDevice))
    assert fetched(memory) == bytes(range(64))
    copy = ok(runtime.cudaMalloc(64))
    ok(runtime.cudaMemcpyAsync(copy, memory, 64, kind.cudaMemcpyDefault, stream))
    ok(runtime.cudaMemsetAsync(copy, 7, 8, stream))
    ok(runtime.cudaStreamSynchronize(stream))
    assert fetched(copy) == bytes([7]) * 8 + bytes(range(8, 64))
    ok(runtime.cudaMemset(copy, 0, 64))
    ok(runtime.cudaDeviceSynchronize())
    assert fetched(copy) == bytes(64)
    ok(runtime.cudaFree(copy))
    free, total = ok(runtime.cudaMemGetInfo())
    assert 0 < free <= total


def test_memory_is_copied_in_rows() -> None:
    pointer, pitch = ok(runtime.cudaMallocPitch(5, 3))
    assert pitch >= 5
    data, back = ctypes.create_string_buffer(bytes(range(15)), 15), ctypes.create_string_buffer(15)
    kind = runtime.cudaMemcpyKind
    ok(runtime.cudaMemcpy2D(pointer, pitch, ctypes.addressof(data), 5, 5, 3, kind.cudaMemcpyHostToDevice))
    ok(runtime.cudaMemset2D(pointer, pitch, 9, 1, 3))
    ok(runtime.cudaDeviceSynchronize())
    ok(runtime.cudaMemcpy2D(ctypes.addressof(back), 5, pointer, pitch, 5, 3, kind.cudaMemcpyDeviceToHost))
    assert back.raw == bytes([9, 1, 2, 3, 4, 9, 6, 7, 8, 9, 9, 11, 12, 13, 14])
    ok(runtime.cudaFree(pointer))


def test_kinds_of_memory_are_recognized(memory) -> None:
    kinds = runtime.cudaMemoryType
    assert ok(runtime.cudaPointerGetAttributes(memory)).type == kinds.cudaMemoryTypeDevice
    pinned = ok(runtime.cudaHostAlloc(64, runtime.cudaHostAllocDefault))
    assert ok(runtime.cudaPointerGetAttributes(pinned)).type == kinds.cudaMemoryTypeHost
    assert ok(runtime.cudaHostGetDevicePointer(pinned, 0))
    ok(runtime.cudaFreeHost(pinned))
    managed = ok(runtime.cudaMallocManaged(64, runtime.cudaMemAttachGlobal))
    assert ok(runtime.cudaPointerGetAttributes(managed)).type == kinds.cudaMemoryTypeManaged
    ok(runtime.cudaFree(managed))
    own = ctypes.create_string_buffer(8)
    assert ok(runtime.cudaPointerGetAttributes(ctypes.addressof(own))).type == kinds.cudaMemoryTypeUnregistered


def test_pools_serve_allocations_in_stream_order(stream) -> None:
    pool = ok(runtime.cudaDeviceGetDefaultMemPool(0))
    pointer = ok(runtime.cudaMallocAsync(64, stream))
    ok(runtime.cudaMemsetAsync(pointer, 3, 64, stream))
    ok(runtime.cudaStreamSynchronize(stream))
    assert fetched(pointer) == bytes([3]) * 64
    used = runtime.cudaMemPoolAttr.cudaMemPoolAttrUsedMemCurrent
    assert int(ok(runtime.cudaMemPoolGetAttribute(pool, used))) >= 64
    ok(runtime.cudaFreeAsync(pointer, stream))
    properties = runtime.cudaMemPoolProps()
    properties.allocType = runtime.cudaMemAllocationType.cudaMemAllocationTypePinned
    properties.location.type = runtime.cudaMemLocationType.cudaMemLocationTypeDevice
    own = ok(runtime.cudaMemPoolCreate(properties))
    pointer = ok(runtime.cudaMallocFromPoolAsync(64, own, stream))
    ok(runtime.cudaFreeAsync(pointer, stream))
    ok(runtime.cudaStreamSynchronize(stream))
    ok(runtime.cudaMemPoolTrimTo(own, 0))
    ok(runtime.cudaMemPoolDestroy(own))


def test_captured_work_runs_when_its_graph_is_launched(stream, memory) -> None:
    ok(runtime.cudaMemset(memory, 0, 64))
    mode = runtime.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
    ok(runtime.cudaStreamBeginCapture(stream, mode))
    ok(runtime.cudaMemsetAsync(memory, 4, 64, stream))
    graph = ok(runtime.cudaStreamEndCapture(stream))
    _, count = ok(runtime.cudaGraphGetNodes(graph))
    assert count == 1
    executable = ok(runtime.cudaGraphInstantiate(graph, 0))
    ok(runtime.cudaDeviceSynchronize())
    assert fetched(memory) == bytes(64)
    ok(runtime.cudaGraphLaunch(executable, stream))
    ok(runtime.cudaStreamSynchronize(stream))
    assert fetched(memory) == bytes([4]) * 64
    ok(runtime.cudaGraphExecDestroy(executable))
    ok(runtime.cudaGraphDestroy(graph))


def test_graph_of_added_nodes_runs(stream, memory) -> None:
    graph = ok(runtime.cudaGraphCreate(0))
    parameters = runtime.cudaMemsetParams()
    parameters.dst, parameters.value, parameters.elementSize, parameters.width, parameters.height = memory, 6, 1, 64, 1
    first = ok(runtime.cudaGraphAddEmptyNode(graph, None, 0))
    node = ok(runtime.cudaGraphAddMemsetNode(graph, [first], 1, parameters))
    assert ok(runtime.cudaGraphNodeGetType(node)) == runtime.cudaGraphNodeType.cudaGraphNodeTypeMemset
    assert ok(runtime.cudaGraphMemsetNodeGetParams(node)).value == 6
    executable = ok(runtime.cudaGraphInstantiate(graph, 0))
    ok(runtime.cudaGraphLaunch(executable, stream))
    ok(runtime.cudaStreamSynchronize(stream))
    assert fetched(memory) == bytes([6]) * 64
    ok(runtime.cudaGraphExecDestroy(executable))
    ok(runtime.cudaGraphDestroy(graph))


def test_library_gives_kernels_and_variables(stream, memory) -> None:
    from cuda.bindings import driver

    library = ok(runtime.cudaLibraryLoadData(PTX, None, None, 0, None, None, 0))
    assert ok(runtime.cudaLibraryGetKernelCount(library)) == 1
    kernel = ok(runtime.cudaLibraryGetKernel(library, b"add"))
    address, size = ok(runtime.cudaLibraryGetGlobal(library, b"step"))
    assert size == 4
    assert fetched(address, 4) == (5).to_bytes(4, "little")
    ok(runtime.cudaMemset(memory, 0, 64))
    ok(runtime.cudaDeviceSynchronize())
    arguments = ((memory,), (ctypes.c_void_p,))
    (error,) = driver.cuLaunchKernel(int(kernel), 1, 1, 1, 16, 1, 1, 0, int(stream), arguments, 0)
    assert error == driver.CUresult.CUDA_SUCCESS
    ok(runtime.cudaStreamSynchronize(stream))
    assert fetched(memory) == (5).to_bytes(4, "little") * 16
    ok(runtime.cudaLibraryUnload(library))


def test_occupancy_and_attributes_of_a_kernel() -> None:
    library = ok(runtime.cudaLibraryLoadData(PTX, None, None, 0, None, None, 0))
    kernel = int(ok(runtime.cudaLibraryGetKernel(library, b"add")))
    attributes = ok(runtime.cudaFuncGetAttributes(kernel))
    assert attributes.maxThreadsPerBlock >= 128
    assert ok(runtime.cudaOccupancyMaxActiveBlocksPerMultiprocessor(kernel, 128, 0)) >= 1
    ok(runtime.cudaLibraryUnload(library))


def test_host_function_runs_in_stream_order(stream) -> None:
    calls: list[int] = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: calls.append(data))
    callback = runtime.cudaHostFn_t(_ptr=ctypes.addressof(function))
    ok(runtime.cudaLaunchHostFunc(stream, callback, 17))
    ok(runtime.cudaStreamSynchronize(stream))
    assert calls == [17]


def test_peer_access_of_a_device_to_itself_is_refused() -> None:
    assert ok(runtime.cudaDeviceCanAccessPeer(0, 0)) == 0


def test_handle_for_other_processes_is_made(memory) -> None:
    handle = ok(runtime.cudaIpcGetMemHandle(memory))
    assert any(ctypes.string_at(handle.getPtr(), 64))


def test_entry_point_of_the_driver_is_found() -> None:
    found = ok(runtime.cudaGetDriverEntryPointByVersion(b"cuMemAlloc", 12000, 0))
    assert found[0]
    assert found[1] == runtime.cudaDriverEntryPointQueryResult.cudaDriverEntryPointSuccess


def test_start_and_stop_of_the_profiler_succeed() -> None:
    ok(runtime.cudaProfilerStart())
    ok(runtime.cudaProfilerStop())


def test_null_stream_is_the_threads_own_on_request(driver_kind: str) -> None:
    program = """
from cuda.bindings import driver, runtime
assert runtime.cudaFree(0)[0] == 0
error, own = runtime.cudaStreamGetId(runtime.cudaStreamPerThread)
error, null = runtime.cudaStreamGetId(0)
print(null == own)
"""
    start = "import cuarray_sim; cuarray_sim.install()\n" if driver_kind == "simulated" else ""
    for value, expected in (("1", "True"), ("0", "False")):
        variables = {**os.environ, "CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM": value}
        done = subprocess.run([sys.executable, "-c", start + program], env=variables, capture_output=True, text=True)
        assert done.stdout.strip() == expected, done.stderr


def test_cuda_core_device_is_synchronized_and_named(memory) -> None:
    core = pytest.importorskip("cuda.core")
    device = core.Device()
    device.set_current()
    ok(runtime.cudaMemset(memory, 8, 64))
    device.sync()
    assert fetched(memory) == bytes([8]) * 64
    assert ok(runtime.cudaDeviceGetByPCIBusId(device.pci_bus_id.encode())) == 0
