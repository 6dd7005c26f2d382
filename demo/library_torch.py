"""PyTorch as a side of an exchange.

It has no arrays with negative strides, and before 2.13 such an import ends the process. It neither exports nor reads a stream
(clauses P1 and S2), so pending work is exchanged only by DLPack. No operation here needs a kernel of PyTorch, since those are machine
code, which the simulated driver does not run.
"""

from typing import ClassVar

import numpy as np
import torch
from facts import Refused
from library import Array, Described, Library


class Foreign:
    """An object with the given dictionary and owner, since PyTorch accepts no bare dictionary."""

    def __init__(self, interface, owner):
        self.__cuda_array_interface__ = interface
        self._owner = owner


def numpy_type(dtype):
    """Return the NumPy type of a torch.dtype."""
    return np.dtype(str(dtype).removeprefix("torch."))


def refuse_negative(strides):
    """Raise Refused for negative strides, before PyTorch ends the process."""
    if any(step < 0 for step in strides):
        raise Refused("PyTorch takes no arrays with negative strides")


class TorchArray(Array):
    def __init__(self, held):
        self.held = held

    @property
    def address(self):
        return self.held.data_ptr()

    @property
    def shape(self):
        return tuple(self.held.shape)

    @property
    def strides(self):
        return tuple(step * self.held.element_size() for step in self.held.stride())

    @property
    def dtype(self):
        return numpy_type(self.held.dtype)

    def offer(self):
        return self.held

    def read(self, stream=None):
        with torch.cuda.stream(stream):
            return self._on_host(self.held.untyped_storage().cpu()).numpy()

    def write(self, values):
        memory = self.held.untyped_storage()
        host = memory.cpu()
        self._on_host(host).copy_(torch.from_numpy(np.array(values)))
        memory.copy_(host)
        torch.cuda.current_stream().synchronize()

    def stage(self, values):
        staged = torch.from_numpy(np.array(values)).cuda()
        torch.cuda.current_stream().synchronize()
        return staged

    def _on_host(self, memory):
        """Return the tensor of this layout over a host copy of the whole storage.

        A copy of a strided tensor itself is a kernel, and PyTorch's kernels are machine code, which only a GPU runs.
        """
        held = self.held
        return torch.empty(0, dtype=held.dtype).set_(memory, held.storage_offset(), held.shape, held.stride())

    def write_later(self, staged, stream):
        with torch.cuda.stream(stream):
            self.held.copy_(staged)


class Torch(Library):
    name = "PyTorch"
    lacks: ClassVar = {"reversed"}
    lacks_streams = "PyTorch neither exports nor reads a stream in the interface, only by DLPack"

    def __init__(self):
        self.version = torch.__version__
        torch.cuda.init()

    def make(self, case, stream=None):
        if case.layout in self.lacks:
            raise Refused("PyTorch makes no arrays with negative strides")
        base = case.base()
        strides = [step // base.itemsize for step in base.strides]
        held = torch.empty_strided(base.shape, strides, dtype=torch.from_numpy(base).dtype, device="cuda")
        held.copy_(torch.from_numpy(base))
        torch.cuda.current_stream().synchronize()
        return TorchArray(held if case.is_contiguous else held[case.index])

    def take(self, offered, stream=None, ordered=True):
        if isinstance(offered, Described):
            offered = Foreign(offered.interface, offered.owner)
        refuse_negative(offered.__cuda_array_interface__.get("strides") or ())
        return TorchArray(torch.as_tensor(offered, device="cuda"))

    def tensor(self, array, stream=None):
        refuse_negative(array.strides)
        with torch.cuda.stream(stream):
            return TorchArray(torch.from_dlpack(array))

    def current(self, stream):
        return torch.cuda.stream(stream)

    def importer(self, offered):
        return lambda array: torch.as_tensor(array, device="cuda")

    def stream(self):
        return torch.cuda.Stream()

    def occupy(self, stream, nbytes, times):
        source, target = (torch.empty(nbytes, dtype=torch.uint8, device="cuda") for _ in range(2))
        with torch.cuda.stream(stream):
            for _ in range(times):
                target.copy_(source)
        return source, target

    def reclaim(self):
        torch.cuda.empty_cache()
