"""Imports by number of axes: the cost of each further axis of an array.

The cost should be at most linear. So a line is fitted through the medians of 0 to 32 axes, and each figure is printed beside the
line's value."""

from dataclasses import dataclass

from importing import Plain
from measure import Call, side_by_side

import cuarray

RANKS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 28, 32)
ROUNDS = 101


@dataclass(frozen=True)
class Line:
    """Nanoseconds of an array without axes, and of each further axis."""

    base: float
    slope: float

    @classmethod
    def through(cls, points):
        """Fit the line by least squares."""
        middle_x = sum(x for x, _ in points) / len(points)
        middle_y = sum(y for _, y in points) / len(points)
        slope = sum((x - middle_x) * (y - middle_y) for x, y in points) / sum((x - middle_x) ** 2 for x, _ in points)
        return cls(middle_y - slope * middle_x, slope)

    def at(self, rank):
        return self.base + self.slope * rank


def objects():
    """Return two objects for each number of axes: a C-contiguous one without strides, and one with strides."""
    memory = cuarray.device_array(1, "float32")
    for rank in RANKS:
        # Two elements along each of at most 24 axes; the addresses are valid, and no element is read.
        shape = tuple(2 if axis < 24 else 1 for axis in range(rank))
        # The first axis has the smallest stride, and each axis has gaps: neither C nor Fortran order.
        strides = tuple(8 * 2**axis for axis in range(rank))
        plain = Plain(memory, shape=shape)
        yield rank, {"C order": plain, "strides": Plain(memory, shape=shape, strides=strides)}


def measured():
    """Return the medians by column and number of axes, in nanoseconds; all calls take turns."""
    calls, keys = {}, []
    for rank, forms in objects():
        for column, obj in forms.items():
            calls[rank, column] = Call("take(obj, sync=False)", {"take": cuarray.as_cuda_array, "obj": obj})
            keys.append((rank, column))
    times = side_by_side(calls, ROUNDS)
    columns = {}
    for rank, column in keys:
        columns.setdefault(column, {})[rank] = times[rank, column].median
    return columns
