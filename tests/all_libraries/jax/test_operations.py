"""Results of JAX on the simulated device are those of JAX on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

VALUES = np.random.default_rng(0).standard_normal((24, 40)).astype(np.float32)
LINE = VALUES.reshape(-1)[:300]
POSITIVE = np.abs(VALUES) + 0.1
NUMBERS = np.random.default_rng(1).integers(-9, 9, (24, 40)).astype(np.int32)
SQUARE = VALUES[:12, :12]
WEIGHTS = np.random.default_rng(2).standard_normal((40, 16)).astype(np.float32)


def compare(function: Callable[..., Any], *arguments: Any, tolerance: float = 1e-4) -> None:
    """Compare a jitted function on the first device with the same function on the host."""
    results = []
    for device in (jax.devices("cpu")[0], jax.devices("cuda")[0]):
        with jax.default_device(device):
            result = jax.jit(function)(*(jnp.asarray(argument) for argument in arguments))
            results.append([np.asarray(leaf) for leaf in jax.tree.leaves(result)])
    for host, device in zip(*results, strict=True):
        assert (device.shape, device.dtype) == (host.shape, host.dtype)
        kind = np.complex128 if host.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(device.astype(kind), host.astype(kind), rtol=tolerance, atol=tolerance)


UNARY = "abs sign floor ceil round square sqrt exp exp2 expm1 log log1p sin cos tan tanh sinh arctan cbrt"


@pytest.mark.parametrize("name", UNARY.split())
def test_elementwise_function(name: str) -> None:
    compare(getattr(jnp, name), POSITIVE)


def test_functions_of_two_arrays() -> None:
    compare(
        lambda a, b: (a + b, a * b, a / b, jnp.maximum(a, b), jnp.arctan2(a, b), a > b), VALUES, VALUES[::-1].copy()
    )


def test_integers_and_bits() -> None:
    compare(lambda a: (a // 7, a % 7, a << 2, a >> 1, a & 15, ~a, lax.population_count(a), lax.clz(a)), NUMBERS)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "int8", "uint8", "int16", "bool", "complex64"])
def test_conversion_equals_that_of_the_host(name: str) -> None:
    compare(lambda a: a.astype(name), POSITIVE)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "argmax", "argmin", "cumsum"])
@pytest.mark.parametrize("axis", [0, 1])
def test_reduction_and_scan_of_an_axis(name: str, axis: int) -> None:
    compare(lambda a: getattr(jnp, name)(a * 0.1 + 1, axis=axis), VALUES, tolerance=1e-3)


@pytest.mark.parametrize("count", [2, 16, 31, 33, 960])
def test_reduction_of_few_and_of_many_elements_has_no_finding(count: int) -> None:
    compare(lambda a: (a.sum(), a.max(), jax.nn.logsumexp(a)), VALUES.reshape(-1)[:count], tolerance=1e-3)


PRODUCTS = "float32 float16 bfloat16 int32 int16 uint8 int8 complex64 float8_e4m3fn"


@pytest.mark.parametrize("name", PRODUCTS.split())
def test_matrix_product(name: str) -> None:
    left, right = NUMBERS.astype(np.float32), np.round(WEIGHTS * 3)
    a, b = jnp.asarray(left, dtype=name), jnp.asarray(right, dtype=name)
    product = np.asarray(jax.jit(jnp.matmul)(a, b))
    exact = np.asarray(a).astype(np.complex128) @ np.asarray(b).astype(np.complex128)
    expected = exact.real.astype(np.int64).astype(name) if name in ("int8", "uint8") else exact
    np.testing.assert_allclose(product.astype(np.complex128), expected, rtol=0.1 if "8_" in name else 1e-2)


@pytest.mark.parametrize("shape", [(24, 8, 16), (64, 64, 64), (1, 40, 9)])
def test_product_of_int8_is_exact_in_int32(shape: tuple[int, int, int]) -> None:
    rows, inner, columns = shape
    numbers = np.random.default_rng(3)
    a, b = numbers.integers(-128, 128, (rows, inner)), numbers.integers(-128, 128, (inner, columns))
    product = jax.jit(lambda a, b: jnp.matmul(a, b, preferred_element_type=jnp.int32))
    np.testing.assert_array_equal(product(a.astype(np.int8), b.astype(np.int8)), a @ b)


@pytest.mark.parametrize("subscripts", ["bij,bjk->bik", "bij,bjk->ik", "bij,bjk->bijk"])
def test_einsum_equals_that_of_the_host(subscripts: str) -> None:
    compare(
        lambda a, b: jnp.einsum(subscripts, a, b), VALUES.reshape(4, 8, 30), VALUES.reshape(4, 30, 8), tolerance=1e-3
    )


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
def test_convolutions_and_their_gradients(dtype: str) -> None:
    image, kernel = VALUES[:2, :32].reshape(1, 2, 4, 8), VALUES[2:4, :27].reshape(3, 2, 3, 3)

    def strided(a: jax.Array, k: jax.Array) -> jax.Array:
        return lax.conv_general_dilated(a, k, (2, 1), ((0, 0), (1, 0)), lhs_dilation=(1, 2))

    def loss(a: jax.Array, k: jax.Array) -> jax.Array:
        return (jnp.abs(strided(a, k)) ** 2).sum()

    compare(lambda a, k: strided(a.astype(dtype), k.astype(dtype)), image, kernel, tolerance=2e-2)
    if dtype == "float32":
        compare(jax.grad(loss, argnums=(0, 1)), image, kernel, tolerance=1e-3)


@pytest.mark.parametrize("groups", [2, 4])
def test_gradients_of_grouped_convolutions(groups: int) -> None:
    """The gradient of the weights has groups of the batch, which XLA's own kernels ignore."""
    images, kernel = VALUES[:2, :32].reshape(2, 4, 2, 4), VALUES[2:4, :32].reshape(4, 4, 2, 2)[:, : 4 // groups]

    def loss(a: jax.Array, k: jax.Array) -> jax.Array:
        return (lax.conv_general_dilated(a, k, (1, 1), "SAME", feature_group_count=groups) ** 2).sum()

    compare(jax.grad(loss, argnums=(0, 1)), images, kernel, tolerance=1e-3)


def test_sort_and_selection() -> None:
    compare(lambda a: (jnp.sort(a), jnp.argsort(a), lax.top_k(a, 5), jnp.median(a)), LINE)


def test_indexing_and_scatter() -> None:
    compare(lambda a: (a[3:9, ::2], a[jnp.array([1, 5, 3])], a.at[jnp.array([1, 1, 2])].add(1.0)), VALUES)


def test_gradient_and_hessian() -> None:
    compare(jax.grad(lambda a, w: jnp.tanh(a @ w).sum()), VALUES, WEIGHTS, tolerance=1e-3)
    compare(jax.hessian(lambda a: jnp.sin(a).sum() * (a**2).sum()), LINE[:6], tolerance=1e-3)


def test_vmap_of_a_dot_product() -> None:
    compare(jax.vmap(jnp.dot), VALUES, VALUES, tolerance=1e-3)


def test_loops_and_conditions() -> None:
    compare(lambda a: lax.scan(lambda carry, row: (carry * 0.9 + row, carry), a[0], a), VALUES)
    compare(lambda a: lax.while_loop(lambda s: s[1] < 5, lambda s: (s[0] * 1.1, s[1] + 1), (a, 0)), VALUES)
    compare(lambda a: lax.cond(a.sum() > 0, lambda a: a + 1, lambda a: a - 1, a), VALUES)


@pytest.mark.parametrize("name", ["normal", "uniform", "truncated_normal", "bits", "permutation"])
def test_random_numbers(name: str) -> None:
    arguments = {"truncated_normal": (-1.0, 1.0, (50,)), "permutation": (20,)}.get(name, ((50,),))
    compare(lambda: getattr(jax.random, name)(jax.random.key(3), *arguments))


DEFINITE = SQUARE @ SQUARE.T + 12 * np.eye(12, dtype=np.float32)
DECOMPOSITIONS: dict[str, tuple[Callable[..., Any], ...]] = {
    "solve": (jnp.linalg.solve, DEFINITE, SQUARE),
    "inv": (jnp.linalg.inv, DEFINITE),
    "det": (lambda a: jnp.linalg.slogdet(a)[1], DEFINITE),
    "cholesky": (jnp.linalg.cholesky, DEFINITE),
    "qr": (lambda a: abs(jnp.linalg.qr(a)[1]), SQUARE),
    "svd": (lambda a: jnp.linalg.svd(a)[1], SQUARE),
    "eigh": (lambda a: jnp.linalg.eigh(a)[0], DEFINITE),
    "lstsq": (lambda a, b: jnp.linalg.lstsq(a, b)[0], DEFINITE, SQUARE),
    "pinv": (jnp.linalg.pinv, DEFINITE),
}


@pytest.mark.parametrize("name", DECOMPOSITIONS)
def test_decomposition_is_that_of_the_host(name: str) -> None:
    function, *arguments = DECOMPOSITIONS[name]
    compare(function, *arguments, tolerance=1e-3)


def test_sparse_equations_are_those_of_the_host() -> None:
    from jax.experimental.sparse.linalg import spsolve

    dense = np.where(np.abs(DEFINITE) > np.median(np.abs(DEFINITE)), DEFINITE, 0) + 20 * np.eye(12, dtype=np.float32)
    rows, columns = np.nonzero(dense)
    starts = np.searchsorted(rows, np.arange(13)).astype(np.int32)
    compare(spsolve, dense[rows, columns], columns.astype(np.int32), starts, VALUES[0, :12], tolerance=1e-3)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "fft2", "rfft2"])
def test_transform_is_that_of_the_host(name: str) -> None:
    compare(getattr(jnp.fft, name), VALUES, tolerance=1e-3)


def test_linear_algebra_without_cusolver() -> None:
    compare(lambda a: (jnp.linalg.norm(a), jnp.trace(a), jnp.kron(a[:2, :2], a[:2, :2])), SQUARE, tolerance=1e-3)
    compare(lambda a: jnp.linalg.matrix_power(a, 3), SQUARE, tolerance=1e-2)


def test_attention_needs_no_cudnn() -> None:
    compare(lambda q: jax.nn.dot_product_attention(q, q, q), VALUES[:8, :32].reshape(1, 8, 2, 16), tolerance=1e-3)
