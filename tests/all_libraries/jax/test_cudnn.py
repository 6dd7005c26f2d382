"""Convolutions without any flag and attention by cuDNN. With a flag, XLA compiles convolutions itself, with the same losses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FLAG = "--xla_gpu_experimental_disable_binary_libraries"

PROGRAM = """
import jax
import jax.numpy as jnp
import numpy as np

def convolved(x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME")

def loss(parameters, x, target):
    first, bias, second, last = parameters
    hidden = jax.nn.relu(convolved(x, first) + bias[None, :, None, None])
    hidden = jax.nn.relu(convolved(hidden, second))
    return ((hidden.mean((2, 3)) @ last - target) ** 2).mean()

rng = np.random.default_rng(0)
shapes = (4, 3, 3, 3), (4,), (5, 4, 3, 3), (5, 2)
parameters = [rng.standard_normal(shape).astype(np.float32) / 4 for shape in shapes]
x, target = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 6, 6), (2, 2)))
step = jax.jit(lambda p: (loss(p, x, target), [a - 0.1 * b for a, b in zip(p, jax.grad(loss)(p, x, target))]))
print("calls cuDNN" if "__cudnn$conv" in step.lower(parameters).compile().as_text() else "calls nothing")
for _ in range(10):
    value, parameters = step(parameters)
    print("loss", float(value))

signal, window = rng.standard_normal(50).astype(np.float32), rng.standard_normal(7).astype(np.float32)
np.testing.assert_allclose(jnp.convolve(signal, window), np.convolve(signal, window), atol=1e-4)
"""

ATTENTION = """
import jax
import jax.numpy as jnp
import numpy as np

rng = np.random.default_rng(0)

def values(*shape):
    return rng.standard_normal(shape).astype(np.float16)

def expected(q, k, v, bias, causal, change):
    groups, (_, rows, _, width), columns = q.shape[2] // k.shape[2], q.shape, k.shape[1]
    q, k, v, change = (each.astype(np.float64).swapaxes(1, 2) for each in (q, k, v, change))
    k, v = (np.repeat(each, groups, axis=1) for each in (k, v))
    scores = q @ k.swapaxes(2, 3) / width**0.5 + bias
    scores = np.where(np.tril(np.ones((rows, columns), bool)), scores, -np.inf) if causal else scores
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    of_weights = change @ v.swapaxes(2, 3)
    of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdims=True)) / width**0.5
    gathered = [each.reshape(len(q), -1, groups, columns, width).sum(2)
                for each in (of_scores.swapaxes(2, 3) @ q, weights.swapaxes(2, 3) @ change)]
    return [each.swapaxes(1, 2) for each in (weights @ v, of_scores @ k, *gathered)]

def compare(shape, heads, columns, causal=False, with_bias=False):
    batch, rows, of_q, width = shape
    q, k, v, change = values(*shape), values(batch, columns, heads, width), values(batch, columns, heads, width), values(*shape)
    bias = values(1, of_q, rows, columns) if with_bias else None

    def attention(q, k, v):
        return jax.nn.dot_product_attention(q, k, v, bias=bias, implementation="cudnn", is_causal=causal)

    compiled = jax.jit(lambda q, k, v: (lambda y, back: (y, *back(jnp.asarray(change))))(*jax.vjp(attention, q, k, v)))
    assert "__cudnn$fmha" in compiled.lower(q, k, v).compile().as_text()
    for found, right in zip(compiled(q, k, v), expected(q, k, v, 0 if bias is None else bias, causal, change)):
        np.testing.assert_allclose(found, right, atol=4e-3 * np.abs(right).max())

compare((2, 64, 4, 64), 4, 64)
compare((2, 64, 4, 64), 4, 64, causal=True)
compare((1, 48, 4, 32), 2, 32)
compare((1, 32, 2, 32), 2, 32, with_bias=True)
print("attention is right")
"""


def losses(script: Path, flag: str) -> list[float]:
    """Return the losses of a run, which may have no findings. An empty flag leaves all flags to the package."""
    environment = {**os.environ, "XLA_FLAGS": f"{FLAG}={flag}", "CUARRAY_SIM_EXIT_STATUS": "66"}
    if not flag:
        del environment["XLA_FLAGS"]
    command = [sys.executable, "-m", "cuarray_sim", str(script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert ("calls cuDNN" in done.stdout) == (flag != "true")
    return [float(value) for value in re.findall(r"loss (\S+)", done.stdout)]


def test_net_of_convolutions_trains_without_flags_and_by_kernels_of_xla(tmp_path: Path) -> None:
    script = tmp_path / "net.py"
    script.write_text(PROGRAM, encoding="utf-8")
    without_flags = losses(script, "")
    assert len(without_flags) == 10
    assert without_flags[-1] < without_flags[0]
    assert losses(script, "true") == pytest.approx(without_flags, rel=1e-4)


def test_attention_and_its_gradients_are_those_of_numpy(tmp_path: Path) -> None:
    script = tmp_path / "attention.py"
    script.write_text(ATTENTION, encoding="utf-8")
    command = [sys.executable, "-m", "cuarray_sim", str(script)]
    environment = {**os.environ, "CUARRAY_SIM_EXIT_STATUS": "66"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "attention is right" in done.stdout
