"""Textures and surfaces of CUDA C++, compiled by NVRTC, agree with the formulas of the CUDA C++ Programming Guide."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

core = pytest.importorskip("cuda.core")
cuda = pytest.importorskip("cuda.bindings.driver")

Floats = npt.NDArray[np.float32]

SOURCE = r"""
#define ALL int i = threadIdx.x; float x = at[3 * i], y = at[3 * i + 1], z = at[3 * i + 2]; (void)x; (void)y; (void)z
#define KERNEL(name, value) extern "C" __global__ void name( \
    cudaTextureObject_t t, const float *at, float *out) { ALL; out[i] = value; }
KERNEL(fetch_1d, tex1Dfetch<float>(t, (int)x))
KERNEL(linear_1d, tex1D<float>(t, x))
KERNEL(linear_2d, tex2D<float>(t, x, y))
KERNEL(linear_3d, tex3D<float>(t, x, y, z))
KERNEL(layered_2d, tex2DLayered<float>(t, x, y, (int)z))
KERNEL(cube, texCubemap<float>(t, x, y, z))
KERNEL(level_2d, tex2DLod<float>(t, x, y, z))
KERNEL(gradients_2d, tex2DGrad<float>(t, x, y, make_float2(z, 0), make_float2(0, z / 2)))
extern "C" __global__ void gather_2d(cudaTextureObject_t t, const float *at, float *out) {
    ALL;
    reinterpret_cast<float4 *>(out)[i] = tex2Dgather<float4>(t, x, y, 0);
}
extern "C" __global__ void colours(cudaTextureObject_t t, const float *at, float *out) {
    ALL;
    reinterpret_cast<float4 *>(out)[i] = tex2D<float4>(t, x, y);
}
extern "C" __global__ void transposed(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int outside) {
    int x = threadIdx.x, y = threadIdx.y;
    float value = surf2Dread<float>(from, (x + outside) * sizeof(float), y, cudaBoundaryModeZero);
    surf2Dwrite(value + 1, to, y * sizeof(float), x);
}
"""


def ok(answer: Any) -> Any:
    """Return the results of a driver call that must succeed."""
    assert answer[0] == cuda.CUresult.CUDA_SUCCESS, answer[0]
    return answer[1] if len(answer) == 2 else answer[1:]


@pytest.fixture(scope="module")
def kernels() -> Any:
    device = core.Device(0)
    device.set_current()
    program = core.Program(SOURCE, "c++", core.ProgramOptions(arch=f"sm_{device.arch}", std="c++17"))
    return program.compile("ptx")


@pytest.fixture
def arrays() -> Iterator[Callable[..., Any]]:
    """Create arrays with contents; they are destroyed after the test."""
    created: list[Any] = []

    def array(values: npt.NDArray[Any], flags: int = 0, layers: int = 0) -> Any:
        """``values`` has the axes of depth or layer, y and x, or the last ones; behind these one of channels for 8-bit integers."""
        channels = values.shape[-1] if values.dtype == np.uint8 else 1
        sides = values.shape[:-1] if values.dtype == np.uint8 else values.shape
        depth, height, width = (0,) * (3 - len(sides)) + sides
        description = cuda.CUDA_ARRAY3D_DESCRIPTOR()
        description.Width, description.Height, description.Depth = width, height, layers or depth
        formats = cuda.CUarray_format
        is_float = values.dtype == np.float32
        description.Format = formats.CU_AD_FORMAT_FLOAT if is_float else formats.CU_AD_FORMAT_UNSIGNED_INT8
        description.NumChannels, description.Flags = channels, flags
        made = ok(cuda.cuArray3DCreate(description))
        created.append(made)
        upload(made, values, width * channels * values.itemsize, height or 1, depth or 1)
        return made

    yield array
    for made in created:
        ok((*cuda.cuArrayDestroy(made), None))


def copy_description(width: int, height: int, depth: int) -> Any:
    copy = cuda.CUDA_MEMCPY3D()
    copy.WidthInBytes, copy.Height, copy.Depth = width, height, depth
    return copy


def upload(array: Any, values: npt.NDArray[Any], width: int, height: int, depth: int) -> None:
    values = np.ascontiguousarray(values)
    copy = copy_description(width, height, depth)
    copy.srcMemoryType, copy.dstMemoryType = cuda.CUmemorytype.CU_MEMORYTYPE_HOST, cuda.CUmemorytype.CU_MEMORYTYPE_ARRAY
    copy.srcHost, copy.srcPitch, copy.srcHeight, copy.dstArray = values.ctypes.data, width, height, array
    ok((*cuda.cuMemcpy3D(copy), None))


def download(array: Any, shape: tuple[int, int]) -> Floats:
    values = np.zeros(shape, np.float32)
    copy = copy_description(shape[1] * 4, shape[0], 1)
    copy.srcMemoryType, copy.dstMemoryType = cuda.CUmemorytype.CU_MEMORYTYPE_ARRAY, cuda.CUmemorytype.CU_MEMORYTYPE_HOST
    copy.dstHost, copy.dstPitch, copy.dstHeight, copy.srcArray = values.ctypes.data, shape[1] * 4, shape[0], array
    ok((*cuda.cuMemcpy3D(copy), None))
    return values


def resource(array: Any) -> Any:
    described = cuda.CUDA_RESOURCE_DESC()
    described.resType = cuda.CUresourcetype.CU_RESOURCE_TYPE_ARRAY
    described.res.array.hArray = array
    return described


def sampler(*, normalized: bool = False, linear: bool = True, mode: str = "CLAMP", flags: int = 0) -> Any:
    texture = cuda.CUDA_TEXTURE_DESC()
    texture.addressMode = [getattr(cuda.CUaddress_mode, f"CU_TR_ADDRESS_MODE_{mode}")] * 3
    filters = cuda.CUfilter_mode
    texture.filterMode = filters.CU_TR_FILTER_MODE_LINEAR if linear else filters.CU_TR_FILTER_MODE_POINT
    texture.mipmapFilterMode = texture.filterMode
    texture.flags = flags | (cuda.CU_TRSF_NORMALIZED_COORDINATES if normalized else 0)
    texture.maxMipmapLevelClamp = 99
    return texture


def fetched(kernels: Any, name: str, described: Any, texture: Any, places: Any, channels: int = 1) -> Floats:
    """Return what a kernel fetches at places of three coordinates, which the kernel may leave unused."""
    at = np.zeros((len(places), 3), np.float32)
    for row, place in zip(at, places, strict=True):
        row[: len(place)] = place
    out = np.zeros((len(places), channels), np.float32)
    handle = ok(cuda.cuTexObjectCreate(described, texture, None))
    source, target = (ok(cuda.cuMemAlloc(array.nbytes)) for array in (at, out))
    ok((*cuda.cuMemcpyHtoD(source, at.ctypes.data, at.nbytes), None))
    stream = core.Device().default_stream
    config = core.LaunchConfig(grid=1, block=len(places))
    arguments = (ctypes.c_uint64(int(handle)), ctypes.c_uint64(int(source)), ctypes.c_uint64(int(target)))
    core.launch(stream, config, kernels.get_kernel(name), *arguments)
    stream.sync()
    ok((*cuda.cuMemcpyDtoH(out.ctypes.data, target, out.nbytes), None))
    for memory in (source, target):
        ok((*cuda.cuMemFree(memory), None))
    ok((*cuda.cuTexObjectDestroy(handle), None))
    return out[:, 0] if channels == 1 else out


def blended(values: Floats, place: list[float]) -> float:
    """The guide's linear filter with clamped indices. ``place`` has the coordinates in the order of the axes."""
    result: Any = values.astype(np.float64)
    for coordinate in place:
        base = np.floor(coordinate - 0.5)
        fraction = np.floor((coordinate - 0.5 - base) * 256 + 0.5) / 256
        first, second = (int(np.clip(base + step, 0, result.shape[0] - 1)) for step in (0, 1))
        result = (1 - fraction) * result[first] + fraction * result[second]
    return float(result)


