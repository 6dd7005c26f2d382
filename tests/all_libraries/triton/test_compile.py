"""torch.compile: inductor's kernels in Triton, compared with PyTorch on the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed", exc_type=ImportError)
pytest.importorskip("triton", reason="Triton is not installed", exc_type=ImportError)

pytestmark = pytest.mark.usefixtures("simulator")


@pytest.fixture(autouse=True)
def fresh_compiler() -> None:
    """Forget the functions that other tests have compiled."""
    torch._dynamo.reset()


def check(function: Callable[..., Any], *arguments: Any, tolerance: float = 1e-4, **options: Any) -> None:
    """Compare a compiled function on the device with the function on the host."""
    expected = function(*(argument.clone() for argument in arguments))
    found = torch.compile(function, **options)(*(argument.cuda() for argument in arguments))
    if not isinstance(expected, tuple):
        expected, found = (expected,), (found,)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.cpu(), other, rtol=tolerance, atol=tolerance)


def test_elementwise_operations_are_right() -> None:
    check(lambda x, y: (x.sin() * y + x.exp()).relu() - y.sigmoid(), torch.randn(50, 7), torch.randn(7))


def test_reductions_are_right() -> None:
    check(lambda x: (x.sum(1), x.mean(), x.amax(0), x.var(1), x.argmax(1), x.softmax(-1)), torch.randn(20, 100))


def test_reduction_in_two_kernels_is_right() -> None:
    check(lambda x: x.sum(), torch.randn(20000), tolerance=1e-2)


def test_indexing_is_right() -> None:
    index = torch.tensor([1, 3, 5, 7, 0])
    check(lambda x, i: (x[i], x[:, 2:5] * 2, x.index_select(1, i[:3])), torch.randn(9, 8), index)


def test_concatenation_is_right() -> None:
    check(lambda x, y: torch.cat([x, y * 2, x + 1], 1), torch.randn(5, 6), torch.randn(5, 7))


def test_scans_are_right() -> None:
    check(lambda x: (x.cumsum(1), x.cumprod(0)), torch.rand(12, 33))


def test_layer_norm_is_right() -> None:
    arguments = torch.randn(10, 64), torch.rand(64), torch.rand(64)
    check(lambda x, w, b: torch.nn.functional.layer_norm(x, (64,), w, b), *arguments)


def test_scatter_with_atomic_addition_is_right() -> None:
    arguments = torch.zeros(10), torch.randint(0, 10, (50,)), torch.rand(50)
    check(lambda zeros, i, x: zeros.index_add(0, i, x), *arguments)


def test_sort_is_right() -> None:
    check(lambda x: x.sort(1).values, torch.randn(6, 20))


def test_half_precision_is_right() -> None:
    check(lambda x: (x * x).sum(0), torch.randn(32, 16).half(), tolerance=1e-2)


@pytest.mark.parametrize("count", [1, 5, 32, 1000])
def test_update_in_place_is_right_and_has_no_findings(count: int) -> None:
    @torch.compile
    def update(x: Any) -> Any:
        return x.add_(1).mul_(2)

    x = torch.zeros(count, device="cuda")
    update(x)
    assert (x.cpu() == 2).all()


def test_memory_and_properties_are_those_of_the_device() -> None:
    properties = torch.cuda.get_device_properties(0)
    assert (properties.major, properties.minor) == torch.cuda.get_device_capability()
    assert properties.warp_size == 32
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total == properties.total_memory
    before = torch.cuda.memory_allocated()
    x = torch.empty(1 << 20, device="cuda")
    assert torch.cuda.memory_allocated() == before + x.nbytes
    del x
    assert torch.cuda.memory_allocated() == before
    assert torch.cuda.max_memory_allocated() >= before + (4 << 20)


def test_training_step_is_right() -> None:
    first, second = torch.randn(8, 16) * 0.3, torch.randn(16, 4) * 0.3
    x, y = torch.randn(5, 8), torch.randn(5, 4)

    def loss(parameters: list[Any], x: Any, y: Any) -> Any:
        hidden = torch.tanh((x[:, :, None] * parameters[0]).sum(1))
        return (((hidden[:, :, None] * parameters[1]).sum(1) - y) ** 2).mean()

    def step(parameters: list[Any], gradients: list[Any]) -> None:
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.sub_(gradient * 0.1)

    def train(loss: Any, step: Any, device: str) -> tuple[list[Any], list[float]]:
        parameters = [each.clone().to(device).requires_grad_() for each in (first, second)]
        losses = []
        for _ in range(2):
            value = loss(parameters, x.to(device), y.to(device))
            # Without a gradient, PyTorch makes one with its own kernel.
            gradients = torch.autograd.grad(value, parameters, torch.tensor(1.0).to(device))
            with torch.no_grad():
                step([parameter.detach() for parameter in parameters], list(gradients))
            losses.append(value.item())
        return [parameter.detach().cpu() for parameter in parameters], losses

    expected, host_losses = train(loss, step, "cpu")
    found, losses = train(torch.compile(loss), torch.compile(step), "cuda")
    assert losses == pytest.approx(host_losses, rel=1e-4)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


@pytest.fixture
def on_host() -> Iterator[None]:
    """Carry out on the host what inductor leaves to PyTorch's kernels, and check that inductor wrote a kernel."""
    from torch._inductor import metrics

    from cuarray_sim.pytorch import OnHost

    metrics.reset()
    with OnHost():
        yield
    assert metrics.generated_kernel_count > 0


