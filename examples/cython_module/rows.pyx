# cython: language_level=3
"""A Cython module that takes any library's array as the structure of cuarray.h, and exports one row of it as a new structure.

The module copies no data and does not call the driver. The row's structure names the memory and stream of the array. It holds the
array's structure until its own release.
"""

from cpython.exc cimport PyErr_Occurred
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy


cdef extern from "Python.h":
    pass


cdef extern from "cuarray.h":
    const uint64_t CUARRAY_READ_ONLY
    const int CUARRAY_MAX_NDIM
    const uint32_t CUARRAY_MAJOR, CUARRAY_MINOR

    ctypedef struct cuarray:
        uint32_t major, minor
        void (*release)(cuarray *) noexcept nogil
        void *owner
        uint64_t flags, data, stream, event
        const int64_t *shape
        const int64_t *strides
        const cuarray *mask
        int32_t ndim, nfields, device, memory
        char typestr[24]

    void cuarray_release(cuarray *) noexcept nogil
    cuarray *cuarray_from_object(object) except? NULL
    object cuarray_to_capsule(cuarray *)


cdef struct row_of:
    cuarray array
    cuarray *whole
    int64_t strides[64]


cdef void release_row(cuarray *array) noexcept nogil:
    cdef row_of *row = <row_of *>array.owner
    cuarray_release(row.whole)
    free(row)


cdef cuarray *take(object array) except NULL:
    cdef cuarray *taken = cuarray_from_object(array)
    if taken == NULL:
        raise TypeError(f"{type(array).__name__} object has no __cuda_array_c_interface__")
    return taken


cdef class Row:
    """Row(array, index): one row of any library's array, exported for any library."""

    cdef object array
    cdef Py_ssize_t index

    def __cinit__(self, array, Py_ssize_t index):
        self.array = array
        self.index = index

    @property
    def __cuda_array_c_interface__(self):
        cdef cuarray *whole = take(self.array)
        cdef row_of *row = NULL
        cdef int axis
        cdef int64_t step
        if whole.mask != NULL or whole.ndim == 0 or not 0 <= self.index < whole.shape[0]:
            cuarray_release(whole)
            raise BufferError(f"expected an array without a mask that has a row {self.index}")
        row = <row_of *>calloc(1, sizeof(row_of))
        if row == NULL:
            cuarray_release(whole)
            raise MemoryError
        # The row's structure is the array's, except for the fields set below.
        memcpy(&row.array, whole, sizeof(cuarray))
        row.whole = whole
        row.array.release = release_row
        row.array.owner = row
        row.array.ndim = whole.ndim - 1
        row.array.shape = whole.shape + 1
        if whole.strides != NULL:
            row.array.strides = whole.strides + 1
            row.array.data = <uint64_t>(<int64_t>whole.data + self.index * whole.strides[0])
        else:
            step = itemsize(whole)
            for axis in range(1, whole.ndim):
                step *= whole.shape[axis]
            row.array.data = whole.data + <uint64_t>(self.index * step)
        return cuarray_to_capsule(&row.array)


cdef int64_t itemsize(const cuarray *array):
    # A typestr has the size in bytes, or for `U` in characters of four bytes.
    cdef int64_t size = int((<bytes>array.typestr)[2:])
    return size * 4 if array.typestr[1] == b"U" else size


def describe(array):
    """Return a description of an array's structure."""
    cdef cuarray *taken = take(array)
    try:
        shape = tuple(taken.shape[axis] for axis in range(taken.ndim))
        access = "read-only" if taken.flags & CUARRAY_READ_ONLY else "writable"
        return f"{(<bytes>taken.typestr).decode()} {shape} on device {taken.device}, {access}"
    finally:
        cuarray_release(taken)
