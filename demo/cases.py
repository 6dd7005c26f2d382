"""The arrays of the demo: every type, in 0 to 3 dimensions, in every layout that the dimensions allow.

A case describes an array independently of its library. `Case.host` is a NumPy array with the shape, strides and type of the device
array, inside a `base` that also holds the gaps. A library copies it into device memory in its own way, and every consumer must
read `Case.values`."""

from dataclasses import dataclass

import numpy as np

TYPES = ("bool", "uint8", "int32", "int64", "float32", "float64", "complex64", "complex128")
SHAPES = ((), (7,), (3, 4), (2, 3, 4))
LAYOUTS = ("C", "F", "sliced", "reversed")
"""C and Fortran order; every second element; from the last element to the first, which makes the strides negative."""

_LEAST_DIMENSIONS = {"C": 0, "F": 2, "sliced": 1, "reversed": 1}


@dataclass(frozen=True)
class Case:
    dtype: str
    shape: tuple[int, ...]
    layout: str

    def __str__(self):
        return f"{self.dtype} {len(self.shape)}-d {self.layout}"

    def values(self, turn=0):
        """Return elements that differ from each other and from those of the next turn."""
        count = int(np.prod(self.shape, dtype=int))
        numbers = np.arange(count).reshape(self.shape) + turn
        if self.dtype == "bool":
            return numbers % 2 == 1
        values = (numbers + 1 + 100 * (turn % 2)).astype(self.dtype)
        return values * self.numpy_type.type(1 - 0.5j) if self.dtype.startswith("complex") else values

    @property
    def numpy_type(self):
        return np.dtype(self.dtype)

    @property
    def index(self):
        """The index that selects the array in its base."""
        step = {"sliced": slice(1, None, 2), "reversed": slice(None, None, -1)}.get(self.layout, slice(None))
        return (step,) * len(self.shape)

    def base(self, turn=0):
        """Return a contiguous host array; `base()[index]` has the case's layout and `values(turn)`."""
        base_shape = tuple(2 * length + 1 for length in self.shape) if self.layout == "sliced" else self.shape
        base = np.zeros(base_shape, self.dtype, order="F" if self.layout == "F" else "C")
        base[self.index] = self.values(turn)
        return base

    @property
    def host(self):
        """Return a host array with the case's shape, type, strides and `values()`."""
        return self.base()[self.index] if self.shape else self.base()

    @property
    def strides(self):
        return self.host.strides

    @property
    def offset(self):
        """The offset of the first element in the base, in bytes."""
        base = self.base()
        first = base[self.index] if self.shape else base
        return first.__array_interface__["data"][0] - base.__array_interface__["data"][0]

    @property
    def is_contiguous(self):
        return self.layout in ("C", "F")


def cases(layouts=LAYOUTS, types=TYPES, shapes=SHAPES):
    """Return every case of these layouts, types and shapes; skip layouts that need more dimensions than the shape has."""
    return [
        Case(dtype, shape, layout)
        for layout in layouts
        for shape in shapes
        if len(shape) >= _LEAST_DIMENSIONS[layout]
        for dtype in types
    ]


def strided_bytes(shape, strides, itemsize):
    """Return the range of bytes that an array spans, relative to its first element."""
    first, end = 0, itemsize
    for length, step in zip(shape, strides, strict=True):
        first += min(0, (length - 1) * step)
        end += max(0, (length - 1) * step)
    return first, end
