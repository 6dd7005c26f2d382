"""Exchange between cuda.core and cuarray in both directions."""

from __future__ import annotations

import numpy as np
import pytest
from exchange_facts import ExchangeFacts
from producers import foreign
from route import Library, Route

import cuarray


class TestIntoCuarray(ExchangeFacts):
    @pytest.fixture
    def route(self, own: Library, cuda_core: Library) -> Route:
        return Route(cuda_core, own)


class TestFromCuarray(ExchangeFacts):
    @pytest.fixture
    def route(self, own: Library, cuda_core: Library) -> Route:
        return Route(own, cuda_core)


@pytest.fixture
def view(cuda_core: Library):
    from cuda.core.utils import StridedMemoryView

    return StridedMemoryView.from_cuda_array_interface


def test_cuda_core_view_keeps_the_array(view) -> None:
    array = cuarray.to_device(np.arange(3))
    assert view(array, -1).exporting_obj is array


@pytest.mark.parametrize("readonly", [False, True])
def test_cuda_core_view_has_the_read_only_flag(view, readonly: bool) -> None:
    """Clause I4, with the flag passed on by cuarray."""
    array = cuarray.to_device(np.arange(3, dtype="int32"))
    imported = cuarray.as_cuda_array(foreign(array, data=(array.ptr, readonly)))
    assert imported.readonly is readonly
    assert view(imported, -1).readonly is readonly


def test_cuda_core_view_is_on_the_right_device(view, device) -> None:
    assert view(cuarray.to_device(np.arange(3)), -1).device_id == device.device_id


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2)])
def test_cuda_core_view_of_empty_array_has_pointer_0(view, shape: tuple[int, ...]) -> None:
    """Clause I5."""
    seen = view(cuarray.device_array(shape, "float32"), -1)
    assert (tuple(seen.shape), seen.ptr) == (shape, 0)


def test_args_viewable_as_strided_memory_accepts_cuarray(device) -> None:
    """cuda.core has this decorator for functions that take any array."""
    from cuda.core.utils import args_viewable_as_strided_memory

    @args_viewable_as_strided_memory((0,))
    def see(array, stream):
        return array.view(int(stream.handle))

    array = cuarray.to_device(np.arange(6, dtype="float64").reshape(2, 3))
    seen = see(array, device.create_stream())
    assert (seen.ptr, tuple(seen.shape), seen.dtype) == (array.ptr, (2, 3), np.dtype("float64"))


def test_cuda_core_refuses_version_2(view) -> None:
    cuarray.config.export_version = 2
    try:
        with pytest.raises(BufferError):
            view(cuarray.to_device(np.arange(3)), -1)
    finally:
        cuarray.config.export_version = 3


def test_cuda_core_stream_is_accepted_as_stream_argument(device) -> None:
    stream = device.create_stream()
    handle = int(stream.handle)
    assert cuarray.external_stream(stream).handle == handle
    array = cuarray.device_array(3, "int32", stream=stream)
    assert array.__cuda_array_interface__["stream"] == handle
    array.copy_to_device(np.array([1, 2, 3], "int32"), stream=stream)
    host = np.zeros(3, "int32")
    array.copy_to_host(host, stream=stream)
    stream.sync()
    assert host.tolist() == [1, 2, 3]
    event = cuarray.event()
    event.record(stream)
    event.wait(stream)
    stream.sync()
    assert event.query()


def test_cuda_core_accepts_cuarray_stream(device) -> None:
    """By the protocol `__cuda_stream__`."""
    stream = cuarray.stream()
    core_stream = device.create_stream(stream)
    assert int(core_stream.handle) == stream.handle
    array = cuarray.to_device(np.zeros(16, "uint8"))
    from cuda.core import Buffer

    Buffer.from_handle(array.ptr, 16, owner=array).fill(7, stream=core_stream)
    stream.synchronize()
    assert (array.copy_to_host() == 7).all()


def test_pinned_memory_of_cuda_core_is_host_accessible(device) -> None:
    """Clause A1."""
    from cuda.core import LegacyPinnedMemoryResource

    buffer = LegacyPinnedMemoryResource().allocate(12, stream=device.create_stream())
    np.from_dlpack(buffer).view("int32")[...] = (1, 2, 3)
    description = {"shape": (3,), "typestr": "<i4", "data": (int(buffer.handle), False), "version": 3}
    array = cuarray.from_cuda_array_interface(description, owner=buffer)
    assert (array.is_managed, array.is_host_accessible) == (False, True)
    assert array.copy_to_host().tolist() == [1, 2, 3]
