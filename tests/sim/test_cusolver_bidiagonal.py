"""Bidiagonal forms by the stand-in for cuSOLVER."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from solver_probe import GAP, INVALID_VALUE, SUCCESS, TYPES, Address, Solver, close, padded

KINDS = pytest.mark.parametrize("kind", list(TYPES))


def reflectors(vectors: np.ndarray, tau: np.ndarray, first: int) -> np.ndarray:
    """The product of reflectors, whose vectors are columns with `first` zeros more in each."""
    n = len(vectors)
    product = np.eye(n, dtype=vectors.dtype)
    for index, scalar in enumerate(tau):
        start = index + first
        if start >= n:
            break
        vector = np.zeros(n, vectors.dtype)
        vector[start], vector[start + 1 :] = 1, vectors[start + 1 :, index]
        product = product @ (np.eye(n) - scalar * np.outer(vector, vector.conj()))
    return product


@KINDS
@pytest.mark.parametrize(("m", "n"), [(1, 1), (4, 1), (3, 3), (7, 5), (40, 33)])
def test_bidiagonal_form_and_its_reflectors_rebuild_the_matrix(solver: Solver, kind: str, m: int, n: int) -> None:
    dtype = TYPES[kind]
    matrix = solver.random((m, n), dtype)
    whole = padded(matrix)
    real = np.zeros(0, dtype).real.dtype
    results = [np.full(count, 77, of) for count, of in ((n, real), (n, real), (n, dtype), (n, dtype))]
    a, (info, like) = solver.put(whole), solver.integers()
    places = [solver.put(each) for each in results]
    work, size = solver.workspace(f"cusolverDn{kind}gebrd", kind, m, n)
    assert solver.call(f"cusolverDn{kind}gebrd", m, n, a, m + 3, *places, work, size, info) == SUCCESS
    after = solver.get(a, whole)
    d, e, tauq, taup = (solver.get(place, each) for place, each in zip(places, results, strict=True))
    assert solver.get(info, like)[0] == 0
    np.testing.assert_array_equal(after[m:], GAP)
    bidiagonal = np.zeros((m, n), dtype)
    bidiagonal[:n, :n] = np.diag(d) + np.diag(e[: n - 1], 1)
    # There are n - 1 elements beside the diagonal, and the others stay.
    assert e[n - 1] == 77
    q = reflectors(after[:m], tauq, 0)
    p = reflectors(after[:n].conj().T, taup[: n - 1], 1)
    close(q @ bidiagonal @ p.conj().T, matrix, kind)
    assert taup[n - 1] == 0
    close(np.diag(after[:n]), d, kind)


def test_arguments_are_checked(solver: Solver) -> None:
    a, none = solver.put(np.zeros((4, 4))), Address(0)
    info, _ = solver.integers()

    def status(m: int, n: int, lda: int, size: int = 1000, first: Any = a) -> int:
        return solver.call("cusolverDnDgebrd", m, n, a, lda, first, a, a, a, a, size, info)

    # Documented: there are at least as many rows as columns.
    for arguments in ((3, 4, 4), (-1, 0, 4), (4, -1, 4), (4, 4, 3), (4, 4, 4, 3), (4, 4, 4, 1000, none)):
        assert status(*arguments) == INVALID_VALUE, arguments
