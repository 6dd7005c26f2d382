"""Clauses S1 to S5: cuarray as the consumer. The producer's stream is held, so its work is known to be pending."""

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
imports = pytest.mark.parametrize("take", list(IMPORTS.values()), ids=list(IMPORTS))


@pytest.mark.cuarray_sim(expect="data-race")
@imports
@pytest.mark.parametrize("entries", [{}, {"stream": None}], ids=["absent", "None"])
def test_s1_without_a_stream_nothing_is_waited_for(
    memory: cuarray.DeviceArray, foreign_stream: ForeignStream, take: Any, entries: dict[str, Any]
) -> None:
    interface = {key: value for key, value in memory.__cuda_array_interface__.items() if key != "stream"}
    with held(foreign_stream.handle) as hold:
        driver_probe.fill(memory.ptr, NEW, 4, foreign_stream.handle)
        array = take(Producer({**interface, **entries}, keeps=memory))
        assert array.copy_to_host().tolist() == [OLD] * 4
        assert hold.is_held


@imports
def test_s2_the_stream_is_synchronized_before_the_data_is_touched(
    memory: cuarray.DeviceArray, foreign_stream: ForeignStream, take: Any
) -> None:
    with held(foreign_stream.handle) as hold:
        driver_probe.fill(memory.ptr, NEW, 4, foreign_stream.handle)
        hold.let_go_soon()
        take(foreign(memory, stream=foreign_stream.handle))
        assert not hold.is_held
        assert driver_probe.is_done(foreign_stream.handle)
        assert memory.copy_to_host().tolist() == [NEW] * 4


@pytest.mark.parametrize("handle", [1, 2])
def test_s2_the_default_streams_too(memory: cuarray.DeviceArray, handle: int) -> None:
    with held(handle) as hold:
        driver_probe.fill(memory.ptr, NEW, 4, handle)
        hold.let_go_soon()
        cuarray.as_cuda_array(foreign(memory, stream=handle))
        assert not hold.is_held
        assert memory.copy_to_host().tolist() == [NEW] * 4


def test_s2_or_the_work_is_enqueued_after_the_streams(
    memory: cuarray.DeviceArray, foreign_stream: ForeignStream
) -> None:
    """A copy of another library's array: nobody waits, the copy's own stream does."""
    target, other = cuarray.to_device(np.zeros(4, np.uint8)), ForeignStream()
    with contextlib.ExitStack() as stack:
        stack.callback(other.destroy)
        hold = stack.enter_context(held(foreign_stream.handle))
        driver_probe.fill(memory.ptr, NEW, 4, foreign_stream.handle)
        target.copy_to_device(foreign(memory, stream=foreign_stream.handle), stream=other)
        assert hold.is_held
        assert not driver_probe.is_done(other.handle)
        hold.let_go()
        driver_probe.synchronize(other.handle)
        assert target.copy_to_host().tolist() == [NEW] * 4


def test_s3_no_work_starts_in_the_producers_stream_before_ours_is_done(
    memory: cuarray.DeviceArray, foreign_stream: ForeignStream
) -> None:
    target, ours = cuarray.to_device(np.zeros(4, np.uint8)), ForeignStream()
    with contextlib.ExitStack() as stack:
        stack.callback(ours.destroy)
        hold = stack.enter_context(held(ours.handle))
        target.copy_to_device(foreign(memory, stream=foreign_stream.handle), stream=ours)
        # The producer goes on at once, in its own stream, and overwrites what we have not read yet.
        driver_probe.fill(memory.ptr, NEW, 4, foreign_stream.handle)
        assert not driver_probe.is_done(foreign_stream.handle)
        hold.let_go()
        driver_probe.synchronize(foreign_stream.handle)
    assert target.copy_to_host().tolist() == [OLD] * 4
    assert memory.copy_to_host().tolist() == [NEW] * 4


def test_s3_or_control_returns_when_our_work_is_done(
    memory: cuarray.DeviceArray, foreign_stream: ForeignStream
) -> None:
    """A copy without `stream=` has been made when it returns, so the producer may go on."""
    target = cuarray.to_device(np.zeros(4, np.uint8))
    producer = foreign(memory, stream=foreign_stream.handle)
    target.copy_to_device(producer)
    with held(foreign_stream.handle):
        driver_probe.fill(memory.ptr, NEW, 4, foreign_stream.handle)
        assert target.copy_to_host().tolist() == [OLD] * 4


def test_s4_work_in_the_given_stream_returns_at_once(
    memory: cuarray.DeviceArray, foreign_stream: ForeignStream
) -> None:
    target = cuarray.to_device(np.zeros(4, np.uint8))
    with held(foreign_stream.handle) as hold:
        driver_probe.fill(memory.ptr, NEW, 4, foreign_stream.handle)
        target.copy_to_device(foreign(memory, stream=foreign_stream.handle), stream=foreign_stream)
        assert hold.is_held
        driver_probe.fill(memory.ptr, 5, 4, foreign_stream.handle)
        hold.let_go()
        driver_probe.synchronize(foreign_stream.handle)
    assert target.copy_to_host().tolist() == [NEW] * 4


@pytest.mark.cuarray_sim(expect="data-race")
@imports
@pytest.mark.parametrize("how", ["argument", "setting"])
def test_s5_the_user_may_have_the_stream_ignored(
    memory: cuarray.DeviceArray, foreign_stream: ForeignStream, take: Any, how: str
) -> None:
    options = {"sync": False} if how == "argument" else {}
    cuarray.config.sync = how != "setting"
    with held(foreign_stream.handle) as hold:
        driver_probe.fill(memory.ptr, NEW, 4, foreign_stream.handle)
        array = take(foreign(memory, stream=foreign_stream.handle), **options)
        assert hold.is_held
        assert array.__cuda_array_interface__["stream"] == foreign_stream.handle
        assert memory.copy_to_host().tolist() == [OLD] * 4


@pytest.mark.parametrize("variable", ["CUARRAY_SYNC", "NUMBA_CUDA_ARRAY_INTERFACE_SYNC"])
def test_s5_by_an_environment_variable(variable: str) -> None:
    # Handle 1 in a process without a driver: a wait would raise CudaError.
    program = """
import cuarray
cuarray.from_cuda_array_interface({"shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3, "stream": 1})
print("NOT WAITED FOR")
"""
    printed = driver_probe.run_python(program, **{"CUARRAY_DRIVER": "/nonexistent", variable: "0"})
    assert printed.strip() == "NOT WAITED FOR"


def test_s5_is_never_the_default() -> None:
    assert cuarray.config.sync is True