PLACES = [(0.0, 0.0, 0.0), (0.5, 1.5, 0.5), (2.3, 1.9, 1.1), (3.71, 0.2, 1.6), (9.0, -4.0, 0.9), (1.999, 2.001, 1.5)]


@pytest.mark.parametrize(
    ("kernel", "shape"), [("linear_1d", (5,)), ("linear_2d", (4, 5)), ("linear_3d", (3, 4, 5))], ids=str
)
def test_linear_filter_has_the_weights_of_the_guide(
    kernels: Any, arrays: Callable[..., Any], kernel: str, shape: tuple[int, ...]
) -> None:
    values = np.random.default_rng(7).random(shape, np.float32)
    found = fetched(kernels, kernel, resource(arrays(values)), sampler(), PLACES)
    expected = [blended(values, list(place[: len(shape)][::-1])) for place in PLACES]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(("mode", "columns"), [("WRAP", (3, 0)), ("MIRROR", (0, 3)), ("CLAMP", (0, 3))])
def test_address_modes_repeat_mirror_and_clamp(
    kernels: Any, arrays: Callable[..., Any], mode: str, columns: tuple[int, int]
) -> None:
    values = np.arange(8, dtype=np.float32).reshape(2, 4)
    texture = sampler(normalized=True, linear=False, mode=mode)
    found = fetched(kernels, "linear_2d", resource(arrays(values)), texture, [(-0.1, 0.7), (1.1, 0.2)])
    assert found.tolist() == [values[1, columns[0]], values[0, columns[1]]]


