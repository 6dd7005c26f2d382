"""Kernels in CUDA C++, compiled by NVRTC and launched by cuda.core, work on arrays of cuarray.

A kernel takes an address, so the array is borrowed for the launch, which orders the launch with other work on the array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuarray

SOURCE = r"""
template <typename T>
__global__ void axpy(T factor, const T *x, T *y, unsigned long n) {
    for (unsigned long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] += factor * x[i];
}

extern "C" __global__ void block_sums(const int *values, int *sums) {
    extern __shared__ int shared[];
    shared[threadIdx.x] = values[blockIdx.x * blockDim.x + threadIdx.x];
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    if (threadIdx.x == 0) atomicAdd(sums, shared[0]);
}

extern "C" __global__ void warp_scan(int *values) {
    int value = values[threadIdx.x];
    for (int step = 1; step < 32; step *= 2) {
        int below = __shfl_up_sync(0xffffffff, value, step);
        if (threadIdx.x % 32 >= step) value += below;
    }
    values[threadIdx.x] = value;
}

struct Point { float x, y; };

extern "C" __global__ void mirror(Point *points, float x, float y) {
    Point &p = points[threadIdx.x];
    p = Point{2 * x - p.x, 2 * y - p.y};
}
"""


@pytest.fixture
def module(device: Any) -> Any:
    from cuda.core import Program, ProgramOptions

    options = ProgramOptions(arch=f"sm_{device.arch}", std="c++17")
    program = Program(SOURCE, "c++", options)
    return program.compile("ptx", name_expressions=("axpy<float>", "axpy<double>"))


def launch(stream: Any, kernel: Any, grid: int, block: int, *arguments: Any, shared: int = 0) -> None:
    from cuda.core import LaunchConfig
    from cuda.core import launch as enqueue

    enqueue(stream, LaunchConfig(grid=grid, block=block, shmem_size=shared), kernel, *arguments)


@pytest.mark.parametrize(("name", "dtype"), [("axpy<float>", np.float32), ("axpy<double>", np.float64)])
def test_template_kernel_on_borrowed_arrays(module: Any, stream: Any, name: str, dtype: type) -> None:
    x, y = np.arange(1000, dtype=dtype), np.ones(1000, dtype=dtype)
    array_x, array_y = cuarray.to_device(x), cuarray.to_device(y)
    with cuarray.borrow(array_x, stream=stream) as borrowed_x, cuarray.borrow(array_y, stream=stream) as borrowed_y:
        arguments = (dtype(0.5), borrowed_x.ptr, borrowed_y.ptr, np.uint64(1000))
        launch(stream, module.get_kernel(name), 4, 64, *arguments)
    np.testing.assert_array_equal(array_y.copy_to_host(), y + dtype(0.5) * x)


def test_kernel_with_dynamic_shared_memory_and_atomics(module: Any, stream: Any) -> None:
    values = np.arange(1024, dtype=np.int32)
    array, total = cuarray.to_device(values), cuarray.to_device(np.zeros(1, np.int32))
    with cuarray.borrow(array, stream=stream) as source, cuarray.borrow(total, stream=stream) as target:
        launch(stream, module.get_kernel("block_sums"), 8, 128, source.ptr, target.ptr, shared=128 * 4)
    assert total.copy_to_host()[0] == values.sum()


def test_kernel_with_warp_shuffles(module: Any, stream: Any) -> None:
    values = np.arange(64, dtype=np.int32) % 7
    array = cuarray.to_device(values)
    with cuarray.borrow(array, stream=stream) as borrowed:
        launch(stream, module.get_kernel("warp_scan"), 1, 64, borrowed.ptr)
    np.testing.assert_array_equal(array.copy_to_host(), values.reshape(2, 32).cumsum(axis=1).ravel())


def test_kernel_on_array_of_structures(module: Any, stream: Any) -> None:
    points = np.zeros(10, [("x", np.float32), ("y", np.float32)])
    points["x"] = np.arange(10)
    array = cuarray.to_device(points)
    with cuarray.borrow(array, stream=stream) as borrowed:
        launch(stream, module.get_kernel("mirror"), 1, 10, borrowed.ptr, np.float32(1), np.float32(2))
    points["x"], points["y"] = 2 - points["x"], 4
    np.testing.assert_array_equal(array.copy_to_host(), points)


def test_launch_in_the_home_stream_needs_no_borrow(module: Any, device: Any) -> None:
    """cuda.core accepts the array's home stream by the protocol `__cuda_stream__`."""
    stream = cuarray.stream()
    array = cuarray.to_device(np.arange(64, dtype=np.int32) % 5, stream=stream)
    launch(device.create_stream(stream), module.get_kernel("warp_scan"), 1, 64, array.ptr)
    expected = (np.arange(64) % 5).reshape(2, 32).cumsum(axis=1).ravel()
    np.testing.assert_array_equal(array.copy_to_host(), expected)
