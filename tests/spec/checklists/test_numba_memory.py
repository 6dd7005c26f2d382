"""Tests of memory, streams, unusual layouts and two devices, taken from numba-cuda's test suites.

The names have the items of the project's checklist 4B, numbers 56 to 66 and 73 to 80.
"""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from typing import Any

import driver_probe
import numpy as np
import pytest
from other_process import run_in_other_process
from producers import Producer, describe, foreign

import cuarray


@pytest.mark.parametrize("kind", ["device", "mapped", "managed"])
def test_4b_56_every_memory_kind_has_device_pointer(driver_kind: str, kind: str) -> None:
    host = np.arange(10, dtype="<i4")
    array = getattr(cuarray, f"{kind}_array")(10, "<i4")
    array.copy_to_device(host)
    for one in (array, array[3:], cuarray.as_cuda_array(foreign(array))):
        assert one.ptr > 0
        assert one.device == 0
        assert one.is_managed == (kind == "managed")
        assert one.is_host_accessible == (kind != "device")
    assert array[3:].copy_to_host().tolist() == host[3:].tolist()
    assert array.owner.kind == kind


def test_4b_56_pinned_memory_has_device_pointer(driver_kind: str) -> None:
    """The host address of pinned memory is also its device address, so an interface dictionary can contain it."""
    pinned = cuarray.pinned_array(4, "<i4")
    pinned[:] = [1, 2, 3, 4]
    array = cuarray.from_cuda_array_interface({**pinned.__array_interface__, "version": 3}, owner=pinned)
    assert array.ptr == pinned.ctypes.data
    assert (array.device, array.is_host_accessible, array.is_managed) == (0, True, False)
    array[::2] = 7
    assert pinned.tolist() == [7, 2, 7, 4]


def test_4b_57_views_derive_pointers_and_keep_memory_alive(driver_kind: str) -> None:
    array = cuarray.device_array(16, "u1")
    memory = weakref.ref(array.owner)
    view = array[3:]
    deeper = view[4:]
    assert (view.ptr, deeper.ptr) == (array.ptr + 3, array.ptr + 7)
    address = array.ptr
    del array, view
    gc.collect()
    assert memory() is not None
    assert memory().ptr == address  # type: ignore[union-attr]
    assert memory().nbytes == 16  # type: ignore[union-attr]
    deeper[:] = 5
    assert deeper.copy_to_host().tolist() == [5] * 9
    del deeper
    gc.collect()
    assert memory() is None


def test_4b_58_finalizer_of_owner_runs_once(driver_kind: str) -> None:
    """The owner given for foreign memory is released with the last array, and not by views."""
    runs: list[int] = []
    memory = cuarray.to_device(np.arange(8.0))
    owner = foreign(memory)
    weakref.finalize(owner, runs.append, 1)
    array = cuarray.from_cuda_array_interface(owner.__cuda_array_interface__, owner=owner)
    views = [array[1:], array[::-1], array.reshape(2, 4).T, array.view("u1")]
    del owner
    while views:
        del views[0]
        gc.collect()
        assert runs == []
    assert array.copy_to_host().tolist() == list(range(8))
    del array
    gc.collect()
    assert runs == [1]


@pytest.mark.parametrize("on_stream", [False, True])
def test_4b_59_copies_and_fills_with_and_without_stream(driver_kind: str, on_stream: bool) -> None:
    stream = cuarray.stream() if on_stream else None
    host = np.arange(100, dtype="<u4")
    first, second = cuarray.device_array(100, "<u4"), cuarray.device_array(100, "<u4")
    first.copy_to_device(host, stream=stream)
    second.copy_to_device(first, stream=stream)
    first.setitem(..., 0xABCDABCD, stream=stream)
    back, filled = second.copy_to_host(stream=stream), first.copy_to_host(stream=stream)
    if stream is not None:
        stream.synchronize()
    assert np.array_equal(back, host)
    assert filled.tolist() == [0xABCDABCD] * 100


def host_extent(host: np.ndarray[Any, Any]) -> int:
    low, high = cuarray.interface({**host.__array_interface__, "version": 3}).byte_range
    assert low == host.ctypes.data
    return high - low


