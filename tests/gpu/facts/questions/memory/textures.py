"""Texture objects: what is accepted, and the exact results of fetches, as the filter computes them."""

from __future__ import annotations

import contextlib
import ctypes
import math
import struct
from collections.abc import Callable, Iterator
from typing import Any

from ...driver import CUDA_SUCCESS, Driver, kernels
from .arrays import (
    CU_AD_FORMAT_FLOAT,
    CU_AD_FORMAT_HALF,
    CU_AD_FORMAT_SIGNED_INT8,
    CU_AD_FORMAT_SIGNED_INT16,
    CU_AD_FORMAT_UNSIGNED_INT8,
    CU_AD_FORMAT_UNSIGNED_INT16,
    CU_AD_FORMAT_UNSIGNED_INT32,
    SURFACE,
    array,
)
from .asking import ask, device_memory
from .structures import ADDRESS, CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_HOST, SIZE, UINT, Copy2D

WRAP, CLAMP, MIRROR, BORDER = 0, 1, 2, 3
POINT, LINEAR = 0, 1
READ_AS_INTEGER, NORMALIZED, SRGB = 1, 2, 0x10
OF_ARRAY, OF_MIPMAPPED, OF_LINEAR, OF_PITCH = 0, 1, 2, 3


class Resource(ctypes.Structure):
    """``CUDA_RESOURCE_DESC``: its type, sixteen words for the fields of each type, and flags."""

    _fields_ = [("resType", UINT), ("res", ctypes.c_uint64 * 16), ("flags", UINT)]


class Texture(ctypes.Structure):
    """``CUDA_TEXTURE_DESC``."""

    _fields_ = [
        ("addressMode", UINT * 3),
        ("filterMode", UINT),
        ("flags", UINT),
        ("maxAnisotropy", UINT),
        ("mipmapFilterMode", UINT),
        ("mipmapLevelBias", ctypes.c_float),
        ("minMipmapLevelClamp", ctypes.c_float),
        ("maxMipmapLevelClamp", ctypes.c_float),
        ("borderColor", ctypes.c_float * 4),
        ("reserved", ctypes.c_int * 12),
    ]


class View(ctypes.Structure):
    """``CUDA_RESOURCE_VIEW_DESC``."""

    _fields_ = [
        ("format", UINT),
        ("width", SIZE),
        ("height", SIZE),
        ("depth", SIZE),
        ("firstMipmapLevel", UINT),
        ("lastMipmapLevel", UINT),
        ("firstLayer", UINT),
        ("lastLayer", UINT),
        ("reserved", UINT * 16),
    ]


assert ctypes.sizeof(Resource) == 144
assert ctypes.sizeof(Texture) == 104
assert ctypes.sizeof(View) == 112

FETCH = kernels(
    """
.visible .entry fetch(.param .u64 texture, .param .u64 places, .param .u64 results) {
    .reg .b32 %i; .reg .b64 %t, %p, %r, %a; .reg .f32 %x, %y, %v<4>;
    ld.param.u64 %t, [texture]; ld.param.u64 %p, [places]; ld.param.u64 %r, [results];
    cvta.to.global.u64 %p, %p; cvta.to.global.u64 %r, %r;
    mov.u32 %i, %ctaid.x;
    mul.wide.u32 %a, %i, 8; add.u64 %p, %p, %a; ld.global.v2.f32 {%x, %y}, [%p];
    tex.DIMENSION.v4.f32.f32 {%v0, %v1, %v2, %v3}, [%t, {PLACE}];
    mul.wide.u32 %a, %i, 16; add.u64 %r, %r, %a; st.global.v4.f32 [%r], {%v0, %v1, %v2, %v3};
    ret;
}
"""
)
FETCHES = {
    1: FETCH.replace("DIMENSION", "1d").replace("PLACE", "%x"),
    2: FETCH.replace("DIMENSION", "2d").replace("PLACE", "%x, %y"),
}


def settings(filter_mode: int, mode: int, flags: int, border: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)) -> Texture:
    found = Texture(filterMode=filter_mode, flags=flags)
    found.addressMode[:] = [mode] * 3
    found.borderColor[:] = list(border)
    return found


