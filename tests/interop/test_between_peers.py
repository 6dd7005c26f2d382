"""Peers exchange arrays with each other through cuarray."""

from __future__ import annotations

import facts
import pytest
from driver import Driver
from exchange_facts import ExchangeFacts
from library import Library
from route import Route


class Through(ExchangeFacts):
    def test_stream_is_passed_on_by_cuarray(self, route: Route, driver: Driver) -> None:
        facts.stream_goes_through(route, driver.occupy)


class TestNumbaToCudaCore(Through):
    @pytest.fixture
    def route(self, own: Library, numba: Library, cuda_core: Library) -> Route:
        return Route(numba, cuda_core, through=own)


class TestCudaCoreToNumba(Through):
    """An exchange that is not possible without cuarray: cuda.core's buffers have no `__cuda_array_interface__`."""

    @pytest.fixture
    def route(self, own: Library, numba: Library, cuda_core: Library) -> Route:
        return Route(cuda_core, numba, through=own)

    def test_numba_refuses_cuda_core_buffer_without_cuarray(self, numba: Library, cuda_core: Library) -> None:
        from cases import Case

        buffer = cuda_core.make(Case("float32", (7,), "C")).held
        with pytest.raises(TypeError, match="cuda array interface"):
            numba.take(buffer)


class TestNumbaToNumba(Through):
    @pytest.fixture
    def route(self, own: Library, numba: Library) -> Route:
        return Route(numba, numba, through=own)
