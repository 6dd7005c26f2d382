"""Recurrent layers by cuDNN, and the fused cells of single steps, which PyTorch has for CUDA only, as operations on tensors of any device.

Gates are computed in the order of PyTorch's documentation of ``LSTMCell`` and ``GRUCell``. Only these functions read the workspaces.
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["CELLS", "LAYERS", "by_cudnn"]

LAYERS = [
    getattr(getattr(torch.ops.aten, kind), case)
    for kind, case in itertools.product(("lstm", "gru", "rnn_tanh", "rnn_relu"), ("input", "data"))
]


def by_cudnn(func: Any, *args: Any) -> Any:
    """Carry out a layer by cuDNN, as PyTorch does. Its own kernels would be hundreds of operations on the host."""
    with torch.backends.cudnn.flags(enabled=True), warnings.catch_warnings():
        # A layer does not put its parameters together while cuDNN is off.
        warnings.filterwarnings("ignore", message="RNN module weights are not part of single contiguous chunk")
        start = next(index for index, each in enumerate(args) if isinstance(each, bool))
        (*inputs, states, parameters), (has_bias, layers, dropout, train, both, *order) = args[:start], args[start:]
        call = functools.partial(func._op_dk, torch._C.DispatchKey.CompositeImplicitAutograd)
        if not dropout or not train or layers == 1:
            return call(*args)
        # PyTorch would keep the states of cuDNN's dropout in memory of the device until the process ends.
        directions, count, found = 1 + both, len(parameters) // layers, []
        for layer in range(layers):
            own = slice(layer * directions, (layer + 1) * directions)
            of_layer = states[own] if isinstance(states, Tensor) else [each[own] for each in states]
            settings = parameters[layer * count : (layer + 1) * count], has_bias, 1, 0.0, train, both, *order
            values, *last = call(*inputs, of_layer, *settings)
            found.append(last)
            inputs[0] = torch.dropout(values, dropout, True)
        return values, *(torch.cat(each) for each in zip(*found, strict=True))


def _gates(gates: Tensor, bias: Tensor | None) -> Tensor:
    return gates if bias is None else gates + bias


def _lstm(
    inputs: Tensor, hidden: Tensor, cx: Tensor, input_bias: Tensor | None = None, hidden_bias: Tensor | None = None
) -> tuple[Tensor, ...]:
    i, f, g, o = (_gates(inputs, input_bias) + _gates(hidden, hidden_bias)).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat([i, f, g, o], 1)


def _lstm_backward(
    grad_hy: Tensor | None, grad_cy: Tensor | None, cx: Tensor, cy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor | None, ...]:
    i, f, g, o = workspace.chunk(4, 1)
    grad_hy = torch.zeros_like(cy) if grad_hy is None else grad_hy
    squashed = cy.tanh()
    cell = grad_hy * o * (1 - squashed.square())
    if grad_cy is not None:
        cell = cell + grad_cy
    gates = torch.cat(
        [
            cell * g * i * (1 - i),
            cell * cx * f * (1 - f),
            cell * i * (1 - g.square()),
            grad_hy * squashed * o * (1 - o),
        ],
        1,
    )
    return gates, cell * f, gates.sum(0) if has_bias else None


def _gru(
    inputs: Tensor, hidden: Tensor, hx: Tensor, input_bias: Tensor | None = None, hidden_bias: Tensor | None = None
) -> tuple[Tensor, ...]:
    input_r, input_z, input_n = _gates(inputs, input_bias).chunk(3, 1)
    hidden_r, hidden_z, hidden_n = _gates(hidden, hidden_bias).chunk(3, 1)
    r, z = (input_r + hidden_r).sigmoid(), (input_z + hidden_z).sigmoid()
    n = (input_n + r * hidden_n).tanh()
    return n + z * (hx - n), torch.cat([r, z, n, hx, hidden_n], 1)


def _gru_backward(grad_hy: Tensor, workspace: Tensor, has_bias: bool) -> tuple[Tensor | None, ...]:
    r, z, n, hx, hidden_n = workspace.chunk(5, 1)
    grad_z = grad_hy * (hx - n) * z * (1 - z)
    grad_n = grad_hy * (1 - z) * (1 - n.square())
    grad_r = grad_n * hidden_n * r * (1 - r)
    inputs, hidden = torch.cat([grad_r, grad_z, grad_n], 1), torch.cat([grad_r, grad_z, grad_n * r], 1)
    return inputs, hidden, grad_hy * z, *([inputs.sum(0), hidden.sum(0)] if has_bias else [None, None])


CELLS: dict[Any, Callable[..., Any]] = {
    torch.ops.aten._thnn_fused_lstm_cell.default: _lstm,
    torch.ops.aten._thnn_fused_lstm_cell_backward_impl.default: _lstm_backward,
    torch.ops.aten._thnn_fused_gru_cell.default: _gru,
    torch.ops.aten._thnn_fused_gru_cell_backward.default: _gru_backward,
}
"""The functions by the operations that they carry out."""
