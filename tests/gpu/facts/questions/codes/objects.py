"""Live and ended objects of each kind. An object is made when a call first needs it.

A kind is the type of a handle, or words for an object with a property. An address of host memory is such an object too.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

from ...driver import Driver, kernels
from . import structures

SIZE = 4096
"""Bytes of device memory, and of a page of host memory."""
PHYSICAL = 2 << 20
"""Bytes of physical memory and of reserved addresses: the granularity of devices."""

NON_BLOCKING = 1  # CU_STREAM
DISABLE_TIMING, INTERPROCESS = 2, 4  # CU_EVENT
MEM_ATTACH_GLOBAL = 1
NO_DESTRUCTOR_SYNC = 1  # CU_USER_OBJECT
RELAXED = 2  # CU_STREAM_CAPTURE_MODE
OVERRIDE_FORMAT = 1  # CU_TRSA
BORDER = 3  # CU_TR_ADDRESS_MODE
INPUT_PTX = 1  # CU_JIT
FILE_DESCRIPTOR = 1  # CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

PTX = kernels(
    ".visible .global .align 8 .b8 word[8]; .visible .entry nothing() { ret; }"
    ".visible .entry takes(.param .u64 value) { ret; }"
)
PTX_OF_REFERENCES = kernels(".global .texref image; .global .surfref canvas; .visible .entry nothing() { ret; }")
PTX_OF_MANAGED = kernels(".visible .global .attribute(.managed) .align 8 .b8 managed[8];")

Callback = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)


@Callback
def nothing(_: int | None) -> int:
    """A callback of any type: it ignores all arguments, and returns 0."""
    return 0


NOTHING = ctypes.cast(nothing, ctypes.c_void_p).value or 0

KEPT: list[object] = []
"""Memory and objects that the driver may still refer to."""


class Objects:
    """Objects of one process, by kind."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.made: dict[str, int] = {}

    def __getitem__(self, kind: str) -> int:
        if kind not in self.made:
            self.made[kind] = MAKERS[kind](self)
        return self.made[kind]

    def end(self, kind: str) -> int:
        """End the object of a kind, or the one that it belongs to; return its handle, now that of an ended object."""
        handle = self[kind]
        function, owner = ENDS[kind]
        # Only the release of a user object has a second parameter: the number of references.
        self.driver.do(function, self[owner], 1)
        return handle

    def bytes(self, data: bytes) -> int:
        """The address of a copy of some bytes, which lives as long as the process."""
        copy = ctypes.create_string_buffer(data, max(len(data), 64))
        KEPT.append(copy)
        return ctypes.addressof(copy)

    def text(self, text: str) -> int:
        return self.bytes(text.encode() + b"\0")

    def list(self, *values: int) -> int:
        """The address of numbers of 64 bits."""
        return self.bytes(struct.pack(f"{len(values)}Q", *values))

    def page(self) -> int:
        """The address of a page of host memory that nothing else is in."""
        first = ctypes.c_char.from_buffer(mmap.mmap(-1, SIZE))
        KEPT.append(first)
        return ctypes.addressof(first)

    def memory(self, function: str, *arguments: int) -> int:
        """The address or the number of 64 bits that a function makes."""
        return self.driver.made(function, *arguments, kind=ctypes.c_uint64)

    def node(self, function: str, *arguments: int) -> int:
        return self.driver.made(function, self["CUgraph"], 0, 0, *arguments)

    def filled(self, function: str, *arguments: int) -> int:
        """The address of 64 bytes that a function fills."""
        place = self.bytes(bytes(64))
        self.driver.do(function, place, *arguments)
        return place


def context(of: Objects) -> int:
    """A context that is not current."""
    made = of.driver.made("cuCtxCreate_v2", 0, 0)
    of.driver.made("cuCtxPopCurrent_v2")
    return made


def of_another_context(of: Objects, make: Callable[[], int]) -> int:
    of.driver.do("cuCtxPushCurrent_v2", of["CUcontext"])
    made = make()
    of.driver.made("cuCtxPopCurrent_v2")
    return made


def mapped_handle(of: Objects) -> int:
    assert of["mapping"]
    return of["CUmemGenericAllocationHandle"]


def zeroed(of: Objects, address: int) -> int:
    of.driver.do("cuMemsetD8_v2", address, 0, SIZE)
    of.driver.do("cuCtxSynchronize")
    return address


def event(of: Objects, flags: int = 0) -> int:
    """An event that is recorded and has happened."""
    made = of.driver.event(flags)
    of.driver.do("cuEventRecord", made, of["CUstream"])
    of.driver.do("cuEventSynchronize", made)
    return made


