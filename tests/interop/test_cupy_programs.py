"""CuPy's kernels, streams, pools, graphs and IPC on the simulated driver, and races between its streams."""

from __future__ import annotations

import importlib.util
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import driver_probe
import numpy as np
import pytest
from route import Library

if importlib.util.find_spec("cupy") is None:
    pytest.skip(
        "CuPy is not installed; `make peers-cupy` installs it into build/cupy, which PYTHONPATH must name",
        allow_module_level=True,
    )

SOURCE = r"""
extern "C" {
__constant__ float factor[1];
__global__ void scale(const float* x, float* y, int n) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) y[i] = factor[0] * x[i];
}
}
template <typename T> __global__ void fill(T* x, T value) { x[threadIdx.x] = value; }
"""


@pytest.fixture
def cp(cupy: Library, simulator: str) -> Any:
    import cupy as module

    return module


def test_elementwise_expressions_and_reductions(cp: Any) -> None:
    x = np.linspace(-2, 2, 1000, dtype=np.float32).reshape(10, 100)
    a = cp.asarray(x)
    np.testing.assert_allclose((cp.sin(a) * 2 + a**2).get(), np.sin(x) * 2 + x**2, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(a.sum(axis=1).get(), x.sum(axis=1), rtol=1e-4, atol=1e-4)
    assert int(a.argmax()) == x.argmax()
    np.testing.assert_array_equal(a[:, a[0] > 0].get(), x[:, x[0] > 0])


def test_elementwise_kernel_and_reduction_kernel_of_the_user(cp: Any) -> None:
    squared_difference = cp.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_difference")
    length = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "length")
    a, b = cp.arange(5, dtype=cp.float64), cp.ones(5)
    assert squared_difference(a, b).get().tolist() == [1, 0, 1, 4, 9]
    assert float(length(cp.asarray([3.0, 4.0]))) == 5


def test_raw_module_has_kernels_constants_and_templates(cp: Any) -> None:
    module = cp.RawModule(code=SOURCE, options=("-std=c++17",), name_expressions=["fill<double>"])
    factor = cp.ndarray((1,), cp.float32, module.get_global("factor"))
    factor.set(np.array([3], np.float32))  # by a copy: a kernel must not write constant memory
    x, y = cp.arange(100, dtype=cp.float32), cp.zeros(100, cp.float32)
    # With name expressions, a C function keeps its name.
    module.get_function("scale")((1,), (128,), (x, y, np.int32(100)))
    assert y.get().tolist() == [3 * i for i in range(100)]
    filled = cp.empty(8)
    module.get_function("fill<double>")((1,), (8,), (filled, 2.5))
    assert filled.get().tolist() == [2.5] * 8


def test_raw_kernel_with_dynamic_shared_memory(cp: Any) -> None:
    kernel = cp.RawKernel(
        r"""
        extern "C" __global__ void reverse(int* x) {
            extern __shared__ int copy[];
            copy[threadIdx.x] = x[threadIdx.x];
            __syncthreads();
            x[threadIdx.x] = copy[blockDim.x - 1 - threadIdx.x];
        }""",
        "reverse",
    )
    x = cp.arange(64, dtype=cp.int32)
    kernel((1,), (64,), (x,), shared_mem=64 * 4)
    assert x.get().tolist() == [*range(63, -1, -1)]


def test_jit_kernel(cp: Any) -> None:
    from cupyx import jit

    @jit.rawkernel()
    def add(x, y, n):
        i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
        if i < n:
            y[i] = x[i] + y[i]

    x, y = cp.arange(100, dtype=cp.int64), cp.ones(100, cp.int64)
    add((2,), (64,), (x, y, 100))
    assert y.get().tolist() == [*range(1, 101)]


def test_fused_function(cp: Any) -> None:
    @cp.fuse()
    def multiply_add(x, y, z):
        return x * y + z

    a = cp.arange(6, dtype=cp.float32)
    assert multiply_add(a, a, a).get().tolist() == [0, 2, 6, 12, 20, 30]


def test_memory_pool_reuses_freed_memory(cp: Any) -> None:
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        first = cp.empty(1000, cp.uint8)
        address = first.data.ptr
        del first
        assert pool.free_bytes() == 1024
        assert cp.empty(1000, cp.uint8).data.ptr == address
    pool.free_all_blocks()
    assert pool.total_bytes() == 0


def test_asynchronous_pool_of_the_driver(cp: Any) -> None:
    pool = cp.cuda.MemoryAsyncPool()
    with cp.cuda.using_allocator(pool.malloc), cp.cuda.Stream(non_blocking=True) as stream:
        x = cp.arange(1000)
        assert x.get(stream=stream).tolist() == [*range(1000)]
        del x
    stream.synchronize()
    pool.free_all_blocks()


