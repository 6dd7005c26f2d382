"""The kernels of Triton's tutorials 01, 02, 03, 05 and 06, in small sizes."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)
triton = pytest.importorskip("triton", reason="Triton is not installed", exc_type=ImportError)
tl = pytest.importorskip("triton.language", exc_type=ImportError)

pytestmark = pytest.mark.usefixtures("simulator")


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


@pytest.mark.parametrize("n", [1, 1000, 4096])
def test_vector_add_is_right(n: int) -> None:
    x, y = torch.rand(n), torch.rand(n)
    output = torch.empty(n, device="cuda")
    add_kernel[(triton.cdiv(n, 256),)](x.cuda(), y.cuda(), output, n, BLOCK=256)
    torch.testing.assert_close(output.cpu(), x + y)


@triton.jit
def softmax_kernel(
    output_ptr, input_ptr, input_stride, output_stride, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr
):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        offsets = tl.arange(0, BLOCK)
        mask = offsets < columns
        values = tl.load(input_ptr + row * input_stride + offsets, mask=mask, other=-float("inf"))
        numerator = tl.exp(values - tl.max(values, axis=0))
        tl.store(output_ptr + row * output_stride + offsets, numerator / tl.sum(numerator, axis=0), mask=mask)


@pytest.mark.parametrize("warps", [1, 4, 8])
def test_softmax_in_a_persistent_kernel_is_right(warps: int) -> None:
    x = torch.randn(19, 181)
    device, output = x.cuda(), torch.empty(19, 181, device="cuda")
    kernel = softmax_kernel.warmup(output, device, 181, 181, 19, 181, BLOCK=256, STAGES=4, num_warps=warps, grid=(1,))
    # The tutorial computes the occupancy of a multiprocessor from these.
    kernel._init_handles()
    assert kernel.n_regs > 0
    properties = triton.runtime.driver.active.utils.get_device_properties(0)
    assert properties["max_shared_mem"] >= kernel.metadata.shared
    kernel[(8, 1, 1)](output, device, 181, 181, 19, 181, 256, 4)
    torch.testing.assert_close(output.cpu(), torch.softmax(x, 1))


def matmul_configs():
    sizes = [(32, 32, 32, 1), (64, 64, 32, 4)]
    return [
        triton.Config({"M_BLOCK": m, "N_BLOCK": n, "K_BLOCK": k, "GROUP": 8}, num_stages=3, num_warps=warps)
        for m, n, k, warps in sizes
    ]


@triton.autotune(configs=matmul_configs(), key=["M", "N", "K"])
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    M_BLOCK: tl.constexpr, N_BLOCK: tl.constexpr, K_BLOCK: tl.constexpr, GROUP: tl.constexpr, LEAKY: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    width = GROUP * tl.cdiv(N, N_BLOCK)
    first = pid // width * GROUP
    group = min(tl.cdiv(M, M_BLOCK) - first, GROUP)
    pid_m = first + (pid % width) % group
    pid_n = (pid % width) // group
    offs_m = (pid_m * M_BLOCK + tl.arange(0, M_BLOCK)) % M
    offs_n = (pid_n * N_BLOCK + tl.arange(0, N_BLOCK)) % N
    offs_k = tl.arange(0, K_BLOCK)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    total = tl.zeros((M_BLOCK, N_BLOCK), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, K_BLOCK)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * K_BLOCK, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * K_BLOCK, other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += K_BLOCK * stride_ak
        b_ptrs += K_BLOCK * stride_bk
    if LEAKY:
        total = tl.where(total >= 0, total, 0.01 * total)
    offs_m = pid_m * M_BLOCK + tl.arange(0, M_BLOCK)
    offs_n = pid_n * N_BLOCK + tl.arange(0, N_BLOCK)
    c_ptrs = c_ptr + stride_cm * offs_m[:, None] + stride_cn * offs_n[None, :]
    tl.store(c_ptrs, total.to(tl.float16), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


@pytest.mark.parametrize("leaky", [False, True])
def test_autotuned_matrix_product_with_activation_is_right(leaky: bool) -> None:
    m, n, k = 80, 72, 96
    a, b = torch.randn(m, k).half(), torch.randn(k, n).half()
    c = torch.empty(m, n, dtype=torch.float16, device="cuda")
    one, other = a.cuda(), b.cuda()

    def grid(meta):
        return (triton.cdiv(m, meta["M_BLOCK"]) * triton.cdiv(n, meta["N_BLOCK"]),)

    matmul_kernel[grid](one, other, c, m, n, k, *one.stride(), *other.stride(), *c.stride(), LEAKY=leaky)
    expected = a.float() @ b.float()
    expected = torch.nn.functional.leaky_relu(expected) if leaky else expected
    torch.testing.assert_close(c.cpu().float(), expected, rtol=1e-2, atol=1e-2)


@triton.jit
def layer_norm_forward(X, Y, W, B, Mean, Rstd, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    Y += row * stride
    X += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(X + columns, mask=columns < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / N
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(X + columns, mask=columns < N, other=0.0).to(tl.float32)
        x = tl.where(columns < N, x - mean, 0.0)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / N + eps)
    tl.store(Mean + row, mean)
    tl.store(Rstd + row, rstd)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < N
        w = tl.load(W + columns, mask=mask)
        b = tl.load(B + columns, mask=mask)
        x = tl.load(X + columns, mask=mask, other=0.0).to(tl.float32)
        tl.store(Y + columns, (x - mean) * rstd * w + b, mask=mask)


@triton.jit
def layer_norm_backward_x(
    DX, DY, DW, DB, X, W, Mean, Rstd, Lock, stride, N, GROUP: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < N
    X += row * stride
    DY += row * stride
    DX += row * stride
    lock = row % GROUP
    Lock += lock
    Count = Lock + GROUP
    DW = DW + lock * N + columns
    DB = DB + lock * N + columns
    x = tl.load(X + columns, mask=mask, other=0).to(tl.float32)
    dy = tl.load(DY + columns, mask=mask, other=0).to(tl.float32)
    w = tl.load(W + columns, mask=mask).to(tl.float32)
    mean = tl.load(Mean + row)
    rstd = tl.load(Rstd + row)
    xhat = tl.where(mask, (x - mean) * rstd, 0.0)
    wdy = tl.where(mask, w * dy, 0.0)
    c1 = tl.sum(xhat * wdy, axis=0) / N
    c2 = tl.sum(wdy, axis=0) / N
    tl.store(DX + columns, (wdy - (xhat * c1 + c2)) * rstd, mask=mask)
    partial_dw = (dy * xhat).to(w.dtype)
    partial_db = dy.to(w.dtype)
    while tl.atomic_cas(Lock, 0, 1) == 1:
        pass
    count = tl.load(Count)
    if count == 0:
        tl.atomic_xchg(Count, 1)
    else:
        partial_dw += tl.load(DW, mask=mask)
        partial_db += tl.load(DB, mask=mask)
    tl.store(DW, partial_dw, mask=mask)
    tl.store(DB, partial_db, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(Lock, 0)


@triton.jit
def layer_norm_backward_w(DW, DB, SUM_DW, SUM_DB, M, N, M_BLOCK: tl.constexpr, N_BLOCK: tl.constexpr):
    columns = tl.program_id(0) * N_BLOCK + tl.arange(0, N_BLOCK)
    dw = tl.zeros((M_BLOCK, N_BLOCK), dtype=tl.float32)
    db = tl.zeros((M_BLOCK, N_BLOCK), dtype=tl.float32)
    for start in range(0, M, M_BLOCK):
        rows = start + tl.arange(0, M_BLOCK)
        mask = (rows[:, None] < M) & (columns[None, :] < N)
        offsets = rows[:, None] * N + columns[None, :]
        dw += tl.load(DW + offsets, mask=mask, other=0.0)
        db += tl.load(DB + offsets, mask=mask, other=0.0)
    tl.store(SUM_DW + columns, tl.sum(dw, axis=0), mask=columns < N)
    tl.store(SUM_DB + columns, tl.sum(db, axis=0), mask=columns < N)


def test_layer_norm_forward_and_backward_are_right() -> None:
    m, n, group = 9, 150, 4
    x, w, b, dy = torch.randn(m, n), torch.rand(n), torch.rand(n), torch.randn(m, n)
    mean, rstd = torch.empty(m, device="cuda"), torch.empty(m, device="cuda")
    y = torch.empty(m, n, device="cuda")
    device_x, device_w = x.cuda(), w.cuda()
    layer_norm_forward[(m,)](device_x, y, device_w, b.cuda(), mean, rstd, n, n, 1e-5, BLOCK=64, num_warps=2)
    for tensor in (x, w, b):
        tensor.requires_grad_()
    expected = torch.nn.functional.layer_norm(x, (n,), w, b, 1e-5)
    torch.testing.assert_close(y.cpu(), expected.detach(), rtol=1e-4, atol=1e-4)

    expected.backward(dy)
    lock = torch.zeros(2 * group, dtype=torch.int32, device="cuda")
    partial_w, partial_b = torch.zeros(group, n, device="cuda"), torch.zeros(group, n, device="cuda")
    dx, dw, db = torch.empty(m, n, device="cuda"), torch.empty(n, device="cuda"), torch.empty(n, device="cuda")
    layer_norm_backward_x[(m,)](
        dx, dy.cuda(), partial_w, partial_b, device_x, device_w, mean, rstd, lock, n, n, GROUP=group, BLOCK=256
    )
    layer_norm_backward_w[(triton.cdiv(n, 64),)](partial_w, partial_b, dw, db, group, n, M_BLOCK=32, N_BLOCK=64)
    for found, tensor in ((dx, x), (dw, w), (db, b)):
        torch.testing.assert_close(found.cpu(), tensor.grad, rtol=1e-3, atol=1e-3)


@triton.jit
def attention_forward(
    Q, K, V, Out, LogSum, stride_head, scale, N, HEAD: tl.constexpr, M_BLOCK: tl.constexpr, N_BLOCK: tl.constexpr,
    CAUSAL: tl.constexpr,
):  # fmt: skip
    start = tl.program_id(0) * M_BLOCK
    base = tl.program_id(1) * stride_head
    rows, dims = start + tl.arange(0, M_BLOCK), tl.arange(0, HEAD)
    q = tl.load(Q + base + rows[:, None] * HEAD + dims[None, :], mask=rows[:, None] < N, other=0.0)
    most = tl.full([M_BLOCK], -float("inf"), dtype=tl.float32)
    total = tl.zeros([M_BLOCK], dtype=tl.float32)
    result = tl.zeros([M_BLOCK, HEAD], dtype=tl.float32)
    end = min(start + M_BLOCK, N) if CAUSAL else N
    for first in range(0, end, N_BLOCK):
        columns = first + tl.arange(0, N_BLOCK)
        inside = columns < N
        k = tl.load(K + base + columns[None, :] * HEAD + dims[:, None], mask=inside[None, :], other=0.0)
        scores = tl.dot(q, k) * (scale * 1.44269504)
        keep = inside[None, :]
        if CAUSAL:
            keep = keep & (rows[:, None] >= columns[None, :])
        scores = tl.where(keep, scores, -1.0e6)
        highest = tl.maximum(most, tl.max(scores, 1))
        p = tl.math.exp2(scores - highest[:, None])
        alpha = tl.math.exp2(most - highest)
        total = total * alpha + tl.sum(p, 1)
        v = tl.load(V + base + columns[:, None] * HEAD + dims[None, :], mask=inside[:, None], other=0.0)
        result = tl.dot(p.to(v.dtype), v, result * alpha[:, None])
        most = highest
    result = result / total[:, None]
    tl.store(LogSum + tl.program_id(1) * N + rows, most + tl.math.log2(total), mask=rows < N)
    tl.store(Out + base + rows[:, None] * HEAD + dims[None, :], result.to(q.dtype), mask=rows[:, None] < N)


@triton.jit
def attention_backward_delta(Out, DOut, Delta, N, HEAD: tl.constexpr, BLOCK: tl.constexpr):
    rows, dims = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, HEAD)
    offsets = (tl.program_id(1) * N + rows[:, None]) * HEAD + dims[None, :]
    product = tl.load(Out + offsets).to(tl.float32) * tl.load(DOut + offsets).to(tl.float32)
    tl.store(Delta + tl.program_id(1) * N + rows, tl.sum(product, axis=1))


@triton.jit
def attention_backward_of_keys(
    dk, dv, Q, DOut, LogSum, Delta, k, v, columns, start, end, scale,
    HEAD: tl.constexpr, BLOCK: tl.constexpr, MASK: tl.constexpr,
):  # fmt: skip
    dims = tl.arange(0, HEAD)
    for first in range(start, end, BLOCK):
        rows = first + tl.arange(0, BLOCK)
        qt = tl.load(Q + rows[None, :] * HEAD + dims[:, None])
        pt = tl.math.exp2(tl.dot(k, qt) * (scale * 1.44269504) - tl.load(LogSum + rows)[None, :])
        if MASK:
            pt = tl.where(rows[None, :] >= columns[:, None], pt, 0.0)
        do = tl.load(DOut + rows[:, None] * HEAD + dims[None, :])
        dv = tl.dot(pt.to(do.dtype), do, dv)
        dpt = tl.dot(v, tl.trans(do))
        dst = pt * (dpt - tl.load(Delta + rows)[None, :])
        dk = tl.dot(dst.to(qt.dtype), tl.trans(qt), dk)
    return dk, dv


@triton.jit
def attention_backward_of_queries(
    dq, q, do, K, V, logsum, delta, rows, start, end, scale,
    HEAD: tl.constexpr, BLOCK: tl.constexpr, MASK: tl.constexpr,
):  # fmt: skip
    dims = tl.arange(0, HEAD)
    for first in range(start, end, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        kt = tl.load(K + columns[None, :] * HEAD + dims[:, None])
        vt = tl.load(V + columns[None, :] * HEAD + dims[:, None])
        p = tl.math.exp2(tl.dot(q, kt) * (scale * 1.44269504) - logsum[:, None])
        if MASK:
            p = tl.where(rows[:, None] >= columns[None, :], p, 0.0)
        ds = p * (tl.dot(do, vt) - delta[:, None])
        dq = tl.dot(ds.to(kt.dtype), tl.trans(kt), dq)
    return dq


@triton.jit
def attention_backward(
    Q, K, V, DOut, DQ, DK, DV, LogSum, Delta, scale, N, HEAD: tl.constexpr, BLOCK: tl.constexpr, STEP: tl.constexpr,
    CAUSAL: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1) * N
    Q += head * HEAD
    K += head * HEAD
    V += head * HEAD
    DOut += head * HEAD
    LogSum += head
    Delta += head
    start = tl.program_id(0) * BLOCK
    mine = start + tl.arange(0, BLOCK)
    offsets = mine[:, None] * HEAD + tl.arange(0, HEAD)[None, :]
    dk = tl.zeros([BLOCK, HEAD], dtype=tl.float32)
    dv = tl.zeros([BLOCK, HEAD], dtype=tl.float32)
    k, v = tl.load(K + offsets), tl.load(V + offsets)
    first = 0
    if CAUSAL:
        # The blocks on the diagonal have smaller steps, as in the tutorial.
        dk, dv = attention_backward_of_keys(
            dk, dv, Q, DOut, LogSum, Delta, k, v, mine, start, start + BLOCK, scale, HEAD, STEP // 2, True
        )
        first = start + BLOCK
    dk, dv = attention_backward_of_keys(dk, dv, Q, DOut, LogSum, Delta, k, v, mine, first, N, scale, HEAD, STEP, False)
    tl.store(DK + head * HEAD + offsets, dk * scale)
    tl.store(DV + head * HEAD + offsets, dv)
    dq = tl.zeros([BLOCK, HEAD], dtype=tl.float32)
    q, do = tl.load(Q + offsets), tl.load(DOut + offsets)
    logsum, delta = tl.load(LogSum + mine), tl.load(Delta + mine)
    last = N
    if CAUSAL:
        dq = attention_backward_of_queries(
            dq, q, do, K, V, logsum, delta, mine, start, start + BLOCK, scale, HEAD, STEP // 2, True
        )
        last = start
    dq = attention_backward_of_queries(dq, q, do, K, V, logsum, delta, mine, 0, last, scale, HEAD, STEP, False)
    tl.store(DQ + head * HEAD + offsets, dq * scale)


class Attention(torch.autograd.Function):
    """Attention with the tutorial's interface to autograd."""

    @staticmethod
    def forward(ctx, q, k, v, causal, scale):
        batch, heads, n, head = q.shape
        out, logsum = torch.empty_like(q), torch.empty(batch, heads, n, device=q.device)
        attention_forward[(triton.cdiv(n, 64), batch * heads)](
            q, k, v, out, logsum, n * head, scale, n, HEAD=head, M_BLOCK=64, N_BLOCK=32, CAUSAL=causal
        )
        ctx.save_for_backward(q, k, v, out, logsum)
        ctx.causal, ctx.scale = causal, scale
        return out

    @staticmethod
    def backward(ctx, do):
        q, k, v, out, logsum = ctx.saved_tensors
        batch, heads, n, head = q.shape
        delta, gradients = torch.empty_like(logsum), [torch.empty_like(tensor) for tensor in (q, k, v)]
        grid = (n // 64, batch * heads)
        attention_backward_delta[grid](out, do, delta, n, HEAD=head, BLOCK=64)
        attention_backward[grid](
            q, k, v, do, *gradients, logsum, delta, ctx.scale, n, HEAD=head, BLOCK=64, STEP=32, CAUSAL=ctx.causal,
            num_stages=5,
        )  # fmt: skip
        return *gradients, None, None


def attention_on_host(q, k, v, causal, scale):
    scores = q @ k.transpose(2, 3) * scale
    if causal:
        n = q.shape[2]
        scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), -float("inf"))
    return torch.softmax(scores, -1) @ v


@pytest.mark.parametrize("causal", [False, True])
def test_fused_attention_is_right(causal: bool) -> None:
    q, k, v = (torch.randn(1, 2, 96, 32).half() for _ in range(3))
    out = Attention.apply(q.cuda(), k.cuda(), v.cuda(), causal, 0.5)
    expected = attention_on_host(q.float(), k.float(), v.float(), causal, 0.5)
    torch.testing.assert_close(out.cpu().float(), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("causal", [False, True])
def test_backward_of_fused_attention_is_right(causal: bool) -> None:
    host = [torch.randn(1, 2, 128, 32).half() for _ in range(4)]
    q, k, v = (tensor.cuda().requires_grad_() for tensor in host[:3])
    Attention.apply(q, k, v, causal, 0.5).backward(host[3].cuda())
    inputs = [tensor.float().requires_grad_() for tensor in host[:3]]
    attention_on_host(*inputs, causal, 0.5).backward(host[3].float())
    for found, expected in zip((q, k, v), inputs, strict=True):
        torch.testing.assert_close(found.grad.cpu().float(), expected.grad, rtol=1e-2, atol=2e-2)
