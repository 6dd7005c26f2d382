"""Attributes of devices, and the other calls about them. Many differ between devices; the comparison lists those apart."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from ...question import Facts, question, series
from ..memory.asking import ask
from ..memory.structures import INT, MIB, SIZE, UINT

LAST_DEVICE_ATTRIBUTE = 150
LAST_FORMAT = 0x21
ATOMIC_OPERATIONS = 12


def numbers() -> Iterable[str]:
    return [f"{number:03}" for number in range(LAST_DEVICE_ATTRIBUTE + 1)]


@series("device.attribute", numbers)
def attribute(driver: Driver, facts: Facts, step: str) -> None:
    facts[""] = driver.got("cuDeviceGetAttribute", int(step), 0)


def name(driver: Driver, size: int) -> dict[str, Any]:
    """The name with room for some bytes, the terminator among them."""
    text = ctypes.create_string_buffer(b"\x7f" * 128, 128)
    code = driver.code("cuDeviceGetName", text, size, 0)
    return {"code": code, "length": text.raw.find(b"\0"), "is_unchanged": text.raw == b"\x7f" * 128}


def bus_id(driver: Driver, size: int) -> dict[str, Any]:
    text = ctypes.create_string_buffer(b"\x7f" * 128, 128)
    code = driver.code("cuDeviceGetPCIBusId", text, size, 0)
    found = {"code": code, "length": text.raw.find(b"\0")}
    if code == CUDA_SUCCESS and size > 12:
        found["device_by_bus_id"] = driver.got("cuDeviceGetByPCIBusId", text)
    return found


def identity(driver: Driver) -> dict[str, Any]:
    """The id of a device, by both versions of the call."""
    first, second = ctypes.create_string_buffer(16), ctypes.create_string_buffer(16)
    found: dict[str, Any] = {
        "first_version": driver.code("cuDeviceGetUuid", first, 0),
        "second_version": driver.code("cuDeviceGetUuid_v2", second, 0),
        "luid": driver.code("cuDeviceGetLuid", ctypes.create_string_buffer(16), ctypes.byref(UINT()), 0),
    }
    found["ids_are_equal"] = first.raw == second.raw
    found["is_zero"] = not any(second.raw)
    return found


def memory(driver: Driver) -> dict[str, Any]:
    old, total = UINT(), SIZE()
    return {
        "code": driver.code("cuDeviceTotalMem_v2", ctypes.byref(total), 0),
        "is_a_multiple_of_2_mib": total.value % (2 * MIB) == 0,
        "first_version": driver.code("cuDeviceTotalMem", ctypes.byref(old), 0),
        "first_version_is_at_most_the_total": old.value <= total.value,
    }


def texture_width(driver: Driver) -> dict[str, Any]:
    """The widest texture of linear memory, by format and channels."""
    return {
        f"{kind:#04x}_{channels}": driver.got("cuDeviceGetTexture1DLinearMaxWidth", kind, channels, 0, kind=SIZE)
        for kind in (0, 1, 2, 3, 8, 9, 10, 0x10, 0x20)
        for channels in (1, 2, 3, 4)
    }


def affinities(driver: Driver) -> dict[str, Any]:
    return {
        "exec_affinity_0": driver.got("cuDeviceGetExecAffinitySupport", 0, 0),
        "exec_affinity_1": driver.got("cuDeviceGetExecAffinitySupport", 1, 0),
    }


def atomics(call: str, *devices: int) -> Any:
    """The atomic operations that a device has on host memory, or on another device (CUDA 13.0)."""

    def case(driver: Driver) -> dict[str, Any]:
        operations = (UINT * ATOMIC_OPERATIONS)(*range(ATOMIC_OPERATIONS))
        found = (UINT * ATOMIC_OPERATIONS)(*[77] * ATOMIC_OPERATIONS)
        code = driver.code(call, found, operations, ATOMIC_OPERATIONS, *devices)
        return {"code": code, "capabilities": list(found)}

    return case


def properties(driver: Driver) -> dict[str, Any]:
    """``cuDeviceGetProperties``, which is deprecated: its twelve numbers."""
    values = (INT * 16)()
    code = driver.code("cuDeviceGetProperties", values, 0)
    return {"code": code, "values": list(values)[:14]}


def bad_devices(driver: Driver) -> dict[str, Any]:
    text = ctypes.create_string_buffer(64)
    found: dict[str, Any] = {}
    for shown, device in (("99", 99), ("minus_1", -1), ("minus_2", -2)):
        found |= {
            f"get.{shown}": driver.code("cuDeviceGet", ctypes.byref(INT()), device),
            f"name.{shown}": driver.code("cuDeviceGetName", text, 64, device),
            f"attribute.{shown}": driver.code("cuDeviceGetAttribute", ctypes.byref(INT()), 1, device),
            f"total_memory.{shown}": driver.code("cuDeviceTotalMem_v2", ctypes.byref(SIZE()), device),
            f"uuid.{shown}": driver.code("cuDeviceGetUuid_v2", text, device),
            f"peer.{shown}": driver.code("cuDeviceCanAccessPeer", ctypes.byref(INT()), 0, device),
            f"retain.{shown}": driver.code("cuDevicePrimaryCtxRetain", ctypes.byref(ctypes.c_void_p()), device),
            f"pool.{shown}": driver.code("cuDeviceGetMemPool", ctypes.byref(ctypes.c_void_p()), device),
        }
    found["bus_id_unknown"] = driver.code("cuDeviceGetByPCIBusId", ctypes.byref(INT()), "0000:ff:1f.0")
    found["bus_id_wrong"] = driver.code("cuDeviceGetByPCIBusId", ctypes.byref(INT()), "hello")
    found["bus_id_empty"] = driver.code("cuDeviceGetByPCIBusId", ctypes.byref(INT()), "")
    found["count_without_result"] = driver.code("cuDeviceGetCount", None)
    found["attribute_without_result"] = driver.code("cuDeviceGetAttribute", None, 1, 0)
    found["version_without_result"] = driver.code("cuDriverGetVersion", None)
    found["capability"] = driver.code("cuDeviceComputeCapability", ctypes.byref(INT()), ctypes.byref(INT()), 0)
    found["flush_of_rdma_writes"] = driver.code("cuFlushGPUDirectRDMAWrites", 0, 100)
    return found


ask(
    "device.calls",
    {f"name_in_{size}_bytes": lambda driver, size=size: name(driver, size) for size in (-1, 0, 1, 2, 5, 64)}
    | {f"bus_id_in_{size}_bytes": lambda driver, size=size: bus_id(driver, size) for size in (0, 1, 12, 13, 64)}
    | {
        "identity": identity,
        "memory": memory,
        "texture_width": texture_width,
        "affinities": affinities,
        "atomics_on_host_memory": atomics("cuDeviceGetHostAtomicCapabilities", 0),
        "atomics_on_itself": atomics("cuDeviceGetP2PAtomicCapabilities", 0, 0),
        "properties": properties,
        "bad_devices": bad_devices,
    },
)


@question("device.before_initialization", needs_context=False)
def before_initialization(driver: Driver, facts: Facts) -> None:
    """Calls before ``cuInit``, and ``cuInit`` with flags."""
    for call, arguments in {
        "cuDriverGetVersion": (ctypes.byref(INT()),),
        "cuDeviceGetCount": (ctypes.byref(INT()),),
        "cuDeviceGet": (ctypes.byref(INT()), 0),
        "cuDeviceGetAttribute": (ctypes.byref(INT()), 1, 0),
        "cuCtxGetCurrent": (ctypes.byref(ctypes.c_void_p()),),
        "cuCtxSynchronize": (),
        "cuMemAlloc_v2": (ctypes.byref(ctypes.c_uint64()), 16),
        "cuMemFree_v2": (0,),
        "cuPointerGetAttribute": (ctypes.byref(UINT()), 2, 0),
        "cuDevicePrimaryCtxRetain": (ctypes.byref(ctypes.c_void_p()), 0),
        "cuGraphCreate": (ctypes.byref(ctypes.c_void_p()), 0),
        "cuModuleGetLoadingMode": (ctypes.byref(UINT()),),
        "cuLibraryLoadData": (ctypes.byref(ctypes.c_void_p()), ".version 7.0\n", None, None, 0, None, None, 0),
        "cuGetProcAddress_v2": ("cuInit", ctypes.byref(ctypes.c_void_p()), 12000, 0, None),
    }.items():
        facts[call] = driver.number(call, *arguments)
    facts["name_of_error"] = driver.name(3)
    facts["init_with_flags_1"] = driver.number("cuInit", 1)
    facts["init"] = driver.number("cuInit", 0)
    facts["init_again"] = driver.number("cuInit", 0)
    facts["current_after_init"] = driver.got("cuCtxGetCurrent", kind=ctypes.c_void_p)
