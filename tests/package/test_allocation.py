"""Allocation in every kind of memory: mapped, managed and pinned, and allocation like another array."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import driver_probe
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from producers import describe, foreign
from same_layout import SameLayout, hosts

import cuarray

PROPERTY = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
KINDS: dict[str, Callable[..., Any]] = {"mapped": cuarray.mapped_array, "managed": cuarray.managed_array}
every_kind = pytest.mark.parametrize("kind", KINDS)


@PROPERTY
@given(host=hosts())
def test_device_array_like_has_layout_of_numpy_empty_like(driver: str, host: np.ndarray[Any, Any]) -> None:
    expected = np.empty_like(host)
    for like in (cuarray.device_array_like(host), cuarray.device_array_like(SameLayout(host).array)):
        assert (like.shape, like.dtype) == (expected.shape, expected.dtype)
        # The strides of an empty array are not significant.
        assert like.strides == expected.strides or not host.size
        assert like.is_c_contiguous() == expected.flags.c_contiguous
        assert like.is_f_contiguous() == expected.flags.f_contiguous


def test_device_array_like_keeps_fields_and_accepts_stream(driver: str) -> None:
    stream = cuarray.stream()
    host = np.zeros((2, 3), [("a", "<i2"), ("b", "<f4", (2,))])
    like = cuarray.device_array_like(host, stream=stream)
    assert like.dtype == host.dtype
    assert like.stream is stream
    assert cuarray.device_array_like([1.0, 2.0]).typestr == "<f8"
    other = cuarray.device_array_like(like)
    assert other.stream is None
    assert other.ptr != like.ptr


def test_device_array_like_read_only_array_is_writable(driver: str) -> None:
    array = cuarray.to_device([1, 2])
    assert not cuarray.device_array_like(foreign(array, data=(array.ptr, True))).readonly


@every_kind
def test_shared_array_is_visible_to_host_and_device(driver: str, kind: str) -> None:
    array = KINDS[kind]((3, 4), "<i4")
    host = array.host_view()
    host[...] = np.arange(12).reshape(3, 4)
    assert np.array_equal(array.copy_to_host(), host)
    array[1] = 9
    assert host[1].tolist() == [9, 9, 9, 9]
    assert array.is_host_accessible
    assert array.is_managed == (kind == "managed")
    assert array.owner.kind == kind
    assert array.device == 0
    assert isinstance(array, cuarray.DeviceArray)


@every_kind
def test_host_view_of_slice_is_same_slice(driver: str, kind: str) -> None:
    array = KINDS[kind]((4, 5), "<i4")
    array.host_view()[...] = np.arange(20).reshape(4, 5)
    part = array[1:, ::-2].T
    assert np.array_equal(part.host_view(), np.arange(20).reshape(4, 5)[1:, ::-2].T)
    part.host_view()[...] = 0
    assert array[1, 4] == 0
    assert array[1, 3] == 8


@every_kind
@pytest.mark.parametrize("order", ["C", "F"])
def test_shared_allocation_accepts_order_dtype_and_strides(driver: str, kind: str, order: Any) -> None:
    array = KINDS[kind]((3, 4), np.complex64, order=order)
    assert array.strides == np.zeros((3, 4), np.complex64, order).strides
    assert array.dtype == np.complex64
    assert KINDS[kind](3).dtype == np.float64
    backwards = KINDS[kind]((3, 2), "<i2", strides=(8, -4))
    backwards[...] = [[1, 2], [3, 4], [5, 6]]
    assert backwards.host_view().tolist() == [[1, 2], [3, 4], [5, 6]]
    assert backwards.host_view().strides == (8, -4)


@every_kind
def test_creation_stream_becomes_home_stream(driver: str, kind: str) -> None:
    stream = cuarray.stream()
    array = KINDS[kind](3, stream=stream)
    assert array.stream is stream
    assert array.__cuda_array_interface__["stream"] == stream.handle


@every_kind
def test_host_view_waits_for_home_stream(driver: str, kind: str) -> None:
    stream = cuarray.stream()
    array = KINDS[kind](3, "<i4", stream=stream)
    with driver_probe.held(stream.handle) as hold:
        array[:] = 6
        hold.release()
        assert array.host_view().tolist() == [6, 6, 6]


@every_kind
def test_padded_structures_round_trip_in_shared_memory(driver: str, kind: str) -> None:
    dtype = np.dtype([("a", "i1"), ("b", "<f8")], align=True)
    array = KINDS[kind](2, dtype)
    array.host_view()["b"] = [1.5, 2.5]
    assert array.host_view().dtype == array.copy_to_host().dtype
    assert array["b"].copy_to_host().tolist() == [1.5, 2.5]


@every_kind
def test_empty_shared_array_has_pointer_0(driver: str, kind: str) -> None:
    array = KINDS[kind]((0, 3))
    assert array.host_view().shape == (0, 3)
    assert array.__cuda_array_interface__["data"] == (0, False)


@every_kind
def test_host_view_keeps_memory_alive(driver: str, kind: str) -> None:
    array = KINDS[kind](1000, "<i4")
    memory = weakref.ref(array.owner)
    host = array.host_view()[10:20]
    host[:] = 3
    del array
    gc.collect()
    assert memory() is not None
    assert host.tolist() == [3] * 10
    del host
    gc.collect()
    assert memory() is None


def test_host_view_of_device_memory_is_refused(driver: str) -> None:
    with pytest.raises(BufferError, match="copy_to_host"):
        cuarray.device_array(3).host_view()


def test_host_view_of_read_only_array_is_read_only(driver: str) -> None:
    array = cuarray.managed_array(3)
    frozen = cuarray.as_cuda_array(foreign(array, data=(array.ptr, True)))
    assert not frozen.host_view().flags.writeable


def test_host_view_of_masked_array_is_refused(driver: str) -> None:
    array = cuarray.managed_array(2)
    array[:] = 1
    masked = cuarray.as_cuda_array(foreign(array, mask=cuarray.to_device([True, False])))
    with pytest.raises(BufferError, match="masked"):
        masked.host_view()
    assert masked.data.host_view().tolist() == [1, 1]


class TestPinned:
    def test_pinned_array_is_writable_numpy_array(self, driver: str) -> None:
        array = cuarray.pinned_array((2, 3), "<f4")
        assert type(array) is np.ndarray
        assert (array.shape, array.dtype, array.flags.c_contiguous) == ((2, 3), np.float32, True)
        assert array.flags.writeable
        array[...] = 5
        assert cuarray.to_device(array).copy_to_host().tolist() == [[5, 5, 5], [5, 5, 5]]

    def test_pinned_array_is_importable_as_host_accessible_memory(self, driver: str) -> None:
        array = cuarray.pinned_array(3, "<i4")
        array[:] = [1, 2, 3]
        interface = {**array.__array_interface__, "version": 3}
        known = cuarray.from_cuda_array_interface(interface, owner=array)
        assert known.is_host_accessible
        assert known.copy_to_host().tolist() == [1, 2, 3]

    def test_pinned_array_accepts_order_and_strides(self, driver: str) -> None:
        assert cuarray.pinned_array((2, 3), order="F").flags.f_contiguous
        backwards = cuarray.pinned_array(3, "<i2", strides=(-4,))
        backwards[:] = [1, 2, 3]
        assert backwards.tolist() == [1, 2, 3]
        assert backwards.strides == (-4,)
        assert cuarray.pinned_array(0).shape == (0,)
        assert cuarray.pinned_array(()).shape == ()

    def test_views_of_pinned_array_keep_memory_alive(self, driver: str) -> None:
        array = cuarray.pinned_array(100, "<i4")
        base = array
        while isinstance(base, np.ndarray):
            base = base.base
        memory = weakref.ref(base.owner)
        array = array[3:5]
        array[:] = 8
        del base
        gc.collect()
        assert memory() is not None
        assert array.tolist() == [8, 8]
        del array
        gc.collect()
        assert memory() is None

    def test_copy_from_pinned_array_returns_before_it_has_run(self, driver: str) -> None:
        stream = cuarray.stream()
        source = cuarray.pinned_array(1000)
        source[:] = 1
        array = cuarray.device_array(1000)
        with driver_probe.held(stream.handle) as hold:
            array.copy_to_device(source, stream=stream)
            assert not stream.query()
            hold.release()
        stream.synchronize()
        assert (array.copy_to_host() == 1).all()


@pytest.mark.parametrize("make", [*KINDS.values(), cuarray.pinned_array, cuarray.device_array])
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"shape": -1}, ValueError),
        ({"shape": 1.5}, (TypeError, ValueError)),
        ({"shape": (2, 2), "order": "A"}, ValueError),
        ({"shape": (2, 2), "strides": (8,)}, ValueError),
        ({"shape": 3, "dtype": object}, ValueError),
        ({"shape": 3, "dtype": "(2,)f4"}, ValueError),
        ({"shape": (2**62, 2**62)}, ValueError),
    ],
)
def test_allocation_with_invalid_arguments_is_refused(
    make: Callable[..., Any], arguments: dict[str, Any], error: Any
) -> None:
    with pytest.raises(error):
        make(**arguments)


def test_allocation_beyond_device_memory_raises_out_of_memory(driver: str) -> None:
    with pytest.raises(cuarray.CudaError, match="OUT_OF_MEMORY"):
        cuarray.device_array(2**50, "u1")


@every_kind
def test_managed_and_mapped_memory_of_other_libraries_has_host_view(driver: str, kind: str) -> None:
    allocate = driver_probe.Managed if kind == "managed" else driver_probe.Pinned
    memory = allocate(16)
    array = cuarray.from_cuda_array_interface(describe(shape=(4,), typestr="<i4", data=(memory.pointer, False)))
    array[:] = 5
    assert array.host_view().tolist() == [5] * 4
    assert bytes(memory.bytes) == b"\5\0\0\0" * 4
    del array
    memory.free()


@PROPERTY
@given(data=st.data())
def test_host_view_equals_assigned_values(driver: str, data: st.DataObject) -> None:
    host = data.draw(hosts())
    array = cuarray.managed_array(host.shape, host.dtype)
    array[...] = host
    assert np.array_equal(array.host_view(), host)


@pytest.mark.parametrize("kind", ["mapped", "managed"])
@pytest.mark.parametrize("stream", [False, True], ids=["no stream", "stream"])
def test_copy_between_array_and_its_own_host_view_handles_overlap(driver: str, kind: str, stream: bool) -> None:
    make = getattr(cuarray, f"{kind}_array")
    array = make(100, "<i4", stream=cuarray.stream() if stream else None)
    host = array.host_view()
    host[:] = np.arange(100)
    array[10:].copy_to_device(host[:-10])
    expected = np.concatenate([np.arange(10), np.arange(90)])
    assert array.copy_to_host().tolist() == expected.tolist()
    host[:] = np.arange(100)
    array[:-10].copy_to_host(host[10:])
    assert array.copy_to_host().tolist() == expected.tolist()
    host[:] = np.arange(100)
    array[::-1].copy_to_host(host)
    array.copy_to_device(array.host_view()[::-1])
    assert array.copy_to_host().tolist() == list(range(100))


def test_allocation_errors_name_the_argument(driver: str) -> None:
    with pytest.raises(ValueError, match=r"^shape: \(1152921504606846976,\) of 8-byte elements is too big"):
        cuarray.device_array(2**60)
    with pytest.raises(ValueError, match=r"^strides: \(4,\) has 1 entries; expected 2"):
        cuarray.device_array((2, 3), "f4", strides=(4,))
    with pytest.raises(ValueError, match=r"^typestr: \|O holds pointers to Python objects"):
        cuarray.to_device([object()])
    with pytest.raises(ValueError, match=r"^typestr: \|O holds pointers to Python objects"):
        cuarray.device_array(3, "O")
