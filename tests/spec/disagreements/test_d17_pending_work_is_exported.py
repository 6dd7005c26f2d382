"""D17: pending work is exported as a stream.

PyTorch, JAX, DALI, RMM, cuDF, Warp, pylibraft and PyCUDA export no stream, most of them with work pending on the data.

The text: the exported stream covers all pending work (P1). Without pending work there is none (P3). Only the user may turn the
export off (P4). An array exports its default stream, which is also the stream of its transfers (N2, N5).

cuarray: exports the home stream of its own arrays, of imported arrays and of their views. Transfers of such an array run in the
home stream, or the home stream waits for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import driver_probe
import numpy as np
import pytest
from producers import foreign

import cuarray


def test_exported_stream_covers_pending_copy(driver: str) -> None:
    stream = cuarray.stream()
    memory = driver_probe.Pinned(4)
    try:
        memory.bytes[:] = [7] * 4
        with driver_probe.held(stream.handle) as hold:
            array = cuarray.to_device(np.frombuffer(memory.bytes, np.uint8), stream=stream)
            assert hold.is_held
            exported = array.__cuda_array_interface__["stream"]
            assert exported == stream.handle
            assert not driver_probe.is_done(exported)
            hold.release()
            driver_probe.synchronize(exported)
        # Synchronizing on the exported stream was enough: this import does not wait.
        bare = foreign(array, stream=None)
        assert cuarray.as_cuda_array(bare).copy_to_host().tolist() == [7] * 4
    finally:
        memory.free()


def test_cuda_core_stream_waits_for_exported_stream(driver: str, strided_memory_view: Callable[..., Any]) -> None:
    stream, consumer = cuarray.stream(), cuarray.stream()
    array = cuarray.to_device(np.zeros(4, np.uint8), stream=stream)
    with driver_probe.held(stream.handle) as hold:
        driver_probe.fill(array.ptr, 7, 4, stream.handle)
        view = strided_memory_view(array, consumer.handle)
        assert view.ptr == array.ptr
        assert not consumer.query()
        hold.release()
        consumer.synchronize()
        assert stream.query()


def test_numba_import_waits_for_exported_stream(driver: str, numba: Any) -> None:
    stream = cuarray.stream()
    array = cuarray.to_device(np.zeros(4, np.uint8), stream=stream)
    with driver_probe.held(stream.handle) as hold:
        driver_probe.fill(array.ptr, 7, 4, stream.handle)
        hold.release_soon()
        numba_array = numba.as_cuda_array(array)
        assert not hold.is_held
    assert numba_array.copy_to_host().tolist() == [7] * 4


def test_imported_array_and_its_views_export_the_stream(foreign_stream: driver_probe.ForeignStream) -> None:
    memory = cuarray.to_device(np.arange(8.0).reshape(2, 4))
    array = cuarray.as_cuda_array(foreign(memory, stream=foreign_stream.handle))
    for view in (array, array[1:], array[..., ::2], array.T, array.reshape(-1), array.view("<i8")):
        assert view.__cuda_array_interface__["stream"] == foreign_stream.handle
    again = cuarray.from_cuda_array_interface(array.__cuda_array_interface__, array)
    assert again.__cuda_array_interface__["stream"] == foreign_stream.handle


def test_array_without_pending_work_exports_no_stream(driver: str) -> None:
    array = cuarray.to_device([1, 2, 3])
    assert array.__cuda_array_interface__["stream"] is None
    array.copy_to_device(np.array([4, 5, 6]))
    assert array.__cuda_array_interface__["stream"] is None


@pytest.mark.parametrize("switch", ["export_stream", "export_version"])
def test_setting_turns_stream_export_off(driver: str, switch: str) -> None:
    stream = cuarray.stream()
    array = cuarray.to_device([1, 2, 3], stream=stream)
    assert cuarray.config.export_stream
    assert cuarray.config.export_version == 3
    assert array.__cuda_array_interface__["stream"] == stream.handle
    setattr(cuarray.config, switch, False if switch == "export_stream" else 2)
    assert array.__cuda_array_interface__.get("stream") is None
    # The array still orders its own work.
    assert array.stream == stream
    assert array.copy_to_host().tolist() == [1, 2, 3]
