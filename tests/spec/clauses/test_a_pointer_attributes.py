"""Clause A1: every array reports its device and context, and whether its memory is host-accessible or managed."""

from __future__ import annotations

import ctypes

import driver_probe
import pytest
from producers import describe, foreign

import cuarray


def test_a1_device_memory_is_on_device_0_and_not_host_accessible(driver: str) -> None:
    array = cuarray.device_array(4, "u1")
    for each in (array, cuarray.as_cuda_array(foreign(array)), array[1:]):
        assert (each.device, each.is_managed, each.is_host_accessible) == (0, False, False)


def test_a1_pointer_attributes_name_owning_context(driver: str) -> None:
    """The primary context of device 0, and a context that the program has created; for arrays, imports and views."""
    with driver_probe.primary_context() as primary:
        for each in (array := cuarray.device_array(4, "u1"), cuarray.as_cuda_array(foreign(array)), array[1:]):
            known = cuarray.pointer_attributes(each.ptr)
            assert known is not None
            assert (known.context, known.device, known.memory_type) == (primary, 0, "device")
            assert known.range == (array.ptr, array.ptr + 4)
            assert f"device=0, memory_type='device', is_managed=False, device_ptr={each.ptr:#x}" in repr(known)
    own, pointer = ctypes.c_void_p(), ctypes.c_uint64()
    driver_probe.call("cuCtxCreate_v2", ctypes.byref(own), ctypes.c_uint(0), ctypes.c_int(0))
    try:
        driver_probe.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(4))
        foreign_array = cuarray.from_cuda_array_interface(
            describe(shape=(4,), typestr="|u1", data=(pointer.value, False))
        )
        driver_probe.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        known = cuarray.pointer_attributes(foreign_array.ptr)
        assert known is not None
        assert (known.context, known.device) == (own.value, 0)
        assert foreign_array.device == 0
    finally:
        driver_probe.call("cuCtxDestroy_v2", own)
    assert cuarray.pointer_attributes(4096) is None


def test_a1_managed_memory_is_reported(driver: str) -> None:
    memory = driver_probe.Managed(4)
    try:
        array = cuarray.from_cuda_array_interface(describe(shape=(4,), typestr="|u1", data=(memory.pointer, False)))
        assert (array.device, array.is_managed, array.is_host_accessible) == (0, True, True)
    finally:
        memory.free()


def test_a1_pinned_memory_is_host_accessible(driver: str) -> None:
    memory = driver_probe.Pinned(4)
    try:
        array = cuarray.from_cuda_array_interface(describe(shape=(4,), typestr="|u1", data=(memory.pointer, False)))
        assert (array.is_managed, array.is_host_accessible) == (False, True)
    finally:
        memory.free()


@pytest.mark.parametrize(
    "array", [describe(shape=(0,), data=(0, False)), describe(shape=(0,), data=(4096, False))], ids=str
)
def test_a1_zero_size_array_has_no_device(driver: str, array: dict[str, object]) -> None:
    empty = cuarray.from_cuda_array_interface(array)
    assert (empty.device, empty.is_managed, empty.is_host_accessible) == (None, False, False)


def test_a1_memory_unknown_to_driver_has_no_device(driver: str) -> None:
    array = cuarray.from_cuda_array_interface(describe(data=(4096, False)))
    assert (array.device, array.is_managed, array.is_host_accessible) == (None, False, False)


def test_a1_device_is_that_of_the_pointer_not_the_current_one(driver_kind: str) -> None:
    """An array of the second device is inspected while the first device is current, while none is, and from a view."""
    if driver_kind != "simulated":
        pytest.skip("only the simulated driver is known to have a second device")
    program = """
import ctypes, cuarray, driver_probe
from producers import foreign
with driver_probe.primary_context(1):
    second = cuarray.to_device([1, 2, 3])
first = cuarray.to_device([4])
with driver_probe.primary_context(0):
    print(first.device, second.device, cuarray.as_cuda_array(foreign(second)).device, second[1:].device)
    print(second.copy_to_host().tolist(), cuarray.as_cuda_array(foreign(second, stream=1)).copy_to_host().tolist())
    second.copy_to_device([7, 8, 9])
print(second.device, second.copy_to_host().tolist(), driver_probe.current_context())
with driver_probe.primary_context(1):
    again = driver_probe.current_context()
    first.copy_to_device([5])
    print(first.copy_to_host().tolist(), driver_probe.current_context() == again)
"""
    printed = driver_probe.run_python(program, CUARRAY_SIM_DEVICES="2").splitlines()
    assert printed == ["0 1 1 1", "[1, 2, 3] [1, 2, 3]", "1 [7, 8, 9] None", "[5] True"]
