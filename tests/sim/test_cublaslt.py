"""Products of matrices by the stand-in for cublasLt, compared with NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from blas_probe import INVALID_VALUE, NOT_SUPPORTED, SUCCESS, N, T, at, close
from lt_probe import (
    C_32F,
    C_64F,
    COL,
    COMPUTE_16F,
    COMPUTE_32F,
    COMPUTE_32I,
    COMPUTE_64F,
    COMPUTE_TF32,
    E4M3,
    E5M2,
    LAYOUT,
    R_8I,
    R_16BF,
    R_16F,
    R_32F,
    R_32I,
    R_64F,
    ROW,
    Lt,
    Matrix,
    bfloat,
    of_bfloat,
)

TYPES: dict[str, tuple[int, int, int, int, Any, Any]] = {
    "half": (COMPUTE_16F, R_16F, R_16F, R_16F, np.float16, np.float16),
    "half-float": (COMPUTE_32F, R_32F, R_16F, R_32F, np.float16, np.float32),
    "half-half": (COMPUTE_32F, R_32F, R_16F, R_16F, np.float16, np.float16),
    "float": (COMPUTE_32F, R_32F, R_32F, R_32F, np.float32, np.float32),
    "tf32": (COMPUTE_TF32, R_32F, R_32F, R_32F, np.float32, np.float32),
    "double": (COMPUTE_64F, R_64F, R_64F, R_64F, np.float64, np.float64),
    "complex": (COMPUTE_32F, C_32F, C_32F, C_32F, np.complex64, np.complex64),
    "double-complex": (COMPUTE_64F, C_64F, C_64F, C_64F, np.complex128, np.complex128),
    "int8": (COMPUTE_32I, R_32I, R_8I, R_32I, np.int8, np.int32),
}
"""The compute type, the type of scalars, those of inputs and of results, and NumPy's types of both."""
SCALARS = {
    R_16F: np.float16,
    R_32F: np.float32,
    R_64F: np.float64,
    C_32F: np.complex64,
    C_64F: np.complex128,
    R_32I: np.int32,
}


def op(values: np.ndarray, kind: int) -> np.ndarray:
    """The operation on each matrix of a batch."""
    return values if kind == N else values.swapaxes(1, 2) if kind == T else values.conj().swapaxes(1, 2)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("operations", [(0, 0), (1, 0), (0, 2), (2, 1)])
@pytest.mark.parametrize("orders", [(COL, COL, COL), (ROW, COL, ROW), (COL, ROW, ROW)], ids=str)
def test_product_of_a_batch_is_that_of_numpy(
    lt: Lt, name: str, operations: tuple[int, int], orders: tuple[int, int, int]
) -> None:
    compute, scale, kind, to, dtype, result = TYPES[name]
    m, n, k, count = 5, 4, 3, 3
    shapes = [(m, k) if operations[0] == 0 else (k, m), (k, n) if operations[1] == 0 else (n, k)]
    a, b = (
        Matrix(lt, lt.random((count, *shape), dtype), kind, order=order, gap=2)
        for shape, order in zip(shapes, orders[:2], strict=True)
    )
    c = Matrix(lt, lt.random((count, m, n), result), to, order=orders[2], gap=1)
    d = Matrix(lt, np.zeros((count, m, n), result), to, gap=3)
    alpha, beta = lt.scalar(2, SCALARS[scale]), lt.scalar(3, SCALARS[scale])
    description = lt.description(compute, scale, transa=operations[0], transb=operations[1])
    assert lt.matmul(description, alpha, a, b, beta, c, d) == SUCCESS
    wide = np.complex128 if np.dtype(result).kind == "c" else np.float64
    left, right = op(a.values.astype(wide), operations[0]), op(b.values.astype(wide), operations[1])
    close(d.get(lt), (2 * left @ right + 3 * c.values.astype(wide)).astype(result))
    np.testing.assert_array_equal(c.get(lt), c.values)


