"""Contexts: flags, the stack of current contexts, primary contexts, destroyed contexts."""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Callable
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from ...question import Facts, question
from ..memory.asking import ask, compared, no_context
from ..memory.structures import ADDRESS, INT, SIZE, UINT


def created(flags: int) -> Callable[[Driver], dict[str, Any]]:
    def case(driver: Driver) -> dict[str, Any]:
        current = driver.made("cuCtxGetCurrent")
        context = ctypes.c_void_p()
        code = driver.code("cuCtxCreate_v2", ctypes.byref(context), flags, 0)
        if code != CUDA_SUCCESS:
            return {"code": code, "result_is_null": not context.value}
        found = {
            "code": code,
            "is_current": driver.made("cuCtxGetCurrent") == context.value,
            "flags": driver.got("cuCtxGetFlags", kind=UINT),
            "api_version": api_version(driver, context.value or 0),
            "pop_gives_it": driver.made("cuCtxPopCurrent_v2") == context.value,
            "current_after_pop": compared(driver.made("cuCtxGetCurrent"), the_earlier_one=current),
            "destroy": driver.code("cuCtxDestroy_v2", context),
        }
        found["current_after_destroy"] = compared(driver.made("cuCtxGetCurrent"), the_earlier_one=current)
        driver.do("cuCtxSetCurrent", current)
        return found

    return case


def api_version(driver: Driver, context: int) -> Any:
    version = UINT(77)
    code = driver.code("cuCtxGetApiVersion", context, ctypes.byref(version))
    return version.value if code == CUDA_SUCCESS else code


ask(
    "contexts.create",
    {f"flags_{flags}": created(flags) for flags in (0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 1 << 31)},
)


def versions(driver: Driver) -> dict[str, Any]:
    """Each version of ``cuCtxCreate``, and the version that its context tells."""
    current = driver.made("cuCtxGetCurrent")
    found: dict[str, Any] = {"primary.api_version": api_version(driver, current)}
    params = (ctypes.c_uint64 * 3)()
    for name, arguments in {
        "cuCtxCreate": (0, 0),
        "cuCtxCreate_v2": (0, 0),
        "cuCtxCreate_v3": (None, 0, 0, 0),
        "cuCtxCreate_v4": (None, 0, 0),
        "cuCtxCreate_v4_with_zeros": (params, 0, 0),
    }.items():
        context = ctypes.c_void_p()
        found[name] = driver.code(name.removesuffix("_with_zeros"), ctypes.byref(context), *arguments)
        if found[name] == CUDA_SUCCESS:
            found[f"{name}.api_version"] = api_version(driver, context.value or 0)
            driver.do("cuCtxDestroy_v2", context)
        driver.do("cuCtxSetCurrent", current)
    found["device_99"] = driver.code("cuCtxCreate_v2", ctypes.byref(ctypes.c_void_p()), 0, 99)
    found["no_result"] = driver.code("cuCtxCreate_v2", None, 0, 0)
    found["api_version_of_null"] = api_version(driver, 0)
    return found


def queries(driver: Driver) -> dict[str, Any]:
    """The state of a fresh primary context."""
    least, greatest = INT(77), INT(77)
    code = driver.code("cuCtxGetStreamPriorityRange", ctypes.byref(least), ctypes.byref(greatest))
    return {
        "priority_range": [code, least.value, greatest.value],
        "priority_range_without_results": driver.code("cuCtxGetStreamPriorityRange", None, None),
        "flags": driver.got("cuCtxGetFlags", kind=UINT),
        "device": driver.got("cuCtxGetDevice"),
        "cache_config": driver.got("cuCtxGetCacheConfig"),
        "shared_memory_config": driver.got("cuCtxGetSharedMemConfig"),
        "exec_affinity": driver.code("cuCtxGetExecAffinity", ctypes.create_string_buffer(64), 0),
        "reset_persisting_l2_cache": driver.code("cuCtxResetPersistingL2Cache"),
        "id_of_null_is_current": ids(driver, 0)[0],
    }


def ids(driver: Driver, context: int) -> tuple[str, int]:
    number = ADDRESS()
    code = driver.code("cuCtxGetId", context, ctypes.byref(number))
    return code, number.value


