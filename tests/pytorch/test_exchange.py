"""Streams in the exchange of PyTorch with numba-cuda and CuPy, by the CUDA Array Interface and by DLPack.

PyTorch has no streams in the interface. numba-cuda has no DLPack, so cuarray is between the two there.
"""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from numba import cuda

import cuarray

Sides = Callable[[], list[tuple[str, str]]]

COUNT = 1000


@pytest.fixture(autouse=True)
def numba_streams() -> Iterator[None]:
    """Drop the streams of the last launches after each test, which a dispatcher of numba-cuda keeps."""
    yield
    type(increment).configure.cache_clear()


@pytest.fixture
def cupy() -> Iterator[Any]:
    if importlib.util.find_spec("cupy") is None:
        pytest.skip("CuPy is not installed; `make peers-cupy` installs it into build/cupy, which PYTHONPATH must name")
    import cupy

    yield cupy
    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()


@cuda.jit
def increment(values):  # type: ignore[no-untyped-def]
    at = cuda.grid(1)
    if at < values.size:
        values[at] += 1


def on_device(value: int) -> torch.Tensor:
    """A tensor whose elements have been written."""
    tensor = torch.full((COUNT,), value, dtype=torch.int32).cuda()
    torch.cuda.synchronize()
    return tensor


def pinned() -> torch.Tensor:
    return torch.empty(COUNT, dtype=torch.int32, pin_memory=True)


class TestNumba:
    def test_kernel_in_the_stream_of_pytorch_is_ordered(self) -> None:
        source, target, stream = on_device(3), on_device(0), torch.cuda.Stream()
        host = pinned()
        with torch.cuda.stream(stream):
            target.copy_(source)
            increment[8, 128, cuda.external_stream(stream.cuda_stream)](cuda.as_cuda_array(target))
            host.copy_(target, non_blocking=True)
        stream.synchronize()
        assert host.tolist() == [4] * COUNT

    @pytest.mark.cuarray_sim(expect="data-race")
    def test_kernel_in_another_stream_is_a_race_as_pytorch_exports_no_stream(self, sides: Sides) -> None:
        source, target, stream, other = on_device(3), on_device(0), torch.cuda.Stream(), cuda.stream()
        with torch.cuda.stream(stream):
            target.copy_(source)
        increment[8, 128, other](cuda.as_cuda_array(target))
        assert sides() == [
            ("torch", "target.copy_(source)"),
            ("numba.cuda", "increment[8, 128, other](cuda.as_cuda_array(target))"),
        ]

    def test_tensor_of_an_array_is_ordered_in_the_stream_of_the_array(self) -> None:
        stream, host = cuda.stream(), pinned()
        array = cuda.to_device(np.full(COUNT, 5, np.int32), stream=stream)
        increment[8, 128, stream](array)
        tensor = torch.as_tensor(array, device="cuda")
        with torch.cuda.stream(torch.cuda.ExternalStream(int(stream.handle))):
            host.copy_(tensor, non_blocking=True)
        stream.synchronize()
        assert tensor.data_ptr() == array.device_ctypes_pointer.value
        assert host.tolist() == [6] * COUNT

    def test_dlpack_of_an_array_waits_for_the_stream_of_the_array(self) -> None:
        stream, reading, host = cuda.stream(), torch.cuda.Stream(), pinned()
        array = cuda.to_device(np.full(COUNT, 5, np.int32), stream=stream)
        increment[8, 128, stream](array)
        with torch.cuda.stream(reading):
            tensor = torch.from_dlpack(cuarray.as_cuda_array(array.bind(stream)))
            host.copy_(tensor, non_blocking=True)
        reading.synchronize()
        assert tensor.data_ptr() == array.device_ctypes_pointer.value
        assert host.tolist() == [6] * COUNT

    def test_dlpack_of_a_tensor_waits_for_the_current_stream(self) -> None:
        source, target, stream = on_device(3), on_device(0), torch.cuda.Stream()
        with torch.cuda.stream(stream):
            target.copy_(source)
            array = cuarray.from_dlpack(target, stream=cuarray.stream())
        view = cuda.as_cuda_array(array)
        increment[8, 128, view.stream](view)
        assert view.device_ctypes_pointer.value == target.data_ptr()
        assert view.copy_to_host(stream=view.stream).tolist() == [4] * COUNT
        view.stream.synchronize()


