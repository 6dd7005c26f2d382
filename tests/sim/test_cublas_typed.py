"""Functions of the stand-in for cuBLAS that name their types, and modified rotations, compared with NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from blas_probe import INVALID_VALUE, LOWER, NOT_SUPPORTED, SUCCESS, Blas, N, at, check_vector, close, vector

NUMBERS = {np.float32: 0, np.float64: 1, np.float16: 2, np.complex64: 4, np.complex128: 5}
KINDS: dict[str, tuple[Any, Any]] = {
    "half": (np.float16, np.float32),
    "float": (np.float32, np.float32),
    "double": (np.float64, np.float64),
    "complex": (np.complex64, np.complex64),
    "double-complex": (np.complex128, np.complex128),
}
"""The type of vectors, and that of the sums and scalars."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
def test_vectors_of_all_types(blas: Blas, kind: str, on_device: bool) -> None:
    dtype, wide = KINDS[kind]
    number, execution = NUMBERS[dtype], NUMBERS[wide]
    blas.set_pointer_mode(on_device)
    x, _, put_x = vector(blas, 7, 2, dtype)
    y, of_y, put_y = vector(blas, 7, -3, dtype)
    alpha = blas.scalar(2, wide)
    arguments = (7, alpha, execution, at(put_x), number, 2, at(put_y), number, -3, execution)
    assert blas.call("cublasAxpyEx", *arguments) == SUCCESS
    check_vector(blas, put_y, of_y, -3, 2 * x + y)
    for name, left in (("cublasDotEx", x), ("cublasDotcEx", x.conj())):
        result = blas.scalar(0, dtype)
        vectors = (7, at(put_x), number, 2, at(put_y), number, -3, result, number, execution)
        assert blas.call(name, *vectors) == SUCCESS
        close(value(blas, result, dtype), np.array([(left.astype(wide) * (2 * x + y)).sum()]).astype(dtype))
    real = np.zeros(1, dtype).real.dtype.type
    execution = NUMBERS[np.zeros(1, wide).real.dtype.type]
    for name, expected in (("Nrm2", np.linalg.norm(x.astype(wide))), ("Asum", (abs(x.real) + abs(x.imag)).sum())):
        result = blas.scalar(0, real)
        assert blas.call(f"cublas{name}Ex", 7, at(put_x), number, 2, result, NUMBERS[real], execution) == SUCCESS
        np.testing.assert_allclose(value(blas, result, real), expected, rtol=2e-3)


def value(blas: Blas, pointer: ctypes.c_void_p, dtype: Any) -> np.ndarray:
    """A result in the memory of the pointer mode."""
    if blas.on_device:
        return blas.get(pointer.value or 0, np.zeros(1, dtype))
    return np.frombuffer(ctypes.string_at(pointer, np.dtype(dtype).itemsize), dtype)


@pytest.mark.parametrize("kind", KINDS)
def test_vector_is_scaled_copied_and_swapped(blas: Blas, kind: str) -> None:
    dtype, wide = KINDS[kind]
    number, execution = NUMBERS[dtype], NUMBERS[wide]
    x, of_x, put_x = vector(blas, 5, 2, dtype)
    y, of_y, put_y = vector(blas, 5, 1, dtype)
    assert blas.call("cublasScalEx", 5, blas.scalar(3, wide), execution, at(put_x), number, 2, execution) == SUCCESS
    check_vector(blas, put_x, of_x, 2, 3 * x)
    if kind == "half":
        assert blas.call("cublasCopyEx", 5, at(put_x), number, 2, at(put_y), number, 1) == NOT_SUPPORTED
        return
    assert blas.call("cublasSwapEx", 5, at(put_x), number, 2, at(put_y), number, 1) == SUCCESS
    check_vector(blas, put_x, of_x, 2, y)
    check_vector(blas, put_y, of_y, 1, 3 * x)
    assert blas.call("cublasCopyEx_64", 5, at(put_x), number, 2, at(put_y), number, 1) == SUCCESS
    check_vector(blas, put_y, of_y, 1, y)
    index = ctypes.c_int64()
    assert blas.call("cublasIamaxEx_64", 5, at(put_y), number, 1, ctypes.byref(index)) == SUCCESS
    assert index.value == np.argmax(abs(y.real) + abs(y.imag)) + 1


