"""A net of convolutions trains without any flag, by cuDNN. With a flag, XLA compiles convolutions itself, with the same losses."""

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
