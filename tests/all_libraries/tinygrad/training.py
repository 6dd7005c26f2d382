"""Steps of a training with tinygrad and, from equal weights, with PyTorch on the host: ``python -m cuarray_sim training.py``."""

from __future__ import annotations

import numpy as np
import torch
from tinygrad import Tensor, nn
from tinygrad.helpers import Context

BATCH, CLASSES, STEPS = 8, 10, 3

images = np.random.default_rng(3).standard_normal((BATCH, 1, 14, 14)).astype(np.float32)
labels = np.arange(BATCH) % CLASSES

layers = [nn.Conv2d(1, 4, 3), nn.Conv2d(4, 8, 3), nn.Linear(32, CLASSES)]
host_layers = [torch.nn.Conv2d(1, 4, 3), torch.nn.Conv2d(4, 8, 3), torch.nn.Linear(32, CLASSES)]
parameters, host_parameters = nn.state.get_parameters(layers), []
for layer, host in zip(layers, host_layers, strict=True):
    for name in ("weight", "bias"):
        parameter = getattr(host, name)
        parameter.data = torch.from_numpy(getattr(layer, name).numpy().copy())
        host_parameters.append(parameter)


def loss() -> Tensor:
    first, second, last = layers
    x = second(first(Tensor(images)).relu().max_pool2d()).relu().max_pool2d()
    return last(x.flatten(1)).sparse_categorical_crossentropy(Tensor(labels))


def host_loss() -> torch.Tensor:
    first, second, last = host_layers
    pool = torch.nn.functional.max_pool2d
    x = pool(second(pool(first(torch.from_numpy(images)).relu(), 2)).relu(), 2)
    return torch.nn.functional.cross_entropy(last(x.flatten(1)), torch.from_numpy(labels))


optimizer = nn.optim.Adam(parameters, lr=0.01)
host_optimizer = torch.optim.Adam(host_parameters, lr=0.01)
losses, host_losses = [], []
for _ in range(STEPS):
    with Context(TRAINING=1):
        optimizer.zero_grad()
        value = loss().backward()
        # tinygrad is lazy: the loss would be that of the new weights after the step.
        losses.append(value.item())
        optimizer.step()
    host_optimizer.zero_grad()
    host_value = host_loss()
    host_value.backward()
    host_optimizer.step()
    host_losses.append(host_value.item())
np.testing.assert_allclose(losses, host_losses, rtol=1e-4)
assert losses[-1] < losses[0]
print("equal losses", *(f"{value:.4f}" for value in losses))
