"""Products of matrices in the registers of a warp: ``mma``, ``mma.sp`` and ``wmma``, in every format.

A step is a product and a probe. Its results are the elements of D by rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from ...driver import Driver
from ...question import Facts, series
from .asking import NOT_HERE, capability, record, run
from .matrix_probes import PROBES, Matrices, Matrix, Shape, integers

if TYPE_CHECKING:
    import matrix_cases
    import wmma_cases
    from matrix_layouts import Layout

MOST_OF_INTEGERS = 32
FIRST_TWO_OF_FOUR = 0x44444444
"""Metadata by which the stored elements of A are the first two of four, or the first one of two elements of ``tf32``."""
PROBES_OF_DOUBLES = ("near", "wide", "cancelling", "counted", "special")
FEW = ("near", "wide", "special")
LOW_BITS = "low_bits"
"""A probe with bits that a number of ``tf32`` does not have. The manual leaves their effect open."""


def probes_of(case: matrix_cases.Product) -> tuple[str, ...]:
    """Return the names of the probes of a product."""
    from matrix_cases import Sparse

    if case.c == "s32":
        return ("integers",)
    if isinstance(case, Sparse):
        return ("near", "wide") if case.selector == 0 and not case.ordered else ()
    if case.a == "f64":
        return ("near", "wide") if case.options else PROBES_OF_DOUBLES
    if case.a == "tf32":
        return (*PROBES, LOW_BITS)
    return tuple(PROBES) if case.a == case.b else FEW


@cache
def products() -> dict[str, tuple[matrix_cases.Product, str]]:
    import matrix_cases

    cases = [*matrix_cases.products(), *(case for case in matrix_cases.sparse_products() if case.c != "s32")]
    return {f"{case.name}.{probe}": (case, probe) for case in cases for probe in probes_of(case)}


def stored(ty: str, bits: int) -> int:
    """Return the bits in a register: those of ``tf32`` are the upper ones."""
    return bits << 13 if ty == "tf32" else bits


def fragments(matrix: Matrix, ty: str, of: Layout, width: int, low: int = 0) -> list[int]:
    """Return the registers of a matrix: a word of each of the 32 lanes for each register, with further low bits."""
    from matrix_layouts import LANES, size

    each = max(32 // width, 1)
    words = [0] * (size(of.values) // each * LANES)
    for lane in range(LANES):
        for value in range(size(of.values)):
            row, column = of.coordinates(lane, value)
            words[value // each * LANES + lane] |= (stored(ty, matrix[row][column]) | low) << value % each * width
    return words


def elements(words: list[int], of: Layout, width: int, rows: int, columns: int) -> list[int]:
    """Return the elements of a matrix, by rows, from its registers."""
    from matrix_layouts import LANES, size

    each = max(32 // width, 1)
    found = [0] * (rows * columns)
    for lane in range(LANES):
        for value in range(size(of.values)):
            row, column = of.coordinates(lane, value)
            word = words[value // each * LANES + lane]
            found[row * columns + column] = word >> value % each * width & (1 << width) - 1
    return found


def drawn(shape: Shape, probe: str, bits: int) -> Matrices:
    if probe == "integers":
        return integers(shape, bits)
    return PROBES["near" if probe == LOW_BITS else probe](shape)


def product_names() -> Iterable[str]:
    return list(products())


@series("numerics.matrix_product", product_names)
def matrix_product(driver: Driver, facts: Facts, step: str) -> None:
    from matrix_cases import Sparse, kernel
    from matrix_layouts import BITS, LANES, WIDTHS

    case, probe = products()[step]
    if case.since > capability(driver):
        facts["results"] = NOT_HERE
        return
    shape = Shape(case.m, 8, case.k, case.a, case.b, case.c)
    matrices = drawn(shape, probe, BITS[case.a])
    widths = (BITS[case.a], BITS[case.b], WIDTHS[case.c])
    given = [
        fragments(matrix, ty, of, width, 0x1FFF if probe == LOW_BITS and ty == "tf32" else 0)
        for matrix, ty, of, width in zip(matrices, (case.a, case.b, case.c), case.layouts, widths, strict=True)
    ]
    given.append([0] * len(given[2]))
    if isinstance(case, Sparse):
        given.append([FIRST_TWO_OF_FOUR] * LANES)
    results = run(driver, kernel(case), case.name, case.since, given, LANES)[3]
    record(
        facts,
        elements(results, case.layouts[2], widths[2], case.m, 8),
        MOST_OF_INTEGERS if probe == "integers" else case.m * 8,
    )


QUAD_PRODUCTS = 4
"""The products of ``mma.m8n8k4``, each by eight lanes. All get the same matrices."""


@cache
def quads() -> dict[str, tuple[matrix_cases.Quad, str]]:
    import matrix_cases

    cases = [case for case in matrix_cases.quads() if (case.rows, case.columns) == ("row", "col")]
    return {f"{case.name}.{probe}": (case, probe) for case in cases for probe in PROBES}


def quad_names() -> Iterable[str]:
    return list(quads())


@series("numerics.quad_product", quad_names)
def quad_product(driver: Driver, facts: Facts, step: str) -> None:
    """Ask for ``mma.m8n8k4`` of ``f16``, which recent GPUs execute by other instructions."""
    from matrix_cases import kernel
    from matrix_layouts import LANES, QUAD, QUAD_A, QUAD_B, QUAD_C, WIDTHS, place

    case, probe = quads()[step]
    members = [[4 * first + place(QUAD, member) for member in range(8)] for first in range(QUAD_PRODUCTS)]
    layouts = (QUAD_A[case.rows], QUAD_B[case.columns], QUAD_C[case.c])
    arrays = [[0] * count * LANES for count in (2, 2, 4 if case.c == "f16" else 8)]
    matrices = PROBES[probe](Shape(8, 8, 4, "f16", "f16", case.c))
    for array, matrix, of, width in zip(arrays, matrices, layouts, (16, 16, WIDTHS[case.c]), strict=True):
        for register, at, member, (row, column) in held(of, width):
            for lanes in members:
                array[register * LANES + lanes[member]] |= matrix[row][column] << at
    results = run(driver, kernel(case), case.name, case.since, [*arrays, [0] * 8 * LANES], LANES)[3]
    width, found = WIDTHS[case.d], [[0] * 64 for _ in members]
    for register, at, member, (row, column) in held(QUAD_C[case.d], width):
        for lanes, product in zip(members, found, strict=True):
            product[row * 8 + column] = results[register * LANES + lanes[member]] >> at & (1 << width) - 1
    facts["all_are_equal"] = all(product == found[0] for product in found)
    record(facts, found[0])


def held(of: Layout, width: int) -> Iterator[tuple[int, int, int, tuple[int, int]]]:
    """Yield the register, the first bit, the member of a quad, and the place in the matrix, of each element."""
    from matrix_layouts import size

    each = 32 // width
    for member in range(8):
        for value in range(size(of.values)):
            yield value // each, value % each * width, member, of.coordinates(member, value)


def whole_cases() -> Iterator[tuple[wmma_cases.Product, str]]:
    """Yield one product of each shape and type, without regard to layouts and spaces, and its probes."""
    import wmma_cases

    seen = set()
    for case in wmma_cases.cases():
        key = (case.size, case.element, case.c, case.d, case.after)
        if key in seen or case.c == "s32":
            continue
        seen.add(key)
        for probe in ("wide", "special") if len({*case.size}) == 1 or case.element != "f16" else ("wide",):
            yield case, probe


@cache
def whole_products() -> dict[str, tuple[wmma_cases.Product, str]]:
    return {f"{case.name}.{probe}": (case, probe) for case, probe in whole_cases()}


def in_memory(case: wmma_cases.Product, one: str, matrix: Matrix) -> list[int]:
    """Return the words of memory with a matrix whose rows are given."""
    from wmma_cases import WORDS

    name, _, order, bits = case.matrices()[one]
    words = [0] * WORDS
    for row, line in enumerate(matrix):
        for column, element in enumerate(line):
            major, minor = (row, column) if order == "row" else (column, row)
            at = (major * case.leading(one) + minor) * bits
            words[at // 64] |= stored(name, element) << at % 64
    return words


def from_memory(case: wmma_cases.Product, words: list[int]) -> list[int]:
    _, (rows, columns), order, bits = case.matrices()["d"]
    found = []
    for row in range(rows):
        for column in range(columns):
            major, minor = (row, column) if order == "row" else (column, row)
            at = (major * case.leading("d") + minor) * bits
            found.append(words[at // 64] >> at % 64 & (1 << bits) - 1)
    return found


def whole_names() -> Iterable[str]:
    return list(whole_products())


@series("numerics.whole_matrix_product", whole_names)
def whole_matrix_product(driver: Driver, facts: Facts, step: str) -> None:
    from matrix_layouts import LANES
    from wmma_cases import WORDS, kernel

    case, probe = whole_products()[step]
    if case.since > capability(driver):
        facts["results"] = NOT_HERE
        return
    m, n, k = case.size
    a, b, c = PROBES[probe](Shape(m, n, k, case.element, case.element, case.c))
    transposed = [list(line) for line in zip(*b, strict=True)]
    given = [in_memory(case, one, matrix) for one, matrix in (("a", a), ("b", transposed), ("c", c))]
    results = run(driver, kernel(case), case.name, case.since, [*given, [0] * WORDS], LANES)[3]
    record(facts, from_memory(case, results))
