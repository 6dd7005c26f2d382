"""The interface between the demo and a library: make arrays, import those of other libraries, and read their elements.

Each side of an exchange reads and writes with its own functions. So agreement on an array's elements is the agreement of two
independent implementations."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Described:
    """Memory of a library without `__cuda_array_interface__`: the dictionary that a user writes, and the owner."""

    interface: dict[str, Any]
    owner: object


class Array(ABC):
    """An array of a library; it alone keeps the library's object `held` alive."""

    held: object

    @property
    @abstractmethod
    def address(self):
        """The address of the first element."""

    @property
    @abstractmethod
    def shape(self): ...

    @property
    @abstractmethod
    def strides(self):
        """The byte strides, also of a contiguous array."""

    @property
    @abstractmethod
    def dtype(self): ...

    @abstractmethod
    def offer(self):
        """The object for consumers: one with `__cuda_array_interface__`, or `Described`."""

    @abstractmethod
    def read(self, stream=None):
        """Return a host copy made by the library; with `stream`, in that stream without other synchronization."""

    @abstractmethod
    def write(self, values):
        """Write every element and wait for completion."""

    @abstractmethod
    def stage(self, values):
        """Copy values into other device memory, for `write_later`, and wait for completion."""

    @abstractmethod
    def write_later(self, staged, stream):
        """Enqueue a write of every element of a contiguous array in `stream`."""


class HeldArray(Array):
    """An array of a library with NumPy-like attributes and the interface."""

    def __init__(self, held):
        self.held = held

    @property
    def shape(self):
        return self.held.shape

    @property
    def strides(self):
        return self.held.strides

    @property
    def dtype(self):
        return self.held.dtype

    def offer(self):
        return self.held


class Library(ABC):
    """A library: cuarray or a peer."""

    name: ClassVar[str]
    version: str
    refuses: ClassVar[dict[str, type[Exception]]] = {}
    """The layouts that the library is known not to read, and what it then raises. Anything else that it raises is a failure."""
    lacks: ClassVar[set[str]] = set()
    """The layouts that its arrays cannot have; making or importing one raises `Refused`."""
    lacks_streams: ClassVar[str] = ""
    """Why an exchange by the interface is not ordered after pending work, if the library has no streams there."""
    elides_wait: ClassVar[str] = ""
    """How a user tells the library to ignore an array's stream."""

    @abstractmethod
    def make(self, case, stream=None) -> Array:
        """Make an array of this library with the case's values; its interface names `stream`."""

    @abstractmethod
    def take(self, offered, stream=None, ordered=True) -> Array:
        """Import the array of another library without a copy, for work in `stream`.

        With `ordered=False` the import ignores the stream that the array names.
        """

    @abstractmethod
    def importer(self, offered):
        """Return the function with which a user imports `offered`, to measure its time."""

    @abstractmethod
    def stream(self):
        """Make a stream with this library."""

    @abstractmethod
    def occupy(self, stream, nbytes, times):
        """Enqueue copies of `nbytes` in `stream`; return the objects that must live until they are done."""

    def reclaim(self):  # noqa: B027 - most libraries defer no release
        """Run the library's deferred releases."""
