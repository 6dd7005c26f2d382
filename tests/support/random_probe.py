"""A generator of cuRAND for tests, with its stream and memory."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import driver_probe
import numpy as np
import pytest
from device_probe import DeviceProbe

from cuarray_sim.stand_ins import STAND_INS

SUCCESS, NOT_INITIALIZED, TYPE_ERROR, OUT_OF_RANGE, LENGTH_NOT_MULTIPLE = 0, 101, 103, 104, 105
LAUNCH_FAILURE, ARCH_MISMATCH = 201, 204
XORWOW, MRG32K3A, MTGP32, MT19937, PHILOX = 101, 121, 141, 142, 161
SOBOL32, SCRAMBLED32, SOBOL64, SCRAMBLED64 = 201, 202, 203, 204
BEST, DEFAULT, SEEDED, LEGACY, DYNAMIC, QUASI = 100, 101, 102, 103, 104, 201
PSEUDO = (XORWOW, MRG32K3A, MTGP32, MT19937, PHILOX)
PAIRED = (XORWOW, MRG32K3A, MT19937, PHILOX)
"""The generators that make normal results in pairs."""
GAP = 77
"""The value of bytes around the results, which no call may change."""

TYPES = {
    "": np.uint32,
    "LongLong": np.uint64,
    "Uniform": np.float32,
    "UniformDouble": np.float64,
    "Normal": np.float32,
    "NormalDouble": np.float64,
    "LogNormal": np.float32,
    "LogNormalDouble": np.float64,
    "Poisson": np.uint32,
}
"""The types of results, by the end of the function's name."""


@pytest.fixture(scope="module")
def random_library() -> ctypes.CDLL:
    (stand_in,) = (each for each in STAND_INS if each.name == "cuRAND")
    path = stand_in.path / "libcurand.so.10"
    if not path.is_file():
        pytest.skip("the package was built without cuRAND")
    return ctypes.CDLL(str(path))


def converted(kind: str, arguments: tuple[float, ...]) -> list[Any]:
    single = kind in ("Normal", "LogNormal")
    return [ctypes.c_float(each) if single else ctypes.c_double(each) for each in arguments]


class Random(DeviceProbe[int]):
    """Makes generators in the primary context of device 0, and their memory."""

    address_type = int
    order = "C"

    def __init__(self, library: ctypes.CDLL) -> None:
        super().__init__()
        self.library = library
        self.generators: list[ctypes.c_void_p] = []

    def generator(
        self, kind: int, *, seed: int | None = None, offset: int = 0, order: int | None = None, dimensions: int = 0
    ) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        assert self.library.curandCreateGenerator(ctypes.byref(made), kind) == SUCCESS
        self.generators.append(made)
        self.choose(made, "SetStream", self.stream)
        if seed is not None:
            self.choose(made, "SetPseudoRandomGeneratorSeed", ctypes.c_uint64(seed))
        if offset:
            self.choose(made, "SetGeneratorOffset", ctypes.c_uint64(offset))
        if order is not None:
            self.choose(made, "SetGeneratorOrdering", order)
        if dimensions:
            self.choose(made, "SetQuasiRandomGeneratorDimensions", dimensions)
        return made

    def choose(self, generator: ctypes.c_void_p, name: str, value: Any) -> None:
        assert getattr(self.library, f"curand{name}")(generator, value) == SUCCESS

    def filled(self, size: int) -> int:
        address = self.memory(size)
        driver_probe.call("cuMemsetD8_v2", ctypes.c_uint64(address), ctypes.c_ubyte(GAP), ctypes.c_size_t(size))
        driver_probe.call("cuCtxSynchronize")
        return address

    def call(self, generator: ctypes.c_void_p, kind: str, address: int | None, count: int, *arguments: float) -> int:
        function = getattr(self.library, f"curandGenerate{kind}")
        return function(generator, ctypes.c_void_p(address), ctypes.c_size_t(count), *converted(kind, arguments))

    def values(self, address: int, count: int, dtype: Any) -> np.ndarray:
        """Wait for the stream, and return `count` values of device memory."""
        return self.get(address, np.empty(count, dtype))

    def results(self, generator: ctypes.c_void_p, kind: str, count: int, *arguments: float) -> np.ndarray:
        """Return the next results. Bytes beside them must not change."""
        dtype = np.dtype(TYPES[kind])
        size = count * dtype.itemsize
        address = self.filled(size + 32)
        assert self.call(generator, kind, address + 16, count, *arguments) == SUCCESS
        whole = self.values(address, size + 32, np.uint8)
        assert (whole[:16] == GAP).all()
        assert (whole[16 + size :] == GAP).all()
        return whole[16 : 16 + size].view(dtype)

    def end(self) -> None:
        # A generator may have another stream than the probe's.
        driver_probe.call("cuCtxSynchronize")
        for generator in self.generators:
            assert self.library.curandDestroyGenerator(generator) == SUCCESS


@pytest.fixture
def random(simulator: str, random_library: ctypes.CDLL) -> Iterator[Random]:
    driver_probe.call("cuInit", 0)
    with driver_probe.primary_context(0):
        made = Random(random_library)
        yield made
        made.close()
