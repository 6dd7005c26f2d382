"""RMM. Its wheels have a static CUDA runtime, which does not start on the simulated driver; ``make peers-rmm`` builds RMM with the shared one."""

from __future__ import annotations

import math
from typing import Any

import rmm
from rmm.pylibrmm.stream import Stream

from cuarray.check import NotClaimed, parts

NAME, VERSION = "RMM", rmm.__version__
NOTE = "a DeviceBuffer copies arrays of others"
NOT_CLAIMED = {
    "types": "a DeviceBuffer holds bytes",
    "strides": "a DeviceBuffer is contiguous",
    "negative-strides": "a DeviceBuffer is contiguous",
    "broadcast": "a DeviceBuffer is contiguous",
    "zero-dim": "a DeviceBuffer has one axis",
    "structures": "a DeviceBuffer holds bytes",
    "masks": "copy_from_device reads no mask",
    "read-only": "a DeviceBuffer is writable",
    "devices": "buffers are made on the current device",
    "dlpack": "a DeviceBuffer has no __dlpack__",
}
KNOWN = {
    "I7.version-is-current": "D17: version 0 is exported",
    "P1.*": "D17: version 0 is exported, without a stream",
    "P2.*": "D17: version 0 is exported, without a stream",
    "S2.*": "D16: copy_from_device does not read the stream",
    "S3.*": "D18: copy_from_device does not read the stream",
    "I3.type-is-imported.*": "a DeviceBuffer holds bytes, whatever it copied",
    "I10.*": "D7: copy_from_device does not read the mask",
}


def make(shape, typestr, *, strides=None, readonly=False, stream=None, device=0) -> Any:
    if len(shape) != 1 or typestr != "|u1":
        raise NotClaimed("a DeviceBuffer has one axis of bytes")
    return rmm.DeviceBuffer(size=shape[0], **({"stream": stream} if stream else {}))


def write(array, data, *, stream=None) -> None:
    if not isinstance(array, rmm.DeviceBuffer):
        raise NotClaimed("a DeviceBuffer copies from arrays of others, and not to them")
    array.copy_from_host(data, *([stream] if stream else []))


def read(array, *, stream=None) -> bytes:
    elements = array.tobytes(*([stream] if stream else []))
    if stream:
        stream.synchronize()
    return bytes(elements)


def import_(obj, *, stream=None) -> Any:
    """Copy an array into a new buffer: RMM has no view of memory of others."""
    entries = obj.__cuda_array_interface__
    if len(entries["shape"]) != 1:
        raise NotClaimed("copy_from_device takes arrays of one axis")
    copy = rmm.DeviceBuffer(size=math.prod(entries["shape"]) * parts.size_of(entries["typestr"]))
    copy.copy_from_device(obj, *([stream] if stream else []))
    return copy


def pointer(array) -> int:
    return int(array.ptr)


def new_stream() -> Any:
    return Stream()
