"""The import of other libraries' arrays: legal forms are read without a copy, and illegal ones are refused with an error."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

from cuarray.check import parts
from cuarray.check.cases import (
    BROADCAST,
    DEEP,
    EMPTY,
    FURTHER,
    ILLEGAL,
    LAYOUTS,
    PLAIN,
    REVERSED,
    UNIT,
    Layout,
    layout_part,
)
from cuarray.check.clauses import Level
from cuarray.check.registry import check
from cuarray.check.trial import Trial

_READS = "Read the entry as the text says; an entry that is absent or None has its default."
_REFUSES = "Check the entry before the pointer is used, and raise an error that names it."


def _compare(trial: Trial, imported: Any, expected: bytes) -> None:
    """Fail unless the library reads these elements, if it can read."""
    if not trial.adapter.offers("read"):
        return
    elements = trial.lib.read(imported)
    trial.expect(
        elements == expected,
        f"the import reads {len(elements)} bytes, {elements[:16].hex(' ')}, in place of {len(expected)}, {expected[:16].hex(' ')}",
    )


def _plain(trial: Trial, **entries: Any) -> tuple[Any, bytes]:
    expected = trial.parts.pattern(24)
    return trial.parts.foreign(trial.parts.memory(expected), (2, 3), "<f4", **entries), expected


@check("I1", "consumer", needs="import_", advice=_READS)
def plain_array_is_imported(trial: Trial) -> None:
    """An import reads a C-contiguous array of version 3 with the required entries only."""
    obj, expected = _plain(trial)
    _compare(trial, trial.lib.import_(obj), expected)


@check("I1", "consumer", needs="import_ pointer", advice="Import the memory itself: no copy.")
def import_copies_nothing(trial: Trial) -> None:
    """An import has the pointer of the producer's array."""
    memory = trial.parts.memory(trial.parts.pattern(24))
    imported = trial.lib.import_(trial.parts.foreign(memory, (2, 3), "<f4"))
    pointer = trial.lib.pointer(imported)
    trial.expect(pointer == memory.pointer, f"the import is at {pointer:#x}, and the array at {memory.pointer:#x}")


@check("I1", "consumer", needs="import_ write", advice="Import the memory itself: no copy.")
def write_to_import_changes_the_producers_array(trial: Trial) -> None:
    """A write to an import is seen in the producer's memory."""
    memory = trial.parts.memory(bytes(24))
    imported = trial.lib.import_(trial.parts.foreign(memory, (2, 3), "<f4"))
    expected = trial.parts.pattern(24, 2)
    trial.lib.write(imported, trial.parts.values(expected))
    if trial.adapter.offers("read"):
        trial.lib.read(imported)
        trial.expect(memory.get() == expected, "the write does not reach the producer's memory")


_OPTIONAL: dict[str, dict[str, Any]] = {
    "strides-None": {"strides": None},
    "strides-explicit": {"strides": (12, 4)},
    "stream-None": {"stream": None},
    "mask-None": {"mask": None},
    "descr-None": {"descr": None},
    "descr-of-typestr": {"descr": [("", "<f4")]},
    "unknown-entry": {"later": 1},
}


@check("I8", "consumer", needs="import_", cases=_OPTIONAL, known="D8", advice=_READS)
def optional_entry_is_read(trial: Trial, entries: dict[str, Any]) -> None:
    """An import accepts an optional entry in each of its forms ({case})."""
    obj, expected = _plain(trial, **entries)
    _compare(trial, trial.import_legal(obj), expected)


@check(
    "I7",
    "consumer old-versions",
    needs="import_",
    cases={str(n): n for n in (0, 1, 2)},
    known="D9",
    level=Level.SHOULD,
    advice="Accept version 0 to 3; older versions have no mask or no stream.",
)
def older_version_is_read(trial: Trial, version: int) -> None:
    """An import accepts an array of version {case}."""
    obj, expected = _plain(trial, version=version, strides=None)
    _compare(trial, trial.import_legal(obj), expected)


