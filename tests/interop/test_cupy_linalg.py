"""CuPy's linear algebra by the stand-ins for cuSOLVER and cuBLAS, against NumPy's."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from route import Library

import cuarray_sim

if importlib.util.find_spec("cupy") is None:
    pytest.skip(
        "CuPy is not installed; `make peers-cupy` installs it into build/cupy, which PYTHONPATH must name",
        allow_module_level=True,
    )

KINDS = pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])


@pytest.fixture
def cp(cupy: Library, simulator: str) -> Any:
    # CuPy looks for cuSPARSE and nvJitLink before it uses cuSOLVER, and finds their stand-ins.
    import cupy as module

    return module


@pytest.fixture
def a(dtype: Any) -> np.ndarray:
    rng = np.random.default_rng(3)
    values = rng.standard_normal((9, 9))
    return (values + 1j * rng.standard_normal((9, 9)) if np.dtype(dtype).kind == "c" else values).astype(dtype)


@pytest.fixture
def definite(a: np.ndarray) -> np.ndarray:
    return a @ a.conj().T + 9 * np.eye(9, dtype=a.dtype)


def close(result: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    tolerance = 1e-10 if expected.dtype in (np.float64, np.complex128) else 1e-3
    np.testing.assert_allclose(np.asarray(result.get()), expected, rtol=tolerance, atol=tolerance)


@KINDS
def test_equations_and_inverses_are_those_of_numpy(cp: Any, a: np.ndarray, definite: np.ndarray) -> None:
    for right in (a[:, 0], a[:, :4]):
        close(cp.linalg.solve(cp.asarray(definite), cp.asarray(right)), np.linalg.solve(definite, right))
    stacks = np.stack([definite, a + 5 * np.eye(9, dtype=a.dtype)]), np.stack([a[:, :2], a[:, 2:4]])
    close(cp.linalg.solve(*map(cp.asarray, stacks)), np.linalg.solve(*stacks))
    close(cp.linalg.inv(cp.asarray(definite)), np.linalg.inv(definite))
    close(cp.linalg.inv(cp.asarray(stacks[0])), np.linalg.inv(stacks[0]))
    close(
        cp.linalg.lstsq(cp.asarray(a[:, :4]), cp.asarray(a[:, 4:]), rcond=None)[0],
        np.linalg.lstsq(a[:, :4], a[:, 4:])[0],
    )
    close(cp.linalg.pinv(cp.asarray(a[:, :4])), np.linalg.pinv(a[:, :4]))
    assert cuarray_sim.findings()["findings"] == []


@KINDS
def test_factors_rebuild_the_matrix(cp: Any, a: np.ndarray, definite: np.ndarray) -> None:
    close(cp.linalg.cholesky(cp.asarray(definite)), np.linalg.cholesky(definite))
    close(cp.linalg.cholesky(cp.asarray(np.stack([definite, 2 * definite])))[1], np.linalg.cholesky(2 * definite))
    for matrix in (a, a[:, :4], a[:4]):
        for mode in ("reduced", "complete"):
            q, r = cp.linalg.qr(cp.asarray(matrix), mode=mode)
            close(q @ r, matrix)
            close(q.conj().T @ q, np.eye(q.shape[1], dtype=matrix.dtype))
        for full in (False, True):
            u, s, vt = cp.linalg.svd(cp.asarray(matrix), full_matrices=full)
            close(s, np.linalg.svd(matrix, compute_uv=False))
            n = len(s)
            close((u[:, :n] * s) @ vt[:n], matrix)
    assert cuarray_sim.findings()["findings"] == []


@KINDS
def test_eigenvalues_and_numbers_are_those_of_numpy(cp: Any, a: np.ndarray, definite: np.ndarray) -> None:
    for triangle in "LU":
        values, vectors = cp.linalg.eigh(cp.asarray(definite), UPLO=triangle)
        close(values, np.linalg.eigvalsh(definite))
        close((vectors * values) @ vectors.conj().T, definite)
        close(cp.linalg.eigvalsh(cp.asarray(definite), UPLO=triangle), np.linalg.eigvalsh(definite))
    stack = np.stack([definite, 2 * definite])
    close(cp.linalg.eigh(cp.asarray(stack))[0], np.linalg.eigvalsh(stack))
    close(cp.linalg.svd(cp.asarray(stack))[1], np.linalg.svd(stack, compute_uv=False))
    close(cp.linalg.det(cp.asarray(a / 2)), np.linalg.det(a / 2))
    for result, expected in zip(cp.linalg.slogdet(cp.asarray(a)), np.linalg.slogdet(a), strict=True):
        close(result, expected)
    for order in (None, 2, -2, "nuc", "fro"):
        close(cp.linalg.norm(cp.asarray(a), order), np.linalg.norm(a, order))
    assert int(cp.linalg.matrix_rank(cp.asarray(a[:, :4] @ a[:4]))) == 4
    assert cuarray_sim.findings()["findings"] == []


@pytest.mark.parametrize("dtype", [np.float64])
def test_matrix_that_has_no_factor_raises(cp: Any, a: np.ndarray) -> None:
    import cupyx

    with cupyx.errstate(linalg="raise"):
        with pytest.raises(np.linalg.LinAlgError):
            cp.linalg.cholesky(cp.asarray(a - 100 * np.eye(9)))
        with pytest.raises(np.linalg.LinAlgError):
            cp.linalg.solve(cp.zeros((3, 3)), cp.ones(3))


@pytest.mark.parametrize("dtype", [np.float64])
@pytest.mark.cuarray_sim(expect="data-race")
def test_matrix_of_another_stream_without_a_wait_is_a_race(cp: Any, definite: np.ndarray) -> None:
    matrix = cp.asarray(definite)
    cp.cuda.Device().synchronize()
    with cp.cuda.Stream(non_blocking=True):
        matrix += 1
    with cp.cuda.Stream(non_blocking=True):
        cp.linalg.eigh(matrix)
    assert cuarray_sim.findings()["findings"]
