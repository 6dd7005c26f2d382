"""Batches of products with vectors, and groups of batches, by the stand-in for cuBLAS, compared with NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

import driver_probe
import numpy as np
import pytest
from blas_probe import GAP, INVALID_VALUE, NOT_SUPPORTED, SUCCESS, TYPES, Blas, C, N, T, at, close, op
from device_probe import second_stream
from lt_probe import bfloat, of_bfloat

M, K, COUNT = 4, 3, 3
FORMS = {letter: (dtype, dtype, dtype) for letter, dtype in TYPES.items()}
FORMS |= {"HSH": (np.float32, np.float16, np.float16), "HSS": (np.float32, np.float16, np.float32)}
"""The types of scalars, of the matrix and the input, and of the result."""


def strided(blas: Blas, values: np.ndarray, increment: int, stride: int) -> tuple[np.ndarray, int]:
    """Vectors, one for each row of `values`, in memory with gaps."""
    memory = np.full((len(values), stride), GAP, values.dtype)
    step = abs(increment)
    memory[:, : values.shape[1] * step : step] = values[:, ::-1] if increment < 0 else values
    return memory, blas.put(memory.reshape(-1))


def pointers(blas: Blas, first: int, distance: int) -> int:
    return blas.put(np.array([first + item * distance for item in range(COUNT)], np.uint64))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [N, T, C])
@pytest.mark.parametrize("by_pointers", [False, True], ids=["strided", "pointers"])
def test_each_matrix_of_a_batch_multiplies_its_vector(blas: Blas, form: str, kind: int, by_pointers: bool) -> None:
    scalar, dtype, result = FORMS[form]
    matrices = [blas.random((M, K), dtype) for _ in range(COUNT)]
    padded = np.stack([blas.padded(each, 2).T for each in matrices])
    rows, columns = (M, K) if kind == N else (K, M)
    x, y = blas.random((COUNT, columns), dtype), blas.random((COUNT, rows), result)
    a = blas.put(padded.reshape(-1))
    of_x, put_x = strided(blas, x, -2, 11)
    of_y, put_y = strided(blas, y, 2, 13)
    alpha, beta = blas.scalar(2, scalar), blas.scalar(-1, scalar)
    distances = [each[0].nbytes for each in (padded, of_x, of_y)]
    if by_pointers:
        a, put_x, array = (
            pointers(blas, first, step) for first, step in zip((a, put_x, put_y), distances, strict=True)
        )
        status = blas.call(
            f"cublas{form}gemvBatched", kind, M, K, alpha, at(a), M + 2, at(put_x), -2, beta, at(array), 2, COUNT
        )
    else:
        steps = [ctypes.c_int64(each) for each in (padded[0].size, 11, 13)]
        status = blas.call(
            f"cublas{form}gemvStridedBatched_64",
            *(kind, M, K, alpha, at(a), M + 2, steps[0], at(put_x), -2, steps[1], beta, at(put_y), 2, steps[2], COUNT),
        )
    assert status == SUCCESS
    wide = np.complex128 if np.dtype(dtype).kind == "c" else np.float64
    memory = blas.get(put_y, of_y.reshape(-1)).reshape(of_y.shape)
    for item in range(COUNT):
        expected = 2 * op(matrices[item].astype(wide), kind) @ x[item].astype(wide) - y[item].astype(wide)
        close(memory[item, : rows * 2 : 2], expected.astype(result))
    memory[:, : rows * 2 : 2] = GAP
    np.testing.assert_array_equal(memory, GAP)


@pytest.mark.parametrize("form", ["TST", "TSS"])
def test_bfloat_batches_have_sums_in_float(blas: Blas, form: str) -> None:
    matrix, x = blas.random((M, K), np.float32), blas.random((COUNT, K), np.float32)
    a, put_x = blas.put(bfloat(matrix)), blas.put(bfloat(x).reshape(-1))
    y = np.zeros((COUNT, M), np.uint16 if form == "TST" else np.float32)
    put_y = blas.put(y.reshape(-1))
    steps = [ctypes.c_int64(each) for each in (0, K, M)]
    one, zero = blas.scalar(1, np.float32), blas.scalar(0, np.float32)
    status = blas.call(
        f"cublas{form}gemvStridedBatched",
        *(N, M, K, one, at(a), M, steps[0], at(put_x), 1, steps[1], zero, at(put_y), 1, steps[2], COUNT),
    )
    assert status == SUCCESS
    found = blas.get(put_y, y.reshape(-1)).reshape(y.shape)
    np.testing.assert_array_equal(of_bfloat(found) if form == "TST" else found, x @ matrix.T)


GROUPS = [(2, 3, 4, N, T, 2), (5, 1, 2, T, N, 1), (3, 3, 3, N, N, 3)]
"""The sizes, the operations and the number of products of each group."""


@pytest.mark.parametrize("letter", ["S", "D", "half"])
def test_each_group_has_its_sizes(blas: Blas, letter: str) -> None:
    dtype = {"S": np.float32, "D": np.float64, "half": np.float16}[letter]
    scalar = np.float64 if letter == "D" else np.float32
    lists: list[list[int]] = [[], [], []]
    expected, results = [], []
    for index, (m, n, k, first, second, count) in enumerate(GROUPS):
        for _ in range(count):
            a = blas.random((m, k) if first == N else (k, m), dtype)
            b = blas.random((k, n) if second == N else (n, k), dtype)
            c = blas.random((m, n), dtype)
            for addresses, values in zip(lists, (a, b, c), strict=True):
                addresses.append(blas.put(values))
            expected.append(
                (index + 1) * op(a, first).astype(float) @ op(b, second).astype(float) + index * c.astype(float)
            )
            results.append((lists[2][-1], c))
    arrays = [at(blas.put(np.array(each, np.uint64))) for each in lists]
    host = [np.array(column, np.int32) for column in zip(*GROUPS, strict=True)]
    leading = [
        np.array([m if first == N else k for m, _, k, first, *_ in GROUPS], np.int32),
        np.array([k if second == N else n for _, n, k, _, second, _ in GROUPS], np.int32),
        host[0],
    ]
    of = [each.ctypes.data_as(ctypes.c_void_p) for each in (*host, *leading)]
    alpha, beta = np.array([1, 2, 3], scalar), np.array([0, 1, 2], scalar)
    factors = [each.ctypes.data_as(ctypes.c_void_p) for each in (alpha, beta)]
    sizes = (of[3], of[4], *of[:3], factors[0])
    if letter == "half":
        pairs = [(array, 2, ld) for array, ld in zip(arrays, of[6:], strict=True)]
        arguments: tuple[Any, ...] = (*sizes, *pairs[0], *pairs[1], factors[1], *pairs[2], 3, of[5], 68)
        status = blas.call("cublasGemmGroupedBatchedEx", *arguments)
    else:
        arguments = (*sizes, arrays[0], of[6], arrays[1], of[7], factors[1], arrays[2], of[8], 3, of[5])
        status = blas.call(f"cublas{letter}gemmGroupedBatched", *arguments)
    assert status == SUCCESS
    for (address, like), values in zip(results, expected, strict=True):
        close(blas.get(address, like), values.astype(dtype))
    if letter == "half":
        assert blas.call("cublasGemmGroupedBatchedEx", *arguments[:-1], 64) == NOT_SUPPORTED


def gemv(blas: Blas, addresses: list[int]) -> int:
    one, steps = blas.scalar(1, np.float32), [ctypes.c_int64(each) for each in (16, 4, 4)]
    a, x, y = (at(each) for each in addresses)
    return blas.call(
        "cublasSgemvStridedBatched", N, 4, 4, one, a, 4, steps[0], x, 1, steps[1], one, y, 1, steps[2], 2
    )  # fmt: skip


def operands(blas: Blas) -> list[int]:
    return [blas.put(blas.random((2, size), np.float32)) for size in (16, 4, 4)]


def write(address: int, stream: ctypes.c_void_p) -> None:
    driver_probe.call("cuMemsetD8Async", ctypes.c_uint64(address), ctypes.c_ubyte(1), ctypes.c_size_t(16), stream)


@pytest.mark.parametrize("index", range(3), ids=["A", "x", "y"])
@pytest.mark.cuarray_sim(expect="data-race")
def test_write_of_an_argument_without_a_wait_is_a_race(blas: Blas, index: int) -> None:
    import cuarray_sim

    addresses = operands(blas)
    with second_stream() as other:
        write(addresses[index], other)
        assert gemv(blas, addresses) == SUCCESS
    sides = [side for finding in cuarray_sim.findings()["findings"] for side in finding["sides"]]
    found = {side["detail"] for side in sides if side["call"] == "cublasSgemvStridedBatched"}
    assert found == {f"argument {'Axy'[index]}"}


@pytest.mark.parametrize("index", range(3), ids=["A", "x", "y"])
def test_write_of_an_argument_after_a_wait_has_no_findings(blas: Blas, index: int) -> None:
    addresses = operands(blas)
    with second_stream() as other:
        write(addresses[index], other)
        driver_probe.call("cuStreamSynchronize", other)
        assert gemv(blas, addresses) == SUCCESS


def test_wrong_batches_are_refused(blas: Blas) -> None:
    addresses = operands(blas)
    for wrong in range(3):
        assert gemv(blas, [0 if index == wrong else each for index, each in enumerate(addresses)]) == INVALID_VALUE
    one = blas.scalar(1, np.float32)
    a, x, y = (at(each) for each in addresses)
    arguments: list[Any] = [N, 4, 4, one, a, 4, x, 1, one, y, 1, 2]
    for place, value in ((0, 3), (1, -1), (5, 3), (7, 0), (10, 0), (11, -1), (3, None)):
        changed = [value if index == place else each for index, each in enumerate(arguments)]
        assert blas.call("cublasSgemvBatched", *changed) == INVALID_VALUE, place
