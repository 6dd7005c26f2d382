"""Clauses S1 to S5: cuarray as the consumer. The producer's stream is held, so its work is pending."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import driver_probe
import numpy as np
import pytest
from driver_probe import ForeignStream, held
from producers import Producer, foreign

import cuarray

OLD, NEW = 1, 9


@pytest.fixture
def memory(driver: str) -> cuarray.DeviceArray:
    """Four bytes of OLD."""
    return cuarray.to_device(np.full(4, OLD, np.uint8))


IMPORTS: dict[str, Callable[..., cuarray.DeviceArray]] = {
    "as_cuda_array": lambda producer, **options: cuarray.as_cuda_array(producer, **options),
    "from_cuda_array_interface": lambda producer, **options: cuarray.from_cuda_array_interface(
        producer.__cuda_array_interface__, producer, **options
    ),
}
imports = pytest.mark.parametrize("import_array", list(IMPORTS.values()), ids=list(IMPORTS))


@pytest.mark.cuarray_sim(expect="data-race")
@imports
@pytest.mark.parametrize("entries", [{}, {"stream": None}], ids=["absent", "None"])
def test_s1_import_without_stream_does_not_wait(
    memory: cuarray.DeviceArray, foreign_stream: ForeignStream, import_array: Any, entries: dict[str, Any]
) -> None:
    interface = {key: value for key, value in memory.__cuda_array_interface__.items() if key != "stream"}
    with held(foreign_stream.handle) as hold:
        driver_probe.fill(memory.ptr, NEW, 4, foreign_stream.handle)
        array = import_array(Producer({**interface, **entries}, keeps=memory))
        assert array.copy_to_host().tolist() == [OLD] * 4
        assert hold.is_held


@imports
def test_s2_import_synchronizes_with_exported_stream(
    memory: cuarray.DeviceArray, foreign_stream: ForeignStream, import_array: Any
) -> None:
    with held(foreign_stream.handle) as hold:
        driver_probe.fill(memory.ptr, NEW, 4, foreign_stream.handle)
        hold.release_soon()
        import_array(foreign(memory, stream=foreign_stream.handle))
        assert not hold.is_held
        assert driver_probe.is_done(foreign_stream.handle)
        assert memory.copy_to_host().tolist() == [NEW] * 4


@pytest.mark.parametrize("handle", [1, 2])
def test_s2_import_synchronizes_with_default_streams(memory: cuarray.DeviceArray, handle: int) -> None:
    with held(handle) as hold:
        driver_probe.fill(memory.ptr, NEW, 4, handle)
        hold.release_soon()
        cuarray.as_cuda_array(foreign(memory, stream=handle))
        assert not hold.is_held
        assert memory.copy_to_host().tolist() == [NEW] * 4


def test_s2_copy_in_other_stream_is_enqueued_after_exported_stream(
    memory: cuarray.DeviceArray, foreign_stream: ForeignStream
) -> None:
    """In a copy of another library's array, the stream of the copy waits and the host does not."""
    target, other = cuarray.to_device(np.zeros(4, np.uint8)), ForeignStream()
    with contextlib.ExitStack() as stack:
        stack.callback(other.destroy)
        hold = stack.enter_context(held(foreign_stream.handle))
        driver_probe.fill(memory.ptr, NEW, 4, foreign_stream.handle)
        target.copy_to_device(foreign(memory, stream=foreign_stream.handle), stream=other)
        assert hold.is_held
        assert not driver_probe.is_done(other.handle)
        hold.release()
        driver_probe.synchronize(other.handle)
        assert target.copy_to_host().tolist() == [NEW] * 4


def test_s3_later_work_in_exported_stream_waits_for_consumer(
    memory: cuarray.DeviceArray, foreign_stream: ForeignStream
) -> None:
    target, consumer_stream = cuarray.to_device(np.zeros(4, np.uint8)), ForeignStream()
    with contextlib.ExitStack() as stack:
        stack.callback(consumer_stream.destroy)
        hold = stack.enter_context(held(consumer_stream.handle))
        target.copy_to_device(foreign(memory, stream=foreign_stream.handle), stream=consumer_stream)
        # The producer overwrites the memory in its own stream before the consumer has read it.
        driver_probe.fill(memory.ptr, NEW, 4, foreign_stream.handle)
        assert not driver_probe.is_done(foreign_stream.handle)
        hold.release()
        driver_probe.synchronize(foreign_stream.handle)
    assert target.copy_to_host().tolist() == [OLD] * 4
    assert memory.copy_to_host().tolist() == [NEW] * 4


def test_s3_copy_without_stream_argument_is_complete_on_return(
    memory: cuarray.DeviceArray, foreign_stream: ForeignStream
) -> None:
    """A copy without `stream=` is complete when it returns, so the producer may continue."""
    target = cuarray.to_device(np.zeros(4, np.uint8))
    producer = foreign(memory, stream=foreign_stream.handle)
    target.copy_to_device(producer)
    with held(foreign_stream.handle):
        driver_probe.fill(memory.ptr, NEW, 4, foreign_stream.handle)
        assert target.copy_to_host().tolist() == [OLD] * 4


def test_s4_copy_in_exported_stream_returns_without_waiting(
    memory: cuarray.DeviceArray, foreign_stream: ForeignStream
) -> None:
    target = cuarray.to_device(np.zeros(4, np.uint8))
    with held(foreign_stream.handle) as hold:
        driver_probe.fill(memory.ptr, NEW, 4, foreign_stream.handle)
        target.copy_to_device(foreign(memory, stream=foreign_stream.handle), stream=foreign_stream)
        assert hold.is_held
        driver_probe.fill(memory.ptr, 5, 4, foreign_stream.handle)
        hold.release()
        driver_probe.synchronize(foreign_stream.handle)
    assert target.copy_to_host().tolist() == [NEW] * 4


@pytest.mark.cuarray_sim(expect="data-race")
@imports
@pytest.mark.parametrize("how", ["argument", "setting"])
def test_s5_sync_argument_or_setting_turns_synchronization_off(
    memory: cuarray.DeviceArray, foreign_stream: ForeignStream, import_array: Any, how: str
) -> None:
    options = {"sync": False} if how == "argument" else {}
    cuarray.config.sync = how != "setting"
    with held(foreign_stream.handle) as hold:
        driver_probe.fill(memory.ptr, NEW, 4, foreign_stream.handle)
        array = import_array(foreign(memory, stream=foreign_stream.handle), **options)
        assert hold.is_held
        assert array.__cuda_array_interface__["stream"] == foreign_stream.handle
        assert memory.copy_to_host().tolist() == [OLD] * 4


@pytest.mark.parametrize("variable", ["CUARRAY_SYNC", "NUMBA_CUDA_ARRAY_INTERFACE_SYNC"])
def test_s5_environment_variable_turns_synchronization_off(variable: str) -> None:
    # The process has no driver, so a wait for the stream 1 would raise CudaError.
    program = """
import cuarray
cuarray.from_cuda_array_interface({"shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3, "stream": 1})
print("NO WAIT")
"""
    printed = driver_probe.run_python(program, **{"CUARRAY_DRIVER": "/nonexistent", variable: "0"})
    assert printed.strip() == "NO WAIT"


def test_s5_synchronization_is_on_by_default() -> None:
    assert cuarray.config.sync is True
