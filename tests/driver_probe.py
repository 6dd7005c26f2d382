"""The driver seen from beside cuarray: what a test must do, or look at, without the package that it tests.

All of it goes through the driver library that cuarray has loaded, whichever that is, so the same tests run on a GPU and on
the simulated driver. Work that is *known* to be unfinished is made with a host function that waits in a stream until it is let go
(:func:`held`): what is enqueued behind it has not run, on any driver.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import cuarray

CUDA_SUCCESS = 0
CUDA_ERROR_NOT_READY = 600
CU_STREAM_DEFAULT = 0
CU_STREAM_NON_BLOCKING = 1
CU_STREAM_PER_THREAD = 2
CU_MEMHOSTALLOC_DEVICEMAP = 2
CU_MEM_ATTACH_GLOBAL = 1
CU_MEMHOSTREGISTER_DEVICEMAP = 2

# Far more than any of the waits takes, far less than anybody would wait for a test that hangs.
PATIENCE = 60.0

_HostFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@cache
def library() -> ctypes.CDLL:
    """The driver library that cuarray uses."""
    path = cuarray.driver_path()
    assert path is not None
    return ctypes.CDLL(path)


def call(name: str, *arguments: Any) -> None:
    """One driver call that must succeed."""
    result = getattr(library(), name)(*arguments)
    assert result == CUDA_SUCCESS, f"{name} answered {result}"


def current_context() -> int | None:
    """The context that is current on this thread; None for none."""
    context = ctypes.c_void_p()
    call("cuCtxGetCurrent", ctypes.byref(context))
    return context.value


@cache
def _retained(device: int) -> int:
    """A device's primary context, retained until the process ends: the last release would destroy all that is in it."""
    context = ctypes.c_void_p()
    call("cuInit", ctypes.c_uint(0))
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(device))
    assert context.value is not None
    return context.value


@contextlib.contextmanager
def primary_context(device: int = 0) -> Iterator[int]:
    """A device's primary context, current on this thread meanwhile."""
    context = ctypes.c_void_p(_retained(device))
    call("cuCtxPushCurrent_v2", context)
    try:
        yield _retained(device)
    finally:
        call("cuCtxPopCurrent_v2", ctypes.byref(context))


class ForeignStream:
    """A stream that another library made: it knows neither the default streams nor cuarray.

    That library keeps the primary context meanwhile; otherwise the stream would go with it, if nobody else had it.
    """

    def __init__(self) -> None:
        handle, context = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(0))
        with primary_context():
            call("cuStreamCreate", ctypes.byref(handle), ctypes.c_uint(CU_STREAM_NON_BLOCKING))
        assert handle.value is not None
        self.handle = handle.value

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)

    def destroy(self) -> None:
        with primary_context():
            call("cuStreamDestroy_v2", ctypes.c_void_p(self.handle))
        call("cuDevicePrimaryCtxRelease_v2", ctypes.c_int(0))


def is_done(stream: int) -> bool:
    """Whether all work in a stream is done; asks the driver itself."""
    with primary_context():
        result = library().cuStreamQuery(ctypes.c_void_p(stream))
    assert result in (CUDA_SUCCESS, CUDA_ERROR_NOT_READY)
    return bool(result == CUDA_SUCCESS)


def synchronize(stream: int) -> None:
    """Waits for all work in a stream."""
    with primary_context():
        call("cuStreamSynchronize", ctypes.c_void_p(stream))


def fill(pointer: int, byte: int, count: int, stream: int) -> None:
    """Enqueues the filling of ``count`` bytes of device memory."""
    with primary_context():
        call(
            "cuMemsetD8Async",
            ctypes.c_uint64(pointer),
            ctypes.c_ubyte(byte),
            ctypes.c_size_t(count),
            ctypes.c_void_p(stream),
        )


def copy(target: int, source: int, count: int, stream: int) -> None:
    """Enqueues the copying of ``count`` bytes of device memory."""
    with primary_context():
        call(
            "cuMemcpyDtoDAsync_v2",
            ctypes.c_uint64(target),
            ctypes.c_uint64(source),
            ctypes.c_size_t(count),
            ctypes.c_void_p(stream),
        )