def test_bfloat_inputs_and_result_are_exact_for_small_integers(lt: Lt) -> None:
    x, y = lt.random((1, 4, 6), np.float32), lt.random((1, 6, 5), np.float32)
    a, b = Matrix(lt, bfloat(x), R_16BF), Matrix(lt, bfloat(y), R_16BF)
    d = Matrix(lt, np.zeros((1, 4, 5), np.uint16), R_16BF)
    one, zero = lt.scalar(1, np.float32), lt.scalar(0, np.float32)
    assert lt.matmul(lt.description(COMPUTE_32F, R_32F), one, a, b, zero, d, d) == SUCCESS
    np.testing.assert_array_equal(of_bfloat(d.get(lt)), x @ y)


def test_int8_result_is_rounded_and_saturated(lt: Lt) -> None:
    a = Matrix(lt, np.array([[[1, 3, 100, -100]]], np.int8).swapaxes(1, 2), R_8I)
    b = Matrix(lt, np.array([[[1, 100]]], np.int8), R_8I)
    d = Matrix(lt, np.zeros((1, 4, 2), np.int8), R_8I)
    half, zero = lt.scalar(0.5, np.float32), lt.scalar(0, np.float32)
    assert lt.matmul(lt.description(COMPUTE_32I, R_32F), half, a, b, zero, d, d) == SUCCESS
    np.testing.assert_array_equal(d.get(lt)[0], [[0, 50], [2, 127], [50, 127], [-50, -128]])


@pytest.mark.parametrize("mode", range(5))
def test_factors_lie_where_the_pointer_mode_says(lt: Lt, mode: int) -> None:
    values = lt.random((2, 4, 3), np.float32), lt.random((2, 3, 5), np.float32), lt.random((2, 4, 5), np.float32)
    a, b, c = (Matrix(lt, each, R_32F) for each in values)
    d = Matrix(lt, np.zeros((2, 4, 5), np.float32), R_32F)
    rows, of_c = np.array([1, 0, -2, 3], np.float32), np.array([2, 1, 0, 5], np.float32)
    alpha: ctypes.c_void_p | None = lt.scalar(2, np.float32)
    beta: ctypes.c_void_p | None = lt.scalar(3, np.float32)
    factors: tuple[Any, Any] = (2, 3)
    if mode == 1:
        lt.on_device = True
        alpha, beta = (lt.scalar(2, np.float32), lt.scalar(3, np.float32))
    elif mode >= 2:
        alpha, factors = at(lt.put(rows)), (rows[:, None], (of_c[:, None], 0, 3)[mode - 2])
        beta = at(lt.put(of_c)) if mode == 2 else beta if mode == 4 else None
    assert lt.matmul(lt.description(COMPUTE_32F, R_32F, pointer_mode=mode), alpha, a, b, beta, c, d) == SUCCESS
    close(d.get(lt), factors[0] * (values[0] @ values[1]) + factors[1] * values[2])


def test_matrices_behind_pointers_are_a_batch(lt: Lt) -> None:
    values = [lt.random((3, 4, 4), np.float32) for _ in range(2)]
    layouts = lt.layout(R_32F, 4, 4, 4, count=3, mode=1)
    arrays, results = [], [lt.put(np.zeros((4, 4), np.float32)) for _ in range(3)]
    for each in values:
        arrays.append(lt.put(np.array([lt.put(matrix) for matrix in each], np.uint64)))
    arrays.append(lt.put(np.array(results, np.uint64)))
    one, zero = lt.scalar(1, np.float32), lt.scalar(0, np.float32)
    a, b, d = (at(each) for each in arrays)
    status = lt.library.cublasLtMatmul(
        lt.handle, lt.description(COMPUTE_32F, R_32F), one, a, layouts, b, layouts, zero, d, layouts, d, layouts,
        None, None, ctypes.c_size_t(0), lt.stream,
    )  # fmt: skip
    assert status == SUCCESS
    for index, address in enumerate(results):
        close(lt.get(address, np.zeros((4, 4), np.float32)), values[0][index] @ values[1][index])