def of_array(handle: int) -> Resource:
    found = Resource(resType=OF_ARRAY)
    found.res[0] = handle
    return found


def linear(address: int, kind: int, channels: int, size: int) -> Resource:
    found = Resource(resType=OF_LINEAR)
    found.res[0], found.res[1], found.res[2] = address, kind | channels << 32, size
    return found


def pitched(address: int, kind: int, channels: int, width: int, height: int, pitch: int) -> Resource:
    found = Resource(resType=OF_PITCH)
    found.res[0], found.res[1] = address, kind | channels << 32
    found.res[2], found.res[3], found.res[4] = width, height, pitch
    return found


@contextlib.contextmanager
def filled(driver: Driver, kind: int, channels: int, texel: int, width: int, height: int, data: bytes) -> Iterator[int]:
    with array(driver, width, height, 0, kind, channels) as handle:
        host = ctypes.create_string_buffer(data, len(data))
        row = width * texel
        copy = Copy2D(
            srcMemoryType=CU_MEMORYTYPE_HOST,
            srcHost=ctypes.addressof(host),
            srcPitch=row,
            dstMemoryType=CU_MEMORYTYPE_ARRAY,
            dstArray=handle,
            WidthInBytes=row,
            Height=max(height, 1),
        )
        driver.do("cuMemcpy2D_v2", ctypes.byref(copy))
        yield handle


def fetched(
    driver: Driver, resource: Resource, texture: Texture, places: list[tuple[float, float]], dimensions: int
) -> Any:
    """The results at each place, four numbers each; or the name of the error."""
    number = ADDRESS()
    code = driver.code("cuTexObjectCreate", ctypes.byref(number), ctypes.byref(resource), ctypes.byref(texture), None)
    if code != CUDA_SUCCESS:
        return code
    module = driver.module(FETCHES[dimensions])
    with device_memory(driver, 8 * len(places)) as where, device_memory(driver, 16 * len(places)) as results:
        driver.upload(where, b"".join(struct.pack("<ff", *place) for place in places))
        code = driver.launch(driver.function(module, "fetch"), number.value, where, results, blocks=len(places))
        driver.do("cuCtxSynchronize")
        values = struct.unpack(f"<{4 * len(places)}f", driver.download(results, 16 * len(places)))
    driver.do("cuTexObjectDestroy", number)
    driver.do("cuModuleUnload", module)
    # Numbers that are not finite become texts: two recordings could not be compared by them.
    return [value if math.isfinite(value) else str(value) for value in values]


VALUES = (0.0, 1.0, 4.0, -2.0, 8.0, 1024.0, 0.25, 3.0)
"""The texels of one dimension. Powers of two show the filter's weights exactly."""
COARSE = [(number / 4, 0.0) for number in range(-24, 57)]
FINE = [(1.5 + number / 1024, 0.0) for number in range(0, 1025, 3)]
NEAR = [(2.5 + number / 4096, 0.0) for number in range(-40, 41)]


def one_dimension(
    filter_mode: int, mode: int, places: list[tuple[float, float]], normalized: bool, border: float = 0.0
) -> Callable[[Driver], Any]:
    def case(driver: Driver) -> Any:
        scaled = [(x / len(VALUES), y) for x, y in places] if normalized else places
        texture = settings(filter_mode, mode, NORMALIZED if normalized else 0, (border,) * 4)
        data = struct.pack(f"<{len(VALUES)}f", *VALUES)
        with filled(driver, CU_AD_FORMAT_FLOAT, 1, 4, len(VALUES), 0, data) as handle:
            found = fetched(driver, of_array(handle), texture, scaled, 1)
            return found if isinstance(found, str) else list(found[::4])

    return case


