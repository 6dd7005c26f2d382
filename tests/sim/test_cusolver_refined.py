"""Functions with results on the host, of the stand-in for cuSOLVER: iterative refinement, reports of Jacobi's method, singular values of batches."""

from __future__ import annotations

import ctypes
from typing import Any

import driver_probe
import numpy as np
import pytest
from device_probe import second_stream
from solver_probe import GAP, INVALID_VALUE, NOT_SUPPORTED, SUCCESS, SYMMETRIC, TYPES, Solver, close, padded, parameters

KINDS = pytest.mark.parametrize("kind", list(TYPES))
LOWER_PRECISIONS = {"Z": "ZCKEY", "C": "CKEY", "D": "DSHBX", "S": "SHBX"}
FORMS = [kind + low for kind, lows in LOWER_PRECISIONS.items() for low in lows]


def real(kind: str) -> Any:
    return np.zeros(0, TYPES[kind]).real.dtype.type


def bytes_of(solver: Solver, name: str, *arguments: Any) -> ctypes.c_size_t:
    size = ctypes.c_size_t()
    assert solver.call(f"{name}_bufferSize", *arguments, None, ctypes.byref(size)) == SUCCESS
    return size


@pytest.mark.parametrize("form", FORMS)
def test_equations_by_refinement(solver: Solver, form: str) -> None:
    n, columns, kind = 12, 3, form[0]
    matrix, right = solver.random((n, n), TYPES[kind]), solver.random((n, columns), TYPES[kind])
    matrix += 3 * np.eye(n, dtype=TYPES[kind])
    whole, whole_b, like_x = padded(matrix), padded(right), padded(right * 0)
    a, b, x = solver.put(whole), solver.put(whole_b), solver.put(like_x)
    (pivots, numbers), (info, like) = solver.integers(n), solver.integers()
    name, iterations = f"cusolverDn{form}gesv", ctypes.c_int(-9)
    sizes = (n, columns, a, n + 3, pivots, b, n + 3, x, n + 3)
    size = bytes_of(solver, name, *sizes)
    assert solver.call(name, *sizes, solver.memory(size.value), size, ctypes.byref(iterations), info) == SUCCESS
    # The call waits, so that the results are there without a wait.
    assert iterations.value == 0
    assert solver.get(info, like)[0] == 0
    found = solver.get(x, like_x)
    close(matrix @ found[:n], right, kind, 20)
    np.testing.assert_array_equal(found[n:], GAP)
    np.testing.assert_array_equal(solver.get(a, whole), whole)
    assert (solver.get(pivots, numbers) > 0).all()
    short = ctypes.c_size_t(8)
    assert solver.call(name, *sizes, solver.memory(8), short, ctypes.byref(iterations), info) == INVALID_VALUE
    assert solver.call(name, *sizes, solver.memory(size.value), size, None, info) == INVALID_VALUE


@pytest.mark.parametrize("form", FORMS)
def test_least_squares_by_refinement(solver: Solver, form: str) -> None:
    m, n, columns, kind = 15, 6, 2, form[0]
    matrix, right = solver.random((m, n), TYPES[kind]), solver.random((m, columns), TYPES[kind])
    like_x = padded(np.zeros((n, columns), TYPES[kind], "F"))
    a, b, x, (info, like) = solver.put(padded(matrix)), solver.put(padded(right)), solver.put(like_x), solver.integers()
    name, iterations = f"cusolverDn{form}gels", ctypes.c_int(-9)
    sizes = (m, n, columns, a, m + 3, b, m + 3, x, n + 3)
    size = bytes_of(solver, name, *sizes)
    assert solver.call(name, *sizes, solver.memory(size.value), size, ctypes.byref(iterations), info) == SUCCESS
    assert (iterations.value, solver.get(info, like)[0]) == (0, 0)
    found = solver.get(x, like_x)
    close(found[:n], np.linalg.lstsq(matrix, right, rcond=None)[0], kind, 20)
    np.testing.assert_array_equal(found[n:], GAP)
    assert (
        solver.call(name, n, m, *sizes[2:], solver.memory(size.value), size, ctypes.byref(iterations), info)
        == INVALID_VALUE
    )


