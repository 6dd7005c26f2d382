"""cuarray as one side of an exchange."""

import numpy as np
from library import Described, HeldArray, Library

import cuarray


class CuarrayArray(HeldArray):
    @property
    def address(self):
        return self.held.ptr

    def read(self, stream=None):
        if stream is None:
            return self.held.copy_to_host()
        # A copy in a stream is ordered after the array's home stream. To test whether the *import* has waited, the copy
        # uses a description of the same memory without a stream.
        unordered = dict(self.held.__cuda_array_interface__, stream=None)
        target = np.empty(self.held.shape, self.held.dtype)
        cuarray.from_cuda_array_interface(unordered, owner=self.held).copy_to_host(target, stream=stream)
        stream.synchronize()
        return target

    def write(self, values):
        self.held.copy_to_device(values)

    def stage(self, values):
        return cuarray.to_device(values)

    def write_later(self, staged, stream):
        self.held.copy_to_device(staged, stream=stream)


class Cuarray(Library):
    name = "cuarray"
    elides_wait = "as_cuda_array(obj, sync=False)"

    def __init__(self):
        self.version = cuarray.__version__

    def make(self, case, stream=None):
        array = cuarray.device_array(case.shape, case.dtype, strides=case.strides, stream=stream)
        array.copy_to_device(case.values())
        return CuarrayArray(array)

    def take(self, offered, stream=None, ordered=True):
        if isinstance(offered, Described):
            imported = cuarray.from_cuda_array_interface(offered.interface, owner=offered.owner, sync=ordered)
        elif isinstance(offered, cuarray.DeviceArray):
            # as_cuda_array returns a DeviceArray unchanged; a description of it is imported like other arrays.
            imported = cuarray.from_cuda_array_interface(offered.__cuda_array_interface__, owner=offered, sync=ordered)
        else:
            imported = cuarray.as_cuda_array(offered, sync=ordered)
        return CuarrayArray(imported)

    def importer(self, offered):
        if isinstance(offered, Described):
            return lambda described: cuarray.from_cuda_array_interface(described.interface, owner=described.owner)
        if isinstance(offered, cuarray.DeviceArray):
            return lambda array: cuarray.from_cuda_array_interface(array.__cuda_array_interface__, owner=array)
        return cuarray.as_cuda_array

    def stream(self):
        return cuarray.stream()

    def occupy(self, stream, nbytes, times):
        source, target = (cuarray.device_array(nbytes, "uint8") for _ in range(2))
        for _ in range(times):
            target.copy_to_device(source, stream=stream)
        return source, target
