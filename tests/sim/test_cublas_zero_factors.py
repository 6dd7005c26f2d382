"""The stand-in for cuBLAS reads no operand whose factor is 0, also if the factor is in device memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from blas_probe import LEFT, LOWER, NON_UNIT, SUCCESS, TYPES, Blas, N, at, close

ORDER = 4
BAND = 1


def poison(blas: Blas, dtype: Any) -> Any:
    """An operand of NaN: each use of an element is seen in the result."""
    return at(blas.put(np.full((ORDER, ORDER), np.nan, dtype)))


def unwritten(blas: Blas, dtype: Any) -> Any:
    """An operand that nothing wrote: a use of an element is a finding, unless its factor is 0."""
    return at(blas.memory(ORDER * ORDER * np.dtype(dtype).itemsize))


def calls(letter: str) -> dict[str, Callable[[Any, Any, Any, Any, Any], tuple[Any, ...]]]:
    """The arguments of each function, of its factors, its operand, and what it changes."""
    n, s = ORDER, letter
    symmetric = "sy" if s in "SD" else "he"
    packed = "sp" if s in "SD" else "hp"
    banded = "sb" if s in "SD" else "hb"
    rank = "ger" if s in "SD" else "gerc"
    return {
        f"cublas{s}axpy_v2": lambda alpha, beta, real, a, c: (n, alpha, a, 1, c, 1),
        f"cublas{s}gemv_v2": lambda alpha, beta, real, a, c: (N, n, n, alpha, a, n, a, 1, beta, c, 1),
        f"cublas{s}gbmv_v2": lambda alpha, beta, real, a, c: (N, n, n, BAND, BAND, alpha, a, n, a, 1, beta, c, 1),
        f"cublas{s}{symmetric}mv_v2": lambda alpha, beta, real, a, c: (LOWER, n, alpha, a, n, a, 1, beta, c, 1),
        f"cublas{s}{packed}mv_v2": lambda alpha, beta, real, a, c: (LOWER, n, alpha, a, a, 1, beta, c, 1),
        f"cublas{s}{banded}mv_v2": lambda alpha, beta, real, a, c: (LOWER, n, BAND, alpha, a, n, a, 1, beta, c, 1),
        f"cublas{s}{rank}_v2": lambda alpha, beta, real, a, c: (n, n, alpha, a, 1, a, 1, c, n),
        f"cublas{s}{symmetric}r_v2": lambda alpha, beta, real, a, c: (LOWER, n, real, a, 1, c, n),
        f"cublas{s}{packed}r_v2": lambda alpha, beta, real, a, c: (LOWER, n, real, a, 1, c),
        f"cublas{s}{symmetric}r2_v2": lambda alpha, beta, real, a, c: (LOWER, n, alpha, a, 1, a, 1, c, n),
        f"cublas{s}{packed}r2_v2": lambda alpha, beta, real, a, c: (LOWER, n, alpha, a, 1, a, 1, c),
        f"cublas{s}gemm_v2": lambda alpha, beta, real, a, c: (N, N, n, n, n, alpha, a, n, a, n, beta, c, n),
        f"cublas{s}symm_v2": lambda alpha, beta, real, a, c: (LEFT, LOWER, n, n, alpha, a, n, a, n, beta, c, n),
        f"cublas{s}syrk_v2": lambda alpha, beta, real, a, c: (LOWER, N, n, n, alpha, a, n, beta, c, n),
        f"cublas{s}syr2k_v2": lambda alpha, beta, real, a, c: (LOWER, N, n, n, alpha, a, n, a, n, beta, c, n),
    }


NAMES = [(letter, name) for letter in TYPES for name in calls(letter)]


@pytest.mark.parametrize("operand", [poison, unwritten])
@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize(("letter", "name"), NAMES, ids=[name for _, name in NAMES])
def test_operand_with_the_factor_zero_is_not_read(
    blas: Blas, letter: str, name: str, on_device: bool, operand: Callable[[Blas, Any], Any]
) -> None:
    dtype = TYPES[letter]
    blas.set_pointer_mode(on_device)
    values = blas.random((ORDER, ORDER), dtype)
    np.fill_diagonal(values, values.diagonal().real)
    address = blas.put(values)
    real = np.zeros(0, dtype).real.dtype if "her_" in name or "hpr_" in name else dtype
    factors = blas.scalar(0, dtype), blas.scalar(1, dtype), blas.scalar(0, real)
    assert blas.call(name, *calls(letter)[name](*factors, operand(blas, dtype), at(address))) == SUCCESS
    np.testing.assert_array_equal(blas.get(address, values), values)


@pytest.mark.parametrize("operand", [poison, unwritten])
@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("letter", TYPES)
def test_result_with_only_zero_factors_is_zero(
    blas: Blas, letter: str, on_device: bool, operand: Callable[[Blas, Any], Any]
) -> None:
    dtype, n = TYPES[letter], ORDER
    blas.set_pointer_mode(on_device)
    zero = blas.scalar(0, dtype)
    for name in (f"cublas{letter}gemv_v2", f"cublas{letter}gemm_v2"):
        result = operand(blas, dtype)
        assert blas.call(name, *calls(letter)[name](zero, zero, zero, operand(blas, dtype), result)) == SUCCESS
        like = np.zeros(n if "gemv" in name else (n, n), dtype)
        close(blas.get(result.value or 0, like), like)
    result, a = operand(blas, dtype), operand(blas, dtype)
    shape = (LEFT, LOWER, N, NON_UNIT, n, n)
    assert blas.call(f"cublas{letter}trmm_v2", *shape, zero, a, n, a, n, result, n) == SUCCESS
    assert blas.call(f"cublas{letter}trsm_v2", *shape, zero, a, n, result, n) == SUCCESS
    assert blas.call(f"cublas{letter}geam", N, N, n, n, zero, a, n, zero, a, n, result, n) == SUCCESS
    close(blas.get(result.value or 0, np.zeros((n, n), dtype)), np.zeros((n, n), dtype))
