"""The stand-in for cuBLAS multiplies matrices as the documented interface says, and touches no other byte."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest
from blas_probe import (
    GAP,
    LEFT,
    LOWER,
    NON_UNIT,
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
    symmetric,
    triangle,
    triangular,
)


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("wide", ["", "_64"])
@pytest.mark.parametrize("letter", TYPES)
def test_gemm_is_the_product_for_each_transpose(blas: Blas, letter: str, wide: str, on_device: bool) -> None:
    dtype = TYPES[letter]
    blas.set_pointer_mode(on_device)
    for kind_a, kind_b in itertools.product((N, T, C), repeat=2):
        m, n, k = (int(each) for each in blas.rng.integers(1, 20, 3))
        a = blas.random((m, k) if kind_a == N else (k, m), dtype)
        b = blas.random((k, n) if kind_b == N else (n, k), dtype)
        c = blas.random((m, n), dtype)
        alpha, beta = (2 - 1j, 3 + 1j) if np.dtype(dtype).kind == "c" else (2, 3)
        whole = blas.padded(c, 2)
        addresses = [blas.put(blas.padded(each, gap)) for each, gap in ((a, 3), (b, 1), (c, 2))]
        status = blas.call(
            f"cublas{letter}gemm_v2{wide}",
            ctypes.c_int(kind_a),
            ctypes.c_int(kind_b),
            m,
            n,
            k,
            blas.scalar(alpha, dtype),
            at(addresses[0]),
            a.shape[0] + 3,
            at(addresses[1]),
            b.shape[0] + 1,
            blas.scalar(beta, dtype),
            at(addresses[2]),
            m + 2,
        )
        assert status == SUCCESS
        result = blas.get(addresses[2], whole)
        close(result[:m], (alpha * op(a, kind_a) @ op(b, kind_b) + beta * c).astype(dtype))
        assert (result[m:] == GAP).all()


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("name", ["Ssymm", "Dsymm", "Csymm", "Zsymm", "Chemm", "Zhemm"])
def test_product_with_a_symmetric_matrix_reads_its_triangle(blas: Blas, name: str, on_device: bool) -> None:
    dtype = TYPES[name[0]]
    blas.set_pointer_mode(on_device)
    for side, uplo in itertools.product((LEFT, RIGHT), (LOWER, UPPER)):
        m, n = (int(each) for each in blas.rng.integers(1, 15, 2))
        order = m if side == LEFT else n
        a, b, c = (blas.random(shape, dtype) for shape in ((order, order), (m, n), (m, n)))
        whole = blas.padded(c, 1)
        addresses = [blas.put(each) for each in (triangle(a, uplo), b, whole)]
        alpha, beta = blas.scalar(2, dtype), blas.scalar(-1, dtype)
        status = blas.call(
            f"cublas{name}_v2",
            side,
            uplo,
            m,
            n,
            alpha,
            at(addresses[0]),
            order,
            at(addresses[1]),
            m,
            beta,
            at(addresses[2]),
            m + 1,
        )
        assert status == SUCCESS
        full = symmetric(a, uplo, hermitian="hemm" in name)
        result = blas.get(addresses[2], whole)
        close(result[:m], 2 * (full @ b if side == LEFT else b @ full) - c)
        assert (result[m:] == GAP).all()


RANKED = [*(f"{t}{f}" for f in ("syrk", "syr2k", "syrkx") for t in TYPES)]
RANKED += [f"{t}{f}" for f in ("herk", "her2k", "herkx") for t in "CZ"]


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("name", RANKED)
def test_update_of_a_triangle_leaves_the_other_one(blas: Blas, name: str, on_device: bool) -> None:
    dtype, hermitian = TYPES[name[0]], name[1:3] == "he"
    real = np.empty(0, dtype).real.dtype
    blas.set_pointer_mode(on_device)
    for uplo, kind in itertools.product((LOWER, UPPER), (N, C if hermitian else T)):
        n, k = (int(each) for each in blas.rng.integers(1, 15, 2))
        shape = (n, k) if kind == N else (k, n)
        a, b, c = blas.random(shape, dtype), blas.random(shape, dtype), blas.random((n, n), dtype)
        adjoint = (lambda x: x.conj().T) if hermitian else (lambda x: x.T)
        left, right = op(a, kind), op(a if name.endswith("rk") else b, kind)
        alpha = 2 - 1j if np.dtype(dtype).kind == "c" and not name.endswith("herk") else 2
        expected = alpha * left @ adjoint(right)
        if name.endswith("2k"):
            expected = expected + (np.conj(alpha) if hermitian else alpha) * right @ adjoint(left)
        of_c = symmetric(c, uplo, hermitian=True) if hermitian else c
        expected = expected + 3 * of_c
        if hermitian:
            np.fill_diagonal(expected, np.diag(expected).real)
        addresses = [blas.put(each) for each in (a, b, triangle(c, uplo))]
        arguments = [uplo, kind, n, k, blas.scalar(alpha, real if name.endswith("herk") else dtype)]
        arguments += [at(addresses[0]), shape[0]]
        if not name.endswith("rk"):
            arguments += [at(addresses[1]), shape[0]]
        arguments += [blas.scalar(3, real if hermitian else dtype), at(addresses[2]), n]
        assert blas.call(f"cublas{name}_v2" if not name.endswith("kx") else f"cublas{name}", *arguments) == SUCCESS
        result = blas.get(addresses[2], c)
        inside = np.tril(np.ones((n, n), bool)) if uplo == LOWER else np.triu(np.ones((n, n), bool))
        close(result[inside], expected.astype(dtype)[inside])
        assert np.isnan(result[~inside]).all()


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("letter", TYPES)
def test_trmm_and_trsm_use_a_triangle(blas: Blas, letter: str, on_device: bool) -> None:
    dtype = TYPES[letter]
    blas.set_pointer_mode(on_device)
    sizes = iter([(3, 70), (150, 4), (70, 140)])
    for side, uplo, kind, diag in itertools.product((LEFT, RIGHT), (LOWER, UPPER), (N, T, C), (NON_UNIT, UNIT)):
        m, n = next(sizes, None) or (int(each) for each in blas.rng.integers(1, 12, 2))
        order = m if side == LEFT else n
        a = blas.random((order, order), dtype) / np.array(8 * order, dtype)
        np.fill_diagonal(a, a.diagonal() + 2)
        b = blas.random((m, n), dtype)
        full = op(triangular(a, uplo, diag), kind)
        stored = blas.put(triangle(a, uplo, unit=diag == UNIT))
        put_b, put_c = blas.put(blas.padded(b, 2)), blas.put(blas.padded(b, 1))
        shape = (side, uplo, kind, diag, m, n, blas.scalar(2, dtype), at(stored), order)
        assert blas.call(f"cublas{letter}trmm_v2", *shape, at(put_b), m + 2, at(put_c), m + 1) == SUCCESS
        result = blas.get(put_c, blas.padded(b, 1))
        close(result[:m], 2 * (full @ b if side == LEFT else b @ full))
        assert (result[m:] == GAP).all()
        assert blas.call(f"cublas{letter}trsm_v2", *shape, at(put_b), m + 2) == SUCCESS
        result = blas.get(put_b, blas.padded(b, 2))
        solved = result[:m]
        close(full @ solved if side == LEFT else solved @ full, 2 * b)
        assert (result[m:] == GAP).all()


BATCHES = {"dense": 12, "gaps": 17, "one": 0}


@pytest.mark.parametrize("stride", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("letter", TYPES)
def test_strided_batches_multiply_each_matrix(blas: Blas, letter: str, stride: int) -> None:
    dtype = TYPES[letter]
    a = blas.random((max(stride, 12) * 3,), dtype)
    c = blas.random((9 * 3,), dtype)
    put_c = blas.put(c)
    one, zero = blas.scalar(1, dtype), blas.scalar(0, dtype)
    call = getattr(blas.library, f"cublas{letter}gemmStridedBatched")
    wide = ctypes.c_longlong
    b = blas.random((36,), dtype)  # three matrices of 3 rows and 4 columns
    status = call(
        blas.handle, N, T, 3, 3, 4, one, at(blas.put(a)), 3, wide(stride), at(blas.put(b)), 3, wide(12), zero, at(put_c), 3,
        wide(9), 3,
    )  # fmt: skip
    assert status == SUCCESS
    result = blas.get(put_c, c)
    for item in range(3):
        left = a[item * stride :][:12].reshape(3, 4, order="F")
        right = b[item * 12 :][:12].reshape(3, 4, order="F")
        close(result[item * 9 :][:9].reshape(3, 3, order="F"), left @ right.T)


R_16F, R_8I, R_32F, R_32I, R_16BF = 2, 3, 0, 10, 14
EX = {
    "half": (R_16F, np.float16, R_16F, np.float16, 68, np.float32),
    "half-float": (R_16F, np.float16, R_32F, np.float32, 68, np.float32),
    "half-sums": (R_16F, np.float16, R_16F, np.float16, 64, np.float16),
    "float": (R_32F, np.float32, R_32F, np.float32, 77, np.float32),
    "int8": (R_8I, np.int8, R_32I, np.int32, 72, np.int32),
    "int8-float": (R_8I, np.int8, R_32F, np.float32, 68, np.float32),
    "double": (1, np.float64, 1, np.float64, 70, np.float64),
    "complex": (4, np.complex64, 4, np.complex64, 68, np.complex64),
    "bfloat16": (R_16BF, "bfloat16", R_32F, np.float32, 68, np.float32),
}


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("types", EX.values(), ids=EX)
def test_gemm_ex_multiplies_other_types(blas: Blas, types: tuple[Any, ...], on_device: bool) -> None:
    of_input, dtype, of_output, out, compute, factor = types
    blas.set_pointer_mode(on_device)
    a, b = blas.random((5, 40), np.float32), blas.random((40, 6), np.float32)
    c = blas.random((5, 6), out)

    def stored(values: np.ndarray) -> np.ndarray:
        if dtype == "bfloat16":
            return np.asfortranarray((np.asfortranarray(values).view(np.uint32) >> 16).astype(np.uint16))
        return np.asfortranarray(values.astype(dtype))

    put_c = blas.put(c)
    call = ctypes.c_int(0)
    status = blas.library.cublasGemmEx(
        blas.handle, N, N, 5, 6, 40, blas.scalar(2, factor), at(blas.put(stored(a))), of_input, 5, at(blas.put(stored(b))), of_input,
        40, blas.scalar(1, factor), at(put_c), of_output, 5, compute, call,
    )  # fmt: skip
    assert status == SUCCESS
    np.testing.assert_allclose(
        blas.get(put_c, c), (2 * a @ b + c).astype(out), rtol=1e-2 if out == np.float16 else 1e-5
    )
