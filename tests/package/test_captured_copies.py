"""Copies in a stream that is capturing: the graph makes them at each launch, and the host does nothing at once."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import driver_probe
import numpy as np
import pytest

import cuarray

RELAXED = 2
#: A column of a wide array, copied element by element: as one box of rows, or many boxes, or its whole extent.
LAYOUTS = [np.s_[:], np.s_[::2], np.s_[:, ::3], np.s_[::-1], np.s_[::2, ::-3]]


class Graph:
    """A capture in `stream`, and the graph that it gives."""

    def __init__(self, stream: cuarray.Stream) -> None:
        self.stream = ctypes.c_void_p(stream.handle)
        self.program = ctypes.c_void_p()
        with driver_probe.primary_context():
            driver_probe.call("cuStreamBeginCapture_v2", self.stream, ctypes.c_int(RELAXED))

    def end(self) -> None:
        graph = ctypes.c_void_p()
        with driver_probe.primary_context():
            driver_probe.call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
            driver_probe.call("cuGraphInstantiateWithFlags", ctypes.byref(self.program), graph, ctypes.c_ulonglong(0))
            driver_probe.call("cuGraphDestroy", graph)

    def launch(self) -> None:
        with driver_probe.primary_context():
            driver_probe.call("cuGraphLaunch", self.program, self.stream)
            driver_probe.synchronize(self.stream.value or 0)

    def destroy(self) -> None:
        with driver_probe.primary_context():
            driver_probe.call("cuGraphExecDestroy", self.program)


@pytest.fixture
def stream() -> cuarray.Stream:
    return cuarray.stream()


@pytest.fixture
def graph(stream: cuarray.Stream) -> Iterator[Graph]:
    graph = Graph(stream)
    yield graph
    if graph.program:
        graph.destroy()
    else:
        graph.end()
        graph.destroy()


@pytest.fixture
def array() -> cuarray.DeviceArray:
    return cuarray.to_device(np.arange(60 * 40, dtype="i4").reshape(60, 40))


@pytest.fixture
def managed() -> tuple[cuarray.DeviceArray, Any]:
    """A managed array, and the host's view of it."""
    array = cuarray.managed_array(16, "i4")
    return array, array.host_view()


@pytest.fixture
def masked() -> np.ma.MaskedArray[Any, Any]:
    return np.ma.MaskedArray(np.arange(6, dtype="i4"), mask=[0, 1, 0, 0, 1, 0])


@pytest.fixture
def masked_array(masked: np.ma.MaskedArray[Any, Any]) -> cuarray.DeviceArray:
    return cuarray.to_device(masked)


@pytest.mark.parametrize("key", LAYOUTS, ids=str)
@pytest.mark.parametrize("given", [False, True], ids=["new", "given"])
def test_captured_download_fills_the_host_array_at_each_launch(
    array: cuarray.DeviceArray, stream: cuarray.Stream, graph: Graph, key: tuple[slice, ...], given: bool
) -> None:
    view = array[key]
    expected = np.arange(60 * 40, dtype="i4").reshape(60, 40)[key]
    target = np.full(view.shape, -7, "i4") if given else None
    host = view.copy_to_host(target, stream=stream)
    assert target is None or host is target
    before = host.copy()
    graph.end()
    np.testing.assert_array_equal(host, before)
    graph.launch()
    np.testing.assert_array_equal(host, expected)
    array.copy_to_device(np.full(array.shape, 9, "i4"))
    graph.launch()
    assert np.unique(host).tolist() == [9]


@pytest.mark.parametrize("key", LAYOUTS, ids=str)
def test_captured_upload_reads_the_host_array_at_each_launch(
    array: cuarray.DeviceArray, stream: cuarray.Stream, graph: Graph, key: tuple[slice, ...]
) -> None:
    source = np.arange(60 * 40, dtype="i4").reshape(60, 40)[key]
    target = cuarray.device_array(source.shape, "i4")
    target.copy_to_device(source, stream=stream)
    graph.end()
    for value in (3, 4):
        source[...] = value
        graph.launch()
        assert np.unique(target.copy_to_host()).tolist() == [value]


def test_captured_upload_to_new_strided_array_reads_the_host_array_at_each_launch(
    stream: cuarray.Stream, graph: Graph
) -> None:
    source = np.arange(600, dtype="i4").reshape(20, 30)[::2, ::-3]
    target = cuarray.to_device(source, stream=stream)
    graph.end()
    for value in (3, 4):
        source[...] = value
        graph.launch()
        assert np.unique(target.copy_to_host()).tolist() == [value]


def test_captured_download_of_masked_array_is_refused(
    masked: np.ma.MaskedArray[Any, Any], masked_array: cuarray.DeviceArray, stream: cuarray.Stream, graph: Graph
) -> None:
    for target in (None, np.ma.MaskedArray(np.zeros(6, "i4"))):
        with pytest.raises(BufferError, match="capturing, because the host converts its mask; copy its `data`"):
            masked_array.copy_to_host(target, stream=stream)
    host = masked_array.data.copy_to_host(stream=stream)
    graph.end()
    graph.launch()
    np.testing.assert_array_equal(host, masked.data)


def test_captured_filled_is_refused(masked_array: cuarray.DeviceArray, stream: cuarray.Stream, graph: Graph) -> None:
    with pytest.raises(BufferError, match="cannot fill an array in a stream that is capturing"):
        masked_array.filled(0, stream=stream)
    graph.end()
    assert masked_array.filled(0).copy_to_host().tolist() == [0, 0, 2, 3, 0, 5]


def test_captured_copy_between_views_of_the_same_managed_memory_is_refused(
    managed: tuple[cuarray.DeviceArray, Any], stream: cuarray.Stream, graph: Graph
) -> None:
    array, host = managed
    for copy in (lambda: array[1:].copy_to_host(host[:-1], stream=stream), lambda: array.copy_to_device(host, stream)):
        with pytest.raises(BufferError, match="over the same memory in a stream that is capturing"):
            copy()
    graph.end()


@pytest.mark.parametrize(
    "use",
    [
        lambda array, stream: array.getitem((1, 2), stream=stream),
        lambda array, stream: array.bind(stream).copy_to_host(),
        lambda array, stream: array.bind(stream)[0, 0],
        lambda array, stream: np.asarray(array.bind(stream)),
        lambda array, stream: cuarray.from_dlpack(np.arange(3), stream=stream, copy=True),
    ],
    ids=["getitem", "copy_to_host", "index", "numpy", "from_dlpack"],
)
def test_operation_that_needs_values_now_is_refused_and_the_capture_goes_on(
    array: cuarray.DeviceArray, stream: cuarray.Stream, graph: Graph, use: Any
) -> None:
    with pytest.raises((BufferError, cuarray.CudaError), match="captur"):
        use(array, stream)
    graph.end()
