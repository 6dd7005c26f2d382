"""Structures of the driver's interface with valid contents, as bytes."""

from __future__ import annotations

import struct

PINNED = 1  # CU_MEM_ALLOCATION_TYPE
DEVICE = 1  # CU_MEM_LOCATION_TYPE
READWRITE = 3  # CU_MEM_ACCESS_FLAGS_PROT
UNSIGNED_INT8 = 1  # CU_AD_FORMAT
VIEW_OF_BYTES = 1  # CU_RES_VIEW_FORMAT_UINT_1X8
SURFACE_LDST = 2  # CUDA_ARRAY3D
READ_AS_INTEGER = 1  # CU_TRSF
HOST_MEMORY = 1  # CU_MEMORYTYPE
DEVICE_MEMORY = 2
WRITE_VALUE_32 = 2  # CU_STREAM_MEM_OP
POINTER_OPERAND = 1  # CU_MEMCPY_OPERAND_TYPE
STREAM_ORDER = 1  # CU_MEMCPY_SRC_ACCESS_ORDER
NODE_OF_HOST = 3  # CU_GRAPH_NODE_TYPE


def location() -> bytes:
    """A ``CUmemLocation`` of device 0."""
    return struct.pack("Ii", DEVICE, 0)


def access() -> bytes:
    """A ``CUmemAccessDesc`` that lets device 0 read and write."""
    return struct.pack("IiI", DEVICE, 0, READWRITE)


def pool_of_device(handle_types: int = 0) -> bytes:
    """A ``CUmemPoolProps``."""
    return struct.pack("3Ii2Q56x", PINNED, handle_types, DEVICE, 0, 0, 0)


def memory_of_device(handle_types: int = 0) -> bytes:
    """A ``CUmemAllocationProp``."""
    return struct.pack("3IiQ8x", PINNED, handle_types, DEVICE, 0, 0)


def flat_array() -> bytes:
    """A ``CUDA_ARRAY_DESCRIPTOR`` of 4 by 2 bytes."""
    return struct.pack("2Q2I", 4, 2, UNSIGNED_INT8, 1)


def array() -> bytes:
    """A ``CUDA_ARRAY3D_DESCRIPTOR`` of 4 by 2 bytes, for textures and surfaces."""
    return struct.pack("3Q3I4x", 4, 2, 0, UNSIGNED_INT8, 1, SURFACE_LDST)


def cuboid(host: int) -> bytes:
    """A ``CUDA_MEMCPY3D`` of one byte of host memory to another."""
    ends = (struct.pack("4QI4x6Q", 0, 0, 0, 0, HOST_MEMORY, place, 0, 0, 0, 8, 1) for place in (host, host + 64))
    return b"".join(ends) + struct.pack("3Q", 1, 1, 1)


def cuboid_of_contexts(device: int, context: int) -> bytes:
    """A ``CUDA_MEMCPY3D_PEER`` of one byte of device memory to another."""
    ends = (
        struct.pack("4QI4x6Q", 0, 0, 0, 0, DEVICE_MEMORY, 0, place, 0, context, 8, 1) for place in (device, device + 64)
    )
    return b"".join(ends) + struct.pack("3Q", 1, 1, 1)


def rectangle(host: int) -> bytes:
    """A ``CUDA_MEMCPY2D`` of one byte of host memory to another."""
    ends = (struct.pack("2QI4x4Q", 0, 0, HOST_MEMORY, place, 0, 0, 8) for place in (host, host + 64))
    return b"".join(ends) + struct.pack("2Q", 1, 1)


def box(device: int) -> bytes:
    """A ``CUDA_MEMCPY3D_BATCH_OP`` of one byte of device memory to another."""
    ends = (struct.pack("I4x3QIi", POINTER_OPERAND, place, 0, 0, DEVICE, 0) for place in (device, device + 64))
    return b"".join(ends) + struct.pack("3Q2I", 1, 1, 1, STREAM_ORDER, 0)


def copy_attributes() -> bytes:
    """A ``CUmemcpyAttributes``."""
    return struct.pack("IIiIiI", STREAM_ORDER, DEVICE, 0, DEVICE, 0, 0)


def filling(device: int) -> bytes:
    """A ``CUDA_MEMSET_NODE_PARAMS`` of four bytes."""
    return struct.pack("2Q2I2Q", device, 0, 7, 1, 4, 1)


def launch(function: int) -> bytes:
    """A ``CUDA_KERNEL_NODE_PARAMS`` of one thread; its beginning is the first version of the structure."""
    return struct.pack("Q7I4x4Q", function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0)


def configuration(stream: int, attribute: int = 0) -> bytes:
    """A ``CUlaunchConfig`` of one thread, with the attribute at an address."""
    return struct.pack("7I4x2QI4x", 1, 1, 1, 1, 1, 1, 0, stream, attribute, int(attribute != 0))


def write_of_word(device: int) -> bytes:
    """A ``CUstreamBatchMemOpParams`` that writes a word."""
    return struct.pack("I4x2QI4x2Q", WRITE_VALUE_32, device, 7, 0, 0, 0)


def batch(context: int, operation: int) -> bytes:
    """A ``CUDA_BATCH_MEM_OP_NODE_PARAMS`` of one operation at an address."""
    return struct.pack("QI4xQI4x", context, 1, operation, 0)


def allocation(size: int) -> bytes:
    """A ``CUDA_MEM_ALLOC_NODE_PARAMS``."""
    return pool_of_device() + struct.pack("4Q", 0, 0, size, 0)


def host_call(function: int) -> bytes:
    """A ``CUDA_HOST_NODE_PARAMS``."""
    return struct.pack("2Q", function, 0)


def node_of_host_call(function: int) -> bytes:
    """A ``CUgraphNodeParams`` of a host node."""
    return struct.pack("I12x3Q", NODE_OF_HOST, function, 0, 0).ljust(256, b"\0")


def resource(array: int) -> bytes:
    """A ``CUDA_RESOURCE_DESC`` of an array."""
    return struct.pack("I4xQ120xI4x", 0, array, 0)


def texture() -> bytes:
    """A ``CUDA_TEXTURE_DESC``."""
    return struct.pack("7I", 0, 0, 0, 0, READ_AS_INTEGER, 0, 0).ljust(104, b"\0")


def view() -> bytes:
    """A ``CUDA_RESOURCE_VIEW_DESC`` of all bytes of the array."""
    return struct.pack("I4x3Q", VIEW_OF_BYTES, 4, 2, 0).ljust(112, b"\0")