def test_singular_equations_have_the_column_in_info(solver: Solver) -> None:
    matrix = np.asfortranarray(np.diag([1.0, 2, 0, 4]))
    a, b, (info, like) = solver.put(matrix), solver.put(np.ones((4, 1))), solver.integers()
    iterations, size = ctypes.c_int(), ctypes.c_size_t(1 << 14)
    for name, before, pivots in (("gesv", (4, 1), (None,)), ("gels", (4, 4, 1), ())):
        sizes = (*before, a, 4, *pivots, b, 4, solver.put(np.zeros(4)), 4)
        work = solver.memory(size.value)
        assert solver.call(f"cusolverDnDD{name}", *sizes, work, size, ctypes.byref(iterations), info) == SUCCESS
        assert solver.get(info, like)[0] == 3


def report_of(solver: Solver, kind: str, params: Any) -> tuple[int, int, float]:
    sweeps, residual = ctypes.c_int(-1), ctypes.c_double(-1)
    status = solver.call(f"cusolverDnX{kind}GetSweeps", params, ctypes.byref(sweeps))
    assert solver.call(f"cusolverDnX{kind}GetResidual", params, ctypes.byref(residual)) == status
    return status, sweeps.value, residual.value


@KINDS
def test_report_of_eigenvalues_by_jacobi(solver: Solver, kind: str) -> None:
    n, params = 6, parameters(solver, "syevj")
    assert report_of(solver, "syevj", params) == (SUCCESS, 0, 0)
    values = np.zeros((n, 2), real(kind))
    for batch in ([], [2]):
        name = f"cusolverDn{kind}{SYMMETRIC[kind]}evj{'Batched' if batch else ''}"
        matrices = np.asfortranarray(np.concatenate([solver.definite(n, TYPES[kind]) for _ in range(2)], axis=1))
        for vectors in (0, 1):
            a, w, (info, _) = solver.put(matrices), solver.put(values), solver.integers(2)
            size = ctypes.c_int()
            sizes = (vectors, 0, n, a, n, w)
            assert solver.call(f"{name}_bufferSize", *sizes, ctypes.byref(size), params, *batch) == SUCCESS
            work = solver.memory(size.value * 16)
            assert solver.call(name, *sizes, work, size.value, info, params, *batch) == SUCCESS
            solver.get(w, values)
            # The norm is computed when it is asked for. It is that of the matrix of the call, which the program overwrites before.
            driver_probe.call("cuMemsetD8_v2", a, ctypes.c_ubyte(1), ctypes.c_size_t(matrices.nbytes))
            status, sweeps, residual = report_of(solver, "syevj", params)
            assert report_of(solver, "syevj", params) == (status, sweeps, residual)
            if batch:
                assert status == NOT_SUPPORTED
            else:
                assert (status, sweeps) == (SUCCESS, 1)
                assert 0 < residual < (1e-3 if kind in "SC" else 1e-10)


@KINDS
def test_report_of_singular_values_by_jacobi(solver: Solver, kind: str) -> None:
    m, n, params = 7, 4, parameters(solver, "gesvdj")
    matrix = solver.random((m, n), TYPES[kind])
    a, s, (info, _) = solver.put(matrix), solver.put(np.zeros(n, real(kind))), solver.integers()
    u, v, size = solver.memory(16 * m * m), solver.memory(16 * n * n), ctypes.c_int()
    sizes = (0, 0, m, n, a, m, s, u, m, v, n)
    assert solver.call(f"cusolverDn{kind}gesvdj_bufferSize", *sizes, ctypes.byref(size), params) == SUCCESS
    work = solver.memory(size.value * 16)
    assert solver.call(f"cusolverDn{kind}gesvdj", *sizes, work, size.value, info, params) == SUCCESS
    solver.get(s, np.zeros(n, real(kind)))
    driver_probe.call("cuMemsetD8_v2", a, ctypes.c_ubyte(1), ctypes.c_size_t(matrix.nbytes))
    status, sweeps, residual = report_of(solver, "gesvdj", params)
    assert (status, sweeps) == (SUCCESS, 1)
    assert 0 < residual < 1e-10