def ids_in_order(driver: Driver) -> dict[str, Any]:
    """Ids of contexts are unique in the life of the program."""
    current = driver.made("cuCtxGetCurrent")
    first = driver.made("cuCtxCreate_v2", 0, 0)
    second = driver.made("cuCtxCreate_v2", 0, 0)
    numbers = [ids(driver, context)[1] for context in (first, second)]
    driver.do("cuCtxDestroy_v2", second)
    third = driver.made("cuCtxCreate_v2", 0, 0)
    numbers.append(ids(driver, third)[1])
    for context in (first, third):
        driver.do("cuCtxDestroy_v2", context)
    driver.do("cuCtxSetCurrent", current)
    return {
        "differences": [later - earlier for earlier, later in itertools.pairwise(numbers)],
        "primary_id": ids(driver, current)[1],
    }


CONFIGS = {"cuCtxSetCacheConfig": "cuCtxGetCacheConfig", "cuCtxSetSharedMemConfig": "cuCtxGetSharedMemConfig"}


def configured(name: str, value: int) -> Callable[[Driver], dict[str, Any]]:
    def case(driver: Driver) -> dict[str, Any]:
        found = {"code": driver.code(name, value), "value": driver.got(CONFIGS[name])}
        driver.number(name, 0)
        return found

    return case


def set_flags(flags: int) -> Callable[[Driver], dict[str, Any]]:
    def case(driver: Driver) -> dict[str, Any]:
        found = {"code": driver.code("cuCtxSetFlags", flags), "value": driver.got("cuCtxGetFlags", kind=UINT)}
        driver.number("cuCtxSetFlags", 0)
        return found

    return case


ask("contexts.calls", {"versions_of_create": versions, "queries": queries, "ids": ids_in_order})
ask("contexts.configure", {f"{name}_{value}": configured(name, value) for name in CONFIGS for value in (0, 1, 2, 3, 4)})
ask("contexts.set_flags", {f"to_{flags}": set_flags(flags) for flags in (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)})


def stack(driver: Driver) -> dict[str, Any]:
    """Pushes and pops; and pops of nothing."""
    current = driver.made("cuCtxGetCurrent")
    found: dict[str, Any] = {"push": driver.code("cuCtxPushCurrent_v2", current)}
    popped = ctypes.c_void_p()
    for name in ("first", "second", "third"):
        popped.value = 77
        found[f"{name}_pop"] = driver.code("cuCtxPopCurrent_v2", ctypes.byref(popped))
        found[f"{name}_popped"] = compared(popped.value or 0, the_context=current, unchanged=77)
    found["push_null"] = driver.code("cuCtxPushCurrent_v2", None)
    found["pop_after_push_of_null"] = driver.code("cuCtxPopCurrent_v2", ctypes.byref(popped))
    found["pop_without_result"] = [
        driver.code("cuCtxPushCurrent_v2", current),
        driver.code("cuCtxPopCurrent_v2", None),
        compared(driver.made("cuCtxGetCurrent"), the_context=current),
    ]
    driver.do("cuCtxSetCurrent", current)
    found["get_without_result"] = driver.code("cuCtxGetCurrent", None)
    found["attach"] = driver.code("cuCtxAttach", ctypes.byref(ctypes.c_void_p()), 0)
    found["attach_with_flags"] = driver.code("cuCtxAttach", ctypes.byref(ctypes.c_void_p()), 1)
    found["detach"] = driver.code("cuCtxDetach", current)
    driver.do("cuCtxSetCurrent", current)
    return found


ask("contexts.stack", {"of_a_thread": stack})


def other_thread(driver: Driver) -> dict[str, Any]:
    """A new thread has no current context; calls there."""
    found: dict[str, Any] = {}

    def run() -> None:
        found["current"] = compared(driver.made("cuCtxGetCurrent"))
        found["allocation"] = driver.code("cuMemAlloc_v2", ctypes.byref(ADDRESS()), 16)
        found["synchronize"] = driver.code("cuCtxSynchronize")
        found["device"] = driver.got("cuCtxGetDevice")

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found


