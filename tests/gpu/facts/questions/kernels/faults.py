"""Kernels that fail: which code, when, and what works after it (docs/reference/kernels.md, *When a kernel fails*)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...driver import Driver, kernels
from ...gates import Call, finish, made
from ...question import Facts, question, series
from ..graphs.structures import Graph, kernel_node

KIB, MIB = 1 << 10, 1 << 20

FAULTS = kernels("""
.extern .func __assertfail(.param .b64 text, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size);
.global .align 1 .b8 text[5] = {116, 101, 115, 116, 0};
.const .align 4 .u32 constant = 7;

.visible .entry store(.param .u64 address, .param .u64 unused) {
    .reg .u64 %a;
    ld.param.u64 %a, [address];
    st.global.u32 [%a], 1;
    ret;
}

.visible .entry load(.param .u64 address, .param .u64 target) {
    .reg .u64 %a, %t;
    .reg .u32 %v;
    ld.param.u64 %a, [address];
    ld.param.u64 %t, [target];
    ld.global.u32 %v, [%a];
    st.global.u32 [%t], %v;
    ret;
}

.visible .entry store_vector(.param .u64 address, .param .u64 unused) {
    .reg .u64 %a;
    .reg .u32 %v;
    ld.param.u64 %a, [address];
    mov.u32 %v, 1;
    st.global.v4.u32 [%a], {%v, %v, %v, %v};
    ret;
}

.visible .entry add_atomically(.param .u64 address, .param .u64 unused) {
    .reg .u64 %a;
    .reg .u32 %v;
    ld.param.u64 %a, [address];
    atom.global.add.u32 %v, [%a], 1;
    ret;
}

.visible .entry store_generic(.param .u64 address, .param .u64 unused) {
    .reg .u64 %a;
    ld.param.u64 %a, [address];
    st.u32 [%a], 1;
    ret;
}

.visible .entry trap(.param .u64 address, .param .u64 unused) { trap; ret; }

.visible .entry exit(.param .u64 address, .param .u64 unused) { exit; }

.visible .entry breakpoint(.param .u64 address, .param .u64 unused) { brkpt; ret; }

.visible .entry assertion(.param .u64 address, .param .u64 unused) {
    .reg .u64 %a;
    mov.u64 %a, text;
    cvta.global.u64 %a, %a;
    { .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;
      st.param.b64 [p0], %a;
      st.param.b64 [p1], %a;
      st.param.b32 [p2], 1;
      st.param.b64 [p3], %a;
      st.param.b64 [p4], 1;
      call.uni __assertfail, (p0, p1, p2, p3, p4); }
    ret;
}

.visible .entry divide_by_zero(.param .u64 zero, .param .u64 target) {
    .reg .u64 %z, %t;
    .reg .u32 %v;
    ld.param.u64 %z, [zero];
    ld.param.u64 %t, [target];
    cvt.u32.u64 %v, %z;
    div.u32 %v, 7, %v;
    st.global.u32 [%t], %v;
    ret;
}

// Stores in a variable of shared memory at an offset.
.visible .entry store_shared(.param .u64 offset, .param .u64 unused) {
    .shared .align 16 .b8 area[64];
    .reg .u64 %o, %a;
    ld.param.u64 %o, [offset];
    mov.u64 %a, area;
    add.u64 %a, %a, %o;
    st.shared.u32 [%a], 1;
    ret;
}

// Stores in a variable of local memory at an offset, and loads it, so that the variable is kept.
.visible .entry store_local(.param .u64 offset, .param .u64 target) {
    .local .align 16 .b8 area[64];
    .reg .u64 %o, %a, %t;
    .reg .u32 %v;
    ld.param.u64 %o, [offset];
    ld.param.u64 %t, [target];
    mov.u64 %a, area;
    add.u64 %a, %a, %o;
    st.local.u32 [%a], 1;
    ld.local.u32 %v, [%a];
    st.global.u32 [%t], %v;
    ret;
}

// Stores at the generic address of a constant.
.visible .entry store_constant(.param .u64 address, .param .u64 unused) {
    .reg .u64 %a;
    mov.u64 %a, constant;
    cvta.const.u64 %a, %a;
    st.u32 [%a], 1;
    ret;
}

