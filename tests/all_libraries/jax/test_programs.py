"""Devices, programs over several devices, host callbacks, Pallas, and a training step."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def needs_two_devices() -> None:
    if len(jax.devices("cuda")) < 2:
        pytest.skip("there is one device only; CUARRAY_SIM_DEVICES=2 makes two")


def test_devices_are_those_of_the_simulator() -> None:
    assert jax.default_backend() == "gpu"
    assert {device.device_kind for device in jax.devices()} == {"cuarray simulated device"}


def test_array_moves_between_devices() -> None:
    needs_two_devices()
    moved = jax.device_put(jnp.arange(8.0), jax.devices()[1])
    assert moved.devices() == {jax.devices()[1]}
    np.testing.assert_array_equal(moved + 1, np.arange(1.0, 9.0))


def test_sharded_array_is_computed_on_both_devices() -> None:
    needs_two_devices()
    mesh = Mesh(np.array(jax.devices()[:2]), ("x",))
    values = np.arange(16.0, dtype=np.float32).reshape(4, 4)
    result = jax.jit(lambda a: jnp.sin(a) @ jnp.ones((4, 4)))(
        jax.device_put(values, NamedSharding(mesh, PartitionSpec("x")))
    )
    assert result.sharding.num_devices == 2
    np.testing.assert_allclose(result, np.sin(values) @ np.ones((4, 4)), rtol=1e-4, atol=1e-4)


def test_pure_callback_computes_on_the_host() -> None:
    def double_sine(x: jax.Array) -> jax.Array:
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x) * 2

    np.testing.assert_allclose(jax.jit(double_sine)(jnp.arange(4.0)), 2 * np.sin(np.arange(4.0)), rtol=1e-5)


def test_pallas_kernel_is_compiled_by_triton() -> None:
    from jax.experimental.pallas import triton

    def kernel(x, y, out):  # type: ignore[no-untyped-def]
        out[...] = x[...] + y[...] * 2

    add = pallas.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct((128,), jnp.float32), compiler_params=triton.CompilerParams()
    )
    x = jnp.arange(128.0)
    np.testing.assert_array_equal(add(x, x), 3 * np.arange(128.0))


def test_adam_reduces_the_loss_of_a_network() -> None:
    keys = jax.random.split(jax.random.key(0), 3)
    weights = [jax.random.normal(keys[0], (8, 16)) * 0.3, jnp.zeros(16), jax.random.normal(keys[1], (16, 1)) * 0.3]
    x = jax.random.normal(keys[2], (32, 8))

    def loss(weights: list[jax.Array]) -> jax.Array:
        hidden = jnp.tanh(x @ weights[0] + weights[1])
        return ((hidden @ weights[2] - 2 * x[:, :1]) ** 2).mean()

    @jax.jit
    def step(weights, first, second, number):  # type: ignore[no-untyped-def]
        value, gradient = jax.value_and_grad(loss)(weights)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradient)

        def update(w, m, v):  # type: ignore[no-untyped-def]
            return w - 0.05 * (m / (1 - 0.9**number)) / (jnp.sqrt(v / (1 - 0.999**number)) + 1e-8)

        return jax.tree.map(update, weights, first, second), first, second, value

    first = second = jax.tree.map(jnp.zeros_like, weights)
    losses = []
    for number in range(1, 6):
        weights, first, second, value = step(weights, first, second, float(number))
        losses.append(float(value))
    assert losses == sorted(losses, reverse=True)
