"""cuda.core as one side of an exchange.

As a producer it has memory but no arrays: a `Buffer` of bytes without `__cuda_array_interface__`. Its user writes the dictionary and
passes the buffer as the owner. As a consumer it has `StridedMemoryView`, which holds an array's address and layout. The bytes of a
view, gaps included, are copied to the host in one piece."""

import numpy as np
from cases import strided_bytes
from cuda.core import Buffer, Device, __version__
from cuda.core.utils import StridedMemoryView
from library import Array, Described, Library


class CudaCoreArray(Array):
    """Bytes with a layout; `held` is the Buffer of an array of cuda.core, or the view of another library's array."""

    def __init__(self, library, held, address, shape, strides, dtype, stream=None):
        self._library = library
        self.held = held
        self._address = address
        self._shape = shape
        self._strides = strides
        self._dtype = np.dtype(dtype)
        self._stream = stream

    @property
    def address(self):
        return self._address

    @property
    def shape(self):
        return self._shape

    @property
    def strides(self):
        return self._strides

    @property
    def dtype(self):
        return self._dtype

    def offer(self):
        description = {
            "shape": self._shape,
            "strides": self._strides,
            "typestr": self._dtype.str,
            "data": (self._address, False),
            "stream": int(self._stream.handle) if self._stream is not None else None,
            "version": 3,
        }
        return Described(description, self.held)

    def read(self, stream=None):
        stream = stream if stream is not None else self._library.own_stream
        device, host, elements = self._span()
        device.copy_to(host, stream=stream)
        stream.sync()
        return elements.copy()

    def write(self, values):
        stream = self._library.own_stream
        device, host, elements = self._span()
        device.copy_to(host, stream=stream)
        stream.sync()
        elements[...] = values
        device.copy_from(host, stream=stream)
        stream.sync()

    def stage(self, values):
        return self._library.buffer_of(values)

    def write_later(self, staged, stream):
        self._span()[0].copy_from(staged, stream=stream)

    def _span(self):
        """Return the device bytes of an array, a host buffer of that size, and the elements in it."""
        first, end = strided_bytes(self._shape, self._strides, self._dtype.itemsize)
        device = Buffer.from_handle(self._address + first, end - first, owner=self.held)
        host = np.empty(end - first, "uint8")
        elements = np.ndarray(self._shape, self._dtype, host, -first, self._strides)
        return device, _host_buffer(host), elements


def _host_buffer(array):
    return Buffer.from_handle(array.ctypes.data, array.nbytes, owner=array)


class CudaCore(Library):
    name = "cuda.core"
    elides_wait = "from_cuda_array_interface(obj, stream_ptr=-1)"

    def __init__(self):
        self.version = __version__
        self._device = Device()
        self._device.set_current()
        self.own_stream = self._device.create_stream()

    def make(self, case, stream=None):
        base = case.base()
        buffer = self.buffer_of(base)
        return CudaCoreArray(
            self, buffer, int(buffer.handle) + case.offset, case.shape, case.strides, case.dtype, stream
        )

    def buffer_of(self, array):
        """Make a device buffer with the bytes of a contiguous host array."""
        buffer = self._device.allocate(array.nbytes, stream=self.own_stream)
        buffer.copy_from(_host_buffer(array), stream=self.own_stream)
        self.own_stream.sync()
        return buffer

    def take(self, offered, stream=None, ordered=True):
        stream = stream if stream is not None else self.own_stream
        view = StridedMemoryView.from_cuda_array_interface(offered, int(stream.handle) if ordered else -1)
        # The view counts strides in elements, and has none for a C-contiguous array.
        itemsize = view.dtype.itemsize
        if view.strides is None:
            strides = np.empty(view.shape, view.dtype).strides
        else:
            strides = tuple(step * itemsize for step in view.strides)
        return CudaCoreArray(self, view, view.ptr, tuple(view.shape), strides, view.dtype)

    def importer(self, offered):
        handle = int(self.own_stream.handle)
        return lambda array: StridedMemoryView.from_cuda_array_interface(array, handle)

    def stream(self):
        return self._device.create_stream()

    def occupy(self, stream, nbytes, times):
        source, target = (self._device.allocate(nbytes, stream=stream) for _ in range(2))
        for _ in range(times):
            target.copy_from(source, stream=stream)
        return source, target