@KINDS
@pytest.mark.parametrize("norms", [True, False], ids=["norms", "without"])
@pytest.mark.parametrize("rank", [2, 4])
def test_largest_singular_values_of_a_batch(solver: Solver, kind: str, norms: bool, rank: int) -> None:
    m, n, count, dtype = 9, 4, 3, TYPES[kind]
    matrices = [solver.random((m, n), dtype) for _ in range(count)]
    whole = np.concatenate([padded(each) for each in matrices], axis=1)
    (lda, ldu, ldv), gap = (m + 3, m + 1, n + 2), 5
    u_like, v_like = (np.full(ld * rank * count + gap * count, GAP, dtype) for ld in (ldu, ldv))
    s_like = np.full((rank + 1) * count, GAP, real(kind))
    a, s, u, v = solver.put(np.asfortranarray(whole)), solver.put(s_like), solver.put(u_like), solver.put(v_like)
    info, like = solver.integers(count)
    name, size, found_norms = f"cusolverDn{kind}gesvdaStridedBatched", ctypes.c_int(), np.full(count, -1.0)
    long = ctypes.c_longlong
    arrays = (1, rank, m, n, a, lda, long(lda * n), s, long(rank + 1), u, ldu, long(ldu * rank + gap), v, ldv)
    arrays = (*arrays, long(ldv * rank + gap))
    assert solver.call(f"{name}_bufferSize", *arrays, ctypes.byref(size), count) == SUCCESS
    work, at_norms = solver.memory(size.value * 16), found_norms.ctypes.data_as(ctypes.c_void_p) if norms else None
    assert solver.call(name, *arrays, work, size.value, info, at_norms, count) == SUCCESS
    for index, matrix in enumerate(matrices):
        expected = np.linalg.svd(matrix, compute_uv=False)
        if norms:
            # Written when the call returns.
            close(found_norms[index : index + 1], np.sqrt((expected[rank:] ** 2).sum(keepdims=True)), kind, 10)
        close(solver.get(s, s_like)[index * (rank + 1) :][:rank], expected[:rank], kind)
        left = solver.get(u, u_like)[index * (ldu * rank + gap) :][: ldu * rank].reshape(rank, ldu).T
        right = solver.get(v, v_like)[index * (ldv * rank + gap) :][: ldv * rank].reshape(rank, ldv).T
        np.testing.assert_array_equal(left[m:], GAP)
        np.testing.assert_array_equal(right[n:], GAP)
        close(matrix @ right[:n], left[:m] * expected[:rank], kind, 10)
    np.testing.assert_array_equal(solver.get(info, like), 0)
    assert solver.call(name, 1, n + 1, *arrays[2:], work, size.value, info, None, count) == INVALID_VALUE


@pytest.mark.cuarray_sim(expect="data-race")
def test_matrix_that_another_stream_writes_is_a_race_with_its_argument(solver: Solver, findings_of: Any) -> None:
    a, b, (info, _) = solver.put(np.eye(4)), solver.put(np.ones(4)), solver.integers()
    iterations, size, x = ctypes.c_int(), ctypes.c_size_t(1 << 14), solver.put(np.zeros(4))
    work = solver.memory(size.value)
    with second_stream() as other:
        driver_probe.call("cuMemsetD8Async", ctypes.c_uint64(a.value), ctypes.c_ubyte(0), ctypes.c_size_t(128), other)
        sizes = (4, 1, a, 4, None, b, 4, x, 4, work, size, ctypes.byref(iterations), info)
        assert solver.call("cusolverDnDDgesv", *sizes) == SUCCESS
    found = [side for finding in findings_of() for side in finding["sides"] if side["call"] == "cusolverDnDDgesv"]
    assert {side["detail"] for side in found} == {"argument dA"}


PRECISIONS = {"D": 1203, "S": 1204, "Z": 1213, "C": 1214}
"""The `cusolverPrecType_t` of each type."""
NO_PARAMETERS, WRONG_PRECISION, WRONG_REFINEMENT, NO_INFORMATION = 12, 14, 15, 25
CLASSICAL = 1102


class Refinement:
    """Objects of parameters and of information, which the end of a test destroys."""

    def __init__(self, solver: Solver) -> None:
        self.library = solver.library
        self.params, self.infos = ctypes.c_void_p(), ctypes.c_void_p()
        assert self.plain("ParamsCreate", ctypes.byref(self.params)) == SUCCESS
        assert self.plain("InfosCreate", ctypes.byref(self.infos)) == SUCCESS

    def plain(self, name: str, *arguments: Any) -> int:
        status: int = getattr(self.library, f"cusolverDnIRS{name}")(*arguments)
        return status

    def number(self, name: str, of: ctypes.c_void_p) -> int:
        found = ctypes.c_int(-1)
        assert self.plain(name, of, ctypes.byref(found)) == SUCCESS
        return found.value


