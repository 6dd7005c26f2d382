"""The import of tensors: every type, layout and kind of memory that DLPack allows, and those that a consumer refuses."""

from __future__ import annotations

import gc
import math
from typing import Any

from cuarray.check import parts
from cuarray.check.adapter import NotClaimed
from cuarray.check.cases import BROADCAST, DEEP, FURTHER, LAYOUTS, PLAIN, REVERSED, UNIT, Layout, layout_part
from cuarray.check.clauses import Level
from cuarray.check.registry import check
from cuarray.check.tensors import BFLOAT, CODES, CUDA, READ_ONLY, ROCM
from cuarray.check.trial import Failed, Trial, said

_TENSORS: dict[str, dict[str, Any]] = {
    "versioned": {"legacy": False},
    "unversioned": {"legacy": True},
    "null-strides": {"legacy": True, "null_strides": True},
    # Versioned for a consumer that asks for version 1.0, and unversioned for the others.
    "byte-offset": {"offset": 16},
    "F-order": {"strides": (1, 2)},
}


def _expect_elements(trial: Trial, imported: Any, expected: bytes) -> None:
    """Fail unless the library reads these elements, if it can read."""
    if trial.adapter.offers("read"):
        elements = trial.lib.read(imported)
        seen = f"{len(elements)} bytes, {elements[:16].hex(' ')}"
        trial.expect(
            elements == expected, f"the import reads {seen}, in place of {len(expected)}, {expected[:16].hex(' ')}"
        )


def _expect_pointer(trial: Trial, imported: Any, expected: int) -> None:
    if trial.adapter.offers("pointer"):
        pointer = trial.lib.pointer(imported)
        trial.expect(pointer == expected, f"the import is at {pointer:#x}, and the tensor at {expected:#x}")


@check(
    "DL8",
    "consumer dlpack",
    needs="from_dlpack",
    cases=_TENSORS,
    advice="Read strides in elements, null as compact, and add byte_offset to data.",
)
def tensor_is_imported(trial: Trial, fields: dict[str, Any]) -> None:
    """An import reads the elements of a tensor ({case})."""
    if fields.get("legacy") is False:
        trial.requires("dlpack-versioned")
    if "strides" in fields:
        trial.requires("strides")
    data = trial.parts.pattern(64)
    tensor = trial.parts.tensor(trial.parts.memory(data), (2, 3), **fields)
    imported = trial.lib.from_dlpack(tensor)
    offset = fields.get("offset", 0)
    expected = data[offset : offset + 24]
    if "strides" in fields:
        expected = b"".join(data[4 * at : 4 * at + 4] for at in (0, 2, 4, 1, 3, 5))
    _expect_pointer(trial, imported, tensor.owner.pointer + offset)
    _expect_elements(trial, imported, expected)


