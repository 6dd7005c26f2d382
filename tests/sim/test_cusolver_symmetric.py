"""Inverses, factors, tridiagonal forms and relative eigenvalues of symmetric matrices, by the stand-in for cuSOLVER."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from solver_probe import (
    GAP,
    INVALID_VALUE,
    LOWER,
    ORTHOGONAL,
    SUCCESS,
    SYMMETRIC,
    TYPES,
    UPPER,
    Address,
    Solver,
    close,
    only,
    padded,
    parameters,
)

KINDS = pytest.mark.parametrize("kind", list(TYPES))
FILLS = pytest.mark.parametrize("fill", [LOWER, UPPER], ids=["lower", "upper"])
SIZES = pytest.mark.parametrize("n", [1, 2, 5, 40])
ALL, BY_INDEX, BY_VALUE = 1001, 1002, 1003


def real(kind: str) -> Any:
    return np.zeros(0, TYPES[kind]).real.dtype.type


def scalar(kind: str, value: float) -> Any:
    return (ctypes.c_float if real(kind) is np.float32 else ctypes.c_double)(value)


def hermitian(solver: Solver, n: int, dtype: Any) -> np.ndarray:
    matrix = solver.random((n, n), dtype)
    return np.asfortranarray((matrix + matrix.conj().T) / 2)


def completed(triangle: np.ndarray, fill: int, *, conjugate: bool = True) -> np.ndarray:
    """The matrix of a triangle."""
    half = np.tril(triangle, -1) if fill == LOWER else np.triu(triangle, 1)
    return half + np.diag(np.diag(triangle)) + (half.conj().T if conjugate else half.T)


@KINDS
@FILLS
@SIZES
def test_inverse_from_a_cholesky_factor(solver: Solver, kind: str, fill: int, n: int) -> None:
    matrix = solver.definite(n, TYPES[kind])
    factor = np.linalg.cholesky(matrix)
    whole = padded(only(factor if fill == LOWER else factor.conj().T, fill))
    a, (info, like) = solver.put(whole), solver.integers()
    work, size = solver.workspace(f"cusolverDn{kind}potri", kind, fill, n, a, n + 3)
    assert solver.call(f"cusolverDn{kind}potri", fill, n, a, n + 3, work, size, info) == SUCCESS
    after = solver.get(a, whole)
    assert solver.get(info, like)[0] == 0
    close(completed(after[:n], fill), np.linalg.inv(matrix), kind)
    np.testing.assert_array_equal(np.where(only(matrix, fill) == GAP, after[:n], GAP), GAP)


@KINDS
def test_inverse_of_a_singular_factor_names_the_column(solver: Solver, kind: str) -> None:
    factor = np.asfortranarray(np.diag([1, 2, 0, 4]).astype(TYPES[kind]))
    a, (info, like) = solver.put(factor), solver.integers()
    assert solver.call(f"cusolverDn{kind}potri", 0, 4, a, 4, solver.memory(4096), 128, info) == SUCCESS
    assert solver.get(info, like)[0] == 3


@KINDS
@FILLS
@pytest.mark.parametrize("equation", [1, 2, 3])
@pytest.mark.parametrize("form", ["gvd", "gvj"])
def test_eigenvalues_relative_to_a_matrix(solver: Solver, kind: str, fill: int, equation: int, form: str) -> None:
    n, dtype = 7, TYPES[kind]
    a_values, b_values = hermitian(solver, n, dtype), solver.definite(n, dtype)
    name = f"cusolverDn{kind}{SYMMETRIC[kind]}{form}"
    more = [parameters(solver, "syevj")] if form == "gvj" else []
    expected = {1: np.linalg.solve(b_values, a_values), 2: a_values @ b_values, 3: b_values @ a_values}[equation]
    for vectors in (0, 1):
        whole_a, whole_b = padded(only(a_values, fill)), padded(only(b_values, fill))
        a, b, w = solver.put(whole_a), solver.put(whole_b), solver.put(np.zeros(n, real(kind)))
        info, like = solver.integers()
        sizes = (equation, vectors, fill, n, a, n + 3, b, n + 3, w)
        size = ctypes.c_int(-1)
        assert solver.call(f"{name}_bufferSize", *sizes, ctypes.byref(size), *more) == SUCCESS
        work = solver.memory(size.value * 16)
        assert solver.call(name, *sizes, work, size.value, info, *more) == SUCCESS
        found, x = solver.get(w, np.zeros(n, real(kind))), solver.get(a, whole_a)
        assert solver.get(info, like)[0] == 0
        close(found, np.sort(np.linalg.eigvals(expected).real), kind, 20)
        factor = solver.get(b, whole_b)
        half = np.tril(factor[:n]) if fill == LOWER else np.triu(factor[:n]).conj().T
        close(half @ half.conj().T, b_values, kind)
        np.testing.assert_array_equal(x[n:], GAP)
        if vectors:
            close(expected @ x[:n], x[:n] * found, kind, 20)
            size_of_x = b_values if equation < 3 else np.linalg.inv(b_values)
            close(x[:n].conj().T @ size_of_x @ x[:n], np.eye(n), kind, 20)


@KINDS
def test_matrix_that_is_not_definite_has_its_minor_in_info(solver: Solver, kind: str) -> None:
    n, b_values = 4, np.asfortranarray(np.diag([1, 1, -1, 1]).astype(TYPES[kind]))
    a, b, w = solver.put(np.eye(n, dtype=TYPES[kind])), solver.put(b_values), solver.put(np.zeros(n, real(kind)))
    info, like = solver.integers()
    name = f"cusolverDn{kind}{SYMMETRIC[kind]}gvd"
    work, size = solver.workspace(name, kind, 1, 1, 0, n, a, n, b, n, w)
    assert solver.call(name, 1, 1, 0, n, a, n, b, n, w, work, size, info) == SUCCESS
    assert solver.get(info, like)[0] == n + 3
    assert solver.call(name, 4, 1, 0, n, a, n, b, n, w, work, size, info) == INVALID_VALUE


@KINDS
@FILLS
@pytest.mark.parametrize("relative", [False, True], ids=["alone", "relative"])
def test_eigenvalues_in_a_range(solver: Solver, kind: str, fill: int, relative: bool) -> None:
    n, dtype = 9, TYPES[kind]
    values = hermitian(solver, n, dtype)
    other = solver.definite(n, dtype)
    expected = (
        np.sort(np.linalg.eigvals(np.linalg.solve(other, values)).real) if relative else np.linalg.eigvalsh(values)
    )
    middle = (expected[2:-2] + expected[3:-1]) / 2
    name = f"cusolverDn{kind}{SYMMETRIC[kind]}{'gvdx' if relative else 'evdx'}"
    for kind_of_range, first, last in ((ALL, 0, n), (BY_INDEX, 3, 6), (BY_VALUE, 3, 5)):
        low, high = middle[0], middle[2]
        whole, count = padded(only(values, fill)), ctypes.c_int(-1)
        a, w, (info, like) = solver.put(whole), solver.put(np.zeros(n, real(kind))), solver.integers()
        start = (1,) if relative else ()
        b = (solver.put(padded(only(other, fill))), n + 3) if relative else ()
        limits = (scalar(kind, low), scalar(kind, high), first + 1, last, ctypes.byref(count))
        sizes = (*start, 1, kind_of_range, fill, n, a, n + 3, *b, *limits, w)
        work, size = solver.workspace(name, kind, *sizes)
        assert solver.call(name, *sizes, work, size, info) == SUCCESS
        found, x = solver.get(w, np.zeros(n, real(kind))), solver.get(a, whole)
        assert (solver.get(info, like)[0], count.value) == (0, last - first)
        close(found[: last - first], expected[first:last], kind, 20)
        columns = x[:n, : last - first]
        right = other @ columns if relative else columns
        close(values @ columns, right * found[: last - first], kind, 20)
    assert solver.call(name, *start, 1, 7, fill, n, a, n + 3, *b, *limits, w, work, size, info) == INVALID_VALUE


def test_eigenvalues_in_a_range_with_named_types(solver: Solver) -> None:
    n = 6
    values = hermitian(solver, n, np.complex128)
    a, w, (info, like) = solver.put(values), solver.put(np.zeros(n)), solver.integers()
    count, device, host = ctypes.c_int64(-1), ctypes.c_size_t(), ctypes.c_size_t()
    expected = np.linalg.eigvalsh(values)
    low, high = (ctypes.c_double((expected[index - 1] + expected[index]) / 2) for index in (2, 5))
    wide = ctypes.c_int64
    sizes = (None, 1, BY_VALUE, LOWER, wide(n), 5, a, wide(n), ctypes.byref(low), ctypes.byref(high))
    sizes = (*sizes, wide(0), wide(0), ctypes.byref(count), 1, w, 5)
    assert solver.call("cusolverDnXsyevdx_bufferSize", *sizes, ctypes.byref(device), ctypes.byref(host)) == SUCCESS
    work = solver.memory(device.value)
    assert solver.call("cusolverDnXsyevdx", *sizes, work, device, None, ctypes.c_size_t(0), info) == SUCCESS
    assert (solver.get(info, like)[0], count.value) == (0, 3)
    close(solver.get(w, np.zeros(n))[:3], expected[2:5], "Z")


@FILLS
def test_eigenvalues_of_a_batch_with_named_types(solver: Solver, fill: int) -> None:
    n, count = 6, 3
    matrices = [hermitian(solver, n, np.complex64) for _ in range(count)]
    whole = np.asfortranarray(np.concatenate([padded(only(each, fill)) for each in matrices], axis=1))
    values = np.zeros((n, count), np.float32, "F")
    a, w, (info, like) = solver.put(whole), solver.put(values), solver.integers(count)
    device, host, wide = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_int64
    sizes = (None, 1, fill, wide(n), 4, a, wide(n + 3), 0, w, 4)
    name, of_sizes = "cusolverDnXsyevBatched", (ctypes.byref(device), ctypes.byref(host), wide(count))
    assert solver.call(f"{name}_bufferSize", *sizes, *of_sizes) == SUCCESS
    assert solver.call(name, *sizes, solver.memory(device.value), device, None, host, info, wide(count)) == SUCCESS
    found, after = solver.get(w, values), solver.get(a, whole)
    np.testing.assert_array_equal(solver.get(info, like), 0)
    for index, matrix in enumerate(matrices):
        close(found[:, index], np.linalg.eigvalsh(matrix), "C")
        columns = after[:n, index * n : (index + 1) * n]
        close(matrix @ columns, columns * found[:, index], "C")


@KINDS
@FILLS
@SIZES
@pytest.mark.parametrize("exchanges", [True, False], ids=["pivots", "without"])
def test_factors_of_an_indefinite_matrix_solve_its_equations(
    solver: Solver, kind: str, fill: int, n: int, exchanges: bool
) -> None:
    dtype, columns = TYPES[kind], 3
    values = solver.random((n, n), dtype)
    values = np.asfortranarray(values + values.T)
    if exchanges and n > 1:
        np.fill_diagonal(values, 0)
    if not exchanges:
        values = values + 4 * n * np.eye(n, dtype=dtype)
    whole, right = padded(only(values, fill)), solver.random((n, columns), dtype)
    a, b, (info, like) = solver.put(whole), solver.put(right), solver.integers()
    pivots, numbers = solver.integers(n)
    work, size = solver.workspace(f"cusolverDn{kind}sytrf", kind, n, a, n + 3)
    name = f"cusolverDn{kind}sytrf"
    assert solver.call(name, fill, n, a, n + 3, pivots if exchanges else None, work, size, info) == SUCCESS
    assert solver.get(info, like)[0] == 0
    after = solver.get(a, whole)
    np.testing.assert_array_equal(np.where(only(values, fill) == GAP, after[:n], GAP), GAP)
    wide = None
    if exchanges:
        found = solver.get(pivots, numbers)
        if n > 1:
            assert (found < 0).any()
        wide = solver.put(found.astype(np.int64))
    number, device, host = {"S": 0, "D": 1, "C": 4, "Z": 5}[kind], ctypes.c_size_t(), ctypes.c_size_t()
    long = ctypes.c_int64
    sizes = (fill, long(n), long(columns), number, a, long(n + 3), wide, number, b, long(n))
    assert solver.call("cusolverDnXsytrs_bufferSize", *sizes, ctypes.byref(device), ctypes.byref(host)) == SUCCESS
    assert solver.call("cusolverDnXsytrs", *sizes, solver.memory(device.value), device, None, host, info) == SUCCESS
    assert solver.get(info, like)[0] == 0
    close(values @ solver.get(b, right), right, kind, 50)
    if exchanges:
        name = f"cusolverDn{kind}sytri"
        work, size = solver.workspace(name, kind, fill, n, a, n + 3, pivots)
        assert solver.call(name, fill, n, a, n + 3, pivots, work, size, info) == SUCCESS
        close(completed(solver.get(a, whole)[:n], fill, conjugate=False) @ values, np.eye(n), kind, 50)


# Matrices with pivots and the last diagonal element that LAPACK's dsytrf gives for the lower and for the upper triangle.
FACTORED = [
    ([[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]], [-4, -4, 3, 4], [1, 2, -3, -3], -3.1111111, -0.9333333),
    (
        [[4, 1, 2, 3], [1, -3, 9, 5], [2, 9, 1, 6], [3, 5, 6, 0.5]],
        [1, -3, -3, 4],
        [1, 2, -3, -3],
        -7.1608997,
        3.5619621,
    ),
]


@FILLS
@pytest.mark.parametrize("case", FACTORED, ids=["zero", "other"])
def test_factors_and_pivots_are_those_of_lapack(solver: Solver, fill: int, case: tuple[Any, ...]) -> None:
    values = np.asfortranarray(case[0], np.float64)
    a, (info, _), (pivots, numbers) = solver.put(values), solver.integers(), solver.integers(4)
    work, size = solver.workspace("cusolverDnDsytrf", "D", 4, a, 4)
    assert solver.call("cusolverDnDsytrf", fill, 4, a, 4, pivots, work, size, info) == SUCCESS
    assert solver.get(pivots, numbers).tolist() == case[1 + fill]
    last = (3, 3) if fill == LOWER else (0, 0)
    assert solver.get(a, values)[last] == pytest.approx(case[3 + fill])


def test_zero_matrix_and_wrong_pivots(solver: Solver) -> None:
    zero = np.zeros((3, 3), order="F")
    a, (info, like), (pivots, _) = solver.put(zero), solver.integers(), solver.integers(3)
    for fill, number in ((LOWER, 1), (UPPER, 3)):
        assert solver.call("cusolverDnDsytrf", fill, 3, a, 3, pivots, solver.memory(1024), 96, info) == SUCCESS
        assert solver.get(info, like)[0] == number
    one, device, host = solver.put(np.eye(3)), ctypes.c_size_t(1 << 12), ctypes.c_size_t()
    long = ctypes.c_int64
    for wrong in ([0, 1, 2], [1, 2, 9], [-2, 2, 3], [1, 2, -3], [3, 1, 3]):
        b, right = solver.put(np.ones((3, 1))), np.ones((3, 1))
        sizes = (LOWER, long(3), long(1), 1, one, long(3), solver.put(np.array(wrong, np.int64)), 1, b, long(3))
        assert solver.call("cusolverDnXsytrs", *sizes, solver.memory(1 << 12), device, None, host, info) == SUCCESS
        assert np.isnan(solver.get(b, right)).all(), wrong


@KINDS
@FILLS
@SIZES
def test_tridiagonal_form_has_the_unitary_matrix_of_its_reflectors(
    solver: Solver, kind: str, fill: int, n: int
) -> None:
    dtype, o = TYPES[kind], ORTHOGONAL[kind]
    values = hermitian(solver, n, dtype)
    whole = padded(only(values, fill))
    a, (info, like) = solver.put(whole), solver.integers()
    d, e, tau = (solver.put(np.zeros(n, each)) for each in (real(kind), real(kind), dtype))
    name = f"cusolverDn{kind}{SYMMETRIC[kind]}trd"
    work, size = solver.workspace(name, kind, fill, n, a, n + 3, d, e, tau)
    assert solver.call(name, fill, n, a, n + 3, d, e, tau, work, size, info) == SUCCESS
    reduced = solver.get(a, whole)
    np.testing.assert_array_equal(np.where(only(values, fill) == GAP, reduced[:n], GAP), GAP)
    diagonal, beside = solver.get(d, np.zeros(n, real(kind))), solver.get(e, np.zeros(n, real(kind)))[: n - 1]
    expected = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    # The products with Q of the reflectors, and then Q.
    name = f"cusolverDn{kind}{o}mtr"
    for side in (0, 1):
        for trans in (0, 2 if o == "un" else 1):
            c_like = padded(np.asfortranarray(np.eye(n, dtype=dtype)))
            c = solver.put(c_like)
            sizes = (side, fill, trans, n, n, a, n + 3, tau, c, n + 3)
            work, size = solver.workspace(name, kind, *sizes)
            assert solver.call(name, *sizes, work, size, info) == SUCCESS
            product = solver.get(c, c_like)[:n]
            q = product if trans == 0 else product.conj().T
            close(q.conj().T @ values @ q, expected, kind, 10)
    if o == "un":
        assert solver.call(name, 0, fill, 1, *sizes[3:], work, size, info) == INVALID_VALUE
    name = f"cusolverDn{kind}{o}gtr"
    work, size = solver.workspace(name, kind, fill, n, a, n + 3, tau)
    assert solver.call(name, fill, n, a, n + 3, tau, work, size, info) == SUCCESS
    assert solver.get(info, like)[0] == 0
    close(solver.get(a, whole)[:n], q, kind, 10)


def test_null_pointers_and_short_workspaces_are_refused(solver: Solver) -> None:
    a, (info, _), none = solver.put(np.eye(4)), solver.integers(), Address(0)
    assert solver.call("cusolverDnDpotri", 0, 4, a, 4, a, 1, info) == INVALID_VALUE
    assert solver.call("cusolverDnDpotri", 0, 4, none, 4, a, 128, info) == INVALID_VALUE
    assert solver.call("cusolverDnDsytrf", 0, 4, a, 3, none, a, 128, info) == INVALID_VALUE
    assert solver.call("cusolverDnDsytrd", 0, 4, a, 4, none, a, a, a, 128, info) == INVALID_VALUE
