"""Which calls for streams, events, modules, contexts and graphs return while a stream is held."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from ...driver import Driver
from ...gates import POLLING, finish, host_function, loaded, polling, stream_of
from .cases import KIB, MIB, Case, Cases, fill, place

CASES = Cases()

CU_LIMIT_STACK_SIZE, CU_LIMIT_PRINTF_FIFO_SIZE, CU_LIMIT_MALLOC_HEAP_SIZE = 0, 1, 2
CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
CU_FUNC_CACHE_PREFER_L1 = 2

CASES.simple("create_stream", "cuStreamCreate", place(), 1)
CASES.simple("create_event", "cuEventCreate", place(), 0)
CASES.simple("create_context", "cuCtxCreate_v2", place(), 0, 0)
CASES.simple("set_stack_limit", "cuCtxSetLimit", CU_LIMIT_STACK_SIZE, 4096)
CASES.simple("set_printf_limit", "cuCtxSetLimit", CU_LIMIT_PRINTF_FIFO_SIZE, 2 * MIB)
CASES.simple("set_heap_limit", "cuCtxSetLimit", CU_LIMIT_MALLOC_HEAP_SIZE, 16 * MIB)
CASES.simple("get_limit", "cuCtxGetLimit", place(ctypes.c_size_t), CU_LIMIT_STACK_SIZE)
CASES.simple("set_cache_config", "cuCtxSetCacheConfig", CU_FUNC_CACHE_PREFER_L1)
CASES.simple("trim_graph_memory", "cuDeviceGraphMemTrim", 0)


@CASES.add
def destroy_a_stream_that_waits_for_the_held_one(driver: Driver, stream: int) -> Case:
    other = driver.stream()
    event = driver.event()
    yield
    driver.do("cuEventRecord", event, stream)
    driver.do("cuStreamWaitEvent", other, event, 0)
    yield lambda: driver.code("cuStreamDestroy_v2", other)


@CASES.add
def destroy_a_pending_event(driver: Driver, stream: int) -> Case:
    event = driver.event()
    yield
    driver.do("cuEventRecord", event, stream)
    yield lambda: driver.code("cuEventDestroy_v2", event)


@CASES.add
def record_a_pending_event_again(driver: Driver, stream: int) -> Case:
    event = driver.event()
    yield
    driver.do("cuEventRecord", event, stream)
    yield lambda: driver.code("cuEventRecord", event, stream_of(driver, "non_blocking", 2))


@CASES.add
def load_module(driver: Driver, stream: int) -> Case:
    driver.module(POLLING)
    yield
    yield lambda: driver.code("cuModuleLoadData", place(), POLLING)


@CASES.add
def load_library(driver: Driver, stream: int) -> Case:
    driver.module(POLLING)
    yield
    yield lambda: driver.code("cuLibraryLoadData", place(), POLLING, None, None, 0, None, None, 0)


@CASES.add
def unload_a_module_not_in_use(driver: Driver, stream: int) -> Case:
    module = driver.module(POLLING)
    yield
    yield lambda: driver.code("cuModuleUnload", module)


@CASES.add
def unload_a_module_in_use(driver: Driver, stream: int) -> Case:
    module = driver.module(POLLING)
    function = loaded(driver, driver.function(module, "nothing"))
    yield
    driver.launch(function, stream=stream)
    yield lambda: driver.code("cuModuleUnload", module)


@CASES.add
def first_launch_of_a_kernel(driver: Driver, stream: int) -> Case:
    function, other = driver.function(driver.module(POLLING), "nothing"), stream_of(driver, "non_blocking", 2)
    yield
    yield lambda: driver.launch(function, stream=other)


@CASES.add
def launch_in_another_stream(driver: Driver, stream: int) -> Case:
    function, other = polling(driver)["nothing"], stream_of(driver, "non_blocking", 2)
    driver.launch(function, stream=other)
    finish(driver)
    yield
    yield lambda: driver.launch(function, stream=other)


def many(count: int) -> Callable[[Driver, int], Case]:
    def answer(driver: Driver, stream: int) -> Case:
        function = polling(driver)["nothing"]
        driver.launch(function, stream=stream)
        finish(driver)
        yield
        yield lambda: sorted({driver.launch(function, stream=stream) for _ in range(count)})

    return answer


CASES["launch_256_kernels_in_the_held_stream"] = many(256)
CASES["launch_900_kernels_in_the_held_stream"] = many(900)
CASES["launch_1200_kernels_in_the_held_stream"] = many(1200)
CASES["launch_4200_kernels_in_the_held_stream"] = many(4200)


@CASES.add
def set_function_attribute(driver: Driver, stream: int) -> Case:
    function = polling(driver)["nothing"]
    yield
    yield lambda: driver.code("cuFuncSetAttribute", function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024)


@CASES.add
def get_function_attribute(driver: Driver, stream: int) -> Case:
    function = polling(driver)["nothing"]
    yield
    yield lambda: driver.code("cuFuncGetAttribute", place(ctypes.c_int), 0, function)


@CASES.add
def host_function_in_the_held_stream(driver: Driver, stream: int) -> Case:
    yield
    yield lambda: driver.code("cuLaunchHostFunc", stream, host_function(lambda: None), None)


@CASES.add
def destroy_another_context(driver: Driver, stream: int) -> Case:
    current = driver.made("cuCtxGetCurrent")
    other = driver.made("cuCtxCreate_v2", 0, 0)
    driver.do("cuCtxSetCurrent", current)
    yield
    yield lambda: driver.code("cuCtxDestroy_v2", other)


def graph(driver: Driver) -> int:
    made, memory, stream = ctypes.c_void_p(), driver.allocate(KIB), stream_of(driver, "non_blocking", 2)
    driver.do("cuStreamBeginCapture_v2", stream, 2)
    fill(driver, memory, stream)
    driver.do("cuStreamEndCapture", stream, ctypes.byref(made))
    return made.value or 0


@CASES.add
def instantiate_graph(driver: Driver, stream: int) -> Case:
    made = graph(driver)
    yield
    yield lambda: driver.code("cuGraphInstantiateWithFlags", place(), made, 0)


def graph_call(name: str, call: Callable[[Driver, int, int, int], str], launched: bool = False) -> None:
    """A call for an executable graph: it takes the driver, the graph, the executable graph and the held stream."""

    def answer(driver: Driver, stream: int) -> Case:
        made = graph(driver)
        ready = driver.made("cuGraphInstantiateWithFlags", made, 0)
        driver.do("cuGraphUpload", ready, stream_of(driver, "non_blocking", 2))
        yield
        if launched:
            driver.do("cuGraphLaunch", ready, stream)
        yield lambda: call(driver, made, ready, stream)

    CASES[name] = answer


def update(driver: Driver, made: int, ready: int, stream: int) -> str:
    return driver.code("cuGraphExecUpdate_v2", ready, made, (ctypes.c_uint64 * 3)())


graph_call("launch_graph_in_the_held_stream", lambda d, g, ready, stream: d.code("cuGraphLaunch", ready, stream))
graph_call(
    "launch_graph_in_another_stream",
    lambda d, g, ready, stream: d.code("cuGraphLaunch", ready, stream_of(d, "non_blocking", 2)),
)
graph_call(
    "launch_pending_graph_in_another_stream",
    lambda d, g, ready, stream: d.code("cuGraphLaunch", ready, stream_of(d, "non_blocking", 2)),
    launched=True,
)
graph_call("upload_graph_in_the_held_stream", lambda d, g, ready, stream: d.code("cuGraphUpload", ready, stream))
graph_call("update_graph", update)
graph_call("update_pending_graph", update, launched=True)
graph_call("destroy_executable_graph", lambda d, g, ready, stream: d.code("cuGraphExecDestroy", ready))
graph_call("destroy_pending_executable_graph", lambda d, g, ready, stream: d.code("cuGraphExecDestroy", ready), True)
graph_call("destroy_graph_of_pending_executable_graph", lambda d, g, ready, stream: d.code("cuGraphDestroy", g), True)


CASES.declare("waits.objects")
