"""An extension of PyTorch in CUDA C++, built by `load_inline` with nvcc, on the simulated driver."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cuda_toolchain as toolchain
import pytest
import torch

Sides = Callable[[], list[tuple[str, str]]]

pytestmark = [
    pytest.mark.skipif(toolchain.nvcc() is None, reason="nvcc is not installed: `make nvcc` installs it"),
    pytest.mark.skipif(
        toolchain.ninja() is None,
        reason="Ninja, with which PyTorch builds extensions, is not installed: `make nvcc` installs it",
    ),
    pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler"),
]

COUNT = 1000

# Small headers instead of `torch/extension.h`, which takes minutes to compile.
HOST = r"""
#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

void launch_double(float *values, int64_t count, cudaStream_t stream);

void double_(at::Tensor values) {
    launch_double(values.mutable_data_ptr<float>(), values.numel(), c10::cuda::getCurrentCUDAStream());
}
"""
DEVICE = r"""
#include <cstdint>

__global__ void double_values(float *values, int64_t count) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < count) values[i] *= 2;
}

void launch_double(float *values, int64_t count, cudaStream_t stream) {
    double_values<<<(count + 127) / 128, 128, 0, stream>>>(values, count);
}
"""


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Any:
    from torch.utils import cpp_extension

    ninja = toolchain.ninja()
    assert ninja is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpp_extension, "CUDA_HOME", str(toolchain.toolkit()))
        patch.setenv("PATH", os.pathsep.join([str(ninja.parent), os.environ["PATH"]]))
        folder: Path = tmp_path_factory.mktemp("extension")
        return cpp_extension.load_inline(
            "doubling",
            cpp_sources=HOST,
            cuda_sources=DEVICE,
            functions=["double_"],
            no_implicit_headers=True,
            extra_cuda_cflags=["-cudart", "shared", "-gencode", "arch=compute_90,code=compute_90", "-lineinfo"],
            build_directory=str(folder),
        )


def test_kernel_of_an_extension_computes_the_result(extension: Any) -> None:
    values = torch.arange(COUNT, dtype=torch.float32).cuda()
    extension.double_(values)
    assert values.tolist() == [2.0 * i for i in range(COUNT)]


def test_kernel_of_an_extension_runs_in_the_current_stream(extension: Any) -> None:
    values, stream = torch.ones(COUNT).cuda(), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        extension.double_(values)
    assert not stream.query()
    stream.synchronize()
    assert values.tolist() == [2.0] * COUNT


@pytest.mark.cuarray_sim(expect="data-race")
def test_missing_wait_for_a_kernel_of_an_extension_is_a_race_at_the_users_lines(extension: Any, sides: Sides) -> None:
    values = torch.ones(COUNT).cuda()
    torch.cuda.synchronize()
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(first):
        extension.double_(values)
    with torch.cuda.stream(second):
        extension.double_(values)
    lines = [line for _, line in sides()]
    assert lines == ["extension.double_(values)"] * 2
