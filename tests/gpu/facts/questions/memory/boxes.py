"""Copies and fills with rows, copies between contexts, and batches of copies."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...driver import Driver
from .asking import a_stream, ask, device_memory, no_context, pages, then
from .structures import (
    ADDRESS,
    CU_MEMORYTYPE_ARRAY,
    CU_MEMORYTYPE_DEVICE,
    CU_MEMORYTYPE_HOST,
    CU_MEMORYTYPE_UNIFIED,
    INT,
    SIZE,
    Copy2D,
    Copy3D,
    CopyAttributes,
)

MEMORY = 64 << 10
ROWS, WIDTH, PITCH = 4, 100, 512
CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL = 1, 2
CU_MEMCPY_SRC_ACCESS_ORDER_ANY = 3


def rows(name: str = "cuMemcpy2D_v2", to_host: bool = False, **fields: Any) -> Callable[[Driver], dict[str, str]]:
    """A right copy of four rows of 100 bytes from the host or to it, but for some fields."""

    def case(driver: Driver) -> dict[str, str]:
        with device_memory(driver, MEMORY) as device, pages(16) as host:
            sides = {
                "srcMemoryType": CU_MEMORYTYPE_DEVICE if to_host else CU_MEMORYTYPE_HOST,
                "dstMemoryType": CU_MEMORYTYPE_HOST if to_host else CU_MEMORYTYPE_DEVICE,
                "srcHost": host,
                "dstHost": host,
                "srcDevice": device,
                "dstDevice": device,
                "srcPitch": PITCH,
                "dstPitch": PITCH,
                "WidthInBytes": WIDTH,
                "Height": ROWS,
            } | fields
            return then(driver, name, ctypes.byref(Copy2D(**sides)))

    return case


DEVICE_TO_DEVICE = {"srcMemoryType": CU_MEMORYTYPE_DEVICE}
CHANGES: dict[str, dict[str, Any]] = {
    "right": {},
    "width_0": {"WidthInBytes": 0},
    "height_0": {"Height": 0},
    "width_0_and_null": {"WidthInBytes": 0, "srcHost": None, "dstDevice": 0},
    "source_pitch_0": {"srcPitch": 0},
    "target_pitch_0": {"dstPitch": 0},
    "both_pitches_0": {"srcPitch": 0, "dstPitch": 0},
    "source_pitch_less_than_width": {"srcPitch": WIDTH - 1},
    "target_pitch_less_than_width": {"dstPitch": WIDTH - 1},
    "target_pitch_is_width": {"dstPitch": WIDTH},
    "target_pitch_odd": {"dstPitch": 101},
    "one_row_of_pitch_0": {"Height": 1, "srcPitch": 0, "dstPitch": 0},
    "one_row_of_small_pitch": {"Height": 1, "dstPitch": WIDTH - 1},
    "offset_beyond_pitch": {"dstXInBytes": PITCH},
    "offset_and_width_beyond_pitch": {"dstXInBytes": PITCH - WIDTH + 1},
    "offset_and_width_at_pitch": {"dstXInBytes": PITCH - WIDTH},
    "source_offset_and_width_beyond_pitch": {"srcXInBytes": PITCH - WIDTH + 1},
    "pitch_of_2_to_31": {"dstPitch": 1 << 31, "Height": 1},
    "pitch_of_2_to_31_minus_1": {"dstPitch": (1 << 31) - 1, "Height": 1},
    "past_the_end": {"Height": MEMORY // PITCH + 1},
    "far_past_the_end": {"dstY": MEMORY // PITCH + 16384},
    "last_row_fits": {"dstY": MEMORY // PITCH - ROWS},
    "source_type_0": {"srcMemoryType": 0},
    "target_type_0": {"dstMemoryType": 0},
    "target_type_5": {"dstMemoryType": 5},
    "target_type_array_of_null": {"dstMemoryType": CU_MEMORYTYPE_ARRAY, "dstArray": None},
    "source_unified": {"srcMemoryType": CU_MEMORYTYPE_UNIFIED},
    "null_source": {"srcHost": None},
    "null_target": {"dstDevice": 0},
    "device_to_device": DEVICE_TO_DEVICE | {"srcY": 8},
    "device_to_device_that_overlaps": DEVICE_TO_DEVICE | {"srcY": 1},
    "device_to_device_of_small_source_pitch": DEVICE_TO_DEVICE | {"srcPitch": WIDTH - 1, "srcY": 8},
    "device_to_device_of_pitch_0": DEVICE_TO_DEVICE | {"srcPitch": 0, "dstPitch": 0, "srcY": 8},
}
ask(
    "memory.copy_of_rows",
    {
        f"{short}.{change}": rows(name, **fields)
        for short, name in (("cuMemcpy2D", "cuMemcpy2D_v2"), ("cuMemcpy2DUnaligned", "cuMemcpy2DUnaligned_v2"))
        for change, fields in CHANGES.items()
    }
    | {
        f"to_host.{change}": rows(to_host=True, **CHANGES[change])
        for change in ("right", "source_pitch_0", "target_pitch_0", "source_pitch_less_than_width", "width_0")
    }
    | {"no_description": lambda driver: driver.code("cuMemcpy2D_v2", None)},
    seconds=8,
)


def box(**fields: Any) -> Callable[[Driver], dict[str, str]]:
    """A right copy of two layers of four rows within device memory, but for some fields."""

    def case(driver: Driver) -> dict[str, str]:
        with device_memory(driver, MEMORY) as source, device_memory(driver, MEMORY) as target:
            sides = {
                "srcMemoryType": CU_MEMORYTYPE_DEVICE,
                "dstMemoryType": CU_MEMORYTYPE_DEVICE,
                "srcDevice": source,
                "dstDevice": target,
                "srcPitch": PITCH,
                "dstPitch": PITCH,
                "srcHeight": 8,
                "dstHeight": 8,
                "WidthInBytes": WIDTH,
                "Height": ROWS,
                "Depth": 2,
            } | fields
            return then(driver, "cuMemcpy3D_v2", ctypes.byref(Copy3D(**sides)))

    return case


ask(
    "memory.copy_of_layers",
    {
        "right": box(),
        "depth_0": box(Depth=0),
        "height_0": box(Height=0),
        "height_of_target_0": box(dstHeight=0),
        "height_of_source_less_than_rows": box(srcHeight=ROWS - 1),
        "height_of_target_less_than_rows": box(dstHeight=ROWS - 1),
        "row_and_rows_beyond_height": box(dstY=6),
        "pitch_0": box(dstPitch=0),
        "pitch_less_than_width": box(dstPitch=WIDTH - 1),
        "one_layer_of_height_0": box(Depth=1, srcHeight=0, dstHeight=0),
        "one_layer_of_small_height": box(Depth=1, dstHeight=1),
        "level_of_source_1": box(srcLOD=1),
        "level_of_target_1": box(dstLOD=1),
        "reserved_field": box(reserved0=1),
        "past_the_end": box(Depth=17),
        "no_description": lambda driver: driver.code("cuMemcpy3D_v2", None),
    },
    seconds=8,
)


def fill(name: str, offset: int, pitch: int, width: int, height: int) -> Callable[[Driver], dict[str, str]]:
    def case(driver: Driver) -> dict[str, str]:
        with device_memory(driver, MEMORY) as address:
            return then(driver, name, address + offset, pitch, 1, width, height)

    return case


ask(
    "memory.fill_of_rows",
    {
        f"{name}.{what}": fill(f"{name}_v2", *arguments)
        for name, size in (("cuMemsetD2D8", 1), ("cuMemsetD2D16", 2), ("cuMemsetD2D32", 4))
        for what, arguments in {
            "right": (0, PITCH, 16, ROWS),
            "width_0": (0, PITCH, 0, ROWS),
            "height_0": (0, PITCH, 16, 0),
            "pitch_0": (0, 0, 16, ROWS),
            "pitch_0_of_one_row": (0, 0, 16, 1),
            "pitch_less_than_width": (0, 16 * size - size, 16, ROWS),
            "pitch_less_than_width_of_one_row": (0, 16 * size - size, 16, 1),
            "pitch_is_width": (0, 16 * size, 16, ROWS),
            "pitch_no_multiple_of_the_value": (0, PITCH + 1, 16, ROWS),
            "address_no_multiple_of_the_value": (1, PITCH, 16, ROWS),
            "past_the_end": (0, PITCH, 16, MEMORY // PITCH + 1),
        }.items()
    },
    seconds=8,
)


def peer(name: str, target: str, source: str, size: int) -> Callable[[Driver], dict[str, str]]:
    """A copy between contexts of one device. The names stand for the current context, null, and a wrong handle."""

    def case(driver: Driver) -> dict[str, str]:
        contexts = {"current": driver.made("cuCtxGetCurrent"), "null": None}
        rest = (0,) if name == "cuMemcpyPeerAsync" else ()
        with device_memory(driver) as to, device_memory(driver) as of:
            return then(driver, name, to, contexts[target], of, contexts[source], size, *rest)

    return case


def peer_without_context(driver: Driver) -> str:
    context = driver.made("cuCtxGetCurrent")
    with device_memory(driver) as to, device_memory(driver) as of, no_context(driver):
        return driver.code("cuMemcpyPeer", to, context, of, context, 64)


def peer_host(driver: Driver) -> dict[str, str]:
    """Host memory as a side of a copy between contexts."""
    context = driver.made("cuCtxGetCurrent")
    with device_memory(driver) as device, pages() as host:
        return {
            "source": driver.code("cuMemcpyPeer", device, context, host, context, 64),
            "target": driver.code("cuMemcpyPeer", host, context, device, context, 64),
            "wait": driver.code("cuCtxSynchronize"),
        }


def second_context(driver: Driver) -> dict[str, str]:
    """Memory of one context of a device, used in another one: docs/reference/strictness.md, "Contexts and objects"."""
    first = driver.made("cuCtxGetCurrent")
    with device_memory(driver) as there:
        second = driver.made("cuCtxCreate_v2", 0, 0)
        with device_memory(driver) as here:
            found = {
                "cuMemcpyPeer": driver.code("cuMemcpyPeer", here, second, there, first, 64),
                "cuMemcpyPeer_with_contexts_exchanged": driver.code("cuMemcpyPeer", here, first, there, second, 64),
                "cuMemcpyDtoD": driver.code("cuMemcpyDtoD_v2", here, there, 64),
                "cuMemsetD8": driver.code("cuMemsetD8_v2", there, 0, 64),
                "peer_access": driver.code("cuCtxEnablePeerAccess", first, 0),
                "wait": driver.code("cuCtxSynchronize"),
            }
        driver.do("cuCtxDestroy_v2", second)
        driver.do("cuCtxSetCurrent", first)
        return found


def peer_access(driver: Driver) -> dict[str, Any]:
    current = driver.made("cuCtxGetCurrent")
    able = INT(7)
    return {
        "enable_own_context": driver.code("cuCtxEnablePeerAccess", current, 0),
        "enable_null": driver.code("cuCtxEnablePeerAccess", None, 0),
        "enable_with_flags": driver.code("cuCtxEnablePeerAccess", current, 1),
        "disable_own_context": driver.code("cuCtxDisablePeerAccess", current),
        "disable_null": driver.code("cuCtxDisablePeerAccess", None),
        "can_access_itself": driver.code("cuDeviceCanAccessPeer", ctypes.byref(able), 0, 0),
        "can_access_itself_value": able.value,
        "attributes_of_itself": [driver.got("cuDeviceGetP2PAttribute", number, 0, 0) for number in range(6)],
    }


ask(
    "memory.copy_between_contexts",
    {
        f"{name}.{target}_{source}_{size}": peer(name, target, source, size)
        for name in ("cuMemcpyPeer", "cuMemcpyPeerAsync")
        for target in ("current", "null")
        for source in ("current", "null")
        for size in (64, 0)
    }
    | {"host_memory": peer_host, "without_a_context": peer_without_context, "of_one_device": second_context},
)
ask("memory.peer_access_of_one_device", {"of_the_current_context": peer_access})


def batch(bad: int | None, count: int = 3, order: int = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, **change: Any) -> Any:
    """Three copies of 64 bytes in one call; one may have no target."""

    def case(driver: Driver) -> dict[str, Any]:
        with device_memory(driver) as memory, a_stream(driver) as stream:
            targets = (ADDRESS * 3)(*(memory + 1024 + 64 * index for index in range(3)))
            sources = (ADDRESS * 3)(*(memory + 64 * index for index in range(3)))
            sizes, starts, failed = (SIZE * 3)(64, 64, 64), (SIZE * 1)(change.get("start", 0)), SIZE(77)
            if bad is not None:
                targets[bad] = 0
            for index in change.get("empty", ()):
                sizes[index] = 0
            attributes = CopyAttributes(srcAccessOrder=order, flags=change.get("flags", 0))
            chosen = 0 if change.get("legacy_stream") else stream
            arguments = (targets, sources, sizes, count, ctypes.byref(attributes), starts, change.get("attributes", 1))
            code = driver.code("cuMemcpyBatchAsync", *arguments, ctypes.byref(failed), chosen)
            return {
                "code": code,
                "failed": failed.value if failed.value < 100 else "all bits" if failed.value + 1 == 1 << 64 else "big",
                "version_2": driver.code("cuMemcpyBatchAsync_v2", *arguments, chosen),
                "wait": driver.code("cuStreamSynchronize", stream),
            }

    return case


ask(
    "memory.batch_of_copies",
    {
        "right": batch(None),
        "null_target_first": batch(0),
        "null_target_second": batch(1),
        "null_target_last": batch(2),
        "of_none": batch(None, 0),
        "order_0": batch(None, order=0),
        "order_during_call": batch(None, order=CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL),
        "order_any": batch(None, order=CU_MEMCPY_SRC_ACCESS_ORDER_ANY),
        "order_4": batch(None, order=4),
        "flag_1": batch(None, flags=1),
        "flag_2": batch(None, flags=2),
        "copy_of_no_bytes": batch(None, empty=(1,)),
        "no_attributes": batch(None, attributes=0),
        "attributes_from_the_second_copy_on": batch(None, start=1),
        "attributes_from_the_fourth_copy_on": batch(None, start=3),
        "default_stream": batch(None, legacy_stream=True),
    },
)