CALLS: dict[str, tuple[Any, ...]] = {
    "cuCtxSynchronize": ("cuCtxSynchronize",),
    "cuCtxGetDevice": ("cuCtxGetDevice", ctypes.byref(INT())),
    "cuCtxGetFlags": ("cuCtxGetFlags", ctypes.byref(UINT())),
    "cuCtxSetFlags": ("cuCtxSetFlags", 0),
    "cuCtxGetLimit": ("cuCtxGetLimit", ctypes.byref(SIZE()), 0),
    "cuCtxSetLimit": ("cuCtxSetLimit", 0, 1024),
    "cuCtxGetCacheConfig": ("cuCtxGetCacheConfig", ctypes.byref(INT())),
    "cuCtxGetId": ("cuCtxGetId", None, ctypes.byref(ADDRESS())),
    "cuCtxGetApiVersion": ("cuCtxGetApiVersion", None, ctypes.byref(UINT())),
    "cuCtxGetStreamPriorityRange": ("cuCtxGetStreamPriorityRange", ctypes.byref(INT()), ctypes.byref(INT())),
    "cuMemAlloc": ("cuMemAlloc_v2", ctypes.byref(ADDRESS()), 16),
    "cuMemGetInfo": ("cuMemGetInfo_v2", ctypes.byref(SIZE()), ctypes.byref(SIZE())),
    "cuStreamCreate": ("cuStreamCreate", ctypes.byref(ADDRESS()), 0),
    "cuStreamSynchronize_of_the_default_stream": ("cuStreamSynchronize", 0),
    "cuStreamQuery_of_the_default_stream": ("cuStreamQuery", 0),
    "cuEventCreate": ("cuEventCreate", ctypes.byref(ADDRESS()), 0),
    "cuGraphCreate": ("cuGraphCreate", ctypes.byref(ADDRESS()), 0),
    "cuModuleLoadData": (
        "cuModuleLoadData",
        ctypes.byref(ADDRESS()),
        ".version 7.0\n.target sm_75\n.address_size 64\n",
    ),
    "cuDeviceGetAttribute": ("cuDeviceGetAttribute", ctypes.byref(INT()), 1, 0),
    "cuDeviceGetDefaultMemPool": ("cuDeviceGetDefaultMemPool", ctypes.byref(ADDRESS()), 0),
    "cuDevicePrimaryCtxGetState": ("cuDevicePrimaryCtxGetState", 0, ctypes.byref(UINT()), ctypes.byref(INT())),
    "cuLinkCreate": ("cuLinkCreate_v2", 0, None, None, ctypes.byref(ADDRESS())),
    "cuCtxPopCurrent": ("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p())),
}


def without_context(driver: Driver) -> dict[str, str]:
    with no_context(driver):
        return {name: driver.code(*call) for name, call in CALLS.items()}


@question("contexts.destroyed_is_current")
def destroyed_is_current(driver: Driver, facts: Facts) -> None:
    """The current context is destroyed in another thread: docs/reference/simulator.md, "Assumptions"."""
    context = driver.made("cuCtxCreate_v2", 0, 0)
    thread = threading.Thread(target=lambda: facts.__setitem__("destroy", driver.code("cuCtxDestroy_v2", context)))
    thread.start()
    thread.join()
    facts["current"] = compared(driver.made("cuCtxGetCurrent"), the_destroyed=context)
    for name, call in CALLS.items():
        facts[name] = driver.code(*call)


def of_bad_handle(name: str, call: Callable[[int], tuple[Any, ...]], destroyed: bool) -> Callable[[Driver], str]:
    def case(driver: Driver) -> str:
        current = driver.made("cuCtxGetCurrent")
        context = 0
        if destroyed:
            context = driver.made("cuCtxCreate_v2", 0, 0)
            driver.do("cuCtxDestroy_v2", context)
            driver.do("cuCtxSetCurrent", current)
        code = driver.code(name, *call(context))
        driver.do("cuCtxSetCurrent", current)
        return code

    return case


WITH_CONTEXT: dict[str, Callable[[int], tuple[Any, ...]]] = {
    "cuCtxSetCurrent": lambda context: (context,),
    "cuCtxPushCurrent_v2": lambda context: (context,),
    "cuCtxDestroy_v2": lambda context: (context,),
    "cuCtxGetId": lambda context: (context, ctypes.byref(ADDRESS())),
    "cuCtxGetApiVersion": lambda context: (context, ctypes.byref(UINT())),
    "cuCtxEnablePeerAccess": lambda context: (context, 0),
    "cuCtxDetach": lambda context: (context,),
    "cuCtxSynchronize_v2": lambda context: (context,),
    "cuCtxGetDevice_v2": lambda context: (ctypes.byref(INT()), context),
}
ask("contexts.thread", {"without_a_context": other_thread})
ask("contexts.without_a_context", {"calls": without_context})
ask(
    "contexts.bad_handle",
    {
        f"{name}.{what}": of_bad_handle(name, call, what == "destroyed")
        for name, call in WITH_CONTEXT.items()
        for what in ("null", "destroyed")
    },
)


@question("contexts.primary", needs_context=False)
def primary(driver: Driver, facts: Facts) -> None:
    """The life of the primary context: its state, its handle, and releases that are too many."""
    driver.do("cuInit", 0)

    def state() -> list[Any]:
        flags, active = UINT(77), INT(77)
        code = driver.code("cuDevicePrimaryCtxGetState", 0, ctypes.byref(flags), ctypes.byref(active))
        return [code, flags.value, active.value]

    facts["state_at_first"] = state()
    facts["release_at_first"] = driver.code("cuDevicePrimaryCtxRelease_v2", 0)
    facts["reset_at_first"] = driver.code("cuDevicePrimaryCtxReset_v2", 0)
    for flags in (0, 4, 1, 7, 3, 8, 16, 32, 64, 256):
        facts[f"set_flags_{flags}"] = driver.code("cuDevicePrimaryCtxSetFlags_v2", 0, flags)
        facts[f"state_after_flags_{flags}"] = state()
    driver.do("cuDevicePrimaryCtxSetFlags_v2", 0, 0)
    first = driver.made("cuDevicePrimaryCtxRetain", 0)
    facts["state_retained"] = state()
    facts["retain_makes_current"] = driver.made("cuCtxGetCurrent") != 0
    facts["retained_twice_is_one_handle"] = driver.made("cuDevicePrimaryCtxRetain", 0) == first
    driver.do("cuCtxSetCurrent", first)
    facts["set_flags_while_active"] = driver.code("cuDevicePrimaryCtxSetFlags_v2", 0, 4)
    facts["state_after_set_flags_while_active"] = state()
    facts["destroy"] = driver.code("cuCtxDestroy_v2", first)
    facts["first_release"] = driver.code("cuDevicePrimaryCtxRelease_v2", 0)
    facts["state_after_first_release"] = state()
    facts["second_release"] = driver.code("cuDevicePrimaryCtxRelease_v2", 0)
    facts["state_after_second_release"] = state()
    facts["current_after_last_release"] = compared(driver.made("cuCtxGetCurrent"), the_handle=first)
    facts["synchronize_after_last_release"] = driver.code("cuCtxSynchronize")
    facts["allocation_after_last_release"] = driver.code("cuMemAlloc_v2", ctypes.byref(ADDRESS()), 16)
    facts["third_release"] = driver.code("cuDevicePrimaryCtxRelease_v2", 0)
    facts["retained_again_is_the_same_handle"] = driver.made("cuDevicePrimaryCtxRetain", 0) == first
    facts["synchronize_after_retaining_again"] = driver.code("cuCtxSynchronize")
    facts["id_of_retained_again"] = ids(driver, first)[0]


@question("contexts.primary_reset")
def primary_reset(driver: Driver, facts: Facts) -> None:
    """A reset frees what the context has, while the context is current."""
    context = driver.made("cuCtxGetCurrent")
    address, stream, pinned = driver.allocate(64), driver.stream(), driver.pinned(64)
    pool = driver.made("cuMemAllocAsync", 64, stream, kind=ADDRESS)
    driver.do("cuStreamSynchronize", stream)
    facts["reset"] = driver.code("cuDevicePrimaryCtxReset_v2", 0)
    facts["current_after"] = compared(driver.made("cuCtxGetCurrent"), the_same=context)
    flags, active = UINT(77), INT(77)
    driver.do("cuDevicePrimaryCtxGetState", 0, ctypes.byref(flags), ctypes.byref(active))
    facts["active_after"] = active.value
    facts["allocation_after"] = driver.code("cuMemAlloc_v2", ctypes.byref(ADDRESS()), 16)
    facts["synchronize_after"] = driver.code("cuCtxSynchronize")
    for name, of in (("device", address), ("pinned", pinned), ("pool", pool)):
        facts[f"{name}_known_after"] = driver.code("cuPointerGetAttribute", ctypes.byref(UINT()), 2, of)
    facts["free_after"] = driver.code("cuMemFree_v2", address)


@question("contexts.primary_reset_and_stream")
def primary_reset_and_stream(driver: Driver, facts: Facts) -> None:
    """A stream after a reset of its context. A real driver may crash."""
    stream = driver.stream()
    driver.do("cuDevicePrimaryCtxReset_v2", 0)
    facts["synchronize"] = driver.code("cuStreamSynchronize", stream)
    facts["destroy"] = driver.code("cuStreamDestroy_v2", stream)
