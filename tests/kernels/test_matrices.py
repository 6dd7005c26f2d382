"""Instructions on matrices of a warp agree with products of whole matrices, and with transpositions."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import matrix_fragments as fragment
from kernel_modules import Module, by_capability, loaded
from matrix_fragments import ELEMENTS, LANES

WIDTHS = {"f16": 16, "f32": 32, "f64": 64, "s32": 32}


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
    def layouts(self) -> tuple[fragment.Layout, fragment.Layout, fragment.Layout]:
        bits = ELEMENTS[self.a].bits
        return fragment.A[(self.m, self.k), bits], fragment.B[self.k, bits], fragment.C[self.m]

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
    def layouts(self) -> tuple[fragment.Layout, fragment.Layout, fragment.Layout]:
        bits = ELEMENTS[self.a].bits
        return fragment.A[(self.m, self.k // 2), bits], fragment.B[self.k, bits], fragment.C[self.m]

    @property
    def units(self) -> tuple[int, int]:
        """Return the bits of a unit of a row's metadata, and the number of units."""
        bits = ELEMENTS[self.a].bits
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
        bits = ELEMENTS[ty].bits if one in "ab" else WIDTHS[ty]
        registers[one] = (fragment.size(of.values) * min(bits, 32) // 32, register_type(ty))
    registers["d"] = registers["c"]
    if isinstance(case, Sparse):
        return product_kernel(case.name, case.text(), registers | {"e": (1, "b32")}, case.selector)
    return product_kernel(case.name, case.text(), registers)


CASES = [*products(), *sparse_products(), *quads(), *rows_moved()]
TEXTS = by_capability((case.since, kernel(case)) for case in CASES)


@pytest.fixture(scope="module")
def modules(driver_kind: str) -> Iterator[dict[int, Module]]:
    with loaded(TEXTS) as found:
        yield found


def accumulators(
    numbers: np.random.Generator, name: str, exact: bool, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    if name == "s32":
        edge = numbers.choice([0, 2**31 - 1, -(2**31)], shape)
        values = np.clip(edge + numbers.integers(-900, 900, shape), -(2**31), 2**31 - 1)
        return values, values & 0xFFFFFFFF
    values = numbers.integers(-50, 50, shape).astype(np.float64)
    if not exact:
        values = numbers.standard_normal(shape)
    return fragment.stored(name, values)


def integer_sums(case: Product, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    if case.a == "b1":
        both = a[:, None, :] ^ b[None, :, :] if "xor" in case.after else a[:, None, :] & b[None, :, :]
        sums = both.sum(axis=2)
    else:
        sums = a @ b.T
    if "satfinite" in case.options:
        return np.clip(sums + c, -(2**31), 2**31 - 1) & 0xFFFFFFFF
    return (sums + c) & 0xFFFFFFFF


def assert_near(name: str, bits: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray, exact: bool) -> None:
    """Check results in floating point: equal where every order of the sum is exact, otherwise within the bounds of the manual."""
    expected = a @ b.T + c
    if exact:
        assert (bits == fragment.stored(name, expected)[1].astype(np.uint64)).all()
        return
    values = {"f16": (np.uint16, np.float16), "f32": (np.uint32, np.float32), "f64": (np.uint64, np.float64)}
    word, ty = values[name]
    results = bits.astype(word).view(ty).astype(np.float64)
    # Each addition, and the result, is rounded to the accumulators' precision at the worst.
    most = (a.shape[1] + 1) * np.finfo(ty).eps * (np.abs(a) @ np.abs(b).T + np.abs(c))
    assert (np.abs(results - expected) <= most).all()


@pytest.mark.parametrize("name", dict.fromkeys(case.name for case in CASES if type(case) is Product))
def test_product_agrees_with_whole_matrices(modules: dict[int, Module], name: str) -> None:
    [case] = [case for case in CASES if case.name == name]
    assert isinstance(case, Product)
    if case.since not in modules:
        pytest.skip("instructions of a later compute capability")
    numbers = np.random.default_rng(len(name) * case.k)
    widths = (ELEMENTS[case.a].bits, ELEMENTS[case.b].bits, WIDTHS[case.c])
    for exact in (True, False):
        a, a_bits = ELEMENTS[case.a].draw(numbers, (case.m, case.k), exact)
        b, b_bits = ELEMENTS[case.b].draw(numbers, (8, case.k), exact)
        c, c_bits = accumulators(numbers, case.c, exact, (case.m, 8))
        arrays = [
            fragment.fragments(bits, of, width)
            for bits, of, width in zip((a_bits, b_bits, c_bits), case.layouts, widths, strict=True)
        ]
        *_, results = modules[case.since].run(case.name, [*arrays, np.zeros_like(arrays[2])], LANES)
        bits = fragment.matrix(results, case.layouts[2], widths[2], (case.m, 8))
        if case.c == "s32":
            assert (bits == integer_sums(case, a, b, c).astype(np.uint64)).all()
        else:
            assert_near(case.c, bits, a, b, c, exact)


def stored_columns(case: Sparse, numbers: np.random.Generator) -> tuple[np.ndarray, list[int]]:
    """Return the column of each stored element of A, and the metadata of each row."""
    width = ELEMENTS[case.a].bits
    columns, rows = [], []
    for _ in range(case.m):
        own, bits, at = [], 0, 0
        if width == 32:
            choices = numbers.integers(0, 2, case.k // 2)
            own = [2 * chunk + int(choice) for chunk, choice in enumerate(choices)]
            bits = sum((0b1110 if choice else 0b0100) << 4 * chunk for chunk, choice in enumerate(choices))
        else:
            # Elements of 4 bits are stored in pairs.
            each = 2 if width == 4 else 1
            for chunk in range(case.k // (4 * each)):
                for place in sorted(map(int, numbers.permutation(4)[:2])):
                    own += [(4 * chunk + place) * each + index for index in range(each)]
                    bits |= place << at
                    at += 2
        columns.append(own)
        rows.append(bits)
    return np.array(columns), rows


@pytest.mark.parametrize("name", [case.name for case in CASES if isinstance(case, Sparse)])
def test_sparse_product_agrees_with_whole_matrices(modules: dict[int, Module], name: str) -> None:
    [case] = [case for case in CASES if case.name == name]
    assert isinstance(case, Sparse)
    if case.since not in modules:
        pytest.skip("instructions of a later compute capability")
    numbers = np.random.default_rng(len(name) * case.k)
    widths = (ELEMENTS[case.a].bits, ELEMENTS[case.b].bits, WIDTHS[case.c])
    for exact in (True, False):
        columns, rows = stored_columns(case, numbers)
        stored, a_bits = ELEMENTS[case.a].draw(numbers, (case.m, case.k // 2), exact)
        a = np.zeros((case.m, case.k), stored.dtype)
        np.put_along_axis(a, columns, stored, axis=1)
        b, b_bits = ELEMENTS[case.b].draw(numbers, (8, case.k), exact)
        c, c_bits = accumulators(numbers, case.c, exact, (case.m, 8))
        arrays = [
            fragment.fragments(bits, of, width)
            for bits, of, width in zip((a_bits, b_bits, c_bits), case.layouts, widths, strict=True)
        ]
        words = fragment.metadata(rows, *case.units, case.selector, numbers)
        *_, results, _ = modules[case.since].run(case.name, [*arrays, np.zeros_like(arrays[2]), words], LANES)
        bits = fragment.matrix(results, case.layouts[2], widths[2], (case.m, 8))
        if case.c == "s32":
            assert (bits == integer_sums(case, a, b, c).astype(np.uint64)).all()
        else:
            assert_near(case.c, bits, a, b, c, exact)


@pytest.mark.parametrize("name", [case.name for case in CASES if isinstance(case, Quad)])
def test_quads_agree_with_whole_matrices(modules: dict[int, Module], name: str) -> None:
    [case] = [case for case in CASES if case.name == name]
    assert isinstance(case, Quad)
    numbers = np.random.default_rng(len(name))
    for exact in (True, False):
        arrays = [np.zeros((count, LANES), np.uint64) for count in (2, 2, 4 if case.c == "f16" else 8)]
        whole = []
        layouts = (fragment.QUAD_A[case.rows], fragment.QUAD_B[case.columns], fragment.QUAD_C[case.c])
        for first in (0, 4, 8, 12):
            drawn = [ELEMENTS["f16"].draw(numbers, (8, 4), exact) for _ in range(2)]
            drawn.append(accumulators(numbers, case.c, exact, (8, 8)))
            whole.append([values for values, _ in drawn])
            for array, (_, bits), of, width in zip(arrays, drawn, layouts, (16, 16, WIDTHS[case.c]), strict=True):
                each = 32 // width
                for member, value in itertools.product(range(8), range(fragment.size(of.values))):
                    word = int(bits[of.coordinates(member, value)]) << value % each * width
                    array[value // each, first + fragment.place(fragment.QUAD, member)] |= np.uint64(word)
        *_, results = modules[75].run(name, [*arrays, np.zeros((8, LANES), np.uint64)], LANES)
        of, width = fragment.QUAD_C[case.d], WIDTHS[case.d]
        each = 32 // width
        for first, (a, b, c) in zip((0, 4, 8, 12), whole, strict=True):
            bits = np.zeros((8, 8), np.uint64)
            for member, value in itertools.product(range(8), range(8)):
                word = int(results[value // each, first + fragment.place(fragment.QUAD, member)])
                bits[of.coordinates(member, value)] = word >> value % each * width & (1 << width) - 1
            assert_near(case.d, bits, a, b, c, exact)


@pytest.mark.parametrize("name", [case.name for case in CASES if isinstance(case, Move)])
def test_moved_rows_are_those_of_the_layout(modules: dict[int, Module], name: str) -> None:
    [case] = [case for case in CASES if case.name == name]
    assert isinstance(case, Move)
    if case.since not in modules:
        pytest.skip("instructions of a later compute capability")
    numbers = np.random.default_rng(len(name))
    image = numbers.integers(0, 256, 2048).astype(np.uint8)
    registers = numbers.integers(0, 1 << 32, (4, LANES)).astype(np.uint64)
    # The rows of 16 bytes are scattered. Lanes that provide no address have one outside of shared memory.
    slots = numbers.permutation(128)[:LANES] * 16
    slots[case.count * 8 :] = 1 << 20
    lanes, values = fragment.ROWS[case.trans]
    expected_image, expected = image.copy(), registers.copy()
    held = registers.astype(np.uint32).view(np.uint8).reshape(4, LANES, 4)
    for lane, value in itertools.product(range(LANES), range(4 * case.count)):
        register, byte = divmod(value, 4)
        at = fragment.place(lanes, lane) + fragment.place(values, value)
        if case.opcode == "movmatrix":
            # The source has a row in each group of four lanes.
            word = int(held[0, at % 128 // 4, at % 4])
        elif case.opcode == "stmatrix":
            expected_image[slots[at // 16] + at % 16] = held[register, lane, byte]
            continue
        else:
            word = int(image[slots[at // 16] + at % 16])
        kept = int(expected[register, lane]) & ~(0xFF << 8 * byte)
        expected[register, lane] = kept | word << 8 * byte
    arrays = [image.view(np.uint64), slots.astype(np.uint64), registers]
    got_image, _, got = modules[case.since].run(name, arrays, LANES)
    assert (got_image.view(np.uint8) == expected_image).all()
    assert (got == expected).all()
