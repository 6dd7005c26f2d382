"""The dictionary that a library exports: every entry, for every layout and type."""

from __future__ import annotations

import gc
import math
from typing import Any

import cuarray
from cuarray.check import parts
from cuarray.check.cases import BROADCAST, DEEP, FURTHER, LAYOUTS, PLAIN, REVERSED, Layout, layout_part
from cuarray.check.clauses import ENTRIES, Level
from cuarray.check.registry import check
from cuarray.check.trial import Trial
from cuarray.inspection.deviations import deviations, unknown_keys, unusual_types
from cuarray.inspection.pointer import Pointer


def _deviations(array: Any, entries: dict[str, Any], *keys: str) -> list[str]:
    """Return what a strict reader objects to in these entries."""
    try:
        interface = cuarray.interface(entries, strict=False)
    except Exception:
        interface = None
    pointer = Pointer.ask(interface.ptr, interface.nbytes) if interface is not None else None
    found = deviations(entries, array, interface, pointer)
    return [f"{one.key or 'the dictionary'}: {one.text}" for one in found if one.key in keys or not one.key]


@check(
    "I1", "producer", needs="make", advice="Return a new dict with shape, typestr, data and version from the property."
)
def the_attribute_is_a_dict_with_the_required_entries(trial: Trial) -> None:
    """An array has `__cuda_array_interface__`, a dict with shape, typestr, data and version."""
    entries = trial.interface(trial.lib.make((4,), "<f4"))
    missing = [key for key in ("shape", "typestr", "data", "version") if key not in entries]
    trial.expect(not missing, f"without {', '.join(missing)}; the entries are {sorted(map(str, entries))}")
    unknown = [one.key for one in unknown_keys(entries)]
    trial.expect(not unknown, f"unknown entries: {', '.join(unknown)}", Level.SHOULD)


#: Shapes of plain arrays, by the number of dimensions. The lengths differ, so that no two axes can be exchanged unseen.
_SHAPES: dict[str, tuple[int, ...]] = {"1": (5,), "2": (3, 4), "3": (2, 3, 4), "4": (2, 3, 4, 5), "5": (2, 3, 4, 5, 6)}


@check("I1", "producer", needs="make", cases=_SHAPES, advice="Correct each entry as the message says.")
def every_entry_is_read_strictly(trial: Trial, shape: tuple[int, ...]) -> None:
    """A strict reader accepts every entry of a plain array of {case} dimensions."""
    array = trial.lib.make(shape, "<f4")
    entries = trial.interface(array)
    found = _deviations(array, entries, *ENTRIES)
    trial.expect(not found, "; ".join(found))


@check(
    "I1",
    "producer",
    needs="make",
    level=Level.SHOULD,
    known="D24",
    cases=_SHAPES,
    advice="Convert entries with int(), tuple() and bool() before the export.",
)
def entries_have_the_exact_builtin_types(trial: Trial, shape: tuple[int, ...]) -> None:
    """The values for {case} dimensions are of the types dict, tuple, int, bool and str themselves, as some consumers check."""
    found = unusual_types(trial.interface(trial.lib.make(shape, "<f4")))
    unusual = [f"{one.key or 'the dictionary'}: {one.text}" for one in found]
    trial.expect(not unusual, "; ".join(unusual))


@check(
    "I2",
    "producer",
    needs="make",
    cases={"0": (), **_SHAPES},
    advice="Export the shape as a tuple of int.",
)
def shape_has_each_dimension(trial: Trial, shape: tuple[int, ...]) -> None:
    """The shape of an array of {case} dimensions is a tuple with the length of each."""
    if not shape:
        trial.requires("zero-dim")
    seen = trial.interface(trial.lib.make(shape, "<f4"))["shape"]
    trial.expect(seen == shape, f"shape is {seen!r}, and the array was made with {shape!r}")


@check(
    "I3",
    "producer",
    needs="make",
    cases=PLAIN,
    known="D5",
    advice="Write byte order, kind and size in bytes, as numpy.dtype.str does.",
)
def typestr_names_the_type(trial: Trial, typestr: str) -> None:
    """The typestr of an array of {case} names this type."""
    seen = trial.interface(trial.lib.make((4,), typestr))["typestr"]
    same = isinstance(seen, str) and (seen == typestr or (typestr[2:] == "1" and seen[1:] == typestr[1:]))
    trial.expect(same, f"typestr is {seen!r}, and the array was made with {typestr!r}")


@check(
    "I3",
    "producer types",
    needs="make",
    cases=FURTHER,
    known="D5",
    advice="Write byte order, kind and size in bytes, as numpy.dtype.str does.",
)
def typestr_names_a_further_type(trial: Trial, typestr: str) -> None:
    """The typestr of an array of {case} names this type."""
    typestr_names_the_type(trial, typestr)