def test_streams_are_ordered_by_events(cp: Any) -> None:
    first, second = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)
    with first:
        x = cp.arange(1000, dtype=cp.float32) + 1
        ready = first.record()
    with second:
        second.wait_event(ready)
        y = x * 2
    second.synchronize()
    assert float(y[-1]) == 2000


def test_captured_graph_runs_at_each_launch(cp: Any) -> None:
    stream = cp.cuda.Stream(non_blocking=True)
    x = cp.zeros(10)
    x += 1  # compiles the kernel, which a capture must not do
    cp.cuda.get_current_stream().synchronize()
    with stream:
        stream.begin_capture()
        x += 1
        graph = stream.end_capture()
        for _ in range(3):
            graph.launch(stream)
    stream.synchronize()
    assert x.get().tolist() == [4] * 10


def test_memory_is_shared_with_another_process(cp: Any) -> None:
    memory = cp.cuda.alloc(4096)  # IPC shares whole allocations
    x = cp.ndarray((10,), cp.int64, memory)
    x[...] = cp.arange(10)
    cp.cuda.get_current_stream().synchronize()
    handle = cp.cuda.runtime.ipcGetMemHandle(memory.ptr)
    printed = driver_probe.run_python(f"""
import cupy
address = cupy.cuda.runtime.ipcOpenMemHandle({handle!r})
memory = cupy.cuda.UnownedMemory(address, 80, None)
x = cupy.ndarray((10,), cupy.int64, cupy.cuda.MemoryPointer(memory, 0))
print(x.get().tolist())
x += 1
cupy.cuda.Device().synchronize()
del x
cupy.cuda.runtime.ipcCloseMemHandle(address)
""")
    assert printed.split("\n")[0] == str([*range(10)])
    assert x.get().tolist() == [*range(1, 11)]


def test_array_survives_pickling(cp: Any) -> None:
    x = cp.arange(6).reshape(2, 3)
    assert pickle.loads(pickle.dumps(x)).get().tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.cuarray_sim(expect="data-race")
def test_race_between_streams_is_found_at_the_users_lines(cp: Any) -> None:
    from cuarray_sim import findings

    writing, reading = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)
    x = cp.zeros(1000)
    cp.cuda.get_current_stream().synchronize()
    with writing:
        x += 1
    with reading:
        y = x * 2
    del y
    writing.synchronize()
    reading.synchronize()
    (race,) = findings()["findings"]
    assert race["kind"] == "data-race"
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    users = [side["site"]["user"] for side in race["sides"]]
    assert [user["file"] for user in users] == [__file__] * 2
    assert [lines[user["line"] - 1].strip() for user in users] == ["x += 1", "y = x * 2"]


@pytest.mark.cuarray_sim(expect="data-race")
def test_memory_that_the_pool_hands_to_another_stream_too_early_is_a_race(cp: Any) -> None:
    """A pool without streams of its own reuses memory at once, which CuPy avoids by a pool for each stream."""
    writing, other = cp.cuda.Stream(non_blocking=True), cp.cuda.Stream(non_blocking=True)
    x = cp.zeros(1000)
    cp.cuda.get_current_stream().synchronize()
    with writing:
        x += 1  # pending when the owner is gone
    del x
    y = cp.ones(1000)  # from the pool of the default stream, which x came from
    with other:
        y *= 2
    cp.cuda.Device().synchronize()


def test_objects_that_cupy_keeps_for_later_are_no_leak_of_a_test(simulator: str, tmp_path: Path) -> None:
    (tmp_path / "test_pools.py").write_text(
        "import cupy\n"
        "KEPT = []\n"
        "def test_of_freed_arrays(): assert float((cupy.zeros(1000) + 1).sum()) == 1000\n"
        "def test_of_a_transform(): cupy.fft.fft(cupy.ones(64)).get()\n"
        "def test_that_keeps_an_array(): KEPT.append(cupy.zeros(100))\n"
        "def test_that_keeps_a_stream(): KEPT.append(cupy.cuda.Stream())\n"
    )
    command = [sys.executable, "-m", "pytest", "--cuarray-sim", "-p", "no:cacheprovider", "test_pools.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "test_pools.py ...E.E" in done.stdout, done.stdout + done.stderr
    assert "kept by global `KEPT` of test_pools, [0] (cupy.ndarray)" in done.stdout
    assert "kept by global `KEPT` of test_pools, [1] (cupy.Stream)" in done.stdout