def test_one_matrix_serves_a_batch_with_stride_zero(lt: Lt) -> None:
    a, b = Matrix(lt, lt.random((1, 4, 3), np.float32), R_32F), Matrix(lt, lt.random((3, 3, 2), np.float32), R_32F)
    lt.set("MatrixLayout", a.layout, LAYOUT, count=3, stride=0)
    d = Matrix(lt, np.zeros((3, 4, 2), np.float32), R_32F)
    one, zero = lt.scalar(1, np.float32), lt.scalar(0, np.float32)
    assert lt.matmul(lt.description(COMPUTE_32F, R_32F), one, a, b, zero, d, d) == SUCCESS
    close(d.get(lt), a.values @ b.values)


FLOATS = {
    E4M3: np.array([0, 1, -1.5, 0.5, 448, 2.0**-9, 3, -20]),
    E5M2: np.array([0, 1, -1.5, 0.5, 57344, 2.0**-16, 3, -20]),
}
CODES = {
    E4M3: np.array([0x00, 0x38, 0xBC, 0x30, 0x7E, 0x01, 0x44, 0xDA], np.uint8),
    E5M2: np.array([0x00, 0x3C, 0xBE, 0x38, 0x7B, 0x01, 0x42, 0xCD], np.uint8),
}
"""Numbers, and their codes in the two formats of 8-bit floats."""


@pytest.mark.parametrize("kinds", [(E4M3, E4M3), (E5M2, E4M3)], ids=["e4m3", "e5m2"])
def test_fp8_product_has_scales_and_the_largest_magnitude(lt: Lt, kinds: tuple[int, int]) -> None:
    """The scales of the inputs apply before the sums are stored, and that of the result after its largest magnitude is taken."""
    x, y = FLOATS[kinds[0]], FLOATS[kinds[1]][1:5]
    a, b = (
        Matrix(lt, CODES[kinds[0]].reshape(1, 1, 8), kinds[0]),
        Matrix(lt, CODES[kinds[1]][1:5].reshape(1, 1, 4), kinds[1]),
    )
    c, d = Matrix(lt, np.zeros((1, 8, 4), np.float16), R_16F), Matrix(lt, np.zeros((1, 8, 4), np.uint8), E4M3)
    scales = [lt.put(np.array([value], np.float32)) for value in (0.5, 2, 0.25, 0)]
    description = lt.description(
        COMPUTE_32F, R_32F, transa=T, scale_a=scales[0], scale_b=scales[1], scale_d=scales[2], amax_d=scales[3]
    )
    one, zero = lt.scalar(1, np.float32), lt.scalar(0, np.float32)
    assert lt.matmul(description, one, a, b, zero, c, d) == SUCCESS
    product = np.outer(x, y)
    assert lt.get(scales[3], np.zeros(1, np.float32))[0] == np.float32(np.abs(product).max())
    codes = np.arange(127, dtype=np.uint8)
    exponent, mantissa = codes >> 3, codes & 7
    numbers = np.where(exponent == 0, mantissa / 8 * 2.0**-6, (1 + mantissa / 8) * 2.0 ** (exponent.astype(int) - 7))
    stored = d.get(lt)[0]
    decoded = np.where(stored & 0x80, -1, 1) * numbers[stored & 0x7F]
    wanted = np.clip(product * 0.25, -448, 448)
    errors = np.abs(decoded[:, :, None] - wanted[:, :, None])
    nearest = np.abs(np.concatenate([-numbers, numbers])[None, None] - wanted[:, :, None]).min(axis=2)
    np.testing.assert_array_equal(errors[:, :, 0], nearest)


