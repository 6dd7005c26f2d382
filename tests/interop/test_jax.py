"""Exchange between JAX and cuarray: element types, shapes, host memory and pending work. `make test-all` installs JAX and runs these tests."""

from __future__ import annotations

import importlib.util
import os

import numpy as np
import pytest
from driver import Driver
from pending import pending_in
from route import Library

import cuarray

if importlib.util.find_spec("jax") is None:
    pytest.skip("JAX is not installed", allow_module_level=True)

TYPES = ["bool", "uint8", "int32", "float16", "float32", "complex64", "bfloat16"]
SHAPES = [(), (7,), (2, 3, 4)]


@pytest.fixture(scope="module")
def jax():
    # By default JAX allocates three quarters of the device's memory.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    return jax


@pytest.fixture
def gpu(jax, driver: Driver):
    """Return JAX's device, or skip."""
    try:
        return jax.devices("cuda")[0]
    except RuntimeError as error:
        pytest.skip(f"this JAX has no GPU support: {error}")


def values(shape: tuple[int, ...]):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape) % 5


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_jax_array_in_host_memory_is_imported_only_with_copy_true(
    driver: Driver, jax, dtype: str, shape: tuple[int, ...]
) -> None:
    jax_array = jax.device_put(values(shape), jax.devices("cpu")[0]).astype(dtype)
    array = cuarray.from_dlpack(jax_array, copy=True)
    assert (array.shape, array.dtype) == (shape, jax_array.dtype)
    np.testing.assert_array_equal(array.copy_to_host(), np.asarray(jax_array))
    with pytest.raises(BufferError, match="host memory"):
        cuarray.from_dlpack(jax_array)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_cuarray_imports_jax_array_in_place(gpu, jax, dtype: str, shape: tuple[int, ...]) -> None:
    jax_array = jax.device_put(values(shape), gpu).astype(dtype)
    array = cuarray.from_dlpack(jax_array)
    assert (array.ptr, array.shape, array.dtype) == (jax_array.unsafe_buffer_pointer(), shape, jax_array.dtype)
    np.testing.assert_array_equal(array.copy_to_host(), np.asarray(jax_array))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_jax_imports_cuarray_array_in_place(gpu, jax, dtype: str, shape: tuple[int, ...]) -> None:
    expected = values(shape).astype(jax.numpy.dtype(dtype))
    array = cuarray.device_array(shape, dtype)
    array.copy_to_device(expected)
    jax_array = jax.dlpack.from_dlpack(array)
    assert (jax_array.shape, jax_array.dtype) == (shape, expected.dtype)
    assert jax_array.unsafe_buffer_pointer() == array.ptr
    np.testing.assert_array_equal(np.asarray(jax_array), expected)


def test_imported_jax_array_is_read_only(gpu, jax) -> None:
    """Clause I4: arrays of JAX are immutable."""
    jax_array = jax.device_put(np.arange(5, dtype="int32"), gpu)
    jax_array.block_until_ready()
    array = cuarray.as_cuda_array(jax_array)
    assert array.ptr == jax_array.unsafe_buffer_pointer()
    assert array.readonly
    with pytest.raises(BufferError, match="read-only"):
        array[0] = 1


def test_jax_waits_for_pending_work(gpu, jax, own: Library) -> None:
    with pending_in(own) as (made, _, expected):
        jax_array = jax.dlpack.from_dlpack(made.held)
        np.testing.assert_array_equal(np.asarray(jax_array), expected)
