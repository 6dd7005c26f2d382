"""Opaque arrays, textures and surfaces of cuda.core: each name as documented, and with a wrong argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

KERNELS = """
extern "C" __global__ void sample(cudaTextureObject_t from, float *to, float x, float y) { *to = tex2D<float>(from, x, y); }
extern "C" __global__ void fetch(cudaTextureObject_t from, float *to, int x) { *to = tex1Dfetch<float>(from, x); }
extern "C" __global__ void level(cudaTextureObject_t from, float *to, float x, float y) { *to = tex2DLod<float>(from, x, y, 1.0f); }
extern "C" __global__ void store(cudaSurfaceObject_t to, int x, int y, float value) { surf2Dwrite(value, to, x * 4, y); }
"""
WIDTH, HEIGHT = 8, 4
IMAGE = np.arange(WIDTH * HEIGHT, dtype="float32").reshape(HEIGHT, WIDTH)


@pytest.fixture(scope="module")
def kernels(cuda_core: Any) -> Any:
    from cuda.core import Device, Program

    Device(0).set_current()
    return Program(KERNELS, "c++").compile("cubin")


def launched(kernels: Any, stream: Any, name: str, handle: Any, *arguments: Any) -> float:
    """The float that a kernel of one thread writes."""
    from cuda.core import LaunchConfig, LegacyPinnedMemoryResource, launch

    host = LegacyPinnedMemoryResource().allocate(4)
    launch(stream, LaunchConfig(grid=1, block=1), kernels.get_kernel(name), np.uint64(int(handle)), host, *arguments)
    stream.sync()
    return float(np.from_dlpack(host).view("float32")[0])


@pytest.fixture
def array(device: Any, stream: Any) -> Any:
    from cuda.core.texture import OpaqueArrayOptions

    options = OpaqueArrayOptions((WIDTH, HEIGHT), "float32", 1, is_surface_load_store=True)
    array = device.create_opaque_array(options)
    array.copy_from(IMAGE, stream=stream)
    stream.sync()
    yield array
    array.close()
    assert array.is_closed


def test_array_describes_itself_and_keeps_its_elements(device: Any, stream: Any, array: Any) -> None:
    assert (array.shape, str(array.format.value), array.num_channels) == ((WIDTH, HEIGHT), "float32", 1)
    assert (array.element_bytes, array.size_bytes, array.is_surface_load_store) == (4, IMAGE.nbytes, True)
    assert array.device.device_id == 0
    assert int(array.handle) != 0
    copy = np.zeros_like(IMAGE)
    assert array.copy_to(copy, stream=stream) is copy
    stream.sync()
    assert np.array_equal(copy, IMAGE)
    with pytest.raises(ValueError, match="bytes"):
        array.copy_to(np.zeros(3, "float32"), stream=stream)
    with pytest.raises(ValueError, match="bytes"):
        array.copy_from(np.zeros(3, "float32"), stream=stream)


def test_array_of_impossible_options_is_an_error(device: Any) -> None:
    from cuda.core.texture import OpaqueArrayOptions

    with pytest.raises(ValueError, match="channels"):
        device.create_opaque_array(OpaqueArrayOptions((8, 8), "float32", 3))
    with pytest.raises(Exception, match="INVALID_VALUE"):
        device.create_opaque_array(OpaqueArrayOptions((1 << 24, 8), "float32", 1))


def test_texture_samples_with_its_options(device: Any, stream: Any, array: Any, kernels: Any) -> None:
    from cuda.core.texture import ResourceDescriptor, TextureObjectOptions

    resource = ResourceDescriptor.from_opaque_array(array)
    assert resource.source is array
    options = TextureObjectOptions(address_mode="clamp", filter_mode="linear")
    texture = device.create_texture_object(resource=resource, options=options)
    assert (texture.options, texture.resource, texture.device.device_id) == (options, resource, 0)
    for (x, y), expected in {(2.5, 1.5): 10, (3.0, 1.5): 10.5, (3.0, 2.0): 14.5, (-5.0, 0.5): 0}.items():
        value = launched(kernels, stream, "sample", texture.handle, np.float32(x), np.float32(y))
        assert value == pytest.approx(expected, abs=1 / 256), (x, y)
    texture.close()
    assert texture.is_closed
    border = TextureObjectOptions(address_mode="border", border_color=(9, 0, 0, 0))
    texture = device.create_texture_object(resource=resource, options=border)
    assert launched(kernels, stream, "sample", texture.handle, np.float32(-5), np.float32(0)) == 9
    texture.close()
    with pytest.raises(ValueError, match="sideways"):
        device.create_texture_object(resource=resource, options=TextureObjectOptions(filter_mode="sideways"))


def test_texture_over_a_buffer_is_fetched(device: Any, stream: Any, kernels: Any) -> None:
    from cuda.core.texture import ResourceDescriptor

    buffer = device.allocate(64, stream=stream)
    buffer.fill(np.float32(2.5).tobytes(), stream=stream)
    stream.sync()
    resource = ResourceDescriptor.from_linear(buffer, format="float32", num_channels=1)
    assert (resource.kind, resource.size_bytes, resource.num_channels) == ("linear", 64, 1)
    texture = device.create_texture_object(resource=resource)
    assert launched(kernels, stream, "fetch", texture.handle, np.int32(15)) == 2.5
    texture.close()
    with pytest.raises(ValueError, match="size"):
        ResourceDescriptor.from_linear(buffer, format="float32", num_channels=1, size_bytes=65)
    buffer.close(stream)


def test_texture_over_rows_is_sampled(device: Any, stream: Any, kernels: Any) -> None:
    from cuda.core.texture import ResourceDescriptor

    pitch = max(512, device.properties.texture_pitch_alignment)
    buffer = device.allocate(pitch * 2, stream=stream)
    buffer.fill(np.float32(7).tobytes(), stream=stream)
    stream.sync()
    size = {"format": "float32", "num_channels": 1, "width": 8, "height": 2}
    resource = ResourceDescriptor.from_pitch2d(buffer, **size, pitch_bytes=pitch)
    assert (resource.width, resource.height, resource.pitch_bytes) == (8, 2, pitch)
    assert str(resource.format.value) == "float32"
    texture = device.create_texture_object(resource=resource)
    assert launched(kernels, stream, "sample", texture.handle, np.float32(3), np.float32(1)) == 7
    texture.close()
    with pytest.raises(ValueError, match="pitch"):
        ResourceDescriptor.from_pitch2d(buffer, **size, pitch_bytes=8)
    buffer.close(stream)


def test_mipmap_has_levels_that_a_texture_chooses(device: Any, stream: Any, kernels: Any) -> None:
    from cuda.core.texture import MipmappedArrayOptions, ResourceDescriptor, TextureObjectOptions

    mipmap = device.create_mipmapped_array(MipmappedArrayOptions((8, 8), "float32", 1, num_levels=3))
    assert (mipmap.shape, mipmap.num_levels, mipmap.num_channels) == ((8, 8), 3, 1)
    assert (str(mipmap.format.value), mipmap.is_surface_load_store) == ("float32", False)
    assert mipmap.device.device_id == 0
    assert int(mipmap.handle) != 0
    for number in range(3):
        level = mipmap.get_level(number)
        assert level.shape == (8 >> number, 8 >> number)
        level.copy_from(np.full(level.shape, number + 10, "float32"), stream=stream)
    stream.sync()
    options = TextureObjectOptions(normalized_coords=True, max_mipmap_level_clamp=2.0)
    texture = device.create_texture_object(resource=ResourceDescriptor.from_mipmapped_array(mipmap), options=options)
    assert launched(kernels, stream, "level", texture.handle, np.float32(0.5), np.float32(0.5)) == 11
    texture.close()
    with pytest.raises((ValueError, IndexError), match="level"):
        mipmap.get_level(3)
    mipmap.close()
    assert mipmap.is_closed
    with pytest.raises(ValueError, match="num_levels"):
        device.create_mipmapped_array(MipmappedArrayOptions((8, 8), "float32", 1, num_levels=0))


def test_surface_stores_elements(device: Any, stream: Any, array: Any, kernels: Any) -> None:
    from cuda.core import LaunchConfig, launch
    from cuda.core.texture import OpaqueArrayOptions, ResourceDescriptor

    surface = device.create_surface_object(resource=ResourceDescriptor.from_opaque_array(array))
    assert surface.device.device_id == 0
    assert surface.resource.source is array
    arguments = (np.uint64(int(surface.handle)), np.int32(3), np.int32(2), np.float32(99))
    launch(stream, LaunchConfig(grid=1, block=1), kernels.get_kernel("store"), *arguments)
    copy = np.zeros_like(IMAGE)
    array.copy_to(copy, stream=stream)
    stream.sync()
    expected = IMAGE.copy()
    expected[2, 3] = 99
    assert np.array_equal(copy, expected)
    surface.close()
    assert surface.is_closed
    plain = device.create_opaque_array(OpaqueArrayOptions((8, 8), "float32", 1))
    with pytest.raises(ValueError, match="surface"):
        device.create_surface_object(resource=ResourceDescriptor.from_opaque_array(plain))
    plain.close()
