"""PyTorch's recurrent layers call cuDNN, whose stand-in computes them in the order of streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

Sides = Callable[[], list[tuple[str, str]]]

LAYERS: dict[str, tuple[type[nn.RNNBase], dict[str, Any]]] = {
    "lstm": (nn.LSTM, {}),
    "projection": (nn.LSTM, {"proj_size": 3}),
    "gru": (nn.GRU, {}),
    "tanh": (nn.RNN, {}),
    "relu": (nn.RNN, {"nonlinearity": "relu"}),
    "no bias": (nn.LSTM, {"bias": False}),
}
TOLERANCES = {torch.float32: 1e-5, torch.float64: 1e-12, torch.float16: 5e-3, torch.bfloat16: 3e-2}


def close(found: Iterable[torch.Tensor], expected: Iterable[torch.Tensor], tolerance: float) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        difference = (ours.detach().cpu().double() - theirs.detach()).abs().max() / theirs.detach().abs().max()
        assert difference < tolerance


def pair(name: str, dtype: torch.dtype, **settings: Any) -> tuple[nn.RNNBase, nn.RNNBase]:
    """Return a layer of the host, in double, and the same layer of the device."""
    kind, own = LAYERS[name]
    torch.manual_seed(0)
    on_device = kind(5, 7, num_layers=2, **own, **settings).to(dtype)
    on_host = kind(5, 7, num_layers=2, **own, **settings).double()
    on_host.load_state_dict(on_device.state_dict())
    return on_host, on_device.cuda()


def states(result: Any) -> tuple[torch.Tensor, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("dtype", list(TOLERANCES), ids=str)
@pytest.mark.parametrize("bidirectional", [False, True], ids=["one direction", "two directions"])
@pytest.mark.parametrize("name", list(LAYERS))
def test_results_and_gradients_are_those_of_the_host(name: str, bidirectional: bool, dtype: torch.dtype) -> None:
    on_host, on_device = pair(name, dtype, bidirectional=bidirectional)
    x = torch.randn(4, 3, 5).to(dtype)
    gradient = torch.randn(4, 3, on_host(x.double())[0].shape[2]).to(dtype)
    inputs = x.double().clone().requires_grad_(), x.cuda().requires_grad_()
    expected, found = on_host(inputs[0]), on_device(inputs[1])
    expected[0].backward(gradient.double())
    found[0].backward(gradient.cuda())
    close((found[0], *states(found[1])), (expected[0], *states(expected[1])), TOLERANCES[dtype])
    gradients = [
        [values.grad, *(each.grad for each in layer.parameters())]
        for values, layer in zip(inputs, (on_host, on_device), strict=True)
    ]
    close(gradients[1], gradients[0], TOLERANCES[dtype])


@pytest.mark.parametrize("name", ["lstm", "gru", "tanh"])
def test_packed_sequences_have_the_results_of_the_host(name: str) -> None:
    on_host, on_device = pair(name, torch.float32, bidirectional=True)
    packed = pack_padded_sequence(torch.randn(4, 3, 5), torch.tensor([4, 2, 1]))
    expected, last = on_host(packed.to(torch.float64))
    found, found_last = on_device(packed.to("cuda"))
    close([found.data, *states(found_last)], [expected.data, *states(last)], 1e-5)
    assert pad_packed_sequence(found.to("cpu"))[1].tolist() == [4, 2, 1]


def test_layers_without_training_have_the_results_of_the_host() -> None:
    on_host, on_device = pair("lstm", torch.float32, dropout=0.5)
    on_host.eval(), on_device.eval()
    x = torch.randn(4, 3, 5)
    with torch.no_grad():
        close([on_device(x.cuda())[0]], [on_host(x.double())[0]], 1e-5)


def test_dropout_between_layers_keeps_the_mean() -> None:
    on_host, on_device = pair("lstm", torch.float32)
    x, zero = torch.randn(4, 3, 5), torch.zeros(2, 3, 7, device="cuda")
    # PyTorch's own layer draws the seed by a kernel.
    state = torch._cudnn_init_dropout_state(0.5, True, 3, dtype=torch.uint8, device="cuda")
    sizes = 2, 7, 0, 2
    arguments = x.cuda(), on_device._flat_weights, 4, None, zero, zero, *sizes, False, 0.5, True, False, [], state
    results = [torch._cudnn_rnn(*arguments)[0].cpu() for _ in range(200)]
    assert not torch.equal(results[0], results[1])
    # The states of the second layer are almost linear in its inputs.
    close([torch.stack(results).mean(0)], [on_host(x.double())[0]], 0.2)


def losses(device: str) -> list[float]:
    """Return the losses of a training, whose loss and updates are computed on the host."""
    torch.manual_seed(0)
    layer = nn.LSTM(3, 6, num_layers=2, bidirectional=True)
    x, target = torch.randn(5, 4, 3), torch.randn(5, 4, 12) / 4
    layer = layer.to(device)
    found = []
    for _ in range(10):
        y = layer(x.to(device))[0]
        on_host = y.detach().cpu().requires_grad_()
        loss = ((on_host - target) ** 2).mean()
        loss.backward()
        y.backward(on_host.grad.to(device))
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.copy_(parameter.cpu() - 0.5 * parameter.grad.cpu())
                parameter.grad = None
        found.append(loss.item())
    return found


def test_training_of_ten_steps_has_the_losses_of_the_host() -> None:
    found = losses("cuda")
    assert found[-1] < found[0]
    assert found == pytest.approx(losses("cpu"), rel=1e-4)


@pytest.mark.cuarray_sim(expect="data-race")
def test_layer_of_a_tensor_that_another_stream_copies_is_a_race(sides: Sides) -> None:
    layer, x = nn.GRU(5, 7).cuda(), torch.zeros(4, 3, 5, device="cuda")
    source = torch.ones(4, 3, 5).pin_memory()
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        x.copy_(source, non_blocking=True)
    layer(x)
    assert sides() == [("torch", "x.copy_(source, non_blocking=True)"), ("cuarray_sim", "layer(x)")]


def test_layer_after_a_wait_has_no_findings() -> None:
    layer, x = nn.GRU(5, 7).cuda(), torch.zeros(4, 3, 5, device="cuda")
    source, stream = torch.ones(4, 3, 5).pin_memory(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        x.copy_(source, non_blocking=True)
    torch.cuda.current_stream().wait_stream(stream)
    layer(x)