@check(
    "I8",
    "consumer",
    needs="import_",
    cases={**LAYOUTS, **DEEP, **REVERSED, **BROADCAST, **UNIT},
    advice="Honour the strides, in bytes, or raise an error for those that the library does not offer.",
)
def layout_is_imported(trial: Trial, layout: Layout) -> None:
    """An import reads a strided array ({case}) in the right order, or refuses it."""
    shape, strides = layout
    first, end = parts.extent(shape, strides, 4)
    data = trial.parts.pattern(end - first)
    memory = trial.parts.memory(data)
    expected = b"".join(data[at - first : at - first + 4] for at in parts.offsets(shape, strides))
    obj = trial.parts.foreign(memory, shape, "<f4", offset=-first, strides=strides)
    part = layout_part(shape, strides)
    plain = part is None and layout not in UNIT.values()
    _compare(trial, trial.lib.import_(obj) if plain else trial.import_legal(obj, *filter(None, [part])), expected)


@check(
    "I3",
    "consumer",
    needs="import_",
    cases={**PLAIN, **FURTHER},
    advice="Map the typestr to the library's type, or raise an error.",
)
def type_is_imported(trial: Trial, typestr: str) -> None:
    """An import reads elements of {case}, or refuses them."""
    size = parts.size_of(typestr)
    expected = bytes(index % 2 for index in range(4)) if typestr == "|b1" else trial.parts.pattern(4 * size)
    obj = trial.parts.foreign(trial.parts.memory(expected), (4,), typestr)
    plain = typestr in PLAIN.values()
    imported = trial.lib.import_(obj) if plain else trial.import_legal(obj, "types")
    _compare(trial, imported, expected)
    trial.expect_typestr(imported, obj, typestr)


@check(
    "I5",
    "consumer zero-size",
    needs="import_",
    cases=EMPTY,
    known="D13",
    advice="Do not query the driver for a null pointer if a dimension is 0.",
)
def zero_size_array_is_imported(trial: Trial, layout: tuple[tuple[int, ...], tuple[int, ...] | None]) -> None:
    """An import accepts an array without elements ({case}), whose pointer is 0."""
    shape, strides = layout
    entries = {"shape": shape, "typestr": "<f4", "data": (0, False), "version": 3, "strides": strides}
    _compare(trial, trial.import_legal(trial.parts.Foreign(entries)), b"")


@check(
    "I10",
    "consumer",
    needs="import_",
    known="D7",
    advice="Raise an error for a mask that is not None, unless the library has masked arrays.",
)
def mask_is_not_ignored(trial: Trial) -> None:
    """An import honours a mask, or refuses the array; it does not read invalid elements as valid ones."""
    mask = trial.parts.foreign(trial.parts.memory(b"\1\0\1"), (3,), "|b1")
    obj = trial.parts.foreign(trial.parts.memory(trial.parts.pattern(12)), (3,), "<f4", mask=mask)
    if trial.refusal(obj) is not None:
        return
    imported = trial.lib.import_(obj)
    entries = getattr(imported, "__cuda_array_interface__", {})
    honoured = entries.get("mask") is not None or getattr(imported, "mask", None) is not None
    trial.expect(honoured, "the import ignores the mask: invalid elements become valid")


@check(
    "I4",
    "consumer read-only",
    needs="import_",
    known="D21",
    level=Level.SHOULD,
    advice="Keep the flag: refuse writes, and export it; or refuse the array.",
)
def read_only_flag_is_kept(trial: Trial) -> None:
    """An import of a read-only array is read-only, or is refused."""
    memory = trial.parts.memory(trial.parts.pattern(12))
    obj = trial.parts.foreign(memory, (3,), "<f4", data=(memory.pointer, True))
    if trial.refusal(obj) is not None:
        return
    imported = trial.lib.import_(obj)
    entries = getattr(imported, "__cuda_array_interface__", None)
    if imported is obj or entries is None:
        trial.skip("the import has no interface of its own")
    trial.expect(entries["data"][1] is True, "the import exports the array as writable")


@check(
    "L2",
    "consumer",
    needs="import_",
    known="D23",
    level=Level.SHOULD,
    advice="Hold a reference to the object in the imported array.",
)
def owner_lives_as_long_as_the_import(trial: Trial) -> None:
    """An import keeps the producer's object alive, and releases it with the last array."""
    obj, _ = _plain(trial)
    alive = weakref.ref(obj)
    imported = trial.lib.import_(obj)
    if imported is obj:
        trial.skip("the library uses the array without an import")
    trial.drop(obj)
    del obj
    gc.collect()
    trial.expect(
        alive() is not None, "the producer's object is gone while the import lives; its memory may be used again"
    )
    trial.lib.close(imported)
    trial.drop(imported)
    del imported
    gc.collect()
    trial.expect(alive() is None, "the producer's object is never released: a leak")


