"""Operations of CuPy's sparse matrices that sort by Thrust, against dense matrices of NumPy, with findings on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


@pytest.fixture
def sparse(cp: Any) -> Any:
    import cupyx.scipy.sparse

    return cupyx.scipy.sparse


@pytest.fixture(params=["f", "d", "F", "D"])
def entries(request: pytest.FixtureRequest) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, rows and columns of a matrix of 9 by 7; some places have several values."""
    rng = np.random.default_rng(11)
    values = rng.integers(1, 9, 40).astype(request.param)
    return values, rng.integers(0, 9, 40), rng.integers(0, 7, 40)


@pytest.fixture
def dense(entries: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    values, rows, columns = entries
    matrix = np.zeros((9, 7), values.dtype)
    np.add.at(matrix, (rows, columns), values)
    return matrix


@pytest.fixture
def coo(cp: Any, sparse: Any, entries: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Any:
    values, rows, columns = (cp.asarray(each) for each in entries)
    return sparse.coo_matrix((values, (rows, columns)), shape=(9, 7))


def test_toarray_adds_values_of_one_place(coo: Any, dense: np.ndarray) -> None:
    np.testing.assert_array_equal(coo.toarray().get(), dense)
    np.testing.assert_array_equal(coo.T.toarray().get(), dense.T)


def test_sum_duplicates_leaves_one_value_for_each_place(coo: Any, dense: np.ndarray) -> None:
    coo.sum_duplicates()
    assert coo.nnz == np.count_nonzero(dense)
    np.testing.assert_array_equal(coo.toarray().get(), dense)


def test_conversions_have_sorted_indices(coo: Any, dense: np.ndarray) -> None:
    for matrix in (coo.tocsr(), coo.tocsc()):
        assert matrix.has_sorted_indices
        np.testing.assert_array_equal(matrix.toarray().get(), dense)


def test_products_with_vectors_matrices_and_sparse_matrices(cp: Any, coo: Any, dense: np.ndarray) -> None:
    vector, matrix = np.arange(7).astype(dense.dtype), np.arange(21).reshape(7, 3).astype(dense.dtype)
    np.testing.assert_allclose(coo.dot(cp.asarray(vector)).get(), dense @ vector, rtol=1e-5)
    np.testing.assert_allclose((coo @ cp.asarray(matrix)).get(), dense @ matrix, rtol=1e-5)
    np.testing.assert_allclose((coo @ coo.T).toarray().get(), dense @ dense.T, rtol=1e-5)


def test_sparse_matrix_of_a_dense_one_is_the_same(cp: Any, sparse: Any, dense: np.ndarray) -> None:
    matrix = sparse.coo_matrix(cp.asarray(dense))
    assert matrix.nnz == np.count_nonzero(dense)
    np.testing.assert_array_equal(matrix.toarray().get(), dense)
