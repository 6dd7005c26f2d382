"""Arrays of no library: every awkward layout, each with its elements on the host."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cuarray.check import cases, parts
from cuarray.check.driver import call, context

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ARRAYS", "Array", "array", "of_layout"]

#: Bytes before the first and after the last element, and between elements.
_UNUSED = 0xA5
#: Bytes of the allocation before and after those of the array.
_MARGIN = 64


@dataclass(frozen=True)
class _Case:
    """The description of an array: shape, strides in bytes (None: C-contiguous), type, and special entries."""

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    typestr: Any = "<f4"
    readonly: bool = False
    masked: bool = False
    pending: bool = False
    entries: Mapping[str, Any] = field(default_factory=dict)


#: NumPy's description of a structure with padding between its fields.
_STRUCTURE = {"names": ["id", "value"], "formats": ["u1", "<f8"], "offsets": [0, 8], "itemsize": 16}

_CASES: dict[str, _Case] = {
    **{name: _Case(*layout) for name, layout in {**cases.LAYOUTS, **cases.REVERSED, **cases.BROADCAST}.items()},
    **{f"empty-{name}": _Case(*layout) for name, layout in cases.EMPTY.items()},
    "overlapping": _Case((4, 3), (4, 4)),
    "odd-strides": _Case((3,), (6,)),
    "one-element": _Case((1, 1), (1000, -1000)),
    "structured": _Case((3,), None, _STRUCTURE),
    "structured-sliced": _Case((2, 2), (64, 32), _STRUCTURE),
    "masked": _Case((2, 3), masked=True),
    "read-only": _Case((2, 3), readonly=True),
    "big-endian": _Case((2, 3), None, ">f4"),
    "complex": _Case((2, 2), (8, 16), "<c8"),
    "bool": _Case((5,), None, "|b1"),
    "version-2": _Case((2, 3), entries={"version": 2}),
    "pending": _Case((1024,), pending=True),
}

#: The names of the arrays that :func:`array` makes.
ARRAYS: Sequence[str] = tuple(_CASES)


class Array:
    """An array of no library, in its own memory.

    Its ``__cuda_array_interface__`` is all that a library sees. The other attributes are for the test that passes it on.
    """

    #: The name of the layout, one of :data:`ARRAYS`.
    name: str
    #: The elements, as an array of NumPy with the same shape and type.
    host: np.ndarray[Any, Any]
    #: The elements of the mask, True for those that are valid; None without a mask.
    mask: np.ndarray[Any, Any] | None
    #: Whether the array must not be written.
    readonly: bool

    def __init__(self, name: str, case: _Case) -> None:
        import numpy as np

        dtype = np.dtype(case.typestr)
        strides = case.strides if case.strides is not None else parts.contiguous(case.shape, dtype.itemsize)
        first, end = parts.extent(case.shape, strides, dtype.itemsize)
        content = np.full(end - first, _UNUSED, "u1")
        view = np.ndarray(case.shape, dtype, content.data, -first, strides)
        _fill(view)
        self.name, self.mask, self.readonly = name, None, case.readonly
        self.host = _elements(case.shape, dtype, content.data, -first, strides)
        self._strides, self._first = strides, first
        self._content = bytes([_UNUSED] * _MARGIN) + content.tobytes() + bytes([_UNUSED] * _MARGIN)
        self._memory = parts.Memory(len(self._content))
        self._stream: parts.Stream | None = None
        pointer = self._memory.pointer + _MARGIN - first if view.size else 0
        self._entries: dict[str, Any] = {
            "shape": case.shape,
            "typestr": dtype.str,
            "data": (pointer, case.readonly),
            "version": 3,
            **({} if case.strides is None else {"strides": case.strides}),
            **({} if dtype.names is None else {"descr": dtype.descr}),
            **case.entries,
        }
        if case.masked:
            self.mask = np.arange(view.size).reshape(case.shape) % 2 == 0
            self._mask = parts.memory(self.mask.tobytes())
            self._entries["mask"] = parts.foreign(self._mask, case.shape, "|b1")
        if case.pending:
            self._stream, self._staged = parts.Stream(), parts.Pinned(self._content)
            self._entries["stream"] = self._stream.handle
            parts.hold(self._stream)
            parts.upload(self._memory.pointer, self._staged.bytes, self._stream)
        else:
            self._memory.set(self._content)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """A new dictionary with the entries of the array."""
        return dict(self._entries)

    def current(self) -> np.ndarray[Any, Any]:
        """Return the elements that the memory has now, after all work on the device."""
        now = bytearray(self._now())
        return _elements(self.host.shape, self.host.dtype, now, _MARGIN - self._first, self._strides)

    def assert_only_elements_changed(self) -> None:
        """Assert that no byte before, between or behind the elements was written; of a read-only array, no byte at all.

        :raises AssertionError: such a byte was written; the message has the offset of the first one from the first element.
        """
        import numpy as np

        now = np.frombuffer(self._now(), "u1")
        changed = now != np.frombuffer(self._content, "u1")
        if self.host.size and not self.readonly:
            size = self.host.itemsize
            for at in parts.offsets(self.host.shape, self._strides):
                start = _MARGIN - self._first + at
                changed[start : start + size] = False
        if changed.any():
            offset = int(np.flatnonzero(changed)[0]) - _MARGIN + self._first
            what = "an element of a read-only array" if self.readonly else "a byte that belongs to no element"
            raise AssertionError(f"{self.name}: {what} was written, {offset} bytes from the first element")

    def _now(self) -> bytes:
        with context():
            call("cuCtxSynchronize")
        return self._memory.get()

    def __del__(self) -> None:
        # The memory and the staged elements are released after the copy.
        with contextlib.suppress(Exception):
            if self._stream is not None:
                self._stream.synchronize()

    def __repr__(self) -> str:
        return f"<array {self.name!r} of shape {self.host.shape}>"


def array(name: str) -> Array:
    """Return a new array of one of the awkward layouts.

    :raises ValueError: no array has the name; the message lists them.
    """
    if name not in _CASES:
        raise ValueError(f"{name!r} is no awkward array; the names are {', '.join(ARRAYS)}")
    return Array(name, _CASES[name])


def of_layout(shape: tuple[int, ...], strides: tuple[int, ...], typestr: str, *, readonly: bool = False) -> Array:
    """Return a new array with a layout of the caller's, in bytes."""
    return Array("layout", _Case(shape, strides, typestr, readonly))


def _fill(view: np.ndarray[Any, Any]) -> None:
    """Write a different number into each element, in C order; elements that share memory get the last one."""
    import numpy as np

    numbers = np.arange(view.size).reshape(view.shape)
    if view.dtype.names is None:
        view[...] = (numbers % 2 == 0) if view.dtype.kind == "b" else numbers.astype(view.dtype)
        return
    for field_name in view.dtype.names:
        view[field_name] = numbers


def _elements(
    shape: tuple[int, ...], dtype: np.dtype[Any], buffer: Any, offset: int, strides: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """Return a C-contiguous copy of the elements of a layout, the padding of structures included."""
    import numpy as np

    each = np.ndarray((*shape, dtype.itemsize), "u1", buffer, offset, (*strides, 1))
    return np.frombuffer(bytearray(each.tobytes()), dtype).reshape(shape)