class Held:
    """A stream in which nothing more runs until :meth:`let_go`."""

    def __init__(self, stream: int) -> None:
        self.stream = stream
        self._begun, self._go = threading.Event(), threading.Event()
        self._timer: threading.Timer | None = None
        self._was_let_go = False
        self._function = _HostFunction(self._hold)
        with primary_context():
            call("cuLaunchHostFunc", ctypes.c_void_p(stream), self._function, None)
        # A driver may leave the work of a stream undone until somebody waits for it. So somebody does, and whoever else
        # looks at the stream finds it busy, as a GPU's would be.
        self._waiting = threading.Thread(target=self._wait)
        self._waiting.start()
        assert self._begun.wait(PATIENCE), "the stream cannot be held: it waits for something else"

    def _hold(self, _data: object) -> None:
        self._begun.set()
        self._was_let_go = self._go.wait(PATIENCE)

    def _wait(self) -> None:
        with primary_context():
            if self.stream == CU_STREAM_PER_THREAD:  # another thread cannot name it
                call("cuCtxSynchronize")
            else:
                call("cuStreamSynchronize", ctypes.c_void_p(self.stream))

    def let_go(self) -> None:
        """Lets the stream run on."""
        self._go.set()

    def let_go_soon(self, seconds: float = 0.1) -> None:
        """Lets the stream run on in a moment, while this thread waits for it."""
        self._timer = threading.Timer(seconds, self._go.set)
        self._timer.start()

    @property
    def is_held(self) -> bool:
        """Whether nobody has let the stream go yet."""
        return not self._go.is_set()

    def finish(self) -> None:
        """Lets the stream go, and waits until it has."""
        self._go.set()
        if self._timer is not None:
            self._timer.join()
        self._waiting.join()
        synchronize(self.stream)
        assert self._was_let_go, (
            f"somebody waited {PATIENCE:.0f} s for the held stream, which was to be let go after that"
        )


@contextlib.contextmanager
def held(stream: int) -> Iterator[Held]:
    """Holds a stream: what is enqueued there from now on has not run before ``let_go``. Empty again afterwards."""
    hold = Held(stream)
    try:
        yield hold
    finally:
        hold.finish()


class Pinned:
    """Page-locked host memory, as the driver allocates it; ``mapped`` asks for a device address too."""

    def __init__(self, count: int) -> None:
        pointer = ctypes.c_void_p()
        device_pointer = ctypes.c_uint64()
        with primary_context():
            call(
                "cuMemHostAlloc",
                ctypes.byref(pointer),
                ctypes.c_size_t(count),
                ctypes.c_uint(CU_MEMHOSTALLOC_DEVICEMAP),
            )
            call("cuMemHostGetDevicePointer_v2", ctypes.byref(device_pointer), pointer, ctypes.c_uint(0))
        assert pointer.value is not None
        self.host_pointer = pointer.value
        self.pointer = device_pointer.value
        self.bytes = (ctypes.c_ubyte * count).from_address(pointer.value)

    def free(self) -> None:
        with primary_context():
            call("cuMemFreeHost", ctypes.c_void_p(self.host_pointer))


class Managed:
    """Memory that host and devices share."""

    def __init__(self, count: int) -> None:
        pointer = ctypes.c_uint64()
        with primary_context():
            call(
                "cuMemAllocManaged", ctypes.byref(pointer), ctypes.c_size_t(count), ctypes.c_uint(CU_MEM_ATTACH_GLOBAL)
            )
        self.pointer = pointer.value
        self.bytes = (ctypes.c_ubyte * count).from_address(pointer.value)

    def free(self) -> None:
        with primary_context():
            call("cuMemFree_v2", ctypes.c_uint64(self.pointer))


@contextlib.contextmanager
def registered(pointer: int, count: int) -> Iterator[int]:
    """Page-locks host memory that is there already, meanwhile, and gives the address by which devices reach it."""
    host, device_pointer = ctypes.c_void_p(pointer), ctypes.c_uint64()
    # Registered memory ends with its context; somebody has to hold that meanwhile.
    context = ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(0))
    with primary_context():
        call("cuMemHostRegister_v2", host, ctypes.c_size_t(count), ctypes.c_uint(CU_MEMHOSTREGISTER_DEVICEMAP))
        call("cuMemHostGetDevicePointer_v2", ctypes.byref(device_pointer), host, ctypes.c_uint(0))
    try:
        yield device_pointer.value
    finally:
        with primary_context():
            call("cuMemHostUnregister", host)
        call("cuDevicePrimaryCtxRelease_v2", ctypes.c_int(0))


class Registered:
    """Ordinary host memory that was page-locked after it was allocated."""

    def __init__(self, count: int) -> None:
        self.bytes = (ctypes.c_ubyte * count)()
        self._stack = contextlib.ExitStack()
        self.pointer = self._stack.enter_context(registered(ctypes.addressof(self.bytes), count))

    def free(self) -> None:
        self._stack.close()


def finished_python(program: str, timeout: int = 300, **environment: str | None) -> subprocess.CompletedProcess[str]:
    """A program that has run in a process of its own; a variable that is None is unset there."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    for name, value in environment.items():
        if value is None:
            variables.pop(name, None)
        else:
            variables[name] = value
    return subprocess.run(
        [sys.executable, "-c", program],
        env=variables,
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=Path(__file__).parent,
        check=False,
    )


def run_python(program: str, **environment: str | None) -> str:
    """What a program prints that runs in a process of its own, and ends well."""
    finished = finished_python(program, **environment)
    assert finished.returncode == 0, f"exit {finished.returncode}\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout
