"""Exchange between numba-cuda and cuarray in both directions."""

from __future__ import annotations

import numpy as np
import pytest
from exchange_facts import ExchangeFacts
from route import Library, Route

import cuarray


class TestIntoCuarray(ExchangeFacts):
    @pytest.fixture
    def route(self, own: Library, numba: Library) -> Route:
        return Route(numba, own)


class TestFromCuarray(ExchangeFacts):
    @pytest.fixture
    def route(self, own: Library, numba: Library) -> Route:
        return Route(own, numba)


@pytest.fixture
def cuda(numba: Library):
    from numba import cuda

    return cuda


def test_imported_numba_array_has_numbas_stream(cuda) -> None:
    """Clause N1."""
    stream = cuda.stream()
    array = cuarray.as_cuda_array(cuda.to_device(np.arange(3)).bind(stream))
    assert array.stream is not None
    assert array.stream.handle == int(stream)


def test_numba_import_has_the_home_stream(cuda) -> None:
    """Clause N2."""
    stream = cuarray.stream()
    array = cuda.as_cuda_array(cuarray.device_array(3, stream=stream))
    assert int(array.stream) == stream.handle


def test_array_without_a_stream_is_imported_without_one(cuda) -> None:
    assert cuarray.as_cuda_array(cuda.device_array(3)).stream is None
    assert cuda.as_cuda_array(cuarray.device_array(3)).stream == 0  # numba's value for no stream


@pytest.mark.parametrize(("maker", "handle"), [("legacy_default_stream", 1), ("per_thread_default_stream", 2)])
def test_cuda_default_streams_are_exchanged_as_1_and_2(cuda, maker: str, handle: int) -> None:
    """Clause I11 in both directions."""
    numba_array = cuda.to_device(np.arange(3)).bind(getattr(cuda, maker)())
    stream = cuarray.as_cuda_array(numba_array).stream
    assert stream is not None
    assert stream.handle == handle
    array = cuarray.device_array(3, stream=getattr(cuarray, maker)())
    assert int(cuda.as_cuda_array(array).stream) == handle


@pytest.mark.filterwarnings("ignore:__int__ returned non-int:DeprecationWarning")
def test_numba_array_with_stream_0_is_refused(cuda) -> None:
    """numba exports 0 for its default stream, which clause I11 disallows."""
    array = cuda.to_device(np.arange(3)).bind(cuda.default_stream())
    assert array.__cuda_array_interface__["stream"] == 0
    with pytest.raises(ValueError, match=r"'stream'.*0 is disallowed"):
        cuarray.as_cuda_array(array)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2)])
def test_empty_array_is_exchanged_with_pointer_0(cuda, shape: tuple[int, ...]) -> None:
    """Clause I5."""
    into = cuarray.as_cuda_array(cuda.device_array(shape, "float32"))
    assert (into.shape, into.size, into.ptr) == (shape, 0, 0)
    assert into.copy_to_host().shape == shape
    out = cuda.as_cuda_array(cuarray.device_array(shape, "float32"))
    assert out.shape == shape
    assert out.copy_to_host().shape == shape


def test_memory_kind_of_numba_arrays_is_recognized(cuda) -> None:
    """Clause A1."""
    device = cuarray.as_cuda_array(cuda.device_array(3))
    assert (device.is_managed, device.is_host_accessible, device.device) == (False, False, 0)
    managed = cuarray.as_cuda_array(cuda.managed_array(3))
    assert (managed.is_managed, managed.is_host_accessible) == (True, True)
    mapped = cuarray.as_cuda_array(cuda.mapped_array(3))
    assert (mapped.is_managed, mapped.is_host_accessible) == (False, True)


def test_managed_memory_of_numba_is_shared_with_the_host(cuda) -> None:
    managed = cuda.managed_array(3, "int32")
    managed[...] = (1, 2, 3)
    array = cuarray.as_cuda_array(managed)
    assert array.copy_to_host().tolist() == [1, 2, 3]
    array.copy_to_device(np.array([4, 5, 6], "int32"))
    assert managed.tolist() == [4, 5, 6]


def test_structured_array_is_exchanged_as_bytes(cuda) -> None:
    """numba neither exports nor reads field names, so only size and bytes are kept."""
    dtype = np.dtype([("a", "float32"), ("b", "int64")])
    host = np.array([(1.5, 2), (3.5, 4)], dtype)
    into = cuarray.as_cuda_array(cuda.to_device(host))
    assert into.itemsize == dtype.itemsize
    assert into.copy_to_host().tobytes() == host.tobytes()
    array = cuarray.to_device(host)
    assert array.dtype == dtype
    out = cuda.as_cuda_array(array)
    assert out.copy_to_host().tobytes() == host.tobytes()


def test_numba_sync_variable_sets_cuarray_sync(numba: Library) -> None:
    """Clause N3."""
    import driver_probe

    program = "import cuarray; print(cuarray.config.sync)"
    assert driver_probe.run_python(program, NUMBA_CUDA_ARRAY_INTERFACE_SYNC="0").strip() == "False"
    assert driver_probe.run_python(program, NUMBA_CUDA_ARRAY_INTERFACE_SYNC="1").strip() == "True"
