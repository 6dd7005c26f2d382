"""The tensors that a library exports: device, type, shape, strides and pointer, for every layout, type and kind of memory."""

from __future__ import annotations

import math
from typing import Any

from cuarray.check import parts
from cuarray.check.cases import BROADCAST, DEEP, FURTHER, LAYOUTS, PLAIN, REVERSED, Layout, layout_part
from cuarray.check.clauses import Level
from cuarray.check.registry import check
from cuarray.check.tensors import CODES, CUDA, CUDA_HOST, CUDA_MANAGED, Capsule
from cuarray.check.trial import Trial

#: Shapes of contiguous arrays, by the number of dimensions.
_SHAPES: dict[str, tuple[int, ...]] = {
    "0": (),
    "1": (5,),
    "2": (3, 4),
    "3": (2, 3, 4),
    "4": (2, 3, 4, 5),
    "5": (2, 3, 4, 5, 6),
}
#: Shapes without elements.
_EMPTY = {"0": (0,), "0x3": (0, 3), "3x0": (3, 0)}


@check("DL1", "producer dlpack", needs="make", advice="Return (2, number) for device memory.")
def device_is_a_pair_of_integers(trial: Trial) -> None:
    """`__dlpack_device__` returns the kind of memory and the number of the device."""
    seen = trial.exporter((4,), "<f4").__dlpack_device__()
    pair = isinstance(seen, tuple) and len(seen) == 2 and all(isinstance(each, int) for each in seen)
    trial.expect(pair and seen[0] in (CUDA, CUDA_HOST, CUDA_MANAGED), f"__dlpack_device__() returns {seen!r}")


@check(
    "DL2",
    "producer dlpack",
    needs="make read write",
    cases={"C-order": (16, 4), "F-order": (4, 12), "sliced": (32, 8)},
    advice="Export strides in elements, and the address of the first element as data plus byte_offset.",
)
def consumer_reads_the_tensors_elements(trial: Trial, strides: tuple[int, int]) -> None:
    """A consumer of the tensor ({case}) reads the elements that the library wrote."""
    if strides != (16, 4):
        trial.requires("strides")
    expected = trial.parts.pattern(48)
    array = trial.array((3, 4), "<f4", expected, strides=strides)
    trial.expect_dlpack(array)
    capsule = Capsule(trial.dlpack(array))
    trial.expect(capsule.shape == (3, 4), f"the shape is {capsule.shape}")
    trial.expect(capsule.dtype == (2, 32, 1), f"the type is {_type(capsule.dtype)}")
    elements = capsule.read(trial.parts.stream())
    trial.expect(elements == expected, f"read {elements[:16].hex(' ')} in place of {expected[:16].hex(' ')}")


def _expect_device(trial: Trial, array: Any, expected: tuple[int, int]) -> None:
    """Fail unless `__dlpack_device__` and the tensor name this kind of memory and this device."""
    seen = trial.expect_dlpack(array).__dlpack_device__()
    trial.expect(tuple(map(int, seen)) == expected, f"__dlpack_device__() returns {seen!r}, expected {expected}")
    capsule = Capsule(trial.dlpack(array))
    trial.expect(capsule.device == expected, f"the tensor's device is {capsule.device}, expected {expected}")


@check(
    "DL1",
    "producer dlpack",
    needs="make",
    cases={"plain": (4,), "empty": (0,)},
    advice="Return (2, number) for device memory.",
)
def device_is_that_of_the_array(trial: Trial, shape: tuple[int, ...]) -> None:
    """`__dlpack_device__` and the tensor of an array on the first device ({case}) say (2, 0)."""
    if not math.prod(shape):
        trial.requires("zero-size")
    _expect_device(trial, trial.lib.make(shape, "<f4"), (CUDA, 0))


@check(
    "DL1",
    "producer dlpack devices",
    needs="make",
    cases={"plain": (4,), "empty": (0,)},
    known="D11",
    advice="Keep the device with the array, also with an array without elements, and export it.",
)
def device_is_the_chosen_one(trial: Trial, shape: tuple[int, ...]) -> None:
    """`__dlpack_device__` and the tensor of an array on the second device ({case}) name this device."""
    if not math.prod(shape):
        trial.requires("zero-size")
    device = parts.second_device()
    if device is None:
        trial.skip("there is one device")
    _expect_device(trial, trial.lib.make(shape, "<f4", device=device), (CUDA, device))


_KINDS = {"managed": "managed", "pinned": "pinned"}
_KIND = "Keep the kind of memory with the array, also with one without elements: 13 is managed memory, and 3 is pinned host memory."