@check(
    "DL8",
    "consumer dlpack",
    needs="from_dlpack",
    cases={**LAYOUTS, **DEEP, **REVERSED, **BROADCAST, **UNIT},
    advice="Honour the strides, in elements, or raise an error for those that the library does not offer.",
)
def tensor_layout_is_imported(trial: Trial, layout: Layout) -> None:
    """An import reads a strided tensor ({case}) in the right order, or refuses it."""
    shape, strides = layout
    first, end = parts.extent(shape, strides, 4)
    data = trial.parts.pattern(end - first)
    tensor = trial.parts.tensor(
        trial.parts.memory(data), shape, strides=tuple(step // 4 for step in strides), first=-first
    )
    part = layout_part(shape, strides)
    if part is None and layout not in UNIT.values():
        imported = trial.lib.from_dlpack(tensor)
    else:
        imported = trial.import_legal(tensor, *filter(None, [part]), by="from_dlpack")
    _expect_pointer(trial, imported, tensor.owner.pointer - first)
    _expect_elements(
        trial, imported, b"".join(data[at - first : at - first + 4] for at in parts.offsets(shape, strides))
    )


@check(
    "DL8",
    "consumer dlpack",
    needs="from_dlpack",
    cases={"0d": (), "1d": (5,), "3d": (2, 3, 4)},
    advice="Read null strides as compact and row-major.",
)
def null_strides_are_compact(trial: Trial, shape: tuple[int, ...]) -> None:
    """An import reads a tensor ({case}) whose strides are null, as producers before DLPack 1.2 export it."""
    expected = trial.parts.pattern(4 * math.prod(shape))
    tensor = trial.parts.tensor(trial.parts.memory(expected), shape, null_strides=True, legacy=True)
    imported = trial.import_legal(tensor, *([] if shape else ["zero-dim"]), by="from_dlpack")
    _expect_elements(trial, imported, expected)


_TYPES = {name: (CODES[typestr[1]], 8 * parts.size_of(typestr), 1) for name, typestr in {**PLAIN, **FURTHER}.items()}
#: Vectors, and a type that the dictionary has no letter for.
_ODD_TYPES = {"bf16": (BFLOAT, 16, 1), "f4x2": (2, 32, 2), "f4x4": (2, 32, 4), "u1x3": (1, 8, 3)}


@check(
    "DL9",
    "consumer dlpack",
    needs="from_dlpack",
    cases={**_TYPES, **_ODD_TYPES},
    advice="Read the code, the bits and the lanes, and raise an error for a type that the library does not offer.",
)
def tensor_type_is_imported(trial: Trial, dtype: tuple[int, int, int]) -> None:
    """An import reads elements of {case}, or refuses them."""
    size = dtype[1] * dtype[2] // 8
    expected = bytes(index % 2 for index in range(4)) if dtype[0] == CODES["b"] else trial.parts.pattern(4 * size)
    tensor = trial.parts.tensor(trial.parts.memory(expected), (4,), dtype=dtype, strides=(1,))
    if dtype in _TYPES.values():
        plain = dtype in (_TYPES[name] for name in PLAIN)
        imported = trial.lib.from_dlpack(tensor) if plain else trial.import_legal(tensor, "types", by="from_dlpack")
        _expect_elements(trial, imported, expected)
        names = [name for name, each in _TYPES.items() if each == dtype]
        trial.expect_typestr(imported, tensor, {**PLAIN, **FURTHER}[names[0]])
        return
    # Few libraries have these types. One that refuses them, at the import or at the first use, is right.
    try:
        _expect_elements(trial, trial.lib.from_dlpack(tensor), expected)
    except Failed:
        raise
    except Exception as error:
        raise NotClaimed(f"the type is refused: {said(error)}") from error


@check(
    "DL10",
    "consumer dlpack zero-size",
    needs="from_dlpack",
    cases={"0": (0,), "0x3": (0, 3), "3x0": (3, 0)},
    known="D13",
    advice="Do not query the driver for a null pointer if a dimension is 0.",
)
def tensor_without_elements_is_imported(trial: Trial, shape: tuple[int, ...]) -> None:
    """An import accepts a tensor without elements ({case}), whose pointer is null."""
    tensor = trial.parts.tensor(trial.parts.memory(b""), shape, pointer=0)
    imported = trial.import_legal(tensor, by="from_dlpack")
    _expect_elements(trial, imported, b"")


@check(
    "DL1",
    "consumer dlpack",
    needs="from_dlpack",
    cases={"managed": "managed", "pinned": "pinned"},
    advice="Accept managed and pinned memory, which a device can use, or raise an error.",
)
def tensor_in_other_memory_is_imported(trial: Trial, kind: str) -> None:
    """An import reads a tensor in {case} memory, and exports it as such."""
    expected = trial.parts.pattern(24)
    tensor = trial.parts.tensor(trial.parts.memory(expected, 0, kind), (2, 3))
    imported = trial.import_legal(tensor, kind, by="from_dlpack")
    _expect_elements(trial, imported, expected)
    _expect_device(trial, imported, tensor.__dlpack_device__())


@check(
    "DL1",
    "consumer dlpack devices",
    needs="from_dlpack",
    cases={"plain": False, "empty": True},
    known="D11",
    advice="Take the device from the tensor.",
)
def tensor_of_the_second_device_is_imported(trial: Trial, empty: bool) -> None:
    """An import reads a tensor of the second device ({case}), and exports it as one."""
    device = parts.second_device()
    if device is None:
        trial.skip("there is one device")
    expected = b"" if empty else trial.parts.pattern(24)
    memory = trial.parts.memory(expected, device)
    tensor = trial.parts.tensor(memory, (0, 3) if empty else (2, 3), pointer=0 if empty else None)
    imported = trial.import_legal(tensor, *(["zero-size"] if empty else []), by="from_dlpack")
    _expect_elements(trial, imported, expected)
    _expect_device(trial, imported, (CUDA, device))


def _expect_device(trial: Trial, imported: Any, expected: tuple[int, int]) -> None:
    """Fail unless an import that is exported again names this device."""
    if hasattr(imported, "__dlpack_device__"):
        seen = tuple(map(int, imported.__dlpack_device__()))
        trial.expect(seen == expected, f"the import exports the device {seen}, and the tensor has {expected}")


@check(
    "DL4",
    "consumer dlpack",
    needs="from_dlpack",
    advice="Ask for max_version as a pair of integers, and for dl_device and copy only if the user does.",
)
def import_asks_as_the_text_says(trial: Trial) -> None:
    """An import passes only the arguments of the specification, by their names, and of their types."""
    tensor = trial.parts.tensor(trial.parts.memory(bytes(24)), (2, 3))
    trial.lib.from_dlpack(tensor)
    for request in tensor.requests:
        unknown = sorted(request.keys() - {"stream", "max_version", "dl_device", "copy"})
        trial.expect(not unknown, f"the import passes {', '.join(unknown)}")
        for name in ("max_version", "dl_device"):
            value = request.get(name)
            pair = isinstance(value, tuple) and len(value) == 2 and all(isinstance(each, int) for each in value)
            trial.expect(value is None or pair, f"{name} is {value!r}, no pair of integers")
        device = request.get("dl_device")
        trial.expect(device in (None, tensor.__dlpack_device__()), f"the import asks for the device {device}")
        trial.expect(not request.get("copy"), "the import asks for a copy")


@check(
    "DL5",
    "consumer dlpack dlpack-versioned",
    needs="from_dlpack",
    known="D21",
    level=Level.SHOULD,
    advice="Keep the flag, or refuse the tensor.",
)
def read_only_tensor_stays_read_only(trial: Trial) -> None:
    """An import of a read-only tensor is read-only, or is refused."""
    tensor = trial.parts.tensor(trial.parts.memory(bytes(24)), (2, 3), flags=READ_ONLY)
    try:
        imported = trial.lib.from_dlpack(tensor)
    except BufferError:
        return
    entries = getattr(imported, "__cuda_array_interface__", None)
    if entries is None:
        trial.skip("the import has no __cuda_array_interface__")
    trial.expect(entries["data"][1] is True, "the import exports the array as writable")


@check(
    "DL4",
    "consumer dlpack dlpack-versioned",
    needs="from_dlpack",
    level=Level.SHOULD,
    cases={
        "version-2": {"version": (2, 0)},
        "rocm": {"device": (ROCM, 0)},
        "unknown-type": {"dtype": (99, 32, 1)},
        "no-lanes": {"dtype": (2, 32, 0)},
        "negative-length": {"shape": (-2, 3)},
    },
    advice="Check the version, the device, the type and the shape before the tensor is used; call the deleter, and raise an error.",
)
def unreadable_tensor_is_refused_and_deleted(trial: Trial, fields: dict[str, Any]) -> None:
    """A tensor that cannot be read ({case}) is an error. A consumer that has renamed the capsule calls the deleter once."""
    described = {"shape": (2, 3), **fields}
    tensor = trial.parts.tensor(trial.parts.memory(bytes(24)), described.pop("shape"), **described)
    try:
        trial.lib.from_dlpack(tensor)
    except Exception:
        gc.collect()
        trial.expect(tensor.deleted <= 1, f"the deleter is called {tensor.deleted} times", Level.MUST)
        if tensor.capsule is not None:
            taken = tensor.capsule_name.startswith("used_")
            trial.expect(
                taken or not tensor.deleted,
                "the deleter is called, and the capsule's own end calls it again",
                Level.MUST,
            )
            trial.expect(
                not taken or tensor.deleted == 1, "the capsule is renamed, and the deleter is never called: a leak"
            )
        return
    trial.fail(f"the import accepts a tensor with {fields}")