def test_dropout_follows_the_seed(on_host: None) -> None:
    drop = torch.compile(lambda x: torch.nn.functional.dropout(x, 0.25) * 3)
    x, found = torch.ones(200).cuda(), []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(drop(x).cpu())
    assert (found[0] == found[1]).all()
    assert (found[0] != found[2]).any()
    assert set(found[0].tolist()) == {0, 4}
    assert 110 < (found[0] > 0).sum() < 190


@pytest.mark.parametrize("batch", [3, 8, 40])
def test_backward_pass_of_dropout_has_no_findings(on_host: None, batch: int) -> None:
    torch.manual_seed(0)
    layers = torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Dropout(0.25), torch.nn.Linear(32, 4)
    model = torch.nn.Sequential(*layers).cuda()
    step = torch.compile(lambda x, y: torch.nn.functional.mse_loss(model(x), y))
    x, y = torch.randn(batch, 16), torch.randn(batch, 4)
    loss = step(x.cuda(), y.cuda())
    gradients = torch.autograd.grad(loss, list(model.parameters()), torch.tensor(1.0).cuda())
    assert [gradient.shape for gradient in gradients] == [parameter.shape for parameter in model.parameters()]
    assert all(torch.isfinite(gradient.cpu()).all() for gradient in gradients)


@pytest.mark.parametrize("shape", [(8, 4), (3, 5), (8, 130)])
def test_reduction_that_updates_its_argument_is_right_and_has_no_findings(shape: tuple[int, int]) -> None:
    def total(x: Any) -> Any:
        x.add_(1)
        return x.sum(0)

    def softmax(x: Any) -> Any:
        y = x.softmax(1)
        x.copy_(y)
        return y.sum(0)

    for function in (total, softmax):
        x = torch.rand(shape)
        on_device = x.cuda()
        expected, found = function(x), torch.compile(function)(on_device)
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(on_device.cpu(), x, rtol=1e-4, atol=1e-4)


def test_folded_constants_are_right(on_host: None) -> None:
    check(lambda x: torch.full((8,), 2.0, device=x.device) * 3 + x * torch.ones(8, device=x.device), torch.randn(8))


def test_matrix_product_on_the_host_and_its_epilogue_are_right(on_host: None) -> None:
    check(lambda x, y: (x @ y).relu() + 1, torch.randn(12, 20), torch.randn(20, 9))


def test_tuned_matrix_product_is_right(on_host: None) -> None:
    options = {"max_autotune": True, "max_autotune_gemm_backends": "TRITON"}
    check(lambda x, y: (x @ y).relu(), torch.randn(16, 16), torch.randn(16, 16), options=options)


@pytest.fixture
def graphs() -> Iterator[None]:
    """Release the graphs that inductor keeps."""
    yield
    torch._dynamo.reset()


@pytest.mark.usefixtures("graphs")
def test_replayed_graphs_are_right(on_host: None) -> None:
    wave = torch.compile(lambda x: x.sin() * 2 + x.sum(), mode="reduce-overhead")
    for _ in range(4):
        x = torch.randn(64)
        torch.testing.assert_close(wave(x.cuda()).cpu(), x.sin() * 2 + x.sum())


def test_flex_attention_with_a_block_mask_forward_and_backward_is_right(on_host: None) -> None:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    host = [torch.randn(1, 2, 128, 16) for _ in range(3)]
    q, k, v = (tensor.cuda().requires_grad_() for tensor in host)
    mask = create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 128, 128, device="cuda")
    found = torch.compile(flex_attention)(q, k, v, block_mask=mask)
    found.backward(torch.ones(found.shape).cuda())
    for tensor in host:
        tensor.requires_grad_()
    expected = torch.nn.functional.scaled_dot_product_attention(*host, is_causal=True)
    expected.backward(torch.ones(expected.shape))
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-4, atol=1e-4)
    for one, other in zip((q, k, v), host, strict=True):
        torch.testing.assert_close(one.grad.cpu(), other.grad, rtol=1e-3, atol=1e-4)