def mapping(of: Objects) -> int:
    """Addresses with physical memory."""
    address = of["reserved addresses"]
    of.driver.do("cuMemMap", address, PHYSICAL, 0, of["CUmemGenericAllocationHandle"], 0)
    of.driver.do("cuMemSetAccess", address, PHYSICAL, of.bytes(structures.access()), 1)
    return address


def registered(of: Objects) -> int:
    page = of.page()
    of.driver.do("cuMemHostRegister_v2", page, SIZE, 0)
    return page


def library(of: Objects, ptx: str) -> int:
    return of.driver.made("cuLibraryLoadData", ptx, 0, 0, 0, 0, 0, 0)


def link(of: Objects) -> int:
    state = ctypes.c_void_p()
    of.driver.do("cuLinkCreate_v2", 0, 0, 0, ctypes.byref(state))
    return state.value or 0


def link_of_kernel(of: Objects) -> int:
    state = link(of)
    of.driver.do("cuLinkAddData_v2", state, INPUT_PTX, of["PTX"], len(PTX) + 1, "kernel", 0, 0, 0)
    return state


def texture_object(of: Objects, view: int = 0) -> int:
    return of.memory("cuTexObjectCreate", of["resource"], of.bytes(structures.texture()), view)


def capturing_stream(of: Objects) -> int:
    stream = of.driver.stream()
    of.driver.do("cuStreamBeginCapture_v2", stream, RELAXED)
    return stream


def address_of_allocation_node(of: Objects) -> int:
    place = of.bytes(bytes(120))
    of.driver.do("cuGraphMemAllocNodeGetParams", of["allocation node"], place)
    return int(struct.unpack("Q", ctypes.string_at(place + 112, 8))[0])


def freeing_node(of: Objects) -> int:
    address, before = of["address of the allocation node"], of.list(of["allocation node"])
    return of.driver.made("cuGraphAddMemFreeNode", of["CUgraph"], before, 1, address)


def child_node(of: Objects) -> int:
    return of.node("cuGraphAddChildGraphNode", of.driver.made("cuGraphCreate", 0))


def descriptor(of: Objects) -> int:
    """A file descriptor of physical memory."""
    number = ctypes.c_int()
    handle = of["CUmemGenericAllocationHandle"]
    of.driver.do("cuMemExportToShareableHandle", ctypes.byref(number), handle, FILE_DESCRIPTOR, 0)
    return number.value


def descriptor_of_pool(of: Objects) -> int:
    number = ctypes.c_int()
    of.driver.do("cuMemPoolExportToShareableHandle", ctypes.byref(number), of["shared pool"], FILE_DESCRIPTOR, 0)
    return number.value


def imported_pool(of: Objects) -> int:
    return of.driver.made("cuMemPoolImportFromShareableHandle", of["file descriptor of a pool"], FILE_DESCRIPTOR, 0)


def file_of_ptx(of: Objects) -> int:
    """The address of the name of a file with PTX, which all processes share."""
    path = Path(tempfile.gettempdir()) / "cuarray-facts.ptx"
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(PTX, encoding="utf-8")
    part.replace(path)
    return of.text(str(path))


def clone(of: Objects) -> int:
    """A clone of the graph with a node."""
    assert of["CUgraphNode"]
    return of.driver.made("cuGraphClone", of["CUgraph"])


def shaped_function(of: Objects) -> int:
    """A function with a block shape, which launches without one of their own need."""
    of.driver.do("cuFuncSetBlockShape", of["CUfunction"], 1, 1, 1)
    return of["CUfunction"]


def bound(of: Objects, reference: str, function: str, *arguments: int) -> int:
    """A texture or surface reference after a call that binds it."""
    of.driver.do(function, of[reference], *arguments)
    return of[reference]


def reference_of_memory(of: Objects) -> int:
    of.driver.do("cuTexRefSetFormat", of["CUtexref"], structures.UNSIGNED_INT8, 1)
    of.driver.do("cuTexRefSetAddress_v2", of.bytes(bytes(8)), of["CUtexref"], of["CUdeviceptr"], SIZE)
    return of["CUtexref"]


