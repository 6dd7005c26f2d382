"""PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from cuarray.check import NotClaimed

NAME, VERSION = "PyTorch", torch.__version__.partition("+")[0]
NOT_CLAIMED = {
    "negative-strides": "tensors have no negative strides",
    "structures": "tensors have no structured types",
    "masks": "tensors have no masks",
    "read-only": "tensors have no read-only flag",
}
KNOWN = {
    "I10.mask-is-not-ignored": "D7: as_tensor does not read the mask",
    "P1.*": "D17: tensors export version 2, without a stream",
    "P2.*": "D17: tensors export version 2, without a stream",
    "S2.*": "D16: as_tensor does not read the stream; pytorch/pytorch#54418",
    "S3.*": "D18: as_tensor does not read the stream",
    "I6.pointer-to-other-memory-is-known-to-the-driver.pinned": "a pinned tensor is one of the host, without the interface",
    "DL1.device-names-the-kind-of-memory.pinned": "the capsule of a pinned tensor says (1, 0), and __dlpack_device__ says (3, 0)",
    "DL1.device-of-an-empty-*": "memory without bytes is not pinned",
    "DL1.device-is-the-chosen-one.*": "a tensor is exported only while its device is current",
    "DL3.given-stream-is-ordered-after-work-in-another-stream.*": "D4: __dlpack__ orders the current stream only",
}


def make(shape, typestr, *, strides=None, readonly=False, stream=None, device=0) -> Any:
    try:
        dtype = torch.from_numpy(np.empty(0, typestr)).dtype
    except TypeError as error:
        raise NotClaimed(str(error)) from error
    with torch.cuda.stream(stream):
        if strides is None:
            return torch.empty(shape, dtype=dtype, device=f"cuda:{device}")
        elements = [step // np.dtype(typestr).itemsize for step in strides]
        return torch.empty_strided(shape, elements, dtype=dtype, device=f"cuda:{device}")


def make_in(kind, shape, typestr) -> Any:
    if kind != "pinned":
        raise NotClaimed("tensors have no managed memory")
    return torch.empty(shape, dtype=torch.from_numpy(np.empty(0, typestr)).dtype, pin_memory=True)


def write(array, data, *, stream=None) -> None:
    values = torch.frombuffer(data, dtype=array.dtype).reshape(array.shape)
    # A copy to a strided tensor would be a kernel, so each element is copied.
    indices = [()] if array.is_contiguous() else np.ndindex(tuple(array.shape))
    with torch.cuda.stream(stream):
        for index in indices:
            array[index].copy_(values[index], non_blocking=True)


def read(array, *, stream=None) -> bytes:
    # Here too: the layout is applied to a copy of the storage.
    layout = array.storage_offset(), array.shape, array.stride()
    with torch.cuda.stream(stream):
        memory = array.untyped_storage().cpu()
    return bytes(torch.empty(0, dtype=array.dtype).set_(memory, *layout).contiguous().numpy().tobytes())


def import_(obj, *, stream=None) -> Any:
    if any(step < 0 for step in obj.__cuda_array_interface__.get("strides") or ()):
        raise NotClaimed("tensors have no negative strides")
    return torch.as_tensor(obj, device="cuda")


def from_dlpack(obj, *, stream=None) -> Any:
    with torch.cuda.stream(stream):
        return torch.from_dlpack(obj)


def pointer(array) -> int:
    return int(array.data_ptr())


def new_stream() -> Any:
    return torch.cuda.Stream()
