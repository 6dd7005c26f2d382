"""mpi4py. It sends and receives the memory of others."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

# An Open MPI without CUDA reads device memory with host instructions, which the simulated driver allows on request.
os.environ.setdefault("CUARRAY_SIM_HOST_READABLE", "1")

import mpi4py  # noqa: E402

NAME, VERSION = "mpi4py", mpi4py.__version__
NOT_CLAIMED = {
    "producer": "mpi4py has no arrays",
    "ordering": "the user synchronizes before each call, as the manual says",
    "streams": "mpi4py does not use streams",
    "strides": "buffers are contiguous",
    "negative-strides": "buffers are contiguous",
    "broadcast": "buffers are contiguous",
    "masks": "the manual says that masks are not supported",
    "dlpack": "this adapter imports by __cuda_array_interface__",
}
KNOWN: dict[str, str] = {}


def import_(obj: Any, *, stream: Any = None) -> Any:
    return _mpi().buffer.frombuffer(obj)


def read(array: Any, *, stream: Any = None) -> bytes:
    received = bytearray(array.nbytes)
    _mpi().COMM_SELF.Sendrecv([array, _mpi().BYTE], 0, recvbuf=[received, _mpi().BYTE], source=0)
    return bytes(received)


def write(array: Any, data: Any, *, stream: Any = None) -> None:
    _mpi().COMM_SELF.Sendrecv([data, _mpi().BYTE], 0, recvbuf=[array, _mpi().BYTE], source=0)


def pointer(array: Any) -> int:
    return int(array.address)


@cache
def _mpi() -> Any:
    """Import MPI, which starts it, as late as possible: a copy of the process could not use it."""
    from mpi4py import MPI

    return MPI
