"""Clauses P1 to P4: cuarray as the producer."""

from __future__ import annotations

import driver_probe
import numpy as np
from driver_probe import ForeignStream, held

import cuarray

OLD, NEW = 1, 9


def test_p1_exported_stream_covers_work_in_home_stream(driver: str) -> None:
    stream = cuarray.stream()
    source = cuarray.to_device(np.full(4, NEW, np.uint8))
    array = cuarray.to_device(np.full(4, OLD, np.uint8), stream=stream)
    with held(stream.handle) as hold:
        array.copy_to_device(source, stream=stream)
        exported = array.__cuda_array_interface__["stream"]
        hold.release_soon()
        driver_probe.synchronize(exported)
        assert not hold.is_held
    assert array.copy_to_host().tolist() == [NEW] * 4


def test_p2_exported_stream_covers_work_in_other_streams(driver: str) -> None:
    """The text's example: work in the streams 7, 9 and 15, and 3 as the exported stream."""
    third, others = cuarray.stream(), [ForeignStream() for _ in range(3)]
    array = cuarray.to_device(np.zeros((3, 4), np.uint8), stream=third)
    sources = [cuarray.to_device(np.full(4, 7 + number, np.uint8)) for number in range(3)]
    holds = [driver_probe.Held(other.handle) for other in others]
    try:
        for row, source, other in zip(array, sources, others, strict=True):
            row.copy_to_device(source, stream=other)
        exported = array.__cuda_array_interface__["stream"]
        assert exported == third.handle
        for hold in holds[:2]:
            hold.release()
        assert not driver_probe.is_done(exported), "work in the third stream is still pending"
        holds[2].release()
        driver_probe.synchronize(exported)
        assert array.copy_to_host()[:, 0].tolist() == [7, 8, 9]
    finally:
        for hold, other in zip(holds, others, strict=True):
            hold.finish()
            other.destroy()


def test_p3_stream_is_none_without_pending_work(driver: str) -> None:
    for array in (cuarray.device_array(4), cuarray.to_device([1, 2]), cuarray.device_array((0, 3))):
        assert array.__cuda_array_interface__["stream"] is None


def test_p3_stream_is_none_after_completion(driver: str) -> None:
    """The array has no home stream; work in a given stream is pending until it is done."""
    array, stream = cuarray.to_device(np.zeros(4, np.uint8)), cuarray.stream()
    source = cuarray.to_device(np.full(4, NEW, np.uint8))
    with held(stream.handle) as hold:
        array.copy_to_device(source, stream=stream)
        exported = array.__cuda_array_interface__["stream"]
        assert exported is not None
        assert not driver_probe.is_done(exported), "the exported stream must wait for the work (clause P1)"
        hold.release()
        driver_probe.synchronize(exported)
    assert array.__cuda_array_interface__["stream"] is None
    assert array.copy_to_host().tolist() == [NEW] * 4


def test_p4_setting_turns_export_of_streams_off(driver: str) -> None:
    array = cuarray.device_array(4, stream=cuarray.stream())
    cuarray.config.export_stream = False
    assert array.__cuda_array_interface__["stream"] is None


def test_p4_environment_variable_turns_export_of_streams_off(driver: str) -> None:
    program = """
import cuarray
print(cuarray.device_array(4, stream=cuarray.stream()).__cuda_array_interface__["stream"])
"""
    assert driver_probe.run_python(program, CUARRAY_EXPORT_STREAM="0").strip() == "None"


def test_p4_export_of_streams_is_on_by_default(driver: str) -> None:
    assert cuarray.config.export_stream is True
    assert cuarray.device_array(4, stream=1).__cuda_array_interface__["stream"] == 1
