"""numba-cuda and numba-cuda-mlir as one side of an exchange, without kernels, which need a compiler and a device that runs them.

The second has the array functions of the first. Arrays are sliced by numba, as its users do. numba can write strided arrays only in
kernels, so this module writes each element of a strided array as an array of one element."""

from typing import ClassVar

import numpy as np
from facts import Refused
from library import HeldArray, Library


class NumbaArray(HeldArray):
    """`base` and `index` are the whole array and the slice of it, if numba made `held` by slicing."""

    def __init__(self, held, cuda, base=None, index=None):
        super().__init__(held)
        self._cuda = cuda
        self._base = base
        self._index = index

    @property
    def address(self):
        return self.held.device_ctypes_pointer.value

    def read(self, stream=None):
        if self._base is not None:
            return self._base.copy_to_host()[self._index]
        if stream is None:
            return self.held.copy_to_host()
        values = self.held.copy_to_host(stream=stream)
        stream.synchronize()
        return values

    def write(self, values):
        if self._base is not None:
            base = self._base.copy_to_host()
            base[self._index] = values
            self._base.copy_to_device(base)
        elif self.held.flags["C_CONTIGUOUS"]:
            self.held.copy_to_device(np.ascontiguousarray(values).reshape(values.shape))
        elif self.held.flags["F_CONTIGUOUS"]:
            self.held.copy_to_device(np.asfortranarray(values))
        else:
            for index in np.ndindex(values.shape):
                element = self.held[(*index[:-1], slice(index[-1], index[-1] + 1))]
                element.copy_to_device(values[index].reshape(1))
        # numba's transfers block for an array without a stream.
        if self.held.stream:
            self.held.stream.synchronize()

    def stage(self, values):
        return self._cuda.to_device(values)

    def write_later(self, staged, stream):
        self.held.copy_to_device(staged, stream=stream)


class NumbaFunctions(Library):
    """A library with the array functions of `numba.cuda` in its module `cuda`."""

    refuses: ClassVar = {"reversed": NotImplementedError}
    elides_wait = "as_cuda_array(obj, sync=False)"

    def __init__(self, cuda, version):
        self.cuda = cuda
        self.version = version
        cuda.current_context()

    def make(self, case, stream=None):
        array = self.cuda.to_device(case.base())
        if not case.is_contiguous:
            return NumbaArray(array[case.index], self.cuda, base=array, index=case.index)
        return NumbaArray(array if stream is None else array.bind(stream), self.cuda)

    def take(self, offered, stream=None, ordered=True):
        return NumbaArray(self.cuda.as_cuda_array(offered, sync=ordered), self.cuda)

    def importer(self, offered):
        return self.cuda.as_cuda_array

    def stream(self):
        return self.cuda.stream()

    def occupy(self, stream, nbytes, times):
        source, target = (self.cuda.device_array(nbytes, "uint8") for _ in range(2))
        for _ in range(times):
            target.copy_to_device(source, stream=stream)
        return source, target

    def reclaim(self):
        self.cuda.current_context().deallocations.clear()


class Numba(NumbaFunctions):
    name = "numba-cuda"

    def __init__(self):
        from numba import cuda
        from numba_cuda import __version__

        super().__init__(cuda, __version__)


class NumbaMlir(NumbaFunctions):
    name = "numba-cuda-mlir"

    def __init__(self):
        from numba_cuda_mlir import __version__, cuda

        super().__init__(cuda, __version__)


class ManagedArray(NumbaArray):
    """A numba array over managed memory, which is a NumPy array as well."""

    def read(self, stream=None):
        (stream or self._cuda.current_context()).synchronize()
        return np.array(self.held)

    def write(self, values):
        self._cuda.synchronize()
        self.held[...] = values

    def write_later(self, staged, stream):
        self._cuda.driver.device_to_device(self.held, staged, staged.nbytes, stream=stream)


class ManagedNumba(Numba):
    """numba-cuda with managed memory, for libraries that read only managed memory."""

    name = "numba-cuda (managed)"

    def make(self, case, stream=None):
        if case.layout == "reversed":
            raise Refused("numba-cuda cannot make managed arrays with negative strides")
        array = self.cuda.managed_array(case.shape, case.dtype, case.strides, stream=stream or 0)
        array[...] = case.values()
        return ManagedArray(array, self.cuda)
