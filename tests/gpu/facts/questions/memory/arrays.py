"""Arrays: extents, formats and flags that are accepted, descriptors that are read back, copies."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from typing import Any

from ...driver import CUDA_SUCCESS, Driver
from .asking import ask, device_memory, no_context, then
from .structures import (
    CU_MEMORYTYPE_ARRAY,
    CU_MEMORYTYPE_HOST,
    POINTER,
    SIZE,
    UINT,
    Copy2D,
)

CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_UNSIGNED_INT32 = 1, 2, 3
CU_AD_FORMAT_SIGNED_INT8, CU_AD_FORMAT_SIGNED_INT16 = 8, 9
CU_AD_FORMAT_HALF, CU_AD_FORMAT_FLOAT = 0x10, 0x20
LAYERED, SURFACE, CUBEMAP, GATHER, DEPTH, COLOR, SPARSE, DEFERRED = 1, 2, 4, 8, 16, 32, 64, 128
LAST_FORMAT = 0xD8


class ArrayDescriptor(ctypes.Structure):
    """``CUDA_ARRAY_DESCRIPTOR``."""

    _fields_ = [("Width", SIZE), ("Height", SIZE), ("Format", UINT), ("NumChannels", UINT)]


class ArrayDescriptor3D(ctypes.Structure):
    """``CUDA_ARRAY3D_DESCRIPTOR``."""

    _fields_ = [
        ("Width", SIZE),
        ("Height", SIZE),
        ("Depth", SIZE),
        ("Format", UINT),
        ("NumChannels", UINT),
        ("Flags", UINT),
    ]


class Requirements(ctypes.Structure):
    """``CUDA_ARRAY_MEMORY_REQUIREMENTS``."""

    _fields_ = [("size", SIZE), ("alignment", SIZE), ("reserved", UINT * 4)]


assert ctypes.sizeof(ArrayDescriptor) == 24
assert ctypes.sizeof(ArrayDescriptor3D) == 40


def create(driver: Driver, *values: int) -> tuple[str, int]:
    """Make an array of width, height, depth, format, channels, flags: the code and the handle."""
    handle = POINTER()
    code = driver.code("cuArray3DCreate_v2", ctypes.byref(handle), ctypes.byref(ArrayDescriptor3D(*values)))
    return code, handle.value or 0


@contextlib.contextmanager
def array(
    driver: Driver,
    width: int,
    height: int = 0,
    depth: int = 0,
    kind: int = CU_AD_FORMAT_FLOAT,
    channels: int = 1,
    flags: int = 0,
) -> Iterator[int]:
    handle = driver.made(
        "cuArray3DCreate_v2", ctypes.byref(ArrayDescriptor3D(width, height, depth, kind, channels, flags))
    )
    try:
        yield handle
    finally:
        driver.number("cuArrayDestroy", handle)


def fields(descriptor: ctypes.Structure) -> list[int]:
    return [int(getattr(descriptor, name)) for name, _ in descriptor._fields_]


def made(*values: int) -> Callable[[Driver], dict[str, Any]]:
    """The code, the descriptors that are read back, and the memory that the array needs."""

    def case(driver: Driver) -> dict[str, Any]:
        code, handle = create(driver, *values)
        if code != CUDA_SUCCESS:
            return {"code": code}
        whole, flat, needs = ArrayDescriptor3D(), ArrayDescriptor(), Requirements()
        found: dict[str, Any] = {
            "code": code,
            "read_3d": driver.code("cuArray3DGetDescriptor_v2", ctypes.byref(whole), handle),
            "descriptor_3d": fields(whole),
            "read_2d": driver.code("cuArrayGetDescriptor_v2", ctypes.byref(flat), handle),
            "descriptor_2d": fields(flat),
            "requirements": driver.code("cuArrayGetMemoryRequirements", ctypes.byref(needs), handle, 0),
            "size": needs.size,
            "alignment": needs.alignment,
            "sparse": driver.code("cuArrayGetSparseProperties", ctypes.create_string_buffer(64), handle),
            "plane": driver.code("cuArrayGetPlane", ctypes.byref(POINTER()), handle, 0),
            "destroy": driver.code("cuArrayDestroy", handle),
        }
        return found

    return case


F = CU_AD_FORMAT_FLOAT
ask(
    "memory.array",
    {
        "width_16": made(16, 0, 0, F, 1, 0),
        "width_0": made(0, 0, 0, F, 1, 0),
        "width_0_height_4": made(0, 4, 0, F, 1, 0),
        "16_by_8": made(16, 8, 0, F, 1, 0),
        "16_by_8_by_4": made(16, 8, 4, F, 1, 0),
        "16_by_0_by_4": made(16, 0, 4, F, 1, 0),
        "odd_17_by_3": made(17, 3, 0, F, 1, 0),
        "channels_0": made(16, 0, 0, F, 0, 0),
        "channels_2": made(16, 0, 0, F, 2, 0),
        "channels_3": made(16, 0, 0, F, 3, 0),
        "channels_4": made(16, 0, 0, F, 4, 0),
        "channels_5": made(16, 0, 0, F, 5, 0),
        "surface": made(16, 8, 0, F, 1, SURFACE),
        "layered_1d": made(16, 0, 3, F, 1, LAYERED),
        "layered_2d": made(16, 8, 3, F, 1, LAYERED),
        "layered_without_layers": made(16, 8, 0, F, 1, LAYERED),
        "cubemap": made(16, 16, 6, F, 1, CUBEMAP),
        "cubemap_not_square": made(16, 8, 6, F, 1, CUBEMAP),
        "cubemap_of_5_faces": made(16, 16, 5, F, 1, CUBEMAP),
        "cubemap_layered": made(16, 16, 12, F, 1, CUBEMAP | LAYERED),
        "cubemap_layered_of_7": made(16, 16, 7, F, 1, CUBEMAP | LAYERED),
        "gather_2d": made(16, 8, 0, F, 1, GATHER),
        "gather_1d": made(16, 0, 0, F, 1, GATHER),
        "gather_3d": made(16, 8, 4, F, 1, GATHER),
        "depth_texture": made(16, 8, 0, F, 1, DEPTH),
        "color_attachment": made(16, 8, 0, F, 1, COLOR),
        "sparse": made(256, 256, 0, F, 1, SPARSE),
        "deferred": made(256, 256, 0, F, 1, DEFERRED),
        "flags_512": made(16, 8, 0, F, 1, 512),
        "flags_2_to_31": made(16, 8, 0, F, 1, 1 << 31),
        "width_131072": made(131072, 0, 0, F, 1, 0),
        "width_131073": made(131073, 0, 0, F, 1, 0),
        "width_131072_by_2": made(131072, 2, 0, F, 1, 0),
        "width_131073_by_2": made(131073, 2, 0, F, 1, 0),
        "2_by_height_65536": made(2, 65536, 0, F, 1, 0),
        "2_by_height_65537": made(2, 65537, 0, F, 1, 0),
        "2_by_2_by_depth_16384": made(2, 2, 16384, F, 1, 0),
        "2_by_2_by_depth_16385": made(2, 2, 16385, F, 1, 0),
        "2_by_2_by_2048_layers": made(2, 2, 2048, F, 1, LAYERED),
        "2_by_2_by_2049_layers": made(2, 2, 2049, F, 1, LAYERED),
        "surface_of_width_32768": made(32768, 0, 0, F, 1, SURFACE),
        "surface_of_width_32769": made(32769, 0, 0, F, 1, SURFACE),
        "gather_of_width_32769": made(32769, 2, 0, F, 1, GATHER),
        "without_result": lambda driver: driver.code(
            "cuArray3DCreate_v2", None, ctypes.byref(ArrayDescriptor3D(16, 0, 0, F, 1, 0))
        ),
        "without_descriptor": lambda driver: driver.code("cuArray3DCreate_v2", ctypes.byref(POINTER()), None),
        "destroy_of_null": lambda driver: driver.code("cuArrayDestroy", None),
    },
)


def made_flat(width: int, height: int, kind: int, channels: int) -> Callable[[Driver], str]:
    """By ``cuArrayCreate``."""

    def case(driver: Driver) -> str:
        handle = POINTER()
        descriptor = ArrayDescriptor(width, height, kind, channels)
        code = driver.code("cuArrayCreate_v2", ctypes.byref(handle), ctypes.byref(descriptor))
        if handle.value:
            driver.do("cuArrayDestroy", handle)
        return code

    return case


def with_format(kind: int) -> Callable[[Driver], list[str]]:
    """The codes for 1, 2, 3 and 4 channels; then for 1 and 4 with stores by surfaces."""

    def case(driver: Driver) -> list[str]:
        codes = []
        for channels, flags in ((1, 0), (2, 0), (3, 0), (4, 0), (1, SURFACE), (4, SURFACE)):
            code, handle = create(driver, 64, 64, 0, kind, channels, flags)
            codes.append(code)
            if handle:
                driver.do("cuArrayDestroy", handle)
        return codes

    return case


ask(
    "memory.array_by_cuArrayCreate",
    {
        "16_by_0": made_flat(16, 0, F, 1),
        "0_by_16": made_flat(0, 16, F, 1),
        "0_by_0": made_flat(0, 0, F, 1),
        "channels_3": made_flat(16, 4, F, 3),
        "format_0": made_flat(16, 4, 0, 1),
    },
)
ask("memory.array_of_format", {f"{kind:#04x}": with_format(kind) for kind in range(LAST_FORMAT)})


def mipmapped(levels: int, *values: int) -> Callable[[Driver], dict[str, Any]]:
    """An array with levels: which levels it has, and their descriptors."""

    def case(driver: Driver) -> dict[str, Any]:
        handle = POINTER()
        descriptor = ArrayDescriptor3D(*values)
        code = driver.code("cuMipmappedArrayCreate", ctypes.byref(handle), ctypes.byref(descriptor), levels)
        found: dict[str, Any] = {"code": code}
        if code == CUDA_SUCCESS:
            for level in range(8):
                inner, read = POINTER(), ArrayDescriptor3D()
                got = driver.code("cuMipmappedArrayGetLevel", ctypes.byref(inner), handle, level)
                if got == CUDA_SUCCESS:
                    driver.do("cuArray3DGetDescriptor_v2", ctypes.byref(read), inner)
                found[f"level_{level}"] = [got, *fields(read)]
            found["destroy"] = driver.code("cuMipmappedArrayDestroy", handle)
        return found

    return case


ask(
    "memory.array_with_levels",
    {
        "3_of_16_by_8": mipmapped(3, 16, 8, 0, F, 1, 0),
        "5_of_16_by_8": mipmapped(5, 16, 8, 0, F, 1, 0),
        "100_of_16_by_8": mipmapped(100, 16, 8, 0, F, 1, 0),
        "0_of_16_by_8": mipmapped(0, 16, 8, 0, F, 1, 0),
        "1_of_16": mipmapped(1, 16, 0, 0, F, 1, 0),
        "4_of_17_by_5": mipmapped(4, 17, 5, 0, F, 1, 0),
        "3_of_8_by_8_by_8": mipmapped(3, 8, 8, 8, F, 1, 0),
        "3_of_3_layers": mipmapped(3, 16, 8, 3, F, 1, LAYERED),
    },
)


def moved(
    name: str, arguments: Callable[[int, int, Any], tuple[Any, ...]], height: int = 0
) -> Callable[[Driver], dict[str, str]]:
    """A copy between an array of rows of 16 floats, device memory and the host."""

    def case(driver: Driver) -> dict[str, str]:
        host = ctypes.create_string_buffer(4096)
        with array(driver, 16, height) as handle, device_memory(driver) as device:
            return then(driver, name, *arguments(handle, device, host))

    return case


def rows_into_array(**changes: Any) -> Callable[[Driver], dict[str, str]]:
    def case(driver: Driver) -> dict[str, str]:
        host = ctypes.create_string_buffer(4096)
        with array(driver, 16, 8) as handle:
            settings = {
                "srcMemoryType": CU_MEMORYTYPE_HOST,
                "srcHost": ctypes.addressof(host),
                "srcPitch": 64,
                "dstMemoryType": CU_MEMORYTYPE_ARRAY,
                "dstArray": handle,
                "WidthInBytes": 64,
                "Height": 8,
            } | changes
            return then(driver, "cuMemcpy2D_v2", ctypes.byref(Copy2D(**settings)))

    return case


ask(
    "memory.copy_with_array",
    {
        "host_to_array": moved("cuMemcpyHtoA_v2", lambda array, device, host: (array, 0, host, 64)),
        "host_to_array_at_4": moved("cuMemcpyHtoA_v2", lambda array, device, host: (array, 4, host, 60)),
        "host_to_array_at_2": moved("cuMemcpyHtoA_v2", lambda array, device, host: (array, 2, host, 4)),
        "host_to_array_of_3_bytes": moved("cuMemcpyHtoA_v2", lambda array, device, host: (array, 0, host, 3)),
        "host_to_array_past_the_end": moved("cuMemcpyHtoA_v2", lambda array, device, host: (array, 0, host, 68)),
        "host_to_array_of_no_bytes": moved("cuMemcpyHtoA_v2", lambda array, device, host: (array, 0, host, 0)),
        "host_to_2d_array_in_a_row": moved("cuMemcpyHtoA_v2", lambda array, device, host: (array, 8, host, 16), 4),
        "host_to_2d_array_over_rows": moved("cuMemcpyHtoA_v2", lambda array, device, host: (array, 32, host, 64), 4),
        "host_to_2d_array_of_two_rows": moved("cuMemcpyHtoA_v2", lambda array, device, host: (array, 0, host, 128), 4),
        "array_to_host": moved("cuMemcpyAtoH_v2", lambda array, device, host: (host, array, 0, 64)),
        "array_to_device": moved("cuMemcpyAtoD_v2", lambda array, device, host: (device, array, 0, 64)),
        "device_to_array": moved("cuMemcpyDtoA_v2", lambda array, device, host: (array, 0, device, 64)),
        "array_to_itself": moved("cuMemcpyAtoA_v2", lambda array, device, host: (array, 0, array, 32, 32)),
        "array_as_an_address": moved("cuMemcpyDtoH_v2", lambda array, device, host: (host, array, 16)),
        "fill_of_an_array_as_an_address": moved("cuMemsetD8_v2", lambda array, device, host: (array, 0, 16)),
        "rows": rows_into_array(),
        "rows_too_wide": rows_into_array(WidthInBytes=68),
        "rows_of_part_of_a_texel": rows_into_array(WidthInBytes=62),
        "rows_at_part_of_a_texel": rows_into_array(dstXInBytes=2, WidthInBytes=4),
        "too_many_rows": rows_into_array(Height=9),
        "rows_from_5_on": rows_into_array(dstY=5),
    },
    seconds=8,
)


def without_context(driver: Driver) -> dict[str, str]:
    with array(driver, 16) as handle, no_context(driver):
        return {
            "create": create(driver, 16, 0, 0, F, 1, 0)[0],
            "descriptor": driver.code("cuArray3DGetDescriptor_v2", ctypes.byref(ArrayDescriptor3D()), handle),
            "requirements": driver.code("cuArrayGetMemoryRequirements", ctypes.byref(Requirements()), handle, 0),
            "destroy": driver.code("cuArrayDestroy", handle),
        }


ask("memory.array_without_a_context", {"calls": without_context})
