"""Deviations of an interface from the text, clause by clause, and remarks on legal but risky entries.

A strict import stops at the first error. Here the same reader reads each entry alone, among valid ones, so every error is
found and has the reader's message. Deviations that no reader refuses are added, such as a stream that consumers ignore, or a
pointer of an empty array that is not 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import cuarray
from cuarray.check.clauses import ENTRIES
from cuarray.inspection.axes import Axis, Spacing
from cuarray.inspection.pointer import Pointer

# A valid address: the largest layout around it stays within the address space.
_ANY_POINTER = 1 << 62


class Deviation(NamedTuple):
    """A deviation of an interface from the text, or a remark on it."""

    clause: str
    key: str
    text: str


def deviations(
    entries: dict[Any, Any], obj: object, interface: cuarray.Interface | None, pointer: Pointer | None
) -> list[Deviation]:
    """Return every deviation from the text.

    ``entries`` is the dictionary, and ``obj`` its object, or the dictionary itself. ``interface`` is the result of a lenient
    import, None if it failed. ``pointer`` holds the driver's attributes.
    """
    found = list(_by_entry(entries))
    for read, strict in ((obj, True), (obj, False)):
        why = refusal(read, strict=strict)
        # Errors of several entries together, such as an extent beyond the address space.
        if why is not None and not any(one.key == why.key for one in found):
            found.append(why)
    if interface is not None:
        found += _ignored_by_version(entries, interface)
        found += _of_pointer(interface, pointer)
    order = list(ENTRIES)
    return sorted(found, key=lambda one: order.index(one.key) if one.key in order else -1)


def _by_entry(entries: dict[Any, Any]) -> Iterator[Deviation]:
    """Read each entry strictly among valid ones, and yield the errors."""
    sound: dict[str, Any] = {"shape": (1,), "typestr": "|u1", "data": (_ANY_POINTER, False), "version": 3}
    for key in sound:
        probe = {**sound, key: entries[key]} if key in entries else {k: v for k, v in sound.items() if k != key}
        if key == "data":
            # An empty array may have any address; the complete dictionary shows whether null is valid.
            probe["shape"] = (0,)
        yield from _only(key, refusal(probe))
    # The next entries are read together with others, which have to be valid.
    shape = entries.get("shape") if refusal({**sound, "shape": entries.get("shape")}) is None else None
    typestr = entries.get("typestr") if refusal({**sound, "typestr": entries.get("typestr")}) is None else None
    if entries.get("strides") is not None:
        against = shape if shape is not None else (1,) * _length(entries["strides"])
        yield from _only("strides", refusal({**sound, "shape": against, "strides": entries["strides"]}))
    if entries.get("stream") is not None and entries.get("version") not in (0, 1, 2):
        yield from _only("stream", refusal({**sound, "stream": entries["stream"]}))
    if entries.get("descr") is not None and typestr is not None:
        yield from _only("descr", refusal({**sound, "typestr": _void(typestr), "descr": entries["descr"]}))
    if entries.get("mask") is not None and shape is not None and entries.get("version") != 0:
        yield from _only("mask", refusal({**sound, "shape": shape, "mask": entries["mask"]}))


def refusal(read: Any, *, strict: bool = True) -> Deviation | None:
    """Return the error of reading an object or a dictionary, or None."""
    try:
        cuarray.interface(read, strict=strict)
    except Exception as error:
        match = re.fullmatch(r"__cuda_array_interface__\['(\w+)'\]: (.*)", str(error), re.DOTALL)
        if match is None:
            return Deviation("I1", "", str(error))
        return Deviation(ENTRIES.get(match[1], "I1"), match[1], match[2])
    return None


def _only(key: str, why: Deviation | None) -> Iterator[Deviation]:
    if why is not None and why.key == key:
        yield why


def _length(value: Any) -> int:
    try:
        return len(value)
    except TypeError:
        return 0


def _void(typestr: str) -> str:
    """Return the type string of a structure of the same size; the reader reads `descr` only for structures."""
    one = {"shape": (), "typestr": typestr, "data": (_ANY_POINTER, False), "version": 3}
    return f"|V{cuarray.interface(one).nbytes}"


def _ignored_by_version(entries: dict[Any, Any], interface: cuarray.Interface) -> Iterator[Deviation]:
    if interface.version < 3 and entries.get("stream") is not None:
        yield Deviation(
            "V2",
            "stream",
            f"{entries['stream']!r}, but version {interface.version} has no streams and consumers ignore it; "
            "an interface with a stream has version 3",
        )
    if interface.version == 0 and entries.get("mask") is not None:
        yield Deviation("V0", "mask", "version 0 has no masks and consumers ignore it; all elements count as valid")


def _of_pointer(interface: cuarray.Interface, pointer: Pointer | None) -> Iterator[Deviation]:
    first, end = interface.byte_range
    if first == end:
        if interface.ptr != 0 and interface.version >= 2:
            yield Deviation("I5", "data", f"{interface.ptr:#x}, but the array has no bytes; its pointer is 0")
        return
    if pointer is None or pointer.driver is None:
        return
    known = pointer.attributes
    if known is None:
        yield Deviation(
            "I6",
            "data",
            f"the driver does not know {interface.ptr:#x}: ordinary host memory, or freed, or no memory at all "
            "(memory of a graph that has not run yet looks the same)",
        )
        return
    if known.device_ptr != interface.ptr:
        yield Deviation(
            "I6",
            "data",
            f"{interface.ptr:#x} is the host's address; a device reaches the memory at {known.device_ptr:#x}",
        )
    elif pointer.holds(first, end) is False:
        low, high = known.range or (0, 0)
        yield Deviation(
            "I6",
            "data",
            f"the elements take {first:#x} to {end - 1:#x}, beyond the allocation, {low:#x} to {high - 1:#x}"
            + ("; was it a broadcast array, whose strides were left out?" if interface.is_c_contiguous() else ""),
        )


def remarks(entries: dict[Any, Any], interface: cuarray.Interface | None, axes: list[Axis]) -> list[Deviation]:
    """Return remarks on legal entries that some consumers refuse or misread."""
    found = [*unusual_types(entries), *unknown_keys(entries)]
    if interface is None:
        return found
    if interface.version < 3:
        found.append(
            Deviation(
                "V2",
                "version",
                f"{interface.version} has no streams: no consumer can wait for work that is pending on the array",
            )
        )
    if entries.get("strides") is not None and interface.is_c_contiguous():
        found.append(Deviation("I8", "strides", "given, though the elements are C-contiguous; None says the same"))
    found += _of_axes(interface, axes)
    if re.match(r">[iufcmMU]", interface.typestr) and itemsize(interface) > 1:
        found.append(Deviation("I3", "typestr", f"'{interface.typestr}' is big-endian, and devices are little-endian"))
    if interface.typestr[1:2] == "V" and entries.get("descr") is None:
        found.append(
            Deviation("I9", "descr", f"absent: nothing says what the {interface.typestr[2:]} bytes of an element hold")
        )
    if interface.mask is not None:
        found.append(Deviation("I10", "mask", "given, and ignored by most consumers, which then read invalid elements"))
    return found


def _of_axes(interface: cuarray.Interface, axes: list[Axis]) -> Iterator[Deviation]:
    size = itemsize(interface)
    for axis in axes:
        where = f"axis {axis.index}"
        if axis.spacing is Spacing.BROADCAST:
            yield Deviation(
                "I8", "strides", f"{where} is broadcast; consumers that read stride 0 as contiguous read past the end"
            )
        if axis.spacing is Spacing.OVERLAP:
            yield Deviation("I8", "strides", f"{where} overlaps itself; a write to one element changes another")
        if axis.reversed:
            yield Deviation("I8", "strides", f"{where} is reversed; some consumers refuse negative strides")
        if size and axis.length > 1 and axis.stride % size:
            yield Deviation("I8", "strides", f"{where} steps {axis.stride} bytes, no multiple of the item size {size}")
    if interface.typestr[1:2] in ("i", "u", "f", "c", "m", "M") and size:
        unit = size // 2 if interface.typestr[1] == "c" else size
        if interface.ptr % unit:
            yield Deviation(
                "I4", "data", f"{interface.ptr:#x} is no multiple of {unit}; kernels fault on such elements"
            )


def itemsize(interface: cuarray.Interface) -> int:
    """Return the bytes of an element; 0 for an empty array and for packed bits."""
    elements = math.prod(interface.shape)
    return interface.nbytes // elements if elements else 0


def unusual_types(entries: dict[Any, Any]) -> Iterator[Deviation]:
    """Yield remarks on subclasses and on values that convert to int, which some consumers refuse."""
    if type(entries) is not dict:
        yield Deviation("I1", "", f"a {_name(entries)}, a subclass of dict; some consumers take dict itself only")
    for key, clause in (("shape", "I2"), ("strides", "I8"), ("data", "I4")):
        value = entries.get(key)
        if isinstance(value, tuple):
            if type(value) is not tuple:
                yield Deviation(
                    clause, key, f"a {_name(value)}, a subclass of tuple; some consumers take tuple itself only"
                )
            odd = sorted({_name(entry) for entry in value if _is_index(entry)})
            if odd:
                yield Deviation(clause, key, f"holds {', '.join(odd)}; some consumers take int itself only")
    for key, kind in (("typestr", str), ("version", int), ("stream", int)):
        value = entries.get(key)
        if value is not None and type(value) is not kind:
            yield Deviation(ENTRIES[key], key, f"a {_name(value)}; some consumers take {kind.__name__} itself only")
    data = entries.get("data")
    if isinstance(data, tuple) and len(data) == 2 and type(data[1]) is not bool:
        yield Deviation("I4", "data", f"the flag is a {_name(data[1])}; some consumers take bool itself only")


def unknown_keys(entries: dict[Any, Any]) -> Iterator[Deviation]:
    """Yield remarks on keys that no clause knows."""
    unknown = [key for key in entries if not (isinstance(key, str) and key in ENTRIES)]
    for key in unknown:
        yield Deviation("I1", str(key), "no clause knows this key, and consumers pass over it")


def _is_index(value: object) -> bool:
    """Return whether a value is not an int but converts to one by ``__index__``."""
    return type(value) not in (int, bool) and hasattr(type(value), "__index__")


def _name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
