"""The mutants: each rule for each fact that it fits. The rules follow the kinds of facts, and not the checks of the kit."""

from __future__ import annotations

from collections.abc import Iterator

from cuarray.check import parts
from cuarray.check.cases import FURTHER, PLAIN
from kit_mutants.facts import Mutant
from kit_mutants.rules import (
    AXES,
    Rules,
    at,
    compact,
    confused,
    constant,
    crashes,
    dtype,
    entries,
    left_out,
    neighbour,
    only_for,
    raises,
    refused,
    shapes,
    strides,
    synchronizes,
    without,
)

KINDS = parts.KINDS
TYPES = [*PLAIN.values(), *FURTHER.values()]


def of_producer() -> Iterator[tuple[str, Rules]]:
    """Yield the facts of an export, with their rules."""
    yield "export.shape", shapes(is_import=False)
    yield "export.shape", ((f"entry {axis} is a float", at(axis, float)) for axis in AXES)
    yield "export.shape", iter([("a list", list), ("text", str)])
    yield "export.strides", strides(lambda size: size, left=lambda *_: None)
    yield "export.strides", iter([("in elements", lambda v: (tuple(step // v[2] for step in v[0]), *v[1:]))])
    yield (
        "export.strides",
        ((f"entry {axis} is a float", lambda v, axis=axis: (at(axis, float)(v[0]), *v[1:])) for axis in AXES),
    )
    yield "export.strides", iter([("a list", lambda v: (list(v[0]), *v[1:]))])
    yield "export.typestr", ((f"{each} as {neighbour(each)}", confused(each, neighbour(each))) for each in TYPES)
    yield (
        "export.typestr",
        iter(
            [
                ("without the byte order", lambda v: v[1:]),
                ("big-endian", lambda v: ">" + v[1:]),
                ("the size in bits", lambda v: f"{v[:2]}{int(v[2:]) * 8}"),
                ("bytes", lambda v: v.encode()),
            ]
        ),
    )
    yield (
        "export.pointer",
        iter(
            [
                ("that of the memory", lambda v: (v[1], v[1])),
                ("one element too far", lambda v: (v[0] + 4, v[1])),
                ("of no memory", constant((4096, 0))),
                ("0", constant((0, 0))),
                ("a float", lambda v: (float(v[0]), v[1])),
                ("text", lambda v: (hex(v[0]), v[1])),
            ]
        ),
    )
    yield "export.pointer.empty", iter([("that of memory", constant(4096)), ("None", constant(None))])
    yield (
        "export.data",
        iter([("a list", list), ("the pointer alone", lambda v: v[0]), ("three entries", lambda v: (*v, 0))]),
    )
    yield (
        "export.read-only",
        iter(
            [
                ("never", constant(False)),
                ("always", constant(True)),
                ("inverted", lambda v: not v),
                ("an int", int),
                ("None", constant(None)),
            ]
        ),
    )
    yield "export.version", iter([(repr(each), constant(each)) for each in (2, 4, -1, 3.0, "3", None)])
    yield "export.stream", iter([(repr(each), constant(each)) for each in (0, -1, None, "1", 1.0)])
    yield "export.stream", iter([("1 for a handle", lambda v: 1 if v else v), ("1 without work", lambda v: v or 1)])
    yield "export.stream.waits-for-the-others", iter([("left out", left_out)])
    yield "export.memory.waits", iter([("left out", left_out)])
    yield (
        "export.entries",
        ((f"without {key}", lambda v, key=key: without(v, key)) for key in ("shape", "typestr", "data", "version")),
    )
    yield (
        "export.entries",
        iter(
            [
                ("pairs", lambda v: list(v.items())),
                ("an unknown entry", lambda v: {**v, "device": 0}),
                ("an error", raises(RuntimeError)),
            ]
        ),
    )
    for place in ("export.device.kind", "export.tensor.kind"):
        yield (
            place,
            (
                (f"{this} as {other}", confused(KINDS[this], KINDS[other]))
                for this in KINDS
                for other in KINDS
                if this != other
            ),
        )
        yield place, iter([("host memory", constant(1)), ("ROCm", constant(10))])
    for place in ("export.device.number", "export.tensor.number"):
        yield place, iter([("always 0", constant(0)), ("one too many", lambda v: v + 1)])
    yield (
        "export.device",
        iter(
            [
                ("a list", list),
                ("the kind alone", lambda v: v[0]),
                ("three entries", lambda v: (*v, 0)),
                ("text", lambda v: ("cuda", 0)),
            ]
        ),
    )
    yield (
        "export.tensor.type",
        ((f"{each} as {neighbour(each)}", confused(dtype(each), dtype(neighbour(each)))) for each in TYPES),
    )
    yield (
        "export.tensor.type",
        iter(
            [
                ("the size in bytes", lambda v: (v[0], v[1] // 8, v[2])),
                ("complex as two lanes", lambda v: (2, v[1] // 2, 2) if v[0] == 5 else v),
                ("half as bfloat16", confused((2, 16, 1), (4, 16, 1))),
                ("bool of one bit", confused((6, 8, 1), (6, 1, 1))),
                ("no lanes", lambda v: (*v[:2], 0)),
                ("two lanes", lambda v: (*v[:2], 2)),
            ]
        ),
    )
    yield "export.tensor.shape", shapes(is_import=False)
    yield (
        "export.tensor.ndim",
        iter([("no axes are one", lambda v: v or 1), ("one too few", lambda v: max(v - 1, 0)), ("-1", constant(-1))]),
    )
    yield "export.tensor.strides", strides(lambda size: 1, left=lambda *_: None)
    yield "export.tensor.strides", iter([("in bytes", lambda v: (tuple(step * v[2] for step in v[0]), *v[1:]))])
    yield (
        "export.tensor.data",
        iter(
            [
                ("that of the memory", lambda v: (v[1], v[1])),
                ("one element too far", lambda v: (v[0] + 4, v[1])),
                ("null", constant((0, 0))),
            ]
        ),
    )
    yield "export.tensor.data.empty", iter([("that of memory", constant(4096))])
    yield "export.tensor.byte_offset", iter([("one element", constant(4))])
    yield "export.capsule.is-versioned", iter([("never", constant(False)), ("always", constant(True))])
    yield (
        "export.capsule.name",
        iter(
            [
                ("consumed", constant(b"used_dltensor")),
                ("another", constant(b"tensor")),
                ("the other", lambda v: b"dltensor" if v[8:] else v + b"_versioned"),
            ]
        ),
    )
    yield "export.tensor.version", iter([(str(each), constant(each)) for each in ((0, 8), (2, 0), (3, 0))])
    yield "export.tensor.read-only", iter([("never", constant(0)), ("always", constant(1))])
    yield "export.tensor.copied", iter([("left out", constant(0))])
    yield "export.tensor.shared", iter([("with the flag of a copy", constant(False))])
    yield "export.request.copy", iter([("never", constant(False)), ("always", constant(True))])
    yield "export.copy.elements", iter([("left out", left_out)])
    yield "export.request.stream", ((f"{each} is not ordered", only_for(each)) for each in (None, 1, 2, "handle"))
    yield "export.request.stream", ((f"{each} is refused", refused(each)) for each in (None, 1, 2, "handle"))
    yield (
        "export.request.stream-minus-one",
        iter([("synchronizes", synchronizes), ("is refused", raises(BufferError))]),
    )
    yield "export.request.stream-zero-is-refused", iter([("left out", left_out)])
    yield "export.request.read-only-without-flags-is-refused", iter([("left out", left_out)])
    yield "export.request.own-device", iter([("is refused", constant((99, 0)))])
    yield (
        "export.request.other-device-is-refused",
        ((f"{each} is granted", only_for(each)) for each in ((10, 0), (1, 0))),
    )
    yield "export.request.other-device", iter([("KeyError", raises(KeyError))])
    yield (
        "export.request.max_version",
        iter([("0.8 as 1.0", confused((0, 8), (1, 0))), ("2.0 is refused", refused((2, 0)))]),
    )
    yield (
        "export.request",
        iter(
            (f"{key} is unknown", lambda v, key=key: raises(TypeError)(v) if key in v else v)
            for key in ("stream", "max_version", "dl_device", "copy")
        ),
    )
    yield "export.tensor.keeps-the-array", iter([("left out", left_out)])
    yield "export.capsule.ends", iter([("left out", left_out)])
    yield "export.capsule.end-respects-the-consumer", iter([("left out", left_out)])
    yield "export.deleter.releases", iter([("left out", left_out)])


def of_consumer() -> Iterator[tuple[str, Rules]]:
    """Yield the facts of an import, with their rules."""
    yield "import.shape", shapes(is_import=True)
    yield "import.strides", strides(lambda size: size, left=lambda steps, shape, size: compact(shape, size))
    yield (
        "import.strides",
        iter(
            [
                ("in elements", lambda v: (tuple(step * v[2] for step in v[0]), *v[1:])),
                ("negative ones are refused", lambda v: refused(True)(min(v[0], default=0) < 0) or v),
                ("0 is refused", lambda v: refused(True)(0 in v[0]) or v),
                ("others than compact ones are refused", lambda v: refused(True)(v[0] != compact(*v[1:])) or v),
                ("absent ones are required", raises(KeyError)),
            ]
        ),
    )
    yield "import.typestr", ((f"{each} as {neighbour(each)}", confused(each, neighbour(each))) for each in TYPES)
    yield "import.typestr", ((f"{each} is refused", refused(each)) for each in TYPES)
    yield (
        "import.read-only",
        iter(
            [
                ("left out", constant(False)),
                ("is refused", refused(True)),
                ("a writable one is refused", refused(False)),
            ]
        ),
    )
    yield "import.version", ((f"{each} is refused", refused(each)) for each in range(4))
    yield "import.version", iter([("3 as 2", confused(3, 2))])
    yield "import.mask.refused", iter([("left out", left_out)])
    yield "import.pointer", iter([("one element too far", lambda v: v + 4), ("null is refused", refused(0))])
    for key in ("shape", "strides", "data", "version", "stream"):
        yield (
            f"import.{key}.accepted",
            iter(
                [
                    ("floats", entries(float, int)),
                    ("any size", entries(int, lambda each: each % (1 << 62) if abs(each) >= 1 << 62 else each)),
                    ("negative numbers", entries(int, abs)),
                    ("text", entries(str, lambda each: int(each) if each.lstrip("-").isdigit() else each)),
                ]
            ),
        )
    for key in ("shape", "strides", "data"):
        yield (
            f"import.{key}.accepted",
            iter([("tuples of the exact type only", lambda v: v if type(v) is tuple else raises(TypeError)(v))]),
        )
    yield "import.stream", iter([(f"{each} is left out", confused(each, None)) for each in (1, 2)])
    yield (
        "import.stream",
        iter(
            [
                ("left out", constant(None)),
                ("a handle is left out", lambda v: v if v in (None, 0, 1, 2) else None),
                ("a handle as 1", lambda v: v if v in (None, 0, 1, 2) else 1),
                ("synchronizes", lambda v: synchronizes(v) or v),
                ("is required", lambda v: v if v is not None else raises(KeyError)(v)),
            ]
        ),
    )
    yield "import.stream.zero-is-refused", iter([("left out", left_out)])
    yield "import.stream.waits-for-the-consumer", iter([("left out", left_out)])
    yield "import.owner.kept", iter([("left out", left_out)])
    yield "import.owner.released", iter([("left out", left_out)])
    yield "import.owner.waits", iter([("left out", left_out)])
    yield "import.tensor.kind", ((f"{each} memory is refused", refused(KINDS[each])) for each in KINDS)
    yield (
        "import.tensor.kind",
        iter(
            (f"{this} as {other}", confused(KINDS[this], KINDS[other]))
            for this in ("managed", "pinned")
            for other in KINDS
            if this != other
        ),
    )
    yield "import.tensor.kind", iter([("ROCm as CUDA", confused(10, 2))])
    yield "import.tensor.number", iter([("always 0", constant(0)), ("1 is refused", refused(1))])
    yield (
        "import.tensor.major",
        iter([("left out", constant(1)), ("1 is refused", refused(1)), ("0 is refused", refused(0))]),
    )
    yield (
        "import.tensor.type",
        ((f"{each} as {neighbour(each)}", confused(dtype(each), dtype(neighbour(each)))) for each in TYPES),
    )
    yield "import.tensor.type", ((f"{each} is refused", refused(dtype(each))) for each in TYPES)
    yield (
        "import.tensor.type",
        iter(
            [
                ("lanes are left out", lambda v: (*v[:2], 1)),
                ("half of the bits", lambda v: (v[0], max(v[1] // 2, 8), v[2])),
                ("crash for bfloat16", crashes(lambda v: v[0] == 4)),
                ("crash for lanes", crashes(lambda v: v[2] > 1)),
                ("an unknown code as float", lambda v: (2 if v[0] > 6 else v[0], *v[1:])),
            ]
        ),
    )
    yield "import.tensor.refused", iter([("left out", left_out)])
    yield "import.tensor.shape", shapes(is_import=True)
    yield "import.tensor.strides", strides(lambda size: 1, left=lambda steps, shape, size: compact(shape, 1))
    yield (
        "import.tensor.strides",
        iter(
            [
                ("in bytes", lambda v: (tuple(step // 4 for step in v[0]), *v[1:])),
                ("negative ones are refused", lambda v: refused(True)(min(v[0], default=0) < 0) or v),
                ("0 is refused", lambda v: refused(True)(0 in v[0]) or v),
            ]
        ),
    )
    yield "import.tensor.null-strides", iter([("are refused", left_out)])
    yield (
        "import.tensor.data",
        iter(
            [
                ("one element too far", lambda v: v + 4),
                ("null is refused", refused(0)),
                ("crash for null", crashes(lambda v: v == 0)),
            ]
        ),
    )
    yield "import.tensor.byte_offset", iter([("left out", constant(0)), ("in elements", lambda v: v * 4)])
    yield "import.tensor.flags", iter([("left out", constant(0))])
    yield (
        "import.request.stream",
        iter(
            [
                ("0", constant(0)),
                ("-1", constant(-1)),
                ("2", constant(2)),
                ("always 1", constant(1)),
                ("None", constant(None)),
                ("text", constant("1")),
                ("-2", constant(-2)),
            ]
        ),
    )
    yield "import.request.max_version", iter([("a list", list), ("a number", constant(1)), ("text", constant("1.0"))])
    yield (
        "import.request",
        iter(
            [
                ("asks for a copy", lambda v: {**v, "copy": True}),
                ("asks for the host", lambda v: {**v, "dl_device": (1, 0)}),
                ("asks for an unknown argument", lambda v: {**v, "device": 0}),
            ]
        ),
    )
    yield "import.request.again-without-versions", iter([("left out", left_out)])
    yield "import.capsule.renamed", iter([("left out", left_out)])
    yield "import.deleter.late", iter([("left out", left_out)])
    yield "import.deleter.calls", iter([("none", constant(0)), ("two", constant(2))])
    yield "import.deleter.null-is-left-out", iter([("left out", left_out)])


def all_mutants() -> list[Mutant]:
    """Return all mutants; no two have the same name."""
    found = [
        Mutant(fact, rule, change)
        for facts in (of_producer(), of_consumer())
        for fact, rules in facts
        for rule, change in rules
    ]
    names = [each.name for each in found]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise ValueError(f"two mutants are named {sorted(repeated)}")
    return found
