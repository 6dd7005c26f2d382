"""Operations between two devices, which XLA passes to NCCL, against the same computation on the host."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec


@pytest.fixture
def mesh() -> Mesh:
    if len(jax.devices("cuda")) < 2:
        pytest.skip("there is one device only; CUARRAY_SIM_DEVICES=2 makes two")
    return Mesh(np.array(jax.devices("cuda")[:2]), ("x",))


def sharded(mesh: Mesh, values: np.ndarray, *axes: str | None) -> jax.Array:
    return jax.device_put(values, NamedSharding(mesh, PartitionSpec(*axes)))


def mapped(
    mesh: Mesh, function: Callable[[jax.Array], jax.Array], values: np.ndarray, out: PartitionSpec
) -> np.ndarray:
    """Run a function on the two halves of the values, and return the result on the host."""
    run = jax.shard_map(function, mesh=mesh, in_specs=PartitionSpec("x"), out_specs=out, check_vma=False)
    return np.asarray(jax.jit(run)(sharded(mesh, values, "x")))


def integers(*shape: int, dtype: object = np.float32) -> np.ndarray:
    """Small whole numbers, whose sums and products are exact in all types."""
    return np.random.default_rng(0).integers(0, 5, shape).astype(dtype)


FLOATS = ["float16", "bfloat16", "float32"]
ALL_TYPES = ["int8", "uint8", "int32", "uint32", *FLOATS]
# JAX converts the mean of integers to floats.
REDUCTIONS = [(name, dtype) for name in ("psum", "pmax", "pmin") for dtype in ALL_TYPES]
REDUCTIONS += [("pmean", dtype) for dtype in FLOATS]


@pytest.mark.parametrize(("name", "dtype"), REDUCTIONS)
def test_reduction_between_devices_is_exact(mesh: Mesh, name: str, dtype: str) -> None:
    values = integers(6, 5)
    reduce = {"psum": np.sum, "pmax": np.max, "pmin": np.min, "pmean": np.mean}[name]
    result = mapped(mesh, lambda a: getattr(lax, name)(a, "x"), values.astype(jnp.dtype(dtype)), PartitionSpec())
    assert result.dtype == jnp.dtype(dtype)
    np.testing.assert_array_equal(result.astype(np.float32), reduce(values.reshape(2, 3, 5), axis=0))


def test_sum_over_a_sharded_axis(mesh: Mesh) -> None:
    values = integers(8, 6)
    array = sharded(mesh, values, "x", None)
    np.testing.assert_array_equal(jax.jit(jnp.sum)(array), values.sum())
    np.testing.assert_array_equal(jax.jit(lambda a: a.sum(axis=0))(array), values.sum(axis=0))


def test_product_contracted_over_a_sharded_axis(mesh: Mesh) -> None:
    left, right = integers(4, 8), integers(8, 3)
    result = jax.jit(jnp.matmul)(sharded(mesh, left, None, "x"), sharded(mesh, right, "x", None))
    np.testing.assert_array_equal(result, left @ right)


def test_gradient_of_sharded_data_is_that_of_all_data(mesh: Mesh) -> None:
    x, y, w = integers(8, 4), integers(8), np.ones(4, np.float32)

    def loss(w: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
        return ((x @ w - y) ** 2).mean()

    @jax.jit
    def step(w: jax.Array, x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        value, gradient = jax.value_and_grad(loss)(w, x, y)
        return w - 0.125 * gradient, value

    new, value = step(sharded(mesh, w), sharded(mesh, x, "x", None), sharded(mesh, y, "x"))
    error = x @ w - y
    np.testing.assert_allclose(value, (error**2).mean(), rtol=1e-6)
    np.testing.assert_allclose(new, w - 0.125 * 2 * x.T @ error / 8, rtol=1e-5)
    assert new.sharding.num_devices == 2


def test_all_gather_gives_each_device_all_parts(mesh: Mesh) -> None:
    values = integers(4, 3)
    result = mapped(mesh, lambda a: lax.all_gather(a, "x", tiled=True)[None], values, PartitionSpec("x"))
    np.testing.assert_array_equal(result, np.stack([values, values]))


def test_ppermute_exchanges_the_parts(mesh: Mesh) -> None:
    values = integers(4, 3)
    result = mapped(mesh, lambda a: lax.ppermute(a, "x", [(0, 1), (1, 0)]), values, PartitionSpec("x"))
    np.testing.assert_array_equal(result, np.concatenate([values[2:], values[:2]]))


def test_ppermute_to_one_device_leaves_zeros_on_the_other(mesh: Mesh) -> None:
    values = integers(4, 3) + 1
    result = mapped(mesh, lambda a: lax.ppermute(a, "x", [(0, 1)]), values, PartitionSpec("x"))
    np.testing.assert_array_equal(result, np.concatenate([0 * values[:2], values[:2]]))


def test_all_to_all_transposes_the_parts(mesh: Mesh) -> None:
    values = integers(4, 6)
    result = mapped(mesh, lambda a: lax.all_to_all(a, "x", 1, 0, tiled=True), values, PartitionSpec(None, "x"))
    np.testing.assert_array_equal(result, values)


def test_psum_scatter_gives_each_device_a_part_of_the_sum(mesh: Mesh) -> None:
    values = integers(8, 3)
    result = mapped(mesh, lambda a: lax.psum_scatter(a, "x", tiled=True), values, PartitionSpec("x"))
    np.testing.assert_array_equal(result, values[:4] + values[4:])


def test_resharding_moves_the_parts_to_another_axis(mesh: Mesh) -> None:
    values = integers(4, 6)
    array = sharded(mesh, values, "x", None)
    result = jax.jit(lambda a: a + 1, out_shardings=NamedSharding(mesh, PartitionSpec(None, "x")))(array)
    np.testing.assert_array_equal(result, values + 1)