@pytest.mark.parametrize("shape", [(1,), (7,), (3, 5), (2, 3, 4)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_4b_60_byte_extent_of_contiguous_array_is_nbytes(driver_kind: str, shape: tuple[int, ...], order: Any) -> None:
    host = np.zeros(shape, order=order)
    assert host_extent(host) == host.nbytes
    low, high = cuarray.interface(cuarray.device_array(shape, order=order)).byte_range
    assert high - low == host.nbytes


class Point(ctypes.Structure):
    """A C struct without padding, whose type older Pythons describe wrongly."""

    _fields_ = (("x", ctypes.c_int32), ("y", ctypes.c_int32))


def test_4b_60_byte_extent_of_ctypes_struct_is_its_size() -> None:
    point = Point(3, 4)
    host = np.asarray(point)
    assert host_extent(host) == ctypes.sizeof(point) == 8
    assert host.ctypes.data == ctypes.addressof(point)


def test_4b_60_ctypes_struct_round_trips(driver_kind: str) -> None:
    array = cuarray.to_device(np.asarray(Point(3, 4)))
    assert (array.shape, array.nbytes) == ((), 8)
    back = array.copy_to_host()[()]
    assert (back["x"], back["y"]) == (3, 4)


def test_4b_61_managed_memory_is_shared_by_host_and_device(numba: Any) -> None:
    """Both attachments are tested: global, and to the host, which only numba's constructor offers."""
    for managed in (
        cuarray.managed_array(100, "<i4"),
        cuarray.as_cuda_array(numba.managed_array(100, "<i4", attach_global=True)),
        cuarray.as_cuda_array(numba.managed_array(100, "<i4", attach_global=False)),
    ):
        assert managed.is_managed
        view = managed.host_view()
        view[:] = np.arange(100)
        assert managed.copy_to_host().tolist() == list(range(100))
        managed.copy_to_device(cuarray.to_device(np.full(100, 7, "<i4")))
        assert view.tolist() == [7] * 100


@pytest.mark.parametrize(
    "make", [cuarray.stream, cuarray.default_stream, cuarray.legacy_default_stream, cuarray.per_thread_default_stream]
)
def test_4b_65_every_kind_of_stream_is_created_and_synchronized(driver_kind: str, make: Any) -> None:
    stream = make()
    array = cuarray.to_device(np.zeros(4, np.uint8))
    with driver_probe.held(stream.handle) as hold:
        driver_probe.fill(array.ptr, 9, 4, stream.handle)
        assert not stream.query()
        hold.release_soon()
        stream.synchronize()
        assert not hold.is_held
    assert stream.query()
    assert array.copy_to_host().tolist() == [9] * 4


def test_4b_66_external_stream_has_given_handle_and_is_not_owned(driver_kind: str) -> None:
    foreign_stream = driver_probe.ForeignStream()
    with driver_probe.held(foreign_stream.handle) as hold:
        stream = cuarray.external_stream(foreign_stream.handle)
        assert stream.handle == foreign_stream.handle
        assert "external" in repr(stream)
        assert not stream.query()
        assert hold.is_held, "making a Stream of a handle must not wait"
    stream.synchronize()
    del stream
    assert driver_probe.is_done(foreign_stream.handle), "the stream must still exist"
    foreign_stream.destroy()


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2), ()])
def test_4b_73_empty_and_0d_arrays_round_trip(driver_kind: str, shape: tuple[int, ...]) -> None:
    host = np.full(shape, 2.5)
    back = cuarray.to_device(host).copy_to_host()
    assert (back.shape, back.dtype) == (shape, host.dtype)
    assert np.array_equal(back, host)


def test_4b_74_unaligned_and_interleaved_host_arrays_round_trip(driver_kind: str) -> None:
    """The host arrays are a field of packed records and an unaligned view. Numba refuses the first; cuarray copies both."""
    records = np.zeros(3, [("gap", "u1"), ("x", "<f8")])
    records["x"] = [1.5, 2.5, 3.5]
    unaligned = np.frombuffer(bytes(3) + np.arange(4.0).tobytes(), np.uint8)[3:].view("<f8")
    for host in (records["x"], unaligned):
        assert not host.flags.aligned
        assert np.array_equal(cuarray.to_device(host).copy_to_host(), host)
    assert np.array_equal(cuarray.to_device(records)["x"].copy_to_host(), records["x"])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (2, 1, 3)])
