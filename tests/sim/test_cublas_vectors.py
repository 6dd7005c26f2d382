"""The stand-in for cuBLAS: levels 1 and 2, and functions beyond BLAS, in every layout."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest
from blas_probe import (
    GAP,
    LEFT,
    LOWER,
    NON_UNIT,
    RIGHT,
    SUCCESS,
    TYPES,
    UNIT,
    UPPER,
    Blas,
    C,
    N,
    T,
    at,
    check_vector,
    close,
    op,
    symmetric,
    triangle,
    triangular,
    vector,
)


def result_of(blas: Blas, name: str, dtype: Any, *arguments: Any) -> Any:
    """The one value that a function returns, on the host or in device memory."""
    out = np.zeros(1, dtype)
    if not blas.on_device:
        assert blas.call(name, *arguments, out.ctypes.data_as(ctypes.c_void_p)) == SUCCESS
        return out[0]
    address = blas.put(out)
    assert blas.call(name, *arguments, at(address)) == SUCCESS
    return blas.get(address, out)[0]


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("wide", ["", "_64"])
@pytest.mark.parametrize("letter", TYPES)
def test_level_1_reduces_vectors(blas: Blas, letter: str, wide: str, on_device: bool) -> None:
    dtype = TYPES[letter]
    real = np.empty(0, dtype).real.dtype
    index = np.int64 if wide else np.int32
    blas.set_pointer_mode(on_device)
    short = letter.lower()
    prefix = {"S": "S", "D": "D", "C": "Sc", "Z": "Dz"}[letter]
    for n, incx, incy in [(1, 1, 1), (9, 1, 2), (8, 3, -1), (7, 2, -2), (5, -1, 1), (0, 1, 1)]:
        x, _, put_x = vector(blas, n, incx, dtype)
        y, _, put_y = vector(blas, n, incy, dtype)
        of_x = x if incx > 0 else x[:0]
        size = np.abs(of_x.real) + np.abs(of_x.imag)
        one = (n, at(put_x), incx)
        assert result_of(blas, f"cublasI{short}amax_v2{wide}", index, *one) == (size.argmax() + 1 if len(size) else 0)
        assert result_of(blas, f"cublasI{short}amin_v2{wide}", index, *one) == (size.argmin() + 1 if len(size) else 0)
        close(result_of(blas, f"cublas{prefix}asum_v2{wide}", real, *one), size.sum())
        close(result_of(blas, f"cublas{prefix}nrm2_v2{wide}", real, *one), np.linalg.norm(of_x))
        both = (*one, at(put_y), incy)
        if letter in "SD":
            close(result_of(blas, f"cublas{letter}dot_v2{wide}", dtype, *both), x @ y)
        else:
            close(result_of(blas, f"cublas{letter}dotu_v2{wide}", dtype, *both), x @ y)
            close(result_of(blas, f"cublas{letter}dotc_v2{wide}", dtype, *both), x.conj() @ y)


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("letter", TYPES)
def test_level_1_changes_vectors(blas: Blas, letter: str, on_device: bool) -> None:
    dtype = TYPES[letter]
    is_complex = np.dtype(dtype).kind == "c"
    real = np.empty(0, dtype).real.dtype
    blas.set_pointer_mode(on_device)
    alpha = 2 - 1j if is_complex else -3
    for n, incx, incy in [(1, 1, 1), (9, 1, 2), (8, 3, -1), (7, -2, -2), (5, -1, 1)]:
        x, of_x, put_x = vector(blas, n, incx, dtype)
        y, of_y, put_y = vector(blas, n, incy, dtype)
        both = (at(put_x), incx, at(put_y), incy)
        assert blas.call(f"cublas{letter}axpy_v2", n, blas.scalar(alpha, dtype), *both) == SUCCESS
        y = alpha * x + y
        check_vector(blas, put_y, of_y, incy, y)
        assert blas.call(f"cublas{letter}swap_v2", n, *both) == SUCCESS
        x, y = y, x
        check_vector(blas, put_x, of_x, incx, x)
        check_vector(blas, put_y, of_y, incy, y)
        s = 0.5 - 0.25j if is_complex else 0.5
        assert blas.call(f"cublas{letter}rot_v2", n, *both, blas.scalar(2, real), blas.scalar(s, dtype)) == SUCCESS
        x, y = 2 * x + s * y, 2 * y - np.conj(s) * x
        check_vector(blas, put_x, of_x, incx, x)
        check_vector(blas, put_y, of_y, incy, y)
        if incx > 0:
            assert blas.call(f"cublas{letter}scal_v2", n, blas.scalar(alpha, dtype), at(put_x), incx) == SUCCESS
            x = alpha * x
        assert blas.call(f"cublas{letter}copy_v2", n, *both) == SUCCESS
        check_vector(blas, put_y, of_y, incy, x)
        if not is_complex:
            param = np.array([-1, 2, 3, 4, 5], dtype)
            pointer = at(blas.put(param)) if on_device else param.ctypes.data_as(ctypes.c_void_p)
            assert blas.call(f"cublas{letter}rotm_v2", n, *both, pointer) == SUCCESS
            check_vector(blas, put_x, of_x, incx, 6 * x)
            check_vector(blas, put_y, of_y, incy, 8 * x)


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("letter", TYPES)
def test_rotg_makes_the_second_number_zero(blas: Blas, letter: str, on_device: bool) -> None:
    dtype = TYPES[letter]
    real = np.empty(0, dtype).real.dtype
    blas.set_pointer_mode(on_device)
    for a, b in [(3, 4), (4, -3), (0, 2), (2, 0), (0, 0)]:
        arrays = [np.array([a], dtype), np.array([b], dtype), np.zeros(1, real), np.zeros(1, dtype)]
        addresses = [blas.put(each) if on_device else each.ctypes.data for each in arrays]
        assert blas.call(f"cublas{letter}rotg_v2", *(at(each) for each in addresses)) == SUCCESS
        if on_device:
            arrays = [blas.get(address, each) for address, each in zip(addresses, arrays, strict=True)]
        r, _, c, s = (each[0] for each in arrays)
        close(c * a + s * b, r)
        close(c * b - np.conj(s) * a, np.array(0, dtype))


def packed(matrix: np.ndarray, uplo: int) -> np.ndarray:
    n = len(matrix)
    columns = [matrix[j:, j] if uplo == LOWER else matrix[: j + 1, j] for j in range(n)]
    return np.concatenate(columns) if n else matrix.ravel()


def banded(matrix: np.ndarray, below: int, above: int) -> np.ndarray:
    """The band of a matrix as BLAS stores it. The places outside of the matrix are NaN."""
    band = np.full((below + above + 1, matrix.shape[1]), np.nan, matrix.dtype, order="F")
    for i, j in np.ndindex(*matrix.shape):
        if -below <= j - i <= above:
            band[above + i - j, j] = matrix[i, j]
    return band


def in_band(matrix: np.ndarray, below: int, above: int) -> np.ndarray:
    return np.triu(np.tril(matrix, above), -below)


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("letter", TYPES)
def test_level_2_multiplies_in_each_layout(blas: Blas, letter: str, on_device: bool) -> None:
    dtype = TYPES[letter]
    is_complex = np.dtype(dtype).kind == "c"
    blas.set_pointer_mode(on_device)
    alpha, beta = (2 - 1j, 1 + 1j) if is_complex else (2, -1)

    def product(name: str, head: tuple[int, ...], a: np.ndarray, rest: tuple[int, ...], full: np.ndarray) -> None:
        incx, incy = (int(each) for each in blas.rng.choice([1, -1, 2, -3], 2))
        x, _, put_x = vector(blas, full.shape[1], incx, dtype)
        y, of_y, put_y = vector(blas, full.shape[0], incy, dtype)
        arguments = (*head, blas.scalar(alpha, dtype), at(blas.put(a)), *rest, at(put_x), incx)
        arguments += (blas.scalar(beta, dtype), at(put_y), incy)
        assert blas.call(f"cublas{name}_v2", *arguments) == SUCCESS
        check_vector(blas, put_y, of_y, incy, alpha * full @ x + beta * y)

    for kind in (N, T, C):
        m, n = (int(each) for each in blas.rng.integers(1, 12, 2))
        below, above = (int(each) for each in blas.rng.integers(0, 4, 2))
        a = blas.random((m, n), dtype)
        product(f"{letter}gemv", (kind, m, n), blas.padded(a, 2), (m + 2,), op(a, kind))
        band = banded(a, below, above)
        full = op(in_band(a, below, above), kind)
        product(f"{letter}gbmv", (kind, m, n, below, above), band, (len(band),), full)
    for uplo in (LOWER, UPPER):
        n, k = int(blas.rng.integers(1, 12)), int(blas.rng.integers(0, 4))
        a = blas.random((n, n), dtype)
        band = banded(a, *((k, 0) if uplo == LOWER else (0, k)))
        for name, hermitian in (("sy", False), ("he", True)) if is_complex else (("sy", False),):
            full = symmetric(a, uplo, hermitian=hermitian)
            product(f"{letter}{name}mv", (uplo, n), triangle(a, uplo), (n,), full)
            if hermitian or not is_complex:
                kind_of = "h" if hermitian else "s"
                product(f"{letter}{kind_of}pmv", (uplo, n), packed(a, uplo), (), full)
                product(f"{letter}{kind_of}bmv", (uplo, n, k), band, (k + 1,), in_band(full, k, k))


@pytest.mark.parametrize("letter", TYPES)
def test_level_2_multiplies_and_solves_with_triangles(blas: Blas, letter: str) -> None:
    dtype = TYPES[letter]
    for uplo, kind, diag in itertools.product((LOWER, UPPER), (N, T, C), (NON_UNIT, UNIT)):
        n, k = int(blas.rng.integers(1, 12)), int(blas.rng.integers(0, 4))
        a = blas.random((n, n), dtype) / np.array(16, dtype)
        np.fill_diagonal(a, a.diagonal() + 2)
        hidden = triangle(a, uplo, unit=diag == UNIT)
        below, above = (k, 0) if uplo == LOWER else (0, k)
        band = banded(np.where(np.eye(n, dtype=bool), hidden, a), below, above)
        layouts = [("r", (), hidden, (n,), n), ("p", (), packed(hidden, uplo), (), n), ("b", (k,), band, (k + 1,), k)]
        for layout, width, stored, rest, reach in layouts:
            incx = int(blas.rng.choice([1, -1, 2, -3]))
            x, of_x, put_x = vector(blas, n, incx, dtype)
            full = op(in_band(triangular(a, uplo, diag), reach, reach), kind)
            arguments = (uplo, kind, diag, n, *width, at(blas.put(stored)), *rest, at(put_x), incx)
            assert blas.call(f"cublas{letter}t{layout}mv_v2", *arguments) == SUCCESS
            check_vector(blas, put_x, of_x, incx, full @ x)
            assert blas.call(f"cublas{letter}t{layout}sv_v2", *arguments) == SUCCESS
            check_vector(blas, put_x, of_x, incx, x)


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("letter", TYPES)
def test_level_2_updates_matrices_by_rank(blas: Blas, letter: str, on_device: bool) -> None:
    dtype = TYPES[letter]
    is_complex = np.dtype(dtype).kind == "c"
    real = np.empty(0, dtype).real.dtype
    blas.set_pointer_mode(on_device)
    alpha = 2 - 1j if is_complex else 2
    for conjugated, name in ((False, "geru"), (True, "gerc")) if is_complex else ((False, "ger"),):
        m, n = (int(each) for each in blas.rng.integers(1, 12, 2))
        a = blas.random((m, n), dtype)
        x, _, put_x = vector(blas, m, 2, dtype)
        y, _, put_y = vector(blas, n, -1, dtype)
        put_a = blas.put(blas.padded(a, 1))
        arguments = (m, n, blas.scalar(alpha, dtype), at(put_x), 2, at(put_y), -1, at(put_a), m + 1)
        assert blas.call(f"cublas{letter}{name}_v2", *arguments) == SUCCESS
        result = blas.get(put_a, blas.padded(a, 1))
        close(result[:m], a + alpha * np.outer(x, y.conj() if conjugated else y))
        assert (result[m:] == GAP).all()
    for uplo, hermitian in itertools.product((LOWER, UPPER), (False, True) if is_complex else (False,)):
        n = int(blas.rng.integers(1, 12))
        a = blas.random((n, n), dtype)
        if hermitian:
            np.fill_diagonal(a, a.diagonal().real)
        x, _, put_x = vector(blas, n, 2, dtype)
        y, _, put_y = vector(blas, n, -1, dtype)
        conj = np.conj if hermitian else np.asarray
        one = 2 if hermitian else alpha
        single = a + one * np.outer(x, conj(x))
        double = a + alpha * np.outer(x, conj(y)) + conj(alpha) * np.outer(y, conj(x))
        forms = [("he" if hermitian else "sy", triangle(a, uplo), (n,))]
        if hermitian or not is_complex:
            forms.append(("hp" if hermitian else "sp", packed(a, uplo), ()))
        for form, stored, rest in forms:
            for suffix, expected in (("r", single), ("r2", double)):
                put_a = blas.put(stored)
                factor = blas.scalar(one, real if hermitian else dtype) if suffix == "r" else blas.scalar(alpha, dtype)
                vectors = (at(put_x), 2) if suffix == "r" else (at(put_x), 2, at(put_y), -1)
                assert (
                    blas.call(f"cublas{letter}{form}{suffix}_v2", uplo, n, factor, *vectors, at(put_a), *rest)
                    == SUCCESS
                )
                expected_stored = packed(expected, uplo) if form[1] == "p" else triangle(expected, uplo)
                close(blas.get(put_a, stored), expected_stored.astype(dtype))


@pytest.mark.parametrize("letter", TYPES)
def test_sums_diagonal_products_and_conversions(blas: Blas, letter: str) -> None:
    dtype = TYPES[letter]
    for kind_a, kind_b in itertools.product((N, T, C), repeat=2):
        m, n = (int(each) for each in blas.rng.integers(1, 12, 2))
        a = blas.random((m, n) if kind_a == N else (n, m), dtype)
        b = blas.random((m, n) if kind_b == N else (n, m), dtype)
        whole = blas.padded(np.zeros((m, n), dtype), 2)
        put_c = blas.put(whole)
        arguments = (kind_a, kind_b, m, n, blas.scalar(2, dtype), at(blas.put(a)), len(a))
        arguments += (blas.scalar(3, dtype), at(blas.put(b)), len(b), at(put_c), m + 2)
        assert blas.call(f"cublas{letter}geam", *arguments) == SUCCESS
        result = blas.get(put_c, whole)
        close(result[:m], 2 * op(a, kind_a) + 3 * op(b, kind_b))
        assert (result[m:] == GAP).all()
    for side in (LEFT, RIGHT):
        a = blas.random((3, 5), dtype)
        x, _, put_x = vector(blas, 3 if side == LEFT else 5, -2, dtype)
        put_c = blas.put(np.zeros((3, 5), dtype))
        assert blas.call(f"cublas{letter}dgmm", side, 3, 5, at(blas.put(a)), 3, at(put_x), -2, at(put_c), 3) == SUCCESS
        close(blas.get(put_c, a), np.diag(x) @ a if side == LEFT else a @ np.diag(x))
    for uplo in (LOWER, UPPER):
        a = blas.random((5, 5), dtype)
        put_p, put_a = blas.put(np.zeros(15, dtype)), blas.put(np.full((5, 5), np.nan, dtype))
        assert blas.call(f"cublas{letter}trttp", uplo, 5, at(blas.put(triangle(a, uplo))), 5, at(put_p)) == SUCCESS
        np.testing.assert_array_equal(blas.get(put_p, np.zeros(15, dtype)), packed(a, uplo))
        assert blas.call(f"cublas{letter}tpttr", uplo, 5, at(put_p), at(put_a), 5) == SUCCESS
        np.testing.assert_array_equal(blas.get(put_a, a), triangle(a, uplo))
