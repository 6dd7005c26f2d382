"""The functions of the stand-in for cuSPARSE with a letter for their type, and its sorting functions."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from device_probe import Address
from sparse_probe import (
    GAP,
    INVALID_VALUE,
    NUMBERS,
    SUCCESS,
    TYPES,
    ZERO_PIVOT,
    Arrays,
    H,
    N,
    Sparse,
    T,
    close,
    op,
)

LETTERS = pytest.mark.parametrize("letter", TYPES)
BASES = pytest.mark.parametrize("base", [0, 1])
MODES = pytest.mark.parametrize("on_device", [False, True])


def described(sparse: Sparse, base: int = 0, **settings: int) -> ctypes.c_void_p:
    made = sparse.made("DestroyMatDescr", "CreateMatDescr")
    assert sparse.plain("SetMatIndexBase", made, base) == SUCCESS
    for name, value in settings.items():
        assert sparse.plain(f"SetMat{name}", made, value) == SUCCESS
    return made


def small_buffer(sparse: Sparse, name: str, *arguments: Any) -> Address:
    """A workspace whose size is a 32-bit number."""
    size = ctypes.c_int()
    assert sparse.call(name, *arguments, ctypes.byref(size)) == SUCCESS
    return sparse.memory(size.value)


def near(result: np.ndarray, expected: np.ndarray) -> None:
    tolerance = 1e-3 if result.dtype in (np.float32, np.complex64) else 1e-10
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


def test_identity_permutation(sparse: Sparse) -> None:
    like = np.full(9, GAP, np.int32)
    place = sparse.put(like)
    assert sparse.call("CreateIdentityPermutation", 8, place) == SUCCESS
    assert sparse.get(place, like).tolist() == [*range(8), GAP]


@pytest.mark.parametrize("by", ["Row", "Column"])
def test_coordinates_are_sorted_with_their_permutation(sparse: Sparse, by: str) -> None:
    rows = sparse.rng.integers(0, 5, 30).astype(np.int32)
    columns = sparse.rng.integers(0, 4, 30).astype(np.int32)
    numbers = np.arange(30, dtype=np.int32) * 3
    places = [sparse.put(each) for each in (rows, columns, numbers)]
    buffer = sparse.buffer("Xcoosort_bufferSizeExt", 5, 4, 30, *places[:2])
    assert sparse.call(f"XcoosortBy{by}", 5, 4, 30, *places, buffer) == SUCCESS
    order = np.lexsort((columns, rows) if by == "Row" else (rows, columns))
    for place, array in zip(places, (rows, columns, numbers), strict=True):
        assert sparse.get(place, array).tolist() == array[order].tolist()


@BASES
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_lines_are_sorted_with_their_permutation(sparse: Sparse, form: str, base: int) -> None:
    arrays = Arrays(sparse.random((6, 5), np.float64, 0.6), form, base=base)
    shuffled = np.concatenate(
        [
            sparse.rng.permutation(np.arange(first, last))
            for first, last in zip(arrays.offsets[:-1] - base, arrays.offsets[1:] - base, strict=True)
        ]
    ).astype(int)
    indices, numbers = arrays.indices[shuffled], np.arange(arrays.count, dtype=np.int32)
    places = sparse.put(arrays.offsets), sparse.put(indices), sparse.put(numbers)
    name = f"X{form}sort"
    buffer = sparse.buffer(f"{name}_bufferSizeExt", 6, 5, arrays.count, *places[:2])
    assert sparse.call(name, 6, 5, arrays.count, described(sparse, base), *places, buffer) == SUCCESS
    np.testing.assert_array_equal(sparse.get(places[1], indices), arrays.indices)
    np.testing.assert_array_equal(shuffled[sparse.get(places[2], numbers)], np.arange(arrays.count))


@BASES
def test_offsets_and_rows_are_converted(sparse: Sparse, base: int) -> None:
    values = sparse.random((6, 5), np.float64, 0.5)
    csr, coo = Arrays(values, "csr", base=base), Arrays(values, "coo", base=base)
    offsets, rows = sparse.put(np.zeros(7, np.int32)), sparse.put(np.zeros(csr.count, np.int32))
    assert sparse.call("Xcoo2csr", sparse.put(coo.offsets), csr.count, 6, offsets, base) == SUCCESS
    np.testing.assert_array_equal(sparse.get(offsets, csr.offsets), csr.offsets)
    assert sparse.call("Xcsr2coo", sparse.put(csr.offsets), csr.count, 6, rows, base) == SUCCESS
    np.testing.assert_array_equal(sparse.get(rows, coo.offsets), coo.offsets)


@pytest.mark.parametrize("dtype", [np.int8, np.float16, *TYPES.values()])
@BASES
@pytest.mark.parametrize("copies", [0, 1])
def test_matrix_by_rows_becomes_one_by_columns(sparse: Sparse, dtype: Any, base: int, copies: int) -> None:
    values = sparse.random((6, 5), dtype, 0.5)
    csr, csc = Arrays(values, "csr", base=base), Arrays(values, "csc", base=base)
    given = [sparse.put(each) for each in (csr.values, csr.offsets, csr.indices)]
    likes = [np.full_like(each, GAP) for each in (csc.values, csc.offsets, csc.indices)]
    places = [sparse.put(each) for each in likes]
    arguments = 6, 5, csr.count, *given, *places, NUMBERS[np.dtype(dtype)], copies, base, 1
    buffer = sparse.buffer("Csr2cscEx2_bufferSize", *arguments)
    assert sparse.call("Csr2cscEx2", *arguments, buffer) == SUCCESS
    found = [sparse.get(place, like) for place, like in zip(places, likes, strict=True)]
    np.testing.assert_array_equal(found[0], csc.values if copies else likes[0])
    np.testing.assert_array_equal(found[1], csc.offsets)
    np.testing.assert_array_equal(found[2], csc.indices)


@LETTERS
@MODES
@pytest.mark.parametrize("by_columns", [0, 1])
def test_nonzero_elements_are_counted(sparse: Sparse, letter: str, on_device: bool, by_columns: int) -> None:
    values = sparse.random((6, 5), TYPES[letter], 0.5)
    padded = np.full((5, 8), GAP, values.dtype)
    padded[:, :6] = values.T
    like, total = np.zeros(5 if by_columns else 6, np.int32), np.zeros(1, np.int32)
    sparse.set_pointer_mode(on_device)
    place, to = sparse.put(like), sparse.put(total) if on_device else total.ctypes.data_as(ctypes.c_void_p)
    given = by_columns, 6, 5, described(sparse), sparse.put(padded), 8
    assert sparse.call(f"{letter}nnz", *given, place, to) == SUCCESS
    expected = (values != 0).sum(axis=0 if by_columns else 1)
    assert sparse.get(place, like).tolist() == expected.tolist()
    assert (sparse.get(to, total) if on_device else total).tolist() == [expected.sum()]  # type: ignore[arg-type]


@LETTERS
@pytest.mark.parametrize("name", ["gtsv2", "gtsv2_nopivot"])
def test_tridiagonal_equations(sparse: Sparse, letter: str, name: str) -> None:
    dtype, m, n = TYPES[letter], 7, 3
    lower, middle, upper = (sparse.random((m,), dtype) for _ in range(3))
    lower[0] = upper[-1] = 0
    if name == "gtsv2":
        # Needs an exchange of rows.
        middle[0] = 0
    else:
        middle += dtype(12)
    matrix = np.diag(middle) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
    right = sparse.random((n, m), dtype)
    padded = np.full((n, m + 2), GAP, dtype)
    padded[:, :m] = right
    b = sparse.put(padded)
    arguments = m, n, *(sparse.put(each) for each in (lower, middle, upper)), b, m + 2
    buffer = sparse.buffer(f"{letter}{name}_bufferSizeExt", *arguments)
    assert sparse.call(f"{letter}{name}", *arguments, buffer) == SUCCESS
    found = sparse.get(b, padded)
    assert (found[:, m:] == GAP).all()
    near(matrix @ found[:, :m].T, right.T)
    assert sparse.call(f"{letter}{name}", 2, *arguments[1:], buffer) == INVALID_VALUE


@LETTERS
def test_tridiagonal_equations_of_batches(sparse: Sparse, letter: str) -> None:
    dtype, m, count = TYPES[letter], 6, 4
    lower, middle, upper, right = (sparse.random((count, m), dtype) for _ in range(4))
    lower[:, 0] = upper[:, -1] = 0
    middle += dtype(12)
    matrices = [
        np.diag(middle[index]) + np.diag(lower[index, 1:], -1) + np.diag(upper[index, :-1], 1) for index in range(count)
    ]

    def strided(values: np.ndarray) -> np.ndarray:
        whole = np.full((count, m + 3), GAP, dtype)
        whole[:, :m] = values
        return whole

    places = [sparse.put(strided(each)) for each in (lower, middle, upper, right)]
    name = f"{letter}gtsv2StridedBatch"
    arguments = m, *places, count, m + 3
    buffer = sparse.buffer(f"{name}_bufferSizeExt", *arguments)
    assert sparse.call(name, *arguments, buffer) == SUCCESS
    found = sparse.get(places[3], strided(right))
    assert (found[:, m:] == GAP).all()
    for index in range(count):
        near(matrices[index] @ found[index, :m], right[index])

    name = f"{letter}gtsvInterleavedBatch"
    for algorithm in range(3):
        places = [sparse.put(np.ascontiguousarray(each.T)) for each in (lower, middle, upper, right)]
        buffer = sparse.buffer(f"{name}_bufferSizeExt", algorithm, m, *places, count)
        assert sparse.call(name, algorithm, m, *places, count, buffer) == SUCCESS
        found = sparse.get(places[3], np.ascontiguousarray(right.T))
        for index in range(count):
            near(matrices[index] @ found[:, index], right[index])
    assert sparse.call(name, 3, m, *places, count, buffer) == INVALID_VALUE


@LETTERS
def test_pentadiagonal_equations_of_a_batch(sparse: Sparse, letter: str) -> None:
    dtype, m, count = TYPES[letter], 7, 3
    diagonals = [sparse.random((m, count), dtype) for _ in range(5)]
    diagonals[2] += dtype(4)
    right = sparse.random((m, count), dtype)
    places = [sparse.put(each) for each in (*diagonals, right)]
    name = f"{letter}gpsvInterleavedBatch"
    buffer = sparse.buffer(f"{name}_bufferSizeExt", 0, m, *places, count)
    assert sparse.call(name, 0, m, *places, count, buffer) == SUCCESS
    found = sparse.get(places[5], right)
    for index in range(count):
        matrix = np.zeros((m, m), dtype)
        for row in range(m):
            for offset in range(-2, 3):
                if 0 <= row + offset < m:
                    matrix[row, row + offset] = diagonals[offset + 2][row, index]
        near(matrix @ found[:, index], right[:, index])


@LETTERS
@BASES
def test_incomplete_factors_multiply_to_the_entries_of_the_matrix(sparse: Sparse, letter: str, base: int) -> None:
    dtype, n = TYPES[letter], 7
    values = sparse.random((n, n), dtype, 0.4)
    values = (values + values.conj().T).astype(dtype)
    np.fill_diagonal(values, 40)
    arrays = Arrays(values, "csr", base=base)
    for name in ("csrilu02", "csric02"):
        places = [sparse.put(each) for each in (arrays.values, arrays.offsets, arrays.indices)]
        info = sparse.made(f"Destroy{name.capitalize()}Info", f"Create{name.capitalize()}Info")
        given = n, arrays.count, described(sparse, base), *places, info
        buffer = small_buffer(sparse, f"{letter}{name}_bufferSize", *given)
        sparse.buffer(f"{letter}{name}_bufferSizeExt", *given)
        assert sparse.call(f"{letter}{name}", *given, 0, buffer) == INVALID_VALUE
        assert sparse.call(f"{letter}{name}_analysis", *given, 0, buffer) == SUCCESS
        assert sparse.call(f"{letter}{name}", *given, 0, buffer) == SUCCESS
        position = ctypes.c_int(5)
        assert sparse.call(f"X{name}_zeroPivot", info, ctypes.byref(position)) == SUCCESS
        assert position.value == -1
        factors = np.zeros_like(values)
        factors[values != 0] = sparse.get(places[0], arrays.values)
        lower = np.tril(factors, -1) + np.eye(n, dtype=dtype) if name == "csrilu02" else np.tril(factors)
        upper = np.triu(factors) if name == "csrilu02" else lower.conj().T
        kept = values != 0 if name == "csrilu02" else np.tril(values != 0)
        near((lower @ upper)[kept], values[kept])


@BASES
def test_pivots_that_are_absent_or_zero_are_reported(sparse: Sparse, base: int) -> None:
    for case in ("absent", "zero", "boosted"):
        values = np.array([[2.0, 0, 1], [0, 3, 0], [4, 0, 2.0]])
        arrays = Arrays(values, "csr", base=base)
        if case == "absent":
            arrays = Arrays(np.array([[2.0, 0, 1], [0, 3, 0], [4, 0, 0]]), "csr", base=base)
        places = [sparse.put(each) for each in (arrays.values, arrays.offsets, arrays.indices)]
        info = sparse.made("DestroyCsrilu02Info", "CreateCsrilu02Info")
        given = 3, arrays.count, described(sparse, base), *places, info
        buffer = small_buffer(sparse, "Dcsrilu02_bufferSize", *given)
        if case == "boosted":
            tolerance, value = np.array([1e-3]), np.array([7.0])
            pointers = (each.ctypes.data_as(ctypes.c_void_p) for each in (tolerance, value))
            assert sparse.call("Dcsrilu02_numericBoost", info, 1, *pointers) == SUCCESS
        assert sparse.call("Dcsrilu02_analysis", *given, 0, buffer) == SUCCESS
        position = ctypes.c_int(5)
        found = sparse.call("Xcsrilu02_zeroPivot", info, ctypes.byref(position))
        assert (found, position.value) == ((ZERO_PIVOT, 2 + base) if case == "absent" else (SUCCESS, -1))
        assert sparse.call("Dcsrilu02", *given, 0, buffer) == SUCCESS
        found = sparse.call("Xcsrilu02_zeroPivot", info, ctypes.byref(position))
        assert (found, position.value) == ((SUCCESS, -1) if case == "boosted" else (ZERO_PIVOT, 2 + base))
        if case == "boosted":
            assert sparse.get(places[0], arrays.values)[-1] == 7


@LETTERS
@BASES
@pytest.mark.parametrize("direction", [0, 1])
def test_incomplete_factors_of_blocks_multiply_to_the_blocks_of_the_matrix(
    sparse: Sparse, letter: str, base: int, direction: int
) -> None:
    dtype, n = TYPES[letter], 8
    values = sparse.random((n, n), dtype, 0.2)
    values = (values + values.conj().T).astype(dtype)
    np.fill_diagonal(values, 40)
    arrays = Arrays(values, "bsr", base=base)
    kept = (values != 0).reshape(4, 2, 4, 2).any(axis=(1, 3)).repeat(2, axis=0).repeat(2, axis=1)
    blocks = arrays.values.reshape(-1, 2, 2)
    stored = np.ascontiguousarray(blocks.swapaxes(1, 2) if direction else blocks)
    for name in ("bsrilu02", "bsric02"):
        places = [sparse.put(each) for each in (stored, arrays.offsets, arrays.indices)]
        info = sparse.made(f"Destroy{name.capitalize()}Info", f"Create{name.capitalize()}Info")
        given = direction, 4, arrays.count, described(sparse, base), *places, 2, info
        buffer = small_buffer(sparse, f"{letter}{name}_bufferSize", *given)
        sparse.buffer(f"{letter}{name}_bufferSizeExt", *given)
        assert sparse.call(f"{letter}{name}_analysis", *given, 0, buffer) == SUCCESS
        assert sparse.call(f"{letter}{name}", *given, 0, buffer) == SUCCESS
        position = ctypes.c_int(5)
        assert sparse.call(f"X{name}_zeroPivot", info, ctypes.byref(position)) == SUCCESS
        found = sparse.get(places[0], stored)
        factors = np.zeros_like(values)
        blocks_of = factors.reshape(4, 2, 4, 2).swapaxes(1, 2)
        used = kept[::2, ::2]
        blocks_of[used] = found.swapaxes(1, 2) if direction else found
        lower = np.tril(factors, -1) + np.eye(n, dtype=dtype) if name == "bsrilu02" else np.tril(factors)
        upper = np.triu(factors) if name == "bsrilu02" else lower.conj().T
        where = kept if name == "bsrilu02" else np.tril(kept)
        near((lower @ upper)[where], values[where])


@LETTERS
@BASES
@pytest.mark.parametrize("direction", [0, 1])
def test_products_of_blocks(sparse: Sparse, letter: str, base: int, direction: int) -> None:
    dtype = TYPES[letter]
    a = sparse.random((6, 8), dtype, 0.4)
    arrays = Arrays(a, "bsr", base=base)
    blocks = arrays.values.reshape(-1, 2, 2)
    stored = np.ascontiguousarray(blocks.swapaxes(1, 2) if direction else blocks)
    places = sparse.put(stored), sparse.put(arrays.offsets), sparse.put(arrays.indices)
    given = described(sparse, base), *places, 2
    scalars = sparse.scalar(2, dtype), sparse.scalar(3, dtype)
    x, y = sparse.random((8,), dtype), sparse.random((6,), dtype)
    at_x, at_y = sparse.put(x), sparse.put(y)
    arguments = direction, N, 3, 4, arrays.count, scalars[0], *given, at_x, scalars[1], at_y
    assert sparse.call(f"{letter}bsrmv", *arguments) == SUCCESS
    close(sparse.get(at_y, y), (2 * a @ x + 3 * y).astype(dtype))
    for kind in (N, T):
        b, c = sparse.random((8, 5) if kind == N else (5, 8), dtype), sparse.random((6, 5), dtype)
        at_b, at_c = sparse.put(np.ascontiguousarray(b.T)), sparse.put(np.ascontiguousarray(c.T))
        sizes = direction, N, kind, 3, 5, 4, arrays.count
        arguments = *sizes, scalars[0], *given, at_b, b.shape[0], scalars[1], at_c, 6
        assert sparse.call(f"{letter}bsrmm", *arguments) == SUCCESS
        close(sparse.get(at_c, np.empty((5, 6), dtype)).T, (2 * a @ op(b, kind) + 3 * c).astype(dtype))


@LETTERS
@pytest.mark.parametrize("kind", [N, T, H])
@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("unit", [0, 1])
def test_triangular_equations_of_blocks(sparse: Sparse, letter: str, kind: int, upper: int, unit: int) -> None:
    dtype = TYPES[letter]
    values = sparse.random((6, 6), dtype, 0.5) + 8 * np.eye(6, dtype=dtype)
    half = np.triu(values) if upper else np.tril(values)
    if unit:
        np.fill_diagonal(half, 1)
    arrays = Arrays(values, "bsr")
    places = [sparse.put(each) for each in (arrays.values, arrays.offsets, arrays.indices)]
    descr = described(sparse, FillMode=upper, DiagType=unit)
    info = sparse.made("DestroyBsrsv2Info", "CreateBsrsv2Info")
    short = 0, kind, 3, arrays.count
    right = sparse.random((6,), dtype)
    f, x, alpha = sparse.put(right), sparse.put(np.zeros(6, dtype)), sparse.scalar(2, dtype)
    buffer = small_buffer(sparse, f"{letter}bsrsv2_bufferSize", *short, descr, *places, 2, info)
    assert sparse.call(f"{letter}bsrsv2_analysis", *short, descr, *places, 2, info, 0, buffer) == SUCCESS
    assert sparse.call(f"{letter}bsrsv2_solve", *short, alpha, descr, *places, 2, info, f, x, 0, buffer) == SUCCESS
    near(op(half, kind) @ sparse.get(x, right), 2 * right)
    position = ctypes.c_int(5)
    assert sparse.call("Xbsrsv2_zeroPivot", info, ctypes.byref(position)) == SUCCESS
    info = sparse.made("DestroyBsrsm2Info", "CreateBsrsm2Info")
    for turned in (N, T):
        rights = sparse.random((6, 4) if turned == N else (4, 6), dtype)
        lead = rights.shape[0]
        b, x = sparse.put(np.ascontiguousarray(rights.T)), sparse.put(np.zeros_like(rights.T))
        short = 0, kind, turned, 3, 4, arrays.count
        buffer = small_buffer(sparse, f"{letter}bsrsm2_bufferSize", *short, descr, *places, 2, info)
        assert sparse.call(f"{letter}bsrsm2_analysis", *short, descr, *places, 2, info, 0, buffer) == SUCCESS
        solve = *short, alpha, descr, *places, 2, info, b, lead, x, lead, 0, buffer
        assert sparse.call(f"{letter}bsrsm2_solve", *solve) == SUCCESS
        found = sparse.get(x, np.empty_like(rights.T)).T
        near(op(half, kind) @ op(found, turned), 2 * op(rights, turned))


@LETTERS
@BASES
@pytest.mark.parametrize("kind", [N, T, H])
def test_product_of_a_dense_matrix_and_a_sparse_vector(sparse: Sparse, letter: str, base: int, kind: int) -> None:
    dtype = TYPES[letter]
    a = sparse.random((5, 7), dtype)
    memory = np.full((7, 6), GAP, dtype)
    memory[:, :5] = a.T
    turned = op(a, kind)
    indices = np.array([3, 0, 4], np.int32)
    x = np.zeros(turned.shape[1], dtype)
    values = sparse.random((3,), dtype)
    x[indices] = values
    y = sparse.random((turned.shape[0],), dtype)
    at_y, scalars = sparse.put(y), (sparse.scalar(2, dtype), sparse.scalar(3, dtype))
    buffer = small_buffer(sparse, f"{letter}gemvi_bufferSize", kind, 5, 7, 3)
    vector = sparse.put(values), sparse.put(indices + np.int32(base))
    given = kind, 5, 7, scalars[0], sparse.put(memory), 6, 3, *vector, scalars[1], at_y, base, buffer
    assert sparse.call(f"{letter}gemvi", *given) == SUCCESS
    close(sparse.get(at_y, y), (2 * turned @ x + 3 * y).astype(dtype))
