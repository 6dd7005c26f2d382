"""`record_stream`: foreign work on an array is recorded, and later work waits for it."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable
from typing import Any

import driver_probe
import numpy as np
import pytest
from driver_probe import ForeignStream, held

import cuarray

pytestmark = pytest.mark.usefixtures("driver")

NEW = 9


@pytest.mark.parametrize("spell", [lambda s: s, lambda s: s.handle, lambda s: cuarray.external_stream(s)])
def test_later_work_waits_for_recorded_work(spell: Callable[[ForeignStream], Any]) -> None:
    array, stream = cuarray.to_device(np.zeros(4, np.uint8)), ForeignStream()
    with contextlib.ExitStack() as stack:
        stack.callback(stream.destroy)
        hold = stack.enter_context(held(stream.handle))
        driver_probe.fill(array.ptr, NEW, 4, stream.handle)
        array[1:3].record_stream(spell(stream))
        exported = array.__cuda_array_interface__["stream"]
        assert exported not in (None, stream.handle)
        hold.release_soon()
        driver_probe.synchronize(exported)
        assert not hold.is_held
        assert array.__cuda_array_interface__["stream"] is None
        assert array.copy_to_host().tolist() == [NEW] * 4


def test_recorded_read_does_not_delay_other_reads() -> None:
    array, stream = cuarray.to_device(np.zeros(4, np.uint8)), ForeignStream()
    with contextlib.ExitStack() as stack:
        stack.callback(stream.destroy)
        hold = stack.enter_context(held(stream.handle))
        array.record_stream(stream, readonly=True)
        assert array.copy_to_host().tolist() == [0] * 4
        assert hold.is_held
        assert array.__cuda_array_interface__["stream"] is not None, "a consumer of the export may write"


def test_release_of_memory_is_deferred_until_recorded_work_is_done(simulator: str) -> None:
    from cuarray_sim import statistics

    cuarray.reclaim()
    before = len(statistics()["allocations"])
    array, stream = cuarray.device_array(4, "u1"), ForeignStream()
    pointer = array.ptr
    with contextlib.ExitStack() as stack:
        stack.callback(stream.destroy)
        hold = stack.enter_context(held(stream.handle))
        driver_probe.fill(pointer, NEW, 4, stream.handle)
        array.record_stream(stream)
        del array
        gc.collect()
        assert hold.is_held, "no thread may wait for the stream"
        other = cuarray.device_array(4, "u1")
        assert other.ptr != pointer
        assert hold.is_held
        hold.release()
    del other
    cuarray.reclaim()
    assert len(statistics()["allocations"]) == before


def test_record_stream_argument_of_wrong_type_is_refused(driver: str) -> None:
    with pytest.raises(TypeError, match="a cuarray stream, an object with __cuda_stream__, or a handle"):
        cuarray.device_array(1).record_stream("here")  # type: ignore[arg-type]
