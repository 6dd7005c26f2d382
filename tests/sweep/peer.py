"""Another library, as far as an exchange needs one: memory, streams, and work that is ordered by nobody but it.

It speaks to the driver directly, and does its own half of every exchange right. What orders its work against cuarray's is
then cuarray's alone to do, and is missed when it is left out.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from ctypes import byref, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
from typing import Any

import driver_probe

__all__ = ["KINDS", "SIZE", "Array", "Peer", "Stream"]

#: Every kind of stream there is.
KINDS = ("legacy", "per-thread", "blocking", "non-blocking")
#: Bytes of every array, unless a scenario wants another size.
SIZE = 1024


class Stream:
    """A stream of the other library's."""

    def __init__(self, handle: int, device: int = 0) -> None:
        self.handle, self.device = handle, device

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)


class Array:
    """Memory of the other library's, with the interface of ``SIZE`` bytes or whatever it is given."""

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
    """The other library in one run of a scenario; all that it made is released at the end."""

    def __init__(self) -> None:
        self._streams: list[Stream] = []
        self._events: list[tuple[int, int]] = []
        self._memory: list[tuple[int, int]] = []
        self._kept: list[Any] = []

    def keep(self, *objects: Any) -> None:
        """Keep objects until the scenario is over: their release is no part of it."""
        self._kept.extend(objects)

    def stream(self, kind: str = "non-blocking", device: int = 0) -> Stream:
        """A stream of one of the :data:`KINDS`."""
        if kind in ("legacy", "per-thread"):
            return Stream(1 if kind == "legacy" else 2, device)
        handle, flags = c_void_p(), driver_probe.CU_STREAM_NON_BLOCKING if kind == "non-blocking" else 0
        with driver_probe.primary_context(device):
            driver_probe.call("cuStreamCreate", byref(handle), c_uint(flags))
        assert handle.value is not None
        self._streams.append(Stream(handle.value, device))
        return self._streams[-1]

    def memory(self, size: int = SIZE, device: int = 0) -> int:
        """Memory that nothing has been written to yet."""
        pointer = c_uint64()
        with driver_probe.primary_context(device):
            driver_probe.call("cuMemAlloc_v2", byref(pointer), c_size_t(size))
        self._memory.append((pointer.value, device))
        return pointer.value

    def array(self, stream: Stream | None = None, **entries: Any) -> Array:
        """A new array whose work is in ``stream``: so far a write."""
        array = Array(self.memory(device=stream.device if stream else 0), stream, **entries)
        self.write(array, stream or Stream(1))
        if stream is None:
            self.synchronize(Stream(1))
        return array

    def write(self, array: Any, stream: Any, size: int | None = None) -> None:
        """Enqueue work that writes an array: anything with ``ptr`` and ``nbytes``."""
        size = array.nbytes if size is None else size
        with _context_of(stream):
            driver_probe.call("cuMemsetD8Async", c_uint64(array.ptr), c_ubyte(1), c_size_t(size), _handle(stream))

    def read(self, array: Any, stream: Any) -> None:
        """Enqueue work that reads an array."""
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
        """Let what is enqueued in ``then`` wait for what is in ``first``: the other library's own doing."""
        event = c_void_p()
        with _context_of(first):
            driver_probe.call("cuEventCreate", byref(event), c_uint(2))
            driver_probe.call("cuEventRecord", event, _handle(first))
        assert event.value is not None
        self._events.append((event.value, getattr(first, "device", 0)))
        with _context_of(then):
            driver_probe.call("cuStreamWaitEvent", _handle(then), event, c_uint(0))

    def consume(self, array: Any, device: int = 0) -> None:
        """Take an array as a consumer should: write in a stream of its own, between the exported one's work and its next."""
        interface = array.__cuda_array_interface__
        stream, exported = self.stream(device=device), interface["stream"]
        if exported is not None:
            self.order(Stream(exported, device), stream)
        taken = Array(interface["data"][0], None)
        taken.nbytes = array.nbytes
        self.write(taken, stream)
        if exported is not None:
            self.order(stream, Stream(exported, device))
        else:
            self.synchronize(stream)

    @contextlib.contextmanager
    def captured(self, *streams: Stream) -> Iterator[None]:
        """What is enqueued in the streams meanwhile becomes a graph, which then runs in another stream."""
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
            # Also where it has failed: a capture that nobody ends would be in the way of all that follows.
            with driver_probe.primary_context():
                ended = driver_probe.library().cuStreamEndCapture(_handle(first), byref(graph))
        assert ended == driver_probe.CUDA_SUCCESS, f"cuStreamEndCapture answered {ended}"
        with driver_probe.primary_context():
            driver_probe.call("cuGraphInstantiateWithFlags", byref(executable), graph, c_uint64(0))
            driver_probe.call("cuGraphLaunch", executable, _handle(runs_in))
            driver_probe.call("cuStreamSynchronize", _handle(runs_in))
            driver_probe.call("cuGraphExecDestroy", executable)
            driver_probe.call("cuGraphDestroy", graph)

    def synchronize(self, stream: Any) -> None:
        """Wait for a stream: the other library's own doing."""
        with _context_of(stream):
            driver_probe.call("cuStreamSynchronize", _handle(stream))

    def destroy(self, stream: Stream) -> None:
        """End a stream whose work may still be pending."""
        self._streams.remove(stream)
        with _context_of(stream):
            driver_probe.call("cuStreamDestroy_v2", _handle(stream))

    def close(self) -> None:
        """Wait for everything, and release what was made."""
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
