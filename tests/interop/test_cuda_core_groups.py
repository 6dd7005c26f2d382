"""Clusters and cooperative launches of CUDA C++: `cooperative_groups`, compiled by NVRTC and launched by cuda.core."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuarray

SOURCE = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

// Each block counts a share of the bins, which the blocks of its cluster update in distributed shared memory.
__device__ void histogram(const int *values, int n, int *bins) {
    extern __shared__ int own[];
    cg::cluster_group cluster = cg::this_cluster();
    int share = 64 / cluster.num_blocks();
    for (int i = threadIdx.x; i < share; i += blockDim.x) own[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int *target = cluster.map_shared_rank(own, values[i] / share);
        atomicAdd(target + values[i] % share, 1);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < share; i += blockDim.x)
        atomicAdd(bins + cluster.block_rank() * share + i, own[i]);
}

extern "C" __global__ void any_histogram(const int *values, int n, int *bins) { histogram(values, n, bins); }

extern "C" __global__ void __cluster_dims__(4, 1, 1) quad_histogram(const int *values, int n, int *bins) {
    histogram(values, n, bins);
}

extern "C" __global__ void describe(int *out) {
    cg::cluster_group cluster = cg::this_cluster();
    int *at = out + 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    at[0] = cluster.block_rank(), at[1] = cluster.num_blocks(), at[2] = cluster.thread_rank(), at[3] = cluster.num_threads();
}

// Each round adds the neighbour's sum of the previous round.
extern "C" __global__ void rounds(long long *one, long long *other, int count) {
    cg::grid_group grid = cg::this_grid();
    long long i = grid.thread_rank(), n = grid.size();
    for (int round = 0; round < count; round++) {
        other[i] = one[i] + one[(i + blockDim.x) % n];
        grid.sync();
        long long *both = one; one = other; other = both;
    }
}

extern "C" __global__ void split(int *values, int *sums) {
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank();
    values[i] = i;
    auto token = grid.barrier_arrive();
    grid.barrier_wait(static_cast<decltype(token) &&>(token));
    sums[i] = values[grid.size() - 1 - i];
}

// The warps of a tile exchange their sums in memory that the runtime reserves beside the kernel's own.
extern "C" __global__ void wide_tiles(int *out) {
    __shared__ cg::block_tile_memory<256> memory;
    __shared__ int own[256];
    int i = threadIdx.x;
    own[i] = i;
    auto tile = cg::tiled_partition<128>(cg::this_thread_block(memory));
    int sum = cg::reduce(tile, i, cg::plus<int>());
    tile.sync();
    out[i] = sum + own[i ^ 127];
}
"""


def headers() -> list[str]:
    """Return the folders with the headers of CUDA."""
    found = importlib.util.find_spec("nvidia.cu13")
    for place in found.submodule_search_locations if found and found.submodule_search_locations else ():
        folder = Path(place) / "include"
        if (folder / "cooperative_groups.h").exists():
            return [str(folder), str(folder / "cccl")]
    pytest.skip("the headers of cooperative groups (nvidia-cuda-runtime) are not installed")


@functools.cache
def compiled(arch: str) -> bytes:
    """Return the PTX of all kernels, whose compilation takes seconds."""
    from cuda.core import Program, ProgramOptions

    options = ProgramOptions(arch=f"sm_{arch}", std="c++17", include_path=headers())
    return bytes(Program(SOURCE, "c++", options).compile("ptx").code)


@pytest.fixture
def module(device: Any) -> Any:
    from cuda.core import ObjectCode

    return ObjectCode.from_ptx(compiled(device.arch))


def launch(stream: Any, kernel: Any, grid: int, block: int, *arguments: Any, **options: Any) -> None:
    from cuda.core import LaunchConfig
    from cuda.core import launch as enqueue

    enqueue(stream, LaunchConfig(grid=grid, block=block, **options), kernel, *arguments)


