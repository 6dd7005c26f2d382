"""Clauses X2 and X3: extensions that the text of the interface leaves to implementations."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import driver_probe
import numpy as np
import pytest
from producers import Producer, foreign

import cuarray

VALUES = np.arange(12.0).reshape(3, 4)
VALID = VALUES % 3 != 1


@pytest.fixture
def masked(driver: str) -> cuarray.DeviceArray:
    """An array of another library with a mask, imported."""
    return cuarray.as_cuda_array(foreign(cuarray.to_device(VALUES), mask=foreign(cuarray.to_device(VALID))))


EXPECTED: Any = np.ma.array(VALUES, mask=~VALID)
VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda array: array[...],
    "a row": lambda array: array[1],
    "strided": lambda array: array[::2, 1::2],
    "reversed": lambda array: array[::-1, ::-3],
    "transposed": lambda array: array.T,
    "reshaped": lambda array: array.reshape(2, 6),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_x3_mask_follows_views_exports_and_copies(masked: cuarray.DeviceArray, view: Callable[[Any], Any]) -> None:
    """The mask follows a view, an export and import, a device copy, and a host copy."""
    part, expected = view(masked), view(EXPECTED)
    again = cuarray.as_cuda_array(Producer(part.__cuda_array_interface__, keeps=part))
    for array in (part, again, cuarray.to_device(part)):
        back = array.copy_to_host()
        assert isinstance(back, np.ma.MaskedArray)
        assert np.array_equal(np.ma.getmaskarray(back), np.ma.getmaskarray(expected))
        assert np.array_equal(back.filled(-1), expected.filled(-1))
        # The values of invalid elements stay readable.
        assert np.array_equal(array.data.copy_to_host(), expected.data)


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_x3_filled_replaces_invalid_elements_on_device(masked: cuarray.DeviceArray, view: Callable[[Any], Any]) -> None:
    filled = view(masked).filled(-7)
    assert filled.mask is None
    assert "mask" not in filled.__cuda_array_interface__
    assert np.array_equal(filled.copy_to_host(), view(EXPECTED).filled(-7))
    assert np.array_equal(masked.data.copy_to_host(), VALUES), "the masked array itself must not change"


def test_x3_numpy_masked_array_round_trips(driver: str) -> None:
    back = cuarray.to_device(EXPECTED).copy_to_host()
    assert np.array_equal(np.ma.getmaskarray(back), np.ma.getmaskarray(EXPECTED))
    assert back.sum() == EXPECTED.sum()


def test_x3_copy_that_would_lose_the_mask_is_refused(masked: cuarray.DeviceArray) -> None:
    with pytest.raises(BufferError, match="mask"):
        masked.copy_to_host(np.zeros(masked.shape))
    with pytest.raises(BufferError, match="mask"):
        masked[0] = 1
    with pytest.raises(BufferError, match="mask"):
        cuarray.to_device(VALUES).copy_to_device(masked)


@pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
def test_x3_numba_refuses_masked_array_and_reads_filled_one(masked: cuarray.DeviceArray) -> None:
    with driver_probe.primary_context():
        from numba import cuda

        with pytest.raises(NotImplementedError, match="Masked arrays are not supported"):
            cuda.as_cuda_array(masked)
        assert cuda.as_cuda_array(masked.filled(0)).copy_to_host().tolist() == EXPECTED.filled(0).tolist()
        cuda.current_context().deallocations.clear()


def test_x2_consumers_wait_for_exported_event_and_not_for_later_work(
    driver: str, foreign_stream: driver_probe.ForeignStream
) -> None:
    array = cuarray.to_device(np.zeros(4, np.uint8), stream=foreign_stream)
    assert "event" not in array.__cuda_array_interface__, "the extension is off by default"
    cuarray.config.export_event = True
    assert "event" not in cuarray.to_device([1]).__cuda_array_interface__, "no work is pending"
    driver_probe.fill(array.ptr, 9, 4, foreign_stream.handle)
    interface = array.__cuda_array_interface__
    assert interface["stream"] == foreign_stream.handle
    with driver_probe.held(foreign_stream.handle) as hold:
        # Work enqueued after the event is not waited for, on the host or in another stream.
        imported = cuarray.as_cuda_array(Producer(interface, keeps=array))
        assert hold.is_held
        other = cuarray.stream()
        with cuarray.borrow(Producer(interface, keeps=array), other, readonly=True) as lent:
            target = cuarray.to_device(lent, stream=other)
            other.synchronize()
            assert hold.is_held
            assert target.copy_to_host().tolist() == [9] * 4
        hold.release()
    assert imported.copy_to_host().tolist() == [9] * 4


def test_x2_exported_event_covers_recorded_work(driver: str) -> None:
    array, stream = cuarray.to_device(np.zeros(4, np.uint8)), cuarray.stream()
    cuarray.config.export_event = True
    driver_probe.fill(array.ptr, 9, 4, stream.handle)
    array.record_stream(stream)
    interface = array.__cuda_array_interface__
    imported = cuarray.as_cuda_array(Producer(interface, keeps=array))
    assert stream.query()
    assert imported.copy_to_host().tolist() == [9] * 4


@pytest.mark.parametrize("entry", [0, -1, 2**64, "event", True])
def test_x2_invalid_event_entry_is_refused(driver: str, entry: Any) -> None:
    with pytest.raises(ValueError, match="'event'"):
        cuarray.as_cuda_array(foreign(cuarray.to_device([1]), stream=1, event=entry))


def test_x2_event_without_stream_is_ignored(driver: str) -> None:
    array = cuarray.to_device([1, 2])
    for entries in ({"event": None, "stream": 1}, {"event": 12345}, {"event": 12345, "stream": 1, "version": 2}):
        assert cuarray.as_cuda_array(foreign(array, **entries)).copy_to_host().tolist() == [1, 2]


def test_x2_event_is_not_exported_when_streams_are_not(driver: str) -> None:
    array = cuarray.device_array(4, stream=cuarray.stream())
    cuarray.config.export_event, cuarray.config.export_stream = True, False
    assert "event" not in array.__cuda_array_interface__
    cuarray.config.export_stream, cuarray.config.export_version = True, 2
    assert "event" not in array.__cuda_array_interface__
    cuarray.config.sync = False
    cuarray.as_cuda_array(foreign(array, stream=12345, event=12345, version=3))
