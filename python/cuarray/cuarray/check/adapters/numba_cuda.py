"""numba-cuda."""

from __future__ import annotations

from typing import Any

import numba_cuda
import numpy as np
from numba import cuda
from numba.cuda.cudadrv.devicearray import DeviceNDArray

from cuarray.check import parts
from cuarray.check.adapters._numba import pointer, read, write

__all__ = [
    "KNOWN",
    "NAME",
    "NOT_CLAIMED",
    "VERSION",
    "import_",
    "make",
    "make_in",
    "new_stream",
    "pointer",
    "read",
    "write",
]

NAME, VERSION = "numba-cuda", numba_cuda.__version__
NOT_CLAIMED = {
    "masks": "as_cuda_array raises NotImplementedError, as the manual says",
    "read-only": "device arrays have no read-only flag",
    "devices": "arrays are made on the current device",
    "dlpack": "device arrays have no __dlpack__",
    "structures": "make() of the adapter makes no structures",
}
KNOWN = {
    "I8.broadcast-layout-is-exported.*": "D1: broadcast arrays are exported without strides",
    "P1.exported-stream-covers-work-in-another-stream": "the array's own stream is exported, whichever stream works on it",
    "P1.work-on-an-array-without-a-stream-is-exported": "D17: an array without its own stream exports None",
    "P2.exported-stream-covers-work-in-two-streams": "the array's own stream is exported, whichever stream works on it",
    "S3.exported-stream-waits-for-the-consumers-work": "D18: the user makes the producer's stream wait, as the manual says",
}


def make(
    shape: tuple[int, ...],
    typestr: str,
    *,
    strides: tuple[int, ...] | None = None,
    readonly: bool = False,
    stream: Any = None,
    device: int = 0,
) -> Any:
    if strides is None or 0 in shape:
        return cuda.device_array(shape, typestr, stream=stream or 0)
    first, end = parts.extent(shape, strides, np.dtype(typestr).itemsize)
    memory = cuda.device_array(end - first, "u1").gpu_data
    return DeviceNDArray(shape, strides, np.dtype(typestr), stream=stream or 0, gpu_data=memory.view(-first))


def make_in(kind: str, shape: tuple[int, ...], typestr: str) -> Any:
    return (cuda.managed_array if kind == "managed" else cuda.mapped_array)(shape, typestr)


def import_(obj: Any, *, stream: Any = None) -> Any:
    return cuda.as_cuda_array(obj)


def new_stream() -> Any:
    return cuda.stream()
