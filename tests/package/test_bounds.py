"""`bounds=True`: every element must lie in one driver allocation. A warning is given for unknown memory."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import driver_probe
import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray

SIZE = 4096
READERS: dict[str, Callable[..., Any]] = {
    "as_cuda_array": lambda desc, **options: cuarray.as_cuda_array(Producer(desc), bounds=True, **options),
    "from_cuda_array_interface": lambda desc, **options: cuarray.from_cuda_array_interface(
        desc, bounds=True, **options
    ),
    "interface": lambda desc, **options: cuarray.interface(desc, bounds=True),
}


@pytest.fixture(params=["device", "pinned", "managed"])
def memory(request: pytest.FixtureRequest, driver: str) -> Iterator[int]:
    """The address of an allocation of exactly ``SIZE`` bytes, of each memory kind."""
    if request.param == "device":
        around = [cuarray.device_array(SIZE, "u1") for _ in range(3)]
        yield around[1].ptr
        return
    kind = {"pinned": driver_probe.Pinned, "managed": driver_probe.Managed}[request.param]
    each = kind(SIZE)
    yield each.pointer
    each.free()


def floats(pointer: int, count: int, **entries: Any) -> dict[str, Any]:
    return describe(shape=(count,), data=(pointer, False), **entries)


@pytest.mark.parametrize("reader", READERS)
def test_array_within_its_allocation_is_accepted(memory: int, reader: str) -> None:
    read = READERS[reader]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(floats(memory, SIZE // 4)).shape == (SIZE // 4,)
        assert read(floats(memory + SIZE - 4, 1)).shape == (1,)
        assert read(floats(memory + SIZE - 4, SIZE // 4, strides=(-4,))).strides == (-4,)
        assert read(floats(memory + SIZE - 4, 1000, strides=(0,))).shape == (1000,)
        assert read(describe(shape=(2, 2), strides=(SIZE // 2, 4), data=(memory, False))).shape == (2, 2)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "reach",
    [
        {"count": SIZE // 4 + 1},
        {"offset": 4, "count": SIZE // 4},
        {"offset": SIZE - 2, "count": 1},
        {"offset": SIZE - 8, "count": SIZE // 4, "strides": (-4,)},
        {"count": 2, "strides": (SIZE - 3,)},
        {"count": 2**40},
        {"offset": SIZE // 2, "count": 2, "strides": (-SIZE,)},
    ],
    ids=str,
)
def test_array_beyond_its_allocation_is_refused(memory: int, reader: str, reach: dict[str, Any]) -> None:
    desc = floats(memory + reach.get("offset", 0), reach["count"])
    if "strides" in reach:
        desc["strides"] = reach["strides"]
    first, last = cuarray.interface(desc).byte_range
    with pytest.raises(ValueError, match=r"'data'.*allocation") as raised:
        READERS[reader](desc)
    message = str(raised.value)
    assert f"{first:#x} to {last:#x}" in message
    assert f"{memory:#x} to {memory + SIZE:#x} ({SIZE} bytes)" in message


def test_bounds_are_not_checked_by_default(memory: int) -> None:
    desc = floats(memory, SIZE)
    assert cuarray.from_cuda_array_interface(desc).shape == (SIZE,)
    assert cuarray.interface(desc).notes == ()


def test_bounds_of_device_array_objects_are_checked(driver: str) -> None:
    array = cuarray.device_array(SIZE, "u1")
    assert cuarray.as_cuda_array(array, bounds=True) is array
    beyond = cuarray.as_cuda_array(foreign(array, shape=(SIZE + 1,)))
    with pytest.raises(ValueError, match="'data'"):
        cuarray.as_cuda_array(beyond, bounds=True)
    with pytest.raises(ValueError, match="'data'"):
        cuarray.interface(beyond, bounds=True)


@pytest.mark.parametrize("reader", READERS)
def test_mask_is_checked_against_its_own_allocation(driver: str, reader: str) -> None:
    data, mask = cuarray.device_array(600, "f4"), cuarray.device_array(600, "?")
    read = READERS[reader]
    assert read(foreign(data, mask=mask).__cuda_array_interface__).mask is not None
    # The mask begins one byte late, so it ends one byte beyond its allocation.
    late = foreign(mask, data=(mask.ptr + 1, False))
    desc = foreign(data, mask=late).__cuda_array_interface__
    with pytest.raises(ValueError, match=r"'mask'.*allocation"):
        read(desc)
    if reader != "interface":
        assert read(desc, mask="ignore").mask is None
    array = cuarray.from_cuda_array_interface(desc)
    with pytest.raises(ValueError, match=r"'mask'.*allocation"):
        cuarray.as_cuda_array(array, bounds=True)
    assert cuarray.as_cuda_array(array, bounds=True, mask="ignore").mask is None


def test_bit_mask_extent_is_counted_in_bits(driver: str) -> None:
    data, bits = cuarray.device_array(4096, "f4"), cuarray.to_device(np.zeros(512, np.uint8))
    masked = foreign(data, mask=bits)
    assert cuarray.as_cuda_array(masked, mask_format="bits", bounds=True).mask is not None


@pytest.mark.parametrize("pointer", [0, 4096, 2**63])
@pytest.mark.parametrize("reader", READERS)
def test_empty_array_may_have_any_pointer(driver: str, reader: str, pointer: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert READERS[reader](describe(shape=(0,), data=(pointer, False))).shape == (0,)


@pytest.mark.parametrize("reader", READERS)
def test_pageable_host_memory_is_refused_by_name(simulator: str, reader: str) -> None:
    host = np.zeros(8, "f4")
    with pytest.raises(BufferError, match=rf"{host.ctypes.data:#x}, which is ordinary host memory"):
        READERS[reader](floats(host.ctypes.data, 8))


def test_memory_unknown_to_driver_is_accepted_with_warning(simulator: str) -> None:
    """Such memory is, for example, an allocation of a graph that has not run. A warning tells the user that the bounds were not checked."""
    # The operating system does not map anything at this address.
    desc = describe(data=(0x1000, False))
    note = "'data': bounds were not checked: the driver does not describe the memory at 0x1000"
    assert cuarray.interface(desc, bounds=True).notes == (note,)
    assert cuarray.interface(desc).notes == ()
    with pytest.warns(RuntimeWarning) as warned:
        array = cuarray.from_cuda_array_interface(desc, bounds=True)
    assert array.ptr == 0x1000
    assert [str(each.message) for each in warned] == [note]
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="bounds were not checked"):
            cuarray.as_cuda_array(Producer(desc), bounds=True)


def test_freed_memory_is_unknown_to_driver(simulator: str) -> None:
    array = cuarray.device_array(8, "f4")
    desc = array.__cuda_array_interface__
    assert cuarray.interface(desc, bounds=True).notes == ()
    del array
    (note,) = cuarray.interface(desc, bounds=True).notes
    assert "does not describe" in note


def test_registered_memory_is_checked_against_registered_range(driver: str) -> None:
    host = np.zeros(3 * SIZE, "u1")
    start = -host.ctypes.data % SIZE
    pointer = host.ctypes.data + start
    with driver_probe.registered(pointer, SIZE) as device_pointer:
        assert cuarray.interface(floats(device_pointer, SIZE // 4), bounds=True).notes == ()
        with pytest.raises(ValueError, match=f"{SIZE} bytes"):
            cuarray.interface(floats(device_pointer, SIZE // 4 + 1), bounds=True)


def test_pool_allocation_is_checked(driver: str) -> None:
    pointer = ctypes.c_uint64()
    with driver_probe.primary_context():
        driver_probe.call("cuMemAllocAsync", ctypes.byref(pointer), ctypes.c_size_t(SIZE), ctypes.c_void_p(1))
        driver_probe.call("cuStreamSynchronize", ctypes.c_void_p(1))
        try:
            assert cuarray.interface(floats(pointer.value, SIZE // 4), bounds=True).notes == ()
            with pytest.raises(ValueError, match="'data'"):
                cuarray.interface(floats(pointer.value, 2**40), bounds=True)
        finally:
            driver_probe.call("cuMemFree_v2", pointer)


def test_bounds_are_checked_before_waiting_for_stream(driver: str, foreign_stream: driver_probe.ForeignStream) -> None:
    array = cuarray.device_array(SIZE, "u1")
    producer = foreign(array, shape=(SIZE + 1,), stream=foreign_stream.handle)
    with driver_probe.held(foreign_stream.handle) as hold:
        with pytest.raises(ValueError, match="'data'"):
            cuarray.as_cuda_array(producer, bounds=True)
        assert hold.is_held