class TestCuPy:
    def test_kernel_in_the_stream_of_pytorch_is_ordered(self, cupy: Any) -> None:
        source, target, host, stream = on_device(3), on_device(0), pinned(), torch.cuda.Stream()
        with torch.cuda.stream(stream), cupy.cuda.ExternalStream(stream.cuda_stream):
            target.copy_(source)
            array = cupy.asarray(target)
            array += 1
            host.copy_(target, non_blocking=True)
        stream.synchronize()
        assert array.data.ptr == target.data_ptr()
        assert host.tolist() == [4] * COUNT

    @pytest.mark.cuarray_sim(expect="data-race")
    def test_kernel_in_another_stream_is_a_race_as_pytorch_exports_no_stream(self, cupy: Any, sides: Sides) -> None:
        source, target, stream = on_device(3), on_device(0), torch.cuda.Stream()
        with torch.cuda.stream(stream):
            target.copy_(source)
        with cupy.cuda.Stream(non_blocking=True) as other:
            array = cupy.asarray(target)
            array += 1
        other.synchronize()
        assert sides() == [("torch", "target.copy_(source)"), ("cupy_backends", "array += 1")]

    def test_tensor_of_an_array_is_ordered_in_the_stream_of_the_array(self, cupy: Any) -> None:
        stream, host = cupy.cuda.Stream(non_blocking=True), pinned()
        with stream, torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)):
            array = cupy.arange(COUNT, dtype=cupy.int32) * 2
            tensor = torch.as_tensor(array, device="cuda")
            host.copy_(tensor, non_blocking=True)
        stream.synchronize()
        assert tensor.data_ptr() == array.data.ptr
        assert host.tolist() == list(range(0, 2 * COUNT, 2))
        del host  # PyTorch records an event in each stream that used pinned memory when the memory is freed

    @pytest.mark.cuarray_sim(expect="data-race")
    def test_tensor_of_an_array_in_another_stream_is_a_race_as_pytorch_reads_no_stream(
        self, cupy: Any, sides: Sides
    ) -> None:
        host, stream, other = pinned(), cupy.cuda.Stream(non_blocking=True), torch.cuda.Stream()
        with stream:
            array = cupy.full(COUNT, 7, cupy.int32)
            with torch.cuda.stream(other):
                host.copy_(torch.as_tensor(array, device="cuda"), non_blocking=True)
        other.synchronize()
        stream.synchronize()
        assert sides() == [
            ("cupy_backends", "array = cupy.full(COUNT, 7, cupy.int32)"),
            ("torch", 'host.copy_(torch.as_tensor(array, device="cuda"), non_blocking=True)'),
        ]

    def test_dlpack_of_an_array_waits_for_the_current_stream_of_cupy(self, cupy: Any) -> None:
        host, stream, reading = pinned(), cupy.cuda.Stream(non_blocking=True), torch.cuda.Stream()
        with stream:
            array = cupy.arange(COUNT, dtype=cupy.int32) * 2
            with torch.cuda.stream(reading):
                tensor = torch.from_dlpack(array)
                host.copy_(tensor, non_blocking=True)
        reading.synchronize()
        assert tensor.data_ptr() == array.data.ptr
        assert host.tolist() == list(range(0, 2 * COUNT, 2))

    def test_dlpack_of_a_tensor_waits_for_the_current_stream_of_pytorch(self, cupy: Any) -> None:
        source, target, stream = on_device(3), on_device(0), torch.cuda.Stream()
        with torch.cuda.stream(stream):
            target.copy_(source)
            with cupy.cuda.Stream(non_blocking=True):
                array = cupy.from_dlpack(target)
                found = (array + 1).get()
        assert array.data.ptr == target.data_ptr()
        assert found.tolist() == [4] * COUNT
