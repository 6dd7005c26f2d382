"""Which calls for memory return while a stream is held (docs/reference/simulator.md, *When work runs*)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...driver import Driver
from ...gates import stream_of
from .cases import KIB, MIB, Case, Cases, fill, place

CASES = Cases()

GRANULARITY = 2 * MIB

CU_MEM_ATTACH_GLOBAL = 1
CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE = 1, 1
CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3
CU_AD_FORMAT_UNSIGNED_INT8 = 1


class Location(ctypes.Structure):
    """CUmemLocation"""

    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class AllocationProperties(ctypes.Structure):
    """CUmemAllocationProp"""

    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("metadata", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    ]


class Access(ctypes.Structure):
    """CUmemAccessDesc"""

    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


class PoolProperties(ctypes.Structure):
    """CUmemPoolProps"""

    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("attributes", ctypes.c_void_p),
        ("max_size", ctypes.c_size_t),
        ("usage", ctypes.c_ushort),
        ("reserved", ctypes.c_ubyte * 54),
    ]


class ArrayDescriptor(ctypes.Structure):
    """CUDA_ARRAY_DESCRIPTOR"""

    _fields_ = [
        ("width", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
        ("format", ctypes.c_int),
        ("channels", ctypes.c_uint),
    ]


DEVICE = Location(CU_MEM_LOCATION_TYPE_DEVICE, 0)

CASES.simple("allocate_1_KiB", "cuMemAlloc_v2", place(ctypes.c_uint64), KIB)
CASES.simple("allocate_64_MiB", "cuMemAlloc_v2", place(ctypes.c_uint64), 64 * MIB)
CASES.simple("allocate_pinned_1_KiB", "cuMemHostAlloc", place(), KIB, 2)
CASES.simple("allocate_pinned_4_MiB", "cuMemHostAlloc", place(), 4 * MIB, 2)
CASES.simple("allocate_managed", "cuMemAllocManaged", place(ctypes.c_uint64), KIB, CU_MEM_ATTACH_GLOBAL)
CASES.simple(
    "create_array", "cuArrayCreate_v2", place(), ctypes.byref(ArrayDescriptor(64, 64, CU_AD_FORMAT_UNSIGNED_INT8, 1))
)
CASES.simple("memory_info", "cuMemGetInfo_v2", place(ctypes.c_size_t), place(ctypes.c_size_t))
CASES.simple("reserve_addresses", "cuMemAddressReserve", place(ctypes.c_uint64), GRANULARITY, 0, 0, 0)


def releasing(name: str, make: Callable[[Driver], int], release: str) -> None:
    """The release of memory that the held stream uses, and of other memory."""

    def of(in_use: bool) -> Callable[[Driver, int], Case]:
        def answer(driver: Driver, stream: int) -> Case:
            memory = make(driver)
            yield
            if in_use:
                fill(driver, memory, stream)
            yield lambda: driver.code(release, memory)

        return answer

    CASES[f"{name}_in_use"], CASES[f"{name}_not_in_use"] = of(True), of(False)


def registered(driver: Driver) -> int:
    buffer = ctypes.create_string_buffer(3 * 4096)
    address = (ctypes.addressof(buffer) + 4095) & ~4095
    KEPT.append(buffer)
    driver.do("cuMemHostRegister_v2", address, 4096, 2)
    return address


def from_pool(driver: Driver) -> int:
    stream = stream_of(driver, "non_blocking", 2)
    memory = driver.made("cuMemAllocAsync", KIB, stream, kind=ctypes.c_uint64)
    driver.do("cuStreamSynchronize", stream)
    return memory


KEPT: list[Any] = []

releasing("free_device_memory", lambda driver: driver.allocate(KIB), "cuMemFree_v2")
releasing("free_large_device_memory", lambda driver: driver.allocate(64 * MIB), "cuMemFree_v2")
releasing("free_pinned_memory", lambda driver: driver.pinned(4096), "cuMemFreeHost")
releasing(
    "free_managed_memory",
    lambda driver: driver.made("cuMemAllocManaged", 4096, CU_MEM_ATTACH_GLOBAL, kind=ctypes.c_uint64),
    "cuMemFree_v2",
)
releasing("unregister_host_memory", registered, "cuMemHostUnregister")
releasing("free_memory_of_a_pool", from_pool, "cuMemFree_v2")


@CASES.add
def free_async_in_the_held_stream(driver: Driver, stream: int) -> Case:
    memory = from_pool(driver)
    yield
    yield lambda: driver.code("cuMemFreeAsync", memory, stream)


@CASES.add
def free_async_in_another_stream(driver: Driver, stream: int) -> Case:
    memory = from_pool(driver)
    yield
    yield lambda: driver.code("cuMemFreeAsync", memory, stream_of(driver, "non_blocking", 2))


@CASES.add
def allocate_async_in_another_stream(driver: Driver, stream: int) -> Case:
    other = stream_of(driver, "non_blocking", 2)
    yield
    yield lambda: driver.code("cuMemAllocAsync", place(ctypes.c_uint64), KIB, other)


@CASES.add
def allocate_async_in_the_held_stream(driver: Driver, stream: int) -> Case:
    yield
    yield lambda: driver.code("cuMemAllocAsync", place(ctypes.c_uint64), KIB, stream)


def pool(driver: Driver) -> int:
    properties = PoolProperties(type=CU_MEM_ALLOCATION_TYPE_PINNED, location=DEVICE)
    return driver.made("cuMemPoolCreate", ctypes.byref(properties))


@CASES.add
def create_pool(driver: Driver, stream: int) -> Case:
    yield
    yield lambda: "CUDA_SUCCESS" if pool(driver) else "no pool"


@CASES.add
def destroy_pool(driver: Driver, stream: int) -> Case:
    made = pool(driver)
    yield
    yield lambda: driver.code("cuMemPoolDestroy", made)


@CASES.add
def destroy_pool_with_memory_in_use(driver: Driver, stream: int) -> Case:
    made = pool(driver)
    yield
    driver.made("cuMemAllocFromPoolAsync", KIB, made, stream, kind=ctypes.c_uint64)
    yield lambda: driver.code("cuMemPoolDestroy", made)


@CASES.add
def trim_pool(driver: Driver, stream: int) -> Case:
    made = driver.made("cuDeviceGetDefaultMemPool", 0)
    from_pool(driver)
    yield
    yield lambda: driver.code("cuMemPoolTrimTo", made, 0)


PROPERTIES = AllocationProperties(type=CU_MEM_ALLOCATION_TYPE_PINNED, location=DEVICE)


@CASES.add
def create_physical_memory(driver: Driver, stream: int) -> Case:
    yield
    yield lambda: driver.code("cuMemCreate", place(ctypes.c_uint64), GRANULARITY, ctypes.byref(PROPERTIES), 0)


def mapping(driver: Driver) -> tuple[int, int]:
    memory = driver.made("cuMemCreate", GRANULARITY, ctypes.byref(PROPERTIES), 0, kind=ctypes.c_uint64)
    address = driver.made("cuMemAddressReserve", GRANULARITY, 0, 0, 0, kind=ctypes.c_uint64)
    return memory, address


def open_mapping(driver: Driver, address: int) -> str:
    access = Access(DEVICE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
    return driver.code("cuMemSetAccess", address, GRANULARITY, ctypes.byref(access), 1)


@CASES.add
def map_memory(driver: Driver, stream: int) -> Case:
    memory, address = mapping(driver)
    yield
    yield lambda: driver.code("cuMemMap", address, GRANULARITY, 0, memory, 0)


@CASES.add
def set_access(driver: Driver, stream: int) -> Case:
    memory, address = mapping(driver)
    driver.do("cuMemMap", address, GRANULARITY, 0, memory, 0)
    yield
    yield lambda: open_mapping(driver, address)


@CASES.add
def unmap_memory_not_in_use(driver: Driver, stream: int) -> Case:
    memory, address = mapping(driver)
    driver.do("cuMemMap", address, GRANULARITY, 0, memory, 0)
    open_mapping(driver, address)
    yield
    yield lambda: driver.code("cuMemUnmap", address, GRANULARITY)


@CASES.add
def destroy_array(driver: Driver, stream: int) -> Case:
    descriptor = ArrayDescriptor(64, 64, CU_AD_FORMAT_UNSIGNED_INT8, 1)
    array = driver.made("cuArrayCreate_v2", ctypes.byref(descriptor))
    yield
    yield lambda: driver.code("cuArrayDestroy", array)


CASES.declare("waits.memory")
