"""RMM, with modules built by `make peers-rmm`: its resources allocate, its managers serve other libraries, and wrong uses are findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import driver_probe
import numpy as np
import pytest

import cuarray

rmm = pytest.importorskip("rmm")

from rmm import mr  # noqa: E402 - the package is optional
from rmm.pylibrmm.stream import Stream  # noqa: E402

MEBI = 1 << 20
RESOURCES: dict[str, Callable[[], Any]] = {
    "CUDA": mr.CudaMemoryResource,
    "managed": mr.ManagedMemoryResource,
    "asynchronous": mr.CudaAsyncMemoryResource,
    "pool": lambda: mr.PoolMemoryResource(mr.CudaMemoryResource(), initial_pool_size=MEBI),
    "fixed sizes": lambda: mr.FixedSizeMemoryResource(mr.CudaMemoryResource(), block_size=4096),
    "bins": lambda: mr.BinningMemoryResource(mr.CudaMemoryResource(), 10, 14),
    "limited": lambda: mr.LimitingResourceAdaptor(mr.CudaMemoryResource(), allocation_limit=MEBI),
    "statistics": lambda: mr.StatisticsResourceAdaptor(mr.CudaMemoryResource()),
    "tracked": lambda: mr.TrackingResourceAdaptor(mr.CudaMemoryResource()),
}


@pytest.fixture(autouse=True)
def first_resource(driver_kind: str) -> Iterator[None]:
    """Restore the resource. The context is current before, as the CUDA runtime leaves it current."""
    with driver_probe.primary_context():
        before = mr.get_current_device_resource()
        yield
        mr.set_current_device_resource(before)


@pytest.mark.cuarray_sim_leaks
@pytest.mark.parametrize("name", RESOURCES)
def test_buffer_of_each_resource_keeps_its_bytes(name: str) -> None:
    mr.set_current_device_resource(RESOURCES[name]())
    stream = Stream()
    data = bytes(range(200))
    buffer = rmm.DeviceBuffer.to_device(data, stream)
    copy = rmm.DeviceBuffer(size=len(data), stream=stream)
    copy.copy_from_device(buffer, stream)
    assert copy.tobytes(stream) == data
    stream.synchronize()


def test_buffer_and_array_of_cuarray_are_exchanged_without_a_copy() -> None:
    buffer = rmm.DeviceBuffer.to_device(b"rmm")
    array = cuarray.as_cuda_array(buffer)
    assert array.ptr == buffer.ptr
    assert bytes(array.copy_to_host()) == b"rmm"
    other = rmm.DeviceBuffer(size=3)
    other.copy_from_device(cuarray.to_device(np.frombuffer(b"abc", "u1")))
    assert other.tobytes() == b"abc"


def test_allocation_over_the_limit_is_a_memory_error() -> None:
    limited = mr.LimitingResourceAdaptor(mr.CudaMemoryResource(), allocation_limit=MEBI)
    mr.set_current_device_resource(limited)
    with pytest.raises(MemoryError):
        rmm.DeviceBuffer(size=2 * MEBI)
    assert limited.get_allocated_bytes() == 0


def test_statistics_count_the_bytes_of_buffers() -> None:
    counted = mr.StatisticsResourceAdaptor(mr.CudaMemoryResource())
    mr.set_current_device_resource(counted)
    buffers = [rmm.DeviceBuffer(size=256) for _ in range(3)]
    assert counted.allocation_counts.current_bytes == 768
    del buffers
    assert counted.allocation_counts.current_bytes == 0
    assert counted.allocation_counts.peak_bytes == 768


def test_arrays_of_numba_are_in_memory_of_a_resource() -> None:
    cuda = pytest.importorskip("numba.cuda")
    from rmm.allocators.numba import RMMNumbaManager

    counted = mr.StatisticsResourceAdaptor(mr.CudaMemoryResource())
    mr.set_current_device_resource(counted)
    manager = RMMNumbaManager(context=cuda.current_context())
    memory = manager.memalloc(1024)
    assert counted.allocation_counts.current_bytes == 1024
    assert memory.size == 1024
    del memory
