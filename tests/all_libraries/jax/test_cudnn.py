"""Convolutions without any flag, attention and recurrent networks by cuDNN. With a flag, XLA compiles convolutions itself, with the same losses."""

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


RECURRENT = """
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import rnn

BATCH, STEPS, INPUTS, HIDDEN, LAYERS = 3, 5, 4, 6, 2

def compare(bidirectional, lengths):
    directions, sizes = 1 + bidirectional, (INPUTS, HIDDEN, LAYERS)
    keys = jax.random.split(jax.random.PRNGKey(1), 4)
    states = directions * LAYERS, BATCH, HIDDEN
    given = [jax.random.normal(key, shape) for key, shape in zip(keys, ((BATCH, STEPS, INPUTS), states, states))]
    given.append(rnn.init_lstm_weight(keys[3], *sizes, bidirectional))
    lengths = jnp.array(lengths, jnp.int32)

    def by_cudnn(x, h, c, weights):
        return rnn.lstm(x, h, c, weights, lengths, *sizes, 0.0, bidirectional)

    def by_xla(x, h, c, weights):
        unpacked = rnn.unpack_lstm_weights(weights, *sizes, bidirectional)
        return rnn.lstm_ref(x, h, c, *unpacked, lengths, *sizes, 0.0, bidirectional)

    def of(function):
        def loss(*given):
            y, h, c = function(*given)
            return (y**2).sum() + (1.5 * h).sum() + (c * c).sum(), (y, h, c)
        return jax.jit(jax.value_and_grad(loss, (0, 1, 2, 3), has_aux=True))(*given)

    for found, right in zip(jax.tree.leaves(of(by_cudnn)), jax.tree.leaves(of(by_xla))):
        np.testing.assert_allclose(found, right, rtol=2e-4, atol=2e-5)

for bidirectional in (False, True):
    for lengths in ([STEPS] * BATCH, [3, 5, 1]):
        compare(bidirectional, lengths)

weights = rnn.init_lstm_weight(jax.random.PRNGKey(0), INPUTS, HIDDEN, LAYERS, False)
x, target = (np.random.default_rng(0).standard_normal((BATCH, STEPS, size)).astype(np.float32) for size in (INPUTS, HIDDEN))
zero, lengths = jnp.zeros((LAYERS, BATCH, HIDDEN)), jnp.full(BATCH, STEPS, jnp.int32)

def loss(weights):
    y = rnn.lstm(x, zero, zero, weights, lengths, INPUTS, HIDDEN, LAYERS, 0.0, False)[0]
    return ((y - target / 4) ** 2).mean()

step = jax.jit(jax.value_and_grad(loss))
losses = []
for _ in range(10):
    value, gradient = step(weights)
    weights = weights - 0.5 * gradient
    losses.append(float(value))
assert losses[-1] < losses[0], losses
print("recurrent networks are right")
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


@pytest.mark.parametrize(
    ("program", "says"),
    [(ATTENTION, "attention is right"), (RECURRENT, "recurrent networks are right")],
    ids=["attention", "recurrent"],
)
def test_program_that_compares_cudnn_with_another_has_no_findings(program: str, says: str, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "cuarray_sim", str(script)]
    environment = {**os.environ, "CUARRAY_SIM_EXIT_STATUS": "66"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert says in done.stdout
