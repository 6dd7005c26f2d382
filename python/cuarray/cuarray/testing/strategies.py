"""Layouts, arrays and dictionaries as strategies of Hypothesis.

:func:`layouts` and :func:`interfaces` need no driver, as no memory is behind their addresses. :func:`arrays` draws arrays with memory.
:func:`hostile_interfaces` draws dictionaries with one entry that the text forbids, each with the clause, so a property can state
that a reader refuses all of them and names the entry.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from cuarray.check import cases, parts
from cuarray.testing.arrays import Array, of_layout

__all__ = ["Hostile", "Layout", "arrays", "hostile_interfaces", "interfaces", "layouts"]

#: An address that no test reads; the largest drawn layout around it stays within the address space.
_ADDRESS = 1 << 46
_TYPES = (*cases.PLAIN.values(), *cases.FURTHER.values(), ">i4", ">f8")


class Layout(NamedTuple):
    """A legal layout: lengths, strides in bytes, and the bytes of an element."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int


class Hostile(NamedTuple):
    """An illegal dictionary, with the clause and the entry that are violated."""

    clause: str
    key: str
    entries: dict[str, Any]


@st.composite
def layouts(
    draw: st.DrawFn, *, itemsize: int | None = None, min_side: int = 0, max_side: int = 5, max_dims: int = 4
) -> Layout:
    """Layouts of every kind: dense, with gaps, reversed, broadcast, overlapping, without elements, in any order of the axes.

    :param itemsize: the bytes of an element; by default one of 1, 2, 4, 8 and 12 is drawn.
    """
    size = itemsize if itemsize is not None else draw(st.sampled_from([1, 2, 4, 8, 12]))
    shape, strides, step = [], [], size
    for length in draw(st.lists(st.integers(min_side, max_side), max_size=max_dims)):
        kind = draw(st.sampled_from(["dense", "dense", "gap", "broadcast", "any"]))
        if kind == "gap":
            step += draw(st.integers(1, 2 * size))
        stride = {"broadcast": 0, "any": draw(st.integers(-20, 20))}.get(kind, step)
        shape.append(length)
        strides.append(-stride if draw(st.booleans()) else stride)
        step = max(step, abs(stride)) * max(length, 1)
    order = draw(st.permutations(range(len(shape))))
    return Layout(tuple(shape[axis] for axis in order), tuple(strides[axis] for axis in order), size)


@st.composite
def interfaces(draw: st.DrawFn) -> dict[str, Any]:
    """Dictionaries that the text allows, over memory that does not exist: every form of every entry, in all versions."""
    typestr = draw(st.sampled_from(_TYPES))
    shape, strides, _ = draw(layouts(itemsize=parts.size_of(typestr)))
    version = draw(st.integers(0, 3))
    entries: dict[str, Any] = {
        "shape": shape,
        "typestr": typestr,
        "data": (0 if 0 in shape else draw(st.sampled_from([_ADDRESS, _ADDRESS + 64])), draw(st.booleans())),
        "version": version,
    }
    form = draw(st.sampled_from(["absent", "None", "given"]))
    if form != "absent":
        entries["strides"] = strides if form == "given" else None
    if version == 3 and draw(st.booleans()):
        entries["stream"] = draw(st.one_of(st.none(), st.sampled_from([1, 2]), st.integers(3, 1 << 47)))
    for key, value in (("mask", None), ("descr", [("", typestr)])):
        if draw(st.booleans()):
            entries[key] = value
    order = draw(st.permutations(list(entries)))
    return {key: entries[key] for key in order}


#: Values of a wrong type or range, by entry; the kit's own illegal dictionaries are drawn besides.
_WRONG: dict[str, st.SearchStrategy[Any]] = {
    "shape": st.one_of(
        st.none(),
        st.integers(),
        st.lists(st.integers(0, 5), min_size=1),
        st.tuples(st.integers(max_value=-1)),
        st.tuples(st.integers(min_value=1 << 64)),
        st.tuples(st.floats()),
        st.tuples(st.none()),
        st.text(),
    ),
    "typestr": st.one_of(st.none(), st.integers(), st.sampled_from(["f4", "<x4", "<f", "<f3", "|O8", "<f4 ", "=f4"])),
    "data": st.one_of(
        st.none(),
        st.integers(),
        st.just(()),
        st.tuples(st.integers(1, 99)),
        st.tuples(st.none(), st.booleans()),
        st.tuples(st.integers(max_value=-1), st.booleans()),
        st.tuples(st.integers(min_value=1 << 64), st.booleans()),
        st.tuples(st.text(), st.booleans()),
    ),
    "version": st.one_of(st.none(), st.integers(max_value=-1), st.floats(), st.text()),
    "strides": st.one_of(
        st.integers(),
        st.tuples(st.just(4)),
        st.tuples(st.floats(), st.just(4)),
        st.tuples(st.integers(min_value=1 << 64), st.just(4)),
        st.tuples(st.none(), st.none()),
    ),
    "stream": st.one_of(st.just(0), st.integers(max_value=-1), st.floats(), st.text()),
}
_CLAUSES = {"shape": "I2", "typestr": "I3", "data": "I4", "version": "I7", "strides": "I8", "stream": "I11"}


@st.composite
def hostile_interfaces(draw: st.DrawFn) -> Hostile:
    """Dictionaries with one entry that the text forbids; the other entries are legal.

    An import must raise an error for each. One that accepts it, crashes, or raises ``SystemError`` or ``MemoryError`` is wrong.
    """
    entries: dict[str, Any] = {"shape": (2, 3), "typestr": "<f4", "data": (_ADDRESS, False), "version": 3}
    if draw(st.booleans()):
        clause = draw(st.sampled_from(sorted(cases.ILLEGAL)))
        changed = draw(st.sampled_from([dict(each) for each in cases.ILLEGAL[clause].values()]))
        if "without" in changed:
            del entries[changed["without"]]
            return Hostile(clause, changed["without"], entries)
        (key,) = changed
        return Hostile(clause, key, {**entries, **changed})
    key = draw(st.sampled_from(sorted(_WRONG)))
    return Hostile(_CLAUSES[key], key, {**entries, key: draw(_WRONG[key])})


@st.composite
def arrays(draw: st.DrawFn, *, max_dims: int = 4) -> Array:
    """Arrays of no library with their own memory, of every layout; each draw allocates."""
    typestr = draw(st.sampled_from(_TYPES))
    shape, strides, _ = draw(layouts(itemsize=parts.size_of(typestr), max_dims=max_dims))
    return of_layout(shape, strides, typestr, readonly=draw(st.booleans()))
