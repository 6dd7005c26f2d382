"""PyTorch's convolutions and batch normalization call cuDNN, whose stand-in computes them in the order of streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

Sides = Callable[[], list[tuple[str, str]]]

CASES: dict[str, tuple[Callable[..., torch.Tensor], tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "lines": (F.conv1d, (2, 4, 9), (6, 4, 3), {}),
    "images": (F.conv2d, (2, 3, 8, 8), (4, 3, 3, 3), {"padding": 1}),
    "groups": (F.conv2d, (2, 4, 9, 8), (6, 2, 3, 3), {"padding": (2, 1), "stride": 2, "groups": 2}),
    "dilated": (F.conv2d, (2, 4, 9, 8), (6, 4, 3, 3), {"dilation": 2}),
    "volumes": (F.conv3d, (2, 4, 5, 6, 7), (6, 4, 3, 2, 3), {}),
    "transposed": (F.conv_transpose2d, (2, 3, 8, 8), (3, 4, 3, 3), {"padding": 1}),
}
TOLERANCES = {torch.float32: 1e-5, torch.float64: 1e-12, torch.float16: 2e-3, torch.bfloat16: 2e-2}


def leaf(tensor: torch.Tensor, **how: Any) -> torch.Tensor:
    return tensor.detach().to(**how).requires_grad_()


@pytest.mark.parametrize("dtype", list(TOLERANCES), ids=str)
@pytest.mark.parametrize("name", list(CASES))
def test_convolution_and_gradients_are_those_of_the_host(name: str, dtype: torch.dtype) -> None:
    function, *shapes, settings = CASES[name]
    torch.manual_seed(0)
    x, w = (torch.randn(shape).to(dtype) for shape in shapes)
    on_host = leaf(x, dtype=torch.float64), leaf(w, dtype=torch.float64)
    expected = function(*on_host, **settings)
    gradient = torch.randn_like(expected).to(dtype)
    expected.backward(gradient.double())
    on_device = leaf(x, device="cuda"), leaf(w, device="cuda")
    found = function(*on_device, **settings)
    found.backward(gradient.cuda())
    for ours, theirs in (
        (found, expected),
        *((ours.grad, theirs.grad) for ours, theirs in zip(on_device, on_host, strict=True)),
    ):
        assert ours is not None
        assert theirs is not None
        difference = (ours.detach().cpu().double() - theirs.detach()).abs().max() / theirs.detach().abs().max()
        assert difference < TOLERANCES[dtype]


def test_batch_normalization_is_that_of_the_host() -> None:
    torch.manual_seed(0)
    x, weight, bias = torch.randn(4, 3, 5, 5), torch.randn(3), torch.randn(3)
    running = torch.zeros(3), torch.ones(3)
    on_device = [each.cuda() for each in running]
    found = F.batch_norm(x.cuda(), *on_device, weight.cuda(), bias.cuda(), training=True)
    torch.testing.assert_close(found.cpu(), F.batch_norm(x, *running, weight, bias, training=True))
    for ours, theirs in zip(on_device, running, strict=True):
        torch.testing.assert_close(ours.cpu(), theirs)


@pytest.mark.cuarray_sim(expect="data-race")
def test_convolution_of_a_tensor_that_another_stream_copies_is_a_race(sides: Sides) -> None:
    x, w = torch.zeros(1, 1, 8, 8, device="cuda"), torch.zeros(1, 1, 3, 3, device="cuda")
    source = torch.ones(1, 1, 8, 8).pin_memory()
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        x.copy_(source, non_blocking=True)
    F.conv2d(x, w)
    assert sides() == [("torch", "x.copy_(source, non_blocking=True)"), ("cuarray_sim", "F.conv2d(x, w)")]


def test_convolution_after_a_wait_has_no_findings() -> None:
    x, w = torch.zeros(1, 1, 8, 8, device="cuda"), torch.zeros(1, 1, 3, 3, device="cuda")
    source, stream = torch.ones(1, 1, 8, 8).pin_memory(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        x.copy_(source, non_blocking=True)
    torch.cuda.current_stream().wait_stream(stream)
    F.conv2d(x, w)
