"""Random sequences of work in several streams give the result of the same work done sequentially.

Each step is one way in which a program uses an array: copies, assignments, fills by borrowers, recorded foreign work, consumers of
the exported stream, views, and dropping an array with pending work. A NumPy model performs each step immediately. The simulated
driver must have no findings: a missing edge would be one, even if the data were right by chance.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import driver_probe
import numpy as np
import pytest
from driver_probe import ForeignStream
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cuarray

SIZE, ARRAYS, STREAMS = 24, 3, 3

slices = st.builds(
    lambda start, length, step: slice(start, start + length * step, step),
    st.integers(0, 7),
    st.integers(1, 5),
    st.integers(1, 3),
)
arrays = st.integers(0, ARRAYS - 1)
streams = st.integers(0, STREAMS - 1)
# None leaves the choice of the stream to the array.
streams_or_none = st.one_of(st.none(), streams)
values = st.integers(0, 255)


@dataclass
class Program:
    """Arrays, the streams in which they are used, and the values that the arrays must have at the end."""

    streams: list[Any]
    arrays: list[cuarray.DeviceArray] = field(default_factory=list)
    model: list[np.ndarray[Any, Any]] = field(default_factory=list)

    def stream(self, index: int | None) -> Any:
        return None if index is None else self.streams[index]

    def fill_borrowed(self, array: int, part: slice, value: int, stream: int) -> None:
        """The work of a kernel that sets the elements of the borrowed array one by one."""
        with cuarray.borrow(self.arrays[array], self.streams[stream]) as view:
            for element in range(*part.indices(SIZE)):
                driver_probe.fill(view.ptr + element, value, 1, handle(self.streams[stream]))
        self.model[array][part] = value

    def copy_borrowed(self, target: int, source: int, stream: int) -> None:
        """The work of a kernel that reads one array and writes another."""
        at = self.streams[stream]
        with cuarray.borrow(self.arrays[source], at, readonly=True) as read:
            if target == source:
                return
            with cuarray.borrow(self.arrays[target], at) as written:
                driver_probe.copy(written.ptr, read.ptr, SIZE, handle(at))
        self.model[target][:] = self.model[source]

    def record(self, array: int, value: int, stream: int) -> None:
        """Foreign work in a stream that is ordered after the exported stream, and is recorded afterwards."""
        exported = self.arrays[array].__cuda_array_interface__["stream"]
        if exported is not None:
            event = cuarray.event()
            event.record(exported)
            event.wait(self.streams[stream])
        driver_probe.fill(self.arrays[array].ptr, value, SIZE, handle(self.streams[stream]))
        self.arrays[array].record_stream(self.streams[stream])
        self.model[array][:] = value

    def consume(self, array: int) -> None:
        """A consumer that reads only the dictionary."""
        desc = self.arrays[array].__cuda_array_interface__
        consumed = cuarray.as_cuda_array(type("Other", (), {"__cuda_array_interface__": desc})())
        np.testing.assert_array_equal(consumed.copy_to_host(), self.model[array])

    def copy(self, target: int, source: int, part: slice, stream: int | None) -> None:
        self.arrays[target][part].copy_to_device(self.arrays[source][part], stream=self.stream(stream))
        self.model[target][part] = self.model[source][part]

    def upload(self, target: int, part: slice, value: int, stream: int | None) -> None:
        """A copy from pageable memory, which the caller may reuse after the call."""
        host = np.full(len(range(*part.indices(SIZE))), value, np.uint8)
        self.arrays[target][part].copy_to_device(host, stream=self.stream(stream))
        host[:] = 77
        self.model[target][part] = value

    def assign(self, target: int, part: slice, value: int, stream: int | None) -> None:
        self.arrays[target].setitem(part, value, stream=self.stream(stream))
        self.model[target][part] = value

    def reverse(self, array: int) -> None:
        """An assignment of the array to itself, which needs a temporary copy."""
        self.arrays[array][:] = self.arrays[array][::-1]
        self.model[array][:] = self.model[array][::-1].copy()

    def bind(self, array: int, stream: int | None) -> None:
        self.arrays[array] = self.arrays[array].bind(self.stream(stream))

    def replace(self, array: int, value: int, stream: int | None) -> None:
        """The old array is dropped with pending work, and the new array may reuse its memory."""
        host = np.full(SIZE, value, np.uint8)
        self.arrays[array] = cuarray.to_device(host, stream=self.stream(stream))
        self.model[array] = host.copy()

    def read(self, array: int, part: slice, stream: int | None) -> None:
        read = self.arrays[array][part].copy_to_host(stream=self.stream(stream))
        if stream is not None:
            driver_probe.synchronize(handle(self.streams[stream]))
        np.testing.assert_array_equal(read, self.model[array][part])


def handle(stream: Any) -> int:
    return int(stream.handle)


steps = st.one_of(
    st.tuples(st.just(Program.fill_borrowed), arrays, slices, values, streams),
    st.tuples(st.just(Program.copy_borrowed), arrays, arrays, streams),
    st.tuples(st.just(Program.record), arrays, values, streams),
    st.tuples(st.just(Program.consume), arrays),
    st.tuples(st.just(Program.copy), arrays, arrays, slices, streams_or_none),
    st.tuples(st.just(Program.upload), arrays, slices, values, streams_or_none),
    st.tuples(st.just(Program.assign), arrays, slices, values, streams_or_none),
    st.tuples(st.just(Program.reverse), arrays),
    st.tuples(st.just(Program.bind), arrays, streams_or_none),
    st.tuples(st.just(Program.replace), arrays, values, streams_or_none),
    st.tuples(st.just(Program.read), arrays, slices, streams_or_none),
)


@pytest.fixture
def found(driver: str) -> Callable[[], str]:
    """The findings since the last call; a real driver has none."""
    if driver != "simulated":
        return str
    from cuarray_sim import clear_findings, report

    def take() -> str:
        text = report()
        clear_findings()
        return text

    return take


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=st.lists(steps, min_size=1, max_size=14))
def test_random_sequence_matches_sequential_model_without_findings(
    found: Callable[[], str], program: list[tuple[Any, ...]]
) -> None:
    with contextlib.ExitStack() as stack:
        foreign = ForeignStream()
        stack.callback(foreign.destroy)
        run = Program([cuarray.stream(), foreign, cuarray.per_thread_default_stream()])
        for value in range(ARRAYS):
            run.arrays.append(cuarray.to_device(np.full(SIZE, value, np.uint8)))
            run.model.append(np.full(SIZE, value, np.uint8))
        for function, *arguments in program:
            function(run, *arguments)
        for array, model in zip(run.arrays, run.model, strict=True):
            np.testing.assert_array_equal(array.copy_to_host(), model)
        run.arrays.clear()
        cuarray.reclaim()
    assert found() == ""
