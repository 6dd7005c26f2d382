"""Load PTX modules into the driver and run their kernels."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Protocol, TypeVar

import driver_probe
import numpy as np
import pytest

import cuarray


def version(since: int) -> str:
    """Return the PTX version for the instructions of a compute capability."""
    # Products of 8-bit floating-point numbers were completed later than others.
    return "8.7" if since == 89 else "8.3"


class Module:
    """A module of kernels that take pointers to arrays of 64-bit words."""

    def __init__(self, kernels: str, since: int = 75) -> None:
        text = f".version {version(since)}\n.target sm_{since}\n.address_size 64\n{kernels}"
        self.handle, log = ctypes.c_void_p(), ctypes.create_string_buffer(4096)
        # CU_JIT_ERROR_LOG_BUFFER and its size, which is passed as the pointer's value
        options, values = (ctypes.c_uint * 2)(5, 6), (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        with driver_probe.primary_context():
            result = driver_probe.library().cuModuleLoadDataEx(
                ctypes.byref(self.handle), text.encode() + b"\0", 2, options, values
            )
        assert result == 0, log.value.decode()

    def run(self, name: str, arrays: Sequence[np.ndarray], threads: int, blocks: int = 1) -> list[np.ndarray]:
        """Launch a kernel on copies of the arrays, and return their contents after it."""
        on_device = [cuarray.to_device(array) for array in arrays]
        function, stream = ctypes.c_void_p(), ctypes.c_void_p()
        places = [ctypes.c_uint64(array.__cuda_array_interface__["data"][0]) for array in on_device]
        arguments = (ctypes.c_void_p * len(places))(*(ctypes.addressof(place) for place in places))
        with driver_probe.primary_context():
            driver_probe.call("cuModuleGetFunction", ctypes.byref(function), self.handle, name.encode())
            driver_probe.call("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, None)
            driver_probe.call("cuCtxSynchronize")
        return [array.copy_to_host() for array in on_device]

    def unload(self) -> None:
        with driver_probe.primary_context():
            driver_probe.call("cuModuleUnload", self.handle)


@cache
def capability() -> int:
    """Return ten times the device's compute capability."""
    parts = []
    with driver_probe.primary_context():
        for attribute in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
            value = ctypes.c_int()
            driver_probe.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, 0)
            parts.append(value.value)
    return 10 * parts[0] + parts[1]


def by_capability(pieces: Iterable[tuple[int, str]]) -> dict[int, str]:
    """Join pieces of PTX into one text for each compute capability, without duplicates."""
    found: dict[int, dict[str, None]] = {}
    for since, piece in pieces:
        found.setdefault(since, {})[piece] = None
    return {since: "\n".join(found[since]) for since in sorted(found)}


@contextlib.contextmanager
def loaded(texts: dict[int, str]) -> Iterator[dict[int, Module]]:
    """Load a module of each text whose compute capability the device has."""
    found = {since: Module(text, since) for since, text in texts.items() if since <= capability()}
    yield found
    for module in found.values():
        module.unload()


class Case(Protocol):
    """A kernel with a name ``family_variant``, and the least compute capability that has its instructions."""

    @property
    def name(self) -> str: ...
    @property
    def since(self) -> int: ...


AnyCase = TypeVar("AnyCase", bound=Case)


def family(case: Case) -> str:
    """Return the part of a case's name that a test's id shows."""
    return case.name.split("_")[0]


def family_cases(cases: Iterable[AnyCase], name: str, modules: dict[int, Module]) -> list[AnyCase]:
    """Return the cases of a family that the device can run; skip the test if there are none."""
    found = [case for case in cases if family(case) == name and case.since in modules]
    if not found:
        pytest.skip("instructions of a later compute capability")
    return found


def wrong_words(results: Iterable[int], expected: Iterable[int]) -> list[tuple[int, str, str]]:
    """Return index, result and expected value of the first words that differ."""
    pairs = enumerate(zip(map(int, results), expected, strict=True))
    return [(index, hex(one), hex(other)) for index, (one, other) in pairs if one != other][:5]


def mixed_words(count: int) -> list[int]:
    """Return pseudo-random words of 64 bits."""
    return [(index * 0x9E3779B97F4A7C15 + 0x1234567) * (index + 1) & (1 << 64) - 1 for index in range(count)]
