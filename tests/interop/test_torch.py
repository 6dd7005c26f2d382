"""Exchange of PyTorch with cuarray, numba-cuda and CuPy in both directions, by the interface; with cuarray also by DLPack."""

from __future__ import annotations

import gc
import importlib.util

import pytest
from dlpack_facts import DLPackFacts
from exchange_facts import ExchangeFacts
from route import Library, Route

import cuarray

if importlib.util.find_spec("torch") is None:
    pytest.skip("PyTorch is not installed; `make test-torch` runs these tests", allow_module_level=True)


class WithoutStreams(ExchangeFacts):
    """The facts without streams, since PyTorch's interface has none. `TestDLPack` tests streams."""

    test_consumer_waits_for_producers_stream = None
    test_missing_wait_is_a_data_race = None


class TestIntoCuarray(WithoutStreams):
    @pytest.fixture
    def route(self, own: Library, torch: Library) -> Route:
        return Route(torch, own)


class TestFromCuarray(WithoutStreams):
    @pytest.fixture
    def route(self, own: Library, torch: Library) -> Route:
        return Route(own, torch)


class TestDirectlyFromNumba(WithoutStreams):
    @pytest.fixture
    def route(self, numba: Library, torch: Library) -> Route:
        return Route(numba, torch)


class TestDirectlyToNumba(WithoutStreams):
    @pytest.fixture
    def route(self, torch: Library, numba: Library) -> Route:
        return Route(torch, numba)


class TestDirectlyFromNumbaMlir(WithoutStreams):
    @pytest.fixture
    def route(self, numba_mlir: Library, torch: Library) -> Route:
        return Route(numba_mlir, torch)


class TestDirectlyToNumbaMlir(WithoutStreams):
    @pytest.fixture
    def route(self, torch: Library, numba_mlir: Library) -> Route:
        return Route(torch, numba_mlir)


class TestDirectlyFromCupy(WithoutStreams):
    @pytest.fixture
    def route(self, cupy: Library, torch: Library) -> Route:
        return Route(cupy, torch)


class TestDirectlyToCupy(WithoutStreams):
    @pytest.fixture
    def route(self, torch: Library, cupy: Library) -> Route:
        return Route(torch, cupy)


class TestDLPack(DLPackFacts):
    @pytest.fixture
    def library(self, torch: Library) -> Library:
        return torch

    def test_tensor_in_host_memory_is_imported_only_with_copy_true(self, torch: Library) -> None:
        from torch import bfloat16, ones

        tensor = ones(4, dtype=bfloat16)
        with pytest.raises(BufferError, match="host memory"):
            cuarray.from_dlpack(tensor)
        copy = cuarray.from_dlpack(tensor, copy=True)
        assert (copy.typestr, copy.view("uint16").copy_to_host().tolist()) == ("bfloat16", [0x3F80] * 4)

    def test_bfloat16_tensor_is_exchanged_as_bfloat16(self, torch: Library) -> None:
        from torch import arange, bfloat16, from_dlpack

        tensor = arange(6, dtype=bfloat16).cuda()
        array = cuarray.from_dlpack(tensor)
        assert array.typestr == "bfloat16"
        again = from_dlpack(array)
        assert again.dtype == bfloat16
        assert again.data_ptr() == tensor.data_ptr()
        assert again.tolist() == [0, 1, 2, 3, 4, 5]

    @pytest.mark.parametrize("name", ["float4_e2m1fn_x2", "float8_e8m0fnu", "complex32"])
    def test_tensor_of_small_values_comes_back_with_its_type(self, torch: Library, name: str) -> None:
        import torch as pytorch

        dtype = getattr(pytorch, name)
        tensor = pytorch.arange(16, dtype=pytorch.uint8).cuda().view(dtype)
        array = cuarray.from_dlpack(tensor)
        assert (array.typestr, array.ptr) == (name, tensor.data_ptr())
        again = pytorch.from_dlpack(array)
        assert (again.dtype, again.data_ptr()) == (dtype, tensor.data_ptr())
        assert again.view(pytorch.uint8).tolist() == list(range(16))

    def test_tensor_is_freed_with_the_imported_array(self, torch: Library) -> None:
        from torch import cuda, full, uint8

        gc.collect()
        before = cuda.memory_allocated()
        array = cuarray.from_dlpack(full((1 << 20,), 7, dtype=uint8).cuda())
        assert cuda.memory_allocated() - before >= 1 << 20
        assert array.copy_to_host().min() == 7
        del array
        gc.collect()
        assert cuda.memory_allocated() == before

    def test_tensor_that_requires_gradient_is_refused(self, torch: Library) -> None:
        from torch import zeros

        with pytest.raises(BufferError, match=r"requires_grad .* pass its detach\(\)"):
            cuarray.from_dlpack(zeros(3, device="cuda", requires_grad=True), stream=-1)

    def test_import_by_exchange_table_has_the_current_stream(self, torch: Library) -> None:
        from torch import Tensor, arange
        from torch.cuda import stream as current

        if not hasattr(Tensor, "__dlpack_c_exchange_api__"):
            pytest.skip("PyTorch has DLPack's exchange table from version 2.10 on")
        tensor, stream = arange(5).cuda(), torch.stream()
        stream.synchronize()
        with current(stream):
            array = cuarray.from_dlpack(tensor)
        assert array.ptr == tensor.data_ptr()
        assert array.stream is not None
        assert array.stream.handle == stream.cuda_stream
        stream.synchronize()
