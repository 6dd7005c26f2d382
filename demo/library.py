"""What the demo asks of a library: to make arrays, to take those of others, and to say what it sees in them.

Each side of an exchange does its own reading and writing with its own functions. So when the two sides agree on what an
array holds, two independent implementations agree, and not one with itself.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Described:
    """Memory of a library that has no `__cuda_array_interface__`: the dictionary that a user writes, and the owner."""

    interface: dict[str, Any]
    owner: object


class Array(ABC):
    """An array as one library holds it; nothing else keeps the library's object `held` alive."""

    held: object

    @property
    @abstractmethod
    def address(self):
        """Of the first element."""

    @property
    @abstractmethod
    def shape(self): ...

    @property
    @abstractmethod
    def strides(self):
        """Bytes to step in each dimension, of a contiguous array too."""

    @property
    @abstractmethod
    def dtype(self): ...

    @abstractmethod
    def offer(self):
        """What a consumer is given: an object with `__cuda_array_interface__`, or `Described`."""

    @abstractmethod
    def read(self, stream=None):
        """A host copy, made by the library; with `stream`, in that stream of the library and ordered by nothing else."""

    @abstractmethod
    def write(self, values):
        """Writes every element and waits for it."""

    @abstractmethod
    def stage(self, values):
        """Puts values into other device memory, from where `write_later` takes them; waits for it."""

    @abstractmethod
    def write_later(self, staged, stream):
        """Enqueues the writing of every element of a contiguous array in `stream`, and does not wait."""


class HeldArray(Array):
    """An array whose library describes it as NumPy does, and offers the interface itself."""

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
    """One library: cuarray or a peer."""

    name: ClassVar[str]
    version: str
    refuses: ClassVar[dict[str, type[Exception]]] = {}
    """The layouts that the library is known not to read, and what it then raises. Anything else that it raises is a failure."""
    lacks: ClassVar[set[str]] = set()
    """The layouts of which it can have no arrays; making or taking one raises `Refused`."""
    elides_wait: ClassVar[str] = ""
    """How a user tells the library to ignore an array's stream."""

    @abstractmethod
    def make(self, case, stream=None) -> Array:
        """An array of the library's own, with the case's values in it; it names `stream` to its consumers."""

    @abstractmethod
    def take(self, offered, stream=None, ordered=True) -> Array:
        """The array that another library offers, without copying, for work in `stream`.

        With `ordered=False` the library is told to ignore the stream that the array names.
        """

    @abstractmethod
    def importer(self, offered):
        """The function that a user would call to import what is `offered`, alone: for taking its time."""

    @abstractmethod
    def stream(self):
        """A new stream, made by the library."""

    @abstractmethod
    def occupy(self, stream, nbytes, times):
        """Enqueues copies of `nbytes` in `stream`; returns what must live until they are done."""

    def reclaim(self):  # noqa: B027 - most libraries put nothing off
        """Frees what the library has put off freeing."""
