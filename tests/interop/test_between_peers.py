"""Peers exchange arrays with each other through cuarray."""

from __future__ import annotations

import facts
import pytest
from cases import SMALL
from exchange_facts import ExchangeFacts
from route import Library, Route


class Through(ExchangeFacts):
    def test_stream_is_passed_on_by_cuarray(self, route: Route) -> None:
        facts.stream_goes_through(route)


class TestNumbaToCudaCore(Through):
    @pytest.fixture
    def route(self, own: Library, numba: Library, cuda_core: Library) -> Route:
        return Route(numba, cuda_core, through_cuarray=True)


class TestCudaCoreToNumba(Through):
    """An exchange that is not possible without cuarray: cuda.core's buffers have no `__cuda_array_interface__`."""

    @pytest.fixture
    def route(self, own: Library, numba: Library, cuda_core: Library) -> Route:
        return Route(cuda_core, numba, through_cuarray=True)

    def test_numba_refuses_cuda_core_buffer_without_cuarray(self, numba: Library, cuda_core: Library) -> None:
        buffer = cuda_core.make(SMALL).held.owner
        with pytest.raises(TypeError, match="cuda array interface"):
            numba.take(buffer, SMALL)


class TestNumbaToNumba(Through):
    @pytest.fixture
    def route(self, own: Library, numba: Library) -> Route:
        return Route(numba, numba, through_cuarray=True)
