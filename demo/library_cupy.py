"""CuPy as a side of an exchange."""

import cupy
import numpy as np
from library import Described, HeldArray, Library


class Offered:
    """An array with the stream that it must export: CuPy exports the stream that is current during the read."""

    def __init__(self, held, stream):
        self._held = held
        self._stream = stream

    @property
    def __cuda_array_interface__(self):
        with self._stream:
            return self._held.__cuda_array_interface__


class Foreign:
    """An object with the given dictionary and owner, since CuPy accepts no bare dictionary."""

    def __init__(self, interface, owner):
        self.__cuda_array_interface__ = interface
        self._owner = owner


class CuPyArray(HeldArray):
    def __init__(self, held, stream=None):
        super().__init__(held)
        self._stream = stream

    @property
    def address(self):
        return self.held.data.ptr

    def offer(self):
        return super().offer() if self._stream is None else Offered(self.held, self._stream)

    def read(self, stream=None):
        with stream or cupy.cuda.Stream.null as current:
            values = self.held.get(blocking=False)
            current.synchronize()
        return values

    def write(self, values):
        self.held[...] = cupy.asarray(values)
        cupy.cuda.get_current_stream().synchronize()

    def stage(self, values):
        staged = cupy.asarray(values)
        cupy.cuda.get_current_stream().synchronize()
        return staged

    def write_later(self, staged, stream):
        self.held.data.copy_from_device_async(staged.data, staged.nbytes, stream)


class CuPy(Library):
    name = "CuPy"
    elides_wait = "CUPY_CUDA_ARRAY_INTERFACE_SYNC=0"

    def __init__(self):
        self.version = cupy.__version__
        # Raises an error if CuPy's CUDA runtime does not start on this driver.
        cupy.cuda.runtime.getDeviceCount()

    def make(self, case, stream=None):
        base = cupy.array(case.base(), order="F" if case.layout == "F" else "C")
        cupy.cuda.get_current_stream().synchronize()
        return CuPyArray(base if case.is_contiguous else base[case.index], stream)

    def take(self, offered, stream=None, ordered=True):
        if isinstance(offered, Described):
            offered = Foreign(offered.interface, offered.owner)
        if not ordered:
            offered = Foreign(dict(offered.__cuda_array_interface__, stream=None), offered)
        with stream or cupy.cuda.Stream.null:
            return CuPyArray(cupy.asarray(offered))

    def tensor(self, array, stream=None):
        with stream or cupy.cuda.Stream.null:
            return CuPyArray(cupy.from_dlpack(array))

    def current(self, stream):
        return stream

    def importer(self, offered):
        return cupy.asarray

    def stream(self):
        return cupy.cuda.Stream(non_blocking=True)

    def occupy(self, stream, nbytes, times):
        source, target = (cupy.empty(nbytes, np.uint8) for _ in range(2))
        for _ in range(times):
            target.data.copy_from_device_async(source.data, nbytes, stream)
        return source, target

    def reclaim(self):
        cupy.get_default_memory_pool().free_all_blocks()