@pytest.fixture
def refinement(solver: Solver) -> Any:
    made = Refinement(solver)
    yield made
    assert made.plain("InfosDestroy", made.infos) == SUCCESS
    assert made.plain("ParamsDestroy", made.params) == SUCCESS
    assert made.plain("ParamsDestroy", made.params) == NO_PARAMETERS
    assert made.plain("InfosDestroy", made.infos) == NO_INFORMATION


@pytest.mark.parametrize("kind", list(TYPES))
def test_refinement_with_parameters(solver: Solver, refinement: Refinement, kind: str) -> None:
    m, n, columns, dtype = 15, 12, 3, TYPES[kind]
    params, infos, size = refinement.params, refinement.infos, ctypes.c_size_t()
    assert refinement.plain("ParamsSetSolverPrecisions", params, PRECISIONS[kind], PRECISIONS[kind]) == SUCCESS
    assert refinement.plain("ParamsSetRefinementSolver", params, CLASSICAL) == SUCCESS
    assert refinement.plain("ParamsSetMaxIters", params, 7) == SUCCESS
    matrix, right = solver.random((m, n), dtype), solver.random((m, columns), dtype)
    for name, rows in (("gesv", n), ("gels", m)):
        sizes = (n, columns) if name == "gesv" else (m, n, columns)
        whole, whole_b = np.asfortranarray(matrix[:rows]), np.asfortranarray(right[:rows])
        like_x = np.zeros((n, columns), dtype, "F")
        x, (info, like), iterations = solver.put(like_x), solver.integers(), ctypes.c_int(-9)
        assert solver.call(f"cusolverDnIRSX{name}_bufferSize", params, *sizes, ctypes.byref(size)) == SUCCESS
        given = solver.put(whole), rows, solver.put(whole_b), rows, x, n
        end = solver.memory(size.value), size, ctypes.byref(iterations), info
        assert solver.call(f"cusolverDnIRSX{name}", params, infos, *sizes, *given, *end) == SUCCESS
        assert (iterations.value, solver.get(info, like)[0]) == (0, 0)
        expected = np.linalg.lstsq(whole.astype(np.complex128), whole_b.astype(np.complex128), rcond=None)[0]
        close(solver.get(x, like_x), expected if np.iscomplexobj(like_x) else expected.real, kind, 100)
        assert refinement.number("InfosGetMaxIters", infos) == 7
        assert refinement.number("InfosGetNiters", infos) == refinement.number("InfosGetOuterNiters", infos) == 0
        wrong = ctypes.c_void_p(8)
        assert solver.call(f"cusolverDnIRSX{name}", wrong, infos, *sizes, *given, *end) == NO_PARAMETERS
        assert solver.call(f"cusolverDnIRSX{name}", params, wrong, *sizes, *given, *end) == NO_INFORMATION


def test_parameters_of_refinement_are_checked(solver: Solver, refinement: Refinement) -> None:
    params, size = refinement.params, ctypes.c_size_t()
    assert refinement.number("ParamsGetMaxIters", params) == 50

    def status() -> int:
        return solver.call("cusolverDnIRSXgesv_bufferSize", params, 4, 1, ctypes.byref(size))

    assert status() == WRONG_PRECISION
    assert refinement.plain("ParamsSetSolverMainPrecision", params, 1203) == SUCCESS
    assert refinement.plain("ParamsSetSolverLowestPrecision", params, 1214) == SUCCESS
    assert status() == WRONG_PRECISION
    assert refinement.plain("ParamsSetSolverLowestPrecision", params, 1206) == SUCCESS
    assert status() == WRONG_REFINEMENT
    assert refinement.plain("ParamsSetRefinementSolver", params, 1105) == SUCCESS
    assert status() == SUCCESS
    for name in ("Tol", "TolInner"):
        assert refinement.plain(f"ParamsSet{name}", params, ctypes.c_double(1e-9)) == SUCCESS
    for name, wrong in (("RefinementSolver", 5), ("SolverMainPrecision", 9), ("MaxIters", 0), ("MaxItersInner", 0)):
        assert refinement.plain(f"ParamsSet{name}", params, wrong) == INVALID_VALUE
    for name in ("EnableFallback", "DisableFallback"):
        assert refinement.plain(f"Params{name}", params) == SUCCESS
    assert refinement.plain("ParamsCreate", None) == INVALID_VALUE
    assert refinement.plain("InfosCreate", None) == INVALID_VALUE
