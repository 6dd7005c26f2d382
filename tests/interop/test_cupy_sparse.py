"""CuPy's sparse matrices by the stand-in for cuSPARSE, against NumPy's dense ones."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from route import Library

import cuarray_sim
from cuarray_sim.stand_ins import STAND_INS

if importlib.util.find_spec("cupy") is None:
    pytest.skip(
        "CuPy is not installed; `make peers-cupy` installs it into build/cupy, which PYTHONPATH must name",
        allow_module_level=True,
    )
if not any(each.name == "cuSPARSE" and (each.path / each.files[0]).is_file() for each in STAND_INS):
    pytest.skip("the package was built without cuSPARSE", allow_module_level=True)

KINDS = pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])


@pytest.fixture
def cp(cupy: Library, simulator: str) -> Any:
    import cupy as module
    import cupyx.cusparse
    import cupyx.scipy.sparse.linalg  # noqa: F401 - the tests use both through this module

    return module


@pytest.fixture
def sparse(cp: Any) -> Any:
    import cupyx.scipy.sparse

    return cupyx.scipy.sparse


@pytest.fixture
def values(dtype: Any) -> np.ndarray:
    """A matrix with many zeros, whose last column has none."""
    rng = np.random.default_rng(3)
    dense = rng.standard_normal((9, 7))
    dense = (dense + 1j * rng.standard_normal((9, 7)) if np.dtype(dtype).kind == "c" else dense).astype(dtype)
    dense[rng.random((9, 7)) < 0.6] = 0
    dense[:, 6] = 1
    return dense


def dense_of(matrix: Any) -> np.ndarray:
    """The dense matrix of the arrays, for which CuPy's own conversion needs a sort that does not run."""
    coo = matrix.tocoo()
    dense = np.zeros(coo.shape, coo.dtype)
    np.add.at(dense, (coo.row.get(), coo.col.get()), coo.data.get())
    return dense


def close(result: Any, expected: np.ndarray) -> None:
    tolerance = 1e-10 if expected.dtype in (np.float64, np.complex128) else 1e-4
    result = result if isinstance(result, np.ndarray) else result.get()
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


@KINDS
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_products_with_vectors_and_matrices(cp: Any, sparse: Any, values: np.ndarray, form: str) -> None:
    a = sparse.csr_matrix(cp.asarray(values)).asformat(form)
    for right in (values[0], values[:3].T):
        close(a @ cp.asarray(right), values @ right)
    for right in (values[:, 0], values[:, :3]):
        close(a.T @ cp.asarray(right), values.T @ right)
        close(a.conj().T @ cp.asarray(right), values.conj().T @ right)
    assert cuarray_sim.findings()["findings"] == []


@KINDS
def test_products_sums_and_scalings_of_sparse_matrices(cp: Any, sparse: Any, values: np.ndarray) -> None:
    a, b = sparse.csr_matrix(cp.asarray(values)), sparse.csr_matrix(cp.asarray(values[::-1].copy()))
    close(dense_of(a + b), values + values[::-1])
    close(dense_of(a - 3 * b), values - 3 * values[::-1])
    close(dense_of(a.multiply(b)), values * values[::-1])
    close(dense_of(a @ b.T.tocsr()), values @ values[::-1].T)
    close(a.sum(axis=0), values.sum(axis=0, keepdims=True))
    assert cuarray_sim.findings()["findings"] == []


@KINDS
def test_conversions_between_formats(cp: Any, sparse: Any, values: np.ndarray) -> None:
    from cupyx import cusparse

    matrices = [sparse.csr_matrix(cp.asarray(values)), sparse.csc_matrix(cp.asarray(values))]
    for matrix in matrices:
        assert matrix.nnz == np.count_nonzero(values)
        for form in ("csr", "csc", "coo"):
            close(dense_of(matrix.asformat(form)), values)
        close(cusparse.sparseToDense(matrix), values)
        matrix.sort_indices()
        close(dense_of(matrix), values)
    zeros = matrices[0] - matrices[0]
    zeros.eliminate_zeros()
    assert zeros.nnz == 0
    close(dense_of(cusparse.csr2csr_compress(matrices[0], 0.5)), np.where(np.abs(values) > 0.5, values, 0))
    assert cuarray_sim.findings()["findings"] == []