def test_4b_75_device_array_like_contiguous_array_has_its_layout(
    driver_kind: str, shape: tuple[int, ...], order: Any
) -> None:
    host = np.zeros(shape, "<i2", order)
    for model in (host, cuarray.to_device(host)):
        like = cuarray.device_array_like(model)
        assert (like.shape, like.strides, like.dtype) == (host.shape, host.strides, host.dtype)
        assert like.is_c_contiguous() == host.flags.c_contiguous
        assert like.is_f_contiguous() == host.flags.f_contiguous


@pytest.mark.parametrize("key", [np.s_[::2], np.s_[:, ::2], np.s_[:, :, 1:], np.s_[::-1]])
@pytest.mark.parametrize("transposed", [False, True])
def test_4b_75_device_array_like_view_is_contiguous(driver_kind: str, key: Any, transposed: bool) -> None:
    host = np.zeros((4, 6, 8), "<i2")
    view = cuarray.to_device(host)[key]
    view = view.T if transposed else view
    like = cuarray.device_array_like(view)
    assert (like.shape, like.dtype) == (view.shape, view.dtype)
    assert like.is_c_contiguous() or like.is_f_contiguous()
    low, high = cuarray.interface(like).byte_range
    assert high - low == like.nbytes


@pytest.mark.parametrize(
    ("shape", "new"),
    [((6,), (2, 3)), ((2, 3), (-1,)), ((4, 6), (2, -1, 3)), ((0, 3), (3, 0)), ((0,), (0, 5)), ((), (1, -1))],
)
def test_4b_77_reshape_of_empty_arrays_and_with_inferred_length(
    driver_kind: str, shape: tuple[int, ...], new: tuple[int, ...]
) -> None:
    """The checklist's item calls reshape in a kernel; this test calls it on the host."""
    host = np.arange(np.prod(shape)).reshape(shape)
    array = cuarray.to_device(host).reshape(new)
    assert array.shape == host.reshape(new).shape
    assert np.array_equal(array.copy_to_host(), host.reshape(new))


@pytest.mark.parametrize("new", [(4, -1), (-1, -1), (5,), (-2, 3)])
def test_4b_77_reshape_to_impossible_shape_is_refused(new: tuple[int, ...]) -> None:
    array = cuarray.as_cuda_array(Producer(describe(shape=(6,))))
    with pytest.raises(ValueError, match=rf"\({new[0]},"):
        array.reshape(new)


def test_4b_80_arrays_work_on_their_own_device(driver_kind: str) -> None:
    """The current device does not matter, and a copy between the devices is a peer copy."""
    program = """
import ctypes
import numpy as np
count = ctypes.c_int()
driver_probe.call("cuInit", ctypes.c_uint(0))
driver_probe.call("cuDeviceGetCount", ctypes.byref(count))
devices = range(count.value)
arrays = [cuarray.to_device(np.full(5, 10 + device), device=device) for device in devices]
for array in arrays:
    array[0] = 0
if len(arrays) > 1:
    arrays[1].copy_to_device(arrays[0])
result = [(array.device, array.copy_to_host().tolist()) for array in arrays]
del arrays, array
"""
    result = run_in_other_process(program, {"CUARRAY_SIM_DEVICES": "2"})
    assert len(result) == 2 or driver_kind == "real"
    assert [device for device, _ in result] == list(range(len(result)))
    assert all(values == [0, *[10 if device < 2 else 10 + device] * 4] for device, values in result)


def test_4b_80_ten_threads_copy_from_one_array(driver_kind: str) -> None:
    host = np.arange(1000)
    array = cuarray.to_device(host)
    begin = threading.Barrier(10)
    read: list[bool] = []

    def reader() -> None:
        begin.wait(driver_probe.PATIENCE)
        for part in (slice(None), slice(None, None, 3), slice(None, None, -1)):
            read.append(np.array_equal(array[part].copy_to_host(), host[part]))

    threads = [threading.Thread(target=reader) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == [True] * 30
