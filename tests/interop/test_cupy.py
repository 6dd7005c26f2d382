"""Exchange between CuPy and cuarray in both directions, by the interface and by DLPack, and with numba-cuda through cuarray."""

from __future__ import annotations

import importlib.util

import pytest
from cases import Case
from dlpack_facts import DLPackFacts, every_case
from exchange_facts import ExchangeFacts
from route import Library, Route

import cuarray

if importlib.util.find_spec("cupy") is None:
    pytest.skip(
        "CuPy is not installed; `make peers-cupy` installs it into build/cupy, which PYTHONPATH must name",
        allow_module_level=True,
    )


class TestIntoCuarray(ExchangeFacts):
    @pytest.fixture
    def route(self, own: Library, cupy: Library) -> Route:
        return Route(cupy, own)


class TestFromCuarray(ExchangeFacts):
    @pytest.fixture
    def route(self, own: Library, cupy: Library) -> Route:
        return Route(own, cupy)


class TestDLPack(DLPackFacts):
    @pytest.fixture
    def library(self, cupy: Library) -> Library:
        return cupy

    @every_case
    def test_cuarray_imports_tensor_in_place(self, library: Library, case: Case) -> None:
        if case.layout != "reversed" or case.numpy_type.itemsize == 1:
            super().test_cuarray_imports_tensor_in_place(library, case)
            return
        # CuPy divides the byte strides by the item size as unsigned numbers, so a stride of -1 becomes 2**61 - 1 or more.
        with pytest.raises(ValueError, match="do not fit the address space"):
            cuarray.from_dlpack(library.make(case).held)


class TestToNumba(ExchangeFacts):
    @pytest.fixture
    def route(self, own: Library, cupy: Library, numba: Library) -> Route:
        return Route(cupy, numba, through_cuarray=True)


class TestFromNumba(ExchangeFacts):
    @pytest.fixture
    def route(self, own: Library, cupy: Library, numba: Library) -> Route:
        return Route(numba, cupy, through_cuarray=True)


class TestDirectlyFromNumba(ExchangeFacts):
    @pytest.fixture
    def route(self, cupy: Library, numba: Library) -> Route:
        return Route(numba, cupy)


class TestDirectlyToNumba(ExchangeFacts):
    @pytest.fixture
    def route(self, cupy: Library, numba: Library) -> Route:
        return Route(cupy, numba)
