"""Exchange between numba-cuda-mlir and cuarray in both directions, also by kernel arguments, and with other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from exchange_facts import ExchangeFacts
from route import Library, Route

import cuarray


class TestIntoCuarray(ExchangeFacts):
    @pytest.fixture
    def route(self, own: Library, numba_mlir: Library) -> Route:
        return Route(numba_mlir, own)


class TestFromCuarray(ExchangeFacts):
    @pytest.fixture
    def route(self, own: Library, numba_mlir: Library) -> Route:
        return Route(own, numba_mlir)


class TestFromNumba(ExchangeFacts):
    @pytest.fixture
    def route(self, numba: Library, numba_mlir: Library) -> Route:
        return Route(numba, numba_mlir)


class TestToNumba(ExchangeFacts):
    @pytest.fixture
    def route(self, numba_mlir: Library, numba: Library) -> Route:
        return Route(numba_mlir, numba)


class TestFromCupy(ExchangeFacts):
    @pytest.fixture
    def route(self, cupy: Library, numba_mlir: Library) -> Route:
        return Route(cupy, numba_mlir)


class TestToCupy(ExchangeFacts):
    @pytest.fixture
    def route(self, numba_mlir: Library, cupy: Library) -> Route:
        return Route(numba_mlir, cupy)


@pytest.fixture
def cuda(numba_mlir: Library) -> Any:
    from numba_cuda_mlir import cuda

    return cuda


@pytest.fixture
def increment(cuda: Any) -> Any:
    @cuda.jit
    def increment(x):
        i = cuda.grid(1)
        if i < x.shape[0]:
            x[i] += 1

    return increment


@pytest.mark.parametrize("producer", ["own", "cupy"])
def test_kernel_takes_the_arrays_of_other_libraries(
    increment: Any, producer: str, request: pytest.FixtureRequest
) -> None:
    from cases import Case

    case = Case("float32", (7,), "C")
    array = request.getfixturevalue(producer).make(case)
    increment[1, 32](array.held)
    np.testing.assert_array_equal(array.read(), case.values() + 1)


def test_kernel_waits_for_the_home_stream_of_an_argument(cuda: Any, increment: Any) -> None:
    x = cuarray.to_device(np.arange(1000.0), stream=cuarray.stream())
    increment[8, 128](x)
    np.testing.assert_array_equal(x.copy_to_host(), np.arange(1, 1001))


def test_kernel_runs_in_a_stream_of_cuarray(cuda: Any, increment: Any) -> None:
    stream = cuarray.stream()
    x = cuarray.to_device(np.arange(1000.0), stream=stream)
    increment[8, 128, cuda.external_stream(stream.handle)](x)
    np.testing.assert_array_equal(x.copy_to_host(), np.arange(1, 1001))


def test_kernel_takes_a_dlpack_tensor(increment: Any) -> None:
    class OnlyATensor:
        def __init__(self, array):
            self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

    x = cuarray.to_device(np.arange(10.0))
    increment[1, 32](OnlyATensor(x))
    np.testing.assert_array_equal(x.copy_to_host(), np.arange(1, 11))


def test_arrays_of_numba_and_its_successor_are_exchanged_by_the_interface_only(
    cuda: Any, increment: Any, numba: Library
) -> None:
    """Arrays of both name their type in `_numba_type_`, and each compiler refuses the type of the other."""
    from numba import cuda as old

    @old.jit
    def double(x):
        x[old.grid(1)] *= 2

    x, y = cuda.to_device(np.arange(10.0)), old.to_device(np.arange(10.0))
    with pytest.raises(TypeError, match="invalid type in signature"):
        double[1, 10](x)
    with pytest.raises(TypeError, match="invalid type in signature"):
        increment[1, 10](y)
    double[1, 10](cuarray.as_cuda_array(x))
    increment[1, 10](cuarray.as_cuda_array(y))
    np.testing.assert_array_equal(x.copy_to_host(), np.arange(10) * 2)
    np.testing.assert_array_equal(y.copy_to_host(), np.arange(1, 11))
