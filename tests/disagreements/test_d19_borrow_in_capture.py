"""D19 and S3: what is ordered in a capture becomes the graph's edges; what cannot be, is refused, and the capture goes on."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import driver_probe
import numpy as np
import pytest
from driver_probe import ForeignStream
from producers import foreign

import cuarray

GLOBAL, RELAXED = 0, 2
NEW = 9


class Capture:
    """A capture in progress; `graph` is there once it is ended."""

    def __init__(self, stream: int, mode: int) -> None:
        self.stream, self.graph = ctypes.c_void_p(stream), ctypes.c_void_p()
        with driver_probe.primary_context():
            driver_probe.call("cuStreamBeginCapture_v2", self.stream, ctypes.c_int(mode))

    def end(self) -> None:
        """Fails where the capture was harmed."""
        with driver_probe.primary_context():
            driver_probe.call("cuStreamEndCapture", self.stream, ctypes.byref(self.graph))

    def launch(self) -> None:
        program = ctypes.c_void_p()
        with driver_probe.primary_context():
            driver_probe.call("cuGraphInstantiateWithFlags", ctypes.byref(program), self.graph, ctypes.c_ulonglong(0))
            driver_probe.call("cuGraphLaunch", program, self.stream)
            driver_probe.synchronize(self.stream.value or 0)
            driver_probe.call("cuGraphExecDestroy", program)

    def destroy(self) -> None:
        with driver_probe.primary_context():
            driver_probe.call("cuGraphDestroy", self.graph)


@pytest.fixture(params=[GLOBAL, RELAXED], ids=["global", "relaxed"])
def capturing(request: pytest.FixtureRequest) -> Callable[[int], contextlib.AbstractContextManager[Capture]]:
    @contextlib.contextmanager
    def begin(stream: int) -> Iterator[Capture]:
        capture = Capture(stream, request.param)
        yield capture
        if not capture.graph:
            capture.end()
        capture.destroy()

    return begin


@pytest.fixture
def other(driver: str) -> Iterator[ForeignStream]:
    stream = ForeignStream()
    yield stream
    stream.destroy()


def fork(first: int, then: int) -> None:
    """Takes the second stream into the capture of the first."""
    event = cuarray.event(timing=False)
    event.record(first)
    cuarray.external_stream(then).wait(event)


def test_within_one_capture_edges_are_captured(
    foreign_stream: ForeignStream, other: ForeignStream, capturing: Any
) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    with capturing(foreign_stream.handle) as capture:
        driver_probe.fill(memory.ptr, NEW, 4, foreign_stream.handle)
        fork(foreign_stream.handle, other.handle)
        with cuarray.borrow(foreign(memory, stream=foreign_stream.handle), other) as array:
            driver_probe.fill(array.ptr, NEW + 1, 4, other.handle)
        driver_probe.fill(memory.ptr, NEW + 2, 1, foreign_stream.handle)
        capture.end()
        assert memory.copy_to_host().tolist() == [0] * 4, "a capture runs nothing"
        capture.launch()
    assert memory.copy_to_host().tolist() == [NEW + 2, *[NEW + 1] * 3]


REFUSED: dict[str, Callable[[Any, Any, int], object]] = {
    "borrow": lambda memory, stream, there: cuarray.borrow(foreign(memory, stream=stream.handle), there).__enter__(),
    "import": lambda memory, stream, there: cuarray.as_cuda_array(foreign(memory, stream=stream.handle)),
    "record_stream": lambda memory, stream, there: memory.bind(there).record_stream(stream),
    "copy": lambda memory, stream, there: memory.bind(stream).copy_to_host(),
    "copy elsewhere": lambda memory, stream, there: memory.bind(stream).copy_to_device(
        memory.bind(there), stream=there
    ),
}


@pytest.mark.parametrize("what", list(REFUSED))
def test_with_one_capturing_stream_it_is_refused(
    foreign_stream: ForeignStream, other: ForeignStream, capturing: Any, what: str
) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    with capturing(foreign_stream.handle):
        with pytest.raises(BufferError, match="is capturing a graph"):
            REFUSED[what](memory, foreign_stream, other.handle)
    assert memory.copy_to_host().tolist() == [0] * 4


def test_a_borrow_into_a_capture_is_refused_too(
    foreign_stream: ForeignStream, other: ForeignStream, capturing: Any
) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    with capturing(foreign_stream.handle):
        with pytest.raises(BufferError, match="is capturing a graph"):
            cuarray.borrow(foreign(memory, stream=other.handle), foreign_stream).__enter__()
        # What needs no order is no matter.
        with cuarray.borrow(foreign(memory), foreign_stream) as array:
            driver_probe.fill(array.ptr, NEW, 4, foreign_stream.handle)


def test_work_that_is_pending_outside_is_refused(
    foreign_stream: ForeignStream, other: ForeignStream, capturing: Any
) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    with driver_probe.held(other.handle) as hold:
        driver_probe.fill(memory.ptr, NEW, 4, other.handle)
        memory.record_stream(other)
        with capturing(foreign_stream.handle):
            with pytest.raises(BufferError, match="not done"):
                cuarray.borrow(memory, foreign_stream).__enter__()
        hold.let_go()
    driver_probe.synchronize(other.handle)
    with capturing(foreign_stream.handle), cuarray.borrow(memory, foreign_stream):
        pass


def test_the_legacy_stream_is_left_alone(driver: str, capturing: Any) -> None:
    memory, blocking = cuarray.to_device(np.zeros(4, np.uint8)), cuarray.stream()
    with capturing(blocking.handle):
        for use in (
            lambda: cuarray.as_cuda_array(foreign(memory, stream=1)),
            lambda: cuarray.borrow(foreign(memory, stream=1), cuarray.stream()).__enter__(),
            lambda: memory.copy_to_host(),
        ):
            with pytest.raises(BufferError, match="the legacy default stream cannot be used"):
                use()


def test_switched_off_nothing_is_asked(foreign_stream: ForeignStream, other: ForeignStream, capturing: Any) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    with capturing(foreign_stream.handle):
        cuarray.as_cuda_array(foreign(memory, stream=foreign_stream.handle), sync=False)
        with cuarray.borrow(foreign(memory, stream=foreign_stream.handle), other, sync=False):
            pass


def test_a_borrow_that_a_capture_cuts_off_says_so(
    foreign_stream: ForeignStream, other: ForeignStream, capturing: Any
) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    borrow = cuarray.borrow(foreign(memory, stream=foreign_stream.handle), other)
    array = borrow.__enter__()
    with capturing(foreign_stream.handle):
        with pytest.raises(BufferError, match="is capturing a graph"):
            borrow.__exit__(None, None, None)
    with pytest.raises(BufferError, match="given back"):
        assert array.ptr


def test_memory_that_dies_while_somebody_captures_is_put_by(foreign_stream: ForeignStream, capturing: Any) -> None:
    """Freeing is prohibited then, and would spoil the capture."""
    memory = cuarray.to_device(np.zeros(4, np.uint8), stream=cuarray.stream())
    with capturing(foreign_stream.handle):
        del memory
        cuarray.reclaim(wait=False)
    cuarray.reclaim()