def test_rotation_names_its_types(blas: Blas) -> None:
    x, of_x, put_x = vector(blas, 5, 1, np.float64)
    y, of_y, put_y = vector(blas, 5, 1, np.float64)
    c, s = blas.scalar(0.6, np.float64), blas.scalar(0.8, np.float64)
    assert blas.call("cublasRotEx", 5, at(put_x), 1, 1, at(put_y), 1, 1, c, s, 1, 1) == SUCCESS
    check_vector(blas, put_x, of_x, 1, 0.6 * x + 0.8 * y)
    check_vector(blas, put_y, of_y, 1, 0.6 * y - 0.8 * x)
    assert blas.call("cublasRotEx", 5, at(put_x), 1, 1, at(put_y), 0, 1, c, s, 1, 1) == NOT_SUPPORTED


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize(
    "numbers",
    [(1, 2, 3, 1), (1, 2, 1, 3), (1e-9, 2, 3, 1), (1e9, 1e-9, 1, 1), (3, 1e9, 1, 2), (2, -1e-3, 4, 1), (1, 1, 2, 2)],
    ids=str,
)
def test_modified_rotation_clears_the_second_number(blas: Blas, numbers: tuple[float, ...], on_device: bool) -> None:
    """The rotation keeps `d1 x1^2 + d2 y1^2`, turns the second number into 0, and scales `d1` and `d2` as BLAS does."""
    blas.set_pointer_mode(on_device)
    d1, d2, x1, y1 = numbers
    places = [blas.scalar(each, np.float64) for each in numbers]
    memory = np.zeros(5)
    param = at(blas.put(memory)) if on_device else memory.ctypes.data_as(ctypes.c_void_p)
    assert blas.call("cublasDrotmg_v2", *places, param) == SUCCESS
    if on_device:
        memory = blas.get(param.value or 0, memory)
    flag, h11, h21, h12, h22 = memory.tolist()
    if flag == 0:
        h11 = h22 = 1
    elif flag == 1:
        h12, h21 = 1, -1
    found = [value(blas, each, np.float64)[0] for each in places[:3]]
    np.testing.assert_allclose(h11 * x1 + h12 * y1, found[2], rtol=1e-12)
    assert abs(h21 * x1 + h22 * y1) <= 1e-12 * max(abs(h21 * x1), 1e-300)
    np.testing.assert_allclose(found[0] * found[2] ** 2, d1 * x1**2 + d2 * y1**2, rtol=1e-12)
    assert all(4096.0**-2 < abs(each) < 4096.0**2 for each in found[:2])


@pytest.mark.parametrize(
    ("numbers", "flag"), [((-1, 1, 1, 1), -1), ((1, -2, 1, 1), -1), ((1, 0, 3, 1), -2), ((1, 2, 3, 0), -2)]
)
def test_modified_rotation_of_special_numbers(blas: Blas, numbers: tuple[float, ...], flag: int) -> None:
    places = [blas.scalar(each, np.float32) for each in numbers]
    memory = np.full(5, 9, np.float32)
    assert blas.call("cublasSrotmg_v2", *places, memory.ctypes.data_as(ctypes.c_void_p)) == SUCCESS
    np.testing.assert_array_equal(memory, [-2, 9, 9, 9, 9] if flag == -2 else [-1, 0, 0, 0, 0])
    kept = numbers[:3] if flag == -2 else (0, 0, 0)
    assert [value(blas, each, np.float32)[0] for each in places[:3]] == list(kept)
    assert blas.call("cublasSrotmg_v2", *places[:3], None, None) == INVALID_VALUE


@pytest.mark.parametrize("name", ["syrk", "syrk3m", "herk", "herk3m"])
def test_update_of_a_complex_matrix_names_its_types(blas: Blas, name: str) -> None:
    a, c = blas.random((4, 3), np.complex64), blas.random((4, 4), np.complex64)
    put_a, put_c = blas.put(a), blas.put(c)
    dtype = np.complex64 if "syrk" in name else np.float32
    two, one = blas.scalar(2, dtype), blas.scalar(1, dtype)
    arguments = (LOWER, N, 4, 3, two, at(put_a), 4, 4, one, at(put_c), 4, 4)
    assert blas.call(f"cublasC{name}Ex", *arguments) == SUCCESS
    expected = 2 * a @ (a.T if "syrk" in name else a.conj().T) + c
    if "herk" in name:
        np.fill_diagonal(expected, np.diag(expected).real)
    close(blas.get(put_c, c), np.where(np.tril(np.ones((4, 4))) > 0, expected, c))
    assert blas.call(f"cublasC{name}Ex", *arguments[:6], 0, *arguments[7:]) == NOT_SUPPORTED
