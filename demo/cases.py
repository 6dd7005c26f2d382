"""The arrays of the demo: every type, in 0 to 3 dimensions, in every layout that the dimensions allow.

A case describes an array independently of its library. A producer writes `Case.values`, and every consumer must read them."""

from dataclasses import dataclass

import numpy as np

from cuarray.check.parts import contiguous

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
    def strides(self):
        """The strides in bytes."""
        size = self.numpy_type.itemsize
        if self.layout == "F":
            return contiguous(self.shape[::-1], size)[::-1]
        if self.layout == "sliced":
            return tuple(2 * step for step in contiguous([2 * length + 1 for length in self.shape], size))
        steps = contiguous(self.shape, size)
        return tuple(-step for step in steps) if self.layout == "reversed" else steps

    @property
    def is_contiguous(self):
        return self.layout in ("C", "F")


SMALL = Case("float32", (3, 4), "C")


def cases(layouts=LAYOUTS, types=TYPES, shapes=SHAPES):
    """Return every case of these layouts, types and shapes; skip layouts that need more dimensions than the shape has."""
    return [
        Case(dtype, shape, layout)
        for layout in layouts
        for shape in shapes
        if len(shape) >= _LEAST_DIMENSIONS[layout]
        for dtype in types
    ]
