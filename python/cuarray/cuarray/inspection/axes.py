"""What the stride of each axis means: dense, with gaps, reversed, broadcast, overlapping.

A stride says nothing by itself. 32 bytes is dense where the axes inside fill 32 bytes, has a gap where they fill 16, and makes
neighbours share memory where they fill 48. So the axes are looked at from the smallest step outwards, and each step is
compared with the bytes that everything inside it spans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Spacing(Enum):
    """How the places of an axis lie."""

    DENSE = "dense"
    GAP = "gap"
    OVERLAP = "overlap"
    #: All of them are one place.
    BROADCAST = "broadcast"
    #: There is one.
    SINGLE = "single"
    #: The array has no elements.
    EMPTY = "empty"


@dataclass(frozen=True)
class Axis:
    """One axis of an array."""

    index: int
    length: int
    stride: int
    spacing: Spacing
    #: Bytes between one place and the next; of an overlap, the bytes that they share.
    between: int
    reversed: bool

    def in_words(self) -> str:
        """For people, and short."""
        words = {
            Spacing.DENSE: "contiguous",
            Spacing.GAP: f"gaps of {_bytes(self.between)}",
            Spacing.OVERLAP: f"overlapping by {_bytes(self.between)}",
            Spacing.BROADCAST: f"broadcast: all {self.length} are one place",
            Spacing.SINGLE: "one place: the stride says nothing",
            Spacing.EMPTY: "the array is empty",
        }[self.spacing]
        return f"reversed, {words}" if self.reversed else words


def describe(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> list[Axis]:
    """The axes in their order."""
    axes: list[Axis] = []
    empty = 0 in shape
    span = itemsize
    for index in sorted(range(len(shape)), key=lambda index: abs(strides[index])):
        length, stride = shape[index], strides[index]
        step, between = abs(stride), 0
        if empty:
            spacing = Spacing.EMPTY
        elif length == 1:
            spacing = Spacing.SINGLE
        elif stride == 0:
            spacing = Spacing.BROADCAST
        else:
            spacing = Spacing.DENSE if step == span else Spacing.GAP if step > span else Spacing.OVERLAP
            between = abs(step - span)
            span += step * (length - 1)
        axes.append(Axis(index, length, stride, spacing, between, reversed=stride < 0 and length > 1 and not empty))
    return sorted(axes, key=lambda axis: axis.index)


def _bytes(count: int) -> str:
    return f"{count} byte" if count == 1 else f"{count} bytes"
