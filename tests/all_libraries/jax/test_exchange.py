"""JAX exchanges arrays with cuarray, numba-cuda, PyTorch and CuPy, through the CUDA Array Interface and DLPack.

JAX names no stream in the interface. So the tests wait for its arrays before another library reads them.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numba import cuda

import cuarray


@pytest.fixture
def array() -> jax.Array:
    """An array on the device whose computation has finished."""
    return (jnp.arange(8.0) + 1).block_until_ready()


EXPECTED = np.arange(1.0, 9.0, dtype=np.float32)


def test_interface_names_no_stream(array: jax.Array) -> None:
    interface = array.__cuda_array_interface__
    assert "stream" not in interface
    assert interface["version"] == 2
    assert interface["data"][1], "the array is read-only"


def test_cuarray_imports_the_interface(array: jax.Array) -> None:
    np.testing.assert_array_equal(cuarray.as_cuda_array(array).copy_to_host(), EXPECTED)


def test_cuarray_imports_dlpack(array: jax.Array) -> None:
    np.testing.assert_array_equal(cuarray.from_dlpack(array).copy_to_host(), EXPECTED)


def test_jax_imports_the_interface_of_cuarray() -> None:
    made = cuarray.to_device(EXPECTED)
    cuarray.legacy_default_stream().synchronize()
    np.testing.assert_array_equal(jnp.asarray(made) + 1, EXPECTED + 1)


def test_jax_imports_dlpack_of_cuarray() -> None:
    np.testing.assert_array_equal(jax.dlpack.from_dlpack(cuarray.to_device(EXPECTED)) + 1, EXPECTED + 1)


def test_numba_imports_the_interface(array: jax.Array) -> None:
    np.testing.assert_array_equal(cuda.as_cuda_array(array).copy_to_host(), EXPECTED)


def test_jax_imports_the_interface_of_numba() -> None:
    made = cuda.to_device(EXPECTED)
    cuda.synchronize()
    np.testing.assert_array_equal(jnp.asarray(made) + 1, EXPECTED + 1)


def test_exchange_with_torch_through_dlpack(array: jax.Array) -> None:
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(torch.from_dlpack(array).cpu().numpy(), EXPECTED)
    tensor = torch.from_numpy(EXPECTED).cuda()
    np.testing.assert_array_equal(jax.dlpack.from_dlpack(tensor) + 1, EXPECTED + 1)


def test_exchange_with_cupy_through_dlpack(array: jax.Array) -> None:
    cupy = pytest.importorskip("cupy")
    np.testing.assert_array_equal(cupy.asnumpy(cupy.from_dlpack(array)), EXPECTED)
    np.testing.assert_array_equal(jax.dlpack.from_dlpack(cupy.asarray(EXPECTED)) + 1, EXPECTED + 1)
    cupy.get_default_memory_pool().free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()
