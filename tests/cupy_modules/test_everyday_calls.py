"""Thirty everyday calls of CuPy and a program of several libraries, compared with NumPy and SciPy, with findings on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Call = Callable[[Any, Any, Any], Any]

CALLS: dict[str, Call] = {
    "matmul": lambda xp, a, _: a @ a,
    "dot": lambda xp, a, b: xp.dot(a, b),
    "einsum": lambda xp, a, b: xp.einsum("ij,jk,k->i", a, a, b),
    "tensordot": lambda xp, a, b: xp.tensordot(a, a, 2),
    "inv": lambda xp, a, _: xp.linalg.inv(a),
    "solve": lambda xp, a, b: xp.linalg.solve(a, b),
    "det": lambda xp, a, _: xp.linalg.det(a),
    "svd": lambda xp, a, _: xp.linalg.svd(a, compute_uv=False),
    "eigvalsh": lambda xp, a, _: xp.linalg.eigvalsh(a + a.T),
    "norm": lambda xp, a, _: xp.linalg.norm(a),
    "fft": lambda xp, a, _: xp.fft.fft(a),
    "rfft2": lambda xp, a, _: xp.fft.rfft2(a),
    "convolve": lambda xp, _, b: xp.convolve(b, b),
    "sort": lambda xp, a, _: xp.sort(a, axis=None),
    "argsort": lambda xp, _, b: xp.argsort(b),
    "unique": lambda xp, a, _: xp.unique(xp.round(a)),
    "median": lambda xp, a, _: xp.median(a, axis=0),
    "percentile": lambda xp, _, b: xp.percentile(b, 30),
    "cumsum": lambda xp, a, _: xp.cumsum(a, axis=1),
    "sum": lambda xp, a, _: a.sum(axis=0),
    "mean": lambda xp, a, _: a.mean(),
    "std": lambda xp, a, _: a.std(axis=1),
    "argmax": lambda xp, a, _: a.argmax(axis=1),
    "where": lambda xp, a, _: xp.where(a > 0, a, 0),
    "histogram": lambda xp, a, _: xp.histogram(a, 5)[0],
    "concatenate": lambda xp, a, b: xp.concatenate([a, b[None]]),
    "broadcast": lambda xp, a, b: xp.exp(-a) + b[:, None],
    "advanced_index": lambda xp, a, b: a[xp.argsort(b)[:3]],
}


@pytest.fixture
def given() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.standard_normal((8, 8)) + 4 * np.eye(8), rng.standard_normal(8)


@pytest.mark.parametrize("name", CALLS)
def test_call_returns_that_of_numpy(cp: Any, given: tuple[np.ndarray, np.ndarray], name: str) -> None:
    expected = CALLS[name](np, *given)
    found = CALLS[name](cp, *(cp.asarray(each) for each in given))
    np.testing.assert_allclose(cp.asnumpy(found), expected, rtol=1e-9, atol=1e-9)


def test_random_numbers_have_their_distribution(cp: Any) -> None:
    for numbers in (cp.random.rand(2000), cp.random.Generator(cp.random.XORWOW(3, size=1024)).random(2000)):
        values = numbers.get()
        assert values.min() >= 0
        assert values.max() <= 1
        assert abs(values.mean() - 0.5) < 0.03


def test_program_of_several_libraries_is_that_of_the_host(cp: Any, given: tuple[np.ndarray, np.ndarray]) -> None:
    """Equations, singular values, random numbers, a sort, and conjugate gradients of a sparse matrix."""
    import cupyx.scipy.sparse as sparse
    import cupyx.scipy.sparse.linalg as solvers

    matrix, right = (cp.asarray(each) for each in given)
    solution = cp.linalg.solve(matrix, right)
    u, values, vh = cp.linalg.svd(matrix)
    np.testing.assert_allclose((u * values @ vh @ solution).get(), given[1], atol=1e-9)
    cp.random.seed(7)
    numbers = cp.sort(cp.random.rand(200))
    assert (numbers.get() == np.sort(numbers.get())).all()
    system = sparse.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(200, 200), format="csr")
    found, failed = solvers.cg(system, numbers, atol=1e-10)
    assert failed == 0
    np.testing.assert_allclose((system @ found).get(), numbers.get(), atol=1e-4)
    np.testing.assert_allclose(found.get(), np.linalg.solve(system.toarray().get(), numbers.get()), atol=1e-4)
