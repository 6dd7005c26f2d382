"""Instructions on matrices of a warp agree with products of whole matrices, and with transpositions."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import matrix_fragments as fragment
from kernel_modules import Module, by_capability, loaded
from matrix_cases import Move, Product, Quad, Sparse, kernel, products, quads, rows_moved, sparse_products
from matrix_fragments import ELEMENTS
from matrix_layouts import LANES, QUAD, QUAD_A, QUAD_B, QUAD_C, ROWS, WIDTHS, place, size

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
        layouts = (QUAD_A[case.rows], QUAD_B[case.columns], QUAD_C[case.c])
        for first in (0, 4, 8, 12):
            drawn = [ELEMENTS["f16"].draw(numbers, (8, 4), exact) for _ in range(2)]
            drawn.append(accumulators(numbers, case.c, exact, (8, 8)))
            whole.append([values for values, _ in drawn])
            for array, (_, bits), of, width in zip(arrays, drawn, layouts, (16, 16, WIDTHS[case.c]), strict=True):
                each = 32 // width
                for member, value in itertools.product(range(8), range(size(of.values))):
                    word = int(bits[of.coordinates(member, value)]) << value % each * width
                    array[value // each, first + place(QUAD, member)] |= np.uint64(word)
        *_, results = modules[75].run(name, [*arrays, np.zeros((8, LANES), np.uint64)], LANES)
        of, width = QUAD_C[case.d], WIDTHS[case.d]
        each = 32 // width
        for first, (a, b, c) in zip((0, 4, 8, 12), whole, strict=True):
            bits = np.zeros((8, 8), np.uint64)
            for member, value in itertools.product(range(8), range(8)):
                word = int(results[value // each, first + place(QUAD, member)])
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
    lanes, values = ROWS[case.trans]
    expected_image, expected = image.copy(), registers.copy()
    held = registers.astype(np.uint32).view(np.uint8).reshape(4, LANES, 4)
    for lane, value in itertools.product(range(LANES), range(4 * case.count)):
        register, byte = divmod(value, 4)
        at = place(lanes, lane) + place(values, value)
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
