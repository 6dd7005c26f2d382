"""Memory resources of cuda.core: virtual memory, and pools that processes share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from driver import Driver
from producers import foreign
from route import Library

import cuarray

HERE = Path(__file__).parent
MEBI = 1 << 20


@pytest.fixture
def stream(cuda_core: Library):
    from cuda.core import Device

    device = Device(0)
    device.set_current()
    return device.create_stream()


@pytest.fixture
def resource(stream):
    from cuda.core import Device, VirtualMemoryResource

    if not Device(0).properties.virtual_memory_management_supported:
        pytest.skip("the device has no virtual memory management")
    return VirtualMemoryResource(Device(0))


def imported(buffer, size: int) -> cuarray.DeviceArray:
    """An array over a buffer, as another library would export it."""
    base = cuarray.device_array(size, "uint8")
    return cuarray.as_cuda_array(foreign(base, data=(int(buffer.handle), False)))


def test_virtual_memory_is_imported_with_its_bytes(resource, stream) -> None:
    buffer = resource.allocate(3 * MEBI)
    assert buffer.size == 4 * MEBI
    buffer.fill(7, stream=stream)
    stream.sync()
    assert np.array_equal(imported(buffer, buffer.size).copy_to_host(), np.full(buffer.size, 7, "uint8"))
    buffer.close()


def test_virtual_memory_that_grew_is_one_array(resource, stream) -> None:
    buffer = resource.allocate(2 * MEBI)
    buffer.fill(7, stream=stream)
    stream.sync()
    grown = resource.modify_allocation(buffer, 6 * MEBI)
    array = imported(grown, grown.size)
    assert imported(grown, 2 * MEBI).copy_to_host()[-1] == 7
    grown.fill(8, stream=stream)
    stream.sync()
    assert np.array_equal(array.copy_to_host(), np.full(6 * MEBI, 8, "uint8"))
    del array
    grown.close()


SHARED_POOLS = {
    "ipc_pool.py": ["child: 0 copy: 0 bytes: {9}"],
    "ipc_pinned_pool.py": ["sent: True", "child: 0 bytes: [{7}, {9}]"],
}


@pytest.mark.parametrize("program", SHARED_POOLS)
def test_buffers_of_a_shared_pool_are_filled_by_a_child(driver: Driver, cuda_core: Library, program: str) -> None:
    launcher = ["-m", "cuarray_sim"] if driver.is_simulated else []
    done = subprocess.run(
        [sys.executable, *launcher, HERE / program], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == SHARED_POOLS[program]