@check(
    "I3",
    "producer",
    needs="make read write",
    cases={**PLAIN, **FURTHER},
    advice="Check that the elements are exported in the byte order of typestr.",
)
def elements_have_the_exported_type(trial: Trial, typestr: str) -> None:
    """A consumer reads the elements of {case} that the library wrote."""
    if typestr in FURTHER.values():
        trial.requires("types")
    size = parts.size_of(typestr)
    expected = bytes(index % 2 for index in range(4 * size)) if typestr == "|b1" else trial.parts.pattern(4 * size)
    array = trial.array((4,), typestr, expected)
    elements = trial.parts.read_by_the_text(array)
    trial.expect(elements == expected, f"read {elements.hex(' ')} in place of {expected.hex(' ')}")


@check(
    "I4",
    "producer",
    needs="make",
    known="D6",
    advice="Return the tuple (int, bool), not an object that looks like one.",
)
def data_is_a_pair_of_pointer_and_flag(trial: Trial) -> None:
    """The data of an array is a tuple of a pointer and a read-only flag."""
    data = trial.interface(trial.lib.make((4,), "<f4"))["data"]
    trial.expect(isinstance(data, tuple) and len(data) == 2, f"data is {data!r}, no tuple of two")
    trial.expect(isinstance(data[0], int) and data[0] > 0, f"the pointer is {data[0]!r}")
    trial.expect(isinstance(data[1], bool), f"the read-only flag is a {type(data[1]).__name__}: {data[1]!r}")
    trial.expect(data[1] is False, "a writable array is exported as read-only", Level.SHOULD)


@check("I4", "producer read-only", needs="make", known="D21", advice="Keep the flag with the array, and export it.")
def read_only_array_has_the_flag(trial: Trial) -> None:
    """A read-only array is exported with the flag True."""
    data = trial.interface(trial.lib.make((4,), "<f4", readonly=True))["data"]
    trial.expect(data[1] is True, f"a read-only array exports the flag {data[1]!r}, so consumers write to it")


@check(
    "I4",
    "producer",
    needs="make pointer",
    advice="Export the address of the first element, not that of the allocation.",
)
def pointer_is_the_first_elements(trial: Trial) -> None:
    """The pointer is the address of the array's first element."""
    array = trial.lib.make((3, 4), "<f4")
    pointer, exported = trial.lib.pointer(array), trial.interface(array)["data"][0]
    trial.expect(exported == pointer, f"the pointer is {exported:#x}, and pointer() returns {pointer:#x}")


@check(
    "I5",
    "producer zero-size",
    needs="make",
    cases={"0": (0,), "0x3": (0, 3), "3x0": (3, 0)},
    advice="Export the pointer 0 if a dimension is 0.",
)
def zero_size_array_has_pointer_zero(trial: Trial, shape: tuple[int, ...]) -> None:
    """An array of shape {case} has the pointer 0."""
    entries = trial.interface(trial.lib.make(shape, "<f4"))
    trial.expect(tuple(entries["shape"]) == shape, f"shape is {entries['shape']!r}")
    trial.expect(entries["data"][0] == 0, f"the pointer is {entries['data'][0]!r}")


@check(
    "I6",
    "producer",
    needs="make",
    advice="Export a device pointer; for pinned and mapped memory the one that the driver's attribute gives.",
)
def pointer_is_known_to_the_driver(trial: Trial) -> None:
    """The driver knows the pointer, and the allocation holds all elements."""
    array = trial.lib.make((64, 4), "<f4")
    found = _deviations(array, trial.interface(array), "data")
    trial.expect(not found, "; ".join(found))


@check(
    "I6",
    "producer",
    needs="make_in",
    cases={"managed": "managed", "pinned": "pinned"},
    advice="Export the device pointer of the memory, as cuPointerGetAttribute gives it.",
)
def pointer_to_other_memory_is_known_to_the_driver(trial: Trial, kind: str) -> None:
    """The driver knows the pointer of an array in {case} memory, and a device can use it."""
    trial.requires(kind)
    array = trial.lib.make_in(kind, (64, 4), "<f4")
    found = _deviations(array, trial.interface(array), "data")
    trial.expect(not found, "; ".join(found))


@check("I6", "producer devices", needs="make", known="D11", advice="Allocate on the device that the user chose.")
def pointer_is_on_the_chosen_device(trial: Trial) -> None:
    """An array on the second device has a pointer of that device."""
    device = parts.second_device()
    if device is None:
        trial.skip("there is one device")
    array = trial.lib.make((64,), "<f4", device=device)
    pointer = trial.interface(array)["data"][0]
    known = cuarray.pointer_attributes(pointer)
    trial.expect(
        known is not None and known.device == device, f"the pointer belongs to device {known and known.device}"
    )


@check(
    "I7",
    "producer",
    needs="make",
    level=Level.SHOULD,
    known="D17",
    advice="Export version 3 with an entry stream, so that consumers can wait.",
)
def version_is_current(trial: Trial) -> None:
    """The version is 3, the current one."""
    version = trial.interface(trial.lib.make((4,), "<f4"))["version"]
    trial.expect(isinstance(version, int) and 0 <= version <= 3, f"version is {version!r}", Level.MUST)
    trial.expect(version == 3, f"version is {version}, in which no consumer can wait for pending work")


