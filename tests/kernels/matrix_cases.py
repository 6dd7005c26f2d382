"""The kernels of instructions on matrices, in every shape and type. The module needs only the standard library."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from matrix_layouts import BITS, WIDTHS, A, B, C, Layout, size


@dataclass(frozen=True)
class Product:
    """``mma`` of a shape. ``options`` are further modifiers, and ``after`` those behind the types."""

    m: int
    k: int
    a: str
    b: str
    c: str
    since: int
    options: str = ""
    after: str = ""

    @property
    def name(self) -> str:
        words = f"{self.a}_{self.b}_{self.c}_m{self.m}k{self.k}{self.options}{self.after}"
        return "mma_" + words.replace(".", "_")

    @property
    def layouts(self) -> tuple[Layout, Layout, Layout]:
        bits = BITS[self.a]
        return A[(self.m, self.k), bits], B[self.k, bits], C[self.m]

    def text(self) -> str:
        types = f"{self.c}.{self.a}.{self.b}.{self.c}"
        return f"mma.sync.aligned.m{self.m}n8k{self.k}.row.col{self.options}.{types}{self.after}"


def products() -> Iterator[Product]:
    for c in ("f16", "f32"):
        yield Product(16, 8, "f16", "f16", c, 75)
        yield Product(16, 16, "f16", "f16", c, 80)
        for a, b, k in itertools.product(("e4m3", "e5m2"), ("e4m3", "e5m2"), (16, 32)):
            yield Product(16, k, a, b, c, 89)
    yield from (Product(16, k, "bf16", "bf16", "f32", 80) for k in (8, 16))
    yield from (Product(16, k, "tf32", "tf32", "f32", 80) for k in (4, 8))
    for rounding in ("", ".rn", ".rz", ".rm", ".rp"):
        yield Product(8, 4, "f64", "f64", "f64", 80, rounding)
        yield from (Product(16, k, "f64", "f64", "f64", 90, rounding) for k in (4, 8, 16))
    for option in ("", ".satfinite"):
        for a, b in itertools.product("su", "su"):
            yield Product(8, 16, f"{a}8", f"{b}8", "s32", 75, option)
            yield Product(8, 32, f"{a}4", f"{b}4", "s32", 75, option)
            yield from (Product(16, k, f"{a}8", f"{b}8", "s32", 80, option) for k in (16, 32))
            yield from (Product(16, k, f"{a}4", f"{b}4", "s32", 80, option) for k in (32, 64))
    yield Product(8, 128, "b1", "b1", "s32", 75, after=".xor.popc")
    yield Product(8, 128, "b1", "b1", "s32", 80, after=".and.popc")
    for operation, k in itertools.product(("xor", "and"), (128, 256)):
        yield Product(16, k, "b1", "b1", "s32", 80, after=f".{operation}.popc")


@dataclass(frozen=True)
class Sparse(Product):
    """``mma.sp``: half of the elements of A are stored."""

    ordered: bool = False
    selector: int = 0

    @property
    def name(self) -> str:
        return f"sparse_{super().name}_{'ordered_' * self.ordered}{self.selector}"

    @property
    def layouts(self) -> tuple[Layout, Layout, Layout]:
        bits = BITS[self.a]
        return A[(self.m, self.k // 2), bits], B[self.k, bits], C[self.m]

    @property
    def units(self) -> tuple[int, int]:
        """Return the bits of a unit of a row's metadata, and the number of units."""
        bits = BITS[self.a]
        of = 16 if bits >= 16 else 32
        return of, self.k // 2 * {32: 4, 4: 1}.get(bits, 2) // of

    def text(self) -> str:
        return super().text().replace("mma", "mma.sp::ordered_metadata" if self.ordered else "mma.sp")


