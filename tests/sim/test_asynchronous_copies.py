"""Asynchronous copies of CUDA C++, as NVRTC compiles them, run without findings; without a wait they race, on their line."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

PROGRAM = """
import ctypes

import numpy as np
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

device = Device(0)
device.set_current()
stream = device.create_stream()
SOURCE = r'''
HEADER
extern "C" __global__ void reverse(const int *in, int *out) {
    __shared__ alignas(16) int tile[256];
    int i = threadIdx.x, first = blockIdx.x * 256;
BODY
    out[first + i] = tile[255 - i];  // read
}
'''
options = ProgramOptions(arch="sm_90", lineinfo=True, name="copies.cu", std="c++17", include_path=HEADERS)
kernel = Program(SOURCE, "c++", options=options).compile("ptx").get_kernel("reverse")
values = np.arange(1024, dtype=np.int32)
buffers = device.allocate(4096, stream=stream), device.allocate(4096, stream=stream)
stream.sync()
for buffer in buffers:
    driver.cuMemcpyHtoD(int(buffer.handle), values.ctypes.data, 4096)
launch(stream, LaunchConfig(grid=4, block=256), kernel, buffers[0], buffers[1])
stream.sync()
result = np.empty_like(values)
driver.cuMemcpyDtoH(result.ctypes.data, int(buffers[1].handle), 4096)
for buffer in buffers:
    buffer.close(stream)
stream.sync()
print("right" if (result.reshape(4, 256) == values.reshape(4, 256)[:, ::-1]).all() else "wrong")
"""

# The headers, the statements, and the one that waits.
IDIOMS = {
    "intrinsics": (
        "#include <cuda_pipeline.h>",
        """
    __pipeline_memcpy_async(tile + i, in + first + i, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();""",
        "__pipeline_wait_prior(0);",
    ),
    "pipeline_of_a_thread": (
        "#include <cuda/pipeline>",
        """
    auto pipeline = cuda::make_pipeline();
    pipeline.producer_acquire();
    cuda::memcpy_async(tile + i, in + first + i, cuda::aligned_size_t<4>(4), pipeline);
    pipeline.producer_commit();
    pipeline.consumer_wait();
    __syncthreads();
    pipeline.consumer_release();""",
        "pipeline.consumer_wait();",
    ),
    "pipeline_of_a_block": (
        "#include <cooperative_groups.h>\n#include <cuda/pipeline>",
        """
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cooperative_groups::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    pipeline.producer_acquire();
    cuda::memcpy_async(block, tile, in + first, cuda::aligned_size_t<16>(1024), pipeline);
    pipeline.producer_commit();
    pipeline.consumer_wait();
    pipeline.consumer_release();""",
        "pipeline.consumer_wait();",
    ),
    "barrier": (
        "#include <cooperative_groups.h>\n#include <cuda/barrier>",
        """
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    auto block = cooperative_groups::this_thread_block();
    if (i == 0) init(&barrier, 256);
    __syncthreads();
    cuda::memcpy_async(block, tile, in + first, cuda::aligned_size_t<16>(1024), barrier);
    auto token = barrier.arrive();
    barrier.wait(cuda::std::move(token));""",
        "barrier.wait(cuda::std::move(token));",
    ),
    "group": (
        "#include <cooperative_groups.h>\n#include <cooperative_groups/memcpy_async.h>",
        """
    auto block = cooperative_groups::this_thread_block();
    cooperative_groups::memcpy_async(block, tile, in + first, 1024);
    cooperative_groups::wait(block);""",
        "cooperative_groups::wait(block);",
    ),
    "bulk": (
        "#include <cuda/barrier>\n#include <cuda/ptx>",
        """
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    if (i == 0) init(&barrier, 256);
    __syncthreads();
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (i == 0) {
        cuda::device::memcpy_async_tx(tile, in + first, cuda::aligned_size_t<16>(1024), barrier);
        token = cuda::device::barrier_arrive_tx(barrier, 1, 1024);
    } else {
        token = barrier.arrive();
    }
    barrier.wait(cuda::std::move(token));""",
        "barrier.wait(cuda::std::move(token));",
    ),
}


def headers() -> list[str]:
    """Return the folders with the headers of CUDA and of its C++ libraries."""
    found = importlib.util.find_spec("nvidia.cu13")
    for place in found.submodule_search_locations if found and found.submodule_search_locations else ():
        folder = Path(place) / "include"
        if (folder / "cuda_pipeline.h").exists() and (folder / "cccl" / "cuda" / "pipeline").exists():
            return [str(folder), str(folder / "cccl")]
    pytest.skip("the headers of CUDA (nvidia-cuda-runtime, nvidia-cuda-cccl) are not installed")


@pytest.mark.parametrize("name", IDIOMS)
def test_copy_without_its_wait_is_a_kernel_race(run: Run, tmp_path: Path, name: str) -> None:
    if importlib.util.find_spec("cuda.core") is None:
        pytest.skip("cuda.core is not installed")
    header, body, wait = IDIOMS[name]
    report = tmp_path / "report.json"
    for removed in (False, True):
        text = PROGRAM.replace("HEADERS", repr(headers())).replace("HEADER", header)
        text = text.replace("BODY", body.replace(wait, "") if removed else body)
        (tmp_path / "program.py").write_text(text)
        report.unlink(missing_ok=True)
        done = run("-m", "cuarray_sim", "--report", str(report), "program.py")
        findings = json.loads(report.read_text())["findings"] if report.exists() else []
        if not removed:
            assert (findings, done.stdout) == ([], "right\n")
            continue
        assert {finding["kind"] for finding in findings} == {"kernel-race"}
        source = text.split("r'''")[1].splitlines()
        lines = [side["place"]["source"] for finding in findings for side in finding["sides"]]
        read = [line["line"] for line in lines if Path(line["file"]).name == "copies.cu"]
        assert any("// read" in source[line - 1] for line in read)
        assert any("wait" in finding["missing"] for finding in findings)
        assert done.stdout == "wrong\n"