.visible .entry nothing() { ret; }
""")

WORD = 4

CASES: dict[str, tuple[str, Callable[[int], int]]] = {
    "right": ("store", lambda memory: memory),
    "store_at_16": ("store", lambda memory: 16),
    "store_at_0": ("store", lambda memory: 0),
    "load_at_0": ("load", lambda memory: 0),
    "load_at_the_top": ("load", lambda memory: (1 << 64) - 16),
    "store_at_a_wild_address": ("store", lambda memory: 0x123456789ABCD0),
    "atomic_at_16": ("add_atomically", lambda memory: 16),
    "generic_store_at_16": ("store_generic", lambda memory: 16),
    "store_not_aligned": ("store", lambda memory: memory + 2),
    "load_not_aligned": ("load", lambda memory: memory + 1),
    "vector_aligned_to_8": ("store_vector", lambda memory: memory + 8),
    "atomic_not_aligned": ("add_atomically", lambda memory: memory + 2),
    "not_aligned_and_not_allocated": ("store", lambda memory: 18),
    "trap": ("trap", lambda memory: 0),
    "exit": ("exit", lambda memory: 0),
    "breakpoint": ("breakpoint", lambda memory: 0),
    "assertion": ("assertion", lambda memory: 0),
    "divide_by_zero": ("divide_by_zero", lambda memory: 0),
    "shared.right": ("store_shared", lambda memory: 0),
    "shared.beyond_the_variable": ("store_shared", lambda memory: 64),
    "shared.beyond_1_KiB": ("store_shared", lambda memory: KIB),
    "shared.beyond_1_MiB": ("store_shared", lambda memory: MIB),
    "shared.not_aligned": ("store_shared", lambda memory: 2),
    "local.right": ("store_local", lambda memory: 0),
    "local.beyond_the_variable": ("store_local", lambda memory: 64),
    "local.beyond_1_KiB": ("store_local", lambda memory: KIB),
    "local.beyond_16_MiB": ("store_local", lambda memory: 16 * MIB),
    "local.not_aligned": ("store_local", lambda memory: 2),
    "constant": ("store_constant", lambda memory: 0),
}


def aftermath(driver: Driver, facts: Facts, memory: int) -> None:
    """Calls after a kernel that failed."""
    facts["synchronize_again"] = driver.code("cuCtxSynchronize")
    facts["allocate"] = made(driver, "cuMemAlloc_v2", 64, kind=ctypes.c_uint64)[0]
    facts["free"] = driver.code("cuMemFree_v2", memory)
    facts["get_limit"] = driver.code("cuCtxGetLimit", ctypes.byref(ctypes.c_size_t()), 0)
    facts["get_current"] = driver.code("cuCtxGetCurrent", ctypes.byref(ctypes.c_void_p()))
    facts["device_attribute"] = driver.code("cuDeviceGetAttribute", ctypes.byref(ctypes.c_int()), 1, 0)
    facts["create_stream"] = made(driver, "cuStreamCreate", 1)[0]
    facts["create_event"] = made(driver, "cuEventCreate", 0)[0]
    facts["copy"] = driver.code("cuMemcpyDtoH_v2", ctypes.create_string_buffer(4), memory, 4)
    facts["pinned"] = made(driver, "cuMemHostAlloc", 64, 0)[0]
    facts["module"] = made(driver, "cuModuleLoadData", FAULTS)[0]
    facts["graph"] = made(driver, "cuGraphCreate", 0)[0]


@series("kernel.fault", lambda: CASES)
def faults(driver: Driver, facts: Facts, step: str) -> None:
    name, address = CASES[step]
    module = driver.module(FAULTS)
    function, nothing = driver.function(module, name), driver.function(module, "nothing")
    memory, target = driver.allocate(4096), driver.allocate(64)
    stream, other, before, behind = driver.stream(), driver.stream(), driver.event(), driver.event()
    driver.do("cuEventRecord", before, stream)
    driver.do("cuMemsetD8_v2", target, 0, 64)
    finish(driver)
    facts["launch"] = driver.launch(function, address(memory), target, stream=stream)
    driver.number("cuEventRecord", behind, stream)
    facts["synchronize"] = code = driver.code("cuStreamSynchronize", stream)
    if code == "CUDA_SUCCESS":
        facts["context_synchronize"] = driver.code("cuCtxSynchronize")
        driver.number("cuMemFree_v2", memory)
        if name == "divide_by_zero":
            facts["quotient"] = int.from_bytes(driver.download(target, 4), "little")
        return
    facts["event_behind_it"] = driver.code("cuEventQuery", behind)
    facts["event_before_it"] = driver.code("cuEventQuery", before)
    facts["other_stream"] = driver.code("cuStreamSynchronize", other)
    facts["launch_after"] = driver.launch(nothing, stream=other)
    aftermath(driver, facts, memory)


BEYOND = [
    f"{size}_bytes.{beyond}_beyond"
    for size in (4, 512, MIB, 2 * MIB, 2 * MIB + 4)
    for beyond in (0, 4, 508, 512, 64 * KIB, 2 * MIB, 64 * MIB)
]


@series("kernel.access_beyond_an_allocation", lambda: BEYOND)
def beyond(driver: Driver, facts: Facts, step: str) -> None:
    """A store behind the end of the first allocation of the process (docs: not detected within 512 bytes)."""
    size, distance = (int(part.split("_")[0]) for part in step.split("."))
    function = driver.function(driver.module(FAULTS), "store")
    memory = driver.allocate(size)
    driver.launch(function, memory + size + distance, 0)
    facts[""] = driver.code("cuCtxSynchronize")


@question("kernel.access_to_freed_memory")
def freed(driver: Driver, facts: Facts) -> None:
    """A large allocation, which the driver returns to the system, and a small one."""
    function = driver.function(driver.module(FAULTS), "store")
    small, large = driver.allocate(512), driver.allocate(64 * MIB)
    driver.do("cuMemFree_v2", small)
    driver.launch(function, small, 0)
    facts["small"] = driver.code("cuCtxSynchronize")
    driver.number("cuMemFree_v2", large)
    driver.launch(function, large, 0)
    facts["large"] = driver.code("cuCtxSynchronize")


@question("kernel.fault.primary_context_reset")
def reset(driver: Driver, facts: Facts) -> None:
    """A reset of the primary context makes the device usable again."""
    function, memory = driver.function(driver.module(FAULTS), "store"), driver.allocate(64)
    driver.launch(function, 16, 0)
    facts["synchronize"] = driver.code("cuCtxSynchronize")
    facts["free"] = driver.code("cuMemFree_v2", memory)
    facts["reset"] = driver.code("cuDevicePrimaryCtxReset_v2", 0)
    facts["allocate_after_reset"] = made(driver, "cuMemAlloc_v2", 64, kind=ctypes.c_uint64)[0]
    context = ctypes.c_void_p()
    facts["retain"] = driver.code("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    facts["set_current"] = driver.code("cuCtxSetCurrent", context)
    facts["allocate"] = made(driver, "cuMemAlloc_v2", 64, kind=ctypes.c_uint64)[0]
    facts["synchronize_after"] = driver.code("cuCtxSynchronize")


@question("kernel.fault.of_another_context")
def another_context(driver: Driver, facts: Facts) -> None:
    """A fault in one context of a device: the other context goes on."""
    primary = driver.made("cuCtxGetCurrent")
    other = driver.made("cuCtxCreate_v2", 0, 0)
    function = driver.function(driver.module(FAULTS), "trap")
    driver.launch(function, 0, 0)
    facts["synchronize"] = driver.code("cuCtxSynchronize")
    driver.do("cuCtxSetCurrent", primary)
    facts["primary_synchronize"] = driver.code("cuCtxSynchronize")
    facts["primary_allocate"] = made(driver, "cuMemAlloc_v2", 64, kind=ctypes.c_uint64)[0]
    facts["destroy_the_failed_context"] = driver.code("cuCtxDestroy_v2", other)
    facts["primary_synchronize_after"] = driver.code("cuCtxSynchronize")


@series("kernel.fault.first_seen_by", lambda: SEEING, seconds=10)
def first_seen(driver: Driver, facts: Facts, step: str) -> None:
    """The call that first returns the error of a kernel, half a second after its launch."""
    module = driver.module(FAULTS)
    function, nothing = driver.function(module, "trap"), driver.function(module, "nothing")
    things: dict[str, int] = {
        "stream": driver.stream(),
        "other": driver.stream(),
        "event": driver.event(),
        "memory": driver.allocate(4096),
        "pinned": driver.pinned(64),
        "nothing": nothing,
    }
    finish(driver)
    driver.launch(function, 0, 0, stream=things["stream"])
    driver.number("cuEventRecord", things["event"], things["stream"])
    Call(driver, lambda: driver.number("cuEventSynchronize", things["event"])).returned(0.5)
    facts[""] = SEEING[step](driver, things)
    facts["again"] = driver.code("cuCtxSynchronize")


SEEING: dict[str, Callable[[Driver, dict[str, int]], Any]] = {
    "event_query": lambda d, t: d.code("cuEventQuery", t["event"]),
    "stream_query": lambda d, t: d.code("cuStreamQuery", t["stream"]),
    "query_of_another_stream": lambda d, t: d.code("cuStreamQuery", t["other"]),
    "synchronize_another_stream": lambda d, t: d.code("cuStreamSynchronize", t["other"]),
    "launch": lambda d, t: d.launch(t["nothing"], stream=t["other"]),
    "allocate": lambda d, t: made(d, "cuMemAlloc_v2", 64, kind=ctypes.c_uint64)[0],
    "allocate_async": lambda d, t: made(d, "cuMemAllocAsync", 64, t["other"], kind=ctypes.c_uint64)[0],
    "free": lambda d, t: d.code("cuMemFree_v2", t["memory"]),
    "copy": lambda d, t: d.code("cuMemcpyDtoH_v2", ctypes.create_string_buffer(4), t["memory"], 4),
    "copy_async": lambda d, t: d.code("cuMemcpyDtoHAsync_v2", t["pinned"], t["memory"], 4, t["other"]),
    "fill": lambda d, t: d.code("cuMemsetD8Async", t["memory"], 0, 4, t["other"]),
    "event_record": lambda d, t: d.code("cuEventRecord", t["event"], t["other"]),
    "wait_event": lambda d, t: d.code("cuStreamWaitEvent", t["other"], t["event"], 0),
    "event_create": lambda d, t: made(d, "cuEventCreate", 0)[0],
    "stream_create": lambda d, t: made(d, "cuStreamCreate", 1)[0],
    "stream_destroy": lambda d, t: d.code("cuStreamDestroy_v2", t["other"]),
    "event_destroy": lambda d, t: d.code("cuEventDestroy_v2", t["event"]),
    "module_load": lambda d, t: made(d, "cuModuleLoadData", FAULTS)[0],
    "memory_info": lambda d, t: d.code(
        "cuMemGetInfo_v2", ctypes.byref(ctypes.c_size_t()), ctypes.byref(ctypes.c_size_t())
    ),
    "pointer_attribute": lambda d, t: d.code("cuPointerGetAttribute", ctypes.byref(ctypes.c_uint64()), 2, t["memory"]),
    "begin_capture": lambda d, t: d.code("cuStreamBeginCapture_v2", t["other"], 2),
    "set_limit": lambda d, t: d.code("cuCtxSetLimit", 0, 2048),
}


@question("kernel.fault.in_a_graph")
def in_graph(driver: Driver, facts: Facts) -> None:
    """A kernel node that fails: the nodes behind it, and the next launch."""
    module, graph, stream = driver.module(FAULTS), Graph(driver), driver.stream()
    graph.kernel(kernel_node(driver.function(module, "trap"), 0, 0))
    ready = graph.instantiate()
    facts["launch"] = driver.code("cuGraphLaunch", ready, stream)
    facts["synchronize"] = driver.code("cuStreamSynchronize", stream)
    facts["launch_again"] = driver.code("cuGraphLaunch", ready, stream)
    facts["destroy_executable"] = driver.code("cuGraphExecDestroy", ready)
    facts["destroy_graph"] = driver.code("cuGraphDestroy", graph.handle)
