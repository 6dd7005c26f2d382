"""Valid arguments that depend on the function. All others follow from the type and the name of the parameter."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

from ...entry_points import called
from . import structures
from .objects import PHYSICAL, PTX, SIZE, Objects

MAX_DYNAMIC_SHARED_SIZE = 8  # CU_FUNC_ATTRIBUTE
MEMORY_TYPE, SYNC_MEMOPS = 2, 6  # CU_POINTER_ATTRIBUTE
READ_MOSTLY = 1  # CU_MEM_RANGE_ATTRIBUTE
CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE
LAZY_ENABLE_PEER_ACCESS = 1  # CU_IPC_MEM
ATTACH_GLOBAL = 1  # CU_MEM
TO_OWNER = 100  # CU_FLUSH_GPU_DIRECT_RDMA_WRITES
TEXTURE_UNIT = -1  # CU_PARAM_TR_DEFAULT
OVERRIDE_FORMAT = 1  # CU_TRSA
NO_DESTRUCTOR_SYNC = 1  # CU_USER_OBJECT

Value = int | str | Callable[[Objects], Any]
"""A number, a kind of object, or what makes the argument."""


class InterprocessHandle(ctypes.Structure):
    """A ``CUipcMemHandle``, or one of an event."""

    _fields_ = [("reserved", ctypes.c_char * 64)]


def shared(function: str, kind: str) -> Value:
    """A handle for another process, which this one opens itself."""
    return lambda of: InterprocessHandle.from_address(of.filled(function, of[kind]))


def cluster(of: Objects) -> int:
    """A ``CUlaunchConfig`` with a cluster of one block."""
    attribute = of.bytes(struct.pack("I4x3I", CLUSTER_DIMENSION, 1, 1, 1).ljust(72, b"\0"))
    return of.bytes(structures.configuration(of["CUstream"], attribute))


def addresses(kind: str) -> Value:
    """The address of a list of one address."""
    return lambda of: of.list(of[kind])


def text(value: str) -> Value:
    return lambda of: of.text(value)


def numbers(*values: int) -> Value:
    return lambda of: of.list(*values)


BATCH = {"count": 1, "sizes": numbers(64)}
DISCARD = {"dptrs": addresses("managed memory"), "count": 1, "sizes": numbers(SIZE)}
PREFETCH = {"num_prefetch_locs": 1, **DISCARD}
COPIES = {"dsts": addresses("CUdeviceptr"), "srcs": addresses("memory of a pool"), "num_attrs": 1, **BATCH}
MANAGED = {"dev_ptr": "managed memory", "count": SIZE}

TABLE: dict[str, dict[str, Value]] = {
    "cuGetProcAddress": {"symbol": text("cuInit"), "driver_version": 12000},
    "cuDeviceGetByPCIBusId": {"pci_bus_id": "bus identifier"},
    "cuDeviceGetHostAtomicCapabilities": {"count": 1},
    "cuDeviceGetP2PAtomicCapabilities": {"count": 1},
    "cuDeviceUnregisterAsyncNotification": {"callback": "notification"},
    "cuLogsUnregisterCallback": {"callback": "log callback"},
    "cuLogsDumpToFile": {"path_to_file": text("/dev/null")},
    "cuLogsDumpToMemory": {"size": numbers(SIZE)},
    "cuCoredumpGetAttribute": {"size": numbers(4)},
    "cuCoredumpGetAttributeGlobal": {"size": numbers(4)},
    "cuCoredumpSetAttribute": {"size": numbers(4)},
    "cuCoredumpSetAttributeGlobal": {"size": numbers(4)},
    "cuFlushGPUDirectRDMAWrites": {"target": 0, "scope": TO_OWNER},
    "cuCtxCreate_v4": {"ctx_create_params": 0},
    "cuCtxDetach": {"ctx": "current context of its own"},
    "cuCtxRecordEvent": {"ctx": "current context"},
    "cuCtxWaitEvent": {"ctx": "current context"},
    "cuModuleLoad": {"fname": "file of PTX"},
    "cuModuleLoadData": {"image": "PTX"},
    "cuModuleLoadDataEx": {"image": "PTX"},
    "cuModuleLoadFatBinary": {"fat_cubin": "PTX"},
    "cuModuleGetGlobal": {"name": text("word")},
    "cuModuleGetTexRef": {"hmod": "module of references", "name": text("image")},
    "cuModuleGetSurfRef": {"hmod": "module of references", "name": text("canvas")},
    "cuLibraryLoadData": {"code": "PTX"},
    "cuLibraryLoadFromFile": {"file_name": "file of PTX"},
    "cuLibraryGetGlobal": {"name": text("word")},
    "cuLibraryGetManaged": {"library": "library of managed variables", "name": text("managed")},
    "cuLinkAddData": {"data": "PTX", "size": len(PTX) + 1},
    "cuLinkAddFile": {"path": "file of PTX"},
    "cuLinkComplete": {"state": "link of a kernel"},
    "cuFuncGetParamInfo": {"func": "function with a parameter"},
    "cuKernelGetParamInfo": {"kernel": "kernel with a parameter"},
    "cuFuncSetAttribute": {"attrib": MAX_DYNAMIC_SHARED_SIZE},
    "cuKernelSetAttribute": {"attrib": MAX_DYNAMIC_SHARED_SIZE},
    "cuLaunch": {"f": "function with a shape"},
    "cuLaunchGrid": {"f": "function with a shape"},
    "cuLaunchGridAsync": {"f": "function with a shape"},
    "cuLaunchKernel": {"extra": 0},
    "cuLaunchKernelEx": {"extra": 0},
    "cuOccupancyMaxActiveClusters": {"config": cluster},
    "cuParamSetTexRef": {"texunit": TEXTURE_UNIT, "tex_ref": "texture reference of a module"},
    "cuMemHostUnregister": {"p": "registered page"},
    "cuMemFreeHost": {"p": "pinned memory"},
    "cuMemHostGetDevicePointer": {"p": "pinned memory"},
    "cuMemHostGetFlags": {"p": "pinned memory"},
    "cuMemAllocManaged": {"flags": ATTACH_GLOBAL},
    "cuMemFreeAsync": {"dptr": "memory of a pool"},
    "cuMemAddressReserve": {"size": PHYSICAL, "addr": 0},
    "cuMemAddressFree": {"ptr": "reserved addresses", "size": PHYSICAL},
    "cuMemCreate": {"size": PHYSICAL},
    "cuMemMap": {"ptr": "reserved addresses", "size": PHYSICAL},
    "cuMemUnmap": {"ptr": "mapping", "size": PHYSICAL},
    "cuMemSetAccess": {"ptr": "mapping", "size": PHYSICAL, "count": 1},
    "cuMemGetAccess": {"ptr": "mapping"},
    "cuMemRetainAllocationHandle": {"addr": "mapping"},
    "cuMemImportFromShareableHandle": {"os_handle": "file descriptor"},
    "cuMemPoolSetAccess": {"count": 1},
    "cuMemPoolExportToShareableHandle": {"pool": "shared pool"},
    "cuMemPoolImportFromShareableHandle": {"handle": "file descriptor of a pool"},
    "cuMemPoolExportPointer": {"ptr": "memory of a shared pool"},
    "cuMemPoolImportPointer": {"pool": "imported pool", "share_data": "handle of pool memory"},
    "cuMemAdvise": MANAGED,
    "cuMemPrefetchAsync": MANAGED,
    "cuMemRangeGetAttribute": MANAGED,
    "cuMemRangeGetAttributes": {
        **MANAGED,
        "num_attributes": 1,
        "attributes": numbers(READ_MOSTLY),
        "data_sizes": numbers(4),
        "data": lambda of: of.list(of.page()),
    },
    "cuMemPrefetchBatchAsync": PREFETCH,
    "cuMemDiscardBatchAsync": DISCARD,
    "cuMemDiscardAndPrefetchBatchAsync": PREFETCH,
    "cuMemcpyBatchAsync": COPIES,
    "cuMemcpy3DBatchAsync": {"num_ops": 1},
    "cuPointerGetAttributes": {
        "num_attributes": 1,
        "attributes": numbers(MEMORY_TYPE),
        "data": lambda of: of.list(of.page()),
    },
    "cuPointerSetAttribute": {"attribute": SYNC_MEMOPS},
    "cuIpcGetEventHandle": {"event": "event without time"},
    "cuIpcOpenEventHandle": {"handle": shared("cuIpcGetEventHandle", "event without time")},
    "cuIpcOpenMemHandle": {"handle": shared("cuIpcGetMemHandle", "CUdeviceptr"), "flags": LAZY_ENABLE_PEER_ACCESS},
    "cuStreamAttachMemAsync": {"dptr": "managed memory", "length": 0, "flags": ATTACH_GLOBAL},
    "cuStreamEndCapture": {"stream": "capturing stream"},
    "cuStreamUpdateCaptureDependencies": {"stream": "capturing stream"},
    "cuStreamBatchMemOp": {"count": 1, "param_array": "operation"},
    "cuTexObjectCreate": {"p_res_view_desc": 0},
    "cuTexRefSetArray": {"flags": OVERRIDE_FORMAT},
    "cuTexRefSetMipmappedArray": {"flags": OVERRIDE_FORMAT},
    "cuTexObjectGetResourceViewDesc": {"tex_object": "texture object with a view"},
    "cuTexRefSetBorderColor": {"tex_ref": "texture reference with a border"},
    "cuTexRefSetFormat": {"num_packed_components": 1},
    "cuTexRefGetAddress": {"tex_ref": "texture reference of memory"},
    "cuTexRefGetArray": {"tex_ref": "texture reference of an array"},
    "cuTexRefGetMipmappedArray": {"tex_ref": "texture reference of levels"},
    "cuSurfRefGetArray": {"surf_ref": "surface reference of an array"},
    "cuUserObjectCreate": {"flags": NO_DESTRUCTOR_SYNC},
    "cuUserObjectRetain": {"count": 1},
    "cuUserObjectRelease": {"count": 1},
    "cuGraphRetainUserObject": {"count": 1},
    "cuGraphReleaseUserObject": {"graph": "graph with a user object", "count": 1},
    "cuGraphDebugDotPrint": {"path": text("/dev/null")},
    "cuGraphNodeFindInClone": {"clone": "clone"},
    "cuGraphAddMemFreeNode": {
        "dependencies": addresses("allocation node"),
        "num_dependencies": 1,
        "dptr": "address of the allocation node",
    },
    "cuGraphAddChildGraphNode": {"child_graph": "other graph"},
    "cuGraphExecChildGraphNodeSetParams": {"child_graph": "other graph"},
    "cuGraphKernelNodeCopyAttributes": {"dst": "kernel node", "src": "kernel node"},
    "cuGraphNodeSetEnabled": {"node": "kernel node"},
    "cuGraphNodeGetEnabled": {"node": "kernel node"},
    "cuGraphNodeSetParams": {"node": "host node"},
    "cuGraphExecNodeSetParams": {"node": "host node"},
}
"""The arguments of each function, for all its versions or for one."""

NODES = {
    "KernelNode": "kernel node",
    "MemcpyNode": "memcpy node",
    "MemsetNode": "memset node",
    "HostNode": "host node",
    "ChildGraphNode": "child node",
    "EventRecordNode": "record node",
    "EventWaitNode": "wait node",
    "BatchMemOpNode": "batch node",
    "MemAllocNode": "allocation node",
    "MemFreeNode": "freeing node",
}
"""The kind of node that a function with such a name is about."""


def valid_value(symbol: str, name: str) -> Value | None:
    """The argument for a parameter of a function, if it depends on the function."""
    for function in (symbol, symbol.partition("_v")[0]):
        if name in TABLE.get(function, {}):
            return TABLE[function][name]
    if not symbol.startswith("cuGraph"):
        return None
    if name == "ctx":
        return "current context"
    return next((kind for part, kind in NODES.items() if name == "node" and part in symbol), None)


def unknown() -> list[str]:
    """The functions and parameters of the table that do not exist."""
    missing = []
    for function, values in TABLE.items():
        entries = [entry for entry in called().values() if function in (entry.symbol, entry.name)]
        names = {parameter.name for entry in entries for parameter in entry.parameters}
        missing += [f"{function} {name}" for name in values if name not in names]
    return missing
