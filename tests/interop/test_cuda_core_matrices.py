"""Tensor cores in CUDA C++: `nvcuda::wmma`, compiled by NVRTC and launched by cuda.core."""

from __future__ import annotations

import contextlib
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuarray

SOURCE = r"""
#include <mma.h>
using namespace nvcuda;

template <class Element, class Sum, class Rows, class Columns, int M, int N, int K>
__device__ void product(const Element *a, const Element *b, Sum *c, int n) {
    wmma::fragment<wmma::matrix_a, M, N, K, Element, Rows> left;
    wmma::fragment<wmma::matrix_b, M, N, K, Element, Columns> right;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> sums;
    wmma::fill_fragment(sums, Sum(1));
    int row = blockIdx.y * M, column = blockIdx.x * N;
    for (int k = 0; k < n; k += K) {
        wmma::load_matrix_sync(left, a + row * n + k, n);
        wmma::load_matrix_sync(right, b + column * n + k, n);
        wmma::mma_sync(sums, left, right, sums);
    }
    for (int i = 0; i < sums.num_elements; i++) sums.x[i] *= Sum(2);
    wmma::store_matrix_sync(c + row * n + column, sums, n, wmma::mem_row_major);
}

using R = wmma::row_major;
using C = wmma::col_major;

extern "C" __global__ void halves(const half *a, const half *b, float *c, int n) { product<half, float, R, C, 16, 16, 16>(a, b, c, n); }
extern "C" __global__ void wide(const half *a, const half *b, float *c, int n) { product<half, float, R, C, 8, 32, 16>(a, b, c, n); }
extern "C" __global__ void bytes(const signed char *a, const signed char *b, int *c, int n) {
    product<signed char, int, R, C, 32, 8, 16>(a, b, c, n);
}
extern "C" __global__ void doubles(const double *a, const double *b, double *c, int n) { product<double, double, R, C, 8, 8, 4>(a, b, c, n); }
"""

SIZE = 64
KERNELS = {
    "halves": ((16, 16), np.float16, np.float32),
    "wide": ((8, 32), np.float16, np.float32),
    "bytes": ((32, 8), np.int8, np.int32),
    "doubles": ((8, 8), np.float64, np.float64),
}


def headers() -> list[str]:
    """Return the folders with the headers of CUDA."""
    found = importlib.util.find_spec("nvidia.cu13")
    for place in found.submodule_search_locations if found and found.submodule_search_locations else ():
        folder = Path(place) / "include"
        if (folder / "mma.h").exists() and (folder / "crt" / "mma.h").exists():
            return [str(folder)]
    pytest.skip("the headers of tensor cores (nvidia-cuda-runtime and nvidia-cuda-crt) are not installed")


@pytest.mark.parametrize("name", KERNELS)
def test_tiles_of_tensor_cores_make_a_whole_product(stream: Any, name: str) -> None:
    from cuda.core import LaunchConfig, Program, ProgramOptions, launch

    options = ProgramOptions(std="c++17", arch="sm_80", include_path=headers())
    kernel = Program(SOURCE, "c++", options=options).compile("ptx").get_kernel(name)
    (rows, columns), element, total = KERNELS[name]
    numbers = np.random.default_rng(SIZE)
    a, b = (numbers.integers(-8, 8, (SIZE, SIZE)).astype(element) for _ in range(2))
    arrays = [cuarray.to_device(array) for array in (a, b, np.zeros((SIZE, SIZE), total))]
    with contextlib.ExitStack() as borrowed:
        places = [borrowed.enter_context(cuarray.borrow(array, stream=stream)).ptr for array in arrays]
        grid = (SIZE // columns, SIZE // rows)
        launch(stream, LaunchConfig(grid=grid, block=32), kernel, *places, np.int32(SIZE))
    # The second matrix is stored by columns.
    expected = 2 * (a.astype(np.float64) @ b.T.astype(np.float64) + 1)
    assert (arrays[2].copy_to_host() == expected).all()
