"""Structures and constants of the driver for memory, by the names of its header."""

from __future__ import annotations

import ctypes

KIB, MIB = 1 << 10, 1 << 20
GRANULE = 2 * MIB
"""The size of a device's large pages."""

CU_STREAM_LEGACY, CU_STREAM_PER_THREAD = 1, 2
CU_MEM_ATTACH_GLOBAL, CU_MEM_ATTACH_HOST, CU_MEM_ATTACH_SINGLE = 1, 2, 4
CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_WRITECOMBINED = 1, 2, 4
CU_MEMHOSTREGISTER_PORTABLE, CU_MEMHOSTREGISTER_DEVICEMAP = 1, 2
CU_MEMHOSTREGISTER_IOMEMORY, CU_MEMHOSTREGISTER_READ_ONLY = 4, 8
CU_MEM_LOCATION_TYPE_INVALID, CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_LOCATION_TYPE_HOST = 0, 1, 2
CU_MEM_LOCATION_TYPE_HOST_NUMA, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT = 3, 4
CU_MEM_ALLOCATION_TYPE_INVALID, CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_ALLOCATION_TYPE_MANAGED = 0, 1, 2
CU_MEM_HANDLE_TYPE_NONE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CU_MEM_HANDLE_TYPE_WIN32 = 0, 1, 2
CU_MEM_HANDLE_TYPE_WIN32_KMT, CU_MEM_HANDLE_TYPE_FABRIC = 4, 8
CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ, CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 0, 1, 3
CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_ARRAY, CU_MEMORYTYPE_UNIFIED = 1, 2, 3, 4

INT, UINT, SIZE, POINTER = ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p
ADDRESS = ctypes.c_uint64


class Location(ctypes.Structure):
    """``CUmemLocation``."""

    _fields_ = [("type", UINT), ("id", INT)]


class AccessDesc(ctypes.Structure):
    """``CUmemAccessDesc``."""

    _fields_ = [("location", Location), ("flags", UINT)]


class PoolProps(ctypes.Structure):
    """``CUmemPoolProps``."""

    _fields_ = [
        ("allocType", UINT),
        ("handleTypes", UINT),
        ("location", Location),
        ("win32SecurityAttributes", POINTER),
        ("maxSize", SIZE),
        ("usage", ctypes.c_ushort),
        ("reserved", ctypes.c_ubyte * 54),
    ]


class AllocationProp(ctypes.Structure):
    """``CUmemAllocationProp``."""

    _fields_ = [
        ("type", UINT),
        ("requestedHandleTypes", UINT),
        ("location", Location),
        ("win32HandleMetaData", POINTER),
        ("compressionType", ctypes.c_ubyte),
        ("gpuDirectRDMACapable", ctypes.c_ubyte),
        ("usage", ctypes.c_ushort),
        ("reserved", ctypes.c_ubyte * 4),
    ]


class AllocationNodeParams(ctypes.Structure):
    """``CUDA_MEM_ALLOC_NODE_PARAMS``."""

    _fields_ = [
        ("poolProps", PoolProps),
        ("accessDescs", POINTER),
        ("accessDescCount", SIZE),
        ("bytesize", SIZE),
        ("dptr", ADDRESS),
    ]


class Copy2D(ctypes.Structure):
    """``CUDA_MEMCPY2D``."""

    _fields_ = [
        ("srcXInBytes", SIZE),
        ("srcY", SIZE),
        ("srcMemoryType", UINT),
        ("srcHost", POINTER),
        ("srcDevice", ADDRESS),
        ("srcArray", POINTER),
        ("srcPitch", SIZE),
        ("dstXInBytes", SIZE),
        ("dstY", SIZE),
        ("dstMemoryType", UINT),
        ("dstHost", POINTER),
        ("dstDevice", ADDRESS),
        ("dstArray", POINTER),
        ("dstPitch", SIZE),
        ("WidthInBytes", SIZE),
        ("Height", SIZE),
    ]


class Copy3D(ctypes.Structure):
    """``CUDA_MEMCPY3D``."""

    _fields_ = [
        ("srcXInBytes", SIZE),
        ("srcY", SIZE),
        ("srcZ", SIZE),
        ("srcLOD", SIZE),
        ("srcMemoryType", UINT),
        ("srcHost", POINTER),
        ("srcDevice", ADDRESS),
        ("srcArray", POINTER),
        ("reserved0", POINTER),
        ("srcPitch", SIZE),
        ("srcHeight", SIZE),
        ("dstXInBytes", SIZE),
        ("dstY", SIZE),
        ("dstZ", SIZE),
        ("dstLOD", SIZE),
        ("dstMemoryType", UINT),
        ("dstHost", POINTER),
        ("dstDevice", ADDRESS),
        ("dstArray", POINTER),
        ("reserved1", POINTER),
        ("dstPitch", SIZE),
        ("dstHeight", SIZE),
        ("WidthInBytes", SIZE),
        ("Height", SIZE),
        ("Depth", SIZE),
    ]


class CopyAttributes(ctypes.Structure):
    """``CUmemcpyAttributes``."""

    _fields_ = [("srcAccessOrder", UINT), ("srcLocHint", Location), ("dstLocHint", Location), ("flags", UINT)]


class IpcHandle(ctypes.Structure):
    """``CUipcMemHandle`` and ``CUipcEventHandle``."""

    _fields_ = [("reserved", ctypes.c_ubyte * 64)]


assert ctypes.sizeof(PoolProps) == 88
assert ctypes.sizeof(AllocationProp) == 32
assert ctypes.sizeof(AllocationNodeParams) == 120
assert ctypes.sizeof(Copy2D) == 128
assert ctypes.sizeof(Copy3D) == 200


def device_location(device: int = 0) -> Location:
    return Location(CU_MEM_LOCATION_TYPE_DEVICE, device)


def host_location() -> Location:
    return Location(CU_MEM_LOCATION_TYPE_HOST, 0)


def pool_props(
    location: Location | None = None,
    handles: int = CU_MEM_HANDLE_TYPE_NONE,
    kind: int = CU_MEM_ALLOCATION_TYPE_PINNED,
    size: int = 0,
) -> PoolProps:
    """The properties of a pool; by default of device 0, for this process."""
    return PoolProps(allocType=kind, handleTypes=handles, location=location or device_location(), maxSize=size)


def allocation_prop(location: Location | None = None, handles: int = CU_MEM_HANDLE_TYPE_NONE) -> AllocationProp:
    """The properties of physical memory; by default of device 0, for this process."""
    return AllocationProp(
        type=CU_MEM_ALLOCATION_TYPE_PINNED, requestedHandleTypes=handles, location=location or device_location()
    )


def read_write(location: Location | None = None) -> AccessDesc:
    return AccessDesc(location or device_location(), CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
