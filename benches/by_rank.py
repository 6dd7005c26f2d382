"""Importing by rank: what each dimension of an array adds to the cost of importing it.

No worse than linear means that the time lies on a straight line or below one: so a line is fitted through the medians of
ranks 0 to 32, its slope is printed, and each figure beside what the line says there.
"""

from dataclasses import dataclass

from importing import Plain
from measure import Call, side_by_side

import cuarray

RANKS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 28, 32)
ROUNDS = 101


@dataclass(frozen=True)
class Line:
    """Nanoseconds of rank 0, and of each further dimension."""

    base: float
    slope: float

    @classmethod
    def through(cls, points):
        """The line with the least squares of the distances."""
        middle_x = sum(x for x, _ in points) / len(points)
        middle_y = sum(y for _, y in points) / len(points)
        slope = sum((x - middle_x) * (y - middle_y) for x, y in points) / sum((x - middle_x) ** 2 for x, _ in points)
        return cls(middle_y - slope * middle_x, slope)

    def at(self, rank):
        return self.base + self.slope * rank


def objects():
    """For each rank, an object in C order that leaves strides out, and one that writes strides of its own."""
    memory = cuarray.device_array(1, "float32")
    for rank in RANKS:
        # Two elements along each of at most 24 axes: nothing is read of them, and the addresses exist.
        shape = tuple(2 if axis < 24 else 1 for axis in range(rank))
        # The first axis is the fastest, and each leaves a gap: no order that could be recognized.
        strides = tuple(8 * 2**axis for axis in range(rank))
        plain = Plain(memory, shape=shape)
        yield rank, {"C order": plain, "strides": Plain(memory, shape=shape, strides=strides)}


def measured():
    """By column, the median of each rank in nanoseconds; all calls took turns."""
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
