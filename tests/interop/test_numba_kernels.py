"""Every kind of kernel that numba-cuda compiles works on arrays of cuarray.

The tests check the results, and on the simulated driver also that kernels are ordered with cuarray's copies.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from route import Library

import cuarray


@pytest.fixture
def cuda(numba: Library):
    from numba import cuda

    return cuda


def test_vectorize_kernel_on_cuarray_arrays(cuda) -> None:
    @cuda.vectorize(["float32(float32, float32)", "float64(float64, float64)"])
    def hypotenuse(a, b):
        return math.sqrt(a * a + b * b)

    for dtype in (np.float32, np.float64):
        a, b = np.arange(100, dtype=dtype), np.arange(100, dtype=dtype)[::-1].copy()
        result = cuarray.as_cuda_array(hypotenuse(cuarray.to_device(a), cuarray.to_device(b)))
        assert result.dtype == dtype
        np.testing.assert_allclose(result.copy_to_host(), np.hypot(a, b), rtol=1e-6)


def test_guvectorize_kernel_on_cuarray_arrays(cuda) -> None:
    @cuda.guvectorize(["void(int64[:], int64[:], int64[:])"], "(n),()->(n)")
    def add_to_row(row, number, result):
        for i in range(row.shape[0]):
            result[i] = row[i] + number[0]

    rows, numbers = np.arange(60).reshape(12, 5), np.arange(12) * 100
    result = add_to_row(cuarray.to_device(rows), cuarray.to_device(numbers))
    np.testing.assert_array_equal(cuarray.as_cuda_array(result).copy_to_host(), rows + numbers[:, None])


@pytest.mark.parametrize("size", [1, 1000, 4096])
def test_reduce_kernel_on_cuarray_array(cuda, size: int) -> None:
    largest = cuda.reduce(lambda a, b: max(a, b))
    values = (np.arange(size) * 7919) % 4099
    assert largest(cuda.as_cuda_array(cuarray.to_device(values))) == values.max()


def test_atomics_on_cuarray_arrays(cuda) -> None:
    @cuda.jit
    def histogram(values, bins, extremes):
        i = cuda.grid(1)
        if i < values.size:
            cuda.atomic.add(bins, values[i] % bins.size, 1)
            cuda.atomic.max(extremes, 0, values[i])
            cuda.atomic.min(extremes, 1, values[i])

    values = (np.arange(1000) * 7919) % 1009
    bins, extremes = cuarray.to_device(np.zeros(16, np.int64)), cuarray.to_device(np.array([-1, 10**6]))
    histogram[8, 128](cuarray.to_device(values), bins, extremes)
    np.testing.assert_array_equal(bins.copy_to_host(), np.bincount(values % 16, minlength=16))
    assert extremes.copy_to_host().tolist() == [values.max(), values.min()]


def test_kernel_with_static_shared_memory(cuda) -> None:
    @cuda.jit
    def reverse_blocks(x):
        block = cuda.shared.array(64, "int32")
        here = cuda.threadIdx.x
        block[here] = x[cuda.grid(1)]
        cuda.syncthreads()
        x[cuda.grid(1)] = block[63 - here]

    values = np.arange(640, dtype=np.int32)
    x = cuarray.to_device(values)
    reverse_blocks[10, 64](x)
    np.testing.assert_array_equal(x.copy_to_host(), values.reshape(10, 64)[:, ::-1].ravel())


def test_kernel_with_dynamic_shared_memory(cuda) -> None:
    @cuda.jit
    def rotate(x):
        block = cuda.shared.array(0, "float64")
        here = cuda.threadIdx.x
        block[here] = x[here]
        cuda.syncthreads()
        x[here] = block[(here + 1) % cuda.blockDim.x]

    x = cuarray.to_device(np.arange(96.0))
    rotate[1, 96, 0, 96 * 8](x)
    np.testing.assert_array_equal(x.copy_to_host(), np.roll(np.arange(96.0), -1))


def test_kernel_with_local_memory(cuda) -> None:
    @cuda.jit
    def sorted_columns(x):
        column = cuda.grid(1)
        own = cuda.local.array(8, "int64")
        for i in range(8):
            at = i
            while at > 0 and own[at - 1] > x[i, column]:
                own[at] = own[at - 1]
                at -= 1
            own[at] = x[i, column]
        for i in range(8):
            x[i, column] = own[i]

    values = (np.arange(8 * 64) * 7919 % 1009).reshape(8, 64)
    x = cuarray.to_device(values)
    sorted_columns[2, 32](x)
    np.testing.assert_array_equal(x.copy_to_host(), np.sort(values, axis=0))


def test_cooperative_launch_synchronizes_the_grid(cuda) -> None:
    """Each row is computed from the whole previous row, which all blocks write."""

    @cuda.jit
    def triangle(x):
        grid = cuda.cg.this_grid()
        column = cuda.grid(1)
        for row in range(1, x.shape[0]):
            total = 0
            for other in range(x.shape[1]):
                total += x[row - 1, other]
            x[row, column] = total + column
            grid.sync()

    rows = np.zeros((5, 128), np.int64)
    rows[0] = 1
    x = cuarray.to_device(rows)
    triangle[4, 32](x)
    for row in range(1, 5):
        rows[row] = rows[row - 1].sum() + np.arange(128)
    np.testing.assert_array_equal(x.copy_to_host(), rows)


def test_kernel_on_transposed_and_sliced_view(cuda) -> None:
    @cuda.jit
    def scale(x, factor):
        i, j = cuda.grid(2)
        if i < x.shape[0] and j < x.shape[1]:
            x[i, j] *= factor

    values = np.arange(60.0).reshape(10, 6)
    array = cuarray.to_device(values)
    scale[(2, 2), (8, 8)](array.T[::2, 1:-1], 10.0)
    values.T[::2, 1:-1] *= 10
    np.testing.assert_array_equal(array.copy_to_host(), values)


def test_launch_in_the_home_stream_is_ordered_before_later_copy(cuda) -> None:

    @cuda.jit
    def double(x):
        x[cuda.grid(1)] *= 2

    stream = cuarray.stream()
    array = cuarray.to_device(np.arange(64), stream=stream)
    double[1, 64, cuda.external_stream(stream.handle)](array)
    np.testing.assert_array_equal(array.copy_to_host(), np.arange(64) * 2)