@pytest.mark.parametrize(
    ("name", "options"), [("any_histogram", {}), ("any_histogram", {"cluster": 8}), ("quad_histogram", {})]
)
def test_histogram_in_distributed_shared_memory(module: Any, stream: Any, name: str, options: dict[str, Any]) -> None:
    values = (np.arange(5000) * 7919 % 64).astype(np.int32)
    array, bins = cuarray.to_device(values), cuarray.to_device(np.zeros(64, np.int32))
    with cuarray.borrow(array, stream=stream) as source, cuarray.borrow(bins, stream=stream) as target:
        arguments = (source.ptr, np.int32(len(values)), target.ptr)
        launch(stream, module.get_kernel(name), 8, 64, *arguments, shmem_size=64 * 4, **options)
    np.testing.assert_array_equal(bins.copy_to_host(), np.bincount(values, minlength=64))


def test_cluster_group_describes_its_blocks(module: Any, stream: Any) -> None:
    out = cuarray.to_device(np.zeros((6, 32, 4), np.int32))
    with cuarray.borrow(out, stream=stream) as borrowed:
        launch(stream, module.get_kernel("describe"), 3, 32, borrowed.ptr, cluster=2)
    blocks = out.copy_to_host()
    for block in range(6):
        for thread in range(32):
            assert blocks[block, thread].tolist() == [block % 2, 2, block % 2 * 32 + thread, 64]


def test_grid_that_clusters_do_not_divide_is_refused(module: Any, stream: Any) -> None:
    from cuda.core._utils.cuda_utils import CUDAError

    out = cuarray.to_device(np.zeros(1024, np.int32))
    with cuarray.borrow(out, stream=stream) as borrowed, pytest.raises(CUDAError, match="CLUSTER"):
        launch(stream, module.get_kernel("quad_histogram"), 6, 32, borrowed.ptr, np.int32(0), borrowed.ptr)


def test_grid_synchronizes_in_a_cooperative_launch(module: Any, stream: Any) -> None:
    one = np.arange(40 * 64, dtype=np.int64)
    array, other = cuarray.to_device(one), cuarray.to_device(np.zeros_like(one))
    with cuarray.borrow(array, stream=stream) as first, cuarray.borrow(other, stream=stream) as second:
        launch(stream, module.get_kernel("rounds"), 40, 64, first.ptr, second.ptr, np.int32(4), is_cooperative=True)
    for _ in range(4):
        one = one + np.roll(one, -64)
    np.testing.assert_array_equal(array.copy_to_host(), one)


def test_grid_barrier_in_two_halves(module: Any, stream: Any) -> None:
    values, sums = (cuarray.to_device(np.zeros(320, np.int32)) for _ in range(2))
    with cuarray.borrow(values, stream=stream) as first, cuarray.borrow(sums, stream=stream) as second:
        launch(stream, module.get_kernel("split"), 10, 32, first.ptr, second.ptr, is_cooperative=True)
    np.testing.assert_array_equal(sums.copy_to_host(), np.arange(320)[::-1])


def test_tiles_of_several_warps_leave_the_shared_memory_of_the_kernel(module: Any, stream: Any) -> None:
    out = cuarray.to_device(np.zeros((2, 128), np.int32))
    with cuarray.borrow(out, stream=stream) as borrowed:
        launch(stream, module.get_kernel("wide_tiles"), 1, 256, borrowed.ptr)
    numbers = np.arange(256).reshape(2, 128)
    np.testing.assert_array_equal(out.copy_to_host(), numbers.sum(1, keepdims=True) + numbers[:, ::-1])


def test_cooperative_launch_that_cannot_be_resident_is_refused(module: Any, stream: Any) -> None:
    from cuda.core._utils.cuda_utils import CUDAError

    with pytest.raises((CUDAError, ValueError), match=r"COOPERATIVE_LAUNCH_TOO_LARGE|exceeds"):
        launch(stream, module.get_kernel("rounds"), 100_000, 1024, 0, 0, np.int32(0), is_cooperative=True)
