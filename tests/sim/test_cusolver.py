"""Factors and equations of the stand-in for cuSOLVER, by their definitions and against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from solver_probe import (
    GAP,
    INVALID_VALUE,
    LOWER,
    ORTHOGONAL,
    SUCCESS,
    TYPES,
    Address,
    Solver,
    close,
    only,
    padded,
)

KINDS = pytest.mark.parametrize("kind", list(TYPES))
FILLS = pytest.mark.parametrize("fill", [0, 1], ids=["lower", "upper"])


def cholesky(solver: Solver, kind: str, fill: int, matrix: np.ndarray) -> tuple[Address, np.ndarray, int]:
    """Factor a triangle. Return the address of the factor, its values with the gaps, and the info."""
    n = len(matrix)
    whole = padded(only(matrix, fill))
    a, (info, like) = solver.put(whole), solver.integers()
    name = f"cusolverDn{kind}potrf"
    work, size = solver.workspace(name, kind, fill, n, a, len(whole))
    assert solver.call(name, fill, n, a, len(whole), work, size, info) == SUCCESS
    after = solver.get(a, whole)
    np.testing.assert_array_equal(after[n:], GAP)
    np.testing.assert_array_equal(after[:n], only(after[:n], fill))
    return a, after[:n], int(solver.get(info, like)[0])


@KINDS
@FILLS
@pytest.mark.parametrize("n", [1, 5, 70])
def test_cholesky_factors_rebuild_the_matrix_and_solve_equations(solver: Solver, kind: str, fill: int, n: int) -> None:
    matrix = solver.definite(n, TYPES[kind])
    a, factor, info = cholesky(solver, kind, fill, matrix)
    assert info == 0
    factor = np.tril(factor) if fill == LOWER else np.triu(factor).conj().T
    close(factor @ factor.conj().T, matrix, kind)
    right = padded(solver.random((n, 3), TYPES[kind]), 2)
    b, (told, like) = solver.put(right), solver.integers()
    assert solver.call(f"cusolverDn{kind}potrs", fill, n, 3, a, n + 3, b, n + 2, told) == SUCCESS
    solved = solver.get(b, right)
    np.testing.assert_array_equal(solved[n:], GAP)
    close(matrix @ solved[:n], right[:n], kind, 3)
    assert solver.get(told, like)[0] == 0


@KINDS
@FILLS
@pytest.mark.parametrize("leading", [1, 3, 40, 100])
def test_matrix_that_is_not_positive_definite_tells_the_order_of_its_minor(
    solver: Solver, kind: str, fill: int, leading: int
) -> None:
    matrix = solver.definite(100, TYPES[kind])
    matrix[leading - 1, leading - 1] = -1000
    assert cholesky(solver, kind, fill, matrix)[2] == leading
    matrix[leading - 1, leading - 1] = np.nan
    assert cholesky(solver, kind, fill, matrix)[2] == leading


@KINDS
@FILLS
def test_batches_of_cholesky_factors_solve_equations(solver: Solver, kind: str, fill: int) -> None:
    n, count, dtype = 6, 3, TYPES[kind]
    matrices = [solver.definite(n, dtype) for _ in range(count)]
    matrices[1][2, 2] = -1000
    wholes = [padded(only(matrix, fill)) for matrix in matrices]
    addresses = [solver.put(whole) for whole in wholes]
    a = solver.put(np.array([each.value for each in addresses], np.uint64))
    infos, like = solver.integers(count)
    assert solver.call(f"cusolverDn{kind}potrfBatched", fill, n, a, n + 3, infos, count) == SUCCESS
    np.testing.assert_array_equal(solver.get(infos, like), [0, 3, 0])
    after = [solver.get(address, whole) for address, whole in zip(addresses, wholes, strict=True)]
    for whole in after:
        np.testing.assert_array_equal(whole[n:], GAP)
        np.testing.assert_array_equal(whole[:n], only(whole[:n], fill))
    rights = [padded(solver.random((n, 1), dtype)) for _ in range(count)]
    targets = [solver.put(right) for right in rights]
    b = solver.put(np.array([each.value for each in targets], np.uint64))
    info, like = solver.integers()
    name = f"cusolverDn{kind}potrsBatched"
    assert solver.call(name, fill, n, 2, a, n + 3, b, n + 3, info, count) == INVALID_VALUE
    assert solver.call(name, fill, n, 1, a, n + 3, b, n + 3, info, count) == SUCCESS
    assert solver.get(info, like)[0] == 0
    for index in (0, 2):
        solved = solver.get(targets[index], rights[index])
        np.testing.assert_array_equal(solved[n:], GAP)
        close(matrices[index] @ solved[:n], rights[index][:n], kind, 3)


def lu(solver: Solver, kind: str, matrix: np.ndarray, pivoted: bool) -> tuple[Address, np.ndarray, Address, int]:
    """Factor a matrix. Return the address of the factors, their values, the pivots and the info."""
    m, n = matrix.shape
    whole = padded(matrix)
    a, (info, like) = solver.put(whole), solver.integers()
    pivots, _ = solver.integers(min(m, n))
    name = f"cusolverDn{kind}getrf"
    work, _ = solver.workspace(name, kind, m, n, a, m + 3)
    assert solver.call(name, m, n, a, m + 3, work, pivots if pivoted else None, info) == SUCCESS
    after = solver.get(a, whole)
    np.testing.assert_array_equal(after[m:], GAP)
    return a, after[:m], pivots, int(solver.get(info, like)[0])


@KINDS
@pytest.mark.parametrize("pivoted", [True, False], ids=["pivots", "no-pivots"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (7, 4), (4, 7), (70, 70), (100, 40), (40, 100)])
def test_lu_factors_rebuild_the_matrix(solver: Solver, kind: str, pivoted: bool, shape: tuple[int, int]) -> None:
    m, n = shape
    matrix = solver.random(shape, TYPES[kind])
    if not pivoted:
        matrix += 2 * max(shape) * np.eye(m, n, dtype=TYPES[kind])
    _, factors, pivots, info = lu(solver, kind, matrix, pivoted)
    assert info == 0
    order = min(m, n)
    lower = np.tril(factors[:, :order], -1) + np.eye(m, order)
    rebuilt = lower @ np.triu(factors[:order])
    rows = np.arange(m)
    if pivoted:
        found = solver.get(pivots, np.zeros(order, np.int32)) - 1
        assert np.all((np.arange(order) <= found) & (found < m))
        for row, other in enumerate(found):
            rows[[row, other]] = rows[[other, row]]
        assert np.abs(lower).max() <= (1 if kind in "SD" else 1.5) * 1.0001
    close(rebuilt, matrix[rows], kind)


@KINDS
@pytest.mark.parametrize("pivoted", [True, False], ids=["pivots", "no-pivots"])
@pytest.mark.parametrize("operation", range(3), ids="NTC")
@pytest.mark.parametrize("n", [1, 6, 50])
def test_lu_factors_solve_equations_with_all_transposes(
    solver: Solver, kind: str, pivoted: bool, operation: int, n: int
) -> None:
    matrix = solver.random((n, n), TYPES[kind])
    matrix += np.asarray(n * np.eye(n) * (0.2 if pivoted else 2), matrix.dtype)
    a, _, pivots, _ = lu(solver, kind, matrix, pivoted)
    right = padded(solver.random((n, 4), TYPES[kind]), 1)
    b, (info, like) = solver.put(right), solver.integers()
    name = f"cusolverDn{kind}getrs"
    assert solver.call(name, operation, n, 4, a, n + 3, pivots if pivoted else None, b, n + 1, info) == SUCCESS
    solved = solver.get(b, right)
    np.testing.assert_array_equal(solved[n:], GAP)
    changed = [matrix, matrix.T, matrix.conj().T][operation]
    close(changed @ solved[:n], right[:n], kind, 30)
    assert solver.get(info, like)[0] == 0


@KINDS
@pytest.mark.parametrize("zero", [1, 4, 35, 60])
def test_singular_matrix_tells_its_first_zero_pivot(solver: Solver, kind: str, zero: int) -> None:
    matrix = np.asfortranarray(np.triu(solver.random((60, 60), TYPES[kind])))
    matrix[range(60), range(60)] = 1
    matrix[zero - 1, zero - 1] = 0
    _, factors, _, info = lu(solver, kind, matrix, True)
    assert info == zero
    close(np.triu(factors), matrix, kind)


def test_pivots_of_no_factorization_give_no_solution(solver: Solver) -> None:
    a, _, pivots, _ = lu(solver, "D", np.eye(3, order="F"), True)
    for wrong in (0, 4, -1):
        pivots = solver.put(np.array([1, wrong, 3], np.int32))
        b, (info, _) = solver.put(np.ones((3, 1))), solver.integers()
        assert solver.call("cusolverDnDgetrs", 0, 3, 1, a, 6, pivots, b, 3, info) == SUCCESS
        assert np.isnan(solver.get(b, np.ones((3, 1)))).all()


@KINDS
@pytest.mark.parametrize("shape", [(1, 1), (6, 6), (9, 4), (4, 9), (80, 80), (100, 40), (40, 100)])
def test_reflectors_make_q_and_r(solver: Solver, kind: str, shape: tuple[int, int]) -> None:
    (m, n), dtype = shape, TYPES[kind]
    order = min(m, n)
    matrix = solver.random(shape, dtype)
    whole = padded(matrix)
    a, tau, (info, like) = solver.put(whole), solver.put(np.zeros(order, dtype)), solver.integers()
    name = f"cusolverDn{kind}geqrf"
    work, size = solver.workspace(name, kind, m, n, a, m + 3)
    assert solver.call(name, m, n, a, m + 3, tau, work, size, info) == SUCCESS
    factored = solver.get(a, whole)
    np.testing.assert_array_equal(factored[m:], GAP)
    assert solver.get(info, like)[0] == 0
    r = np.triu(factored[:order])
    np.testing.assert_array_equal(r.diagonal().imag, 0)

    # Products with Q: the adjoint makes R, and Q makes the matrix again, from both sides.
    name = f"cusolverDn{kind}{ORTHOGONAL[kind]}mqr"
    adjoint = 2 if kind in "CZ" else 1
    middle = np.zeros(shape, dtype)
    middle[:order] = r
    for right in (0, 1):
        start, between = (matrix.conj().T, middle.conj().T) if right else (matrix, middle)
        rows, columns = start.shape
        whole = padded(start, 2)
        c = solver.put(whole)
        for operation, expected in zip([0, adjoint] if right else [adjoint, 0], [between, start], strict=True):
            sizes = (right, operation, rows, columns, order, a, m + 3, tau, c, rows + 2)
            work, size = solver.workspace(name, kind, *sizes)
            assert solver.call(name, *sizes, work, size, info) == SUCCESS
            product = solver.get(c, whole)
            np.testing.assert_array_equal(product[rows:], GAP)
            close(product[:rows], expected, kind)

    # Q itself, also with more columns than reflectors.
    name = f"cusolverDn{kind}{ORTHOGONAL[kind]}gqr"
    square = np.full((m + 3, m), GAP, dtype, order="F")
    square[:, :order] = factored[:, :order]
    for columns in {order, m}:
        q = solver.put(square)
        work, size = solver.workspace(name, kind, m, columns, order, q, m + 3, tau)
        assert solver.call(name, m, columns, order, q, m + 3, tau, work, size, info) == SUCCESS
        after = solver.get(q, square)
        np.testing.assert_array_equal(after[m:], GAP)
        np.testing.assert_array_equal(after[:, columns:], square[:, columns:])
        found = after[:m, :columns]
        close(found.conj().T @ found, np.eye(columns), kind)
        close(found[:, :order] @ r, matrix, kind)


def test_matrices_without_elements_succeed_and_tell_so(solver: Solver, capfd: pytest.CaptureFixture[str]) -> None:
    none, some, work = Address(0), solver.put(np.full((5, 5), np.nan)), solver.memory(1 << 12)
    calls: dict[str, list[tuple[object, ...]]] = {
        "potrf": [(0, 0, none, 1, none, 0)],
        "potrs": [(0, 0, 3, none, 1, none, 1), (0, 5, 0, some, 5, none, 5)],
        "getrf": [(0, 0, none, 1, none, none), (5, 0, none, 5, none, none), (0, 5, none, 1, none, none)],
        "getrs": [(0, 0, 3, none, 1, none, none, 1), (2, 5, 0, some, 5, None, none, 5)],
        "geqrf": [(0, 0, none, 1, none, none, 0), (5, 0, none, 5, none, none, 0), (0, 5, none, 1, none, none, 0)],
        "orgqr": [(5, 0, 0, none, 5, none, none, 0), (5, 5, 0, some, 5, none, work, 160)],
        "ormqr": [(0, 0, 5, 0, 0, none, 5, none, none, 5, none, 0), (1, 0, 0, 5, 0, none, 5, none, none, 1, none, 0)],
        "syevd": [(1, 0, 0, none, 1, none, none, 0), (0, 1, 0, none, 1, none, none, 0)],
        "gesvd": [
            ("N", "N", 5, 0, none, 5, none, none, 1, none, 1, none, 0, None),
            ("A", "A", 5, 0, none, 5, none, some, 5, none, 1, none, 0, None),
        ],
    }
    for name, each in calls.items():
        for arguments in each:
            info, like = solver.integers()
            assert solver.call(f"cusolverDnD{name}", *arguments, info) == SUCCESS, name
            assert solver.get(info, like)[0] == 0, name
    close(solver.get(some, np.zeros((5, 5), order="F")), np.eye(5), "D")
    assert "failed inside" not in capfd.readouterr().err