@check("DL1", "producer dlpack", needs="make_in", cases=_KINDS, advice=_KIND)
def device_names_the_kind_of_memory(trial: Trial, kind: str) -> None:
    """`__dlpack_device__` and the tensor of an array in {case} memory name this kind."""
    trial.requires(kind)
    _expect_device(trial, trial.lib.make_in(kind, (4,), "<f4"), (parts.KINDS[kind], 0))


@check("DL1", "producer dlpack zero-size", needs="make_in", cases=_KINDS, advice=_KIND)
def device_of_an_empty_array_names_the_kind_of_memory(trial: Trial, kind: str) -> None:
    """`__dlpack_device__` and the tensor of an array without elements in {case} memory name this kind."""
    trial.requires(kind)
    _expect_device(trial, trial.lib.make_in(kind, (0, 3), "<f4"), (parts.KINDS[kind], 0))


@check(
    "DL2", "producer dlpack", needs="make", cases=_SHAPES, advice="Export the number of axes, and the length of each."
)
def tensor_has_each_dimension(trial: Trial, shape: tuple[int, ...]) -> None:
    """The tensor of an array of {case} dimensions has the length of each, and the strides of a compact array."""
    if not shape:
        trial.requires("zero-dim")
    capsule = Capsule(trial.dlpack(trial.exporter(shape, "<f4")))
    trial.expect(capsule.tensor.ndim == len(shape), f"ndim is {capsule.tensor.ndim}, expected {len(shape)}")
    trial.expect(capsule.shape == shape, f"the shape is {capsule.shape}, expected {shape}")
    strides, compact = capsule.strides, parts.contiguous(shape, 1)
    trial.expect(not shape or strides in (None, compact), f"the strides are {strides}, expected {compact} or null")


@check(
    "DL8",
    "producer dlpack",
    needs="make",
    cases={**LAYOUTS, **DEEP, **REVERSED, **BROADCAST},
    known="D3",
    advice="Export strides in elements, with their signs; null is for a compact row-major array only.",
)
def tensor_has_the_arrays_layout(trial: Trial, layout: Layout) -> None:
    """The tensor of a layout ({case}) has its shape, its strides in elements, and the address of its first element."""
    shape, strides = layout
    part = layout_part(shape, strides)
    if part is not None:
        trial.requires(part)
    array = trial.exporter(shape, "<f4", strides=strides)
    capsule = Capsule(trial.dlpack(array))
    trial.expect(capsule.shape == shape, f"the shape is {capsule.shape}, expected {shape}")
    expected = tuple(step // 4 for step in strides)
    steps = capsule.strides or parts.contiguous(shape, 1)
    wrong = [axis for axis, length in enumerate(shape) if length > 1 and steps[axis] != expected[axis]]
    trial.expect(not wrong, f"the strides are {capsule.strides}, expected {expected}")
    if trial.adapter.offers("pointer"):
        pointer = trial.lib.pointer(array)
        trial.expect(
            capsule.pointer == pointer, f"the tensor is at {capsule.pointer:#x}, and the array at {pointer:#x}"
        )


def _type(dtype: tuple[int, int, int]) -> str:
    code, bits, lanes = dtype
    return f"code {code} with {bits} bits and {lanes} lanes"


_TYPE = "Export the code of the type (0 to 2 for i, u and f, 5 for complex, 6 for bool), the bits of an element, and one lane."


def _expect_type(trial: Trial, typestr: str) -> None:
    capsule = Capsule(trial.dlpack(trial.exporter((4,), typestr)))
    expected = (CODES[typestr[1]], 8 * parts.size_of(typestr), 1)
    trial.expect(capsule.dtype == expected, f"the type is {_type(capsule.dtype)}, expected {_type(expected)}")


@check("DL9", "producer dlpack", needs="make", cases=PLAIN, advice=_TYPE)
def tensor_has_the_arrays_type(trial: Trial, typestr: str) -> None:
    """The tensor of an array of {case} has this type."""
    _expect_type(trial, typestr)


@check("DL9", "producer dlpack types", needs="make", cases=FURTHER, advice=_TYPE)
def tensor_has_a_further_type(trial: Trial, typestr: str) -> None:
    """The tensor of an array of {case} has this type."""
    _expect_type(trial, typestr)


@check(
    "DL10",
    "producer dlpack zero-size",
    needs="make",
    level=Level.SHOULD,
    cases=_EMPTY,
    advice="Export a null pointer and no byte offset if a dimension is 0.",
)
def tensor_without_elements_has_a_null_pointer(trial: Trial, shape: tuple[int, ...]) -> None:
    """The tensor of an array of shape {case} has this shape, and a null pointer."""
    capsule = Capsule(trial.dlpack(trial.exporter(shape, "<f4")))
    trial.expect(capsule.shape == shape, f"the shape is {capsule.shape}, expected {shape}", Level.MUST)
    trial.expect(capsule.pointer == 0, f"the pointer is {capsule.pointer:#x}")
