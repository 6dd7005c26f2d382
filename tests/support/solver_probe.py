"""A handle of cuSOLVER for tests, with its stream and memory, and matrices whose gaps no call may change."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Iterator
from typing import Any

import driver_probe
import numpy as np
import pytest
from device_probe import Address, DeviceProbe

from cuarray_sim.stand_ins import STAND_INS

SUCCESS, NOT_INITIALIZED, INVALID_VALUE, EXECUTION_FAILED, NOT_SUPPORTED = 0, 1, 3, 6, 9
LOWER, UPPER = range(2)
TYPES = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
ORTHOGONAL = {"S": "or", "D": "or", "C": "un", "Z": "un"}
SYMMETRIC = {"S": "sy", "D": "sy", "C": "he", "Z": "he"}
EPSILON = {"S": 1e-5, "D": 1e-13, "C": 1e-5, "Z": 1e-13}
GAP = 77
"""The value of elements that no call may change."""


@pytest.fixture(scope="module", params=["12", "11"])
def solver_library(request: pytest.FixtureRequest) -> ctypes.CDLL:
    (stand_in,) = (each for each in STAND_INS if each.name == "cuSOLVER")
    path = stand_in.path / f"libcusolver.so.{request.param}"
    if not path.is_file():
        pytest.skip("the package was built without cuSOLVER")
    return ctypes.CDLL(str(path))


class Solver(DeviceProbe[Address]):
    """A handle with its stream, and memory in the primary context of device 0."""

    address_type = Address

    def __init__(self, library: ctypes.CDLL, rng: np.random.Generator) -> None:
        super().__init__()
        self.library, self.rng = library, rng
        self.handle = ctypes.c_void_p()
        assert library.cusolverDnCreate(ctypes.byref(self.handle)) == SUCCESS
        assert library.cusolverDnSetStream(self.handle, self.stream) == SUCCESS

    def integers(self, count: int = 1) -> tuple[Address, np.ndarray]:
        """Memory for integers, and an array of its shape."""
        like = np.full(count, GAP, np.int32)
        return self.put(like), like

    def random(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        values = self.rng.standard_normal(shape)
        if np.dtype(dtype).kind == "c":
            values = values + 1j * self.rng.standard_normal(shape)
        return np.asfortranarray(values.astype(dtype))

    def definite(self, n: int, dtype: Any) -> np.ndarray:
        """A positive definite matrix."""
        values = self.random((n, n), dtype)
        return np.asfortranarray(values @ values.conj().T + n * np.eye(n, dtype=dtype))

    def call(self, name: str, *arguments: Any) -> int:
        """Call a function of the handle. Integers are 32-bit numbers, and letters are characters."""
        converted = [
            ctypes.c_char(each.encode())
            if isinstance(each, str)
            else ctypes.c_int(each)
            if isinstance(each, int)
            else each
            for each in arguments
        ]
        return getattr(self.library, name)(self.handle, *converted)

    def workspace(self, name: str, kind: str, *arguments: Any) -> tuple[Address, int]:
        """Memory of the size that a function returns, and its number of elements."""
        size = ctypes.c_int(-1)
        assert self.call(f"{name}_bufferSize", *arguments, ctypes.byref(size)) == SUCCESS
        assert size.value > 0
        return self.memory(size.value * np.dtype(TYPES[kind]).itemsize), size.value

    def end(self) -> None:
        assert self.library.cusolverDnDestroy(self.handle) == SUCCESS


@pytest.fixture
def solver(simulator: str, solver_library: ctypes.CDLL, request: pytest.FixtureRequest) -> Iterator[Solver]:
    driver_probe.call("cuInit", 0)
    with driver_probe.primary_context(0):
        made = Solver(solver_library, np.random.default_rng(zlib.crc32(request.node.name.encode())))
        yield made
        made.close()


def parameters(solver: Solver, kind: str) -> Address:
    """An object of parameters, which the test's process keeps."""
    made = Address()
    assert getattr(solver.library, f"cusolverDnCreate{kind.title()}Info")(ctypes.byref(made)) == SUCCESS
    assert getattr(solver.library, f"cusolverDnX{kind}SetTolerance")(made, ctypes.c_double(1e-9)) == SUCCESS
    assert getattr(solver.library, f"cusolverDnX{kind}SetMaxSweeps")(made, 20) == SUCCESS
    assert getattr(solver.library, f"cusolverDnX{kind}SetSortEig")(made, 1) == SUCCESS
    return made


def padded(values: np.ndarray, gap: int = 3) -> np.ndarray:
    """A matrix with more rows, whose values no call may read or write."""
    whole = np.full((values.shape[0] + gap, *values.shape[1:]), GAP, values.dtype, order="F")
    whole[: values.shape[0]] = values
    return whole


def only(values: np.ndarray, fill: int) -> np.ndarray:
    """A triangle, with the gap's value in the other elements."""
    inside = np.tril(np.ones(values.shape, bool)) if fill == LOWER else np.triu(np.ones(values.shape, bool))
    return np.asfortranarray(np.where(inside, values, values.dtype.type(GAP)))


def close(result: np.ndarray, expected: np.ndarray, kind: str, factor: float = 1) -> None:
    """Compare with the size of the largest element, as the error of a factorization does."""
    scale = factor * max(1.0, float(np.abs(expected).max(initial=0))) * max(1, *expected.shape)
    np.testing.assert_allclose(result, expected, rtol=0, atol=EPSILON[kind] * scale)
