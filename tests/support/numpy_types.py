"""A hypothesis strategy for every NumPy type: both byte orders, units, sizes, and structures of all kinds.

Types that no array interface can describe have separate tests: Python objects, overlapping or unordered fields, fields without
a name, titles that are not strings, and types of extensions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

NUMBERS = ["i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "g", "c8", "c16", "G"]
UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]

orders = st.sampled_from("<>")
times = st.builds(
    lambda order, kind, unit, multiple: f"{order}{kind}8" + (f"[{multiple}{unit}]" if unit else ""),
    orders,
    st.sampled_from("mM"),
    st.sampled_from(["", *UNITS]),
    st.integers(1, 1000),
)
scalars = st.one_of(
    st.sampled_from(["?", "i1", "u1"]),
    st.builds(str.__add__, orders, st.sampled_from(NUMBERS)),
    times,
    st.builds("{}{}".format, st.sampled_from("SV"), st.integers(0, 20)),
    st.builds("{}U{}".format, orders, st.integers(0, 6)),
).map(np.dtype)

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@st.composite
def structures(draw: st.DrawFn, parts: st.SearchStrategy[np.dtype[Any]]) -> np.dtype[Any]:
    """A structure of ``parts`` and sub-arrays of them, made in one of NumPy's three ways: packed, aligned, or by offsets."""
    chosen = draw(st.lists(names, min_size=1, max_size=10, unique=True))
    # Names and titles must be distinct from each other; some fields get both.
    titles = [draw(st.booleans()) for _ in range(len(chosen) // 2)]
    labels: list[str | tuple[str, str]] = []
    for titled in titles:
        labels.append((chosen.pop(), chosen.pop()) if titled else chosen.pop())
    labels += chosen[: 1 if not labels else 0]
    fields: list[tuple[Any, Any]] = []
    for label in labels:
        part = draw(parts)
        shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
        # NumPy reads the shape of a type of size 0 as its size.
        fields.append((label, (part, shape) if shape and part.itemsize else part))
    way = draw(st.sampled_from(["packed", "aligned", "offsets"]))
    if way != "offsets":
        return np.dtype(fields, align=way == "aligned")
    end, offsets, gaps = 0, [], st.integers(0, 9)
    for _, format_ in fields:
        offsets.append(end + draw(gaps))
        end = offsets[-1] + np.dtype(format_).itemsize
    return np.dtype(
        {
            "names": [label if isinstance(label, str) else label[1] for label, _ in fields],
            "titles": [None if isinstance(label, str) else label[0] for label, _ in fields],
            "formats": [format_ for _, format_ in fields],
            "offsets": offsets,
            "itemsize": end + draw(gaps),
        }
    )


dtypes = st.recursive(scalars, structures, max_leaves=12)
structured = dtypes.filter(lambda dtype: dtype.names is not None)


def elements(dtype: np.dtype[Any], shape: tuple[int, ...], seed: int = 0) -> np.ndarray[Any, Any]:
    """An array of random bytes, gaps included."""
    # For a string of size 0, NumPy allocates one byte or character.
    array = np.empty(shape, dtype)
    if array.nbytes:
        array = np.frombuffer(np.random.default_rng(seed).bytes(array.nbytes), np.uint8).copy()
        array = array.view(np.empty(0, dtype).dtype).reshape(shape)
    return array
