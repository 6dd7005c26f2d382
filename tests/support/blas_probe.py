"""A handle of cuBLAS for tests, with its stream and memory, and the layouts of vectors and matrices."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Iterator
from typing import Any

import driver_probe
import numpy as np
import pytest
from device_probe import DeviceProbe

from cuarray_sim.stand_ins import STAND_INS

SUCCESS, NOT_INITIALIZED, INVALID_VALUE, EXECUTION_FAILED, NOT_SUPPORTED = 0, 1, 7, 13, 15
N, T, C = range(3)
LOWER, UPPER = range(2)
LEFT, RIGHT = range(2)
NON_UNIT, UNIT = range(2)
TYPES = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
GAP = 77
"""The value of bytes that no call may change."""


@pytest.fixture(scope="module", params=["13", "12"])
def blas_library(request: pytest.FixtureRequest) -> ctypes.CDLL:
    (stand_in,) = (each for each in STAND_INS if each.name == "cuBLAS")
    path = stand_in.path / f"libcublas.so.{request.param}"
    if not path.is_file():
        pytest.skip("the package was built without cuBLAS")
    library = ctypes.CDLL(str(path))
    library.cublasGetStatusName.restype = ctypes.c_char_p
    library.cublasGetStatusString.restype = ctypes.c_char_p
    return library


class Blas(DeviceProbe[int]):
    """A handle with its stream, and memory in the primary context of device 0."""

    address_type = int

    def __init__(self, library: ctypes.CDLL, rng: np.random.Generator) -> None:
        super().__init__()
        self.library, self.rng = library, rng
        self.handle = ctypes.c_void_p()
        self.keep: list[Any] = []
        self.on_device = False
        self.begin()

    def begin(self) -> None:
        """Make the handle."""
        assert self.library.cublasCreate_v2(ctypes.byref(self.handle)) == SUCCESS
        assert self.library.cublasSetStream_v2(self.handle, self.stream) == SUCCESS

    def random(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        values = self.rng.integers(-4, 5, shape).astype(np.float64)
        if np.dtype(dtype).kind == "c":
            values = values + 1j * self.rng.integers(-4, 5, shape)
        return np.asfortranarray(values.astype(dtype))

    def padded(self, values: np.ndarray, gap: int) -> np.ndarray:
        """A matrix with more rows, whose values no call may read or write."""
        whole = np.full((values.shape[0] + gap, *values.shape[1:]), GAP, values.dtype, order="F")
        whole[: values.shape[0]] = values
        return whole

    def scalar(self, value: Any, dtype: Any) -> ctypes.c_void_p:
        array = np.array([value], dtype)
        if self.on_device:
            return ctypes.c_void_p(self.put(array))
        self.keep.append(array)
        return array.ctypes.data_as(ctypes.c_void_p)

    def call(self, name: str, *arguments: Any) -> int:
        """Call a function. Integers are 32-bit numbers, or 64-bit ones for names that end in ``_64``; addresses are `Address`."""
        number = ctypes.c_int64 if name.endswith("_64") else ctypes.c_int
        converted = [number(int(each)) if isinstance(each, (int, np.integer)) else each for each in arguments]
        return getattr(self.library, name)(self.handle, *converted)

    def set_pointer_mode(self, on_device: bool) -> None:
        self.on_device = on_device
        assert self.library.cublasSetPointerMode_v2(self.handle, int(on_device)) == SUCCESS

    def end(self) -> None:
        assert self.library.cublasDestroy_v2(self.handle) == SUCCESS


def at(address: int, offset: int = 0) -> ctypes.c_void_p:
    """An address as an argument."""
    return ctypes.c_void_p(address + offset)


@pytest.fixture
def blas(simulator: str, blas_library: ctypes.CDLL, request: pytest.FixtureRequest) -> Iterator[Blas]:
    driver_probe.call("cuInit", 0)
    with driver_probe.primary_context(0):
        made = Blas(blas_library, np.random.default_rng(zlib.crc32(request.node.name.encode())))
        yield made
        made.close()


def op(matrix: np.ndarray, kind: int) -> np.ndarray:
    return matrix if kind == N else matrix.T if kind == T else matrix.conj().T


def close(result: np.ndarray, expected: np.ndarray) -> None:
    tolerance = 1e-4 if result.dtype in (np.float32, np.complex64) else 1e-11
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance * 100)


def triangle(matrix: np.ndarray, uplo: int, *, unit: bool = False) -> np.ndarray:
    """The matrix with the elements outside of its triangle, and on a unit diagonal, replaced by those that no call may read."""
    kept = np.tril(np.ones(matrix.shape, bool)) if uplo == LOWER else np.triu(np.ones(matrix.shape, bool))
    if unit:
        np.fill_diagonal(kept, False)
    return np.asfortranarray(np.where(kept, matrix, np.array(np.nan, matrix.dtype)))


def symmetric(matrix: np.ndarray, uplo: int, *, hermitian: bool) -> np.ndarray:
    half = np.tril(matrix, -1) if uplo == LOWER else np.triu(matrix, 1)
    diagonal = np.diag(np.diag(matrix).real if hermitian else np.diag(matrix))
    return half + diagonal + (half.conj().T if hermitian else half.T)


def triangular(matrix: np.ndarray, uplo: int, diag: int) -> np.ndarray:
    half = np.tril(matrix) if uplo == LOWER else np.triu(matrix)
    if diag == UNIT:
        np.fill_diagonal(half, 1)
    return half


def vector(blas: Blas, n: int, increment: int, dtype: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """The elements in their order, the memory that holds them, and its address; the gaps are NaN, which no call may read."""
    values = blas.random((n,), dtype)
    memory = np.full(max(1, 1 + (n - 1) * abs(increment)), np.nan, dtype)
    memory[: n * abs(increment) : abs(increment)] = values[::-1] if increment < 0 else values
    return values, memory, blas.put(memory)


def elements(memory: np.ndarray, increment: int) -> np.ndarray:
    found = memory[:: abs(increment)]
    return found[::-1] if increment < 0 else found


def check_vector(blas: Blas, address: int, memory: np.ndarray, increment: int, expected: np.ndarray) -> None:
    """The vector has these elements, and its gaps are unchanged."""
    result = blas.get(address, memory)
    close(elements(result, increment), expected.astype(memory.dtype))
    gaps = np.ones(len(memory), bool)
    gaps[:: abs(increment)] = False
    assert np.isnan(result[gaps]).all()
