"""DLPack between cuarray and PyTorch, CuPy and JAX, both ways, where they are installed beside a GPU.

None of them runs on the simulated driver: their kernels are linked to libraries that are not the driver's.
"""

from __future__ import annotations

import gc
import importlib
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import driver as demo_driver
import numpy as np
import pytest

import cuarray


@dataclass(frozen=True)
class Framework:
    name: str
    from_dlpack: Callable[[Any], Any]
    on_device: Callable[[np.ndarray], Any]
    pointer: Callable[[Any], int]
    on_host: Callable[[Any], np.ndarray]


def _torch() -> Framework:
    torch = importlib.import_module("torch")
    return Framework(
        "torch",
        torch.from_dlpack,
        lambda host: torch.from_numpy(host).cuda(),
        lambda it: it.data_ptr(),
        lambda it: it.cpu().numpy(),
    )


def _cupy() -> Framework:
    cupy = importlib.import_module("cupy")
    return Framework("cupy", cupy.from_dlpack, cupy.asarray, lambda it: it.data.ptr, cupy.asnumpy)


def _jax() -> Framework:
    jax = importlib.import_module("jax")
    dlpack = importlib.import_module("jax.dlpack")
    return Framework("jax", dlpack.from_dlpack, jax.device_put, lambda it: it.unsafe_buffer_pointer(), np.asarray)


@pytest.fixture(params=[_torch, _cupy, _jax], ids=["torch", "cupy", "jax"])
def framework(request: pytest.FixtureRequest, driver: demo_driver.Driver) -> Framework:
    if driver.is_simulated:
        pytest.skip("not on the simulated driver")
    try:
        return request.param()
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")


VALUES = [
    np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    for dtype in ("float32", "int32", "uint8", "float16")
    for shape in ((5,), (2, 3), (2, 3, 4))
]


def test_ours_becomes_theirs(framework: Framework) -> None:
    for values in VALUES:
        array = cuarray.to_device(values, stream=cuarray.stream())
        theirs = framework.from_dlpack(array)
        assert framework.pointer(theirs) == array.ptr
        assert np.array_equal(framework.on_host(theirs), values)


@pytest.mark.parametrize("how", [{}, {"stream": 1}, {"copy": True}], ids=str)
def test_theirs_becomes_ours(framework: Framework, how: dict[str, Any]) -> None:
    for values in VALUES:
        theirs = framework.on_device(values)
        array = cuarray.from_dlpack(theirs, **how)
        assert (array.ptr == framework.pointer(theirs)) == ("copy" not in how)
        assert np.array_equal(array.copy_to_host(), values)


def test_our_memory_goes_with_the_last_of_theirs(framework: Framework) -> None:
    array = cuarray.to_device(np.arange(5, dtype="float32"))
    memory = weakref.ref(array.owner)
    theirs = framework.from_dlpack(array)
    del array
    gc.collect()
    assert memory() is not None
    assert framework.on_host(theirs).tolist() == [0, 1, 2, 3, 4]
    del theirs
    gc.collect()
    assert memory() is None


def test_bfloat16_keeps_its_name(framework: Framework) -> None:
    if framework.name == "cupy":
        pytest.skip("CuPy has bfloat16 with ml_dtypes alone")
    array = cuarray.device_array(4, "bfloat16")
    array.view("uint16")[:] = 0x3F80  # 1
    theirs = framework.from_dlpack(array)
    assert "bfloat16" in str(theirs.dtype)
    assert cuarray.from_dlpack(theirs).typestr == "bfloat16"


def test_what_is_on_the_host_is_refused_or_copied(driver: demo_driver.Driver) -> None:
    if driver.is_simulated:
        pytest.skip("not on the simulated driver")
    torch = pytest.importorskip("torch")
    tensor = torch.ones(4, dtype=torch.bfloat16)
    with pytest.raises(BufferError, match="host memory"):
        cuarray.from_dlpack(tensor)
    copy = cuarray.from_dlpack(tensor, copy=True)
    assert (copy.typestr, copy.view("uint16").copy_to_host().tolist()) == ("bfloat16", [0x3F80] * 4)
