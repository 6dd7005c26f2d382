"""PyTorch's samples of images at grids, and its CTC loss, call cuDNN, whose stand-in computes them in the order of streams."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional


def sampled(device: str, dtype: torch.dtype) -> list[torch.Tensor]:
    """Return a grid, the samples there, and the gradients of the maps and of the images."""
    torch.manual_seed(0)
    maps, images, change = torch.randn(2, 2, 3) / 2, torch.randn(2, 3, 6, 7), torch.randn(2, 3, 4, 5)
    maps, images = (each.to(dtype).to(device).requires_grad_() for each in (maps, images))
    if device == "cuda":
        grid = torch.cudnn_affine_grid_generator(maps, 2, 3, 4, 5)
    else:
        grid = functional.affine_grid(maps, [2, 3, 4, 5], align_corners=True)
    samples = functional.grid_sample(images, grid, align_corners=True)
    samples.backward(change.to(dtype).to(device))
    assert maps.grad is not None
    assert images.grad is not None
    return [each.detach().cpu() for each in (grid, samples, maps.grad, images.grad)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_samples_at_a_grid_and_gradients_are_those_of_the_host(dtype: torch.dtype) -> None:
    tolerance = 1e-5 if dtype is torch.float32 else 1e-12
    for found, expected in zip(sampled("cuda", dtype), sampled("cpu", dtype), strict=True):
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
def test_ctc_loss_and_its_gradient_are_those_of_the_host(on_device: bool) -> None:
    torch.manual_seed(0)
    logs = torch.randn(6, 3, 5).log_softmax(2)
    lists = [torch.tensor(each, dtype=torch.int32) for each in ([1, 2, 3, 3, 1], [6, 5, 6], [2, 2, 1])]
    given = logs.clone().requires_grad_()
    expected = functional.ctc_loss(given, *(each.long() for each in lists), reduction="none")
    expected.sum().backward()
    labels, steps, lengths = (each.cuda() for each in lists) if on_device else lists
    assert torch._use_cudnn_ctc_loss(logs.cuda(), labels, steps, lengths, 0)
    losses, gradient = torch._cudnn_ctc_loss(logs.cuda(), labels, steps, lengths, 0, False, False)
    torch.testing.assert_close(losses.cpu(), expected.detach(), rtol=1e-5, atol=1e-5)
    assert given.grad is not None
    torch.testing.assert_close(gradient.cpu(), given.grad, rtol=1e-4, atol=1e-5)
