"""Parts of Triton's language, each compared with PyTorch on the host."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)
triton = pytest.importorskip("triton", reason="Triton is not installed", exc_type=ImportError)
tl = pytest.importorskip("triton.language", exc_type=ImportError)
libdevice = pytest.importorskip("triton.language.extra.libdevice", exc_type=ImportError)

pytestmark = pytest.mark.usefixtures("simulator")


@triton.jit
def dot_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr,
    SUM: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=SUM)
    for k in range(0, K, BK):
        a = tl.load(
            a_ptr + rows[:, None] * K + (k + inner)[None, :],
            mask=(rows[:, None] < M) & ((k + inner)[None, :] < K),
            other=0.0,
        )
        b = tl.load(
            b_ptr + (k + inner)[:, None] * N + columns[None, :],
            mask=((k + inner)[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        total = tl.dot(a, b, total, input_precision=PRECISION, out_dtype=SUM)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total, mask=mask)


@pytest.mark.parametrize("tile", [(16, 16, 32), (64, 32, 32)], ids=["small", "large"])
@pytest.mark.parametrize(
    ("kind", "precision", "tolerance"),
    [
        ("float32", "ieee", 1e-4),
        ("float32", "tf32", 2e-2),
        ("float32", "tf32x3", 1e-4),
        ("float16", "tf32", 1e-3),
        ("bfloat16", "tf32", 1e-3),
        ("float64", "ieee", 1e-12),
        ("int8", "tf32", 0),
    ],
)
def test_matrix_product_is_right(kind: str, precision: str, tolerance: float, tile: tuple[int, int, int]) -> None:
    m, n, k = 48, 40, 64
    dtype = getattr(torch, kind)
    total = {"int8": (torch.int32, tl.int32), "float64": (torch.float64, tl.float64)}.get(
        kind, (torch.float32, tl.float32)
    )
    if dtype == torch.int8:
        a, b = (torch.randint(-100, 100, size, dtype=dtype) for size in ((m, k), (k, n)))
    else:
        a, b = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype)
    c = torch.empty(m, n, dtype=total[0], device="cuda")
    bm, bn, bk = tile
    grid = (triton.cdiv(m, bm), triton.cdiv(n, bn))
    dot_kernel[grid](a.cuda(), b.cuda(), c, m, n, k, bm, bn, bk, precision, total[1])
    expected = a.double() @ b.double()
    torch.testing.assert_close(c.cpu().double(), expected, rtol=tolerance, atol=tolerance * 8)


@pytest.mark.parametrize(
    ("first", "second"),
    [("float8_e5m2", "float8_e5m2"), ("float8_e4m3fn", "float8_e4m3fn"), ("float8_e5m2", "float8_e4m3fn")],
)
def test_matrix_product_of_eight_bit_floats_is_right(first: str, second: str) -> None:
    m, n, k = 48, 40, 64
    a, b = torch.randn(m, k).to(getattr(torch, first)), torch.randn(k, n).to(getattr(torch, second))
    c = torch.empty(m, n, device="cuda")
    dot_kernel[(3, 3)](a.cuda(), b.cuda(), c, m, n, k, 16, 16, 32, "tf32", tl.float32)
    torch.testing.assert_close(c.cpu(), a.float() @ b.float(), rtol=1e-5, atol=1e-5)


@triton.jit
def scaled_dot_kernel(
    a_ptr, a_scales, b_ptr, b_scales, c_ptr, K: tl.constexpr, PACKED: tl.constexpr, FORMAT: tl.constexpr
):
    # Elements of 32 x 32 results; a scale is of 32 elements along K, and a byte has K / PACKED elements.
    rows, inner, blocks = tl.arange(0, 32), tl.arange(0, PACKED), tl.arange(0, K // 32)
    a = tl.load(a_ptr + rows[:, None] * PACKED + inner[None, :])
    b = tl.load(b_ptr + inner[:, None] * 32 + rows[None, :])
    one = tl.load(a_scales + rows[:, None] * (K // 32) + blocks[None, :])
    other = tl.load(b_scales + rows[:, None] * (K // 32) + blocks[None, :])
    tl.store(c_ptr + rows[:, None] * 32 + rows[None, :], tl.dot_scaled(a, one, FORMAT, b, other, FORMAT))


@pytest.mark.parametrize("form", ["e5m2", "e4m3", "e2m1"])
def test_matrix_product_of_scaled_blocks_is_right(form: str) -> None:
    k = 64
    a_scales, b_scales = (torch.randint(120, 130, (32, k // 32), dtype=torch.uint8) for _ in range(2))
    if form == "e2m1":
        # Two elements to a byte, the first one in the low half.
        codes = torch.randint(0, 16, (32, k)), torch.randint(0, 16, (k, 32))
        magnitudes = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
        a, b = torch.cat([magnitudes, -magnitudes])[codes[0]], torch.cat([magnitudes, -magnitudes])[codes[1]]
        packed_a = (codes[0][:, 0::2] | codes[0][:, 1::2] << 4).to(torch.uint8)
        packed_b = (codes[1][0::2] | codes[1][1::2] << 4).to(torch.uint8)
    else:
        dtype = {"e5m2": torch.float8_e5m2, "e4m3": torch.float8_e4m3fn}[form]
        a, b = torch.randn(32, k).to(dtype), torch.randn(k, 32).to(dtype)
        packed_a, packed_b = a.view(torch.uint8), b.view(torch.uint8)
    c = torch.empty(32, 32, device="cuda")
    arguments = packed_a.cuda(), a_scales.cuda(), packed_b.cuda(), b_scales.cuda()
    scaled_dot_kernel[(1,)](*arguments, c, k, packed_a.shape[1], form)
    one, other = (torch.exp2(scales.float() - 127).repeat_interleave(32, 1) for scales in (a_scales, b_scales))
    expected = (a.float() * one) @ (b.float() * other.T)
    torch.testing.assert_close(c.cpu(), expected, rtol=1e-5, atol=1e-3)


@triton.jit
def normalize_kernel(x_ptr, y_ptr, COUNT: tl.constexpr):
    offsets = tl.program_id(0) * COUNT + tl.arange(0, COUNT)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, x / tl.sum(x))


@pytest.mark.parametrize("blocks", [2, 4])
def test_reduction_in_a_cluster_is_right(blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Triton has clusters from capability 9.0 on only, and the package chooses 8.9.
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm90")
    x = torch.rand(3, 512)
    y = torch.empty(3, 512, device="cuda")
    kernel = normalize_kernel[(3,)](x.cuda(), y, COUNT=512, num_ctas=blocks)
    assert "mapa.shared::cluster" in kernel.asm["ptx"]
    torch.testing.assert_close(y.cpu(), x / x.sum(1, keepdim=True))


@triton.jit
def reduce_kernel(x_ptr, sums_ptr, places_ptr, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    COUNT: tl.constexpr = C if AXIS == 0 else R
    tl.store(sums_ptr + tl.arange(0, COUNT), tl.sum(x, AXIS) + tl.max(x, AXIS) * tl.min(x, AXIS))
    tl.store(places_ptr + tl.arange(0, COUNT), tl.argmax(x, AXIS) * 1000 + tl.argmin(x, AXIS))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(4, 64), (64, 4), (32, 128)])
def test_reductions_are_right(shape: tuple[int, int], axis: int) -> None:
    x = torch.randn(shape)
    count = shape[1 - axis]
    sums, places = torch.empty(count, device="cuda"), torch.empty(count, dtype=torch.int32, device="cuda")
    reduce_kernel[(1,)](x.cuda(), sums, places, *shape, axis)
    torch.testing.assert_close(sums.cpu(), x.sum(axis) + x.amax(axis) * x.amin(axis))
    assert (places.cpu() == x.argmax(axis) * 1000 + x.argmin(axis)).all()


@triton.jit
def plus(one, other):
    return one + other


@triton.jit
def scan_kernel(x_ptr, sums_ptr, reverse_ptr, R: tl.constexpr, C: tl.constexpr):
    offsets = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    x = tl.load(x_ptr + offsets)
    tl.store(sums_ptr + offsets, tl.cumsum(x, 1))
    tl.store(reverse_ptr + offsets, tl.associative_scan(x, 0, plus, reverse=True))


@pytest.mark.parametrize(("shape", "warps"), [((8, 64), 1), ((16, 128), 4)])
def test_scans_are_right(shape: tuple[int, int], warps: int) -> None:
    x = torch.randn(shape)
    sums, reverse = torch.empty(shape, device="cuda"), torch.empty(shape, device="cuda")
    scan_kernel[(1,)](x.cuda(), sums, reverse, *shape, num_warps=warps)
    torch.testing.assert_close(sums.cpu(), x.cumsum(1), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(reverse.cpu(), x.flip(0).cumsum(0).flip(0), rtol=1e-4, atol=1e-4)


@triton.jit
def sort_kernel(x_ptr, sorted_ptr, flipped_ptr, most_ptr, C: tl.constexpr, K: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, C))
    tl.store(sorted_ptr + tl.arange(0, C), tl.sort(x))
    tl.store(flipped_ptr + tl.arange(0, C), tl.flip(x))
    tl.store(most_ptr + tl.arange(0, K), tl.topk(x, K))


@pytest.mark.parametrize("kind", ["float32", "int64"])
def test_sort_flip_and_topk_are_right(kind: str) -> None:
    x = torch.randint(-99, 99, (64,)).to(getattr(torch, kind))
    ordered, flipped, most = (torch.empty(count, dtype=x.dtype, device="cuda") for count in (64, 64, 8))
    sort_kernel[(1,)](x.cuda(), ordered, flipped, most, 64, 8)
    assert (ordered.cpu() == x.sort().values).all()
    assert (flipped.cpu() == x.flip(0)).all()
    assert (most.cpu() == x.topk(8).values).all()


@triton.jit
def lookup_kernel(x_ptr, index_ptr, found_ptr, counts_ptr, N: tl.constexpr, BINS: tl.constexpr):
    offsets = tl.arange(0, N)
    index = tl.load(index_ptr + offsets)
    tl.store(found_ptr + offsets, tl.gather(tl.load(x_ptr + offsets), index, 0))
    tl.store(counts_ptr + tl.arange(0, BINS), tl.histogram(index, BINS))


def test_gather_and_histogram_are_right() -> None:
    x, index = torch.randn(128), torch.randint(0, 32, (128,), dtype=torch.int32)
    found, counts = torch.empty(128, device="cuda"), torch.empty(32, dtype=torch.int32, device="cuda")
    lookup_kernel[(1,)](x.cuda(), index.cuda(), found, counts, 128, 32)
    assert (found.cpu() == x[index.long()]).all()
    assert (counts.cpu() == torch.bincount(index, minlength=32)).all()


@triton.jit
def shape_kernel(x_ptr, transposed_ptr, woven_ptr, R: tl.constexpr, C: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    tl.store(transposed_ptr + tl.arange(0, C)[:, None] * R + tl.arange(0, R)[None, :], tl.trans(x))
    even, odd = tl.split(tl.reshape(x, (R * C // 2, 2)))
    tl.store(woven_ptr + tl.arange(0, R * C), tl.interleave(odd, even))


@pytest.mark.parametrize("kind", ["float32", "float16", "int8", "float64"])
def test_transpose_split_and_interleave_are_right(kind: str) -> None:
    x = torch.randint(-99, 99, (64, 32)).to(getattr(torch, kind))
    transposed = torch.empty(32, 64, dtype=x.dtype, device="cuda")
    woven = torch.empty(2048, dtype=x.dtype, device="cuda")
    shape_kernel[(1,)](x.cuda(), transposed, woven, 64, 32)
    assert (transposed.cpu() == x.T).all()
    assert (woven.cpu() == x.reshape(-1, 2).flip(1).reshape(-1)).all()


@triton.jit
def atomic_kernel(x_ptr, sum_ptr, most_ptr, counts_ptr, halves_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    tl.atomic_add(sum_ptr, tl.sum(x))
    tl.atomic_max(most_ptr, tl.max(x))
    tl.atomic_add(counts_ptr + offsets % 7, 1, mask=mask)
    tl.atomic_add(halves_ptr + offsets % 4, x.to(tl.float16), mask=mask)


def test_atomic_operations_are_right() -> None:
    x = torch.randint(0, 9, (1000,)).float()
    total, most = torch.zeros(1, device="cuda"), torch.zeros(1, device="cuda")
    counts = torch.zeros(7, dtype=torch.int32, device="cuda")
    halves = torch.zeros(4, dtype=torch.float16, device="cuda")
    atomic_kernel[(8,)](x.cuda(), total, most, counts, halves, 1000, BLOCK=128)
    assert (total.item(), most.item()) == (x.sum().item(), 8)
    assert (counts.cpu() == torch.bincount(torch.arange(1000) % 7)).all()
    torch.testing.assert_close(halves.cpu().float(), x.reshape(-1, 4).sum(0), rtol=1e-2, atol=1)


@triton.jit
def locked_kernel(lock_ptr, counter_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    # All threads load the value, and one of them stores the new one.
    tl.store(counter_ptr, tl.load(counter_ptr) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@pytest.mark.parametrize("warps", [1, 4])
def test_update_under_a_lock_is_right_and_has_no_findings(warps: int) -> None:
    lock, counter = (torch.zeros(1, dtype=torch.int32, device="cuda") for _ in range(2))
    locked_kernel[(16,)](lock, counter, num_warps=warps)
    assert counter.item() == 16


@triton.jit
def random_kernel(uniform_ptr, normal_ptr, seed, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(uniform_ptr + offsets, tl.rand(seed, offsets), mask=mask)
    tl.store(normal_ptr + offsets, tl.randn(seed, offsets), mask=mask)


def test_random_numbers_have_their_distributions() -> None:
    n = 4000
    uniform, normal, again = (torch.empty(n, device="cuda") for _ in range(3))
    random_kernel[(triton.cdiv(n, 256),)](uniform, normal, 42, n, BLOCK=256)
    random_kernel[(triton.cdiv(n, 256),)](again, normal, 42, n, BLOCK=256)
    uniform, normal = uniform.cpu(), normal.cpu()
    assert (again.cpu() == uniform).all()
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.03
    assert abs(normal.mean()) < 0.06
    assert abs(normal.std() - 1) < 0.06


@triton.jit
def math_kernel(x_ptr, output_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=1.0)
    y = tl.exp(x) + tl.log(x) + tl.sqrt(x) + tl.rsqrt(x) + tl.sin(x) + tl.cos(x) + tl.sigmoid(x) + tl.erf(x)
    y += libdevice.tanh(x) + libdevice.pow(x, x) + libdevice.atan2(x, x) + libdevice.lgamma(x)
    tl.store(output_ptr + offsets, y, mask=mask)


@pytest.mark.parametrize(("kind", "tolerance"), [("float32", 1e-4), ("float64", 1e-10)])
def test_mathematical_functions_are_right(kind: str, tolerance: float) -> None:
    x = torch.rand(500, dtype=getattr(torch, kind)) + 0.5
    output = torch.empty_like(x, device="cuda")
    math_kernel[(4,)](x.cuda(), output, 500, BLOCK=128)
    expected = x.exp() + x.log() + x.sqrt() + x.rsqrt() + x.sin() + x.cos() + x.sigmoid() + x.erf()
    expected += x.tanh() + x.pow(x) + torch.atan2(x, x) + x.lgamma()
    torch.testing.assert_close(output.cpu(), expected, rtol=tolerance, atol=tolerance)


@triton.jit
def convert_kernel(x_ptr, narrow_ptr, back_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    narrow = tl.load(x_ptr + offsets).to(narrow_ptr.dtype.element_ty)
    tl.store(narrow_ptr + offsets, narrow)
    tl.store(back_ptr + offsets, narrow.to(tl.float32))


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "int8", "int64"])
def test_conversions_round_as_pytorch(kind: str) -> None:
    x = torch.randn(256) * 8
    narrow, back = torch.empty(256, dtype=getattr(torch, kind), device="cuda"), torch.empty(256, device="cuda")
    convert_kernel[(1,)](x.cuda(), narrow, back, 256)
    expected = x.to(narrow.dtype)
    assert (narrow.view(torch.uint8).cpu() == expected.view(torch.uint8)).all()
    assert (back.cpu() == expected.float()).all()


@triton.jit
def descriptor_kernel(x_ptr, output_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    output = tl.make_tensor_descriptor(output_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    output.store([row, column], x.load([row, column]) * 2)


def test_tensor_descriptors_are_pointers() -> None:
    x, output = torch.randn(50, 64), torch.empty(50, 64, device="cuda")
    descriptor_kernel[(4, 2)](x.cuda(), output, 50, 64, 16, 32)
    assert (output.cpu() == x * 2).all()


@triton.jit
def double_kernel(x_ptr, output_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(output_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * 2, mask=mask)


def test_autotune_and_do_bench_measure() -> None:
    configs = [triton.Config({"BLOCK": 64}, num_warps=1), triton.Config({"BLOCK": 256}, num_warps=4)]
    tuned = triton.autotune(configs=configs, key=["n"])(double_kernel)
    x, output = torch.randn(1000), torch.empty(1000, device="cuda")
    device = x.cuda()
    tuned[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](device, output, 1000)
    assert (output.cpu() == x * 2).all()
    assert tuned.best_config in configs
    launch = double_kernel[(4,)]
    assert triton.testing.do_bench(lambda: launch(device, output, 1000, BLOCK=256), warmup=1, rep=2) >= 0


@triton.jit
def print_kernel(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 32))
    tl.device_print("value", x)
    tl.device_assert(x >= 0, "a value is negative")


def test_device_print_prints(capfd: pytest.CaptureFixture[str]) -> None:
    print_kernel[(1,)](torch.arange(32, dtype=torch.int32).cuda(), num_warps=1)
    torch.cuda.synchronize()
    assert "value: 31" in capfd.readouterr().out
