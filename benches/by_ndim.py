"""Imports by number of axes: the cost of each further axis of an array.

The cost should be at most linear. So a line is fitted through the medians of 0 to 32 axes, and each figure is printed beside the
line's value."""

from dataclasses import dataclass

from importing import Plain
from measure import Call, side_by_side

import cuarray

NDIMS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 28, 32)
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

    def at(self, ndim):
        return self.base + self.slope * ndim


def objects():
    """Return two objects for each number of axes: a C-contiguous one without strides, and one with strides."""
    memory = cuarray.device_array(1, "float32")
    for ndim in NDIMS:
        # Two elements along each of at most 24 axes; the addresses are valid, and no element is read.
        shape = tuple(2 if axis < 24 else 1 for axis in range(ndim))
        # The first axis has the smallest stride, and each axis has gaps: neither C nor Fortran order.
        strides = tuple(8 * 2**axis for axis in range(ndim))
        plain = Plain(memory, shape=shape)
        yield ndim, {"C order": plain, "strides": Plain(memory, shape=shape, strides=strides)}


def measured():
    """Return the medians by column and number of axes, in nanoseconds; all calls take turns."""
    calls, keys = {}, []
    for ndim, forms in objects():
        for column, obj in forms.items():
            calls[ndim, column] = Call("take(obj, sync=False)", {"take": cuarray.as_cuda_array, "obj": obj})
            keys.append((ndim, column))
    times = side_by_side(calls, ROUNDS)
    columns = {}
    for ndim, column in keys:
        columns.setdefault(column, {})[ndim] = times[ndim, column].median
    return columns
