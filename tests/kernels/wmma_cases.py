"""The kernels of ``wmma``, in every shape, type and layout. The module needs only the standard library."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from matrix_cases import register_type
from matrix_layouts import BITS, LANES, WIDTHS

WORDS = 512
"""The words of 64 bits of each array: 4096 bytes."""


@dataclass(frozen=True)
class Product:
    """``wmma.mma`` with its loads and its store. ``rows`` are the layouts of A, B, C and D; ``pad`` is added to the leading dimensions."""

    size: tuple[int, int, int]
    element: str
    c: str
    d: str
    rows: tuple[str, str, str, str]
    space: str
    pad: bool
    since: int
    after: str = ""

    @property
    def name(self) -> str:
        rows = "".join(row[0] for row in self.rows)
        words = f"{self.shape}_{self.element}_{self.c}_{self.d}_{rows}{self.space}{self.after}"
        return "wmma_" + words.replace(".", "_").replace(":", "_") + "_padded" * self.pad

    @property
    def shape(self) -> str:
        m, n, k = self.size
        return f"m{m}n{n}k{k}"

    def matrices(self) -> dict[str, tuple[str, tuple[int, int], str, int]]:
        """Return the format, the shape, the layout and the bits of an element of each matrix."""
        m, n, k = self.size
        bits = BITS[self.element]
        return {
            "a": (self.element, (m, k), self.rows[0], bits),
            "b": (self.element, (k, n), self.rows[1], bits),
            "c": (self.c, (m, n), self.rows[2], WIDTHS[self.c]),
            "d": (self.d, (m, n), self.rows[3], WIDTHS[self.d]),
        }

    def leading(self, one: str) -> int:
        """Return the leading dimension of a matrix, in elements."""
        _, shape, row, bits = self.matrices()[one]
        return shape[row == "row"] + (256 // bits if self.pad else 0)

    def registers(self, one: str) -> int:
        name, shape, _, bits = self.matrices()[one]
        if one in "ab" and name == "f16":
            return 8
        return shape[0] * shape[1] * min(bits, 32) // 1024


SHAPES = ((16, 16, 16), (8, 32, 16), (32, 8, 16))
LAYOUTS = tuple(itertools.product(("row", "col"), repeat=2))


def cases() -> Iterator[Product]:
    spaces = itertools.cycle((".global", ".shared", "", ".shared::cta"))
    pads = itertools.cycle((True, False, True))
    outer = itertools.cycle(LAYOUTS)

    def all_layouts(*what: object, since: int, after: str = "", layouts: object = LAYOUTS) -> Iterator[Product]:
        for rows in layouts:
            yield Product(*what, (*rows, *next(outer)), next(spaces), next(pads), since, after)

    for size, (c, d) in itertools.product(SHAPES, itertools.product(("f16", "f32"), repeat=2)):
        yield from all_layouts(size, "f16", c, d, since=75)
    for size in SHAPES:
        yield from all_layouts(size, "bf16", "f32", "f32", since=80)
        for element, after in itertools.product(("s8", "u8"), ("", ".satfinite")):
            yield from all_layouts(size, element, "s32", "s32", since=75, after=after)
    yield from all_layouts((16, 16, 8), "tf32", "f32", "f32", since=80)
    for rounding in ("", ".rn", ".rz", ".rm", ".rp"):
        yield from all_layouts((8, 8, 4), "f64", "f64", "f64", since=80, after=rounding)
    packed = [("row", "col")] * 4
    for element in ("s4", "u4"):
        yield from all_layouts((8, 8, 32), element, "s32", "s32", since=75, layouts=packed)
    yield from all_layouts((8, 8, 128), "b1", "s32", "s32", since=75, after=".xor.popc", layouts=packed)
    yield from all_layouts((8, 8, 128), "b1", "s32", "s32", since=80, after=".and.popc", layouts=packed)


def instruction(case: Product) -> str:
    head, types = "wmma.mma", f"{case.d}.{case.element}.{case.element}.{case.c}"
    after, shape = case.after, case.shape
    if case.element == "f16":
        types = f"{case.d}.{case.c}"
    elif case.element == "b1":
        head, after = head + after, ""
    elif case.element == "f64":
        shape, after = shape + after, ""
    return f"{head}.sync.aligned.{case.rows[0]}.{case.rows[1]}.{shape}.{types}{after}"


def kernel(case: Product) -> str:
    shared = "shared" in case.space
    lists, moves, declared = {}, {}, ""
    for number, (one, (name, *_)) in enumerate(case.matrices().items()):
        count = case.registers(one)
        lists[one] = "{" + ", ".join(f"{one}{index}" for index in range(count)) + "}"
        ty = register_type(name) if one in "cd" or name == "f64" else "b32"
        declared += f".reg .{ty} {one}<{count}>; "
        row, stride = case.matrices()[one][2], f", {case.leading(one)}" if case.pad else ""
        form = f"wmma.{'store' if one == 'd' else 'load'}.{one}.sync.aligned.{row}.{case.shape}{case.space}.{name}"
        place = f"[area+{number * 8 * WORDS}]" if shared else f"[p{one}]"
        moves[one] = (
            f"{form} {place}, {lists[one]}{stride};" if one == "d" else f"{form} {lists[one]}, {place}{stride};"
        )
    steps = range(0, 8 * WORDS, 8 * LANES)
    copies = [
        f"ld.global.u64 word, [l{one}+{step}]; st.shared.u64 [at+{number * 8 * WORDS + step}], word;"
        for (number, one), step in itertools.product(enumerate("abc"), steps)
    ]
    back = [f"ld.shared.u64 word, [at+{3 * 8 * WORDS + step}]; st.global.u64 [ld+{step}], word;" for step in steps]
    clear = [f"mov.u64 word, 0; st.shared.u64 [at+{3 * 8 * WORDS + step}], word;" for step in steps]
    barrier = "bar.warp.sync 0xffffffff;"
    return (
        f".visible .entry {case.name}({', '.join(f'.param .u64 q{one}' for one in 'abcd')}) {{\n"
        ".reg .u32 lane; .reg .u64 pa, pb, pc, pd, la, lb, lc, ld, at, word;"
        f" {'.shared .align 32 .b8 area[16384];' if shared else ''} {declared}\n"
        "mov.u32 lane, %laneid;"
        + " ".join(f"ld.param.u64 p{one}, [q{one}]; mad.wide.u32 l{one}, lane, 8, p{one};" for one in "abcd")
        + "\n"
        + (f"mov.u64 at, area; mad.wide.u32 at, lane, 8, at; {' '.join(copies + clear)} {barrier}\n" if shared else "")
        + "\n".join(moves[one] for one in "abc")
        + f"\n{instruction(case)} {lists['d']}, {lists['a']}, {lists['b']}, {lists['c']};\n{moves['d']}\n"
        + (f"{barrier} {' '.join(back)}\n" if shared else "")
        + "ret; }"
    )