MODES = {"wrap": WRAP, "clamp": CLAMP, "mirror": MIRROR, "border": BORDER}
ask(
    "memory.texture_of_one_dimension",
    {
        f"{filter_name}.{mode_name}.{'normalized' if normalized else 'plain'}": one_dimension(
            filter_mode, mode, COARSE, normalized
        )
        for filter_name, filter_mode in (("point", POINT), ("linear", LINEAR))
        for mode_name, mode in MODES.items()
        for normalized in (False, True)
    }
    | {
        "linear.border_of_100": one_dimension(LINEAR, BORDER, COARSE, False, 100.0),
        "linear.fine_steps": one_dimension(LINEAR, CLAMP, FINE, False),
        "linear.fine_steps_normalized": one_dimension(LINEAR, CLAMP, FINE, True),
        "linear.near_a_texel": one_dimension(LINEAR, CLAMP, NEAR, False),
        "point.near_an_edge": one_dimension(POINT, CLAMP, [(x - 0.5, y) for x, y in NEAR], False),
        "point.near_an_edge_normalized": one_dimension(POINT, CLAMP, [(x - 0.5, y) for x, y in NEAR], True),
        "linear.not_finite": one_dimension(
            LINEAR, CLAMP, [(float("inf"), 0.0), (float("-inf"), 0.0), (float("nan"), 0.0), (1e30, 0.0)], False
        ),
    },
)


def two_dimensions(filter_mode: int, mode: int, places: list[tuple[float, float]]) -> Callable[[Driver], Any]:
    def case(driver: Driver) -> Any:
        data = struct.pack("<16f", *(float(1 << number) for number in range(16)))
        with filled(driver, CU_AD_FORMAT_FLOAT, 1, 4, 4, 4, data) as handle:
            found = fetched(driver, of_array(handle), settings(filter_mode, mode, 0), places, 2)
            return found if isinstance(found, str) else list(found[::4])

    return case


GRID = [(x / 4, y / 4) for y in range(-4, 21, 3) for x in range(-4, 21, 3)]
ODD = [(1.0 + x / 300, 1.0 + x / 170) for x in range(0, 300, 7)]
ask(
    "memory.texture_of_two_dimensions",
    {
        f"{filter_name}.{mode_name}.{where}": two_dimensions(filter_mode, mode, places)
        for filter_name, filter_mode in (("point", POINT), ("linear", LINEAR))
        for mode_name, mode in (("clamp", CLAMP), ("border", BORDER))
        for where, places in (("grid", GRID), ("odd_places", ODD))
    },
)


def converted(
    kind: int, code: str, values: tuple[float, ...], filter_mode: int = POINT, flags: int = 0
) -> Callable[[Driver], Any]:
    """Integers that are read as numbers between -1 and 1, or between 0 and 1."""

    def case(driver: Driver) -> Any:
        data = struct.pack(f"<{len(values)}{code}", *values)
        places = [(number + 0.5, 0.0) for number in range(len(values))]
        if filter_mode == LINEAR:
            places = [(number / 3, 0.0) for number in range(3 * len(values))]
        with filled(driver, kind, 1, struct.calcsize(code), len(values), 0, data) as handle:
            found = fetched(driver, of_array(handle), settings(filter_mode, CLAMP, flags), places, 1)
            return found if isinstance(found, str) else list(found[: 4 * len(places) : 4])

    return case


BYTES = tuple(range(0, 256, 5))
SIGNED = tuple(range(-128, 128, 5))
ask(
    "memory.texture_of_integers",
    {
        "unsigned_8": converted(CU_AD_FORMAT_UNSIGNED_INT8, "B", BYTES),
        "unsigned_8_linear": converted(CU_AD_FORMAT_UNSIGNED_INT8, "B", (0, 255, 3, 100), LINEAR),
        "unsigned_8_srgb": converted(CU_AD_FORMAT_UNSIGNED_INT8, "B", BYTES, POINT, SRGB),
        "signed_8": converted(CU_AD_FORMAT_SIGNED_INT8, "b", SIGNED),
        "unsigned_16": converted(CU_AD_FORMAT_UNSIGNED_INT16, "H", (0, 1, 255, 256, 32767, 65534, 65535)),
        "signed_16": converted(CU_AD_FORMAT_SIGNED_INT16, "h", (-32768, -32767, -1, 0, 1, 32767)),
        "half": converted(CU_AD_FORMAT_HALF, "e", (0.0, 1.0, -2.5, 65504.0, 6e-8)),
        "half_linear": converted(CU_AD_FORMAT_HALF, "e", (0.0, 1.0, -2.5, 1000.0), LINEAR),
        "unsigned_32": converted(CU_AD_FORMAT_UNSIGNED_INT32, "I", (0, 1, 1 << 31)),
        "unsigned_32_linear": converted(CU_AD_FORMAT_UNSIGNED_INT32, "I", (0, 1, 1 << 31), LINEAR),
    },
)