def illegal_array_is_refused(trial: Trial, entries: dict[str, Any]) -> None:
    """An import refuses an illegal dictionary ({case}) with an error, and does not crash."""
    obj, _ = _plain(trial, **entries)
    described = ", ".join(f"{key} {value!r}" for key, value in entries.items())
    error = trial.refusal(obj)
    trial.expect(error is not None, f"the import accepts an array with {described}")
    fatal = isinstance(error, (MemoryError, RecursionError, SystemError))
    trial.expect(not fatal, f"the import fails with {type(error).__name__}: {error}")


for _clause, _cases in ILLEGAL.items():
    _known = "D2" if _clause == "I11" else None
    _register = check(
        _clause, "consumer", needs="import_", cases=_cases, level=Level.SHOULD, known=_known, advice=_REFUSES
    )
    _register(illegal_array_is_refused)


_POINTERS = {
    "float": float,
    "text": str,
    "negative": lambda pointer: -pointer,
    "beyond-64-bits": lambda pointer: pointer + (1 << 64),
}


@check("I4", "consumer", needs="import_", cases=_POINTERS, level=Level.SHOULD, advice=_REFUSES)
def pointer_to_memory_that_is_no_address_is_refused(trial: Trial, changed: Callable[[int], Any]) -> None:
    """An import refuses the pointer of an array in a wrong form ({case}), although a conversion would give an address."""
    memory = trial.parts.memory(trial.parts.pattern(24))
    obj = trial.parts.foreign(memory, (2, 3), "<f4", data=(changed(memory.pointer), False))
    trial.expect(trial.refusal(obj) is not None, f"the import accepts the pointer {changed(memory.pointer)!r}")


@check(
    "I1",
    "consumer",
    needs="import_",
    level=Level.SHOULD,
    known="D22",
    advice="Let the producer's exception pass, or raise an error from it.",
)
def exception_of_the_attribute_is_an_error(trial: Trial) -> None:
    """An import of an object whose attribute raises an exception raises an error."""

    class Raises:
        @property
        def __cuda_array_interface__(self) -> Any:
            raise RuntimeError("a tensor that requires a gradient")

    trial.expect(trial.refusal(Raises()) is not None, "the import returns an array")


@check(
    "I1",
    "consumer",
    needs="import_",
    level=Level.SHOULD,
    known="D24",
    cases={"shape": "shape", "strides": "strides", "data": "data"},
    advice="Accept subclasses of tuple.",
)
def subclass_of_tuple_is_read(trial: Trial, key: str) -> None:
    """An import accepts a subclass of tuple as {case}."""
    expected = trial.parts.pattern(24)
    memory = trial.parts.memory(expected)
    entries = {"shape": (2, 3), "strides": (12, 4), "data": (memory.pointer, False)}
    given = {"strides": (12, 4), key: trial.parts.Subtuple(entries[key])}
    obj = trial.parts.foreign(memory, (2, 3), "<f4", **given)
    _compare(trial, trial.import_legal(obj), expected)


@check("I6", "consumer devices", needs="import_", known="D11", advice="Ask the driver for the device of the pointer.")
def array_on_second_device_is_imported(trial: Trial) -> None:
    """An import reads an array of the second device while the first one is current, or refuses it."""
    device = parts.second_device()
    if device is None:
        trial.skip("there is one device")
    expected = trial.parts.pattern(24)
    obj = trial.parts.foreign(trial.parts.memory(expected, device), (2, 3), "<f4")
    _compare(trial, trial.import_legal(obj), expected)


@check(
    "I6",
    "consumer",
    needs="import_",
    cases={"managed": "managed", "pinned": "pinned"},
    advice="Ask the driver for the kind of memory; a device can use managed and pinned memory.",
)
def array_in_other_memory_is_imported(trial: Trial, kind: str) -> None:
    """An import reads an array in {case} memory, or refuses it."""
    expected = trial.parts.pattern(24)
    obj = trial.parts.foreign(trial.parts.memory(expected, 0, kind), (2, 3), "<f4")
    _compare(trial, trial.import_legal(obj, kind), expected)