def test_layers_and_faces_are_selected(kernels: Any, arrays: Callable[..., Any]) -> None:
    values = np.arange(24, dtype=np.float32).reshape(6, 2, 2)
    layered = resource(arrays(values, cuda.CUDA_ARRAY3D_LAYERED, 6))
    found = fetched(kernels, "layered_2d", layered, sampler(linear=False), [(1, 0, 0), (0, 1, 3), (1, 1, 5)])
    assert found.tolist() == [values[0, 0, 1], values[3, 1, 0], values[5, 1, 1]]
    cube = resource(arrays(values, cuda.CUDA_ARRAY3D_CUBEMAP, 6))
    directions = [(1, 0.5, 0.5), (-1, 0.5, 0.5), (0.5, 1, 0.5), (0.5, -1, 0.5), (0.5, 0.5, 1), (0.5, 0.5, -1)]
    found = fetched(kernels, "cube", cube, sampler(normalized=True, linear=False), directions)
    texels = [(0, 0), (0, 1), (1, 1), (0, 1), (0, 1), (0, 0)]
    assert found.tolist() == [values[face, row, column] for face, (row, column) in enumerate(texels)]


def test_four_texels_are_gathered(kernels: Any, arrays: Callable[..., Any]) -> None:
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    array = arrays(values, cuda.CUDA_ARRAY3D_TEXTURE_GATHER)
    found = fetched(kernels, "gather_2d", resource(array), sampler(), [(2, 1)], channels=4)
    assert found.tolist() == [[5, 6, 2, 1]]


def test_integers_are_read_as_numbers_and_srgb_is_converted(kernels: Any, arrays: Callable[..., Any]) -> None:
    values = np.tile(np.array([0, 51, 255, 128], np.uint8), (2, 2, 1))
    array = arrays(values)
    plain = fetched(kernels, "colours", resource(array), sampler(linear=False), [(0, 0)], channels=4)
    np.testing.assert_array_equal(plain[0], np.float32([0, 51 / 255, 1, 128 / 255]))
    texture = sampler(linear=False, flags=cuda.CU_TRSF_SRGB)
    converted = fetched(kernels, "colours", resource(array), texture, [(0, 0)], channels=4)
    np.testing.assert_allclose(converted[0], [0, 0.0331047, 1, 128 / 255], atol=1e-6)


