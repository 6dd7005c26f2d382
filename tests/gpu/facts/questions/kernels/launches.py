"""Launches: their dimensions and arguments, cooperative launches, clusters, and kernels that run at the same time."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...driver import CUDA_SUCCESS, Driver, kernels
from ...gates import NOT_SEEN, SEEN, Call, finish, polling, word
from ...question import Facts, question, series

CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16
CU_LAUNCH_PARAM_END, CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE = 0, 1, 2

TEXT = kernels("""
.visible .entry plain() { ret; }

// At most 64 threads.
.visible .entry few() .maxntid 64, 1, 1 { ret; }

// Exactly 32 threads.
.visible .entry exact() .reqntid 32, 1, 1 { ret; }

// 40 KiB of static shared memory.
.visible .entry static_shared() {
    .shared .align 4 .b8 area[40960];
    .reg .u32 %v;
    mov.u32 %v, 1;
    st.shared.u32 [area], %v;
    ret;
}

// Stores its second argument at the first one.
.visible .entry two(.param .u64 address, .param .u32 value) {
    .reg .u64 %a;
    .reg .u32 %v;
    ld.param.u64 %a, [address];
    ld.param.u32 %v, [value];
    st.global.u32 [%a], %v;
    ret;
}
""")


def launch(
    driver: Driver, function: int, blocks: tuple[int, ...], threads: tuple[int, ...], shared: int = 0, stream: int = 0
) -> str:
    return driver.code("cuLaunchKernel", function, *blocks, *threads, shared, stream, None, None)


ONE = (1, 1, 1)
SHAPES: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], int]] = {
    "right": ("plain", ONE, ONE, 0),
    "no_blocks_in_x": ("plain", (0, 1, 1), ONE, 0),
    "no_blocks_in_y": ("plain", (1, 0, 1), ONE, 0),
    "no_blocks_in_z": ("plain", (1, 1, 0), ONE, 0),
    "65535_blocks_in_y": ("plain", (1, 65535, 1), ONE, 0),
    "65536_blocks_in_y": ("plain", (1, 65536, 1), ONE, 0),
    "65536_blocks_in_z": ("plain", (1, 1, 65536), ONE, 0),
    "2_to_31_blocks_in_x": ("plain", (1 << 31, 1, 1), ONE, 0),
    "no_threads_in_x": ("plain", ONE, (0, 1, 1), 0),
    "no_threads_in_z": ("plain", ONE, (1, 1, 0), 0),
    "1024_threads": ("plain", ONE, (1024, 1, 1), 0),
    "1025_threads": ("plain", ONE, (1025, 1, 1), 0),
    "32_by_33_threads": ("plain", ONE, (32, 33, 1), 0),
    "64_threads_in_z": ("plain", ONE, (1, 1, 64), 0),
    "65_threads_in_z": ("plain", ONE, (1, 1, 65), 0),
    "maxntid.64": ("few", ONE, (64, 1, 1), 0),
    "maxntid.65": ("few", ONE, (65, 1, 1), 0),
    "maxntid.8_by_8": ("few", ONE, (8, 8, 1), 0),
    "reqntid.32": ("exact", ONE, (32, 1, 1), 0),
    "reqntid.31": ("exact", ONE, (31, 1, 1), 0),
    "reqntid.16_by_2": ("exact", ONE, (16, 2, 1), 0),
    "shared.48_KiB": ("plain", ONE, ONE, 48 << 10),
    "shared.48_KiB_and_1": ("plain", ONE, ONE, (48 << 10) + 1),
    "shared.1_MiB": ("plain", ONE, ONE, 1 << 20),
    "shared.40_KiB_static_and_8_KiB": ("static_shared", ONE, ONE, 8 << 10),
    "shared.40_KiB_static_and_9_KiB": ("static_shared", ONE, ONE, 9 << 10),
}


@series("launch.dimensions", lambda: SHAPES)
def shapes(driver: Driver, facts: Facts, step: str) -> None:
    name, blocks, threads, shared = SHAPES[step]
    function = driver.function(driver.module(TEXT), name)
    facts[""] = launch(driver, function, blocks, threads, shared)
    facts["synchronize"] = driver.code("cuCtxSynchronize")
    stream, graph = driver.stream(), ctypes.c_void_p()
    driver.do("cuStreamBeginCapture_v2", stream, 2)
    facts["captured"] = launch(driver, function, blocks, threads, shared, stream)
    facts["end_of_capture"] = driver.code("cuStreamEndCapture", stream, ctypes.byref(graph))


@question("launch.dynamic_shared_memory")
def shared_memory(driver: Driver, facts: Facts) -> None:
    """The attribute that allows more than 48 KiB: its limits, and what a launch may then use."""
    function = driver.function(driver.module(TEXT), "plain")
    number = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    facts["at_first"] = driver.got("cuFuncGetAttribute", number, function)
    for size in (100 << 10, 227 << 10, (227 << 10) + 1, 228 << 10, 1 << 20, 0, 1 << 31):
        facts[f"set_{size}"] = driver.code("cuFuncSetAttribute", function, number, size)
        facts[f"value_after_{size}"] = driver.got("cuFuncGetAttribute", number, function)
    facts["set_minus_one"] = driver.code("cuFuncSetAttribute", function, number, -1)
    driver.do("cuFuncSetAttribute", function, number, 100 << 10)
    facts["launch_100_KiB"] = launch(driver, function, ONE, ONE, 100 << 10)
    facts["launch_100_KiB_and_1"] = launch(driver, function, ONE, ONE, (100 << 10) + 1)
    driver.do("cuFuncSetAttribute", function, number, 1024)
    facts["launch_48_KiB_with_an_attribute_of_1_KiB"] = launch(driver, function, ONE, ONE, 48 << 10)


def arguments(*values: Any) -> Any:
    return (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))


PASSING: dict[str, Callable[[Driver, int, int], str]] = {}


def passing(name: str) -> Callable[[Callable[[Driver, int, int], str]], Callable[[Driver, int, int], str]]:
    def declare(made: Callable[[Driver, int, int], str]) -> Callable[[Driver, int, int], str]:
        PASSING[name] = made
        return made

    return declare


def extra(driver: Driver, function: int, buffer: Any, size: int, order: tuple[int, ...] = (1, 2)) -> str:
    """Pass arguments as one buffer, with the names of the list in an order."""
    length = ctypes.c_size_t(size)
    values = {
        CU_LAUNCH_PARAM_BUFFER_POINTER: ctypes.addressof(buffer),
        CU_LAUNCH_PARAM_BUFFER_SIZE: ctypes.addressof(length),
    }
    items = [number for key in order for number in (key, values[key])]
    places = (ctypes.c_void_p * (len(items) + 1))(*items, CU_LAUNCH_PARAM_END)
    return driver.code("cuLaunchKernel", function, *ONE, *ONE, 0, 0, None, places)


def packed(address: int) -> Any:
    return ctypes.create_string_buffer(address.to_bytes(8, "little") + (7).to_bytes(4, "little") + bytes(12), 24)


passing("buffer")(lambda d, f, a: extra(d, f, packed(a), 12))
passing("buffer_with_size_first")(lambda d, f, a: extra(d, f, packed(a), 12, (2, 1)))
passing("buffer_of_16_bytes")(lambda d, f, a: extra(d, f, packed(a), 16))
passing("buffer_of_8_bytes")(lambda d, f, a: extra(d, f, packed(a), 8))
passing("buffer_without_size")(lambda d, f, a: extra(d, f, packed(a), 12, (1,)))
passing("neither")(lambda d, f, a: d.code("cuLaunchKernel", f, *ONE, *ONE, 0, 0, None, None))


@passing("list")
def in_list(driver: Driver, function: int, address: int) -> str:
    values = (ctypes.c_uint64(address), ctypes.c_uint32(7))
    return driver.code("cuLaunchKernel", function, *ONE, *ONE, 0, 0, arguments(*values), None)


@passing("list_and_buffer")
def both(driver: Driver, function: int, address: int) -> str:
    values = (ctypes.c_uint64(address), ctypes.c_uint32(7))
    buffer, length = packed(address), ctypes.c_size_t(12)
    places = (ctypes.c_void_p * 5)(1, ctypes.addressof(buffer), 2, ctypes.addressof(length), 0)
    return driver.code("cuLaunchKernel", function, *ONE, *ONE, 0, 0, arguments(*values), places)


@series("launch.arguments", lambda: PASSING)
def passed(driver: Driver, facts: Facts, step: str) -> None:
    """The ways to pass an address and a number to a kernel: the results, and the number that arrives."""
    memory = driver.allocate(64)
    driver.upload(memory, bytes(4))
    function = driver.function(driver.module(TEXT), "two")
    facts[""] = PASSING[step](driver, function, memory)
    facts["synchronize"] = code = driver.code("cuCtxSynchronize")
    if code == CUDA_SUCCESS:
        facts["stored"] = int.from_bytes(driver.download(memory, 4), "little")


@question("launch.null_function")
def null_function(driver: Driver, facts: Facts) -> None:
    facts[""] = launch(driver, 0, ONE, ONE)


@question("launch.cooperative")
def cooperative(driver: Driver, facts: Facts) -> None:
    """As many blocks as fit the device, and one more (CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)."""
    function, per_unit = driver.function(driver.module(TEXT), "plain"), ctypes.c_int()
    driver.do("cuOccupancyMaxActiveBlocksPerMultiprocessor", ctypes.byref(per_unit), function, 1024, 0)
    units = driver.got("cuDeviceGetAttribute", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0)
    facts["blocks_of_1024_threads_per_multiprocessor"] = per_unit.value
    for name, blocks in (("one", 1), ("all", units * per_unit.value), ("one_more", units * per_unit.value + 1)):
        facts[name] = driver.code("cuLaunchCooperativeKernel", function, blocks, 1, 1, 1024, 1, 1, 0, 0, None)
        facts[f"{name}_synchronize"] = driver.code("cuCtxSynchronize")
    facts["no_blocks"] = driver.code("cuLaunchCooperativeKernel", function, 0, 1, 1, 32, 1, 1, 0, 0, None)


@question("launch.kernels_of_two_streams", seconds=15)
def two_streams(driver: Driver, facts: Facts) -> None:
    """A kernel polls a word that a kernel of another stream stores; both orders of the launches."""
    functions, results = polling(driver), driver.allocate(64)
    for order in ("polling_kernel_first", "storing_kernel_first"):
        first, second = driver.stream(), driver.stream()
        driver.do("cuMemsetD8_v2", results, 0, 64)
        finish(driver)
        if order == "polling_kernel_first":
            driver.launch(functions["poll"], results, 1, results + 32, stream=first)
        driver.launch(functions["store"], results, 1, stream=second)
        if order == "storing_kernel_first":
            driver.launch(functions["poll"], results, 1, results + 32, stream=first)
        finish(driver)
        facts[f"{order}.polling_kernel_saw_the_store"] = outcome(driver, results + 32)


def outcome(driver: Driver, place: int) -> bool | str:
    number = int.from_bytes(driver.download(place, 4), "little")
    return {SEEN: True, NOT_SEEN: False}.get(number, "it did not run")


@question("launch.kernels_of_one_stream", seconds=15)
def one_stream(driver: Driver, facts: Facts) -> None:
    """A kernel polls a word that the next kernel of its stream stores: never seen. A control of the question above."""
    functions, results, stream = polling(driver), driver.allocate(64), driver.stream()
    driver.do("cuMemsetD8_v2", results, 0, 64)
    finish(driver)
    driver.launch(functions["poll"], results, 1, results + 32, stream=stream)
    driver.launch(functions["store"], results, 1, stream=stream)
    finish(driver)
    facts["polling_kernel_saw_the_store"] = outcome(driver, results + 32)


@series("launch.kernel_that_polls_for", lambda: ("host", "copy", "fill", "write_value"), seconds=15)
def polls_for(driver: Driver, facts: Facts, step: str) -> None:
    """A kernel polls pinned memory, which the host or other work of another stream then writes."""
    functions, place, result = polling(driver), driver.pinned(4096), driver.pinned(4096)
    source = driver.pinned(4096)
    word(source).value = 1
    first, second = driver.stream(), driver.stream()
    driver.launch(functions["poll"], place, 1, result, stream=first)
    waiting = Call(driver, lambda: driver.code("cuStreamSynchronize", first))
    facts["synchronization_returns_before"] = waiting.returned(0.05)
    if step == "host":
        word(place).value = 1
    elif step == "copy":
        driver.do("cuMemcpyHtoDAsync_v2", place, source, 4, second)
    elif step == "fill":
        driver.do("cuMemsetD32Async", place, 1, 1, second)
    else:
        driver.do("cuStreamWriteValue32_v2", second, place, 1, 0)
    waiting.returned(5)
    finish(driver)
    facts["kernel_saw_the_write"] = {SEEN: True, NOT_SEEN: False}.get(word(result).value, "it did not run")
