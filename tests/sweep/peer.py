"""A stand-in for another library, with memory, streams and work that only it orders.

It calls the driver directly, and makes its own half of the ordering calls of each exchange. cuarray makes the other half, and the
sweep removes cuarray's calls in turn.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from ctypes import byref, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
from typing import Any

import driver_probe

__all__ = ["KINDS", "SIZE", "Array", "Peer", "Stream"]

#: All kinds of streams.
KINDS = ("legacy", "per-thread", "blocking", "non-blocking")
#: Default size of arrays in bytes.
SIZE = 1024


class Stream:
    """A stream of the other library."""

    def __init__(self, handle: int, device: int = 0) -> None:
        self.handle, self.device = handle, device

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)


class Array:
    """An array of the other library: by default ``SIZE`` bytes, with the given entries of the interface replaced."""

    def __init__(self, pointer: int, home: Stream | None, **entries: Any) -> None:
        self.ptr, self.nbytes = pointer, SIZE
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": (SIZE,),
            "typestr": "|u1",
            "data": (pointer, False),
            "version": 3,
            "stream": None if home is None else home.handle,
            **entries,
        }


class Peer:
    """The other library in one run of a scenario. Its resources are released at the end."""

    def __init__(self) -> None:
        self._streams: list[Stream] = []
        self._events: list[tuple[int, int]] = []
        self._memory: list[tuple[int, int]] = []
        self._kept: list[Any] = []

    def keep(self, *objects: Any) -> None:
        """Keep objects until the scenario is over, so that it does not include their release."""
        self._kept.extend(objects)

    def stream(self, kind: str = "non-blocking", device: int = 0) -> Stream:
        """Create a stream of one of the :data:`KINDS`."""
        if kind in ("legacy", "per-thread"):
            return Stream(1 if kind == "legacy" else 2, device)
        handle, flags = c_void_p(), driver_probe.CU_STREAM_NON_BLOCKING if kind == "non-blocking" else 0
        with driver_probe.primary_context(device):
            driver_probe.call("cuStreamCreate", byref(handle), c_uint(flags))
        assert handle.value is not None
        self._streams.append(Stream(handle.value, device))
        return self._streams[-1]

    def memory(self, size: int = SIZE, device: int = 0) -> int:
        """Allocate uninitialized memory."""
        pointer = c_uint64()
        with driver_probe.primary_context(device):
            driver_probe.call("cuMemAlloc_v2", byref(pointer), c_size_t(size))
        self._memory.append((pointer.value, device))
        return pointer.value

    def array(self, stream: Stream | None = None, **entries: Any) -> Array:
        """Create an array with a pending write in ``stream``. Without a stream, wait for the write."""
        array = Array(self.memory(device=stream.device if stream else 0), stream, **entries)
        self.write(array, stream or Stream(1))
        if stream is None:
            self.synchronize(Stream(1))
        return array

    def write(self, array: Any, stream: Any, size: int | None = None) -> None:
        """Enqueue a write to an array, which is any object with ``ptr`` and ``nbytes``."""
        size = array.nbytes if size is None else size
        with _context_of(stream):
            driver_probe.call("cuMemsetD8Async", c_uint64(array.ptr), c_ubyte(1), c_size_t(size), _handle(stream))

    def read(self, array: Any, stream: Any) -> None:
        """Enqueue a read of an array."""
        scratch = self.memory(array.nbytes, getattr(stream, "device", 0))
        with _context_of(stream):
            driver_probe.call(
                "cuMemcpyDtoDAsync_v2",
                c_uint64(scratch),
                c_uint64(array.ptr),
                c_size_t(array.nbytes),
                _handle(stream),
            )

    def order(self, first: Any, then: Any) -> None:
        """Make ``then`` wait for the work in ``first``, by calls of the other library."""
        event = c_void_p()
        with _context_of(first):
            driver_probe.call("cuEventCreate", byref(event), c_uint(2))
            driver_probe.call("cuEventRecord", event, _handle(first))
        assert event.value is not None
        self._events.append((event.value, getattr(first, "device", 0)))
        with _context_of(then):
            driver_probe.call("cuStreamWaitEvent", _handle(then), event, c_uint(0))

    def consume(self, array: Any, device: int = 0) -> None:
        """Write to an array in a new stream, ordered correctly with the exported stream on both sides."""
        interface = array.__cuda_array_interface__
        stream, exported = self.stream(device=device), interface["stream"]
        if exported is not None:
            self.order(Stream(exported, device), stream)
        imported = Array(interface["data"][0], None)
        imported.nbytes = array.nbytes
        self.write(imported, stream)
        if exported is not None:
            self.order(stream, Stream(exported, device))
        else:
            self.synchronize(stream)

    @contextlib.contextmanager
    def captured(self, *streams: Stream) -> Iterator[None]:
        """Capture work in the streams as a graph, and run the graph in another stream at the end."""
        graph, executable, runs_in = c_void_p(), c_void_p(), self.stream()
        first, *others = streams
        with driver_probe.primary_context():
            driver_probe.call("cuStreamBeginCapture_v2", _handle(first), c_uint(0))
        for other in others:
            self.order(first, other)
        try:
            yield
            for other in others:
                self.order(other, first)
        finally:
            # Also after an error, since an unfinished capture would disturb later scenarios.
            with driver_probe.primary_context():
                ended = driver_probe.library().cuStreamEndCapture(_handle(first), byref(graph))
        assert ended == driver_probe.CUDA_SUCCESS, f"cuStreamEndCapture returned {ended}"
        with driver_probe.primary_context():
            driver_probe.call("cuGraphInstantiateWithFlags", byref(executable), graph, c_uint64(0))
            driver_probe.call("cuGraphLaunch", executable, _handle(runs_in))
            driver_probe.call("cuStreamSynchronize", _handle(runs_in))
            driver_probe.call("cuGraphExecDestroy", executable)
            driver_probe.call("cuGraphDestroy", graph)

    def synchronize(self, stream: Any) -> None:
        """Wait for a stream, by a call of the other library."""
        with _context_of(stream):
            driver_probe.call("cuStreamSynchronize", _handle(stream))

    def destroy(self, stream: Stream) -> None:
        """Destroy a stream, which may have pending work."""
        self._streams.remove(stream)
        with _context_of(stream):
            driver_probe.call("cuStreamDestroy_v2", _handle(stream))

    def close(self) -> None:
        """Wait for all work and release all resources."""
        devices = {0} | {device for _, device in self._memory} | {stream.device for stream in self._streams}
        for device in devices:
            with driver_probe.primary_context(device):
                driver_probe.call("cuCtxSynchronize")
        self._kept.clear()
        for event, device in self._events:
            with driver_probe.primary_context(device):
                driver_probe.call("cuEventDestroy_v2", c_void_p(event))
        for stream in self._streams:
            with driver_probe.primary_context(stream.device):
                driver_probe.call("cuStreamDestroy_v2", c_void_p(stream.handle))
        for pointer, device in self._memory:
            with driver_probe.primary_context(device):
                driver_probe.call("cuMemFree_v2", c_uint64(pointer))


def _handle(stream: Any) -> ctypes.c_void_p:
    return c_void_p(stream.handle)


@contextlib.contextmanager
def _context_of(stream: Any) -> Iterator[None]:
    with driver_probe.primary_context(getattr(stream, "device", 0)):
        yield