def test_linear_memory_is_fetched_by_index_with_zeros_outside(kernels: Any) -> None:
    values = np.arange(1, 9, dtype=np.float32)
    memory = ok(cuda.cuMemAlloc(values.nbytes))
    ok((*cuda.cuMemcpyHtoD(memory, values.ctypes.data, values.nbytes), None))
    described = cuda.CUDA_RESOURCE_DESC()
    described.resType = cuda.CUresourcetype.CU_RESOURCE_TYPE_LINEAR
    described.res.linear.devPtr, described.res.linear.sizeInBytes = memory, values.nbytes
    described.res.linear.format, described.res.linear.numChannels = cuda.CUarray_format.CU_AD_FORMAT_FLOAT, 1
    found = fetched(kernels, "fetch_1d", described, sampler(linear=False), [(0,), (7,), (8,), (-1,)])
    ok((*cuda.cuMemFree(memory), None))
    assert found.tolist() == [1, 8, 0, 0]


def test_levels_of_a_mipmap_are_chosen_by_number_and_by_gradient(kernels: Any) -> None:
    description = cuda.CUDA_ARRAY3D_DESCRIPTOR()
    description.Width, description.Height, description.NumChannels = 8, 8, 1
    description.Format = cuda.CUarray_format.CU_AD_FORMAT_FLOAT
    mipmap = ok(cuda.cuMipmappedArrayCreate(description, 4))
    for level in range(4):
        size = 8 >> level
        values = np.full((size, size), 10 * level, np.float32)
        upload(ok(cuda.cuMipmappedArrayGetLevel(mipmap, level)), values, 4 * size, size, 1)
    described = cuda.CUDA_RESOURCE_DESC()
    described.resType = cuda.CUresourcetype.CU_RESOURCE_TYPE_MIPMAPPED_ARRAY
    described.res.mipmap.hMipmappedArray = mipmap
    levels = [(0.5, 0.5, level) for level in (0, 1, 1.25, 9)]
    found = fetched(kernels, "level_2d", described, sampler(normalized=True), levels)
    assert found.tolist() == [0, 10, 12.5, 30]
    # A step of 1/8 of the image is one texel of the first level.
    steps = [(0.5, 0.5, step) for step in (0.125, 0.25, 0.5, 0.0)]
    found = fetched(kernels, "gradients_2d", described, sampler(normalized=True), steps)
    assert found.tolist() == [0, 10, 20, 0]
    ok((*cuda.cuMipmappedArrayDestroy(mipmap), None))


@pytest.mark.parametrize("outside", [0, 1])
def test_surfaces_are_read_and_written(kernels: Any, arrays: Callable[..., Any], outside: int) -> None:
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    flag = cuda.CUDA_ARRAY3D_SURFACE_LDST
    source, target = arrays(values, flag), arrays(np.zeros((4, 3), np.float32), flag)
    handles = [ok(cuda.cuSurfObjectCreate(resource(array))) for array in (source, target)]
    stream = core.Device().default_stream
    config = core.LaunchConfig(grid=1, block=(4, 3))
    arguments = (*(ctypes.c_uint64(int(handle)) for handle in handles), ctypes.c_int32(outside))
    core.launch(stream, config, kernels.get_kernel("transposed"), *arguments)
    stream.sync()
    for handle in handles:
        ok((*cuda.cuSurfObjectDestroy(handle), None))
    moved = np.pad(values, ((0, 0), (0, outside)))[:, outside:]
    np.testing.assert_array_equal(download(target, (4, 3)), moved.T + 1)
