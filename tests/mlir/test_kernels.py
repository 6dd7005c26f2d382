"""Kernels that numba-cuda-mlir compiles give the results of NumPy, and no false alarm on the simulated driver."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

SIZE = 1000


def test_elementwise_kernel_on_arrays_of_host_and_device(cuda: Any) -> None:
    @cuda.jit
    def add(a, b, out):
        i = cuda.grid(1)
        if i < out.shape[0]:
            out[i] = a[i] + b[i]

    a, b = np.arange(SIZE, dtype=np.float32), np.ones(SIZE, np.float32)
    on_host, on_device = np.zeros(SIZE, np.float32), cuda.device_array(SIZE, np.float32)
    add[8, 128](a, b, on_host)
    add[8, 128](cuda.to_device(a), cuda.to_device(b), on_device)
    np.testing.assert_array_equal(on_host, a + b)
    np.testing.assert_array_equal(on_device.copy_to_host(), a + b)


@pytest.mark.parametrize(
    "dtype", ["int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
)
def test_product_and_sum_of_each_type(cuda: Any, dtype: str) -> None:
    @cuda.jit
    def product_and_sum(x, out):
        i = cuda.grid(1)
        out[i] = x[i] * x[i] + x[i]

    x = np.arange(8).astype(dtype)
    out = cuda.device_array_like(x)
    product_and_sum[1, 8](cuda.to_device(x), out)
    np.testing.assert_array_equal(out.copy_to_host(), x * x + x)


def test_matrix_product_of_c_and_fortran_arrays(cuda: Any) -> None:
    @cuda.jit
    def product(a, b, c):
        i, j = cuda.grid(2)
        if i < c.shape[0] and j < c.shape[1]:
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total

    a, b, c = np.random.rand(20, 30), np.asfortranarray(np.random.rand(30, 25)), np.zeros((20, 25))
    product[(3, 4), (8, 8)](a, b, c)
    np.testing.assert_allclose(c, a @ b)


def test_reduction_in_shared_memory(cuda: Any) -> None:
    @cuda.jit
    def block_sums(x, out):
        shared = cuda.shared.array(128, "float32")
        i = cuda.threadIdx.x
        shared[i] = x[i + cuda.blockIdx.x * 128]
        cuda.syncthreads()
        half = 64
        while half > 0:
            if i < half:
                shared[i] += shared[i + half]
            cuda.syncthreads()
            half //= 2
        if i == 0:
            out[cuda.blockIdx.x] = shared[0]

    x, out = np.random.rand(512).astype(np.float32), cuda.device_array(4, np.float32)
    block_sums[4, 128](cuda.to_device(x), out)
    np.testing.assert_allclose(out.copy_to_host(), x.reshape(4, 128).sum(axis=1), rtol=1e-5)


def test_dynamic_shared_memory_reverses_a_block(cuda: Any) -> None:
    @cuda.jit
    def reverse(x, out):
        shared = cuda.shared.array(0, "int32")
        i = cuda.threadIdx.x
        shared[i] = x[i]
        cuda.syncthreads()
        out[i] = shared[cuda.blockDim.x - 1 - i]

    x, out = np.arange(64, dtype=np.int32), cuda.device_array(64, np.int32)
    reverse[1, 64, 0, 4 * 64](cuda.to_device(x), out)
    np.testing.assert_array_equal(out.copy_to_host(), x[::-1])


def test_constant_and_local_memory(cuda: Any) -> None:
    table = np.arange(8, dtype=np.float64)

    @cuda.jit
    def reverse(out):
        constant, local = cuda.const.array_like(table), cuda.local.array(8, "float64")
        for i in range(8):
            local[i] = constant[7 - i]
        for i in range(8):
            out[i] = local[i]

    out = np.zeros(8)
    reverse[1, 1](out)
    np.testing.assert_array_equal(out, table[::-1])


def test_atomic_operations(cuda: Any) -> None:
    @cuda.jit
    def count(x, bins, extremes, total, winner):
        i = cuda.grid(1)
        if i < x.shape[0]:
            cuda.atomic.add(bins, x[i] % 10, 1)
            cuda.atomic.max(extremes, 0, x[i])
            cuda.atomic.min(extremes, 1, x[i])
            cuda.atomic.add(total, 0, 1.5)
            cuda.atomic.cas(winner, 0, 0, 7)

    x = (np.arange(SIZE) * 7919) % 1009
    bins, extremes, total, winner = np.zeros(10, np.int64), np.array([-1, 10**6]), np.zeros(1), np.zeros(1, np.int64)
    count[8, 128](x, bins, extremes, total, winner)
    np.testing.assert_array_equal(bins, np.bincount(x % 10, minlength=10))
    assert (extremes.tolist(), total[0], winner[0]) == ([x.max(), x.min()], 1.5 * SIZE, 7)


def test_shuffle_and_vote_in_a_warp(cuda: Any) -> None:
    @cuda.jit
    def exchange(shuffled, votes):
        i = cuda.threadIdx.x
        shuffled[i] = cuda.shfl_xor_sync(0xFFFFFFFF, i, 5)
        votes[i] = cuda.ballot_sync(0xFFFFFFFF, i % 2)

    shuffled, votes = np.zeros(32, np.int32), np.zeros(32, np.uint32)
    exchange[1, 32](shuffled, votes)
    np.testing.assert_array_equal(shuffled, np.arange(32) ^ 5)
    assert set(votes.tolist()) == {0xAAAAAAAA}


def test_cooperative_kernel_synchronizes_the_grid(cuda: Any) -> None:
    @cuda.jit
    def shift(x):
        grid, i = cuda.cg.this_grid(), cuda.grid(1)
        for _ in range(3):
            value = x[(i + 1) % x.shape[0]]
            grid.sync()
            x[i] = value + 1
            grid.sync()

    x = np.arange(256, dtype=np.int32)
    out = cuda.to_device(x)
    shift[4, 64](out)
    np.testing.assert_array_equal(out.copy_to_host(), np.roll(x, -3) + 3)


def test_device_function_with_libdevice(cuda: Any) -> None:
    @cuda.jit(device=True)
    def wave(x, phase):
        return math.sin(x) + math.exp(-x) + phase

    @cuda.jit
    def waves(x, out):
        i = cuda.grid(1)
        if i < out.shape[0]:
            out[i] = wave(x[i], 0.5)

    x, out = np.random.rand(SIZE), np.zeros(SIZE)
    waves.forall(SIZE)(x, out)
    np.testing.assert_allclose(out, np.sin(x) + np.exp(-x) + 0.5)


def test_kernel_writes_fields_of_records(cuda: Any) -> None:
    @cuda.jit
    def number(records):
        i = cuda.grid(1)
        records[i].weight += 1
        records[i].index = i

    records = np.zeros(4, np.dtype([("weight", "f4"), ("index", "i4")]))
    number[1, 4](records)
    assert records.tolist() == [(1, 0), (1, 1), (1, 2), (1, 3)]


def test_pinned_mapped_and_managed_memory(cuda: Any) -> None:
    @cuda.jit
    def increment(x):
        x[cuda.grid(1)] += 1

    mapped, managed, pinned = cuda.mapped_array(10), cuda.managed_array(10), cuda.pinned_array(10)
    mapped[:], managed[:], pinned[:] = 1, 2, 3
    increment[1, 10](mapped)
    increment[1, 10](managed)
    device = cuda.to_device(pinned)
    increment[1, 10](device)
    device.copy_to_host(pinned)
    cuda.synchronize()
    assert (mapped.tolist(), managed.tolist(), pinned.tolist()) == ([2.0] * 10, [3.0] * 10, [4.0] * 10)


def test_kernel_prints(cuda: Any, capfd: pytest.CaptureFixture[str]) -> None:
    @cuda.jit
    def report(x):
        print("half of", x[cuda.threadIdx.x], "is", x[cuda.threadIdx.x] / 2)

    report[1, 2](cuda.to_device(np.array([1.0, 3.0])))
    cuda.synchronize()
    assert "half of 3.000000 is 1.500000" in capfd.readouterr().out


@pytest.mark.cuarray_sim_leaks  # numba-cuda-mlir 0.6.0 keeps its copy of a host array if the kernel raises
def test_exception_in_a_kernel_is_raised(cuda: Any) -> None:
    @cuda.jit(debug=True, opt=False)
    def refuse(x):
        if x[0] == 0:
            raise ValueError("zero")

    with pytest.raises(ValueError, match="in kernel"):
        refuse[1, 1](np.zeros(1))