def _requires_layout(trial: Trial, layout: Layout) -> None:
    part = layout_part(*layout)
    if part is not None:
        trial.requires(part)


def _exports_layout(trial: Trial, layout: Layout) -> None:
    shape, strides = layout
    array = trial.lib.make(shape, "<f4", strides=strides)
    entries = trial.interface(array)
    seen = entries.get("strides")
    steps = tuple(seen) if seen is not None else parts.contiguous(shape, 4)
    trial.expect(tuple(entries["shape"]) == shape, f"shape is {entries['shape']!r} in place of {shape}")
    trial.expect(len(steps) == len(shape), f"strides are {seen!r}, not one for each of the {len(shape)} dimensions")
    relevant = [index for index, length in enumerate(shape) if length > 1]
    wrong = [index for index in relevant if steps[index] != strides[index]]
    trial.expect(not wrong, f"strides are {seen!r}; expected {strides}")
    found = _deviations(array, entries, "shape", "strides", "data")
    trial.expect(not found, "; ".join(found))


_STRIDES_ADVICE = "Export the strides in bytes; leave them out only if the elements are C-contiguous."


@check("I8", "producer", needs="make", cases={**LAYOUTS, **DEEP}, known="D3", advice=_STRIDES_ADVICE)
def layout_is_exported(trial: Trial, layout: Layout) -> None:
    """The strides of a layout ({case}) are exported in bytes."""
    _requires_layout(trial, layout)
    _exports_layout(trial, layout)


@check("I8", "producer negative-strides", needs="make", cases=REVERSED, advice=_STRIDES_ADVICE)
def reversed_layout_is_exported(trial: Trial, layout: Layout) -> None:
    """The strides of a layout ({case}) are negative, and the pointer is that of its first element."""
    _exports_layout(trial, layout)


@check(
    "I8",
    "producer broadcast",
    needs="make",
    cases=BROADCAST,
    known="D1",
    advice="Do not treat an axis with stride 0 as contiguous: export its strides.",
)
def broadcast_layout_is_exported(trial: Trial, layout: Layout) -> None:
    """The strides of a layout ({case}) have a 0, and are not left out."""
    _exports_layout(trial, layout)


@check("I8", "producer", needs="make read write", cases={**LAYOUTS, **DEEP, **REVERSED}, advice=_STRIDES_ADVICE)
def consumer_reads_the_elements(trial: Trial, layout: Layout) -> None:
    """A consumer that follows the strides ({case}) reads the elements that the library wrote."""
    shape, strides = layout
    _requires_layout(trial, layout)
    expected = trial.parts.pattern(4 * math.prod(shape))
    array = trial.array(shape, "<f4", expected, strides=strides)
    elements = trial.parts.read_by_the_text(array)
    trial.expect(elements == expected, f"read {elements[:16].hex(' ')} in place of {expected[:16].hex(' ')}")


@check(
    "I9",
    "producer structures",
    needs="make",
    known="D14",
    advice="Export descr with names, types and padding of the fields.",
    level=Level.SHOULD,
)
def structure_has_the_size_of_its_elements(trial: Trial) -> None:
    """An array of 16-byte structures has a typestr of 16 bytes, and a descr of that size."""
    array = trial.lib.make((4,), "|V16")
    entries = trial.interface(array)
    trial.expect(entries["typestr"] == "|V16", f"typestr is {entries['typestr']!r}", Level.MUST)
    found = _deviations(array, entries, "descr", "typestr")
    trial.expect(not found, "; ".join(found), Level.MUST)


@check(
    "L1",
    "producer",
    needs="make",
    level=Level.SHOULD,
    advice="Build the dictionary from plain values, without a reference to the array.",
)
def reading_the_attribute_keeps_nothing_alive(trial: Trial) -> None:
    """The dictionary holds no reference to the array, so its memory is released with the array."""
    import weakref

    array = trial.lib.make((1 << 16,), "<f4")
    try:
        alive = weakref.ref(array)
    except TypeError:
        trial.skip(f"a {type(array).__name__} takes no weak reference")
    entries = trial.interface(array)
    trial.drop(array)
    del array
    gc.collect()
    trial.expect(alive() is None, f"the array lives as long as its dictionary: {sorted(entries)}")


@check(
    "L4",
    "producer streams",
    needs="make write new_stream",
    findings=("destroyed-handle", "use-after-free"),
    advice="Let the array hold the stream that it exports.",
)
def exported_stream_lives_as_long_as_the_array(trial: Trial) -> None:
    """A consumer can wait for the exported stream after the user has dropped that stream."""
    stream = trial.lib.new_stream()
    array = trial.lib.make((64,), "<f4", stream=stream)
    trial.lib.write(array, trial.parts.values(trial.parts.pattern(256)), stream=stream)
    trial.drop(stream)
    del stream
    gc.collect()
    if trial.interface(array).get("stream") is None:
        trial.skip("the array exports no stream")
    trial.parts.read_by_the_text(array)
