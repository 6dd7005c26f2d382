"""The kit's own side of an exchange: memory, streams, arrays of no library, and a consumer that follows the text.

Reproductions of failed checks import this module too.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from cuarray.check.adapter import handle_of
from cuarray.check.driver import DriverError, call, context, device_count, is_simulated

__all__ = [
    "KINDS",
    "DriverError",
    "Foreign",
    "Memory",
    "Pinned",
    "Stream",
    "Subtuple",
    "bytes_at",
    "capture",
    "extent",
    "fill",
    "foreign",
    "gather",
    "hold",
    "memory",
    "pattern",
    "read_by_the_text",
    "second_device",
    "stream",
    "tensor",
    "upload",
    "values",
    "write_bytes",
]

#: How long a held stream is busy, on a GPU.
_BUSY_MICROSECONDS = 300_000

#: The kinds of memory that a device can use, and their numbers in DLPack.
KINDS = {"device": 2, "pinned": 3, "managed": 13}

_kept: list[Any] = []


class Stream:
    """A stream of the kit, which does not wait for the legacy default stream; destroyed with the object."""

    def __init__(self) -> None:
        handle = ctypes.c_void_p()
        with context():
            call("cuStreamCreate", ctypes.byref(handle), ctypes.c_uint(1))
        self.handle = handle.value or 0

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)

    def synchronize(self) -> None:
        """Wait for all work in the stream."""
        _synchronize(self.handle)

    def __del__(self) -> None:
        with contextlib.suppress(Exception), context():
            call("cuStreamDestroy_v2", ctypes.c_void_p(self.handle))

    def __repr__(self) -> str:
        return f"<stream {self.handle:#x} of the kit>"


class Memory:
    """Memory of the kit, of a kind of :data:`KINDS`; released with the object, or in the order of the stream ``freed_in``."""

    def __init__(self, nbytes: int, device: int = 0, kind: str = "device", freed_in: Any = None) -> None:
        pointer = ctypes.c_uint64()
        self.nbytes, self.device, self.kind, self.freed_in = nbytes, device, kind, freed_in
        size, out = ctypes.c_size_t(max(nbytes, 1)), ctypes.byref(pointer)
        with context(device):
            if kind == "managed":
                call("cuMemAllocManaged", out, size, ctypes.c_uint(1))
            elif kind == "pinned":
                # Portable, and mapped into the address space of each device.
                call("cuMemHostAlloc", out, size, ctypes.c_uint(3))
            elif freed_in is not None:
                call("cuMemAllocAsync", out, size, ctypes.c_void_p(handle_of(freed_in)))
                _synchronize(handle_of(freed_in))
            else:
                call("cuMemAlloc_v2", out, size)
        self.pointer = pointer.value

    @property
    def dlpack_device(self) -> tuple[int, int]:
        """The kind of memory and the device, by the numbers of DLPack. Pinned memory belongs to no device, so it has the number 0."""
        return (KINDS[self.kind], 0 if self.kind == "pinned" else self.device)

    def set(self, data: bytes) -> Memory:
        """Write bytes from the beginning, and wait."""
        if self.kind == "pinned":
            ctypes.memmove(self.pointer, data, len(data))
        else:
            write_bytes(self.pointer, data, self.device)
        return self

    def get(self) -> bytes:
        """Return all bytes."""
        return bytes_at(self.pointer, self.nbytes)

    def __del__(self) -> None:
        pointer = ctypes.c_uint64(self.pointer)
        with contextlib.suppress(Exception), context(self.device):
            if self.freed_in is not None:
                call("cuMemFreeAsync", pointer, ctypes.c_void_p(handle_of(self.freed_in)))
            else:
                # The driver waits for pending work before it frees device memory.
                call("cuMemFreeHost" if self.kind == "pinned" else "cuMemFree_v2", pointer)


class Pinned:
    """Page-locked host memory, a buffer of bytes; released with the object."""

    def __init__(self, data: bytes) -> None:
        pointer = ctypes.c_void_p()
        with context():
            call("cuMemHostAlloc", ctypes.byref(pointer), ctypes.c_size_t(max(len(data), 1)), ctypes.c_uint(1))
        self.bytes = (ctypes.c_ubyte * len(data)).from_address(pointer.value or 0)
        ctypes.memmove(self.bytes, data, len(data))
        self._pointer = pointer

    def __del__(self) -> None:
        with contextlib.suppress(Exception), context():
            call("cuMemFreeHost", self._pointer)


class Foreign:
    """An array of no library: an object with the given dictionary, which keeps ``owner`` alive."""

    def __init__(self, entries: Any, owner: object = None) -> None:
        self.__cuda_array_interface__ = entries
        self.owner = owner


class Subtuple(tuple[Any, ...]):
    """A subclass of tuple; some libraries read tuple itself only."""


def stream() -> Stream:
    """Make a stream. It lives until the process ends."""
    made = Stream()
    _kept.append(made)
    return made


def memory(data: bytes, device: int = 0, kind: str = "device", freed_in: Any = None) -> Memory:
    """Return memory with these bytes."""
    return Memory(len(data), device, kind, freed_in).set(data)


def values(data: bytes) -> memoryview:
    """Return the bytes in page-locked memory, which lives until the process ends; an asynchronous copy from it stays pending."""
    made = Pinned(data)
    _kept.append(made)
    return memoryview(made.bytes).cast("B")


def pattern(nbytes: int, seed: int = 1) -> bytes:
    """Return bytes that differ from their neighbours and between seeds; each byte is at most 99, so elements are small numbers."""
    return bytes((index * 7 + seed * 31) % 100 for index in range(nbytes))


def foreign(
    owner: Memory, shape: Any, typestr: Any, /, *, offset: int = 0, without: str | None = None, **entries: Any
) -> Foreign:
    """Return an array over memory of the kit.

    ``entries`` replace or add entries of the dictionary, and ``without`` leaves one out. A stream may be an object.
    """
    if hasattr(entries.get("stream"), "__cuda_stream__"):
        entries["stream"] = handle_of(entries["stream"])
    described = {"shape": shape, "typestr": typestr, "data": (owner.pointer + offset, False), "version": 3, **entries}
    if without is not None:
        del described[without]
    return Foreign(described, owner)


def address(array: Any) -> int:
    """Return the address of memory, or of an array's first element."""
    if isinstance(array, int):
        return array
    if isinstance(array, Memory):
        return array.pointer
    entries = array if isinstance(array, dict) else array.__cuda_array_interface__
    return int(entries["data"][0])


def fill(array: Any, byte: int, nbytes: int, on: Any) -> None:
    """Enqueue a fill of memory in a stream."""
    with context():
        call(
            "cuMemsetD8Async",
            ctypes.c_uint64(address(array)),
            ctypes.c_ubyte(byte),
            ctypes.c_size_t(nbytes),
            ctypes.c_void_p(handle_of(on)),
        )


def hold(on: Any) -> None:
    """Keep a stream busy, so that work behind it stays pending; the simulated driver needs no delay."""
    if is_simulated():
        return
    function, time = _sleep()
    with context():
        call("cuLaunchHostFunc", ctypes.c_void_p(handle_of(on)), function, ctypes.c_void_p(time))


def _sleep() -> tuple[ctypes.c_void_p, int]:
    """Return the system's function that sleeps, and its argument."""
    if sys.platform == "win32":
        return ctypes.cast(ctypes.WinDLL("kernel32").Sleep, ctypes.c_void_p), _BUSY_MICROSECONDS // 1000
    return ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p), _BUSY_MICROSECONDS


def wait(waiting: Any, awaited: Any) -> None:
    """Make a stream wait for the work in another one, by an event."""
    event = ctypes.c_void_p()
    with context():
        call("cuEventCreate", ctypes.byref(event), ctypes.c_uint(2))
        call("cuEventRecord", event, ctypes.c_void_p(handle_of(awaited)))
        call("cuStreamWaitEvent", ctypes.c_void_p(handle_of(waiting)), event, ctypes.c_uint(0))
        call("cuEventDestroy_v2", event)


def upload(pointer: int, data: Any, on: Any) -> None:
    """Enqueue a copy of a buffer of page-locked bytes to device memory in a stream; both must live until it is done."""
    source = (ctypes.c_ubyte * len(data)).from_buffer(data)
    with context():
        call(
            "cuMemcpyHtoDAsync_v2",
            ctypes.c_uint64(pointer),
            ctypes.cast(source, ctypes.c_void_p),
            ctypes.c_size_t(len(data)),
            ctypes.c_void_p(handle_of(on)),
        )


def write_bytes(array: Any, data: bytes, device: int = 0) -> None:
    """Write bytes from an array's first element on, and wait."""
    if data:
        with context(device):
            call("cuMemcpyHtoD_v2", ctypes.c_uint64(address(array)), data, ctypes.c_size_t(len(data)))


