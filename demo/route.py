"""Libraries, used by their adapters of the conformance kit, and the routes of arrays between them.

Each side of an exchange reads and writes with its own functions. So agreement on an array's elements is the agreement of two
independent implementations."""

import contextlib
from dataclasses import dataclass

import numpy as np
from cases import SMALL

import cuarray
from cuarray.check import NotClaimed, parts
from cuarray.check.adapter import Adapter, known_reason
from cuarray.check.cases import layout_part


def current(stream):
    """Make a stream the current one of its library, if it is a library with a current stream."""
    return stream if hasattr(stream, "__enter__") else contextlib.nullcontext()


class Described:
    """An array as an object of no library: with the stream that is current at the export, and with replaced entries."""

    def __init__(self, array, in_stream=None, /, **replaced):
        self._array, self._in_stream, self._replaced = array, in_stream, replaced

    @property
    def __cuda_array_interface__(self):
        with current(self._in_stream):
            return {**self._array.__cuda_array_interface__, **self._replaced}


class Array:
    """An array of a library; it alone keeps the library's object `held` alive."""

    def __init__(self, library, held, case, stream=None):
        self.library, self.held, self.case, self._stream = library, held, case, stream

    @property
    def address(self):
        """The address of the first element."""
        return self.library.call("pointer", self.held)

    @property
    def layout(self):
        """The shape, the strides in bytes, and the type."""
        entries = getattr(self.held, "__cuda_array_interface__", None)
        if entries is None:
            # A view of cuda.core, which counts strides in elements.
            shape, strides, dtype = tuple(self.held.shape), self.held.strides, self.held.dtype
            strides = strides and tuple(step * dtype.itemsize for step in strides)
        else:
            shape, strides, dtype = entries["shape"], entries.get("strides"), np.dtype(entries["typestr"])
        return shape, parts.contiguous(shape, dtype.itemsize) if strides is None else strides, dtype

    def offer(self):
        """Return the object for consumers. Some libraries export the stream that is current at the export."""
        return Described(self.held, self._stream) if hasattr(self._stream, "__enter__") else self.held

    def read(self, stream=None):
        """Return a host copy made by the library; with `stream`, in that stream without other synchronization."""
        held = self.held
        if stream is not None and isinstance(held, cuarray.DeviceArray):
            # A copy is ordered after the array's home stream. To test whether the *import* has waited, the copy uses a
            # description of the same memory without a stream.
            held = cuarray.as_cuda_array(Described(held, stream=None))
        elements = self.library.call("read", held, stream=stream)
        return np.frombuffer(elements, self.case.dtype).reshape(self.case.shape)

    def write_later(self, values, stream=None):
        """Enqueue a write of every element; return the memory that must live until it is done."""
        data = parts.Pinned(values.tobytes())
        self.library.call("write", self.held, memoryview(data.bytes).cast("B"), stream=stream)
        return data

    def write(self, values):
        """Write every element and wait for completion."""
        data = self.write_later(values)
        # The read waits for the write.
        self.read()
        del data


class Library:
    """A library: cuarray or a peer."""

    def __init__(self, adapter):
        self.adapter, self.name, self.version = adapter, adapter.name, adapter.version

    def call(self, function, *arguments, **options):
        """Call a function of the adapter; the reason of a refusal names the library."""
        try:
            return self.adapter.function(function)(*arguments, **options)
        except NotClaimed as reason:
            raise NotClaimed(f"{self.name}: {reason}") from reason

    def lacks(self, case):
        """Return the reason why the library has no arrays of this layout, or None."""
        # The kit's layouts have elements of 4 bytes.
        part = layout_part(case.shape, tuple(4 * step // case.numpy_type.itemsize for step in case.strides))
        return self.adapter.not_claimed.get(part)

    def require(self, case):
        """Raise `NotClaimed` if the library has no arrays of this layout."""
        if reason := self.lacks(case):
            raise NotClaimed(f"{self.name}: {reason}")

    def make(self, case, stream=None):
        """Make an array of this library with the case's values; its interface names `stream`."""
        self.require(case)
        strides = None if case.layout == "C" else case.strides
        made = Array(
            self, self.call("make", case.shape, case.numpy_type.str, strides=strides, stream=stream), case, stream
        )
        made.write(case.values())
        return made

    def take(self, offered, case, stream=None, by="import_"):
        """Import the array of another library without a copy, for work in `stream`."""
        self.require(case)
        return Array(self, self.call(by, offered, stream=stream), case)

    def stream(self):
        """Make a stream with this library."""
        return self.call("new_stream")


def own():
    """Return cuarray as a library."""
    return Library(Adapter.load("cuarray"))


@dataclass(frozen=True)
class Route:
    """The route of an array: from its producer, directly or through cuarray, to its consumer."""

    producer: Library
    consumer: Library
    through_cuarray: bool = False

    @property
    def lacks_streams(self):
        """Why the route exchanges no pending work; empty if it does."""
        consumer, made = self.consumer, self.producer.make(SMALL)
        version = made.held.__cuda_array_interface__["version"]
        if version < 3:
            return f"{self.producer.name}: version {version} is exported, which has no stream"
        reason = known_reason(consumer.adapter.known, "S2.import-waits-for-the-exported-stream.handle")
        return f"{consumer.name}: {reason}" if reason else ""

    def __str__(self):
        between = ["cuarray"] if self.through_cuarray else []
        return " → ".join([self.producer.name, *between, self.consumer.name])

    def offer(self, made):
        """Return the object that the first library takes; a library would return its own array as it is."""
        offered = made.offer()
        return Described(offered) if self.producer is self.consumer else offered

    def take(self, made, stream=None, ordered=True, through_ordered=True):
        """Import `made` into the consumer; only the result keeps the arrays in between alive.

        With `ordered=False` the consumer sees no stream. With `through_ordered=False` cuarray does not wait.
        """
        offered = self.offer(made)
        if self.through_cuarray:
            offered = cuarray.as_cuda_array(offered, sync=through_ordered)
        return self.consumer.take(offered if ordered else Described(offered, stream=None), made.case, stream)