MAKERS: dict[str, Callable[[Objects], int]] = {
    "CUstream": lambda of: of.driver.stream(0),
    "CUevent": event,
    "CUcontext": context,
    "CUmodule": lambda of: of.driver.module(PTX),
    "CUfunction": lambda of: of.driver.function(of["CUmodule"], "nothing"),
    "CUlibrary": lambda of: library(of, PTX),
    "CUkernel": lambda of: of.driver.made("cuLibraryGetKernel", of["CUlibrary"], "nothing"),
    "CUmemoryPool": lambda of: of.driver.made("cuMemPoolCreate", of.bytes(structures.pool_of_device())),
    "CUgraph": lambda of: of.driver.made("cuGraphCreate", 0),
    "CUgraphNode": lambda of: of.node("cuGraphAddEmptyNode"),
    "CUgraphExec": lambda of: of.driver.made("cuGraphInstantiateWithFlags", of["CUgraph"], 0),
    "CUarray": lambda of: of.driver.made("cuArray3DCreate_v2", of.bytes(structures.array())),
    "CUdeviceptr": lambda of: zeroed(of, of.driver.allocate(SIZE)),
    "CUmipmappedArray": lambda of: of.driver.made("cuMipmappedArrayCreate", of.bytes(structures.array()), 2),
    "CUtexref": lambda of: of.driver.made("cuTexRefCreate"),
    "CUsurfref": lambda of: of.driver.made("cuModuleGetSurfRef", of["module of references"], "canvas"),
    "CUlinkState": link,
    "CUuserObject": lambda of: of.driver.made("cuUserObjectCreate", 0, NOTHING, 1, NO_DESTRUCTOR_SYNC),
    "CUtexObject": texture_object,
    "texture object with a view": lambda of: texture_object(of, of.bytes(structures.view())),
    "CUsurfObject": lambda of: of.memory("cuSurfObjectCreate", of["resource"]),
    "CUmemGenericAllocationHandle": lambda of: of.memory(
        "cuMemCreate", PHYSICAL, of.bytes(structures.memory_of_device(FILE_DESCRIPTOR)), 0
    ),
    "current context": lambda of: of.driver.made("cuCtxGetCurrent"),
    "capturing stream": capturing_stream,
    "event of another context": lambda of: of_another_context(of, of.driver.event),
    "stream of another context": lambda of: of_another_context(of, of.driver.stream),
    "module of a library": lambda of: of.driver.made("cuLibraryGetModule", of["CUlibrary"]),
    "event without time": lambda of: event(of, DISABLE_TIMING | INTERPROCESS),
    "module of references": lambda of: of.driver.module(PTX_OF_REFERENCES),
    "library of managed variables": lambda of: library(of, PTX_OF_MANAGED),
    "function with a parameter": lambda of: of.driver.function(of["CUmodule"], "takes"),
    "kernel with a parameter": lambda of: of.driver.made("cuLibraryGetKernel", of["CUlibrary"], "takes"),
    "function with a shape": shaped_function,
    "texture reference of memory": reference_of_memory,
    "texture reference of an array": lambda of: bound(
        of, "CUtexref", "cuTexRefSetArray", of["CUarray"], OVERRIDE_FORMAT
    ),
    "texture reference of levels": lambda of: bound(
        of, "CUtexref", "cuTexRefSetMipmappedArray", of["CUmipmappedArray"], OVERRIDE_FORMAT
    ),
    "texture reference of a module": lambda of: of.driver.made(
        "cuModuleGetTexRef", of["module of references"], "image"
    ),
    "texture reference with a border": lambda of: bound(of, "CUtexref", "cuTexRefSetAddressMode", 0, BORDER),
    "surface reference of an array": lambda of: bound(of, "CUsurfref", "cuSurfRefSetArray", of["CUarray"], 0),
    "link of a kernel": link_of_kernel,
    "other graph": lambda of: of.driver.made("cuGraphCreate", 0),
    "clone": clone,
    "kernel node": lambda of: of.node("cuGraphAddKernelNode_v2", of.bytes(structures.launch(of["CUfunction"]))),
    "memcpy node": lambda of: of.node(
        "cuGraphAddMemcpyNode", of.bytes(structures.cuboid(of.page())), of["current context"]
    ),
    "memset node": lambda of: of.node(
        "cuGraphAddMemsetNode", of.bytes(structures.filling(of["CUdeviceptr"])), of["current context"]
    ),
    "host node": lambda of: of.node("cuGraphAddHostNode", of.bytes(structures.host_call(NOTHING))),
    "child node": child_node,
    "record node": lambda of: of.node("cuGraphAddEventRecordNode", of["CUevent"]),
    "wait node": lambda of: of.node("cuGraphAddEventWaitNode", of["CUevent"]),
    "batch node": lambda of: of.node("cuGraphAddBatchMemOpNode", of["batch"]),
    "allocation node": lambda of: of.node("cuGraphAddMemAllocNode", of.bytes(structures.allocation(SIZE))),
    "freeing node": freeing_node,
    "address of the allocation node": address_of_allocation_node,
    "graph with a user object": lambda of: graph_with_user_object(of),
    "resource": lambda of: of.bytes(structures.resource(of["CUarray"])),
    "operation": lambda of: of.bytes(structures.write_of_word(of["CUdeviceptr"])),
    "batch": lambda of: of.bytes(structures.batch(of["current context"], of["operation"])),
    "memory of a pool": lambda of: zeroed(of, of.memory("cuMemAllocAsync", SIZE, 0)),
    "shared pool": lambda of: of.driver.made("cuMemPoolCreate", of.bytes(structures.pool_of_device(FILE_DESCRIPTOR))),
    "memory of a shared pool": lambda of: of.memory("cuMemAllocFromPoolAsync", SIZE, of["shared pool"], 0),
    "file descriptor of a pool": descriptor_of_pool,
    "imported pool": imported_pool,
    "handle of pool memory": lambda of: of.filled("cuMemPoolExportPointer", of["memory of a shared pool"]),
    "managed memory": lambda of: of.memory("cuMemAllocManaged", SIZE, MEM_ATTACH_GLOBAL),
    "reserved addresses": lambda of: of.memory("cuMemAddressReserve", PHYSICAL, 0, 0, 0),
    "mapping": mapping,
    "mapped handle": mapped_handle,
    "page": lambda of: of.page(),
    "file descriptor": descriptor,
    "registered page": registered,
    "pinned memory": lambda of: of.driver.pinned(SIZE),
    "PTX": lambda of: of.text(PTX),
    "file of PTX": file_of_ptx,
    "current context of its own": lambda of: of.driver.made("cuCtxCreate_v2", 0, 0),
    "log callback": lambda of: log_callback(of),
    "notification": lambda of: notification(of),
    "bus identifier": lambda of: bus_identifier(of),
}
"""The maker of an object of each kind."""

