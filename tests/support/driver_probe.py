"""Direct calls of the driver, for tests that must not go through the package that they test.

All calls use the driver library that cuarray has loaded, so the same tests run on a GPU and on the simulated driver. To keep work
pending, :func:`held` enqueues a host function that blocks until it is released: work enqueued behind it cannot run, on any driver.
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

# Far longer than any wait takes, and short enough for a test that hangs.
PATIENCE = 60.0

_HostFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@cache
def library() -> ctypes.CDLL:
    """The driver library that cuarray uses."""
    path = cuarray.driver_path()
    assert path is not None
    return ctypes.CDLL(path)


def call(name: str, *arguments: Any) -> None:
    """Makes one driver call, which must succeed."""
    result = getattr(library(), name)(*arguments)
    assert result == CUDA_SUCCESS, f"{name} returned {result}"


def current_context() -> int | None:
    """The current context of this thread, or None."""
    context = ctypes.c_void_p()
    call("cuCtxGetCurrent", ctypes.byref(context))
    return context.value


@cache
def _retained(device: int) -> int:
    """A device's primary context, retained until the process ends, because its last release destroys all objects in it."""
    context = ctypes.c_void_p()
    call("cuInit", ctypes.c_uint(0))
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(device))
    assert context.value is not None
    return context.value


@contextlib.contextmanager
def primary_context(device: int = 0) -> Iterator[int]:
    """Makes a device's primary context current on this thread for the block."""
    context = ctypes.c_void_p(_retained(device))
    call("cuCtxPushCurrent_v2", context)
    try:
        yield _retained(device)
    finally:
        call("cuCtxPopCurrent_v2", ctypes.byref(context))


class ForeignStream:
    """A non-blocking stream of another library, which is not ordered with the legacy default stream.

    It retains the primary context, which would otherwise be destroyed together with the stream.
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
    """Whether the driver reports that all work in a stream is done."""
    with primary_context():
        result = library().cuStreamQuery(ctypes.c_void_p(stream))
    assert result in (CUDA_SUCCESS, CUDA_ERROR_NOT_READY)
    return bool(result == CUDA_SUCCESS)


def synchronize(stream: int) -> None:
    """Waits for all work in a stream."""
    with primary_context():
        call("cuStreamSynchronize", ctypes.c_void_p(stream))


def fill(pointer: int, byte: int, count: int, stream: int) -> None:
    """Enqueues a fill of ``count`` bytes of device memory."""
    with primary_context():
        call(
            "cuMemsetD8Async",
            ctypes.c_uint64(pointer),
            ctypes.c_ubyte(byte),
            ctypes.c_size_t(count),
            ctypes.c_void_p(stream),
        )


def copy(target: int, source: int, count: int, stream: int) -> None:
    """Enqueues a copy of ``count`` bytes of device memory."""
    with primary_context():
        call(
            "cuMemcpyDtoDAsync_v2",
            ctypes.c_uint64(target),
            ctypes.c_uint64(source),
            ctypes.c_size_t(count),
            ctypes.c_void_p(stream),
        )


class Held:
    """A stream in which no further work runs until :meth:`release`."""

    def __init__(self, stream: int) -> None:
        self.stream = stream
        self._started, self._released = threading.Event(), threading.Event()
        self._timer: threading.Timer | None = None
        self._was_released = False
        self._function = _HostFunction(self._hold)
        with primary_context():
            call("cuLaunchHostFunc", ctypes.c_void_p(stream), self._function, None)
        # A driver may defer all work of a stream until a thread waits for it. This thread waits, so other threads see a
        # busy stream, as on a GPU.
        self._waiting = threading.Thread(target=self._wait)
        self._waiting.start()
        assert self._started.wait(PATIENCE), "the stream cannot be held, because it waits for other work"

    def _hold(self, _data: object) -> None:
        self._started.set()
        self._was_released = self._released.wait(PATIENCE)

    def _wait(self) -> None:
        with primary_context():
            if self.stream == CU_STREAM_PER_THREAD:  # this handle means another stream in each thread
                call("cuCtxSynchronize")
            else:
                call("cuStreamSynchronize", ctypes.c_void_p(self.stream))

    def release(self) -> None:
        """Releases the stream."""
        self._released.set()

    def release_soon(self, seconds: float = 0.1) -> None:
        """Releases the stream after ``seconds``, so that this thread can wait for it now."""
        self._timer = threading.Timer(seconds, self._released.set)
        self._timer.start()

    @property
    def is_held(self) -> bool:
        """Whether the stream has not been released yet."""
        return not self._released.is_set()

    def finish(self) -> None:
        """Releases the stream, and waits until its work is done."""
        self._released.set()
        if self._timer is not None:
            self._timer.join()
        self._waiting.join()
        synchronize(self.stream)
        assert self._was_released, f"a thread waited {PATIENCE:.0f} s for the held stream before the test released it"


@contextlib.contextmanager
def held(stream: int) -> Iterator[Held]:
    """Holds a stream for the block: work enqueued in it runs only after ``release``. At the end its work is done."""
    hold = Held(stream)
    try:
        yield hold
    finally:
        hold.finish()


class Pinned:
    """Page-locked host memory, allocated by the driver and mapped to a device address."""

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
    """Managed memory, which host and devices share."""

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
    """Page-locks existing host memory for the block, and gives its device address."""
    host, device_pointer = ctypes.c_void_p(pointer), ctypes.c_uint64()
    # The registration ends with its context, so the context is retained.
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
    """Pageable host memory that is page-locked after its allocation."""

    def __init__(self, count: int) -> None:
        self.bytes = (ctypes.c_ubyte * count)()
        self._stack = contextlib.ExitStack()
        self.pointer = self._stack.enter_context(registered(ctypes.addressof(self.bytes), count))

    def free(self) -> None:
        self._stack.close()


def finished_python(program: str, timeout: int = 300, **environment: str | None) -> subprocess.CompletedProcess[str]:
    """Runs a program in a new process; an environment variable with the value None is unset."""
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
    """The output of a program in a new process, which must succeed."""
    finished = finished_python(program, **environment)
    assert finished.returncode == 0, f"exit {finished.returncode}\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout
