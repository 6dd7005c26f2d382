"""The libraries, streams and memory of a case, and the decorator of cases.

A case is a function of a :class:`Place`. The line of its call in one stream ends with ``# first``, that of its call in the other stream
with ``# second``, and one of both is a call of a library. Between the two stands :meth:`Place.wait`, which does nothing in the wrong build.
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import cuarray_sim
from cuarray_sim.stand_ins import STAND_INS

N = 8
"""The order of matrices."""
SIZE = 8 * N * N
"""The bytes of a matrix of doubles."""
ONE, ZERO = ctypes.c_double(1), ctypes.c_double(0)


@dataclass(frozen=True)
class Case:
    """A planted race, with the function and the argument that its finding names."""

    name: str
    library: str
    function: str
    argument: str
    run: Callable[[Place], None]

    @property
    def description(self) -> str:
        return (inspect.getdoc(self.run) or "").rstrip(".")

    def line(self, marker: str) -> tuple[str, int]:
        """Return the file and the line that ends with a marker."""
        lines, start = inspect.getsourcelines(self.run)
        (number,) = [number for number, line in enumerate(lines, start) if line.rstrip().endswith(f"# {marker}")]
        return Path(inspect.getsourcefile(self.run) or "").name, number


CASES: list[Case] = []


def case(function: str, argument: str) -> Callable[[Callable[[Place], None]], Callable[[Place], None]]:
    """Add a case, whose file has the name of its library."""

    def add(run: Callable[[Place], None]) -> Callable[[Place], None]:
        library = run.__module__.rpartition(".")[2]
        CASES.append(Case(run.__name__, library, function, argument, run))
        return run

    return add


@cache
def library(name: str) -> ctypes.CDLL:
    """Return a stand-in, of CUDA 13."""
    (stand_in,) = (each for each in STAND_INS if each.name == name)
    return ctypes.CDLL(str(stand_in.path / stand_in.files[0]))


def check(result: int) -> None:
    """Require that a call has succeeded: each library returns 0."""
    if result:
        raise RuntimeError(f"a call returned {result}")


class Place:
    """Two streams and memory, with a handle of each library in the main stream."""

    def __init__(self, *, is_right: bool) -> None:
        self.is_right = is_right
        self.cuda = ctypes.CDLL(str(cuarray_sim.library_path()))
        context = ctypes.c_void_p()
        check(self.cuda.cuInit(0))
        check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        check(self.cuda.cuCtxSetCurrent(context))
        self.main, self.side = self.stream(), self.stream()
        self.ends: list[Callable[[], int]] = []
        self.a, self.b, self.c, self.x, self.y, self.z = (self.memory() for _ in range(6))
        self.info, self.numbers, self.work = self.memory(), self.memory(), self.memory(1 << 16)
        self.bytes = ctypes.c_size_t(1 << 16)

    def stream(self) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        check(self.cuda.cuStreamCreate(ctypes.byref(made), 1))
        return made

    def memory(self, size: int = SIZE) -> ctypes.c_void_p:
        """Return memory with the identity as doubles."""
        address = ctypes.c_uint64()
        check(self.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)))
        identity = (ctypes.c_double * (size // 8))(*(float(index % (N + 1) == 0) for index in range(size // 8)))
        check(self.cuda.cuMemcpyHtoD_v2(address, identity, ctypes.c_size_t(size)))
        made = ctypes.c_void_p(address.value)
        self.ends.append(lambda: self.cuda.cuMemFree_v2(made))
        return made

    def put(self, to: ctypes.c_void_p, values: list[int], kind: Any = ctypes.c_int) -> None:
        """Write numbers into device memory."""
        array = (kind * len(values))(*values)
        check(self.cuda.cuMemcpyHtoD_v2(to, array, ctypes.c_size_t(ctypes.sizeof(array))))
        check(self.cuda.cuCtxSynchronize())

    def made(self, name: str, create: str, destroy: str, *arguments: Any) -> ctypes.c_void_p:
        """Return an object of a library, which ends with the place."""
        object_, its = ctypes.c_void_p(), library(name)
        check(getattr(its, create)(ctypes.byref(object_), *arguments))
        self.ends.append(lambda: getattr(its, destroy)(object_))
        return object_

    def handle(self, name: str, prefix: str, create: str = "Create", suffix: str = "") -> ctypes.c_void_p:
        """Return a handle of a library, in the main stream."""
        made = self.made(name, f"{prefix}{create}{suffix}", f"{prefix}Destroy{suffix}")
        check(getattr(library(name), f"{prefix}SetStream{suffix}")(made, self.main))
        return made

    def wait(self, *, of: str = "main") -> None:
        """Let a stream wait for the other one, in the right build."""
        if self.is_right:
            event, waiting = ctypes.c_void_p(), self.main if of == "main" else self.side
            other = self.side if of == "main" else self.main
            check(self.cuda.cuEventCreate(ctypes.byref(event), 2))
            check(self.cuda.cuEventRecord(event, other))
            check(self.cuda.cuStreamWaitEvent(waiting, event, 0))
            check(self.cuda.cuEventDestroy_v2(event))

    def close(self) -> None:
        """Wait for everything, and end it."""
        check(self.cuda.cuCtxSynchronize())
        for end in reversed(self.ends):
            check(end())
        for stream in (self.main, self.side):
            check(self.cuda.cuStreamDestroy_v2(stream))


def fill(at: Place, memory: ctypes.c_void_p) -> Callable[[], int]:
    """Return a call that writes the first bytes of memory in the side stream. It has no frame of its own, so its line is that of the case."""
    return partial(at.cuda.cuMemsetD8Async, memory, ctypes.c_ubyte(0), ctypes.c_size_t(8), at.side)


def read(at: Place, memory: ctypes.c_void_p) -> Callable[[], int]:
    """Return a call that copies the first bytes of memory in the side stream, as :func:`fill`."""
    return partial(at.cuda.cuMemcpyDtoDAsync_v2, at.z, memory, ctypes.c_size_t(8), at.side)