def bytes_at(pointer: int, nbytes: int, on: Any = None) -> bytes:
    """Return bytes of device memory, copied in a separate stream that waits for no other work."""
    if nbytes == 0:
        return b""
    host = Pinned(bytes(nbytes))
    own = Stream() if on is None else None
    on = own or on
    with context():
        call(
            "cuMemcpyDtoHAsync_v2",
            ctypes.cast(host.bytes, ctypes.c_void_p),
            ctypes.c_uint64(pointer),
            ctypes.c_size_t(nbytes),
            ctypes.c_void_p(handle_of(on)),
        )
    _synchronize(handle_of(on))
    return bytes(host.bytes)


def read_by_the_text(obj: Any) -> bytes:
    """Return an array's elements in C order, as a consumer that follows the text: it waits for the exported stream only."""
    entries = obj if isinstance(obj, dict) else obj.__cuda_array_interface__
    own = Stream()
    exported = entries.get("stream")
    if exported is not None and entries.get("version", 3) >= 3:
        wait(own, exported)
    shape, itemsize = tuple(entries["shape"]), size_of(entries["typestr"])
    return gather(entries["data"][0], shape, entries.get("strides"), itemsize, own)


def gather(array: Any, shape: Sequence[int], strides: Sequence[int] | None, itemsize: int, on: Any = None) -> bytes:
    """Return the elements of a layout in C order, copied in the stream ``on``; without it no other work is waited for."""
    if math.prod(shape) == 0:
        return b""
    steps = tuple(strides) if strides is not None else contiguous(shape, itemsize)
    first, end = extent(shape, steps, itemsize)
    span = bytes_at(address(array) + first, end - first, on)
    return b"".join(span[at - first : at - first + itemsize] for at in offsets(shape, steps))


def offsets(shape: Sequence[int], strides: Sequence[int]) -> Iterator[int]:
    """Yield the offset of each element from the first one, in C order."""
    for index in itertools.product(*(range(length) for length in shape)):
        yield sum(step * at for step, at in zip(strides, index, strict=True))


def extent(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> tuple[int, int]:
    """Return the offsets of a layout's first byte and of the byte after its last one, from the first element."""
    if math.prod(shape) == 0:
        return (0, 0)
    reach = [step * (length - 1) for length, step in zip(shape, strides, strict=True)]
    return (sum(min(each, 0) for each in reach), sum(max(each, 0) for each in reach) + itemsize)


def contiguous(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the strides of a C-contiguous layout."""
    steps, step = [], itemsize
    for length in reversed(shape):
        steps.append(step)
        step *= max(length, 1)
    return tuple(reversed(steps))


def size_of(typestr: str) -> int:
    """Return the bytes of an element.

    :raises ValueError: the type string is wrong.
    """
    if not (isinstance(typestr, str) and typestr[:1] in ("<", ">", "|") and typestr[2:3].isdigit()):
        raise ValueError(f"typestr {typestr!r} is no byte order, kind and size, so the elements cannot be read")
    digits = "".join(itertools.takewhile(str.isdigit, typestr[2:]))
    return int(digits) * (4 if typestr[1] == "U" else 1)


def tensor(owner: Memory, shape: Sequence[int], typestr: str = "<f4", **fields: Any) -> Any:
    """Return an array of no library with ``__dlpack__``; :class:`cuarray.check.tensors.TensorArray` lists the fields."""
    from cuarray.check.tensors import TensorArray

    return TensorArray(owner, shape, typestr, **fields)


def second_device() -> int | None:
    """Return the number of a second device, if there is one."""
    return 1 if device_count() > 1 else None


@contextlib.contextmanager
def capture(on: Any) -> Iterator[None]:
    """Capture a graph in a stream for the block, and drop the graph.

    :raises DriverError: the capture was invalidated.
    """
    graph = ctypes.c_void_p()
    with context():
        call("cuStreamBeginCapture_v2", ctypes.c_void_p(handle_of(on)), ctypes.c_int(2))
    yield
    with context():
        call("cuStreamEndCapture", ctypes.c_void_p(handle_of(on)), ctypes.byref(graph))
        call("cuGraphDestroy", graph)


def _synchronize(handle: int) -> None:
    with context():
        call("cuStreamSynchronize", ctypes.c_void_p(handle))
