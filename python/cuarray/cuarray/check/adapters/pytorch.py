"""PyTorch. Elements are copied by their storage, since a copy of a strided tensor is a kernel, which only a GPU runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

NAME, VERSION = "PyTorch", torch.__version__.partition("+")[0]
NOT_CLAIMED = {
    "negative-strides": "tensors have no negative strides",
    "masks": "as_tensor does not read masks",
    "read-only": "tensors have no read-only flag",
    "structures": "tensors have no structured types",
}
KNOWN: dict[str, str] = {}


def make(
    shape: tuple[int, ...],
    typestr: str,
    *,
    strides: tuple[int, ...] | None = None,
    readonly: bool = False,
    stream: Any = None,
    device: int = 0,
) -> Any:
    dtype = torch.from_numpy(np.empty(0, typestr)).dtype
    with torch.cuda.stream(stream):
        if strides is None:
            return torch.empty(shape, dtype=dtype, device=f"cuda:{device}")
        steps = [step // dtype.itemsize for step in strides]
        return torch.empty_strided(shape, steps, dtype=dtype, device=f"cuda:{device}")


def write(array: Any, data: Any, *, stream: Any = None) -> None:
    values = torch.frombuffer(data, dtype=array.dtype).reshape(array.shape) if len(data) else array.cpu()
    with torch.cuda.stream(stream):
        if array.is_contiguous():
            array.copy_(values, non_blocking=True)
            return
        memory = array.untyped_storage()
        host = memory.cpu()
        _elements(array, host).copy_(values)
        memory.copy_(host)


def read(array: Any, *, stream: Any = None) -> bytes:
    with torch.cuda.stream(stream):
        return bytes(_elements(array, array.untyped_storage().cpu()).numpy().tobytes())


def _elements(array: Any, host: Any) -> Any:
    return torch.empty(0, dtype=array.dtype).set_(host, array.storage_offset(), array.shape, array.stride())


def import_(obj: Any, *, stream: Any = None) -> Any:
    with torch.cuda.stream(stream):
        return torch.as_tensor(obj, device="cuda")


def from_dlpack(obj: Any, *, stream: Any = None) -> Any:
    with torch.cuda.stream(stream):
        return torch.from_dlpack(obj)


def pointer(array: Any) -> int:
    return int(array.data_ptr())


def new_stream() -> Any:
    return torch.cuda.Stream()
