"""Facts that the test suites of other libraries expect (docs/results/peer-suites.md)."""

from __future__ import annotations

import ctypes
from typing import Any

from ..driver import CUDA_SUCCESS, Driver, kernels
from ..question import Facts, question
from .memory.asking import a_stream, managed_memory, memory_pool, no_context, pages
from .memory.structures import (
    ADDRESS,
    INT,
    SIZE,
    UINT,
    AccessDesc,
    AllocationNodeParams,
    device_location,
    pool_props,
    read_write,
)

CU_POINTER_ATTRIBUTE_SYNC_MEMOPS = 6
CU_MEM_ADVISE_SET_ACCESSED_BY = 5
CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY = 3
CU_DEVICE_CPU = -1
CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT = 0
CU_STREAM_CAPTURE_MODE_GLOBAL = 0
CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INPUT_PTX = 5, 6, 1
CU_DEV_RESOURCE_TYPE_SM = 1
RESOURCE_SM_COUNT = 96
"""The offset of ``CUdevResource.sm.smCount``."""
NVML_SUCCESS = 0
KERNEL = kernels(".visible .entry mine(.param .u32 a) { ret; }")
CALLER = kernels(
    """
.extern .func missing_function (.param .b64 a);
.visible .entry caller() { .param .b64 p; .reg .b64 %a; mov.b64 %a, 1; st.param.b64 [p], %a; call missing_function, (p); ret; }
"""
)


@question("peers.allocation_of_no_bytes")
def allocation_of_no_bytes(driver: Driver, facts: Facts) -> None:
    address, pool, stream = ctypes.c_uint64(1), driver.made("cuDeviceGetDefaultMemPool", 0), driver.stream()
    facts["async"] = driver.code("cuMemAllocAsync", ctypes.byref(address), 0, stream)
    facts["async_is_null"] = address.value == 0
    facts["async_free"] = driver.code("cuMemFreeAsync", address.value, stream) if address.value != 1 else "unchanged"
    address.value = 1
    facts["pool"] = driver.code("cuMemAllocFromPoolAsync", ctypes.byref(address), 0, pool, stream)
    facts["pool_is_null"] = address.value == 0
    facts["pool_free"] = driver.code("cuMemFreeAsync", address.value, stream) if address.value != 1 else "unchanged"
    facts["wait"] = driver.code("cuStreamSynchronize", stream)


@question("peers.allocation_of_no_bytes_while_capturing")
def allocation_of_no_bytes_while_capturing(driver: Driver, facts: Facts) -> None:
    """docs/reference/simulator.md, "Assumptions": in a capture an allocation of no bytes is null."""
    address, stream = ctypes.c_uint64(1), driver.stream()
    with driver.capture(stream):
        facts["code"] = driver.code("cuMemAllocAsync", ctypes.byref(address), 0, stream)
        facts["is_null"] = address.value == 0
        facts["is_unchanged"] = address.value == 1


@question("peers.sync_memops_of_managed_memory")
def sync_memops(driver: Driver, facts: Facts) -> None:
    with managed_memory(driver) as address:
        value = UINT(1)
        facts["set"] = driver.code(
            "cuPointerSetAttribute", ctypes.byref(value), CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address
        )


@question("peers.unregister_inside")
def unregister_inside(driver: Driver, facts: Facts) -> None:
    """misc.py of the peers' cases: an address inside a registered range."""
    with pages() as address:
        driver.do("cuMemHostRegister_v2", address, 4096, 3)
        facts["inside"] = driver.code("cuMemHostUnregister", address + 80)
        facts["at_the_start_after"] = driver.code("cuMemHostUnregister", address)


class LaunchConfig(ctypes.Structure):
    """``CUlaunchConfig``."""

    _fields_ = [
        ("sizes", UINT * 7),
        ("hStream", ctypes.c_void_p),
        ("attrs", ctypes.c_void_p),
        ("numAttrs", UINT),
    ]


@question("peers.active_clusters_without_a_cluster")
def active_clusters(driver: Driver, facts: Facts) -> None:
    function = driver.function(driver.module(KERNEL), "mine")
    config = LaunchConfig()
    config.sizes[:] = [64, 1, 1, 128, 1, 1, 0]
    facts["count"] = driver.got("cuOccupancyMaxActiveClusters", function, ctypes.byref(config))


@question("peers.parameters_without_a_context")
def parameters_without_context(driver: Driver, facts: Facts) -> None:
    """Peers expect an error, but do not say which."""
    library = driver.made("cuLibraryLoadData", KERNEL, None, None, 0, None, None, 0)
    kernel = driver.made("cuLibraryGetKernel", library, "mine")
    function = driver.function(driver.module(KERNEL), "mine")
    offset, size = SIZE(77), SIZE(77)
    with no_context(driver):
        facts["kernel"] = driver.code("cuKernelGetParamInfo", kernel, 0, ctypes.byref(offset), ctypes.byref(size))
        facts["kernel_values"] = [offset.value, size.value]
        facts["function"] = driver.code("cuFuncGetParamInfo", function, 0, ctypes.byref(offset), ctypes.byref(size))
        facts["beyond_the_last"] = driver.code("cuKernelGetParamInfo", kernel, 1, ctypes.byref(offset), None)


@question("peers.accessed_by")
def accessed_by(driver: Driver, facts: Facts) -> None:
    """The list of devices that access a range: peers expect 0, -1, -2."""
    with managed_memory(driver) as address:
        driver.do("cuMemAdvise", address, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, 0)
        driver.do("cuMemAdvise", address, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_DEVICE_CPU)
        values = (INT * 3)(77, 77, 77)
        facts["code"] = driver.code(
            "cuMemRangeGetAttribute", values, 12, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, address, 4096
        )
        facts["devices"] = list(values)


@question("peers.graph_memory_in_use")
def graph_memory(driver: Driver, facts: Facts) -> None:
    """Memory of a graph counts as used at the launch."""
    graph, access = driver.made("cuGraphCreate", 0), (AccessDesc * 1)(read_write())
    params = AllocationNodeParams(
        poolProps=pool_props(), accessDescs=ctypes.addressof(access), accessDescCount=1, bytesize=1
    )
    first = (ctypes.c_void_p * 1)(driver.made("cuGraphAddMemAllocNode", graph, None, 0, ctypes.byref(params)))
    driver.made("cuGraphAddMemFreeNode", graph, first, 1, params.dptr)
    executable = driver.made("cuGraphInstantiateWithFlags", graph, 0)

    def used() -> int:
        value = ADDRESS()
        driver.do("cuDeviceGetGraphMemAttribute", 0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, ctypes.byref(value))
        return value.value

    facts["instantiated"] = used()
    facts["launch"] = driver.code("cuGraphLaunch", executable, 0)
    facts["launched_is_more_than_none"] = used() > 0
    driver.do("cuCtxSynchronize")
    facts["done"] = used()
    driver.do("cuGraphExecDestroy", executable)
    facts["destroyed"] = used()
    driver.do("cuDeviceGraphMemTrim", 0)
    facts["trimmed"] = used()


@question("peers.context_with_zeroed_parameters")
def zeroed_parameters(driver: Driver, facts: Facts) -> None:
    params = (ctypes.c_uint64 * 3)()
    for name, given in (("zeroed", params), ("null", None)):
        context = ctypes.c_void_p()
        facts[name] = driver.code("cuCtxCreate_v4", ctypes.byref(context), given, 0, 0)
        if context.value:
            driver.number("cuCtxDestroy_v2", context)


@question("peers.end_of_capture_without_a_graph")
def end_of_capture(driver: Driver, facts: Facts) -> None:
    """A capture to a graph of the program ends without a variable for the graph."""
    stream, graph = driver.stream(), driver.made("cuGraphCreate", 0)
    function = driver.function(driver.module(KERNEL), "mine")
    driver.do("cuStreamBeginCaptureToGraph", stream, graph, None, None, 0, CU_STREAM_CAPTURE_MODE_GLOBAL)
    facts["launch"] = driver.launch(function, ctypes.c_uint32(1), stream=stream)
    facts["end"] = driver.code("cuStreamEndCapture", stream, None)
    count = SIZE()
    driver.do("cuGraphGetNodes", graph, None, ctypes.byref(count))
    facts["nodes"] = count.value
    other = driver.stream()
    driver.do("cuStreamBeginCapture_v2", other, CU_STREAM_CAPTURE_MODE_GLOBAL)
    facts["end_of_a_plain_capture"] = driver.code("cuStreamEndCapture", other, None)


