"""Gluon, Triton's language with explicit layouts, as far as its instructions are those of capability 8.x."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)
triton = pytest.importorskip("triton", reason="Triton is not installed", exc_type=ImportError)
gluon = pytest.importorskip("triton.experimental.gluon", exc_type=ImportError)
gl = pytest.importorskip("triton.experimental.gluon.language", exc_type=ImportError)
ampere = pytest.importorskip("triton.experimental.gluon.language.nvidia.ampere", exc_type=ImportError)

pytestmark = pytest.mark.usefixtures("simulator")

Launch = Callable[[str], subprocess.CompletedProcess[str]]


@gluon.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: gl.constexpr, LAYOUT: gl.constexpr):
    offsets = gl.program_id(0) * BLOCK + gl.arange(0, BLOCK, layout=LAYOUT)
    gl.store(y_ptr + offsets, gl.load(x_ptr + offsets, mask=offsets < n) * 2, mask=offsets < n)


@pytest.mark.parametrize("each", [1, 2, 4])
def test_elementwise_kernel_of_a_layout_is_right(each: int) -> None:
    x, y = torch.randn(1000), torch.empty(1000, device="cuda")
    double_kernel[(4,)](x.cuda(), y, 1000, 256, gl.BlockedLayout([each], [32], [4], [0]))
    torch.testing.assert_close(y.cpu(), x * 2)


@gluon.jit
def product_kernel(a_ptr, b_ptr, c_ptr, K, M: gl.constexpr, N: gl.constexpr, STEP: gl.constexpr):
    # Two buffers of shared memory: asynchronous copies fill one while the other is multiplied.
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(8, 1, 4, order=[1, 0])
    result: gl.constexpr = gl.NVMMADistributedLayout(version=[2, 0], warps_per_cta=[4, 1], instr_shape=[16, 8])
    rows, columns = gl.arange(0, M, gl.SliceLayout(1, layout)), gl.arange(0, N, gl.SliceLayout(0, layout))
    inner_a, inner_b = gl.arange(0, STEP, gl.SliceLayout(0, layout)), gl.arange(0, STEP, gl.SliceLayout(1, layout))
    a_ptrs = a_ptr + rows[:, None] * K + inner_a[None, :]
    b_ptrs = b_ptr + inner_b[:, None] * N + columns[None, :]
    a_buffers = gl.allocate_shared_memory(gl.float16, [2, M, STEP], shared)
    b_buffers = gl.allocate_shared_memory(gl.float16, [2, STEP, N], shared)
    ampere.async_copy.async_load(a_buffers.index(0), a_ptrs)
    ampere.async_copy.async_load(b_buffers.index(0), b_ptrs)
    ampere.async_copy.commit_group()
    total = gl.zeros([M, N], gl.float32, layout=result)
    steps = K // STEP
    for step in range(steps):
        if step + 1 < steps:
            a_ptrs += STEP
            b_ptrs += STEP * N
            ampere.async_copy.async_load(a_buffers.index((step + 1) % 2), a_ptrs)
            ampere.async_copy.async_load(b_buffers.index((step + 1) % 2), b_ptrs)
        ampere.async_copy.commit_group()
        ampere.async_copy.wait_group(1)
        a = a_buffers.index(step % 2).load(gl.DotOperandLayout(0, result, 2))
        b = b_buffers.index(step % 2).load(gl.DotOperandLayout(1, result, 2))
        total = ampere.mma_v2(a, b, total)
    offsets = (
        gl.arange(0, M, gl.SliceLayout(1, result))[:, None] * N + gl.arange(0, N, gl.SliceLayout(0, result))[None, :]
    )
    gl.store(c_ptr + offsets, total)


def test_matrix_product_with_asynchronous_copies_is_right() -> None:
    m, n, k = 64, 32, 128
    a, b, c = torch.randn(m, k).half(), torch.randn(k, n).half(), torch.empty(m, n, device="cuda")
    kernel = product_kernel[(1,)](a.cuda(), b.cuda(), c, k, m, n, 32)
    assert "cp.async" in kernel.asm["ptx"]
    assert "mma.sync" in kernel.asm["ptx"]
    torch.testing.assert_close(c.cpu(), a.float() @ b.float(), rtol=1e-3, atol=1e-3)


@gluon.jit
def barrier_kernel(x_ptr, y_ptr, COUNT: gl.constexpr, LAYOUT: gl.constexpr):
    offsets = gl.arange(0, COUNT, LAYOUT)
    buffer = gl.allocate_shared_memory(gl.float32, [COUNT], gl.SwizzledSharedLayout(1, 1, 1, order=[0]))
    barrier = ampere.mbarrier.allocate_mbarrier()
    ampere.mbarrier.init(barrier, count=1)
    ampere.async_copy.async_load(buffer, x_ptr + offsets)
    ampere.async_copy.mbarrier_arrive(barrier)
    ampere.mbarrier.arrive(barrier)
    ampere.mbarrier.wait(barrier, 0)
    gl.store(y_ptr + offsets, buffer.load(LAYOUT))
    ampere.mbarrier.invalidate(barrier)


def test_copy_that_a_barrier_in_memory_waits_for_is_right() -> None:
    x, y = torch.randn(256), torch.empty(256, device="cuda")
    barrier_kernel[(1,)](x.cuda(), y, 256, gl.BlockedLayout([1], [32], [4], [0]))
    torch.testing.assert_close(y.cpu(), x)


MISSING_WAIT = """
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy

@gluon.jit
def kernel(x_ptr, y_ptr, LAYOUT: gl.constexpr):
    offsets = gl.arange(0, 256, LAYOUT)
    buffer = gl.allocate_shared_memory(gl.float32, [256], gl.SwizzledSharedLayout(1, 1, 1, order=[0]))
    async_copy.async_load(buffer, x_ptr + offsets)  # no wait follows
    async_copy.commit_group()
    gl.store(y_ptr + offsets, buffer.load(LAYOUT))

x, y = torch.zeros(256, device="cuda"), torch.empty(256, device="cuda")
kernel[(1,)](x, y, gl.BlockedLayout([1], [32], [4], [0]))
torch.cuda.synchronize()
"""


def test_missing_wait_for_an_asynchronous_copy_is_found(launched: Launch) -> None:
    done = launched(MISSING_WAIT)
    assert done.returncode == 66, done.stderr
    assert "kernel-race: an asynchronous copy of kernel writes" in done.stderr
    assert "# no wait follows" in done.stderr, "the line of the kernel's source is shown"
