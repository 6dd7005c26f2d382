"""Functions of the stand-in for cuSOLVER that name the types of their matrices, against NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from solver_probe import GAP, INVALID_VALUE, NOT_SUPPORTED, SUCCESS, TYPES, Address, Solver, close, only, padded

KINDS = pytest.mark.parametrize("kind", list(TYPES))
NUMBERS = {"S": 0, "D": 1, "C": 4, "Z": 5}
N = 12


def call(solver: Solver, name: str, *arguments: Any) -> int:
    """Call a function whose sizes have 64 bits. Options and types are `ctypes.c_int`."""
    converted = [ctypes.c_int64(each) if isinstance(each, int) else each for each in arguments]
    return solver.call(f"cusolverDn{name}", *converted)


def with_workspace(solver: Solver, name: str, params: Any, arguments: list[Any], more: list[Any]) -> int:
    """Call a function with the workspace that its size function returns, and with arguments that only the call has."""
    device, host = ctypes.c_size_t(), ctypes.c_size_t(7)
    returned = (ctypes.byref(device), ctypes.byref(host))
    assert call(solver, f"{name}_bufferSize", params, *arguments, *returned) == SUCCESS
    assert (device.value > 0, host.value) == (True, 0)
    work = solver.memory(device.value)
    given = [*arguments[:-1], *more[:-1], arguments[-1]]
    short = call(
        solver, name, params, *given, work, ctypes.c_size_t(device.value - 1), None, ctypes.c_size_t(0), more[-1]
    )
    assert short == INVALID_VALUE
    return call(solver, name, params, *given, work, device, None, ctypes.c_size_t(0), more[-1])


@pytest.fixture
def params(solver: Solver) -> Any:
    made = Address()
    assert solver.library.cusolverDnCreateParams(ctypes.byref(made)) == SUCCESS
    yield made
    assert solver.library.cusolverDnDestroyParams(made) == SUCCESS


@KINDS
@pytest.mark.parametrize("fill", [0, 1], ids=["lower", "upper"])
def test_cholesky_and_lu_factors_solve_equations(solver: Solver, params: Any, kind: str, fill: int) -> None:
    number, matrix = ctypes.c_int(NUMBERS[kind]), solver.definite(N, TYPES[kind])
    right = padded(solver.random((N, 2), TYPES[kind]))
    info, like = solver.integers()

    a, b, uplo = solver.put(padded(only(matrix, fill))), solver.put(right), ctypes.c_int(fill)
    assert with_workspace(solver, "Xpotrf", params, [uplo, N, number, a, N + 3, number], [info]) == SUCCESS
    assert call(solver, "Xpotrs", params, uplo, N, 2, number, a, N + 3, number, b, N + 3, info) == SUCCESS
    close(matrix @ solver.get(b, right)[:N], right[:N], kind, 3)

    a, b, pivots = solver.put(padded(matrix)), solver.put(right), solver.put(np.zeros(N, np.int64))
    assert with_workspace(solver, "Xgetrf", params, [N, N, number, a, N + 3, number], [pivots, info]) == SUCCESS
    assert np.all(solver.get(pivots, np.zeros(N, np.int64)) >= np.arange(1, N + 1))
    operation = ctypes.c_int(fill)
    assert call(solver, "Xgetrs", params, operation, N, 2, number, a, N + 3, pivots, number, b, N + 3, info) == SUCCESS
    solved = solver.get(b, right)
    np.testing.assert_array_equal(solved[N:], GAP)
    close((matrix.T if fill else matrix) @ solved[:N], right[:N], kind, 3)
    assert solver.get(info, like)[0] == 0


@KINDS
def test_reflectors_eigenvalues_and_singular_values(solver: Solver, params: Any, kind: str) -> None:
    number, real = ctypes.c_int(NUMBERS[kind]), ctypes.c_int(NUMBERS[kind] % 4)
    matrix, real_type = solver.definite(N, TYPES[kind]), np.zeros(0, TYPES[kind]).real.dtype
    info, like = solver.integers()
    a, tau = solver.put(matrix), solver.put(np.zeros(N, TYPES[kind]))
    assert with_workspace(solver, "Xgeqrf", params, [N, N, number, a, N, number, tau, number], [info]) == SUCCESS
    r = np.triu(solver.get(a, matrix))
    close(r.conj().T @ r, matrix.conj().T @ matrix, kind, N)

    values = np.zeros(N, real_type)
    a, w, one = solver.put(matrix), solver.put(values), ctypes.c_int(1)
    sizes = [one, one, N, number, a, N, real, w, number]
    assert with_workspace(solver, "Xsyevd", params, sizes, [info]) == SUCCESS
    vectors, found = solver.get(a, matrix), solver.get(w, values)
    close(matrix @ vectors, vectors * found, kind)

    a, u, vt = solver.put(matrix), solver.put(matrix), solver.put(matrix)
    sizes = ["A", "S", N, N, number, a, N, real, w, number, u, N, number, vt, N, number]
    assert with_workspace(solver, "Xgesvd", params, sizes, [info]) == SUCCESS
    close((solver.get(u, matrix) * solver.get(w, values)) @ solver.get(vt, matrix), matrix, kind)
    assert solver.get(info, like)[0] == 0


def rotation(solver: Solver, kind: str) -> np.ndarray:
    """A matrix with real eigenvalues and conjugate pairs of them, one below a real one."""
    blocks = np.zeros((N, N))
    blocks[range(N), range(N)] = np.arange(1, N + 1)
    for first in (1, 5, 9):
        blocks[first : first + 2, first : first + 2] = [[first, 2.0], [-2.0, first]]
    basis = np.linalg.qr(solver.random((N, N), TYPES[kind]))[0]
    return np.asfortranarray((basis @ blocks @ basis.conj().T).astype(TYPES[kind]))


@pytest.mark.parametrize(("kind", "values_kind"), ["SS", "SC", "DD", "DZ", "CC", "ZZ"])
def test_eigenvalues_of_general_matrices(solver: Solver, params: Any, kind: str, values_kind: str) -> None:
    number, values_number = ctypes.c_int(NUMBERS[kind]), ctypes.c_int(NUMBERS[values_kind])
    matrix = padded(rotation(solver, kind))
    values = np.zeros(N, np.result_type(TYPES[kind], np.complex64))
    none, vectors, lead = ctypes.c_int(0), ctypes.c_int(1), N + 3
    for job in (none, vectors):
        a, w, info = solver.put(matrix), solver.put(values), solver.put(np.full(1, GAP, np.int32))
        right = solver.put(padded(np.zeros((N, N), TYPES[kind])))
        sizes = [none, job, N, number, a, lead, values_number, w, number, None, 1, number, right, lead, number]
        assert with_workspace(solver, "Xgeev", params, sizes, [info]) == SUCCESS
        assert solver.get(info, np.zeros(1, np.int32))[0] == 0
        found = solver.get(w, values)
        if values_kind in "SD":
            parts = found.view(found.real.dtype)
            found = parts[:N] + 1j * parts[N:]
        expected = np.linalg.eigvals(matrix[:N].astype(np.complex128))
        close(np.sort_complex(found.round(3)), np.sort_complex(expected.round(3)), kind, 1e4)
        stored = solver.get(right, matrix)
        np.testing.assert_array_equal(stored[N:], GAP)
        if job is none:
            assert not stored[:N].any()
            continue
        columns = stored[:N].astype(np.complex128)
        for index, value in enumerate(found if kind in "SD" else []):
            if value.imag > 0:
                assert found[index + 1] == value.conj()
                pair = columns[:, index] + 1j * columns[:, index + 1]
                columns[:, index], columns[:, index + 1] = pair, pair.conj()
        close(matrix[:N] @ columns, columns * found, kind, 10)
        close(np.linalg.norm(columns, axis=0), np.ones(N), kind)
        largest = columns[np.abs(columns).argmax(axis=0), range(N)]
        close(largest.imag, np.zeros(N), kind)
        assert np.isnan(solver.get(a, matrix)[:N]).all()


def test_general_matrices_without_eigenvalues_and_with_left_vectors(solver: Solver, params: Any) -> None:
    double, none, one, like = ctypes.c_int(1), ctypes.c_int(0), ctypes.c_int(1), np.zeros(1, np.int32)
    matrix = np.asfortranarray(np.eye(N))
    matrix[3, 4] = np.inf
    a, w, info, right = solver.put(matrix), solver.put(np.zeros(2 * N)), solver.put(like), solver.put(matrix)
    sizes = [none, one, N, double, a, N, double, w, double, None, 1, double, right, N, double]
    assert with_workspace(solver, "Xgeev", params, sizes, [info]) == SUCCESS
    assert solver.get(info, like)[0] == 1
    assert np.isnan(solver.get(w, np.zeros(2 * N))).all()
    assert np.isnan(solver.get(right, matrix)).all()

    device, host = ctypes.c_size_t(), ctypes.c_size_t()
    returned = (ctypes.byref(device), ctypes.byref(host))
    left = [one, *sizes[1:]]
    assert call(solver, "Xgeev_bufferSize", params, *left, *returned) == NOT_SUPPORTED
    for index, wrong in ((2, -1), (5, N - 1), (6, ctypes.c_int(0)), (11, ctypes.c_int(0)), (13, N - 1)):
        changed = [*sizes[:index], wrong, *sizes[index + 1 :]]
        assert call(solver, "Xgeev_bufferSize", params, *changed, *returned) == INVALID_VALUE
    empty = [none, one, 0, double, None, 1, double, None, double, None, 1, double, None, 1, double]
    zero = ctypes.c_size_t(0)
    assert call(solver, "Xgeev", params, *empty, None, zero, None, zero, info) == SUCCESS
    assert solver.get(info, like)[0] == 0


def test_types_that_do_not_fit_are_refused(solver: Solver, params: Any) -> None:
    double, single, half = ctypes.c_int(1), ctypes.c_int(0), ctypes.c_int(2)
    device, host, a = ctypes.c_size_t(), ctypes.c_size_t(), solver.put(np.eye(N))
    sizes = (ctypes.byref(device), ctypes.byref(host))
    for first, second in ((double, single), (half, half), (ctypes.c_int(77), ctypes.c_int(77))):
        assert call(solver, "Xgetrf_bufferSize", params, N, N, first, a, N, second, *sizes) == INVALID_VALUE
    one = ctypes.c_int(1)
    assert (
        call(solver, "Xsyevd_bufferSize", params, one, one, N, double, a, N, single, a, double, *sizes) == INVALID_VALUE
    )
    wrong = Address(64)
    assert call(solver, "Xgetrf_bufferSize", wrong, N, N, double, a, N, double, *sizes) == INVALID_VALUE
    assert call(solver, "Xgetrf_bufferSize", None, N, N, double, a, N, double, *sizes) == SUCCESS
