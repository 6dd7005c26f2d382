"""The meaning of each axis's stride: dense, with gaps, reversed, broadcast, or overlapping.

A stride has a meaning only together with the axes inside it. A stride of 32 bytes is dense if the inner axes span 32 bytes. It
leaves a gap if they span 16, and makes neighbours overlap if they span 48. So :func:`describe` visits the axes from the smallest
stride outwards and compares each with the span of the inner ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Spacing(Enum):
    """The spacing of the positions along an axis."""

    DENSE = "dense"
    GAP = "gap"
    OVERLAP = "overlap"
    #: All positions are at one address.
    BROADCAST = "broadcast"
    #: There is one position.
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
    #: Bytes between neighbouring positions; for an overlap, the bytes that they share.
    between: int
    reversed: bool

    def in_words(self) -> str:
        """Return a short description for people."""
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
    """Return the axes of a layout in their order."""
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
