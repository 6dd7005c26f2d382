"""PyTorch and cuarray, in both directions, by the interface and by DLPack; on a real GPU."""

from __future__ import annotations

import gc
import importlib.util
import weakref
from typing import Any

import numpy as np
import pytest
from cases import Case, cases
from driver import Driver
from exchange_facts import ExchangeFacts
from library import Library
from pending import pending_in
from route import Route

import cuarray

if importlib.util.find_spec("torch") is None:
    pytest.skip("PyTorch is not installed; it needs a GPU", allow_module_level=True)

every_case = pytest.mark.parametrize("case", cases(layouts=("C", "F", "sliced")), ids=str)


class WithoutStreams(ExchangeFacts):
    """What PyTorch's side of the interface keeps; it knows nothing of streams, which `TestDLPack` exchanges."""

    test_stream_is_honoured = None
    test_wait_is_needed = None


class TestIntoCuarray(WithoutStreams):
    @pytest.fixture
    def route(self, own: Library, torch: Library) -> Route:
        return Route(torch, own)


class TestFromCuarray(WithoutStreams):
    @pytest.fixture
    def route(self, own: Library, torch: Library) -> Route:
        return Route(own, torch)


class TestDLPack:
    @every_case
    def test_into_cuarray(self, torch: Library, case: Case) -> None:
        made = torch.make(case)
        taken = cuarray.from_dlpack(made.held)
        assert (taken.ptr, taken.shape, taken.strides, taken.dtype) == (
            made.address,
            case.shape,
            case.strides,
            case.numpy_type,
        )
        np.testing.assert_array_equal(taken.copy_to_host(), case.values())

    @every_case
    def test_from_cuarray(self, own: Library, torch: Library, case: Case) -> None:
        from torch import from_dlpack

        made = own.make(case)
        taken = from_dlpack(made.held)
        assert (taken.data_ptr(), tuple(taken.shape)) == (made.address, case.shape)
        assert [step * taken.element_size() for step in taken.stride()] == list(case.strides)
        np.testing.assert_array_equal(taken.cpu().numpy(), case.values())

    @pytest.mark.parametrize("how", [{"stream": 1}, {"stream": -1}, {"copy": True}], ids=str)
    def test_what_is_asked_for(self, torch: Library, how: dict[str, Any]) -> None:
        made = torch.make(Case("float32", (2, 3), "C"))
        taken = cuarray.from_dlpack(made.held, **how)
        assert (taken.ptr == made.address) == ("copy" not in how)
        np.testing.assert_array_equal(taken.copy_to_host(), made.read())

    def test_host_memory_is_refused_or_copied(self, torch: Library) -> None:
        from torch import bfloat16, ones

        tensor = ones(4, dtype=bfloat16)
        with pytest.raises(BufferError, match="host memory"):
            cuarray.from_dlpack(tensor)
        copy = cuarray.from_dlpack(tensor, copy=True)
        assert (copy.typestr, copy.view("uint16").copy_to_host().tolist()) == ("bfloat16", [0x3F80] * 4)

    def test_our_memory_goes_with_the_last_of_theirs(self, torch: Library) -> None:
        from torch import from_dlpack

        array = cuarray.to_device(np.arange(5))
        memory = weakref.ref(array.owner)
        taken = from_dlpack(array)
        del array
        gc.collect()
        assert memory() is not None
        assert taken.tolist() == [0, 1, 2, 3, 4]
        del taken
        gc.collect()
        assert memory() is None

    def test_bfloat16_keeps_its_name(self, torch: Library) -> None:
        from torch import arange, bfloat16, from_dlpack

        tensor = arange(6, dtype=bfloat16, device="cuda")
        array = cuarray.from_dlpack(tensor)
        assert array.typestr == "bfloat16"
        again = from_dlpack(array)
        assert again.dtype == bfloat16
        assert again.data_ptr() == tensor.data_ptr()
        assert again.tolist() == [0, 1, 2, 3, 4, 5]

    def test_the_tensor_is_kept_and_let_go(self, torch: Library) -> None:
        from torch import cuda, full, uint8

        gc.collect()
        before = cuda.memory_allocated()
        array = cuarray.from_dlpack(full((1 << 20,), 7, dtype=uint8, device="cuda"))
        assert cuda.memory_allocated() - before >= 1 << 20
        assert array.copy_to_host().min() == 7
        del array
        gc.collect()
        assert cuda.memory_allocated() == before

    def test_a_tensor_with_a_gradient_is_refused_by_its_maker(self, torch: Library) -> None:
        from torch import zeros

        with pytest.raises(BufferError, match="gradient"):
            cuarray.from_dlpack(zeros(3, device="cuda", requires_grad=True), stream=-1)

    def test_pending_work_of_pytorch_is_waited_for(self, torch: Library, driver: Driver) -> None:
        from torch.cuda import stream as current

        with pending_in(torch, driver) as (made, stream, expected):
            reading = cuarray.stream()
            with current(stream):
                taken = cuarray.from_dlpack(made.held, stream=reading)
            np.testing.assert_array_equal(taken.copy_to_host(), expected)

    def test_pending_work_of_ours_is_waited_for(self, own: Library, torch: Library, driver: Driver) -> None:
        from torch import from_dlpack
        from torch.cuda import stream as current

        with pending_in(own, driver) as (made, _, expected), current(torch.stream()):
            np.testing.assert_array_equal(from_dlpack(made.held).cpu().numpy(), expected)

    def test_the_exchange_table_names_the_current_stream(self, torch: Library) -> None:
        from torch import Tensor, arange
        from torch.cuda import stream as current

        if not hasattr(Tensor, "__dlpack_c_exchange_api__"):
            pytest.skip("PyTorch has DLPack's exchange table from version 2.10 on")
        tensor, stream = arange(5, device="cuda"), torch.stream()
        stream.synchronize()
        with current(stream):
            array = cuarray.from_dlpack(tensor)
        assert array.ptr == tensor.data_ptr()
        assert array.stream is not None
        assert array.stream.handle == stream.cuda_stream
        stream.synchronize()
