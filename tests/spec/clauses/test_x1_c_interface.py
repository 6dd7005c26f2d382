"""Clause X1: an interface at the C level, and what is preserved between it and the other protocols.

Every array goes from a library that offers one protocol, through cuarray, to a library that accepts one protocol.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import c_arrays as c
import driver_probe
import numpy as np
import pytest
from dlpack_tensors import READ_ONLY, content
from producers import Producer, foreign

import cuarray


class Structure:
    """A library that offers only the C structure."""

    def __init__(self, array: cuarray.DeviceArray) -> None:
        self._array = array

    @property
    def __cuda_array_c_interface__(self) -> Any:
        return self._array.__cuda_array_c_interface__


class Tensor:
    """A library that offers only DLPack."""

    def __init__(self, array: cuarray.DeviceArray) -> None:
        self._array = array

    def __dlpack__(self, **request: Any) -> Any:
        return self._array.__dlpack__(**request)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def dictionary(array: cuarray.DeviceArray) -> Any:
    """A library that offers only the dictionary."""
    return Producer(array.__cuda_array_interface__, keeps=array)


def read_only() -> cuarray.DeviceArray:
    memory = cuarray.device_array(3)
    return cuarray.as_cuda_array(foreign(memory, data=(memory.ptr, True)))


Library = Callable[[cuarray.DeviceArray], Any]
LIBRARIES: dict[str, Library] = {"dict": dictionary, "c": Structure, "dlpack": Tensor}
both = pytest.mark.parametrize("target", LIBRARIES.values(), ids=list(LIBRARIES))
pairs = pytest.mark.parametrize("source", LIBRARIES.values(), ids=list(LIBRARIES))


def through(array: cuarray.DeviceArray, source: Library, target: Library) -> cuarray.DeviceArray:
    """The array that the target library receives, passed on by cuarray."""
    return cuarray.as_cuda_array(target(cuarray.as_cuda_array(source(array))))


@pairs
@both
def test_x1_layout_and_values_are_preserved(driver: str, source: Library, target: Library) -> None:
    values = np.arange(24, dtype="int32").reshape(2, 3, 4)
    arrived = through(cuarray.to_device(values)[:, ::-1, 1::2], source, target)
    assert arrived.strides == (48, -16, 8)
    assert np.array_equal(arrived.copy_to_host(), values[:, ::-1, 1::2])


@pairs
@both
def test_x1_read_only_flag_is_preserved(driver: str, source: Library, target: Library) -> None:
    array = read_only()
    assert through(array, source, target).readonly


@pairs
@both
def test_x1_owner_is_released_with_last_array(driver: str, source: Library, target: Library) -> None:
    array = cuarray.to_device(np.arange(3.0))
    memory = weakref.ref(array.owner)
    arrived = through(array, source, target)
    del array
    gc.collect()
    assert arrived.copy_to_host().tolist() == [0, 1, 2]
    del arrived
    gc.collect()
    assert memory() is None


@pairs
@both
def test_x1_pending_work_is_waited_for(driver: str, source: Library, target: Library) -> None:
    """A protocol with streams passes the stream on; DLPack makes the legacy default stream wait for the work."""
    stream = cuarray.stream()
    array = cuarray.to_device(np.zeros(4, "int32"), stream=stream)
    cuarray.config.sync = True
    with driver_probe.held(stream.handle) as held:
        array.setitem(slice(None), 9, stream=stream)
        first = cuarray.as_cuda_array(source(array), sync=False)
        second = cuarray.as_cuda_array(target(first), sync=False)
        named = 1 if Tensor in (source, target) else stream.handle
        assert second.__cuda_array_interface__["stream"] == named
        assert not driver_probe.is_done(named)
        held.release()
    assert second.copy_to_host().tolist() == [9] * 4


@pytest.mark.parametrize("source", [dictionary, Structure], ids=["dict", "c"])
def test_x1_event_is_exported_in_the_structure(driver: str, source: Library) -> None:
    """An imported event is waited for; an event of cuarray's own is exported if the user wants that."""
    cuarray.config.export_event = True
    array = cuarray.device_array(4, "int32", stream=cuarray.stream())
    array[:] = 3
    arrived = cuarray.as_cuda_array(source(array))
    structure = c.of_capsule(capsule := arrived.__cuda_array_c_interface__)
    assert (structure.flags, structure.stream) == (c.HAS_STREAM | c.HAS_EVENT, array.stream.handle)
    assert structure.event == arrived.__cuda_array_interface__["event"]
    del capsule


@pairs
def test_x1_device_and_memory_kind_are_exported(driver: str, source: Library) -> None:
    array = cuarray.managed_array(3, "float32")
    arrived = cuarray.as_cuda_array(source(array))
    structure = c.of_capsule(capsule := arrived.__cuda_array_c_interface__)
    assert (structure.device, structure.memory) == (array.device, c.MANAGED)
    assert arrived.__dlpack_device__() == (13, 0)
    del capsule


@pytest.mark.parametrize("source", [Structure, Tensor], ids=["c", "dlpack"])
@pytest.mark.parametrize("target", [Structure, Tensor], ids=["c", "dlpack"])
def test_x1_named_types_are_preserved(driver: str, source: Library, target: Library) -> None:
    array = cuarray.device_array(3, "bfloat16")
    assert through(array, source, target).typestr == "bfloat16"


@pytest.mark.parametrize("source", [dictionary, Structure], ids=["dict", "c"])
@pytest.mark.parametrize("target", [dictionary, Structure], ids=["dict", "c"])
def test_x1_masks_structures_and_datetimes_are_preserved(driver: str, source: Library, target: Library) -> None:
    masked = np.ma.MaskedArray([1.0, 2.0, 3.0], mask=[True, False, True])
    assert through(cuarray.to_device(masked), source, target).copy_to_host().tolist() == [None, 2.0, None]
    records = np.array([(1, (2.5, [3, 4])), (5, (6.5, [7, 8]))], [("a", "i2"), ("b", [("x", "f4"), ("y", "u1", (2,))])])
    arrived = through(cuarray.to_device(records), source, target)
    assert arrived.dtype == records.dtype
    assert np.array_equal(arrived.copy_to_host().view("u1"), records.view("u1"))
    times = np.array(["2026-11-21", "NaT"], "M8[D]")
    assert np.array_equal(through(cuarray.to_device(times), source, target).copy_to_host(), times, equal_nan=True)


@pytest.mark.parametrize("source", [dictionary, Structure], ids=["dict", "c"])
@pytest.mark.parametrize(
    ("values", "why"),
    [
        (np.ma.MaskedArray([1.0, 2.0], mask=[True, False]), "mask"),
        (np.zeros(2, [("a", "i2"), ("b", "f4")]), "no code"),
        (np.zeros(2, "M8[s]"), "no code"),
        (np.zeros(2, ">f4"), "swapped"),
    ],
)
def test_x1_array_without_dlpack_form_is_refused_by_dlpack(driver: str, source: Library, values: Any, why: str) -> None:
    array = cuarray.as_cuda_array(source(cuarray.to_device(values)))
    with pytest.raises(BufferError, match=why):
        array.__dlpack__()
    with pytest.raises(BufferError, match=why):
        cuarray.as_cuda_array(Tensor(array))


def test_x1_dlpack_export_of_read_only_structure_has_flag(driver: str) -> None:
    array = cuarray.as_cuda_array(Structure(read_only()))
    capsule = array.__dlpack__(max_version=(1, 0))
    assert content(capsule).flags == READ_ONLY
    with pytest.raises(BufferError, match="read-only"):
        array.__dlpack__()
