"""Pending work on an array without a home stream (clauses P1 to P3): it is remembered, and exported."""

from __future__ import annotations

from typing import Any

import driver_probe
import numpy as np
import pytest

import cuarray

pytestmark = pytest.mark.usefixtures("driver")

OLD, NEW = np.zeros(1024), np.arange(1024.0)


def pinned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A page-locked copy, which the driver reads when a copy runs and not when it is enqueued."""
    array = cuarray.pinned_array(values.shape, values.dtype)
    array[...] = values
    return array


def stream_of(array: cuarray.DeviceArray) -> int | None:
    stream = array.__cuda_array_interface__["stream"]
    assert stream is None or isinstance(stream, int)
    return stream


def test_stream_is_exported_only_while_work_is_pending(simulator: str) -> None:
    array, stream, source = cuarray.to_device(OLD), cuarray.stream(), pinned(NEW)
    assert stream_of(array) is None
    array.copy_to_device(source, stream=stream)
    exported = stream_of(array)
    assert exported is not None
    driver_probe.synchronize(exported)
    assert stream.query()
    assert stream_of(array) is None


def test_import_waits_for_pending_work() -> None:
    array, stream, source = cuarray.to_device(OLD), cuarray.stream(), pinned(NEW)
    array.copy_to_device(source, stream=stream)
    wrapper = type("Wrapper", (), {"__cuda_array_interface__": array.__cuda_array_interface__})()
    imported = cuarray.as_cuda_array(wrapper)
    np.testing.assert_array_equal(imported.copy_to_host(), NEW)


def test_work_in_several_streams_is_joined_into_exported_stream(simulator: str) -> None:
    array, source = cuarray.to_device(OLD), pinned(NEW)
    streams = [cuarray.stream() for _ in range(3)]
    for stream, part in zip(streams, (slice(0, 300), slice(300, 700), slice(700, 1024)), strict=True):
        array[part].copy_to_device(source[part], stream=stream)
    exported = stream_of(array)
    assert exported is not None
    cuarray.external_stream(exported).synchronize()
    np.testing.assert_array_equal(np.asarray(array), NEW)
    assert all(stream.query() for stream in streams), "waiting for the exported stream must wait for every stream"


def test_views_share_pending_work(simulator: str) -> None:
    array, stream, source = cuarray.to_device(OLD), cuarray.stream(), pinned(NEW)
    view = array[100:200]
    for other in (array, view, array[5:]):
        # A query lets the simulator run the work, so each array gets new work.
        view.copy_to_device(source[100:200], stream=stream)
        assert stream_of(other) is not None
    stream.synchronize()


@pytest.mark.parametrize("later", ["named", "blocking", "bound", "fill"])
def test_later_work_runs_after_pending_work(later: str) -> None:
    array, first, source = cuarray.to_device(OLD), cuarray.stream(), pinned(NEW)
    array.copy_to_device(source, stream=first)
    if later == "named":
        second, target = cuarray.stream(), pinned(OLD)
        array.copy_to_host(target, stream=second)
        second.synchronize()
        np.testing.assert_array_equal(target, NEW)
    elif later == "blocking":
        np.testing.assert_array_equal(array.copy_to_host(), NEW)
    elif later == "bound":
        np.testing.assert_array_equal(array.bind(cuarray.stream()).copy_to_host(), NEW)
    else:
        array[:] = -1.0
        np.testing.assert_array_equal(array.copy_to_host(), np.full(1024, -1.0))


def test_write_to_source_waits_for_pending_read() -> None:
    source, target, stream = cuarray.to_device(NEW), cuarray.to_device(OLD), cuarray.stream()
    target.copy_to_device(source, stream=stream)
    source.copy_to_device(OLD)
    np.testing.assert_array_equal(target.copy_to_host(), NEW)


def test_pending_work_survives_destruction_of_its_stream() -> None:
    array, source, stream = cuarray.to_device(OLD), pinned(NEW), driver_probe.ForeignStream()
    array.copy_to_device(source, stream=stream)
    stream.destroy()
    np.testing.assert_array_equal(array.copy_to_host(), NEW)
    assert stream_of(array) is None


def test_exported_stream_outlives_the_stream_of_the_work(simulator: str) -> None:
    array, source, stream = cuarray.to_device(OLD), pinned(NEW), driver_probe.ForeignStream()
    array.copy_to_device(source, stream=stream)
    exported = stream_of(array)
    assert exported not in (None, stream.handle)
    driver_probe.synchronize(stream.handle)
    stream.destroy()
    driver_probe.synchronize(exported)
    np.testing.assert_array_equal(array.copy_to_host(), NEW)


def test_pending_work_is_not_exported_when_export_is_off(simulator: str) -> None:
    array, stream, source = cuarray.to_device(OLD), cuarray.stream(), pinned(NEW)
    array.copy_to_device(source, stream=stream)
    cuarray.config.export_stream = False
    assert stream_of(array) is None
    cuarray.config.export_stream, cuarray.config.export_version = True, 2
    assert "stream" not in array.__cuda_array_interface__
    stream.synchronize()
