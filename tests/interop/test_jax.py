"""JAX and cuarray, in both directions, by DLPack and from JAX by the interface; on a real GPU, but for what is in host memory."""

from __future__ import annotations

import importlib.util
import os

import numpy as np
import pytest
from driver import Driver
from library import Library
from pending import pending_in

import cuarray

if importlib.util.find_spec("jax") is None:
    pytest.skip("JAX is not installed; most of these tests need a GPU", allow_module_level=True)

TYPES = ["bool", "uint8", "int32", "float16", "float32", "complex64", "bfloat16"]
SHAPES = [(), (7,), (2, 3, 4)]


@pytest.fixture(scope="module")
def jax():
    # It takes three quarters of the device's memory otherwise.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    return jax


@pytest.fixture
def gpu(jax, driver: Driver):
    """JAX's device."""
    if driver.is_simulated:
        pytest.skip("JAX has the CUDA runtime inside, which does not start on the simulated driver")
    try:
        return jax.devices("cuda")[0]
    except RuntimeError as error:
        pytest.skip(f"this JAX is not for GPUs: {error}")


def values(shape: tuple[int, ...]):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape) % 5


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_host_memory_is_copied_by_request(driver: Driver, jax, dtype: str, shape: tuple[int, ...]) -> None:
    theirs = jax.device_put(values(shape), jax.devices("cpu")[0]).astype(dtype)
    array = cuarray.from_dlpack(theirs, copy=True)
    assert (array.shape, array.dtype) == (shape, theirs.dtype)
    np.testing.assert_array_equal(array.copy_to_host(), np.asarray(theirs))
    with pytest.raises(BufferError, match="host memory"):
        cuarray.from_dlpack(theirs)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_into_cuarray(gpu, jax, dtype: str, shape: tuple[int, ...]) -> None:
    theirs = jax.device_put(values(shape), gpu).astype(dtype)
    array = cuarray.from_dlpack(theirs)
    assert (array.ptr, array.shape, array.dtype) == (theirs.unsafe_buffer_pointer(), shape, theirs.dtype)
    np.testing.assert_array_equal(array.copy_to_host(), np.asarray(theirs))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_from_cuarray(gpu, jax, dtype: str, shape: tuple[int, ...]) -> None:
    expected = values(shape).astype(jax.numpy.dtype(dtype))
    array = cuarray.device_array(shape, dtype)
    array.copy_to_device(expected)
    theirs = jax.dlpack.from_dlpack(array)
    assert (theirs.shape, theirs.dtype) == (shape, expected.dtype)
    assert theirs.unsafe_buffer_pointer() == array.ptr
    np.testing.assert_array_equal(np.asarray(theirs), expected)


def test_its_interface_is_read_only(gpu, jax) -> None:
    """Clause I4: its arrays do not change."""
    theirs = jax.device_put(np.arange(5, dtype="int32"), gpu)
    theirs.block_until_ready()
    array = cuarray.as_cuda_array(theirs)
    assert array.ptr == theirs.unsafe_buffer_pointer()
    assert array.readonly
    with pytest.raises(BufferError, match="read-only"):
        array[0] = 1


def test_pending_work_of_ours_is_waited_for(gpu, jax, own: Library, driver: Driver) -> None:
    with pending_in(own, driver) as (made, _, expected):
        theirs = jax.dlpack.from_dlpack(made.held)
        np.testing.assert_array_equal(np.asarray(theirs), expected)
