"""The stand-in for cuBLAS: batches behind arrays of pointers, which are read in stream order, and factorizations."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import driver_probe
import numpy as np
import pytest
from blas_probe import (
    GAP,
    INVALID_VALUE,
    LEFT,
    LOWER,
    NON_UNIT,
    NOT_SUPPORTED,
    RIGHT,
    SUCCESS,
    TYPES,
    UNIT,
    UPPER,
    Blas,
    C,
    N,
    T,
    at,
    close,
    op,
    triangle,
    triangular,
)
from device_probe import second_stream


def behind(blas: Blas, matrices: list[np.ndarray]) -> tuple[ctypes.c_void_p, list[int]]:
    """An array of pointers in device memory, and the addresses of the matrices."""
    addresses = [blas.put(each) for each in matrices]
    return at(blas.put(np.array(addresses, np.uint64))), addresses


def regular(blas: Blas, n: int, dtype: Any, count: int = 3) -> list[np.ndarray]:
    return [np.asfortranarray(blas.random((n, n), dtype) + 12 * np.eye(n, dtype=dtype)) for _ in range(count)]


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("letter", [*TYPES, "H"])
def test_gemm_batched_multiplies_matrices_behind_pointers(blas: Blas, letter: str, on_device: bool) -> None:
    dtype = TYPES.get(letter, np.float16)
    blas.set_pointer_mode(on_device)
    for kind_a, kind_b in itertools.product((N, T, C), repeat=2):
        m, n, k = (int(each) for each in blas.rng.integers(1, 9, 3))
        a = [blas.random((m, k) if kind_a == N else (k, m), dtype) for _ in range(3)]
        b = [blas.random((k, n) if kind_b == N else (n, k), dtype) for _ in range(3)]
        c = [blas.random((m, n), dtype) for _ in range(3)]
        whole = [blas.padded(each, 2) for each in c]
        (in_a, _), (in_b, _), (in_c, put_c) = behind(blas, a), behind(blas, b), behind(blas, whole)
        arguments = (kind_a, kind_b, m, n, k, blas.scalar(2, dtype), in_a, len(a[0]), in_b, len(b[0]))
        arguments += (blas.scalar(1, dtype), in_c, m + 2, 3)
        assert blas.call(f"cublas{letter}gemmBatched", *arguments) == SUCCESS
        for item in range(3):
            result = blas.get(put_c[item], whole[item])
            close(result[:m], 2 * op(a[item], kind_a) @ op(b[item], kind_b) + c[item])
            assert (result[m:] == GAP).all()


@pytest.mark.parametrize("letter", TYPES)
def test_trsm_batched_solves_with_triangles(blas: Blas, letter: str) -> None:
    dtype = TYPES[letter]
    for side, uplo, kind, diag in itertools.product((LEFT, RIGHT), (LOWER, UPPER), (N, T, C), (NON_UNIT, UNIT)):
        m, n = (int(each) for each in blas.rng.integers(1, 7, 2))
        order = m if side == LEFT else n
        a = [each / np.array(8, dtype) for each in regular(blas, order, dtype)]
        b = [blas.random((m, n), dtype) for _ in a]
        (in_a, _), (in_b, put_b) = (
            behind(blas, [triangle(each, uplo, unit=diag == UNIT) for each in a]),
            behind(blas, b),
        )
        arguments = (side, uplo, kind, diag, m, n, blas.scalar(2, dtype), in_a, order, in_b, m, 3)
        assert blas.call(f"cublas{letter}trsmBatched", *arguments) == SUCCESS
        for item in range(3):
            full = op(triangular(a[item], uplo, diag), kind)
            x = blas.get(put_b[item], b[item])
            close(full @ x if side == LEFT else x @ full, 2 * b[item])


@pytest.mark.parametrize("pivots", [True, False], ids=["pivots", "no-pivots"])
@pytest.mark.parametrize("letter", TYPES)
def test_lu_decompositions_solve_and_invert(blas: Blas, letter: str, pivots: bool) -> None:
    dtype = TYPES[letter]
    n, columns = 6, 2
    a = regular(blas, n, dtype)
    a[1][0, 0] = a[1][0, 0] if not pivots else 0
    in_a, _ = behind(blas, a)
    put_pivots = blas.put(np.zeros(3 * n, np.int32)) if pivots else None
    put_info = blas.put(np.full(3, -1, np.int32))
    at_pivots = at(put_pivots) if put_pivots is not None else None
    assert blas.call(f"cublas{letter}getrfBatched", n, in_a, n, at_pivots, at(put_info), 3) == SUCCESS
    assert (blas.get(put_info, np.zeros(3, np.int32)) == 0).all()
    inverses, put_inverses = behind(blas, a)
    assert blas.call(f"cublas{letter}getriBatched", n, in_a, n, at_pivots, inverses, n, at(put_info), 3) == SUCCESS
    for item in range(3):
        close(a[item] @ blas.get(put_inverses[item], a[item]), np.eye(n, dtype=dtype))
    for kind in (N, T, C):
        b = [blas.random((n, columns), dtype) for _ in a]
        in_b, put_b = behind(blas, b)
        info = ctypes.c_int(-1)
        arguments = (kind, n, columns, in_a, n, at_pivots, in_b, n, ctypes.byref(info), 3)
        assert blas.call(f"cublas{letter}getrsBatched", *arguments) == SUCCESS
        assert info.value == 0
        for item in range(3):
            close(op(a[item], kind) @ blas.get(put_b[item], b[item]), b[item])


@pytest.mark.parametrize("letter", TYPES)
def test_matinv_batched_inverts_and_reports_singular_matrices(blas: Blas, letter: str) -> None:
    dtype = TYPES[letter]
    a = regular(blas, 5, dtype)
    a[2][:, 3] = 0
    (in_a, put_a), (in_c, put_c) = behind(blas, a), behind(blas, a)
    put_info = blas.put(np.full(3, -1, np.int32))
    assert blas.call(f"cublas{letter}matinvBatched", 5, in_a, 5, in_c, 5, at(put_info), 3) == SUCCESS
    assert blas.get(put_info, np.zeros(3, np.int32)).tolist() == [0, 0, 4]
    for item in range(2):
        close(a[item] @ blas.get(put_c[item], a[item]), np.eye(5, dtype=dtype))
        np.testing.assert_array_equal(blas.get(put_a[item], a[item]), a[item])
    assert blas.call(f"cublas{letter}matinvBatched", 33, in_a, 33, in_c, 33, at(put_info), 3) == NOT_SUPPORTED
    assert blas.call(f"cublas{letter}matinvBatched", 5, in_a, 4, in_c, 5, at(put_info), 3) == INVALID_VALUE


def multiply(blas: Blas, arrays: list[ctypes.c_void_p]) -> None:
    one = blas.scalar(1, np.float32)
    a, b, c = arrays
    assert (
        blas.call("cublasSgemmBatched", N, N, 4, 4, 4, one, a, 4, b, 4, blas.scalar(0, np.float32), c, 4, 3) == SUCCESS
    )


def write(address: int, stream: ctypes.c_void_p) -> None:
    driver_probe.call("cuMemsetD8Async", ctypes.c_uint64(address), ctypes.c_ubyte(1), ctypes.c_size_t(64), stream)


@pytest.mark.parametrize("waits", [True, False], ids=["wait", "race"])
@pytest.mark.parametrize("index", range(3), ids=["A", "B", "C"])
@pytest.mark.cuarray_sim(allow="data-race")
def test_batch_without_a_wait_for_one_matrix_is_a_race(blas: Blas, index: int, waits: bool) -> None:
    import cuarray_sim

    made = [behind(blas, [blas.random((4, 4), np.float32) for _ in range(3)]) for _ in range(3)]
    with second_stream() as other:
        write(made[index][1][1], other)
        if waits:
            driver_probe.call("cuStreamSynchronize", other)
        multiply(blas, [array for array, _ in made])
        driver_probe.call("cuStreamSynchronize", blas.stream)
    sides = [side for finding in cuarray_sim.findings()["findings"] for side in finding["sides"]]
    named = {side["detail"] for side in sides if side["call"] == "cublasSgemmBatched"}
    assert named == (set() if waits else {f"argument {'ABC'[index]}"})
    cuarray_sim.clear_findings()


def test_graph_reads_the_pointers_at_each_launch(blas: Blas) -> None:
    values = [[blas.random((4, 4), np.float32) for _ in range(3)] for _ in range(3)]
    made = [behind(blas, each) for each in values]
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    driver_probe.call("cuStreamBeginCapture_v2", blas.stream, 0)
    multiply(blas, [array for array, _ in made])
    driver_probe.call("cuStreamEndCapture", blas.stream, ctypes.byref(graph))
    driver_probe.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0))
    driver_probe.call("cuGraphDestroy", graph)
    reversed_array = np.array(made[0][1][::-1], np.uint64)
    source, size = reversed_array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(reversed_array.nbytes)
    driver_probe.call("cuMemcpyHtoD_v2", ctypes.c_uint64(made[0][0].value), source, size)
    driver_probe.call("cuCtxSynchronize")
    driver_probe.call("cuGraphLaunch", executable, blas.stream)
    for item in range(3):
        close(blas.get(made[2][1][item], values[2][item]), values[0][2 - item] @ values[1][item])
    driver_probe.call("cuGraphExecDestroy", executable)
