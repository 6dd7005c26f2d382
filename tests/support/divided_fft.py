"""Plans of cuFFT for several devices, with their descriptors."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

import driver_probe
import numpy as np
import pytest
from fft_probe import FORWARD, SUCCESS, TYPES, Fft, close

INPUT, OUTPUT, INPLACE, SHUFFLED, INPUT_SHUFFLED = range(5)
TO_DEVICE, TO_HOST, ON_DEVICE = range(3)


class Inner(ctypes.Structure):
    """`cudaXtDesc`."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("nGPUs", ctypes.c_int),
        ("GPUs", ctypes.c_int * 64),
        ("data", ctypes.c_void_p * 64),
        ("size", ctypes.c_size_t * 64),
        ("state", ctypes.c_void_p),
    )


class Descriptor(ctypes.Structure):
    """`cudaLibXtDesc`."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("descriptor", ctypes.POINTER(Inner)),
        ("library", ctypes.c_int),
        ("subFormat", ctypes.c_int),
        ("libDescriptor", ctypes.c_void_p),
    )


class Factors(ctypes.Structure):
    """`cufftXt1dFactors`."""

    _fields_ = (
        *((name, ctypes.c_longlong) for name in ("size", "strings", "string", "substring", "factor1", "factor2")),
        *((name, ctypes.c_longlong) for name in ("string_mask", "substring_mask", "factor1_mask", "factor2_mask")),
        *((name, ctypes.c_int) for name in ("string_shift", "substring_shift", "factor1_shift", "factor2_shift")),
    )


class Divided:
    """A plan for several devices, and its descriptors."""

    def __init__(
        self, fft: Fft, sizes: Sequence[int], kind: str, batch: int = 1, devices: Sequence[int] = (0, 1)
    ) -> None:
        self.fft, self.devices, self.kind = fft, list(devices), kind
        self.library, self.plan = fft.library, fft.create()
        self.descriptors: list[Any] = []
        assert set_gpus(fft, self.plan, devices) == SUCCESS
        n = (ctypes.c_int * len(sizes))(*sizes)
        self.work = (ctypes.c_size_t * len(devices))()
        status = self.library.cufftMakePlanMany(
            self.plan, len(sizes), n, None, 1, 0, None, 1, 0, TYPES[kind], batch, self.work
        )
        assert status == SUCCESS

    def memory(self, form: int) -> Any:
        made = ctypes.POINTER(Descriptor)()
        assert self.library.cufftXtMalloc(self.plan, ctypes.byref(made), form) == SUCCESS
        self.descriptors.append(made)
        return made

    def put(self, form: int, values: np.ndarray) -> Any:
        descriptor = self.memory(form)
        assert self.copy(descriptor, pointer(values), TO_DEVICE) == SUCCESS
        return descriptor

    def get(self, descriptor: Any, like: np.ndarray) -> np.ndarray:
        values = np.empty_like(like)
        assert self.copy(pointer(values), descriptor, TO_HOST) == SUCCESS
        return values

    def copy(self, to: Any, source: Any, kind: int) -> int:
        return self.library.cufftXtMemcpy(self.plan, to, source, kind)

    def execute(self, source: Any, target: Any = None, direction: int = FORWARD, kind: str = "") -> int:
        kind = kind or self.kind
        both = [direction] if kind in ("C2C", "Z2Z") else []
        return getattr(self.library, f"cufftXtExecDescriptor{kind}")(self.plan, source, target or source, *both)

    def parts(self, descriptor: Any, expected: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The memory of each device, as arrays like these. A device may have more memory, for another format."""
        inner = descriptor.contents.descriptor.contents
        assert (inner.nGPUs, list(inner.GPUs[: len(self.devices)])) == (len(self.devices), self.devices)
        driver_probe.call("cuStreamSynchronize", self.fft.stream)
        found = []
        for index, (device, like) in enumerate(zip(self.devices, expected, strict=True)):
            values = np.empty_like(like)
            assert inner.size[index] >= values.nbytes
            with driver_probe.primary_context(device):
                source = ctypes.c_uint64(inner.data[index] or 0)
                driver_probe.call("cuMemcpyDtoH_v2", pointer(values), source, ctypes.c_size_t(values.nbytes))
            found.append(values)
        return found

    def has(self, descriptor: Any, expected: Sequence[np.ndarray]) -> None:
        """Compare the memory of each device."""
        for part, values in zip(self.parts(descriptor, expected), expected, strict=True):
            close(part, values)

    def close(self) -> None:
        for descriptor in self.descriptors:
            assert self.library.cufftXtFree(descriptor) == SUCCESS


def set_gpus(fft: Fft, plan: int, devices: Sequence[int]) -> int:
    return fft.library.cufftXtSetGPUs(plan, len(devices), (ctypes.c_int * len(devices))(*devices))


def pointer(values: np.ndarray) -> ctypes.c_void_p:
    return values.ctypes.data_as(ctypes.c_void_p)


@pytest.fixture
def divided(fft: Fft) -> Iterator[Any]:
    """Make plans, whose descriptors end with the test."""
    count = ctypes.c_int()
    driver_probe.call("cuDeviceGetCount", ctypes.byref(count))
    if count.value < 2:
        pytest.skip("there is one device only; CUARRAY_SIM_DEVICES=2 makes two")
    made: list[Divided] = []

    def make(*arguments: Any, **options: Any) -> Divided:
        made.append(Divided(fft, *arguments, **options))
        return made[-1]

    # Both contexts live as long as the test.
    with driver_probe.primary_context(1), driver_probe.primary_context(0):
        yield make
        for each in made:
            each.close()
