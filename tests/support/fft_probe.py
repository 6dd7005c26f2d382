"""Plans of cuFFT for tests, with a stream and memory, and the layouts of arrays."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import driver_probe
import numpy as np
import pytest
from device_probe import DeviceProbe

from cuarray_sim.stand_ins import STAND_INS

SUCCESS, INVALID_PLAN, INVALID_TYPE, INVALID_VALUE, EXEC_FAILED = 0, 1, 3, 4, 6
INVALID_SIZE, INVALID_DEVICE, NO_WORKSPACE, NOT_SUPPORTED = 8, 11, 13, 16
FORWARD, INVERSE = -1, 1
TYPES = {"R2C": 0x2A, "C2R": 0x2C, "C2C": 0x29, "D2Z": 0x6A, "Z2D": 0x6C, "Z2Z": 0x69}
DTYPES = {"R": np.float32, "C": np.complex64, "D": np.float64, "Z": np.complex128}
GAP = 77
"""The value of elements that no call may change."""


@pytest.fixture(scope="module", params=["12", "11"])
def fft_library(request: pytest.FixtureRequest) -> ctypes.CDLL:
    (stand_in,) = (each for each in STAND_INS if each.name == "cuFFT")
    path = stand_in.path / f"libcufft.so.{request.param}"
    if not path.is_file():
        pytest.skip("the package was built without cuFFT")
    return ctypes.CDLL(str(path))


class Fft(DeviceProbe[int]):
    """Calls of the library, with a stream and memory in the primary context of device 0."""

    address_type = int
    order = "C"

    def __init__(self, library: ctypes.CDLL, rng: np.random.Generator) -> None:
        super().__init__()
        self.library, self.rng = library, rng
        self.plans: list[int] = []

    def random(self, shape: Sequence[int], dtype: Any) -> np.ndarray:
        values = self.rng.standard_normal(shape)
        if np.dtype(dtype).kind == "c":
            values = values + 1j * self.rng.standard_normal(shape)
        return values.astype(dtype)

    def create(self) -> int:
        handle = ctypes.c_int()
        assert self.library.cufftCreate(ctypes.byref(handle)) == SUCCESS
        return self.keep(handle.value)

    def keep(self, plan: int) -> int:
        """Give a plan its stream, and destroy it at the end of the test."""
        self.plans.append(plan)
        assert self.library.cufftSetStream(plan, self.stream) == SUCCESS
        return plan

    def plan(self, sizes: Sequence[int], kind: str, batch: int = 1) -> int:
        """Return a plan in the basic layout."""
        handle = ctypes.c_int()
        n = (ctypes.c_int * len(sizes))(*sizes)
        status = self.library.cufftPlanMany(
            ctypes.byref(handle), len(sizes), n, None, 1, 0, None, 1, 0, TYPES[kind], batch
        )
        assert status == SUCCESS
        return self.keep(handle.value)

    def execute(self, plan: int, kind: str, source: int, target: int, direction: int = FORWARD) -> int:
        both = kind in ("C2C", "Z2Z")
        arguments = [at(source), at(target), *([direction] if both else [])]
        return getattr(self.library, f"cufftExec{kind}")(plan, *arguments)

    def end(self) -> None:
        for plan in self.plans:
            self.library.cufftDestroy(plan)


def at(address: int, offset: int = 0) -> ctypes.c_void_p:
    """An address as an argument."""
    return ctypes.c_void_p(address + offset)


@pytest.fixture
def fft(simulator: str, fft_library: ctypes.CDLL, request: pytest.FixtureRequest) -> Iterator[Fft]:
    driver_probe.call("cuInit", 0)
    with driver_probe.primary_context(0):
        made = Fft(fft_library, np.random.default_rng(zlib.crc32(request.node.name.encode())))
        yield made
        made.close()


def half(sizes: Sequence[int]) -> list[int]:
    """The sizes of the complex side of a real transform."""
    return [*sizes[:-1], sizes[-1] // 2 + 1]


def sides(sizes: Sequence[int], kind: str) -> tuple[list[int], Any, list[int], Any]:
    """The sizes and types of the input and of the output."""
    real = half(sizes)
    source = real if kind in ("C2R", "Z2D") else list(sizes)
    target = real if kind in ("R2C", "D2Z") else list(sizes)
    return source, DTYPES[kind[0]], target, DTYPES[kind[2]]


def transformed(values: np.ndarray, sizes: Sequence[int], kind: str, direction: int = FORWARD) -> np.ndarray:
    """NumPy's transform of the last dimensions, without cuFFT's lack of scaling."""
    axes = tuple(range(-len(sizes), 0))
    if kind in ("R2C", "D2Z"):
        return np.fft.rfftn(values.astype(np.float64), axes=axes)
    if kind in ("C2R", "Z2D"):
        return np.fft.irfftn(values.astype(np.complex128), s=sizes, axes=axes, norm="forward")
    values = values.astype(np.complex128)
    return np.fft.fftn(values, axes=axes) if direction == FORWARD else np.fft.ifftn(values, axes=axes, norm="forward")


def close(result: np.ndarray, expected: np.ndarray, tolerance: float | None = None) -> None:
    """Compare with the size of the largest element, as the error of a transform does."""
    if tolerance is None:
        tolerance = 2e-6 if result.dtype in (np.float32, np.complex64) else 1e-14
    scale = max(1.0, float(np.abs(expected).max())) * max(1.0, np.log2(expected.size + 1))
    np.testing.assert_allclose(result, expected, rtol=0, atol=tolerance * scale)