def test_fp8_scales_of_rows_and_columns(lt: Lt) -> None:
    a, b = Matrix(lt, CODES[E4M3].reshape(1, 1, 8), E4M3), Matrix(lt, CODES[E4M3][1:5].reshape(1, 1, 4), E4M3)
    d = Matrix(lt, np.zeros((1, 8, 4), np.float32), R_32F)
    rows, columns = np.arange(1, 9, dtype=np.float32), np.arange(1, 5, dtype=np.float32) / 4
    values = {"scale_a": lt.put(rows), "scale_b": lt.put(columns), "mode_a": 3, "mode_b": 3}
    one, zero = lt.scalar(1, np.float32), lt.scalar(0, np.float32)
    assert lt.matmul(lt.description(COMPUTE_32F, R_32F, transa=T, **values), one, a, b, zero, d, d) == SUCCESS
    expected = np.outer(rows * FLOATS[E4M3], columns * FLOATS[E4M3][1:5])
    np.testing.assert_allclose(d.get(lt)[0], expected, rtol=1e-6)


def test_transform_changes_orders_and_types(lt: Lt) -> None:
    a = Matrix(lt, lt.random((2, 4, 3), np.float32), R_32F, order=ROW, gap=1)
    b = Matrix(lt, lt.random((2, 3, 4), np.float32), R_32F, gap=2)
    c = Matrix(lt, np.zeros((2, 4, 3), np.float16), R_16F, gap=1)
    description, transpose = ctypes.c_void_p(), ctypes.c_int(T)
    assert lt.library.cublasLtMatrixTransformDescCreate(ctypes.byref(description), R_32F) == SUCCESS
    setter = lt.library.cublasLtMatrixTransformDescSetAttribute
    assert setter(description, 3, ctypes.byref(transpose), ctypes.c_size_t(4)) == SUCCESS
    alpha, beta = lt.scalar(2, np.float32), lt.scalar(-1, np.float32)
    transform = lt.library.cublasLtMatrixTransform
    matrices: Any = (alpha, at(a.address), a.layout, beta, at(b.address), b.layout, at(c.address), c.layout)
    assert transform(lt.handle, description, *matrices, lt.stream) == SUCCESS
    np.testing.assert_array_equal(c.get(lt), 2 * a.values - b.values.swapaxes(1, 2))
    matrices = (alpha, at(a.address), a.layout, None, None, None, at(c.address), c.layout)
    assert transform(lt.handle, description, *matrices, lt.stream) == SUCCESS
    np.testing.assert_array_equal(c.get(lt), 2 * a.values)
    wrong = (alpha, at(b.address), b.layout, None, None, None, at(c.address), c.layout)
    assert transform(lt.handle, description, *wrong, lt.stream) == INVALID_VALUE


def test_heuristic_refuses_what_the_product_refuses(lt: Lt) -> None:
    matrix = Matrix(lt, lt.random((1, 4, 4), np.float32), R_32F)
    plain = lt.description(COMPUTE_32F, R_32F)
    status, count, result = lt.heuristic(plain, *[matrix] * 4)
    assert (status, count, result.state, result.workspace) == (SUCCESS, 1, SUCCESS, 0)
    one, zero = lt.scalar(1, np.float32), lt.scalar(0, np.float32)
    refused = [lt.description(COMPUTE_64F, R_32F), lt.description(COMPUTE_32F, R_32F, transc=1)]
    refused.append(lt.description(COMPUTE_32F, R_32F, fill=0))
    for description in refused:
        assert lt.heuristic(description, *[matrix] * 4)[:2] == (NOT_SUPPORTED, 0)
        assert lt.matmul(description, one, matrix, matrix, zero, matrix, matrix) == NOT_SUPPORTED
    tiles = Matrix(lt, lt.random((1, 4, 4), np.float32), R_32F)
    lt.set("MatrixLayout", tiles.layout, LAYOUT, order=2)
    assert lt.heuristic(plain, tiles, *[matrix] * 3)[:2] == (NOT_SUPPORTED, 0)