ENDS: dict[str, tuple[str, str]] = {
    "CUstream": ("cuStreamDestroy_v2", "CUstream"),
    "CUevent": ("cuEventDestroy_v2", "CUevent"),
    "CUcontext": ("cuCtxDestroy_v2", "CUcontext"),
    "CUmodule": ("cuModuleUnload", "CUmodule"),
    "CUfunction": ("cuModuleUnload", "CUmodule"),
    "CUlibrary": ("cuLibraryUnload", "CUlibrary"),
    "CUkernel": ("cuLibraryUnload", "CUlibrary"),
    "CUmemoryPool": ("cuMemPoolDestroy", "CUmemoryPool"),
    "CUgraph": ("cuGraphDestroy", "CUgraph"),
    "CUgraphNode": ("cuGraphDestroyNode", "CUgraphNode"),
    "CUgraphExec": ("cuGraphExecDestroy", "CUgraphExec"),
    "CUarray": ("cuArrayDestroy", "CUarray"),
    "CUdeviceptr": ("cuMemFree_v2", "CUdeviceptr"),
    "CUmipmappedArray": ("cuMipmappedArrayDestroy", "CUmipmappedArray"),
    "CUtexref": ("cuTexRefDestroy", "CUtexref"),
    "CUsurfref": ("cuModuleUnload", "module of references"),
    "CUlinkState": ("cuLinkDestroy", "CUlinkState"),
    "CUuserObject": ("cuUserObjectRelease", "CUuserObject"),
    "CUtexObject": ("cuTexObjectDestroy", "CUtexObject"),
    "CUsurfObject": ("cuSurfObjectDestroy", "CUsurfObject"),
    "CUmemGenericAllocationHandle": ("cuMemRelease", "CUmemGenericAllocationHandle"),
}
"""The call that ends an object of each type of handle: the function, and the kind of the object that it ends."""


def graph_with_user_object(of: Objects) -> int:
    graph = of["CUgraph"]
    of.driver.do("cuGraphRetainUserObject", graph, of["CUuserObject"], 1, 0)
    return graph


def log_callback(of: Objects) -> int:
    handle = ctypes.c_void_p()
    of.driver.do("cuLogsRegisterCallback", NOTHING, 0, ctypes.byref(handle))
    return handle.value or 0


def notification(of: Objects) -> int:
    handle = ctypes.c_void_p()
    of.driver.do("cuDeviceRegisterAsyncNotification", 0, NOTHING, 0, ctypes.byref(handle))
    return handle.value or 0


def bus_identifier(of: Objects) -> int:
    place = of.bytes(bytes(64))
    of.driver.do("cuDeviceGetPCIBusId", place, 64, 0)
    return place
