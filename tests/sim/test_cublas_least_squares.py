"""QR decompositions of batches and least squares by the stand-in for cuBLAS, compared with NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from blas_probe import GAP, INVALID_VALUE, NOT_SUPPORTED, SUCCESS, TYPES, Blas, N, T, at, close

COUNT = 3


def batch(blas: Blas, shape: tuple[int, int], dtype: Any, gap: int) -> tuple[list[np.ndarray], list[int], int]:
    """Matrices with gaps, their addresses, and the address of the array of pointers."""
    values = [blas.padded(blas.random(shape, dtype), gap) for _ in range(COUNT)]
    addresses = [blas.put(each) for each in values]
    return values, addresses, blas.put(np.array(addresses, np.uint64))


def reflections(a: np.ndarray, taus: np.ndarray) -> np.ndarray:
    """The unitary matrix that the reflections below the diagonal make, as LAPACK defines it."""
    whole = np.eye(len(a), dtype=np.complex128)
    for index, tau in enumerate(taus):
        v = np.concatenate([np.zeros(index), [1], a[index + 1 :, index]])
        whole = whole @ (np.eye(len(a)) - tau * np.outer(v, v.conj()))
    return whole


@pytest.mark.parametrize("letter", TYPES)
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5)], ids=str)
def test_decomposition_gives_the_matrix_again(blas: Blas, letter: str, shape: tuple[int, int]) -> None:
    dtype, (m, n), least = TYPES[letter], shape, min(shape)
    values, addresses, array = batch(blas, shape, dtype, 2)
    taus = [blas.put(np.full(least + 1, GAP, dtype)) for _ in range(COUNT)]
    info = ctypes.c_int(5)
    pointers = at(blas.put(np.array(taus, np.uint64)))
    name = f"cublas{letter}geqrfBatched"
    assert blas.call(name, m, n, at(array), m + 2, pointers, ctypes.byref(info), COUNT) == SUCCESS
    assert info.value == 0
    for matrix, address, tau in zip(values, addresses, taus, strict=True):
        found, scales = blas.get(address, matrix), blas.get(tau, np.zeros(least + 1, dtype))
        assert scales[least] == GAP
        np.testing.assert_array_equal(found[m:], GAP)
        unitary = reflections(found[:m], scales[:least])
        np.testing.assert_allclose(unitary @ unitary.conj().T, np.eye(m), atol=1e-4)
        product = unitary @ np.triu(found[:m])
        close(product.astype(dtype) if np.dtype(dtype).kind == "c" else product.real.astype(dtype), matrix[:m])


@pytest.mark.parametrize("letter", TYPES)
@pytest.mark.parametrize("m", [4, 7])
def test_solution_has_the_least_squares(blas: Blas, letter: str, m: int) -> None:
    dtype, n, columns = TYPES[letter], 4, 2
    a, *_ = batch(blas, (m, n), dtype, 1)
    for matrix in a:
        matrix[:n] += 9 * np.eye(n, dtype=dtype)
    array = blas.put(np.array([blas.put(each) for each in a], np.uint64))
    c, addresses, right = batch(blas, (m, columns), dtype, 2)
    info, infos = ctypes.c_int(5), blas.put(np.full(COUNT, 7, np.int32))
    name = f"cublas{letter}gelsBatched"
    arguments = (N, m, n, columns, at(array), m + 1, at(right), m + 2, ctypes.byref(info), at(infos), COUNT)
    assert blas.call(name, *arguments) == SUCCESS
    assert info.value == 0
    np.testing.assert_array_equal(blas.get(infos, np.zeros(COUNT, np.int32)), 0)
    for matrix, values, address in zip(a, c, addresses, strict=True):
        found = blas.get(address, values)
        expected, *_ = np.linalg.lstsq(matrix[:m].astype(np.complex128), values[:m].astype(np.complex128), rcond=None)
        np.testing.assert_allclose(found[:n], expected, rtol=1e-3, atol=1e-3)
        rest = np.linalg.norm(values[:m] - matrix[:m] @ expected, axis=0)
        np.testing.assert_allclose(np.linalg.norm(found[n:m], axis=0), rest, rtol=1e-3, atol=1e-3)
        np.testing.assert_array_equal(found[m:], GAP)


def test_matrix_without_full_rank_has_the_number_of_its_column(blas: Blas) -> None:
    a = np.array([[1, 0, 2], [0, 0, 1], [0, 0, 3], [0, 0, 1]], np.float64)
    array, right = (blas.put(np.array([blas.put(each)], np.uint64)) for each in (a, np.ones((4, 1))))
    info, infos = ctypes.c_int(), blas.put(np.zeros(1, np.int32))
    arguments = [N, 4, 3, 1, at(array), 4, at(right), 4, ctypes.byref(info), at(infos), 1]
    assert blas.call("cublasDgelsBatched", *arguments) == SUCCESS
    assert blas.get(infos, np.zeros(1, np.int32))[0] == 2
    for place, value, number in ((0, 5, 1), (1, -1, 2), (3, -1, 4), (5, 3, 6), (7, 3, 8), (10, -1, 11)):
        changed = [value if index == place else each for index, each in enumerate(arguments)]
        assert blas.call("cublasDgelsBatched", *changed) == INVALID_VALUE
        assert info.value == -number
    assert blas.call("cublasDgelsBatched", T, *arguments[1:]) == NOT_SUPPORTED
    assert blas.call("cublasDgelsBatched", N, 2, *arguments[2:]) == NOT_SUPPORTED
