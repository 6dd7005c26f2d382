"""RMM's resources of pageable memory, which need devices that access it: `CUARRAY_SIM_PAGEABLE_MEMORY=1`."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("rmm")

# RMM's own tests copy arrays in both directions with each resource.
BUFFERS = """
import ctypes
import cuarray
import numpy as np
import rmm
from numba import cuda
from numba.cuda.cudadrv.driver import MemoryPointer
from rmm import mr

cuda.current_context()
mr.set_current_device_resource(RESOURCE)
for size in (1, 1000, 1 << 20):
    data = np.resize(np.arange(256, dtype=np.uint8), size)
    buffer = rmm.DeviceBuffer.to_device(data)
    copy = rmm.DeviceBuffer(size=size)
    copy.copy_from_device(buffer)
    assert copy.tobytes() == data.tobytes()
    assert (cuarray.as_cuda_array(buffer).copy_to_host().view(np.uint8) == data).all()

@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = 2 * i

buffer = rmm.DeviceBuffer(size=40_000)
pointer = MemoryPointer(cuda.current_context(), ctypes.c_void_p(buffer.ptr), buffer.size, owner=buffer)
double[40, 256](cuda.cudadrv.devicearray.DeviceNDArray((10_000,), (4,), np.dtype("i4"), gpu_data=pointer))
cuda.synchronize()
numbers = np.frombuffer(buffer.tobytes(), dtype="i4")
assert (numbers == 2 * np.arange(10_000)).all()
"""

RESOURCES = {
    "system": "mr.SystemMemoryResource()",
    "with a limit of device memory": "mr.SamHeadroomMemoryResource(headroom=1 << 20)",
    "a pool of it": "mr.PoolMemoryResource(mr.SystemMemoryResource(), initial_pool_size=1 << 22)",
}


@pytest.mark.parametrize("name", RESOURCES)
def test_buffers_of_rmm_are_pageable_memory_for_copies_and_kernels(name: str, tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(textwrap.dedent(BUFFERS).replace("RESOURCE", RESOURCES[name]))
    command = [sys.executable, "-m", "cuarray_sim", "--pageable-memory", "user.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
