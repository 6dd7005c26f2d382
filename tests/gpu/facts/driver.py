"""Calls of a CUDA driver by name, without signatures.

Each argument is passed as the platform's calling convention passes an integer, a pointer or a ``float``. So a call needs no declaration,
and a wrong one is as easy to make as a right one.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator
from typing import Any

CUDA_SUCCESS = "CUDA_SUCCESS"
MISSING = "no such function"

HostFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
"""The type of a host function (``CUhostFn``)."""


class DriverError(Exception):
    """A call that a question needs has failed."""


def _argument(value: Any) -> Any:
    if isinstance(value, int):
        return ctypes.c_uint64(value & (1 << 64) - 1)
    if isinstance(value, float):
        return ctypes.c_float(value)
    if isinstance(value, str):
        return ctypes.c_char_p(value.encode())
    return ctypes.c_void_p(None) if value is None else value


class Driver:
    """A loaded driver library."""

    def __init__(self, path: str = "libcuda.so.1") -> None:
        self.path = path
        self.library = ctypes.CDLL(path)

    def number(self, name: str, *arguments: Any) -> int | None:
        """Call a function; return its result's number, or None if the driver lacks the function."""
        try:
            function = getattr(self.library, name)
        except AttributeError:
            return None
        function.restype = ctypes.c_uint
        return int(function(*map(_argument, arguments)))

    def code(self, name: str, *arguments: Any) -> str:
        """Call a function; return the name of its result."""
        number = self.number(name, *arguments)
        return MISSING if number is None else self.name(number)

    def do(self, name: str, *arguments: Any) -> None:
        """Call a function that must succeed."""
        code = self.code(name, *arguments)
        if code != CUDA_SUCCESS:
            raise DriverError(f"{name} returned {code}")

    def name(self, number: int) -> str:
        """The name of a result, as the driver tells it; its number if the driver does not know it."""
        text = ctypes.c_char_p()
        if self.number("cuGetErrorName", number, ctypes.byref(text)) or not text.value:
            return str(number)
        return text.value.decode()

    def start(self) -> None:
        """Initialize the driver and make the primary context of device 0 current."""
        self.do("cuInit", 0)
        context = ctypes.c_void_p()
        self.do("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.do("cuCtxSetCurrent", context)

    def is_usable(self) -> bool:
        """Whether the current context still works. An error of a kernel makes every later call fail."""
        return self.number("cuCtxSynchronize") == 0

    def made(self, name: str, *arguments: Any, kind: Any = ctypes.c_void_p) -> int:
        """Call a function whose first parameter receives a handle, an address or a number; return that."""
        made = kind()
        self.do(name, ctypes.byref(made), *arguments)
        return made.value or 0

    def got(self, name: str, *arguments: Any, kind: Any = ctypes.c_int) -> Any:
        """Call a function whose first parameter receives a value; return the value, or the name of the error."""
        value = kind()
        code = self.code(name, ctypes.byref(value), *arguments)
        return value.value if code == CUDA_SUCCESS else code

    def device_count(self) -> int:
        """The number of devices; 0 if the driver cannot be initialized."""
        if self.number("cuInit", 0) != 0:
            return 0
        return self.made("cuDeviceGetCount", kind=ctypes.c_int)

    def stream(self, flags: int = 1) -> int:
        """Make a stream; by default one that does not wait for the legacy default stream (``CU_STREAM_NON_BLOCKING``)."""
        return self.made("cuStreamCreate", flags)

    def event(self, flags: int = 0) -> int:
        return self.made("cuEventCreate", flags)

    def allocate(self, size: int) -> int:
        return self.made("cuMemAlloc_v2", size, kind=ctypes.c_uint64)

    def pinned(self, size: int, flags: int = 2) -> int:
        """Allocate page-locked host memory; by default mapped for devices (``CU_MEMHOSTALLOC_DEVICEMAP``)."""
        return self.made("cuMemHostAlloc", size, flags)

    def module(self, ptx: str) -> int:
        """Load a module from PTX; an error has the text of the compiler's log."""
        module, log = ctypes.c_void_p(), ctypes.create_string_buffer(4096)
        # CU_JIT_ERROR_LOG_BUFFER and its size, which is passed as the pointer's value
        options, values = (ctypes.c_uint * 2)(5, 6), (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        code = self.code("cuModuleLoadDataEx", ctypes.byref(module), ptx, 2, options, values)
        if code != CUDA_SUCCESS:
            raise DriverError(f"cuModuleLoadDataEx returned {code}: {log.value.decode(errors='replace')}")
        return module.value or 0

    def function(self, module: int, name: str) -> int:
        return self.made("cuModuleGetFunction", module, name)

    def launch(
        self,
        function: int,
        *arguments: Any,
        blocks: int = 1,
        threads: int = 1,
        shared: int = 0,
        stream: int = 0,
    ) -> str:
        """Launch a kernel; return the name of the result. Integers are passed as 64 bits; other sizes need a type of ctypes."""
        places = [ctypes.c_uint64(argument) if isinstance(argument, int) else argument for argument in arguments]
        addresses = (ctypes.c_void_p * max(len(places), 1))(*(ctypes.addressof(place) for place in places))
        return self.code("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, shared, stream, addresses, None)

    def upload(self, target: int, data: bytes) -> None:
        self.do("cuMemcpyHtoD_v2", target, data, len(data))

    def download(self, source: int, size: int) -> bytes:
        buffer = ctypes.create_string_buffer(size)
        self.do("cuMemcpyDtoH_v2", buffer, source, size)
        return buffer.raw

    @contextlib.contextmanager
    def capture(self, stream: int, mode: int = 2) -> Iterator[None]:
        """Capture the calls of the block in a stream, and drop the graph. The mode is ``CU_STREAM_CAPTURE_MODE_RELAXED`` by default."""
        self.do("cuStreamBeginCapture_v2", stream, mode)
        yield
        graph = ctypes.c_void_p()
        self.number("cuStreamEndCapture", stream, ctypes.byref(graph))


def kernels(text: str, target: int = 75) -> str:
    """The text of a PTX module with these kernels."""
    return f".version 7.0\n.target sm_{target}\n.address_size 64\n{text}\n"


assert sys.maxsize > 1 << 32, "pointers have 64 bits"
