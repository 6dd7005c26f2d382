"""D11: the device is the one that the pointer belongs to.

The interface has no entry for it. PyTorch uses an index that the user passes, and labels a pointer of device 0 as one of device 1.
The device is not determined by numba-cuda, PyCUDA, RMM, cuDF and mpi4py; cuVS assumes device 0, and Warp requires it as an argument.

The text: the driver's pointer attributes give the context of a pointer, and thus its device (A1).

cuarray: asks the driver, and works in the pointer's context without changing the current one. No argument can name a wrong device.
An import does not ask, since the driver may not know the memory yet.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import driver_probe
import numpy as np
import pytest
from producers import Producer, describe, foreign

import cuarray

PROGRAM = """
import ctypes, cuarray, driver_probe, numpy as np
from producers import foreign
count = ctypes.c_int()
driver_probe.call("cuInit", 0)
driver_probe.call("cuDeviceGetCount", ctypes.byref(count))
if count.value < 2:
    print("one device")
    raise SystemExit
with driver_probe.primary_context(1) as second, driver_probe.primary_context(0) as first:
    with driver_probe.primary_context(1):
        memory = cuarray.to_device(np.arange(6.0).reshape(2, 3))
    here = cuarray.to_device(np.zeros((2, 3)))
    assert driver_probe.current_context() == first

    array = cuarray.as_cuda_array(foreign(memory))
    assert (array.device, here.device) == (1, 0)
    assert array.copy_to_host().tolist() == [[0, 1, 2], [3, 4, 5]]
    array.copy_to_device(np.full((2, 3), 7.0))
    assert memory.copy_to_host().tolist() == [[7] * 3] * 2
    here.copy_to_device(array)
    assert here.copy_to_host().tolist() == [[7] * 3] * 2
    array.copy_to_device(np.arange(6.0).reshape(2, 3))
    copied = cuarray.to_device(array)
    assert copied.copy_to_host().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert driver_probe.current_context() == first
    del array, memory, here, copied
print("passed")
"""


def test_array_of_another_device_is_used_without_changing_current_context(driver: str) -> None:
    output = driver_probe.run_python(PROGRAM, CUARRAY_SIM_DEVICES="2").strip()
    if output == "one device":
        pytest.skip("needs two devices")
    assert output == "passed"


def test_imports_have_no_device_parameter() -> None:
    for read in (cuarray.as_cuda_array, cuarray.from_cuda_array_interface):
        assert not {"device", "device_id", "ordinal"} & set(inspect.signature(read).parameters)


def test_driver_is_asked_for_device_on_access_and_not_on_import(driver: str, driver_calls: Callable[[], Any]) -> None:
    memory = cuarray.to_device(np.arange(4))
    producer = foreign(memory)
    with driver_calls() as calls:
        array = cuarray.as_cuda_array(producer)
    assert not calls
    with driver_calls() as calls:
        assert array.device == 0
    assert any(name.startswith("cuPointerGetAttribute") for name in calls)


def test_memory_unknown_to_driver_has_no_device(driver: str) -> None:
    """Device 0 is not assumed."""
    array = cuarray.as_cuda_array(Producer(describe()))
    assert array.device is None
    assert not array.is_managed
    host = np.arange(4, dtype="f4")
    on_host = cuarray.as_cuda_array(Producer({**host.__array_interface__, "version": 3}, host))
    if driver == "simulated":
        # On some real systems devices can access all host memory, which then has a device.
        assert on_host.device is None


def test_empty_array_keeps_the_device_of_its_allocation(driver: str) -> None:
    assert cuarray.device_array((0, 3)).device == 0
    assert cuarray.from_cuda_array_interface(describe(ptr=0, shape=(0, 3))).device is None