def of_linear(
    places: list[tuple[float, float]], filter_mode: int = POINT, mode: int = CLAMP
) -> Callable[[Driver], Any]:
    def case(driver: Driver) -> Any:
        with device_memory(driver, 4 * len(VALUES)) as address:
            driver.upload(address, struct.pack(f"<{len(VALUES)}f", *VALUES))
            resource = linear(address, CU_AD_FORMAT_FLOAT, 1, 4 * len(VALUES))
            found = fetched(driver, resource, settings(filter_mode, mode, 0), places, 1)
            return found if isinstance(found, str) else list(found[::4])

    return case


ask(
    "memory.texture_of_linear_memory",
    {
        "point_at_floats": of_linear([(0.0, 0.0), (0.9, 0.0), (1.0, 0.0), (7.0, 0.0)]),
        "linear": of_linear([(1.0, 0.0)], LINEAR),
    },
)


def create(driver: Driver, resource: Resource | None, texture: Texture | None, view: View | None = None) -> str:
    number = ADDRESS()
    arguments = [None if item is None else ctypes.byref(item) for item in (resource, texture, view)]
    code = driver.code("cuTexObjectCreate", ctypes.byref(number), *arguments)
    if code == CUDA_SUCCESS:
        driver.do("cuTexObjectDestroy", number)
    return code


def accepted(driver: Driver) -> dict[str, str]:
    """Descriptions that the manual prohibits, or on which it is silent."""
    plain = settings(POINT, CLAMP, 0)
    found = {}
    with array(driver, 16, 8) as handle, device_memory(driver, 1 << 16) as address:
        flat = of_array(handle)
        found["right"] = create(driver, flat, plain)
        found["null_resource"] = create(driver, None, plain)
        found["null_texture"] = create(driver, flat, None)
        found["type_4"] = create(driver, Resource(resType=4), plain)
        found["resource_flags_1"] = create(driver, Resource(OF_ARRAY, flat.res, 1), plain)
        for name, changes in {
            "address_mode_4": {"mode": 4},
            "filter_mode_2": {"filter_mode": 2},
            "flags_4": {"flags": 4},
            "flags_0x80": {"flags": 0x80},
            "srgb_of_floats": {"flags": SRGB},
        }.items():
            values = {"filter_mode": POINT, "mode": CLAMP, "flags": 0} | changes
            found[name] = create(driver, flat, settings(values["filter_mode"], values["mode"], values["flags"]))
        found["linear_of_integers"] = create(driver, flat, settings(LINEAR, CLAMP, READ_AS_INTEGER))
        for name, levels in (("anisotropy_16", 16), ("anisotropy_17", 17)):
            texture = settings(LINEAR, CLAMP, NORMALIZED)
            texture.maxAnisotropy = levels
            found[name] = create(driver, flat, texture)
        texture = settings(POINT, CLAMP, 0)
        texture.reserved[0] = 1
        found["reserved"] = create(driver, flat, texture)
        found["linear_memory"] = create(driver, linear(address, CU_AD_FORMAT_FLOAT, 1, 64), plain)
        found["linear_memory_at_an_odd_address"] = create(driver, linear(address + 4, CU_AD_FORMAT_FLOAT, 1, 64), plain)
        found["linear_memory_aligned_by_32"] = create(driver, linear(address + 32, CU_AD_FORMAT_FLOAT, 1, 64), plain)
        found["linear_memory_past_the_end"] = create(driver, linear(address, CU_AD_FORMAT_FLOAT, 1, 1 << 17), plain)
        found["linear_memory_of_no_bytes"] = create(driver, linear(address, CU_AD_FORMAT_FLOAT, 1, 0), plain)
        found["linear_memory_null"] = create(driver, linear(0, CU_AD_FORMAT_FLOAT, 1, 64), plain)
        found["rows"] = create(driver, pitched(address, CU_AD_FORMAT_FLOAT, 1, 16, 4, 512), plain)
        found["rows_of_pitch_64"] = create(driver, pitched(address, CU_AD_FORMAT_FLOAT, 1, 16, 4, 64), plain)
        found["rows_of_pitch_32"] = create(driver, pitched(address, CU_AD_FORMAT_FLOAT, 1, 8, 4, 32), plain)
        found["rows_of_pitch_48"] = create(driver, pitched(address, CU_AD_FORMAT_FLOAT, 1, 8, 4, 48), plain)
        found["rows_wider_than_pitch"] = create(driver, pitched(address, CU_AD_FORMAT_FLOAT, 1, 32, 4, 64), plain)
        found["view_of_the_same_format"] = create(driver, flat, plain, View(0x16, 16, 8, 0))
        found["view_of_32_bits"] = create(driver, flat, plain, View(0x0D, 16, 8, 0))
        found["view_of_16_bits"] = create(driver, flat, plain, View(0x13, 16, 8, 0))
        found["view_of_no_format"] = create(driver, flat, plain, View(0, 16, 8, 0))
        found["view_of_another_width"] = create(driver, flat, plain, View(0x16, 8, 8, 0))
        found["view_of_a_level"] = create(driver, flat, plain, View(0x16, 16, 8, 0, 1, 1))
        found["view_of_linear_memory"] = create(
            driver, linear(address, CU_AD_FORMAT_FLOAT, 1, 64), plain, View(0x16, 16, 0, 0)
        )
    return found