def sparse_products() -> Iterator[Sparse]:
    forms = [("f16", "f16", c, (16, 32), 80, "") for c in ("f16", "f32")]
    forms += [("bf16", "bf16", "f32", (16, 32), 80, ""), ("tf32", "tf32", "f32", (8, 16), 80, "")]
    forms += [(a, b, "f32", (64,), 89, "") for a, b in itertools.product(("e4m3", "e5m2"), repeat=2)]
    for a, b, option in itertools.product("su", "su", ("", ".satfinite")):
        forms.append((f"{a}8", f"{b}8", "s32", (32, 64), 80, option))
        forms.append((f"{a}4", f"{b}4", "s32", (64, 128), 80, option))
    for (a, b, c, depths, since, option), ordered in itertools.product(forms, (False, True)):
        for k in depths:
            bits, units = Sparse(16, k, a, b, c, since).units
            for selector in range((4 if bits == 16 else 2) // units):
                # The modifier needs a later version, which the module of this compute capability has.
                yield Sparse(16, k, a, b, c, 89 if ordered else since, option, "", ordered, selector)


@dataclass(frozen=True)
class Quad:
    """``mma.m8n8k4`` of ``f16``: four products."""

    rows: str
    columns: str
    c: str
    d: str
    since: int = 75

    @property
    def name(self) -> str:
        return f"quad_{self.rows}_{self.columns}_{self.c}_{self.d}"

    def text(self) -> str:
        return f"mma.sync.aligned.m8n8k4.{self.rows}.{self.columns}.{self.d}.f16.f16.{self.c}"


def quads() -> Iterator[Quad]:
    for layouts, formats in itertools.product(
        itertools.product(("row", "col"), repeat=2), (("f16", "f16"), ("f16", "f32"), ("f32", "f32"))
    ):
        yield Quad(*layouts, *formats)


@dataclass(frozen=True)
class Move:
    """``ldmatrix``, ``stmatrix`` or ``movmatrix``: ``count`` matrices, with or without ``.trans``."""

    opcode: str
    count: int
    trans: str
    space: str
    since: int

    @property
    def name(self) -> str:
        return f"{self.opcode}_x{self.count}{self.trans}{self.space}".replace(".", "_").replace(":", "_")


def rows_moved() -> Iterator[Move]:
    for count, trans, space in itertools.product((1, 2, 4), ("", ".trans"), ("", ".shared", ".shared::cta")):
        yield Move("ldmatrix", count, trans, space, 75)
        yield Move("stmatrix", count, trans, space, 90)
    yield Move("movmatrix", 1, ".trans", "", 75)


def move_kernel(case: Move) -> str:
    """Return a kernel over shared memory of 2048 bytes, the place of each lane's row in it, and registers."""
    registers = "{" + ", ".join(f"r{index}" for index in range(case.count)) + "}"
    form = f"{case.opcode}.sync.aligned.m8n8.x{case.count}{case.trans}{case.space}.b16"
    text = {
        "ldmatrix": f"{form} {registers}, [row];",
        "stmatrix": f"{form} [row], {registers};",
        "movmatrix": "movmatrix.sync.aligned.m8n8.trans.b16 r0, r0;",
    }[case.opcode]
    images = range(0, 2048, 256)
    return (
        f".visible .entry {case.name}(.param .u64 pi, .param .u64 pp, .param .u64 pr) {{\n"
        ".reg .u32 lane; .reg .u64 ui, up, ur, row, at, word; .reg .b32 r<4>; .shared .align 16 .b8 area[2048];\n"
        "ld.param.u64 ui, [pi]; ld.param.u64 up, [pp]; ld.param.u64 ur, [pr]; mov.u32 lane, %laneid;\n"
        "mad.wide.u32 ui, lane, 8, ui; mad.wide.u32 up, lane, 8, up; mad.wide.u32 ur, lane, 8, ur; mov.u64 at, area;\n"
        f"mad.wide.u32 at, lane, 8, at; ld.global.u64 row, [up]; {moves('r', 4, 'b32', 'ld')}\n"
        + " ".join(f"ld.global.u64 word, [ui+{place}]; st.shared.u64 [at+{place}], word;" for place in images)
        + f"\nbar.warp.sync 0xffffffff; mov.u64 word, area; {'' if case.space else 'cvta.shared.u64 word, word;'} add.u64 row, row, word;\n"
        + f"{text}\nbar.warp.sync 0xffffffff; {moves('r', 4, 'b32', 'st')}\n"
        + " ".join(f"ld.shared.u64 word, [at+{place}]; st.global.u64 [ui+{place}], word;" for place in images)
        + " ret; }"
    )


def moves(name: str, count: int, ty: str, what: str) -> str:
    """Return instructions that load or store registers from or to an array: a row of 32 lanes for each register."""
    step = (
        "ld.global.{ty} {name}{index}, [u{name}+{at}];"
        if what == "ld"
        else "st.global.{ty} [u{name}+{at}], {name}{index};"
    )
    return " ".join(step.format(ty=ty, name=name, index=index, at=index * 256) for index in range(count))


def product_kernel(name: str, text: str, registers: dict[str, tuple[int, str]], selector: int | None = None) -> str:
    """Return a kernel of one product: ``registers`` are the numbers and types of the registers of each matrix.

    A selector is that of the lanes with the metadata ``e``.
    """
    after = "" if selector is None else f", e0, {selector}"
    addresses = " ".join(f"ld.param.u64 u{one}, [p{one}]; mad.wide.u32 u{one}, lane, 8, u{one};" for one in registers)
    lists = {
        one: "{" + ", ".join(f"{one}{index}" for index in range(count)) + "}" for one, (count, _) in registers.items()
    }
    declared = " ".join(f".reg .{ty} {one}<{count}>;" for one, (count, ty) in registers.items())
    loads = " ".join(moves(one, *registers[one], "ld") for one in registers if one != "d")
    return (
        f".visible .entry {name}({', '.join(f'.param .u64 p{one}' for one in registers)}) {{\n"
        f".reg .u32 lane; .reg .u64 u<2>, {', '.join(f'u{one}' for one in registers)}; {declared}\n"
        f"mov.u32 lane, %laneid; {addresses}\n{loads}\n"
        f"{text} {lists['d']}, {lists['a']}, {lists['b']}, {lists['c']}{after};\n{moves('d', *registers['d'], 'st')} ret; }}"
    )


def register_type(name: str) -> str:
    return {"f64": "f64", "f32": "f32", "s32": "s32"}.get(name, "b32")


def kernel(case: Product | Quad | Move) -> str:
    if isinstance(case, Move):
        return move_kernel(case)
    if isinstance(case, Quad):
        count = {"f16": 4, "f32": 8}
        registers = {"a": (2, "b32"), "b": (2, "b32")}
        registers |= {one: (count[ty], register_type(ty)) for one, ty in (("c", case.c), ("d", case.d))}
        return product_kernel(case.name, case.text(), registers)
    registers = {}
    for one, ty, of in zip("abc", (case.a, case.b, case.c), case.layouts, strict=True):
        bits = BITS[ty] if one in "ab" else WIDTHS[ty]
        registers[one] = (size(of.values) * min(bits, 32) // 32, register_type(ty))
    registers["d"] = registers["c"]
    if isinstance(case, Sparse):
        return product_kernel(case.name, case.text(), registers | {"e": (1, "b32")}, case.selector)
    return product_kernel(case.name, case.text(), registers)
