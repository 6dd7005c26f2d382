"""The stand-in for cuSPARSE multiplies, converts and solves as NumPy does, in all formats, types, index bases and operations."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from sparse_probe import (
    COLUMN,
    FORMATS,
    GAP,
    INVALID_VALUE,
    NOT_SUPPORTED,
    NUMBERS,
    ROW,
    SUCCESS,
    TYPES,
    Arrays,
    H,
    Long,
    N,
    Sparse,
    T,
    close,
    op,
)

LETTERS = pytest.mark.parametrize("letter", TYPES)
OPS = pytest.mark.parametrize("kind", [N, T, H])
BASES = pytest.mark.parametrize("base", [0, 1])
INTEGERS = pytest.mark.parametrize("integers", [np.int32, np.int64])
MODES = pytest.mark.parametrize("on_device", [False, True])


def usable(form: str, *others: str) -> Any:
    return pytest.mark.parametrize("form", [each for each in FORMATS if each not in others])


@LETTERS
@OPS
@BASES
@INTEGERS
@MODES
@usable("form", "blocked_ell")
def test_product_with_a_vector(
    sparse: Sparse, form: str, letter: str, kind: int, base: int, integers: Any, on_device: bool
) -> None:
    dtype = TYPES[letter]
    values = sparse.random((8, 6), dtype, 0.4)
    a = sparse.matrix(Arrays(values, form, base=base, integers=integers))
    turned = op(values, kind)
    x, y = sparse.random((turned.shape[1],), dtype), sparse.random((turned.shape[0],), dtype)
    (vec_x, _), (vec_y, address) = sparse.vector(x), sparse.vector(y)
    sparse.set_pointer_mode(on_device)
    for alpha, beta in ((2, 3), (1, 0)):
        arguments = (
            kind,
            sparse.scalar(alpha, dtype),
            a,
            vec_x,
            sparse.scalar(beta, dtype),
            vec_y,
            NUMBERS[np.dtype(dtype)],
            0,
        )
        buffer = sparse.buffer("SpMV_bufferSize", *arguments)
        assert sparse.call("SpMV_preprocess", *arguments, buffer) == SUCCESS
        assert sparse.call("SpMV", *arguments, buffer) == SUCCESS
        y = alpha * turned @ x + beta * y
        close(sparse.get(address, y), y.astype(dtype))


@pytest.mark.parametrize(
    ("types", "compute"),
    [
        ((np.float16, np.float16, np.float16), np.float32),
        ((np.float16, np.float16, np.float32), np.float32),
        ((np.int8, np.int8, np.int32), np.int32),
        ((np.int8, np.int8, np.float32), np.float32),
        ((np.float32, np.float64, np.float64), np.float64),
        ((np.float32, np.complex64, np.complex64), np.complex64),
        ((np.float64, np.complex128, np.complex128), np.complex128),
    ],
)
def test_products_of_mixed_types(sparse: Sparse, types: tuple[Any, Any, Any], compute: Any) -> None:
    a, x, y = sparse.random((6, 8), types[0], 0.4), sparse.random((8,), types[1]), sparse.random((6,), types[2])
    wide = np.result_type(types[2], np.float64)
    expected = 2 * a.astype(wide) @ x.astype(wide) + 3 * y
    (vec_x, _), (vec_y, address) = sparse.vector(x), sparse.vector(y)
    scalars = sparse.scalar(2, compute), sparse.scalar(3, compute)
    arguments = N, scalars[0], sparse.matrix(Arrays(a, "csr")), vec_x, scalars[1], vec_y, NUMBERS[np.dtype(compute)], 0
    assert sparse.call("SpMV", *arguments, sparse.buffer("SpMV_bufferSize", *arguments)) == SUCCESS
    close(sparse.get(address, y), expected.astype(types[2]))
    b, c = sparse.random((8, 3), types[1]), sparse.random((6, 3), types[2])
    (mat_b, _, _), (mat_c, at, memory) = sparse.dense(b), sparse.dense(c, ROW)
    arguments = (
        N,
        N,
        scalars[0],
        sparse.matrix(Arrays(a, "coo")),
        mat_b,
        scalars[1],
        mat_c,
        NUMBERS[np.dtype(compute)],
        0,
    )
    assert sparse.call("SpMM", *arguments, sparse.buffer("SpMM_bufferSize", *arguments)) == SUCCESS
    close(sparse.result(at, memory, ROW), (2 * a.astype(wide) @ b.astype(wide) + 3 * c).astype(types[2]))


def test_product_of_types_that_do_not_fit_is_refused(sparse: Sparse) -> None:
    a = sparse.matrix(Arrays(sparse.random((4, 4), np.float32, 0.5), "csr"))
    (x, _), (y, _) = sparse.vector(np.ones(4)), sparse.vector(np.ones(4))
    one = sparse.scalar(1, np.float64)
    assert sparse.call("SpMV", N, one, a, x, one, y, 0, 0, None) == NOT_SUPPORTED
    assert sparse.call("SpMV", N, one, a, x, one, y, 99, 0, None) == NOT_SUPPORTED
    short, _ = sparse.vector(np.ones(3))
    assert sparse.call("SpMV", N, one, a, short, one, y, 1, 0, None) == INVALID_VALUE


@LETTERS
@pytest.mark.parametrize("kinds", [(N, N), (T, N), (H, T), (N, H)])
@pytest.mark.parametrize("orders", [(COLUMN, COLUMN), (ROW, COLUMN), (COLUMN, ROW)])
@BASES
@usable("form", "sliced_ell")
def test_product_with_a_matrix(
    sparse: Sparse, form: str, letter: str, kinds: tuple[int, int], orders: tuple[int, int], base: int
) -> None:
    dtype = TYPES[letter]
    a = sparse.random((8, 6), dtype, 0.4)
    inner, rows = op(a, kinds[0]).shape[1], op(a, kinds[0]).shape[0]
    b = sparse.random((inner, 3) if kinds[1] == N else (3, inner), dtype)
    c = sparse.random((rows, 3), dtype)
    (mat_b, _, _), (mat_c, address, memory) = sparse.dense(b, orders[0]), sparse.dense(c, orders[1])
    mat_a = sparse.matrix(Arrays(a, form, base=base))
    for alpha, beta in ((2, 3), (1, 0)):
        scalars = sparse.scalar(alpha, dtype), sparse.scalar(beta, dtype)
        arguments = *kinds, scalars[0], mat_a, mat_b, scalars[1], mat_c, NUMBERS[np.dtype(dtype)], 0
        buffer = sparse.buffer("SpMM_bufferSize", *arguments)
        assert sparse.call("SpMM_preprocess", *arguments, buffer) == SUCCESS
        assert sparse.call("SpMM", *arguments, buffer) == SUCCESS
        c = (alpha * op(a, kinds[0]) @ op(b, kinds[1]) + beta * c).astype(dtype)
        close(sparse.result(address, memory, orders[1]), c)


@pytest.mark.parametrize("shared", [True, False])
def test_products_of_batches(sparse: Sparse, shared: bool) -> None:
    patterns = sparse.random((4, 5), np.float64, 0.5)
    stack = np.stack([np.where(patterns != 0, sparse.random((4, 5), np.float64), 0) for _ in range(3)])
    if shared:
        stack[:] = stack[0]
    each = [Arrays(values, "csr") for values in stack]
    b, c = sparse.random((3, 5, 2), np.float64), sparse.random((3, 4, 2), np.float64)
    arrays = each[0]
    if not shared:
        for name in ("offsets", "indices", "values"):
            setattr(arrays, name, np.concatenate([getattr(one, name) for one in each]))
    a = sparse.matrix(arrays)
    strides = (Long(0), Long(0)) if shared else (Long(5), Long(arrays.count))
    assert sparse.plain("CsrSetStridedBatch", a, 3, *strides) == SUCCESS
    (mat_b, _, _), (mat_c, address, memory) = sparse.dense(b), sparse.dense(c)
    one = sparse.scalar(1, np.float64)
    arguments = N, N, one, a, mat_b, one, mat_c, 1, 0
    assert sparse.call("SpMM", *arguments, sparse.buffer("SpMM_bufferSize", *arguments)) == SUCCESS
    close(sparse.result(address, memory), stack @ b + c)
    count = ctypes.c_int()
    assert sparse.plain("SpMatGetStridedBatch", a, ctypes.byref(count)) == SUCCESS
    assert count.value == 3


@LETTERS
@pytest.mark.parametrize("kinds", [(N, N), (T, N), (N, H)])
@pytest.mark.parametrize("form", ["csr", "bsr"])
def test_sampled_product_of_dense_matrices(sparse: Sparse, form: str, letter: str, kinds: tuple[int, int]) -> None:
    dtype = TYPES[letter]
    a = sparse.random((6, 5) if kinds[0] == N else (5, 6), dtype)
    b = sparse.random((5, 8) if kinds[1] == N else (8, 5), dtype)
    c = sparse.random((6, 8), dtype, 0.4)
    arrays = Arrays(c, form, base=1)
    mat_c = sparse.matrix(arrays)
    values = sparse.places[2]
    (mat_a, _, _), (mat_b, _, _) = sparse.dense(a, ROW), sparse.dense(b)
    scalars = sparse.scalar(2, dtype), sparse.scalar(3, dtype)
    arguments = *kinds, scalars[0], mat_a, mat_b, scalars[1], mat_c, NUMBERS[np.dtype(dtype)], 0
    buffer = sparse.buffer("SDDMM_bufferSize", *arguments)
    assert sparse.call("SDDMM_preprocess", *arguments, buffer) == SUCCESS
    assert sparse.call("SDDMM", *arguments, buffer) == SUCCESS
    expected = 2 * op(a, kinds[0]) @ op(b, kinds[1]) + 3 * c
    kept = c != 0
    if form == "bsr":
        kept = kept.reshape(3, 2, 4, 2).any(axis=(1, 3)).repeat(2, axis=0).repeat(2, axis=1)
        where = kept.reshape(3, 2, 4, 2).swapaxes(1, 2)
        blocks = expected.reshape(3, 2, 4, 2).swapaxes(1, 2)
        ordered = blocks[where.any(axis=(2, 3))].reshape(-1)
    else:
        ordered = expected[kept]
    close(sparse.get(values, arrays.values), ordered.astype(dtype))


@LETTERS
@BASES
@pytest.mark.parametrize("order", [COLUMN, ROW])
@usable("form")
def test_conversion_to_a_dense_matrix(sparse: Sparse, form: str, letter: str, base: int, order: int) -> None:
    dtype = TYPES[letter]
    values = sparse.random((8, 6), dtype, 0.4)
    a = sparse.matrix(Arrays(values, form, base=base))
    b, address, memory = sparse.dense(np.full((8, 6), 5, dtype), order)
    assert sparse.call("SparseToDense", a, b, 0, sparse.buffer("SparseToDense_bufferSize", a, b, 0)) == SUCCESS
    close(sparse.result(address, memory, order), values)


@LETTERS
@BASES
@INTEGERS
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_conversion_of_a_dense_matrix(sparse: Sparse, form: str, letter: str, base: int, integers: Any) -> None:
    values = sparse.random((7, 5), TYPES[letter], 0.4)
    expected = Arrays(values, form, base=base, integers=integers)
    like = Arrays(np.zeros_like(values), form, base=base, integers=integers)
    a, _, _ = sparse.dense(values, ROW)
    b = sparse.matrix(like)
    buffer = sparse.buffer("DenseToSparse_bufferSize", a, b, 0)
    assert sparse.call("DenseToSparse_analysis", a, b, 0, buffer) == SUCCESS
    sizes = [ctypes.c_int64() for _ in range(3)]
    assert sparse.plain("SpMatGetSize", b, *map(ctypes.byref, sizes)) == SUCCESS
    assert [each.value for each in sizes] == [7, 5, expected.count]
    places = [sparse.put(np.full_like(each, GAP)) for each in (expected.offsets, expected.indices, expected.values)]
    assert sparse.plain(f"{form.capitalize()}SetPointers", b, *places) == SUCCESS
    assert sparse.call("DenseToSparse_convert", a, b, 0, buffer) == SUCCESS
    for place, array in zip(places, (expected.offsets, expected.indices, expected.values), strict=True):
        np.testing.assert_array_equal(sparse.get(place, array), array)


@LETTERS
@BASES
@MODES
def test_functions_of_a_sparse_and_a_dense_vector(sparse: Sparse, letter: str, base: int, on_device: bool) -> None:
    dtype = TYPES[letter]
    indices = np.array([6, 1, 4], np.int32)
    x, y = sparse.random((3,), dtype), sparse.random((9,), dtype)
    vec_x, at_x = sparse.sparse_vector(9, indices, x, base)
    vec_y, at_y = sparse.vector(y)
    sparse.set_pointer_mode(on_device)
    assert sparse.call("Axpby", sparse.scalar(2, dtype), vec_x, sparse.scalar(3, dtype), vec_y) == SUCCESS
    y *= 3
    y[indices] += 2 * x
    close(sparse.get(at_y, y), y)
    assert sparse.call("Gather", vec_y, vec_x) == SUCCESS
    x = y[indices]
    close(sparse.get(at_x, x), x)
    assert sparse.call("Rot", sparse.scalar(2, dtype), sparse.scalar(3, dtype), vec_x, vec_y) == SUCCESS
    x, y[indices] = 2 * x + 3 * y[indices], 2 * y[indices] - 3 * x
    close(sparse.get(at_x, x), x)
    close(sparse.get(at_y, y), y)
    assert sparse.call("Scatter", vec_x, vec_y) == SUCCESS
    y[indices] = x
    close(sparse.get(at_y, y), y)
    for kind in (N, H):
        number = NUMBERS[np.dtype(dtype)]
        result = np.zeros(1, dtype)
        place = sparse.put(result)
        to = place if on_device else result.ctypes.data_as(ctypes.c_void_p)
        buffer = sparse.buffer("SpVV_bufferSize", kind, vec_x, vec_y, to, number)
        assert sparse.call("SpVV", kind, vec_x, vec_y, to, number, buffer) == SUCCESS
        found = sparse.get(place, result) if on_device else result
        close(found, np.array([op(x, kind) @ y[indices]], dtype))


@LETTERS
@OPS
@BASES
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_triangular_equations(
    sparse: Sparse, form: str, letter: str, kind: int, base: int, upper: bool, unit: bool
) -> None:
    dtype = TYPES[letter]
    # Elements of the other triangle are there, and must not count.
    values = sparse.random((6, 6), dtype, 0.5) + 8 * np.eye(6, dtype=dtype)
    half = np.triu(values) if upper else np.tril(values)
    if unit:
        np.fill_diagonal(half, 1)
    a = sparse.matrix(Arrays(values, form, base=base))
    for attribute, setting in ((0, upper), (1, unit)):
        number = ctypes.c_int(setting)
        size = ctypes.c_size_t(4)
        assert sparse.plain("SpMatSetAttribute", a, attribute, ctypes.byref(number), size) == SUCCESS
    compute = NUMBERS[np.dtype(dtype)]
    right = sparse.random((6,), dtype)
    (x, _), (y, address) = sparse.vector(right), sparse.vector(np.zeros(6, dtype))
    solver = sparse.made("SpSV_destroyDescr", "SpSV_createDescr")
    arguments = kind, sparse.scalar(2, dtype), a, x, y, compute, 0, solver
    buffer = sparse.buffer("SpSV_bufferSize", *arguments)
    assert sparse.call("SpSV_solve", *arguments) == INVALID_VALUE
    assert sparse.call("SpSV_analysis", *arguments, buffer) == SUCCESS
    assert sparse.call("SpSV_solve", *arguments) == SUCCESS
    tolerance = 1e-3 if letter in "SC" else 1e-9
    np.testing.assert_allclose(op(half, kind) @ sparse.get(address, right), 2 * right, rtol=tolerance, atol=tolerance)

    rights = sparse.random((4, 6), dtype)
    (b, _, _), (c, at, memory) = sparse.dense(rights, ROW), sparse.dense(np.zeros((6, 4), dtype))
    solver = sparse.made("SpSM_destroyDescr", "SpSM_createDescr")
    arguments = kind, T, sparse.scalar(2, dtype), a, b, c, compute, 0, solver
    buffer = sparse.buffer("SpSM_bufferSize", *arguments)
    assert sparse.call("SpSM_analysis", *arguments, buffer) == SUCCESS
    assert sparse.call("SpSM_solve", *arguments) == SUCCESS
    found = sparse.result(at, memory)
    np.testing.assert_allclose(op(half, kind) @ found, 2 * rights.T, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("part", [0, 1])
def test_solver_uses_the_values_of_its_analysis_until_they_are_replaced(sparse: Sparse, part: int) -> None:
    values = np.tril(sparse.random((5, 5), np.float64, 0.6)) + 8 * np.eye(5)
    arrays = Arrays(values, "csr")
    a = sparse.matrix(arrays)
    right = sparse.random((5,), np.float64)
    (x, _), (y, address) = sparse.vector(right), sparse.vector(np.zeros(5))
    solver = sparse.made("SpSV_destroyDescr", "SpSV_createDescr")
    arguments = N, sparse.scalar(1, np.float64), a, x, y, 1, 0, solver
    assert sparse.call("SpSV_updateMatrix", solver, sparse.places[2], part) == INVALID_VALUE
    assert sparse.call("SpSV_analysis", *arguments, sparse.buffer("SpSV_bufferSize", *arguments)) == SUCCESS
    if part == 0:
        new, values = arrays.values * 2, values * 2
    else:
        new = np.arange(2.0, 7)
        values = values - np.diag(np.diag(values)) + np.diag(new)
    assert sparse.call("SpSV_updateMatrix", solver, sparse.put(new), part) == SUCCESS
    assert sparse.call("SpSV_solve", *arguments) == SUCCESS
    close(values @ sparse.get(address, right), right)
