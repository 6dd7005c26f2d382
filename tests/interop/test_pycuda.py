"""Kernels that PyCUDA loads from PTX (`module_from_buffer`) work on arrays of cuarray and PyCUDA.

PyCUDA has no wheels: `make bench` builds it, and without it these tests are skipped. `SourceModule` and the operators of its arrays
need nvcc and are not tested.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import numpy as np
import pytest

import cuarray

if importlib.util.find_spec("pycuda") is None:
    pytest.skip("PyCUDA is not installed; benches/build_pycuda.py builds it", allow_module_level=True)

PTX = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .const .align 4 .f32 factor;
.extern .shared .align 4 .b8 tile[];

.visible .entry scale(.param .u64 data, .param .u32 n)
{
    .reg .pred %over; .reg .b32 %r<5>; .reg .f32 %f<3>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r2, %r2, %r3, %r4;
    setp.ge.u32 %over, %r2, %r1;
    @%over ret;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd1, %rd1, %rd2;
    ld.global.f32 %f1, [%rd1];
    ld.const.f32 %f2, [factor];
    mul.f32 %f1, %f1, %f2;
    st.global.f32 [%rd1], %f1;
    ret;
}

.visible .entry reverse(.param .u64 to, .param .u64 from)
{
    .reg .b32 %r<5>; .reg .f32 %f<2>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [to];
    ld.param.u64 %rd2, [from];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ntid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd1, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.f32 %f1, [%rd2];
    mov.u32 %r3, tile;
    shl.b32 %r4, %r1, 2;
    add.u32 %r4, %r3, %r4;
    st.shared.f32 [%r4], %f1;
    bar.sync 0;
    sub.u32 %r2, %r2, %r1;
    sub.u32 %r2, %r2, 1;
    shl.b32 %r4, %r2, 2;
    add.u32 %r4, %r3, %r4;
    ld.shared.f32 %f1, [%r4];
    st.global.f32 [%rd1], %f1;
    ret;
}
"""


@pytest.fixture(scope="module", autouse=True)
def context(driver_kind: str) -> Iterator[None]:
    """Make the primary context current, which all libraries share."""
    from pycuda import driver

    driver.init()
    context = driver.Device(0).retain_primary_context()
    context.push()
    yield
    context.pop()


@pytest.fixture(scope="module")
def module(context: None):
    from pycuda import driver

    module = driver.module_from_buffer(PTX)
    address, size = module.get_global("factor")
    assert size == 4
    driver.memcpy_htod(address, np.float32(3))
    return module


def blocks_for(count: int) -> dict[str, tuple[int, ...]]:
    return {"block": (64, 1, 1), "grid": (-(-count // 64), 1)}


def test_pycuda_kernel_on_cuarray_array(module) -> None:
    array = cuarray.to_device(np.arange(1000, dtype="float32"))
    module.get_function("scale")(array, np.uint32(1000), **blocks_for(1000))
    assert (array.copy_to_host() == 3 * np.arange(1000, dtype="float32")).all()


def test_pycuda_kernel_on_imported_pycuda_array(module) -> None:
    from pycuda import gpuarray

    gpu_array = gpuarray.to_gpu(np.arange(100, dtype="float32"))
    imported = cuarray.as_cuda_array(gpu_array)
    assert imported.ptr == int(gpu_array.gpudata)
    module.get_function("scale")(imported, np.uint32(100), **blocks_for(100))
    assert (gpu_array.get() == 3 * np.arange(100, dtype="float32")).all()


def test_pycuda_kernel_on_slice_starts_at_its_offset(module) -> None:
    array = cuarray.to_device(np.ones(100, "float32"))
    module.get_function("scale")(array[40:], np.uint32(20), **blocks_for(20))
    host = array.copy_to_host()
    expected = np.ones(100, "float32")
    expected[40:60] = 3
    assert (host == expected).all()


def test_pycuda_kernel_with_shared_memory_and_host_arguments(module) -> None:
    """PyCUDA's `In` and `Out` copy host arrays around the launch."""
    from pycuda import driver

    values = np.arange(64, dtype="float32")
    reverse = module.get_function("reverse")
    array, host = cuarray.device_array(64, "float32"), np.zeros(64, "float32")
    reverse(array, driver.In(values), block=(64, 1, 1), shared=256)
    assert (array.copy_to_host() == values[::-1]).all()
    reverse(driver.Out(host), array, block=(64, 1, 1), shared=256)
    assert (host == values).all()


def test_borrow_orders_launches_in_pycuda_stream_with_copies(module) -> None:
    """Copies in a cuarray stream before and after prepared launches in a PyCUDA stream."""
    from pycuda import driver

    cuarray_stream, pycuda_stream = cuarray.stream(), driver.Stream()
    pinned = cuarray.pinned_array(500, "float32")
    pinned[:] = 2
    array = cuarray.device_array(500, "float32", stream=cuarray_stream)
    array.copy_to_device(pinned, stream=cuarray_stream)
    scale = module.get_function("scale").prepare("PI")
    for _ in range(2):
        with cuarray.borrow(array, stream=cuarray.external_stream(pycuda_stream.handle)) as borrowed:
            scale.prepared_async_call((8, 1), (64, 1, 1), pycuda_stream, borrowed.ptr, 500)
    result = np.zeros(500, "float32")
    array.copy_to_host(result, stream=cuarray_stream)
    cuarray_stream.synchronize()
    assert (result == 18).all()
    del array
    pycuda_stream.synchronize()


@pytest.mark.cuarray_sim(expect="data-race")
def test_launch_without_borrow_is_a_data_race(module, simulator: str) -> None:
    from pycuda import driver

    pycuda_stream, cuarray_stream = driver.Stream(), cuarray.stream()
    array = cuarray.to_device(np.ones(100, "float32"))
    module.get_function("scale")(array, np.uint32(100), stream=pycuda_stream, **blocks_for(100))
    seen = np.zeros(100, "float32")
    array.copy_to_host(seen, stream=cuarray_stream)
    cuarray_stream.synchronize()
    pycuda_stream.synchronize()
    assert (seen == 1).all()
    assert (array.copy_to_host() == 3).all()


def test_function_attributes_can_be_read(module) -> None:
    from pycuda import driver

    function = module.get_function("reverse")
    assert function.get_attribute(driver.function_attribute.MAX_THREADS_PER_BLOCK) >= 64
    assert (function.shared_size_bytes, function.local_size_bytes) == (0, 0)


def test_missing_kernel_and_invalid_ptx_are_pycuda_errors(module) -> None:
    from pycuda import driver

    with pytest.raises(driver.LogicError):
        module.get_function("scaled")
    with pytest.raises(driver.Error) as raised:
        driver.module_from_buffer(PTX.replace(b"mul.f32 %f1", b"mul.f32 %nowhere"))
    assert "cuModuleLoadDataEx" in str(raised.value)
