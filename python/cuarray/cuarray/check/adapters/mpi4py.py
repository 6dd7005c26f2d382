"""mpi4py. It sends and receives the memory of others."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import mpi4py
import numpy as np

from cuarray.check import NotClaimed, parts
from cuarray.check.driver import is_simulated

if is_simulated() and os.environ.get("CUARRAY_SIM_HOST_READABLE") != "1":
    # An MPI without CUDA reads device memory with host instructions.
    raise ImportError(
        "set CUARRAY_SIM_HOST_READABLE=1, as an MPI without CUDA cannot read the memory of the simulated device"
    )

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
KNOWN = {
    "I5.zero-size-array-is-imported.strided": "D13: strides of an empty array are compared too",
    "I1.subclass-of-tuple-is-read.*": "D24: tuples only",
}


def import_(obj, *, stream=None) -> Any:
    try:
        buffer = _mpi().buffer.frombuffer(obj)
    except BufferError:
        # A read-only array can be sent.
        buffer = _mpi().buffer.frombuffer(obj, readonly=True)
    entries = obj.__cuda_array_interface__
    contiguous = parts.contiguous(entries["shape"], np.dtype(entries["typestr"]).itemsize)
    if buffer.nbytes and (entries.get("strides") or contiguous) != contiguous and min(entries["shape"], default=2) > 1:
        raise NotClaimed("memory is sent in its own order")
    return buffer


def read(array, *, stream=None) -> bytes:
    received = bytearray(array.nbytes)
    _mpi().COMM_SELF.Sendrecv([array, _mpi().BYTE], 0, recvbuf=[received, _mpi().BYTE], source=0)
    return bytes(received)


def write(array, data, *, stream=None) -> None:
    _mpi().COMM_SELF.Sendrecv([data, _mpi().BYTE], 0, recvbuf=[array, _mpi().BYTE], source=0)


def pointer(array) -> int:
    return int(array.address)


@cache
def _mpi() -> Any:
    """Import MPI, which starts it, as late as possible: a copy of the process could not use it."""
    from mpi4py import MPI

    return MPI
