"""A drawing of an array's layout in ASCII characters.

Memory is one line of characters from the array's first byte to its last: ``#`` if every byte belongs to an element, ``+`` if
some do, ``.`` if none does. An array of up to 64 bytes has one character for each byte, and the indices of its elements below.
In a larger one each character represents several bytes. The time depends on the size of the drawing, not of the array.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence

from cuarray.inspection.axes import Axis, Spacing

#: The number of characters in the line of memory, which fits into 80 columns with its margins.
WIDTH = 64
#: The maximum number of overlapping elements that are enumerated, as arithmetic cannot compute their coverage.
_FEW = 20_000


def draw(axes: Sequence[Axis], itemsize: int | None, first: int, end: int, pointer: int) -> list[str]:
    """Return the lines of a drawing of an array with bytes ``first`` to ``end`` and its first element at ``pointer``.

    ``itemsize`` is None for packed bits, which have no strides.
    """
    lines = _table(axes) if itemsize is not None else ["bits, packed one after the other in C order"]
    if end > first:
        memory = (axes, itemsize) if itemsize is not None else ((), end - first)
        lines += _memory(*memory, first, end, pointer)
    else:
        lines.append("no bytes")
    return lines


def _table(axes: Sequence[Axis]) -> list[str]:
    if not axes:
        return ["no axes: a single element"]
    rows = [("axis", "length", "stride", "")]
    rows += [(str(axis.index), str(axis.length), str(axis.stride), axis.in_words()) for axis in axes]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = []
    for row in rows:
        numbers = [text.rjust(width) for text, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*numbers, row[3]]).rstrip())
    return lines


def _memory(axes: Sequence[Axis], itemsize: int, first: int, end: int, pointer: int) -> list[str]:
    extent = end - first
    scale = -(-extent // WIDTH)
    cells = -(-extent // scale)
    covered = coverage(axes, itemsize)
    each = "a byte" if scale == 1 else f"{scale} bytes"
    if covered is None:
        return [f"memory: {extent} bytes, some of them in overlapping elements"]
    taken = covered(extent)
    bar = ""
    for cell in range(cells):
        low, high = cell * scale, min((cell + 1) * scale, extent)
        inside = covered(high) - covered(low)
        bar += "#" if inside == high - low else "+" if inside else "."
    share = "all the array's" if taken == extent else f"{taken} of them the array's"
    lines = [f"memory: {extent} bytes, {share}", f"from {first:#x}, each character is {each}", f"  |{bar}|"]
    labels = _labels(axes, itemsize, extent, pointer - first) if scale == 1 else None
    if labels:
        lines.append(f"   {labels}")
    elif pointer > first:
        at = (pointer - first) // scale
        lines.append(
            "   " + (" " * at + "^ the first element" if at < WIDTH // 2 else "the first element ^".rjust(at + 1))
        )
    return lines


class _Below:
    """The number of an array's bytes below an offset, for axes that do not overlap."""

    def __init__(self, axes: Sequence[Axis], itemsize: int) -> None:
        self.itemsize = itemsize
        # From the largest step inwards: the step, the number of positions, and the bytes of elements in each.
        self.steps: list[tuple[int, int, int]] = []
        inside = itemsize
        for axis in sorted(axes, key=lambda axis: abs(axis.stride)):
            if axis.length > 1 and axis.stride:
                self.steps.insert(0, (abs(axis.stride), axis.length, inside))
                inside *= axis.length

    def __call__(self, offset: int) -> int:
        below = 0
        for step, places, inside in self.steps:
            place = min(offset // step, places - 1)
            below += place * inside
            offset -= place * step
        return below + min(offset, self.itemsize)


class _Runs:
    """The number of bytes below an offset for overlapping elements, from the list of their offsets."""

    def __init__(self, offsets: Iterator[int], itemsize: int) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        for offset in sorted(offsets):
            if self.ends and offset <= self.ends[-1]:
                self.ends[-1] = offset + itemsize
            else:
                self.starts.append(offset)
                self.ends.append(offset + itemsize)
        lengths = (end - start for start, end in zip(self.starts, self.ends, strict=True))
        self.before = list(itertools.accumulate(lengths, initial=0))

    def __call__(self, offset: int) -> int:
        run = bisect.bisect_right(self.starts, offset) - 1
        return self.before[run] + min(offset, self.ends[run]) - self.starts[run]


def coverage(axes: Sequence[Axis], itemsize: int) -> _Below | _Runs | None:
    """Return a function that counts the bytes of elements below an offset; None if that would take too long."""
    if not any(axis.spacing is Spacing.OVERLAP for axis in axes):
        return _Below(axes, itemsize)
    lengths = [axis.length for axis in axes if axis.stride]
    places = 1
    for length in lengths:
        places *= length
    if places > _FEW:
        return None
    steps = [range(0, abs(axis.stride) * axis.length, abs(axis.stride)) for axis in axes if axis.stride]
    return _Runs((sum(place) for place in itertools.product(*steps)), itemsize)


def _labels(axes: Sequence[Axis], itemsize: int, extent: int, start: int) -> str | None:
    """Return the line with the index of each element, ``*`` for a broadcast axis; None if there is no room."""
    if any(axis.spacing is Spacing.OVERLAP for axis in axes):
        return None
    line = [" "] * extent
    shown = [axis for axis in axes if axis.length > 1 and axis.stride]
    for place in itertools.product(*(range(axis.length) for axis in shown)):
        index = {axis.index: str(at) for axis, at in zip(shown, place, strict=True)}
        entries = [index.get(axis.index, "0" if axis.length == 1 else "*") for axis in axes]
        label = ",".join(entries)
        # A label needs a space after it, so it must be shorter than its element.
        if len(label) >= itemsize:
            return None
        offset = start + sum(axis.stride * at for axis, at in zip(shown, place, strict=True))
        line[offset : offset + len(label)] = label
    return "".join(line).rstrip() if axes else None