@question("peers.link_with_an_undefined_function")
def linker_log(driver: Driver, facts: Facts) -> None:
    """Peers read the text: Undefined reference to '…' in '…'."""
    log = ctypes.create_string_buffer(4096)
    options = (UINT * 2)(CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
    state = created_link(driver, options, values)
    text = CALLER.encode() + b"\0"
    facts["add"] = driver.code("cuLinkAddData_v2", state, CU_JIT_INPUT_PTX, text, len(text), "mine.ptx", 0, None, None)
    facts["complete"] = driver.code("cuLinkComplete", state, ctypes.byref(ctypes.c_void_p()), ctypes.byref(SIZE()))
    facts["log"] = log.value.decode(errors="replace").splitlines()
    driver.number("cuLinkDestroy", state)


def created_link(driver: Driver, options: Any, values: Any) -> int:
    state = ctypes.c_void_p()
    driver.do("cuLinkCreate_v2", len(options), options, values, ctypes.byref(state))
    return state.value or 0


@question("peers.nvml_driver_branch", needs_context=False)
def driver_branch(_: Driver, facts: Facts) -> None:
    """``nvmlSystemGetDriverBranch`` of the management library, if it can be loaded."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        facts["library"] = "not found"
        return
    facts["library"] = "loaded"
    facts["init"] = nvml.nvmlInit_v2()
    if not hasattr(nvml, "nvmlSystemGetDriverBranch"):
        facts["branch"] = "no such function"
        return
    branch = ctypes.create_string_buffer(80)
    facts["branch"] = nvml.nvmlSystemGetDriverBranch(branch, ctypes.c_uint(80))
    facts["branch_is_text"] = facts["branch"] == NVML_SUCCESS and branch.value.decode().startswith("r")
    facts["too_short"] = nvml.nvmlSystemGetDriverBranch(branch, ctypes.c_uint(1))


@question("peers.device_resource")
def device_resource(driver: Driver, facts: Facts) -> None:
    """The multiprocessors of a device and of a context, as a resource."""
    context = driver.made("cuCtxGetCurrent")
    for name, call, owner in (
        ("device", "cuDeviceGetDevResource", 0),
        ("context", "cuCtxGetDevResource", context),
    ):
        resource = ctypes.create_string_buffer(4096)
        facts[name] = driver.code(call, owner, resource, CU_DEV_RESOURCE_TYPE_SM)
        if facts[name] == CUDA_SUCCESS:
            facts[f"{name}.multiprocessors"] = UINT.from_buffer(resource, RESOURCE_SM_COUNT).value


@question("peers.pool_memory_of_another_device", devices=2)
def pool_of_another_device(driver: Driver, facts: Facts) -> None:
    """cuda.core's test_peer_access_basic: without access, copies and fills are ``INVALID_VALUE``."""
    first, second = driver.made("cuCtxGetCurrent"), driver.made("cuDevicePrimaryCtxRetain", 1)
    with memory_pool(driver, pool_props(device_location(1))) as pool, a_stream(driver) as stream:
        driver.do("cuCtxSetCurrent", second)
        there = driver.made("cuMemAllocFromPoolAsync", 1024, pool, 0, kind=ADDRESS)
        driver.do("cuCtxSynchronize")
        driver.do("cuCtxSetCurrent", first)
        here, host = driver.allocate(1024), ctypes.create_string_buffer(1024)
        for name, call in {
            "cuMemcpyDtoDAsync": ("cuMemcpyDtoDAsync_v2", there, here, 1024, stream),
            "cuMemcpyDtoDAsync_from_it": ("cuMemcpyDtoDAsync_v2", here, there, 1024, stream),
            "cuMemcpyAsync": ("cuMemcpyAsync", there, here, 1024, stream),
            "cuMemsetD8Async": ("cuMemsetD8Async", there, 0, 1024, stream),
            "cuMemcpyDtoHAsync": ("cuMemcpyDtoHAsync_v2", host, there, 1024, stream),
            "cuMemcpyHtoDAsync": ("cuMemcpyHtoDAsync_v2", there, host, 1024, stream),
            "cuMemcpyPeerAsync": ("cuMemcpyPeerAsync", there, second, here, first, 1024, stream),
        }.items():
            facts[name] = driver.code(*call)
        facts["wait"] = driver.code("cuStreamSynchronize", stream)