def surfaces(driver: Driver) -> dict[str, str]:
    """Surface objects need an array with stores by surfaces."""
    found = {}
    with (
        array(driver, 16, 8) as plain,
        array(driver, 16, 8, flags=SURFACE) as surface,
        device_memory(driver) as address,
    ):
        for name, resource in (
            ("right", of_array(surface)),
            ("array_without_surface", of_array(plain)),
            ("linear_memory", linear(address, CU_AD_FORMAT_FLOAT, 1, 64)),
        ):
            number = ADDRESS()
            found[name] = driver.code("cuSurfObjectCreate", ctypes.byref(number), ctypes.byref(resource))
            if number.value:
                found[f"{name}.destroy"] = driver.code("cuSurfObjectDestroy", number)
    found["destroy_of_0"] = driver.code("cuSurfObjectDestroy", 0)
    found["destroy_of_texture_0"] = driver.code("cuTexObjectDestroy", 0)
    return found


def read_back(driver: Driver) -> dict[str, Any]:
    """The descriptors of a texture object."""
    texture = settings(LINEAR, WRAP, NORMALIZED, (1.0, 2.0, 3.0, 4.0))
    with array(driver, 16, 8) as handle:
        number = driver.made("cuTexObjectCreate", *map(ctypes.byref, (of_array(handle), texture)), None, kind=ADDRESS)
        resource, read, view = Resource(), Texture(), View()
        found: dict[str, Any] = {
            "resource": driver.code("cuTexObjectGetResourceDesc", ctypes.byref(resource), number),
            "resource_type": resource.resType,
            "resource_is_the_array": resource.res[0] == handle,
            "texture": driver.code("cuTexObjectGetTextureDesc", ctypes.byref(read), number),
            "address_modes": list(read.addressMode),
            "filter_mode": read.filterMode,
            "flags": read.flags,
            "anisotropy": read.maxAnisotropy,
            "border": list(read.borderColor),
            "view": driver.code("cuTexObjectGetResourceViewDesc", ctypes.byref(view), number),
        }
        found["first_number"] = "not zero" if number else "zero"
        driver.do("cuTexObjectDestroy", number)
        return found


ask("memory.texture_objects", {"accepted": accepted, "surfaces": surfaces, "read_back": read_back})
