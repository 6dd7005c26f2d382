"""A stream with device memory for tests of a library, and the end of both."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Generic, Literal, TypeVar

import driver_probe
import numpy as np


class Address(ctypes.c_void_p):
    """An address in device memory, as an argument."""


A = TypeVar("A", int, Address)


class DeviceProbe(Generic[A]):
    """A stream, and memory in the current context. A library's probe adds its handle and how that ends."""

    address_type: type[A]
    order: Literal["C", "F"] = "F"
    """The order of the elements of arrays in device memory."""

    def __init__(self) -> None:
        self.stream = ctypes.c_void_p()
        self.addresses: list[int] = []
        driver_probe.call("cuStreamCreate", ctypes.byref(self.stream), 1)

    def memory(self, size: int) -> A:
        address = ctypes.c_uint64()
        driver_probe.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        self.addresses.append(address.value)
        return self.address_type(address.value)

    def put(self, values: np.ndarray) -> A:
        """Return the address of device memory with these values."""
        values = np.require(values, requirements=self.order)
        address = self.memory(values.nbytes)
        source = values.ctypes.data_as(ctypes.c_void_p)
        driver_probe.call("cuMemcpyHtoD_v2", pointer(address), source, ctypes.c_size_t(values.nbytes))
        driver_probe.call("cuCtxSynchronize")
        return address

    def get(self, address: A, like: np.ndarray) -> np.ndarray:
        """Wait for the stream, and return values of device memory."""
        driver_probe.call("cuStreamSynchronize", self.stream)
        values = np.empty_like(like, order=self.order)
        target = values.ctypes.data_as(ctypes.c_void_p)
        driver_probe.call("cuMemcpyDtoH_v2", target, pointer(address), ctypes.c_size_t(values.nbytes))
        return values

    def end(self) -> None:
        """Destroy the handle, or what the probe has made of the library."""
        raise NotImplementedError

    def close(self) -> None:
        """Wait for the stream, and end everything."""
        driver_probe.call("cuStreamSynchronize", self.stream)
        self.end()
        driver_probe.call("cuStreamDestroy_v2", self.stream)
        for address in self.addresses:
            driver_probe.call("cuMemFree_v2", ctypes.c_uint64(address))


@contextmanager
def second_stream() -> Iterator[ctypes.c_void_p]:
    stream = ctypes.c_void_p()
    driver_probe.call("cuStreamCreate", ctypes.byref(stream), 1)
    yield stream
    driver_probe.call("cuStreamSynchronize", stream)
    driver_probe.call("cuStreamDestroy_v2", stream)


def order(first: ctypes.c_void_p, second: ctypes.c_void_p) -> None:
    """Let the second stream wait for the first."""
    event = ctypes.c_void_p()
    driver_probe.call("cuEventCreate", ctypes.byref(event), 2)
    driver_probe.call("cuEventRecord", event, first)
    driver_probe.call("cuStreamWaitEvent", second, event, 0)
    driver_probe.call("cuEventDestroy_v2", event)


def pointer(address: Any) -> ctypes.c_void_p:
    """An address as an argument of the driver."""
    return address if isinstance(address, ctypes.c_void_p) else ctypes.c_void_p(address)
