"""D19: a stream that is capturing a graph is not disturbed.

No other library checks whether a stream is capturing. Synchronizing a capturing stream, as numba and CuPy do on every import, is
forbidden and invalidates the capture. Making a capturing stream wait for an event from outside, as cuda.core does, is an error.
Memory that a graph will allocate has no pointer attributes before the launch, so asking for them fails.

The text does not mention captures, but S1 to S5 hold for them too.

cuarray: makes no pointer query on import or export, and uses no stream if none is given or with ``sync=False``. Before it orders
work, it queries whether either stream is capturing. Within one capture, ordering becomes edges of the graph. If a capture forbids the
ordering, cuarray raises an error, and the capture stays valid.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import driver_probe
import numpy as np
import pytest
from driver_probe import ForeignStream
from producers import Producer, describe, foreign

import cuarray

GLOBAL, RELAXED = 0, 2
NEW = 9


class Capture:
    """A capture in progress; `graph` is set by `end`."""

    def __init__(self, stream: int, mode: int) -> None:
        self.stream, self.graph = ctypes.c_void_p(stream), ctypes.c_void_p()
        with driver_probe.primary_context():
            driver_probe.call("cuStreamBeginCapture_v2", self.stream, ctypes.c_int(mode))

    def end(self) -> None:
        """End the capture; fail if it was invalidated."""
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
    """Make the second stream join the capture of the first."""
    event = cuarray.event(timing=False)
    event.record(first)
    cuarray.external_stream(then).wait(event)


def test_memory_unknown_to_driver_is_imported_and_exported(driver: str, driver_calls: Callable[[], Any]) -> None:
    """An example is graph memory before the launch: its address is reserved and has no pointer attributes."""
    producer = Producer(describe())
    with driver_calls() as calls:
        array = cuarray.as_cuda_array(producer)
        exported = array.__cuda_array_interface__
        view = array[1:]
        assert view.__cuda_array_interface__["data"][0] == exported["data"][0] + 4
    assert not calls
    assert exported["data"] == producer.__cuda_array_interface__["data"]
    # The driver does not know the device. This is not an error.
    assert array.device is None


def test_import_and_export_without_a_stream_make_no_driver_call(driver: str, driver_calls: Callable[[], Any]) -> None:
    memory = cuarray.to_device(np.arange(4))
    with driver_calls() as calls:
        for version in range(4):
            cuarray.as_cuda_array(foreign(memory, version=version))
        assert memory.__cuda_array_interface__["stream"] is None
    assert not calls


def test_import_with_sync_false_makes_no_driver_call(
    foreign_stream: ForeignStream, driver_calls: Callable[[], Any]
) -> None:
    producer = foreign(cuarray.to_device(np.arange(4)), stream=foreign_stream.handle)
    with driver_calls() as calls:
        array = cuarray.as_cuda_array(producer, sync=False)
        exported = array.__cuda_array_interface__
    assert not calls
    assert exported["stream"] == foreign_stream.handle


def test_export_makes_no_driver_call(driver: str, driver_calls: Callable[[], Any]) -> None:
    array = cuarray.to_device(np.arange(4), stream=cuarray.stream())
    with driver_calls() as calls:
        assert array.__cuda_array_interface__["stream"] == array.stream.handle
    assert not calls


def test_import_with_sync_false_and_export_leave_capture_valid(foreign_stream: ForeignStream, driver: str) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    stream, graph = ctypes.c_void_p(foreign_stream.handle), ctypes.c_void_p()
    with driver_probe.primary_context():
        driver_probe.call("cuStreamBeginCapture_v2", stream, ctypes.c_int(0))
        array = cuarray.as_cuda_array(foreign(memory, stream=foreign_stream.handle), sync=False)
        assert array.__cuda_array_interface__["stream"] == foreign_stream.handle
        driver_probe.fill(array.ptr, 7, 4, foreign_stream.handle)
        driver_probe.call("cuStreamEndCapture", stream, ctypes.byref(graph))
        driver_probe.call("cuGraphDestroy", graph)
    assert memory.copy_to_host().tolist() == [0] * 4


def test_borrow_within_one_capture_becomes_graph_edges(
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
        assert memory.copy_to_host().tolist() == [0] * 4, "captured work must not run before the launch"
        capture.launch()
    assert memory.copy_to_host().tolist() == [NEW + 2, *[NEW + 1] * 3]


REFUSED: dict[str, Callable[[Any, Any, int], object]] = {
    "borrow": lambda memory, stream, there: cuarray.borrow(foreign(memory, stream=stream.handle), there).__enter__(),
    "import": lambda memory, stream, there: cuarray.as_cuda_array(foreign(memory, stream=stream.handle)),
    "record_stream": lambda memory, stream, there: memory.bind(there).record_stream(stream),
    "copy": lambda memory, stream, there: memory.bind(stream).copy_to_host(),
    "copy in another stream": lambda memory, stream, there: memory.bind(stream).copy_to_device(
        memory.bind(there), stream=there
    ),
}


@pytest.mark.parametrize("operation", list(REFUSED))
def test_operation_between_capturing_stream_and_another_is_refused(
    foreign_stream: ForeignStream, other: ForeignStream, capturing: Any, operation: str
) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    with capturing(foreign_stream.handle):
        with pytest.raises(BufferError, match="is capturing a graph"):
            REFUSED[operation](memory, foreign_stream, other.handle)
    assert memory.copy_to_host().tolist() == [0] * 4


def test_borrow_into_capturing_stream_is_refused_if_it_needs_ordering(
    foreign_stream: ForeignStream, other: ForeignStream, capturing: Any
) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    with capturing(foreign_stream.handle):
        with pytest.raises(BufferError, match="is capturing a graph"):
            cuarray.borrow(foreign(memory, stream=other.handle), foreign_stream).__enter__()
        # An array without a stream needs no ordering.
        with cuarray.borrow(foreign(memory), foreign_stream) as array:
            driver_probe.fill(array.ptr, NEW, 4, foreign_stream.handle)


def test_borrow_in_capture_of_array_with_pending_work_is_refused(
    foreign_stream: ForeignStream, other: ForeignStream, capturing: Any
) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    with driver_probe.held(other.handle) as hold:
        driver_probe.fill(memory.ptr, NEW, 4, other.handle)
        memory.record_stream(other)
        with capturing(foreign_stream.handle):
            with pytest.raises(BufferError, match="not done"):
                cuarray.borrow(memory, foreign_stream).__enter__()
        hold.release()
    driver_probe.synchronize(other.handle)
    with capturing(foreign_stream.handle), cuarray.borrow(memory, foreign_stream):
        pass


def test_legacy_stream_is_refused_while_a_blocking_stream_captures(driver: str, capturing: Any) -> None:
    memory, blocking = cuarray.to_device(np.zeros(4, np.uint8)), cuarray.stream()
    with capturing(blocking.handle):
        for use in (
            lambda: cuarray.as_cuda_array(foreign(memory, stream=1)),
            lambda: cuarray.borrow(foreign(memory, stream=1), cuarray.stream()).__enter__(),
            lambda: memory.copy_to_host(),
        ):
            with pytest.raises(BufferError, match="the legacy default stream cannot be used"):
                use()


def test_import_and_borrow_with_sync_false_are_allowed_in_capture(
    foreign_stream: ForeignStream, other: ForeignStream, capturing: Any
) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    with capturing(foreign_stream.handle):
        cuarray.as_cuda_array(foreign(memory, stream=foreign_stream.handle), sync=False)
        with cuarray.borrow(foreign(memory, stream=foreign_stream.handle), other, sync=False):
            pass


def test_borrow_ends_although_capture_refuses_its_backward_edge(
    foreign_stream: ForeignStream, other: ForeignStream, capturing: Any
) -> None:
    memory = cuarray.to_device(np.zeros(4, np.uint8))
    borrow = cuarray.borrow(foreign(memory, stream=foreign_stream.handle), other)
    array = borrow.__enter__()
    with capturing(foreign_stream.handle):
        with pytest.raises(BufferError, match="is capturing a graph"):
            borrow.__exit__(None, None, None)
    with pytest.raises(BufferError, match="borrow has ended"):
        assert array.ptr


def test_release_of_memory_during_capture_leaves_the_capture_valid(
    foreign_stream: ForeignStream, capturing: Any
) -> None:
    """A free during a capture is forbidden and invalidates the capture."""
    memory = cuarray.to_device(np.zeros(4, np.uint8), stream=cuarray.stream())
    # The end of the capture fails if the capture is invalid.
    with capturing(foreign_stream.handle):
        del memory
        cuarray.reclaim(wait=False)
    cuarray.reclaim()


def to_other_array(array: cuarray.DeviceArray, other: Any, stream: ForeignStream) -> None:
    array.copy_to_device(other, stream=stream)


def to_host(array: cuarray.DeviceArray, other: Any, stream: ForeignStream) -> None:
    array.copy_to_host(other, stream=stream)


def assigned(array: cuarray.DeviceArray, other: Any, stream: ForeignStream) -> None:
    array.setitem(slice(None), other, stream=stream)


@pytest.mark.parametrize(
    ("copy", "make"),
    [
        (to_other_array, lambda: cuarray.to_device(np.full(4, NEW, np.uint8))),
        (to_other_array, lambda: cuarray.pinned_array(4, np.uint8)),
        (to_host, lambda: cuarray.pinned_array(4, np.uint8)),
        (assigned, lambda: cuarray.to_device(np.full(4, NEW, np.uint8))),
    ],
    ids=["device to device", "host to device", "device to host", "assignment"],
)
def test_graph_keeps_arrays_of_captured_copy(
    foreign_stream: ForeignStream, capturing: Any, copy: Callable[..., None], make: Callable[[], Any]
) -> None:
    array, other = cuarray.to_device(np.zeros(4, np.uint8)), make()
    # The owner of a NumPy array over page-locked memory is in the chain of its bases.
    owners = [weakref.ref(array.owner), weakref.ref(other.owner if hasattr(other, "owner") else other)]
    with capturing(foreign_stream.handle) as capture:
        copy(array, other, foreign_stream)
        capture.end()
        del array, other
        gc.collect()
        assert all(owner() is not None for owner in owners)
        capture.launch()
    cuarray.reclaim()
    gc.collect()
    assert all(owner() is None for owner in owners)
