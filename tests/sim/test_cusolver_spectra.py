"""Eigenvalues and singular values of the stand-in for cuSOLVER, by their definitions and against NumPy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from solver_probe import GAP, INVALID_VALUE, SUCCESS, SYMMETRIC, TYPES, Address, Solver, close, only, padded, parameters

KINDS = pytest.mark.parametrize("kind", list(TYPES))


def real(kind: str) -> type:
    return np.zeros(0, TYPES[kind]).real.dtype.type


@KINDS
@pytest.mark.parametrize("fill", [0, 1], ids=["lower", "upper"])
@pytest.mark.parametrize("n", [1, 5, 60])
def test_eigenvalues_and_vectors(solver: Solver, kind: str, fill: int, n: int) -> None:
    matrix = solver.random((n, n), TYPES[kind])
    matrix = np.asfortranarray((matrix + matrix.conj().T) / 2)
    whole = padded(only(matrix, fill))
    name = f"cusolverDn{kind}{SYMMETRIC[kind]}evd"
    values = np.zeros(n, real(kind))
    for vectors in (0, 1):
        a, w, (info, like) = solver.put(whole), solver.put(values), solver.integers()
        work, size = solver.workspace(name, kind, vectors, fill, n, a, n + 3, w)
        assert solver.call(name, vectors, fill, n, a, n + 3, w, work, size, info) == SUCCESS
        found, after = solver.get(w, values), solver.get(a, whole)
        assert solver.get(info, like)[0] == 0
        close(found, np.linalg.eigvalsh(matrix), kind)
        np.testing.assert_array_equal(after[n:], GAP)
        if vectors:
            close(after[:n].conj().T @ after[:n], np.eye(n), kind)
            close(matrix @ after[:n], after[:n] * found, kind)
        else:
            np.testing.assert_array_equal(np.where(only(matrix, fill) == GAP, after[:n], GAP), GAP)


JOBS = [(u, vt) for u in "ASON" for vt in "ASON" if (u, vt) != ("O", "O")]


@KINDS
@pytest.mark.parametrize("shape", [(1, 1), (6, 6), (9, 4), (70, 40)])
def test_singular_values_and_vectors_of_all_jobs(solver: Solver, kind: str, shape: tuple[int, int]) -> None:
    (m, n), dtype = shape, TYPES[kind]
    matrix = solver.random(shape, dtype)
    expected = np.linalg.svd(matrix, compute_uv=False)
    name = f"cusolverDn{kind}gesvd"
    for job_u, job_vt in JOBS:
        whole, u_like, vt_like = (
            padded(matrix),
            np.full((m + 1, m), GAP, dtype, "F"),
            np.full((n + 2, n), GAP, dtype, "F"),
        )
        a, u, vt = solver.put(whole), solver.put(u_like), solver.put(vt_like)
        s, (info, like) = solver.put(np.zeros(n, real(kind))), solver.integers()
        work, size = solver.workspace(name, kind, m, n)
        rwork = solver.memory(8 * n)
        status = solver.call(
            name, job_u, job_vt, m, n, a, m + 3, s, u, m + 1, vt, n + 2, work, size, rwork if m > n else None, info
        )
        assert status == SUCCESS
        values, left, right = solver.get(s, np.zeros(n, real(kind))), solver.get(u, u_like), solver.get(vt, vt_like)
        after = solver.get(a, whole)
        assert solver.get(info, like)[0] == 0
        close(values, expected, kind)
        for array, rows in ((left, m), (right, n), (after, m)):
            np.testing.assert_array_equal(array[rows:], GAP)
        columns = {"A": m, "S": n}.get(job_u, 0)
        np.testing.assert_array_equal(left[:, columns:], GAP)
        if job_vt in "ON":
            np.testing.assert_array_equal(right, GAP)
        found_u = after[:m] if job_u == "O" else left[:m, :columns]
        found_vt = after[:n] if job_vt == "O" else right[:n]
        if job_u != "N":
            close(found_u.conj().T @ found_u, np.eye(found_u.shape[1]), kind)
        if job_vt != "N":
            close(found_vt @ found_vt.conj().T, np.eye(n), kind)
        if "N" not in (job_u, job_vt):
            close((found_u[:, :n] * values) @ found_vt, matrix, kind)


@KINDS
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_do_not_converge(solver: Solver, kind: str, value: float) -> None:
    matrix = solver.definite(6, TYPES[kind])
    matrix[3, 3] = value
    a, w, (info, like) = solver.put(matrix), solver.put(np.zeros(6, real(kind))), solver.integers()
    name = f"cusolverDn{kind}{SYMMETRIC[kind]}evd"
    work, size = solver.workspace(name, kind, 1, 0, 6, a, 6, w)
    assert solver.call(name, 1, 0, 6, a, 6, w, work, size, info) == SUCCESS
    assert solver.get(info, like)[0] > 0
    name, a, none = f"cusolverDn{kind}gesvd", solver.put(matrix), Address(0)
    work, size = solver.workspace(name, kind, 6, 6)
    assert solver.call(name, "N", "N", 6, 6, a, 6, w, none, 1, none, 1, work, size, none, info) == SUCCESS
    assert solver.get(info, like)[0] > 0


def test_matrix_with_more_columns_than_rows_and_wrong_jobs_are_refused(solver: Solver) -> None:
    a, (info, _) = solver.put(np.eye(4)), solver.integers()
    good = ["A", "A", 4, 4, a, 4, a, a, 4, a, 4, a, 1000, None, info]
    for index, value in ((2, 3), (0, "X"), (1, "n"), (5, 3), (8, 3), (10, 3), (12, 1)):
        assert solver.call("cusolverDnDgesvd", *good[:index], value, *good[index + 1 :]) == INVALID_VALUE, index
    assert solver.call("cusolverDnDgesvd", "O", "O", *good[2:]) == INVALID_VALUE


@KINDS
@pytest.mark.parametrize("fill", [0, 1], ids=["lower", "upper"])
@pytest.mark.parametrize("count", [0, 3], ids=["one", "batch"])
def test_eigenvalues_by_jacobi(solver: Solver, kind: str, fill: int, count: int) -> None:
    n, dtype, params = 7, TYPES[kind], parameters(solver, "syevj")
    matrices = [solver.definite(n, dtype) for _ in range(count or 1)]
    whole = np.concatenate([padded(only(matrix, fill)) for matrix in matrices], axis=1)
    name = f"cusolverDn{kind}{SYMMETRIC[kind]}evj{'Batched' if count else ''}"
    values, batch = np.zeros((n, len(matrices)), real(kind), "F"), [count] if count else []
    for vectors in (0, 1):
        a, w, (info, like) = solver.put(whole), solver.put(values), solver.integers(len(matrices))
        sizes = (vectors, fill, n, a, n + 3, w)
        size = ctypes.c_int()
        assert solver.call(f"{name}_bufferSize", *sizes, ctypes.byref(size), params, *batch) == SUCCESS
        work = solver.memory(size.value * 16)
        assert solver.call(name, *sizes, work, size.value, info, params, *batch) == SUCCESS
        found, after = solver.get(w, values), solver.get(a, np.asfortranarray(whole))
        np.testing.assert_array_equal(solver.get(info, like), 0)
        np.testing.assert_array_equal(after[n:], GAP)
        for index, matrix in enumerate(matrices):
            close(found[:, index], np.linalg.eigvalsh(matrix), kind)
            if vectors:
                columns = after[:n, index * n : (index + 1) * n]
                close(matrix @ columns, columns * found[:, index], kind)
        assert solver.call(name, *sizes, work, size.value, info, Address(0), *batch) == INVALID_VALUE


@KINDS
@pytest.mark.parametrize("count", [0, 3], ids=["one", "batch"])
@pytest.mark.parametrize("shape", [(6, 6), (9, 4), (4, 9)])
def test_singular_values_by_jacobi(solver: Solver, kind: str, count: int, shape: tuple[int, int]) -> None:
    (m, n), dtype, params = shape, TYPES[kind], parameters(solver, "gesvdj")
    least, number = min(m, n), count or 1
    matrices = [solver.random(shape, dtype) for _ in range(number)]
    whole = np.asfortranarray(np.concatenate([padded(matrix) for matrix in matrices], axis=1))
    name = f"cusolverDn{kind}gesvdj{'Batched' if count else ''}"
    for vectors, economy in ((0, 0), (1, 0)) if count else ((0, 0), (1, 0), (1, 1)):
        left, right = (least, least) if economy else (m, n)
        u_like = np.full((m + 1, left * number), GAP, dtype, "F")
        v_like = np.full((n + 2, right * number), GAP, dtype, "F")
        s_like = np.zeros((least, number), real(kind), "F")
        a, s, u, v = solver.put(whole), solver.put(s_like), solver.put(u_like), solver.put(v_like)
        info, like = solver.integers(number)
        first, last = ([vectors], [params, count]) if count else ([vectors, economy], [params])
        sizes = (*first, m, n, a, m + 3, s, u, m + 1, v, n + 2)
        size = ctypes.c_int()
        assert solver.call(f"{name}_bufferSize", *sizes, ctypes.byref(size), *last) == SUCCESS
        work = solver.memory(size.value * 16)
        assert solver.call(name, *sizes, work, size.value, info, *last) == SUCCESS
        values, u_found, v_found = solver.get(s, s_like), solver.get(u, u_like), solver.get(v, v_like)
        np.testing.assert_array_equal(solver.get(info, like), 0)
        for array, rows in ((u_found, m), (v_found, n), (solver.get(a, whole), m)):
            np.testing.assert_array_equal(array[rows:], GAP)
        for index, matrix in enumerate(matrices):
            close(values[:, index], np.linalg.svd(matrix, compute_uv=False), kind)
            if vectors:
                part_u = u_found[:m, index * left : (index + 1) * left]
                part_v = v_found[:n, index * right : (index + 1) * right]
                close(part_u.conj().T @ part_u, np.eye(left), kind)
                close(part_v.conj().T @ part_v, np.eye(right), kind)
                close((part_u[:, :least] * values[:, index]) @ part_v[:, :least].conj().T, matrix, kind)


def test_objects_of_parameters_are_checked(solver: Solver) -> None:
    library = solver.library
    for kind in ("syevj", "gesvdj"):
        made = parameters(solver, kind)
        assert getattr(library, f"cusolverDnX{kind}SetMaxSweeps")(made, -1) == INVALID_VALUE
        assert getattr(library, f"cusolverDnX{kind}SetSortEig")(made, 2) == INVALID_VALUE
        destroy = getattr(library, f"cusolverDnDestroy{kind.title()}Info")
        assert [destroy(made), destroy(made)] == [SUCCESS, INVALID_VALUE]
        other = "Gesvdj" if kind == "syevj" else "Syevj"
        assert getattr(library, f"cusolverDnDestroy{other}Info")(parameters(solver, kind)) == INVALID_VALUE
        assert getattr(library, f"cusolverDnCreate{other}Info")(None) == INVALID_VALUE
