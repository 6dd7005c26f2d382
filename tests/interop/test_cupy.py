"""CuPy and cuarray, in both directions, by the interface and by DLPack; on a real GPU."""

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

if importlib.util.find_spec("cupy") is None:
    pytest.skip("CuPy is not installed; it needs a GPU", allow_module_level=True)

every_case = pytest.mark.parametrize("case", cases(), ids=str)


class TestIntoCuarray(ExchangeFacts):
    @pytest.fixture
    def route(self, own: Library, cupy: Library) -> Route:
        return Route(cupy, own)


class TestFromCuarray(ExchangeFacts):
    @pytest.fixture
    def route(self, own: Library, cupy: Library) -> Route:
        return Route(own, cupy)


class TestDLPack:
    @every_case
    def test_into_cuarray(self, cupy: Library, case: Case) -> None:
        made = cupy.make(case)
        taken = cuarray.from_dlpack(made.held)
        assert (taken.ptr, taken.shape, taken.strides, taken.dtype) == (
            made.address,
            case.shape,
            case.strides,
            case.numpy_type,
        )
        np.testing.assert_array_equal(taken.copy_to_host(), case.values())

    @every_case
    def test_from_cuarray(self, own: Library, cupy: Library, case: Case) -> None:
        from cupy import from_dlpack

        made = own.make(case)
        taken = from_dlpack(made.held)
        assert (taken.data.ptr, taken.shape, taken.strides, taken.dtype) == (
            made.address,
            case.shape,
            case.strides,
            case.numpy_type,
        )
        np.testing.assert_array_equal(taken.get(), case.values())

    @pytest.mark.parametrize("how", [{"stream": 1}, {"stream": -1}, {"copy": True}], ids=str)
    def test_what_is_asked_for(self, cupy: Library, how: dict[str, Any]) -> None:
        made = cupy.make(Case("float32", (2, 3), "C"))
        taken = cuarray.from_dlpack(made.held, **how)
        assert (taken.ptr == made.address) == ("copy" not in how)
        np.testing.assert_array_equal(taken.copy_to_host(), made.read())

    def test_our_memory_goes_with_the_last_of_theirs(self, cupy: Library) -> None:
        from cupy import from_dlpack

        array = cuarray.to_device(np.arange(5))
        memory = weakref.ref(array.owner)
        taken = from_dlpack(array)
        del array
        gc.collect()
        assert memory() is not None
        assert taken.get().tolist() == [0, 1, 2, 3, 4]
        del taken
        gc.collect()
        assert memory() is None

    def test_pending_work_of_cupy_is_waited_for(self, cupy: Library, driver: Driver) -> None:
        with pending_in(cupy, driver) as (made, stream, expected):
            reading = cuarray.stream()
            with stream:
                taken = cuarray.from_dlpack(made.held, stream=reading)
            np.testing.assert_array_equal(taken.copy_to_host(), expected)

    def test_pending_work_of_ours_is_waited_for(self, own: Library, cupy: Library, driver: Driver) -> None:
        from cupy import from_dlpack

        with pending_in(own, driver) as (made, _, expected):
            reading = cupy.stream()
            with reading:
                np.testing.assert_array_equal(from_dlpack(made.held).get(), expected)