def test_indices_of_coordinates_are_sorted(cp: Any, sparse: Any) -> None:
    from cupyx import cusparse

    rng = np.random.default_rng(4)
    rows, columns = rng.permutation(8).astype(np.int32), rng.permutation(8).astype(np.int32)
    data = rng.standard_normal(8)
    a = sparse.coo_matrix((cp.asarray(data), (cp.asarray(rows), cp.asarray(columns))), shape=(8, 8))
    cusparse.coosort(a)
    order = np.argsort(rows)
    assert a.row.get().tolist() == sorted(rows.tolist())
    np.testing.assert_array_equal(a.data.get(), data[order])


@KINDS
@pytest.mark.parametrize("lower", [True, False])
def test_triangular_equations(cp: Any, sparse: Any, values: np.ndarray, lower: bool) -> None:
    from cupyx.scipy.sparse import linalg

    square = values[:7] + 8 * np.eye(7, dtype=values.dtype)
    half = np.tril(square) if lower else np.triu(square)
    a = sparse.csr_matrix(cp.asarray(half))
    for right in (values[0], np.ascontiguousarray(values[:3].T)):
        close(linalg.spsolve_triangular(a, cp.asarray(right), lower=lower), np.linalg.solve(half, right))
    assert cuarray_sim.findings()["findings"] == []


@KINDS
def test_equations_by_the_sparse_interface_of_cusolver(cp: Any, sparse: Any, values: np.ndarray) -> None:
    from cupyx.scipy.sparse import linalg

    square = values[:7] + 8 * np.eye(7, dtype=values.dtype)
    a = sparse.csr_matrix(cp.asarray(square))
    close(linalg.spsolve(a, cp.asarray(values[0])), np.linalg.solve(square, values[0]))
    if values.dtype.kind == "f":
        # It has a tolerance with which the matrix may be called singular, and uses the solution.
        close(linalg.lsqr(a, cp.asarray(values[0]))[0].astype(values.dtype), np.linalg.solve(square, values[0]))
    assert cuarray_sim.findings()["findings"] == []


def test_iterative_solvers(cp: Any, sparse: Any) -> None:
    from cupyx.scipy.sparse import linalg

    rng = np.random.default_rng(5)
    half = rng.standard_normal((9, 9))
    half[rng.random((9, 9)) < 0.5] = 0
    definite, right = half @ half.T + 9 * np.eye(9), rng.standard_normal(9)
    a, expected = sparse.csr_matrix(cp.asarray(definite)), np.linalg.solve(definite, right)
    for solver in (linalg.cg, linalg.gmres, linalg.cgs, linalg.minres):
        found, info = solver(a, cp.asarray(right))
        assert int(info) == 0, solver
        np.testing.assert_allclose(found.get(), expected, rtol=1e-3, atol=1e-3)
    assert cuarray_sim.findings()["findings"] == []


@pytest.mark.cuarray_sim(expect="data-race")
def test_product_of_sparse_matrices_in_a_stream_is_a_race_of_cupy(cp: Any, sparse: Any) -> None:
    # CuPy 14.2 gives no stream to cuSPARSE before these calls.
    a = sparse.csr_matrix(cp.eye(4))
    assert a.has_canonical_format
    cp.cuda.Device().synchronize()
    with cp.cuda.Stream(non_blocking=True):
        a @ a
        cp.cuda.Device().synchronize()
    sides = [side for finding in cuarray_sim.findings()["findings"] for side in finding["sides"]]
    assert any(side["call"].startswith("cusparseSpGEMM_") for side in sides)


@pytest.mark.cuarray_sim(expect="data-race")
def test_product_in_another_stream_without_a_wait_is_a_race(cp: Any, sparse: Any) -> None:
    a, x = sparse.csr_matrix(cp.eye(4)), cp.ones(4)
    cp.cuda.Device().synchronize()
    with cp.cuda.Stream(non_blocking=True):
        x *= 2
    with cp.cuda.Stream(non_blocking=True) as second:
        a @ x
        second.synchronize()
    sides = [side for finding in cuarray_sim.findings()["findings"] for side in finding["sides"]]
    assert {(side["call"], side["detail"]) for side in sides} >= {("cusparseSpMV", "argument vecX")}


def test_product_in_another_stream_with_a_wait_has_no_findings(cp: Any, sparse: Any) -> None:
    a, x = sparse.csr_matrix(cp.eye(4)), cp.ones(4)
    cp.cuda.Device().synchronize()
    with cp.cuda.Stream(non_blocking=True) as first:
        x *= 2
    with cp.cuda.Stream(non_blocking=True) as second:
        second.wait_event(first.record())
        y = a @ x
        second.synchronize()
    assert y.get().tolist() == [2, 2, 2, 2]
